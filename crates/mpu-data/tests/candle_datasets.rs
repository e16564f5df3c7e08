//! Datasets of candle-datasets beside ours: `cargo test -p mpu-data --features candle-datasets --test candle_datasets`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_datasets::vision;
use mpu_data::source::unpack::{Limit, gunzip};
use mpu_data::source::{DatasetId, LoadOptions, Locations, Quiet, load};
use mpu_data::{Dataset, Scaling, Shape, TrainTest};

/// Writes images of 28×28 pixels and their labels as idx files.
fn write_idx(folder: &Path, part: &str, labels: &[u8], first: usize) {
    let n = labels.len() as u32;
    let write = |name: &str, dims: &[u32], values: &[u8]| {
        let mut bytes = vec![0, 0, 8, dims.len() as u8];
        bytes.extend(dims.iter().flat_map(|dim| dim.to_be_bytes()));
        bytes.extend(values);
        fs::write(folder.join(format!("{part}-{name}-ubyte")), bytes).unwrap();
    };
    let pixels = (0..labels.len() * 784).map(|i| ((first + i) * 31 % 251) as u8);
    write("images-idx3", &[n, 28, 28], &pixels.collect::<Vec<u8>>());
    write("labels-idx1", &[n], labels);
}

/// The same rows: what candle has divided by 255 are our bytes.
fn assert_same(candle: &Dataset, ours: &Dataset) {
    assert_eq!(candle.labels(), ours.labels());
    assert_eq!(candle.n_rows(), ours.n_rows());
    let candle = candle.features().values().iter();
    for (i, (divided, byte)) in candle.zip(ours.features().values()).enumerate() {
        assert_eq!((divided * 255.0).round(), *byte, "value {i}");
        assert!((divided - byte / 255.0).abs() <= f32::EPSILON, "value {i}");
    }
}

#[test]
fn our_reader_of_idx_files_and_candles_agree() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("mnist");
    fs::create_dir(&folder).unwrap();
    write_idx(&folder, "train", &[3, 0, 9, 9, 1], 0);
    write_idx(&folder, "t10k", &[7, 2], 1);
    let locations = Locations::offline_in(dir.path());
    let options = LoadOptions::default();
    let ours = load(DatasetId::Mnist, &locations, &options, &Quiet).unwrap();
    let candle = TrainTest::try_from(&vision::mnist::load_dir(&folder).unwrap()).unwrap();
    assert_same(&candle.train, &ours.train);
    assert_same(&candle.test, &ours.test);
    assert_eq!(candle.train.features().shape(), Shape::Vector(784));
    // Scaled as candle has scaled them, in the same way to the last bit but one.
    let mut scaled = ours.train.clone();
    let scaler = Scaling::Div255.fit(scaled.features(), &[0]).unwrap();
    scaler.apply(scaled.features_mut()).unwrap();
    let both = scaled.features().values().iter();
    let mut both = both.zip(candle.train.features().values());
    assert!(both.all(|(a, b)| (a - b).abs() <= f32::EPSILON));
}

#[test]
fn a_dataset_comes_back_as_it_went() {
    let images = Tensor::arange(0_u8, 96, &Device::Cpu).unwrap();
    let images = images.reshape((8, 3, 2, 2)).unwrap();
    let labels = Tensor::new(&[0_u8, 1, 2, 0, 1, 2, 0, 1], &Device::Cpu).unwrap();
    let there = vision::Dataset {
        train_images: images.narrow(0, 0, 6).unwrap(),
        train_labels: labels.narrow(0, 0, 6).unwrap(),
        test_images: images.narrow(0, 6, 2).unwrap(),
        test_labels: labels.narrow(0, 6, 2).unwrap(),
        labels: 3,
    };
    let ours = TrainTest::try_from(&there).unwrap();
    assert_eq!(ours.train.features().shape(), Shape::image(3, 2, 2));
    assert_eq!(ours.train.features().row(1)[0], 12.0);
    assert_eq!(ours.test.labels(), [0, 1]);
    let back = vision::Dataset::try_from(&ours).unwrap();
    assert_eq!(back.labels, 3);
    assert_eq!(back.test_labels.dtype(), DType::U8);
    for (found, wanted) in [
        (&back.train_images, &there.train_images),
        (&back.test_images, &there.test_images),
        (&back.train_labels, &there.train_labels),
        (&back.test_labels, &there.test_labels),
    ] {
        assert_eq!(found.dims(), wanted.dims());
        let numbers = |tensor: &Tensor| {
            let tensor = tensor.to_dtype(DType::F32).unwrap();
            tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        assert_eq!(numbers(found), numbers(wanted));
    }
}

#[test]
fn what_is_no_dataset_is_refused() {
    let tensor = |values: &[i64]| Tensor::new(values, &Device::Cpu).unwrap();
    let check = |images: Tensor, labels: &[i64], complaint: &str| {
        let data = vision::Dataset {
            train_images: images.clone(),
            train_labels: tensor(labels),
            test_images: images,
            test_labels: tensor(labels),
            labels: 2,
        };
        let error = TrainTest::try_from(&data).unwrap_err().to_string();
        assert!(error.contains(complaint), "{error}");
    };
    let rows = |n: usize| Tensor::zeros((n, 3), DType::F32, &Device::Cpu).unwrap();
    check(rows(2), &[0, 2], "2");
    check(rows(2), &[0, -1], "at least 0");
    check(rows(3), &[0, 1], "3");
    check(tensor(&[1, 2]), &[0, 1], "two to four dimensions");
}

#[test]
#[ignore = "needs MNIST in the folder of MPU_DATA_DIR"]
fn our_mnist_is_candles() {
    let data = std::path::PathBuf::from(std::env::var_os("MPU_DATA_DIR").unwrap());
    let dir = tempfile::tempdir().unwrap();
    let files = DatasetId::Mnist.card().parts.iter();
    for name in files.flat_map(|part| part.files).map(|file| file.name) {
        let packed = fs::read(data.join("mnist").join(name)).unwrap();
        let unpacked = gunzip(name, &packed, Limit::DEFAULT).unwrap();
        fs::write(dir.path().join(name.strip_suffix(".gz").unwrap()), unpacked).unwrap();
    }
    let candle = TrainTest::try_from(&vision::mnist::load_dir(dir.path()).unwrap()).unwrap();
    let locations = Locations::offline_in(&data);
    let ours = load(
        DatasetId::Mnist,
        &locations,
        &LoadOptions::default(),
        &Quiet,
    )
    .unwrap();
    assert_same(&candle.train, &ours.train);
    assert_same(&candle.test, &ours.test);
}
