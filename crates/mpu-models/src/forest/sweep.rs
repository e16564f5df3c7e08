//! The sides of every threshold of a column, one after the other.

use super::split::{LANES, Search, Side};

/// Rows in the order of their bins, which go from the right side of a threshold to the left one by one.
#[derive(Debug)]
pub(super) struct Sweep {
    left: Vec<f64>,
    right: Vec<f64>,
    /// Bins, missing values lowest if they go left, and places in the node.
    order: Vec<(u8, u32)>,
}

/// Fewer rows than this are sorted by comparing, more by counting.
const FEW: usize = 48;

impl Sweep {
    pub(super) fn new(n_classes: usize) -> Self {
        Self {
            left: vec![0.0; n_classes],
            right: vec![0.0; n_classes],
            order: Vec::new(),
        }
    }

    /// Brings the rows in the order of one column's bins, with `shift` added.
    pub(super) fn sort(&mut self, panel: &[[u8; LANES]], lane: usize, shift: u8) {
        let keys = panel.iter().map(|codes| codes[lane].wrapping_add(shift));
        let keyed = keys.clone().zip(0..);
        self.order.clear();
        if panel.len() < FEW {
            self.order.extend(keyed);
            self.order.sort_unstable();
            return;
        }
        let mut places = [0_u32; 256];
        for key in keys {
            places[key as usize] += 1;
        }
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        self.order.resize(panel.len(), (0, 0));
        for (key, i) in keyed {
            let place = &mut places[key as usize];
            self.order[*place as usize] = (key, i);
            *place += 1;
        }
    }

    /// Calls `offer` with the bins that stand next to each other and the two sides they part. Moving the weight `w` of class `c` changes the sums of
    /// squares by `w (2 S_c + w)` and `w (w - 2 S_c)`.
    pub(super) fn run(&mut self, search: &Search<'_>, mut offer: impl FnMut([u8; 2], [Side; 2])) {
        let (mut low, mut high) = (Side::default(), Side::default());
        for (class, total) in search.totals.iter() {
            let total = f64::from(total);
            self.left[class as usize] = 0.0;
            self.right[class as usize] = total;
            high.weight += total;
            high.squares += total * total;
        }
        let (left, right) = (&mut self.left, &mut self.right);
        let mut before = None;
        for &(key, i) in &self.order {
            if let Some(before) = before
                && before < key
            {
                offer([before, key], [low, high]);
            }
            before = Some(key);
            search.items[i as usize].each(search.targets, |class, weight| {
                let weight = f64::from(weight);
                low.squares += weight * (2.0 * left[class] + weight);
                high.squares += weight * (weight - 2.0 * right[class]);
                left[class] += weight;
                right[class] -= weight;
                low.weight += weight;
                high.weight -= weight;
            });
        }
    }
}
