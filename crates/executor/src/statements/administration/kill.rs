//! KILL: ends another session.

use tsql::SqlError;

use crate::session::Session;

/// Session ids below are the server's own tasks.
const FIRST_USER_SESSION: i64 = 51;

/// Runs KILL of a session, or reports one that is being ended. Errors: 6101, 6104, 6106, 6107, 6115, 6120.
pub fn run(session: &mut Session, id: i64, status_only: bool) -> Result<(), SqlError> {
    let error = |number, text: String| Err(SqlError::new(number, 16, 1, text));
    let Some(spid) = u16::try_from(id).ok().filter(|spid| (1..=0x7FFF).contains(spid)) else {
        return error(6101, format!("Session ID {id} is not valid."));
    };
    if session.work.depth() > 0 {
        return error(6115, "KILL command cannot be used inside user transactions.".to_owned());
    }
    if spid == session.login.spid && !status_only {
        return error(6104, "Cannot use KILL to kill your own process.".to_owned());
    }
    if id < FIRST_USER_SESSION {
        return error(6107, "Only user processes can be killed.".to_owned());
    }
    let sessions = session.instance.sessions();
    let found = match status_only {
        true => match sessions.state(spid) {
            Some(false) => {
                let text = format!(
                    "Status report cannot be obtained. Rollback operation for Process ID {id} is not in progress."
                );
                return error(6120, text);
            }
            state => state.is_some(),
        },
        false => sessions.kill(spid),
    };
    match found {
        true => Ok(()),
        false => error(6106, format!("Process ID {id} is not an active process ID.")),
    }
}
