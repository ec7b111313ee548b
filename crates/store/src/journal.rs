//! The journal: a header, one record with the whole catalogue, then one record per transaction.

use std::io::{self, IoSlice};
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::codec::{Reader, Writer};
use crate::database::Sync;
use crate::error::{OpenError, StoreError};
use crate::record::{RecordHead, apply_record, decode_head};
use crate::segment::SegmentFile;
use crate::storage::{AppendFile, Storage};

pub(crate) const JOURNAL: &str = "journal";
/// A journal being written by a checkpoint; means nothing until it is renamed.
pub(crate) const NEW_JOURNAL: &str = "journal.new";

const FORMAT_VERSION: u32 = 1;
const FILE_MAGIC: &[u8; 8] = b"BWSTORE\n";
const FILE_HEADER_LENGTH_BYTES: usize = 16;
const RECORD_MAGIC: [u8; 4] = *b"BWRE";
const RECORD_HEADER_LENGTH_BYTES: usize = 12;
/// Far above what a transaction may carry inline, far below what would trouble memory.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// The journal being appended to.
#[derive(Debug)]
pub(crate) struct Journal {
    storage: Arc<dyn Storage>,
    sync: Sync,
    output: Box<dyn AppendFile>,
    pub length_bytes: u64,
    /// Length after the last checkpoint.
    pub base_bytes: u64,
    pub durable_sequence: u64,
    /// Set when it is not known what the file on disk holds: only a new journal can be trusted again.
    pub broken: bool,
    /// Files that a record of unknown outcome, or a journal that may come back, still refers to.
    pub limbo: Vec<Arc<SegmentFile>>,
}

/// Why a record was not appended.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The record is certainly not in the journal.
    NotWritten(StoreError),
    /// It may or may not be.
    Unknown(StoreError),
}

impl Journal {
    /// Writes a new journal with one record and puts it in the place of the old one.
    ///
    /// If `Err((error, true))`, it is not known which of the two a crash would leave.
    pub fn replace(
        storage: &Arc<dyn Storage>,
        sync: Sync,
        sequence: u64,
        base: &[u8],
    ) -> Result<Self, (StoreError, bool)> {
        let new = storage.path(NEW_JOURNAL);
        let error = |operation, source| StoreError::Io { operation, path: new.clone(), offset: None, source };
        let frame = frame_record(base).map_err(|error| (error, false))?;
        let header = file_header();
        let write = || -> Result<Box<dyn AppendFile>, StoreError> {
            let mut output = storage.create(NEW_JOURNAL).map_err(|source| error("create", source))?;
            output
                .append(&mut [IoSlice::new(&header), IoSlice::new(&frame), IoSlice::new(base)])
                .map_err(|source| error("write", source))?;
            if sync == Sync::Full {
                output.sync().map_err(|source| error("sync", source))?;
            }
            Ok(output)
        };
        let output = write().map_err(|error| {
            let _ = storage.remove(NEW_JOURNAL);
            (error, false)
        })?;
        storage.rename(NEW_JOURNAL, JOURNAL).map_err(|source| (error("rename", source), true))?;
        if sync == Sync::Full {
            storage.sync_directory().map_err(|source| (error("sync the directory of", source), true))?;
        }
        let length_bytes = (header.len() + frame.len() + base.len()) as u64;
        Ok(Self {
            storage: Arc::clone(storage),
            sync,
            output,
            length_bytes,
            base_bytes: length_bytes,
            durable_sequence: sequence,
            broken: false,
            limbo: Vec::new(),
        })
    }

    /// Appends one record and makes it durable. Returns its size in bytes.
    pub fn append(&mut self, sequence: u64, payload: &[u8]) -> Result<u64, AppendError> {
        let frame = frame_record(payload).map_err(AppendError::NotWritten)?;
        let offset = self.length_bytes;
        let mut written = self
            .output
            .append(&mut [IoSlice::new(&frame), IoSlice::new(payload)])
            .map_err(|error| ("write", error));
        if written.is_ok() && self.sync == Sync::Full {
            written = self.output.sync().map_err(|error| ("sync", error));
        }
        if let Err((operation, source)) = written {
            let error =
                StoreError::Io { operation, path: self.storage.path(JOURNAL), offset: Some(offset), source };
            // Cut the record off again. Only if that is durable is the record certainly gone.
            return match self.output.truncate(offset).and_then(|()| self.output.sync()) {
                Ok(()) => Err(AppendError::NotWritten(error)),
                Err(_) => {
                    self.broken = true;
                    Err(AppendError::Unknown(error))
                }
            };
        }
        if self.sync == Sync::Full {
            self.durable_sequence = sequence;
        }
        let record_bytes = (frame.len() + payload.len()) as u64;
        self.length_bytes += record_bytes;
        Ok(record_bytes)
    }
}

/// What a journal on disk says.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub journal: Journal,
    pub catalogue: Catalogue,
    pub next_table: u64,
    pub next_segment: u64,
}

/// Reads the journal, cuts off the torn record that a crash may have left at its end, and goes on after it.
pub(crate) fn recover(storage: &Arc<dyn Storage>, sync: Sync) -> Result<Recovered, OpenError> {
    let path = storage.path(JOURNAL);
    let bytes = read_all(storage).map_err(|source| io_error(storage, "read", source))?;
    check_file_header(storage, &bytes)?;
    let corrupt = |offset: usize, reason: String| {
        OpenError::Store(StoreError::Corrupt { path: path.clone(), offset: offset as u64, reason })
    };

    let mut catalogue = Catalogue::default();
    let mut last: Option<RecordHead> = None;
    let (mut offset, mut base_end) = (FILE_HEADER_LENGTH_BYTES, 0);
    while offset < bytes.len() {
        let record = match next_record(&bytes, offset) {
            Ok(record) => record,
            Err(reason) => {
                let Some(last) = last else { return Err(corrupt(offset, reason)) };
                if later_record_relies_on(&bytes, offset, last.sequence.saturating_add(1)) {
                    return Err(corrupt(offset, format!("{reason}; records after it are intact")));
                }
                break;
            }
        };
        let damaged = |error: crate::codec::CodecError| {
            corrupt(offset + RECORD_HEADER_LENGTH_BYTES + error.position, error.to_string())
        };
        let mut reader = Reader::new(record);
        let head = decode_head(&mut reader).map_err(damaged)?;
        match last {
            None if !head.base => return Err(corrupt(offset, "the first record is not a base".to_owned())),
            Some(_) if head.base => return Err(corrupt(offset, "a second base record".to_owned())),
            Some(last) if head.sequence != last.sequence.wrapping_add(1) => {
                return Err(corrupt(
                    offset,
                    format!("record {} after record {}", head.sequence, last.sequence),
                ));
            }
            _ => {}
        }
        apply_record(reader, head.sequence, storage, &mut catalogue).map_err(damaged)?;
        last = Some(head);
        offset += RECORD_HEADER_LENGTH_BYTES + record.len();
        if head.base {
            base_end = offset;
        }
    }
    let Some(last) = last else { return Err(corrupt(offset, "no record".to_owned())) };

    let length_bytes = offset as u64;
    let mut output = storage
        .open_append(JOURNAL, length_bytes)
        .map_err(|source| io_error(storage, "open for writing", source))?;
    if sync == Sync::Full {
        // What was read may have been written without a sync: from here on it is relied on.
        output.sync().map_err(|source| io_error(storage, "sync", source))?;
    }
    let durable_sequence = if sync == Sync::Full { last.sequence } else { last.durable_sequence };
    let journal = Journal {
        storage: Arc::clone(storage),
        sync,
        output,
        length_bytes,
        base_bytes: base_end as u64,
        durable_sequence,
        broken: false,
        limbo: Vec::new(),
    };
    Ok(Recovered { journal, catalogue, next_table: last.next_table, next_segment: last.next_segment })
}

fn io_error(storage: &Arc<dyn Storage>, operation: &'static str, source: io::Error) -> StoreError {
    StoreError::Io { operation, path: storage.path(JOURNAL), offset: None, source }
}

fn read_all(storage: &Arc<dyn Storage>) -> io::Result<Vec<u8>> {
    let file = storage.open(JOURNAL)?;
    let length = usize::try_from(file.length_bytes()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(0, &mut bytes)?;
    Ok(bytes)
}

fn file_header() -> Vec<u8> {
    let mut header = Writer::default();
    let mut bytes = FILE_MAGIC.to_vec();
    header.u32(FORMAT_VERSION);
    bytes.extend(header.into_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn check_file_header(storage: &Arc<dyn Storage>, bytes: &[u8]) -> Result<(), OpenError> {
    let path = storage.path(JOURNAL);
    let mut reader = Reader::new(bytes);
    let corrupt = |reason: String| StoreError::Corrupt { path: path.clone(), offset: 0, reason };
    let short = |error: crate::codec::CodecError| corrupt(error.to_string());
    let magic = reader.take(FILE_MAGIC.len(), "magic").map_err(short)?;
    let version = reader.u32("version").map_err(short)?;
    let crc = reader.u32("crc").map_err(short)?;
    if magic != FILE_MAGIC {
        return Err(corrupt("not a journal".to_owned()).into());
    }
    if crc != crc32fast::hash(bytes.get(..FILE_HEADER_LENGTH_BYTES - 4).unwrap_or_default()) {
        return Err(corrupt("checksum of the header".to_owned()).into());
    }
    if version != FORMAT_VERSION {
        return Err(OpenError::Version { path, found: version, supported: FORMAT_VERSION });
    }
    Ok(())
}

/// Record header: magic, payload length, CRC-32 over length and payload.
fn frame_record(payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    let too_large = StoreError::TooLarge {
        what: "journal record",
        bytes: payload.len() as u64,
        limit_bytes: RECORD_BYTES_MAX as u64,
    };
    let length = match u32::try_from(payload.len()) {
        Ok(length) if payload.len() <= RECORD_BYTES_MAX => length,
        _ => return Err(too_large),
    };
    let mut header = RECORD_MAGIC.to_vec();
    header.extend(length.to_le_bytes());
    header.extend(record_crc(length, payload).to_le_bytes());
    Ok(header)
}

fn record_crc(length: u32, payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&length.to_le_bytes());
    crc.update(payload);
    crc.finalize()
}

fn next_record(bytes: &[u8], offset: usize) -> Result<&[u8], String> {
    let mut reader = Reader::new(bytes.get(offset..).unwrap_or_default());
    let short = |error: crate::codec::CodecError| error.to_string();
    let magic = reader.take(RECORD_MAGIC.len(), "record magic").map_err(short)?;
    if magic != RECORD_MAGIC {
        return Err("no record here".to_owned());
    }
    let length = reader.u32("record length").map_err(short)?;
    let crc = reader.u32("record crc").map_err(short)?;
    let payload = reader.take(length as usize, "record").map_err(short)?;
    if record_crc(length, payload) != crc {
        return Err("checksum of the record".to_owned());
    }
    Ok(payload)
}

/// True if an intact record after `offset` says that record `sequence` had been synced: then what is at `offset` was not
/// torn by a crash, but damaged afterwards.
fn later_record_relies_on(bytes: &[u8], offset: usize, sequence: u64) -> bool {
    let tail = bytes.get(offset..).unwrap_or_default();
    tail.windows(RECORD_MAGIC.len()).enumerate().skip(1).any(|(at, window)| {
        window == RECORD_MAGIC
            && next_record(tail, at)
                .ok()
                .and_then(|record| decode_head(&mut Reader::new(record)).ok())
                .is_some_and(|head| head.durable_sequence >= sequence)
    })
}
