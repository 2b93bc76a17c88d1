//! `--sizes` of `bench`: what one call processes, a message or a batch.

use std::fmt;

use super::numbers::{parse_in, parse_size};

/// The size of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many messages a batch has; `None` is one message that is no batch.
    pub messages: Option<usize>,
    /// Bytes of each message.
    pub each: usize,
}

impl Size {
    /// Bytes of all messages.
    pub fn bytes(self) -> usize {
        self.messages.unwrap_or(1) * self.each
    }
}

/// As in `4096 x 16 KiB`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = aes_bitslice_plot::size(self.each as u64);
        f.pad(&self.messages.map_or(each.clone(), |messages| format!("{messages} x {each}")))
    }
}

/// A positive number of bytes, or a number of messages and the bytes of each, as in `4096x16KiB`.
pub fn parse_call_size(text: &str) -> Result<Size, String> {
    let Some((messages, each)) = text.split_once('x') else {
        return parse_size(text).map(|each| Size { messages: None, each });
    };
    let messages = parse_in::<usize, 1, { u32::MAX as usize }>(messages).ok();
    let size = messages.zip(parse_size(each).ok()).filter(|(messages, each)| messages.checked_mul(*each).is_some());
    let size = size.map(|(messages, each)| Size { messages: Some(messages), each });
    size.ok_or_else(|| {
        "many messages are their number, less than 2^32, and the bytes of each, in all less than 2^64, such as 4096x16KiB".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_calls() {
        for (text, messages, bytes, shown) in [
            ("1500", None, 1500, "1500 B"),
            ("64MiB", None, 64 << 20, "64 MiB"),
            ("4096x16KiB", Some(4096), 64 << 20, "4096 x 16 KiB"),
            ("1x1500", Some(1), 1500, "1 x 1500 B"),
        ] {
            let size = parse_call_size(text).unwrap();
            assert_eq!((size.messages, size.bytes(), &*size.to_string()), (messages, bytes, shown), "{text}");
        }
        for text in [
            "",
            "0",
            "0KiB",
            "x",
            "x16",
            "16x",
            "0x16",
            "16x0",
            "16x0KiB",
            "-1x16",
            "+1x16",
            "1KiBx16",
            "2x2x2",
            "2X16",
            "4294967296x1",
        ] {
            assert!(parse_call_size(text).is_err(), "{text}");
        }
        assert!(parse_call_size("4294967295x4294967297").is_ok() && parse_call_size("4294967295x4294967298").is_err());
    }
}
