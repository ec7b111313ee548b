//! The map of minimally logged extents, which a log backup must copy since the log lacks their rows.

use std::collections::BTreeSet;

use super::Allocator;
use crate::cache::pager::NO_TRANSACTION;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::ExtentId;
use crate::page::maps;
use crate::page::unit::{Run, runs};

/// Extents that are written past the log while a backup is taken.
#[derive(Debug, Default)]
pub struct Marks {
    /// Extents written past the log since the running backup began; None: no backup is being taken.
    collected: Option<BTreeSet<ExtentId>>,
    /// A backup has ended, and its marks are being taken off the map.
    clearing: bool,
}

/// The extents that minimally logged operations write, as backups have to know them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkedExtents<'a> {
    allocator: &'a Allocator,
}

impl Allocator {
    /// Returns a handle to the extents that minimally logged operations write.
    pub(crate) fn marked(&self) -> MarkedExtents<'_> {
        MarkedExtents { allocator: self }
    }
}

impl MarkedExtents<'_> {
    /// Marks extents in the map of minimally logged extents for the next log backup.
    pub fn mark(&self, run: Run) -> Result<(), EngineError> {
        let _state = self.allocator.lock();
        run.extents().for_each(|extent| self.collect(extent));
        let (page, first) = maps::minimally_logged_of(run.first);
        let map = self.allocator.pager.cache.read(page)?;
        // No run crosses a system extent, so it lies in one interval of the map.
        let bits: Vec<u32> = (first..first + run.count).filter(|bit| !maps::bit(&map, *bit)).collect();
        for bits in bits.chunk_by(|a, b| a + 1 == *b) {
            let [first, ..] = *bits else { continue };
            let count = bits.len() as u32;
            self.allocator
                .must_change(NO_TRANSACTION, Change::SetBits { page, first, count, value: true })?;
        }
        Ok(())
    }

    /// Returns true if all extents of a run are marked, and stay so until they are written; a running backup
    /// learns of them. The caller keeps backups from ending meanwhile
    /// ([`Pager::enter`](crate::cache::pager::Pager::enter)), so it must not wait for a change of the maps.
    pub fn are_marked(&self, run: Run) -> Result<bool, EngineError> {
        {
            let mut marks = self.allocator.marks.lock();
            if marks.clearing {
                return Ok(false);
            }
            marks.collected.iter_mut().for_each(|collected| collected.extend(run.extents()));
        }
        let (page, first) = maps::minimally_logged_of(run.first);
        let map = self.allocator.pager.cache.read(page)?;
        Ok((first..first + run.count).all(|bit| maps::bit(&map, bit)))
    }

    /// Reports to a running backup that an extent is written past the log.
    pub fn collect(&self, extent: ExtentId) {
        if let Some(collected) = &mut self.allocator.marks.lock().collected {
            collected.insert(extent);
        }
    }

    /// Begins a log backup: from now on marked extents are collected. Returns those that were marked before.
    pub fn start_collecting(&self) -> Result<BTreeSet<ExtentId>, EngineError> {
        self.collect_writes();
        let _state = self.allocator.lock();
        let mut marked = BTreeSet::new();
        for file in self.allocator.pager.files.all() {
            for first in (0..file.extents()).step_by(maps::MAP_EXTENTS as usize) {
                let (page, _) = maps::minimally_logged_of(ExtentId { file: file.number, extent: first });
                let map = self.allocator.pager.cache.read(page)?;
                marked
                    .extend(maps::bits(&map).map(|bit| ExtentId { file: file.number, extent: first + bit }));
            }
        }
        Ok(marked)
    }

    /// Takes the extents that were marked since the collection began or since the last call.
    pub fn take_collected(&self) -> BTreeSet<ExtentId> {
        self.allocator.marks.lock().collected.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends a log backup: clears the marks of its extents, except of those written meanwhile.
    pub fn finish_collecting(&self, copied: &BTreeSet<ExtentId>) -> Result<(), EngineError> {
        let _state = self.allocator.lock();
        let again = {
            let mut marks = self.allocator.marks.lock();
            marks.clearing = true;
            marks.collected.take().unwrap_or_default()
        };
        let mut copied = runs(copied.difference(&again).copied()).into_iter();
        let cleared = copied.try_for_each(|Run { first, count }| {
            let (page, first) = maps::minimally_logged_of(first);
            self.allocator.must_change(NO_TRANSACTION, Change::SetBits { page, first, count, value: false })
        });
        self.allocator.marks.lock().clearing = false;
        cleared
    }

    /// Begins a copy of the database: from now on extents that are written past the log are collected, marked or not.
    pub fn collect_writes(&self) {
        self.allocator.marks.lock().collected = Some(BTreeSet::new());
    }

    /// Ends a copy of the database: writes are collected no longer.
    pub fn finish_collecting_writes(&self) {
        self.allocator.marks.lock().collected = None;
    }
}
