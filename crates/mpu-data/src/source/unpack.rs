//! Packed bytes: gzip and `compress` (`.Z`), unpacked up to a limit.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// How many bytes an input may unpack to. A file that claims or holds more is refused, so that a
/// hostile or broken file cannot take the machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u64);

impl Limit {
    /// One gibibyte: four times the largest benchmark part (SVHN's training images).
    pub const DEFAULT: Self = Self(1 << 30);

    /// At most this many bytes.
    pub const fn bytes(n_bytes: u64) -> Self {
        Self(n_bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Refuses a claim above the limit, before any memory is taken for it.
    pub fn check(self, file: &str, what: &'static str, claimed: u64) -> Result<()> {
        if claimed > self.0 {
            return Err(Error::TooLarge {
                file: file.to_owned(),
                what,
                claimed,
                limit: self.0,
            });
        }
        Ok(())
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Reads a whole file that is not larger than the limit.
pub fn read_file(path: &Path, limit: Limit) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|error| Error::file("open", path, &error))?;
    let size = file
        .metadata()
        .map_err(|error| Error::file("read", path, &error))?
        .len();
    let name = path.display().to_string();
    limit.check(&name, "the file", size)?;
    let mut bytes = Vec::with_capacity(size as usize);
    let read = read_within(&name, file, limit, &mut bytes);
    read.map_err(|failure| failure.into_error(|error| Error::file("read", path, error)))?;
    Ok(bytes)
}

/// Unpacks gzip (several members too); bytes that are not gzip are handed back as they are.
pub fn gunzip<'a>(name: &str, bytes: &'a [u8], limit: Limit) -> Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        limit.check(name, "the file", bytes.len() as u64)?;
        return Ok(Cow::Borrowed(bytes));
    }
    let mut unpacked = Vec::new();
    read_within(name, MultiGzDecoder::new(bytes), limit, &mut unpacked).map_err(|failure| {
        failure.into_error(|error| Error::bytes(name, 0, format!("broken gzip: {error}")))
    })?;
    Ok(Cow::Owned(unpacked))
}

/// Why bounded reading stopped.
pub(crate) enum ReadFailure {
    /// The source failed.
    Io(std::io::Error),
    /// The source held more than the limit.
    TooLarge(Error),
}

impl ReadFailure {
    pub(crate) fn into_error(self, io: impl FnOnce(&std::io::Error) -> Error) -> Error {
        match self {
            Self::Io(error) => io(&error),
            Self::TooLarge(error) => error,
        }
    }
}

/// Appends all of `source` to `out`; the memory taken grows with what is really there.
pub(crate) fn read_within(
    name: &str,
    source: impl Read,
    limit: Limit,
    out: &mut Vec<u8>,
) -> std::result::Result<(), ReadFailure> {
    let mut bounded = source.take(limit.get().saturating_add(1));
    let n_read = bounded.read_to_end(out).map_err(ReadFailure::Io)?;
    limit
        .check(name, "the unpacked content", n_read as u64)
        .map_err(ReadFailure::TooLarge)
}

/// Unpacks the `.Z` format of the Unix program `compress`: LZW with codes of 9 to 16 bits, least
/// significant bit first. UCI keeps `waveform.data.Z` in it.
///
/// Codes come in groups of eight; when their width changes or the table is cleared, the rest of the
/// group is padding.
pub fn unlzw(name: &str, bytes: &[u8], limit: Limit) -> Result<Vec<u8>> {
    const CLEAR: usize = 256;
    let wrong = |at, problem: String| Err(Error::bytes(name, at, problem));
    let Some((&[first, second, flags], codes)) = bytes.split_first_chunk::<3>() else {
        return wrong(0, "too short for a .Z file".to_owned());
    };
    if [first, second] != [0x1f, 0x9d] {
        return wrong(0, "not a .Z file: it must begin with 1f 9d".to_owned());
    }
    let max_width = u32::from(flags & 0x1f);
    let clears = flags & 0x80 != 0;
    if !(9..=16).contains(&max_width) || flags & 0x60 != 0 {
        let problem = format!("flags {flags:#04x}: codes of 9 to 16 bits are allowed");
        return wrong(2, problem);
    }

    // Entry c >= 256 is the string of `prefix[c]` followed by `suffix[c]`.
    let mut prefix = vec![0_u16; 1 << max_width];
    let mut suffix = vec![0_u8; 1 << max_width];
    let first_free = if clears { CLEAR + 1 } else { CLEAR };
    let mut free = first_free;
    let mut width = 9;
    let mut previous: Option<(usize, u8)> = None;
    let mut out = Vec::new();
    let mut reversed = Vec::new();
    let n_bits = codes.len() * 8;
    let mut group_start = 0;
    let mut position = 0;

    loop {
        // The table is full for this width: the next code is wider and starts a new group.
        if free > (1 << width) - 1 && width < max_width {
            position = next_group(group_start, position, width);
            group_start = position;
            width += 1;
        }
        if position + width as usize > n_bits {
            break;
        }
        let code = bits(codes, position, width);
        let offset = 3 + (position / 8) as u64;
        position += width as usize;

        if code == CLEAR && clears {
            position = next_group(group_start, position, width);
            group_start = position;
            free = first_free;
            width = 9;
            previous = None;
            continue;
        }
        let Some((previous_code, previous_first)) = previous else {
            if code > 255 {
                let problem = format!("code {code} with an empty table: 0 to 255 are allowed");
                return wrong(offset, problem);
            }
            out.push(code as u8);
            previous = Some((code, code as u8));
            continue;
        };
        if code > free || (code == CLEAR && clears) {
            return wrong(offset, format!("code {code}: 0 to {free} are allowed here"));
        }
        reversed.clear();
        let mut walk = code;
        if code == free {
            reversed.push(previous_first);
            walk = previous_code;
        }
        while walk >= first_free {
            reversed.push(suffix[walk]);
            walk = usize::from(prefix[walk]);
        }
        let first = walk as u8;
        reversed.push(first);
        limit.check(
            name,
            "the unpacked content",
            (out.len() + reversed.len()) as u64,
        )?;
        out.extend(reversed.iter().rev());
        if free < 1 << max_width {
            prefix[free] = previous_code as u16;
            suffix[free] = first;
            free += 1;
        }
        previous = Some((code, first));
    }
    Ok(out)
}

/// The code of `width` bits at bit `position`, least significant bit first.
fn bits(bytes: &[u8], position: usize, width: u32) -> usize {
    let mut window = 0_usize;
    for (i, &byte) in bytes[position / 8..].iter().take(3).enumerate() {
        window |= usize::from(byte) << (8 * i);
    }
    (window >> (position % 8)) & ((1 << width) - 1)
}

/// The first bit after the group of eight codes that `position` is in.
fn next_group(group_start: usize, position: usize, width: u32) -> usize {
    group_start + (position - group_start).next_multiple_of(8 * width as usize)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn gzip_and_plain_bytes_both_open() {
        let text = b"the same bytes";
        let limit = Limit::bytes(100);
        assert_eq!(&*gunzip("a", text, limit).unwrap(), text);
        assert_eq!(&*gunzip("a", &gzip(text), limit).unwrap(), text);
        let mut two = gzip(b"the same ");
        two.extend(gzip(b"bytes"));
        assert_eq!(&*gunzip("a", &two, limit).unwrap(), text);
    }

    #[test]
    fn a_gzip_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 1 << 16);
        let error = gunzip("bomb.gz", &bomb, Limit::bytes(1 << 20)).unwrap_err();
        assert!(
            matches!(error, Error::TooLarge { limit, .. } if limit == 1 << 20),
            "{error}"
        );
        let cut = &bomb[..bomb.len() / 2];
        let error = gunzip("cut.gz", cut, Limit::DEFAULT).unwrap_err();
        assert!(matches!(error, Error::BadBytes { .. }), "{error}");
    }

    /// What `compress` (ncompress 4.2.4.6) made of the 700 bytes below; the codes grow from 9 to 10
    /// bits on the way.
    const PACKED: &str = "\
        1f9d9061d0989963078e98306ee6b8b913e60d9d3864cad42113a6cd1b3470dc8c3913264d1a3b63eca04173\
        a74c18366dcab04943e70e9c3b76d6b8491307ce993566e0d86c93664e9d3673e294e12890a041840a193a84\
        2891a2458c1a397a042992a449942a59ba842993a64d9c3acff0f4095428d181050f265cd8f061c489152f66\
        dcd8f163c891254fa65cd9f265cc99356fe6dcd9f367d0a101d11e5dabd46dd3b850e94ebd6b556fd6be5c01\
        7f1d2cb67059c445d32265bbf4ad53b951eb52c57b75af56bf5d0383254cf6f059a36a93b6650af7e95ca976\
        abe6c5ca77eb5faf82c38e356c3631eed18d799f8e0c7c7565e2af33239fddb976f3d08b75977eec3bf564e1\
        ad2f1b8fbd59b967dbce4533de6d1af26fd59487bbc67c5c36e7e59fdd269f788ef5869a64c1b1665971b069\
        961c6dcc81a6586e";

    pub(crate) fn compressed_by_ncompress() -> Vec<u8> {
        let digit = |i: usize| u8::from_str_radix(&PACKED[i..i + 2], 16).unwrap();
        (0..PACKED.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn compress_files_open() {
        let text: Vec<u8> = (0..700)
            .map(|i| 97 + ((i * i * 7 + i / 3) % 23) as u8)
            .collect();
        let packed = compressed_by_ncompress();
        assert_eq!(unlzw("a.Z", &packed, Limit::DEFAULT).unwrap(), text);
        assert!(matches!(
            unlzw("a.Z", &packed, Limit::bytes(10)),
            Err(Error::TooLarge { .. })
        ));
        for bad in [
            &b""[..],
            b"\x1f\x9d",
            b"\x1f\x8b\x90",
            b"\x1f\x9d\x9f",
            b"\x1f\x9d\x90\xff\xff",
        ] {
            assert!(unlzw("bad.Z", bad, Limit::DEFAULT).is_err(), "{bad:?}");
        }
    }
}
