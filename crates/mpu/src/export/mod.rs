//! A classifier for other programs: as ONNX, with a card that describes it.

mod card;
mod inputs;

use std::collections::BTreeMap;

use mpu_eval::Calibration;
use mpu_models::onnx::{self, Affine};

use crate::classifier::Classifier;
use crate::error::{Context as _, Result};
use crate::folder::ModelCard;

pub use card::{HEADING, markdown};

/// What is added to the score of a class that has probability 0: enough for any finite score.
const ABSENT: f64 = -1e30;

/// The name under which the version of this program is kept in the ONNX file.
pub const VERSION_KEY: &str = "mpu-version";

/// The classifier as an ONNX model: scaling, network and probabilities in one graph.
pub fn to_onnx(model: &Classifier) -> Result<Vec<u8>> {
    let network = model.weights();
    let network = network.context("models with a forest cannot be exported yet")?;
    Ok(onnx::to_bytes(network, &options(model.card())?)?)
}

/// What surrounds the network: scaling, probabilities, names.
fn options(card: &ModelCard) -> Result<onnx::Options> {
    let mut metadata = BTreeMap::from([
        (VERSION_KEY.to_owned(), card.mpu_version.clone()),
        ("method".to_owned(), card.method.slug().to_owned()),
        ("dataset".to_owned(), card.dataset.clone()),
        (
            "classes".to_owned(),
            serde_json::to_string(&card.class_names)?,
        ),
        ("priors".to_owned(), serde_json::to_string(&card.priors)?),
    ]);
    if let Some(schema) = &card.schema {
        let names = serde_json::to_string(&schema.feature_names())?;
        metadata.insert("features".to_owned(), names);
        metadata.insert("schema".to_owned(), serde_json::to_string(schema)?);
    }
    let input = card.scaler.affine();
    Ok(onnx::Options {
        input: input.map(|(shift, scale)| Affine { shift, scale }),
        calibration: card.calibration.as_ref().map(|c| probabilities(c, card)),
        metadata,
    })
}

/// Probabilities among rows of the population, as [`Classifier::decide`] gives them: `b_y + log(τ_y/π_y)`.
fn probabilities(calibration: &Calibration, card: &ModelCard) -> onnx::Calibration {
    let offset = |(class, b): (usize, &Option<f64>)| {
        let moved = card.population.as_ref().map_or(0.0, |population| {
            (population.as_slice()[class] / card.priors.as_slice()[class]).ln()
        });
        b.map(|b| b + moved)
            .filter(|b| b.is_finite())
            .unwrap_or(ABSENT)
    };
    onnx::Calibration {
        a: calibration.a(),
        b: calibration.b().iter().enumerate().map(offset).collect(),
    }
}
