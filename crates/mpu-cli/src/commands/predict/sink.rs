//! Predictions rows into the output, in the format asked for.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::output::{Columns, Destination, Lines};
#[cfg(feature = "parquet")]
use super::parquet::ParquetRows;
use crate::args::predict::OutputFormat;

/// The output of a run.
pub(super) struct Sink {
    pub(super) columns: Columns,
    format: OutputFormat,
    body: Body,
}

enum Body {
    Text(Destination),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetRows>),
}

impl Sink {
    /// Begins an output.
    pub(super) fn begin(
        columns: Columns,
        format: OutputFormat,
        mut destination: Destination,
    ) -> anyhow::Result<Self> {
        let body = match format {
            OutputFormat::Csv => {
                destination.write_all(&columns.csv_header()?)?;
                Body::Text(destination)
            }
            OutputFormat::Jsonl => Body::Text(destination),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => {
                Body::Parquet(Box::new(ParquetRows::begin(&columns, destination)?))
            }
            #[cfg(not(feature = "parquet"))]
            OutputFormat::Parquet => anyhow::bail!(
                "this mpu-cli was built without Parquet\nhint: build with the cargo feature `parquet`, or write .csv or .jsonl"
            ),
        };
        Ok(Self {
            columns,
            format,
            body,
        })
    }

    /// Rows as text, where the format is one: this may be done by many threads.
    pub(super) fn render(&self, lines: &Lines<'_>) -> anyhow::Result<Vec<u8>> {
        match self.format {
            OutputFormat::Csv => self.columns.csv(lines),
            OutputFormat::Jsonl => self.columns.jsonl(lines),
            OutputFormat::Parquet => Ok(Vec::new()),
        }
    }

    /// Writes rows and what [`Self::render`] made of them.
    pub(super) fn write(
        &mut self,
        lines: &Lines<'_>,
        rendered: &[u8],
        path: &Path,
    ) -> anyhow::Result<()> {
        let written = match &mut self.body {
            Body::Text(destination) => destination.write_all(rendered).map_err(anyhow::Error::from),
            #[cfg(feature = "parquet")]
            Body::Parquet(rows) => rows.add(&self.columns, lines),
        };
        #[cfg(not(feature = "parquet"))]
        let _ = lines;
        written.with_context(|| format!("writing {}", path.display()))
    }

    /// Ends the output and makes it last.
    pub(super) fn finish(self, path: &Path) -> anyhow::Result<()> {
        let destination = match self.body {
            Body::Text(destination) => destination,
            #[cfg(feature = "parquet")]
            Body::Parquet(rows) => {
                let ended = rows.end(&self.columns);
                ended.with_context(|| format!("writing {}", path.display()))?
            }
        };
        #[cfg(not(feature = "parquet"))]
        let _ = path;
        destination.finish()
    }
}
