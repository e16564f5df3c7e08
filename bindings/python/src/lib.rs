//! The native half of `mpulearn`: what Python calls of `mpu`. Private; users see `python/mpulearn`.

mod block;
mod fault;
mod judge;
mod model;
mod research;
mod rows;
mod settings;
mod watch;

use pyo3::prelude::*;

/// The private module `mpulearn._native`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::judge::{pu_auc, pu_judgement};
    #[pymodule_export]
    use super::model::{Model, check, estimate_priors, fit};
    #[pymodule_export]
    use super::research::{risk, surrogate};
    #[pymodule_export]
    use super::rows::Rows;

    use pyo3::prelude::*;

    /// The closed lists of names, as the Rust library has them.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let slugs = |names: Vec<&str>| names.join(" ");
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let methods = mpu::Method::ALL.iter().map(|m| m.slug()).collect();
        module.add("METHODS", slugs(methods))?;
        let objectives = mpu::risk::Objective::ALL.iter().map(|o| o.slug()).collect();
        module.add("OBJECTIVES", slugs(objectives))?;
        let surrogates = mpu::loss::Surrogate::ALL.iter().map(|s| s.slug()).collect();
        module.add("SURROGATES", slugs(surrogates))
    }
}
