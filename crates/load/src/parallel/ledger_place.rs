//! The place of a ledger: its tables, and the loads in them.

use tds::Value;

use super::ledger_value::{READING, first_row, number, text};
use crate::{
    client::Client,
    error::Error,
    table_name::{TableName, literal, quoted},
};

/// The database and schema of a load's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPlace {
    database: Option<String>,
    schema: String,
}

/// The state of a load in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadState {
    /// Rows are still to come.
    Loading,
    /// Every row is in the target.
    Done,
}

/// A load as the ledger lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLoad {
    /// The name of the load.
    pub load_id: String,
    /// The name of the target.
    pub target: String,
    /// The effect on existing rows.
    pub mode: String,
    /// The state of the load.
    pub state: LoadState,
    /// Rows committed.
    pub rows: u64,
    /// The time of its beginning, in UTC.
    pub started: String,
    /// The time of the last commit of rows, in UTC; empty if there was none.
    pub last_commit: String,
    /// The sources of the load.
    pub sources: Vec<String>,
    /// The command that continues the load, as the program that began it words it; empty if nothing does.
    pub command: String,
}

impl LedgerPlace {
    /// Returns the ledger of the database that `target` is in, in this schema.
    pub fn beside(target: &TableName, schema: &str) -> Self {
        Self { database: target.database.clone(), schema: schema.to_owned() }
    }

    /// Returns the ledger of the current database, in this schema.
    pub fn current(schema: &str) -> Self {
        Self { database: None, schema: schema.to_owned() }
    }

    fn table(&self, name: &str) -> String {
        let database = self.database.as_ref().map(|database| format!("{}.", quoted(database)));
        format!("{}{}.{}", database.unwrap_or_default(), quoted(&self.schema), quoted(name))
    }

    pub(super) fn loads(&self) -> String {
        self.table("bulkwire_loads")
    }

    pub(super) fn chunks(&self) -> String {
        self.table("bulkwire_load_chunks")
    }

    pub(super) fn load_sources(&self) -> String {
        self.table("bulkwire_load_sources")
    }

    /// Statements that make the tables, unless they are there. Of two who do so at once, one makes them.
    pub(super) fn create_statements(&self) -> String {
        let id = "load_id nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL";
        let tables = [
            (
                self.load_sources(),
                format!(
                    "{id}, source int NOT NULL, name nvarchar(max) NOT NULL, fingerprint nvarchar(max) NOT NULL, \
                     PRIMARY KEY (load_id, source)"
                ),
            ),
            (
                self.chunks(),
                format!(
                    "{id}, source int NOT NULL, first_row bigint NOT NULL, end_row bigint NOT NULL, \
                     row_count bigint NOT NULL, checksum bigint NOT NULL, committed datetime2(3) NOT NULL, \
                     lane int NULL, refused nvarchar(max) NULL, PRIMARY KEY (load_id, source, first_row)"
                ),
            ),
            (
                self.loads(),
                format!(
                    "{id} PRIMARY KEY, epoch int NOT NULL, target nvarchar(400) NOT NULL, mode nvarchar(40) NOT NULL, \
                     is_done bit NOT NULL, row_count bigint NOT NULL, started datetime2(3) NOT NULL, \
                     ended datetime2(3) NULL, command nvarchar(max) NOT NULL, lanes nvarchar(max) NULL, \
                     target_object int NULL, target_rows bigint NULL, chunk_count int NOT NULL, \
                     chunk_rows bigint NOT NULL"
                ),
            ),
        ];
        let statements = tables.map(|(table, columns)| {
            // 2714: somebody else made it meanwhile.
            format!(
                "IF OBJECT_ID({}) IS NULL BEGIN TRY CREATE TABLE {table} ({columns}) END TRY \
                 BEGIN CATCH IF ERROR_NUMBER() <> 2714 THROW; END CATCH;\n",
                literal(&table)
            )
        });
        statements.concat()
    }

    /// Returns true if the tables exist.
    fn exists(&self, client: &mut Client) -> Result<bool, Error> {
        let found = client.query_values(&format!("SELECT OBJECT_ID({})", literal(&self.loads())))?;
        Ok(first_row(&found).is_some_and(|row| !matches!(row.first(), None | Some(Value::Null))))
    }

    /// Lists all loads of this ledger, the latest first.
    ///
    /// # Errors
    /// A query fails.
    pub fn list(&self, client: &mut Client) -> Result<Vec<LedgerLoad>, Error> {
        if !self.exists(client)? {
            return Ok(Vec::new());
        }
        let tables = client.query_values(&format!(
            "SELECT l.load_id, l.target, l.mode, l.is_done, \
             l.row_count + COALESCE((SELECT SUM(c.row_count) FROM {chunks} AS c WHERE c.load_id = l.load_id), 0), \
             CONVERT(nvarchar(30), l.started, 121), \
             COALESCE(CONVERT(nvarchar(30), COALESCE(l.ended, (SELECT MAX(c.committed) FROM {chunks} AS c \
             WHERE c.load_id = l.load_id)), 121), N''), l.command \
             FROM {loads} AS l ORDER BY l.started DESC, l.load_id; \
             SELECT load_id, name FROM {sources} ORDER BY load_id, source",
            chunks = self.chunks(),
            loads = self.loads(),
            sources = self.load_sources(),
        ))?;
        let [loads, names] = tables.as_slice() else {
            return Err(Error::unexpected(READING, "other results than were asked for"));
        };
        let mut all = Vec::new();
        for row in &loads.rows {
            let [id, target, mode, done, rows, started, last_commit, command] = row.as_slice() else {
                return Err(Error::unexpected(READING, "other columns than were asked for"));
            };
            let load_id = text(id)?;
            let own = names.rows.iter().filter(|row| row.first() == Some(id));
            all.push(LedgerLoad {
                sources: own.filter_map(|row| row.get(1)).map(text).collect::<Result<_, _>>()?,
                load_id,
                target: text(target)?,
                mode: text(mode)?,
                state: state(done)?,
                rows: number(rows)?,
                started: text(started)?,
                last_commit: text(last_commit)?,
                command: text(command)?,
            });
        }
        Ok(all)
    }

    /// Removes a load from the ledger. Its rows stay, and it can no longer be continued. False if there is no such load.
    ///
    /// # Errors
    /// A statement fails.
    pub fn forget(&self, client: &mut Client, load_id: &str) -> Result<bool, Error> {
        if !self.exists(client)? {
            return Ok(false);
        }
        let done = client.query_values(&format!(
            "BEGIN TRY BEGIN TRANSACTION; DELETE FROM {loads} WHERE load_id = {id}; \
             DECLARE @gone int = @@ROWCOUNT; \
             DELETE FROM {chunks} WHERE load_id = {id}; DELETE FROM {sources} WHERE load_id = {id}; \
             COMMIT TRANSACTION; SELECT @gone AS gone; END TRY \
             BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK TRANSACTION; THROW; END CATCH",
            loads = self.loads(),
            chunks = self.chunks(),
            sources = self.load_sources(),
            id = literal(load_id),
        ))?;
        Ok(matches!(first_row(&done).and_then(|row| row.first()), Some(Value::Int(1))))
    }
}

pub(super) fn state(value: &Value) -> Result<LoadState, Error> {
    match value {
        Value::Bit(true) => Ok(LoadState::Done),
        Value::Bit(false) => Ok(LoadState::Loading),
        _ => Err(Error::unexpected(READING, "a value that is no bit")),
    }
}
