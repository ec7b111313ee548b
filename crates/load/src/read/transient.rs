//! Which failures pass by themselves.

use crate::error::Error;

/// SQL Server's numbers for what another try may get past: a lock that was not free, the victim of a deadlock, and what
/// Azure documents as transient.
const NUMBERS: [i32; 17] = [
    1204, 1205, 1222, 4060, 10053, 10054, 10060, 10928, 10929, 40143, 40197, 40501, 40540, 40613, 49918,
    49919, 49920,
];

/// Whether the same request may succeed, on a new connection if this one is broken.
pub(crate) fn is_transient(error: &Error) -> bool {
    match error {
        Error::Io { .. } | Error::TimedOut { .. } | Error::Broken | Error::Connect(_) => true,
        Error::InDoubt { source, .. } => is_transient(source),
        // The other side of a cut: half a message.
        Error::Protocol { source, .. } => source.is_truncated(),
        other => other.server_message().is_some_and(|message| NUMBERS.contains(&message.number)),
    }
}
