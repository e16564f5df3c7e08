//! Whole datasets downloaded from a server on this machine that has the real files.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use libtest_mimic::Trial;
use mpu_data::source::content::sha256;
use mpu_data::source::{
    DatasetId, HubSettings, Limit, LoadOptions, Locations, Network, Progress, Quiet, fetch, load,
    verify,
};
use mpu_data::{Dataset, Origin};

use crate::hub_files::{parquet, png};
use crate::need::{Need, data_dir};
use crate::server::{Response, Server};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Dataset(DatasetId::Semeion) => a_dataset_is_downloaded_once_and_then_here,
        Need::Dataset(DatasetId::Mnist) => the_hub_is_believed_if_its_rows_are_the_published_ones,
    }
}

#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Progress for Failures {
    fn source_failed(&self, source: &str, reason: &str) {
        self.0.lock().unwrap().push(format!("{source}: {reason}"));
    }
}

/// A mirror of the data folder.
fn mirror() -> Server {
    let folder = data_dir().unwrap();
    Server::start(
        move |request, _| match fs::read(folder.join(&request.path[1..])) {
            Ok(content) => Response::file(request, &content, ""),
            Err(_) => Response::new(404, b""),
        },
    )
}

fn online(dir: &Path, mirror: Option<&Server>, hub: &Server) -> Locations {
    Locations {
        data_dir: None,
        network: Network::Online,
        mirror: mirror.map(|server| server.url.clone()),
        hub: HubSettings {
            endpoint: Some(hub.url.clone()),
            token: None,
            cache_dir: Some(dir.join("hub")),
        },
        ..Locations::offline_in(dir)
    }
}

fn a_dataset_is_downloaded_once_and_then_here() {
    let (mirror, hub) = (mirror(), Server::start(|_, _| Response::new(404, b"")));
    let dir = tempfile::tempdir().unwrap();
    let mut locations = online(dir.path(), Some(&mirror), &hub);
    let options = LoadOptions::default();
    let data = load(DatasetId::Semeion, &locations, &options, &Quiet).unwrap();
    assert_eq!(data.train.provenance().origin, Origin::Download);

    locations.network = Network::Offline;
    let data = load(DatasetId::Semeion, &locations, &options, &Quiet).unwrap();
    assert_eq!(data.train.provenance().origin, Origin::Cache);
    assert_eq!(mirror.n_requests("GET"), 1);

    // A cached file that was changed since is not used.
    let path = locations
        .cache_folder(DatasetId::Semeion.card())
        .join("semeion.data");
    let text = fs::read_to_string(&path).unwrap();
    let (first_row, _) = text.split_once('\n').unwrap();
    fs::write(&path, format!("{text}{first_row}\n")).unwrap();
    let error = verify(DatasetId::Semeion, &locations, Limit::DEFAULT)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not the published one"), "{error}");
    assert!(error.contains("hint: remove its files there"), "{error}");

    // Online, it is brought anew.
    locations.network = Network::Online;
    let data = load(DatasetId::Semeion, &locations, &options, &Quiet).unwrap();
    assert_eq!(data.train.provenance().origin, Origin::Download);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

/// The first rows of grey images of 28×28 as the Hub keeps MNIST.
fn grey_images(data: &Dataset, n_rows: usize) -> Vec<u8> {
    let image = |row: usize| {
        let pixels: Vec<u8> = data.features().row(row).iter().map(|&v| v as u8).collect();
        png(&pixels, 28, 28, png::ColorType::Grayscale)
    };
    let images: Vec<Vec<u8>> = (0..n_rows).map(image).collect();
    let label = |&label: &usize| i64::try_from(label).unwrap();
    let labels: Vec<i64> = data.labels()[..n_rows].iter().map(label).collect();
    parquet(&images, &labels)
}

/// The whole way on real images: MNIST as the Hub packs it has the published rows; a Hub with
/// other rows is not believed and the next source is asked.
fn the_hub_is_believed_if_its_rows_are_the_published_ones() {
    let id = DatasetId::Mnist;
    let folder = data_dir().unwrap();
    let (options, limit) = (LoadOptions::default(), Limit::DEFAULT);
    let data = load(id, &Locations::offline_in(&folder), &options, &Quiet).unwrap();
    let [train, test] = [&data.train, &data.test].map(|part| grey_images(part, part.n_rows()));
    let few = grey_images(&data.test, 3);
    let hub = |train: Vec<u8>, test: Vec<u8>| {
        Server::start(move |request, _| {
            let is_train = request.path.contains("/train-");
            let content = if is_train { &train } else { &test };
            let etag = format!("\"{}\"", sha256(content));
            Response::file(request, content, &etag).header("X-Repo-Commit", &"a".repeat(40))
        })
    };

    let dir = tempfile::tempdir().unwrap();
    let good = hub(train, test);
    let mut locations = online(dir.path(), None, &good);
    let located = fetch(id, &locations, &Quiet).unwrap();
    assert_eq!(located.origin, Origin::Download);
    locations.network = Network::Offline;
    let verification = verify(id, &locations, limit).unwrap();
    assert_eq!(verification.origin, Origin::Cache);
    assert!(verification.is_as_published());

    let dir = tempfile::tempdir().unwrap();
    let bad = hub(few.clone(), few);
    let silent = Server::start(|_, _| Response::new(404, b""));
    let failures = Failures::default();
    let locations = online(dir.path(), Some(&silent), &bad);
    let error = fetch(id, &locations, &failures).unwrap_err().to_string();
    let failures = failures.0.into_inner().unwrap();
    assert!(failures[0].contains("answered 404"), "{failures:?}");
    let expected = "subset: the train part has 3 of 60000 rows";
    assert!(
        failures[1].contains(expected) && error.contains(expected),
        "{failures:?}"
    );
}
