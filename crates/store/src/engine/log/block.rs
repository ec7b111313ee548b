//! Blocks: what is written to the log at once. A multiple of 512 bytes, with a checksum.

use std::ops::Range;

use super::super::error::EngineError;
use super::super::lsn::Lsn;
use super::super::volume::VolumeFile;
use super::file_name;

/// Blocks start at multiples of this.
pub const UNIT_BYTES: usize = 512;
/// Longest block.
pub const BLOCK_LIMIT_BYTES: usize = 60 << 10;
const HEADER_BYTES: usize = 32;
const MAGIC: &[u8; 4] = b"BWLB";
const FILE_MAGIC: &[u8; 8] = b"BWVLF1\r\n";

/// The first 512 bytes of a virtual log file: magic, number, where the file before it ends, checksum of the first 16 bytes.
pub fn file_header(number: u32, previous_end: u32) -> Vec<u8> {
    let mut header = Vec::with_capacity(UNIT_BYTES);
    header.extend_from_slice(FILE_MAGIC);
    header.extend_from_slice(&number.to_le_bytes());
    header.extend_from_slice(&previous_end.to_le_bytes());
    let sum = crc32fast::hash(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header.resize(UNIT_BYTES, 0);
    header
}

/// Where the file before ends; None: no header of file `number`.
pub fn parse_file_header(bytes: &[u8], number: u32) -> Option<u32> {
    let previous_end = u32_at(bytes, 12)?;
    (bytes.get(..UNIT_BYTES)? == file_header(number, previous_end)).then_some(previous_end)
}

/// The block being filled.
#[derive(Debug)]
pub struct OpenBlock {
    file: u32,
    position: u32,
    bytes: Vec<u8>,
    records: u16,
    durable: Lsn,
}

impl OpenBlock {
    pub fn new(file: u32, position: u32) -> Self {
        let durable = Lsn { file, block: position, record: 0 };
        Self { file, position, bytes: vec![0; HEADER_BYTES], records: 0, durable }
    }

    /// Position of the block in units.
    pub fn position(&self) -> u32 {
        self.position
    }

    pub fn start(&self) -> Lsn {
        Lsn { file: self.file, block: self.position, record: 0 }
    }

    pub fn next_lsn(&self) -> Lsn {
        Lsn { file: self.file, block: self.position, record: self.records + 1 }
    }

    pub fn length_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn fits(&self, length: usize) -> bool {
        self.records == 0
            || (self.bytes.len() + 4 + length <= BLOCK_LIMIT_BYTES && self.records < u16::MAX - 1)
    }

    pub fn set_durable(&mut self, durable: Lsn) {
        self.durable = durable;
    }

    pub fn push(&mut self, record: &[u8]) -> Lsn {
        let lsn = self.next_lsn();
        self.bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(record);
        self.records += 1;
        lsn
    }

    pub fn record(&self, number: u16) -> Option<Vec<u8>> {
        nth_record(self.bytes.get(HEADER_BYTES..)?, number)
    }

    /// Puts another record of the same length in the place of one.
    pub fn replace(&mut self, number: u16, record: &[u8]) -> bool {
        self.bytes.get_mut(HEADER_BYTES..).is_some_and(|records| replace_nth(records, number, record))
    }

    /// Appends the block to `out`, unless it is empty, and starts the next one behind it.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if self.records == 0 {
            return;
        }
        let length = (self.bytes.len() - HEADER_BYTES) as u32;
        self.bytes.resize(self.bytes.len().next_multiple_of(UNIT_BYTES), 0);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&[0; 4]);
        for field in
            [self.file, self.position, length, u32::from(self.records), self.durable.file, self.durable.block]
        {
            header.extend_from_slice(&field.to_le_bytes());
        }
        if let Some(place) = self.bytes.get_mut(..HEADER_BYTES) {
            place.copy_from_slice(&header);
        }
        seal(&mut self.bytes);
        out.extend_from_slice(&self.bytes);
        self.position += (self.bytes.len() / UNIT_BYTES) as u32;
        self.bytes.clear();
        self.bytes.resize(HEADER_BYTES, 0);
        self.records = 0;
    }
}

/// A block that was read and checked.
#[derive(Debug)]
pub struct Block<'a> {
    /// Length with padding, in units.
    pub units: u32,
    /// Everything before this position was synced when the block was written.
    pub durable: Lsn,
    records: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block of `file` at `position`, at the start of `bytes`. None: there is none, or it is torn.
    pub fn parse(bytes: &'a [u8], file: u32, position: u32) -> Option<Self> {
        let block = Self::parse_checked(bytes, file, position)?;
        let checked = bytes.get(8..block.units as usize * UNIT_BYTES)?;
        (crc32fast::hash(checked) == u32_at(bytes, 4)?).then_some(block)
    }

    /// The same of a block whose checksum was found right before.
    pub fn parse_checked(bytes: &'a [u8], file: u32, position: u32) -> Option<Self> {
        let same_place = u32_at(bytes, 8)? == file && u32_at(bytes, 12)? == position;
        if bytes.get(..4)? != MAGIC || !same_place {
            return None;
        }
        let length = u32_at(bytes, 16)? as usize;
        let end = HEADER_BYTES.checked_add(length)?.checked_next_multiple_of(UNIT_BYTES)?;
        Some(Self {
            units: (end / UNIT_BYTES) as u32,
            durable: Lsn { file: u32_at(bytes, 24)?, block: u32_at(bytes, 28)?, record: 0 },
            records: bytes.get(HEADER_BYTES..HEADER_BYTES + length)?,
        })
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.records;
        std::iter::from_fn(move || {
            let (length, tail) = rest.split_first_chunk::<4>()?;
            let (record, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = tail;
            Some(record)
        })
    }
}

/// Record `number` of a block at the start of `bytes` that was closed in this process.
pub fn record_in(bytes: &[u8], number: u16) -> Option<Vec<u8>> {
    let length = u32_at(bytes, 16)? as usize;
    nth_record(bytes.get(HEADER_BYTES..HEADER_BYTES.checked_add(length)?)?, number)
}

/// Puts another record of the same length in the place of one of a block at the start of `bytes` that was closed in this process.
pub fn replace_in(bytes: &mut [u8], number: u16, record: &[u8]) -> bool {
    let length = u32_at(bytes, 16).map_or(0, |length| length as usize);
    let end = (HEADER_BYTES + length).next_multiple_of(UNIT_BYTES);
    let Some(block) = bytes.get_mut(..end) else { return false };
    let done = block.get_mut(HEADER_BYTES..).is_some_and(|records| replace_nth(records, number, record));
    seal(block);
    done
}

/// Writes the checksum of a block.
fn seal(block: &mut [u8]) {
    let sum = crc32fast::hash(block.get(8..).unwrap_or_default());
    if let Some(place) = block.get_mut(4..8) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Reads the whole block at `lsn`, with header and padding.
pub fn read_block(file: &dyn VolumeFile, lsn: Lsn) -> Result<Vec<u8>, EngineError> {
    let damaged =
        |reason: &str| EngineError::DamagedLog { lsn, reason: format!("{}: {reason}", file_name(lsn.file)) };
    let offset = u64::from(lsn.block) * UNIT_BYTES as u64;
    let mut bytes = vec![0; HEADER_BYTES];
    file.read_at(offset, &mut bytes).map_err(|error| damaged(&error.to_string()))?;
    let length = u32_at(&bytes, 16).map_or(0, |length| length as usize);
    // A single long record may exceed the usual limit, but not by more than a page or two.
    if length > 4 * BLOCK_LIMIT_BYTES {
        return Err(damaged("no block"));
    }
    bytes.resize((HEADER_BYTES + length).next_multiple_of(UNIT_BYTES), 0);
    file.read_at(offset, &mut bytes).map_err(|error| damaged(&error.to_string()))?;
    match Block::parse(&bytes, lsn.file, lsn.block) {
        Some(_) => Ok(bytes),
        None => Err(damaged("no block")),
    }
}

/// Reads the record at `lsn` from its file.
pub fn read_record(file: &dyn VolumeFile, lsn: Lsn) -> Result<Vec<u8>, EngineError> {
    let damaged =
        |reason: &str| EngineError::DamagedLog { lsn, reason: format!("{}: {reason}", file_name(lsn.file)) };
    let bytes = read_block(file, lsn)?;
    let block = Block::parse(&bytes, lsn.file, lsn.block).ok_or_else(|| damaged("no block"))?;
    let index = usize::from(lsn.record).checked_sub(1).ok_or_else(|| damaged("no record 0"))?;
    block.records().nth(index).map(<[u8]>::to_vec).ok_or_else(|| damaged("no such record"))
}

fn nth_record(records: &[u8], number: u16) -> Option<Vec<u8>> {
    records.get(place_of(records, number)?).map(<[u8]>::to_vec)
}

fn replace_nth(records: &mut [u8], number: u16, record: &[u8]) -> bool {
    let place = place_of(records, number).and_then(|place| records.get_mut(place));
    let Some(place) = place.filter(|place| place.len() == record.len()) else { return false };
    place.copy_from_slice(record);
    true
}

/// Where record `number` lies, from 1.
fn place_of(records: &[u8], number: u16) -> Option<Range<usize>> {
    let mut start = 0_usize;
    for left in (0..number).rev() {
        let length = u32_at(records, start)? as usize;
        let place = start + 4..(start + 4).checked_add(length)?;
        if left == 0 {
            return Some(place);
        }
        start = place.end;
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}
