//! The free extents of the data files in memory, and the choice of the next file.

use std::collections::{BTreeMap, HashMap};

use crate::disk::file_layout::FileGrowth;
use crate::page::lsn::Lsn;
use crate::page::unit::Run;
use crate::page::{EXTENT_BYTES, ExtentId, PageId, UnitId};

/// Extents that a file has at least.
pub const LEAST_EXTENTS: u32 = 16;
/// Extents of a new file: its maps and a megabyte.
pub const FIRST_EXTENTS: u32 = LEAST_EXTENTS + 2;
/// Maximum number of extents by which a file grows at once, if nothing else is declared.
const MOST_EXTENTS: u32 = 1024;

/// Free extents, and allocations that are not committed.
#[derive(Debug, Default)]
pub struct State {
    pub files: Vec<FileSpace>,
    /// The file that was last taken from, by group (proportional fill).
    turns: BTreeMap<u16, usize>,
    /// Mixed extents with a free page.
    pub mixed: BTreeMap<ExtentId, u8>,
    /// IAM pages of a unit by file and interval.
    pub iam_pages: HashMap<UnitId, Vec<(u16, u32, PageId)>>,
    /// Units whose creation is not committed, with the transaction. If it is undone, their IAM pages are freed.
    pub created: HashMap<UnitId, u64>,
    /// The log position that must be durable before an extent is allocated; None if there is none.
    pub undone: Option<Lsn>,
}

/// The free extents of one file.
#[derive(Debug)]
pub struct FileSpace {
    pub number: u16,
    pub group: u16,
    pub free: Vec<bool>,
    pub free_count: u32,
    cursor: usize,
    /// Number of turns for which the file is still to be passed over.
    skip: u32,
    /// True while the file is being emptied, so that none of its extents is given away.
    pub is_closed: bool,
}

impl State {
    /// Chooses the file of a group for the next allocation. Files with free extents take turns in proportion
    /// to their free space. None if nothing is free.
    pub fn next_file(&mut self, group: u16) -> Option<usize> {
        let is_candidate = |file: &FileSpace| file.group == group && file.free_count > 0 && !file.is_closed;
        let most = self.files.iter().filter(|file| is_candidate(file)).map(|file| file.free_count).max()?;
        let count = self.files.len();
        let turn = self.turns.entry(group).or_default();
        for _ in 0..count * 64 {
            *turn = (*turn + 1) % count;
            let Some(file) = self.files.get_mut(*turn).filter(|file| is_candidate(file)) else { continue };
            if file.skip > 0 {
                file.skip -= 1;
                continue;
            }
            file.skip = (most / file.free_count).saturating_sub(1).min(32);
            return Some(*turn);
        }
        self.files.iter().position(is_candidate)
    }

    /// Returns the place of a file that has a free extent.
    pub fn free_file(&self, number: u16) -> Option<usize> {
        self.files.iter().position(|file| file.number == number && file.free_count > 0 && !file.is_closed)
    }

    /// Returns the first file of a group.
    pub fn first_file(&self, group: u16) -> Option<u16> {
        self.files.iter().find(|file| file.group == group && !file.is_closed).map(|file| file.number)
    }

    /// Lists the files of a group in the order in which they grow: the preferred one, then the others in
    /// turn.
    pub fn growing_files(&self, group: u16, preferred: Option<u16>) -> Vec<usize> {
        let turn = self.turns.get(&group).copied().unwrap_or(0);
        let of_group =
            |index: &usize| self.files.get(*index).is_some_and(|file| file.group == group && !file.is_closed);
        let mut files: Vec<usize> =
            (turn + 1..self.files.len()).chain(0..=turn).filter(|index| of_group(index)).collect();
        files.sort_by_key(|index| self.files.get(*index).map(|file| file.number) != preferred);
        files
    }

    /// Finds a mixed extent of a file with a free page, and the pages of it that are in use.
    pub fn mixed_extent(&self, file: Option<u16>) -> Option<(ExtentId, u8)> {
        let closed = |number| self.files.iter().any(|file| file.number == number && file.is_closed);
        let mut found = self.mixed.iter().filter(|(extent, used)| **used != 0xFF && !closed(extent.file));
        found.find(|(extent, _)| Some(extent.file) == file).map(|(extent, used)| (*extent, *used))
    }

    pub fn give_back(&mut self, run: Run) {
        let Some(file) = self.files.iter_mut().find(|file| file.number == run.first.file) else { return };
        for extent in run.extents() {
            if let Some(free) = file.free.get_mut(extent.extent as usize)
                && !*free
            {
                *free = true;
                file.free_count += 1;
                file.cursor = file.cursor.min(extent.extent as usize);
            }
        }
    }
}

impl FileSpace {
    pub fn empty(number: u16, group: u16) -> Self {
        Self { number, group, free: Vec::new(), free_count: 0, cursor: 0, skip: 0, is_closed: false }
    }

    /// Notes that the file has become shorter.
    pub fn cut(&mut self, extents: u32) {
        let cut = self.free.split_off((extents as usize).min(self.free.len()));
        self.free_count -= cut.iter().filter(|free| **free).count() as u32;
        self.cursor = self.cursor.min(self.free.len());
    }

    /// Takes the first run of free extents from the cursor on, `wanted` at most.
    pub fn take_run(&mut self, wanted: u32) -> Option<Run> {
        let from_cursor =
            self.free.iter().skip(self.cursor).position(|free| *free).map(|at| at + self.cursor);
        let first = from_cursor.or_else(|| self.free.iter().position(|free| *free))?;
        let run = self.free.get_mut(first..)?.iter_mut().take(wanted as usize).take_while(|free| **free);
        let count = run.map(|free| *free = false).count() as u32;
        self.free_count -= count;
        self.cursor = first + count as usize;
        Some(Run { first: ExtentId { file: self.number, extent: first as u32 }, count })
    }
}

/// Returns the extents by which a file grows when `wanted` are needed; zero if it does not grow. A new file
/// gets what it needs.
pub fn growth(extents: u32, wanted: u32, declared: FileGrowth) -> u32 {
    let automatic = || (extents / 8).clamp(LEAST_EXTENTS, MOST_EXTENTS).max(wanted.saturating_add(2));
    match declared {
        _ if extents == 0 => wanted.max(LEAST_EXTENTS),
        FileGrowth::Automatic => automatic(),
        FileGrowth::None => 0,
        FileGrowth::Bytes(bytes) => u32::try_from(bytes.div_ceil(EXTENT_BYTES as u64)).unwrap_or(u32::MAX),
        FileGrowth::Percent(percent) => {
            let step = u64::from(extents) * u64::from(percent) / 100;
            u32::try_from(step).unwrap_or(u32::MAX).max(1)
        }
    }
}
