//! Hand-made records, and what must come of them.

use super::*;
use crate::fixture::record;
use crate::table::{Cell, Table};

/// Five seeds of 100 epochs around a mean, in percent: deviation 1.58.
fn five(dataset: &str, classes: usize, prior: f64, method: &str, mean: f64) -> Vec<Record> {
    let offsets = [-2.0, -1.0, 0.0, 1.0, 2.0];
    let seeded = (1u64..).zip(offsets);
    seeded
        .map(|(seed, offset)| {
            let accuracy = (mean + offset) / 100.0;
            record(dataset, classes, prior, method, seed, 100, accuracy)
        })
        .collect()
}

/// A row of Table II with all methods of the paper, the last of them best, and the oracle.
fn whole_row() -> Vec<Record> {
    let mut records = Vec::new();
    for (method, mean) in PAPER_METHODS
        .iter()
        .zip([90.0, 80.0, 70.0, 60.0, 50.0, 91.0])
    {
        records.extend(five("fashion-mnist", 4, 0.5, method, mean));
    }
    records.extend(five("fashion-mnist", 4, 0.5, "supervised", 96.0));
    records
}

fn table_of(records: &[Record], table: u8) -> Section {
    accuracy_table(&accuracy_rows(records).unwrap(), table)
}

fn row_of(table: Option<&Table>, index: usize) -> Vec<Cell> {
    table.unwrap().rows()[index].clone()
}

#[test]
fn rows_and_columns_are_the_papers_in_its_order() {
    let rows = accuracy_rows(&[]).unwrap();
    assert_eq!(rows.len(), 66);
    for table in [1, 2, 3] {
        assert_eq!(rows.iter().filter(|r| r.table == table).count(), 22);
    }
    assert_eq!(
        (rows[0].dataset.as_str(), rows[0].classes),
        ("fashion-mnist", 4)
    );
    assert_eq!(
        (rows[65].dataset.as_str(), rows[65].prior),
        ("waveform1", 0.8)
    );
    let cells = crate::paper::accuracy_cells().unwrap();
    for (cell, row) in cells.chunks(6).zip(&rows) {
        let methods: Vec<&str> = cell.iter().map(|c| c.method.as_str()).collect();
        assert_eq!(methods, PAPER_METHODS, "{} {}", row.dataset, row.classes);
    }
}

#[test]
fn a_cell_is_mean_and_deviation_beside_what_was_published() {
    let section = table_of(&whole_row(), 2);
    let row = row_of(section.table.as_ref(), 0);
    assert_eq!(
        row[2],
        Cell::new("90.00 ± 1.58").with_detail("(90.59 ± 1.14; -0.59)")
    );
    // Bold is what is largest here, not what was printed bold.
    assert_eq!(
        row[7],
        Cell::strong("91.00 ± 1.58").with_detail("(50.30 ± 1.23; +40.70)")
    );
    assert_eq!(row.iter().filter(|cell| cell.is_strong()).count(), 1);
    // The oracle is larger still, and never bold.
    assert_eq!(row[15], Cell::new("96.00 ± 1.58"));
    assert_eq!(row[8], Cell::new("missing"));
    let md = section.to_md();
    assert!(
        md.contains("| ours: csmpu-exact-abs |") && md.contains("| ours: supervised (oracle) |")
    );
    assert!(md.contains("n = 5 seeds of 100 epochs"));
}

#[test]
fn bold_needs_something_to_compare_with() {
    let one = five("mnist", 4, 0.2, "area", 70.0);
    let row = row_of(table_of(&one, 1).table.as_ref(), 6);
    assert_eq!(row[5].text(), "70.00 ± 1.58");
    assert!(row.iter().all(|cell| !cell.is_strong()));
}

#[test]
fn short_cells_say_so_and_epochs_are_not_mixed() {
    let mut records = five("mnist", 4, 0.2, "area", 70.0);
    for (record, epochs) in records.iter_mut().zip([30, 30, 10, 10, 10]) {
        record.key.epochs = epochs;
    }
    records.push(record("mnist", 6, 0.2, "area", 1, 100, 0.5));
    let section = table_of(&records, 1);
    let row = row_of(section.table.as_ref(), 6);
    assert_eq!(row[5].text(), "68.50 ± 0.71 [a]");
    assert_eq!(row_of(section.table.as_ref(), 7)[5].text(), "50.00 [b]");
    assert_eq!(section.notes[0], "mark [a]: n=2, 30 epochs");
    assert_eq!(section.notes[1], "mark [b]: n=1, 100 epochs");
    assert_eq!(section.notes[2], "the learning rate is given in every cell");
    assert!(section.notes[3].starts_with("3 records of these cells"));
    assert!(section.notes[4].starts_with("306 of 308 cells are missing"));
}

#[test]
fn a_row_of_other_data_says_so() {
    let mut records = whole_row();
    for record in &mut records {
        record.data_mark = Some("half the rows".to_owned());
    }
    let row = row_of(table_of(&records, 2).table.as_ref(), 0);
    let expected = Cell::new("fashion-mnist").with_detail("data: half the rows");
    assert_eq!(row[0], expected);
}

#[test]
fn swept_rates_are_told_from_given_ones() {
    let mut records = whole_row();
    for record in records.iter_mut().filter(|r| r.key.method == "area") {
        record.key.swept = true;
    }
    let section = table_of(&records, 2);
    assert!(section.notes[0].starts_with("in 1 of 7 cells every run chose"));
    let cells = accuracy_cells(&accuracy_rows(&records).unwrap());
    let csv = cells.to_csv().unwrap();
    assert!(csv.contains(",area,yes,5,100,512,swept,60.0000,"));
}

#[test]
fn what_is_missing_is_listed_with_how_to_get_it() {
    let how = "run `mpu-cli data fetch svhn`".to_owned();
    let context = Context {
        how_to_get: BTreeMap::from([("svhn".to_owned(), how)]),
        ..Context::default()
    };
    let rows = accuracy_rows(&whole_row()).unwrap();
    let section = missing_cells(&rows, &context).unwrap();
    assert!(section.paragraphs[0].starts_with("917 of 924 cells"));
    assert!(
        section.notes.contains(
            &"svhn (run `mpu-cli data fetch svhn`): k = 4, 6, 8 at π_k = 0.2, 0.5, 0.8: every method"
                .to_owned()
        )
    );
    let fashion = &section.notes[0];
    assert!(fashion.starts_with("fashion-mnist (not run yet): "));
    for part in [
        "k = 4 at π_k = 0.2, 0.8: every method",
        "k = 6, 8 at π_k = 0.2, 0.5, 0.8: every method",
        "k = 4 at π_k = 0.5: `csmpu-exact-abs`, `csmpu-exact-nn`, ",
    ] {
        assert!(fashion.contains(part), "{part} in {fashion}");
    }
}

#[test]
fn the_overview_counts_complete_rows_only() {
    let mut records = whole_row();
    // A second row, incomplete: it counts for nothing but its own agreement.
    records.extend(five("mnist", 4, 0.2, "csmpu-abs", 10.0));
    let section = overview(&accuracy_rows(&records).unwrap());
    assert!(section.paragraphs[0].contains("have 66 rows"));
    assert!(section.paragraphs[0].contains("run in 1 of them"));
    assert!(section.paragraphs[0].contains("0 of these rest"));
    assert!(section.paragraphs[0].contains("0 on data other than the published"));
    assert!(section.paragraphs[1].contains("in 1 of 2 rows"));
    let text = |index: usize| {
        let row = row_of(section.table.as_ref(), index);
        let texts: Vec<String> = row.iter().map(|cell| cell.text().to_owned()).collect();
        texts
    };
    let (abs, ovr) = (text(0), text(5));
    assert_eq!((abs[1].as_str(), abs[3].as_str()), ("0", "2.00"));
    assert_eq!((abs[5].as_str(), abs[6].as_str()), ("6.00 (1)", "1 of 2"));
    assert_eq!((ovr[1].as_str(), ovr[3].as_str()), ("1", "1.00"));
    assert_eq!((ovr[5].as_str(), ovr[6].as_str()), ("5.00 (1)", "0 of 1"));
    // Published, by the numbers: two methods share the best of kmnist, k = 4, in Table III.
    let best: Vec<usize> = (0..6)
        .map(|index| text(index)[2].parse().unwrap())
        .collect();
    assert_eq!(best, [40, 11, 1, 6, 0, 9]);
    // Other data are held neither to published cells nor to the oracle; baselines likewise.
    for record in &mut records {
        record.data_mark = Some("half the rows".to_owned());
    }
    let rows = accuracy_rows(&records).unwrap();
    let section = overview(&rows);
    let row = row_of(section.table.as_ref(), 0);
    assert_eq!((row[5].text(), row[6].text()), ("– (0)", "0 of 0"));
    assert!(section.paragraphs[1].contains("in 0 of 0 rows"));
    let baselines = baselines(&rows).to_md();
    assert!(
        baselines.contains("No row of it has been run"),
        "{baselines}"
    );
}

#[test]
fn the_baselines_are_spoken_of_with_numbers() {
    let text = baselines(&accuracy_rows(&whole_row()).unwrap()).to_md();
    assert!(
        text.contains("In the 1 rows") && text.contains("31.00 points apart"),
        "{text}"
    );
    assert!(
        text.contains("are 30.60 points apart in the same rows"),
        "{text}"
    );
    assert!(text.contains("in 1 of 1 rows, by 10.87 points"), "{text}");
    let empty = baselines(&accuracy_rows(&[]).unwrap()).to_md();
    assert!(empty.contains("our runs say nothing of this"));
}

#[test]
fn runs_of_the_twin_stand_in_where_a_pair_of_runs_agrees() {
    let run = |method: &str, seed: u64, epochs: usize, accuracy: f64| {
        record("mnist", 4, 0.5, method, seed, epochs, accuracy)
    };
    let found = |records: &[Record]| {
        let rows = accuracy_rows(records).unwrap();
        let row = rows
            .iter()
            .find(|row| (row.dataset.as_str(), row.classes, row.prior) == ("mnist", 4, 0.5));
        let found = row.unwrap().found("ure-ovr").cloned();
        let md = accuracy_table(&rows, 2).to_md();
        (
            found,
            md.contains("runs of `area`, which has the same gradients"),
            rows,
        )
    };
    let mut records = vec![run("area", 1, 10, 0.8), run("area", 1, 100, 0.7)];
    let (none, marked, _) = found(&records);
    assert!(
        none.is_none() && !marked,
        "nothing shows that they are the same"
    );
    records.push(run("ure-ovr", 1, 10, 0.8));
    let (carried, marked, rows) = found(&records);
    let carried = carried.unwrap();
    let area = Some(Source::Method("area"));
    assert_eq!((carried.carried_from, carried.epochs), (area, 100));
    assert!(marked && (carried.accuracy.mean - 70.0).abs() < 1e-9);
    let text = baselines(&rows).to_md();
    assert!(text.contains("In 1 rows the runs of `area`"), "{text}");
    assert!(text.contains("our runs say nothing"), "{text}");
    // Its own runs are used where they are as many and as long.
    records.push(run("ure-ovr", 1, 100, 0.7));
    assert_eq!(found(&records).0.unwrap().carried_from, None);
    // One pair that is apart, and it is not done.
    records.pop();
    records.push(run("area", 2, 10, 0.8));
    records.push(run("ure-ovr", 2, 10, 0.7));
    let own = found(&records).0.unwrap();
    assert_eq!((own.carried_from, own.epochs, own.n), (None, 10, 2));
}

#[test]
fn runs_of_the_oracle_at_another_prior_stand_in_where_it_ends_as_the_same_network() {
    let run = |prior: f64, seed: u64, epochs: usize, model: &str| Record {
        model_sha256: model.to_owned(),
        ..record("mnist", 6, prior, "supervised", seed, epochs, 0.9)
    };
    let found = |records: &[Record], prior: f64| {
        let rows = accuracy_rows(records).unwrap();
        let row = rows
            .iter()
            .find(|row| (row.dataset.as_str(), row.classes, row.prior) == ("mnist", 6, prior));
        row.unwrap().found("supervised").cloned()
    };
    let mut records = vec![run(0.2, 1, 100, "x"), run(0.2, 2, 100, "y")];
    assert_eq!(found(&records, 0.5), None, "nothing shows it");
    records.extend([run(0.2, 1, 20, "a"), run(0.5, 1, 20, "a")]);
    let carried = found(&records, 0.5).unwrap();
    let from = Some(Source::Prior(0.2));
    let size = (carried.epochs, carried.n);
    assert_eq!((carried.carried_from, size), (from, (100, 2)));
    let rows = accuracy_rows(&records).unwrap();
    let md = accuracy_table(&rows, 2).to_md();
    assert!(md.contains("runs at π_k = 0.2, which see the same rows"));
    let csv = accuracy_cells(&rows).to_csv().unwrap();
    assert!(csv.contains(",π_k = 0.2\n"), "{csv}");
    // Runs of the cell itself are kept where they are as many and as long.
    records.extend([run(0.5, 1, 100, "x"), run(0.5, 2, 100, "y")]);
    assert_eq!(found(&records, 0.5).unwrap().carried_from, None);
    // One pair that differs, and it is not done; another machine may round otherwise.
    records.truncate(4);
    records.extend([run(0.2, 3, 20, "b"), run(0.5, 3, 20, "c")]);
    assert_eq!(found(&records, 0.5).unwrap().carried_from, None);
    records[5].machine = "another".to_owned();
    assert_eq!(found(&records, 0.5).unwrap().carried_from, from);
    // Of the other methods nothing is taken from another prior.
    let mut others = vec![
        run(0.2, 1, 100, "x"),
        run(0.2, 1, 20, "a"),
        run(0.5, 1, 20, "a"),
    ];
    for record in &mut others {
        record.key.method = "area".to_owned();
    }
    let rows = accuracy_rows(&others).unwrap();
    let epochs = |row: &AccuracyRow| Some(row.found("area")?.epochs);
    assert_eq!(
        rows.iter().filter_map(epochs).collect::<Vec<_>>(),
        [100, 20]
    );
}

#[test]
fn loss_variants_stand_beside_the_published_ones() {
    let mut records = five("fashion-mnist", 4, 0.5, "csmpu-abs", 90.0);
    for mut other in records.clone() {
        other.key.gamma = 2.0;
        other.scores.as_mut().unwrap().accuracy = 0.5;
        records.push(other);
    }
    let context = Context {
        constant_sums: vec![(10.0, 9.9), (0.0, 1.2e-7)],
        ..Context::default()
    };
    let section = loss_table(&records, &context).unwrap();
    let table = section.table.as_ref();
    assert_eq!(table.unwrap().rows().len(), 9);
    let sigmoid = row_of(table, 5);
    assert_eq!(
        sigmoid[5],
        Cell::new("0.890 ± 0.016").with_detail("(0.85 ± 0.02; +0.040)")
    );
    assert_eq!(
        sigmoid[6],
        Cell::new("0.900 ± 0.016").with_detail("(0.85 ± 0.02; +0.050)")
    );
    assert_eq!(row_of(table, 6)[6].text(), "0.500 ± 0.000");
    assert_eq!(
        row_of(table, 0)[7],
        Cell::new("10.00").with_detail("(10.00)")
    );
    assert_eq!(
        row_of(table, 1)[8],
        Cell::new("1.20e-7").with_detail("(0.00)")
    );
    assert_eq!(row_of(table, 8)[5].text(), "missing");
    assert!(section.notes[0].starts_with("missing: `hinge` γ = 1 raw, "));
}

#[test]
fn macro_f1_is_tested_over_common_seeds() {
    let mut records = five("fashion-mnist", 4, 0.8, "csmpu-abs", 90.0);
    records.extend(five("fashion-mnist", 4, 0.8, "area", 80.0));
    records.extend(five("fashion-mnist", 4, 0.8, "ure-ovr", 95.0));
    let section = macro_f1_table(&records, &Context::default()).unwrap();
    let rows = section.table.as_ref().unwrap().rows();
    let texts = |index: usize| rows[index].iter().map(Cell::text).collect::<Vec<&str>>();
    let area = [
        "area",
        "5",
        "100",
        "79.00 ± 1.58",
        "[77.04, 80.96]",
        "0.0625",
        "0.1250",
        "-1.00",
        "3.0 ± 1.0",
    ];
    assert_eq!(texts(0), area);
    assert_eq!(texts(1)[5..8], ["0.0625", "0.1250", "+1.00"]);
    assert_eq!(texts(2)[5..8], ["–", "–", "–"]);
    assert!(section.notes[0].contains("cannot go below p = 0.0625"));
    let md = section.to_md();
    assert!(md.contains("positive where the method is better"));
    assert!(md.contains("79.00 ± 1.58<br>(79.6 ± 6.8; -0.60)"));
    // Other epochs are not compared.
    for record in records.iter_mut().filter(|r| r.key.method == "area") {
        record.key.epochs = 50;
    }
    let section = macro_f1_table(&records, &Context::default()).unwrap();
    let rows = section.table.as_ref().unwrap().rows();
    assert_eq!((rows[0][5].text(), rows[1][6].text()), ("–", "0.0625"));
    assert!(section.notes[0].starts_with("`area` is not compared"));
}

#[test]
fn the_order_of_records_does_not_show() {
    let mut records = whole_row();
    records.extend(five("mnist", 4, 0.2, "csmpu-abs", 10.0));
    records.extend(five("fashion-mnist", 4, 0.8, "area", 80.1));
    // The same seeds again, with other outcomes and other recipes.
    for mut again in records.clone() {
        again.scores.as_mut().unwrap().accuracy += 0.001;
        again.id.push('x');
        records.push(again.clone());
        again.config = serde_json::json!({ "train": { "batch-size": 64 } });
        records.push(again);
    }
    let context = Context::default();
    let expected = documents(&records, &context).unwrap();
    for turn in [1, 7, 40] {
        records.rotate_left(turn);
        records.reverse();
        assert_eq!(documents(&records, &context).unwrap(), expected);
    }
}

#[test]
fn documents_are_complete_and_written_in_their_format() {
    let further = Section {
        figures: vec!["<svg/>".to_owned()],
        ..Section::new("curves", "Curves")
    };
    let context = Context {
        further: vec![further],
        ..Context::default()
    };
    let documents = documents(&whole_row(), &context).unwrap();
    let names: Vec<&str> = documents.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "RESULTS.md",
            "results.html",
            "summary.tex",
            "summary.csv",
            "overview.tex",
            "overview.csv",
            "table-1.tex",
            "table-1.csv",
            "table-2.tex",
            "table-2.csv",
            "table-3.tex",
            "table-3.csv",
            "loss-variants.tex",
            "loss-variants.csv",
            "macro-f1.tex",
            "macro-f1.csv",
            "accuracy-cells.csv",
        ]
    );
    for document in &documents {
        let text = &document.text;
        if text.starts_with("\\begin{tabular}") {
            assert!(text.is_ascii(), "{}", document.name);
        }
        assert!(!text.contains("NaN"), "{}", document.name);
    }
    let md = &documents[0].text;
    assert!(md.starts_with("# Results: ") && md.contains("\n\n## In short\n"));
    assert!(md.find("## In short") < md.find("## Overview"));
    assert!(md.find("## Overview") < md.find("## Table I:"));
    let html = &documents[1].text;
    assert!(html.contains("<strong>91.00 ± 1.58</strong>") && html.contains("<svg/>"));
    let cells = &documents[16].text;
    assert_eq!(cells.lines().count(), 1 + 924);
    assert!(cells.contains(
        "\n2,0.5,fashion-mnist,4,csmpu-abs,yes,5,100,512,1e-3,90.0000,1.5811,90.0000,no,90.5900,1.1400,-0.5900,,\n"
    ));
}

#[test]
fn without_records_everything_is_missing_and_nothing_fails() {
    let md = &documents(&[], &Context::default()).unwrap()[0].text;
    assert!(md.contains("924 of 924 cells"));
    assert!(md.contains("missing: `area`, `ure-ovr`, `csmpu-abs`; not run yet"));
}
