//! Changing rows of a table that other transactions change at the same time. Each page is locked (X) before it is read for a
//! change and stays locked until the transaction ends. So a page has at most one uncommitted state, and undoing puts back bytes.
//!
//! A split locks the page that is split, the new one and those above that get an entry, all before it begins. Only the pointer to
//! the page *before* one may change without a lock: nothing but a split reads it.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::catalogue::Filled;
use crate::lock::{LockTable, Request, Resource};
use crate::page::{ExtentId, PageId, UnitId};

/// The pages that a transaction has locked.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) tables: HashMap<u32, TableClaims>,
    /// Trees in which it has split pages: undoing it changes their structure once more.
    pub(crate) restructured: BTreeSet<UnitId>,
}

#[derive(Debug, Default)]
pub(crate) struct TableClaims {
    pub pages: HashSet<PageId>,
    /// The table is locked as a whole.
    pub is_whole: bool,
    /// Number of times that a lock escalation was refused.
    pub refused: usize,
}

impl Claims {
    pub(crate) fn has(&self, object: u32, page: PageId) -> bool {
        self.tables.get(&object).is_some_and(|table| table.is_whole || table.pages.contains(&page))
    }

    /// Lists the trees whose structure the transaction has changed.
    pub fn restructured(&self) -> impl Iterator<Item = UnitId> {
        self.restructured.iter().copied()
    }

    /// Forgets the pages of extents that are given back.
    pub fn forget_extents(&mut self, locks: &LockTable, transaction: u64, extents: &[ExtentId]) {
        let extents: HashSet<ExtentId> = extents.iter().copied().collect();
        for (object, table) in &mut self.tables {
            for page in table.pages.extract_if(|page| extents.contains(&page.extent())) {
                locks.release(transaction, &Resource::Page { object: *object, page });
            }
        }
    }
}

/// State of a writer that changes a table at the same time as others.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    pub claims: &'a mut Claims,
    /// Space and rows that the transaction adds to the table.
    pub filled: &'a mut Filled,
    /// Settings for lock waits.
    pub request: Request<'a>,
}
