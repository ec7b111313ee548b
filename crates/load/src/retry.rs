//! Recognises transient errors, and computes the wait before the next try.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    io, thread,
    time::{Duration, Instant},
};

use entra::EntraError;

use crate::{error::Error, interruption::Interruption, login::LoginError, tcp::ConnectError};

/// The interval at which a wait checks whether the work is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Transient errors of the server, with a description.
///
/// Sources: `SqlConfigurableRetryFactory.BaselineTransientErrors` of Microsoft.Data.SqlClient, the transient error detector
/// of Entity Framework Core for SQL Server, and the pages "Troubleshoot transient connection errors" and "Resource
/// limits" of Azure SQL Database.
pub const TRANSIENT_ERRORS: &[(i32, &str)] = &[
    (64, "the connection broke during the login"),
    (233, "the connection broke during the login"),
    (615, "the database's number changed in a failover"),
    (617, "a descriptor of the database was not found in a failover"),
    (669, "the row was moved away during the statement"),
    (921, "the database has not been recovered yet"),
    (922, "the database is being recovered"),
    (1204, "the server has no lock left"),
    (1205, "the transaction was the victim of a deadlock"),
    (1221, "the server is releasing the statement's locks"),
    (1222, "the time for a lock ran out"),
    (1807, "the model database is locked"),
    (3935, "the file stream's transaction could not be begun"),
    (3960, "another transaction changed the row since the snapshot"),
    (3966, "the row's version is gone"),
    (4060, "the database cannot be opened"),
    (4221, "the replica waits for row versions"),
    (4891, "the table's definition changed during the load"),
    (8628, "the time to optimise ran out"),
    (8645, "the time for memory to run ran out"),
    (8651, "the server is low on memory"),
    (9515, "the XML schema collection changed"),
    (10053, "the connection broke"),
    (10054, "the connection was reset"),
    (10060, "the connection timed out"),
    (10922, "the service asks to run the statement again"),
    (10928, "the database has reached a limit of resources"),
    (10929, "the server is too busy for the database"),
    (10930, "the service is too busy"),
    (10936, "the elastic pool has reached a limit of requests"),
    (14355, "the management service is busy"),
    (17197, "the login timed out"),
    (18401, "the server is being upgraded"),
    (20041, "the transaction was rolled back"),
    (40143, "the service met an error"),
    (40197, "the service met an error"),
    (40501, "the service is busy"),
    (40540, "the service met an error"),
    (40549, "the transaction ran too long"),
    (40550, "the transaction took too many locks"),
    (40613, "the database is not available"),
    (41301, "a transaction that this one depends on failed"),
    (41302, "another transaction changed the row"),
    (41305, "a repeatable read was not"),
    (41325, "a serializable read was not"),
    (41839, "too many transactions depend on one another"),
    (42108, "the pool is paused"),
    (42109, "the pool is warming up"),
    (49918, "the service lacks resources"),
    (49919, "the service is busy creating databases"),
    (49920, "the service is busy with the subscription"),
    (49977, "the elastic pool is busy"),
    (49983, "the service asks to try again"),
];

/// Waits between tries. They double, and each is shortened at random so that many clients do not come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Time from the first failure of a piece of work after which its error ends the load. Zero: nothing is tried again.
    pub patience: Duration,
    /// The first wait, before chance shortens it by up to a half.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl RetryPolicy {
    /// Nothing is tried again.
    pub const NONE: Self =
        Self { patience: Duration::ZERO, first_wait: Duration::ZERO, longest_wait: Duration::ZERO };

    /// Tries again for this long, waiting 100 ms at first and 30 s at most.
    pub fn lasting(patience: Duration) -> Self {
        Self { patience, first_wait: Duration::from_millis(100), longest_wait: Duration::from_secs(30) }
    }

    /// Returns the wait before try `number`, the first repetition being 1.
    pub fn wait(&self, number: u32) -> Duration {
        let doubled =
            self.first_wait.saturating_mul(1_u32.checked_shl(number.saturating_sub(1)).unwrap_or(u32::MAX));
        let most = doubled.min(self.longest_wait);
        // A hasher with random keys is the standard library's source of chance.
        let chance = RandomState::new().hash_one(number) as f64 / u64::MAX as f64;
        most.mul_f64(1.0 - chance / 2.0)
    }
}

/// The reason why an error is transient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transient {
    /// The server's error has this number.
    Server(i32),
    /// The connection broke, or could not be made.
    Connection,
    /// The server was silent for too long.
    Silence,
}

impl fmt::Display for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(number) => match meaning(*number) {
                Some(meaning) => write!(f, "error {number}, {meaning}"),
                None => write!(f, "error {number}"),
            },
            Self::Connection => f.write_str("the connection broke"),
            Self::Silence => f.write_str("the server was silent"),
        }
    }
}

/// Says why another try may succeed; `None` if it would fail the same way.
pub fn transient(error: &Error) -> Option<Transient> {
    match error {
        Error::InDoubt { source, .. } if matches!(**source, Error::Cancelled) => None,
        Error::InDoubt { source, .. } => transient(source).or(Some(Transient::Connection)),
        Error::Server(error) => {
            let known = error.messages().find(|message| meaning(message.number).is_some());
            match known {
                Some(message) => Some(Transient::Server(message.number)),
                // A server that shuts down or kills the session says so with a severity of 20 and above, or with 6005.
                None if error.is_fatal() || error.messages().any(|message| message.number == 6005) => {
                    Some(Transient::Connection)
                }
                None => None,
            }
        }
        Error::Login(error) => match &**error {
            LoginError::Refused(refused) => {
                let known = refused.messages().find(|message| meaning(message.number).is_some());
                known.map(|message| Transient::Server(message.number))
            }
            LoginError::Entra(EntraError::Unreachable { .. } | EntraError::TimedOut(_)) => {
                Some(Transient::Connection)
            }
            _ => None,
        },
        Error::Connect(_) => Some(Transient::Connection),
        Error::Io { source, .. } => {
            (source.kind() != io::ErrorKind::InvalidInput).then_some(Transient::Connection)
        }
        Error::Broken => Some(Transient::Connection),
        // The other side of a cut: half a message.
        Error::Protocol { source, .. } if source.is_truncated() => Some(Transient::Connection),
        Error::TimedOut { .. } => Some(Transient::Silence),
        _ => None,
    }
}

/// Says why another try to connect may succeed, where a connection of the same kind was made before.
pub(crate) fn transient_connecting(error: &Error) -> Option<Transient> {
    match error {
        Error::Tls(_) | Error::Protocol { .. } | Error::Unexpected { .. } => Some(Transient::Connection),
        Error::Login(login) if matches!(**login, LoginError::NoAcknowledgement) => {
            Some(Transient::Connection)
        }
        error => transient(error),
    }
}

/// Says why another try to connect for the first time may succeed. A host without an address may never have had one, so
/// it is no reason.
pub(crate) fn passing_connecting(error: &Error) -> Option<Transient> {
    match error {
        Error::Connect(error)
            if matches!(**error, ConnectError::Resolve { .. } | ConnectError::OtherProtocol { .. }) =>
        {
            None
        }
        error => transient(error),
    }
}

/// Waits, unless the work is to end.
pub(crate) fn wait(time: Duration, interruption: Option<&Interruption>) -> Result<(), Error> {
    let started = Instant::now();
    loop {
        if interruption.is_some_and(Interruption::is_asked) {
            return Err(Error::Cancelled);
        }
        let left = time.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK));
    }
}

fn meaning(number: i32) -> Option<&'static str> {
    let index = TRANSIENT_ERRORS.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    TRANSIENT_ERRORS.get(index).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(TRANSIENT_ERRORS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn the_documents_list_the_same_errors() {
        let page = include_str!("../../../docs/connections.md");
        let page =
            page.split("\n## ").find(|section| section.starts_with("Transient errors")).unwrap_or_default();
        for (number, meaning) in TRANSIENT_ERRORS {
            assert!(page.contains(&format!("| {number} | {meaning} |\n")), "{number}");
        }
        let listed = page.lines().filter(|line| {
            line.strip_prefix("| ")
                .and_then(|line| line.split(' ').next())
                .is_some_and(|word| word.parse::<i32>().is_ok())
        });
        assert_eq!(listed.count(), TRANSIENT_ERRORS.len());
    }

    #[test]
    fn waits_double_up_to_the_longest_and_vary() {
        let policy = RetryPolicy::lasting(Duration::from_secs(60));
        for (number, most) in [(1, 100), (2, 200), (5, 1600), (40, 30_000)] {
            let waits: Vec<Duration> = (0..50).map(|_| policy.wait(number)).collect();
            let most = Duration::from_millis(most);
            assert!(waits.iter().all(|wait| *wait <= most && *wait >= most / 2), "{number}: {waits:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]), "{number}: {waits:?}");
        }
    }

    #[test]
    fn broken_lines_pass_and_bad_values_do_not() {
        let broken = Error::io("sending", io::Error::from(io::ErrorKind::ConnectionReset));
        assert_eq!(transient(&broken), Some(Transient::Connection));
        assert_eq!(transient(&Error::in_doubt("it was", broken)), Some(Transient::Connection));
        assert_eq!(transient(&Error::TimedOut { doing: "waiting" }), Some(Transient::Silence));
        assert_eq!(transient(&Error::Cancelled), None);
        assert_eq!(transient(&Error::in_doubt("it was", Error::Cancelled)), None);
        assert_eq!(transient(&Error::RejectLimit), None);
    }
}
