//! sp_getapplock and sp_releaseapplock.

use std::time::Duration;

use tsql::SqlError;

use super::super::Session;
use super::super::application_locks::{Mode, Owner};
use super::parameters::{Parameters, Signature};
use super::{Argument, Outcome};

const GET: Signature = Signature {
    name: "sp_getapplock",
    parameters: &["@Resource", "@LockMode", "@LockOwner", "@LockTimeout", "@DbPrincipal"],
    required: 2,
};

const RELEASE: Signature = Signature {
    name: "sp_releaseapplock",
    parameters: &["@Resource", "@LockOwner", "@DbPrincipal"],
    required: 1,
};

/// Return status of a call that could not be understood.
const BAD_CALL: i32 = -999;

fn status(status: i32) -> Outcome {
    Outcome { status, ..Outcome::plain() }
}

fn owner(parameters: &Parameters<'_>, position: usize) -> Option<Owner> {
    match parameters.text(position).map(|owner| owner.to_ascii_lowercase()).as_deref() {
        None | Some("transaction") => Some(Owner::Transaction),
        Some("session") => Some(Owner::Session),
        Some(_) => None,
    }
}

impl Session {
    pub(super) async fn get_application_lock(&mut self, arguments: &[Argument]) -> Result<Outcome, SqlError> {
        let parameters = GET.bind(arguments)?;
        let mode = parameters.text(1).and_then(|mode| Mode::from_name(&mode));
        let resource = parameters.text(0).filter(|name| !name.is_empty() && name.chars().count() <= 255);
        let (Some(resource), Some(mode), Some(owner)) = (resource, mode, owner(&parameters, 2)) else {
            return Ok(status(BAD_CALL));
        };
        if owner == Owner::Transaction && self.work.depth() == 0 {
            return Ok(status(BAD_CALL));
        }
        let milliseconds = parameters.int(3).unwrap_or(i64::from(self.settings.lock_timeout_ms));
        let patience = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        let database = self.database.clone();
        let cancellation = self.cancellation.clone();
        let granted =
            self.application_locks.take(&database, &resource, mode, owner, patience, &cancellation).await?;
        Ok(status(granted as i32))
    }

    pub(super) fn release_application_lock(&mut self, arguments: &[Argument]) -> Result<Outcome, SqlError> {
        let parameters = RELEASE.bind(arguments)?;
        let resource = parameters.text(0).unwrap_or_default();
        let Some(owner) = owner(&parameters, 1) else { return Ok(status(BAD_CALL)) };
        if self.application_locks.release(&self.database, &resource, owner) {
            return Ok(status(0));
        }
        Err(SqlError::new(
            1223,
            16,
            1,
            format!(
                "Cannot release the application lock (Database Principal: 'public', Resource: '{resource}') because it is not currently held."
            ),
        ))
    }
}
