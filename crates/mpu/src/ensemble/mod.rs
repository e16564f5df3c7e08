//! The forest of a table: a teacher that tells labelled rows from the pool, and a student that learns classes.
//!
//! 1. The **teacher** answers "labelled as which class, or from the pool?". Each row is answered by the trees that have
//!    not seen it, so that no row of the pool is merely remembered as one of the pool ([`Teacher`]).
//! 2. Its answers give the class priors (`mpu-prior`), and with them a **target** for each row of the pool: how
//!    probable each class is (`Ground::posteriors`).
//! 3. The **student** learns these targets and the labels together ([`Student`]). Rows that neither teacher nor
//!    student has seen are what probabilities are calibrated on and what it is judged by.

mod bags;
mod choice;
mod student;
mod teacher;

pub(crate) use self::choice::mean;
pub use self::choice::{Candidate, Choice, Kind, Leaves};
pub use self::student::{Student, log_probabilities, pool_target};
pub use self::teacher::{Ground, Teacher};
pub(crate) use self::teacher::{HALF_A_VOTE, spec_for};

#[cfg(test)]
mod testing {
    /// Numbers between 0 and 1.
    pub(super) fn uniform(mut state: u64) -> impl FnMut() -> f32 {
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f32 / (1 << 24) as f32
        }
    }
}
