//! Label conventions: found out, given, or said by files.

use super::*;
use crate::MpuLabel::{Labeled, Unlabeled};

/// The classes, the labels, the marks with their counts, and the notes of a column of labels.
type Understood = (
    Vec<String>,
    Vec<crate::MpuLabel>,
    Vec<(String, u64)>,
    Vec<LabelNote>,
);

fn understood(labels: &[&str], convention: LabelConvention) -> Result<Understood> {
    let rows = labels.iter().map(|label| format!("1,{label}\n"));
    let text = "a,label\n".to_owned() + &rows.collect::<String>();
    let table = read_with(&text, |o| o.convention = convention)?;
    let LabelCheck { markers, notes, .. } = table.check.labels;
    let markers = markers.iter().map(|m| (m.marker.to_string(), m.rows));
    Ok((table.class_names, table.labels, markers.collect(), notes))
}

#[track_caller]
fn detected(labels: &str, classes: &[&str], marks: &[(&str, u64)], notes: &[LabelNote]) {
    let labels: Vec<&str> = labels.split(',').collect();
    let found = understood(&labels, LabelConvention::Auto).unwrap();
    assert_eq!(found.0, classes);
    let marks: Vec<(String, u64)> = marks.iter().map(|(m, n)| ((*m).to_owned(), *n)).collect();
    assert_eq!(found.2, marks);
    assert_eq!(found.3, notes);
}

#[test]
fn conventions_are_detected() {
    detected("x,x,,NaN", &["x"], &[("blank", 2)], &[]);
    detected("b,a,Unknown,b", &["a", "b"], &[("Unknown", 1)], &[]);
    let both = [("blank", 1), ("unlabelled", 1)];
    detected("b,a,unlabelled,", &["a", "b"], &both, &[]);
    detected("1,2,-1,10", &["1", "2", "10"], &[("-1", 1)], &[]);
}

#[test]
fn doubtful_conventions_are_said() {
    use LabelNote::{MinusOneIsClass, MinusOneIsUnlabeled, ZeroIsClass, ZeroIsUnlabeled};
    for (labels, classes, mark, note) in [
        ("1,2,0,0", vec!["1", "2"], ("0", 2), ZeroIsUnlabeled),
        ("0,1,-1", vec!["0", "1"], ("-1", 1), ZeroIsClass),
        ("0,1,,0", vec!["0", "1"], ("blank", 1), ZeroIsClass),
        ("1,1,-1", vec!["1"], ("-1", 1), MinusOneIsUnlabeled),
        ("-1,1,,1", vec!["-1", "1"], ("blank", 1), MinusOneIsClass),
        ("1.0,1,0.0", vec!["1"], ("0", 1), ZeroIsUnlabeled),
    ] {
        detected(labels, &classes, &[mark], &[note]);
    }
}

#[test]
fn labels_are_numbered_by_class() {
    let found = understood(&["b", "", "a", "b"], LabelConvention::Auto).unwrap();
    assert_eq!(found.1, [Labeled(1), Unlabeled, Labeled(0), Labeled(1)]);
    let found = understood(&["007", "7", "7.0", ""], LabelConvention::Auto).unwrap();
    assert_eq!(found.0, ["007", "7"]);
    assert_eq!(found.1, [Labeled(0), Labeled(1), Labeled(1), Unlabeled]);
}

#[test]
fn conventions_can_be_given() {
    let marked = |marks: &[&str]| {
        LabelConvention::Marked(marks.iter().map(|m| UnlabeledMarker::parse(m)).collect())
    };
    let found = understood(&["x", "todo", "TODO", "0"], marked(&["todo"])).unwrap();
    assert_eq!(found.0, ["0", "x"]);
    assert_eq!(found.2, [("todo".to_owned(), 2)]);
    let found = understood(&["x", "x", "0", ""], marked(&["0", "blank"])).unwrap();
    assert_eq!(
        (found.0, found.1[2], found.1[3]),
        (vec!["x".to_owned()], Unlabeled, Unlabeled)
    );
    let refused = understood(&["x", "x", "0", ""], marked(&["0"]));
    check_message(refused, "line 5, column `label`: the label is blank");
    assert!(understood(&["x", "y"], marked(&["zzz"])).is_err());
}

#[test]
fn a_file_of_unlabeled_rows() {
    let pool = file("pool.csv", *b"b,id,a\nred,p1,7\nblue,p2,8\n");
    let table = read_with(
        "id,a,b,label\nm1,1,red,0\nm2,2,green,-1\nm3,3,red,0\n",
        |o| {
            o.unlabeled = Some(pool);
            o.id_column = Some("id".to_owned());
        },
    )
    .unwrap();
    assert_eq!(table.class_names, ["-1", "0"]);
    assert_eq!(
        table.labels,
        [Labeled(1), Labeled(0), Labeled(1), Unlabeled, Unlabeled]
    );
    assert_eq!(table.ids.unwrap(), ["m1", "m2", "m3", "p1", "p2"]);
    assert_eq!(table.features.row(4), [8.0, 1.0, 0.0, 0.0]);
    assert_eq!(table.check.sampling.scheme, SamplingScheme::CaseControl);
    assert_eq!(table.check.labels.origin, ConventionOrigin::Files);
    assert_eq!(table.check.labels.unlabeled_by_file, 2);

    let with_pool = |pool: &str| {
        let pool = file("pool.csv", pool.as_bytes());
        read_with("a,b\n1,2\n3,4\n", |o| o.unlabeled = Some(pool))
    };
    let told = "pool.csv … missing: `b` … extra: `c`";
    check_message(with_pool("a,c\n1,2\n"), told);
    let table = with_pool("a,b\n1,2\n").unwrap();
    assert_eq!(table.class_names, ["positive"]);
    assert_eq!(table.check.duplicates.labeled_in_pool, 1);
}

#[test]
fn a_list_of_positives() {
    let text = "sku,a,label\np1,1,junk\np2,2,\np3,3,\np4,4,\n";
    let named = "sku,why\np3,dent\np1,crack\n";
    for (name, list, classes) in [
        ("found.txt", "p3\n\n p1 \n", vec!["positive"]),
        ("found.csv", named, vec!["crack", "dent"]),
        ("found.tsv", "sku\np1\np3\np1\n", vec!["positive"]),
    ] {
        let table = read_with(text, |o| {
            o.positives = Some(Positives {
                input: file(name, list.as_bytes()),
                key: "sku".to_owned(),
                class_column: None,
            });
            o.exclude = vec!["label".to_owned()];
        })
        .unwrap();
        assert_eq!(table.class_names, classes, "{name}");
        let last = classes.len() - 1;
        assert_eq!(
            table.labels,
            [Labeled(0), Unlabeled, Labeled(last), Unlabeled],
            "{name}"
        );
        assert_eq!(table.ids.unwrap(), ["p1", "p2", "p3", "p4"]);
        assert_eq!(table.schema.feature_names(), ["a"]);
        assert_eq!(table.check.sampling.scheme, SamplingScheme::SingleSample);
        assert_eq!(table.check.labels.unlabeled_by_file, 2);
    }
}
