//! Backups of a whole database, taken while work goes on: its pages in any state, and the log that brings them to one moment
//! (`docs/store-engine.md`, "Backups").

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use super::stream::{BLOCK, BackupOutput, CONTROL, Copy, END, FILE, PAGE, Sink, Source, damaged};
use super::used_pages;
use crate::database::control::Control;
use crate::database::restoring::{MARKER, remove_marker};
use crate::database::shared::Shared;
use crate::disk::files;
use crate::disk::volume::Volume;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::log::file_number;
use crate::page::lsn::Lsn;
use crate::page::{EXTENT_BYTES, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId};

pub(super) const MAGIC: &[u8; 8] = b"BWFULL1\n";
/// Extents that may be left for the moment in which nothing changes, and how often it is tried to have fewer.
const FEW_EXTENTS: usize = 64;
const MOST_ROUNDS: u32 = 8;

/// Summary of a whole database backup: its range of the log and its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseBackup {
    /// Log position at which the backup's log begins.
    pub from: Lsn,
    /// Log position at which the backup ends; the restored database has everything committed before. A log
    /// backup that begins here or before, and ends later, can be restored on top of it.
    pub to: Lsn,
    /// Pages in the backup; a page that was written while the backup was taken is counted twice.
    pub pages: u64,
    /// Pages that belong to the backup but could not be read: damaged ones, and those that a load had not written yet.
    pub unreadable_pages: Vec<PageId>,
    /// Size of the backup in bytes.
    pub bytes: u64,
}

impl Engine {
    /// Writes a copy of the database to `out`, as of a moment before this returns. Loads and changes go on meanwhile, but for that moment.
    /// It has no part in the chain of log backups, and works under every recovery model.
    ///
    /// # Errors
    /// A failing `out` is error 3202.
    pub fn backup_database(&self, out: &mut dyn BackupOutput) -> Result<DatabaseBackup, EngineError> {
        let shared = &self.shared;
        let _one = shared.backups.lock();
        shared.allocator.marked().collect_writes();
        let result = shared.checkpoint_for_copy().and_then(|control| write(shared, &control, out));
        shared.allocator.marked().finish_collecting_writes();
        // The next checkpoint gives up the log that was kept for the backup.
        shared.end_copy();
        result
    }
}

fn write(
    shared: &Shared,
    control: &Control,
    out: &mut dyn BackupOutput,
) -> Result<DatabaseBackup, EngineError> {
    // A log is read from the beginning of its first file on.
    let from = Lsn { file: control.keep_from.file, block: 1, record: 0 };
    let mut out = Sink::new(shared, out);
    out.put(MAGIC)?;
    out.section(CONTROL, &control.to_bytes())?;
    let (mut pages, mut doubtful) = (0, BTreeSet::new());
    for file in shared.pager.files.all() {
        for extent in 0..file.extents() {
            let extent = ExtentId { file: file.number, extent };
            if shared.allocator.is_given(extent) {
                let (found, whole) = pages_of(shared, extent)?;
                found.iter().try_for_each(|page| out.page(page))?;
                pages += found.len() as u64;
                if !whole {
                    doubtful.insert(extent);
                }
            }
        }
    }
    // Pages that were written past the log meanwhile; those that are read when nothing changes are few, if that can be had.
    let mut copy = |out: &mut Sink<'_>, extents: BTreeSet<ExtentId>| {
        let mut unreadable_pages = Vec::new();
        for extent in extents {
            let (found, unreadable) = used_pages(shared, extent)?;
            found.iter().try_for_each(|page| out.page(page))?;
            pages += found.len() as u64;
            unreadable_pages.extend(unreadable);
        }
        Ok::<_, EngineError>(unreadable_pages)
    };
    let mut late = doubtful;
    for _ in 0..MOST_ROUNDS {
        late.append(&mut shared.allocator.marked().take_collected());
        if late.len() <= FEW_EXTENTS {
            break;
        }
        let unreadable = copy(&mut out, std::mem::take(&mut late))?;
        late.extend(unreadable.into_iter().map(PageId::extent));
    }
    let (to, last) = shared.pager.quiesce(|| {
        late.append(&mut shared.allocator.marked().take_collected());
        let last: Result<Vec<_>, EngineError> =
            late.iter().map(|extent| used_pages(shared, *extent)).collect();
        Ok::<_, EngineError>((shared.pager.log.close_block()?, last?))
    })?;
    let mut unreadable_pages = Vec::new();
    for (found, unreadable) in last {
        found.iter().try_for_each(|page| out.page(page))?;
        pages += found.len() as u64;
        unreadable_pages.extend(unreadable);
    }
    out.log(from, to)?;
    out.end(from, to)?;
    Ok(DatabaseBackup { from, to, pages, unreadable_pages, bytes: out.bytes })
}

/// Reads all pages of an extent that are whole, in use or not: a page that an open transaction has given up
/// may be in use again. False: a page that the maps say is in use is not among them.
fn pages_of(shared: &Shared, extent: ExtentId) -> Result<(Vec<Page>, bool), EngineError> {
    let mut bytes = vec![0; EXTENT_BYTES];
    shared.pager.files.file(extent.file)?.read(extent.page(0).page, &mut bytes, WaitType::BackupIo)?;
    let on_disk = bytes.as_chunks::<PAGE_BYTES>().0;
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for (index, bytes) in (0..EXTENT_PAGES).zip(on_disk) {
        let id = extent.page(index);
        match shared.pager.cache.peek(id) {
            Some(page) => found.push((*page).clone()),
            None => {
                let page = Page::from_bytes(*bytes);
                if page.verify(id).is_ok() { found.push(page) } else { missing.push(id) }
            }
        }
    }
    let is_missing = |id: &PageId| missing.contains(id);
    let whole = missing.is_empty() || !shared.allocator.used_pages(extent)?.iter().any(is_missing);
    Ok((found, whole))
}

/// Makes a database from a backup in an empty directory that is not open. It is complete, durably, when this returns; log backups can
/// then be put in by [`restore_log`](super::restore_log) until it is opened for the first time. If it is cut short, the
/// directory cannot be opened.
///
/// # Errors
/// Files of a database in the directory (3156), a damaged backup (3241).
pub fn restore_database(
    volume: &Arc<dyn Volume>,
    input: &mut dyn Read,
) -> Result<DatabaseBackup, EngineError> {
    let io = |operation, name: &str| {
        let path = volume.path(name);
        move |source| EngineError::Io { operation, path, source }
    };
    for name in volume.list().map_err(io("list", ""))? {
        let is_data = name.starts_with("data-") && name.ends_with(".pages");
        if is_data || file_number(&name).is_some() || Control::is_name(&name) || name == MARKER {
            return Err(EngineError::HasDatabase { path: volume.path(&name) });
        }
    }
    let mut source = Source::new(input);
    if source.take::<8>()? != *MAGIC || source.take::<1>()? != [CONTROL] {
        return Err(damaged("it is of another format"));
    }
    let control = Control::from_bytes(&source.section()?).map_err(|reason| damaged(&reason))?;
    let from = Lsn { file: control.keep_from.file, block: 1, record: 0 };
    volume.create(MARKER).map_err(io("create", MARKER))?;
    for file in &control.files.files {
        let name = files::file_name(file.number);
        volume.create(&name).map_err(io("create", &name))?;
    }
    volume.sync_directory().map_err(io("sync the directory of", ""))?;
    let mut copy = Copy::new(volume);
    loop {
        match source.take::<1>()? {
            [FILE] => copy.begin_file(source.file()?)?,
            [BLOCK] => copy.block(&mut source)?,
            [PAGE] => copy.page(&mut source)?,
            [END] => break,
            _ => return Err(damaged("a section of an unknown kind")),
        }
    }
    let to = source.end()?;
    let pages = copy.finish()?;
    control.write(volume)?;
    remove_marker(volume)?;
    Ok(DatabaseBackup { from, to, pages, unreadable_pages: Vec::new(), bytes: source.bytes })
}
