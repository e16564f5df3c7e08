//! A fitted classifier, and what can be known before one is fitted.

use mpu::data::Seed;
use mpu::data::table::EncodeOptions;
use mpu::judge::ByPu;
use mpu::prior::{EstimateOptions, PriorReport};
use mpu::report::Format;
use mpu::{Classifier, ModelFiles, export, run_report};
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::{raised, spoken};
use crate::judge::known;
use crate::rows::{Labeled, Labels, Rows};
use crate::settings::Settings;
use crate::watch::{Watch, watched};

/// A fitted classifier.
#[pyclass(frozen, module = "mpulearn._native")]
pub(crate) struct Model {
    inner: Classifier,
}

/// Answers as class numbers, and probabilities.
type Answered<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f32>>);

/// Fits a classifier; also, for each label the class that it became.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    rows: &Rows,
    labels: Labels<'_>,
    settings: Settings,
    tell: &Bound<'_, PyAny>,
) -> PyResult<(Model, Vec<usize>)> {
    let labeled = Labeled::new(rows, labels);
    let params = settings.params()?;
    let (inner, classes) = watched(py, settings.threads, tell, |watch| {
        let (table, classes) = labeled.read()?;
        for warning in &table.check.warnings {
            if warning.needs_a_look() {
                watch.warn(&warning.to_string());
            }
        }
        let model = params.fit_with(&table, watch)?;
        if let Some(report) = &model.card().estimated_priors {
            for warning in mpu::prior_calls(report, &table.class_names) {
                watch.warn(&warning);
            }
        }
        Ok((model, classes))
    })?;
    Ok((Model { inner }, classes))
}

/// What is understood of a table: as text, and as JSON.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    rows: &Rows,
    labels: Labels<'_>,
    settings: Settings,
    tell: &Bound<'_, PyAny>,
) -> PyResult<(String, String)> {
    let labeled = Labeled::new(rows, labels);
    watched(py, settings.threads, tell, |_: &mut Watch<'_>| {
        let (table, _) = labeled.read()?;
        let text = mpu::describe_check(&table.check, None, Format::Md)?;
        Ok((spoken(&text), serde_json::to_string(&table.check)?))
    })
}

/// Shares and their intervals by label.
type Shares = (Vec<f64>, Vec<(f64, f64)>, Vec<usize>);

/// The class priors that a fit would estimate: shares of the classes and of the rest, their intervals, and the
/// class that each label became.
#[pyfunction]
pub(crate) fn estimate_priors(
    py: Python<'_>,
    rows: &Rows,
    labels: Labels<'_>,
    settings: Settings,
    tell: &Bound<'_, PyAny>,
) -> PyResult<Shares> {
    let labeled = Labeled::new(rows, labels);
    let params = settings.params()?;
    watched(py, settings.threads, tell, |watch| {
        let (table, classes) = labeled.read()?;
        let rows = params.rows(&table)?;
        let (margins, kind) = rows.margins(watch)?;
        let seed = Seed(rows.config.seed);
        let report = mpu::priors_from_margins(&margins, kind, &EstimateOptions::default(), seed)?;
        for warning in mpu::prior_calls(&report, &table.class_names) {
            watch.warn(&warning);
        }
        let shares = report.priors()?.as_slice().to_vec();
        Ok((shares, intervals(&report), classes))
    })
}

/// The intervals of the observed classes, then of the rest.
fn intervals(report: &PriorReport) -> Vec<(f64, f64)> {
    let classes = report.classes.iter().map(|class| Some(&class.interval));
    let pair = |interval: Option<&mpu::prior::bootstrap::Interval>| match interval {
        Some(interval) => (interval.low, interval.high),
        None => (f64::NAN, f64::NAN),
    };
    let all = classes.chain([report.negative.as_ref()]);
    all.map(pair).collect()
}

#[pymethods]
impl Model {
    /// Reads the folder of a run.
    #[staticmethod]
    fn load(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| Classifier::load(folder)).map_err(raised)?;
        Ok(Self { inner })
    }

    /// Writes a folder.
    fn save(&self, py: Python<'_>, folder: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(folder)).map_err(raised)
    }

    /// The files of its folder, by name.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let files = py.detach(|| self.inner.to_files()).map_err(raised)?;
        let bytes = |(name, bytes): (String, Vec<u8>)| (name, PyBytes::new(py, &bytes));
        Ok(files.into_iter().map(bytes).collect())
    }

    /// A model from the files of its folder.
    #[staticmethod]
    fn from_files(py: Python<'_>, files: ModelFiles) -> PyResult<Self> {
        let inner = py.detach(|| Classifier::from_files(files));
        let inner = inner.map_err(raised)?;
        Ok(Self { inner })
    }

    /// The observed classes by number, then what is none of them.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names().to_vec()
    }

    /// The input columns; none for images that were read from files.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let schema = self.inner.schema().map_err(raised)?;
        Ok(schema.columns().iter().map(|c| c.name.clone()).collect())
    }

    /// Channels, height and width of images.
    #[getter]
    fn image(&self) -> Option<(usize, usize, usize)> {
        match self.inner.card().shape {
            mpu::data::Shape::Image {
                channels,
                height,
                width,
            } => Some((channels, height, width)),
            mpu::data::Shape::Vector(_) => None,
        }
    }

    /// The priors of the pool by class number.
    #[getter]
    fn priors(&self) -> Vec<f64> {
        self.inner.priors().as_slice().to_vec()
    }

    /// The class shares among new rows, by class number.
    #[getter]
    fn population(&self) -> Vec<f64> {
        self.inner.population().as_slice().to_vec()
    }

    /// The intervals of estimated priors by class number.
    #[getter]
    fn prior_intervals(&self) -> Option<Vec<(f64, f64)>> {
        let report = self.inner.card().estimated_priors.as_ref();
        report.map(intervals)
    }

    /// What mistakes cost, by class number of the truth and of the answer.
    #[getter]
    fn costs(&self) -> Option<Vec<Vec<f64>>> {
        let costs = self.inner.card().costs.as_ref()?;
        let rows = costs.as_slice().chunks(costs.n_classes());
        Some(rows.map(<[f64]>::to_vec).collect())
    }

    /// The configuration as TOML.
    #[getter]
    fn config(&self) -> &str {
        self.inner.config()
    }

    /// Seconds of training.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.inner.record().map(|record| record.seconds)
    }

    /// How many epochs the network was trained for.
    #[getter]
    fn epochs(&self) -> usize {
        self.inner.history().len()
    }

    /// Answers and probabilities.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        threads: Option<usize>,
        tell: &Bound<'py, PyAny>,
    ) -> PyResult<Answered<'py>> {
        let input = rows.input();
        let (answers, probabilities) = watched(py, threads, tell, |_| {
            let options = EncodeOptions::default();
            let features = self.inner.schema()?.encode(&input, &options)?.features;
            let found = self.inner.predict(&features)?;
            let answers: Vec<i64> = found.answers.iter().map(|&a| a as i64).collect();
            Ok((answers, found.probabilities))
        })?;
        let k = self.inner.names().len();
        let probabilities = PyArray1::from_vec(py, probabilities);
        let shape = [answers.len(), k];
        let probabilities = numpy::PyArrayMethods::reshape(&probabilities, shape)?;
        Ok((answers.into_pyarray(py), probabilities))
    }

    /// Accuracy, mean F1 and mean AUC from labelled rows and a pool.
    fn judge<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        labels: PyReadonlyArray1<'py, i64>,
        threads: Option<usize>,
        tell: &Bound<'py, PyAny>,
    ) -> PyResult<(f64, f64, f64)> {
        let input = rows.input();
        let labels = known(&labels);
        watched(py, threads, tell, |_| {
            let options = EncodeOptions::default();
            let features = self.inner.schema()?.encode(&input, &options)?.features;
            let scores = self.inner.scores(&features)?;
            let found = ByPu::new(&self.inner, &self.inner.rule(), &labels, &scores)?;
            let accuracy = found.judgement.accuracy.map_or(f64::NAN, |a| a.value);
            let f1 = found.judgement.mean.map_or(f64::NAN, |mean| mean.f1.value);
            let areas: Vec<f64> = found.auc.iter().flatten().map(|area| area.value).collect();
            let auc = areas.iter().sum::<f64>() / areas.len() as f64;
            Ok((accuracy, f1, auc))
        })
    }

    /// The report of the fit as a page.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let report = py.detach(|| run_report::of_classifier(&self.inner));
        Ok(mpu::report::run_report::to_html(&[report.map_err(raised)?]))
    }

    /// The model as ONNX.
    fn onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| export::to_onnx(&self.inner)).map_err(raised)?;
        Ok(PyBytes::new(py, &bytes))
    }
}
