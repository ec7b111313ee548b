//! Where a file is, how it is opened, and how it is put in place when complete.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::FormatError;
use crate::unfinished::Unfinished;
use crate::witness::Watched;

/// Where a file is read from or written to.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file.
    Path(PathBuf),
    /// Standard input; reading only.
    Stdin,
    /// Standard output; writing only.
    Stdout,
    /// A pipe's content kept in a temporary file, so that it can be read more than once.
    Spooled(Spooled),
}

/// A temporary file that is deleted with its last handle.
#[derive(Debug, Clone)]
pub struct Spooled {
    file: Arc<tempfile::NamedTempFile>,
    _unfinished: Arc<Unfinished>,
    name: String,
}

impl Location {
    /// A source as a user names it: a path, or `-` for standard input.
    pub fn source(argument: &str) -> Self {
        if argument == "-" { Self::Stdin } else { Self::Path(argument.into()) }
    }

    /// A target as a user names it: a path, or `-` for standard output.
    pub fn target(argument: &str) -> Self {
        if argument == "-" { Self::Stdout } else { Self::Path(argument.into()) }
    }

    /// A location that can be opened again and again: standard input is copied to a temporary file, anything else is
    /// returned as it is.
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

    /// Opens a location that can seek.
    pub(crate) fn open_file(&self) -> Result<File, FormatError> {
        match self {
            Self::Path(path) => File::open(path).map_err(|error| self.error(error)),
            Self::Spooled(spooled) => spooled.file.reopen().map_err(|error| self.error(error)),
            Self::Stdin | Self::Stdout => Err(FormatError::option("location", format!("{self} cannot seek"))),
        }
    }

    /// Starts the file under a temporary name beside the final one.
    pub(crate) fn create_target(&self) -> Result<Target, FormatError> {
        let sink = match self {
            Self::Stdout => Sink::Direct(Box::new(io::stdout())),
            Self::Path(path) => Sink::create(path).map_err(|error| self.error(error))?,
            Self::Stdin | Self::Spooled(_) => {
                return Err(FormatError::option("location", format!("{self} cannot be written")));
            }
        };
        Ok(Target { sink, bytes: 0 })
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
pub(crate) struct Target {
    sink: Sink,
    bytes: u64,
}

enum Sink {
    Direct(Box<dyn Write + Send>),
    Renamed { file: File, partial: Partial, path: PathBuf },
}

/// The temporary name; the file behind it goes when this is dropped.
struct Partial(Unfinished);

impl Target {
    /// Puts the file in place. Returns its size in bytes.
    pub(crate) fn finish(mut self) -> Result<u64, FormatError> {
        self.flush()?;
        if let Sink::Renamed { file, partial, path } = self.sink {
            drop(file);
            fs::rename(partial.0.path(), &path)
                .map_err(|error| FormatError::from(error).in_file(&path.display().to_string()))?;
            // Dropping the partial name now finds nothing to remove.
            drop(partial);
        }
        Ok(self.bytes)
    }
}

impl Write for Target {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = match &mut self.sink {
            Sink::Direct(output) => output.write(buffer),
            Sink::Renamed { file, .. } => file.write(buffer),
        }?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Direct(output) => output.flush(),
            Sink::Renamed { file, .. } => file.flush(),
        }
    }
}

impl Sink {
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
        // Nobody is left to tell if this fails, and the name says what the file is.
        let _ = fs::remove_file(self.0.path());
    }
}
