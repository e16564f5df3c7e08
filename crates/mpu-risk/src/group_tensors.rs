//! Groups on a device, where a risk is computed without reading anything back.

use candle_core::{DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::groups::Groups;

/// The [`Groups`] of a batch on a device.
///
/// ```
/// use candle_core::{DType, Device, Var};
/// use mpu_data::{ClassCount, MpuLabel::{Labeled, Unlabeled}, Priors};
/// use mpu_loss::Loss;
/// use mpu_risk::{Estimator, GroupTensors, Groups};
///
/// let estimator = Estimator::new("csmpu-abs".parse()?, Loss::default(), Priors::from_observed(&[0.4])?);
/// let classes = ClassCount::new(2)?;
/// // The batches of an epoch, copied to the device in one go.
/// let batches = [Groups::batch(classes, &[Labeled(0), Unlabeled])?, Groups::batch(classes, &[Unlabeled])?];
/// let batches = GroupTensors::of_batches(batches.to_vec(), DType::F32, &Device::Cpu)?;
/// let scores = Var::new(&[[1f32, 0.], [0., 1.]], &Device::Cpu)?;
/// let risk = estimator.device_risk(&scores, &batches[0])?;
/// assert!(risk.backward()?.get(&scores).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupTensors {
    sample: Groups,
    /// The own column of each row: its class, or the negative one for rows of the pool.
    columns: Tensor,
    /// Soft targets, `(n, k)`; zeros for labelled rows.
    targets: Option<Tensor>,
}

impl GroupTensors {
    /// Copies groups to a device.
    pub fn new(groups: &Groups, dtype: DType, device: &Device) -> Result<Self> {
        let mut all = Self::of_batches(vec![groups.clone()], dtype, device)?;
        all.pop().ok_or(Error::EmptySample)
    }

    /// Copies the groups of several batches to a device at once; `dtype` is that of the scores to come.
    pub fn of_batches(batches: Vec<Groups>, dtype: DType, device: &Device) -> Result<Vec<Self>> {
        Self::copied(batches, dtype, device).map_err(|source| Error::Tensor {
            operation: "the groups of a batch",
            source,
        })
    }

    fn copied(
        batches: Vec<Groups>,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Vec<Self>> {
        let columns: Vec<u32> = batches.iter().flat_map(Groups::columns).collect();
        let n_rows = columns.len();
        let columns = Tensor::new(columns, device)?;
        let targets = if batches.iter().any(Groups::has_targets) {
            let targets: Vec<f64> = batches.iter().flat_map(Groups::row_targets).collect();
            let k = targets.len() / n_rows.max(1);
            let targets = Tensor::from_vec(targets, (n_rows, k), &Device::Cpu)?;
            Some(targets.to_dtype(dtype)?.to_device(device)?)
        } else {
            None
        };
        let mut first = 0;
        let on_device = |sample: Groups| {
            let n = sample.n_rows();
            let of_batch = |all: &Tensor| all.narrow(0, first, n);
            let batch = Self {
                columns: of_batch(&columns)?,
                targets: targets.as_ref().map(of_batch).transpose()?,
                sample,
            };
            first += n;
            Ok(batch)
        };
        batches.into_iter().map(on_device).collect()
    }

    /// The groups, on the host.
    pub fn sample(&self) -> &Groups {
        &self.sample
    }

    pub(crate) fn columns(&self) -> &Tensor {
        &self.columns
    }

    /// 1 in the own column of each row, else 0: `(n, k)`.
    pub(crate) fn one_hot(&self, dtype: DType) -> candle_core::Result<Tensor> {
        let k = self.sample.classes().get() as u32;
        let all = Tensor::arange(0, k, self.columns.device())?.unsqueeze(0)?;
        let hot = self.columns.unsqueeze(1)?.broadcast_eq(&all)?;
        hot.to_dtype(dtype)
    }

    /// [`weighted_targets`](crate::estimators::weighted_targets) of every row.
    pub(crate) fn weighted_targets(&self, labeled_share: f64) -> candle_core::Result<Tensor> {
        let Some(targets) = &self.targets else {
            candle_core::bail!("there are no targets");
        };
        let mut weights = vec![1.0 - labeled_share; self.sample.classes().get()];
        if let Some(negative) = weights.last_mut() {
            *negative = 1.0;
        }
        let weights = Tensor::new(weights, targets.device())?;
        targets.broadcast_mul(&weights.to_dtype(targets.dtype())?)
    }
}
