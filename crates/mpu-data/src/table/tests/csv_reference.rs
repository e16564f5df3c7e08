//! Our records against those of the `csv` crate.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::table::block::BlockSource;
use crate::table::csv::CsvSource;

/// Cells of every kind: bare, quoted, with quotes, separators and line ends inside.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.-]{0,12}",
        "[a-z,;\n\" ]{0,6}",
        Just("été, \"naïf\"".to_owned()),
        Just("line\r\nbreak".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn cells_are_those_of_the_csv_crate(
        rows in prop::collection::vec(prop::collection::vec(cell(), 3), 1..20),
        crlf in any::<bool>(),
        last in any::<bool>(),
    ) {
        let mut writer = ::csv::WriterBuilder::new()
            .terminator(if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') })
            .from_writer(Vec::new());
        writer.write_record(["a", "b", "c"]).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let mut text = writer.into_inner().unwrap();
        if !last {
            while text.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
                text.pop();
            }
        }
        let input = TableInput::from_bytes("a.csv", text.clone());
        let mut source = CsvSource::open(&input, None, &Limits::default()).unwrap();
        let mut found: Vec<Vec<String>> = Vec::new();
        let mut lines = Vec::new();
        while let Some(block) = source.next_block().unwrap() {
            block.for_each_row(|row| {
                found.push(row.cells.iter().map(|c| c.text().trim().to_owned()).collect());
                lines.push(row.at);
                Ok(())
            }).unwrap();
        }
        let mut reader = ::csv::Reader::from_reader(&text[..]);
        let mut expected = Vec::new();
        let mut expected_lines = Vec::new();
        for record in reader.records() {
            let record = record.unwrap();
            expected.push(record.iter().map(|c| c.trim().to_owned()).collect::<Vec<_>>());
            expected_lines.push(At::Line(record.position().unwrap().line()));
        }
        prop_assert_eq!(found, expected);
        // After `\r\n` the csv crate counts the line of its `\n`.
        if !crlf {
            prop_assert_eq!(lines, expected_lines);
        }
    }
}

#[test]
fn blocks_end_between_records() {
    // Long enough for many blocks, with line feeds inside quotes.
    let mut text = "a,b\n".to_owned();
    for i in 0..60_000 {
        writeln!(text, "{i},\"one\ntwo, \"\"{i}\"\"\"").unwrap();
    }
    let input = TableInput::from_bytes("a.csv", text.into_bytes());
    let mut source = CsvSource::open(&input, None, &Limits::default()).unwrap();
    let (mut n_rows, mut n_blocks) = (0u64, 0);
    while let Some(block) = source.next_block().unwrap() {
        n_blocks += 1;
        block
            .for_each_row(|row| {
                assert_eq!(row.at, At::Line(2 + 2 * n_rows));
                assert_eq!(row.cells[0].text(), n_rows.to_string());
                assert_eq!(row.cells[1].text(), format!("one\ntwo, \"{n_rows}\""));
                n_rows += 1;
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(n_rows, 60_000);
    assert!(n_blocks > 2, "{n_blocks}");
}

#[test]
fn marks_and_line_ends_are_dropped() {
    for text in [
        "\u{feff}a,label\r\n1,x\r\n2,x\r\n\r\n3,\r\n",
        "\n\na\tlabel\n1\tx\n 2 \t x\n3\t\n",
        "a|label\n\"1\"|x\n \"2\" |x\n3|",
    ] {
        let table = read(text).unwrap();
        assert_eq!(table.features.values(), [1.0, 2.0, 3.0], "{text:?}");
        assert_eq!(table.class_names, ["x"]);
    }
}
