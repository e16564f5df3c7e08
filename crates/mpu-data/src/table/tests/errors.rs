//! Each kind of bad table gets a message that names the place and the remedy.

use super::*;

/// Texts of tables, and what their messages must contain.
const REFUSED: [(&str, &str); 14] = [
    ("", "items.csv: the file is empty … hint:"),
    ("\n\n  \n", "empty"),
    ("a,label\n", "items.csv: a header but no rows"),
    ("a,label", "no rows"),
    (
        "a,label\n1,x\n2,x\n",
        "every one of the 2 rows has the label `x` … hint: unlabelled rows",
    ),
    (
        "a,label\n1,x\n2,y\n",
        "no row is unlabelled … `x`, `y` … hint: say which value",
    ),
    ("a,label\n1,\n2,unknown\n", "all 2 rows are unlabelled"),
    (
        "a,label\n1,\n2,x\n3,\n",
        "items.csv, line 3 … only labelled row (class `x`) … hint: label more",
    ),
    (
        "a,b,a,label\n1,2,3,x\n",
        "column `a` is in the header twice, as columns 1 and 3 … hint: rename",
    ),
    (
        "a,b,label\n1,2,x\n\"3\n3\",4,\n1,x\n",
        "items.csv, line 5: 2 cells … 3 columns … hint:",
    ),
    ("a,label\n1,x,\n", "line 2: 3 cells"),
    ("a,label\n1,x\n\"2,y\n", "line 3 … never closed … hint:"),
    ("a,label\n\"1\"2,x\n", "line 2 … closing double quote"),
    (
        "a,kind\n1,x\n",
        "which column holds the labels? … `a`, `kind`",
    ),
];

#[test]
fn a_bad_table_is_refused_with_its_place_and_a_remedy() {
    for (text, parts) in REFUSED {
        check_message(read(text), parts);
    }
}

#[test]
fn text_that_is_not_utf8() {
    check_message(
        read_file(file("items.csv", *b"a,label\n1,x\n2,caf\xe9\n")),
        "items.csv, line 3: not UTF-8 text (byte 0xe9) … hint: convert",
    );
}

#[test]
fn infinity() {
    for value in ["inf", "-Infinity", "1e39"] {
        check_message(
            read(&format!("a,b,label\n1,2,x\n1,{value},\n")),
            &format!("items.csv, line 3, column `b` … {value} … finite"),
        );
    }
}

#[test]
fn missing_values() {
    for value in ["", "NaN", "NA", "?"] {
        check_message(
            read(&format!("a,b,label\n1,2,x\n1,{value},x\n,3,\n")),
            "items.csv, line 3, column `b` … missing (2 in all) … hint: … `mean`",
        );
    }
    check_message(
        read_with("a,b,label\n1,,x\n2,,x\n3,,\n", |o| {
            o.missing = Missing::Median;
        }),
        "column `b` has no value in any row … hint: exclude",
    );
}

#[test]
fn a_label_column_that_is_not_there() {
    check_message(
        read_with("a,kind\n1,x\n", |o| o.label_column = Some("knd".to_owned())),
        "no column `knd` (wanted as label column) … did you mean `kind`?",
    );
}

#[test]
fn other_columns_that_are_not_there() {
    let text = "id,a,label\n1,2,x\n";
    let refused = |told: &str, change: fn(&mut TableOptions)| {
        check_message(read_with(text, change), told);
    };
    refused("id column … `id`", |o| o.id_column = Some("ids".into()));
    refused("excluded column", |o| o.exclude = vec!["b".into()]);
    refused("categorical", |o| o.categorical = vec!["label".into()]);
    refused("both for labels", |o| o.id_column = Some("label".into()));
    refused("no feature column is left", |o| {
        o.exclude = vec!["id".into(), "a".into()];
    });
}

#[test]
fn lists_of_positives() {
    let table = "sku,a\np1,1\np2,2\np3,3\np3,4\n";
    let with = |list: &str, key: &str| {
        read_with(table, |o| {
            o.positives = Some(Positives {
                input: file("found.csv", list.as_bytes()),
                key: key.to_owned(),
                class_column: None,
            });
        })
    };
    let cases = [
        ("sku\np1\n", "skv", "items.csv … key column … `sku`"),
        ("id\np1\n", "sku", "found.csv … key column … `id`"),
        (
            "sku\np1\np9\np8\n",
            "sku",
            "found.csv: 2 of 3 listed positives are not in column `sku` of items.csv … `p8`, `p9`",
        ),
        (
            "sku\np1\np3\n",
            "sku",
            "items.csv, line 5 … key `p3` was already at line 4",
        ),
        (
            "sku,class\np1,x\np1,y\n",
            "sku",
            "found.csv, line 3 … another class",
        ),
        (
            "sku,class\np1,\n",
            "sku",
            "found.csv, line 2 … column `class`",
        ),
        ("sku,a,b\np1,1,2\n", "sku", "which column holds the classes"),
        ("sku\n", "sku", "found.csv: a header but no rows"),
        ("sku\np1\n", "sku", "only labelled row"),
    ];
    for (list, key, parts) in cases {
        check_message(with(list, key), parts);
    }
}

/// So many rows of a cell and a label.
fn table(n: usize, row: impl Fn(usize) -> String) -> String {
    "a,label\n".to_owned() + &(0..n).map(|i| row(i) + "\n").collect::<String>()
}

#[test]
fn text_among_numbers() {
    let text = table(200, |i| format!("{i},{}", ["x", ""][i % 2])) + "n.a.,\n";
    check_message(
        read(&text),
        "items.csv, line 202, column `a`: `n.a.` is not a number, but 200 other cells are … hint:",
    );
    let table = read_with(&text, |o| {
        o.missing = Missing::Mean;
        o.missing_markers = vec!["n.a.".to_owned()];
    })
    .unwrap();
    assert_eq!(table.features.row(200), [99.5]);
}

#[test]
fn too_many_categories() {
    let text = table(200, |i| format!("name {i},{}", ["x", ""][i % 2]));
    check_message(
        read(&text),
        "more than 100 different values in `a` … hint: exclude",
    );
}

#[test]
fn too_many_labels() {
    check_message(
        read(&table(2000, |i| format!("1,c{i}"))),
        "column `label` has more than 1000 … hint: is it the label column?",
    );
}

#[test]
fn formats_that_are_not_known() {
    check_message(
        read_file(file("items.xlsx", *b"a")),
        "items.xlsx: the name does not say the format … hint: save the sheet as CSV",
    );
    check_message(
        read_file("no/such/file.csv"),
        "no/such/file.csv: cannot open",
    );
}
