//! A compressed backup, read as the uncompressed one that its chunks hold.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::{
    blocks::read,
    xpress::{Codes, unpack},
};
use crate::{
    error::{FileError, Reason, Result, malformed, unsupported},
    little_endian::{u8_at, u16_at, u32_at},
    pages::SECTOR_BYTES,
    random_access::ReadAt,
};

const MAGIC: &[u8] = b"MSSQLBAK";
/// The kind of a mark: 512 bytes between records, which are not packed.
const MARK: &[u8] = b"SFMB";
/// The place of the first record.
const RECORDS_AT: u64 = 480;
/// Bytes of a chunk's head.
const CHUNK_HEAD_BYTES: u64 = 28;
/// Bytes of the heads of other records.
const OTHER_HEAD_BYTES: u64 = 24;
/// Unpacked chunks that are kept: 2 MiB.
const KEPT_CHUNKS: usize = 32;

/// Kinds of records.
const CHUNK: u8 = 0x21;
const PADDING: u8 = 0x24;
const RESTART_POINTS: u8 = 0x2c;

/// Returns true if the bytes begin as a compressed backup.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Opens a container: one that is not compressed is returned as it is.
///
/// # Errors
/// A version or a record is unknown, or the file ends within one.
pub(crate) fn open(source: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
    let mut head = [0; 16];
    read(&*source, &mut head, 0, "the head of a backup")?;
    if !is_compressed(&head) {
        return Ok(source);
    }
    let version = (u32_at(&head, 8), u32_at(&head, 12));
    if version != (Some(2), Some(3)) {
        let (a, b) = (version.0.unwrap_or_default(), version.1.unwrap_or_default());
        let reason = unsupported(format!("compressed backups of version {a}.{b} are not read (2.3 is)"));
        return Err(FileError::new(source.name(), "the head", reason));
    }
    let (chunks, length) = list_chunks(&*source)?;
    Ok(Arc::new(Unpacked { source, chunks, length, kept: Mutex::default() }))
}

/// A packed piece of the container.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    /// Offset of its packed bytes in the file.
    at: u64,
    /// Packed bytes.
    packed: u16,
    /// Offset of its first byte in the container.
    start: u64,
    /// Bytes in the container.
    length: u32,
    /// Checksum of the packed bytes.
    checksum: u32,
}

/// Walks the records of a file.
fn list_chunks(source: &dyn ReadAt) -> Result<(Vec<Chunk>, u64)> {
    let (mut chunks, mut at, mut start) = (Vec::new(), RECORDS_AT, 0);
    while at < source.length() {
        let mut head = [0; CHUNK_HEAD_BYTES as usize];
        let rest = source.length() - at;
        let in_head = head.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        read(source, head.get_mut(..in_head).unwrap_or_default(), at, "a record")?;
        let size = u64::from(u16_at(&head, 2).unwrap_or_default());
        if head.starts_with(MARK) {
            // A mark of the file itself: its length is where blocks have their first stream.
            at += u64::from(u16_at(&head, 8).unwrap_or_default()).max(SECTOR_BYTES as u64);
            continue;
        }
        match head[0] {
            CHUNK => {
                let length = u32::from(u8_at(&head, 1).unwrap_or_default()) * SECTOR_BYTES as u32;
                let chunk = Chunk {
                    at: at + CHUNK_HEAD_BYTES,
                    packed: size as u16,
                    start,
                    length,
                    checksum: u32_at(&head, 24).unwrap_or_default(),
                };
                at += CHUNK_HEAD_BYTES + size;
                if at > source.length() {
                    return Err(FileError::new(
                        source.name(),
                        format!("byte {}", chunk.at),
                        Reason::Truncated("a chunk"),
                    ));
                }
                start += u64::from(length);
                chunks.push(chunk);
            }
            PADDING => at += OTHER_HEAD_BYTES + size,
            RESTART_POINTS => {
                // Its size stands behind the head.
                let mut word = [0; 4];
                read(source, &mut word, at + 32, "an index of restart points")?;
                at += OTHER_HEAD_BYTES + u64::from(u32::from_le_bytes(word));
            }
            kind => {
                let reason =
                    unsupported(format!("a record of the unknown kind {kind:02x} in a compressed backup"));
                return Err(FileError::new(source.name(), format!("byte {at}"), reason));
            }
        }
    }
    Ok((chunks, start))
}

/// Chunks as one run of bytes.
struct Unpacked {
    source: Arc<dyn ReadAt>,
    chunks: Vec<Chunk>,
    length: u64,
    kept: Mutex<VecDeque<(usize, Arc<[u8]>)>>,
}

impl Unpacked {
    /// Returns the bytes of a chunk, from those kept or from the file.
    fn chunk(&self, index: usize) -> Result<Arc<[u8]>> {
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, bytes)) = kept.iter().find(|(of, _)| *of == index) {
                return Ok(Arc::clone(bytes));
            }
        }
        let chunk = self.chunks.get(index).copied();
        let missing = || FileError::new(self.source.name(), "", Reason::Truncated("a backup"));
        let bytes: Arc<[u8]> = self.unpacked(chunk.ok_or_else(missing)?)?.into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_CHUNKS {
            kept.pop_front();
        }
        kept.push_back((index, Arc::clone(&bytes)));
        Ok(bytes)
    }

    fn unpacked(&self, chunk: Chunk) -> Result<Vec<u8>> {
        let place = || format!("chunk at byte {}", chunk.at);
        let mut packed = vec![0; usize::from(chunk.packed)];
        read(&*self.source, &mut packed, chunk.at, "a chunk")?;
        let computed = word_checksum(&packed);
        if computed != chunk.checksum {
            let reason = Reason::Checksum { what: "it", found: chunk.checksum, computed };
            return Err(FileError::new(self.source.name(), place(), reason));
        }
        if u32::from(chunk.packed) >= chunk.length {
            let reason = unsupported("a chunk that compression did not shrink is in a form that is not read");
            return Err(FileError::new(self.source.name(), place(), reason));
        }
        let mut bytes = Vec::new();
        unpack(&packed, chunk.length as usize, &mut bytes, &mut Codes::new())
            .map_err(|broken| FileError::new(self.source.name(), place(), malformed(broken.to_string())))?;
        Ok(bytes)
    }
}

impl ReadAt for Unpacked {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            let after = self.chunks.partition_point(|chunk| chunk.start <= offset);
            let index = after.checked_sub(1).ok_or(io::ErrorKind::UnexpectedEof)?;
            let start = self.chunks.get(index).map(|chunk| chunk.start).unwrap_or_default();
            let bytes = self.chunk(index).map_err(io::Error::other)?;
            let from = bytes.get((offset - start) as usize..).filter(|rest| !rest.is_empty());
            let from = from.ok_or(io::ErrorKind::UnexpectedEof)?;
            let count = from.len().min(into.len());
            let (to, rest) = into.split_at_mut(count);
            to.copy_from_slice(from.get(..count).unwrap_or_default());
            into = rest;
            offset += count as u64;
        }
        Ok(())
    }
}

/// Returns the checksum of packed bytes: it goes by words, and the last one is filled with zeros.
fn word_checksum(bytes: &[u8]) -> u32 {
    bytes.chunks(4).fold(0_u32, |sum, word| {
        let mut whole = [0; 4];
        whole.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        sum.rotate_left(1) ^ u32::from_le_bytes(whole)
    })
}
