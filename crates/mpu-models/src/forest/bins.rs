//! Columns as bins: what a tree sees of a row is one byte a column.

use rayon::prelude::*;

use super::layout::{Column, Layout};
use crate::error::{Result, setting};

/// The code of a missing value.
pub(crate) const MISSING: u8 = u8::MAX;

/// The most bins of a column, besides the one of missing values.
pub(crate) const MAX_BINS: usize = 254;

/// The most rows that the bins are learned from; of more, evenly spaced ones are taken.
const MAX_ROWS: usize = 1 << 17;

/// Rows that are encoded at a time.
const BLOCK: usize = 1024;

/// How the values of each column are cut into at most 254 bins, and one more for missing values.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    layout: Layout,
    cuts: Vec<Cut>,
}

/// The bins of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cut {
    /// Ascending edges: bin `b` holds what is at most `edges[b]` and above the edge before; the last bin has no edge.
    Edges(Vec<f32>),
    /// The bin of each category.
    Codes(Vec<u8>),
}

impl Bins {
    /// Learns the bins of a table's rows, on rayon's threads. Numbers are cut at quantiles, halfway between
    /// neighbouring values; the most frequent categories get a bin each, and beyond 253 the rarest share one.
    pub fn learn(layout: Layout, features: &[f32]) -> Result<Self> {
        let n_rows = layout.rows(features)?;
        if n_rows == 0 {
            return Err(setting("rows of the table", 0.0, "at least 1"));
        }
        let width = layout.width();
        let n_seen = n_rows.min(MAX_ROWS);
        let seen = |i: usize| &features[i * n_rows / n_seen * width..][..width];
        let columns: Vec<(usize, Column)> = layout.starts().collect();
        let cuts = columns
            .into_par_iter()
            .map(|(start, column)| match column {
                Column::Numeric => edges((0..n_seen).map(|i| seen(i)[start]).collect()),
                Column::Categorical(n) => {
                    let mut counts = vec![0_usize; n];
                    for i in 0..n_seen {
                        if let Some(category) = category(&seen(i)[start..start + n]) {
                            counts[category] += 1;
                        }
                    }
                    codes(&counts)
                }
            })
            .collect();
        Ok(Self { layout, cuts })
    }

    /// Bins that were stored.
    pub(crate) fn from_parts(layout: Layout, cuts: Vec<Cut>) -> Self {
        Self { layout, cuts }
    }

    /// The columns that were cut.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The bins of each column.
    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// Rows as bins, on rayon's threads.
    pub fn encode(&self, features: &[f32]) -> Result<BinnedRows> {
        let n_rows = self.layout.rows(features)?;
        let n_columns = self.cuts.len();
        let mut codes = vec![0; n_rows * n_columns];
        codes
            .par_chunks_mut(BLOCK * n_columns)
            .zip(features.par_chunks(BLOCK * self.layout.width()))
            .for_each(|(codes, features)| self.encode_into(features, codes));
        Ok(BinnedRows { n_columns, codes })
    }

    /// Whole rows as bins, on the caller's thread.
    pub(crate) fn encode_into(&self, features: &[f32], codes: &mut [u8]) {
        let columns: Vec<_> = self.layout.starts().zip(&self.cuts).collect();
        let rows = features.chunks_exact(self.layout.width());
        for (row, codes) in rows.zip(codes.chunks_exact_mut(columns.len())) {
            for (code, &((start, column), cut)) in codes.iter_mut().zip(&columns) {
                *code = cut.code(&row[start..start + column.width()]);
            }
        }
    }
}

impl Cut {
    /// The bin of a column's features.
    fn code(&self, features: &[f32]) -> u8 {
        match self {
            Self::Edges(_) if features[0].is_nan() => MISSING,
            Self::Edges(edges) => edges.partition_point(|&edge| edge < features[0]) as u8,
            Self::Codes(codes) => category(features).map_or(MISSING, |category| codes[category]),
        }
    }

    /// How many bins there are, missing values apart.
    pub(crate) fn n_bins(&self) -> usize {
        match self {
            Self::Edges(edges) => edges.len() + 1,
            Self::Codes(codes) => codes.iter().max().map_or(0, |&most| most as usize + 1),
        }
    }
}

/// The category of a one-hot block, if it is known.
fn category(features: &[f32]) -> Option<usize> {
    if features[0].is_nan() {
        return None;
    }
    features.iter().position(|&feature| feature > 0.5)
}

/// Edges halfway between neighbouring values: between all of them if they are few, or else at quantiles.
fn edges(mut values: Vec<f32>) -> Cut {
    values.retain(|value| !value.is_nan());
    for value in &mut values {
        // Edges are finite; an infinite value falls into the first or last bin.
        *value = value.clamp(f32::MIN, f32::MAX);
    }
    values.sort_unstable_by(f32::total_cmp);
    let n = values.len();
    let between = |low: f32, high: f32| {
        let middle = f64::midpoint(f64::from(low), f64::from(high)) as f32;
        if middle < high { middle } else { low }
    };
    let steps = values.windows(2).filter(|pair| pair[0] < pair[1]);
    let edges = if steps.clone().count() < MAX_BINS {
        steps.map(|pair| between(pair[0], pair[1])).collect()
    } else {
        let mut edges: Vec<f32> = Vec::with_capacity(MAX_BINS - 1);
        for b in 1..MAX_BINS {
            // The step up that is next to the quantile.
            let low = values[b * n / MAX_BINS - 1];
            let next = values.partition_point(|&value| value <= low);
            let Some(&high) = values.get(next) else { break };
            let edge = between(low, high);
            if edges.last().is_none_or(|&last| last < edge) {
                edges.push(edge);
            }
        }
        edges
    };
    Cut::Edges(edges)
}

/// A bin for each category; the rarest share one if there are too many.
fn codes(counts: &[usize]) -> Cut {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    if counts.len() > MAX_BINS {
        order.sort_by_key(|&category| std::cmp::Reverse(counts[category]));
    }
    let mut codes = vec![0; counts.len()];
    for (place, &category) in order.iter().enumerate() {
        codes[category] = place.min(MAX_BINS - 1) as u8;
    }
    Cut::Codes(codes)
}

/// Rows of a table as bins, one byte a column: a quarter of the numbers they were made from, or less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinnedRows {
    n_columns: usize,
    codes: Vec<u8>,
}

impl BinnedRows {
    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.codes.len() / self.n_columns
    }

    /// How many columns there are.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The bins, row by row.
    pub(crate) fn codes(&self) -> &[u8] {
        &self.codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(values: &[f32]) -> Bins {
        Bins::learn(Layout::numeric(1).unwrap(), values).unwrap()
    }

    #[test]
    fn few_values_get_a_bin_each() {
        let bins = one(&[3.0, 1.0, f32::NAN, 2.0, 1.0]);
        assert_eq!(bins.cuts(), [Cut::Edges(vec![1.5, 2.5])]);
        let rows = [1.0, 1.5, 1.6, 2.5, 9.0, f32::NAN, f32::INFINITY, -9.0];
        let found = bins.encode(&rows).unwrap();
        assert_eq!(found.codes(), [0, 0, 1, 1, 2, MISSING, 2, 0]);
    }

    #[test]
    fn many_values_are_cut_at_quantiles() {
        let values: Vec<f32> = (0..10_000).map(|i| (i * 7919 % 10_000) as f32).collect();
        let bins = one(&values);
        assert_eq!(bins.cuts()[0].n_bins(), MAX_BINS);
        let mut counts = [0; MAX_BINS];
        for &code in bins.encode(&values).unwrap().codes() {
            counts[code as usize] += 1;
        }
        assert!(counts.iter().all(|count| (39..=40).contains(count)));
    }

    #[test]
    fn edges_stand_between_neighbours_whatever_their_size() {
        let next = |x: f32| f32::from_bits(x.to_bits() + 1);
        for [low, high] in [
            [1.0, next(1.0)],
            [f32::MIN, f32::MAX],
            [f32::NEG_INFINITY, f32::INFINITY],
            [0.0, f32::from_bits(1)],
            [f32::MAX, f32::INFINITY],
        ] {
            let found = one(&[low, high]).encode(&[low, high]).unwrap();
            let apart = low.clamp(f32::MIN, f32::MAX) < high.clamp(f32::MIN, f32::MAX);
            assert_eq!(found.codes(), [0, u8::from(apart)], "{low} {high}");
        }
    }

    #[test]
    fn a_column_without_values_or_with_one_has_one_bin() {
        for value in [f32::NAN, 4.0] {
            assert_eq!(one(&[value; 3]).cuts(), [Cut::Edges(vec![])]);
        }
    }

    #[test]
    fn categories_have_a_bin_each_and_the_rarest_share_one() {
        let n = 300;
        let layout = Layout::new(vec![Column::Categorical(n)]).unwrap();
        let mut rows = Vec::new();
        // Category c occurs c + 1 times.
        for category in 0..n {
            for _ in 0..=category {
                let mut row = vec![0.0; n];
                row[category] = 1.0;
                rows.extend(row);
            }
        }
        let bins = Bins::learn(layout, &rows).unwrap();
        let Cut::Codes(codes) = &bins.cuts()[0] else {
            panic!("categories have codes")
        };
        assert!(codes[..47].iter().all(|&code| code == 253));
        let mut own = codes[47..].to_vec();
        own.sort_unstable();
        assert_eq!(own, (0..253).collect::<Vec<u8>>());
        let mut unknown = vec![0.0; 2 * n];
        unknown[n] = f32::NAN;
        assert_eq!(bins.encode(&unknown).unwrap().codes(), [MISSING; 2]);
    }

    #[test]
    fn tables_without_rows_and_broken_rows_are_refused() {
        assert!(Layout::numeric(0).is_err());
        assert!(Layout::new(vec![Column::Categorical(0)]).is_err());
        let layout = Layout::numeric(2).unwrap();
        assert!(Bins::learn(layout.clone(), &[]).is_err());
        assert!(Bins::learn(layout, &[1.0; 3]).is_err());
    }
}
