//! `mpu-cli split`: what a protocol makes of a dataset.

use std::fmt::Write as _;

use mpu_data::source::load::{LoadOptions, load};
use mpu_data::split::DropReason;
use mpu_data::{Seed, Split, SplitSpec};
use mpu_report::{Format, Table, render};

use crate::args;
use crate::commands::Answer;
use crate::console::Downloads;

pub(crate) fn run(args: &args::SplitArgs) -> anyhow::Result<Answer> {
    let seed = Seed(args.seed);
    let options = LoadOptions {
        seed,
        ..LoadOptions::default()
    };
    let data = load(
        args.dataset,
        &args.place.locations(),
        &options,
        &Downloads::default(),
    )?;
    let spec = SplitSpec {
        protocol: args.protocol,
        scenario: args.scenario,
        classes: args.classes,
        prior: args.prior,
        unlabeled_fraction: args.unlabeled_fraction,
        validation_share: args.validation_share,
        seed,
    };
    let summary = Split::of(&data, &spec)?.summary();
    let names = data.train.class_names();
    let negative = args.classes.negative();
    let mut table = Table::with("class | labelled: | in the pool: | validation: | test: | prior:");
    for class in 0..args.classes.get() {
        let count = |counts: &[usize]| counts.get(class).map_or(String::new(), usize::to_string);
        let name = if class == negative {
            "negative".to_owned()
        } else {
            format!("{class} ({})", names.get(class).map_or("", String::as_str))
        };
        table.push([
            name,
            count(&summary.labeled),
            count(&summary.pool_by_hidden_class),
            count(&summary.validation_labeled),
            count(&summary.test),
            format!("{:.6}", summary.priors.as_slice()[class]),
        ]);
    }
    table.push([
        "all".to_owned(),
        summary.labeled.iter().sum::<usize>().to_string(),
        summary.pool.to_string(),
        (summary.validation_labeled.iter().sum::<usize>() + summary.validation_pool).to_string(),
        summary.test.iter().sum::<usize>().to_string(),
        String::new(),
    ]);
    let mut text = render(args.report.format, &table, &summary)?;
    if args.report.format == Format::Table {
        for dropped in &summary.dropped {
            let part = dropped.part.slug();
            let why = match dropped.reason {
                DropReason::ClassNotKept => "their class is not among the first k",
                DropReason::NegativesReduced => "negatives beyond the fifth that was kept",
                DropReason::ForPrior => "more than the asked prior leaves room for",
                DropReason::OutsideSample => "outside the single sample",
            };
            let _ = writeln!(text, "dropped from {part}: {} rows ({why})", dropped.rows);
        }
        for note in &summary.notes {
            let _ = writeln!(text, "note: {note}");
        }
        if let Some(mark) = &summary.data_mark {
            let _ = writeln!(text, "warning: the data are marked: {mark}");
        }
        let _ = writeln!(text, "digest: {}", summary.digest);
    }
    Ok(Answer::good(text))
}
