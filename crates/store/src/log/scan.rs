//! Reads the log when a database is opened, and finds its end.

use std::sync::Arc;

use super::block::{self, Block, UNIT_BYTES};
use super::{LogRecord, file_name, file_number};
use crate::disk::volume::Volume;
use crate::error::EngineError;
use crate::page::lsn::Lsn;

/// The virtual log files from a position to the end of the log.
#[derive(Debug)]
pub struct LogScan {
    volume: Arc<dyn Volume>,
    /// Number and end (in units) of each file that is part of the log.
    files: Vec<(u32, u32)>,
}

impl LogScan {
    /// Finds the end of the log, beginning with the file that holds `from`. Files after the end are removed.
    ///
    /// The log ends at the first block that is not whole, which was being written when the power failed. If a later block says
    /// that this one was synced, the block is damaged, which is an error.
    pub fn new(volume: &Arc<dyn Volume>, from: Lsn) -> Result<Self, EngineError> {
        let io = |operation, name: &str| {
            let path = volume.path(name);
            move |source| EngineError::Io { operation, path, source }
        };
        let mut numbers: Vec<u32> =
            volume.list().map_err(io("list", ""))?.iter().filter_map(|name| file_number(name)).collect();
        numbers.sort_unstable();
        let damaged = |number, block, reason: &str| EngineError::DamagedLog {
            lsn: Lsn { file: number, block, record: 0 },
            reason: reason.to_owned(),
        };
        let mut files: Vec<(u32, u32)> = Vec::new();
        for number in numbers.iter().copied().filter(|number| *number >= from.file) {
            let bytes = read_file(volume, number)?;
            let expected = files.last().map_or(from.file, |(last, _)| last + 1);
            let Some(previous_end) = block::parse_file_header(&bytes, number).filter(|_| number == expected)
            else {
                if numbers.last() == Some(&number) && number > from.file {
                    // The last file was being created when the process ended.
                    volume.remove(&file_name(number)).map_err(io("remove", &file_name(number)))?;
                    break;
                }
                return Err(damaged(expected, 0, "the virtual log file is missing or has no header"));
            };
            if let Some((last, end)) = files.last_mut() {
                if previous_end > *end {
                    return Err(damaged(*last, *end, "the next file says that this one is longer"));
                }
                // An earlier recovery cut off the records behind.
                *end = previous_end;
            }
            files.push((number, end_of(&bytes, number)));
        }
        let Some((last, end)) = files.last().copied() else {
            return Err(damaged(from.file, 0, "the virtual log file is missing"));
        };
        let bytes = read_file(volume, last)?;
        let synced_later = (end + 1..(bytes.len() / UNIT_BYTES) as u32).any(|position| {
            let at = position as usize * UNIT_BYTES;
            let block = bytes.get(at..).and_then(|bytes| Block::parse(bytes, last, position));
            block.is_some_and(|block| block.durable > Lsn { file: last, block: end, record: 0 })
        });
        if synced_later {
            return Err(damaged(last, end, "a block that had been synced is damaged"));
        }
        // Blocks of the last file may have been written but not synced. They count from here on, so they are
        // synced.
        let file = volume.open(&file_name(last)).map_err(io("open", &file_name(last)))?;
        file.sync().map_err(io("sync", &file_name(last)))?;
        Ok(Self { volume: Arc::clone(volume), files })
    }

    /// Calls `each` for every record from `from` on, in order.
    pub fn for_each(
        &self,
        from: Lsn,
        mut each: impl FnMut(Lsn, LogRecord) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for (number, end) in &self.files {
            let bytes = read_file(&self.volume, *number)?;
            let mut position = 1;
            while position < *end {
                let at = position as usize * UNIT_BYTES;
                let block = bytes.get(at..).and_then(|bytes| Block::parse_checked(bytes, *number, position));
                let lsn = Lsn { file: *number, block: position, record: 0 };
                let damaged = |reason: String| EngineError::DamagedLog { lsn, reason };
                let block = block.ok_or_else(|| damaged("no block".to_owned()))?;
                for (record, bytes) in (1..).zip(block.records()) {
                    let lsn = Lsn { record, ..lsn };
                    if lsn >= from {
                        let decoded = LogRecord::decode(bytes);
                        each(lsn, decoded.map_err(|error| damaged(error.to_string()))?)?;
                    }
                }
                position += block.units;
            }
        }
        Ok(())
    }

    /// Returns the bytes of log before a position, and the bytes in all.
    pub(crate) fn reached(&self, lsn: Lsn) -> (u64, u64) {
        let before: u64 = self.files().filter(|(number, _)| *number < lsn.file).map(|(_, bytes)| bytes).sum();
        let all = self.files().map(|(_, bytes)| bytes).sum();
        (before + u64::from(lsn.block) * UNIT_BYTES as u64, all)
    }

    /// Returns the position behind the last record.
    pub(crate) fn end(&self) -> Result<Lsn, EngineError> {
        let (file, block) = self.files.last().copied().unwrap_or((0, 0));
        Ok(Lsn { file, block, record: 0 })
    }

    /// Lists number and used bytes of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = (u32, u64)> {
        self.files.iter().map(|(number, end)| (*number, u64::from(*end) * UNIT_BYTES as u64))
    }
}

fn read_file(volume: &Arc<dyn Volume>, number: u32) -> Result<Vec<u8>, EngineError> {
    let name = file_name(number);
    let io = |operation| {
        let path = volume.path(&name);
        move |source| EngineError::Io { operation, path, source }
    };
    let file = volume.open(&name).map_err(io("open"))?;
    let length = file.length_bytes().map_err(io("read the length of"))?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_at(0, &mut bytes).map_err(io("read"))?;
    Ok(bytes)
}

/// Returns the position behind the last whole block.
fn end_of(bytes: &[u8], number: u32) -> u32 {
    let mut position = 1_u32;
    while let Some(block) =
        bytes.get(position as usize * UNIT_BYTES..).and_then(|bytes| Block::parse(bytes, number, position))
    {
        position += block.units;
    }
    position
}
