//! A stage: the table in which rows wait.

use std::{collections::hash_map::RandomState, fmt, hash::BuildHasher};

use tds::{Isolation, Value};

use super::{
    error::StageError,
    merge::Merge,
    plan::StagePlan,
    script::{Script, with_suffix},
    shape::TableShape,
};
use crate::{
    catalogue_row::rows,
    client::Client,
    describe::{Storage, TableDescription},
    error::Error,
    plan::LoadPlan,
    table_name::{TableName, literal},
};

/// Between the table's name and the load's.
const MARK: &str = "__bulkwire_";
/// Extended properties of a stage that say whose it is.
const LOAD_PROPERTY: &str = "bulkwire.load";
const TARGET_PROPERTY: &str = "bulkwire.target";
const MODE_PROPERTY: &str = "bulkwire.mode";
const STRATEGY_PROPERTY: &str = "bulkwire.strategy";
/// The strategies of stages that take the rows of tasks: for one publication, and for one after the other.
pub(crate) const TASKS: &str = "tasks";
pub(crate) const STREAM: &str = "stream";
/// "Invalid object name" (sys.messages).
const NO_OBJECT: i32 = 208;

/// The table in which the rows of one load wait until the target takes them, whether it has been made or not.
///
/// Any connection may fill it. Extended properties name its owner, so that it is found when its load is gone.
#[derive(Debug, Clone)]
pub struct Stage {
    pub(super) name: TableName,
    pub(super) target: TableName,
    pub(super) kind: StageKind,
    load_id: String,
    mode: &'static str,
    strategy: &'static str,
}

/// The way in which a stage is published.
#[derive(Debug, Clone)]
pub enum StageKind {
    /// The stage takes the target's place.
    Swap {
        /// The target's definition, which is also the stage's.
        shape: Box<TableShape>,
        /// Indexes are there before the rows.
        keys_first: bool,
        /// The target's rows go. If not, it must have none.
        replaces: bool,
        /// The target may have rows all the same, but not in partitions of which the stage has rows.
        fills_partitions: bool,
        /// If the target has got rows meanwhile, those of the stage are inserted beside them.
        inserts_otherwise: bool,
    },
    /// The target takes its rows by key.
    Merge(Box<Merge>),
}

/// A stage that was found on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundStage {
    /// Name.
    pub name: TableName,
    /// The table that its load was for.
    pub target: String,
    /// Id of its load.
    pub load_id: String,
    /// The load's mode.
    pub mode: String,
    /// The load's strategy.
    pub strategy: String,
    /// The time of its creation, by the server's clock.
    pub created: String,
    /// Rows, as the catalogue counts them.
    pub rows: u64,
}

impl Stage {
    pub(super) fn new(target: &TableName, plan: &StagePlan, kind: StageKind, load_id: &str) -> Self {
        let target = match &kind {
            StageKind::Swap { shape, .. } => shape.name.clone(),
            StageKind::Merge(_) => target.clone(),
        };
        Self {
            name: TableName { name: with_suffix(&target.name, &suffix(load_id)), ..target.clone() },
            target,
            kind,
            load_id: load_id.to_owned(),
            mode: plan.mode.word(),
            strategy: plan.strategy.word(),
        }
    }

    /// Returns the stage's name: the target's name followed by the load's.
    pub fn name(&self) -> &TableName {
        &self.name
    }

    /// Returns true if the stage exists. A stage that is gone has been published, since one transaction does both.
    pub fn exists(&self, client: &mut Client) -> Result<bool, Error> {
        let found = client.query_values(&format!(
            "SELECT 1 AS found WHERE OBJECT_ID({}, 'U') IS NOT NULL",
            literal(&self.name.to_string())
        ))?;
        Ok(found.first().is_some_and(|table| !table.rows.is_empty()))
    }

    /// Returns true if the target has the stage's rows, after the answer to the commit of
    /// [`publish`](Self::publish) was lost. Asks over another connection, and waits for the end of that
    /// transaction.
    pub fn was_published(&self, lost: &Client) -> Result<bool, Error> {
        let mut client = lost.sibling()?;
        match client.query_values(&format!("SELECT TOP (1) 1 AS found FROM {} WITH (TABLOCKX)", self.name)) {
            Ok(_) => Ok(false),
            Err(error) if error.server_message().is_some_and(|message| message.number == NO_OBJECT) => {
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Creates the stage, with its owner's name and the indexes that are needed before the rows.
    pub fn create(&self, client: &mut Client) -> Result<(), Error> {
        let create = match &self.kind {
            StageKind::Swap { shape, .. } => self.script(shape, &self.suffix()).create(),
            StageKind::Merge(merge) => merge.create(&self.name),
        };
        let target = self.target.to_string();
        let properties = owner_statements(&self.name, &self.load_id, &target, self.mode, self.strategy);
        let indexes = match &self.kind {
            StageKind::Swap { shape, keys_first: true, .. } => self.script(shape, &self.suffix()).indexes(),
            _ => Vec::new(),
        };
        in_transaction(client, |client| {
            client.execute(&create)?;
            for statement in properties.iter().chain(&indexes) {
                client.execute(statement)?;
            }
            Ok(())
        })
    }

    /// Describes the stage as the target of a load.
    pub fn describe(&self, client: &mut Client) -> Result<TableDescription, Error> {
        let mut described = client.describe(&self.name)?;
        if let StageKind::Merge(merge) = &self.kind {
            merge.forbid_null_keys(&mut described);
        }
        Ok(described)
    }

    /// Predicts the result of [`describe`](Self::describe) before the stage is made.
    pub fn foreseen(&self, target: &TableDescription) -> TableDescription {
        let mut stage = TableDescription { name: self.name.clone(), rows: 0, ..target.clone() };
        stage.triggers.clear();
        stage.constraints.clear();
        if !matches!(self.kind, StageKind::Swap { keys_first: true, .. }) {
            stage.indexes.clear();
            stage.storage = Storage::Heap;
        }
        if let StageKind::Merge(merge) = &self.kind {
            (stage.partitions, stage.partitioning) = (1, None);
            merge.foresee(&mut stage);
        }
        if let Some(partitioning) = &mut stage.partitioning {
            partitioning.rows.fill(0);
        }
        stage
    }

    /// Refuses a plan that leaves out columns of the stage, since a merge would take them for NULLs.
    pub fn check_plan(&self, plan: &LoadPlan) -> Result<(), StageError> {
        let StageKind::Merge(merge) = &self.kind else { return Ok(()) };
        let declared = plan.rows.declared_columns();
        let absent = merge.column_names().find(|name| !declared.iter().any(|column| column.name == **name));
        match absent {
            Some(column) => Err(StageError::ColumnsDiffer { column: column.to_owned() }),
            None => Ok(()),
        }
    }

    /// Makes a new name for a load without one.
    pub fn new_load_id() -> String {
        // The standard library's hashers start from the system's randomness.
        format!("{:016x}", RandomState::new().hash_one(()))
    }

    /// Prepares the stage for publishing after all rows are loaded: builds missing indexes and constraints, or refuses duplicate
    /// keys. It can be repeated.
    pub fn build(&self, client: &mut Client) -> Result<(), Error> {
        match &self.kind {
            StageKind::Swap { shape, .. } => {
                let suffix = self.suffix();
                let script = self.script(shape, &suffix);
                script.indexes().iter().chain(&script.constraints()).try_for_each(|statement| {
                    client.execute(statement)?;
                    Ok(())
                })
            }
            StageKind::Merge(merge) => merge.refuse_duplicates(client, &self.name),
        }
    }

    /// Drops the stage, if it exists; over another connection, if this one is broken.
    pub fn drop(&self, client: &mut Client) -> Result<(), Error> {
        let drop = drop_statement(&self.name);
        match client.is_broken() {
            true => client.sibling()?.execute(&drop),
            false => client.execute(&drop),
        }
        .map(|_| ())
    }

    /// Finds all stages of the current database.
    pub fn find_all(client: &mut Client) -> Result<Vec<FoundStage>, Error> {
        let value = |property: &str| {
            format!(
                "(SELECT CONVERT(nvarchar(300), p.value) FROM sys.extended_properties AS p WHERE p.class = 1 AND p.minor_id = 0 \
                 AND p.major_id = t.object_id AND p.name = {})",
                literal(property)
            )
        };
        let results = client.query_values(&format!(
            "SELECT s.name AS schema_name, t.name, CONVERT(nvarchar(30), t.create_date, 126) AS created, {} AS load_id, \
             {} AS target, {} AS mode, {} AS strategy, (SELECT SUM(p.rows) FROM sys.partitions AS p \
             WHERE p.object_id = t.object_id AND p.index_id IN (0, 1)) AS row_count \
             FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id \
             WHERE EXISTS (SELECT 1 FROM sys.extended_properties AS p WHERE p.class = 1 AND p.minor_id = 0 \
             AND p.major_id = t.object_id AND p.name = {}) ORDER BY t.create_date, t.name",
            value(LOAD_PROPERTY),
            value(TARGET_PROPERTY),
            value(MODE_PROPERTY),
            value(STRATEGY_PROPERTY),
            literal(LOAD_PROPERTY),
        ))?;
        let found = results.iter().flat_map(rows).map(|row| FoundStage {
            name: TableName { database: None, schema: Some(row.text("schema_name")), name: row.text("name") },
            target: row.text("target"),
            load_id: row.text("load_id"),
            mode: row.text("mode"),
            strategy: row.text("strategy"),
            created: row.text("created"),
            rows: row.integer("row_count").and_then(|rows| u64::try_from(rows).ok()).unwrap_or_default(),
        });
        Ok(found.collect())
    }

    pub(super) fn script<'a>(&'a self, shape: &'a TableShape, suffix: &'a str) -> Script<'a> {
        Script { shape, table: &self.name, suffix }
    }

    pub(super) fn suffix(&self) -> String {
        suffix(&self.load_id)
    }

    /// Writes the statements that take the owner's name off, for a stage that becomes the target.
    pub(super) fn disown(&self) -> Vec<String> {
        [LOAD_PROPERTY, TARGET_PROPERTY, MODE_PROPERTY, STRATEGY_PROPERTY]
            .map(|name| property(&self.name, "sp_dropextendedproperty", name, None))
            .into()
    }

    /// Returns the way in which the stage is published.
    pub(crate) fn kind(&self) -> &StageKind {
        &self.kind
    }
}

/// Statements that give a new table its owner's name, by which [`Stage::find_all`] finds it.
pub(crate) fn owner_statements(
    table: &TableName,
    load_id: &str,
    target: &str,
    mode: &str,
    strategy: &str,
) -> [String; 4] {
    [
        (LOAD_PROPERTY, load_id),
        (TARGET_PROPERTY, target),
        (MODE_PROPERTY, mode),
        (STRATEGY_PROPERTY, strategy),
    ]
    .map(|(name, value)| property(table, "sp_addextendedproperty", name, Some(value)))
}

pub(super) fn property(table: &TableName, procedure: &str, name: &str, value: Option<&str>) -> String {
    let value = value.map(|value| format!("@value = {}, ", literal(value))).unwrap_or_default();
    format!(
        "EXEC {}sys.{procedure} @name = {}, {value}@level0type = N'SCHEMA', @level0name = {}, @level1type = N'TABLE', \
         @level1name = {}",
        table.catalogue_prefix(),
        literal(name),
        literal(table.schema.as_deref().unwrap_or("dbo")),
        literal(&table.name),
    )
}

impl FoundStage {
    /// Returns true if the stage takes the rows of tasks, whose connections come and go.
    pub fn is_of_tasks(&self) -> bool {
        [TASKS, STREAM].contains(&self.strategy.as_str())
    }

    /// Returns true if a connection loads into the stage, or publishes it, at this moment.
    ///
    /// # Errors
    /// A statement fails, for another reason than the lock.
    pub fn is_in_use(&self, client: &mut Client) -> Result<bool, Error> {
        // Nothing goes with an exclusive lock. It is not waited for, and ends with its statement.
        let asked = client.query_values(&format!(
            "DECLARE @found int, @is_locked bit = 0;\nSET LOCK_TIMEOUT 0;\n\
             BEGIN TRY SELECT TOP (1) @found = 1 FROM {} WITH (TABLOCKX) END TRY\n\
             BEGIN CATCH SET @is_locked = 1; IF ERROR_NUMBER() <> 1222 THROW; END CATCH;\n\
             SET LOCK_TIMEOUT -1;\nSELECT @is_locked AS is_locked",
            self.name
        ));
        match asked {
            // It was published meanwhile, which the TRY of its own batch does not catch.
            Err(error) if error.server_message().is_some_and(|message| message.number == NO_OBJECT) => {
                client.execute("SET LOCK_TIMEOUT -1")?;
                Ok(false)
            }
            asked => Ok(matches!(
                asked?.last().and_then(|table| table.rows.first()).and_then(|row| row.first()),
                Some(Value::Bit(true))
            )),
        }
    }

    /// Drops the stage. Rows that were not published are lost.
    pub fn drop(&self, client: &mut Client) -> Result<(), Error> {
        client.execute(&drop_statement(&self.name)).map(|_| ())
    }
}

impl fmt::Display for FoundStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, target, load_id, mode, created, rows, .. } = self;
        write!(f, "{name}: {rows} rows for {target} ({mode}), load {load_id}, made {created}")
    }
}

fn drop_statement(table: &TableName) -> String {
    format!("IF OBJECT_ID({}, 'U') IS NOT NULL DROP TABLE {table}", literal(&table.to_string()))
}

/// Runs `work` in a transaction of its own, or in the caller's.
pub(super) fn in_transaction<T>(
    client: &mut Client,
    work: impl FnOnce(&mut Client) -> Result<T, Error>,
) -> Result<T, Error> {
    let is_callers = client.in_transaction();
    if !is_callers {
        client.begin(Isolation::Current)?;
    }
    let done = work(client).and_then(|done| match is_callers {
        true => Ok(done),
        false => client.commit().map(|()| done),
    });
    if done.is_err() && !is_callers && !client.is_broken() {
        // The first error matters more than that of the rollback, which a lost connection implies anyway.
        let _ = client.rollback();
    }
    done
}

/// Returns true if the name has the form of a stage's name.
pub fn is_stage_name(name: &str) -> bool {
    let Some((_, rest)) = name.rsplit_once(MARK) else { return false };
    let digits = rest.strip_prefix("tasks_").unwrap_or(rest);
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `__bulkwire_` and eight hexadecimal digits of a load's name.
fn suffix(load_id: &str) -> String {
    format!("{MARK}{}", digits(load_id))
}

/// Returns eight hexadecimal digits of a load's name.
pub(crate) fn digits(load_id: &str) -> String {
    let digits: String = load_id.chars().filter(|c| *c != '-').take(8).collect();
    match digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => digits.to_ascii_lowercase(),
        // FNV-1a: any other name has eight digits too.
        false => {
            let hash = load_id
                .bytes()
                .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
            format!("{hash:08x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_known_by_their_names() {
        for name in ["t__bulkwire_e40c292c", "t__bulkwire_tasks_0A1b2c3d", "a__bulkwire_b__bulkwire_00000000"]
        {
            assert!(is_stage_name(name), "{name}");
        }
        for name in
            ["t", "t__bulkwire_", "t__bulkwire_e40c292", "t__bulkwire_e40c292c_old", "bulkwire_e40c292c"]
        {
            assert!(!is_stage_name(name), "{name}");
        }
    }

    #[test]
    fn a_suffix_has_eight_digits_whatever_the_load_is_called() {
        assert_eq!(suffix("0A1b2c3d-ffff"), "__bulkwire_0a1b2c3d");
        // FNV-1a of "a", as its authors publish it.
        assert_eq!(suffix("a"), "__bulkwire_e40c292c");
        assert_eq!(with_suffix(&"x".repeat(200), "__bulkwire_0a1b2c3d").len(), 128);
        assert_eq!(with_suffix(&"😀".repeat(80), "__b").encode_utf16().count(), 127);
    }
}
