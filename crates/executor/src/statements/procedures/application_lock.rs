//! sp_getapplock and sp_releaseapplock.

use std::time::Duration;

use databases::instance::application_locks::{Mode, Owner};
use tsql::SqlError;

use crate::session::Session;
use crate::statements::procedures::argument::{Argument, Outcome};
use crate::statements::procedures::parameters::{Parameters, Signature};

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

pub(crate) async fn get_application_lock(
    session: &mut Session,
    arguments: &[Argument],
) -> Result<Outcome, SqlError> {
    let parameters = GET.bind(arguments)?;
    let mode = parameters.text(1).and_then(|mode| Mode::from_name(&mode));
    let resource = parameters.text(0).filter(|name| !name.is_empty() && name.chars().count() <= 255);
    let (Some(resource), Some(mode), Some(owner)) = (resource, mode, owner(&parameters, 2)) else {
        return Ok(status(BAD_CALL));
    };
    if owner == Owner::Transaction && session.work.depth() == 0 {
        return Ok(status(BAD_CALL));
    }
    let milliseconds = parameters.int(3).unwrap_or(i64::from(session.settings.lock_timeout_ms));
    let patience = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    let database = session.database.clone();
    let cancellation = session.cancellation.clone();
    let granted =
        session.application_locks.take(&database, &resource, mode, owner, patience, &cancellation).await?;
    Ok(status(granted as i32))
}

pub(crate) fn release_application_lock(
    session: &mut Session,
    arguments: &[Argument],
) -> Result<Outcome, SqlError> {
    let parameters = RELEASE.bind(arguments)?;
    let resource = parameters.text(0).unwrap_or_default();
    let Some(owner) = owner(&parameters, 1) else { return Ok(status(BAD_CALL)) };
    if session.application_locks.release(&session.database, &resource, owner) {
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
