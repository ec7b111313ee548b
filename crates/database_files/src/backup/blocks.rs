//! Descriptor blocks and their streams. Nothing is searched for: lengths lead from one to the next.

use std::sync::Arc;

use crate::{
    error::{FileError, Reason, Result, malformed},
    little_endian::{array_at, u16_at, u64_at, utf16},
    random_access::ReadAt,
};

/// Bytes of a block's head, its checksum included.
const BLOCK_HEAD_BYTES: usize = 52;
/// Bytes of a stream's head.
const STREAM_HEAD_BYTES: u64 = 22;

/// A descriptor block with the places of its streams.
pub(crate) struct Block {
    /// Kind, four letters.
    pub kind: [u8; 4],
    /// Bytes from the block's start to its first stream.
    pub bytes: Vec<u8>,
    /// The streams.
    pub streams: Vec<Stream>,
}

/// A stream of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    /// Kind, four letters.
    pub kind: [u8; 4],
    /// Offset of its data in the container.
    pub at: u64,
    /// Bytes of its data.
    pub length: u64,
}

/// Walks the blocks of a container.
pub(crate) struct Blocks {
    source: Arc<dyn ReadAt>,
    position: u64,
}

impl Blocks {
    /// Walks from the start.
    pub(crate) fn new(source: Arc<dyn ReadAt>) -> Self {
        Self { source, position: 0 }
    }

    /// Returns the place of the next block.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the next block; None at the end of the container. The kind `SFMB` (a mark) has no streams.
    ///
    /// # Errors
    /// A head's checksum is wrong, or a length leads beyond the end.
    pub(crate) fn next(&mut self) -> Result<Option<Block>> {
        let start = self.position;
        if start >= self.source.length() {
            return Ok(None);
        }
        let mut head = [0; BLOCK_HEAD_BYTES];
        self.read(&mut head, start, "the head of a block")?;
        let kind = array_at(&head, 0).unwrap_or_default();
        self.check(&head, start, "the head of a block")?;
        let first_stream = u16_at(&head, 8).unwrap_or_default();
        if usize::from(first_stream) < BLOCK_HEAD_BYTES {
            return Err(self
                .error(start, malformed(format!("{} has its first stream in its own head", letters(kind)))));
        }
        let mut bytes = vec![0; usize::from(first_stream)];
        self.read(&mut bytes, start, "a block")?;
        if &kind == b"SFMB" {
            self.position = start + u64::from(first_stream);
            return Ok(Some(Block { kind, bytes, streams: Vec::new() }));
        }
        let mut streams = Vec::new();
        let mut at = start + u64::from(first_stream);
        loop {
            let stream = self.stream(at)?;
            streams.push(stream);
            let end = stream.at + stream.length;
            if &stream.kind == b"SPAD" {
                self.position = end;
                return Ok(Some(Block { kind, bytes, streams }));
            }
            at = end.next_multiple_of(4);
        }
    }

    /// Reads the head of a stream.
    fn stream(&self, at: u64) -> Result<Stream> {
        let mut head = [0; STREAM_HEAD_BYTES as usize];
        self.read(&mut head, at, "the head of a stream")?;
        self.check(&head, at, "the head of a stream")?;
        let kind = array_at(&head, 0).unwrap_or_default();
        let length = u64_at(&head, 8).unwrap_or_default();
        let at_data = at + STREAM_HEAD_BYTES;
        match at_data.checked_add(length).is_some_and(|end| end <= self.source.length()) {
            true => Ok(Stream { kind, at: at_data, length }),
            false => Err(self.error(
                at,
                malformed(format!(
                    "stream {} of {length} bytes reaches beyond the end: the file is not complete",
                    letters(kind)
                )),
            )),
        }
    }

    /// Compares the last word of a head with the XOR of the words before it.
    fn check(&self, head: &[u8], at: u64, what: &'static str) -> Result<()> {
        let (words, _) = head.as_chunks::<2>();
        let (found, words) = words.split_last().unwrap_or((&[0; 2], &[]));
        let computed = words.iter().fold(0, |sum, word| sum ^ u16::from_le_bytes(*word));
        let found = u16::from_le_bytes(*found);
        match found == computed {
            true => Ok(()),
            false => {
                let reason = Reason::Checksum { what, found: found.into(), computed: computed.into() };
                Err(self.error(at, reason))
            }
        }
    }

    fn read(&self, into: &mut [u8], at: u64, what: &'static str) -> Result<()> {
        read(&*self.source, into, at, what)
    }

    fn error(&self, at: u64, reason: Reason) -> FileError {
        FileError::new(self.source.name(), format!("byte {at}"), reason)
    }
}

/// Fills `into` from a place of the container.
///
/// # Errors
/// The container ends before, or cannot be read.
pub(crate) fn read(source: &dyn ReadAt, into: &mut [u8], at: u64, what: &'static str) -> Result<()> {
    if at.checked_add(into.len() as u64).is_none_or(|end| end > source.length()) {
        return Err(FileError::new(source.name(), format!("byte {at}"), Reason::Truncated(what)));
    }
    source.read_exact_at(into, at).map_err(|error| FileError::io(source.name(), format!("byte {at}"), &error))
}

/// Returns a text whose length and offset stand at `at`; the offset counts from the start of `bytes`.
pub(crate) fn text_at(bytes: &[u8], at: usize) -> Option<String> {
    let length = usize::from(u16_at(bytes, at)?);
    let offset = usize::from(u16_at(bytes, at + 2)?);
    Some(utf16(bytes.get(offset..offset.checked_add(length)?)?))
}

/// Shows the letters of a kind.
pub(crate) fn letters(kind: [u8; 4]) -> String {
    kind.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }).collect()
}
