//! Objects of stores, read at any place by ranges.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use database_files::ReadAt;
use formats::objects::{Object, ObjectLocation};

/// Bytes of a range.
const RANGE_BYTES: u64 = 1 << 20;
/// Ranges that are kept.
const KEPT_RANGES: usize = 32;

/// An object whose ranges are read as they are asked for.
pub(crate) struct StoredObject {
    name: String,
    object: Arc<dyn Object>,
    length: u64,
    kept: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
}

impl StoredObject {
    /// Looks at an object.
    ///
    /// # Errors
    /// It is not there, or its store gives no ranges.
    pub(crate) fn open(location: &ObjectLocation, name: &str) -> io::Result<Self> {
        let object = location.open()?;
        let length = object.length().filter(|_| object.has_ranges());
        let length = length
            .ok_or_else(|| io::Error::other("the server gives no ranges of it: copy it to a file first"))?;
        Ok(Self { name: name.to_owned(), object, length, kept: Mutex::default() })
    }

    fn range(&self, number: u64) -> io::Result<Arc<[u8]>> {
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, bytes)) = kept.iter().find(|(of, _)| *of == number) {
                return Ok(Arc::clone(bytes));
            }
        }
        let start = number * RANGE_BYTES;
        let bytes: Arc<[u8]> =
            self.object.begin(start..(start + RANGE_BYTES).min(self.length)).wait()?.as_ref().into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_RANGES {
            kept.pop_front();
        }
        kept.push_back((number, Arc::clone(&bytes)));
        Ok(bytes)
    }
}

impl ReadAt for StoredObject {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            if offset >= self.length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let bytes = self.range(offset / RANGE_BYTES)?;
            let from = bytes.get((offset % RANGE_BYTES) as usize..).filter(|rest| !rest.is_empty());
            let from = from.ok_or(io::ErrorKind::UnexpectedEof)?;
            let count = from.len().min(into.len());
            let (to, rest) = into.split_at_mut(count);
            to.copy_from_slice(from.get(..count).unwrap_or_default());
            into = rest;
            offset += count as u64;
        }
        Ok(())
    }
}
