//! Publishes a stage: moves its rows into the target in one transaction.

use std::fmt;

use tds::{Isolation, ServerMessage, Value};

use super::{
    error::StageError,
    merge::Merge,
    shape::{Division, TableShape},
    staged::{Stage, StageKind, in_transaction},
};
use crate::{
    catalogue_row::rows,
    client::Client,
    error::Error,
    report::grouped,
    retry::transient,
    table_name::{TableName, literal, quoted},
};

/// The result of publishing a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Rows that the target did not have.
    pub inserted: u64,
    /// Rows of the target that were changed.
    pub updated: u64,
    /// Rows of the target that stay unchanged.
    pub unchanged: u64,
    /// Rows of the target that were deleted.
    pub deleted: u64,
    /// Rows that were to update or delete a row that the target does not have.
    pub missing: u64,
    /// The way.
    pub how: How,
}

/// The way in which a stage's rows came into the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// `ALTER TABLE ... SWITCH`.
    Switched,
    /// The stage got the target's name, because the server refused to switch.
    Renamed {
        /// The server's words.
        refusal: String,
    },
    /// The rows came by UPDATE and INSERT.
    Merged,
    /// The rows came by DELETE, UPDATE and INSERT, as each row says.
    Directed,
    /// The rows came by INSERT, because the target had got rows meanwhile, or the server refused to switch and the target
    /// cannot be replaced.
    Inserted {
        /// The server's refusal of SWITCH, if that was the reason.
        refusal: Option<String>,
    },
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inserted, updated, unchanged, deleted, missing, how } = self;
        match how {
            How::Switched => write!(f, "published by SWITCH: {} rows", grouped(*inserted)),
            How::Renamed { refusal } => write!(
                f,
                "published by a rename: {} rows; the server refused SWITCH ({refusal})",
                grouped(*inserted)
            ),
            How::Inserted { refusal: None } => write!(
                f,
                "published by INSERT: {} rows; the table was empty when the load began and had rows at its end",
                grouped(*inserted)
            ),
            How::Inserted { refusal: Some(refusal) } => write!(
                f,
                "published by INSERT: {} rows; the server refused SWITCH ({refusal})",
                grouped(*inserted)
            ),
            How::Merged => write!(
                f,
                "{} inserted, {} updated, {} unchanged",
                grouped(*inserted),
                grouped(*updated),
                grouped(*unchanged)
            ),
            How::Directed => write!(
                f,
                "{} inserted, {} updated, {} deleted, {} unchanged, {} without a row to change",
                grouped(*inserted),
                grouped(*updated),
                grouped(*deleted),
                grouped(*unchanged),
                grouped(*missing)
            ),
        }
    }
}

/// Runs in the transaction of a publication, before it is committed.
pub type BeforeCommit<'a> = &'a mut dyn FnMut(&mut Client) -> Result<(), Error>;

impl Stage {
    /// Moves the stage's rows into the target and drops the stage, in one transaction (the caller's, if one is open). Readers see
    /// the target before or after. [`build`](Self::build) must have run. `before_commit` runs in the same transaction, again if a
    /// rename follows a SWITCH that the server refused.
    pub fn publish(&self, client: &mut Client, before_commit: BeforeCommit<'_>) -> Result<Published, Error> {
        match &self.kind {
            StageKind::Merge(merge) => in_transaction(client, |client| {
                let merged = self.merge(client, merge)?;
                before_commit(client)?;
                Ok(merged)
            }),
            StageKind::Swap { shape, replaces, inserts_otherwise, .. } => {
                let is_callers = client.in_transaction();
                let published = self.swap(client, shape, *replaces, before_commit);
                let error = match published {
                    Err(error) if *inserts_otherwise => error,
                    published => return published,
                };
                let refusal = match &error {
                    Error::Stage(refused) => match &**refused {
                        StageError::NoLongerEmpty { .. } => None,
                        StageError::NoWayToPublish { switch, .. } => Some(switch.clone()),
                        _ => return Err(error),
                    },
                    // Whatever the server has against SWITCH or the rename, nobody has asked for them.
                    Error::Server(refused) if !client.is_broken() && transient(&error).is_none() => {
                        if is_callers {
                            // Unless the server has ended the caller's transaction.
                            if !client.transaction_stands() {
                                return Err(error);
                            }
                            client.execute(&format!("ROLLBACK TRANSACTION {SAVE_POINT}"))?;
                        }
                        Some(refusal_words(refused.first()))
                    }
                    _ => return Err(error),
                };
                self.insert(client, shape, refusal, before_commit)
            }
        }
    }

    fn merge(&self, client: &mut Client, merge: &Merge) -> Result<Published, Error> {
        lock_against_merges(client, &self.target)?;
        let merged = merge.apply(client, &self.name)?;
        client.execute(&format!("DROP TABLE {}", self.name))?;
        Ok(Published {
            inserted: merged.inserted,
            updated: merged.updated,
            unchanged: merged.unchanged,
            deleted: merged.deleted,
            missing: merged.missing,
            how: if merge.is_directed() { How::Directed } else { How::Merged },
        })
    }

    fn swap(
        &self,
        client: &mut Client,
        shape: &TableShape,
        replaces: bool,
        before_commit: BeforeCommit<'_>,
    ) -> Result<Published, Error> {
        let facts = StageFacts::read(client, &self.name, shape.division().is_some())?;
        let published =
            |how| Published { inserted: facts.rows, updated: 0, unchanged: 0, deleted: 0, missing: 0, how };
        let is_callers = client.in_transaction();
        let mut refusal = None;
        if is_callers {
            client.execute(&format!("SAVE TRANSACTION {SAVE_POINT}"))?;
        } else {
            client.begin(Isolation::Current)?;
        }
        let switched = (|| {
            self.lock_target(client, replaces)?;
            if let Some(division) = shape.division().filter(|_| self.fills_partitions()) {
                self.refuse_filled(client, division, &facts.partitions)?;
            }
            if let Err(error) = self.switch(client, shape, replaces, &facts) {
                refusal = refusal_of(&error).filter(|_| !self.fills_partitions());
                return Err(error);
            }
            before_commit(client)?;
            client.execute(&format!("DROP TABLE {}", self.name))?;
            if !is_callers {
                client.commit()?;
            }
            Ok(())
        })();
        let Err(error) = switched else { return Ok(published(How::Switched)) };
        if !client.is_broken() && !is_callers {
            // The first error matters more than that of the rollback.
            let _ = client.rollback();
        }
        let Some(refusal) = refusal.filter(|_| !client.is_broken()) else { return Err(error) };
        let obstacles = shape.obstacles_to_rename();
        if !obstacles.is_empty() {
            let table = self.target.to_string();
            return Err(StageError::NoWayToPublish { table, switch: refusal, obstacles }.into());
        }
        if is_callers {
            client.execute(&format!("ROLLBACK TRANSACTION {SAVE_POINT}"))?;
        }
        in_transaction(client, |client| {
            self.lock_target(client, replaces)?;
            client.execute(&format!("DROP TABLE {}", self.target))?;
            for statement in self.disown().iter().chain(&self.script(shape, &self.suffix()).rename()) {
                client.execute(statement)?;
            }
            before_commit(client)
        })?;
        Ok(published(How::Renamed { refusal }))
    }

    /// Adds the stage's rows to those that the target has got.
    fn insert(
        &self,
        client: &mut Client,
        shape: &TableShape,
        refusal: Option<String>,
        before_commit: BeforeCommit<'_>,
    ) -> Result<Published, Error> {
        let columns = shape.columns.iter().filter(|column| column.computed.is_none());
        let columns: Vec<String> = columns.map(|column| quoted(&column.name)).collect();
        let columns = columns.join(", ");
        in_transaction(client, |client| {
            let done = client.execute(&format!(
                "INSERT INTO {} WITH (TABLOCK) ({columns}) SELECT {columns} FROM {}",
                self.target, self.name
            ))?;
            before_commit(client)?;
            client.execute(&format!("DROP TABLE {}", self.name))?;
            let inserted = done.rows_affected;
            let how = How::Inserted { refusal };
            Ok(Published { inserted, updated: 0, unchanged: 0, deleted: 0, missing: 0, how })
        })
    }

    /// Takes the target before the stage, always: two publications wait for one another and never deadlock. A target
    /// that keeps its rows must have none.
    fn lock_target(&self, client: &mut Client, replaces: bool) -> Result<(), Error> {
        if replaces {
            // TRUNCATE and DROP lock it by themselves.
            return Ok(());
        }
        let found = client.query_values(&format!(
            "SELECT TOP (1) 1 AS filled FROM {} WITH (TABLOCKX, HOLDLOCK)",
            self.target
        ))?;
        match found.first().is_some_and(|table| !table.rows.is_empty()) && !self.fills_partitions() {
            true => Err(StageError::NoLongerEmpty { table: self.target.to_string() }.into()),
            false => Ok(()),
        }
    }

    /// Returns true if the target may have rows in other partitions than those of the stage.
    fn fills_partitions(&self) -> bool {
        matches!(self.kind, StageKind::Swap { fills_partitions: true, .. })
    }

    /// Refuses partitions that have rows in the target, which nobody changes any more.
    fn refuse_filled(
        &self,
        client: &mut Client,
        division: &Division,
        partitions: &[i64],
    ) -> Result<(), Error> {
        for some in partitions.chunks(VALUES_MAX) {
            let numbers: Vec<String> = some.iter().map(|number| format!("({number})")).collect();
            let found = client.query_values(&format!(
                "SELECT p.number FROM (VALUES {}) AS p (number) \
                 WHERE EXISTS (SELECT 1 FROM {} AS t WHERE {} = p.number) ORDER BY p.number",
                numbers.join(", "),
                self.target,
                partition_number(division, "t."),
            ))?;
            let filled: Vec<i64> =
                found.iter().flat_map(rows).filter_map(|row| row.integer("number")).collect();
            if !filled.is_empty() {
                let table = self.target.to_string();
                return Err(StageError::FilledPartitions { table, partitions: filled }.into());
            }
        }
        Ok(())
    }

    /// Switches the rows into the target: all at once, or partition by partition.
    fn switch(
        &self,
        client: &mut Client,
        shape: &TableShape,
        replaces: bool,
        facts: &StageFacts,
    ) -> Result<(), Error> {
        let Self { name, target, .. } = self;
        let truncate = replaces.then(|| format!("TRUNCATE TABLE {target}"));
        // The target's identity goes on where the stage's ended; SWITCH leaves it where it was.
        let reseed = match (shape.identity(), facts.next_identity) {
            (Some(_), Some(next)) if facts.has_rows => {
                Some(format!("DBCC CHECKIDENT ({}, RESEED, {next})", literal(&target.to_string())))
            }
            _ => None,
        };
        let Some(division) = shape.division() else {
            let switch = Some(format!("ALTER TABLE {name} SWITCH TO {target}"));
            let all: Vec<String> = [truncate, switch, reseed].into_iter().flatten().collect();
            return client.execute(&all.join(";\n")).map(drop);
        };
        if let Some(truncate) = truncate {
            client.execute(&truncate)?;
        }
        self.switch_partitions(client, &facts.partitions)?;
        // The catalogue may lag behind. What is left of the rows is few, or none.
        let left = self.partitions_with_rows(client, division)?;
        self.switch_partitions(client, &left)?;
        if !left.is_empty() && !self.partitions_with_rows(client, division)?.is_empty() {
            return Err(Error::unexpected("switching partitions", "rows that are left in the stage"));
        }
        reseed.map_or(Ok(()), |reseed| client.execute(&reseed).map(drop))
    }

    fn switch_partitions(&self, client: &mut Client, partitions: &[i64]) -> Result<(), Error> {
        let Self { name, target, .. } = self;
        for some in partitions.chunks(VALUES_MAX) {
            let switches = some.iter().map(|number| {
                format!("ALTER TABLE {name} SWITCH PARTITION {number} TO {target} PARTITION {number}")
            });
            client.execute(&switches.collect::<Vec<_>>().join(";\n"))?;
        }
        Ok(())
    }

    /// Returns the partitions of the stage that really have rows.
    fn partitions_with_rows(&self, client: &mut Client, division: &Division) -> Result<Vec<i64>, Error> {
        let number = partition_number(division, "");
        let found = client.query_values(&format!("SELECT DISTINCT {number} AS number FROM {}", self.name))?;
        Ok(found.iter().flat_map(rows).filter_map(|row| row.integer("number")).collect())
    }
}

/// Writes `$PARTITION` of the partitioning column.
fn partition_number(division: &Division, prefix: &str) -> String {
    format!("$PARTITION.{}({prefix}{})", quoted(&division.function), quoted(&division.column))
}

/// As many rows as one VALUES may have, and statements of a batch.
const VALUES_MAX: usize = 1000;
const SAVE_POINT: &str = "bulkwire_publish";

/// The facts about a stage that are read before its rows are gone.
struct StageFacts {
    /// As the catalogue counts them.
    rows: u64,
    has_rows: bool,
    /// The partitions with rows, as the catalogue counts them; none of a stage that is not partitioned.
    partitions: Vec<i64>,
    /// One step behind the last identity, or the last if that is the last possible one. A server may take it for the last
    /// value or for the next one; neither repeats a value.
    next_identity: Option<i128>,
}

impl StageFacts {
    fn read(client: &mut Client, stage: &TableName, is_partitioned: bool) -> Result<Self, Error> {
        let name = literal(&stage.to_string());
        let filled = format!(
            ";\n\
             SELECT partition_number FROM sys.partitions WHERE object_id = OBJECT_ID({name}) AND index_id IN (0, 1) \
             AND rows > 0 ORDER BY partition_number"
        );
        let filled = if is_partitioned { filled } else { String::new() };
        let results = client.query_values(&format!(
            "SELECT (SELECT TOP (1) 1 FROM {stage}) AS filled, (SELECT SUM(rows) FROM sys.partitions WHERE object_id = OBJECT_ID({name}) AND index_id IN (0, 1)) \
             AS row_count, CONVERT(nvarchar(50), IDENT_CURRENT({name})) AS last_identity, \
             CONVERT(nvarchar(50), IDENT_INCR({name})) AS step{filled}"
        ))?;
        let row = results.first().and_then(|table| rows(table).next());
        let row = row.ok_or(Error::unexpected("looking at a stage", "no row"))?;
        let number = |column| row.text(column).parse::<i128>().ok();
        let next_identity = match (number("last_identity"), number("step")) {
            (Some(last), Some(step)) => last.checked_add(step),
            _ => None,
        };
        let row_count =
            row.integer("row_count").and_then(|rows| u64::try_from(rows).ok()).unwrap_or_default();
        let partitions =
            results.get(1).map(|table| rows(table).filter_map(|row| row.integer("partition_number")));
        let partitions = partitions.map(Iterator::collect).unwrap_or_default();
        let has_rows = row.integer("filled").is_some();
        Ok(Self { rows: row_count, has_rows, partitions, next_identity })
    }
}

/// Returns the server's words, if it cannot switch these tables. The error is a check of SWITCH (4901 to 4999), an
/// unknown statement, or a missing feature.
fn refusal_of(error: &Error) -> Option<String> {
    let message = error.server_message()?;
    let refuses = matches!(message.number, 102 | 156 | 4901..=4999 | 7733 | 40_500..=40_599);
    refuses.then(|| refusal_words(message))
}

fn refusal_words(message: &ServerMessage) -> String {
    format!("Msg {}: {}", message.number, message.message.trim_end())
}

/// Makes two merges into one table take turns. Their statements lock keys in the order of their plans, which would
/// deadlock.
fn lock_against_merges(client: &mut Client, target: &TableName) -> Result<(), Error> {
    let resource =
        format!("N'bulkwire merge ' + CONVERT(nvarchar(20), OBJECT_ID({}))", literal(&target.to_string()));
    let results = client.query_values(&format!(
        "DECLARE @resource nvarchar(255) = {resource}, @status int;\n\
         EXEC @status = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction';\n\
         SELECT @status AS status"
    ))?;
    match results.last().and_then(|table| table.rows.first()).and_then(|row| row.first()) {
        Some(Value::Int(0..)) => Ok(()),
        _ => Err(StageError::Busy { table: target.to_string() }.into()),
    }
}
