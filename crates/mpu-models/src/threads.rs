//! How many threads work on one step.

use serde::{Deserialize, Serialize};

/// How many threads one step may use. Results do not depend on it.
///
/// Work is cut into parts that depend on the batch alone, and partial sums are added in the order
/// of the parts. With more than one thread the parts run on the current `rayon` pool: install the
/// pool you mean around the call (`pool.install(|| …)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Threads(std::num::NonZeroUsize);

impl Threads {
    /// One thread: the caller's own.
    pub const ONE: Self = Self(std::num::NonZeroUsize::MIN);

    /// `n` threads; 0 counts as 1.
    pub fn new(n: usize) -> Self {
        std::num::NonZeroUsize::new(n).map_or(Self::ONE, Self)
    }

    /// How many.
    pub fn get(self) -> usize {
        self.0.get()
    }

    /// How many of `n` things one thread takes: an even share, rounded up to a multiple of `unit`, at least one.
    pub(crate) fn share(self, n: usize, unit: usize) -> usize {
        n.div_ceil(self.get()).max(1).next_multiple_of(unit)
    }

    /// Does `work` on every part.
    pub(crate) fn for_each<T: Send>(self, parts: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
        if self.get() == 1 {
            return parts.for_each(work);
        }
        let work = &work;
        rayon::in_place_scope(|scope| {
            for part in parts {
                scope.spawn(move |_| work(part));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_worked_on_once() {
        for n in [0, 1, 2, 5] {
            let mut counts = [0; 9];
            Threads::new(n).for_each(counts.iter_mut().enumerate(), |(i, count)| *count += i + 1);
            assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        }
    }
}
