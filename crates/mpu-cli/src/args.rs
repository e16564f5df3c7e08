//! Arguments, as typed.

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{ArgAction, Parser, Subcommand};
use mpu_report::Format;
use tracing_subscriber::filter::LevelFilter;

/// Multi-class positive-unlabeled learning: find the observed classes, reject everything else.
#[derive(Debug, Parser)]
#[command(name = "mpu-cli", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say more on standard error (repeat for even more).
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,

    /// Say nothing but errors on standard error.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Args {
    /// Starts the log on standard error.
    pub(crate) fn log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => LevelFilter::WARN,
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        };
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .with_ansi(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
            .init();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check every loss of the paper's table against the constant-sum condition.
    #[command(after_help = "Examples:\n  mpu-cli losses\n  mpu-cli losses --format json")]
    Losses(Losses),
}

/// `mpu-cli losses`.
#[derive(Debug, clap::Args)]
pub(crate) struct Losses {
    #[command(flatten)]
    pub(crate) report: Report,
}

/// What every reporting command takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// How to write the result.
    #[arg(long, default_value_t, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) format: Format,
}

fn format_parser() -> impl clap::builder::TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::slug)).try_map(|name| name.parse::<Format>())
}
