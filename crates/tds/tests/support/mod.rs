//! Reading of fixtures.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use bulkwire_tds::{MessageHead, MessageReader};

/// A file or directory under `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(".").join("tests/fixtures").join(name)
}

/// The bytes of a commented hex file: `#` starts a comment.
pub fn hex_file(path: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let digits: String =
        text.lines().filter_map(|line| line.split('#').next()).flat_map(str::split_whitespace).collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// All messages in the bytes of one direction of a connection, with the number of packets of each.
pub fn messages(mut bytes: &[u8]) -> Vec<(MessageHead, Vec<u8>)> {
    let mut reader = MessageReader::new(32767, 1 << 24);
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let mut payload = Vec::new();
        let (consumed, head) = reader.collect(bytes, &mut payload).unwrap();
        messages.push((head.expect("the stream ends inside a message"), payload));
        bytes = &bytes[consumed..];
    }
    messages
}
