//! Downloads of whole datasets.

use crate::error::{Error, Result};
use crate::source::catalog::DatasetId;
use crate::source::progress::Progress;
use crate::source::resolve::{Located, Locations, Network};

/// Downloads a dataset into the cache and gives where it is: from a mirror, if one is named; from the
/// Hub, where that holds the same rows; without a mirror from its upstream address. Where one fails
/// the next is tried.
/// What comes must be as published.
///
/// Without the feature `fetch`, or offline, the error says which file to put where.
pub fn fetch(id: DatasetId, locations: &Locations, progress: &dyn Progress) -> Result<Located> {
    if locations.network == Network::Offline {
        return Err(missing(id, locations, "downloads are switched off"));
    }
    download(id, locations, progress)
}

/// The error that says which files to put where.
pub(crate) fn missing(id: DatasetId, locations: &Locations, reason: &str) -> Error {
    let card = id.card();
    let folders = locations.folders(card);
    let cache = locations.cache_folder(card);
    let put_into = folders.first().map_or(&cache, |(_, folder)| folder);
    let files = card.parts.iter().flat_map(|part| part.files);
    let files = files.map(|file| format!("{} ({})", file.name, file.url(card.upstream)));
    let looked_in = folders
        .iter()
        .map(|(_, folder)| folder.display().to_string());
    let looked_in = looked_in.collect::<Vec<_>>().join(", ");
    Error::Refused(format!(
        "the files of {id} are not here: {reason}; looked in {}\nhint: put {} into {}",
        if folders.is_empty() {
            "no folder"
        } else {
            &looked_in
        },
        files.collect::<Vec<_>>().join(", "),
        put_into.display()
    ))
}

#[cfg(not(feature = "fetch"))]
fn download(id: DatasetId, locations: &Locations, _: &dyn Progress) -> Result<Located> {
    let reason = "this build does not download (feature `fetch`)";
    Err(missing(id, locations, reason))
}

#[cfg(feature = "fetch")]
fn download(id: DatasetId, locations: &Locations, progress: &dyn Progress) -> Result<Located> {
    online::download(
        id,
        locations,
        crate::source::fetch::RetryPolicy::default(),
        progress,
    )
}

#[cfg(feature = "fetch")]
pub use online::download as fetch_with;

#[cfg(feature = "fetch")]
mod online {
    use std::fs;
    use std::path::Path;

    use super::missing;
    use crate::error::Result;
    use crate::provenance::Origin;
    use crate::source::archive::unpack;
    use crate::source::catalog::{Card, DatasetId, FileCard, Packing};
    use crate::source::fetch::{Download, Fetcher, RetryPolicy, file_sha256};
    use crate::source::hub::{self, HubFile};
    use crate::source::load;
    use crate::source::progress::Progress;
    use crate::source::resolve::{Located, LocatedFiles, LocatedPart, Locations, shown};
    use crate::source::unpack::Limit;

    /// Where a dataset may be downloaded from.
    enum Source {
        /// The user's own server.
        Mirror(String),
        /// A repository of the Hub.
        Hub(&'static str),
        /// The dataset's own address.
        Upstream(&'static str),
    }

    impl Source {
        fn all(card: &Card, locations: &Locations) -> Vec<Self> {
            let mirror = locations.mirror.clone().map(Self::Mirror);
            let hub = card
                .hub_repo
                .filter(|_| cfg!(feature = "parquet"))
                .map(Self::Hub);
            let upstream = mirror.is_none().then_some(Self::Upstream(card.upstream));
            [mirror, hub, upstream].into_iter().flatten().collect()
        }

        /// The address of a file and how it is packed there; a mirror holds it as the cache does.
        fn address(&self, card: &Card, file: &FileCard) -> (String, Packing) {
            match self {
                Self::Mirror(address) => {
                    let address = address.trim_end_matches('/');
                    (
                        format!("{address}/{}/{}", card.folder, file.name),
                        Packing::Plain,
                    )
                }
                Self::Hub(_) | Self::Upstream(_) => (file.url(card.upstream), file.packing),
            }
        }
    }

    impl std::fmt::Display for Source {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match self {
                Self::Mirror(address) => f.write_str(&shown(address)),
                Self::Hub(repo) => write!(f, "hub: {repo}"),
                Self::Upstream(address) => f.write_str(address),
            }
        }
    }

    /// Downloads a dataset with a retry policy of your own; see [`fetch`](super::fetch).
    pub fn download(
        id: DatasetId,
        locations: &Locations,
        retry: RetryPolicy,
        progress: &dyn Progress,
    ) -> Result<Located> {
        let card = id.card();
        let mut reasons = Vec::new();
        for source in Source::all(card, locations) {
            let result = match &source {
                Source::Hub(repo) => from_hub(card, repo, locations, &retry, progress),
                Source::Mirror(_) | Source::Upstream(_) => {
                    from_address(card, &source, locations, retry, progress)
                }
            };
            match result {
                Ok(located) => return Ok(located),
                Err(error) => {
                    progress.source_failed(&source.to_string(), &error.to_string());
                    reasons.push(error.to_string());
                }
            }
        }
        Err(missing(id, locations, &reasons.join("; ")))
    }

    fn from_hub(
        card: &'static Card,
        repo: &str,
        locations: &Locations,
        retry: &RetryPolicy,
        progress: &dyn Progress,
    ) -> Result<Located> {
        let lock_dir = locations.cache_dir.join("locks");
        let mut parts = Vec::new();
        for part in card.parts {
            let file = part.hub_file.unwrap_or_default();
            let wanted = HubFile {
                repo,
                file,
                at_most: card.hub_limit(part),
            };
            let path = hub::download(&locations.hub, &wanted, &lock_dir, retry, progress)?;
            parts.push(LocatedPart {
                card: part,
                files: LocatedFiles::Parquet(path),
            });
        }
        let located = Located {
            card,
            origin: Origin::Download,
            folder: hub::cache_dir(&locations.hub),
            parts,
        };
        // The checksum of the Hub's own packing is not known: the rows decide.
        load::read(&located, Limit::DEFAULT)?;
        Ok(located)
    }

    /// Takes files that are published in an archive out of it, unless they are here. The archive is not kept.
    pub(super) fn from_archive(
        card: &Card,
        address: &str,
        folder: &Path,
        fetcher: &Fetcher,
        progress: &dyn Progress,
    ) -> Result<()> {
        let files = card.parts.iter().flat_map(|part| part.files);
        let absent: Vec<(&FileCard, &FileCard)> = files
            .filter_map(|file| match file.packing {
                Packing::Archived(archive) => Some((archive, file)),
                Packing::Plain | Packing::Compress => None,
            })
            .filter(|(_, file)| {
                let found = file_sha256(&folder.join(file.name));
                !found.is_ok_and(|found| found == file.sha256)
            })
            .collect();
        let Some(&(archive, _)) = absent.first() else {
            return Ok(());
        };
        let packed = folder.join(archive.name);
        let job = Download {
            url: &archive.url(address),
            dest: &packed,
            sha256: archive.sha256,
            size: archive.size,
            packing: archive.packing,
        };
        fetcher.get(&job, progress)?;
        let wanted: Vec<&FileCard> = absent.iter().map(|(_, file)| *file).collect();
        unpack(&packed, folder, &wanted, fetcher.retry.lock_timeout)?;
        let _ = fs::remove_file(&packed); // what is left over takes room, nothing else
        Ok(())
    }

    fn from_address(
        card: &'static Card,
        source: &Source,
        locations: &Locations,
        retry: RetryPolicy,
        progress: &dyn Progress,
    ) -> Result<Located> {
        let fetcher = Fetcher::new(retry);
        let folder = locations.cache_folder(card);
        if let Source::Upstream(address) = source {
            from_archive(card, address, &folder, &fetcher, progress)?;
        }
        let mut parts = Vec::new();
        for part in card.parts {
            let mut paths = Vec::new();
            for file in part.files {
                let dest = folder.join(file.name);
                let (url, packing) = source.address(card, file);
                let job = Download {
                    url: &url,
                    dest: &dest,
                    sha256: file.sha256,
                    size: file.size,
                    packing,
                };
                fetcher.get(&job, progress)?;
                paths.push(dest);
            }
            parts.push(LocatedPart {
                card: part,
                files: LocatedFiles::Upstream(paths),
            });
        }
        Ok(Located {
            card,
            origin: Origin::Download,
            folder,
            parts,
        })
    }
}

#[cfg(test)]
mod tests;
