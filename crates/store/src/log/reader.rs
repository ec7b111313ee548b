//! Reads the log of an open database, block by block, for `sys.fn_dblog`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::block::{self, Block, UNIT_BYTES};
use super::figures::{LogContext, LogOperation};
use super::{Change, LogRecord, Operation, file_name};
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::page::lsn::Lsn;
use crate::page::{PageId, UnitId};

/// A log record as `sys.fn_dblog` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// Position of the record.
    pub lsn: Lsn,
    /// Operation that the record logs.
    pub operation: LogOperation,
    /// The kind of page that it is about.
    pub context: LogContext,
    /// True if the record undoes another one.
    pub is_compensation: bool,
    /// The transaction, or 0. Transactions of the engine itself have the highest bit set.
    pub transaction: u64,
    /// The transaction's record before; zero: none.
    pub previous: Lsn,
    /// Length of the record in bytes.
    pub length_bytes: u32,
    /// The allocation unit of the page; None for a map, or without a page.
    pub unit: Option<UnitId>,
    /// The page; None: no page.
    pub page: Option<PageId>,
    /// The slot of the row; None: no row.
    pub slot: Option<u16>,
}

impl LogRow {
    fn new(lsn: Lsn, length_bytes: u32, record: &LogRecord) -> Self {
        let change = match &record.operation {
            Operation::Change(change) | Operation::Compensation { change, .. } => Some(change),
            Operation::Begin
            | Operation::Commit { .. }
            | Operation::Withdrawn { .. }
            | Operation::Prepare { .. }
            | Operation::Decision { .. }
            | Operation::End => None,
        };
        let slot = match change {
            Some(
                Change::Insert { slot, .. } | Change::Remove { slot, .. } | Change::Replace { slot, .. },
            ) => Some(*slot),
            _ => None,
        };
        Self {
            lsn,
            operation: LogOperation::of(record),
            context: record.place.context,
            is_compensation: matches!(record.operation, Operation::Compensation { .. }),
            transaction: record.transaction,
            previous: record.previous,
            length_bytes,
            unit: Some(record.place.unit).filter(|unit| unit.object != 0),
            page: change.map(Change::page),
            slot,
        }
    }
}

/// The records between two positions. Virtual log files that are truncated while it reads are left out.
#[derive(Debug)]
pub struct LogReader {
    volume: Arc<dyn Volume>,
    /// Number and used bytes of each file.
    files: VecDeque<(u32, u64)>,
    file: Option<Arc<dyn VolumeFile>>,
    next: Lsn,
    end: Lsn,
    rows: VecDeque<LogRow>,
}

impl LogReader {
    pub(super) fn new(volume: &Arc<dyn Volume>, files: VecDeque<(u32, u64)>, from: Lsn, end: Lsn) -> Self {
        let mut reader =
            Self { volume: Arc::clone(volume), files, file: None, next: from, end, rows: VecDeque::new() };
        reader.files.retain(|(number, _)| *number >= from.file);
        if reader.files.front().is_some_and(|(number, _)| *number > from.file) {
            reader.next = Lsn { file: 0, block: 1, record: 0 };
        }
        reader
    }

    /// Reads the next block: its position, its bytes with header and padding.
    pub(crate) fn next_block(&mut self) -> Result<Option<(Lsn, Vec<u8>)>, EngineError> {
        loop {
            let Some((number, used_bytes)) = self.files.front().copied() else { return Ok(None) };
            if self.next.file != number {
                self.next = Lsn { file: number, block: 1, record: 0 };
                self.file = None;
            }
            let used = if number == self.end.file {
                u64::from(self.end.block)
            } else {
                used_bytes / UNIT_BYTES as u64
            };
            if u64::from(self.next.block) >= used {
                self.files.pop_front();
                continue;
            }
            let file = match &self.file {
                Some(file) => Arc::clone(file),
                None => match self.volume.open(&file_name(number)) {
                    Ok(file) => file,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        self.files.pop_front();
                        continue;
                    }
                    Err(source) => {
                        let path = self.volume.path(&file_name(number));
                        return Err(EngineError::Io { operation: "open", path, source });
                    }
                },
            };
            self.file = Some(Arc::clone(&file));
            let at = Lsn { record: 0, ..self.next };
            let bytes = block::read_block(&*file, at)?;
            self.next.block += (bytes.len() / UNIT_BYTES) as u32;
            let from = std::mem::take(&mut self.next.record);
            return Ok(Some((Lsn { record: from, ..at }, bytes)));
        }
    }

    fn fill(&mut self) -> Result<(), EngineError> {
        while self.rows.is_empty() {
            let Some((at, bytes)) = self.next_block()? else { return Ok(()) };
            let damaged = |reason: String| EngineError::DamagedLog { lsn: at, reason };
            let block = Block::parse(&bytes, at.file, at.block);
            let block = block.ok_or_else(|| damaged("no block".to_owned()))?;
            for (number, bytes) in (1..).zip(block.records()) {
                let lsn = Lsn { record: number, ..at };
                if lsn >= at {
                    let record = LogRecord::decode(bytes).map_err(|error| damaged(error.to_string()))?;
                    self.rows.push_back(LogRow::new(lsn, bytes.len() as u32, &record));
                }
            }
        }
        Ok(())
    }
}

impl Iterator for LogReader {
    type Item = Result<LogRow, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(()) => self.rows.pop_front().map(Ok),
            Err(error) => {
                self.files.clear();
                Some(Err(error))
            }
        }
    }
}
