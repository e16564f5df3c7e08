//! Times a piece of work by the clock.

use std::time::{Duration, Instant};

/// Runs `work` for about a second and prints the median and the quickest time of a call.
pub(crate) fn time<T>(id: &str, mut work: impl FnMut() -> T) {
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < 10 || start.elapsed() < Duration::from_secs(1) {
        let call = Instant::now();
        std::hint::black_box(work());
        times.push(call.elapsed());
    }
    times.sort_unstable();
    let (median, least) = (times[times.len() / 2], times[0]);
    println!(
        "{id}: median {median:.1?}, least {least:.1?}, {} calls",
        times.len()
    );
}
