//! The parts of an archive. They unpack to no more than they say, and names do not lead elsewhere.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use zip::ZipArchive;

use crate::{
    error::{FileError, Reason, Result, malformed, unsupported},
    random_access::ReadAt,
};

/// Parts that an archive may have.
const PARTS_MAX: usize = 4_000_000;
/// Bytes that a model may have whatever it was packed to.
const UNPACKED_FREE: u64 = 64 << 20;
/// So many times its packed size a larger model may have.
const UNPACKED_RATIO: u64 = 200;
/// Bytes that are read ahead of the packed data.
const READ_AHEAD: usize = 256 << 10;

/// A position of its own in shared bytes.
#[derive(Clone)]
struct Cursor {
    source: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.source.length().saturating_sub(self.at);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let into = into.get_mut(..count).unwrap_or_default();
        self.source.read_exact_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.source.length().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Bytes with a buffer, whose clones begin with an empty one.
struct Buffered(BufReader<Cursor>);

impl Clone for Buffered {
    fn clone(&self) -> Self {
        Self(BufReader::with_capacity(READ_AHEAD, self.0.get_ref().clone()))
    }
}

impl Read for Buffered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Seek for Buffered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// An open archive. Clones share its directory and read by themselves.
#[derive(Clone)]
pub(crate) struct Archive {
    name: String,
    zip: ZipArchive<Buffered>,
}

impl Archive {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// It is no ZIP archive, or a part's name leads out of it.
    pub(crate) fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        let name = source.name().to_owned();
        let reader = Buffered(BufReader::with_capacity(READ_AHEAD, Cursor { source, at: 0 }));
        let zip = ZipArchive::new(reader).map_err(|error| {
            FileError::new(&name, "", malformed(format!("it is no sound archive: {error}")))
        })?;
        let archive = Self { name, zip };
        if archive.zip.len() > PARTS_MAX {
            return Err(archive.error("", malformed(format!("it has {} parts", archive.zip.len()))));
        }
        for part in archive.zip.file_names() {
            let part = part.map_err(|error| archive.error("", malformed(error.to_string())))?;
            let leads_out = part.starts_with(['/', '\\']) || part.split(['/', '\\']).any(|step| step == "..");
            if leads_out {
                return Err(archive.error(&part, malformed("the name of a part leads out of the archive")));
            }
        }
        Ok(archive)
    }

    /// Returns the name that errors give.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().filter_map(|name| name.ok().map(|name| name.into_owned()))
    }

    /// Opens a part. It gives at most the bytes that the directory says, and its own checksum is compared at its end.
    ///
    /// # Errors
    /// There is no such part, or it is encrypted.
    pub(crate) fn part(&mut self, part: &str) -> Result<impl Read> {
        let name = self.name.clone();
        let error = |reason: Reason| FileError::new(&name, part, reason);
        let file = self.zip.by_name(part).map_err(|zip| match zip {
            zip::result::ZipError::FileNotFound => {
                error(Reason::Incomplete("this part is missing".to_owned()))
            }
            other => error(malformed(other.to_string())),
        })?;
        if file.encrypted() {
            return Err(error(unsupported("the part is encrypted")));
        }
        let bound = file.size().saturating_add(1);
        Ok(file.take(bound))
    }

    /// Opens the part with the model, whose elements are held one at a time.
    ///
    /// # Errors
    /// Those of [`part`](Self::part); it unpacks to far more than a model does.
    pub(crate) fn model_part(&mut self, part: &str) -> Result<impl Read> {
        let sizes =
            self.zip.by_name(part).map(|file| (file.size(), file.compressed_size())).unwrap_or_default();
        let most = sizes.1.saturating_mul(UNPACKED_RATIO).max(UNPACKED_FREE);
        match sizes.0 > most {
            true => Err(self.error(part, malformed(format!("{} bytes unpack to {}", sizes.1, sizes.0)))),
            false => self.part(part),
        }
    }

    /// Returns a small part as text without a byte order mark.
    ///
    /// # Errors
    /// Those of [`part`](Self::part); it is larger than `most` bytes, or not UTF-8.
    pub(crate) fn text(&mut self, part: &str, most: u64) -> Result<String> {
        let mut text = String::new();
        let name = self.name.clone();
        let read = self.part(part)?.take(most + 1).read_to_string(&mut text);
        let error = |reason: Reason| FileError::new(&name, part, reason);
        read.map_err(|io| error(malformed(io.to_string())))?;
        match text.len() as u64 > most {
            true => Err(error(malformed(format!("it has more than {most} bytes")))),
            false => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        }
    }

    /// Returns the name of the database, from the metadata.
    ///
    /// # Errors
    /// The metadata are missing.
    pub(crate) fn database_name(&mut self) -> Result<String> {
        let text = self.text("DacMetadata.xml", 1 << 20)?;
        let name = text.split_once("<Name>").and_then(|(_, rest)| rest.split_once("</Name>"));
        Ok(name.map(|(name, _)| super::element::unescaped(name)).unwrap_or_default())
    }

    /// Makes an error of a part.
    pub(crate) fn error(&self, part: &str, reason: Reason) -> FileError {
        FileError::new(&self.name, part, reason)
    }
}
