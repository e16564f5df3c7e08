//! Networks of the user's own, written for candle.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{DType, Device, ModuleT, Shape as Dims, Tensor, Var};
use candle_nn::init::{Init as Hint, NormalOrUniform};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{VarBuilder, VarMap};
use mpu_data::{Seed, Shape, Stream};
use rand::Rng;

use crate::error::{During, Result};
use crate::init::{fill_normal, fill_uniform};
use crate::params::Params;
use crate::spec::{ModelSpec, ModuleSpec};

/// A network that is built, whatever it is made of.
pub(crate) type Body = Arc<dyn ModuleT + Send + Sync>;

/// How to build a network of the user's own: any type that implements [`ModuleT`] and asks a
/// [`VarBuilder`] for its variables, as the layers of candle-nn do.
///
/// It is a recipe, not a network: every run builds a fresh one on its own device. Rows come as `[n, columns]`, images as
/// `[n, channels, height, width]`; scores must be `[n, k]`, the negative class last.
///
/// Variables start from what their layers ask for, drawn from the seed of the run, so that a run can be repeated
/// (a [`VarMap`]'s cannot on the CPU), or [from tensors](Self::with_weights). All of them are trained but those called
/// `running_mean` and `running_var`, in which candle-nn's batch normalisation keeps its statistics. What shall not be
/// trained, such as a frozen encoder, is loaded by the recipe itself, without the builder.
///
/// ```
/// use candle_core::{Module as _, Result, Tensor};
/// use candle_nn::{Linear, ModuleT, VarBuilder, linear};
/// use mpu_data::Shape;
/// use mpu_models::{Mode, Module, Network};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// struct Two(Linear, Linear);
///
/// impl Two {
///     fn new(vb: VarBuilder<'_>) -> Result<Self> {
///         Ok(Self(linear(4, 8, vb.pp("first"))?, linear(8, 3, vb.pp("second"))?))
///     }
/// }
///
/// impl ModuleT for Two {
///     fn forward_t(&self, rows: &Tensor, _: bool) -> Result<Tensor> {
///         self.1.forward(&self.0.forward(rows)?.tanh()?)
///     }
/// }
///
/// let module = Module::new(Two::new);
/// let params = module.init(Shape::Vector(4), 3, ChaCha8Rng::seed_from_u64(7))?;
/// let device = candle_core::Device::Cpu;
/// let network = Network::of(&module, &params, &device)?;
/// let scores = network.forward(&Tensor::zeros((5, 4), candle_core::DType::F32, &device)?, Mode::Eval)?;
/// assert_eq!(scores.dims(), [5, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Module {
    build: Arc<dyn Fn(VarBuilder<'static>) -> candle_core::Result<Body> + Send + Sync>,
    weights: BTreeMap<String, Tensor>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").finish_non_exhaustive()
    }
}

impl Module {
    /// Takes the function that builds the network from a builder of variables.
    pub fn new<M, F>(build: F) -> Self
    where
        M: ModuleT + Send + Sync + 'static,
        F: Fn(VarBuilder<'static>) -> candle_core::Result<M> + Send + Sync + 'static,
    {
        Self {
            build: Arc::new(move |vb| Ok(Arc::new(build(vb)?))),
            weights: BTreeMap::new(),
        }
    }

    /// Starts the variables of these names from tensors: those of a pretrained network, say, which is then trained on.
    #[must_use]
    pub fn with_weights(mut self, weights: impl IntoIterator<Item = (String, Tensor)>) -> Self {
        self.weights.extend(weights);
        self
    }

    /// Starts the variables from those of a [`VarMap`] with the same names.
    #[must_use]
    pub fn with_vars(self, vars: &VarMap) -> Self {
        let vars = vars.data().lock().unwrap_or_else(PoisonError::into_inner);
        let mut named: Vec<(String, Tensor)> = vars
            .iter()
            .map(|(name, var)| (name.clone(), var.as_detached_tensor()))
            .collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        self.with_weights(named)
    }

    /// What it gives for rows of a shape and so many scores: the names and shapes of its variables.
    pub fn spec(&self, shape: Shape, outputs: usize) -> Result<ModelSpec> {
        let params = self.init(shape, outputs, Seed(0).stream(Stream::Init))?;
        Ok(params.spec().clone())
    }

    /// Fresh parameters of the network for rows of a shape and so many scores.
    pub fn init(
        &self,
        shape: Shape,
        outputs: usize,
        rng: impl Rng + Send + 'static,
    ) -> Result<Params> {
        let drawn = Arc::new(Mutex::new(Drawn {
            made: Vec::new(),
            weights: self.weights.clone(),
            rng,
        }));
        let backend = Box::new(Drawing(Arc::clone(&drawn)));
        let vb = VarBuilder::from_backend(backend, DType::F32, Device::Cpu);
        (self.build)(vb).during("building the network")?;
        let made = std::mem::take(&mut lock(&drawn).made);
        let spec = ModelSpec::Module(ModuleSpec {
            shape,
            outputs,
            variables: made
                .iter()
                .map(|(name, tensor)| (name.clone(), tensor.dims().to_vec()))
                .collect(),
        });
        Params::from_tensors(&spec, made.iter().map(|(name, t)| (name.as_str(), t)))
    }

    /// The network over given variables.
    pub(crate) fn build(&self, vb: VarBuilder<'static>) -> candle_core::Result<Body> {
        (self.build)(vb)
    }
}

/// Variables by name, handed to whoever asks for them.
pub(crate) struct Named(pub(crate) BTreeMap<String, Var>);

impl SimpleBackend for Named {
    fn get(
        &self,
        dims: Dims,
        name: &str,
        _: Hint,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        if tensor.shape() != &dims {
            let found = tensor.shape();
            candle_core::bail!(
                "variable `{name}` has shape {found:?}: the network asks for {dims:?}"
            );
        }
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> candle_core::Result<Tensor> {
        match self.0.get(name) {
            Some(var) => Ok(var.as_tensor().clone()),
            None => candle_core::bail!("there is no variable `{name}`"),
        }
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Variables as they are asked for the first time, in this order.
struct Drawn<R> {
    made: Vec<(String, Tensor)>,
    weights: BTreeMap<String, Tensor>,
    rng: R,
}

impl<R: Rng> Drawn<R> {
    fn get(&mut self, dims: &Dims, name: &str, hint: Hint) -> candle_core::Result<Tensor> {
        if let Some((_, tensor)) = self.made.iter().find(|(made, _)| made == name) {
            return Ok(tensor.clone());
        }
        let tensor = match self.weights.get(name) {
            Some(given) if given.shape() == dims => {
                given.to_dtype(DType::F32)?.to_device(&Device::Cpu)?
            }
            Some(given) => {
                let found = given.shape();
                candle_core::bail!(
                    "the weight `{name}` has shape {found:?}: the network asks for {dims:?}"
                )
            }
            None => {
                let mut values = vec![0f32; dims.elem_count()];
                self.draw(&mut values, dims, hint);
                Tensor::from_vec(values, dims.clone(), &Device::Cpu)?
            }
        };
        // Its layers may want to move it, as batch normalisation does with its statistics.
        let tensor = Var::from_tensor(&tensor)?.into_inner();
        self.made.push((name.to_owned(), tensor.clone()));
        Ok(tensor)
    }

    fn draw(&mut self, values: &mut [f32], dims: &Dims, hint: Hint) {
        match hint {
            Hint::Const(value) => values.fill(value as f32),
            Hint::Randn { mean, stdev } => {
                fill_normal(values, stdev, &mut self.rng);
                for value in values {
                    *value += mean as f32;
                }
            }
            Hint::Uniform { lo, up } => fill_uniform(values, lo, up, &mut self.rng),
            Hint::Kaiming {
                dist,
                fan,
                non_linearity,
            } => {
                let std = non_linearity.gain() / (fan.for_shape(dims) as f64).sqrt();
                match dist {
                    NormalOrUniform::Normal => fill_normal(values, std, &mut self.rng),
                    NormalOrUniform::Uniform => {
                        let bound = 3f64.sqrt() * std;
                        fill_uniform(values, -bound, bound, &mut self.rng);
                    }
                }
            }
        }
    }
}

struct Drawing<R>(Arc<Mutex<Drawn<R>>>);

impl<R: Rng + Send> SimpleBackend for Drawing<R> {
    fn get(
        &self,
        dims: Dims,
        name: &str,
        hint: Hint,
        _: DType,
        _: &Device,
    ) -> candle_core::Result<Tensor> {
        lock(&self.0).get(&dims, name, hint)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> candle_core::Result<Tensor> {
        candle_core::bail!("variable `{name}` is asked for without a shape: use `get`")
    }

    fn contains_tensor(&self, name: &str) -> bool {
        let drawn = lock(&self.0);
        drawn.made.iter().any(|(made, _)| made == name) || drawn.weights.contains_key(name)
    }
}

/// What is drawn is whole whenever it can be locked.
fn lock<R>(drawn: &Mutex<Drawn<R>>) -> std::sync::MutexGuard<'_, Drawn<R>> {
    drawn.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use candle_core::Module as _;
    use candle_nn::{BatchNorm, BatchNormConfig, Linear, batch_norm, linear};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::error::Error;
    use crate::fused::Workspace;
    use crate::network::Network;
    use crate::spec::Mode;
    use crate::threads::Threads;

    struct Normed(Linear, BatchNorm, Linear);

    impl Normed {
        #[allow(
            clippy::needless_pass_by_value,
            reason = "as candle-nn's layers take it"
        )]
        fn new(vb: VarBuilder<'_>) -> candle_core::Result<Self> {
            Ok(Self(
                linear(3, 5, vb.pp("z"))?,
                batch_norm(5, BatchNormConfig::default(), vb.pp("norm"))?,
                linear(5, 2, vb.pp("a"))?,
            ))
        }
    }

    impl ModuleT for Normed {
        fn forward_t(&self, x: &Tensor, train: bool) -> candle_core::Result<Tensor> {
            let x = self.1.forward_t(&self.0.forward(x)?, train)?;
            self.2.forward(&x)
        }
    }

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    #[test]
    fn variables_stand_in_the_order_of_the_layers_and_repeat_with_the_seed() {
        let module = Module::new(Normed::new);
        let params = module.init(Shape::Vector(3), 2, rng(1)).unwrap();
        let names: Vec<&str> = params.entries().iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names[..2], ["z.weight", "z.bias"]);
        assert_eq!(names[names.len() - 2..], ["a.weight", "a.bias"]);
        assert_eq!(params.buffers().len(), 2 * 5, "running statistics");
        assert_eq!(params, module.init(Shape::Vector(3), 2, rng(1)).unwrap());
        let other = module.init(Shape::Vector(3), 2, rng(2)).unwrap();
        assert_ne!(params.trainable(), other.trainable());
        let bound = 1.0 / 3f32.sqrt();
        let bias = params.get("z.bias").unwrap();
        assert!(bias.iter().all(|b| b.abs() <= bound && *b != 0.0));
    }

    #[test]
    fn given_weights_are_taken_and_wrong_ones_refused() {
        let given = |dims: (usize, usize)| {
            let tensor = Tensor::full(0.5f32, dims, &Device::Cpu).unwrap();
            Module::new(Normed::new).with_weights([("a.weight".to_owned(), tensor)])
        };
        let params = given((2, 5)).init(Shape::Vector(3), 2, rng(1)).unwrap();
        assert_eq!(params.get("a.weight").unwrap(), [0.5; 10]);
        let error = given((5, 2)).init(Shape::Vector(3), 2, rng(1)).unwrap_err();
        let Error::Tensor { source, .. } = error else {
            panic!("{error}");
        };
        assert!(source.to_string().contains("`a.weight`"), "{source}");
    }

    #[test]
    fn a_built_network_trains_its_own_variables_alone() {
        let module = Module::new(Normed::new);
        let params = module.init(Shape::Vector(3), 2, rng(1)).unwrap();
        let network = Network::of(&module, &params, &Device::Cpu).unwrap();
        let x = Tensor::new(&[[1f32, 2.0, 3.0], [0.0, -1.0, 2.0]], &Device::Cpu).unwrap();
        let scores = network.forward(&x, Mode::Train).unwrap();
        let gradients = scores.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let gradient = network.gradient(&gradients).unwrap();
        assert_eq!(gradient.len(), params.trainable().len());
        assert!(gradient.iter().any(|g| *g != 0.0));
        let moved = network.to_params().unwrap();
        assert_eq!(moved.trainable(), params.trainable());
        assert_ne!(moved.buffers(), params.buffers(), "statistics moved");
    }

    #[test]
    fn other_paths_and_wrong_scores_are_refused() {
        let module = Module::new(Normed::new);
        let params = module.init(Shape::Vector(3), 4, rng(1)).unwrap();
        let network = Network::of(&module, &params, &Device::Cpu).unwrap();
        let x = Tensor::zeros((2, 3), DType::F32, &Device::Cpu).unwrap();
        let error = network.forward(&x, Mode::Eval).unwrap_err().to_string();
        assert!(error.contains("[2, 2]: [2, 4] is needed"), "{error}");
        let spec = params.spec();
        assert!(matches!(
            Workspace::new(spec, 4, Threads::ONE),
            Err(Error::OwnNetwork { .. })
        ));
        assert!(Network::new(&params, &Device::Cpu).is_err());
        assert!(Params::init(spec, crate::Init::Torch, &mut rng(1)).is_err());
        // Stored and known again.
        let text = serde_json::to_string(spec).unwrap();
        assert_eq!(serde_json::from_str::<ModelSpec>(&text).unwrap(), *spec);
    }
}
