//! State that the threads of an open database share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::checkpoint::CheckpointState;
use super::control::Control;
use super::governor::Governor;
use super::host::Host;
use super::options::{EngineOptions, RecoveryModel};
use crate::cache::pager::Pager;
use crate::catalogue::Catalogue;
use crate::disk::volume::Volume;
use crate::error::EngineError;
use crate::figures::CounterCells;
use crate::lock::latches::Latches;
use crate::lock::turns::Turns;
use crate::lock::{LockSpace, LockTable};
use crate::log::decisions::Decisions;
use crate::page::lsn::Lsn;
use crate::page::{ExtentId, PageId, UnitId};
use crate::record::compress::CompressionCounts;
use crate::space::Allocator;
use crate::space::room::Room;

#[derive(Debug)]
pub(crate) struct Shared {
    /// A number that no other database opened by this process has.
    pub number: u64,
    pub volume: Arc<dyn Volume>,
    pub options: EngineOptions,
    pub pager: Arc<Pager>,
    pub allocator: Allocator,
    pub locks: LockTable,
    pub catalogue: RwLock<Arc<Catalogue>>,
    pub next_transaction: AtomicU64,
    pub next_object: AtomicU32,
    /// Number of the next temporary file of a sort.
    pub next_sort: AtomicU64,
    /// Rows of each table by the commits that are in the log, for checkpoints.
    pub row_counts: Mutex<BTreeMap<u32, u64>>,
    /// Extents and pages that committed transactions have freed, with the last commit whose snapshots may read them.
    pub given_up: Mutex<Vec<GivenUp>>,
    /// Extents of undone loads, each with the log position that must be durable before they are given out
    /// again.
    undone: Mutex<Vec<(Lsn, Vec<ExtentId>)>>,
    /// The order of commits to tables that several transactions change at the same time.
    pub turns: Arc<Turns>,
    pub counters: CounterCells,
    /// Lock of backups and of changes to the set of data files: one of them runs at a time.
    pub backups: Mutex<()>,
    /// Decisions on transactions over several databases.
    pub(crate) decisions: Decisions,
    pub governor: Governor,
    pub catalogue_iam: PageId,
    pub recovery_model: AtomicU8,
    pub checkpoint: Mutex<CheckpointState>,
    /// Pages that were tried and kept compressed, by table, since the database was opened.
    compression: Mutex<BTreeMap<UnitId, CompressionCounts>>,
    pub room: Room,
    pub latches: Latches,
}

#[derive(Debug)]
pub(crate) struct GivenUp {
    pub sequence: u64,
    pub extents: Vec<ExtentId>,
    pub units: Vec<UnitId>,
}

/// Numbers of databases that this process has opened.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

impl Shared {
    pub(crate) fn new(
        host: Option<&Host>,
        volume: Arc<dyn Volume>,
        options: EngineOptions,
        pager: Arc<Pager>,
        allocator: Allocator,
        control: &Control,
    ) -> Self {
        let governor = Governor::new(options.resource_limits, &pager.waits);
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let space = host.map_or_else(LockSpace::default, |host| host.locks.clone());
        let decisions = Decisions::new(pager.log.position().file, control.decisions.iter().copied());
        Self {
            number,
            volume,
            options,
            locks: LockTable::within(&space, number, &pager.waits),
            decisions,
            pager,
            allocator,
            catalogue: RwLock::default(),
            next_transaction: AtomicU64::new(control.next_transaction),
            next_object: AtomicU32::new(control.next_object),
            next_sort: AtomicU64::new(0),
            row_counts: Mutex::new(control.row_counts.iter().copied().collect()),
            given_up: Mutex::default(),
            undone: Mutex::default(),
            turns: Arc::default(),
            counters: CounterCells::default(),
            backups: Mutex::default(),
            governor,
            catalogue_iam: control.catalogue_iam,
            recovery_model: AtomicU8::new(control.recovery_model),
            checkpoint: Mutex::new(CheckpointState::after(control)),
            compression: Mutex::default(),
            room: Room::default(),
            latches: Latches::default(),
        }
    }

    pub fn recovery_model(&self) -> RecoveryModel {
        match self.recovery_model.load(Ordering::Acquire) {
            1 => RecoveryModel::Full,
            2 => RecoveryModel::BulkLogged,
            _ => RecoveryModel::Simple,
        }
    }

    /// Returns true if a bulk load that begins now logs only its extents.
    pub fn is_minimally_logged(&self) -> bool {
        self.recovery_model() != RecoveryModel::Full
    }

    /// Returns true if the extents of minimally logged loads are marked for the next log backup.
    pub fn marks_minimally_logged(&self) -> bool {
        self.recovery_model() == RecoveryModel::BulkLogged
    }

    /// Frees the extents of an undone load as soon as the undo is durable.
    pub fn release_when_durable(&self, undone: Lsn, extents: Vec<ExtentId>) {
        self.undone.lock().push((undone, extents));
    }

    /// Frees extents that no snapshot can read any more.
    pub fn release_given_up(&self) -> Result<(), EngineError> {
        let durable = self.pager.log.durable();
        let undone: Vec<_> = self.undone.lock().extract_if(.., |(undone, _)| *undone < durable).collect();
        undone.into_iter().for_each(|(_, extents)| self.allocator.release(extents));
        let oldest = self.pager.versions.oldest_snapshot().unwrap_or(u64::MAX);
        let free: Vec<GivenUp> = {
            let mut given_up = self.given_up.lock();
            given_up.extract_if(.., |given_up| given_up.sequence <= oldest).collect()
        };
        for given_up in free {
            self.allocator.release(given_up.extents);
            given_up.units.into_iter().try_for_each(|unit| self.allocator.release_unit(unit))?;
        }
        Ok(())
    }

    /// Drops what is known about the pages of a table that is gone.
    pub fn forget_storage(&self, storage: u32) {
        self.pager.note_tree(storage, false);
        self.room.forget_storage(storage);
        self.compression.lock().retain(|unit, _| unit.object != storage);
    }

    /// Adds to a table's counts of compressed pages.
    pub fn note_compression(&self, unit: UnitId, counts: CompressionCounts) {
        if counts != CompressionCounts::default() {
            *self.compression.lock().entry(unit).or_default() += counts;
        }
    }

    pub(crate) fn compression_counts(&self, unit: UnitId) -> CompressionCounts {
        self.compression.lock().get(&unit).copied().unwrap_or_default()
    }
}
