//! A full report as a browser shows it, on a desk and on a phone. Skipped where there is no Chromium.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use mpu_report::{figures, run_report};

mod browser;
#[path = "../src/run_report/made_up.rs"]
mod made_up;

#[test]
fn a_report_of_two_runs_fits_a_desk_and_a_phone() {
    let runs = [
        made_up::full("first <try> & more", 20, 1),
        made_up::full(
            "a_second_run_with_a_name_that_has_no_spaces_and_is_longer_than_a_phone_is_wide",
            4,
            2,
        ),
        made_up::unlabeled("no labels", 6, 3),
    ];
    for shown in [&runs[..2], &runs[2..]] {
        browser::shows_all_of(&run_report::to_html(shown));
    }
}
