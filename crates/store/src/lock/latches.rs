//! Latches of trees: held for moments, never while a lock is waited for.

use std::collections::BTreeSet;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::page::UnitId;

/// Locks of the structure of trees: shared to follow it, exclusive to change it. They are held for moments
/// only, and never by a transaction that waits for a lock.
#[derive(Debug)]
pub(crate) struct Latches {
    stripes: Vec<RwLock<()>>,
}

/// Trees share latches.
const STRIPES: usize = 64;

impl Default for Latches {
    fn default() -> Self {
        Self { stripes: (0..STRIPES).map(|_| RwLock::new(())).collect() }
    }
}

impl Latches {
    /// Takes a shared latch: the structure of a tree does not change.
    pub fn share(&self, unit: UnitId) -> Option<RwLockReadGuard<'_, ()>> {
        self.stripes.get(stripe(unit)).map(RwLock::read)
    }

    /// Takes exclusive latches, so that nobody follows these trees.
    pub fn take(&self, units: impl Iterator<Item = UnitId>) -> Vec<RwLockWriteGuard<'_, ()>> {
        // All callers take the latches in the same order, so that two never wait for each other.
        let stripes: BTreeSet<usize> = units.map(stripe).collect();
        stripes.into_iter().filter_map(|stripe| self.stripes.get(stripe)).map(RwLock::write).collect()
    }
}

fn stripe(unit: UnitId) -> usize {
    (unit.object as usize).wrapping_mul(31).wrapping_add(usize::from(unit.index)) % STRIPES
}
