//! Loads a table and prints rows, seconds and peak memory, for comparison with other readers:
//!
//! ```text
//! cargo run --release -p mpu-data --example load_csv -- items.csv [label-column]
//! cargo run --release -p mpu-data --example load_csv -- items.csv label stream
//! ```
//!
//! With `stream`, a schema learned from the file then encodes it chunk by chunk.

#![allow(clippy::print_stdout, reason = "this is a program")]

use std::time::Instant;

use mpu_data::table::{EncodeOptions, TableOptions, read_table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .ok_or("usage: load_csv FILE [LABEL-COLUMN] [stream]")?;
    let options = TableOptions {
        label_column: args.next(),
        ..TableOptions::default()
    };
    let start = Instant::now();
    let table = read_table(path.as_str(), &options)?;
    let seconds = start.elapsed().as_secs_f64();
    let matrix = size_of_val(table.features.values()) as f64;
    println!("rows {}", table.features.n_rows());
    println!("features {}", table.schema.width());
    println!("seconds {seconds:.3}");
    let sum: f64 = table.features.values().iter().map(|v| f64::from(*v)).sum();
    println!("sum {sum:.3}");
    if let Some(peak) = peak_bytes() {
        println!("peak-mb {:.1}", peak / 1e6);
        println!("peak-over-matrix {:.2}", peak / matrix);
    }
    if args.next().as_deref() == Some("stream") {
        let schema = table.schema.clone();
        drop(table);
        let start = Instant::now();
        let mut rows = 0;
        for chunk in schema.chunks(path.as_str(), &EncodeOptions::default())? {
            rows += chunk?.features.n_rows();
        }
        println!(
            "streamed {rows} rows in {:.3} s",
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// The most memory this process ever held.
fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}
