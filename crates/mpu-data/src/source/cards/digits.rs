//! The other three image sets: digits as text and in MATLAB's format.

use super::{DIGITS, file, grey};
use crate::dataset::Holdout;
use crate::features::Shape;
use crate::prep::Scaling;
use crate::source::catalog::{Card, DatasetId, Format, Part, PartCard};
use crate::source::text::Layout;

pub(super) static USPS: Card = Card {
    id: DatasetId::Usps,
    title: "USPS (ZIP code data)",
    citation: "Le Cun et al., Handwritten digit recognition with a back-propagation network, NIPS 2, 1990; Hastie, Tibshirani, Friedman, The Elements of Statistical Learning",
    licence: "no licence text upstream",
    shape: grey(16),
    class_names: &DIGITS,
    folder: "usps",
    parts: &USPS_PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "https://hastie.su.domains/ElemStatLearn/datasets/",
    hub_repo: None,
};

#[rustfmt::skip] // one file on a line
static USPS_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::Text(Layout::ZipCode),
        files: &[file("zip.train.gz", 1_829_071, "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16")],
        class_counts: &[1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644],
        content: Some("17e7670d0f93b8cd9aa341bdcb616486a95c77e259c57469d434d2702b646aaf"),
        hub_file: None,
    },
    PartCard {
        part: Part::Test,
        format: Format::Text(Layout::ZipCode),
        files: &[file("zip.test.gz", 439_208, "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f")],
        class_counts: &[359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
        content: Some("c44e005e44f3227fd06e17c7d0eddc31083a6d2c58378737801bc9db5478e60b"),
        hub_file: None,
    },
];

pub(super) static SEMEION: Card = Card {
    id: DatasetId::Semeion,
    title: "Semeion Handwritten Digit",
    citation: "Semeion Research Center of Sciences of Communication, Rome; Tattile, Brescia; UCI Machine Learning Repository, doi:10.24432/C5SC8V",
    licence: "CC BY 4.0",
    shape: grey(16),
    class_names: &DIGITS,
    folder: "semeion",
    parts: &SEMEION_PARTS,
    holdout: Holdout::EIGHTY_TWENTY,
    scaling: Scaling::Raw,
    upstream: "https://archive.ics.uci.edu/ml/machine-learning-databases/semeion/",
    hub_repo: None,
};

#[rustfmt::skip] // one file on a line
static SEMEION_PARTS: [PartCard; 1] = [PartCard {
    part: Part::Whole,
    format: Format::Text(Layout::Semeion),
    files: &[file("semeion.data", 2_889_702, "f43228ae3da5ea6a3c95069d53450b86166770e3b719dcc333182128fe08d4b1")],
    class_counts: &[161, 162, 159, 159, 161, 159, 161, 158, 155, 158],
    content: Some("4edbc6376013f2f4a6a44f81e5dcf02039a0cc02b2435385a1c41aec130fa1f0"),
    hub_file: None,
}];

pub(super) static SVHN: Card = Card {
    id: DatasetId::Svhn,
    title: "SVHN (cropped digits)",
    citation: "Netzer, Wang, Coates, Bissacco, Wu, Ng, Reading digits in natural images with unsupervised feature learning, NIPS Workshop, 2011",
    licence: "upstream note: for non-commercial use only",
    shape: Shape::image(3, 32, 32),
    class_names: &DIGITS,
    folder: "svhn",
    parts: &SVHN_PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "http://ufldl.stanford.edu/housenumbers/",
    hub_repo: Some("ufldl-stanford/svhn"),
};

#[rustfmt::skip] // one file on a line
static SVHN_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::SvhnMat,
        files: &[file("train_32x32.mat", 182_040_794, "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8")],
        class_counts: &[4948, 13_861, 10_585, 8497, 7458, 6882, 5727, 5595, 5045, 4659],
        content: None,
        hub_file: Some("cropped_digits/train-00000-of-00001.parquet"),
    },
    PartCard {
        part: Part::Test,
        format: Format::SvhnMat,
        files: &[file("test_32x32.mat", 64_275_384, "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b")],
        class_counts: &[1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595],
        content: None,
        hub_file: Some("cropped_digits/test-00000-of-00001.parquet"),
    },
];
