//! The two tables of UCI.

use super::{DIGITS, compressed, file};
use crate::dataset::Holdout;
use crate::features::Shape;
use crate::prep::Scaling;
use crate::source::catalog::{Card, DatasetId, Format, Part, PartCard};
use crate::source::text::Layout;

pub(super) static PENDIGITS: Card = Card {
    id: DatasetId::Pendigits,
    title: "Pen-Based Recognition of Handwritten Digits",
    citation: "Alpaydin, Alimoglu, Pen-Based Recognition of Handwritten Digits, UCI Machine Learning Repository, 1996, doi:10.24432/C5MG6K",
    licence: "CC BY 4.0",
    shape: Shape::Vector(16),
    class_names: &DIGITS,
    folder: "pendigits",
    parts: &PENDIGITS_PARTS,
    holdout: Holdout::EIGHTY_TWENTY,
    scaling: Scaling::MinMax,
    upstream: "https://archive.ics.uci.edu/ml/machine-learning-databases/pendigits/",
    hub_repo: None,
};

#[rustfmt::skip] // one file on a line
static PENDIGITS_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::Text(Layout::Pendigits),
        files: &[file("pendigits.tra", 502_098, "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3")],
        class_counts: &[780, 779, 780, 719, 780, 720, 720, 778, 719, 719],
        content: Some("54285a59d2d2a308ff6dcb251c29976d4555cdbb61f89eaeb31c45f7ddb41a0b"),
        hub_file: None,
    },
    PartCard {
        part: Part::Test,
        format: Format::Text(Layout::Pendigits),
        files: &[file("pendigits.tes", 234_366, "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015")],
        class_counts: &[363, 364, 364, 336, 364, 335, 336, 364, 336, 336],
        content: Some("7b85d56c8352bde5b06c6aa8afd9726b700f2f8c314369eed687a4718d08f66c"),
        hub_file: None,
    },
];

pub(super) static WAVEFORM1: Card = Card {
    id: DatasetId::Waveform1,
    title: "Waveform (version 1)",
    citation: "Breiman, Friedman, Olshen, Stone, Classification and Regression Trees, 1984; UCI Machine Learning Repository, doi:10.24432/C5CS3C",
    licence: "CC BY 4.0",
    shape: Shape::Vector(21),
    class_names: &["waves 1 and 2", "waves 1 and 3", "waves 2 and 3"],
    folder: "waveform",
    parts: &WAVEFORM1_PARTS,
    holdout: Holdout::EIGHTY_TWENTY,
    scaling: Scaling::MinMax,
    upstream: "https://archive.ics.uci.edu/ml/machine-learning-databases/waveform/",
    hub_repo: None,
};

#[rustfmt::skip] // one file on a line
static WAVEFORM1_PARTS: [PartCard; 1] = [PartCard {
    part: Part::Whole,
    format: Format::Text(Layout::Waveform),
    files: &[compressed("waveform.data", 555_497, "da332f3121943f586826f5d1b2cdd354548c59f71ddbf28c4d0c2eb623d7bfc3")],
    class_counts: &[1657, 1647, 1696],
    content: Some("2674f63d30ede81830ba497688b87c10240601d4f40de1f84cbe17b0a90b6687"),
    hub_file: None,
}];
