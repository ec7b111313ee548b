//! The table that UPDATE, DELETE and MERGE change, as part of their FROM, with numbered rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use databases::catalogue::{TableDefinition, same_name};
use databases::storage::{Reads, RowLocator};
use databases::store_error::store_error;
use query::{
    BoundTable, Datum, Environment, InlineFunction, Located, OutputColumn, Path, ResultStream,
    ScalarFunction, StoredTable, TableFunction, ViewQuery, exact_schema,
};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::Output;
use tsql::bulk_file::BulkRowset;
use tsql::expression::Expr;
use tsql::hints::{TableHint, TableHints};
use tsql::query::{CommonTable, Query, Select, SelectItem, TableSource, Top};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::reads;
use crate::session::work::{ChangeScan, OpenTable};
use crate::statements::dml::destination;
use crate::statements::dml::reference;
use crate::statements::dml::through::{Changes, ColumnNames, named, renamed_output, through};
use crate::statements::dml::tries;
use crate::statements::dml::view::{VIEW, ViewCheck, view_table};
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::resolve;

/// The name of the row number that a target table gets while rows are chosen. No column has a blank in front.
pub(crate) const ROW: &str = " row";
/// The name under which the target's rows are put before the binder.
pub(super) const TARGET: &str = " target";

/// A session's tables, and some more.
pub(crate) struct WithTables<'a> {
    pub inner: SessionEnvironment<'a>,
    pub tables: Vec<(&'static str, BoundTable)>,
}

impl Environment for WithTables<'_> {
    fn table(&self, name: &ObjectName, hints: TableHints) -> Result<BoundTable, SqlError> {
        match self.tables.iter().find(|(own, _)| name.schema.is_none() && same_name(own, &name.name)) {
            Some((_, table)) => Ok(table.clone()),
            None => self.inner.table(name, hints),
        }
    }

    fn bulk_rowset(&self, rowset: &BulkRowset) -> Result<BoundTable, SqlError> {
        self.inner.bulk_rowset(rowset)
    }

    fn table_function(&self, name: &ObjectName) -> Result<TableFunction, SqlError> {
        self.inner.table_function(name)
    }

    fn inline_function(&self, name: &ObjectName) -> Result<Option<InlineFunction>, SqlError> {
        self.inner.inline_function(name)
    }

    fn stands(&self, name: &ObjectName) -> Result<bool, SqlError> {
        self.inner.stands(name)
    }

    fn view_query(&self, name: &ObjectName) -> Result<Option<ViewQuery>, SqlError> {
        self.inner.view_query(name)
    }

    fn scalar_function(
        &self,
        database: Option<&str>,
        schema: &str,
        name: &str,
    ) -> Result<ScalarFunction, SqlError> {
        self.inner.scalar_function(database, schema, name)
    }

    fn next_value(&self, name: &ObjectName) -> Result<ScalarFunction, SqlError> {
        self.inner.next_value(name)
    }

    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError> {
        self.inner.variable(name)
    }

    fn facts(&self) -> Result<Arc<dyn query::Facts>, SqlError> {
        self.inner.facts()
    }
}

/// A target and the sources around it.
pub(crate) struct Target {
    /// The table.
    pub table: OpenTable,
    /// WITH, in which a common table may stand for the table.
    pub with: Vec<CommonTable>,
    /// FROM, with the numbered rows in the place of the table.
    pub from: Vec<TableSource>,
    /// The name of the target in FROM.
    pub alias: String,
    /// The hints of the target, where the statement and its FROM give them.
    pub hints: TableHints,
    /// The names of the columns; `None` if columns have their own names.
    names: Option<ColumnNames>,
    /// What a view WITH CHECK OPTION asks of the rows written.
    pub check: Option<ViewCheck>,
}

impl Target {
    /// Returns the table's column that a name of the statement means.
    pub fn column<'n>(&'n self, name: &'n str) -> &'n str {
        named(self.names.as_deref().unwrap_or_default(), name)
    }

    /// The statement's OUTPUT by the table's names of columns; None if they are the same.
    pub fn renamed_output(&self, clause: Option<&Output>) -> Option<Output> {
        Some(renamed_output(clause?, self.names.as_deref()?))
    }

    /// Returns the way in which the rows are read.
    fn reads(&self) -> Reads {
        if self.hints.has(TableHint::ReadPast) { Reads::Past } else { Reads::Statement }
    }

    /// Refers to the row number of the target.
    pub fn row(&self) -> Expr {
        Expr::Column(vec![self.alias.clone(), ROW.to_string()])
    }
}

/// The rows of a target that a statement may change.
pub(crate) struct Candidates {
    /// The rows.
    pub rows: RecordBatch,
    /// The locator of each candidate.
    pub locators: Vec<RowLocator>,
}

/// The chosen rows.
pub(crate) struct Chosen {
    /// For each match the number of the target's row among the candidates, if it has one.
    pub rows: Vec<Option<usize>>,
    /// The further columns, one entry for each match.
    pub columns: Vec<OutputColumn>,
    /// The values of the chosen rows.
    pub values: RecordBatch,
}

impl Chosen {
    /// Returns the values of one further column, with their type.
    pub fn column(&self, index: usize) -> Result<(ArrayRef, SqlType), SqlError> {
        match (self.values.columns().get(index), self.columns.get(index)) {
            (Some(array), Some(column)) => Ok((Arc::clone(array), column.sql_type.clone())),
            _ => Err(SqlError::internal("a chosen column that is not there")),
        }
    }
}

/// Finds the target of a statement in its FROM, by alias or name, or beside it; behind common tables and views too.
///
/// Errors: 208, 1087, 8154, and 4403, 4405 or 4406 for a view or common table that cannot be changed through.
pub(crate) fn target_of(
    session: &Session,
    target: &ObjectName,
    from: &[TableSource],
    with: &[CommonTable],
    hints: TableHints,
    changes: &Changes,
) -> Result<Target, SqlError> {
    let mut from = from.to_vec();
    let mut with = with.to_vec();
    let mut real = target.clone();
    let mut alias = target.name.clone();
    let (mut found, mut hints) = (false, hints);
    let mut shown = target.name.clone();
    if target.schema.is_none() {
        from.iter_mut().for_each(|source| name_derived(source, target, &mut with));
    }
    if let Some(TableSource::Table { name, alias: own, hints: more }) =
        reference::reference_in(session, target, &mut from, &with)?
    {
        alias = own.clone().unwrap_or_else(|| name.name.clone());
        real = std::mem::replace(name, ObjectName::bare(TARGET));
        *own = Some(alias.clone());
        hints = hints.with(*more);
        found = true;
    }
    let common = real.schema.is_none() && with.iter().any(|table| same_name(&table.name, &real.name));
    let mut check = None;
    if !common && let Some(view) = view_table(session, &real, with.len())? {
        // A view is changed through as a common table of its query is.
        shown = view.shown;
        real = ObjectName::bare(view.table.name.clone());
        check = view.checks.then(|| view.table.name.clone());
        with.insert(0, view.table);
    } else if !common && session.work.find(&real, &session.database)?.is_none() {
        real = resolve::resolved(session, &real)?;
    }
    let mut names = None;
    let mut place = TARGET.to_string();
    if real.schema.is_none()
        && let Some(position) = with.iter().position(|table| same_name(&table.name, &real.name))
    {
        place = real.name.clone();
        if !place.starts_with(VIEW) && place != DERIVED {
            shown.clone_from(&place);
        }
        let found = through(session, &mut with, position, changes, &shown)?;
        hints = hints.with(found.hints);
        (real, names) = (found.table, Some(found.names));
        check = check.or(found.check);
    }
    let check = check.map(|place| ViewCheck::new(&with, place, &shown));
    if found {
        for source in &mut from {
            rename_target(source, &place);
        }
    } else {
        let own = TableSource::Table {
            name: ObjectName::bare(place),
            alias: Some(alias.clone()),
            hints: TableHints::default(),
        };
        from.insert(0, own);
    }
    hints.check_target()?;
    Ok(Target { table: destination::writable(session, &real)?, with, from, alias, hints, names, check })
}

/// Finds the matching rows of the target, which must be locked exclusively, and the values of `items` for each
/// match. If no caller `reads` the rows themselves, they may lack columns.
pub(crate) async fn choose_rows(
    session: &mut Session,
    target: &Target,
    select: Select,
    reads: bool,
    frame: &Frame,
) -> Result<(Chosen, Candidates), SqlError> {
    let located = Located::default();
    let table = numbered(session, &target.table, &located, target.reads());
    let mut chosen = choose_among(session, target, table, select, frame).await?;
    // Rows that were looked at are many, those that match are what counts from here on.
    let mut numbers: Vec<usize> = chosen.rows.iter().copied().flatten().collect();
    numbers.sort_unstable();
    numbers.dedup();
    for row in chosen.rows.iter_mut().flatten() {
        *row = numbers.binary_search(row).map_err(|_| SqlError::internal("a row without a number"))?;
    }
    let located = std::mem::take(&mut *located.lock());
    let mut wanted = numbers.iter().copied().peekable();
    let locators: Vec<RowLocator> = located
        .into_iter()
        .enumerate()
        .filter_map(|(number, locator)| wanted.next_if_eq(&number).map(|_| locator))
        .collect();
    let rows = match reads {
        true => reads::rows_at(&session.work, &target.table, &locators)?,
        false => {
            let options = RecordBatchOptions::new().with_row_count(Some(locators.len()));
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
                .map_err(|error| SqlError::internal(error))?
        }
    };
    Ok((chosen, Candidates { rows, locators }))
}

/// Numbers the rows of a table; their locators are noted as they are read.
fn numbered(session: &Session, table: &OpenTable, located: &Located<RowLocator>, reads: Reads) -> BoundTable {
    let mut columns = output_columns(&table.definition);
    columns.push(OutputColumn::expression(ROW, SqlType::BigInt, false));
    let schema = exact_schema(&columns);
    let open = reads::located_opener(&session.work, table, reads);
    let keyed: Arc<dyn query::KeyedTable> = Arc::<TableDefinition>::clone(&table.definition);
    let provider = StoredTable::located(schema.as_ref(), keyed, located, move |projection, range| {
        Ok(Box::new(ChangeScan::from(open(projection, range).map_err(store_error)?)))
    });
    BoundTable { columns, provider: Arc::new(provider) }
}

async fn choose_among(
    session: &mut Session,
    target: &Target,
    table: BoundTable,
    select: Select,
    frame: &Frame,
) -> Result<Chosen, SqlError> {
    let evaluate::Chosen { mut columns, path, bound } = {
        let environment = SessionEnvironment::new(session, frame);
        let environment = WithTables { inner: environment, tables: vec![(TARGET, table)] };
        let mut items = vec![SelectItem::Value { expr: target.row(), alias: None }];
        items.extend(select.items);
        let select = Select { items, ..select };
        let query = Query { with: target.with.clone(), ..Query::select(select) };
        evaluate::choose(&query, &environment)?
    };
    let schema = exact_schema(&columns);
    let instance = Arc::clone(&session.instance);
    let stream = match path {
        Path::Simple(query) => ResultStream::simple(Arc::clone(&schema), query, &session.cancellation),
        Path::Plain(..) | Path::Full => {
            let bound = bound.ok_or_else(|| SqlError::internal("a query without its plan"))?;
            tries::leave(session).await;
            instance.engine().start_full(bound, &session.cancellation).await?
        }
    };
    let batches = stream.collect().await?;
    let mut values =
        arrow::compute::concat_batches(&schema, &batches).map_err(|error| SqlError::internal(error))?;
    if columns.is_empty() {
        return Err(SqlError::internal("rows without numbers"));
    }
    columns.remove(0);
    let numbers = values.remove_column(0);
    let rows = (0..numbers.len())
        .map(|row| {
            let number = Datum::read(numbers.as_ref(), &SqlType::BigInt, row)?.as_int();
            Ok(number.and_then(|number| usize::try_from(number).ok()))
        })
        .collect::<Result<Vec<_>, SqlError>>()?;
    Ok(Chosen { rows, columns, values })
}

/// Returns the number of rows that TOP lets through. Errors: 1060, 127.
pub(crate) async fn row_limit(
    session: &mut Session,
    top: Option<&Top>,
    rows: usize,
    frame: &Frame,
) -> Result<usize, SqlError> {
    let Some(top) = top else { return Ok(rows) };
    let (value, sql_type) = evaluate::value(session, &top.count, frame).await?;
    if top.percent {
        let percent = query::convert::convert(value, &sql_type, &SqlType::Float, 0)?;
        let Datum::Float(percent) = percent else { return Ok(0) };
        if !(0.0..=100.0).contains(&percent) {
            return Err(SqlError::new(1031, 15, 1, "Percent values must be between 0 and 100."));
        }
        return Ok((rows as f64 * percent / 100.0).ceil() as usize);
    }
    let value = query::convert::convert(value, &sql_type, &SqlType::BigInt, 0)?;
    match value.as_int() {
        Some(count) => usize::try_from(count)
            .map(|count| count.min(rows))
            .map_err(|_| SqlError::new(127, 15, 1, "A TOP N or FETCH rowcount value may not be negative.")),
        None => Err(SqlError::new(
            1060,
            15,
            1,
            "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.",
        )),
    }
}

/// The common table that stands for a derived table of FROM.
pub(super) const DERIVED: &str = " derived table";

/// Puts a derived table of the target's name among the common tables: its table is changed through it.
fn name_derived(source: &mut TableSource, target: &ObjectName, with: &mut Vec<CommonTable>) {
    match source {
        TableSource::Derived { query, alias, columns } if same_name(alias, &target.name) => {
            let (query, columns) = (query.as_ref().clone(), columns.clone());
            with.push(CommonTable { name: DERIVED.to_string(), columns, query });
            *source = TableSource::Table {
                name: ObjectName::bare(DERIVED),
                alias: Some(alias.clone()),
                hints: TableHints::default(),
            };
        }
        TableSource::Join { left, right, .. } => {
            name_derived(left, target, with);
            name_derived(right, target, with);
        }
        _ => {}
    }
}

/// Gives the place of the numbered rows another name.
pub(super) fn rename_target(source: &mut TableSource, place: &str) {
    match source {
        TableSource::Table { name, .. } if name.name == TARGET => name.name = place.to_string(),
        TableSource::Join { left, right, .. } => {
            rename_target(left, place);
            rename_target(right, place);
        }
        _ => {}
    }
}

/// Returns a table's columns as queries see them.
pub(crate) fn output_columns(definition: &TableDefinition) -> Vec<OutputColumn> {
    definition
        .columns
        .iter()
        .map(|column| OutputColumn {
            collation: column.collation(),
            source: Some((definition.qualified_name(), column.name.clone())),
            ..OutputColumn::expression(column.name.clone(), column.sql_type.clone(), column.nullable)
        })
        .collect()
}
