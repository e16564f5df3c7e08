//! What can be wrong with a prior estimate's input, with the value and what is allowed.

use mpu_data::bad_setting;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Lower bounds that leave no room.
    #[error(
        "lower bounds sum to {sum}: together they must not exceed 1\n\
         hint: a smaller acceptance level alpha lowers them"
    )]
    Infeasible {
        /// Their sum.
        sum: f64,
    },

    /// A point of the wrong length or with a value that is not finite.
    #[error("the point to project has {found} finite entries: {needed} are needed")]
    Point {
        /// How many finite entries it has.
        found: usize,
        /// How many classes there are.
        needed: usize,
    },

    /// A shift of priors that is negative or larger than there is room for.
    #[error("a shift of size {size}: it must be a number from 0 to at most {largest}")]
    ShiftSize {
        /// The size asked for.
        size: f64,
        /// The largest that leaves every prior between 0 and 1.
        largest: f64,
    },

    /// Margins that are not a whole number of rows, or have no fold number for each row.
    #[error(
        "{group}: {values} margins and {folds} fold numbers: every row needs {width} margins and one fold number"
    )]
    Shape {
        /// Which rows.
        group: crate::margins::Group,
        /// How many margins there are.
        values: usize,
        /// How many fold numbers there are.
        folds: usize,
        /// How many margins a row must have: one per observed class.
        width: usize,
    },

    /// A group without rows.
    #[error("{group} has no rows: at least one is needed")]
    NoRows {
        /// Which rows.
        group: crate::margins::Group,
    },

    /// A margin that is not finite.
    #[error(
        "{group}, row {row}: margin {class} is {value}: margins must be finite\n\
         hint: take differences of log-softmax values, not logarithms of rounded probabilities"
    )]
    NotFinite {
        /// Which rows.
        group: crate::margins::Group,
        /// The row, counted from 0.
        row: usize,
        /// The margin, counted from 0.
        class: usize,
        /// Its value.
        value: f64,
    },

    /// No observed class.
    #[error("no observed class: at least one class must have labelled rows")]
    NoClasses,

    /// Row counts that do not belong to the margins.
    #[error(
        "{group}: counts for {found} rows, of which {drawn} were drawn: {needed} rows, at least one of them drawn, are needed"
    )]
    Counts {
        /// Which rows.
        group: crate::margins::Group,
        /// For how many rows there are counts.
        found: usize,
        /// How many rows were drawn.
        drawn: u64,
        /// How many rows there are.
        needed: usize,
    },

    /// Sub-groups that do not belong to the margins, or a class without any.
    #[error(
        "{found} sub-groups for margins of {needed}{}: every sub-group needs labelled rows, and every class a sub-group",
        .empty.map_or(String::new(), |class| format!(", none of class {class}"))
    )]
    Subgroups {
        /// Sub-groups given.
        found: usize,
        /// Sub-groups that have margins.
        needed: usize,
        /// A class without a sub-group.
        empty: Option<usize>,
    },

    /// Moments that say nothing about a class.
    #[error(
        "no moment sees class {class}: its column of the matching problem is zero\n\
         hint: are its margins larger on its own labelled rows than elsewhere?"
    )]
    Degenerate {
        /// The class, counted from 0.
        class: usize,
    },

    /// A matching problem of the wrong size or with entries that are not finite.
    #[error(
        "a matching problem of {rows} rows has {matrix} matrix and {target} target entries that are finite: {rows} x {classes} and {rows} are needed, and at least one row"
    )]
    System {
        /// Rows.
        rows: usize,
        /// Classes.
        classes: usize,
        /// Finite entries of the matrix.
        matrix: usize,
        /// Finite entries of the target.
        target: usize,
    },

    /// Too few bootstrap replicates could be computed.
    #[error("{failed} of {replicates} bootstrap replicates failed, the first with: {first}")]
    Bootstrap {
        /// How many failed.
        failed: usize,
        /// How many were asked for.
        replicates: usize,
        /// What the first of them said.
        first: String,
    },

    /// Priors that are not priors, or a setting outside its range.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// Replicates were asked for that were not kept.
    #[error(
        "the report holds no bootstrap replicates\n\
         hint: estimate again with `keep: Keep::Replicates`"
    )]
    NoReplicates,
}

/// Checks a share that is neither 0 nor 1.
pub(crate) fn check_open_share(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(bad_setting(name, value, "between 0 and 1, both excluded"))
}

/// Checks a finite number of at least 0.
pub(crate) fn check_not_negative(name: &str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(bad_setting(name, value, "a number that is not negative"))
}
