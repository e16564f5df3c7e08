//! Files that are published inside a tar archive, packed with gzip.
//!
//! Only files that a card names, of the size it names, are taken out; names in the archive never become paths.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};
use crate::source::catalog::FileCard;
use crate::source::lock::{Lock, beside};
use crate::source::part::create_new;

const BLOCK: usize = 512;

/// Takes files out of an archive into a folder, under the names of their cards. The caller checks their checksums.
pub(super) fn unpack(
    archive: &Path,
    folder: &Path,
    wanted: &[&FileCard],
    patience: Duration,
) -> Result<()> {
    let _lock = Lock::acquire(&beside(archive, ".unpacking"), patience, || {})?;
    let broken = |problem: String| Error::bytes(&archive.display().to_string(), 0, problem);
    let cut = |error: io::Error| broken(format!("broken archive: {error}"));
    let file = File::open(archive).map_err(|error| Error::file("open", archive, &error))?;
    let mut tar = MultiGzDecoder::new(io::BufReader::new(file));
    let mut missing: Vec<&FileCard> = wanted.to_vec();
    let mut header = [0; BLOCK];
    while !missing.is_empty() {
        tar.read_exact(&mut header).map_err(cut)?;
        let Some(member) = Member::read(&header) else {
            let names: Vec<&str> = missing.iter().map(|file| file.name).collect();
            return Err(broken(format!("it lacks {}", names.join(", "))));
        };
        let mut content = tar.by_ref().take(member.padded);
        if let Some(at) = missing
            .iter()
            .position(|file| file.name == member.name && file.size == member.size)
        {
            let dest = folder.join(missing.swap_remove(at).name);
            let part = beside(&dest, ".part");
            let write = |error: io::Error| Error::file("write", &part, &error);
            fs::create_dir_all(dest.parent().unwrap_or(folder)).map_err(write)?;
            let mut out = create_new(&part)?;
            io::copy(&mut content.by_ref().take(member.size), &mut out).map_err(write)?;
            out.sync_all().map_err(write)?;
            fs::rename(&part, &dest).map_err(write)?;
        }
        io::copy(&mut content, &mut io::sink()).map_err(cut)?;
    }
    Ok(())
}

/// What a tar header says.
struct Member {
    name: String,
    size: u64,
    /// With the zeros that fill its last block.
    padded: u64,
}

impl Member {
    /// Nothing at the end of the archive, or where the bytes are no header.
    fn read(header: &[u8; BLOCK]) -> Option<Self> {
        let text = |range: std::ops::Range<usize>| {
            let field = header[range].split(|&byte| byte == 0).next()?;
            std::str::from_utf8(field).ok()
        };
        let name = text(0..100).filter(|name| !name.is_empty())?.to_owned();
        let size = u64::from_str_radix(text(124..136)?.trim(), 8).ok()?;
        let padded = size.checked_next_multiple_of(BLOCK as u64)?;
        Some(Self { name, size, padded })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::tests::check_message;
    use crate::source::catalog::Packing;

    /// A tar archive as `tar czf` writes it, but for the fields that are not read.
    pub(crate) fn tar_gz(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = Vec::new();
        for (name, content) in members {
            let mut header = [0; BLOCK];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            tar.extend(header);
            tar.extend(*content);
            tar.resize(tar.len().next_multiple_of(BLOCK), 0);
        }
        tar.resize(tar.len() + 2 * BLOCK, 0);
        crate::source::unpack::tests::gzip(&tar)
    }

    const fn wanted(name: &'static str, size: u64) -> FileCard {
        FileCard {
            name,
            size,
            sha256: "",
            packing: Packing::Plain,
        }
    }

    const FILES: [FileCard; 2] = [wanted("in/b.bin", 700), wanted("in/a.bin", 3)];

    fn try_unpack(bytes: &[u8]) -> (tempfile::TempDir, Result<()>) {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("x.tar.gz");
        fs::write(&archive, bytes).unwrap();
        let files: Vec<&FileCard> = FILES.iter().collect();
        let result = unpack(&archive, dir.path(), &files, Duration::from_secs(5));
        (dir, result)
    }

    #[test]
    fn members_become_files_and_nothing_else_does() {
        let b = vec![7; 700];
        let bytes = tar_gz(&[
            ("../evil", b"no"),
            ("in/readme", b"skip me"),
            ("in/a.bin", b"abc"),
            ("in/b.bin", &b),
        ]);
        let (dir, result) = try_unpack(&bytes);
        result.unwrap();
        assert_eq!(fs::read(dir.path().join("in/a.bin")).unwrap(), b"abc");
        assert_eq!(fs::read(dir.path().join("in/b.bin")).unwrap(), b);
        assert_eq!(fs::read_dir(dir.path().join("in")).unwrap().count(), 2);
        assert!(!dir.path().parent().unwrap().join("evil").exists());
    }

    #[test]
    fn an_archive_that_is_cut_or_lacks_a_file_is_refused() {
        let b = vec![7; 700];
        let whole = tar_gz(&[("in/a.bin", b"abc"), ("in/b.bin", &b)]);
        for bytes in [&whole[..whole.len() / 2], b"no gzip", b""] {
            assert!(try_unpack(bytes).1.is_err());
        }
        // Of another size, it is another file.
        let other = tar_gz(&[("in/a.bin", b"abcd"), ("in/b.bin", &b)]);
        check_message(try_unpack(&other).1, "it lacks in/a.bin");
    }
}
