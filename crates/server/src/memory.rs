//! One budget of memory for all that statements hold: rows that are sorted, joined and grouped, long values, variables, cursors,
//! temporary tables. Who does not get what he asks for fails with error 701, and the server goes on.

mod measure;
mod pool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use measure::{default_limit, parse_bytes};
pub(crate) use pool::BudgetPool;

use store::MemoryQuota;

use crate::sql_error::SqlError;

/// What the program needs for itself, whatever statements do.
const PROGRAM_BYTES: usize = 48 << 20;
/// Least that statements have, however small the limit is.
const STATEMENTS_BYTES_MIN: usize = 32 << 20;
/// Least of the cache of pages.
const CACHE_BYTES_MIN: usize = 4 << 20;
/// Most of the cache of pages.
const CACHE_BYTES_MAX: usize = 256 << 20;

/// How a server's memory is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    /// For pages of databases on disk.
    pub cache_bytes: usize,
    /// For what statements hold.
    pub statement_bytes: usize,
}

impl Shares {
    /// Of a server that may use `limit` bytes.
    pub fn of(limit: u64) -> Shares {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let cache_bytes = (limit / 4).clamp(CACHE_BYTES_MIN, CACHE_BYTES_MAX);
        let rest = limit.saturating_sub(cache_bytes).saturating_sub(PROGRAM_BYTES);
        // Allocators keep and round: what is counted is less than what is used.
        Shares { cache_bytes, statement_bytes: (rest / 10 * 9).max(STATEMENTS_BYTES_MIN) }
    }
}

/// What statements may hold together, and what they hold.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of which nothing is used.
    pub fn new(limit: usize) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget { limit, used: AtomicUsize::new(0) })
    }

    /// All of it.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What is held.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if no more than `ceiling` are used then.
    fn try_take(&self, bytes: usize, ceiling: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= ceiling);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Takes what cannot be refused.
    fn take_anyway(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl MemoryQuota for MemoryBudget {
    fn fits(&self, bytes: usize) -> bool {
        // The last of it is for statements that read, and that take rows away.
        self.used().checked_add(bytes).is_some_and(|used| used <= self.limit / 10 * 9)
    }

    fn take(&self, bytes: usize) {
        self.take_anyway(bytes);
    }

    fn give_back(&self, bytes: usize) {
        MemoryBudget::give_back(self, bytes);
    }
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl Reservation {
    /// Nothing yet.
    pub fn new(budget: &Arc<MemoryBudget>) -> Reservation {
        Reservation { budget: Arc::clone(budget), bytes: 0 }
    }

    /// How large it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more. Errors: 701.
    pub fn take(&mut self, more: usize) -> Result<(), SqlError> {
        if !self.budget.try_take(more, self.budget.limit) {
            return Err(SqlError::out_of_memory());
        }
        self.bytes += more;
        Ok(())
    }

    /// Makes it as large as that. Errors: 701.
    pub fn resize(&mut self, bytes: usize) -> Result<(), SqlError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.take(more),
            None => {
                self.shrink_to(bytes);
                Ok(())
            }
        }
    }

    /// Gives back what is beyond.
    pub fn shrink_to(&mut self, bytes: usize) {
        if let Some(less) = self.bytes.checked_sub(bytes) {
            self.budget.give_back(less);
            self.bytes = bytes;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_reservation_ends_with_its_owner() {
        let budget = MemoryBudget::new(100);
        let mut first = Reservation::new(&budget);
        first.take(60).unwrap();
        let mut second = Reservation::new(&budget);
        assert_eq!(second.take(50).unwrap_err().number, 701);
        second.resize(40).unwrap();
        first.shrink_to(10);
        assert_eq!(budget.used(), 50);
        drop((first, second));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn small_limits_leave_room_for_statements() {
        assert_eq!(Shares::of(0).statement_bytes, STATEMENTS_BYTES_MIN);
        let gigabyte = Shares::of(1 << 30);
        assert_eq!(gigabyte.cache_bytes, 256 << 20);
        assert!(gigabyte.cache_bytes + gigabyte.statement_bytes < 1 << 30);
        assert_eq!(Shares::of(64 << 20).cache_bytes, 16 << 20);
    }
}
