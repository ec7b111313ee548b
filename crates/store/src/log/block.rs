//! Blocks, in which the log is written: a multiple of 512 bytes, with a checksum.

use std::ops::Range;

use super::file_name;
use crate::disk::volume::VolumeFile;
use crate::error::EngineError;
use crate::page::lsn::Lsn;

/// Blocks start at multiples of this.
pub const UNIT_BYTES: usize = 512;
/// Greatest number of bytes of a block.
pub const BLOCK_LIMIT_BYTES: usize = 60 << 10;
/// Memory that is kept for blocks to come.
const MOST_KEPT_BYTES: usize = 4 << 20;
const HEADER_BYTES: usize = 32;
const MAGIC: &[u8; 4] = b"BWLB";
const FILE_MAGIC: &[u8; 8] = b"BWVLF1\r\n";

/// Makes the first 512 bytes of a virtual log file: magic, number, end of the file before it, checksum of the
/// first 16 bytes.
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

/// Reads the end of the file before, in units, from a file header; None: no header of file `number`.
pub fn parse_file_header(bytes: &[u8], number: u32) -> Option<u32> {
    let previous_end = u32_at(bytes, 12)?;
    (bytes.get(..UNIT_BYTES)? == file_header(number, previous_end)).then_some(previous_end)
}

/// The end of the log in memory: closed blocks that are not written yet, and the block being filled.
#[derive(Debug)]
pub struct OpenBlock {
    file: u32,
    /// Position of the block being filled, in units.
    position: u32,
    /// The closed blocks, then the block being filled without its header, which is zeros.
    bytes: Vec<u8>,
    /// Bytes of the closed blocks.
    closed: usize,
    records: u16,
    durable: Lsn,
}

impl OpenBlock {
    pub fn new(file: u32, position: u32) -> Self {
        let durable = Lsn { file, block: position, record: 0 };
        Self { file, position, bytes: vec![0; HEADER_BYTES], closed: 0, records: 0, durable }
    }

    /// Returns the position of the block being filled, in units.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// Returns the position of the first block that is not written.
    pub fn unwritten(&self) -> u32 {
        self.position - (self.closed / UNIT_BYTES) as u32
    }

    pub fn start(&self) -> Lsn {
        Lsn { file: self.file, block: self.position, record: 0 }
    }

    pub fn next_lsn(&self) -> Lsn {
        Lsn { file: self.file, block: self.position, record: self.records + 1 }
    }

    /// Counts the bytes of the block being filled.
    pub fn length_bytes(&self) -> usize {
        self.bytes.len() - self.closed
    }

    pub fn fits(&self, length: usize) -> bool {
        self.records == 0
            || (self.length_bytes() + 4 + length <= BLOCK_LIMIT_BYTES && self.records < u16::MAX - 1)
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

    /// Returns a record of a block that is not written.
    pub fn record(&self, block: u32, number: u16) -> Option<Vec<u8>> {
        let (start, length) = self.place_of(block)?;
        nth_record(self.bytes.get(start..start + length)?, number)
    }

    /// Replaces a record, in a block that is not written yet, by one of the same length.
    pub fn replace(&mut self, block: u32, number: u16, record: &[u8]) -> bool {
        let Some((start, length)) = self.place_of(block) else { return false };
        let records = self.bytes.get_mut(start..start + length);
        let replaced = records.is_some_and(|records| replace_nth(records, number, record));
        if replaced && block < self.position {
            let end = (start + length).next_multiple_of(UNIT_BYTES);
            return match self.bytes.get_mut(start - HEADER_BYTES..end) {
                Some(block) => {
                    seal(block);
                    true
                }
                None => false,
            };
        }
        replaced
    }

    /// Returns the place and length of the records of a block that is not written yet.
    fn place_of(&self, block: u32) -> Option<(usize, usize)> {
        let start = block.checked_sub(self.unwritten())? as usize * UNIT_BYTES;
        let length = match block == self.position {
            true => self.bytes.len().checked_sub(start + HEADER_BYTES)?,
            false => u32_at(&self.bytes, start + 16)? as usize,
        };
        Some((start + HEADER_BYTES, length))
    }

    /// Ends the block being filled, unless it is empty, and starts the next one behind it.
    pub fn close(&mut self) {
        if self.records == 0 {
            return;
        }
        let length = (self.length_bytes() - HEADER_BYTES) as u32;
        // Closed blocks are multiples of this long.
        self.bytes.resize(self.bytes.len().next_multiple_of(UNIT_BYTES), 0);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&[0; 4]);
        for field in
            [self.file, self.position, length, u32::from(self.records), self.durable.file, self.durable.block]
        {
            header.extend_from_slice(&field.to_le_bytes());
        }
        let block = self.bytes.get_mut(self.closed..).unwrap_or_default();
        if let Some(place) = block.get_mut(..HEADER_BYTES) {
            place.copy_from_slice(&header);
        }
        seal(block);
        self.position += (block.len() / UNIT_BYTES) as u32;
        self.closed = self.bytes.len();
        self.bytes.resize(self.closed + HEADER_BYTES, 0);
        self.records = 0;
    }

    /// Returns the closed blocks that are not written, one after the other.
    pub fn closed(&self) -> &[u8] {
        self.bytes.get(..self.closed).unwrap_or_default()
    }

    /// Drops the closed blocks after they were written.
    pub fn forget_closed(&mut self) {
        self.bytes.drain(..self.closed);
        // A full disk may have made it long.
        self.bytes.shrink_to(MOST_KEPT_BYTES);
        self.closed = 0;
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
    /// Parses the block of `file` at `position`, at the start of `bytes`. None if there is no block, or a
    /// torn one.
    pub fn parse(bytes: &'a [u8], file: u32, position: u32) -> Option<Self> {
        let block = Self::parse_checked(bytes, file, position)?;
        let checked = bytes.get(8..block.units as usize * UNIT_BYTES)?;
        (crc32fast::hash(checked) == u32_at(bytes, 4)?).then_some(block)
    }

    /// Parses a block whose checksum was verified before.
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

    /// Lists the positions of the records in the block's bytes, in order.
    pub fn places(&self) -> Vec<Range<usize>> {
        let mut next = HEADER_BYTES;
        let places = self.records().map(|record| {
            let start = next + 4;
            next = start + record.len();
            start..next
        });
        places.collect()
    }

    /// Lists the records in order.
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

fn nth_record(records: &[u8], number: u16) -> Option<Vec<u8>> {
    records.get(place_of(records, number)?).map(<[u8]>::to_vec)
}

fn replace_nth(records: &mut [u8], number: u16, record: &[u8]) -> bool {
    let place = place_of(records, number).and_then(|place| records.get_mut(place));
    let Some(place) = place.filter(|place| place.len() == record.len()) else { return false };
    place.copy_from_slice(record);
    true
}

/// Returns the range of record `number` (from 1) in a block's records.
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
