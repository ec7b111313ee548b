//! Reads single records for an undo: backwards, many from each block.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::block::{self, Block};
use super::file_name;
use crate::disk::volume::VolumeFile;
use crate::error::EngineError;
use crate::page::lsn::Lsn;

/// Blocks kept: several transactions may be undone at a time.
const BLOCKS_KEPT: usize = 4;

/// The file read last, and the blocks read last, the newest first. What is in a file of the log does not change.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    file: Option<(u32, Arc<dyn VolumeFile>)>,
    blocks: VecDeque<ReadBlock>,
}

#[derive(Debug)]
struct ReadBlock {
    file: u32,
    position: u32,
    bytes: Vec<u8>,
    /// Range of each record in the block's bytes.
    records: Vec<Range<usize>>,
}

impl ReadBack {
    /// Reads the record at `lsn`, decoded by `decode`; `open` opens a file by its number.
    pub fn record<T>(
        &mut self,
        lsn: Lsn,
        open: impl FnOnce(u32) -> Result<Arc<dyn VolumeFile>, EngineError>,
        decode: impl FnOnce(&[u8]) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let known = |block: &ReadBlock| block.file == lsn.file && block.position == lsn.block;
        match self.blocks.iter().position(known) {
            Some(0) => {}
            Some(index) => self.blocks.swap(0, index),
            None => {
                let block = self.read(lsn, open)?;
                self.blocks.truncate(BLOCKS_KEPT - 1);
                self.blocks.push_front(block);
            }
        }
        let record = self.blocks.front().and_then(|block| {
            let index = usize::from(lsn.record).checked_sub(1)?;
            block.bytes.get(block.records.get(index)?.clone())
        });
        let reason = || format!("{}: no such record", file_name(lsn.file));
        decode(record.ok_or_else(|| EngineError::DamagedLog { lsn, reason: reason() })?)
    }

    fn read(
        &mut self,
        lsn: Lsn,
        open: impl FnOnce(u32) -> Result<Arc<dyn VolumeFile>, EngineError>,
    ) -> Result<ReadBlock, EngineError> {
        let known = self.file.as_ref().filter(|(number, _)| *number == lsn.file);
        let file = match known {
            Some((_, file)) => Arc::clone(file),
            None => open(lsn.file)?,
        };
        self.file = Some((lsn.file, Arc::clone(&file)));
        let bytes = block::read_block(&*file, lsn)?;
        // `read_block` has checked the checksum already.
        let block = Block::parse_checked(&bytes, lsn.file, lsn.block);
        // If the block holds no record, the caller reports damage of the log.
        let records = block.map(|block| block.places()).unwrap_or_default();
        Ok(ReadBlock { file: lsn.file, position: lsn.block, bytes, records })
    }
}
