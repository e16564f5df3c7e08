//! Files that take the machine down if they are believed.

use std::fmt::Write;

use super::*;

#[test]
fn a_small_sparse_file_is_not_a_large_matrix() {
    let mut text = String::new();
    for i in 0..9000 {
        writeln!(text, "{} {}:1", i % 2, i % 90_000 + 1).unwrap();
    }
    text.push_str("1 90000:1\n");
    assert!(text.len() < 119_000);
    check_message(
        read_file(file("a.libsvm", text.as_bytes())),
        "a.libsvm: a matrix of 9001 rows and 90000 columns … --limit expansion",
    );
    // Many short rows, and a pool of one row that is wide.
    let narrow = "1 1:1\n".repeat(9000).into_bytes();
    let options = with(|o| o.unlabeled = Some(file("p.libsvm", *b"0 90000:1\n")));
    check_message(
        read_table(file("a.libsvm", narrow), &options),
        "a matrix of 9001 rows and 90000 columns",
    );
}

#[test]
fn an_endless_line_of_positives_is_refused() {
    let options = |positives: Vec<u8>| {
        with(|o| {
            o.positives = Some(Positives {
                input: file("p.txt", positives),
                key: "id".to_owned(),
                class_column: None,
            });
            o.limits = Limits {
                record_bytes: 1 << 10,
                ..Limits::default()
            };
        })
    };
    let table = "id,x\na,1\nb,2\nc,3\n";
    let endless = options(vec![b'a'; 1 << 20]);
    check_message(
        read_table(csv(table), &endless),
        "p.txt, line 1 … longer than 1024 bytes",
    );
    // Marks at the beginning, other line ends and blank lines are no part of a key.
    let plain = options(b"\xef\xbb\xbfa\r\n\r\n b \n".to_vec());
    assert_eq!(read_table(csv(table), &plain).unwrap().check.labeled(), 2);
}

#[test]
fn text_of_another_encoding_is_named() {
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let mut marked = vec![0xff, 0xfe];
    marked.extend(utf16("a,label\n1,x\n2,x\n3,\n"));
    for (bytes, told) in [
        (marked, "UTF-16LE … hint:"),
        (utf16("a,label\n1,x\n2,x\n3,\n"), "byte 0 … UTF-16"),
        (b"a,label\n1,x\n2,x\0y\n3,\n".to_vec(), "line 3 … byte 0"),
        (b"a,label\n1,\xe4\n".to_vec(), "line 2 … not UTF-8"),
    ] {
        check_message(read_file(file("a.csv", bytes)), told);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_device_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.csv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let zero = dir.path().join("zero.csv");
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    for path in [pipe, zero] {
        for format in [
            InputFormat::Csv,
            InputFormat::Npy,
            InputFormat::Libsvm,
            InputFormat::Npz,
        ] {
            let options = with(|o| o.format = Some(format));
            check_message(read_table(&path, &options), "pipe or a device … hint:");
        }
    }
}

#[cfg(feature = "images")]
mod of_images {
    use ::image::ImageFormat::Png;

    use super::super::make::{image, write};
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            write(folder.path(), name, &image(4, true, Png));
        }
        folder
    }

    /// Three images, as few as there may be.
    fn small() -> tempfile::TempDir {
        folder(&["dent/a.png", "dent/b.png", "unlabeled/a.png"])
    }

    #[test]
    fn folders_within_folders_are_read_and_counted() {
        let folder = folder(&[
            "dent/2023/a.png",
            "dent/2024/jan/a.png",
            "dent/2024/jan/b.png",
            "crack/a.png",
            "unlabeled/a.png",
            "unlabeled/batch 1/a.png",
            "unlabeled/batch 1/b.png",
        ]);
        let table = read_file(folder.path()).unwrap();
        assert_eq!(table.class_names, ["crack", "dent"]);
        let labeled: Vec<u64> = table.check.classes.iter().map(|c| c.labeled).collect();
        assert_eq!((labeled, table.check.unlabeled), (vec![1, 3], 3));
        let is_nested = |w: &&Warning| matches!(w, Warning::NestedFolders { .. });
        let said = table.check.warnings.iter().find(is_nested);
        let told = "dent/2023 (1) … dent/2024/jan (2) … unlabeled/batch 1 (2)";
        check_text(&said.unwrap().to_string(), told);
        let ids = table.ids.unwrap();
        assert!(ids.contains(&"dent/2024/jan/b.png".to_owned()), "{ids:?}");
        let encoded = encode(&table.schema, folder.path());
        assert_eq!(encoded.unwrap().report.rows, 7);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_back_are_refused() {
        let folder = small();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("dent/loop")).unwrap();
        check_message(read_file(folder.path()), "through a link");
    }

    #[cfg(unix)]
    #[test]
    fn an_image_that_is_a_device_or_a_pipe_is_refused() {
        let folder = small();
        let path = folder.path().join("dent/c.png");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        check_message(read_file(folder.path()), "c.png … pipe or a device");
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        check_message(read_file(folder.path()), "c.png … pipe or a device");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let folder = small();
        let name = std::ffi::OsStr::from_bytes(b"x\xff.png");
        std::fs::write(folder.path().join("dent").join(name), image(4, true, Png)).unwrap();
        check_message(read_file(folder.path()), "not UTF-8 … rename");
    }
}

/// A Parquet file that is a footer and nothing else.
#[cfg(feature = "parquet")]
fn of_footer(footer: &[u8]) -> Vec<u8> {
    let len = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", footer, &len, b"PAR1"].concat()
}

/// A footer whose schema is nested so often that reading it by recursion uses up the stack.
#[cfg(feature = "parquet")]
#[test]
fn a_schema_nested_without_end_is_refused() {
    let n = 40_000u32;
    // FileMetaData: version 1, then the schema: a list of structures with a name and one child each.
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
    let mut rest = n;
    while rest >= 128 {
        footer.push((rest & 127) as u8 | 128);
        rest >>= 7;
    }
    footer.push(rest as u8);
    for _ in 0..n {
        // name (field 4): "a"; num_children (field 5): 1; end.
        footer.extend([0x48, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]); // num_rows 0, row_groups empty
    let input = file("deep.parquet", of_footer(&footer));
    check_message(read_file(input), "deep.parquet … nested");
}

/// A list of truth values that holds nothing and says that it is long: whoever passes over it counts to two thousand
/// million, once for each such list.
#[cfg(feature = "parquet")]
#[test]
fn a_list_that_says_it_is_long_is_refused() {
    // FileMetaData: version 1; a schema of the root with one column `a` (double); no rows; no row groups.
    let mut footer = vec![0x15, 0x02, 0x19, 0x2c];
    footer.extend([0x48, 0x01, b'r', 0x15, 0x02, 0x00]);
    footer.extend([0x15, 0x0a, 0x25, 0x00, 0x18, 0x01, b'a', 0x00]);
    footer.extend([0x16, 0x00, 0x19, 0x0c]);
    let good = |footer: &[u8]| of_footer(&[footer, &[0]].concat());
    let read = |bytes: Vec<u8>| read_file(file("long.parquet", bytes));
    check_message(read(good(&footer)), "which column holds the labels");
    // The root promises two thousand million columns: memory would be taken for them.
    let promised = [0x48, 0x01, b'r', 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x00];
    let many = [&footer[..4], &promised, &footer[10..]].concat();
    check_message(read(good(&many)), "long.parquet … not valid");
    for _ in 0..200 {
        // An unknown field: a list (0xf1) of so many truth values.
        footer.extend([0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07]);
    }
    let begun = std::time::Instant::now();
    check_message(read(good(&footer)), "long.parquet … not valid");
    let limit = crate::source::Limit::bytes(1 << 20);
    let shape = crate::Shape::image(1, 2, 2);
    let refused = crate::source::hub_parquet::read("long", &good(&footer), shape, 10, limit);
    check_message(refused, "not valid");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}
