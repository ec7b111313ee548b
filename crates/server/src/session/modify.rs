//! UPDATE and DELETE: the table is rewritten without, or with other, rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{filter_record_batch, interleave, not, take_record_batch};
use store::LockMode;
use tds::SqlType;

use super::Session;
use super::environment::SessionEnvironment;
use super::insert::Shown;
use super::interpreter::Frame;
use super::output::Output;
use super::response::command;
use super::work::{OpenTable, store_error};
use crate::catalogue::{TableDefinition, same_name};
use crate::engine::{Binder, BoundTable, Datum, Environment, Facts, MemoryTable, OutputColumn};
use crate::sql_error::SqlError;
use crate::table::InputRows;
use crate::tsql::ast::{Delete, ObjectName, Update};
use crate::tsql::expression::Expr;
use crate::tsql::query::{Query, QueryBody, Select, SelectItem, TableSource};

/// The name of the row number that a target table gets while rows are chosen. No column has a blank in front.
const ROW: &str = " row";

/// A session's tables, and some more.
pub(super) struct WithTables<'a> {
    pub inner: SessionEnvironment<'a>,
    pub tables: Vec<(&'static str, BoundTable)>,
}

impl Environment for WithTables<'_> {
    fn table(&self, name: &ObjectName) -> Result<BoundTable, SqlError> {
        match self.tables.iter().find(|(own, _)| name.schema.is_none() && same_name(own, &name.name)) {
            Some((_, table)) => Ok(table.clone()),
            None => self.inner.table(name),
        }
    }

    fn table_function(&self, name: &ObjectName, arguments: &[Datum]) -> Result<BoundTable, SqlError> {
        self.inner.table_function(name, arguments)
    }

    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError> {
        self.inner.variable(name)
    }

    fn facts(&self) -> Arc<Facts> {
        self.inner.facts()
    }
}

/// The name under which the target's rows are put before the binder.
const TARGET: &str = " target";

impl Session {
    /// Runs a DELETE.
    pub(super) async fn delete(
        &mut self,
        delete: &Delete,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        self.begin_implicitly(output).await;
        let (table, from, alias) = self.target(&delete.target, &delete.from)?;
        let kind = frame.done_kind();
        if self.settings.format_only {
            output.done(kind, command::DELETE, None).await;
            return Ok(());
        }
        let mark = self.work.start_statement();
        let result = self.delete_rows(delete, table, from, &alias, frame).await;
        self.work.end_statement(&mark, result.is_ok())?;
        let (rows, shown) = result?;
        self.finish_change(rows, shown, command::DELETE, frame, output).await;
        Ok(())
    }

    async fn delete_rows(
        &mut self,
        delete: &Delete,
        table: OpenTable,
        from: Vec<TableSource>,
        alias: &str,
        frame: &Frame,
    ) -> Result<(u64, Option<Shown>), SqlError> {
        self.work.lock(&table, LockMode::Exclusive)?;
        let whole = self.contents(&table)?;
        let items = Vec::new();
        let (chosen, _) =
            self.choose(&table, &whole, from, alias, delete.filter.as_ref(), items, frame).await?;
        let mut keep = vec![true; whole.num_rows()];
        let mut rows = 0;
        for row in &chosen {
            if let Some(keep) = keep.get_mut(*row as usize)
                && *keep
            {
                *keep = false;
                rows += 1;
            }
        }
        if rows == 0 {
            let shown = match &delete.output {
                Some(clause) => Some(
                    self.output_rows(clause, &table.definition, None, Some(vec![whole.slice(0, 0)]), frame)
                        .await?,
                ),
                None => None,
            };
            return Ok((0, shown));
        }
        let mask = BooleanArray::from(keep);
        let kept = filter_record_batch(&whole, &mask).map_err(SqlError::internal)?;
        let shown = match &delete.output {
            Some(clause) => {
                let gone = not(&mask)
                    .and_then(|mask| filter_record_batch(&whole, &mask))
                    .map_err(SqlError::internal)?;
                Some(self.output_rows(clause, &table.definition, None, Some(vec![gone]), frame).await?)
            }
            None => None,
        };
        self.work.forget_keys(table.definition.object_id);
        self.work.write(table.place, |transaction| transaction.replace(table.id, [kept]).map(|_| ()))?;
        Ok((rows, shown))
    }

    /// Runs an UPDATE.
    pub(super) async fn update(
        &mut self,
        update: &Update,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        self.begin_implicitly(output).await;
        let (table, from, alias) = self.target(&update.target, &update.from)?;
        let kind = frame.done_kind();
        if self.settings.format_only {
            output.done(kind, command::UPDATE, None).await;
            return Ok(());
        }
        let mark = self.work.start_statement();
        let result = self.update_rows(update, table, from, &alias, frame).await;
        self.work.end_statement(&mark, result.is_ok())?;
        let (rows, shown) = result?;
        self.finish_change(rows, shown, command::UPDATE, frame, output).await;
        Ok(())
    }

    async fn update_rows(
        &mut self,
        update: &Update,
        table: OpenTable,
        from: Vec<TableSource>,
        alias: &str,
        frame: &Frame,
    ) -> Result<(u64, Option<Shown>), SqlError> {
        let definition = Arc::clone(&table.definition);
        let positions = assigned(update, &definition)?;
        self.work.lock(&table, LockMode::Exclusive)?;
        let whole = self.contents(&table)?;
        let mut items = Vec::new();
        for ((_, value), position) in update.assignments.iter().zip(&positions) {
            let expr = match value {
                Some(value) => value.clone(),
                None => default_of(&definition, *position)?,
            };
            items.push(SelectItem::Value { expr, alias: None });
        }
        let (chosen, values) =
            self.choose(&table, &whole, from, alias, update.filter.as_ref(), items, frame).await?;
        // Several matches of a row: the first one counts.
        let mut source: Vec<Option<usize>> = vec![None; whole.num_rows()];
        for (index, row) in chosen.iter().enumerate() {
            if let Some(slot) = source.get_mut(*row as usize)
                && slot.is_none()
            {
                *slot = Some(index);
            }
        }
        let changed: Vec<u64> = (0..source.len())
            .filter(|row| source.get(*row).is_some_and(Option::is_some))
            .map(|row| row as u64)
            .collect();
        let rows = changed.len() as u64;
        if rows == 0 {
            return Ok((0, None));
        }
        let picks = UInt64Array::from_iter_values(source.iter().flatten().map(|index| *index as u64));
        let changed = UInt64Array::from(changed);
        let old = take_record_batch(&whole, &changed).map_err(SqlError::internal)?;
        let mut columns: Vec<Option<(ArrayRef, SqlType)>> = definition
            .columns
            .iter()
            .zip(old.columns())
            .map(|(column, array)| match &column.sql_type {
                SqlType::RowVersion => None,
                _ if column.computed.is_some() => None,
                sql_type => Some((Arc::clone(array), sql_type.clone())),
            })
            .collect();
        for (position, (array, sql_type)) in positions.iter().zip(values) {
            let picked = arrow::compute::take(&array, &picks, None).map_err(SqlError::internal)?;
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some((picked, sql_type));
            }
        }
        // All keys are counted anew: the rows that stay, then the changed ones.
        self.work.forget_keys(definition.object_id);
        let mut writer = self.writer(&table, frame, "UPDATE", true)?;
        let stays = BooleanArray::from(source.iter().map(Option::is_none).collect::<Vec<bool>>());
        let staying = filter_record_batch(&whole, &stays).map_err(SqlError::internal)?;
        writer.count_in(&staying)?;
        let new = writer.complete(InputRows { columns, rows: changed.len() })?;
        let merged = merge(&whole, &new, &source)?;
        self.work.write(table.place, |transaction| transaction.replace(table.id, [merged]).map(|_| ()))?;
        self.work.keep_keys(writer.into_keys());
        let shown = match &update.output {
            Some(clause) => {
                let uses = |name: &str| clause.items.iter().any(|item| mentions(item, name));
                let (inserted, deleted) =
                    if uses("deleted") { (None, Some(vec![old])) } else { (Some(vec![new]), None) };
                Some(self.output_rows(clause, &definition, inserted, deleted, frame).await?)
            }
            None => None,
        };
        Ok((rows, shown))
    }

    async fn finish_change(
        &mut self,
        rows: u64,
        shown: Option<Shown>,
        code: u16,
        frame: &Frame,
        output: &mut Output,
    ) {
        self.show(shown, output).await;
        self.last.rows = rows as i64;
        self.last.error = 0;
        let count = if self.settings.no_count { None } else { Some(rows) };
        output.done(frame.done_kind(), code, count).await;
    }

    /// The table to change, FROM with it in place, and the name it goes by there.
    fn target(
        &self,
        target: &ObjectName,
        from: &[TableSource],
    ) -> Result<(OpenTable, Vec<TableSource>, String), SqlError> {
        let mut from = from.to_vec();
        let mut real = target.clone();
        let mut alias = target.name.clone();
        let mut found = false;
        for source in &mut from {
            if let Some((name, own)) = replace_target(source, target) {
                (real, alias, found) = (name, own, true);
                break;
            }
        }
        if !found {
            let own = TableSource::Table { name: ObjectName::bare(TARGET), alias: Some(alias.clone()) };
            from.insert(0, own);
        }
        Ok((self.writable(&real)?, from, alias))
    }

    /// All rows of a table that is locked.
    fn contents(&self, table: &OpenTable) -> Result<RecordBatch, SqlError> {
        let scan = (self.work.opener(table))(None).map_err(store_error)?;
        let schema = scan.schema();
        let batches = scan.collect::<Result<Vec<_>, _>>().map_err(store_error)?;
        arrow::compute::concat_batches(&schema, &batches).map_err(SqlError::internal)
    }

    /// Which rows match, and for each match the values of `items` with their types.
    #[allow(clippy::too_many_arguments)]
    async fn choose(
        &mut self,
        table: &OpenTable,
        whole: &RecordBatch,
        from: Vec<TableSource>,
        alias: &str,
        filter: Option<&Expr>,
        items: Vec<SelectItem>,
        frame: &Frame,
    ) -> Result<(Vec<u64>, Vec<(ArrayRef, SqlType)>), SqlError> {
        let bound = {
            let environment = SessionEnvironment::new(self, frame);
            let target = numbered(&table.definition, whole)?;
            let environment = WithTables { inner: environment, tables: vec![(TARGET, target)] };
            let row = Expr::Column(vec![alias.to_string(), ROW.to_string()]);
            let mut all = vec![SelectItem::Value { expr: row, alias: None }];
            all.extend(items);
            let select = Select { items: all, from, filter: filter.cloned(), ..Select::default() };
            let query = Query {
                with: Vec::new(),
                body: QueryBody::Select(Box::new(select)),
                order_by: Vec::new(),
                offset: None,
                fetch: None,
            };
            Binder::new(&environment).query(&query, None)?
        };
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
        let schema = crate::engine::exact_schema(&bound.columns);
        let instance = Arc::clone(&self.instance);
        let batches = instance.engine().collect(bound, &self.cancellation).await?;
        let all = arrow::compute::concat_batches(&schema, &batches).map_err(SqlError::internal)?;
        let mut columns = all.columns().iter().cloned().zip(types);
        let Some((numbers, _)) = columns.next() else {
            return Err(SqlError::internal("rows without numbers"));
        };
        let mut rows = Vec::with_capacity(numbers.len());
        for row in 0..numbers.len() {
            rows.push(
                Datum::read(numbers.as_ref(), &SqlType::BigInt, row)?.as_int().unwrap_or(0).unsigned_abs(),
            );
        }
        Ok((rows, columns.collect()))
    }
}

/// Finds the target in FROM, by alias or name, and puts the numbered rows in its place.
fn replace_target(source: &mut TableSource, target: &ObjectName) -> Option<(ObjectName, String)> {
    match source {
        TableSource::Table { name, alias } => {
            let matches = match alias {
                Some(alias) => target.schema.is_none() && same_name(alias, &target.name),
                None => same_name(&name.name, &target.name),
            };
            if !matches {
                return None;
            }
            let own = alias.clone().unwrap_or_else(|| name.name.clone());
            let real = std::mem::replace(name, ObjectName::bare(TARGET));
            *alias = Some(own.clone());
            Some((real, own))
        }
        TableSource::Join { left, right, .. } => {
            replace_target(left, target).or_else(|| replace_target(right, target))
        }
        _ => None,
    }
}

/// A table's rows with their numbers beside them.
fn numbered(definition: &TableDefinition, whole: &RecordBatch) -> Result<BoundTable, SqlError> {
    let mut columns: Vec<OutputColumn> = definition
        .columns
        .iter()
        .map(|column| OutputColumn {
            collation: column.collation(),
            ..OutputColumn::expression(column.name.clone(), column.sql_type.clone(), column.nullable)
        })
        .collect();
    columns.push(OutputColumn::expression(ROW, SqlType::BigInt, false));
    let schema = crate::engine::exact_schema(&columns);
    let numbers: ArrayRef = Arc::new(arrow::array::Int64Array::from_iter_values(0..whole.num_rows() as i64));
    let mut arrays = whole.columns().to_vec();
    arrays.push(numbers);
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(SqlError::internal)?;
    let provider = MemoryTable::provider(schema.as_ref(), vec![batch]).map_err(SqlError::internal)?;
    Ok(BoundTable { columns, provider })
}

/// Positions of the columns that SET names. Errors: 207, 264, 271, 272, 8102.
fn assigned(update: &Update, definition: &TableDefinition) -> Result<Vec<usize>, SqlError> {
    let mut positions = Vec::with_capacity(update.assignments.len());
    for (name, _) in &update.assignments {
        let position = definition.position(name).ok_or_else(|| SqlError::invalid_column(name))?;
        if positions.contains(&position) {
            return Err(SqlError::new(
                264,
                16,
                1,
                format!(
                    "The column name '{name}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code."
                ),
            ));
        }
        if let Some(column) = definition.columns.get(position) {
            if column.identity.is_some() {
                return Err(SqlError::new(
                    8102,
                    16,
                    1,
                    format!("Cannot update identity column '{}'.", column.name),
                ));
            }
            if column.sql_type == SqlType::RowVersion {
                return Err(SqlError::new(272, 16, 1, "Cannot update a timestamp column."));
            }
            if column.computed.is_some() {
                return Err(SqlError::new(
                    271,
                    16,
                    1,
                    format!(
                        "The column \"{}\" cannot be modified because it is either a computed column or is the result of a UNION operator.",
                        column.name
                    ),
                ));
            }
        }
        positions.push(position);
    }
    Ok(positions)
}

fn default_of(definition: &TableDefinition, position: usize) -> Result<Expr, SqlError> {
    match definition.columns.get(position).and_then(|column| column.default.as_ref()) {
        Some(default) => crate::tsql::parse_expression(&default.text),
        None => Ok(Expr::Literal(crate::tsql::expression::Literal::Null)),
    }
}

/// The table's rows in their order, changed ones taken from `new`.
fn merge(whole: &RecordBatch, new: &RecordBatch, source: &[Option<usize>]) -> Result<RecordBatch, SqlError> {
    let mut indices = Vec::with_capacity(source.len());
    let mut next = 0;
    for (row, changed) in source.iter().enumerate() {
        if changed.is_some() {
            indices.push((1, next));
            next += 1;
        } else {
            indices.push((0, row));
        }
    }
    let columns = whole
        .columns()
        .iter()
        .zip(new.columns())
        .map(|(old, new)| interleave(&[old.as_ref(), new.as_ref()], &indices))
        .collect::<Result<Vec<_>, _>>()
        .map_err(SqlError::internal)?;
    RecordBatch::try_new(new.schema(), columns).map_err(SqlError::internal)
}

fn mentions(item: &SelectItem, table: &str) -> bool {
    match item {
        SelectItem::Wildcard(path) => path.first().is_some_and(|part| same_name(part, table)),
        SelectItem::Value { expr, .. } | SelectItem::Assign { expr, .. } => {
            let mut found = false;
            expr.clone().rewrite(&mut |part| {
                if let Expr::Column(path) = &part {
                    found |= path.len() > 1 && path.first().is_some_and(|part| same_name(part, table));
                }
                part
            });
            found
        }
    }
}
