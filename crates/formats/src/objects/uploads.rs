//! Objects under way: folders of them that appear together, and what is given up when the process is interrupted.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{ObjectWriter, stores};

/// Threads that publish or give up objects.
const THREADS: usize = 8;

type Abandon = Arc<dyn Fn() + Send + Sync>;

static UPLOADS: Mutex<BTreeMap<u64, Abandon>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn uploads() -> MutexGuard<'static, BTreeMap<u64, Abandon>> {
    UPLOADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives up every upload of this process that is not published.
pub(crate) fn abandon_uploads() {
    let open: Vec<Abandon> = std::mem::take(&mut *uploads()).into_values().collect();
    in_parallel(open, |abandon| abandon());
}

fn in_parallel<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).pop();
    thread::scope(|scope| {
        for _ in 1..THREADS {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
        while let Some(item) = next() {
            work(item);
        }
    });
}

/// An upload that goes if the process is interrupted while this lives.
pub(crate) struct Upload {
    number: u64,
    writer: Box<dyn ObjectWriter>,
}

impl Upload {
    /// Notes an upload.
    pub(crate) fn new(writer: Box<dyn ObjectWriter>) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        uploads().insert(number, writer.abandon());
        Self { number, writer }
    }

    /// Returns the writer that takes the bytes.
    pub(crate) fn writer(&mut self) -> &mut dyn ObjectWriter {
        self.writer.as_mut()
    }

    /// Sends what is left, and has the object appear.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer.seal()?;
        self.writer.publish()
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        uploads().remove(&self.number);
    }
}

/// A folder whose objects appear when all are complete.
pub(crate) struct ObjectFolder {
    /// URL of the folder, with a slash at its end.
    url: String,
    sealed: Mutex<Vec<Upload>>,
}

impl std::fmt::Debug for ObjectFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ObjectFolder({})", self.url)
    }
}

impl ObjectFolder {
    /// Creates a folder in which there is no object yet.
    pub(crate) fn create(url: &str) -> io::Result<Self> {
        let url = format!("{}/", url.trim_end_matches('/'));
        if !stores()?.list(&url, 1)?.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the folder has objects; a new or empty one is needed",
            ));
        }
        Ok(Self { url, sealed: Mutex::default() })
    }

    /// Returns the URL of the folder.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL of an object inside.
    pub(crate) fn object(&self, inside: &Path) -> String {
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        format!("{}{}", self.url, names.join("/"))
    }

    /// Takes an object that is complete and waits for the others.
    pub(crate) fn add(&self, upload: Upload) {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner).push(upload);
    }

    /// Publishes all objects. If one fails, those that had appeared are deleted.
    pub(crate) fn publish(&self) -> io::Result<()> {
        let sealed = std::mem::take(&mut *self.sealed.lock().unwrap_or_else(PoisonError::into_inner));
        let published = Mutex::new(Vec::new());
        let failure = Mutex::new(None);
        in_parallel(sealed, |mut upload| {
            if failure.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return;
            }
            match upload.writer().publish() {
                Ok(()) => published.lock().unwrap_or_else(PoisonError::into_inner).push(upload),
                Err(error) => *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
            }
        });
        let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
        let published = published.into_inner().unwrap_or_else(PoisonError::into_inner);
        let left = AtomicU64::new(0);
        in_parallel(published, |mut upload| {
            if upload.writer().withdraw().is_err() {
                left.fetch_add(1, Ordering::Relaxed);
            }
        });
        match left.into_inner() {
            0 => Err(error),
            left => Err(io::Error::new(
                error.kind(),
                format!("{error}; {left} objects of the folder had appeared and could not be deleted"),
            )),
        }
    }
}
