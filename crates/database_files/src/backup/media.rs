//! The description that a backup has of itself: the family of a file, its sets, their databases, files and positions in the
//! log.

use std::sync::Arc;

use super::blocks::{Block, Blocks, Stream, letters, read};
use super::header::{
    BackupHeader, BackupKind, MediaLabel, OWN_CONTENT, OWN_ENTRY, OWN_PACKAGE, OWN_PACKED, OWN_SOFTWARE,
    moment,
};
use crate::{
    error::{FileError, Reason, Result, malformed, unsupported},
    little_endian::{array_at, u8_at, u16_at, u32_at, u64_at},
    pages::{PAGE_BYTES, PageAddress, RunningChecksum, header_address, kind},
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
    /// The label of the file.
    pub label: MediaLabel,
    /// Backup sets in order.
    pub sets: Vec<BackupSet>,
}

/// A backup in a file, which may hold several.
pub(crate) struct BackupSet {
    /// The set's own description.
    pub header: BackupHeader,
    /// Data streams, in groups; what a later group has counts.
    pub data: Vec<Vec<DataStream>>,
    /// Pieces of the log.
    pub log: Vec<LogPiece>,
    /// The contents of a backup that the embedded server made.
    pub own: Option<OwnStreams>,
    /// True once the end of the set was read.
    is_ended: bool,
}

/// The streams of a backup that the embedded server made.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnStreams {
    /// The server's copy of the database or of its log.
    pub content: Option<DataStream>,
    /// True if the copy is packed.
    pub is_packed: bool,
    /// The package of the database's tables.
    pub package: Option<DataStream>,
    /// The entry of the server's catalogue, as text.
    pub entry: Vec<u8>,
}

/// A position in the log, as bytes: virtual log file, block, record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Lsn {
    /// Number of the virtual log file.
    pub virtual_log_file: u32,
    /// Number of the block in it, in units of 512 bytes.
    pub block: u32,
    /// Number of the record in the block, from 1.
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
        let label = MediaLabel { families: 1, family: 1, ..MediaLabel::default() };
        let mut media = Self { source, label, sets: Vec::new() };
        let mut is_complete = false;
        loop {
            let start = blocks.position();
            let Some(block) = blocks.next()? else { break };
            is_complete = false;
            match &block.kind {
                b"TAPE" => media.read_family(&block)?,
                b"SSET" => media.begin_set(&block, start),
                b"MSCI" => media.read_database(&block)?,
                b"MSDA" => media.read_data(&block)?,
                b"MSTL" => media.read_log(&block)?,
                b"ESET" => {
                    is_complete = true;
                    media.end_set(&block, blocks.position());
                }
                b"SFMB" => is_complete = true,
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
        let label = &mut self.label;
        (label.set_id, label.families, label.family) = (set, families, family);
        label.mirrors = u16_at(&bytes, 22).unwrap_or(1);
        label.describe(&block.bytes);
        Ok(())
    }

    fn begin_set(&mut self, block: &Block, start: u64) {
        let position = u16_at(&block.bytes, 62).unwrap_or_default();
        let mut header = BackupHeader::of_set(block, position);
        // The place of the set in the file, until its end says how long it is.
        header.stored_bytes = start;
        header.is_own = self.label.software == OWN_SOFTWARE;
        self.sets.push(BackupSet { header, data: Vec::new(), log: Vec::new(), own: None, is_ended: false });
    }

    fn end_set(&mut self, block: &Block, end: u64) {
        let Some(set) = self.sets.last_mut().filter(|set| !set.is_ended) else { return };
        set.is_ended = true;
        set.header.stored_bytes = end.saturating_sub(set.header.stored_bytes);
        set.header.is_compressed =
            self.label.is_compressed || set.own.as_ref().is_some_and(|own| own.is_packed);
        if let Some(finished) = array_at(&block.bytes, 80) {
            set.header.finished = moment(finished);
        }
    }

    fn read_database(&mut self, block: &Block) -> Result<()> {
        let Some(stream) = block.stream(b"MQCI") else { return Ok(()) };
        let bytes = self.stream_bytes(stream)?;
        let place = "the description of the database";
        let described = self.sets.last_mut().and_then(|set| set.header.describe(&bytes));
        described.ok_or_else(|| self.error(place, malformed("it has not the form of a description")))
    }

    fn read_data(&mut self, block: &Block) -> Result<()> {
        if self.read_own(block)? {
            return Ok(());
        }
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
        let status = streams.first().and_then(|first| boot_status(&*self.source, *first));
        if let Some(set) = self.sets.last_mut() {
            set.header.has_checksums |= streams.iter().any(|stream| stream.checksum.is_some());
            set.header.recovery_model = set.header.recovery_model.or(status.map(recovery_model));
            set.data.push(streams);
        }
        Ok(())
    }

    /// Reads the streams that the embedded server writes; false if there is none.
    fn read_own(&mut self, block: &Block) -> Result<bool> {
        let is_own = |stream: &Stream| [OWN_CONTENT, OWN_PACKED].contains(&&stream.kind);
        if !block.streams.iter().any(is_own) {
            return Ok(false);
        }
        let mut own = OwnStreams::default();
        for stream in &block.streams {
            match &stream.kind {
                OWN_CONTENT | OWN_PACKED => {
                    own.content = Some(DataStream { at: stream.at, length: stream.length, checksum: None });
                    own.is_packed = &stream.kind == OWN_PACKED;
                }
                OWN_PACKAGE => {
                    own.package = Some(DataStream { at: stream.at, length: stream.length, checksum: None });
                }
                OWN_ENTRY => own.entry = self.stream_bytes(*stream)?,
                b"CSUM" => {
                    let bytes = self.stream_bytes(*stream)?;
                    if let Some(content) = &mut own.content {
                        content.checksum = u32_at(&bytes, 0);
                    }
                }
                b"APAD" | b"SPAD" => {}
                kind => {
                    let kind = letters(*kind);
                    return Err(
                        self.error("the data", unsupported(format!("a stream of the unknown kind {kind}")))
                    );
                }
            }
        }
        if let Some(set) = self.sets.last_mut() {
            set.header.has_checksums = own.content.is_some_and(|content| content.checksum.is_some());
            set.own = Some(own);
        }
        Ok(true)
    }

    fn read_log(&mut self, block: &Block) -> Result<()> {
        if self.read_own(block)? {
            return Ok(());
        }
        let (Some(begin), Some(end)) = (u64_at(&block.bytes, 60), u64_at(&block.bytes, 68)) else {
            return Ok(());
        };
        let stream = block.streams.iter().find(|stream| &stream.kind == b"MQTL" && stream.length > 2);
        if let (Some(stream), Some(set)) = (stream, self.sets.last_mut()) {
            // What follows the end is old memory.
            let length = end.saturating_sub(begin).min(stream.length - 2);
            set.log.push(LogPiece { at: stream.at + 2, length });
        }
        Ok(())
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
    /// Returns true for the whole database.
    pub(crate) fn is_full(&self) -> bool {
        self.header.kind == BackupKind::Full && !self.data.is_empty()
    }

    /// Returns true for what changed since a full backup.
    pub(crate) fn is_differential(&self) -> bool {
        self.header.kind == BackupKind::Differential && !self.data.is_empty()
    }
}

/// Returns the status in the boot page, which is in the second extent of every backup's first stream.
fn boot_status(source: &dyn ReadAt, stream: DataStream) -> Option<u32> {
    const BOOT_AT: u64 = 9 * PAGE_BYTES as u64;
    if stream.length < BOOT_AT + PAGE_BYTES as u64 {
        return None;
    }
    let mut page = [0; 136];
    source.read_exact_at(&mut page, stream.at + BOOT_AT).ok()?;
    let is_boot = u8_at(&page, 1) == Some(kind::BOOT)
        && header_address(&page) == Some(PageAddress { file: 1, page: 9 });
    u32_at(&page, 132).filter(|_| is_boot)
}

/// Returns the recovery model that the status of a database says: bit 8 truncates the log at checkpoints, bit 4 is for bulk
/// operations.
fn recovery_model(status: u32) -> &'static str {
    match (status & 8 != 0, status & 4 != 0) {
        (true, _) => "SIMPLE",
        (_, true) => "BULK-LOGGED",
        _ => "FULL",
    }
}
