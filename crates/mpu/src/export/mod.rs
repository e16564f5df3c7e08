//! A classifier for other programs: as ONNX, with a card that describes it.

mod card;
mod inputs;

use std::collections::BTreeMap;

use mpu_data::table::{FeatureSchema, Missing};
use mpu_eval::Calibration;
use mpu_models::onnx::{self, Affine, Model, Votes};

use crate::classifier::Classifier;
use crate::ensemble::HALF_A_VOTE;
use crate::error::{Context as _, Result};
use crate::folder::ModelCard;

pub use card::{HEADING, markdown};

/// What is added to the score of a class that has probability 0: enough for any finite score.
const ABSENT: f64 = -1e30;

/// The name under which the version of this program is kept in the ONNX file.
pub const VERSION_KEY: &str = "mpu-version";

/// The classifier as an ONNX model: missing values, scaling, network, forest and probabilities in one graph.
pub fn to_onnx(model: &Classifier) -> Result<Vec<u8>> {
    let options = options(model.card())?;
    let votes = model.forest().map(|forest| Votes {
        forest,
        extra: HALF_A_VOTE,
    });
    let scorer = match (votes, model.weights()) {
        (Some(votes), Some(network)) => Model::Both(votes, network),
        (Some(votes), None) => Model::Forest(votes),
        (None, network) => {
            Model::Network(network.context("the model has neither a network nor a forest")?)
        }
    };
    Ok(onnx::to_bytes(scorer, &options)?)
}

/// What surrounds network and forest: missing values, scaling, probabilities, names.
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
    let schema = card.schema.as_ref().filter(|schema| !schema.is_images());
    let filled = schema.filter(|schema| schema.missing() != Missing::Error);
    Ok(onnx::Options {
        missing: filled.map(FeatureSchema::imputed),
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
