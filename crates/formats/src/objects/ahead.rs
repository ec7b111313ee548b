//! An object from its first byte to its last, in ranges that are asked for ahead of the reader, several at a time.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};

use super::budget::Share;
use super::{Object, PendingBytes};

/// The first range is short: often just the head of a file is looked at.
const FIRST_BYTES: u64 = 256 << 10;
const RANGE_BYTES: u64 = 4 << 20;
/// Ranges under way at a time.
const RANGES: usize = 8;

/// Reads an object in order.
pub(crate) struct Ahead {
    object: Arc<dyn Object>,
    length: u64,
    plan: Ranges,
    pending: VecDeque<(Box<dyn PendingBytes>, Option<Share>)>,
    current: Bytes,
    /// Ranges that may be under way; it grows as the reader goes on.
    width: usize,
}

impl Ahead {
    /// Reads from `start` on.
    pub(crate) fn new(object: Arc<dyn Object>, length: u64) -> Self {
        let plan = Ranges { next: 0, end: length, bytes: FIRST_BYTES };
        Self { object, length, plan, pending: VecDeque::new(), current: Bytes::new(), width: 1 }
    }

    fn ask(&mut self) {
        while self.pending.len() < self.width {
            let Some(range) = self.plan.peek() else { return };
            // A range that is needed now is asked for in any case.
            let share = Share::take(range.end - range.start);
            if share.is_none() && !self.pending.is_empty() {
                return;
            }
            self.plan.advance();
            self.pending.push_back((self.object.begin(range), share));
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !into.is_empty() {
            self.ask();
            let Some((pending, share)) = self.pending.pop_front() else { return Ok(0) };
            let waited = pending.wait();
            drop(share);
            if waited.is_err() {
                // Ranges behind one that failed are dropped, since reading must not go on behind a gap.
                self.pending.clear();
                self.plan.next = self.length;
            }
            self.current = waited?;
            self.width = (self.width * 2).min(RANGES);
            self.ask();
        }
        let count = into.len().min(self.current.len());
        if let Some(into) = into.get_mut(..count) {
            self.current.copy_to_slice(into);
        }
        Ok(count)
    }
}

/// Ranges one after another, each twice as long as the one before until they are long enough.
struct Ranges {
    next: u64,
    end: u64,
    bytes: u64,
}

impl Ranges {
    fn peek(&self) -> Option<std::ops::Range<u64>> {
        (self.next < self.end).then(|| self.next..self.next.saturating_add(self.bytes).min(self.end))
    }

    fn advance(&mut self) {
        self.next = self.next.saturating_add(self.bytes).min(self.end);
        self.bytes = (self.bytes * 2).min(RANGE_BYTES);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::window::tests::Numbers;
    use super::*;

    #[test]
    fn ranges_cover_an_object_once() {
        for length in [0, 1, FIRST_BYTES, FIRST_BYTES + 1, 100 << 20] {
            let mut plan = Ranges { next: 0, end: length, bytes: FIRST_BYTES };
            let mut reached = 0;
            while let Some(range) = plan.peek() {
                assert_eq!(range.start, reached);
                assert!(range.end - range.start <= RANGE_BYTES && range.end > range.start);
                reached = range.end;
                plan.advance();
            }
            assert_eq!(reached, length);
        }
    }

    #[test]
    fn bytes_come_in_order_and_the_head_alone_costs_one_range() {
        let object = Arc::new(Numbers::new(3_000_001));
        let mut all = Vec::new();
        Ahead::new(object.clone(), object.length().unwrap()).read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 3_000_001);
        assert!(all.iter().enumerate().all(|(at, byte)| *byte == Numbers::byte(at as u64)));
        let object = Arc::new(Numbers::new(50 << 20));
        let mut head = [0; 10];
        Ahead::new(object.clone(), object.length().unwrap()).read_exact(&mut head).unwrap();
        assert!(object.asked() <= 4, "{} ranges for the head", object.asked());
    }

    #[test]
    fn a_range_that_fails_is_an_error_and_not_the_end() {
        let object = Arc::new(Numbers::failing_at(2 << 20, 1 << 20));
        let mut all = Vec::new();
        let error = Ahead::new(object.clone(), 2 << 20).read_to_end(&mut all).unwrap_err();
        assert_eq!(error.to_string(), "cut");
        assert!(all.len() <= 1 << 20);
    }
}
