//! Log backups, for which FULL and BULK_LOGGED keep the log (`docs/store-engine.md`, "Backups"). A backup holds the log since the
//! last backup, and the pages of minimally logged loads since then, which the log lacks. Restored in order into a copy of the
//! database, the backups bring it to the end of the last one.
//!
//! # Bytes of a log backup
//!
//! | Section | Bytes |
//! |---|---|
//! | head | `BWLOGB2\n`, the position where it begins (10) |
//! | 5 | length u32, groups and files as in the control file |
//! | 1 | number of a virtual log file u32, where the file before it ends u32 |
//! | 2 | position of a block u32, its length u32, the block |
//! | 3 | address of a page (6), the page |
//! | 4, at last | the position where it ends (10), CRC of all before u32 |
//!
//! A backup of the whole database: `BWFULL1\n`; 6, length u32, a control file; pages and log as above; 4, the position where it
//! ends, CRC.

mod stream;
mod whole;

pub use whole::{DatabaseBackup, restore_database};

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use crate::codec::{Reader, Writer};
use crate::database::control::Control;
use crate::database::options::RecoveryModel;
use crate::database::shared::Shared;
use crate::disk::file_layout::FileLayout;
use crate::disk::files;
use crate::disk::volume::Volume;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::log::LogScan;
use crate::page::lsn::Lsn;
use crate::page::{ExtentId, Page, PageId};
pub use stream::BackupOutput;
use stream::{BLOCK, CONTROL, Copy, END, FILE, FILES, PAGE, Sink, Source, damaged};

const MAGIC: &[u8; 8] = b"BWLOGB2\n";

/// Summary of a log backup: its range of the log and its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBackup {
    /// Log position at which the backup begins (`first_lsn`).
    pub from: Lsn,
    /// Log position at which the backup ends and the next one begins (`last_lsn`).
    pub to: Lsn,
    /// Pages of minimally logged loads in the backup.
    pub pages: u64,
    /// Pages that belong to the backup but could not be read: damaged ones, and those that a load had not written yet.
    pub unreadable_pages: Vec<PageId>,
    /// Size of the backup in bytes.
    pub bytes: u64,
}

impl Engine {
    /// Writes the log since the last log backup to `out`, and then truncates it as far as no open transaction needs it. Loads and
    /// changes go on meanwhile. If the backup fails, the log is not truncated and the next backup begins at the same place.
    ///
    /// # Errors
    /// Under SIMPLE there are no log backups (4208). A failing `out` is error 3202.
    pub fn backup_log(&self, out: &mut dyn BackupOutput) -> Result<LogBackup, EngineError> {
        let shared = &self.shared;
        if shared.recovery_model() == RecoveryModel::Simple {
            return Err(EngineError::NoLogBackup);
        }
        let _one = shared.backups.lock();
        let (_, from) = shared.log_kept_from();
        let marked = shared.allocator.marked().start_collecting()?;
        let result = write(shared, from, &marked, out);
        if let Ok(backup) = &result {
            shared.note_log_backup(backup.to);
        }
        let copied = if result.is_ok() { marked } else { BTreeSet::new() };
        let cleared = shared.allocator.marked().finish_collecting(&copied);
        let backup = result?;
        cleared?;
        shared.checkpoint()?;
        Ok(backup)
    }
}

fn write(
    shared: &Arc<Shared>,
    from: Lsn,
    marked: &BTreeSet<ExtentId>,
    out: &mut dyn BackupOutput,
) -> Result<LogBackup, EngineError> {
    let mut out = Sink::new(shared, out);
    out.put(MAGIC)?;
    out.put(&from.to_bytes())?;
    // No file is added while a backup is taken.
    let mut files = Writer::default();
    shared.pager.files.layout().encode(&mut files);
    out.section(FILES, &files.into_bytes())?;
    let mut pages = 0;
    for extent in marked {
        let (found, unreadable) = used_pages(shared, *extent)?;
        for page in &found {
            out.page(page)?;
            pages += 1;
        }
        if !unreadable.is_empty() {
            // A load may be writing the extent now. It is read once more when nothing changes.
            shared.allocator.marked().collect(*extent);
        }
    }
    // While nothing changes, the pages that were loaded meanwhile are read, and the end of this backup is
    // set. Pages copied before may have newer contents than when their load was committed; the log up to the
    // end has what made them so.
    let (to, late) = shared.pager.quiesce(|| {
        let late = shared.allocator.marked().take_collected();
        let late: Result<Vec<_>, EngineError> =
            late.iter().map(|extent| used_pages(shared, *extent)).collect();
        Ok::<_, EngineError>((shared.pager.log.close_block()?, late?))
    })?;
    let mut unreadable_pages = Vec::new();
    for (found, unreadable) in &late {
        for page in found {
            out.page(page)?;
            pages += 1;
        }
        unreadable_pages.extend_from_slice(unreadable);
    }
    out.log(from, to)?;
    out.end(from, to)?;
    Ok(LogBackup { from, to, pages, unreadable_pages, bytes: out.bytes })
}

/// Reads the pages of an extent that the maps say are in use, past the cache, which must not keep a page that
/// a load is about to write. Returns also the pages that cannot be read.
fn used_pages(shared: &Shared, extent: ExtentId) -> Result<(Vec<Page>, Vec<PageId>), EngineError> {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for id in shared.allocator.used_pages(extent)? {
        let cached = shared.pager.cache.peek(id).map(|page| (*page).clone());
        match cached.map_or_else(|| shared.pager.files.read_page(id, WaitType::BackupIo), Ok) {
            Ok(page) => found.push(page),
            Err(EngineError::DamagedPage { .. }) => unreadable.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok((found, unreadable))
}

/// Puts a log backup into a copy of a database that is not open. The copy's log then reaches to the end of the backup, and the
/// next [`Engine::open_on`] redoes the changes. Several backups are put in one after the other, before the copy is opened for the
/// first time. After an error the copy cannot be used any more.
///
/// # Errors
/// A backup that begins after the end of the copy's log is refused (4305), as is one that is damaged (3241).
pub fn restore_log(volume: &Arc<dyn Volume>, input: &mut dyn Read) -> Result<LogBackup, EngineError> {
    let mut source = Source::new(input);
    if source.take::<8>()? != *MAGIC {
        return Err(damaged("it is of another format"));
    }
    let from = Lsn::from_bytes(source.take()?);
    let control = Control::read(volume)?;
    let mut control = control.ok_or_else(|| damaged("there is no database to restore it to"))?;
    let end = LogScan::new(volume, control.keep_from)?.end()?;
    let goes_on = match from.file.cmp(&end.file) {
        Ordering::Less => true,
        Ordering::Equal => from.block <= end.block,
        Ordering::Greater => from.file == end.file.saturating_add(1) && from.block <= 1,
    };
    if !goes_on {
        return Err(EngineError::LogChainBroken { begins: from, ends: end });
    }
    let mut copy = Copy::new(volume);
    loop {
        match source.take::<1>()? {
            [FILE] => {
                let header = source.file()?;
                if header.number == from.file && header.number > end.file && header.previous_end > end.block {
                    return Err(EngineError::LogChainBroken { begins: from, ends: end });
                }
                copy.begin_file(header)?;
            }
            [BLOCK] => copy.block(&mut source)?,
            [PAGE] => copy.page(&mut source)?,
            [FILES] => {
                let bytes = source.section()?;
                let mut reader = Reader::new(&bytes);
                let layout = FileLayout::decode(&mut reader).map_err(|error| damaged(&error.to_string()))?;
                reader.finish("files").map_err(|error| damaged(&error.to_string()))?;
                take_layout(volume, &mut control, layout)?;
            }
            [END] => break,
            _ => return Err(damaged("a section of an unknown kind")),
        }
    }
    let to = source.end()?;
    let pages = copy.finish()?;
    Ok(LogBackup { from, to, pages, unreadable_pages: Vec::new(), bytes: source.bytes })
}

/// Reads a backup of a database or of its log to its end, and compares its checksum and those of its pages.
///
/// # Errors
/// It is cut off or damaged (3241), or of another format.
pub fn verify_backup(input: &mut dyn Read) -> Result<(), EngineError> {
    let mut source = Source::new(input);
    let magic = source.take::<8>()?;
    match &magic {
        MAGIC => drop(source.take::<10>()?),
        whole::MAGIC => {}
        _ => return Err(damaged("it is of another format")),
    }
    loop {
        match source.take::<1>()? {
            [FILE] => drop(source.file()?),
            [BLOCK] => {
                source.take::<4>()?;
                source.section()?;
            }
            [PAGE] => {
                let id = PageId::from_bytes(source.take()?);
                let page = Page::from_bytes(source.take()?);
                page.verify(id).map_err(|reason| damaged(&reason))?;
            }
            [FILES | CONTROL] => drop(source.section()?),
            [END] => return source.end().map(drop),
            _ => return Err(damaged("a section of an unknown kind")),
        }
    }
}

/// Gives the copy the file groups of the backup, and empty files in the places of those that were added since.
fn take_layout(
    volume: &Arc<dyn Volume>,
    control: &mut Control,
    layout: FileLayout,
) -> Result<(), EngineError> {
    let io = |operation, name: &str| {
        let path = volume.path(name);
        move |source| EngineError::Io { operation, path, source }
    };
    for file in &layout.files {
        if control.files.files.iter().all(|known| known.number != file.number) {
            let name = files::file_name(file.number);
            volume.create(&name).map_err(io("create", &name))?;
        }
    }
    volume.sync_directory().map_err(io("sync the directory of", ""))?;
    if control.files != layout {
        control.files = layout;
        control.write(volume)?;
    }
    Ok(())
}
