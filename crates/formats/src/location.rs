//! Places of files, their opening, and their renaming when complete.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::FormatError;
use crate::at_offset::AtOffset;
use crate::objects::{Ahead, ObjectFolder, ObjectLocation, Upload, Windows, is_object_url, stores};
use crate::unfinished::Unfinished;
use crate::witness::Watched;

/// Place from which a file is read, or to which it is written.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file of this machine.
    Path(PathBuf),
    /// Standard input; reading only.
    Stdin,
    /// Standard output; writing only.
    Stdout,
    /// A pipe's content kept in a temporary file, so that it can be read more than once.
    Spooled(Spooled),
    /// An object of a store or of a web server.
    Object(ObjectLocation),
}

/// A temporary file that is deleted with its last handle.
#[derive(Debug, Clone)]
pub struct Spooled {
    file: Arc<tempfile::NamedTempFile>,
    _unfinished: Arc<Unfinished>,
    name: String,
}

impl Location {
    /// Reads a source as a user names it: a path, a URL, or `-` for standard input.
    pub fn source(argument: &str) -> Self {
        if argument == "-" { Self::Stdin } else { Self::named(argument) }
    }

    /// Reads a target as a user names it: a path, a URL, or `-` for standard output.
    pub fn target(argument: &str) -> Self {
        if argument == "-" { Self::Stdout } else { Self::named(argument) }
    }

    fn named(argument: &str) -> Self {
        match is_object_url(argument) {
            true => Self::Object(ObjectLocation::new(argument)),
            false => Self::Path(argument.into()),
        }
    }

    /// Returns the path that names the file, for suffixes: its own, or that of the URL.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Object(object) => Some(object.path()),
            Self::Stdin | Self::Stdout | Self::Spooled(_) => None,
        }
    }

    /// Returns true if the place can be read again and again: a file, and not a pipe or a device.
    pub fn is_rereadable(&self) -> bool {
        match self {
            Self::Path(path) => path.is_file(),
            Self::Spooled(_) | Self::Object(_) => true,
            Self::Stdin | Self::Stdout => false,
        }
    }

    /// Returns the length of the file in bytes, if it is known before the file is read.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Path(path) => path.metadata().ok().filter(|data| data.is_file()).map(|data| data.len()),
            Self::Spooled(spooled) => spooled.file.as_file().metadata().ok().map(|data| data.len()),
            Self::Object(object) => object.length(),
            Self::Stdin | Self::Stdout => None,
        }
    }

    /// Returns a location that can be opened again and again: standard input is copied to a temporary file,
    /// anything else is returned as it is.
    ///
    /// # Errors
    /// I/O failures of either side.
    pub fn spool(&self) -> Result<Self, FormatError> {
        match self {
            Self::Stdin => Ok(Self::Spooled(Spooled::fill(&mut io::stdin().lock(), self.to_string())?)),
            _ => Ok(self.clone()),
        }
    }

    /// Opens the location and counts what is read from it.
    pub(crate) fn open_source(&self) -> Result<Source, FormatError> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (input, bytes_total): (Box<dyn Read + Send>, _) = match self {
            Self::Stdin => (Box::new(io::stdin()), None),
            Self::Object(location) => {
                let object = location.open().map_err(|error| self.error(error))?;
                match object.length() {
                    Some(length) if object.has_ranges() => {
                        (Box::new(Ahead::new(object, length)), Some(length))
                    }
                    length => (object.stream().map_err(|error| self.error(error))?, length),
                }
            }
            _ => {
                let file = self.open_file()?;
                let metadata = file.metadata().map_err(|error| self.error(error))?;
                let total = metadata.is_file().then_some(metadata.len());
                (Box::new(Watched::new(file).map_err(|error| self.error(error))?), total)
            }
        };
        let input = Counted { inner: input, bytes: Arc::clone(&bytes_read) };
        Ok(Source { input: Box::new(input), bytes_read, bytes_total, name: self.to_string() })
    }

    /// Opens a location that can seek; what is read is added to `bytes`.
    pub(crate) fn open_seekable(&self, bytes: Arc<AtomicU64>) -> Result<AtOffset, FormatError> {
        if let Self::Object(location) = self {
            let object = location.open().map_err(|error| self.error(error))?;
            return match object.length().filter(|_| object.has_ranges()) {
                Some(length) => Ok(AtOffset::of_object(Arc::new(Windows::new(object, length)), bytes)),
                None => Err(FormatError::option("location", format!("{self} cannot be read by ranges"))),
            };
        }
        let file = self.open_file().map_err(|error| error.in_file(&self.to_string()))?;
        Ok(AtOffset::new(Arc::new(file), bytes))
    }

    /// Returns true if any part can be read without reading the parts before it.
    pub(crate) fn can_seek(&self) -> Result<bool, FormatError> {
        match self {
            Self::Path(_) | Self::Spooled(_) => Ok(true),
            Self::Stdin | Self::Stdout => Ok(false),
            Self::Object(location) => {
                let object = location.open().map_err(|error| self.error(error))?;
                Ok(object.has_ranges() && object.length().is_some())
            }
        }
    }

    fn open_file(&self) -> Result<File, FormatError> {
        match self {
            Self::Path(path) => File::open(path).map_err(|error| self.error(error)),
            Self::Spooled(spooled) => spooled.file.reopen().map_err(|error| self.error(error)),
            Self::Stdin | Self::Stdout | Self::Object(_) => {
                Err(FormatError::option("location", format!("{self} cannot seek")))
            }
        }
    }

    /// Starts the file under a temporary name in the directory of the final one.
    pub fn create_target(&self) -> Result<Target, FormatError> {
        let sink = match self {
            Self::Stdout => Sink::Direct(Box::new(io::stdout())),
            Self::Path(path) => Sink::create(path).map_err(|error| self.error(error))?,
            Self::Object(object) => Sink::upload(object).map_err(|error| self.error(error))?,
            Self::Stdin | Self::Spooled(_) => {
                return Err(FormatError::option("location", format!("{self} cannot be written")));
            }
        };
        Ok(Target { sink, name: self.to_string(), bytes: 0 })
    }

    fn error(&self, error: io::Error) -> FormatError {
        FormatError::from(error).in_file(&self.to_string())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str("standard input"),
            Self::Stdout => f.write_str("standard output"),
            Self::Spooled(spooled) => f.write_str(&spooled.name),
            Self::Object(object) => object.fmt(f),
        }
    }
}

impl Spooled {
    /// Copies `input` to a temporary file; errors name it `name`.
    pub(crate) fn fill(input: &mut dyn Read, name: String) -> Result<Self, FormatError> {
        let mut file = tempfile::NamedTempFile::new()?;
        let unfinished = Unfinished::new(file.path().to_owned());
        io::copy(input, file.as_file_mut()).map_err(|error| FormatError::from(error).in_file(&name))?;
        Ok(Self { file: Arc::new(file), _unfinished: Arc::new(unfinished), name })
    }
}

/// An opened source.
pub(crate) struct Source {
    pub(crate) input: Box<dyn Read + Send>,
    pub(crate) bytes_read: Arc<AtomicU64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) name: String,
}

/// Counts the bytes that pass, for progress.
pub(crate) struct Counted<R> {
    pub(crate) inner: R,
    pub(crate) bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: io::Seek> io::Seek for Counted<R> {
    fn seek(&mut self, position: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

/// A file on its way to its final name. Dropped unfinished, it is removed.
pub struct Target {
    sink: Sink,
    name: String,
    bytes: u64,
}

enum Sink {
    Direct(Box<dyn Write + Send>),
    Renamed { file: File, partial: Partial, path: PathBuf },
    Upload { upload: Upload, folder: Option<Arc<ObjectFolder>> },
}

/// The temporary name; the file behind it goes when this is dropped.
struct Partial(Unfinished);

impl Target {
    /// Puts the file in place. Returns its size in bytes.
    ///
    /// # Errors
    /// The last bytes cannot be written, or the file cannot take its name.
    pub fn finish(mut self) -> Result<u64, FormatError> {
        self.flush()?;
        let fail = |error: io::Error| FormatError::from(error).in_file(&self.name);
        match self.sink {
            Sink::Direct(_) => {}
            Sink::Renamed { file, partial, path } => {
                drop(file);
                fs::rename(partial.0.path(), &path)
                    .map_err(|error| FormatError::from(error).in_file(&path.display().to_string()))?;
                // Dropping the partial name now finds nothing to remove.
                drop(partial);
            }
            Sink::Upload { upload, folder: None } => upload.finish().map_err(fail)?,
            Sink::Upload { mut upload, folder: Some(folder) } => {
                upload.writer().seal().map_err(fail)?;
                folder.add(upload);
            }
        }
        Ok(self.bytes)
    }
}

impl Write for Target {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = match &mut self.sink {
            Sink::Direct(output) => output.write(buffer),
            Sink::Renamed { file, .. } => file.write(buffer),
            Sink::Upload { upload, .. } => upload.writer().write(buffer),
        }?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Direct(output) => output.flush(),
            Sink::Renamed { file, .. } => file.flush(),
            // The rest is sent when the object is finished: a part has a least size.
            Sink::Upload { .. } => Ok(()),
        }
    }
}

impl Sink {
    fn upload(object: &ObjectLocation) -> io::Result<Self> {
        let folder = object.folder().cloned();
        let writer = stores()?.create(object.url(), object.must_be_new(), folder.is_some())?;
        Ok(Self::Upload { upload: Upload::new(writer), folder })
    }

    fn create(path: &Path) -> io::Result<Self> {
        // A link keeps pointing where it points; a device or pipe cannot be replaced by renaming, so it is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Ok(Self::Direct(Box::new(OpenOptions::new().write(true).open(&path)?)));
        }
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let Some(name) = path.file_name() else { return Err(io::Error::from(io::ErrorKind::InvalidInput)) };
        for attempt in 0..1000 {
            let mut partial_name = std::ffi::OsString::from(".");
            partial_name.push(name);
            partial_name.push(format!(".{}-{attempt}.partial", std::process::id()));
            let partial = path.with_file_name(partial_name);
            match OpenOptions::new().write(true).create_new(true).open(&partial) {
                Ok(file) => {
                    let partial = Partial(Unfinished::new(partial));
                    return Ok(Self::Renamed { file, partial, path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // A failure cannot be reported here, and the name shows that the file is temporary.
        let _ = fs::remove_file(self.0.path());
    }
}
