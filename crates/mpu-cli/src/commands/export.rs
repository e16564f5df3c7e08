//! `mpu-cli export`: a model as ONNX, with a card that describes it.

use std::path::Path;

use crate::args::export::Export;
use crate::commands::Answer;
use mpu::{Classifier, export, files};

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
    let bytes = export::to_onnx(&model)?;
    let text = export::markdown(&model, &onnx_path)?;
    replace(&onnx_path, &bytes, args.force, is_export)?;
    replace(&card_path, text.as_bytes(), args.force, |bytes| {
        bytes.starts_with(export::HEADING.as_bytes())
    })?;
    Ok(Answer::good(format!(
        "model: {}\nmodel card: {}\n",
        onnx_path.display(),
        card_path.display()
    )))
}

/// Whether bytes are a model that was exported here.
fn is_export(bytes: &[u8]) -> bool {
    let key = export::VERSION_KEY.as_bytes();
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
