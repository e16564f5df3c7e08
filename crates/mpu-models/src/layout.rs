//! Which parameters a network has: names, shapes, purposes and order.

use crate::spec::{ModelSpec, PLANES};

/// What a parameter is for; it decides how it is initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A matrix or filter bank whose outputs each sum over `fan_in` inputs.
    Weight {
        /// Inputs per output.
        fan_in: usize,
    },
    /// The bias beside a weight of that fan-in.
    Bias {
        /// Inputs per output of the weight it belongs to.
        fan_in: usize,
    },
    /// Scale of a batch normalisation (γ).
    Scale,
    /// Shift of a batch normalisation (β).
    Shift,
    /// Running mean of a batch normalisation; a buffer.
    RunningMean,
    /// Running variance of a batch normalisation; a buffer.
    RunningVar,
    /// A variable of the user's own network, which says itself what it starts from.
    Own,
}

impl Role {
    /// Whether the optimiser moves it.
    pub fn is_trainable(self) -> bool {
        !matches!(self, Self::RunningMean | Self::RunningVar)
    }
}

/// One named parameter: where it lies in its block and what shape it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name it has in a PyTorch `state_dict` of the same network.
    pub name: String,
    /// Its shape, as in PyTorch: a matrix is `[outputs, inputs]`, a filter bank
    /// `[outputs, inputs, 3, 3]`.
    pub shape: Vec<usize>,
    /// What it is for.
    pub role: Role,
    /// Where it begins in the block of trainable values, or of buffers.
    pub offset: usize,
}

impl Entry {
    /// How many values it has.
    pub fn n_values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Its place in its block.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.n_values()
    }
}

/// The parameters of `spec` in the order of a PyTorch `state_dict`.
pub(crate) fn entries_of(spec: &ModelSpec) -> Vec<Entry> {
    let mut list = EntryList::default();
    match spec {
        ModelSpec::Mlp(mlp) => {
            let mut inputs = mlp.inputs;
            for (index, &width) in mlp.hidden.iter().enumerate() {
                list.linear(&format!("fc{}", index + 1), inputs, width);
                list.norm(&format!("bn{}", index + 1), width);
                inputs = width;
            }
            list.linear(&format!("fc{}", mlp.hidden.len() + 1), inputs, mlp.outputs);
        }
        ModelSpec::ResNet(net) => {
            list.conv("conv1", net.channels, PLANES[0]);
            list.norm("bn1", PLANES[0]);
            for block in net.blocks() {
                let prefix = format!("layer{}.{}", block.stage + 1, block.index);
                list.conv(&format!("{prefix}.conv1"), block.inputs, block.planes);
                list.norm(&format!("{prefix}.bn1"), block.planes);
                list.conv(&format!("{prefix}.conv2"), block.planes, block.planes);
                list.norm(&format!("{prefix}.bn2"), block.planes);
            }
            list.linear("linear", PLANES[2], net.outputs);
        }
        ModelSpec::Module(module) => {
            for (name, shape) in &module.variables {
                // candle-nn's batch normalisation keeps its running statistics among the variables, under these names.
                let role = match name.rsplit('.').next() {
                    Some("running_mean") => Role::RunningMean,
                    Some("running_var") => Role::RunningVar,
                    _ => Role::Own,
                };
                list.push(name.clone(), shape.clone(), role);
            }
        }
    }
    list.entries
}

#[derive(Default)]
struct EntryList {
    entries: Vec<Entry>,
    n_trainable: usize,
    n_buffers: usize,
}

impl EntryList {
    fn push(&mut self, name: String, shape: Vec<usize>, role: Role) {
        let end = if role.is_trainable() {
            &mut self.n_trainable
        } else {
            &mut self.n_buffers
        };
        let entry = Entry {
            name,
            shape,
            role,
            offset: *end,
        };
        *end += entry.n_values();
        self.entries.push(entry);
    }

    fn linear(&mut self, name: &str, fan_in: usize, outputs: usize) {
        self.push(
            format!("{name}.weight"),
            vec![outputs, fan_in],
            Role::Weight { fan_in },
        );
        self.push(format!("{name}.bias"), vec![outputs], Role::Bias { fan_in });
    }

    fn conv(&mut self, name: &str, inputs: usize, outputs: usize) {
        let role = Role::Weight { fan_in: 9 * inputs };
        self.push(format!("{name}.weight"), vec![outputs, inputs, 3, 3], role);
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.push(format!("{name}.weight"), vec![width], Role::Scale);
        self.push(format!("{name}.bias"), vec![width], Role::Shift);
        self.push(
            format!("{name}.running_mean"),
            vec![width],
            Role::RunningMean,
        );
        self.push(format!("{name}.running_var"), vec![width], Role::RunningVar);
    }
}
