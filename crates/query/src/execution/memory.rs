//! One budget of memory for what statements hold: rows that are sorted, joined and grouped, long values, variables, and cursors.
//! A statement that gets no more memory fails with error 701, and the server goes on.

mod pool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use pool::BudgetPool;

use tsql::SqlError;
use tsql::errors;

/// The limit of what statements may hold together, and what they hold.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryBudget {
    /// Makes a budget of which nothing is used.
    pub fn new(limit: usize) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget { limit, used: AtomicUsize::new(0) })
    }

    /// Returns the size of the budget.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if no more than `ceiling` are used then.
    fn try_take(&self, bytes: usize, ceiling: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= ceiling);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Takes what cannot be refused.
    pub fn take_anyway(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives back what was taken.
    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl Reservation {
    /// Makes an empty reservation.
    pub fn new(budget: &Arc<MemoryBudget>) -> Reservation {
        Reservation { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Returns the reserved bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more. Errors: 701.
    pub fn take(&mut self, more: usize) -> Result<(), SqlError> {
        if !self.budget.try_take(more, self.budget.limit) {
            return Err(errors::OUT_OF_MEMORY.error());
        }
        self.bytes += more;
        Ok(())
    }

    /// Changes its size. Errors: 701.
    pub fn resize(&mut self, bytes: usize) -> Result<(), SqlError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.take(more),
            None => {
                self.shrink_to(bytes);
                Ok(())
            }
        }
    }

    /// Reduces it to this size.
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
}
