//! MNIST and its two successors: idx files of 28×28 grey images.

use super::{DIGITS, file, grey};
use crate::dataset::Holdout;
use crate::prep::Scaling;
use crate::source::catalog::{Card, DatasetId, Format, Part, PartCard};

pub(super) static MNIST: Card = Card {
    id: DatasetId::Mnist,
    title: "MNIST",
    citation: "LeCun, Bottou, Bengio, Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 86(11), 1998",
    licence: "no licence text upstream; commonly redistributed as CC BY-SA 3.0",
    shape: grey(28),
    class_names: &DIGITS,
    folder: "mnist",
    parts: &MNIST_PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "https://ossci-datasets.s3.amazonaws.com/mnist/",
    hub_repo: Some("ylecun/mnist"),
};

#[rustfmt::skip] // one file on a line
static MNIST_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::IdxPair,
        files: &[
            file("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            file("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ],
        class_counts: &[5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        content: Some("5edad0ca5c242c804cd005b6eb7e69c176256d93b746876a66c3f70a42d0ffa0"),
        hub_file: Some("mnist/train-00000-of-00001.parquet"),
    },
    PartCard {
        part: Part::Test,
        format: Format::IdxPair,
        files: &[
            file("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            file("t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        ],
        class_counts: &[980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
        content: Some("02416241d2b5694517dd54383cbb282bfb24a37222286ca523e53923b77811d0"),
        hub_file: Some("mnist/test-00000-of-00001.parquet"),
    },
];

pub(super) static FASHION_MNIST: Card = Card {
    id: DatasetId::FashionMnist,
    title: "Fashion-MNIST",
    citation: "Xiao, Rasul, Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms, arXiv:1708.07747, 2017",
    licence: "MIT, (c) Zalando SE",
    shape: grey(28),
    class_names: &[
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ],
    folder: "fashion-mnist",
    parts: &FASHION_MNIST_PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    hub_repo: Some("zalando-datasets/fashion_mnist"),
};

#[rustfmt::skip] // one file on a line
static FASHION_MNIST_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::IdxPair,
        files: &[
            file("train-images-idx3-ubyte.gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            file("train-labels-idx1-ubyte.gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ],
        class_counts: &[6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000],
        content: Some("d898e655099b7bee05a3e5286d980294bb742a6ebd4bd7a02ff6e01c191d20c7"),
        hub_file: Some("fashion_mnist/train-00000-of-00001.parquet"),
    },
    PartCard {
        part: Part::Test,
        format: Format::IdxPair,
        files: &[
            file("t10k-images-idx3-ubyte.gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            file("t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        ],
        class_counts: &[1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000],
        content: Some("ea93c5549c21f695d27c051fce985fe320b3a2f8744f7a2b1d2c82476fbb98ca"),
        hub_file: Some("fashion_mnist/test-00000-of-00001.parquet"),
    },
];

pub(super) static KMNIST: Card = Card {
    id: DatasetId::Kmnist,
    title: "Kuzushiji-MNIST",
    citation: "Clanuwat, Bober-Irizar, Kitamoto, Lamb, Yamamoto, Ha, Deep learning for classical Japanese literature, arXiv:1812.01718, 2018",
    licence: "CC BY-SA 4.0; KMNIST Dataset (created by CODH), adapted from Kuzushiji Dataset (created by NIJL and others), doi:10.20676/00000341",
    shape: grey(28),
    class_names: &["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"],
    folder: "kmnist",
    parts: &KMNIST_PARTS,
    holdout: Holdout::Published,
    scaling: Scaling::Raw,
    upstream: "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    hub_repo: Some("tanganke/kmnist"),
};

#[rustfmt::skip] // one file on a line
static KMNIST_PARTS: [PartCard; 2] = [
    PartCard {
        part: Part::Train,
        format: Format::IdxPair,
        files: &[
            file("train-images-idx3-ubyte.gz", 18_165_135, "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"),
            file("train-labels-idx1-ubyte.gz", 29_497, "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"),
        ],
        class_counts: &[6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000],
        content: Some("7344a9b73341dfbeab6fdd6bd99c04f29befff0d5ccaa1a807fe99d2fdceea83"),
        hub_file: Some("kmnist/train-00000-of-00001.parquet"),
    },
    PartCard {
        part: Part::Test,
        format: Format::IdxPair,
        files: &[
            file("t10k-images-idx3-ubyte.gz", 3_041_136, "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"),
            file("t10k-labels-idx1-ubyte.gz", 5120, "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"),
        ],
        class_counts: &[1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000],
        content: Some("c23185fb321ac5bfbc6cad94cbdf96227fe61b3a34e1d0f30501295f1f8a4ab6"),
        hub_file: Some("kmnist/test-00000-of-00001.parquet"),
    },
];
