//! The first rows of a source, for those who only look.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use load::{Choice, SourceBatch};

use crate::{
    error::CopyError,
    places::Places,
    row_stream::{BoxError, RowStream},
    source::{Description, ReadForm, Repeat, Source},
};

/// A source that ends early.
pub struct FirstRows {
    inner: Box<dyn Source>,
    rows: u64,
    read: Arc<AtomicU64>,
}

impl FirstRows {
    /// Limits `inner` to its first `rows` rows, including those that cannot be read.
    pub fn new(inner: Box<dyn Source>, rows: u64) -> Self {
        Self { inner, rows, read: Arc::default() }
    }

    /// Counts the rows that have been read.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }
}

impl Source for FirstRows {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError> {
        self.inner.describe(form)
    }

    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError> {
        let RowStream { schema, batches } = self.inner.open(form)?;
        self.read.store(0, Ordering::Relaxed);
        let first = First { batches: Some(batches), left: self.rows, read: Arc::clone(&self.read) };
        Ok(RowStream { schema, batches: Box::new(first) })
    }

    fn findings(&self) -> Vec<Choice> {
        self.inner.findings()
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        Ok(Repeat::No("these are only its first rows".to_owned()))
    }

    fn collect_unread(&mut self) {
        self.inner.collect_unread();
    }

    fn bytes_read(&self) -> Option<Arc<AtomicU64>> {
        self.inner.bytes_read()
    }

    fn places(&self) -> Places {
        self.inner.places()
    }
}

struct First {
    batches: Option<Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send>>,
    left: u64,
    read: Arc<AtomicU64>,
}

impl Iterator for First {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.as_mut()?.next();
        let Some(Ok(mut batch)) = next else {
            self.batches = None;
            return next;
        };
        let mut unread = batch.take_unread();
        let all = (batch.rows() + unread.len()) as u64;
        if all >= self.left {
            // Nothing further is asked of the source.
            self.batches = None;
        }
        if all > self.left {
            let mut left = self.left as usize;
            let mut rows = 0;
            let mut kept = 0;
            while left > 0 {
                let next_row = (rows < batch.rows()).then(|| batch.origin_row(rows));
                let next_unread = unread.get(kept).map(|row| row.origin.row);
                match (next_row, next_unread) {
                    (Some(row), Some(refused)) if refused < row => kept += 1,
                    (Some(_), _) => rows += 1,
                    (None, _) => kept += 1,
                }
                left -= 1;
            }
            unread.truncate(kept);
            batch = batch.slice(0, rows);
        }
        let taken = all.min(self.left);
        self.left -= taken;
        self.read.fetch_add(taken, Ordering::Relaxed);
        Some(Ok(batch.with_unread(unread)))
    }
}
