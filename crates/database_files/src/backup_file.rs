//! A file of backups, by its label and headers: what tools ask before they restore it.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::read::ZlibDecoder;

use crate::{
    backup::{self, BackupHeader, Media, MediaLabel},
    error::{FileError, Reason, Result},
    random_access::{Part, ReadAt},
};

/// Bytes of the container that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// A file of backups, of which the contents are not read yet.
pub struct BackupFile {
    media: Media,
}

/// The copy of a database that the embedded server has put into a backup.
pub struct OwnBackup {
    /// The entry of the server's catalogue, as text.
    pub entry: String,
    /// The copy.
    pub content: Box<dyn Read + Send>,
}

impl BackupFile {
    /// Reads the label and the headers of a file.
    ///
    /// # Errors
    /// It is no backup, or a block of it is damaged.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        let mut head = [0; 16];
        let readable = source.length() >= head.len() as u64 && source.read_exact_at(&mut head, 0).is_ok();
        if !readable || !backup::is_backup(&head) {
            let text =
                "it is not a backup: it begins with neither a media label nor the mark of a compressed one";
            return Err(FileError::new(source.name(), "", Reason::Malformed(text.to_owned())));
        }
        let is_compressed = !head.starts_with(b"TAPE");
        let mut media = Media::read(backup::open(source)?)?;
        media.label.is_compressed = is_compressed;
        for set in &mut media.sets {
            set.header.is_compressed |= is_compressed;
        }
        Ok(Self { media })
    }

    /// Returns the label.
    pub fn label(&self) -> &MediaLabel {
        &self.media.label
    }

    /// Returns the headers of the sets, in order.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = &BackupHeader> {
        self.media.sets.iter().map(|set| &set.header)
    }

    /// Returns the contents of a set (its number among the headers, from 0) that the embedded server has written; None for one of
    /// SQL Server.
    pub fn own(&self, set: usize) -> Option<OwnBackup> {
        let own = self.media.sets.get(set)?.own.as_ref()?;
        let content = own.content?;
        let stream = StreamReader {
            source: Arc::clone(&self.media.source),
            at: content.at,
            end: content.at + content.length,
            block: Vec::new(),
            used: 0,
        };
        let content: Box<dyn Read + Send> = match own.is_packed {
            true => Box::new(ZlibDecoder::new(stream)),
            false => Box::new(stream),
        };
        Some(OwnBackup { entry: String::from_utf8_lossy(&own.entry).into_owned(), content })
    }

    /// Returns the package of tables in a set (its number among the headers, from 0) that the embedded server has written.
    pub(crate) fn package(&self, set: usize) -> Option<Arc<dyn ReadAt>> {
        let package = self.media.sets.get(set)?.own.as_ref()?.package?;
        let source = Arc::clone(&self.media.source);
        Some(Arc::new(Part { source, at: package.at, length: package.length }))
    }

    /// Compares the checksums of a set's streams with their bytes; false if it has none.
    ///
    /// # Errors
    /// One of them does not agree.
    pub fn verify(&self, set: usize) -> Result<bool> {
        let Some(set) = self.media.sets.get(set) else { return Ok(false) };
        let own = set.own.as_ref().and_then(|own| own.content);
        let mut is_verified = false;
        for stream in set.data.iter().flatten().chain(own.iter()) {
            is_verified |= stream.verify(&*self.media.source)?;
        }
        Ok(is_verified)
    }
}

/// The bytes of a stream, in order.
struct StreamReader {
    source: Arc<dyn ReadAt>,
    at: u64,
    end: u64,
    block: Vec<u8>,
    used: usize,
}

impl Read for StreamReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.block.len() && self.at < self.end {
            let count = (self.end - self.at).min(READ_BYTES as u64) as usize;
            self.block.resize(count, 0);
            self.source.read_exact_at(&mut self.block, self.at)?;
            (self.at, self.used) = (self.at + count as u64, 0);
        }
        let rest = self.block.get(self.used..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.used += count;
        Ok(count)
    }
}
