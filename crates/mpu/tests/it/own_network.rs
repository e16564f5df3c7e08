use candle_core::{Module as _, ModuleT, Tensor};
use candle_nn::{BatchNorm, BatchNormConfig, Linear, VarBuilder, batch_norm, linear};
use mpu::models::Module;
use mpu::train::{Control, Event, Observer, State};
use mpu::{Classifier, ClassifierParams, Error, Method, MpuTable};

use crate::classifier::{products, table};

/// A small network of the test's own.
struct Own(Linear, BatchNorm, Linear);

impl ModuleT for Own {
    fn forward_t(&self, rows: &Tensor, train: bool) -> candle_core::Result<Tensor> {
        let x = self.0.forward(rows)?.relu()?;
        self.2.forward(&self.1.forward_t(&x, train)?)
    }
}

fn module(inputs: usize, hidden: usize) -> Module {
    Module::new(move |vb: VarBuilder<'_>| {
        Ok(Own(
            linear(inputs, hidden, vb.pp("first"))?,
            batch_norm(hidden, BatchNormConfig::default(), vb.pp("norm"))?,
            linear(hidden, 4, vb.pp("last"))?,
        ))
    })
}

fn short(table: &MpuTable) -> ClassifierParams {
    let priors = [("dent", 0.14), ("loose", 0.09), ("scratch", 0.12)];
    let params = Classifier::params().method(Method::CsmpuSt).priors(priors);
    let module = module(table.features.shape().len(), 24);
    params.module(module).epochs(12).threads(1)
}

#[test]
fn it_is_fitted_saved_and_loaded_with_its_module() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    let inputs = table.features.shape().len();
    let model = short(&table).seed(3).fit(&table).unwrap();
    let rows = model.rows(products("new.csv")).unwrap();
    let answers = model.predict(&rows).unwrap();
    assert_eq!(
        answers,
        short(&table)
            .seed(3)
            .fit(&table)
            .unwrap()
            .predict(&rows)
            .unwrap()
    );
    let reported = model.reported().unwrap();
    assert!(reported.labeled_accuracy > 0.6, "{reported:?}");
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    let again = Classifier::load_with(&path, &module(inputs, 24)).unwrap();
    assert_eq!(again.predict(&rows).unwrap(), answers);

    let told = |result: mpu::Result<Classifier>| result.unwrap_err().to_string();
    let without = told(Classifier::load(&path));
    assert!(without.contains("Classifier::load_with"), "{without}");
    let other = told(Classifier::load_with(&path, &module(inputs, 25)));
    assert!(other.contains("another network"), "{other}");
    let exported = mpu::export::to_onnx(&model).unwrap_err().to_string();
    assert!(exported.contains("not a network of your own"), "{exported}");
}

/// Stops after so many epochs, and keeps the state.
struct Stopper(usize, Option<State>);

impl Observer for Stopper {
    type Error = std::convert::Infallible;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Self::Error> {
        match event {
            Event::Checkpoint(state) => self.1 = Some((*state).clone()),
            Event::Epoch(metrics) if metrics.epoch == self.0 => return Ok(Control::Stop),
            _ => {}
        }
        Ok(Control::Continue)
    }
}

#[test]
fn a_stopped_fit_goes_on_to_the_same_answers() {
    let table = table();
    let whole = short(&table).fit(&table).unwrap();
    let rows = whole.rows(products("new.csv")).unwrap();
    let mut stopper = Stopper(7, None);
    let stopped = short(&table).fit_with(&table, &mut stopper).unwrap_err();
    assert!(matches!(stopped, Error::Stopped(_)), "{stopped}");
    let resumed = short(&table)
        .resume(stopper.1.unwrap())
        .fit(&table)
        .unwrap();
    assert_eq!(
        resumed.predict(&rows).unwrap(),
        whole.predict(&rows).unwrap()
    );
}

#[test]
fn a_network_of_other_sizes_is_refused() {
    let table = table();
    let module = module(table.features.shape().len() + 1, 24);
    let error = short(&table).module(module).fit(&table).unwrap_err();
    assert!(error.to_string().contains("forward pass failed"), "{error}");
}
