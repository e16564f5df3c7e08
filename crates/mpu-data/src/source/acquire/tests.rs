use std::path::Path;

use super::*;
use crate::source::load::{LoadOptions, load};
use crate::source::progress::Quiet;

#[test]
fn offline_the_error_says_which_file_to_put_where() {
    let locations = Locations::offline_in(Path::new("/data-of-mine"));
    for id in DatasetId::ALL {
        if id == DatasetId::Waveform1 {
            continue; // is generated
        }
        let error = load(id, &locations, &LoadOptions::default(), &Quiet)
            .unwrap_err()
            .to_string();
        assert!(error.contains("downloads are switched off"), "{error}");
        let folder = Path::new("/data-of-mine").join(id.card().folder);
        assert!(
            error.contains(&format!("into {}", folder.display())),
            "{error}"
        );
        for file in id.card().parts.iter().flat_map(|part| part.files) {
            assert!(error.contains(file.name), "{error}");
        }
    }
}

#[cfg(feature = "fetch")]
mod downloads {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::provenance::Origin;
    use crate::source::fetch::RetryPolicy;
    use crate::source::resolve::{HubSettings, locate};
    use crate::source::server::{Response, Server};
    use crate::source::unpack::Limit;
    use crate::source::verify::verify;

    const QUICK: RetryPolicy = RetryPolicy {
        attempts: 2,
        first_pause: Duration::from_millis(1),
        lock_timeout: Duration::from_secs(30),
    };

    #[derive(Default)]
    struct Failures(Mutex<Vec<String>>);

    impl Progress for Failures {
        fn source_failed(&self, source: &str, reason: &str) {
            self.0.lock().unwrap().push(format!("{source}: {reason}"));
        }
    }

    fn data_dir(test: &str) -> Option<PathBuf> {
        let dir = std::env::var_os("MPU_DATA_DIR").map(PathBuf::from);
        if dir.is_none() {
            println!("skipped: {test} needs the benchmark files; set MPU_DATA_DIR");
        }
        dir
    }

    /// A mirror of the data folder.
    fn mirror(data_dir: PathBuf) -> Server {
        Server::start(
            move |request, _| match fs::read(data_dir.join(&request.path[1..])) {
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

    #[test]
    fn a_dataset_is_downloaded_once_and_then_here() {
        let Some(data_dir) = data_dir("a_dataset_is_downloaded_once_and_then_here") else {
            return;
        };
        let (mirror, hub) = (
            mirror(data_dir),
            Server::start(|_, _| Response::new(404, b"")),
        );
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

    /// The whole way on real images: MNIST as the Hub packs it has the published rows; a Hub with
    /// other rows is not believed and the next source is asked.
    #[cfg(feature = "parquet")]
    #[test]
    fn the_hub_is_believed_if_its_rows_are_the_published_ones() {
        use crate::source::content::sha256;
        use crate::source::hub_parquet::tests::grey_images;
        use crate::source::load;

        let name = "the_hub_is_believed_if_its_rows_are_the_published_ones";
        let Some(data_dir) = data_dir(name) else {
            return;
        };
        let id = DatasetId::Mnist;
        let Some(located) = locate(id, &Locations::offline_in(&data_dir)) else {
            println!("skipped: {name} needs mnist in MPU_DATA_DIR");
            return;
        };
        let parts = load::read(&located, Limit::DEFAULT).unwrap().parts;
        let files: Vec<Vec<u8>> = parts.iter().map(|(_, rows)| grey_images(rows)).collect();
        let few = grey_images(&parts[1].1.select(&[0, 1, 2]));
        let hub = |train: Vec<u8>, test: Vec<u8>| {
            Server::start(move |request, _| {
                let content = if request.path.contains("/train-") {
                    &train
                } else {
                    &test
                };
                let etag = format!("\"{}\"", sha256(content));
                Response::file(request, content, &etag).header("X-Repo-Commit", &"a".repeat(40))
            })
        };

        let dir = tempfile::tempdir().unwrap();
        let good = hub(files[0].clone(), files[1].clone());
        let mut locations = online(dir.path(), None, &good);
        let located = fetch_with(id, &locations, QUICK, &Quiet).unwrap();
        assert_eq!(located.origin, Origin::Download);
        locations.network = Network::Offline;
        let verification = verify(id, &locations, Limit::DEFAULT).unwrap();
        assert_eq!(verification.origin, Origin::Cache);
        assert!(verification.is_as_published());

        let dir = tempfile::tempdir().unwrap();
        let bad = hub(few, files[1].clone());
        let silent = Server::start(|_, _| Response::new(404, b""));
        let failures = Failures::default();
        let locations = online(dir.path(), Some(&silent), &bad);
        let error = fetch_with(id, &locations, QUICK, &failures)
            .unwrap_err()
            .to_string();
        let failures = failures.0.into_inner().unwrap();
        assert!(failures[0].contains("answered 404"), "{failures:?}");
        let expected = "subset: the train part has 3 of 60000 rows";
        assert!(
            failures[1].contains(expected) && error.contains(expected),
            "{failures:?}"
        );
    }
}
