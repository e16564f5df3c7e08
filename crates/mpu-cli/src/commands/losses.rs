//! `mpu-cli losses`: the two diagnostic columns of the paper's table of loss variants.

use anyhow::Context as _;
use mpu_loss::{ConstantSum, Loss, Precision, constant_sum};
use mpu_report::{Table, paper, render};
use serde::Serialize;

use crate::args;
use crate::commands::Answer;

/// A row: what is published and what comes out here.
#[derive(Debug, Serialize)]
struct LossCheck {
    loss: String,
    gamma: f64,
    form: String,
    published: ConstantSum,
    f32: ConstantSum,
    f64: ConstantSum,
    constant_sum: bool,
}

pub(crate) fn run(args: &args::Losses) -> anyhow::Result<Answer> {
    let published = paper::loss_variants()?;
    let rows: Vec<LossCheck> = published
        .into_iter()
        .map(measure)
        .collect::<anyhow::Result<_>>()?;
    Ok(Answer::good(render(
        args.report.format,
        &table(&rows),
        &rows,
    )?))
}

/// What a user measures here for each row of the paper's table: largest deviation and 99th percentile.
pub(crate) fn measured() -> anyhow::Result<Vec<(f64, f64)>> {
    let row = |variant| measure(variant).map(|row| (row.f32.max, row.f32.p99));
    paper::loss_variants()?.into_iter().map(row).collect()
}

fn measure(published: paper::LossVariant) -> anyhow::Result<LossCheck> {
    let paper::LossVariant {
        loss,
        gamma,
        form,
        const_sum_max,
        const_sum_p99,
        ..
    } = published;
    let measured = Loss::new(loss.parse()?, gamma, form.parse()?)
        .with_context(|| format!("published row {loss} {gamma} {form}"))?;
    Ok(LossCheck {
        published: ConstantSum {
            max: const_sum_max,
            p99: const_sum_p99,
        },
        f32: constant_sum(&measured, Precision::F32)?,
        f64: constant_sum(&measured, Precision::F64)?,
        constant_sum: measured.facts().constant_sum,
        loss,
        gamma,
        form,
    })
}

fn table(rows: &[LossCheck]) -> Table {
    let mut table = Table::with(
        "loss | gamma: | form | constant sum | max, published: | max, f32: | max, f64: | \
         p99, published: | p99, f32: | p99, f64:",
    );
    for row in rows {
        table.push([
            row.loss.clone(),
            format!("{:.1}", row.gamma),
            row.form.clone(),
            if row.constant_sum { "yes" } else { "no" }.to_owned(),
            figure(row.published.max),
            figure(row.f32.max),
            figure(row.f64.max),
            figure(row.published.p99),
            figure(row.f32.p99),
            figure(row.f64.p99),
        ]);
    }
    table
}

/// Two decimals as the paper prints them; rounding noise in scientific form.
fn figure(value: f64) -> String {
    if value != 0.0 && value < 0.005 {
        format!("{value:.2e}")
    } else {
        format!("{value:.2}")
    }
}
