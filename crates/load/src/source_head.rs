//! The first batches of a source, read ahead to choose the way of its rows.

use std::{
    collections::VecDeque,
    iter::Fuse,
    time::{Duration, Instant},
};

use arrow::{array::Array, record_batch::RecordBatch};

use crate::parallel::BoxError;

/// A source whose first batches may have been read already; it hands them out again.
pub(crate) struct SourceHead<S: Iterator> {
    head: VecDeque<S::Item>,
    rest: Fuse<S>,
}

impl<S: Iterator<Item = Result<RecordBatch, BoxError>>> SourceHead<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { head: VecDeque::new(), rest: source.fuse() }
    }

    /// Reads until so many bytes are at hand: how many there are, and whether that is all. An error is left to the load. A source
    /// that takes longer than `patience` is left alone: its rows should not wait for one another.
    pub(crate) fn read_ahead(&mut self, bytes_wanted: u64, patience: Duration) -> (u64, bool) {
        let (mut bytes, began) = (0, Instant::now());
        while bytes < bytes_wanted && (bytes == 0 || began.elapsed() < patience) {
            match self.rest.next() {
                None => return (bytes, true),
                Some(Ok(batch)) => {
                    bytes += byte_count(&batch);
                    self.head.push_back(Ok(batch));
                }
                Some(Err(error)) => {
                    self.head.push_back(Err(error));
                    break;
                }
            }
        }
        (bytes, false)
    }

    /// Returns the batches that were read ahead.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        self.head.iter().filter_map(|batch| batch.as_ref().ok())
    }
}

impl<S: Iterator> Iterator for SourceHead<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<Self::Item> {
        self.head.pop_front().or_else(|| self.rest.next())
    }
}

/// Bytes of a batch's values: a batch may be a slice of far larger buffers.
fn byte_count(batch: &RecordBatch) -> u64 {
    let bytes =
        |array: &dyn Array| array.to_data().get_slice_memory_size().unwrap_or(array.get_array_memory_size());
    batch.columns().iter().map(|array| bytes(array) as u64).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    fn batches(count: i64) -> impl Iterator<Item = Result<RecordBatch, BoxError>> {
        (0..count).map(|n| {
            let values: ArrayRef = Arc::new(Int64Array::from(vec![n; 100]));
            RecordBatch::try_from_iter([("n", values)]).map_err(BoxError::from)
        })
    }

    #[test]
    fn what_was_read_ahead_is_handed_out_again() {
        for (count, wanted, seen) in
            [(3, 1, (800, false)), (3, 1_500, (1_600, false)), (3, 10_000, (2_400, true))]
        {
            let mut head = SourceHead::new(batches(count));
            assert_eq!(head.read_ahead(wanted, Duration::MAX), seen);
            assert_eq!(head.batches().count() as u64, seen.0 / 800);
            assert_eq!(
                head.map(Result::unwrap).collect::<Vec<_>>(),
                batches(count).map(Result::unwrap).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_slice_counts_as_what_it_shows() {
        let whole = batches(1).next().unwrap().unwrap();
        assert_eq!(byte_count(&whole.slice(10, 5)), 40);
    }

    #[test]
    fn a_slow_source_is_not_waited_for() {
        let slow = batches(3).inspect(|_| std::thread::sleep(Duration::from_millis(2)));
        let mut head = SourceHead::new(slow);
        assert_eq!(head.read_ahead(u64::MAX, Duration::from_millis(1)), (800, false));
        assert_eq!(head.count(), 3);
    }

    #[test]
    fn an_error_comes_after_what_was_read_before_it() {
        let failing = batches(1).chain([Err("broken".into())]).chain(batches(1));
        let mut head = SourceHead::new(failing);
        assert_eq!(head.read_ahead(u64::MAX, Duration::MAX), (800, false));
        assert_eq!(head.map(|batch| batch.is_ok()).collect::<Vec<_>>(), [true, false, true]);
    }
}
