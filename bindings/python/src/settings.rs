//! The parameters of the estimator as settings of a fit.

use std::collections::BTreeMap;

use mpu::data::split::Scenario;
use mpu::{Classifier, ClassifierParams, Method, ModelConfig, NamedCosts};
use pyo3::prelude::*;

use crate::fault::raised;

/// What `MPUClassifier` was told.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    method: String,
    #[pyo3(item)]
    model: String,
    #[pyo3(item)]
    hidden: Option<Vec<usize>>,
    #[pyo3(item)]
    trees: Option<usize>,
    #[pyo3(item)]
    priors: Option<BTreeMap<String, f64>>,
    #[pyo3(item)]
    scenario: String,
    #[pyo3(item)]
    costs: Option<BTreeMap<String, BTreeMap<String, f64>>>,
    #[pyo3(item)]
    epochs: Option<usize>,
    #[pyo3(item)]
    learning_rate: Option<f64>,
    #[pyo3(item)]
    validation_share: f64,
    #[pyo3(item)]
    split_seed: u64,
    #[pyo3(item)]
    seed: u64,
    /// How many threads; all cores if not given.
    #[pyo3(item)]
    pub(crate) threads: Option<usize>,
}

impl Settings {
    /// The settings, checked.
    pub(crate) fn params(&self) -> PyResult<ClassifierParams> {
        let mut params = Classifier::params()
            .seed(self.seed)
            .split_seed(self.split_seed)
            .validation_share(self.validation_share);
        let method: Method = self.method.parse().map_err(|e| raised(data(e)))?;
        // A method other than the default means a network, as on the command line.
        if method != Method::CsmpuSt || self.model == "network" {
            params = params.method(method);
        }
        let hidden = self.hidden.clone();
        match (self.model.as_str(), hidden) {
            ("forest", _) => params = params.model(ModelConfig::Forest { trees: self.trees }),
            ("auto", Some(hidden)) if method == Method::CsmpuSt => {
                params = params.model(ModelConfig::Auto { hidden });
            }
            (_, Some(hidden)) => params = params.model(ModelConfig::Mlp { hidden }),
            (_, None) => {}
        }
        if let Some(priors) = &self.priors {
            params = params.priors(priors.clone());
        }
        if self.scenario != "auto" {
            let scenario: Scenario = self.scenario.parse().map_err(|e| raised(data(e)))?;
            params = params.scenario(scenario);
        }
        if let Some(costs) = &self.costs {
            let costs = serde_json::json!(costs);
            let costs: NamedCosts = serde_json::from_value(costs).map_err(raised)?;
            params = params.costs(costs);
        }
        if let Some(epochs) = self.epochs {
            params = params.epochs(epochs);
        }
        if let Some(rate) = self.learning_rate {
            params = params.learning_rate(rate);
        }
        Ok(match self.threads {
            Some(threads) => params.threads(threads),
            None => params,
        })
    }
}

/// A name that is not on a list.
pub(crate) fn data(error: impl std::fmt::Display) -> mpu::Error {
    mpu::Error::Refused(error.to_string())
}
