use std::path::Path;

use super::*;
use crate::error::tests::check_text;
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
        let folder = Path::new("/data-of-mine").join(id.card().folder);
        let told = format!("downloads are switched off … into {}", folder.display());
        check_text(&error, &told);
        for file in id.card().parts.iter().flat_map(|part| part.files) {
            check_text(&error, file.name);
        }
    }
}

#[cfg(feature = "fetch")]
#[test]
fn files_in_an_archive_are_taken_out_of_it() {
    use crate::source::archive::tests::tar_gz;
    use crate::source::catalog::{Card, FileCard, Packing, PartCard};
    use crate::source::cifar::tests::batch;
    use crate::source::content::sha256;
    use crate::source::fetch::{Fetcher, RetryPolicy};
    use crate::source::server::{Response, Server};

    let published = DatasetId::Cifar10.card();
    let names = published.parts.iter().flat_map(|part| part.files);
    let batches: Vec<(&str, Vec<u8>)> = names
        .enumerate()
        .map(|(i, file)| (file.name, batch(&[i as u8, 9 - i as u8])))
        .collect();
    let members: Vec<(&str, &[u8])> = batches.iter().map(|(name, b)| (*name, &b[..])).collect();
    let bytes = tar_gz(&members);

    // The card of these files: what a card says lasts as long as the program.
    let card = |bytes: &[u8], packing| FileCard {
        name: "made-up.tar.gz",
        size: bytes.len() as u64,
        sha256: String::leak(sha256(bytes)),
        packing,
    };
    let archive: &'static FileCard = Box::leak(Box::new(card(&bytes, Packing::Plain)));
    let file = |(name, bytes): &(&'static str, Vec<u8>)| FileCard {
        name,
        ..card(bytes, Packing::Archived(archive))
    };
    let files: Vec<FileCard> = batches.iter().map(file).collect();
    let (train, test) = Vec::leak(files).split_at(5);
    let parts: Vec<PartCard> = published
        .parts
        .iter()
        .zip([train, test])
        .map(|(part, files)| PartCard { files, ..*part })
        .collect();
    let card = Card {
        parts: Vec::leak(parts),
        ..*published
    };

    let server = Server::start(move |request, _| Response::file(request, &bytes, ""));
    let dir = tempfile::tempdir().unwrap();
    let bring = || {
        let fetcher = Fetcher::new(RetryPolicy::QUICK);
        let address = format!("{}/", server.url);
        online::from_archive(&card, &address, dir.path(), &fetcher, &Quiet)
    };
    bring().unwrap();
    for (name, content) in &batches {
        assert_eq!(&std::fs::read(dir.path().join(name)).unwrap(), content);
    }
    assert!(!dir.path().join(archive.name).exists());
    bring().unwrap();
    assert_eq!(server.n_requests("GET"), 1, "what is here is not asked for");
    let changed = dir.path().join(batches[2].0);
    std::fs::write(&changed, b"broken").unwrap();
    bring().unwrap();
    assert_eq!(std::fs::read(&changed).unwrap(), batches[2].1);
    assert_eq!(server.n_requests("GET"), 2);
}
