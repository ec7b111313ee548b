//! Messages about a session's loads, and the list of recent loads.

use std::time::Instant;

use databases::instance::loads::{FinishedLoad, LoadClock};
use query::facts;
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::output::Output;
use crate::statements::evaluation::answer;

/// Starts the clock of a load.
pub(crate) fn load_clock(session: &Session, command: &'static str) -> LoadClock {
    LoadClock { spid: session.login.spid, command, began: facts::now(), since: Instant::now() }
}

/// Remembers a load of this session, and tells of it if that is asked for.
pub(crate) async fn note_load(session: &Session, load: FinishedLoad, output: &mut Output) {
    if session.settings.statistics_bulk {
        answer::inform(session, notice(&load), output).await;
    }
    session.instance.loads().add(load);
}

/// Makes message 3604, if the load that has ended left out rows.
pub fn notice_of_duplicates(session: &Session) -> Option<SqlError> {
    session.work.take_ignored().then(|| errors::DUPLICATES_IGNORED.error())
}

/// Makes the message about the session's last load; `None` if SET STATISTICS BULK is off.
pub fn notice_of_load(session: &Session) -> Option<SqlError> {
    let last = || session.instance.loads().last_of(session.login.spid);
    session.settings.statistics_bulk.then(last).flatten().as_ref().map(notice)
}

pub(crate) fn notice(load: &FinishedLoad) -> SqlError {
    SqlError::new(0, 0, 1, load.message())
}
