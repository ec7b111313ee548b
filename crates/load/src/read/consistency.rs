//! One point in time for all readers.
//!
//! Each SNAPSHOT transaction sees the rows as of its first read. So one session holds a shared lock on the table while all
//! readers begin their transactions and read for the first time. Nobody can change the table meanwhile, so all readers see the
//! same rows. Then the lock is released, and writers wait no longer.

use std::{fmt, str::FromStr, thread};

use super::row_source::RowSource;
use crate::{client::Client, config::Config, error::Error};

/// The point in time that all readers see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Each statement sees what is committed when it runs, by the server's isolation level.
    #[default]
    None,
    /// SNAPSHOT transactions that see the same point in time.
    Snapshot,
    /// A shared lock on the table until all rows are read.
    Lock,
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Snapshot => "snapshot",
            Self::Lock => "lock",
        })
    }
}

impl FromStr for Consistency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::None, Self::Snapshot, Self::Lock]
            .into_iter()
            .find(|known| known.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("\"{text}\" is none of snapshot, lock and none"))
    }
}

/// A session that holds a shared lock of a table.
#[derive(Debug)]
pub(crate) struct LockHolder(Client);

impl LockHolder {
    pub(crate) fn acquire(config: &Config, source: &RowSource) -> Result<Self, Error> {
        let mut client = Client::connect(config)?;
        client.begin(tds::Isolation::Current)?;
        client.run(&format!("SELECT TOP (1) 1 AS [one] FROM {} WITH (TABLOCK, HOLDLOCK)", source.from()))?;
        Ok(Self(client))
    }

    /// Lets the lock go. An error if the session was lost, and the lock with it.
    pub(crate) fn release(mut self) -> Result<(), Error> {
        self.0.commit()
    }
}

/// Opens `count` sessions with SNAPSHOT transactions of the same point in time.
pub(crate) fn snapshots(config: &Config, source: &RowSource, count: usize) -> Result<Vec<Client>, Error> {
    // Connecting takes round trips, which the table's writers need not wait for.
    let mut sessions = each(vec![(); count], |()| Client::connect(config))?;
    let lock = match (count, source) {
        (2.., RowSource::Table { .. }) => Some(LockHolder::acquire(config, source)?),
        _ => None,
    };
    sessions = each(sessions, |mut client| {
        client.begin(tds::Isolation::Snapshot)?;
        if let RowSource::Table { .. } = source {
            client.run(&format!("SELECT TOP (1) 1 AS [one] FROM {}", source.from()))?;
        }
        Ok(client)
    })?;
    if let Some(lock) = lock {
        lock.release()?;
    }
    Ok(sessions)
}

/// Does something with each of some things, all at a time.
fn each<T: Send, U: Send>(
    things: Vec<T>,
    done: impl Fn(T) -> Result<U, Error> + Sync,
) -> Result<Vec<U>, Error> {
    let done = &done;
    thread::scope(|scope| {
        let threads: Vec<_> = things.into_iter().map(|thing| scope.spawn(move || done(thing))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| Error::Worker { worker: "connecting" })?)
            .collect()
    })
}
