//! Datasets of the crate [`candle_datasets`], there and back.
//!
//! Its loaders give MNIST, Fashion-MNIST and CIFAR-10 as tensors; a [`TrainTest`] is made of any of them by `try_from`,
//! and gives one back in the same way. Numbers stay as they are: candle's loaders have divided pixels by 255 already,
//! ours have not ([`Scaling::Div255`](crate::Scaling::Div255) does it). Rows of two dimensions, such as candle's MNIST,
//! become vectors, rows of four dimensions images. Classes are named by their numbers.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use candle_datasets::vision;
//! use mpu_data::split::{Protocol, Split, SplitSpec};
//! use mpu_data::{ClassCount, Seed, TrainTest};
//!
//! // In place of `vision::cifar::load_dir("cifar-10-batches-bin")?`: 60 images of 3×2×2 pixels in three classes.
//! let images = Tensor::arange(0f32, 720., &Device::Cpu)?.reshape((60, 3, 2, 2))?;
//! let labels = Tensor::from_iter((0..60).map(|row| row % 3_u8), &Device::Cpu)?;
//! let candle = vision::Dataset {
//!     train_images: images.clone(),
//!     train_labels: labels.clone(),
//!     test_images: images,
//!     test_labels: labels,
//!     labels: 3,
//! };
//!
//! let data = TrainTest::try_from(&candle)?;
//! assert_eq!(data.train.features().shape().to_string(), "3x2x2");
//! assert_eq!(data.train.class_counts(), [20, 20, 20]);
//! // Two observed classes and a negative one, as for any other dataset.
//! let spec = SplitSpec::new(Protocol::FirstK, ClassCount::new(3)?, 0.5, Seed(1));
//! let split = Split::of(&data, &spec)?;
//! # let _ = split;
//!
//! let back = vision::Dataset::try_from(&data)?;
//! assert_eq!(back.train_images.dims(), [60, 3, 2, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use candle_core::{DType, Device, Tensor};
use candle_datasets::vision;

use crate::dataset::{Dataset, Holdout, Rows, TrainTest};
use crate::error::{Error, Result, mismatch};
use crate::features::{Features, Shape};
use crate::provenance::{Origin, Provenance};

impl TryFrom<&vision::Dataset> for TrainTest {
    type Error = Error;

    fn try_from(data: &vision::Dataset) -> Result<Self> {
        let names: Vec<String> = (0..data.labels).map(|class| class.to_string()).collect();
        let provenance = Provenance {
            name: "candle-datasets".to_owned(),
            origin: Origin::OwnFile,
            folder: None,
            deviations: Vec::new(),
        };
        let part = |images, labels| {
            let rows = Rows::new(features(images)?, classes(labels)?)?;
            Dataset::new(rows, names.clone(), provenance.clone())
        };
        Ok(Self {
            train: part(&data.train_images, &data.train_labels)?,
            test: part(&data.test_images, &data.test_labels)?,
            holdout: Holdout::Published,
            drawn_test_rows: Vec::new(),
        })
    }
}

impl TryFrom<&TrainTest> for vision::Dataset {
    type Error = Error;

    /// Tensors on the CPU: images as `f32`, classes as bytes, or as `u32` if there are more than 256.
    fn try_from(data: &TrainTest) -> Result<Self> {
        Ok(Self {
            train_images: images(&data.train)?,
            train_labels: labels(&data.train)?,
            test_images: images(&data.test)?,
            test_labels: labels(&data.test)?,
            labels: data.train.n_classes(),
        })
    }
}

fn features(images: &Tensor) -> Result<Features> {
    let shape = match *images.dims() {
        [_, n] => Shape::Vector(n),
        [_, height, width] => Shape::image(1, height, width),
        [_, channels, height, width] => Shape::image(channels, height, width),
        _ => {
            let needed = "two to four dimensions, rows first";
            return Err(mismatch("images", format!("{:?}", images.dims()), needed));
        }
    };
    let values = images.to_dtype(DType::F32);
    let values = values.and_then(|values| values.flatten_all()?.to_vec1());
    Features::new(values.map_err(tensor)?, shape)
}

fn classes(labels: &Tensor) -> Result<Vec<usize>> {
    let values = labels.to_dtype(DType::I64);
    let values: Vec<i64> = values.and_then(|v| v.to_vec1()).map_err(tensor)?;
    let class = |value: i64| {
        usize::try_from(value).map_err(|_| mismatch("a label", value, "a number of at least 0"))
    };
    values.into_iter().map(class).collect()
}

fn images(part: &Dataset) -> Result<Tensor> {
    let features = part.features();
    let mut dims = vec![part.n_rows()];
    match features.shape() {
        Shape::Vector(n) => dims.push(n),
        Shape::Image {
            channels,
            height,
            width,
        } => dims.extend([channels, height, width]),
    }
    Tensor::from_slice(features.values(), dims, &Device::Cpu).map_err(tensor)
}

fn labels(part: &Dataset) -> Result<Tensor> {
    let labels = part.labels().iter();
    if part.n_classes() <= 256 {
        return Tensor::from_iter(labels.map(|&label| label as u8), &Device::Cpu).map_err(tensor);
    }
    Tensor::from_iter(labels.map(|&label| label as u32), &Device::Cpu).map_err(tensor)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn tensor(error: candle_core::Error) -> Error {
    Error::Refused(format!("a tensor of candle: {error}"))
}
