//! DBCC TRACEON, TRACEOFF and TRACESTATUS. Flags are noted and shown; no flag changes what this server does.

use std::collections::BTreeSet;

use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;

use crate::session::Session;
use crate::session::output::Output;
use crate::statements::administration::dbcc::{Argument, incorrect, rows};

/// In the place of a flag: all sessions are meant.
const GLOBAL: i64 = -1;

/// The columns of DBCC TRACESTATUS.
const STATUS: &[(&str, &str)] =
    &[("TraceFlag", "smallint"), ("Status", "smallint"), ("Global", "smallint"), ("Session", "smallint")];

/// Splits the arguments in flags and whether all sessions are meant. Errors: 2526 for what is no number.
fn read(arguments: &[Argument]) -> Result<(BTreeSet<i64>, bool), SqlError> {
    let mut flags = BTreeSet::new();
    for argument in arguments {
        match argument {
            Argument::Number(number) => flags.insert(*number),
            _ => return Err(incorrect()),
        };
    }
    let is_global = flags.remove(&GLOBAL);
    Ok((flags, is_global))
}

/// TRACEON and TRACEOFF. Errors: 2526 without a flag.
pub(crate) fn switch(session: &mut Session, arguments: &[Argument], on: bool) -> Result<(), SqlError> {
    let (flags, is_global) = read(arguments)?;
    if flags.is_empty() {
        return Err(incorrect());
    }
    let change = |set: &mut BTreeSet<i64>| match on {
        true => set.extend(&flags),
        false => set.retain(|flag| !flags.contains(flag)),
    };
    match is_global {
        true => change(&mut session.instance.trace_flags.lock()),
        false => change(&mut session.settings.trace_flags),
    }
    Ok(())
}

/// TRACESTATUS: the flags that are on, or those that are asked for.
pub(crate) async fn show(
    session: &mut Session,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let (mut asked, _) = read(arguments)?;
    let global = session.instance.trace_flags.lock().clone();
    let own = &session.settings.trace_flags;
    if asked.is_empty() {
        asked = global.union(own).copied().collect();
    }
    let mut view = View::new(STATUS);
    for flag in asked {
        let (all, this) = (global.contains(&flag), own.contains(&flag));
        let shown = [flag, i64::from(all || this), i64::from(all), i64::from(this)];
        view.push(shown.map(Datum::Int).to_vec());
    }
    rows(session, &view, output).await
}
