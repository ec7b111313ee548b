//! After a lost answer: what the table's row count says about the batch in doubt.

use std::time::Duration;

use tds::{Isolation, Value};

use crate::report::row_words;
use crate::{
    client::Client,
    config::Config,
    error::Error,
    load_error::LoadError,
    options::BatchTransaction,
    plan::{CountRule, LoadPlan},
    value_table::first_value,
};

/// Time for another connection, and for its look at the table.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const LOOK_PATIENCE: Duration = Duration::from_secs(30);

/// The result of counting the table over another connection after a commit was left in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The fate of the batch.
    pub finding: Finding,
    /// The counts that were seen, in words.
    pub seen: String,
}

/// The fate of a batch whose commit was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The table has the rows of the batch.
    Committed,
    /// The batch was rolled back.
    RolledBack,
    /// The count proves neither.
    Unknown,
}

/// Looks at the table if rows are in doubt, and says what that proves.
pub(crate) fn settle(client: &mut Client, plan: &LoadPlan, error: LoadError) -> LoadError {
    if error.rows_in_doubt == 0 {
        return error;
    }
    // The server must hear that the old session is gone, or its locks are in the way.
    if client.is_broken() {
        client.session().close();
    }
    let mut look = match count(client, plan) {
        Ok(rows) => judged(plan, &error, rows),
        Err(reason) => Look { finding: Finding::Unknown, seen: reason },
    };
    // The count was not late only if it would have waited for the lost transaction: there are servers that let it pass.
    if look.finding == Finding::RolledBack && !readers_wait(client, plan) {
        look.finding = Finding::Unknown;
        look.seen += ", and this server does not have a count wait for open transactions";
    }
    let (committed, doubtful) = (error.rows_committed, error.rows_in_doubt);
    let (rows_committed, rows_in_doubt, source) = match look.finding {
        Finding::Committed => (committed.saturating_add(doubtful), 0, error.source.without_doubt()),
        Finding::RolledBack => (committed, 0, error.source.without_doubt()),
        Finding::Unknown => (committed, doubtful, error.source),
    };
    LoadError { rows_committed, rows_in_doubt, source, look: Some(Box::new(look)), ..error }
}

/// Counts alone prove something only where every row is known to be this load's, or to have been there before.
fn judged(plan: &LoadPlan, error: &LoadError, rows: u64) -> Look {
    let seen = format!("the table has {rows} {} now", row_words(rows).0);
    // Dropped duplicates and triggers make other numbers of rows than were sent.
    let is_exact = plan.count_rule == CountRule::Exact && !plan.hints.fire_triggers;
    let before = plan.rows_before.filter(|_| is_exact);
    let finding = match before.and_then(|before| before.checked_add(error.rows_committed)) {
        Some(without) if Some(rows) == without.checked_add(error.rows_in_doubt) => Finding::Committed,
        // The lock that the count waits for is held until the transaction ends. A statement that commits by itself may not
        // have begun: it may be on its way still.
        Some(without) if rows == without && plan.transaction == BatchTransaction::Explicit => {
            Finding::RolledBack
        }
        _ => Finding::Unknown,
    };
    Look { finding, seen }
}

/// Returns true if a count waits for another session's lock on the table. Only then the lost transaction was over
/// when the rows were counted; otherwise its COMMIT may still be on its way.
fn readers_wait(client: &Client, plan: &LoadPlan) -> bool {
    /// The time for a lock ran out (sys.messages).
    const LOCK_TIMED_OUT: i32 = 1222;
    let config = looking_config(client);
    let table = &plan.table;
    let waited = || -> Result<bool, Error> {
        let mut holder = Client::connect(&config)?;
        let mut reader = Client::connect(&config)?;
        holder.run(&format!("SET LOCK_TIMEOUT {}", LOOK_PATIENCE.as_millis()))?;
        holder.begin(Isolation::Current)?;
        holder.run(&format!("SELECT TOP (1) 1 AS locked FROM {table} WITH (TABLOCKX, HOLDLOCK)"))?;
        let read = reader.query_values(&format!(
            "SET LOCK_TIMEOUT 0; SELECT TOP (1) 1 AS seen FROM {table} WITH (TABLOCK, HOLDLOCK)"
        ));
        // It has done nothing, and goes with its connection in any case.
        let _ = holder.rollback();
        match read {
            Ok(_) => Ok(false),
            Err(error) => Ok(error.server_message().is_some_and(|message| message.number == LOCK_TIMED_OUT)),
        }
    };
    waited().unwrap_or(false)
}

/// Returns the configuration of the connection that counts the rows, with time limits short enough for this check.
fn looking_config(client: &Client) -> Config {
    let shorter = |limit: Option<Duration>, most: Duration| Some(limit.map_or(most, |limit| limit.min(most)));
    let mut config = client.sibling_config();
    config.connect_timeout = shorter(config.connect_timeout, CONNECT_PATIENCE);
    config.command_timeout = shorter(config.command_timeout, LOOK_PATIENCE);
    config
}

/// Counts the table's rows over a separate connection, once no transaction is changing them.
fn count(client: &Client, plan: &LoadPlan) -> Result<u64, String> {
    if plan.table.is_temporary() {
        return Err("a temporary table goes with its connection".to_owned());
    }
    let config = looking_config(client);
    let lock_timeout = config.command_timeout.unwrap_or(LOOK_PATIENCE) * 4 / 5;
    let counted = Client::connect(&config).and_then(|mut other| {
        other.query_values(&format!(
            // HOLDLOCK: a database whose readers see versions promises no wait for TABLOCK alone.
            "SET LOCK_TIMEOUT {}; SELECT COUNT_BIG(*) FROM {} WITH (TABLOCK, HOLDLOCK)",
            lock_timeout.as_millis(),
            plan.table
        ))
    });
    let tables = counted.map_err(|error| format!("the table could not be looked at: {error}"))?;
    match first_value(&tables) {
        Some(Value::BigInt(rows)) if *rows >= 0 => Ok(rows.unsigned_abs()),
        _ => Err(format!("the table could not be looked at: {}", Error::unexpected("counting", "no number"))),
    }
}
