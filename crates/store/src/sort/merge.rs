//! Merging sorted runs.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::arena::MemoryRun;
use super::run::RunReader;
use crate::error::EngineError;
use crate::record::KeyedRows;

/// A sorted run.
#[derive(Debug)]
pub(super) enum Source {
    File(RunReader),
    Memory(MemoryRun),
}

impl Source {
    #[inline]
    fn fetch(&mut self) -> Result<(), EngineError> {
        match self {
            Self::File(run) => run.fetch(),
            Self::Memory(_) => Ok(()),
        }
    }

    #[inline]
    fn peek(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::File(run) => run.peek(),
            Self::Memory(run) => run.peek(),
        }
    }

    #[inline]
    fn advance(&mut self) {
        match self {
            Self::File(run) => run.advance(),
            Self::Memory(run) => run.advance(),
        }
    }
}

/// The next key of a run.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    key: Vec<u8>,
    run: usize,
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.as_slice().cmp(other.key.as_slice()).then(self.run.cmp(&other.run))
    }
}

/// Merges runs. Of equal keys those of the earlier run come first.
#[derive(Debug)]
pub(super) struct Merge {
    runs: Vec<Source>,
    /// First rows of the runs that are not at their end; none if there is only one run.
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge {
    pub fn new(mut runs: Vec<Source>) -> Result<Self, EngineError> {
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            run.fetch()?;
            let head = run.peek().map(|(key, _)| Head { key: key.to_vec(), run: number });
            heads.extend(head.map(Reverse));
        }
        if runs.len() == 1 {
            heads.clear();
        }
        Ok(Self { runs, heads })
    }

    /// Puts the next rows, up to about `limit_bytes`, in the place of those in `rows`. False: there are no more.
    pub fn next(&mut self, rows: &mut KeyedRows, limit_bytes: usize) -> Result<bool, EngineError> {
        rows.clear();
        if let [run] = self.runs.as_mut_slice() {
            while rows.records.bytes.len() < limit_bytes
                && let Some((key, record)) = run.peek()
            {
                rows.push(key, record);
                run.advance();
                run.fetch()?;
            }
            return Ok(rows.len() > 0);
        }
        while rows.records.bytes.len() < limit_bytes {
            let Some(mut top) = self.heads.peek_mut() else { break };
            let Some(run) = self.runs.get_mut(top.0.run) else { break };
            if let Some((key, record)) = run.peek() {
                rows.push(key, record);
            }
            run.advance();
            run.fetch()?;
            match run.peek() {
                Some((key, _)) => {
                    let next = &mut top.0.key;
                    next.clear();
                    next.extend_from_slice(key);
                }
                None => drop(PeekMut::pop(top)),
            }
        }
        Ok(rows.len() > 0)
    }
}
