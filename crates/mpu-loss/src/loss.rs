//! A surrogate with its scale and form: the `ℓ` that everything else is built from.

use candle_core::Tensor;

use crate::error::{During, Error, Result};
use crate::facts::Facts;
use crate::stable::with_slope;
use crate::surrogate::Surrogate;

/// The constant `C` of the constant-sum condition `ℓ(z) + ℓ(-z) = C`; the paper sets it to one.
pub const CONSTANT_SUM: f64 = 1.0;

/// Whether a surrogate is used as it is or symmetrised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Form {
    /// The surrogate itself.
    #[default]
    Raw,
    /// Symmetrised and clipped, so that the constant-sum condition holds.
    Sym,
}

mpu_data::named!(Form, "form", { Raw => "raw", Sym => "sym" });

/// A binary loss `ℓ(z)`: a [`Surrogate`], its scale γ and its [`Form`].
///
/// ```
/// use mpu_loss::{Form, Loss, Surrogate};
///
/// let loss = Loss::new(Surrogate::SigmoidProb, 1.0, Form::Raw)?;
/// assert_eq!(loss.value(0.0), 0.5);
/// assert_eq!(loss.derivative(0.0), -0.25);
/// assert!(loss.facts().constant_sum);
/// # Ok::<(), mpu_loss::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Fields"))]
pub struct Loss {
    surrogate: Surrogate,
    gamma: f64,
    form: Form,
}

/// What a file holds of a [`Loss`], before it is checked; what it leaves out is the usual one's.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    surrogate: Surrogate,
    gamma: f64,
    form: Form,
}

#[cfg(feature = "serde")]
impl Default for Fields {
    fn default() -> Self {
        let Loss {
            surrogate,
            gamma,
            form,
        } = Loss::default();
        Self {
            surrogate,
            gamma,
            form,
        }
    }
}

impl Default for Loss {
    /// The paper's choice: `sigmoid_prob`, γ = 1, raw.
    fn default() -> Self {
        Self {
            surrogate: Surrogate::SigmoidProb,
            gamma: 1.0,
            form: Form::Raw,
        }
    }
}

impl Loss {
    /// Checks that γ is positive and finite, and 1 where the surrogate has no scale.
    pub fn new(surrogate: Surrogate, gamma: f64, form: Form) -> Result<Self> {
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(Error::Scale { gamma });
        }
        if gamma != 1.0 && !surrogate.has_scale() {
            return Err(Error::ScaleUnused { surrogate, gamma });
        }
        Ok(Self {
            surrogate,
            gamma,
            form,
        })
    }

    /// The surrogate.
    pub fn surrogate(&self) -> Surrogate {
        self.surrogate
    }

    /// The scale γ.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// `ℓ(z)`, finite for every finite `z`.
    ///
    /// In the form [`Form::Sym`], with `ℓ` the raw surrogate and `C` = [`CONSTANT_SUM`]:
    ///
    /// ```text
    /// ℓ_sym(z) = clip( (ℓ(z) - ℓ(-z)) / 2 + C/2, 0, C )
    /// ```
    #[doc(alias = "eq:symmetrized")]
    pub fn value(&self, z: f64) -> f64 {
        match self.form {
            Form::Raw => self.surrogate.value(z, self.gamma),
            Form::Sym => self.unclipped(z).clamp(0.0, CONSTANT_SUM),
        }
    }

    /// `ℓ'(z)`. At a kink it is PyTorch's: 0 for `relu`, passed on at the limits of a clip.
    ///
    /// Where [`Form::Sym`] clips, the slope is 0: such a margin teaches nothing any more.
    pub fn derivative(&self, z: f64) -> f64 {
        match self.form {
            Form::Raw => self.surrogate.derivative(z, self.gamma),
            Form::Sym if (0.0..=CONSTANT_SUM).contains(&self.unclipped(z)) => {
                let slopes = self.surrogate.derivative(z, self.gamma)
                    + self.surrogate.derivative(-z, self.gamma);
                slopes / 2.0
            }
            Form::Sym => 0.0,
        }
    }

    fn unclipped(&self, z: f64) -> f64 {
        let odd = self.surrogate.value(z, self.gamma) - self.surrogate.value(-z, self.gamma);
        odd / 2.0 + CONSTANT_SUM / 2.0
    }

    /// `ℓ` of every element of a float tensor of any shape, on its device, with its gradient.
    ///
    /// The gradient is [`derivative`](Self::derivative); second derivatives are not carried.
    pub fn tensor(&self, z: &Tensor) -> Result<Tensor> {
        self.tensor_inner(z).during("the surrogate loss")
    }

    fn tensor_inner(&self, z: &Tensor) -> candle_core::Result<Tensor> {
        let at = z.detach();
        let (value, slope) = self.surrogate.tensors(&at, self.gamma)?;
        let (value, slope) = match self.form {
            Form::Raw => (value, slope),
            Form::Sym => {
                let (mirrored, mirrored_slope) = self.surrogate.tensors(&at.neg()?, self.gamma)?;
                let unclipped = (value - mirrored)?.affine(0.5, CONSTANT_SUM / 2.0)?;
                let value = unclipped.clamp(0.0, CONSTANT_SUM)?;
                let passed = value.eq(&unclipped)?.to_dtype(at.dtype())?;
                (
                    value,
                    ((slope + mirrored_slope)? * passed)?.affine(0.5, 0.0)?,
                )
            }
        };
        with_slope(z, &value, &slope)
    }

    /// What is known of this loss.
    pub fn facts(&self) -> Facts {
        let raw = self.surrogate.facts(self.gamma);
        match self.form {
            Form::Raw => raw,
            // Symmetrising leaves constant-sum losses bounded in [0, 1] as they are. Of the others
            // the odd part is linear near 0: -z (hinge), -z/2 (ramp, unhinged), -γz/2 (logistic).
            Form::Sym => Facts {
                constant_sum: true,
                low: 0.0,
                high: CONSTANT_SUM,
                lipschitz: match self.surrogate {
                    Surrogate::SigmoidProb | Surrogate::TanhSmooth | Surrogate::Hinge => {
                        raw.lipschitz
                    }
                    Surrogate::Unhinged | Surrogate::Ramp => 0.5,
                    Surrogate::Logistic => self.gamma / 2.0,
                },
                non_increasing: true,
            },
        }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Fields> for Loss {
    type Error = Error;

    fn try_from(fields: Fields) -> Result<Self> {
        Self::new(fields.surrogate, fields.gamma, fields.form)
    }
}
