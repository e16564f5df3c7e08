//! Tables in memory are read as files are.

use std::sync::Arc;

use super::*;
use crate::{Features, LentBlock, MpuLabel, Shape};

const TEXT: &str = "weight,colour,y\n1.5,red,a\n,blue,b\n0.25,red,\n3,,a\n-2,blue,b\n7,red,\n";

fn options() -> TableOptions {
    with(|o| o.missing = Missing::Keep)
}

fn words(names: &[&str], codes: &[i32]) -> Column {
    Column::Words {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        codes: codes.iter().map(|&code| u32::try_from(code).ok()).collect(),
    }
}

fn columns() -> Frame {
    let weight = Column::Numbers(vec![1.5, f64::NAN, 0.25, 3.0, -2.0, 7.0]);
    let colour = words(&["red", "blue"], &[0, 1, 0, -1, 1, 0]);
    let named = [("weight", weight), ("colour", colour)];
    Frame::columns(named.map(|(name, column)| (name.to_owned(), column)))
        .with_labels("y", words(&["a", "b"], &[0, 1, -1, 0, 1, -1]))
}

fn bits(features: &Features) -> Vec<u32> {
    features.values().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn columns_are_read_as_the_same_text_is() {
    let text = read_table(csv(TEXT), &options()).unwrap();
    let frame = read_table(TableInput::frame("X", columns()), &options()).unwrap();
    assert_eq!(bits(&frame.features), bits(&text.features));
    assert_eq!(frame.labels, text.labels);
    assert_eq!(frame.schema, text.schema);
    assert_eq!(frame.class_names, ["a", "b"]);
    assert_eq!(frame.check.format, InputFormat::Memory);
    assert_eq!(frame.check.columns, text.check.columns);
    let later = Frame::columns([
        ("weight".to_owned(), Column::Numbers(vec![2.0])),
        ("colour".to_owned(), words(&["green"], &[0])),
    ]);
    let encoded = encode(&frame.schema, TableInput::frame("X", later)).unwrap();
    assert_eq!(encoded.features.row(0), [2.0, 0.0, 0.0]);
    assert_eq!(encoded.report.unseen[0].rows, 1);
}

#[test]
fn a_matrix_is_taken_as_it_is() {
    let block: LentBlock = Arc::new(vec![1.0, 2.0, f32::NAN, 0.5, 3.0, 1.0, 4.0, 8.0]);
    let names = || vec!["a".to_owned(), "b".to_owned()];
    let features = Features::lent(Arc::clone(&block), Shape::Vector(2)).unwrap();
    let labels = words(&["p"], &[0, -1, 0, -1]);
    let frame = Frame::matrix(names(), features.clone()).with_labels("y", labels);
    let table = read_table(TableInput::frame("X", frame.clone()), &options()).unwrap();
    let place = (*block).as_ref().as_ptr();
    assert_eq!(table.features.values().as_ptr(), place, "no copy");
    let (p, u) = (MpuLabel::Labeled(0), MpuLabel::Unlabeled);
    assert_eq!(table.labels, [p, u, p, u]);
    let text = "a,b,y\n1,2,p\n,0.5,\n3,1,p\n4,8,\n";
    let same = read_table(csv(text), &options()).unwrap();
    assert_eq!(bits(&table.features), bits(&same.features));
    assert_eq!(table.schema, same.schema);
    assert_eq!(table.check.missing(), 1);
    let later = TableInput::frame("X", Frame::matrix(names(), features));
    let encoded = encode(&table.schema, later);
    assert_eq!(encoded.unwrap().features.values().as_ptr(), place);

    let filled = TableOptions {
        missing: Missing::Mean,
        ..options()
    };
    let filled = read_table(TableInput::frame("X", frame), &filled).unwrap();
    assert_eq!(filled.features.row(1), [8.0 / 3.0, 0.5]);
    assert!(
        (*block).as_ref()[2].is_nan(),
        "what is lent is not written to"
    );
}

#[test]
fn images_keep_their_shape() {
    let shape = Shape::image(1, 2, 2);
    let features = Features::new((0..16).map(|x| x as f32).collect(), shape).unwrap();
    let names = (0..4).map(|i| format!("x{i}")).collect();
    let labels = words(&["p"], &[0, -1, 0, -1]);
    let frame = Frame::matrix(names, features).with_labels("y", labels);
    let table = read_table(TableInput::frame("X", frame), &options()).unwrap();
    assert_eq!(table.features.shape(), shape);
}

#[test]
fn frames_that_do_not_fit_are_refused() {
    let read = |frame: Frame| read_table(TableInput::frame("X", frame), &options());
    let short = columns().with_labels("y", words(&["a"], &[0, -1]));
    check_message(read(short), "X … `y` has 2 rows … 6");
    let coded = columns().with_labels("y", words(&["a"], &[0, -1, 1, 0, 0, 0]));
    check_message(read(coded), "code 1 … 1 texts");
    let doubled = columns().with_labels("weight", words(&["a"], &[0, -1, 0, 0, 0, 0]));
    check_message(read(doubled), "two columns are called `weight`");
    let features = Features::new(vec![1.0; 6], Shape::Vector(3)).unwrap();
    let unnamed = Frame::matrix(vec!["a".to_owned()], features.clone());
    check_message(read(unnamed), "1 names for 3 columns");
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let infinite = Features::new(
        vec![1.0, f32::INFINITY, 2.0, 1.0, 1.0, 1.0],
        Shape::Vector(3),
    );
    let infinite = Frame::matrix(names, infinite.unwrap());
    let infinite = infinite.with_labels("y", words(&["p"], &[0, -1]));
    check_message(read(infinite), "row 1 … `b` … inf");
    let file = TableOptions {
        format: Some(InputFormat::Memory),
        ..options()
    };
    check_message(read_table(csv(TEXT), &file), "not for files … csv");
}
