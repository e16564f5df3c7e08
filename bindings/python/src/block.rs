//! NumPy's memory on loan.
#![allow(
    unsafe_code,
    reason = "memory that Python owns is reached by its address"
)]

use std::sync::Arc;

use mpu::data::LentBlock;
use numpy::{PyArrayDyn, PyArrayMethods as _, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The numbers of an array, which is kept alive as long as they are looked at.
struct Lent {
    _array: Py<PyArrayDyn<f32>>,
    first: *const f32,
    len: usize,
}

// SAFETY: the numbers are only read. `_array` owns them and is neither moved nor freed before this is dropped; a `Py`
// may be dropped by any thread. As with every NumPy function that releases the lock, a caller that writes into
// an array while another thread works on it gets what it asks for.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[f32]> for Lent {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `first` and `len` are those of a contiguous array that `_array` keeps alive.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

/// Lends the numbers of an array in row-major order.
pub(crate) fn lend(array: &Bound<'_, PyArrayDyn<f32>>) -> PyResult<LentBlock> {
    let readable: PyReadonlyArrayDyn<'_, f32> = array.try_readonly()?;
    let values = readable.as_slice().map_err(|_| {
        PyValueError::new_err(
            "the array is not contiguous in row-major order: use numpy.ascontiguousarray",
        )
    })?;
    Ok(Arc::new(Lent {
        _array: array.clone().unbind(),
        first: values.as_ptr(),
        len: values.len(),
    }))
}
