//! Writes rows into a table: all of them, or none after an error.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array,
};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{filter, is_null, take};
use arrow::datatypes::{Field, Schema};
use query::datum::data_type;
use query::{BoundExpr, Datum, Typed};
use tds::SqlType;
use tsql::SqlError;
use tsql::errors;

use crate::catalogue::{Check, ColumnDefinition, Identity, UniqueKey};
use crate::instance::Instance;
use crate::instance::identities::furthest_identity;
use crate::storage::{LoadLogging, SideWriter, Transaction, WireRowCopier, WireRows};
use crate::store_error::store_error;
use crate::table::WritePlan;
use crate::table::column::to_column;
use crate::table::duplicates::IgnoredKeys;
use crate::table::intake::{Intake, LoadFacts, RowWork};
use crate::table::keys::SeenKeys;
use crate::table::plan::column_name;
use crate::table::reference::{PendingKeys, Reference};
use crate::table::wide_keys::WideKeys;
use crate::transactions::{OpenTable, SharedTransactions, TransactionAccess};
use crate::waiting::waiting;

/// Rows to be written: for each column of the table its values and their type, or nothing.
pub struct InputRows {
    /// Values and type of each column by its position in the table; None for a column that was not given.
    pub columns: Vec<Option<(ArrayRef, SqlType)>>,
    /// Number of rows.
    pub rows: usize,
}

impl InputRows {
    /// Puts arrays of the types `types` at the positions `targets` of a table of `width` columns; the others
    /// have nothing.
    pub fn placed(
        width: usize,
        targets: &[usize],
        arrays: &[ArrayRef],
        types: &[SqlType],
        rows: usize,
    ) -> InputRows {
        let mut columns: Vec<Option<(ArrayRef, SqlType)>> = (0..width).map(|_| None).collect();
        for ((position, array), sql_type) in targets.iter().zip(arrays).zip(types) {
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some((Arc::clone(array), sql_type.clone()));
            }
        }
        InputRows { columns, rows }
    }
}

/// Options for writing rows.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Name of the statement, `INSERT` or `UPDATE`, for messages about single values.
    pub statement: &'static str,
    /// The statement in constraint errors, where `MERGE` has its own name.
    pub conflict: &'static str,
    /// A NULL for a column with a default becomes the default (bulk loads without KEEP_NULLS).
    pub default_for_null: bool,
    /// CHECK constraints are enforced (always, but for bulk loads without CHECK_CONSTRAINTS).
    pub check_constraints: bool,
    /// The table is locked alone (INSERT … WITH (TABLOCK) … SELECT).
    pub table_lock: bool,
}

/// Writes to one table within one statement.
pub struct TableWriter {
    instance: Arc<Instance>,
    access: TransactionAccess,
    table: OpenTable,
    plan: WritePlan,
    options: WriteOptions,
    wide: WideKeys,
    /// Unique keys with IGNORE_DUP_KEY.
    ignored: Option<IgnoredKeys>,
    references: Vec<PendingKeys>,
    schema: Arc<Schema>,
    /// Writer that takes the rows; None: the transaction's own writer.
    side: Option<SideWriter>,
    /// The last identity value given out or kept.
    pub last_identity: Option<i64>,
    /// Rows written so far.
    pub rows: u64,
}

impl TableWriter {
    /// Creates a writer; the table is locked already. `fresh` says that the table's rows are about to be
    /// replaced, so they are ignored. `references` are the FOREIGN KEYs to enforce.
    pub fn new(
        instance: Arc<Instance>,
        transactions: SharedTransactions,
        table: OpenTable,
        plan: WritePlan,
        options: WriteOptions,
        fresh: bool,
        references: Vec<Reference>,
    ) -> Result<TableWriter, SqlError> {
        let access = TransactionAccess::new(transactions, table.place);
        // Rows that take the places of others are never left out.
        let enforced = |key: &UniqueKey| fresh || !key.ignores_duplicates;
        let mut ignored = plan.definition.unique_keys();
        ignored.retain(|key| !enforced(key));
        let ignored = match ignored.is_empty() {
            true => None,
            false => Some(IgnoredKeys::new(ignored, |keys| Self::read_keys(&access, &table, &plan, keys))?),
        };
        if options.table_lock || fresh {
            access.write(|transaction| {
                transaction.open(table.id)?.note_table_lock();
                Ok(())
            })?;
        }
        let wide = WideKeys::of(&plan.definition);
        let schema = plan.definition.arrow_schema();
        let references = references.into_iter().map(PendingKeys::new).collect();
        Ok(TableWriter {
            instance,
            access,
            table,
            plan,
            options,
            wide,
            ignored,
            references,
            schema,
            side: None,
            last_identity: None,
            rows: 0,
        })
    }

    /// Creates a writer for the same statement on another thread, which fills extents of its own. None for a
    /// table with unique keys, references, identities or CHECKs that read tables, whose rows must be checked
    /// together.
    pub fn beside(&self, side: SideWriter) -> Option<TableWriter> {
        let definition = &self.plan.definition;
        let checked_together =
            self.ignored.is_some() || !self.references.is_empty() || !self.plan.called_checks.is_empty();
        if checked_together || definition.identity().is_some() {
            return None;
        }
        Some(TableWriter {
            instance: Arc::clone(&self.instance),
            access: self.access.clone(),
            table: self.table.clone(),
            plan: self.plan.clone(),
            options: self.options.clone(),
            wide: WideKeys::of(definition),
            ignored: None,
            references: Vec::new(),
            schema: Arc::clone(&self.schema),
            side: Some(side),
            last_identity: None,
            rows: 0,
        })
    }

    fn read_keys(
        access: &TransactionAccess,
        table: &OpenTable,
        plan: &WritePlan,
        unique: Vec<crate::catalogue::UniqueKey>,
    ) -> Result<SeenKeys, SqlError> {
        let columns = SeenKeys::columns(&unique);
        let mut keys = SeenKeys::new(unique);
        for batch in access.scan(table.id, Some(columns.clone()))? {
            let batch = batch.map_err(store_error)?;
            keys.add(&plan.definition, batch.num_rows(), |position| {
                let index = columns.iter().position(|column| *column == position)?;
                batch.columns().get(index).map(Arc::clone)
            })?;
        }
        Ok(keys)
    }

    /// Converts, completes, checks and appends rows; returns them as stored.
    pub fn write(&mut self, input: InputRows) -> Result<RecordBatch, SqlError> {
        let batch = self.prepare(input)?;
        self.put(&batch)?;
        Ok(batch)
    }

    /// Appends rows that were [prepared](Self::prepare), and checks them where they are.
    pub fn put(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        self.append(batch)?;
        self.check_written(batch)
    }

    /// Returns true if a default or a computed column calls a function, which could read rows of the
    /// statement.
    pub fn completes_by_functions(&self) -> bool {
        self.plan.calls
    }

    /// Appends rows that are complete and checked.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let (id, definition) = (self.table.id, Arc::clone(&self.plan.definition));
        match &self.side {
            Some(side) => waiting(|| side.append(batch)).map_err(store_error)?,
            None => {
                self.access.write_keyed(&definition, |transaction| transaction.open(id)?.append(batch))?
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Decides how the rows of a load get into the table's pages.
    pub fn intake(&self, load: LoadFacts<'_>) -> Result<Intake, SqlError> {
        let work = RowWork {
            definition: &self.plan.definition,
            checks: self.options.check_constraints
                && !(self.plan.checks.is_empty() && self.plan.called_checks.is_empty()),
            looks_up: !self.references.is_empty(),
            leaves_out: self.ignored.is_some(),
            measures_keys: !self.wide.is_empty(),
            default_for_null: self.options.default_for_null,
        };
        let id = self.table.id;
        Intake::decide(load, work, |form| {
            self.access.write(|transaction| transaction.open(id)?.wire_row_copier(form))
        })
    }

    /// Copies the first wire rows of `bytes`; the row after them is to be [written](Self::write). None: `bytes` are too few for extents of
    /// their own.
    pub fn append_wire_rows(
        &mut self,
        copier: &WireRowCopier,
        bytes: &[u8],
    ) -> Result<Option<WireRows>, SqlError> {
        let id = self.table.id;
        let definition = &self.plan.definition;
        let append = |transaction: &mut Transaction| transaction.open(id)?.append_wire_rows(copier, bytes);
        let taken = self.access.write_keyed(definition, append)?;
        self.rows += taken.map_or(0, |taken| taken.rows);
        Ok(taken)
    }

    /// Does everything except the appending. The result lacks rows that IGNORE_DUP_KEY leaves out.
    pub fn complete(&mut self, input: InputRows) -> Result<RecordBatch, SqlError> {
        let batch = self.prepare(input)?;
        self.check_written(&batch)?;
        Ok(batch)
    }

    /// Checks rows that are in the table by the CHECK constraints that call functions: those see the table with the rows in it.
    ///
    /// # Errors
    /// Error 547 for a row that violates a constraint.
    pub fn check_written(&self, rows: &RecordBatch) -> Result<(), SqlError> {
        self.check(&self.plan.called_checks, rows.columns(), rows.num_rows())
    }

    /// Does everything except the appending, and the work to be [checked](Self::check_written) after that.
    pub fn prepare(&mut self, mut input: InputRows) -> Result<RecordBatch, SqlError> {
        let definition = Arc::clone(&self.plan.definition);
        let rows = input.rows;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(definition.columns.len());
        for (position, column) in definition.columns.iter().enumerate() {
            let given = input.columns.get_mut(position).and_then(Option::take);
            let array = match (given, column.identity, self.plan.defaults.get(position).cloned().flatten()) {
                _ if column.computed.is_some() => new_null_array(&data_type(&column.sql_type), rows),
                _ if column.sql_type == SqlType::RowVersion => self.row_versions(rows),
                (None, Some(identity), _) => self.identities(column, identity, rows)?,
                (None, None, Some(default)) => self.default(&default, rows)?,
                (None, None, None) => new_null_array(&data_type(&column.sql_type), rows),
                (Some((array, from)), identity, default) => {
                    let array = to_column(&array, &from, &definition, column)?;
                    if let Some(identity) = identity {
                        self.note_identities(&array, column, identity)?;
                    }
                    match default.filter(|_| self.options.default_for_null && array.null_count() > 0) {
                        Some(default) => {
                            let default = self.default(&default, rows)?;
                            let nulls: BooleanArray =
                                is_null(&array).map_err(|error| SqlError::internal(error))?;
                            zip(&nulls, &default, &array).map_err(|error| SqlError::internal(error))?
                        }
                        None => array,
                    }
                }
            };
            columns.push(array);
        }
        self.compute(&mut columns, rows)?;
        for (column, array) in definition.columns.iter().zip(&columns) {
            if !column.nullable && array.null_count() > 0 {
                return Err(errors::NULL_NOT_ALLOWED.with([
                    &column.name,
                    &definition.full_name(),
                    self.options.statement,
                ]));
            }
        }
        self.check(&self.plan.checks, &columns, rows)?;
        let rows = self.leave_out_duplicates(&mut columns, rows)?;
        self.wide.check(&definition, &columns, rows)?;
        for pending in &mut self.references {
            pending.note(&definition, |position| columns.get(position).map(Arc::clone))?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| SqlError::internal(error))
    }

    /// Leaves out rows whose keys are there already where IGNORE_DUP_KEY is on; returns how many stay.
    fn leave_out_duplicates(&mut self, columns: &mut [ArrayRef], rows: usize) -> Result<usize, SqlError> {
        let Some(ignored) = &mut self.ignored else { return Ok(rows) };
        let fresh = ignored.fresh(&self.plan.definition, &self.access, self.table.id, columns, rows)?;
        if fresh.true_count() == rows {
            return Ok(rows);
        }
        self.access.note_ignored();
        for column in columns {
            *column = filter(column, &fresh).map_err(|error| SqlError::internal(error))?;
        }
        Ok(fresh.true_count())
    }

    /// Notes that the rows to come are those of a bulk load.
    pub fn expect_load(&self) -> Result<(), SqlError> {
        self.access.write(|transaction| {
            transaction.open(self.table.id)?.expect_load();
            Ok(())
        })
    }

    /// Notes that the rows to come are in the order of the clustered key.
    pub fn expect_sorted(&self) -> Result<(), SqlError> {
        self.access.write(|transaction| {
            transaction.open(self.table.id)?.expect_sorted();
            Ok(())
        })
    }

    /// Counts what the calling thread has computed for the database, and waits if that is more than its share.
    pub fn charge(&self) -> Result<(), SqlError> {
        self.access.write(|transaction| transaction.open(self.table.id)?.charge())
    }

    /// Ends the writing. Puts the rows into trees that were waiting for all of them, then looks up the keys
    /// that they refer to.
    ///
    /// # Errors
    /// Errors 2627 and 2601 for a duplicate key, 547 for a key that is missing in another table.
    pub fn finish(&mut self) -> Result<(), SqlError> {
        self.access.write_keyed(&self.plan.definition, Transaction::settle)?;
        for pending in std::mem::take(&mut self.references) {
            pending.settle(self.options.conflict, &self.access)?;
        }
        Ok(())
    }

    /// Returns the logging of the written rows. It can be taken once.
    pub fn take_logging(&self) -> Result<Option<LoadLogging>, SqlError> {
        self.access.write(|transaction| Ok(transaction.take_logging(self.table.id)))
    }

    /// Sets the statement's name in messages.
    pub fn set_statement(&mut self, statement: &'static str) {
        self.options.statement = statement;
    }

    fn row_versions(&self, rows: usize) -> ArrayRef {
        let first = self.instance.new_row_versions(rows as u64);
        Arc::new(UInt64Array::from_iter_values((0..rows as u64).map(|row| first + row)))
    }

    fn identities(
        &mut self,
        column: &ColumnDefinition,
        identity: Identity,
        rows: usize,
    ) -> Result<ArrayRef, SqlError> {
        let object_id = self.plan.definition.object_id;
        let (access, table, plan) = (&self.access, &self.table, &self.plan);
        let first =
            self.instance.take_identities(object_id, identity.seed, identity.increment, rows, || {
                last_stored(access, table, plan, identity)
            })?;
        let values: Vec<i64> = (0..rows as i64).map(|row| first + row * identity.increment).collect();
        if let Some(last) = values.last() {
            self.last_identity = Some(*last);
        }
        let wide: ArrayRef = Arc::new(Int64Array::from(values));
        to_column(&wide, &SqlType::BigInt, &self.plan.definition, column).map_err(|_| {
            SqlError::new(
                8115,
                16,
                1,
                format!(
                    "Arithmetic overflow error converting IDENTITY to data type {}.",
                    query::convert::type_name(&column.sql_type)
                ),
            )
        })
    }

    fn note_identities(
        &mut self,
        array: &ArrayRef,
        column: &ColumnDefinition,
        identity: Identity,
    ) -> Result<(), SqlError> {
        let object_id = self.plan.definition.object_id;
        if self.instance.last_identity(object_id).is_none()
            && let Some(last) = last_stored(&self.access, &self.table, &self.plan, identity)?
        {
            self.instance.note_identity(object_id, identity.increment, last);
        }
        for row in 0..array.len() {
            let value = match Datum::read(array.as_ref(), &column.sql_type, row)? {
                Datum::Int(value) => value,
                Datum::Decimal(units) => i64::try_from(units).unwrap_or(i64::MAX),
                _ => continue,
            };
            self.instance.note_identity(object_id, identity.increment, value);
            self.last_identity = Some(value);
        }
        Ok(())
    }

    /// Returns the default of a column (by position), if it is a constant.
    pub fn constant_default(&self, position: usize) -> Option<Datum> {
        self.plan.defaults.get(position)?.as_ref()?.constant.clone()
    }

    fn default(&self, default: &Typed, rows: usize) -> Result<ArrayRef, SqlError> {
        if let Some(value) = &default.constant {
            let one = Datum::array(std::slice::from_ref(value), &default.sql_type);
            return take(&one, &UInt64Array::from(vec![0_u64; rows]), None)
                .map_err(|error| SqlError::internal(error));
        }
        self.instance.engine().evaluate_rows(&default.expr, &no_columns(rows)?)
    }

    fn compute(&self, columns: &mut [ArrayRef], rows: usize) -> Result<(), SqlError> {
        if self.plan.computed.iter().all(Option::is_none) {
            return Ok(());
        }
        for (position, computed) in self.plan.computed.iter().enumerate() {
            let Some(computed) = computed else { continue };
            let array = self.instance.engine().evaluate_rows(&computed.expr, &named(columns, rows)?)?;
            if let Some(column) = columns.get_mut(position) {
                *column = array;
            }
        }
        Ok(())
    }

    fn check(
        &self,
        checks: &[(Check, BoundExpr)],
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<(), SqlError> {
        if !self.options.check_constraints || checks.is_empty() {
            return Ok(());
        }
        let batch = named(columns, rows)?;
        for (check, condition) in checks {
            let result = self.instance.engine().evaluate_rows(condition, &batch)?;
            // A condition that is unknown, because of a NULL, counts as satisfied.
            let broken = (0..rows)
                .any(|row| matches!(Datum::read(result.as_ref(), &SqlType::Bit, row), Ok(Datum::Bit(false))));
            if broken {
                let definition = &self.plan.definition;
                return Err(SqlError::constraint_conflict(
                    self.options.conflict,
                    "CHECK",
                    &check.name,
                    &definition.database,
                    &definition.qualified_name(),
                    check.column.as_deref(),
                ));
            }
        }
        Ok(())
    }
}

fn no_columns(rows: usize) -> Result<RecordBatch, SqlError> {
    named(&[], rows)
}

/// Gives the columns the names that bound expressions use.
fn named(columns: &[ArrayRef], rows: usize) -> Result<RecordBatch, SqlError> {
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(position, array)| Field::new(column_name(position), array.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns.to_vec(), &options)
        .map_err(|error| SqlError::internal(error))
}

/// Finds the last identity value of a table by reading it: once for a table and a run of the server.
fn last_stored(
    access: &TransactionAccess,
    table: &OpenTable,
    plan: &WritePlan,
    identity: Identity,
) -> Result<Option<i64>, SqlError> {
    let Some((position, _)) = plan.definition.identity() else { return Ok(None) };
    let scan = access.scan(table.id, Some(vec![position]))?;
    Ok(identity.furthest(furthest_identity(scan, &plan.definition)?))
}
