//! Panics of the `parquet` crate, which checks some of what a file claims by panicking: they become errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and become an error about a file. A panic hook need not tell of it.
pub fn panics_are_contained() -> bool {
    CONTAINED.get()
}

/// What `work` gives; none if it panics.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_contained_and_known_to_be() {
        assert!(!panics_are_contained());
        assert_eq!(contained(panics_are_contained), Some(true));
        let inner = || contained(|| panic!("on purpose")).is_none() && panics_are_contained();
        assert_eq!(contained(inner), Some(true));
        assert!(!panics_are_contained());
    }
}
