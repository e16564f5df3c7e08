//! TensorBoard event files, written as they are read: TFRecord frames of protobuf events.
//!
//! The format is small and stable; its crates are not. A frame is `length: u64`, `crc(length)`, the
//! bytes, `crc(bytes)`, little-endian, with a masked CRC-32C. An event has a wall time (field 1), a
//! step (2), the file version (3, first event only) and a summary (5) of tagged values.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

/// A growing event file.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: File,
}

impl EventWriter {
    /// Opens a new event file in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let now = wall_time();
        let name = format!("events.out.tfevents.{:.0}.mpu.{}", now, std::process::id());
        let path = folder.join(name);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|source| Error::file("opening", &path, source))?;
        let mut writer = Self { path, file };
        let mut event = Vec::new();
        put_double(&mut event, 1, now);
        put_bytes(&mut event, 3, b"brain.Event:2");
        writer.write(&event)?;
        Ok(writer)
    }

    /// Writes tagged values of one step. Whole frames are written at once, so that a reader sees
    /// none or all of it.
    pub fn scalars(&mut self, step: u64, scalars: &[(String, f32)]) -> Result<()> {
        let mut summary = Vec::new();
        for (tag, value) in scalars {
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, tag.as_bytes());
            put_key(&mut entry, 2, 5);
            entry.extend_from_slice(&value.to_le_bytes());
            put_bytes(&mut summary, 1, &entry);
        }
        let mut event = Vec::new();
        put_double(&mut event, 1, wall_time());
        put_key(&mut event, 2, 0);
        put_varint(&mut event, step);
        put_bytes(&mut event, 5, &summary);
        self.write(&event)
    }

    fn write(&mut self, event: &[u8]) -> Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let mut frame = Vec::with_capacity(event.len() + 16);
        frame.extend_from_slice(&length);
        frame.extend_from_slice(&masked_crc(&length).to_le_bytes());
        frame.extend_from_slice(event);
        frame.extend_from_slice(&masked_crc(event).to_le_bytes());
        self.file
            .write_all(&frame)
            .map_err(|source| Error::file("writing", &self.path, source))
    }
}

fn wall_time() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

fn put_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn put_key(into: &mut Vec<u8>, field: u64, wire_type: u64) {
    put_varint(into, field << 3 | wire_type);
}

fn put_double(into: &mut Vec<u8>, field: u64, value: f64) {
    put_key(into, field, 1);
    into.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(into: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(into, field, 2);
    put_varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// The masked CRC-32C of the TFRecord format.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: event files are small.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_published_ones() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn frames_can_be_walked_and_hold_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(folder.path()).unwrap();
        writer
            .scalars(
                300,
                &[("loss".to_owned(), 0.5), ("accuracy".to_owned(), 0.75)],
            )
            .unwrap();
        let bytes = std::fs::read(&writer.path).unwrap();
        let (mut at, mut events) = (0, Vec::new());
        while at < bytes.len() {
            let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
            let crc = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            assert_eq!(crc, masked_crc(&bytes[at..at + 8]));
            let event = &bytes[at + 12..at + 12 + length];
            let crc = u32::from_le_bytes(
                bytes[at + 12 + length..at + 16 + length]
                    .try_into()
                    .unwrap(),
            );
            assert_eq!(crc, masked_crc(event));
            events.push(event.to_vec());
            at += 16 + length;
        }
        assert_eq!(events.len(), 2);
        assert!(events[0].ends_with(b"brain.Event:2"));
        // Field 2 as a varint: 300 = 0xac 0x02.
        assert!(events[1][9..].starts_with(&[0x10, 0xac, 0x02]));
        let has = |needle: &[u8]| {
            events[1]
                .windows(needle.len())
                .any(|window| window == needle)
        };
        assert!(has(b"loss") && has(b"accuracy") && has(&0.75f32.to_le_bytes()));
    }
}
