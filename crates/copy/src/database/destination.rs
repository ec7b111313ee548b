//! A table of a database as a destination: rows go in as a stream, in one transaction where the driver has transactions.

use std::{sync::Arc, thread};

use adbc_core::{
    Optionable as _, Statement as _,
    error::Status,
    options::{IngestMode, OptionStatement, OptionValue},
};
use arrow::{
    array::{RecordBatch, RecordBatchReader},
    datatypes::{Field, Schema, SchemaRef},
    error::ArrowError,
};
use crossbeam_channel::Receiver;
use load::{Choice, Mode};

use super::{
    address::{Address, TableAddress},
    fitting,
    session::Session,
    system::{System, full_name},
};
use crate::{
    destination::{Create, Destination, Landed, Prepared},
    error::CopyError,
    row_stream::RowStream,
    source::{ReadForm, Source},
    watch::Control,
};

/// Batches that wait for the driver.
const WAITING_BATCHES: usize = 2;

/// A table behind a driver.
pub(super) struct DatabaseDestination {
    address: Address,
    table: TableAddress,
    mode: Mode,
    create: Create,
    session: Option<Session>,
    target: Option<Target>,
}

/// The table that rows are written to.
struct Target {
    /// The table's full name.
    name: String,
    /// The index in the source of each written column.
    columns: Vec<usize>,
    /// The columns in the types that are written.
    schema: SchemaRef,
    /// The driver makes the table.
    by_driver: bool,
    is_new: bool,
    is_emptied: bool,
    is_atomic: bool,
}

impl DatabaseDestination {
    /// Makes a destination of an address's table.
    pub(super) fn new(address: Address, mode: &Mode, create: Create) -> Result<Self, CopyError> {
        let Some(table) = address.table.clone() else {
            return Err(CopyError::Usage(format!(
                "{address}: no table is named: write it behind a '#' ({}#schema.table)",
                address.database()
            )));
        };
        if let Mode::Upsert { .. } | Mode::InsertNew { .. } = mode {
            return Err(CopyError::Usage(format!(
                "{address}: the modes of drivers are append, truncate and replace; upsert and insert-new are for SQL Server"
            )));
        }
        Ok(Self { address, table, mode: mode.clone(), create, session: None, target: None })
    }

    /// Asks for the table's columns; `None`: it is not there.
    fn existing(&self, session: &mut Session, name: &str) -> Result<Option<Schema>, CopyError> {
        match session.schema(&format!("SELECT * FROM {name} WHERE 1 = 0")) {
            Ok(schema) => Ok(Some(schema)),
            Err(error) => {
                let text = error.message.to_ascii_lowercase();
                let says_so =
                    ["does not exist", "no such table", "invalid object name", "not found", "doesn't exist"];
                match error.status == Status::NotFound || says_so.iter().any(|words| text.contains(words)) {
                    true => Ok(None),
                    false => Err(session.failed(&error)),
                }
            }
        }
    }

    fn unfit(&self, why: impl std::fmt::Display) -> CopyError {
        CopyError::Usage(format!("{}: {why}", self.address))
    }

    /// Matches the columns of an existing table, each with the place of the source's column for it.
    fn matched(
        &self,
        system: System,
        table: &Schema,
        source: &Schema,
        has_names: bool,
    ) -> Result<(Vec<usize>, SchemaRef), CopyError> {
        let fitted = fitting::fitted(system, source).map_err(|why| self.unfit(why))?;
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (place, field) in source.fields().iter().enumerate() {
            let named = |column: &Arc<Field>| column.name().eq_ignore_ascii_case(field.name());
            let column = match has_names {
                true => table.fields().iter().position(named),
                false => (place < table.fields().len()).then_some(place),
            };
            let column = column.ok_or_else(|| {
                self.unfit(format!("the table has no column for {} of the source", field.name()))
            })?;
            places.push((column, place));
        }
        // DuckDB takes values in the order of the table's columns.
        places.sort_unstable();
        if system == System::DuckDb && places.len() < table.fields().len() {
            let missing = table.fields().iter().enumerate();
            let missing = missing.filter(|(column, _)| !places.iter().any(|(of, _)| of == column));
            let names: Vec<&str> = missing.map(|(_, field)| field.name().as_str()).collect();
            return Err(self.unfit(format!(
                "the source has no column for {}; DuckDB's driver wants a value for each",
                names.join(", ")
            )));
        }
        let fields = places.iter().map(|(column, place)| {
            let (column, fitted) = (table.field(*column), fitted.field(*place));
            let data_type = fitting::type_for_column(system, column, fitted.data_type());
            let keeps = data_type == *fitted.data_type();
            let field = Field::new(column.name(), data_type, true);
            match (keeps, column.metadata().get("ARROW:extension:name").map(String::as_str)) {
                (true, _) => field.with_metadata(fitted.metadata().clone()),
                (false, Some("arrow.uuid")) => {
                    field.with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into())
                }
                _ => field,
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok((places.into_iter().map(|(_, place)| place).collect(), schema))
    }

    /// Plans the creation of a missing table, with the statement where bulkwire writes it.
    fn new_table(
        &self,
        session: &Session,
        name: &str,
        source: &mut dyn Source,
    ) -> Result<(Target, Option<String>), CopyError> {
        let columns = source.new_columns(FORM)?.schema;
        let fitted = fitting::fitted(session.system, &columns).map_err(|why| self.unfit(why))?;
        let by_driver = !session.system.has_own_create();
        let statement = (!by_driver)
            .then(|| fitting::create_table(session.system, name, &columns, &fitted, &session.quote));
        let target = Target {
            name: name.to_owned(),
            columns: (0..fitted.fields().len()).collect(),
            schema: fitted,
            by_driver,
            is_new: true,
            is_emptied: false,
            is_atomic: false,
        };
        Ok((target, statement))
    }

    fn parts(&mut self) -> Result<(&mut Session, &Target), CopyError> {
        match (&mut self.session, &self.target) {
            (Some(session), Some(target)) => Ok((session, target)),
            _ => Err(CopyError::Usage(format!(
                "{}: rows came before the destination was prepared",
                self.address
            ))),
        }
    }
}

/// Text files come with the types that their values have.
const FORM: ReadForm = ReadForm { is_exact: false, is_typed: true };

impl Destination for DatabaseDestination {
    fn name(&self) -> String {
        self.address.to_string()
    }

    fn form(&mut self) -> Result<ReadForm, CopyError> {
        Ok(FORM)
    }

    fn prepare(&mut self, source: &mut dyn Source, is_dry: bool) -> Result<Prepared, CopyError> {
        let mut session = Session::open(&self.address, false)?;
        let name = full_name(&self.table, &session.quote);
        let existing = self.existing(&mut session, &name)?;
        let mut prepared = Prepared::default();
        let (mut target, statement) = match (existing, self.create) {
            (Some(_), Create::Always) => return Err(self.unfit("the table is there already")),
            (None, Create::Never) => return Err(self.unfit("there is no such table")),
            (None, _) => self.new_table(&session, &name, source)?,
            (Some(table), _) => {
                let description = source.describe(FORM)?;
                let (columns, schema) =
                    self.matched(session.system, &table, &description.schema, description.has_names)?;
                let is_emptied = !matches!(self.mode, Mode::Append);
                let target = Target {
                    name: name.clone(),
                    columns,
                    schema,
                    by_driver: false,
                    is_new: false,
                    is_emptied,
                    is_atomic: false,
                };
                (target, None)
            }
        };
        if !is_dry {
            target.is_atomic = session.begin();
        }
        let (value, reason) = match (target.is_new, target.is_emptied) {
            (true, _) => ("created", "there is no such table"),
            (_, true) => ("emptied first", "the mode says so"),
            _ => ("appended to", "the mode says so"),
        };
        prepared.plan.push(Choice { setting: "table", value: value.to_owned(), reason: reason.to_owned() });
        let (value, reason) = match target.is_atomic || is_dry {
            true => ("one", "others see all rows or none, and a copy that fails leaves nothing"),
            false => ("none", "the driver has no transactions: a copy that fails leaves what it wrote"),
        };
        prepared.plan.push(Choice {
            setting: "transaction",
            value: value.to_owned(),
            reason: reason.to_owned(),
        });
        if !is_dry {
            if let Some(statement) = &statement {
                session.execute(statement)?;
            }
            if target.is_emptied {
                session.execute(&format!("DELETE FROM {name}"))?;
            }
        }
        prepared.created_by = match target.by_driver {
            true => Some(format!("CREATE TABLE {name} (...), by the driver")),
            false => statement,
        };
        (self.session, self.target) = (Some(session), Some(target));
        Ok(prepared)
    }

    fn write(&mut self, rows: RowStream, control: &Control<'_>) -> Result<Landed, CopyError> {
        let table = self.table.clone();
        let name = self.address.to_string();
        let (session, target) = self.parts()?;
        let mut statement = session.statement()?;
        let mode = if target.by_driver { IngestMode::Create } else { IngestMode::Append };
        let mut options = vec![
            (OptionStatement::TargetTable, table.name),
            (OptionStatement::IngestMode, String::from(mode)),
        ];
        // An absent name is the driver's own choice. SQLite has no schemas: the text before the table is an attached file.
        let before = match session.system {
            System::Sqlite => OptionStatement::TargetCatalog,
            _ => OptionStatement::TargetDbSchema,
        };
        options.extend(table.schema.map(|schema| (before, schema)));
        options.extend(table.catalog.map(|catalog| (OptionStatement::TargetCatalog, catalog)));
        for (key, value) in options {
            statement.set_option(key, OptionValue::String(value)).map_err(|error| session.failed(&error))?;
        }
        let (sender, receiver) = crossbeam_channel::bounded(WAITING_BATCHES);
        let waiting = WaitingRows { schema: Arc::clone(&target.schema), receiver };
        statement.bind_stream(Box::new(waiting)).map_err(|error| session.failed(&error))?;
        let (sent, outcome) = thread::scope(|scope| {
            let driver = scope.spawn(move || {
                let outcome = statement.execute_update();
                // Its end of the queue goes with it, which stops the sending thread.
                drop(statement);
                outcome
            });
            let sent = send(rows, target, control, &name, &sender);
            if sent.is_err() {
                // The driver must not take the end of the queue for the end of the rows. It may have given up itself.
                let text = "the rows could not be read to their end".to_owned();
                let _ = sender.send(Err(ArrowError::ExternalError(text.into())));
            }
            drop(sender);
            (sent, driver.join())
        });
        let sent = sent?;
        let affected = match outcome {
            Ok(outcome) => outcome.map_err(|error| session.failed(&error))?,
            Err(_) => return Err(CopyError::endpoint(name, "the driver ended in the middle of its work")),
        };
        let affected = affected.and_then(|rows| u64::try_from(rows).ok());
        if let Some(written) = affected
            && !target.is_new
            && !target.is_emptied
            && written != sent
        {
            return Err(miscounted(&self.address, sent, written));
        }
        Ok(Landed { rows: sent, ..Landed::default() })
    }

    fn finish(&mut self, landed: Landed, _control: &Control<'_>) -> Result<Landed, CopyError> {
        let address = self.address.clone();
        let (session, target) = self.parts()?;
        if target.is_new || target.is_emptied {
            let rows = session.texts(&format!("SELECT count(*) FROM {}", target.name))?;
            let count = rows.into_iter().next().and_then(|row| row.into_iter().next()?);
            let count: u64 = count.and_then(|text| text.parse().ok()).unwrap_or(0);
            if count != landed.rows {
                return Err(miscounted(&address, landed.rows, count));
            }
        }
        session.commit()?;
        Ok(landed)
    }

    fn abort(&mut self, _failure: &CopyError) -> Vec<String> {
        let (Some(mut session), Some(target)) = (self.session.take(), self.target.take()) else {
            return Vec::new();
        };
        if target.is_atomic {
            // A connection that is gone has been rolled back by the database.
            session.rollback();
            return Vec::new();
        }
        let what = if target.is_new { "the new table" } else { "rows" };
        vec![format!("{}: {what} may be left there: the driver has no transactions", self.address)]
    }
}

/// Reads the source, and hands its rows to the driver in the table's types. How many there were.
fn send(
    rows: RowStream,
    target: &Target,
    control: &Control<'_>,
    name: &str,
    sender: &crossbeam_channel::Sender<Result<RecordBatch, ArrowError>>,
) -> Result<u64, CopyError> {
    let mut sent = 0;
    for batch in rows.batches {
        control.check()?;
        let mut batch = batch.map_err(|error| CopyError::endpoint(name, error))?;
        control.take_unread(&mut batch)?;
        if batch.rows() == 0 {
            continue;
        }
        let failed = |why: String| CopyError::endpoint(name, why);
        let chosen = batch.batch().project(&target.columns).map_err(|error| failed(error.to_string()))?;
        let converted = fitting::converted(&chosen, &target.schema, sent).map_err(failed)?;
        let rows = converted.num_rows() as u64;
        if sender.send(Ok(converted)).is_err() {
            // The driver has ended, and says why.
            break;
        }
        sent += rows;
        control.watch.progress(sent, 0);
    }
    Ok(sent)
}

fn miscounted(address: &Address, read: u64, written: u64) -> CopyError {
    CopyError::Count {
        destination: address.to_string(),
        read,
        written,
        kept: "nothing of it is kept where the driver has transactions",
    }
}

/// The driver's end of the queue.
struct WaitingRows {
    schema: SchemaRef,
    receiver: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for WaitingRows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

impl RecordBatchReader for WaitingRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
