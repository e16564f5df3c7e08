//! What the data check finds.

use std::fmt::Write;

use super::*;

/// A table of 40 rows, the first half labelled, with columns that leak in every way.
fn leaky() -> String {
    let mut text = "serial,source,seen,noise,same,label\n".to_owned();
    for i in 0..40 {
        let (source, seen, label) = if i < 20 {
            ("lab", "3", ["x", "y"][i % 2])
        } else {
            (["web", "shop"][i % 2], "", "")
        };
        let noise = (i * 7919) % 41;
        writeln!(text, "{},{source},{seen},{noise},5,{label}", 1000 - i).unwrap();
    }
    text
}

#[test]
fn leakage_is_suspected() {
    let table = read_with(&leaky(), |o| o.missing = Missing::Mean).unwrap();
    let leaks = [
        ("serial", LeakageKind::Value),
        ("source", LeakageKind::Category),
        ("seen", LeakageKind::Missing),
    ];
    let leaks = leaks.map(|(column, kind)| Leakage {
        column: column.to_owned(),
        kind,
        auc: 1.0,
    });
    assert_eq!(table.check.leakage, leaks);
    let constant = table.check.columns.iter().filter(|c| c.constant);
    let constant: Vec<&str> = constant.map(|c| c.name.as_str()).collect();
    assert_eq!(constant, ["seen", "same"]);
    assert_eq!(table.check.columns[2].missing, 20);
    assert_eq!(table.check.columns[1].kind, ColumnType::Categorical(3));
    assert_eq!(table.check.sampling.scheme, SamplingScheme::SingleSample);
    check_text(
        &warnings(&table),
        "`serial`: tells labelled … whether it is missing tells … `seen`, `same` … 20 missing",
    );
}

#[test]
fn a_check_is_stored_and_read_back() {
    let check = read_with(&leaky(), |o| o.missing = Missing::Median)
        .unwrap()
        .check;
    let stored = serde_json::to_string(&check).unwrap();
    assert_eq!(serde_json::from_str::<DataCheck>(&stored).unwrap(), check);
}

#[test]
fn warnings_name_what_to_look_at() {
    let text = ",a,0.5,label\n1,1,1,normal\n2,1,2,normal\n3,x,3,\n4,x,3,\n4,x,3,\n";
    let table = read(text).unwrap();
    assert_eq!(
        table.schema.feature_names(),
        ["column 1", "a=1", "a=x", "0.5"]
    );
    let warnings = &table.check.warnings;
    assert!(warnings.contains(&Warning::Unnamed { positions: vec![1] }));
    assert!(warnings.contains(&Warning::HeaderIsData));
    assert!(warnings.contains(&Warning::Mixed {
        columns: vec!["a".to_owned()]
    }));
    assert!(warnings.contains(&Warning::NegativeClass {
        class: "normal".to_owned()
    }));
    assert!(warnings.contains(&Warning::Duplicates { rows: 1 }));
    let few = Warning::FewLabeled {
        class: "normal".to_owned(),
        labeled: 2,
    };
    assert!(warnings.contains(&few));
    for warning in warnings {
        assert!(!warning.to_string().is_empty());
    }
}

#[test]
fn what_was_understood_is_counted() {
    let table = read("a;b;label\n1;u;x\n2;v;y\n3;u;\n").unwrap();
    let check = &table.check;
    assert_eq!((check.rows, check.features, check.unlabeled), (3, 3, 1));
    assert_eq!(check.delimiter, Some(';'));
    assert_eq!(check.label_column.as_deref(), Some("label"));
    let classes: Vec<(&str, u64)> = check
        .classes
        .iter()
        .map(|c| (c.name.as_str(), c.labeled))
        .collect();
    assert_eq!(classes, [("x", 1), ("y", 1)]);
    assert_eq!(table.classes().unwrap().get(), 3);
}
