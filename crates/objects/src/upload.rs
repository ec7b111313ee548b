//! An object under way to its store: in one request if it is small, otherwise in parts, several at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use formats::objects::ObjectWriter;
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    UploadPart,
};

use crate::failure;
use crate::runtime::{self, Task};
use crate::store::Store;

/// A part of the first ones; an object has ten thousand parts at most.
const PART_BYTES: usize = 8 << 20;
const SMALL_PARTS: usize = 2000;
const LARGE_PART_BYTES: usize = 128 << 20;
/// Parts of one object under way at a time.
const PARTS_AHEAD: usize = 4;
/// Bytes of parts under way, of all objects of this process; a single part may be larger.
const BYTES_AHEAD: usize = 64 << 20;
/// Longest time for deleting the parts of an upload that was given up.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of parts that are on their way.
static UNDER_WAY: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Room for a part; it is free again when this is dropped.
struct Room(usize);

impl Room {
    /// Waits until there is some.
    fn take(bytes: usize) -> Self {
        let (taken, freed) = &UNDER_WAY;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && taken.saturating_add(bytes) > BYTES_AHEAD {
            taken = freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
        Self(bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let (taken, freed) = &UNDER_WAY;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        freed.notify_all();
    }
}

/// The upload of an object's parts, which another thread may give up.
#[derive(Clone, Default)]
struct Parts(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    /// No part has been sent.
    #[default]
    Waiting,
    Open(Box<dyn MultipartUpload>),
    /// Complete, or given up: nothing may be begun again.
    Over,
}

impl Parts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the upload, and returns what was open.
    fn end(&self) -> io::Result<Option<Box<dyn MultipartUpload>>> {
        match std::mem::replace(&mut *self.state(), State::Over) {
            State::Waiting => Ok(None),
            State::Open(upload) => Ok(Some(upload)),
            State::Over => Err(given_up()),
        }
    }

    /// Tells the store to delete the parts. Parts that it keeps all the same are removed by the bucket's own
    /// rules.
    fn abort(&self) {
        let deadline = Instant::now() + ABORT_TIMEOUT;
        // The lock is held while an upload is begun, which may take long where the store does not answer.
        let ended = loop {
            match self.0.try_lock() {
                Ok(mut state) => break std::mem::replace(&mut *state, State::Over),
                Err(TryLockError::Poisoned(state)) => {
                    break std::mem::replace(&mut *state.into_inner(), State::Over);
                }
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => return,
            }
        };
        let State::Open(mut upload) = ended else { return };
        let aborting = runtime::run(async move {
            let aborted = tokio::time::timeout(ABORT_TIMEOUT, upload.abort()).await;
            aborted.map_err(io::Error::other)?.map_err(|error| failure::of_store(&error))
        });
        drop(aborting);
    }
}

fn given_up() -> io::Error {
    io::Error::other("the upload was given up")
}

/// An object that takes bytes.
pub(crate) struct Upload {
    store: Store,
    path: Path,
    is_new: bool,
    in_parts: bool,
    buffer: Vec<u8>,
    parts: Parts,
    /// Parts that were sent.
    sent: usize,
    pending: VecDeque<Task<()>>,
    is_sealed: bool,
}

impl Upload {
    /// Begins an object; nothing is sent yet, but what the store would refuse is found.
    pub(crate) fn begin(store: Store, path: Path, is_new: bool, in_parts: bool) -> io::Result<Self> {
        let upload = Self {
            store,
            path,
            is_new,
            in_parts,
            buffer: Vec::new(),
            parts: Parts::default(),
            sent: 0,
            pending: VecDeque::new(),
            is_sealed: false,
        };
        upload.check_bucket()?;
        Ok(upload)
    }

    /// Asks for the object: an export into a bucket that is missing or closed fails before it has read a row.
    fn check_bucket(&self) -> io::Result<()> {
        let (store, path, is_new) = (self.store.clone(), self.path.clone(), self.is_new);
        runtime::run(async move {
            match store.get_range(&path, 0..1).await {
                Ok(_) if is_new => Err(failure::exists()),
                Ok(_) => Ok(()),
                Err(error) => {
                    let told = failure::of_store(&error);
                    let is_bucket = told.to_string().contains("NoSuchBucket")
                        || told.to_string().contains("ContainerNotFound");
                    match told.kind() {
                        io::ErrorKind::NotFound if !is_bucket => Ok(()),
                        // A writer need not be allowed to read; an empty object has no such range.
                        io::ErrorKind::PermissionDenied if !told.to_string().contains("no credentials") => {
                            Ok(())
                        }
                        io::ErrorKind::InvalidInput if told.to_string().starts_with("416") => match is_new {
                            true => Err(failure::exists()),
                            false => Ok(()),
                        },
                        _ => Err(told),
                    }
                }
            }
        })
    }

    fn part_bytes(&self) -> usize {
        if self.sent < SMALL_PARTS { PART_BYTES } else { LARGE_PART_BYTES }
    }

    /// Sends what is in the buffer as a part.
    fn send_part(&mut self) -> io::Result<()> {
        while self.pending.len() >= PARTS_AHEAD {
            self.settle()?;
        }
        let bytes = std::mem::take(&mut self.buffer);
        let room = Room::take(bytes.len());
        let part = self.part(PutPayload::from(bytes))?;
        self.pending.push_back(runtime::spawn(async move {
            let done = part.await.map_err(|error| failure::of_store(&error));
            drop(room);
            done
        })?);
        self.sent += 1;
        Ok(())
    }

    /// Starts a part; the first one begins the upload. The lock keeps other threads from giving it up
    /// meanwhile.
    fn part(&self, bytes: PutPayload) -> io::Result<UploadPart> {
        let mut state = self.parts.state();
        if matches!(*state, State::Waiting) {
            let (store, path) = (self.store.clone(), self.path.clone());
            let upload = runtime::run(async move {
                let begun = store.put_multipart_opts(&path, PutMultipartOptions::default()).await;
                begun.map_err(|error| failure::of_store(&error))
            })?;
            *state = State::Open(upload);
        }
        match &mut *state {
            State::Open(upload) => Ok(upload.put_part(bytes)),
            State::Waiting | State::Over => Err(given_up()),
        }
    }

    fn settle(&mut self) -> io::Result<()> {
        self.pending.pop_front().map_or(Ok(()), Task::wait)
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_sealed {
            return Err(io::Error::other("the object is complete"));
        }
        let wanted = self.part_bytes();
        let count = bytes.len().min(wanted.saturating_sub(self.buffer.len()));
        self.buffer.extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.buffer.len() >= wanted {
            self.send_part()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ObjectWriter for Upload {
    fn seal(&mut self) -> io::Result<()> {
        // A store takes no upload without parts: an empty object is sent when it is published.
        if !self.buffer.is_empty() && (self.sent > 0 || self.in_parts) {
            self.send_part()?;
        }
        while !self.pending.is_empty() {
            self.settle()?;
        }
        self.is_sealed = true;
        Ok(())
    }

    fn publish(&mut self) -> io::Result<()> {
        let (store, path, is_new) = (self.store.clone(), self.path.clone(), self.is_new);
        if self.sent == 0 {
            self.parts.end()?;
            let payload = PutPayload::from(std::mem::take(&mut self.buffer));
            let mode = if is_new { PutMode::Create } else { PutMode::Overwrite };
            return runtime::run(async move {
                let put = store.put_opts(&path, payload, PutOptions::from(mode)).await;
                put.map(drop).map_err(|error| failure::of_store(&error))
            });
        }
        if is_new {
            // Parts cannot be completed under a condition: the look comes as late as it can.
            let (store, path) = (self.store.clone(), self.path.clone());
            let found = runtime::run(async move { Ok(store.head(&path).await.is_ok()) })?;
            if found {
                return Err(failure::exists());
            }
        }
        let mut upload = self.parts.end()?.ok_or_else(given_up)?;
        runtime::run(async move {
            let Err(error) = upload.complete().await else { return Ok(()) };
            // The error to be reported is the first.
            let _ = tokio::time::timeout(ABORT_TIMEOUT, upload.abort()).await;
            Err(failure::of_store(&error))
        })
    }

    fn withdraw(&mut self) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.path.clone());
        runtime::run(async move { store.delete(&path).await.map_err(|error| failure::of_store(&error)) })
    }

    fn abandon(&self) -> Arc<dyn Fn() + Send + Sync> {
        let parts = self.parts.clone();
        Arc::new(move || parts.abort())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Parts that are still sent would come after the end.
        self.pending.clear();
        self.parts.abort();
    }
}
