//! The description that a backup has of itself: the family of a file, its sets, their databases, files and positions in the
//! log.

use std::sync::Arc;

use super::blocks::{Block, Blocks, Stream, letters, read, text_at};
use crate::{
    error::{FileError, Reason, Result, malformed, unsupported},
    little_endian::{array_at, u8_at, u16_at, u32_at, u64_at},
    pages::RunningChecksum,
    random_access::ReadAt,
};

/// Bytes that are read at a time to verify a checksum; whole sectors.
const VERIFIED_BYTES: usize = 1 << 20;
/// Largest description of a database that is read.
const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;

/// The contents of one backup file.
pub(crate) struct Media {
    /// The bytes, uncompressed.
    pub source: Arc<dyn ReadAt>,
    /// Identity of the media set.
    pub set: [u8; 16],
    /// Number of files (families) that the set has.
    pub families: u16,
    /// Number of this one, from 1.
    pub family: u16,
    /// Backup sets in order.
    pub sets: Vec<BackupSet>,
}

/// A backup in a file, which may hold several.
pub(crate) struct BackupSet {
    /// Bits of its kind: 4 full, 8 differential, 2 copy-only.
    pub kind: u32,
    /// The database.
    pub database: String,
    /// Internal version of the database.
    pub version: u16,
    /// Compatibility level.
    pub compatibility: u8,
    /// Version of the server: major, minor, build.
    pub server_version: (u8, u8, u16),
    /// The start of the backup: year, month, day, hour, minute, second.
    pub begun: [u16; 6],
    /// Positions in the log: virtual log file, block, record.
    pub first_lsn: Lsn,
    /// The end of what a restore needs of the log.
    pub last_lsn: Lsn,
    /// The checkpoint of the image.
    pub checkpoint_lsn: Lsn,
    /// The checkpoint of the full backup that a differential one rests on.
    pub base_lsn: Lsn,
    /// Files of the database, those of the log too.
    pub files: Vec<BackedUpFile>,
    /// Data streams, in groups; what a later group has counts.
    pub data: Vec<Vec<DataStream>>,
    /// Pieces of the log.
    pub log: Vec<LogPiece>,
}

/// A position in the log, as bytes: virtual log file, block, record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Lsn {
    pub virtual_log_file: u32,
    pub block: u32,
    pub record: u16,
}

impl Lsn {
    /// Reads a position of ten bytes.
    pub(crate) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self {
            virtual_log_file: u32_at(bytes, offset)?,
            block: u32_at(bytes, offset + 4)?,
            record: u16_at(bytes, offset + 8)?,
        })
    }
}

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.virtual_log_file, self.block, self.record)
    }
}

/// A file of a backed-up database.
#[derive(Debug, Clone)]
pub(crate) struct BackedUpFile {
    /// Number of the file.
    pub number: u16,
    /// Pages of it in the backup, over all stripes.
    pub pages: u32,
    /// True for a file of the log.
    pub is_log: bool,
    /// Logical name.
    pub name: String,
}

/// Pages of a data stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataStream {
    /// Offset of the first page in the container.
    pub at: u64,
    /// Bytes of pages.
    pub length: u64,
    /// The checksum over the bytes, if the backup has one.
    pub checksum: Option<u32>,
}

/// A piece of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogPiece {
    /// Offset of the first block in the container.
    pub at: u64,
    /// Bytes of blocks.
    pub length: u64,
}

impl DataStream {
    /// Compares the stream's checksum with its bytes; true if it has one.
    ///
    /// # Errors
    /// They do not agree, or cannot be read.
    pub(crate) fn verify(&self, source: &dyn ReadAt) -> Result<bool> {
        let Some(found) = self.checksum else { return Ok(false) };
        let mut sum = RunningChecksum::default();
        let mut block = vec![0; VERIFIED_BYTES];
        let mut at = self.at;
        while at < self.at + self.length {
            let count = (self.at + self.length - at).min(block.len() as u64) as usize;
            let bytes = block.get_mut(..count).unwrap_or_default();
            read(source, bytes, at, "the data")?;
            sum.add(bytes);
            at += count as u64;
        }
        match sum.value() == found {
            true => Ok(true),
            false => {
                let reason = Reason::Checksum { what: "the stream of data", found, computed: sum.value() };
                Err(FileError::new(source.name(), format!("byte {}", self.at), reason))
            }
        }
    }
}

impl Media {
    /// Reads the descriptions of a container.
    ///
    /// # Errors
    /// A block or stream is damaged, the container ends too early, or a kind of block is unknown.
    pub(crate) fn read(source: Arc<dyn ReadAt>) -> Result<Self> {
        let mut blocks = Blocks::new(Arc::clone(&source));
        let mut media = Self { source, set: [0; 16], families: 1, family: 1, sets: Vec::new() };
        let mut is_complete = false;
        while let Some(block) = blocks.next()? {
            is_complete = false;
            match &block.kind {
                b"TAPE" => media.read_family(&block)?,
                b"SSET" => media.begin_set(&block),
                b"MSCI" => media.read_database(&block)?,
                b"MSDA" => media.read_data(&block)?,
                b"MSTL" => media.read_log(&block),
                b"SFMB" | b"ESET" => is_complete = true,
                b"VOLB" | b"MSLS" => {}
                kind => {
                    let kind = letters(*kind);
                    return Err(media.error("", unsupported(format!("a block of the unknown kind {kind}"))));
                }
            }
        }
        match is_complete && !media.sets.is_empty() {
            true => Ok(media),
            false => Err(media.error("", Reason::Truncated("a backup set: its end mark is missing"))),
        }
    }

    fn read_family(&mut self, block: &Block) -> Result<()> {
        let Some(stream) = block.stream(b"RAID") else { return Ok(()) };
        let bytes = self.stream_bytes(stream)?;
        let missing = || self.error("the description of the media", Reason::Truncated("a family"));
        let set = array_at(&bytes, 0).ok_or_else(missing)?;
        let families = u16_at(&bytes, 20).ok_or_else(missing)?;
        let family = u16_at(&bytes, 24).ok_or_else(missing)?;
        (self.set, self.families, self.family) = (set, families, family);
        Ok(())
    }

    fn begin_set(&mut self, block: &Block) {
        self.sets.push(BackupSet {
            kind: u32_at(&block.bytes, 52).unwrap_or_default(),
            database: String::new(),
            version: 0,
            compatibility: 0,
            server_version: (0, 0, 0),
            begun: [0; 6],
            first_lsn: Lsn::default(),
            last_lsn: Lsn::default(),
            checkpoint_lsn: Lsn::default(),
            base_lsn: Lsn::default(),
            files: Vec::new(),
            data: Vec::new(),
            log: Vec::new(),
        });
    }

    fn read_database(&mut self, block: &Block) -> Result<()> {
        let Some(stream) = block.stream(b"MQCI") else { return Ok(()) };
        let bytes = self.stream_bytes(stream)?;
        let place = "the description of the database";
        let described = self.sets.last_mut().and_then(|set| set.describe(&bytes));
        described.ok_or_else(|| self.error(place, malformed("it has not the form of a description")))
    }

    fn read_data(&mut self, block: &Block) -> Result<()> {
        let mut streams: Vec<DataStream> = Vec::new();
        for stream in &block.streams {
            match &stream.kind {
                b"MQDA" if stream.length > 2 => {
                    streams.push(DataStream { at: stream.at + 2, length: stream.length - 2, checksum: None })
                }
                b"CSUM" => {
                    let bytes = self.stream_bytes(*stream)?;
                    if let Some(last) = streams.last_mut() {
                        last.checksum = u32_at(&bytes, 0);
                    }
                }
                b"MQDA" | b"APAD" | b"SPAD" => {}
                kind => {
                    let kind = letters(*kind);
                    return Err(
                        self.error("the data", unsupported(format!("a stream of the unknown kind {kind}")))
                    );
                }
            }
        }
        if let Some(set) = self.sets.last_mut() {
            set.data.push(streams);
        }
        Ok(())
    }

    fn read_log(&mut self, block: &Block) {
        let (Some(begin), Some(end)) = (u64_at(&block.bytes, 60), u64_at(&block.bytes, 68)) else { return };
        let stream = block.streams.iter().find(|stream| &stream.kind == b"MQTL" && stream.length > 2);
        if let (Some(stream), Some(set)) = (stream, self.sets.last_mut()) {
            // What follows the end is old memory.
            let length = end.saturating_sub(begin).min(stream.length - 2);
            set.log.push(LogPiece { at: stream.at + 2, length });
        }
    }

    fn stream_bytes(&self, stream: Stream) -> Result<Vec<u8>> {
        if stream.length > DESCRIPTION_BYTES_MAX {
            let kind = letters(stream.kind);
            return Err(self.error("", malformed(format!("stream {kind} has {} bytes", stream.length))));
        }
        let mut bytes = vec![0; stream.length as usize];
        read(&*self.source, &mut bytes, stream.at, "a stream")?;
        Ok(bytes)
    }

    fn error(&self, place: &str, reason: Reason) -> FileError {
        FileError::new(self.source.name(), place, reason)
    }
}

impl Block {
    fn stream(&self, kind: &[u8; 4]) -> Option<Stream> {
        self.streams.iter().find(|stream| &stream.kind == kind).copied()
    }
}

impl BackupSet {
    /// Reads the database's description: `SCIN`, then a block for each file group and file.
    fn describe(&mut self, bytes: &[u8]) -> Option<()> {
        if !bytes.starts_with(b"SCIN") {
            return None;
        }
        self.server_version = (u8_at(bytes, 27)?, u8_at(bytes, 26)?, u16_at(bytes, 24)?);
        self.first_lsn = Lsn::at(bytes, 32)?;
        self.last_lsn = Lsn::at(bytes, 42)?;
        self.checkpoint_lsn = Lsn::at(bytes, 52)?;
        self.base_lsn = Lsn::at(bytes, 62)?;
        self.begun = moment(array_at(bytes, 77)?);
        self.compatibility = u8_at(bytes, 91)?;
        self.version = u16_at(bytes, 94)?;
        self.database = text_at(bytes, 104)?;
        let mut rest = bytes;
        loop {
            let length = usize::try_from(u32_at(rest, 4)?).ok()?;
            if rest.starts_with(b"SFIN") {
                self.files.push(file(rest)?);
            }
            // The last block's length leads to the end.
            rest = match rest.get(length..) {
                Some(next) if length > 0 && next.len() >= 8 => next,
                _ => return Some(()),
            };
            if !rest.starts_with(b"SF") {
                return Some(());
            }
        }
    }

    /// Returns true for the whole database.
    pub(crate) fn is_full(&self) -> bool {
        self.kind & 4 != 0 && !self.data.is_empty()
    }

    /// Returns true for what changed since a full backup.
    pub(crate) fn is_differential(&self) -> bool {
        self.kind & 8 != 0 && !self.data.is_empty()
    }
}

/// Reads the description of a file.
fn file(bytes: &[u8]) -> Option<BackedUpFile> {
    Some(BackedUpFile {
        number: u16_at(bytes, 20)?,
        pages: u32_at(bytes, 24)?,
        is_log: u16_at(bytes, 28)? == 2,
        name: text_at(bytes, 48)?,
    })
}

/// Reads a moment of five bytes: 14 bits of year, then month, day, hour, minute, second.
fn moment(bytes: [u8; 5]) -> [u16; 6] {
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    [(26, 14), (22, 4), (17, 5), (12, 5), (6, 6), (0, 6)].map(|(shift, bits)| {
        let mask = (1_u64 << bits) - 1;
        (number >> shift & mask) as u16
    })
}
