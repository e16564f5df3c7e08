//! What a forest is grown by.

use serde::{Deserialize, Serialize};

use crate::error::{Result, setting};

/// How a node chooses its threshold in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Splits {
    /// The best of all thresholds: a random forest.
    Best,
    /// One at random between the node's least and greatest value: extremely randomised trees.
    Random,
}

mpu_data::named!(Splits, "way to split", { Best => "best", Random => "random" });

/// How many columns, drawn at random, a node tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Columns {
    /// The square root of their number.
    Sqrt,
    /// A third of them.
    Third,
    /// All of them.
    All,
}

mpu_data::named!(Columns, "number of columns", { Sqrt => "sqrt", Third => "third", All => "all" });

impl Columns {
    /// How many of `n`; at least one.
    pub fn of(self, n: usize) -> usize {
        match self {
            Self::Sqrt => n.isqrt().max(1),
            Self::Third => n.div_ceil(3).max(1),
            Self::All => n,
        }
    }
}

/// Which rows a tree is grown from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sample {
    /// Rows drawn with replacement, as many as there are, but at most `rows_per_tree`. The others are out of bag.
    Bootstrap,
    /// The same within each class, but of the class with most rows only as many as of all others together. A row of
    /// several classes counts as one of its heaviest.
    Balanced,
    /// Every row once; none is out of bag, and `rows_per_tree` does not count.
    Every,
}

mpu_data::named!(Sample, "sample of rows", { Bootstrap => "bootstrap", Balanced => "balanced", Every => "every" });

mpu_data::defaults! {
    /// What a forest is grown by.
    ///
    /// ```
    /// use mpu_models::forest::{ForestSpec, Splits};
    ///
    /// let spec = ForestSpec { splits: Splits::Best, ..ForestSpec::default() };
    /// assert_eq!((spec.trees, spec.min_leaf), (300, 3.0));
    /// assert!(ForestSpec { trees: 0, ..spec }.check().is_err());
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct ForestSpec {
        /// Trees; 300.
        pub trees: usize = 300,
        /// The least weight of a leaf's rows, a row counting as often as it was drawn; 3.
        pub min_leaf: f32 = 3.0,
        /// How thresholds are chosen; at random.
        pub splits: Splits = Splits::Random,
        /// Columns that a node tries; the square root.
        pub columns: Columns = Columns::Sqrt,
        /// Rows that a tree is grown from; a bootstrap.
        pub sample: Sample = Sample::Bootstrap,
        /// The most rows drawn for a tree; 65 536.
        pub rows_per_tree: usize = 65_536,
    }
}

impl ForestSpec {
    /// The most trees there may be: out-of-bag votes are counted in 16 bits.
    pub const MAX_TREES: usize = u16::MAX as usize;

    /// Refuses what cannot be grown.
    pub fn check(&self) -> Result<()> {
        if !(1..=Self::MAX_TREES).contains(&self.trees) {
            return Err(setting("trees", self.trees as f64, "1 to 65535"));
        }
        if !(self.min_leaf.is_finite() && self.min_leaf > 0.0) {
            return Err(setting(
                "min-leaf",
                f64::from(self.min_leaf),
                "finite and above 0",
            ));
        }
        if self.rows_per_tree == 0 {
            return Err(setting("rows-per-tree", 0.0, "at least 1"));
        }
        Ok(())
    }
}
