use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mpu::data::Seed;
use mpu::prior::EstimateOptions;
use mpu::train::{Control, Event, Observer, State, Unobserved};
use mpu::{
    Classifier, ClassifierParams, Error, Method, MpuTable, TableOptions, TableRows, read_table,
};

pub(crate) fn products(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/products");
    folder.join(name)
}

pub(crate) fn table() -> MpuTable {
    let options = TableOptions {
        label_column: Some("defect".to_owned()),
        id_column: Some("id".to_owned()),
        missing: mpu::data::table::Missing::Median,
        ..TableOptions::default()
    };
    read_table(products("products.csv"), &options).unwrap()
}

/// A short fit: the shares of the classes are given, so that no detector is trained.
fn short() -> ClassifierParams {
    let priors = [("dent", 0.14), ("loose", 0.09), ("scratch", 0.12)];
    Classifier::params().priors(priors).epochs(8).threads(1)
}

/// That fit, which many tests begin with.
fn fitted() -> &'static Classifier {
    static FITTED: OnceLock<Classifier> = OnceLock::new();
    FITTED.get_or_init(|| short().fit(&table()).unwrap())
}

#[test]
fn a_saved_classifier_answers_the_same_and_nothing_depends_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    let model = fitted();
    let rows = model.rows(products("new.csv")).unwrap();
    let answers = model.predict(&rows).unwrap();
    assert_eq!(answers.answers.len(), 280);
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    let again = Classifier::load(&path).unwrap();
    assert_eq!(again.predict(&rows).unwrap(), answers);
    assert_eq!(again.names(), ["dent", "loose", "scratch", "unknown"]);
    let told = model.save(&path).unwrap_err().to_string();
    assert!(told.contains("holds files already"), "{told}");
    let two = short().threads(2).fit(&table).unwrap();
    assert_eq!(two.predict(&rows).unwrap(), answers);
    let other = short().seed(4).fit(&table).unwrap();
    assert_ne!(other.predict(&rows).unwrap(), answers);
}

#[test]
fn other_class_shares_move_the_answers() {
    let model = fitted();
    let rows = model.rows(products("new.csv")).unwrap();
    let plain = model.predict(&rows).unwrap();
    let found = model.estimate_target(&rows).unwrap().priors;
    assert!((found.as_slice().iter().sum::<f64>() - 1.0).abs() < 1e-9);
    // Almost everything is a dent: more rows are answered so.
    let target = mpu::data::Priors::from_observed(&[0.9, 0.03, 0.03]).unwrap();
    let mut rule = model.rule();
    rule.target = Some(target);
    let moved = model.predict_by(&rule, &rows).unwrap();
    let dents = |answers: &[usize]| answers.iter().filter(|&&class| class == 0).count();
    assert!(dents(&moved.answers) > dents(&plain.answers));
    assert_eq!(moved.scores, plain.scores);
}

/// Stops after so many epochs, and keeps the state.
struct Stopper {
    epochs: usize,
    state: Option<State>,
}

impl Observer for Stopper {
    type Error = std::convert::Infallible;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Self::Error> {
        if let Event::Checkpoint(state) = event {
            self.state = Some((*state).clone());
        }
        let stop = matches!(event, Event::Epoch(metrics) if metrics.epoch == self.epochs);
        Ok(if stop {
            Control::Stop
        } else {
            Control::Continue
        })
    }
}

#[test]
fn a_fit_that_was_stopped_goes_on_to_the_same_end() {
    let table = table();
    let mut stopper = Stopper {
        epochs: 6,
        state: None,
    };
    let stopped = short().fit_with(&table, &mut stopper).unwrap_err();
    assert!(stopped.is_stopped(), "{stopped}");
    assert!(stopped.to_string().contains("after epoch 6"), "{stopped}");
    let resumed = short().resume(stopper.state.unwrap()).fit(&table).unwrap();
    assert_eq!(resumed.weights(), fitted().weights());
}

/// An observer that cannot do its work.
struct Full;

impl Observer for Full {
    type Error = std::io::Error;

    fn on(&mut self, _: &Event<'_>) -> Result<Control, Self::Error> {
        Err(std::io::Error::other("the disk is full"))
    }
}

#[test]
fn what_an_observer_cannot_do_ends_the_fit() {
    let error = short().fit_with(&table(), &mut Full).unwrap_err();
    assert!(matches!(error, Error::Observer(_)), "{error:?}");
    assert_eq!(error.to_string(), "the disk is full");
    // While priors are estimated, too.
    let error = Classifier::params()
        .fit_with(&table(), &mut Full)
        .unwrap_err();
    assert!(matches!(error, Error::Observer(_)), "{error:?}");
}

#[test]
fn networks_are_told_the_priors_that_margins_of_their_rows_give() {
    let overrides = [
        format!("data.file={:?}", products("products.csv").to_str().unwrap()),
        "data.label-column=\"defect\"".to_owned(),
        "data.id-column=\"id\"".to_owned(),
        "model={kind=\"mlp\",hidden=[8]}".to_owned(),
    ];
    let rows = || TableRows::read(None, &overrides).unwrap();
    let prepared = rows().prepare(&mut Unobserved).unwrap();
    let rows = rows();
    let (margins, kind) = rows.margins(&mut Unobserved).unwrap();
    let (options, seed) = (EstimateOptions::default(), Seed(rows.config.seed));
    let found = mpu::priors_from_margins(&margins, kind, &options, seed).unwrap();
    assert_eq!(prepared.facts.estimated, Some(found));
}

#[test]
fn bad_settings_are_refused_by_name() {
    let table = table();
    let told = |params: ClassifierParams| params.fit(&table).unwrap_err().to_string();
    assert!(told(short().epochs(0)).contains("train.epochs"));
    assert!(told(short().validation_share(0.9)).contains("data.validation-share"));
    assert!(told(short().priors([("dint", 0.1)])).contains("`dint`"));
    assert!(told(short().priors([("dent", 0.1)])).contains("`loose`"));
    let hidden = Method::ALL
        .into_iter()
        .find(|m| m.uses_hidden_labels())
        .unwrap();
    assert!(told(short().method(hidden)).contains("true class"));
    let narrow = mpu::data::Features::new(vec![1.0; 4], mpu::data::Shape::Vector(2)).unwrap();
    assert!(fitted().predict(&narrow).is_err());
}

/// Rows of two classes and a pool, as a matrix in memory and as the text of a file.
fn in_memory() -> (mpu::data::table::TableInput, String) {
    use mpu::data::table::{Column, Frame, TableInput};
    let (mut values, mut codes, mut text) = (Vec::new(), Vec::new(), "a,b,y\n".to_owned());
    for i in 0..240u32 {
        let (kind, u) = (i % 3, (i * 37 % 100) as f32 / 64.0);
        let (a, b) = [(1.0 + u, 5.0 + u), (5.0 + u, 1.0 + u), (8.0 + u, 8.0 - u)][kind as usize];
        let label = (i % 2 == 0 && kind < 2).then_some(kind);
        values.extend([a, b]);
        codes.push(label);
        let name = label.map_or("", |kind| ["p", "q"][kind as usize]);
        let _ = writeln!(text, "{a},{b},{name}");
    }
    let features = mpu::data::Features::new(values, mpu::data::Shape::Vector(2)).unwrap();
    let names = ["p", "q"].map(str::to_owned).to_vec();
    let frame = Frame::matrix(["a", "b"].map(str::to_owned).to_vec(), features);
    let frame = frame.with_labels("y", Column::Words { names, codes });
    (TableInput::frame("X", frame), text)
}

#[test]
fn rows_in_memory_give_the_classifier_of_the_same_file() {
    let (input, text) = in_memory();
    let options = TableOptions {
        missing: mpu::data::table::Missing::Keep,
        ..TableOptions::default()
    };
    let file = mpu::data::table::TableInput::from_bytes("rows.csv", text.into_bytes());
    let fit = |table: &MpuTable| Classifier::params().epochs(6).seed(1).fit(table).unwrap();
    let table = read_table(&input, &options).unwrap();
    let (memory, file) = (fit(&table), fit(&read_table(&file, &options).unwrap()));
    let answers = memory.predict(&table.features).unwrap();
    assert_eq!(file.predict(&table.features).unwrap(), answers);
    let digest = |model: &Classifier| model.record().unwrap().model_sha256.clone();
    assert_eq!(digest(&memory), digest(&file));

    let files = memory.to_files().unwrap();
    let again = Classifier::from_files(files.clone()).unwrap();
    assert_eq!(again.predict(&table.features).unwrap(), answers);
    assert_eq!(again.to_files().unwrap(), files);
    let folder = tempfile::tempdir().unwrap();
    memory.save(folder.path().join("model")).unwrap();
    for (name, bytes) in &files {
        let written = std::fs::read(folder.path().join("model").join(name)).unwrap();
        assert_eq!(&written, bytes, "{name}");
    }
    let report = mpu::run_report::of_classifier(&again).unwrap();
    let page = mpu::report::run_report::to_html(&[report]);
    assert!(page.contains("rows in memory"), "the name of the data");
    let few: Vec<_> = files
        .into_iter()
        .filter(|(name, _)| name != "model.json")
        .collect();
    let told = Classifier::from_files(few).unwrap_err().to_string();
    assert!(told.contains("model.json"), "{told}");
}
