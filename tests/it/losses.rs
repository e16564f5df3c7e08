//! `mpu-cli losses`.

use crate::support::{Folder, stdout};

#[test]
fn every_format_has_all_nine_rows() {
    let folder = Folder::new();
    let md = folder.told("losses --format md");
    assert_eq!(md.lines().count(), 2 + 9, "{md}");
    assert!(md.contains("| hinge | 1.0 | raw | no | 10.00 | 10.00 | 10.00 | 9.90 | 9.90 | 9.90 |"));
    assert!(md.contains("| logistic | 1.0 | raw | no | 9.00 | 9.00 | 9.00 | 8.90 | 8.90 | 8.90 |"));
    assert!(md.contains("| ramp | 1.0 | raw | no | 1.00 | 1.00 | 1.00 | 0.90 | 0.90 | 0.90 |"));
    let csv = folder.told("losses --format csv");
    assert_eq!(csv.lines().count(), 1 + 9, "{csv}");
    let table = folder.told("losses");
    assert_eq!(table.matches("sigmoid_prob").count(), 2, "{table}");
}

#[test]
fn json_agrees_with_the_published_columns() {
    let rows = Folder::new().json("losses");
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        for column in ["max", "p99"] {
            let published = row["published"][column].as_f64().unwrap();
            let ours = row["f32"][column].as_f64().unwrap();
            if published < 0.005 {
                assert!(ours < 1e-6, "{row}");
            } else {
                assert_eq!(format!("{ours:.2}"), format!("{published:.2}"), "{row}");
            }
        }
    }
}

#[test]
fn bad_usage_exits_with_2_and_says_what_is_allowed() {
    let folder = Folder::new();
    let output = folder.run("losses --format xml");
    assert!(stdout(&output).is_empty());
    folder.refuses("losses --format xml", &["xml", "table, json, csv, md"]);
    folder.refuses("loses", &[]);
}
