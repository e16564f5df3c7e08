//! Images with the mark of their class near the middle, for machines without Fashion-MNIST.

use mpu::Result;
use mpu::data::{Dataset, Features, Holdout, Origin, Provenance, Rows, Shape, TrainTest};

const SIDE: usize = 28;

/// A quarter of the rows of each class, and half as many to test on.
pub fn generated(n_rows: usize) -> Result<TrainTest> {
    Ok(TrainTest {
        train: part(n_rows, 1)?,
        test: part(n_rows / 2, 2)?,
        holdout: Holdout::Published,
        drawn_test_rows: Vec::new(),
    })
}

fn part(n_rows: usize, seed: usize) -> Result<Dataset> {
    let noise = |i: usize| (i * 7919 + seed * 104_729) % 1009;
    let mut pixels = Vec::with_capacity(n_rows * SIDE * SIDE);
    for row in 0..n_rows {
        let (top, left) = (8 + noise(3 * row) % 2, 8 + noise(5 * row + 1) % 2);
        for pixel in 0..SIDE * SIDE {
            let (y, x) = (
                (pixel / SIDE).wrapping_sub(top),
                (pixel % SIDE).wrapping_sub(left),
            );
            let is_mark = x < 12 && y < 12 && [y, x, x + y, x * y][row % 4] % 3 == 0;
            let ground = noise(row * SIDE * SIDE + pixel) % 64;
            pixels.push(if is_mark { 255.0 } else { ground as f32 });
        }
    }
    let features = Features::new(pixels, Shape::image(1, SIDE, SIDE))?;
    let provenance = Provenance {
        name: "marks".to_owned(),
        origin: Origin::Generated,
        folder: None,
        deviations: Vec::new(),
    };
    let rows = Rows::new(features, (0..n_rows).map(|row| row % 4).collect())?;
    let names = ["lines", "columns", "slopes", "grid"].map(String::from);
    Ok(Dataset::new(rows, names.to_vec(), provenance)?)
}
