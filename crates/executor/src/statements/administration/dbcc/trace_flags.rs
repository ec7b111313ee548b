//! DBCC TRACEON, TRACEOFF and TRACESTATUS. Flags are noted and shown; no flag changes what this server does.

use std::collections::BTreeSet;

use introspection::system_views::View;
use query::Datum;

use crate::session::Session;

/// In the place of a flag: all sessions are meant.
const GLOBAL: i64 = -1;

/// The columns of DBCC TRACESTATUS.
const STATUS: &[(&str, &str)] =
    &[("TraceFlag", "smallint"), ("Status", "smallint"), ("Global", "smallint"), ("Session", "smallint")];

/// Splits numbers in flags and whether all sessions are meant.
fn read(numbers: &[i64]) -> (BTreeSet<i64>, bool) {
    let mut flags: BTreeSet<i64> = numbers.iter().copied().collect();
    let is_global = flags.remove(&GLOBAL);
    (flags, is_global)
}

/// Runs TRACEON and TRACEOFF. False: no flag is named.
pub(crate) fn switch(session: &mut Session, numbers: &[i64], on: bool) -> bool {
    let (flags, is_global) = read(numbers);
    let change = |set: &mut BTreeSet<i64>| match on {
        true => set.extend(&flags),
        false => set.retain(|flag| !flags.contains(flag)),
    };
    match is_global {
        true => change(&mut session.instance.trace_flags.lock()),
        false => change(&mut session.settings.trace_flags),
    }
    !flags.is_empty()
}

/// Returns the rows of TRACESTATUS: the flags that are on, or those that are asked for.
pub(crate) fn status(session: &Session, numbers: &[i64]) -> View {
    let (mut asked, _) = read(numbers);
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
    view
}
