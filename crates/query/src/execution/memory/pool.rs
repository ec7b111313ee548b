//! The budget as the memory pool of the execution engine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use super::MemoryBudget;

/// Operators that can spill share so many hundredths of the budget.
const SPILLING_SHARE: usize = 60;
/// One that has more than its part spills when so many are in use, so that the others get theirs.
const GREEDY_SHARE: usize = 40;
/// The share up to which operators grow that cannot spill or keep within their part. The rest is for values and variables of
/// other sessions.
const HOLDING_SHARE: usize = 85;
/// An operator that has little gets it beside others that have much.
const SMALL_SHARE: usize = 95;
/// Little is one part in so many.
const SMALL_PART: usize = 64;

/// A pool that takes from the budget.
#[derive(Debug)]
pub struct BudgetPool {
    budget: Arc<MemoryBudget>,
    /// Operators that can spill.
    spilling: AtomicUsize,
}

impl BudgetPool {
    /// Makes a pool that draws on the budget.
    pub fn new(budget: &Arc<MemoryBudget>) -> BudgetPool {
        BudgetPool { budget: Arc::clone(budget), spilling: AtomicUsize::new(0) }
    }
}

impl fmt::Display for BudgetPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(used: {}, limit: {})", self.name(), self.budget.used(), self.budget.limit())
    }
}

impl MemoryPool for BudgetPool {
    fn name(&self) -> &str {
        "budget"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.spilling.fetch_add(usize::from(consumer.can_spill()), Ordering::Relaxed);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.spilling.fetch_sub(usize::from(consumer.can_spill()), Ordering::Relaxed);
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.budget.take_anyway(additional);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.budget.give_back(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let consumer = reservation.consumer();
        let wanted = reservation.size().saturating_add(additional);
        let spilling = self.spilling.load(Ordering::Relaxed).max(1);
        let part = self.budget.limit() / 100 * SPILLING_SHARE / spilling;
        let share = match consumer.can_spill() {
            _ if wanted <= self.budget.limit() / SMALL_PART => SMALL_SHARE,
            true if spilling == 1 => SPILLING_SHARE,
            true if wanted > part => GREEDY_SHARE,
            _ => HOLDING_SHARE,
        };
        if self.budget.try_take(additional, self.budget.limit() / 100 * share) {
            return Ok(());
        }
        let text =
            format!("{} has {} bytes and wants {additional} more", consumer.name(), reservation.size());
        Err(DataFusionError::ResourcesExhausted(text))
    }

    fn reserved(&self) -> usize {
        self.budget.used()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.budget.limit())
    }
}
