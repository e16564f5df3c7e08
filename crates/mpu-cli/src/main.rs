//! `mpu-cli`: multi-class positive-unlabeled learning from the command line.
//!
//! Results go to standard output, conversation to standard error. Exit codes: 0 success, 1 a check
//! that failed, 2 bad usage or an error.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod args;
mod commands;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    args.log();
    let output = match args.command {
        Command::Losses(losses) => commands::losses::run(&losses),
    };
    match output.and_then(|text| print(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Writes a result. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
