//! Tables that were once misread without a word: read exactly, or refused, or at least said.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::make::{floats, npy, wide};
use super::*;

/// The features of four rows and labels of this kind.
fn with_labels(descr: &str, labels: &[u8]) -> Result<MpuTable> {
    let options = with(|o| {
        o.labels = Some(file("y.npy", npy(descr, "(4,)", labels)));
        o.convention = LabelConvention::Marked(vec![UnlabeledMarker::Zero, UnlabeledMarker::Blank]);
    });
    let features = npy("<f4", "(4, 1)", &floats(&[1.0, 2.0, 3.0, 4.0]));
    read_table(file("X.npy", features), &options)
}

#[test]
fn labels_of_64_bits_stay_apart() {
    let labels = [u64::MAX, u64::MAX - 1, 1 << 63, 0];
    for (descr, bytes) in [
        ("<u8", labels.map(u64::to_le_bytes).concat()),
        (">u8", labels.map(u64::to_be_bytes).concat()),
    ] {
        let table = with_labels(descr, &bytes).unwrap();
        let mut names = table.class_names;
        names.sort();
        assert_eq!(
            names,
            [
                "18446744073709551614",
                "18446744073709551615",
                "9223372036854775808"
            ]
        );
    }
    let signed = [i64::MIN, i64::MIN + 1, i64::MAX, 0];
    let table = with_labels("<i8", &signed.map(i64::to_le_bytes).concat()).unwrap();
    assert_eq!(table.class_names.len(), 3, "{:?}", table.class_names);
    let doubles = [0.1, 0.1 + 1e-17, f64::from_bits(0.1f64.to_bits() + 1), 0.0];
    let table = with_labels("<f8", &doubles.map(f64::to_le_bytes).concat()).unwrap();
    assert_eq!(table.class_names.len(), 2, "{:?}", table.class_names);
}

#[test]
fn numbers_of_many_digits_are_not_one_class() {
    let table = read("a,label\n1,1.0\n2,1\n3,1.0000000000000000001\n4,\n").unwrap();
    assert_eq!(table.class_names, ["1", "1.0000000000000000001"]);
    let table = read("a,label\n1,9007199254740993\n2,9007199254740992\n3,\n").unwrap();
    assert_eq!(table.class_names.len(), 2);
}

#[test]
fn texts_of_arrays_are_exact_or_refused() {
    // Latin-1, cut-off UTF-8 and more: not merged into one replacement character.
    check_message(
        with_labels("|S2", b"\xe4\0\xf6\0a\0\0\0"),
        "y.npy … not valid Unicode … hint:",
    );
    let unit = |units: [u32; 8]| units.map(u32::to_le_bytes).concat();
    for bad in [0xd800, 0x0011_0000, u32::MAX] {
        let bytes = unit([bad, 0, u32::from('a'), 0, u32::from('b'), 0, 0, 0]);
        check_message(with_labels("<U2", &bytes), "not valid Unicode");
    }
    // A NUL within a text is part of it.
    let table = with_labels("<U3", &wide(&["a\0b", "a\0c", "", "ä"], 3)).unwrap();
    assert_eq!(table.class_names.len(), 3, "{:?}", table.class_names);
    let table = with_labels("|S3", b"a\0ba\0c\0\0\0x\0\0").unwrap();
    assert_eq!(table.class_names.len(), 3, "{:?}", table.class_names);
}

#[cfg(feature = "parquet")]
mod ids_of_parquet {
    use ::parquet::data_type::Int64Type;

    use super::super::make::parquet_beside;
    use super::*;

    fn of(id: &str, ids: &[i64]) -> Vec<u8> {
        parquet_beside::<Int64Type>(&format!("{id};"), ids)
    }

    fn read_ids(bytes: Vec<u8>) -> Result<MpuTable> {
        let options = with(|o| o.id_column = Some("id".to_owned()));
        read_table(file("t.parquet", bytes), &options)
    }

    #[test]
    fn are_exact_beyond_63_bits() {
        let ids: Vec<i64> = (0..190).map(|i| (u64::MAX - i).cast_signed()).collect();
        let table = read_ids(of("required int64 id (UINT_64)", &ids)).unwrap();
        let ids = table.ids.unwrap();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 190);
        assert_eq!(ids[0], "18446744073709551615");
    }

    #[test]
    fn are_exact_as_decimals_or_refused() {
        let ids = [i64::MAX, i64::MAX - 1, 1, 2];
        let table = read_ids(of("required int64 id (DECIMAL(18,0))", &ids)).unwrap();
        assert_eq!(table.ids.unwrap()[1], "9223372036854775806");
        check_message(
            read_ids(of("required int64 id (DECIMAL(18,2))", &ids)),
            "column `id` … more than 15 digits … hint:",
        );
    }

    /// The same footer, but for one number that is written as a varint of one byte.
    #[test]
    fn no_row_is_dropped_by_a_wrong_count() {
        let bytes = of("required int64 id", &[5; 40]);
        let footer = bytes.len()
            - 8
            - u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap())
                as usize;
        let good = read_ids(bytes.clone()).unwrap();
        assert_eq!(good.labels.len(), 40);
        // 40 is written as 80; 20 would be 40.
        let is_count = |at: &usize| bytes[*at] == 80;
        let counts: Vec<usize> = (footer..bytes.len() - 8).filter(is_count).collect();
        assert!(counts.len() >= 3, "{counts:?}");
        // And all counts at once: then only the pages know better.
        for changed in counts.chunks(1).chain([&counts[..]]) {
            let mut fewer = bytes.clone();
            for &at in changed {
                fewer[at] = 40;
            }
            if let Ok(table) = read_ids(fewer) {
                assert_eq!(table.labels.len(), 40, "bytes {changed:?}");
            }
        }
    }
}

/// Rows of two numbers, the last of them written so, and labels.
fn column(values: impl IntoIterator<Item = String>) -> String {
    let mut text = "a,b,label\n".to_owned();
    for (i, value) in values.into_iter().enumerate() {
        let label = if i % 3 == 0 { "x" } else { "" };
        writeln!(text, "{i},\"{value}\",{label}").unwrap();
    }
    text
}

#[test]
fn a_decimal_comma_is_said_and_can_be_read() {
    let values = || (0..30).map(|i| format!("{i},5"));
    let table = read(&column(values())).unwrap();
    let told = "column `b` is taken as categories, though `0,5` … --decimal-comma";
    check_text(&warnings(&table), told);
    assert!(
        table
            .check
            .warnings
            .iter()
            .any(|w| matches!(w, Warning::Separated { .. }) && w.needs_a_look())
    );
    // Too many to be categories: the error says why.
    check_message(
        read(&column((0..300).map(|i| format!("{i},5")))),
        "line 2, column `b` … `0,5` … --decimal-comma",
    );
    let options = with(|o| o.decimal = Decimal::Comma);
    let table = read_table(csv(&column(values())), &options).unwrap();
    assert_eq!(table.features.row(3), [3.0, 3.5]);
    assert!(!warnings(&table).contains("looks like"));

    // The schema remembers it, in its stored form as well.
    let schema = stored(&table.schema);
    let later = || csv("a,b\n1,\"1.234,25\"\n");
    let encoded = encode(&schema, later()).unwrap();
    assert_eq!(encoded.features.row(0), [1.0, 1234.25]);
    let point = EncodeOptions {
        decimal: Some(Decimal::Point),
        ..EncodeOptions::default()
    };
    assert!(schema.encode(later(), &point).is_err());
    // A point that groups nothing is not quietly taken as one thing or the other.
    let mut values: Vec<String> = values().collect();
    values.extend((0..200).map(|i| format!("{i},25")));
    values[7] = "1.5".to_owned();
    check_message(
        read_table(csv(&column(values)), &options),
        "`1.5` is not a number",
    );
}

#[test]
fn thousands_are_said() {
    let table = read(&column((1..30).map(|i| format!("{i},234")))).unwrap();
    check_text(&warnings(&table), "`1,234` … thousands");
    let table = read(&column((1..30).map(|i| format!("{i}'234.50")))).unwrap();
    assert!(warnings(&table).contains("thousands"));
    // Among plain numbers, too.
    let some = (0..30).map(|i| format!("{i}{}", ["", ",000"][i % 2]));
    assert!(warnings(&read(&column(some)).unwrap()).contains("looks like a number"));
    for format in ["{} %", "${}.50", "({})", "−{}"] {
        let values = (1..30).map(|i| format.replace("{}", &i.to_string()));
        let table = read(&column(values)).unwrap();
        assert!(warnings(&table).contains("plain numbers"), "{format}");
    }
    // Words are words.
    let table = read(&column((0..30).map(|i| format!("{} rooms", i % 4)))).unwrap();
    assert!(!warnings(&table).contains("looks like"));
}

#[test]
fn a_separator_that_was_said_is_remembered() {
    let text = "a^b^label\n1^2^x\n2^3^x\n3^4^\n";
    let table = read_with(text, |o| o.delimiter = Some(b'^')).unwrap();
    let schema = stored(&table.schema);
    let comma = EncodeOptions {
        delimiter: Some(b','),
        ..EncodeOptions::default()
    };
    for encoded in [
        encode(&schema, csv("a^b\n5^6\n")),
        schema.encode(csv("a,b\n5,6\n"), &comma),
    ] {
        assert_eq!(encoded.unwrap().features.row(0), [5.0, 6.0]);
    }
}

#[test]
fn a_schema_without_such_matters_is_stored_as_before() {
    let table = read("a,b,label\n1,u,x\n2,v,x\n3,u,\n").unwrap();
    let stored = serde_json::to_string(&table.schema).unwrap();
    for word in ["offset", "decimal", "delimiter", "class-words"] {
        assert!(!stored.contains(word), "{stored}");
    }
}

#[test]
fn dates_are_not_categories() {
    let dates = |format: fn(usize) -> String| column((0..40).map(format));
    let formats: [fn(usize) -> String; 5] = [
        |i| format!("2024-01-{:02}", i % 28 + 1),
        |i| format!("{}.02.2024", i % 28 + 1),
        |i| format!("{}/2/24", i % 28 + 1),
        |i| format!("2024-01-02T{:02}:30:00Z", i % 24),
        |i| format!("{:02}:30", i % 24),
    ];
    for format in formats {
        let text = dates(format);
        check_message(read(&text), "column `b` … date or a time … --exclude");
        read_with(&text, |o| o.categorical = vec!["b".to_owned()]).unwrap();
        read_with(&text, |o| o.exclude = vec!["b".to_owned()]).unwrap();
    }
}

#[test]
fn a_class_called_na_is_said_and_can_be_kept() {
    let text = "a,label\n1,K\n2,Na\n3,NA\n4,K\n5,\n6,null\n";
    let table = read(text).unwrap();
    assert_eq!(table.class_names, ["K"]);
    let told = "`NA` … `Na` … `null` … --class-word NA";
    check_text(&warnings(&table), told);
    let table = read_with(text, |o| o.class_words = vec!["NA".to_owned()]).unwrap();
    assert_eq!(table.class_names, ["K", "NA", "Na"]);
    assert_eq!(table.check.unlabeled, 2);
    assert!(warnings(&table).contains("`null`"));
    // Held-out tables are read the same way.
    let (schema, classes) = (stored(&table.schema), &table.class_names);
    let (held_out, options) = (csv("a,label\n1,NA\n2,K\n"), EncodeOptions::default());
    let held_out = read_held_out(held_out, &schema, classes, &options);
    assert_eq!(held_out.unwrap().classes, [1, 0]);
}

/// How many different numbers a feature has.
fn distinct(table: &MpuTable, feature: usize) -> usize {
    let rows = 0..table.features.n_rows();
    let bits = rows.map(|row| table.features.row(row)[feature].to_bits());
    bits.collect::<BTreeSet<u32>>().len()
}

#[test]
fn large_numbers_with_small_differences_stay_apart() {
    let values: [fn(usize) -> String; 5] = [
        |i| format!("{:.1}", 5e6 + 0.1 * i as f64),
        |i| format!("{}", 1_700_000_000 + i),
        |i| format!("{}", 1_700_000_000 + 65_537 * i),
        |i| format!("{}", 1_700_000_000_000_000_000u64 + i as u64),
        |i| format!("-{:.7}", 1000.0 + 1e-6 * i as f64),
    ];
    for value in values {
        let text = column((0..479).map(value));
        let table = read(&text).unwrap();
        assert_eq!(distinct(&table, 1), 479, "{}", value(3));
        let columns = &table.check.columns;
        assert!(!columns[1].constant);
        assert_eq!(table.check.duplicates.rows, 0);
        let said = warnings(&table);
        assert!(!said.contains("32 bits"), "{said}");
        // Later rows are read alike.
        let options = EncodeOptions {
            label_column: Some("label".to_owned()),
            ..EncodeOptions::default()
        };
        let encoded = stored(&table.schema).encode(csv(&text), &options);
        assert_eq!(encoded.unwrap().features, table.features);
    }
}

#[test]
fn large_numbers_of_typed_formats_stay_apart() {
    let stamps: Vec<u8> = (0..400)
        .flat_map(|i| (1.7e9 + f64::from(i)).to_le_bytes())
        .collect();
    let labels: Vec<u8> = (0..400).map(|i| u8::from(i % 2 == 0)).collect();
    let labels = file("y.npy", npy("|u1", "(400,)", &labels));
    let options = with(|o| o.labels = Some(labels));
    let input = file("X.npy", npy("<f8", "(400, 1)", &stamps));
    let table = read_table(input, &options).unwrap();
    assert_eq!(distinct(&table, 0), 400);
}

/// Values that `f32` holds, or that are not told apart by an offset, keep their bits.
#[test]
fn ordinary_numbers_keep_their_bits() {
    let values: [fn(usize) -> String; 5] = [
        |i| format!("{}", 2000 + i % 20),
        |i| format!("{:.2}", 99.8 + 0.01 * (i % 200) as f64),
        |i| format!("{:.1}", 36.5 + 0.1 * (i % 30) as f64),
        |i| format!("{:.3}", 0.001 * i as f64),
        |_| "1013.25".to_owned(),
    ];
    for value in values {
        let table = read(&column((0..300).map(value))).unwrap();
        for i in 0..300 {
            let (found, expected) = (table.features.row(i)[1], value(i).parse::<f32>().unwrap());
            assert_eq!(found.to_bits(), expected.to_bits(), "{expected}");
        }
    }
}

#[test]
fn what_32_bits_cannot_tell_apart_is_said() {
    let spread = (0..300).map(|i| format!("{}", 16_777_217u64 * (1 + i / 2) + i % 2));
    let table = read(&column(spread)).unwrap();
    check_text(&warnings(&table), "32 bits … `b`");
}

#[test]
fn beside_a_class_y_is_a_coordinate() {
    let mut text = "x,y,Class\n".to_owned();
    for i in 0..60 {
        let class = if i % 3 == 0 { "dent" } else { "" };
        writeln!(text, "{i},{},{class}", i % 7).unwrap();
    }
    let table = read(&text).unwrap();
    assert_eq!(table.class_names[0], "dent");
    assert_eq!(table.schema.label_column.as_deref(), Some("Class"));
    let alone = read(&text.replace("x,y,Class", "x,z,y")).unwrap();
    assert_eq!(alone.schema.label_column.as_deref(), Some("y"));
}
