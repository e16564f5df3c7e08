//! Where files are looked for, and what is here.
//!
//! The order: the user's data folder, the local cache, Debian's package `dataset-fashion-mnist`, the
//! Hub's own cache; only then is anything downloaded. A dataset is taken from one place as a whole.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::provenance::Origin;
use crate::source::catalog::{Card, DatasetId, PartCard};

/// Whether downloads are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// They are.
    #[default]
    Online,
    /// They are not.
    Offline,
}

/// How the Hugging Face Hub is reached. What is not given here comes from the variables that its own
/// tools use: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME`, `HF_HUB_CACHE`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HubSettings {
    /// The Hub's address.
    pub endpoint: Option<String>,
    /// The access token.
    pub token: Option<String>,
    /// The Hub's cache folder.
    pub cache_dir: Option<PathBuf>,
}

impl std::fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubSettings")
            .field("endpoint", &self.endpoint.as_deref().map(shown))
            .field("token", &self.token.as_ref().map(|_| "…")) // never printed
            .field("cache_dir", &self.cache_dir)
            .finish()
    }
}

/// An address as it may be printed: without user, password and query.
pub(crate) fn shown(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}…@{host}{path}"),
        None => address.to_owned(),
    }
}

/// Where files are looked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Locations {
    /// The user's data folder: `<data_dir>/mnist/train-images-idx3-ubyte.gz` and so on.
    pub data_dir: Option<PathBuf>,
    /// Our cache: `<cache_dir>/datasets/mnist/…`.
    pub cache_dir: PathBuf,
    /// Where Debian installs datasets.
    pub debian_dir: PathBuf,
    /// Whether downloads are allowed.
    pub network: Network,
    /// A server of your own that holds the upstream files, laid out like a data folder:
    /// `<mirror>/mnist/train-images-idx3-ubyte.gz`. It is asked first, and in place of the
    /// upstream addresses.
    pub mirror: Option<String>,
    /// How the Hub is reached.
    pub hub: HubSettings,
}

impl std::fmt::Debug for Locations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Locations")
            .field("data_dir", &self.data_dir)
            .field("cache_dir", &self.cache_dir)
            .field("debian_dir", &self.debian_dir)
            .field("network", &self.network)
            .field("mirror", &self.mirror.as_deref().map(shown)) // it may hold a password
            .field("hub", &self.hub)
            .finish()
    }
}

impl Locations {
    /// Where Debian's package `dataset-fashion-mnist` puts its folder.
    pub const DEBIAN_DIR: &'static str = "/usr/share/datasets";

    /// The locations that the environment names:
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `MPU_DATA_DIR` | the data folder |
    /// | `MPU_CACHE_DIR` | the cache; else `mpu` in `XDG_CACHE_HOME`, `LOCALAPPDATA` or `~/.cache` |
    /// | `MPU_MIRROR` | the address of a mirror |
    /// | `MPU_OFFLINE`, `HF_HUB_OFFLINE` | no downloads, if set to anything but `0` |
    pub fn from_env() -> Self {
        Self::from_vars(|name| std::env::var_os(name))
    }

    fn from_vars(var: impl Fn(&str) -> Option<OsString>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let path = |name: &str| var(name).map(PathBuf::from);
        let is_set = |name: &str| var(name).is_some_and(|value| value != "0");
        let user_cache = || {
            path("XDG_CACHE_HOME")
                .filter(|path| path.is_absolute()) // the specification ignores relative ones
                .or_else(|| path("LOCALAPPDATA"))
                .or_else(|| path("HOME").map(|home| home.join(".cache")))
                .unwrap_or_else(|| PathBuf::from(".cache"))
        };
        Self {
            data_dir: path("MPU_DATA_DIR"),
            cache_dir: path("MPU_CACHE_DIR").unwrap_or_else(|| user_cache().join("mpu")),
            debian_dir: PathBuf::from(Self::DEBIAN_DIR),
            network: if is_set("MPU_OFFLINE") || is_set("HF_HUB_OFFLINE") {
                Network::Offline
            } else {
                Network::Online
            },
            mirror: var("MPU_MIRROR").and_then(|url| url.into_string().ok()),
            hub: HubSettings::default(),
        }
    }

    /// One data folder, with everything else below it and no downloads: for tests and for machines
    /// without a network.
    pub fn offline_in(data_dir: &Path) -> Self {
        let own = data_dir.join(".mpu-cache");
        Self {
            data_dir: Some(data_dir.to_owned()),
            debian_dir: own.join("debian"),
            network: Network::Offline,
            mirror: None,
            hub: HubSettings {
                cache_dir: Some(own.join("hub")),
                ..HubSettings::default()
            },
            cache_dir: own,
        }
    }

    /// The cache folder of a dataset.
    pub fn cache_folder(&self, card: &Card) -> PathBuf {
        self.cache_dir.join("datasets").join(card.folder)
    }

    /// The folders that may hold a dataset's files, in order.
    pub fn folders(&self, card: &Card) -> Vec<(Origin, PathBuf)> {
        let mut folders = Vec::new();
        if let Some(data_dir) = &self.data_dir {
            folders.push((Origin::DataDir, data_dir.join(card.folder)));
        }
        folders.push((Origin::Cache, self.cache_folder(card)));
        if card.id == DatasetId::FashionMnist {
            folders.push((Origin::Debian, self.debian_dir.join(card.folder)));
        }
        folders
    }
}

/// A dataset that is here.
#[derive(Debug, Clone)]
pub struct Located {
    /// Which.
    pub card: &'static Card,
    /// Where from.
    pub origin: Origin,
    /// The folder of its files.
    pub folder: PathBuf,
    /// Its parts, all of them.
    pub parts: Vec<LocatedPart>,
}

/// A part that is here.
#[derive(Debug, Clone)]
pub struct LocatedPart {
    /// Which.
    pub card: &'static PartCard,
    /// Its files.
    pub files: LocatedFiles,
}

/// The files of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocatedFiles {
    /// As published, in the order of the card; perhaps unpacked.
    Upstream(Vec<PathBuf>),
    /// As the Hub keeps it.
    Parquet(PathBuf),
}

/// Looks for a dataset in every place that needs no download.
pub fn locate(id: DatasetId, locations: &Locations) -> Option<Located> {
    let card = id.card();
    let in_folders = locations
        .folders(card)
        .into_iter()
        .find_map(|(origin, folder)| in_folder(card, origin, folder));
    in_folders.or_else(|| in_hub_cache(card, locations))
}

fn in_folder(card: &'static Card, origin: Origin, folder: PathBuf) -> Option<Located> {
    let find = |part: &'static PartCard| {
        let upstream: Option<Vec<PathBuf>> = part
            .files
            .iter()
            .map(|file| {
                let packed = folder.join(file.name);
                let unpacked = file.name.strip_suffix(".gz").map(|name| folder.join(name));
                [Some(packed), unpacked]
                    .into_iter()
                    .flatten()
                    .find(|path| path.is_file())
            })
            .collect();
        let files = upstream.map(LocatedFiles::Upstream).or_else(|| {
            let name = part.hub_file?.rsplit('/').next()?;
            let path = folder.join(name);
            (cfg!(feature = "parquet") && path.is_file()).then_some(LocatedFiles::Parquet(path))
        })?;
        Some(LocatedPart { card: part, files })
    };
    let parts: Option<Vec<LocatedPart>> = card.parts.iter().map(find).collect();
    parts.map(|parts| Located {
        card,
        origin,
        folder,
        parts,
    })
}

#[cfg(all(feature = "fetch", feature = "parquet"))]
fn in_hub_cache(card: &'static Card, locations: &Locations) -> Option<Located> {
    let repo = card.hub_repo?;
    let find = |part: &'static PartCard| {
        let path = crate::source::hub::cached(&locations.hub, repo, part.hub_file?)?;
        Some(LocatedPart {
            card: part,
            files: LocatedFiles::Parquet(path),
        })
    };
    let parts = card.parts.iter().map(find).collect::<Option<Vec<_>>>()?;
    Some(Located {
        card,
        origin: Origin::Cache,
        folder: crate::source::hub::cache_dir(&locations.hub),
        parts,
    })
}

#[cfg(not(all(feature = "fetch", feature = "parquet")))]
fn in_hub_cache(_: &'static Card, _: &Locations) -> Option<Located> {
    None
}

/// Whether a dataset is here, and where it would come from: a line of `data list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Which.
    pub id: DatasetId,
    /// The place it is in, if it is here. A dataset that can be generated always is.
    pub here: Option<Origin>,
    /// Its folder there.
    pub folder: Option<PathBuf>,
    /// Where it would come from: a folder's kind, the Hub's repository, an address, a generator.
    pub source: String,
}

/// Looks whether a dataset is here, without reading its files.
pub fn status(id: DatasetId, locations: &Locations) -> Status {
    let card = id.card();
    let located = locate(id, locations);
    let source = match &located {
        Some(located) => located.origin.slug().to_owned(),
        None if id == DatasetId::Waveform1 => "generator".to_owned(),
        None => match (&locations.mirror, card.hub_repo) {
            (Some(mirror), _) => shown(mirror),
            (None, Some(repo)) if cfg!(feature = "parquet") => format!("hub: {repo}"),
            (None, _) => card.upstream.to_owned(),
        },
    };
    let generated = (id == DatasetId::Waveform1).then_some(Origin::Generated);
    Status {
        id,
        here: located.as_ref().map(|located| located.origin).or(generated),
        folder: located.map(|located| located.folder),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn touch(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for name in names {
            fs::write(folder.join(name), b"").unwrap();
        }
    }

    const IDX: [&str; 4] = [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ];

    #[test]
    fn folders_are_tried_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut locations = Locations::offline_in(&dir.path().join("data"));
        locations.cache_dir = dir.path().join("cache");
        locations.debian_dir = dir.path().join("debian");
        let id = DatasetId::FashionMnist;
        assert!(locate(id, &locations).is_none());
        assert_eq!(status(id, &locations).here, None);
        for (origin, folder) in [
            (Origin::Debian, "debian/fashion-mnist"),
            (Origin::Cache, "cache/datasets/fashion-mnist"),
            (Origin::DataDir, "data/fashion-mnist"),
        ] {
            touch(&dir.path().join(folder), &IDX);
            let status = status(id, &locations);
            assert_eq!(status.here, Some(origin));
            assert_eq!(status.folder, Some(dir.path().join(folder)));
        }
        // Debian has no package of the others.
        touch(&dir.path().join("debian/mnist"), &IDX);
        assert!(locate(DatasetId::Mnist, &locations).is_none());
    }

    #[test]
    fn the_environment_names_locations() {
        let from = |vars: &[(&str, &str)]| {
            let find = |name: &str| vars.iter().find(|(key, _)| *key == name);
            Locations::from_vars(|name| find(name).map(|(_, value)| value.into()))
        };
        let plain = from(&[("HOME", "/me"), ("MPU_DATA_DIR", ""), ("MPU_OFFLINE", "0")]);
        assert_eq!(plain.data_dir, None);
        assert_eq!(plain.cache_dir, Path::new("/me/.cache/mpu"));
        assert_eq!((plain.network, plain.mirror), (Network::Online, None));
        let xdg = [("HOME", "/me"), ("XDG_CACHE_HOME", "/xdg")];
        assert_eq!(from(&xdg).cache_dir, Path::new("/xdg/mpu"));
        let relative = [("HOME", "/me"), ("XDG_CACHE_HOME", "xdg")];
        assert_eq!(from(&relative).cache_dir, Path::new("/me/.cache/mpu"));
        let own = [
            ("MPU_DATA_DIR", "/d"),
            ("MPU_CACHE_DIR", "/c"),
            ("HF_HUB_OFFLINE", "1"),
        ];
        let own = from(&own);
        assert_eq!(
            (own.data_dir, own.cache_dir),
            (Some("/d".into()), "/c".into())
        );
        assert_eq!(own.network, Network::Offline);
        assert_eq!(
            from(&[("MPU_MIRROR", "http://m")]).mirror.as_deref(),
            Some("http://m")
        );
    }

    #[test]
    fn a_dataset_is_taken_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let locations = Locations::offline_in(dir.path());
        touch(&dir.path().join("mnist"), &IDX[..3]);
        assert!(locate(DatasetId::Mnist, &locations).is_none());
        if cfg!(feature = "parquet") {
            touch(&dir.path().join("mnist"), &["test-00000-of-00001.parquet"]);
            let located = locate(DatasetId::Mnist, &locations).unwrap();
            assert!(matches!(located.parts[0].files, LocatedFiles::Upstream(_)));
            assert!(matches!(located.parts[1].files, LocatedFiles::Parquet(_)));
        }
    }

    #[test]
    fn waveform_is_always_here_and_tokens_are_not_shown() {
        let mut locations = Locations::offline_in(Path::new("/nowhere"));
        let waveform = status(DatasetId::Waveform1, &locations);
        assert_eq!(
            (waveform.here, &*waveform.source),
            (Some(Origin::Generated), "generator")
        );
        locations.hub.token = Some("hf_secret".into());
        locations.hub.endpoint = Some("https://me:secret@hub".into());
        locations.mirror = Some("https://me:secret@mirror/files".into());
        assert!(!format!("{locations:?}").contains("secret"));
        let source = status(DatasetId::Mnist, &locations).source;
        assert_eq!(source, "https://…@mirror/files");
    }
}
