//! Transactions over several databases: all of them commit, or none.
//!
//! Each database prepares its part: its log durably has everything except the outcome. Then one database, the coordinator, logs
//! the decision to commit. A database that is opened with a prepared part asks the coordinator; an unknown transaction was not
//! decided (presumed abort). The coordinator drops a decision when all parts are durably committed.

use super::Engine;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::log::Operation;
use crate::transaction::{Ready, Transaction};

/// Commits transactions of several databases as one. `coordinator` need not have a part, but is always the
/// same for a database. The opening of a database asks it for the decision ([`Engine::open_within`]).
///
/// # Errors
/// A part cannot be committed; then nothing is. After `Shut` the outcome is known at the next opening of the
/// databases; either all are committed or none.
pub fn commit_together(coordinator: &Engine, transactions: Vec<Transaction>) -> Result<(), EngineError> {
    let mut transactions = transactions;
    // Every commit takes its parts in the same order, so that none waits for another in a circle.
    transactions.sort_by_key(|transaction| transaction.shared.number);
    let ready = transactions.into_iter().map(Transaction::ready).collect::<Result<Vec<_>, _>>()?;
    let (changed, unchanged): (Vec<_>, Vec<_>) = ready.into_iter().partition(Ready::has_changes);
    // Changes of temporary databases need not survive the process, so these parts follow the outcome of the
    // others.
    let (temporary, mut changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(Ready::is_temporary);
    let unchanged = temporary.into_iter().chain(unchanged);
    if changed.len() < 2 {
        return changed.into_iter().chain(unchanged).try_for_each(|part| part.commit().map(drop));
    }
    let deciding = &coordinator.shared;
    // Numbers come from that of its virtual log file, which must be there so that no later opening has the same.
    deciding.pager.log.ensure_file()?;
    let global = deciding.decisions.new_global();
    for part in &mut changed {
        // The coordinator's own part is durable with the decision.
        if let Some(lsn) = part.prepare(global)?
            && part.database() != deciding.number
        {
            part.flush(lsn)?;
        }
    }
    if let Err(error) = deciding.decide(global) {
        if let EngineError::Shut { .. } = error {
            changed.into_iter().for_each(|part| drop(part.leave(&error)));
        }
        return Err(error);
    }
    let mut result = Ok(());
    let mut parts = Vec::with_capacity(changed.len());
    for part in changed {
        match part.commit_decided() {
            Ok(committed) => parts.extend(committed),
            Err(error) => result = Err(error),
        }
    }
    if result.is_ok() {
        deciding.decisions.committed(global, parts);
    }
    // Each is committed, even if another one fails.
    let mut others = Ok(());
    for part in unchanged {
        others = others.and(part.commit().map(drop));
    }
    others.and(result)
}

impl Shared {
    /// Writes durably that a transaction over several databases is committed.
    fn decide(&self, global: u64) -> Result<(), EngineError> {
        let log = &self.pager.log;
        let noted = || drop(self.decisions.open.lock().insert(global, None));
        let lsn = self.pager.note(Operation::Decision { global }, noted)?;
        let Err(error) = log.flush(lsn) else { return Ok(()) };
        if !error.is_log_full() {
            log.shut(error.to_string());
            return Err(EngineError::Shut { reason: error.to_string() });
        }
        // A checkpoint that has seen the decision must not become one that counts.
        let withdrawn = self.without_checkpoint(|| {
            let withdrawn = log.withdraw(lsn);
            if matches!(withdrawn, Ok(true)) {
                self.decisions.open.lock().remove(&global);
            }
            withdrawn
        });
        match withdrawn {
            Ok(true) => Err(error),
            Ok(false) => Ok(()),
            Err(error) => {
                log.shut(error.to_string());
                Err(EngineError::Shut { reason: error.to_string() })
            }
        }
    }
}

impl Engine {
    /// Returns true if this database, as a coordinator, has decided to commit this transaction over several
    /// databases.
    pub fn has_decided(&self, global: u64) -> bool {
        self.shared.decisions.open.lock().contains_key(&global)
    }

    /// Drops old decisions. All databases that this one may have coordinated must be open, so the decisions are committed in all of them.
    pub fn forget_recovered_decisions(&self) {
        self.shared.decisions.open.lock().retain(|_, parts| parts.is_some());
    }

    /// Makes this database's decisions durable in all databases, so that none needs to ask for them any more.
    pub fn settle_decisions(&self) -> Result<(), EngineError> {
        self.shared.decisions.parts().into_iter().try_for_each(|(log, lsn)| log.flush(lsn))?;
        self.shared.decisions.forget();
        Ok(())
    }
}
