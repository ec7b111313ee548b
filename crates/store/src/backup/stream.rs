//! The format of backups: sections of pages, blocks of the log, and lists, with a checksum of everything at the end.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::database::shared::Shared;
use crate::disk::files;
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::log::LogFileHeader;
use crate::page::lsn::Lsn;
use crate::page::{PAGE_BYTES, Page, PageId};

/// Kinds of sections; each starts with one of these.
pub(super) const FILE: u8 = 1;
pub(super) const BLOCK: u8 = 2;
pub(super) const PAGE: u8 = 3;
pub(super) const END: u8 = 4;
pub(super) const FILES: u8 = 5;
pub(super) const CONTROL: u8 = 6;
/// Longest block of the log, or list, that is believed.
const SECTION_LIMIT_BYTES: usize = 16 << 20;

/// The place that a backup is written to: anything that can be written, or what has to know where the backup's log ends.
pub trait BackupOutput {
    /// Adds bytes.
    ///
    /// # Errors
    /// They cannot be written.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Ends the backup, whose log goes from `from` to `to`. The bytes must be durable when this returns: the log may be given up
    /// then.
    ///
    /// # Errors
    /// They are not.
    fn complete(&mut self, from: Lsn, to: Lsn) -> io::Result<()>;
}

impl<W: Write> BackupOutput for W {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn complete(&mut self, _from: Lsn, _to: Lsn) -> io::Result<()> {
        self.flush()
    }
}

/// A backup being written.
pub(super) struct Sink<'a> {
    out: &'a mut dyn BackupOutput,
    shared: &'a Shared,
    sum: crc32fast::Hasher,
    /// Number of bytes written so far.
    pub bytes: u64,
}

impl<'a> Sink<'a> {
    pub fn new(shared: &'a Shared, out: &'a mut dyn BackupOutput) -> Self {
        Self { out, shared, sum: crc32fast::Hasher::new(), bytes: 0 }
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let written = self.shared.pager.waits.during(WaitType::BackupIo, || self.out.add(bytes));
        written.map_err(|source| EngineError::Backup { operation: "write", source })
    }

    /// Writes the virtual log files up to `last`, also those that hold nothing: the log would end before one
    /// that is missing.
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

    pub fn page(&mut self, page: &Page) -> Result<(), EngineError> {
        self.put(&[PAGE])?;
        let mut page = page.clone();
        page.seal();
        self.put(&page.id().to_bytes())?;
        self.put(page.bytes())
    }

    /// Writes a section with its length.
    pub fn section(&mut self, kind: u8, bytes: &[u8]) -> Result<(), EngineError> {
        self.put(&[kind])?;
        self.put(&(bytes.len() as u32).to_le_bytes())?;
        self.put(bytes)
    }

    /// Writes the log between two positions, of which `to` is the beginning of a block.
    pub fn log(&mut self, from: Lsn, to: Lsn) -> Result<(), EngineError> {
        let mut reader = self.shared.pager.log.reader(from)?;
        let mut next_file = from.file;
        while let Some((at, block)) = reader.next_block()? {
            if (Lsn { record: 0, ..at }) >= to {
                break;
            }
            self.files(&mut next_file, at.file)?;
            self.put(&[BLOCK])?;
            self.put(&at.block.to_le_bytes())?;
            self.put(&(block.len() as u32).to_le_bytes())?;
            self.put(&block)?;
        }
        self.files(&mut next_file, to.file)
    }

    /// Writes the last section: the end of the log, and the checksum of all.
    pub fn end(&mut self, from: Lsn, to: Lsn) -> Result<(), EngineError> {
        self.put(&[END])?;
        self.put(&to.to_bytes())?;
        let sum = self.sum.clone().finalize();
        self.put(&sum.to_le_bytes())?;
        self.out.complete(from, to).map_err(|source| EngineError::Backup { operation: "flush", source })
    }
}

pub(super) fn damaged(reason: &str) -> EngineError {
    EngineError::DamagedBackup { reason: reason.to_owned() }
}

/// A backup being read.
pub(super) struct Source<'a> {
    input: &'a mut dyn Read,
    sum: crc32fast::Hasher,
    /// Number of bytes read so far.
    pub bytes: u64,
}

impl<'a> Source<'a> {
    pub fn new(input: &'a mut dyn Read) -> Self {
        Self { input, sum: crc32fast::Hasher::new(), bytes: 0 }
    }

    pub fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EngineError> {
        self.input.read_exact(bytes).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
            _ => EngineError::Backup { operation: "read", source },
        })?;
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], EngineError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a section with its length.
    pub fn section(&mut self) -> Result<Vec<u8>, EngineError> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        if length > SECTION_LIMIT_BYTES {
            return Err(damaged("a section is too long"));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the beginning of a virtual log file.
    pub fn file(&mut self) -> Result<LogFileHeader, EngineError> {
        let number = u32::from_le_bytes(self.take()?);
        Ok(LogFileHeader { number, previous_end: u32::from_le_bytes(self.take()?) })
    }

    /// Reads the rest of the last section.
    pub fn end(&mut self) -> Result<Lsn, EngineError> {
        let to = Lsn::from_bytes(self.take()?);
        let sum = self.sum.clone().finalize();
        match u32::from_le_bytes(self.take()?) == sum {
            true => Ok(to),
            false => Err(damaged("its checksum is wrong")),
        }
    }
}

/// Files of a database that is not open, being filled from a backup.
pub(super) struct Copy<'a> {
    volume: &'a Arc<dyn Volume>,
    /// The virtual log file that blocks go to.
    log: Option<(LogFileHeader, Arc<dyn VolumeFile>)>,
    data: BTreeMap<u16, Arc<dyn VolumeFile>>,
    pages: u64,
}

impl<'a> Copy<'a> {
    pub fn new(volume: &'a Arc<dyn Volume>) -> Self {
        Self { volume, log: None, data: BTreeMap::new(), pages: 0 }
    }

    pub fn begin_file(&mut self, header: LogFileHeader) -> Result<(), EngineError> {
        self.sync_log()?;
        let file = header.open_or_create(self.volume)?;
        self.log = Some((header, file));
        Ok(())
    }

    pub fn block(&mut self, source: &mut Source<'_>) -> Result<(), EngineError> {
        let position = u32::from_le_bytes(source.take()?);
        let bytes = source.section()?;
        let (header, file) = self.log.as_ref().ok_or_else(|| damaged("a block of no file"))?;
        header.write_block(self.volume, &**file, position, &bytes)
    }

    /// Puts a page in its place, unless a newer one is there: a backup may be older than the copy.
    pub fn page(&mut self, source: &mut Source<'_>) -> Result<(), EngineError> {
        let id = PageId::from_bytes(source.take()?);
        let bytes = source.take::<PAGE_BYTES>()?;
        let page = Page::from_bytes(bytes);
        page.verify(id).map_err(|reason| damaged(&reason))?;
        let name = files::file_name(id.file);
        let io = |operation| {
            let path = self.volume.path(&name);
            move |source| EngineError::Io { operation, path, source }
        };
        let file = match self.data.get(&id.file) {
            Some(file) => Arc::clone(file),
            None => self.volume.open(&name).map_err(io("open"))?,
        };
        self.data.insert(id.file, Arc::clone(&file));
        self.pages += 1;
        let offset = u64::from(id.page) * PAGE_BYTES as u64;
        let mut present = [0; PAGE_BYTES];
        match file.read_at(offset, &mut present) {
            Ok(()) => {
                let present = Page::from_bytes(present);
                if present.verify(id).is_ok() && present.lsn() >= page.lsn() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(io("read")(error)),
        }
        file.write_at(offset, &bytes).map_err(io("write"))
    }

    fn sync_log(&mut self) -> Result<(), EngineError> {
        self.log.take().map_or(Ok(()), |(header, file)| header.sync(self.volume, &*file))
    }

    /// Makes all of it durable. Returns how many pages there were.
    pub fn finish(mut self) -> Result<u64, EngineError> {
        self.sync_log()?;
        for (number, file) in &self.data {
            let path = self.volume.path(&files::file_name(*number));
            file.sync().map_err(|source| EngineError::Io { operation: "sync", path, source })?;
        }
        Ok(self.pages)
    }
}
