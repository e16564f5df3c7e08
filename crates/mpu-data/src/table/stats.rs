//! Column statistics of a block of features, the same on any number of threads.

use rayon::prelude::*;

/// Rows that one task takes; fixed, so that sums do not depend on the number of threads.
const TASK_ROWS: usize = 1 << 14;

/// What a column of features holds; NaN is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ColumnStats {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) min: f32,
    pub(super) max: f32,
}

impl ColumnStats {
    const EMPTY: Self = Self {
        count: 0,
        sum: 0.0,
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
    };

    /// Whether all values are equal.
    pub(super) fn is_constant(&self) -> bool {
        self.count > 0 && self.min == self.max
    }

    pub(super) fn mean(&self) -> f32 {
        (self.sum / self.count.max(1) as f64) as f32
    }
}

/// Statistics of each of `width` columns of row-major `values`.
pub(super) fn column_stats(values: &[f32], width: usize) -> Vec<ColumnStats> {
    let parts: Vec<Vec<ColumnStats>> = values
        .par_chunks(TASK_ROWS * width)
        .map(|rows| {
            let mut stats = vec![ColumnStats::EMPTY; width];
            for row in rows.chunks_exact(width) {
                for (stats, &value) in stats.iter_mut().zip(row) {
                    if !value.is_nan() {
                        stats.count += 1;
                        stats.sum += f64::from(value);
                        stats.min = stats.min.min(value);
                        stats.max = stats.max.max(value);
                    }
                }
            }
            stats
        })
        .collect();
    let mut whole = vec![ColumnStats::EMPTY; width];
    for part in parts {
        for (whole, part) in whole.iter_mut().zip(part) {
            whole.count += part.count;
            whole.sum += part.sum;
            whole.min = whole.min.min(part.min);
            whole.max = whole.max.max(part.max);
        }
    }
    whole
}

/// The median of a column, the mean of the two middle values when there are two; NaN is left out.
pub(super) fn median(values: &[f32], width: usize, column: usize) -> Option<f32> {
    let mut present: Vec<f32> = values
        .iter()
        .skip(column)
        .step_by(width)
        .copied()
        .filter(|value| !value.is_nan())
        .collect();
    if present.is_empty() {
        return None;
    }
    let middle = present.len() / 2;
    let even = present.len().is_multiple_of(2);
    let (below, upper, _) = present.select_nth_unstable_by(middle, f32::total_cmp);
    let upper = f64::from(*upper);
    let lower = if even {
        below
            .iter()
            .copied()
            .max_by(f32::total_cmp)
            .map_or(upper, f64::from)
    } else {
        upper
    };
    Some(f64::midpoint(lower, upper) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_left_out() {
        let values = [1.0, f32::NAN, 3.0, 5.0, 8.0, 5.0];
        let stats = column_stats(&values, 2);
        assert_eq!(
            (stats[0].mean(), stats[0].min, stats[0].max),
            (4.0, 1.0, 8.0)
        );
        assert_eq!((stats[1].count, stats[1].is_constant()), (2, true));
        assert_eq!(median(&values, 2, 0), Some(3.0));
        assert_eq!(median(&[1.0, 4.0, 2.0, 10.0], 1, 0), Some(3.0));
        assert_eq!(median(&[f32::NAN], 1, 0), None);
    }
}
