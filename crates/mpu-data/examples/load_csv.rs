//! Loads a table and prints rows, seconds and peak memory, for comparison with other readers:
//!
//! ```text
//! cargo run --release -p mpu-data --example load_csv -- items.csv [label-column]
//! cargo run --release -p mpu-data --example load_csv -- items.csv label later.csv
//! ```
//!
//! With a second file, the schema learned from the first encodes that one chunk by chunk.

#![allow(clippy::print_stdout, reason = "this is a program")]

use std::time::Instant;

use mpu_data::table::{EncodeOptions, TableOptions, read_table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .ok_or("usage: load_csv FILE [LABEL-COLUMN] [LATER-FILE]")?;
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
    print_peak(matrix);
    if let Some(later) = args.next() {
        let schema = table.schema.clone();
        drop(table);
        let start = Instant::now();
        let mut rows = 0;
        for chunk in schema.chunks(later.as_str(), &EncodeOptions::default())? {
            rows += chunk?.features.n_rows();
        }
        println!("streamed-rows {rows}");
        println!("seconds {:.3}", start.elapsed().as_secs_f64());
        print_peak((rows * schema.width() * size_of::<f32>()) as f64);
    }
    Ok(())
}

fn print_peak(matrix: f64) {
    if let Some(peak) = peak_bytes() {
        println!("peak-mb {:.1}", peak / 1e6);
        println!("peak-over-matrix {:.3}", peak / matrix);
    }
}

/// The most memory this process ever held.
fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}
