//! `mpu-cli`: multi-class positive-unlabeled learning from the command line.
//!
//! Results go to standard output, conversation to standard error. Exit codes: 0 success, 1 a check
//! that failed, 2 bad usage or an error, 130 interrupted.

mod args;
mod commands;
mod console;
mod misspecification;
mod plan;
mod reproduction;
mod runner;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command, Data};

fn main() -> ExitCode {
    let args = Args::parse();
    args.log();
    #[cfg(feature = "parquet")]
    quiet_panics();
    if let Err(error) = console::interrupts() {
        tracing::warn!("{error:#}");
    }
    let allowed = args::limit("MPU_MAX_WEIGHTS").map(|most| most.map(mpu::models::allow_weights));
    let answer = allowed.and_then(|_| match &args.command {
        Command::Train(train) => commands::train::run(train),
        Command::Show(show) => commands::show::run(show),
        Command::Data(Data::List(list)) => commands::data::list(list),
        Command::Data(Data::Verify(verify)) => commands::data::check(verify),
        Command::Data(Data::Fetch(fetch)) => commands::data::fetch(fetch),
        Command::Check(check) => commands::check::run(check),
        Command::Split(split) => commands::split::run(split),
        Command::Predict(predict) => commands::predict::run(predict),
        Command::Evaluate(evaluate) => commands::evaluate::run(evaluate),
        Command::Report(report) => commands::report::run(report),
        Command::Export(export) => commands::export::run(export),
        Command::Completions(completions) => commands::completions::run(completions),
        Command::Prior(prior) => commands::prior::run(prior),
        Command::Sensitivity(sensitivity) => commands::sensitivity::run(sensitivity),
        Command::Plan(plan) => commands::runs::plan(plan),
        Command::Run(run) => commands::runs::run(run),
        Command::Status(status) => commands::runs::status(status),
        Command::Collect(collect) => commands::runs::collect(collect),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce),
        Command::Pack(pack) => commands::reproduce::pack(pack),
        Command::Submit(submit) => commands::submit::run(submit),
        Command::Losses(losses) => commands::losses::run(losses),
    });
    match answer.and_then(|answer| print(&answer.text).map(|()| answer.good)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let told = mpu_report::visible(&told(&error)).into_owned();
            console::say(&format!(
                "error: {told}
"
            ));
            let stopped = error.is::<commands::train::Interrupted>()
                || error.is::<commands::runs::Stopped>()
                || error.is::<console::Interrupted>()
                || error.downcast_ref().is_some_and(mpu::Error::is_stopped);
            ExitCode::from(if stopped { 130 } else { 2 })
        }
    }
}

/// Says nothing of panics that become an error about a file.
#[cfg(feature = "parquet")]
fn quiet_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mpu_data::panics_are_contained() {
            told(panic);
        }
    }));
}

/// Writes a result. A reader that has seen enough (`| head`) is no error. Control characters, which may come from the
/// user's files, are shown and do nothing.
fn print(text: &str) -> anyhow::Result<()> {
    let text = mpu_report::visible(text);
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("writing to standard output"))
        }
        _ => Ok(()),
    }
}

/// An error with its causes, but for those that an error before them has in its own words.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}
