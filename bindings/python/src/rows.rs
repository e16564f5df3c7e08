//! Rows of Python as a table in memory.

use std::sync::Arc;

use mpu::data::table::{
    Column, Frame, LabelConvention, Missing, MpuTable, TableInput, TableOptions, UnlabeledMarker,
    read_table,
};
use mpu::data::{Features, MpuLabel, Shape};
use numpy::{PyArrayDyn, PyReadonlyArray1, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::block::lend;
use crate::fault::raised;

/// What messages call the rows.
const NAME: &str = "X";

/// Rows: a matrix of numbers, which is not copied, or named columns.
#[pyclass(frozen, module = "mpulearn._native")]
pub(crate) struct Rows {
    frame: Frame,
}

/// A column: numbers, or texts by their codes (-1 is missing).
#[derive(FromPyObject)]
pub(crate) enum AnyColumn<'py> {
    /// Numbers; NaN is missing.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Codes and texts.
    Words(PyReadonlyArray1<'py, i64>, Vec<String>),
}

impl AnyColumn<'_> {
    fn column(self) -> Column {
        match self {
            Self::Numbers(values) => Column::Numbers(values.as_array().iter().copied().collect()),
            Self::Words(codes, names) => words(&codes, names),
        }
    }
}

fn words(codes: &PyReadonlyArray1<'_, i64>, names: Vec<String>) -> Column {
    let codes = codes.as_array();
    let codes = codes.iter().map(|&code| u32::try_from(code).ok());
    Column::Words {
        names,
        codes: codes.collect(),
    }
}

#[pymethods]
impl Rows {
    /// A contiguous array of 2 dimensions, or of 4 for images (rows, channels, height, width).
    #[staticmethod]
    fn matrix(array: &Bound<'_, PyArrayDyn<f32>>, names: Vec<String>) -> PyResult<Self> {
        let shape = match *array.shape() {
            [_, n] => Shape::Vector(n),
            [_, channels, height, width] => Shape::image(channels, height, width),
            ref other => {
                let message = format!("an array of {} dimensions is no table", other.len());
                return Err(PyValueError::new_err(message));
            }
        };
        let features = Features::lent(lend(array)?, shape).map_err(raised)?;
        let frame = Frame::matrix(names, features);
        Ok(Self { frame })
    }

    /// Named columns.
    #[staticmethod]
    fn columns(columns: Vec<(String, AnyColumn<'_>)>) -> Self {
        let columns = columns.into_iter().map(|(name, c)| (name, c.column()));
        let frame = Frame::columns(columns);
        Self { frame }
    }
}

impl Rows {
    /// The rows as an input without labels.
    pub(crate) fn input(&self) -> TableInput {
        TableInput::frame(NAME, Arc::new(self.frame.clone()))
    }
}

/// Labels: a class for each row by its code (-1 is unlabelled), and the names of the classes.
#[derive(FromPyObject)]
pub(crate) struct Labels<'py> {
    #[pyo3(item)]
    codes: PyReadonlyArray1<'py, i64>,
    #[pyo3(item)]
    names: Vec<String>,
    /// What the column of labels is called.
    #[pyo3(item)]
    column: String,
    /// Columns that are categories even if they look like numbers.
    #[pyo3(item)]
    categorical: Vec<String>,
}

/// Rows with labels, ready to be understood by a thread that does not hold the lock.
pub(crate) struct Labeled {
    input: TableInput,
    options: TableOptions,
    codes: Vec<Option<u32>>,
    n_names: usize,
}

impl Labeled {
    pub(crate) fn new(rows: &Rows, labels: Labels<'_>) -> Self {
        let n_names = labels.names.len();
        let column = words(&labels.codes, labels.names);
        let codes = match &column {
            Column::Words { codes, .. } => codes.clone(),
            Column::Numbers(_) => Vec::new(),
        };
        let frame = rows
            .frame
            .clone()
            .with_labels(labels.column.clone(), column);
        Self {
            input: TableInput::frame(NAME, Arc::new(frame)),
            options: TableOptions {
                label_column: Some(labels.column),
                categorical: labels.categorical,
                missing: Missing::Keep,
                convention: LabelConvention::Marked(vec![UnlabeledMarker::Blank]),
                ..TableOptions::default()
            },
            codes,
            n_names,
        }
    }

    /// Understands the table; also, for each code the class that it became.
    pub(crate) fn read(&self) -> mpu::Result<(MpuTable, Vec<usize>)> {
        let table = read_table(&self.input, &self.options)?;
        let mut classes = vec![None; self.n_names];
        for (label, code) in table.labels.iter().zip(&self.codes) {
            if let (MpuLabel::Labeled(class), Some(code)) = (label, code) {
                classes[*code as usize] = Some(*class);
            }
        }
        let merged = table.class_names.len() < self.n_names;
        let classes: Option<Vec<usize>> = classes.into_iter().collect();
        match classes.filter(|_| !merged) {
            Some(classes) => Ok((table, classes)),
            None => Err(mpu::Error::Refused(
                "y: two labels read alike, or one reads as a missing value (such as `NA` or `?`)\nhint: rename them"
                    .to_owned(),
            )),
        }
    }
}
