//! Later tables are encoded as the first was.

use std::fmt::Write;

use super::*;

fn schema() -> FeatureSchema {
    let text = "id,weight,colour,note,label\n\
                a,1,red,n1,x\n\
                b,2,blue,n2,x\n\
                c,,red,n3,\n\
                d,6,,n4,\n";
    let table = read_with(text, |o| {
        o.id_column = Some("id".to_owned());
        o.exclude = vec!["note".to_owned()];
        o.missing = Missing::Mean;
    })
    .unwrap();
    assert_eq!(table.features.row(2), [3.0, 0.0, 1.0]);
    assert_eq!(
        table.features.row(3),
        [6.0, 0.0, 1.0],
        "the most frequent category"
    );
    table.schema
}

#[test]
fn missing_values_that_are_kept_can_be_filled_in_later() {
    let read = |missing| {
        let text = "weight,colour,label\n1,red,x\n2,blue,x\n,red,\n6,,\n,,\n";
        read_with(text, |o| o.missing = missing).unwrap()
    };
    let (kept, filled) = (read(Missing::Keep), read(Missing::Median));
    let nan = |row: usize| -> Vec<bool> {
        let row = kept.features.row(row);
        row.iter().map(|value| value.is_nan()).collect()
    };
    assert_eq!(nan(2), [true, false, false]);
    assert_eq!(nan(3), [false, true, true]);
    assert_eq!(nan(4), [true; 3]);
    let mut values = kept.features.values().to_vec();
    kept.schema.fill(&mut values);
    assert_eq!(values, filled.features.values());
    assert_eq!(kept.check.columns, filled.check.columns);
    let later = "weight,colour\n,\n4,green\n";
    let encoded = |table: &MpuTable| encode(&table.schema, csv(later)).unwrap();
    let (kept_later, filled_later) = (encoded(&kept), encoded(&filled));
    assert_eq!(kept_later.report, filled_later.report);
    let mut values = kept_later.features.values().to_vec();
    assert!(values[..3].iter().all(|value| value.is_nan()));
    assert_eq!(values[3..], [4.0, 0.0, 0.0], "a new category is not a gap");
    kept.schema.fill(&mut values);
    assert_eq!(values, filled_later.features.values());
}

#[track_caller]
fn refused(text: &str, parts: &str) {
    check_message(encode(&schema(), csv(text)), parts);
}

#[test]
fn a_schema_is_stored_and_checked_again() {
    let schema = schema();
    let stored = serde_json::to_string(&schema).unwrap();
    let read: FeatureSchema = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, schema);
    assert_eq!(
        read.feature_names(),
        ["weight", "colour=blue", "colour=red"]
    );
    assert_eq!(
        (read.label_column(), read.id_column()),
        (Some("label"), Some("id"))
    );
    let colours = r#"["blue","red"]"#;
    for (from, to, part) in [
        ("n\":1", "n\":99", "version 99 is newer than 1"),
        (colours, r#"["red","blue"]"#, "`colour` is not valid"),
        (colours, "[]", "`colour` is not valid"),
        ("\"vector\":3", "\"vector\":4", "do not make the shape"),
        ("\"colour\"", "\"weight\"", "two columns have one name"),
    ] {
        let changed = stored.replace(from, to);
        check_message(serde_json::from_str::<FeatureSchema>(&changed), part);
    }
    let extended = stored.replacen('{', "{\"later\":true,", 1);
    let extended: FeatureSchema = serde_json::from_str(&extended).unwrap();
    assert_eq!(extended, schema);
}

#[test]
fn later_rows_are_encoded_the_same_way() {
    let later = "id,weight,colour\ne,5,blue\nf,,green\ng,NA,green\nh,1,grey\n";
    let table = encode(&schema(), csv(later)).unwrap();
    assert_eq!(
        table.features.values(),
        [5.0, 1.0, 0.0, 3.0, 0.0, 0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(table.ids.unwrap(), ["e", "f", "g", "h"]);
    let report = table.report;
    assert_eq!(report.rows, 4);
    assert_eq!(report.imputed["weight"], 2);
    assert_eq!(
        (report.unseen[0].column.as_str(), report.unseen[0].rows),
        ("colour", 3)
    );
    assert_eq!(report.unseen[0].examples["green"], 2);
}

#[test]
fn columns_are_matched_and_explained() {
    refused(
        "id,wieght,colour\ne,5,blue\n",
        "items.csv … missing: `weight` … extra: `wieght` … hint: is it `wieght` for `weight`?",
    );
    refused("weight,colour,new\n5,blue,1\n", "extra: `new` … hint:");
    refused(
        "colour,weight\nblue,5\n",
        "feature column 1 is `colour`, the schema has `weight` there … hint:",
    );
    let lenient = EncodeOptions {
        column_order: ColumnOrder::Any,
        extra_columns: ExtraColumns::Ignore,
        ..EncodeOptions::default()
    };
    let table = schema()
        .encode(csv("colour,new,note,weight\nred,1,n,5\n"), &lenient)
        .unwrap();
    assert_eq!(table.features.values(), [5.0, 0.0, 1.0]);
    assert_eq!(table.report.ignored, ["new"]);
    assert_eq!(table.ids, None);
}

#[test]
fn bad_cells_are_named() {
    refused(
        "weight,colour\n5,blue\nheavy,red\n",
        "items.csv, line 3, column `weight`: `heavy` is not a number … hint:",
    );
    let told = "line 2, column `weight` … `inf`";
    refused("weight,colour\ninf,red\n", told);
    refused("weight,colour\n", "no rows");
    let strict = read("a,label\n1,x\n2,x\n3,\n").unwrap().schema;
    let told = "items.csv, line 4, column `a`: the value is missing\n";
    check_message(encode(&strict, csv("a\n1\n\n\"\"\n")), told);
}

#[test]
fn chunks_make_the_whole() {
    let mut text = "a,b,label\n".to_owned();
    for i in 0..60_000 {
        let label = if i % 3 == 0 { "x" } else { "" };
        writeln!(text, "{i},{}.25,{label}", i * 3 % 1000).unwrap();
    }
    let table = read(&text).unwrap();
    let mut rows = 0;
    let mut values = Vec::new();
    let mut chunks = table
        .schema
        .chunks(csv(&text), &EncodeOptions::default())
        .unwrap();
    let mut n_chunks = 0;
    for chunk in &mut chunks {
        let chunk = chunk.unwrap();
        assert_eq!(chunk.first_row, rows);
        rows += chunk.features.n_rows() as u64;
        values.extend_from_slice(chunk.features.values());
        n_chunks += 1;
    }
    assert!(n_chunks > 2, "{n_chunks}");
    assert_eq!(chunks.report().rows, 60_000);
    assert_eq!(values, table.features.values());
}

#[test]
fn a_table_is_the_same_on_any_number_of_threads() {
    let mut text = "a,b,label\n".to_owned();
    for i in 0..60_000u64 {
        let a = if i % 7 == 0 { "" } else { "1.5" };
        let b = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        writeln!(text, "{a},{b}e-3,{}", i % 4).unwrap();
    }
    let with = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        pool.install(|| read_with(&text, |o| o.missing = Missing::Mean).unwrap())
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.features, three.features);
    assert_eq!(one.labels, three.labels);
    assert_eq!(one.schema, three.schema);
    assert_eq!(one.check, three.check);
}

#[test]
fn a_held_out_table_has_true_classes() {
    let schema = schema();
    let classes = ["x".to_owned(), "z".to_owned()];
    let read = |text: &str, options| read_held_out(csv(text), &schema, &classes, options);
    let default = EncodeOptions::default();
    let text = "id,weight,colour,label\ne,5,blue,x\nf,6,red,odd\ng,6,red,odd\nh,1,red,none\n";
    let held_out = read(text, &default).unwrap();
    assert_eq!(held_out.classes, [0, 2, 2, 2]);
    assert_eq!(held_out.negative_names.len(), 2);
    assert_eq!(held_out.negative_names["odd"], 2);
    assert_eq!(held_out.absent, ["z"]);
    assert_eq!(held_out.ids.unwrap()[1], "f");

    let blank = read("id,weight,colour,label\ne,5,blue,\n", &default);
    check_message(blank, "line 2, column `label`: the label is blank");
    let without = read("id,weight,colour\ne,5,blue\n", &default);
    check_message(without, "no column `label`");
    let options = EncodeOptions {
        label_column: Some("truth".to_owned()),
        ..EncodeOptions::default()
    };
    let held_out = read("weight,colour,truth\n5,blue,z\n", &options);
    assert_eq!(held_out.unwrap().classes, [1]);
}
