//! MPU problems out of labelled datasets: who is labelled, who is in the pool, who is held out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | the choices ([`SplitSpec`]) and the group sizes they lead to ([`Plan`]) |
//! | [`draw`] | unbiased drawing with the same bits on every machine |
//! | [`manifest`] | the drawn groups ([`Split`]), their digest and their summary |
//!
//! ```
//! use mpu_data::{ClassCount, Seed, split::{Protocol, Split, SplitSpec}};
//!
//! // Three classes of 100 rows each; the last becomes the negative class.
//! let labels: Vec<usize> = (0..300).map(|row| row % 3).collect();
//! let spec = SplitSpec::new(Protocol::FirstK, ClassCount::new(3)?, 0.5, Seed(1));
//! let split = Split::draw(&labels, &[], 3, &spec)?;
//! assert_eq!(split.pool.len(), 200); // 100 negatives and 50 rows of each observed class
//! assert_eq!(split.labeled[0].len(), 50);
//! assert_eq!(split.priors.negative(), 0.5);
//! # Ok::<(), mpu_data::Error>(())
//! ```

pub mod draw;
pub mod manifest;
pub mod protocol;

pub use manifest::{DropReason, Dropped, Group, Oracle, Split, SplitSummary, Validation};
pub use protocol::{Note, Plan, Protocol, Scenario, SplitSpec};
