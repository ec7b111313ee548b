//! Views that a statement changes through: the common tables that stand for them, and the check of WITH CHECK OPTION.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use databases::catalogue::TableDefinition;
use query::{Binder, BoundTable, MemoryTable, OutputColumn, exact_schema};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ModuleBody;
use tsql::expression::Expr;
use tsql::hints::TableHints;
use tsql::query::{CommonTable, Query, QueryBody, Select, SelectItem, TableSource};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::dml::reference::tables;
use crate::statements::dml::target::{ROW, TARGET, WithTables, output_columns};
use crate::statements::dml::through::{Changes, through};
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::resolve;

/// The beginning of the names of common tables that stand for views; no name of the user's has a blank in front.
pub(super) const VIEW: &str = " view";

/// A view as a common table.
pub(super) struct ViewTable {
    /// The common table, which has a name of its own.
    pub table: CommonTable,
    /// The name of the view, for messages.
    pub shown: String,
    /// True if the view is made WITH CHECK OPTION.
    pub checks: bool,
}

/// Returns the common table that stands for a view beside `others` already there; `None` if the name is no view's.
pub(super) fn view_table(
    session: &Session,
    name: &ObjectName,
    others: usize,
) -> Result<Option<ViewTable>, SqlError> {
    if name.is_variable() || session.work.find(name, &session.database)?.is_some() {
        return Ok(None);
    }
    let real = resolve::resolved(session, name)?;
    let Some(module) = resolve::view_module(session, &real)? else { return Ok(None) };
    let Some(ModuleBody::View { columns, query, check }) = module.body()? else { return Ok(None) };
    let own = &module.definition;
    let mut query = Query { schema: Some(own.schema.clone()), ..query.as_ref().clone() };
    settle(session, &mut query, &own.schema)?;
    let columns = match own.renamed_columns {
        true => Some(own.columns.iter().map(|column| column.name.clone()).collect()),
        false => columns.clone(),
    };
    let table = CommonTable { name: format!("{VIEW} {others}"), columns, query };
    Ok(Some(ViewTable { table, shown: own.name.clone(), checks: *check }))
}

/// Adds the schema of a view to the names of its FROM that have none, where something of that name stands there.
fn settle(session: &Session, query: &mut Query, schema: &str) -> Result<(), SqlError> {
    let QueryBody::Select(select) = &mut query.body else { return Ok(()) };
    let mut sources = Vec::new();
    select.from.iter_mut().for_each(|source| tables(source, &mut sources));
    for source in sources {
        let TableSource::Table { name, .. } = source else { continue };
        if name.schema.is_some() || name.is_temporary() {
            continue;
        }
        let near = ObjectName { schema: Some(schema.to_owned()), ..name.clone() };
        if session.work.find(&near, &session.database)?.is_some()
            || session.work.find_module(&near, &session.database)?.is_some()
        {
            *name = near;
        }
    }
    Ok(())
}

/// Refuses WITH CHECK OPTION for a view through which no row can be changed. Errors: 4510.
pub(crate) fn check_updatable(
    session: &Session,
    name: &ObjectName,
    columns: Option<&[String]>,
    query: &Query,
) -> Result<(), SqlError> {
    let schema = name.schema.clone().unwrap_or_else(|| "dbo".to_owned());
    let mut query = Query { schema: Some(schema.clone()), ..query.clone() };
    settle(session, &mut query, &schema)?;
    let table = CommonTable { name: VIEW.to_owned(), columns: columns.map(<[String]>::to_vec), query };
    let mut with = vec![table];
    if let Ok(found) = through(session, &mut with, 0, &Changes::Columns(Vec::new()), &name.name)
        && session.work.find(&resolve::resolved(session, &found.table)?, &session.database)?.is_some()
    {
        return Ok(());
    }
    let text = "Could not perform CREATE VIEW because WITH CHECK OPTION was specified and the view is not updatable.";
    Err(SqlError::new(4510, 16, 1, text))
}

/// What WITH CHECK OPTION asks: new rows of a table are rows of a view, too.
#[derive(Debug, Clone)]
pub(crate) struct ViewCheck {
    /// The common tables of the statement, with numbered rows in the place of the table.
    with: Vec<CommonTable>,
    /// The common table that stands for the view.
    place: String,
    /// The name of the view that the statement names.
    shown: String,
}

impl ViewCheck {
    /// Makes the check of the outermost view WITH CHECK OPTION, which asks what the views below it ask, too.
    pub fn new(with: &[CommonTable], place: String, shown: &str) -> ViewCheck {
        ViewCheck { with: with.to_vec(), place, shown: shown.to_owned() }
    }

    /// Refuses views with TOP or OFFSET, of which no row can be checked by itself. Errors: 4427.
    fn check_limits(&self) -> Result<(), SqlError> {
        let last = self.with.iter().position(|table| table.name == self.place).unwrap_or_default();
        let limits = |query: &Query| {
            query.offset.is_some() || matches!(&query.body, QueryBody::Select(select) if select.top.is_some())
        };
        let mut views = self.with.iter().take(last + 1).filter(|table| table.name.starts_with(VIEW));
        if views.any(|table| limits(&table.query)) {
            let text = format!(
                "Cannot update the view \"{}\" because it or a view it references was created with WITH CHECK OPTION and its definition contains a TOP or OFFSET clause.",
                self.shown
            );
            return Err(SqlError::new(4427, 16, 1, text));
        }
        Ok(())
    }

    /// Checks rows that a statement has written. Errors: 550 for one that the view does not show, 4427 for a view that cannot say.
    pub async fn check<'b>(
        &self,
        session: &Session,
        definition: &TableDefinition,
        batches: impl IntoIterator<Item = &'b RecordBatch>,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        self.check_limits()?;
        let mut rows = 0;
        let mut numbered = Vec::new();
        let mut columns = output_columns(definition);
        columns.push(OutputColumn::expression(ROW, SqlType::BigInt, false));
        let schema = exact_schema(&columns);
        for batch in batches {
            let first = rows as i64;
            rows += batch.num_rows();
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(first..rows as i64));
            let arrays = batch.columns().iter().cloned().chain([numbers]).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
            numbered.push(batch.map_err(|error| SqlError::internal(error))?);
        }
        if rows == 0 {
            return Ok(());
        }
        let provider =
            MemoryTable::provider(schema.as_ref(), numbered).map_err(|error| SqlError::internal(error))?;
        let row = Expr::Column(vec![ROW.to_owned()]);
        let place = TableSource::Table {
            name: ObjectName::bare(self.place.clone()),
            alias: None,
            hints: TableHints::default(),
        };
        let select = Select {
            distinct: true,
            items: vec![SelectItem::Value { expr: row, alias: None }],
            from: vec![place],
            ..Select::default()
        };
        let query = Query { with: self.with.clone(), ..Query::select(select) };
        let bound = {
            let environment = WithTables {
                inner: SessionEnvironment::new(session, frame),
                tables: vec![(TARGET, BoundTable { columns, provider })],
            };
            Binder::new(&environment).query(&query, None)?
        };
        let instance = Arc::clone(&session.instance);
        let shown = instance.engine().collect(bound, &session.cancellation).await?;
        if shown.iter().map(RecordBatch::num_rows).sum::<usize>() == rows {
            return Ok(());
        }
        let text = "The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.";
        Err(SqlError::new(550, 16, 1, text))
    }
}
