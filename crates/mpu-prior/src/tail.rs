//! Rows of one class and of the pool in the order of that class's margin, so that shares above a threshold
//! are one pass for any counts.

use crate::margins::{Counts, Group, Margins};

/// Rows of a group in descending order of a margin.
#[derive(Debug, Clone)]
struct Order {
    index: usize,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Order {
    fn new(margins: &Margins, group: Group, class: usize) -> Self {
        let values: Vec<f64> = margins.margin(group, class).collect();
        let mut rows: Vec<u32> = (0..values.len() as u32).collect();
        rows.sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]));
        Self {
            index: margins.index(group),
            values: rows.iter().map(|&row| values[row as usize]).collect(),
            rows,
        }
    }
}

/// Labelled rows of a class and the pool's rows, in descending order of the class's margin.
#[derive(Debug, Clone)]
pub(crate) struct Tails {
    labeled: Order,
    pool: Order,
}

/// How much of a class and of the pool lies at or above a threshold, in counted rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Above {
    pub(crate) threshold: f64,
    pub(crate) labeled: u64,
    pub(crate) pool: u64,
}

impl Tails {
    pub(crate) fn new(margins: &Margins, class: usize) -> Self {
        Self {
            labeled: Order::new(margins, Group::Class(class), class),
            pool: Order::new(margins, Group::Pool, class),
        }
    }

    /// Calls `visit` for every distinct labelled margin that is counted, from the largest down, until it says
    /// to stop (`false`).
    pub(crate) fn walk(&self, counts: &Counts, mut visit: impl FnMut(Above) -> bool) {
        let labeled = counts.at(self.labeled.index);
        let pool = counts.at(self.pool.index);
        let (mut above, mut next_pool) = ((0, 0), 0);
        let mut next = 0;
        while next < self.labeled.rows.len() {
            let threshold = self.labeled.values[next];
            let before = above.0;
            while next < self.labeled.rows.len() && self.labeled.values[next] >= threshold {
                above.0 += u64::from(labeled[self.labeled.rows[next] as usize]);
                next += 1;
            }
            if above.0 == before {
                continue;
            }
            while next_pool < self.pool.rows.len() && self.pool.values[next_pool] >= threshold {
                above.1 += u64::from(pool[self.pool.rows[next_pool] as usize]);
                next_pool += 1;
            }
            let here = Above {
                threshold,
                labeled: above.0,
                pool: above.1,
            };
            if !visit(here) {
                return;
            }
        }
    }

    /// The highest threshold with at least `needed` labelled rows at or above it, and what lies there.
    pub(crate) fn with_labeled(&self, counts: &Counts, needed: u64) -> Option<Above> {
        let mut found = None;
        self.walk(counts, |above| {
            if above.labeled >= needed {
                found = Some(above);
            }
            found.is_none()
        });
        found
    }

    /// Counted labelled rows and counted rows of the pool.
    pub(crate) fn totals(&self, counts: &Counts) -> (u64, u64) {
        (
            counts.total(self.labeled.index),
            counts.total(self.pool.index),
        )
    }
}
