//! A table of SQL Server as a destination.

use std::time::Duration;

use load::{
    Choice, Client, CommitWatch, Ending, Ledger, LedgerPlace, LoadIdentity, LoadOptions, LoadPlan, LoadState,
    LoadWay, Mode, ParallelOptions, ParallelSource, RetryPolicy, SourceIdentity, TableDescription, TableLoad,
    TableName, TableShape, Writers, create_table_statement, roomy_length,
    stage::{Obstacle, Script},
};
use rows::{
    Mapping,
    mapping::{CreateOptions, sql_type_of},
};

use crate::{
    destination::{Create, Destination, Landed, Prepared},
    endpoint::SqlServerEndpoint,
    error::CopyError,
    row_stream::RowStream,
    server::connect,
    server_source::without_rowversions,
    source::{Description, ReadForm, Repeat, Source},
    watch::Control,
};

/// How rows are loaded into a table.
#[derive(Debug, Clone)]
pub struct ServerWrite {
    /// What happens to existing rows, and how new rows reach the table.
    pub way: LoadWay,
    /// How rows are loaded. The mapping is by name, or as it is given.
    pub options: LoadOptions,
    /// Map columns by position, even if the source has names.
    pub by_position: bool,
    /// Connections; `None`: as many as pay.
    pub writers: Option<usize>,
    /// How long transient errors are tried again.
    pub retry: RetryPolicy,
    /// Time for the whole load.
    pub time_limit: Option<Duration>,
    /// Record committed rows, and continue a copy that broke.
    pub resume: Option<Resume>,
    /// Whether the table is made.
    pub create: Create,
    /// Lists, structs and maps of a new table become JSON text.
    pub nested_as_json: bool,
    /// Copy the keys, indexes, defaults, checks and computed columns of a table of SQL Server.
    pub with_keys: bool,
    /// The schema that takes the tables of all schemas; foreign keys then refer to it.
    pub to_schema: Option<String>,
    /// Nobody else changes the table during the copy.
    pub sole_writer: bool,
}

impl Default for ServerWrite {
    fn default() -> Self {
        Self {
            way: LoadWay::default(),
            options: LoadOptions::default(),
            by_position: false,
            writers: Some(1),
            retry: RetryPolicy::NONE,
            time_limit: None,
            resume: None,
            create: Create::default(),
            nested_as_json: false,
            with_keys: false,
            to_schema: None,
            sole_writer: false,
        }
    }
}

/// A copy that can be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The name of the recorded load; made from source and destination if it is not given.
    pub load_id: Option<String>,
    /// Schema of the tables that record loads.
    pub ledger_schema: String,
    /// What continues it, in the words of the program; empty if nothing does.
    pub command: String,
}

/// A table that takes rows.
pub struct ServerDestination {
    endpoint: SqlServerEndpoint,
    table: TableName,
    write: ServerWrite,
    client: Option<Client>,
    /// What was decided before the rows.
    ready: Option<Ready>,
    /// The table was made by this copy and has nothing to offer but its rows.
    is_made: bool,
    is_emptied: bool,
    left: Vec<String>,
    /// Foreign keys, which wait for the rows of all tables.
    foreign_keys: Option<TableShape>,
}

struct Ready {
    options: LoadOptions,
    way: LoadWay,
    ledger: Option<Ledger>,
    /// What is made behind the rows.
    shape: Option<TableShape>,
}

impl ServerDestination {
    /// The table of an endpoint.
    ///
    /// # Errors
    /// None is named, or what is asked for excludes each other.
    pub fn new(endpoint: SqlServerEndpoint, write: ServerWrite) -> Result<Self, CopyError> {
        let Some(table) = endpoint.table.clone() else {
            return Err(CopyError::Usage(format!(
                "{endpoint}: name the table that takes the rows (mssql://host/database/schema.table)"
            )));
        };
        if write.create == Create::Always && write.way.mode.keys().is_some() {
            return Err(CopyError::Usage(format!(
                "--create cannot go with mode {}: a table that is yet to be made has no rows to compare",
                write.way.mode
            )));
        }
        Ok(Self {
            endpoint,
            table,
            write,
            client: None,
            ready: None,
            is_made: false,
            is_emptied: false,
            left: Vec::new(),
            foreign_keys: None,
        })
    }

    fn failed(&self, error: load::Error) -> CopyError {
        CopyError::client(self.name(), error)
    }

    fn unfit(&self, source: &dyn Source, error: load::Error) -> CopyError {
        CopyError::Unfit { source_name: source.name(), destination: self.name(), error: Box::new(error) }
    }

    /// The connection, made when it is first needed.
    fn client(&mut self) -> Result<&mut Client, CopyError> {
        if self.client.is_none() {
            self.client = Some(connect(&self.endpoint.config, &self.endpoint.to_string())?);
        }
        self.client.as_mut().ok_or(CopyError::Cancelled)
    }

    /// The table, or `None` if it is not there.
    fn existing(&mut self) -> Result<Option<TableDescription>, CopyError> {
        let table = self.table.clone();
        match self.client()?.describe(&table) {
            Ok(found) => Ok(Some(found)),
            Err(load::Error::NoTable { .. }) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// CREATE TABLE for a source, and what is to be said of it.
    fn creation(
        &mut self,
        source: &mut dyn Source,
        form: ReadForm,
    ) -> Result<(String, Option<TableShape>, Vec<Choice>), CopyError> {
        let shape = source.table_shape()?;
        let mut notes = Vec::new();
        if let Some(shape) = shape {
            let schema = source.describe(form)?.schema;
            let lost: Vec<String> = shape.obstacles.iter().map(Obstacle::to_string).collect();
            if self.write.with_keys && !lost.is_empty() {
                notes.push(Choice {
                    setting: "not copied",
                    value: lost.join("; "),
                    reason: "the new table has rows, columns, keys, indexes, defaults and checks".to_owned(),
                });
            }
            let whole = self.write.with_keys;
            let copied = transplanted(shape, &self.table, whole, |name| {
                let field = schema.field_with_name(name).ok()?;
                sql_type_of(field, &CreateOptions::default()).ok().map(|sql_type| sql_type.to_string())
            });
            let script = Script { shape: &copied, table: &self.table, suffix: "" };
            return Ok((script.create(), whole.then_some(copied), notes));
        }
        let columns = source.new_columns(form)?;
        let schema = without_rowversions(&columns.schema);
        let without_vectors = self.client()?.server_info().vectors == 0;
        let nested_as_json = self.write.nested_as_json || self.write.options.cast.nested_as_json;
        let options = |index: usize, _: &arrow::datatypes::Field| CreateOptions {
            max_length: columns.longest.get(index).copied().flatten().map(roomy_length),
            nested_as_json,
            without_vectors,
            ..CreateOptions::default()
        };
        let statement = create_table_statement(&self.table, &schema, options);
        let statement = statement.map_err(|error| self.unfit(source, error))?;
        Ok((statement, None, notes))
    }

    /// Runs a statement that makes something; the error names it.
    fn make(&mut self, statement: &str) -> Result<(), CopyError> {
        let name = self.name();
        let done = self.client()?.execute(statement);
        done.map(drop).map_err(|error| CopyError::Statement {
            endpoint: name,
            statement: statement.to_owned(),
            error: Box::new(error),
        })
    }

    /// Makes the schema if it is missing: a table cannot be made without.
    fn make_schema(&mut self) -> Result<(), CopyError> {
        let Some(schema) = self.table.schema.clone() else { return Ok(()) };
        let current = self.client()?.database().to_owned();
        if self.table.database.as_ref().is_some_and(|name| !name.eq_ignore_ascii_case(&current)) {
            return Ok(());
        }
        let create = load::literal(&format!("CREATE SCHEMA {}", load::quoted(&schema)));
        // Of two copies that need it at once, one makes it: 2714.
        let statement = format!(
            "IF SCHEMA_ID({name}) IS NULL BEGIN TRY EXEC({create}) END TRY \
             BEGIN CATCH IF SCHEMA_ID({name}) IS NULL THROW; END CATCH",
            name = load::literal(&schema)
        );
        self.make(&statement)
    }

    /// The options for a source: how its columns find theirs, and whether identities are kept.
    fn options_for(
        &self,
        target: &TableDescription,
        description: &Description,
        shape: Option<&TableShape>,
        plan: &mut Vec<Choice>,
    ) -> LoadOptions {
        let mut options = self.write.options.clone();
        let is_mapped = matches!(options.mapping, Mapping::Explicit(_));
        if !is_mapped && (self.write.by_position || !description.has_names) {
            options.mapping = Mapping::ByPosition;
            return options;
        }
        let Some(shape) = shape.filter(|_| !is_mapped) else { return options };
        // A table of SQL Server: what its server computes is computed again, and its identities are kept.
        let named =
            |name: &str| target.columns.iter().find(|column| column.column.name.eq_ignore_ascii_case(name));
        let is_computed =
            |name: &str| named(name).is_some_and(|column| column.is_computed || column.is_rowversion);
        let made_there: Vec<&str> = shape
            .columns
            .iter()
            .filter(|column| column.computed.is_some() || column.type_text == "rowversion")
            .map(|column| column.name.as_str())
            .filter(|name| is_computed(name))
            .collect();
        if !made_there.is_empty() {
            let pairs = description
                .schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .filter(|name| !made_there.contains(&name.as_str()))
                .map(|name| (name.clone(), name));
            options.mapping = Mapping::Explicit(pairs.collect());
            plan.push(Choice {
                setting: "left out",
                value: made_there.join(", "),
                reason: "the server of the destination makes these values itself".to_owned(),
            });
        }
        let keeps = shape
            .identity()
            .is_some_and(|column| named(&column.name).is_some_and(|target| target.is_identity));
        if keeps && !options.keep_identity {
            options.keep_identity = true;
        }
        options
    }

    /// Enters the copy into the ledger, if it is to be continued when it breaks.
    fn open_ledger(&mut self, source: &mut dyn Source, way: &LoadWay) -> Result<Option<Ledger>, CopyError> {
        let Some(resume) = self.write.resume.clone() else { return Ok(None) };
        let identity = match source.repeat()? {
            Repeat::InOrder(identity) => identity,
            Repeat::IfNamed(identity) if resume.load_id.is_some() => identity,
            Repeat::IfNamed(identity) => {
                return Err(CopyError::Usage(format!(
                    "--resume cannot tell {} from another that is called so: name the copy by --load-id",
                    identity.name
                )));
            }
            Repeat::No(reason) => {
                return Err(CopyError::Usage(format!(
                    "--resume cannot continue {}: {reason}",
                    source.name()
                )));
            }
        };
        let table = self.table.clone();
        let name = self.name();
        let client = self.client()?;
        let target = client.full_name(&table).map_err(|error| CopyError::client(&name, error))?;
        let load_id = resume.load_id.clone().unwrap_or_else(|| default_load_id(&target, &identity));
        let mode = match way.strategy {
            load::Strategy::Auto => way.mode.word().to_owned(),
            strategy => format!("{} by {strategy}", way.mode.word()),
        };
        let identity =
            LoadIdentity { load_id, target, mode, sources: vec![identity], command: resume.command };
        let place = LedgerPlace::beside(&table, &resume.ledger_schema);
        Ledger::open(client, place, identity).map(Some).map_err(|error| CopyError::client(&name, error))
    }

    fn parallel_options<'a>(
        &self,
        plan: &LoadPlan,
        ledger: Option<&'a Ledger>,
        watch: &'a dyn CommitWatch,
    ) -> ParallelOptions<'a> {
        ParallelOptions {
            writers: self.write.writers.map_or(Writers::Auto(plan.writers_max), Writers::Fixed),
            retry: self.write.retry,
            ledger,
            time_limit: self.write.time_limit,
            watch,
        }
    }
}

impl Destination for ServerDestination {
    fn name(&self) -> String {
        self.endpoint.to_string()
    }

    fn form(&mut self) -> Result<ReadForm, CopyError> {
        // Text is converted by the rules of a load, which name row and column of what does not fit.
        Ok(ReadForm { is_exact: true, is_typed: false })
    }

    fn prepare(&mut self, source: &mut dyn Source, is_dry: bool) -> Result<Prepared, CopyError> {
        let form = self.form()?;
        let mut prepared = Prepared::default();
        let existing = self.existing()?;
        let mut way = self.write.way.clone();
        let mut shape = None;
        match (&existing, self.write.create) {
            (Some(table), Create::Always) if self.write.resume.is_none() => {
                return Err(CopyError::Usage(format!(
                    "{}: there is such a table already ({} rows); without --create rows go into it",
                    self.name(),
                    load::report::grouped(table.rows)
                )));
            }
            (Some(_), _) => {}
            (None, Create::Never) => {
                let error = load::Error::NoTable {
                    table: self.table.to_string(),
                    database: self.client()?.database().to_owned(),
                };
                return Err(self.failed(error));
            }
            (None, _) => {
                if way.mode.keys().is_some() {
                    return Err(CopyError::Usage(format!(
                        "mode {} compares rows with those of {}, and there is no such table",
                        way.mode, self.table
                    )));
                }
                let (statement, made, notes) = self.creation(source, form)?;
                prepared.plan.extend(notes);
                prepared.created_by = Some(statement.clone());
                shape = made;
                if is_dry {
                    return Ok(prepared);
                }
                self.make_schema()?;
                self.make(&statement)?;
                self.is_made = true;
                // A new table has neither rows to keep nor indexes to spare. A copy that may be continued keeps the way that
                // its next run will have.
                if self.write.resume.is_none() {
                    way = LoadWay { mode: Mode::Append, ..LoadWay::default() };
                }
            }
        }
        let done = self.plan(source, form, way, shape, is_dry, &mut prepared);
        if done.is_err() {
            self.drop_made();
        }
        done.map(|()| prepared)
    }

    fn write(&mut self, rows: RowStream, control: &Control<'_>) -> Result<Landed, CopyError> {
        let Some(ready) = self.ready.take() else { return Err(CopyError::Cancelled) };
        let done = self.write_rows(&ready, rows, control);
        self.ready = Some(ready);
        done
    }

    fn finish(&mut self, mut landed: Landed, control: &Control<'_>) -> Result<Landed, CopyError> {
        let shape = self.ready.as_mut().and_then(|ready| ready.shape.take());
        if let Some(shape) = shape {
            let table = self.table.clone();
            let script = Script { shape: &shape, table: &table, suffix: "" };
            let without_references = TableShape { foreign_keys: Vec::new(), ..shape.clone() };
            let checks = Script { shape: &without_references, table: &table, suffix: "" };
            for statement in script.indexes().into_iter().chain(checks.constraints()) {
                control.check()?;
                self.make(&statement)?;
            }
            landed.notes.push(format!(
                "{} indexes and keys, {} checks",
                shape.indexes.len(),
                shape.checks.len()
            ));
            self.foreign_keys = Some(shape).filter(|shape| !shape.foreign_keys.is_empty());
        }
        Ok(landed)
    }

    fn finish_together(&mut self) -> Result<Vec<String>, CopyError> {
        let Some(shape) = self.foreign_keys.take() else { return Ok(Vec::new()) };
        let table = self.table.clone();
        let mut notes = Vec::new();
        for key in &shape.foreign_keys {
            let mut key = key.clone();
            if let Some(schema) = &self.write.to_schema {
                key.references.schema = Some(schema.clone());
            }
            let referenced = key.references.clone();
            let name = self.name();
            let found = self.client()?.describe(&referenced);
            match found {
                Err(load::Error::NoTable { .. }) => {
                    notes.push(format!(
                        "foreign key {} of {table} is not copied: it refers to {referenced}, which is not there",
                        key.name
                    ));
                    continue;
                }
                Err(error) => return Err(CopyError::client(name, error)),
                Ok(_) => {}
            }
            let one = TableShape {
                foreign_keys: vec![key],
                checks: Vec::new(),
                lock_escalation: None,
                ..shape.clone()
            };
            for statement in (Script { shape: &one, table: &table, suffix: "" }).constraints() {
                self.make(&statement)?;
            }
        }
        let made = shape.foreign_keys.len() - notes.len();
        notes.insert(0, format!("{table}: {made} foreign keys"));
        Ok(notes)
    }

    fn abort(&mut self, failure: &CopyError) -> Vec<String> {
        if self.write.resume.is_none() && loads_nothing(failure) {
            self.drop_made();
        }
        let mut left = std::mem::take(&mut self.left);
        if self.is_emptied {
            left.push(format!("{} was emptied before, as mode truncate asks", self.table));
        }
        if self.is_made {
            left.push(format!("{} was made by this copy and is still there", self.table));
        }
        left
    }
}

impl ServerDestination {
    /// Plans the load into a table that is there.
    fn plan(
        &mut self,
        source: &mut dyn Source,
        form: ReadForm,
        way: LoadWay,
        shape: Option<TableShape>,
        is_dry: bool,
        prepared: &mut Prepared,
    ) -> Result<(), CopyError> {
        let of_source = match &shape {
            Some(shape) => Some(shape.clone()),
            None => source.table_shape()?,
        };
        let description = source.describe(form)?;
        let table = self.table.clone();
        let name = self.name();
        let target = self.client()?.describe(&table).map_err(|error| CopyError::client(&name, error))?;
        let options = self.options_for(&target, &description, of_source.as_ref(), &mut prepared.plan);
        let ledger = if is_dry { None } else { self.open_ledger(source, &way)? };
        if let Some(ledger) = &ledger {
            prepared.is_done = ledger.state() == LoadState::Done;
            prepared.rows_before = ledger.rows_before();
        }
        if !prepared.is_done {
            let mut load = TableLoad::new(table, way.clone(), ledger.as_ref());
            let client = self.client()?;
            let plan = load.plan(client, &description.schema, &options);
            match plan {
                Ok(plan) => {
                    let writers = self.writers_choice(&plan);
                    let others = plan.choices.into_iter().filter(|choice| choice.setting != "writers");
                    prepared.plan.extend(others.chain([writers]));
                }
                Err(error) => return Err(self.unfit(source, error)),
            }
        }
        self.ready = Some(Ready { options, way, ledger, shape });
        Ok(())
    }

    /// How many connections load, in place of what the plan says of one.
    fn writers_choice(&self, plan: &LoadPlan) -> Choice {
        let (value, reason) = match self.write.writers {
            None if plan.writers_max > 1 => (
                format!("auto, up to {}", plan.writers_max),
                format!("{}; more are added while throughput rises", plan.writers_reason),
            ),
            None => ("1".to_owned(), plan.writers_reason.to_owned()),
            Some(0 | 1) => {
                ("1".to_owned(), "one connection; encoding overlaps sending and waiting".to_owned())
            }
            Some(writers) => (writers.to_string(), "as asked".to_owned()),
        };
        Choice { setting: "writers", value, reason }
    }

    fn write_rows(
        &mut self,
        ready: &Ready,
        rows: RowStream,
        control: &Control<'_>,
    ) -> Result<Landed, CopyError> {
        let name = self.name();
        let Ready { options, way, ledger, .. } = ready;
        let mut load = TableLoad::new(self.table.clone(), way.clone(), ledger.as_ref());
        let schema = rows.schema;
        let failed = |error| CopyError::client(&name, error);
        let retry = self.write.retry;
        let knows_rows = self.is_made || self.write.sole_writer;
        let client = self.client()?;
        let mut plan = load.plan(client, &schema, options).map_err(failed)?;
        if let Some(stage) = load.stage() {
            control.watch.staged(&stage.name().to_string());
            load.make_stage(client).map_err(failed)?;
            plan = load.plan(client, &schema, options).map_err(failed)?;
        }
        if load.empties() {
            // Only now: rows that do not fit the table must not cost its own.
            control.watch.publishing(true);
            let emptied = load.empty(client);
            control.watch.publishing(false);
            emptied.map_err(failed)?;
            self.is_emptied = true;
            plan = load.plan(self.client()?, &schema, options).map_err(failed)?;
        }
        if ledger.is_none() && load.stage().is_none() && (knows_rows || self.is_emptied) {
            let target = self.table.clone();
            let described = self.client()?.describe(&target).map_err(failed)?;
            plan.rows_before = Some(described.rows);
        }
        let batches = rows.batches.map(|batch| match control.watch.is_cancelled() {
            true => Err(CopyError::Cancelled.into()),
            false => batch,
        });
        let parallel = self.parallel_options(&plan, ledger.as_ref(), control.commits);
        let source =
            ParallelSource { plan: plan.clone(), tolerance: control.tolerance, batches: Box::new(batches) };
        let client = self.client.as_mut().ok_or(CopyError::Cancelled)?;
        let loaded = load.load(client, vec![source], &parallel, &mut |progress| {
            control.watch.progress(progress.rows_sent, progress.rows_committed);
        });
        let report = match loaded {
            Ok(report) => report,
            Err(error) => {
                let is_in_doubt = error.rows_in_doubt > 0;
                if let Some(table) = load.staged_target() {
                    self.left.push(format!("{table} is as it was; the rows went into a stage beside it"));
                }
                if let Some(stage) = load.give_up(client, is_in_doubt) {
                    self.left.push(format!("the stage {stage} could not be dropped; DROP TABLE removes it"));
                }
                if matches!(&error.source, load::Error::Source(source) if source.downcast_ref::<CopyError>().is_some_and(|error| matches!(error, CopyError::Cancelled)))
                {
                    self.left.push(committed_words(error.rows_committed));
                    return Err(CopyError::Cancelled);
                }
                return Err(CopyError::Load { source_name: name, error: Box::new(error) });
            }
        };
        let ended = load.finish(client, retry, &mut |is_under_way| control.watch.publishing(is_under_way));
        let mut notes = Vec::new();
        match ended {
            Ok(Ending::Direct) => {}
            Ok(Ending::Published(published)) => notes.push(published.to_string()),
            Ok(Ending::AnswerLost(_)) => {
                notes.push("the answer to the end was lost, and the rows are in the table".to_owned());
            }
            Err(error) => {
                if let Some(stage) = load.give_up(client, error.is_in_doubt()) {
                    self.left.push(format!("the stage {stage} could not be dropped; DROP TABLE removes it"));
                }
                return Err(failed(error));
            }
        }
        notes.push(format!("limited by {}", report.limit));
        if report.retries > 0 {
            notes.push(format!("tried again {} times", report.retries));
        }
        notes.extend(report.load.messages.iter().cloned());
        Ok(Landed {
            rows: report.load.rows,
            rows_skipped: report.rows_skipped,
            bytes: Some(report.load.bytes_on_wire),
            writers: report.writers,
            notes,
        })
    }

    /// Drops the table that this copy made, if nothing is in it: left behind, it would stop the next try.
    fn drop_made(&mut self) {
        if !self.is_made {
            return;
        }
        let table = self.table.to_string();
        let statement = format!("IF NOT EXISTS (SELECT * FROM {table}) DROP TABLE {table}");
        // The error to be reported is that of the copy.
        let done = self.client().ok().map(|client| {
            client.execute(&statement)?;
            client.query_values(&format!("SELECT OBJECT_ID({})", load::literal(&table)))
        });
        if let Some(Ok(found)) = done {
            let is_gone = found.first().and_then(|table| table.rows.first()).and_then(|row| row.first());
            self.is_made = !matches!(is_gone, Some(tds::Value::Null));
        }
    }
}

fn committed_words(rows: u64) -> String {
    let (noun, verb) = load::report::row_words(rows);
    format!("{} {noun} {verb} committed", load::report::grouped(rows))
}

/// Whether a copy failed before the destination could have had a row.
fn loads_nothing(failure: &CopyError) -> bool {
    match failure {
        CopyError::Load { error, .. } => error.rows_committed == 0 && error.rows_in_doubt == 0,
        CopyError::Count { .. } => false,
        _ => true,
    }
}

/// Source and destination, shortened by a checksum where they are too long for a name.
fn default_load_id(target: &TableName, source: &SourceIdentity) -> String {
    const LENGTH_MAX: usize = 128;
    // Most servers do not tell upper and lower case apart in names.
    let whole = format!("{} <- {}", target.to_string().to_lowercase(), source.name);
    if whole.encode_utf16().count() <= LENGTH_MAX {
        return whole;
    }
    let checksum = formats::checksum_of(whole.as_bytes());
    let kept: String = whole.chars().take(LENGTH_MAX / 2).collect();
    format!("{kept}... {checksum:08x}")
}

/// The shape of a table as another database can have it: types of its own database, file groups and what a second table lacks are
/// left out. Without keys only columns, lengths, nullability, collations and identity remain.
fn transplanted(
    shape: TableShape,
    table: &TableName,
    with_keys: bool,
    base_type: impl Fn(&str) -> Option<String>,
) -> TableShape {
    let columns = shape.columns.into_iter().map(|mut column| {
        let needs_base = column.type_text.starts_with('[') || (!with_keys && column.computed.is_some());
        if let Some(base) = base_type(&column.name).filter(|_| needs_base) {
            column.type_text = base;
        }
        if !with_keys {
            if column.type_text == "rowversion" {
                column.type_text = "binary(8)".to_owned();
            }
            column.computed = None;
            column.default = None;
            column.is_sparse = false;
            column.is_rowguidcol = false;
        }
        column
    });
    let columns = columns.collect();
    if !with_keys {
        return TableShape {
            name: table.clone(),
            columns,
            indexes: Vec::new(),
            heap_compression: shape.heap_compression,
            file_group: None,
            large_value_file_group: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: None,
            obstacles: Vec::new(),
        };
    }
    let indexes = shape.indexes.into_iter().map(|mut index| {
        index.file_group = None;
        index
    });
    TableShape {
        name: table.clone(),
        columns,
        indexes: indexes.collect(),
        file_group: None,
        large_value_file_group: None,
        ..shape
    }
}
