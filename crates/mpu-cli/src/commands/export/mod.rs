//! `mpu-cli export`: a model as ONNX, with a card that describes it.

mod card;
mod inputs;

use std::collections::BTreeMap;
use std::path::Path;

use mpu_eval::Calibration;
use mpu_models::onnx::{self, Affine};

use crate::args::export::Export;
use crate::commands::Answer;
use mpu::files;
use mpu::{Classifier, ModelCard};

/// What is added to the score of a class that has probability 0: enough for any finite score.
const ABSENT: f64 = -1e30;

/// The name under which the version of this program is kept in the ONNX file.
const VERSION_KEY: &str = "mpu-version";

pub(crate) fn run(args: &Export) -> anyhow::Result<Answer> {
    let model = Classifier::load(&args.run)?;
    let usual = || args.run.join("model.onnx");
    let onnx_path = args.onnx.clone().unwrap_or_else(usual);
    let beside = || onnx_path.with_file_name("MODEL_CARD.md");
    let card_path = args.card.clone().unwrap_or_else(beside);
    anyhow::ensure!(
        onnx_path != card_path,
        "--onnx and --card both name {}",
        onnx_path.display()
    );
    let bytes = onnx::to_bytes(model.model(), &options(model.card())?)?;
    let text = card::markdown(&model, &onnx_path)?;
    replace(&onnx_path, &bytes, args.force, is_export)?;
    replace(&card_path, text.as_bytes(), args.force, |bytes| {
        bytes.starts_with(card::HEADING.as_bytes())
    })?;
    Ok(Answer::good(format!(
        "model: {}\nmodel card: {}\n",
        onnx_path.display(),
        card_path.display()
    )))
}

/// What surrounds the network: scaling, probabilities, names.
fn options(card: &ModelCard) -> anyhow::Result<onnx::Options> {
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
        calibration: card.calibration.as_ref().map(probabilities),
        metadata,
    })
}

fn probabilities(calibration: &Calibration) -> onnx::Calibration {
    let offsets = calibration.b().iter().map(|b| b.unwrap_or(ABSENT));
    onnx::Calibration {
        a: calibration.a(),
        b: offsets.collect(),
    }
}

/// Whether bytes are a model that was exported here.
fn is_export(bytes: &[u8]) -> bool {
    let key = VERSION_KEY.as_bytes();
    bytes.windows(key.len()).any(|part| part == key)
}

/// Writes a file whole; one that is already there only if it `is_ours`, or by `force`.
pub(crate) fn replace(
    path: &Path,
    bytes: &[u8],
    force: bool,
    is_ours: impl Fn(&[u8]) -> bool,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        !path.is_dir(),
        "{} is a folder\nhint: name a file in it",
        path.display()
    );
    anyhow::ensure!(
        force || !path.exists() || is_ours(&files::read(path)?),
        "{} already exists and was not written by this command\nhint: name another file, or overwrite it with --force",
        path.display()
    );
    Ok(files::write_atomic(path, bytes)?)
}
