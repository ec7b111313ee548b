//! A table of SQL Server as a destination.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use load::{
    Beginning, Client, Ending, Ledger, LedgerPlace, LoadIdentity, LoadOptions, LoadPlan, LoadState, LoadWay,
    Mode, ParallelSource, SourceIdentity, TableDescription, TableLoad, TableName, TableShape, UnreadRow,
    stage::PendingKeys,
};
use rows::{Plan, PlanError};

use crate::{
    destination::{Create, Destination, Landed, Prepared},
    directed_rows::{ActionCounts, directed_rows, staged_schema},
    endpoint::SqlServerEndpoint,
    error::CopyError,
    new_table::{self, Creation, NewTable},
    row_stream::RowStream,
    server_write::ServerWrite,
    source::{ReadForm, Repeat, Source, Undecoded},
    splicing::Splicing,
    watch::Control,
};

/// A table that takes rows.
pub struct ServerDestination {
    endpoint: SqlServerEndpoint,
    table: TableName,
    write: ServerWrite,
    client: Option<Client>,
    /// The decisions made before the first row.
    ready: Option<Ready>,
    /// The table was made by this copy and has nothing to offer but its rows.
    is_made: bool,
    /// The table is marked: its keys are still to be built.
    is_marked: bool,
    is_emptied: bool,
    left: Vec<String>,
    /// Foreign keys, which wait for the rows of all tables.
    foreign_keys: Option<TableShape>,
}

struct Ready {
    /// Columns of the table that take no NULL.
    required: Vec<String>,
    options: LoadOptions,
    way: LoadWay,
    ledger: Option<Ledger>,
    /// The keys and indexes that are created behind the rows.
    shape: Option<TableShape>,
    /// The rows as the source sends them.
    undecoded: Undecoded,
}

impl ServerDestination {
    /// Makes a destination of an endpoint's table.
    ///
    /// # Errors
    /// None is named, or what is asked for excludes each other.
    pub fn new(endpoint: SqlServerEndpoint, write: ServerWrite) -> Result<Self, CopyError> {
        let Some(table) = endpoint.table.clone() else {
            return Err(CopyError::Usage(format!(
                "{endpoint}: name the table that takes the rows (mssql://host/database/schema.table)"
            )));
        };
        if table.is_temporary() && (!table.name.starts_with("##") || write.create == Create::Always) {
            return Err(CopyError::Usage(format!(
                "{table} is a temporary table: it ends with the connection of this copy, and its rows with it"
            )));
        }
        if write.create == Create::Always && write.way.mode.keys().is_some() {
            return Err(CopyError::Usage(format!(
                "--create cannot go with mode {}: a table that is yet to be made has no rows to compare",
                write.way.mode
            )));
        }
        if write.action.is_some() && write.by_position {
            return Err(CopyError::Usage(
                "--action cannot go with --by-position: its column has no place in the table".to_owned(),
            ));
        }
        Ok(Self {
            endpoint,
            table,
            write,
            client: None,
            ready: None,
            is_made: false,
            is_marked: false,
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

    /// Returns the connection, opened when it is first needed.
    fn client(&mut self) -> Result<&mut Client, CopyError> {
        if self.client.is_none() {
            let connected = self.beginning().connect(&self.endpoint.config);
            self.client = Some(connected.map_err(|error| self.failed(error))?);
        }
        self.client.as_mut().ok_or(CopyError::Cancelled)
    }

    /// Takes the mark off the table that its keys are still to be built.
    fn all_is_built(&mut self) -> Result<(), CopyError> {
        if !self.is_marked {
            return Ok(());
        }
        let table = self.table.clone();
        self.run(&mut |client| PendingKeys(&table).clear(client)).map_err(|error| self.failed(error))
    }

    fn beginning(&self) -> Beginning<'_> {
        Beginning { retry: self.write.retry, hears: &self.write.hears }
    }

    /// Runs a step that may be repeated, after a transient error again.
    fn run<T>(
        &mut self,
        step: &mut dyn FnMut(&mut Client) -> Result<T, load::Error>,
    ) -> Result<T, load::Error> {
        // Connected by what is called before.
        let Some(mut client) = self.client.take() else { return Err(load::Error::Broken) };
        let done = self.beginning().run(&mut client, step);
        self.client = Some(client);
        done
    }

    /// Describes the table; `None` if it does not exist.
    fn existing(&mut self) -> Result<Option<TableDescription>, CopyError> {
        let table = self.table.clone();
        self.client()?;
        match self.run(&mut |client| client.describe(&table)) {
            Ok(found) => Ok(Some(found)),
            Err(load::Error::NoTable { .. }) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Plans the creation of the table for a source.
    fn creation(&mut self, source: &mut dyn Source, form: ReadForm) -> Result<Creation, CopyError> {
        let (name, table) = (self.name(), self.table.clone());
        let without_vectors = self.client()?.server_info().vectors == 0;
        let new = NewTable {
            endpoint: &name,
            table: &table,
            with_keys: self.write.with_keys,
            nested_as_json: self.write.nested_as_json || self.write.options.cast.nested_as_json,
            without_vectors,
            collations: &self.write.collations,
        };
        new.creation(source, form)
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
        self.client()?;
        let target = self.run(&mut |client| client.full_name(&table));
        let target = target.map_err(|error| CopyError::client(&name, error))?;
        let is_named = resume.load_id.is_some();
        let load_id = resume.load_id.clone().unwrap_or_else(|| default_load_id(&target, &identity));
        let mode = match way.strategy {
            load::Strategy::Auto => way.mode.word().to_owned(),
            strategy => format!("{} by {strategy}", way.mode.word()),
        };
        let identity = LoadIdentity {
            load_id,
            target,
            mode,
            sources: vec![identity],
            command: resume.command,
            is_named,
        };
        let place = LedgerPlace::beside(&table, &resume.ledger_schema);
        let opened = self.run(&mut |client| Ledger::open(client, place.clone(), identity.clone()));
        opened.map(Some).map_err(|error| CopyError::client(&name, error))
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
            (Some(_), _) => {
                let table = self.table.clone();
                let is_wanted = self.write.with_keys && self.write.resume.is_some();
                let is_pending = is_wanted
                    && self
                        .run(&mut |client| PendingKeys(&table).is_set(client))
                        .map_err(|error| self.failed(error))?;
                // An earlier run has made the table and not its keys.
                if is_pending {
                    let Creation { shape: made, notes, .. } = self.creation(source, form)?;
                    prepared.plan.extend(notes);
                    shape = made;
                    self.is_marked = true;
                }
            }
            (None, Create::Never) => {
                let table = self.table.clone();
                let client = self.client()?;
                let (database, nearest) = (client.database().to_owned(), None);
                let error = load::Error::NoTable { table: table.to_string(), database, nearest };
                let error = load::name_nearest(client, &table, error);
                return Err(self.failed(error));
            }
            (None, _) => {
                if way.mode.keys().is_some() {
                    return Err(CopyError::Usage(format!(
                        "mode {} compares rows with those of {}, and there is no such table",
                        way.mode, self.table
                    )));
                }
                let Creation { statement, shape: made, notes } = self.creation(source, form)?;
                prepared.plan.extend(notes);
                shape = made;
                let (name, table) = (self.name(), self.table.clone());
                let is_marked = shape.is_some() && self.write.resume.is_some();
                let script = self
                    .run(&mut |client| load::creation_script(client, &table, &statement))
                    .map_err(|error| self.failed(error))?;
                prepared.created_by = Some(script);
                if is_dry {
                    return Ok(prepared);
                }
                let client = self.client()?;
                new_table::make_schema(client, &name, &table)?;
                new_table::make_table(client, &name, &table, &statement, is_marked)?;
                self.is_marked = is_marked;
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
            let name = self.name();
            self.client()?;
            let Some(mut client) = self.client.take() else { return Err(CopyError::Cancelled) };
            let by = (&self.beginning(), control);
            let made = new_table::make_keys(&mut client, &name, &table, &shape, by);
            self.client = Some(client);
            landed.notes.push(made?);
            self.foreign_keys = Some(shape).filter(|shape| !shape.foreign_keys.is_empty());
            if self.foreign_keys.is_none() {
                self.all_is_built()?;
            }
        }
        Ok(landed)
    }

    fn finish_together(&mut self) -> Result<Vec<String>, CopyError> {
        let Some(shape) = self.foreign_keys.take() else { return Ok(Vec::new()) };
        let (name, table, to_schema) = (self.name(), self.table.clone(), self.write.to_schema.clone());
        self.client()?;
        let Some(mut client) = self.client.take() else { return Err(CopyError::Cancelled) };
        let by = self.beginning();
        let made =
            new_table::make_foreign_keys(&mut client, &name, &table, &shape, to_schema.as_deref(), &by);
        self.client = Some(client);
        let made = made?;
        self.all_is_built()?;
        Ok(made)
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
    /// Maps the columns of a source to those of the table, without choosing a route. `None`: the table does not
    /// exist.
    ///
    /// # Errors
    /// The columns do not fit.
    pub fn fit(&mut self, source: &mut dyn Source) -> Result<Option<Plan>, CopyError> {
        let existing = if self.write.action.is_some() { None } else { self.existing()? };
        let Some(target) = existing else { return Ok(None) };
        let form = self.form()?;
        let of_source = source.table_shape()?;
        let description = source.describe(form)?;
        let options = self.write.options_for(&target, &description, of_source.as_ref(), &mut Vec::new());
        let columns = target.loadable_columns(options.keep_identity);
        let plan = Plan::new(&description.schema, &columns, &options.mapping, options.cast);
        let fitting = plan.and_then(|plan| match target.lacking(plan.declared_columns()).as_slice() {
            lacking if lacking.is_empty() || self.write.way.mode.keys().is_some() => Ok(plan),
            lacking => Err(PlanError::Lacking(lacking.join(", "))),
        });
        fitting.map(Some).map_err(|error| self.failed(error.into()))
    }

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
        self.client()?;
        let target = self.run(&mut |client| client.describe(&table));
        let target = target.map_err(|error| CopyError::client(&name, error))?;
        let schema = match &self.write.action {
            Some(action) => staged_schema(&description.schema, action)?,
            None => Arc::clone(&description.schema),
        };
        let mut options =
            self.write.options_for(&target, &description, of_source.as_ref(), &mut prepared.plan);
        let ledger = if is_dry { None } else { self.open_ledger(source, &way)? };
        if let Some(ledger) = &ledger {
            prepared.is_done = ledger.state() == LoadState::Done;
            prepared.rows_before = ledger.rows_before();
            prepared.refused_before = ledger.refused_before();
        }
        let mut undecoded = Undecoded::OfNoServer;
        if !prepared.is_done {
            undecoded = source.undecoded(form)?;
            let is_alone = self.is_made || self.write.sole_writer;
            let mut load = TableLoad::new(table, way.clone(), ledger.as_ref()).alone(is_alone);
            let looked = self.run(&mut |client| load.look(client).map(drop));
            looked.map_err(|error| CopyError::client(&name, error))?;
            options.source.bytes = match (description.bytes, description.rows) {
                (None, Some(rows)) => load.estimated_bytes(&options, rows),
                (bytes, _) => bytes,
            };
            let order = load.key_order(self.client()?, &schema, &options);
            let order = order.map_err(|error| CopyError::client(&name, error))?;
            if let Some(order) = order.filter(|order| order.is_kept)
                && let Some(evidence) = source.follows(form, &order)?
            {
                options = options.in_order(&order, evidence.to_owned());
            }
            let plan = self.run(&mut |client| load.plan(client, &schema, &options));
            match plan {
                Ok(plan) => {
                    let writers = self.write.writers_choice(&plan);
                    let splicing = Splicing::of(&undecoded, &plan, self.needs_values(ledger.as_ref()));
                    let others = plan.choices.into_iter().filter(|choice| choice.setting != "writers");
                    prepared.plan.extend(others.chain(splicing.choice()).chain([writers]));
                }
                Err(error) => return Err(self.unfit(source, error)),
            }
        }
        let required = target.columns.iter().map(|column| &column.column);
        let required =
            required.filter(|column| !column.flags.is_nullable()).map(|column| column.name.clone());
        self.ready = Some(Ready { required: required.collect(), options, way, ledger, shape, undecoded });
        Ok(())
    }

    fn write_rows(
        &mut self,
        ready: &Ready,
        rows: RowStream,
        control: &Control<'_>,
    ) -> Result<Landed, CopyError> {
        let name = self.name();
        let Ready { options, way, ledger, .. } = ready;
        let is_alone = self.is_made || self.write.sole_writer;
        let mut load = TableLoad::new(self.table.clone(), way.clone(), ledger.as_ref()).alone(is_alone);
        let schema = match &self.write.action {
            Some(action) => staged_schema(&rows.schema, action)?,
            None => Arc::clone(&rows.schema),
        };
        let failed = |error| CopyError::client(&name, error);
        let retry = self.write.retry;
        let knows_rows = self.is_made || self.write.sole_writer;
        self.client()?;
        let mut plan = self.run(&mut |client| load.plan(client, &schema, options)).map_err(failed)?;
        if let Some(stage) = load.stage() {
            control.watch.staged(&stage.name().to_string());
            self.run(&mut |client| load.make_stage(client)).map_err(failed)?;
            plan = self.run(&mut |client| load.plan(client, &schema, options)).map_err(failed)?;
        }
        if load.empties() {
            // Only now: rows that do not fit the table must not cost its own.
            control.watch.publishing(true);
            let emptied = self.run(&mut |client| load.empty(client));
            control.watch.publishing(false);
            emptied.map_err(failed)?;
            self.is_emptied = true;
            plan = self.run(&mut |client| load.plan(client, &schema, options)).map_err(failed)?;
        }
        if ledger.is_none() && load.stage().is_none() && (knows_rows || self.is_emptied) {
            let target = self.table.clone();
            let described = self.run(&mut |client| client.describe(&target)).map_err(failed)?;
            plan.rows_before = Some(described.rows);
        }
        let by_value = match control.tolerance {
            Some(_) => Some("refused rows are shown by their values"),
            None => self.needs_values(ledger.as_ref()),
        };
        Splicing::of(&ready.undecoded, &plan, by_value).begin(&mut plan);
        let skipped = Arc::new(AtomicU64::new(0));
        let rows = match &self.write.action {
            Some(action) => {
                let required = required_columns(&plan, ready);
                directed_rows(rows, action, required, Arc::clone(&skipped))?
            }
            None => rows,
        };
        let batches = rows.batches.map(|batch| {
            control.check()?;
            let batch = batch?;
            match batch.unread().first() {
                // Without a tolerance it ends the copy, by its number.
                Some(UnreadRow { origin, error }) if control.tolerance.is_none() => {
                    Err(CopyError::Row { row: origin.row, error: Arc::clone(error) }.into())
                }
                _ => Ok(batch),
            }
        });
        let parallel = self.write.parallel_options(&plan, ledger.as_ref(), control.commits);
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
                if is_cancelled(&error.source) && !is_in_doubt {
                    self.left.push(committed_words(error.rows_committed));
                    return Err(CopyError::Cancelled);
                }
                return Err(CopyError::Load { source_name: name, error: Box::new(error) });
            }
        };
        let ended = load.finish(client, retry, &mut |is_under_way| control.watch.publishing(is_under_way));
        let mut notes = Vec::new();
        let rows_idle = skipped.load(Ordering::Relaxed);
        let mut actions = None;
        match ended {
            Ok(Ending::Direct) => {}
            Ok(Ending::Published(published)) => {
                notes.push(published.to_string());
                actions = self.write.action.is_some().then_some(ActionCounts {
                    inserted: published.inserted,
                    updated: published.updated,
                    deleted: published.deleted,
                    unchanged: published.unchanged,
                    missing: published.missing,
                    skipped: rows_idle,
                });
            }
            Ok(Ending::AnswerLost(_)) => {
                notes.push("the answer to the end was lost, and the rows are in the table".to_owned());
            }
            Err(error) => {
                if let Some(stage) = load.give_up(client, error.source.is_in_doubt()) {
                    self.left.push(format!("the stage {stage} could not be dropped; DROP TABLE removes it"));
                }
                return Err(CopyError::Load { source_name: name, error: Box::new(error) });
            }
        }
        if rows_idle > 0 {
            notes.push(format!("{} skipped", load::report::grouped(rows_idle)));
        }
        if report.load.rows_ignored > 0 {
            let dropped = load::report::grouped(report.load.rows_ignored);
            notes.push(format!("{dropped} dropped, since their keys were there already (IGNORE_DUP_KEY)"));
        }
        notes.push(format!("limited by {}", report.limit));
        if report.retries > 0 {
            notes.push(format!("tried again {} times", report.retries));
        }
        notes.extend(report.load.messages.iter().cloned());
        Ok(Landed {
            rows: report.load.rows,
            rows_ignored: report.load.rows_ignored,
            rows_skipped: report.rows_skipped,
            bytes: Some(report.load.bytes_on_wire),
            writers: report.writers,
            rows_idle,
            actions,
            notes,
        })
    }

    /// Returns why the rows must be decoded, whatever their columns are.
    fn needs_values(&self, ledger: Option<&Ledger>) -> Option<&'static str> {
        match (&self.write.action, ledger) {
            (Some(_), _) => Some("each says what becomes of it"),
            (None, Some(ledger)) if ledger.has_lanes() => Some("they went to writers by partition before"),
            (None, _) => None,
        }
    }

    /// Drops the table that this copy made, if nothing is in it.
    fn drop_made(&mut self) {
        if !self.is_made {
            return;
        }
        let table = self.table.clone();
        // The error to be reported is that of the copy.
        if let Ok(client) = self.client()
            && let Ok(is_gone) = new_table::drop_if_empty(client, &table)
        {
            self.is_made = !is_gone;
        }
    }
}

/// Returns the columns of a source that must have a value unless their row deletes. The key always must, and the stage
/// checks it.
fn required_columns(plan: &LoadPlan, ready: &Ready) -> Vec<usize> {
    let Ready { required, way, .. } = ready;
    let has = |names: &[String], name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    let keys = way.mode.keys().unwrap_or_default();
    let columns = plan.rows.source_indexes().zip(plan.rows.declared_columns());
    columns
        .filter(|(_, column)| has(required, &column.name) && !has(keys, &column.name))
        .map(|(index, _)| index)
        .collect()
}

/// Returns true if a load ended because the copy was cancelled.
fn is_cancelled(error: &load::Error) -> bool {
    match error {
        load::Error::Cancelled => true,
        load::Error::Source(source) => match source.downcast_ref::<CopyError>() {
            Some(CopyError::Cancelled) => true,
            Some(CopyError::Client { source, .. }) => matches!(**source, load::Error::Cancelled),
            _ => matches!(source.downcast_ref(), Some(load::Error::Cancelled)),
        },
        _ => false,
    }
}

fn committed_words(rows: u64) -> String {
    let (noun, verb) = load::report::row_words(rows);
    format!("{} {noun} {verb} committed", load::report::grouped(rows))
}

/// Returns true if a copy failed before the destination could have had a row.
fn loads_nothing(failure: &CopyError) -> bool {
    match failure {
        CopyError::Load { error, .. } => error.rows_committed == 0 && error.rows_in_doubt == 0,
        CopyError::Count { .. } => false,
        _ => true,
    }
}

/// Joins source and destination to a name, shortened by a checksum if it is too long.
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
