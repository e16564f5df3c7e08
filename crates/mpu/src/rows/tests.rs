use std::fmt::Write as _;

use mpu_data::Shape;
use mpu_data::table::{Column, Frame, TableOptions, read_table};
use mpu_train::Unobserved;

use super::*;

/// A number and a class: in a hundred rows, 20 are labelled `a`, and one is labelled `b` in some of the hundreds.
fn file(folder: &Path, hundreds: usize, of_b: usize) -> String {
    let mut text = "width,height,class\n".to_owned();
    for row in 0..100 * hundreds {
        let label = match row % 100 {
            ..20 => "a",
            20 if row / 100 < of_b => "b",
            _ => "",
        };
        writeln!(text, "{},{},{label}", row % 100, row * 37 % 1009).unwrap();
    }
    let path = folder.join("table.csv");
    std::fs::write(&path, text).unwrap();
    format!("data.file={:?}", path.to_str().unwrap())
}

/// The rows of a file, with more assignments.
fn read(data: &str, more: &[&str]) -> TableRows<'static> {
    let overrides = [data].into_iter().chain(more.iter().copied());
    let overrides: Vec<String> = overrides.map(str::to_owned).collect();
    TableRows::read(None, &overrides).unwrap()
}

#[test]
fn beside_a_forest_rows_held_out_and_steps_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), 1000, 500);
    let rows = |more: &[&str]| read(&data, more);
    let drawn = |rows: &TableRows<'_>| {
        let (train, held) = rows.draw().unwrap();
        assert_eq!(train.len() + held.len(), 100_000);
        let is_b = |row: &&usize| rows.table.labels[**row] == MpuLabel::Labeled(1);
        let b = held.iter().filter(is_b).count();
        (held, b)
    };
    let forest = rows(&[]);
    let (held, of_b) = drawn(&forest);
    // One row in six, but a fifth of a small class.
    assert!((16_384..16_500).contains(&held.len()), "{}", held.len());
    assert_eq!(of_b, 100);
    assert_eq!(drawn(&rows(&[])).0, held);
    assert_ne!(drawn(&rows(&["data.split-seed=7"])).0, held);
    assert_eq!(forest.config.train.epochs, 24);
    assert_eq!(forest.forest().rows_per_tree, 24_576);
    // A network alone is trained and judged as ever.
    let network = rows(&["model={kind=\"mlp\",hidden=[8]}"]);
    assert_eq!(drawn(&network).0.len(), 20_000);
    assert_eq!(network.config.train.epochs, 40);
}

#[test]
fn small_tables_are_not_bounded() {
    let spec = spec_for(20_000);
    assert_eq!(spec, ForestSpec::default());
    assert_eq!((spec.trees, spec.rows_per_tree), (300, 65_536));
    let folder = tempfile::tempdir().unwrap();
    let rows = TableRows::read(None, &[file(folder.path(), 200, 100)]).unwrap();
    let (train, held) = rows.draw().unwrap();
    assert_eq!(held.len(), 4000);
    assert_eq!(rows.fewer(train.clone()).unwrap(), train);
    assert_eq!(rows.config.train.epochs, 47);
}

#[test]
fn letting_go_of_the_features_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = "model={kind=\"forest\",trees=20}".to_owned();
    let rows = TableRows::read(None, &[file(folder.path(), 6, 6), model]).unwrap();
    let borrowed = TableRows {
        table: Cow::Borrowed(rows.table.as_ref()),
        config: rows.config.clone(),
        module: None,
    };
    let kept = borrowed.prepare(&mut Unobserved).unwrap();
    let gone = rows.prepare(&mut Unobserved).unwrap();
    assert_eq!(kept.priors, gone.priors);
    let (kept, gone) = (kept.grown.unwrap().student, gone.grown.unwrap().student);
    assert_eq!(kept.forest, gone.forest);
    assert_eq!(kept.apart, gone.apart);
    assert_eq!(kept.scores, gone.scores);
}

#[test]
fn perceptrons_that_train_themselves_leave_values_out() {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), 6, 6);
    let settings = |more: &[&str]| {
        let train = read(&data, more).config.train;
        let warm_up = train
            .self_training
            .map(|constants| constants.warm_up_epochs);
        (train.dropout, warm_up)
    };
    assert_eq!(settings(&[]), (0.25, Some(10)));
    assert_eq!(settings(&["method=\"csmpu-st\""]), (0.25, Some(10)));
    assert_eq!(settings(&["train.epochs=8"]), (0.25, Some(4)));
    assert_eq!(settings(&["train.epochs=3"]), (0.25, Some(1)));
    assert_eq!(settings(&["train.dropout=0.0"]), (0.0, Some(5)));
    let warm_up = "train.self-training={warm-up-epochs=3}";
    assert_eq!(settings(&[warm_up]), (0.25, Some(3)));
    assert_eq!(settings(&["method=\"csmpu-nn\""]), (0.0, None));
    let forest = "model={kind=\"forest\",trees=20}";
    assert_eq!(settings(&[forest]), (0.0, Some(5)));
}

#[test]
fn residual_networks_have_small_batches() {
    let batch_size = |channels: usize, given: Given| {
        let shape = Shape::image(channels, 8, 8);
        let names = (0..shape.len()).map(|column| format!("x{column}"));
        let values = (0..4000 * shape.len()).map(|x| (x * 31 % 1009) as f32);
        let features = Features::new(values.collect(), shape).unwrap();
        let labels = Column::Words {
            names: vec!["a".to_owned()],
            codes: (0..4000).map(|row| (row < 500).then_some(0)).collect(),
        };
        let frame = Frame::matrix(names.collect(), features).with_labels("y", labels);
        let table = read_table(TableInput::frame("X", frame), &TableOptions::default()).unwrap();
        let rows = TableRows::new(Cow::Borrowed(&table), TableConfig::default(), given).unwrap();
        rows.config.train.batch_size
    };
    let usual = TableConfig::default().train.batch_size;
    assert_eq!(batch_size(3, Given::default()), 64);
    assert_eq!(batch_size(1, Given::default()), usual);
    // What the user says stays.
    let given = Given {
        batch: true,
        ..Given::default()
    };
    assert_eq!(batch_size(3, given), usual);
}
