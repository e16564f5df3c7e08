//! A network of one's own, written with candle-nn, in place of MLP-5 on Fashion-MNIST.
mod images;

use candle_core::{Module as _, Result as TensorResult, Tensor};
use candle_nn::{BatchNorm, Conv2d, Conv2dConfig, Linear, ModuleT, VarBuilder};
use candle_nn::{batch_norm, conv2d, linear};
use mpu::data::source::{progress::Quiet, resolve::Locations, resolve::locate};
use mpu::models::{Module, Threads};
use mpu::train::Unobserved;
use mpu::{Prepared, Result, RunConfig};

struct Cnn(Conv2d, Conv2d, BatchNorm, Linear);

impl Cnn {
    fn new(vb: VarBuilder<'_>) -> TensorResult<Self> {
        let mut halving = Conv2dConfig::default();
        (halving.padding, halving.stride) = (1, 2);
        Ok(Self(
            conv2d(1, 8, 3, halving, vb.pp("first"))?,
            conv2d(8, 16, 3, halving, vb.pp("second"))?,
            batch_norm(16, 1e-5, vb.pp("norm"))?,
            linear(784, 4, vb.pp("scores"))?,
        ))
    }
}

impl ModuleT for Cnn {
    fn forward_t(&self, images: &Tensor, train: bool) -> TensorResult<Tensor> {
        let x = self.1.forward(&self.0.forward(images)?.relu()?)?;
        let x = self.2.forward_t(&x, train)?.relu()?;
        self.3.forward(&x.flatten_from(1)?)
    }
}

/// Accuracy on test rows with MLP-5 and with the network above; half of the pool is negative.
pub fn accuracies(places: &Locations, rows: usize, epochs: usize) -> Result<[f64; 2]> {
    let text = "method=csmpu-st data.dataset=fashion-mnist data.classes=4 data.scaling=div255";
    let text = format!("{text} data.max-rows={rows} train.epochs={epochs} train.batch-size=64");
    let settings: Vec<String> = text.split(' ').map(String::from).collect();
    let config = RunConfig::resolve(None, &settings)?;
    let data = match locate(config.data.dataset, places) {
        Some(_) => mpu::dataset(&config, places, &Quiet)?,
        None => images::generated(rows)?,
    };
    let accuracy = |rows: &Prepared| -> Result<f64> {
        let run = rows.train(&config, 1e-3, Threads::ONE, None, &mut Unobserved)?;
        let found = run.reported().and_then(|it| it.test_accuracy);
        Ok(found.unwrap_or(0.0))
    };
    let rows = Prepared::of(&config, &data, &mut Unobserved)?;
    let mlp = accuracy(&rows)?;
    Ok([mlp, accuracy(&rows.with_module(Module::new(Cnn::new))?)?])
}

fn main() -> Result<()> {
    let [mlp, own] = accuracies(&Locations::from_env(), 20_000, 20)?;
    println!("accuracy: MLP-5 {mlp:.3}, own network {own:.3}");
    Ok(())
}
