//! Files as other programs write them: read, or refused in words that help.

use std::fmt::Write as _;

use super::*;

/// Twelve rows, of which six are labelled `x` and `y`, with a further column.
fn rows(cell: impl Fn(usize) -> String) -> String {
    let mut text = String::from("id,a,label\n");
    for i in 0..12 {
        let label = ["x", "y", "", ""][i % 4];
        writeln!(text, "r{i},{},{label}", cell(i)).unwrap();
    }
    text
}

/// Reads text with its ids.
fn read(text: &str) -> Result<MpuTable> {
    read_table(csv(text), &with_id())
}

fn said(text: &str) -> String {
    warnings(&read(text).unwrap())
}

fn with_id() -> TableOptions {
    with(|o| o.id_column = Some("id".to_owned()))
}

#[test]
fn line_ends_of_old_macs_are_named() {
    let text = rows(|i| i.to_string());
    assert_eq!(read(&text.replace('\n', "\r\n")).unwrap().labels.len(), 12);
    check_message(
        read(&text.replace('\n', "\r")),
        "line 1 … carriage return … hint:",
    );
    // Within quotes it is part of a name.
    let quoted = text.replace("id,a,label", "id,\"a\rb\",label");
    assert_eq!(read(&quoted).unwrap().labels.len(), 12);
}

#[test]
fn a_note_for_excel_is_named() {
    let text = format!("sep=;\n{}", rows(|i| i.to_string()).replace(',', ";"));
    check_message(read(&text), "line 1 … Excel … remove this line");
}

#[test]
fn classes_that_look_alike_are_said() {
    let text = rows(|i| i.to_string()) + "s1,5,X\ns2,6,y\u{a0}\n";
    let table = read(&text).unwrap();
    assert_eq!(table.class_names.len(), 4);
    check_text(&warnings(&table), "`X`, `x` … `y\\u{a0}`");
    let accents = rows(|i| i.to_string()) + "s1,5,caf\u{e9}\ns2,6,cafe\u{301}\n";
    check_text(&said(&accents), "`cafe\\u{301}`, `caf\u{e9}`");
    let plain = read(&rows(|i| i.to_string())).unwrap();
    let looks_alike = |w: &Warning| matches!(w, Warning::AlikeClasses { .. });
    assert!(!plain.check.warnings.iter().any(looks_alike));
}

#[test]
fn numbers_that_may_be_codes_are_said() {
    let codes = said(&rows(|i| format!("{:03}", i * 37 % 400)));
    check_text(&codes, "`000` begins with a zero … --categorical a");
    for plain in [rows(|i| format!("0.{i}")), rows(|i| (10 * i).to_string())] {
        let plain = said(&plain);
        assert!(!plain.contains("begins with a zero"), "{plain}");
    }
    let options = TableOptions {
        categorical: vec!["a".to_owned()],
        ..with_id()
    };
    let kept = read_table(csv(&rows(|i| format!("{:03}", i % 3))), &options).unwrap();
    assert!(!warnings(&kept).contains("begins with a zero"));
    let names = kept.schema.feature_names();
    assert!(names.iter().any(|name| name.contains("002")), "{names:?}");
}

#[test]
fn ids_that_repeat_are_said() {
    let text = rows(|i| i.to_string()) + "r3,50,\nr3,60,\nr4,70,\n";
    let told = "3 rows have the id of an earlier row, such as `r3`";
    check_text(&said(&text), told);
}

#[test]
fn gaps_are_counted_and_not_said_to_be_filled() {
    let options = TableOptions {
        missing: Missing::Keep,
        ..with_id()
    };
    let text = rows(|i| if i == 5 { String::new() } else { i.to_string() });
    let table = read_table(csv(&text), &options).unwrap();
    check_text(&warnings(&table), "1 missing value, in `a`");
}

#[test]
fn several_labels_in_a_row_are_refused() {
    let input = file("a.libsvm", *b"1 1:1\n2 1:2\n1,2 1:3\n0 1:1\n");
    check_message(read_file(input), "line 3 … `1,2` … several labels … hint:");
}

#[test]
fn a_name_of_another_program_says_what_to_do() {
    for (name, told) in [
        ("a.xlsx", "save the sheet as CSV"),
        ("a.zip", "unpack it"),
        ("a.json", "CSV or Parquet"),
        ("a.what", "--input-format"),
    ] {
        let read = read_file(file(name, *b"x"));
        check_message(read, &format!("{name} … {told}"));
    }
}

#[test]
fn what_is_too_large_says_how_to_go_on() {
    // The fourth cell is this one.
    let with_cell = |cell: &str| rows(|i| if i == 3 { cell.into() } else { i.to_string() });
    let text = with_cell("1e400");
    check_message(read(&text), "line 5 … `1e400` … hint: … --exclude");
    let options = TableOptions {
        limits: Limits {
            record_bytes: 64,
            ..Limits::default()
        },
        ..with_id()
    };
    let long = with_cell(&("\"".to_owned() + &"a".repeat(300_000)));
    check_message(read_table(csv(&long), &options), "--limit record-bytes=N");
}

#[cfg(feature = "parquet")]
mod parquet_types {
    use ::parquet::data_type::{
        ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    };

    use super::super::make::parquet_beside;
    use super::*;

    fn read(bytes: Vec<u8>, exclude: &[&str]) -> Result<MpuTable> {
        let options = with(|o| o.exclude = exclude.iter().map(|&name| name.to_owned()).collect());
        read_table(file("t.parquet", bytes), &options)
    }

    /// The same of a column of bytes of fixed length.
    fn read_fixed(column: &str, values: &[FixedLenByteArray]) -> Result<MpuTable> {
        read(parquet_beside::<FixedLenByteArrayType>(column, values), &[])
    }

    fn fixed(values: impl Iterator<Item = Vec<u8>>) -> Vec<FixedLenByteArray> {
        values.map(FixedLenByteArray::from).collect()
    }

    fn first_column(table: &MpuTable) -> Vec<f32> {
        (0..table.labels.len())
            .map(|row| table.features.row(row)[0])
            .collect()
    }

    /// Most programs write decimals as bytes of fixed length, the largest first.
    #[test]
    fn decimals_of_fixed_length_are_read() {
        let cents: Vec<i32> = (0..150).map(|i| 25 * (i - 70)).collect();
        let values = fixed(cents.iter().map(|c| c.to_be_bytes()[1..].to_vec()));
        let column = "required fixed_len_byte_array(3) price (DECIMAL(6,2));";
        let table = read_fixed(column, &values).unwrap();
        let expected: Vec<f32> = cents
            .iter()
            .map(|&c| (f64::from(c) / 100.0) as f32)
            .collect();
        assert_eq!(first_column(&table), expected);
        // More digits than a number can hold are refused, not rounded.
        let wide = fixed((0..12).map(|i| vec![1 + i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]));
        let column = "required fixed_len_byte_array(12) price (DECIMAL(28,2));";
        let told = "column `price` … more than 15 digits … hint:";
        check_message(read_fixed(column, &wide), told);
    }

    #[test]
    fn half_precision_is_read() {
        // 1.5, -2, 0.25 as halves.
        let halves = [0x3e00_u16, 0xc000, 0x3400];
        let values = fixed((0..12).map(|i| halves[i % 3].to_le_bytes().to_vec()));
        let column = "required fixed_len_byte_array(2) h (FLOAT16);";
        let table = read_fixed(column, &values).unwrap();
        assert_eq!(first_column(&table)[..3], [1.5, -2.0, 0.25]);
    }

    #[test]
    fn bytes_and_lists_are_refused_by_name_and_can_be_left_out() {
        let values = fixed((0..12).map(|i| vec![i, 0, 7]));
        let column = "required fixed_len_byte_array(3) raw;";
        let bytes = parquet_beside::<FixedLenByteArrayType>(column, &values);
        let told = "column `raw` … not read … --exclude";
        check_message(read(bytes.clone(), &[]), told);
        assert_eq!(read(bytes, &["raw"]).unwrap().labels.len(), 12);

        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let column = "required group place { required double north; }";
        let bytes = parquet_beside::<DoubleType>(column, &values);
        let told = "column `place.north` … nested … --exclude";
        check_message(read(bytes.clone(), &[]), told);
        assert_eq!(read(bytes, &["place.north"]).unwrap().labels.len(), 12);

        let values: Vec<_> = (0..12_u8).map(|i| vec![0xff, i].into()).collect();
        let bytes = parquet_beside::<ByteArrayType>("required binary raw;", &values);
        check_message(read(bytes, &[]), "column `raw` … not UTF-8 … hint:");
    }

    #[test]
    fn a_file_without_rows_says_so() {
        let bytes = parquet_beside::<DoubleType>("required double a;", &[]);
        check_message(read(bytes, &[]), "t.parquet … no rows");
    }
}

#[cfg(feature = "images")]
mod pictures {
    use ::image::ImageFormat::{Jpeg, Png};

    use super::super::make::{image, write};
    use super::*;

    #[test]
    fn a_class_without_images_is_said() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["dent/a.png", "dent/b.png", "unlabeled/a.png"] {
            write(folder.path(), name, &image(4, true, Png));
        }
        write(folder.path(), "crack/a.gif", b"GIF89a");
        std::fs::create_dir(folder.path().join("rust")).unwrap();
        let table = read_file(folder.path()).unwrap();
        check_text(&warnings(&table), "no images in `crack`, `rust`");
    }

    /// A JPEG whose camera was held upright, as its EXIF says.
    #[test]
    fn photographs_are_turned_as_they_say() {
        let plain = image(4, false, Jpeg);
        let tiff = [
            b"MM\0*\0\0\0\x08\0\x01".as_slice(),
            b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
        ]
        .concat();
        let mut turned = plain[..2].to_vec();
        turned.extend([0xff, 0xe1]);
        turned.extend(u16::try_from(8 + tiff.len()).unwrap().to_be_bytes());
        turned.extend(b"Exif\0\0");
        turned.extend(&tiff);
        turned.extend(&plain[2..]);
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("x/plain.jpg", &plain),
            ("x/turned.jpg", &turned),
            ("unlabeled/a.jpg", &plain),
        ] {
            write(folder.path(), name, bytes);
        }
        let table = read_file(folder.path()).unwrap();
        let row = |name: &str| {
            let place = table.ids.iter().flatten().position(|id| id == name);
            table.features.row(place.unwrap())
        };
        let (plain, turned) = (row("x/plain.jpg"), row("x/turned.jpg"));
        for (y, x) in (0..4).flat_map(|y| (0..4).map(move |x| (y, x))) {
            // A quarter to the right: what was at the bottom is at the left.
            assert_eq!(turned[4 * y + x], plain[4 * (3 - x) + y], "{x} {y}");
        }
    }
}
