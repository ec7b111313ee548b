//! Segment files: append-only runs of frames, each one record batch with its own checksum.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::SchemaRef;

use crate::TableId;
use crate::codec::{Reader, Writer};
use crate::error::StoreError;
use crate::message::{MessageEncoder, SEGMENT_ALIGNMENT, decode_message};
use crate::small_rows::batch_bytes;
use crate::storage::{AppendFile, ReadFile, Storage};

/// First bytes of every frame.
const FRAME_MAGIC: u32 = u32::from_le_bytes(*b"BWFR");
const HEADER_LENGTH_BYTES: usize = 64;
/// Bytes of the header that the checksum does not cover: magic and the checksum itself.
const UNCHECKED_BYTES: usize = 8;
/// Larger batches are cut, so that a reader never needs more memory than this for one frame (but for a single huge row).
const FRAME_BYTES_TARGET: usize = 16 << 20;
const NAME_PREFIX: &str = "segment-";
const NAME_SUFFIX: &str = ".rows";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SegmentId(pub u64);

impl SegmentId {
    pub fn file_name(self) -> String {
        format!("{NAME_PREFIX}{:016x}{NAME_SUFFIX}", self.0)
    }

    pub fn from_file_name(name: &str) -> Option<Self> {
        let digits = name.strip_prefix(NAME_PREFIX)?.strip_suffix(NAME_SUFFIX)?;
        let id = Self(u64::from_str_radix(digits, 16).ok()?);
        (id.file_name() == name).then_some(id)
    }
}

/// The file behind a segment. Removed from disk when the last user lets go, if it is doomed: never committed, or replaced.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub id: SegmentId,
    pub table: TableId,
    storage: Arc<dyn Storage>,
    doomed: AtomicBool,
}

impl SegmentFile {
    /// A file that the journal refers to.
    pub fn committed(id: SegmentId, table: TableId, storage: Arc<dyn Storage>) -> Arc<Self> {
        Arc::new(Self { id, table, storage, doomed: AtomicBool::new(false) })
    }

    pub fn set_doomed(&self, doomed: bool) {
        self.doomed.store(doomed, Ordering::Release);
    }

    fn error(&self, operation: &'static str, offset: Option<u64>, source: std::io::Error) -> StoreError {
        StoreError::Io { operation, path: self.storage.path(&self.id.file_name()), offset, source }
    }

    fn corrupt(&self, offset: u64, reason: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.storage.path(&self.id.file_name()), offset, reason: reason.into() }
    }
}

impl Drop for SegmentFile {
    fn drop(&mut self) {
        if *self.doomed.get_mut() {
            // A file that stays behind is not referred to, and goes when the database is next opened.
            let _ = self.storage.remove(&self.id.file_name());
        }
    }
}

/// Where one batch lies. The offset is the sum of the lengths before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub offset: u64,
    pub length_bytes: u32,
    pub rows: u32,
}

/// An immutable run of frames at the start of a file.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub file: Arc<SegmentFile>,
    pub frames: Arc<[Frame]>,
    pub rows: u64,
    pub length_bytes: u64,
}

impl Segment {
    /// From (length, rows) of each frame in order. None if the lengths overflow.
    pub fn new(file: Arc<SegmentFile>, frames: impl IntoIterator<Item = (u32, u32)>) -> Option<Self> {
        let (mut offset, mut rows) = (0_u64, 0_u64);
        let mut placed = Vec::new();
        for (length_bytes, frame_rows) in frames {
            placed.push(Frame { offset, length_bytes, rows: frame_rows });
            offset = offset.checked_add(u64::from(length_bytes))?;
            rows = rows.checked_add(u64::from(frame_rows))?;
        }
        Some(Self { file, frames: placed.into(), rows, length_bytes: offset })
    }

    pub fn open(&self) -> Result<SegmentReader, StoreError> {
        let name = self.file.id.file_name();
        match self.file.storage.open(&name) {
            Ok(reader) => Ok(SegmentReader { segment: self.clone(), reader }),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                Err(self.file.corrupt(0, "the file is missing"))
            }
            Err(source) => Err(self.file.error("open", None, source)),
        }
    }
}

/// Reads frames of one segment.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    segment: Segment,
    reader: Box<dyn ReadFile>,
}

impl SegmentReader {
    pub fn file(&self) -> &Arc<SegmentFile> {
        &self.segment.file
    }

    /// Reads, verifies and decodes frame `index`.
    pub fn read(
        &self,
        index: usize,
        schema: &SchemaRef,
        projection: Option<&[usize]>,
    ) -> Result<RecordBatch, StoreError> {
        let file = &self.segment.file;
        let Some(frame) = self.segment.frames.get(index) else {
            return Err(file.corrupt(self.segment.length_bytes, format!("no frame {index}")));
        };
        let corrupt = |reason: String| file.corrupt(frame.offset, reason);
        let end = frame.offset.saturating_add(u64::from(frame.length_bytes));
        // Before memory is taken for it: the length comes from the journal, the file may be cut.
        let file_bytes =
            self.reader.length_bytes().map_err(|source| file.error("read the length of", None, source))?;
        if file_bytes < end {
            return Err(corrupt(format!("the file ends at byte {file_bytes}, the frame at {end}")));
        }
        let mut buffer = MutableBuffer::from_len_zeroed(frame.length_bytes as usize);
        self.reader
            .read_exact_at(frame.offset, buffer.as_slice_mut())
            .map_err(|source| file.error("read", Some(frame.offset), source))?;
        let buffer = Buffer::from(buffer);
        check_header(&buffer, file, frame).map_err(&corrupt)?;
        let batch = decode_message(&buffer.slice(HEADER_LENGTH_BYTES), schema, projection)
            .map_err(|error| corrupt(error.reason))?;
        if batch.num_rows() != frame.rows as usize {
            return Err(corrupt(format!("{} rows, the journal says {}", batch.num_rows(), frame.rows)));
        }
        Ok(batch)
    }
}

/// Appends frames to a file of its own. What it wrote is private until a commit refers to it.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    file: Arc<SegmentFile>,
    output: Box<dyn AppendFile>,
    encoder: MessageEncoder,
    frames: Vec<Frame>,
    length_bytes: u64,
    damaged: bool,
    synced: bool,
}

impl SegmentWriter {
    pub fn create(
        id: SegmentId,
        table: TableId,
        schema: &SchemaRef,
        storage: &Arc<dyn Storage>,
    ) -> Result<Self, StoreError> {
        let encoder = MessageEncoder::new(schema, SEGMENT_ALIGNMENT)?;
        let file =
            Arc::new(SegmentFile { id, table, storage: Arc::clone(storage), doomed: AtomicBool::new(true) });
        let output = storage.create(&id.file_name()).map_err(|source| file.error("create", None, source))?;
        Ok(Self { file, output, encoder, frames: Vec::new(), length_bytes: 0, damaged: false, synced: false })
    }

    pub fn file(&self) -> &Arc<SegmentFile> {
        &self.file
    }

    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// False after a failed write: the file may end in a torn frame, nothing more is appended to it.
    pub fn can_append(&self) -> bool {
        !self.damaged
    }

    /// Writes a batch as one frame, or several if it is large. On error none of its rows count.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        let rows = batch.num_rows();
        let frames = batch_bytes(batch).div_ceil(FRAME_BYTES_TARGET).max(1);
        let rows_per_frame = rows.div_ceil(frames).max(1);
        let before = self.frames.len();
        let mut first = 0;
        while first < rows {
            let count = rows_per_frame.min(rows - first);
            if let Err(error) = self.append_frame(&batch.slice(first, count)) {
                self.frames.truncate(before);
                let length =
                    self.frames.last().map_or(0, |frame| frame.offset + u64::from(frame.length_bytes));
                self.length_bytes = length;
                // Gives the space back at once; if that fails too, the torn tail is dead space of this file.
                self.damaged = self.output.truncate(length).is_err();
                return Err(error);
            }
            first += count;
        }
        Ok(())
    }

    fn append_frame(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        let pieces = self.encoder.encode(batch)?;
        let message_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let padding = message_bytes.next_multiple_of(SEGMENT_ALIGNMENT) - message_bytes;
        let length = (HEADER_LENGTH_BYTES + message_bytes + padding) as u64;
        let too_large =
            || StoreError::TooLarge { what: "frame", bytes: length, limit_bytes: u64::from(u32::MAX) };
        let length_bytes = u32::try_from(length).map_err(|_| too_large())?;
        let rows = u32::try_from(batch.num_rows()).map_err(|_| too_large())?;
        let frame = Frame { offset: self.length_bytes, length_bytes, rows };

        let padding = [0; SEGMENT_ALIGNMENT].get(..padding).unwrap_or_default().to_vec();
        let mut header = encode_header(&self.file, &frame);
        let mut crc = crc32fast::Hasher::new();
        crc.update(header.get(UNCHECKED_BYTES..).unwrap_or_default());
        pieces.iter().for_each(|piece| crc.update(piece));
        crc.update(&padding);
        if let Some(place) = header.get_mut(4..8) {
            place.copy_from_slice(&crc.finalize().to_le_bytes());
        }

        let mut slices = Vec::with_capacity(pieces.len() + 2);
        slices.push(IoSlice::new(&header));
        slices.extend(pieces.iter().map(|piece| IoSlice::new(piece)));
        slices.push(IoSlice::new(&padding));
        self.synced = false;
        self.output
            .append(&mut slices)
            .map_err(|source| self.file.error("write", Some(self.length_bytes), source))?;
        self.frames.push(frame);
        self.length_bytes += length;
        Ok(())
    }

    /// Makes the frames durable; the directory entry is the caller's to sync. Returns the bytes synced.
    pub fn sync(&mut self) -> Result<u64, StoreError> {
        if self.synced {
            return Ok(0);
        }
        self.output.sync().map_err(|source| self.file.error("sync", None, source))?;
        self.synced = true;
        Ok(self.length_bytes)
    }

    /// The first `frames` frames as a segment.
    pub fn segment(&self, frames: usize) -> Segment {
        let frames: Arc<[Frame]> = self.frames.iter().take(frames).copied().collect();
        Segment {
            file: Arc::clone(&self.file),
            rows: frames.iter().map(|frame| u64::from(frame.rows)).sum(),
            length_bytes: frames.iter().map(|frame| u64::from(frame.length_bytes)).sum(),
            frames,
        }
    }
}

/// Header: magic, CRC-32, frame length, rows, table, segment, offset; zeros to 64 bytes. The identity is in it so that a
/// frame read from the wrong place never passes for the right one.
fn encode_header(file: &SegmentFile, frame: &Frame) -> Vec<u8> {
    let mut header = Writer::default();
    header.u32(FRAME_MAGIC);
    header.u32(0);
    header.u32(frame.length_bytes);
    header.u32(frame.rows);
    header.u64(file.table.0);
    header.u64(file.id.0);
    header.u64(frame.offset);
    let mut header = header.into_bytes();
    header.resize(HEADER_LENGTH_BYTES, 0);
    header
}

fn check_header(bytes: &[u8], file: &SegmentFile, frame: &Frame) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    let mut header = || -> Result<(u32, u32), crate::codec::CodecError> {
        let magic = reader.u32("magic")?;
        let crc = reader.u32("crc")?;
        Ok((magic, crc))
    };
    let (magic, stored) = header().map_err(|error| error.to_string())?;
    if magic != FRAME_MAGIC {
        return Err(format!("no frame here (magic {magic:#010x})"));
    }
    let computed = crc32fast::hash(bytes.get(UNCHECKED_BYTES..).unwrap_or_default());
    if computed != stored {
        return Err(format!("checksum {computed:#010x}, stored {stored:#010x}"));
    }
    let expected = encode_header(file, frame);
    if bytes.get(UNCHECKED_BYTES..HEADER_LENGTH_BYTES) != expected.get(UNCHECKED_BYTES..) {
        return Err("the frame belongs to another place".to_owned());
    }
    Ok(())
}

/// Frames `range` of a segment, as a unit of scanning.
#[derive(Debug, Clone)]
pub(crate) struct FrameRange {
    pub segment: Segment,
    pub frames: Range<usize>,
}
