//! Bytes that all readers of this process may have asked for ahead of themselves.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that all objects together may read ahead: with many open, each is read less far ahead.
const AHEAD_BYTES_MAX: u64 = 128 << 20;

static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A share of the budget; it is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Share(u64);

impl Share {
    /// Takes a share of this many bytes, if they are left.
    pub(super) fn take(bytes: u64) -> Option<Self> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= AHEAD_BYTES_MAX);
        TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(bytes))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}
