//! The wire format of protocol buffers, as far as an ONNX model needs it.
//!
//! A message is a list of fields. A field is a key, `number << 3 | type`, and a value of that type:
//!
//! | type | value |
//! |---|---|
//! | 0 | a varint: groups of seven bits, the lowest first, the top bit set on all but the last |
//! | 2 | a varint length and that many bytes: text, a block of numbers or another message |
//! | 5 | four bytes, little-endian: a float |
//!
//! A repeated field is written once for every value; ONNX does not pack its repeated integers.
//! The format is small and frozen, so it is written here rather than by a crate and its compiler
//! of `.proto` files.

/// The bytes of a message that grows field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A whole number, not negative: a model has no others.
    pub(super) fn int(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, 0);
        self.varint(value);
        self
    }

    /// A float in single precision.
    pub(super) fn float(&mut self, field: u32, value: f32) -> &mut Self {
        self.key(field, 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Text.
    pub(super) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message inside this one.
    pub(super) fn message(&mut self, field: u32, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    /// Bytes as they are.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// The fields of `other` after those of this message.
    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8 & 0x7f) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl Fn(&mut Message), bytes: &[u8]) {
        let mut message = Message::default();
        write(&mut message);
        assert_eq!(message.into_bytes(), bytes);
    }

    #[test]
    fn the_examples_of_the_format_s_own_guide_come_out() {
        check(|m| _ = m.int(1, 150), &[0x08, 0x96, 0x01]);
        check(|m| _ = m.text(2, "testing"), b"\x12\x07testing");
        let inner = Message(vec![0x08, 0x96, 0x01]);
        check(
            |m| _ = m.message(3, &inner),
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
        );
    }

    #[test]
    fn varints_end_where_they_should() {
        check(|m| _ = m.int(1, 0), &[0x08, 0x00]);
        check(|m| _ = m.int(1, 127), &[0x08, 0x7f]);
        check(|m| _ = m.int(1, 128), &[0x08, 0x80, 0x01]);
        let mut most = vec![0x08];
        most.extend([0xff; 9]);
        most.push(0x01);
        check(|m| _ = m.int(1, u64::MAX), &most);
        // Field numbers above 15 take two bytes.
        check(|m| _ = m.int(20, 7), &[0xa0, 0x01, 0x07]);
    }

    #[test]
    fn floats_and_long_blocks() {
        check(|m| _ = m.float(2, 1.0), &[0x15, 0x00, 0x00, 0x80, 0x3f]);
        let mut long = vec![0x4a, 0xac, 0x02];
        long.extend([7; 300]);
        check(|m| _ = m.bytes(9, &[7; 300]), &long);
        check(|m| _ = m.text(1, ""), &[0x0a, 0x00]);
        let other = Message(vec![0x08, 0x01]);
        check(|m| _ = m.int(2, 3).append(&other), &[0x10, 3, 0x08, 1]);
    }
}
