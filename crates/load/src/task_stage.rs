//! Loads whose rows come from the tasks of a job, in processes of their own.
//!
//! All tasks load into one table, the task stage. Each attempt of a task marks its rows with a number of its own. The job's
//! director knows which attempts count; one transaction moves their rows into the target and drops the task stage. So an attempt
//! that failed, or ran twice, leaves nothing in the target, and neither does a job that was given up.

use std::{collections::BTreeMap, thread, time::Instant};

use arrow::datatypes::Schema;
use rows::Plan;
use tds::{Isolation, Value};

use crate::{
    client::Client,
    create_table::make_table,
    describe::{Storage, TableDescription},
    error::Error,
    options::LoadOptions,
    parallel::{CommittedChunk, Ledger, LoadState, RowRanges},
    plan::{Choice, LoadPlan},
    retry::{RetryPolicy, transient, transient_connecting},
    stage::{
        Mode, Published, Route, STREAM, Stage, StageError, StageKind, StagePlan, TASKS, owner_statements,
        with_suffix,
    },
    table_load::LoadWay,
    table_name::{TableName, literal, quoted},
};

/// The column of a task stage that says which attempt brought a row.
pub const TASK_COLUMN: &str = "bulkwire_task";

const MARK: &str = "__bulkwire_tasks_";
/// The temporary table with the numbers of the attempts that count.
const CHOSEN: &str = "#bulkwire_tasks";
/// As many rows as one VALUES may have.
const VALUES_MAX: usize = 1000;
const COUNTING: &str = "counting the rows of tasks";

/// The settings that all processes of a job agree on.
#[derive(Debug)]
pub struct TaskJob<'a> {
    /// The table that the rows go to.
    pub table: &'a TableName,
    /// The columns that every task brings.
    pub schema: &'a Schema,
    /// The effect on existing rows, and the way in which new rows reach the table.
    pub way: &'a LoadWay,
    /// Columns, conversions, identity, locks.
    pub options: &'a LoadOptions,
    /// CREATE TABLE of the target, if a missing one is to be made.
    pub create: Option<&'a str>,
    /// The job's name.
    pub load_id: &'a str,
    /// The task stage stays for the rows of the next publication.
    pub stays: bool,
}

/// The rows of an attempt that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRows {
    /// The attempt's number.
    pub task: i64,
    /// The number of rows that the task brought.
    pub rows: u64,
}

/// The rows that the tasks brought.
#[derive(Debug)]
pub struct Gathered {
    /// Rows of all tasks.
    pub rows: u64,
    /// The way in which a stage brought them into the target; `None` if they went straight into it, or the answer
    /// was lost.
    pub published: Option<Published>,
    /// An earlier run had published them.
    pub is_done_before: bool,
}

/// The table in which the rows of a job wait, whether it has been made or not.
#[derive(Debug)]
pub struct TaskStage {
    name: TableName,
    target: TableDescription,
    /// The target does not exist, and this makes it.
    create: Option<String>,
    /// `None`: straight into the target.
    stage: Option<Stage>,
    truncates: bool,
    /// Names and declarations of the columns that the tasks bring.
    columns: Vec<(String, String)>,
    keeps_identity: bool,
    locks_target: bool,
    choices: Vec<Choice>,
    load_id: String,
    mode: &'static str,
    stays: bool,
}

impl TaskStage {
    /// Looks at the target and at the columns of the job, and refuses what cannot be loaded. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`StagePlan::choose`] and [`LoadPlan::new`].
    pub fn plan(client: &mut Client, job: &TaskJob<'_>) -> Result<Self, Error> {
        let TaskJob { table, schema, way, options, .. } = job;
        client.check_transaction()?;
        if client.in_transaction() || table.is_temporary() {
            let place = "in a transaction or with a temporary table, which have one connection";
            return Err(Error::NotAlone { wish: "tasks", place });
        }
        if matches!(way.mode, Mode::ByAction { .. }) {
            let (mode, setting) = (way.mode.word(), "tasks");
            let reason = "their stage has no column for the actions";
            return Err(StageError::Combination { mode, setting, reason }.into());
        }
        let (target, create) = match (client.describe(table), job.create) {
            (Err(Error::NoTable { .. }), Some(create)) => (foreseen(client, table, create)?, Some(create)),
            (described, _) => (described?, None),
        };
        let plan = match create {
            Some(_) if way.mode.keys().is_some() => {
                let (mode, setting) = (way.mode.word(), "a table that is to be made");
                let reason = "it would have no key; make the table first";
                return Err(StageError::Combination { mode, setting, reason }.into());
            }
            Some(_) => None,
            None => {
                Some(StagePlan::choose(client, &target, schema, way.mode.clone(), way.strategy, options)?)
            }
        };
        let stage = plan.as_ref().and_then(|plan| plan.stage(&target, job.load_id));
        let seen = stage.as_ref().map_or_else(|| target.clone(), |stage| stage.foreseen(&target));
        let loading = LoadPlan::new(client, &seen, schema, options)?;
        if let Some(stage) = &stage {
            stage.check_plan(&loading)?;
        }
        // Rows are compared, so none may be new.
        if way.mode.keys().is_none() {
            loading.check_required(&target)?;
        }
        let names: Vec<String> = match plan.as_ref().map(|plan| &plan.route) {
            Some(Route::Stage(StageKind::Merge(merge))) => merge.column_names().map(str::to_owned).collect(),
            _ => {
                let loadable = target.loadable_columns(options.keep_identity);
                let plan = Plan::new(schema, &loadable, &options.mapping, options.cast.clone())?;
                plan.declared_columns().iter().map(|column| column.name.clone()).collect()
            }
        };
        let described = |name: &String| target.columns.iter().find(|column| column.column.name == *name);
        let is_identity = |name: &String| described(name).is_some_and(|column| column.is_identity);
        let keys = plan.as_ref().and_then(|plan| plan.mode.keys()).unwrap_or_default();
        let declared = |name: &String| {
            let mut column = described(name)?.clone();
            if keys.iter().any(|key| key.eq_ignore_ascii_case(name)) {
                column.forbid_null();
            }
            Some((name.clone(), column.declaration()))
        };
        let is_plain_heap = target.storage == Storage::Heap && target.secondary_indexes().next().is_none();
        Ok(Self {
            name: TableName {
                name: with_suffix(&target.name.name, &suffix(job.load_id)),
                ..target.name.clone()
            },
            create: create.map(str::to_owned),
            truncates: plan.as_ref().is_some_and(|plan| matches!(plan.route, Route::TruncateFirst)),
            keeps_identity: options.keep_identity && names.iter().any(is_identity),
            locks_target: options.table_lock.unwrap_or(is_plain_heap || target.rows == 0),
            columns: names.iter().filter_map(declared).collect(),
            choices: plan.map(|plan| plan.choices).unwrap_or_default(),
            load_id: job.load_id.to_owned(),
            mode: way.mode.word(),
            stays: job.stays,
            stage,
            target,
        })
    }

    /// Returns the table that tasks load into. They add [`TASK_COLUMN`] to their rows.
    pub fn name(&self) -> &TableName {
        &self.name
    }

    /// Returns the columns that tasks bring, as the target spells them.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Returns every choice of the route, with its reason.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Makes the table. One that is there under this name belongs to an earlier run of the job: it goes with its rows, unless the
    /// table stays from one publication to the next.
    ///
    /// # Errors
    /// A statement fails.
    pub fn create(&self, client: &mut Client) -> Result<(), Error> {
        if self.stays && self.is_as_planned(client)? {
            return Ok(());
        }
        self.drop(client)?;
        let declarations: Vec<&str> =
            self.columns.iter().map(|(_, declaration)| declaration.as_str()).collect();
        let mut statements = format!(
            "BEGIN TRY BEGIN TRANSACTION;\nCREATE TABLE {} ({}, {} bigint NOT NULL);\n",
            self.name,
            declarations.join(", "),
            quoted(TASK_COLUMN),
        );
        let target = self.target.name.to_string();
        let strategy = if self.stays { STREAM } else { TASKS };
        for statement in owner_statements(&self.name, &self.load_id, &target, self.mode, strategy) {
            statements += &statement;
            statements += ";\n";
        }
        statements += "COMMIT TRANSACTION; END TRY \
                       BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK TRANSACTION; THROW; END CATCH";
        client.execute(&statements).map(drop)
    }

    /// Drops the table with the rows that were not published, if it is there.
    ///
    /// # Errors
    /// The statement fails.
    pub fn drop(&self, client: &mut Client) -> Result<(), Error> {
        let name = &self.name;
        let drop = format!("IF OBJECT_ID({}, 'U') IS NOT NULL DROP TABLE {name}", literal(&name.to_string()));
        client.execute(&drop).map(|_| ())
    }

    /// Moves the rows of these attempts into the target, and no others, in one transaction that also ends the task stage. Does
    /// nothing if the ledger says that it was done before.
    ///
    /// # Errors
    /// [`Error::StageGone`] and [`Error::TaskRows`] if rows are missing that a task has brought; those of the statements, if they
    /// do not pass while the policy is patient.
    pub fn publish(
        &self,
        client: &mut Client,
        tasks: &[TaskRows],
        ledger: Option<&Ledger>,
        retry: RetryPolicy,
    ) -> Result<Gathered, Error> {
        let rows = tasks.iter().map(|task| task.rows).sum();
        if let Some(ledger) = ledger.filter(|ledger| ledger.state() == LoadState::Done) {
            if !self.stays {
                self.drop(client)?;
            }
            return Ok(Gathered { rows: ledger.rows_before(), published: None, is_done_before: true });
        }
        let started = Instant::now();
        let mut tries = 0;
        let mut doubt = None;
        loop {
            let error = match self.try_to_publish(client, tasks, rows, ledger, &mut doubt) {
                Ok(published) => return Ok(Gathered { rows, published, is_done_before: false }),
                Err(error) => error,
            };
            let may_pass = transient(&error).is_some() || transient_connecting(&error).is_some();
            if !may_pass || started.elapsed() >= retry.patience {
                let is_doubtful = doubt.is_some() || error.is_in_doubt();
                return match is_doubtful.then(|| self.was_published(client, ledger)) {
                    None => Err(error),
                    Some(Ok(true)) => Ok(Gathered { rows, published: None, is_done_before: false }),
                    Some(Ok(false)) => Err(error.settled()),
                    Some(Err(_)) => Err(doubt.unwrap_or(error)),
                };
            }
            if error.is_in_doubt() {
                doubt = Some(error);
            }
            tries += 1;
            thread::sleep(retry.wait(tries));
        }
    }

    fn try_to_publish(
        &self,
        client: &mut Client,
        tasks: &[TaskRows],
        rows: u64,
        ledger: Option<&Ledger>,
        doubt: &mut Option<Error>,
    ) -> Result<Option<Published>, Error> {
        if client.is_broken() {
            *client = client.sibling()?;
        }
        if doubt.is_some() && self.was_published(client, ledger)? {
            return Ok(None);
        }
        *doubt = None;
        if !self.is_as_planned(client)? {
            return Err(Error::StageGone { stage: self.name.to_string(), rows });
        }
        self.check_rows(client, tasks)?;
        let ending = self.ending(ledger, rows);
        let done = match &self.stage {
            None => self.publish_directly(client, rows, &ending).map(|()| None),
            Some(stage) => {
                let done = self.publish_by_stage(client, stage, rows, &ending).map(Some);
                if done.as_ref().is_err_and(|error| !error.is_in_doubt()) {
                    // The first error matters more; what is left of the stage can be found.
                    let _ = stage.drop(client);
                }
                done
            }
        };
        if done.is_err() && !client.is_broken() && client.in_transaction() {
            client.rollback()?;
        }
        done
    }

    fn publish_directly(&self, client: &mut Client, rows: u64, ending: &str) -> Result<(), Error> {
        client.begin(Isolation::Current)?;
        if let Some(create) = &self.create {
            make_table(client, &self.target.name, create)?;
        }
        if self.truncates {
            client.execute(&format!("TRUNCATE TABLE {}", self.target.name))?;
        }
        self.fill(client, &self.target.name, self.locks_target, self.keeps_identity, rows)?;
        client.execute(ending)?;
        client.commit()
    }

    fn publish_by_stage(
        &self,
        client: &mut Client,
        stage: &Stage,
        rows: u64,
        ending: &str,
    ) -> Result<Published, Error> {
        // One of an earlier run of the job.
        stage.drop(client)?;
        stage.create(client)?;
        let is_like_target = !matches!(stage.kind(), StageKind::Merge(_));
        self.fill(client, stage.name(), true, self.keeps_identity && is_like_target, rows)?;
        stage.build(client)?;
        stage.publish(client, &mut |client| client.execute(ending).map(drop))
    }

    /// Copies the rows of the chosen attempts, and checks their number.
    fn fill(
        &self,
        client: &mut Client,
        into: &TableName,
        locks: bool,
        keeps_identity: bool,
        rows: u64,
    ) -> Result<(), Error> {
        let columns: Vec<String> = self.column_names().map(quoted).collect();
        let columns = columns.join(", ");
        let hint = if locks { " WITH (TABLOCK)" } else { "" };
        let insert = format!(
            "INSERT INTO {into}{hint} ({columns}) SELECT {columns} FROM {} WHERE {} IN (SELECT task FROM {CHOSEN});\n\
             SET @copied = ROWCOUNT_BIG();",
            self.name,
            quoted(TASK_COLUMN),
        );
        let insert = match keeps_identity {
            true => identity_kept(into, &insert),
            false => insert,
        };
        let tables = client
            .query_values(&format!("DECLARE @copied bigint = 0;\n{insert}\nSELECT @copied AS copied"))?;
        // Triggers may have results of their own, before the last.
        let copied = match tables.last().and_then(|table| table.rows.first()).map(Vec::as_slice) {
            Some([Value::BigInt(copied)]) => u64::try_from(*copied).unwrap_or_default(),
            _ => return Err(Error::unexpected(COUNTING, "no count")),
        };
        let drops_duplicates = self.target.indexes.iter().any(|index| index.ignores_duplicate_keys);
        match copied == rows || drops_duplicates {
            true => Ok(()),
            false => Err(Error::CountMismatch { sent: rows, acknowledged: copied, committed: false }),
        }
    }

    /// Statements of the publishing transaction: the ledger says that the load is done, and the rows here are done with.
    fn ending(&self, ledger: Option<&Ledger>, rows: u64) -> String {
        let noted = ledger.map(|ledger| {
            let all = CommittedChunk {
                rows: 0..rows,
                row_count: rows,
                checksum: 0,
                lane: None,
                refused: RowRanges::default(),
            };
            format!("{};\n{};\n", ledger.entry(0, &all), ledger.done_statements())
        });
        let end = if self.stays { "TRUNCATE" } else { "DROP" };
        format!("{}{end} TABLE {}", noted.unwrap_or_default(), self.name)
    }

    /// Returns true if the rows are in the target, after the answer to a commit was lost. Waits for the end of that
    /// transaction.
    fn was_published(&self, client: &Client, ledger: Option<&Ledger>) -> Result<bool, Error> {
        /// "Invalid object name" (sys.messages).
        const NO_OBJECT: i32 = 208;
        let mut client = client.sibling()?;
        if let Some(ledger) = ledger {
            return ledger.is_done(&mut client);
        }
        match client.query_values(&format!("SELECT TOP (1) 1 AS found FROM {} WITH (TABLOCKX)", self.name)) {
            Ok(_) => Ok(false),
            Err(error) if error.server_message().is_some_and(|message| message.number == NO_OBJECT) => {
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if the table exists with the columns that the target has now.
    fn is_as_planned(&self, client: &mut Client) -> Result<bool, Error> {
        let described = match client.describe(&self.name) {
            Err(Error::NoTable { .. }) => return Ok(false),
            described => described?,
        };
        let columns = described.columns.iter().filter(|column| column.column.name != TASK_COLUMN);
        Ok(columns
            .map(|column| column.declaration())
            .eq(self.columns.iter().map(|(_, declaration)| declaration.clone())))
    }

    /// Names the attempts that count for the statements that follow, and looks whether all their rows are here.
    fn check_rows(&self, client: &mut Client, tasks: &[TaskRows]) -> Result<(), Error> {
        let mut naming = format!(
            "IF OBJECT_ID('tempdb..{CHOSEN}') IS NOT NULL DROP TABLE {CHOSEN};\n\
             CREATE TABLE {CHOSEN} (task bigint NOT NULL PRIMARY KEY);\n"
        );
        for some in tasks.chunks(VALUES_MAX) {
            let values: Vec<String> = some.iter().map(|task| format!("({})", task.task)).collect();
            naming += &format!("INSERT INTO {CHOSEN} (task) VALUES {};\n", values.join(", "));
        }
        client.execute(&naming)?;
        let found = client.query_values(&format!(
            "SELECT {0}, COUNT_BIG(*) FROM {1} WHERE {0} IN (SELECT task FROM {CHOSEN}) GROUP BY {0}",
            quoted(TASK_COLUMN),
            self.name,
        ))?;
        let mut counts = BTreeMap::new();
        for row in found.iter().flat_map(|table| &table.rows) {
            let [Value::BigInt(task), Value::BigInt(count)] = row.as_slice() else {
                return Err(Error::unexpected(COUNTING, "other columns than were asked for"));
            };
            counts.insert(*task, u64::try_from(*count).unwrap_or_default());
        }
        for task in tasks {
            let found = counts.get(&task.task).copied().unwrap_or_default();
            if found != task.rows {
                let stage = self.name.to_string();
                return Err(Error::TaskRows { stage, expected: task.rows, found });
            }
        }
        Ok(())
    }
}

/// Describes a table that is not there, by making it in a transaction that is rolled back.
fn foreseen(client: &mut Client, table: &TableName, create: &str) -> Result<TableDescription, Error> {
    client.begin(Isolation::Current)?;
    let described = make_table(client, table, create).and_then(|()| client.describe(table));
    if !client.is_broken() && client.in_transaction() {
        client.rollback()?;
    }
    client.forget_description();
    described
}

/// Wraps an INSERT that brings the identity's values. The setting is the session's, and must not outlive an error.
fn identity_kept(table: &TableName, insert: &str) -> String {
    format!(
        "SET IDENTITY_INSERT {table} ON;\nBEGIN TRY\n{insert}\nEND TRY\nBEGIN CATCH\n\
         SET IDENTITY_INSERT {table} OFF;\nTHROW;\nEND CATCH;\nSET IDENTITY_INSERT {table} OFF;"
    )
}

/// Returns `__bulkwire_tasks_` and the load's eight digits.
fn suffix(load_id: &str) -> String {
    format!("{MARK}{}", crate::stage::digits(load_id))
}
