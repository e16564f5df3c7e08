//! What can be wrong with a model, its parameters or a batch, with the value found.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tensor the model needs is absent.
    #[error("parameter `{name}` is missing")]
    MissingParameter {
        /// Its name.
        name: String,
    },

    /// A tensor the model has no place for, or that was given twice.
    #[error("parameter `{name}` is unknown to this model, or given twice")]
    UnexpectedParameter {
        /// Its name.
        name: String,
    },

    /// A tensor of another shape than the model's.
    #[error("parameter `{name}` has shape {found:?}: the model needs {needed:?}")]
    ParameterShape {
        /// Its name.
        name: String,
        /// The shape given.
        found: Vec<usize>,
        /// The shape of the model.
        needed: Vec<usize>,
    },

    /// A block of numbers of the wrong length.
    #[error("{what} holds {found} values: {needed} are needed")]
    Length {
        /// What the block is.
        what: &'static str,
        /// How many values were given.
        found: usize,
        /// How many are needed.
        needed: usize,
    },

    /// A block of numbers that is not a whole number of rows.
    #[error("{what} holds {found} values: not a whole number of rows of {width}")]
    Rows {
        /// What the block is.
        what: &'static str,
        /// How many values were given.
        found: usize,
        /// The width of a row.
        width: usize,
    },

    /// More or fewer rows than the workspace can take.
    #[error("a batch of {found} rows: this workspace takes 1 to {max}")]
    BatchSize {
        /// The rows asked for.
        found: usize,
        /// The most the workspace was built for.
        max: usize,
    },

    /// Parameters of one model in the workspace or optimiser of another.
    #[error("the parameters belong to another architecture than the {what}")]
    OtherModel {
        /// What they were used with.
        what: &'static str,
    },

    /// The user's own network where only ours will do, or without the code that builds it.
    #[error("{what} takes an MLP or a ResNet, not a network of your own\nhint: {hint}")]
    OwnNetwork {
        /// What it was given to.
        what: &'static str,
        /// What can be done.
        hint: &'static str,
    },

    /// The user's own network whose scores have another shape than one row of `k` for every row.
    #[error(
        "the network gives scores of shape {found:?}: {needed:?} is needed, one score for each class"
    )]
    Scores {
        /// The shape found.
        found: Vec<usize>,
        /// The shape needed.
        needed: Vec<usize>,
    },

    /// A gradient asked for before a training-mode forward pass.
    #[error(
        "no training-mode forward pass to go back through\n\
         hint: call `forward` with `Mode::Train` before `backward`"
    )]
    NoForward,

    /// Values to be left out of a network that is no perceptron.
    #[error(
        "only an MLP can leave values out in training, not a ResNet or a network of your own\nhint: set dropout to 0"
    )]
    NoDropout,

    /// A number of an architecture or of an optimiser out of range.
    #[error("{field} is {found}: it must be {allowed}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// The value given.
        found: f64,
        /// What is allowed.
        allowed: &'static str,
    },

    /// More weights than a network may have.
    #[error(
        "number of weights is {found}: it must be at most {most}, and a layer counts as 131072 or more\n\
         hint: choose smaller or fewer layers (model.hidden, model.depth), or raise the limit with the variable MPU_MAX_WEIGHTS"
    )]
    TooManyWeights {
        /// How many it would have.
        found: f64,
        /// How many are allowed.
        most: u64,
    },

    /// A number that is not finite, or too large.
    #[error(
        "value {index} of {what} is {found:e}: it must be finite, and at most {max:.1e} in size\n\
         hint: {hint}"
    )]
    NotFinite {
        /// What it belongs to: a parameter's name, or a phrase.
        what: String,
        /// Its place, from 0.
        index: usize,
        /// The value given.
        found: f64,
        /// The greatest size there is a place for.
        max: f64,
        /// What can be done.
        hint: &'static str,
    },

    /// A model larger than its format allows.
    #[error(
        "the model takes {found} bytes: an ONNX file holds at most {max}\n\
         hint: grow fewer trees, or train a smaller network"
    )]
    ModelSize {
        /// Its size.
        found: usize,
        /// The most there may be.
        max: usize,
    },

    /// Out-of-bag answers of a forest whose trees have seen every row.
    #[error(
        "every tree of the forest has seen every row: none is out of bag\n\
         hint: grow it with the sample `bootstrap`"
    )]
    NoneOutOfBag,

    /// Bytes that are no forest.
    #[error(
        "the forest cannot be read: {what}\n\
         hint: the file is damaged, or of another version; train the model again"
    )]
    Damaged {
        /// What was wrong.
        what: String,
    },

    /// A tensor operation failed.
    #[error("{operation} failed")]
    Tensor {
        /// What was being computed.
        operation: &'static str,
        /// Candle's own report.
        #[source]
        source: candle_core::Error,
    },
}

/// The error of a number out of range.
pub(crate) fn setting(field: &'static str, found: f64, allowed: &'static str) -> Error {
    Error::Setting {
        field,
        found,
        allowed,
    }
}

/// The error of the user's own network where only ours will do.
pub(crate) fn own_network(what: &'static str) -> Error {
    let hint = "train and use it with the candle engine, on any device";
    Error::OwnNetwork { what, hint }
}

/// Checks the length of a block of numbers.
pub(crate) fn check_length(what: &'static str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(Error::Length {
        what,
        found,
        needed,
    })
}

/// Adds the operation to a candle error.
pub(crate) trait During<T> {
    /// Names what was being computed.
    fn during(self, operation: &'static str) -> Result<T>;
}

impl<T> During<T> for candle_core::Result<T> {
    fn during(self, operation: &'static str) -> Result<T> {
        self.map_err(|source| Error::Tensor { operation, source })
    }
}
