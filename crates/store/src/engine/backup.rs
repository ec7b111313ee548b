//! Log backups: what FULL and BULK_LOGGED keep the log for (`docs/store-engine.md`, "Log backups").
//!
//! A backup holds the log from where the last one ended, and the pages of minimally logged loads since, of which the log has
//! nothing. Put beside a copy of the database that is as old as the first of them, they bring it to where the last one ended.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::Arc;

use super::control::Control;
use super::database::{Engine, RecoveryModel, Shared};
use super::error::EngineError;
use super::figures::WaitType;
use super::file_groups::FileLayout;
use super::files;
use super::log::{LogFileHeader, LogScan};
use super::lsn::Lsn;
use super::page::{ExtentId, PAGE_BYTES, Page, PageId};
use super::volume::{Volume, VolumeFile};
use crate::codec::{Reader, Writer};

const MAGIC: &[u8; 8] = b"BWLOGB1\n";
/// Kinds of sections; each starts with one of these.
const FILE: u8 = 1;
const BLOCK: u8 = 2;
const PAGE: u8 = 3;
const END: u8 = 4;
const FILES: u8 = 5;
/// Longest block of the log, or list of files, that is believed.
const BLOCK_LIMIT_BYTES: usize = 1 << 20;

/// What a log backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBackup {
    /// Where it begins (`first_lsn`).
    pub from: Lsn,
    /// Where it ends, and the next one begins (`last_lsn`).
    pub to: Lsn,
    /// Pages of minimally logged loads in it.
    pub pages: u64,
    /// Those that belong there but could not be read: of loads that had not written them yet, or damaged.
    pub unreadable_pages: Vec<PageId>,
    /// Its size.
    pub bytes: u64,
}

impl Engine {
    /// Writes the log since the last log backup to `out`, and gives it up, as far as no open transaction needs it. Loads and
    /// changes go on meanwhile. If it fails, nothing is given up and the next one begins at the same place.
    ///
    /// # Errors
    /// Under SIMPLE there are no log backups (4208). A failing `out` is error 3202.
    pub fn backup_log(&self, out: &mut dyn Write) -> Result<LogBackup, EngineError> {
        let shared = &self.shared;
        if shared.recovery_model() == RecoveryModel::Simple {
            return Err(EngineError::NoLogBackup);
        }
        let _one = shared.backups.lock();
        let (_, from) = shared.log_kept_from();
        let marked = shared.allocator.start_collecting_marks()?;
        let result = write(shared, from, &marked, out);
        if let Ok(backup) = &result {
            shared.note_log_backup(backup.to);
        }
        let copied = if result.is_ok() { marked } else { BTreeSet::new() };
        let cleared = shared.allocator.finish_collecting_marks(&copied);
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
    out: &mut dyn Write,
) -> Result<LogBackup, EngineError> {
    let mut out = Sink { out, shared, sum: crc32fast::Hasher::new(), bytes: 0 };
    out.put(MAGIC)?;
    out.put(&from.to_bytes())?;
    // Nobody adds a file while a backup is taken.
    let mut files = Writer::default();
    shared.pager.files.layout().encode(&mut files);
    let files = files.into_bytes();
    out.put(&[FILES])?;
    out.put(&(files.len() as u32).to_le_bytes())?;
    out.put(&files)?;
    let mut pages = 0;
    for extent in marked {
        let (found, unreadable) = used_pages(shared, *extent)?;
        for page in &found {
            out.page(page)?;
            pages += 1;
        }
        if !unreadable.is_empty() {
            // It is perhaps being written: once more when nothing is.
            shared.allocator.collect_mark(*extent);
        }
    }
    // While nothing changes: pages that were loaded meanwhile, and where this backup ends. Pages copied before may have newer
    // contents than when their load was committed; the log up to the end has what made them so.
    let (to, late) = shared.pager.quiesce(|| {
        let late = shared.allocator.take_collected_marks();
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
    let mut reader = shared.pager.log.reader(from)?;
    let mut next_file = from.file;
    while let Some((at, block)) = reader.next_block()? {
        if (Lsn { record: 0, ..at }) >= to {
            break;
        }
        out.files(&mut next_file, at.file)?;
        out.put(&[BLOCK])?;
        out.put(&at.block.to_le_bytes())?;
        out.put(&(block.len() as u32).to_le_bytes())?;
        out.put(&block)?;
    }
    out.files(&mut next_file, to.file)?;
    out.put(&[END])?;
    out.put(&to.to_bytes())?;
    let sum = out.sum.clone().finalize();
    out.put(&sum.to_le_bytes())?;
    out.flush()?;
    Ok(LogBackup { from, to, pages, unreadable_pages, bytes: out.bytes })
}

/// The pages of an extent that the maps say are in use, and those of them that cannot be read. Past the cache, which must not keep a
/// page that a load is about to write.
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

struct Sink<'a> {
    out: &'a mut dyn Write,
    shared: &'a Shared,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let written = self.shared.pager.waits.during(WaitType::BackupIo, || self.out.write_all(bytes));
        written.map_err(|source| EngineError::Backup { operation: "write", source })
    }

    /// The virtual log files up to `last`, also those that hold nothing: the log would end before one that is missing.
    fn files(&mut self, next: &mut u32, last: u32) -> Result<(), EngineError> {
        while *next <= last {
            let header = LogFileHeader::read(&self.shared.volume, *next)?;
            self.put(&[FILE])?;
            self.put(&header.number.to_le_bytes())?;
            self.put(&header.previous_end.to_le_bytes())?;
            *next += 1;
        }
        Ok(())
    }

    fn page(&mut self, page: &Page) -> Result<(), EngineError> {
        self.put(&[PAGE])?;
        let mut page = page.clone();
        page.seal();
        self.put(&page.id().to_bytes())?;
        self.put(page.bytes())
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        self.out.flush().map_err(|source| EngineError::Backup { operation: "flush", source })
    }
}

/// Puts a log backup into a copy of a database that nobody has open: its log then goes on to where the backup ends, and the next
/// [`Engine::open_on`] makes the changes. Several are put in one after the other before it is opened; once it has been opened, no
/// further one fits. After an error the copy is of no more use.
///
/// # Errors
/// A backup that begins after the end of the copy's log is refused (4305), as is one that is damaged (3241).
pub fn restore_log(volume: &Arc<dyn Volume>, input: &mut dyn Read) -> Result<LogBackup, EngineError> {
    let mut source = Source { input, sum: crc32fast::Hasher::new(), bytes: 0 };
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
    let (mut names, mut pages) = (BTreeSet::new(), 0);
    let mut file: Option<(LogFileHeader, Arc<dyn VolumeFile>)> = None;
    loop {
        match source.take::<1>()? {
            [FILE] => {
                let header = LogFileHeader {
                    number: u32::from_le_bytes(source.take()?),
                    previous_end: u32::from_le_bytes(source.take()?),
                };
                if header.number == from.file && header.number > end.file && header.previous_end > end.block {
                    return Err(EngineError::LogChainBroken { begins: from, ends: end });
                }
                if let Some((header, file)) = file.take() {
                    header.sync(volume, &*file)?;
                }
                let opened = header.open_or_create(volume)?;
                file = Some((header, opened));
            }
            [BLOCK] => {
                let block = u32::from_le_bytes(source.take()?);
                let length = u32::from_le_bytes(source.take()?) as usize;
                if length > BLOCK_LIMIT_BYTES {
                    return Err(damaged("a block is too long"));
                }
                let mut bytes = vec![0; length];
                source.fill(&mut bytes)?;
                let (header, file) = file.as_ref().ok_or_else(|| damaged("a block of no file"))?;
                header.write_block(volume, &**file, block, &bytes)?;
            }
            [PAGE] => {
                let id = PageId::from_bytes(source.take()?);
                let bytes = source.take::<PAGE_BYTES>()?;
                Page::from_bytes(bytes).verify(id).map_err(|reason| damaged(&reason))?;
                let name = files::file_name(id.file);
                let io = |operation| {
                    let path = volume.path(&name);
                    move |source| EngineError::Io { operation, path, source }
                };
                let file = volume.open(&name).map_err(io("open"))?;
                let offset = u64::from(id.page) * PAGE_BYTES as u64;
                file.write_at(offset, &bytes).map_err(io("write"))?;
                names.insert(name);
                pages += 1;
            }
            [FILES] => {
                let length = u32::from_le_bytes(source.take()?) as usize;
                if length > BLOCK_LIMIT_BYTES {
                    return Err(damaged("a list of files is too long"));
                }
                let mut bytes = vec![0; length];
                source.fill(&mut bytes)?;
                let mut reader = Reader::new(&bytes);
                let layout = FileLayout::decode(&mut reader).map_err(|error| damaged(&error.to_string()))?;
                reader.finish("files").map_err(|error| damaged(&error.to_string()))?;
                take_layout(volume, &mut control, layout)?;
            }
            [END] => break,
            _ => return Err(damaged("a section of an unknown kind")),
        }
    }
    let to = Lsn::from_bytes(source.take()?);
    let sum = source.sum.clone().finalize();
    if u32::from_le_bytes(source.take()?) != sum {
        return Err(damaged("its checksum is wrong"));
    }
    for name in &names {
        let io = |source| EngineError::Io { operation: "sync", path: volume.path(name), source };
        volume.open(name).and_then(|file| file.sync()).map_err(io)?;
    }
    if let Some((header, file)) = file {
        header.sync(volume, &*file)?;
    }
    Ok(LogBackup { from, to, pages, unreadable_pages: Vec::new(), bytes: source.bytes })
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

fn damaged(reason: &str) -> EngineError {
    EngineError::DamagedBackup { reason: reason.to_owned() }
}

struct Source<'a> {
    input: &'a mut dyn Read,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl Source<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EngineError> {
        self.input.read_exact(bytes).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
            _ => EngineError::Backup { operation: "read", source },
        })?;
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], EngineError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}
