//! FROM: tables, derived tables, common tables, joins.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::JoinType;
use datafusion::common::tree_node::TreeNode;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::super::apply::ApplyTable;
use super::super::computed::computed;
use super::super::correlated::outer_names;
use super::super::function_table::FunctionTable;
use super::super::matched::ApplyKind;
use super::super::typed::{Typed, truth};
use super::call::USER_FUNCTION;
use super::clause::Clause;
use super::exposed::refuse_same_names;
use super::recursion::{not_recursive, recursion_of};
use super::scope::reference;
use super::{Binder, BoundQuery, BoundTable, InlineFunction, OutputColumn, Scope, ScopeColumn, plan_error};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{DEFAULT_ARGUMENT, Expr as Ast, Literal};
use tsql::hints::TableHints;
use tsql::query::{JoinKind, JsonColumn, TableSource};
use tsql::same_name;

/// The number of a row that is at hand; no name of the user's has a blank in front.
const NUMBER: &str = " number";

/// A source's rows and names.
pub(super) struct Source {
    pub plan: LogicalPlan,
    pub columns: Vec<ScopeColumn>,
}

/// Returns the schema of a statement's target, which has a hidden name: unless it has an alias, its columns may be
/// named with the schema.
fn own_schema(name: &ObjectName, alias: &str, table: &BoundTable) -> Option<String> {
    let hidden = name.name.starts_with(' ');
    let source = table.columns.iter().find_map(|column| column.source.as_ref()).filter(|_| hidden);
    let (schema, own) = source?.0.split_once('.')?;
    same_name(own, alias).then(|| schema.to_string())
}

impl Binder<'_> {
    /// Binds all of FROM; without FROM there is one row and no column.
    pub(super) fn from(
        &self,
        sources: &[TableSource],
        parent: Option<&Scope<'_>>,
    ) -> Result<Source, SqlError> {
        refuse_same_names(sources)?;
        let mut sources = sources.iter();
        let Some(first) = sources.next() else {
            let plan = LogicalPlanBuilder::empty(true).build().map_err(plan_error)?;
            return Ok(Source { plan, columns: Vec::new() });
        };
        let mut left = self.source(first, parent)?;
        for source in sources {
            let right = self.source(source, parent)?;
            left = join(left, right, JoinKind::Cross, None)?;
        }
        Ok(left)
    }

    pub(super) fn source(
        &self,
        source: &TableSource,
        parent: Option<&Scope<'_>>,
    ) -> Result<Source, SqlError> {
        match source {
            TableSource::Table { name, alias, hints } => named_source(self, name, alias.as_deref(), *hints),
            TableSource::Derived { query, alias, columns } => {
                refuse_order(query)?;
                let bound = self.deeper(|| self.query(query, parent))?;
                aliased(bound, alias, columns.as_deref())
            }
            TableSource::Values { rows, alias, columns } => {
                let bound = self.values(rows, columns, parent)?;
                aliased(bound, alias, Some(columns))
            }
            TableSource::BulkRowset { rowset, alias, columns } => {
                let mut table = self.environment.bulk_rowset(rowset)?;
                for (column, name) in table.columns.iter_mut().zip(columns.iter().flatten()) {
                    column.name.clone_from(name);
                }
                self.scan(table, alias, None)
            }
            TableSource::Pivot { source, aggregate, column, values, alias } => {
                let bound = self.pivot(source, aggregate, column, values, parent)?;
                aliased(bound, alias, None)
            }
            TableSource::Unpivot { source, value, name, columns, alias } => {
                let bound = self.unpivot(source, value, name, columns, parent)?;
                aliased(bound, alias, None)
            }
            TableSource::Function { name, arguments, shape, alias, columns } => {
                function_source(self, name, arguments, shape, alias.as_deref(), columns.as_deref(), parent)
            }
            TableSource::Join { kind, left, right, on } => {
                let left = self.source(left, parent)?;
                if matches!(kind, JoinKind::CrossApply | JoinKind::OuterApply) {
                    return applied(self, left, right, *kind, parent);
                }
                let right = self.source(right, parent)?;
                let condition = match on {
                    Some(on) => {
                        let columns = left.columns.iter().chain(&right.columns).cloned().collect();
                        let scope = Scope::of(columns, parent);
                        Some(self.of_clause(Clause::On, || self.condition(on, &scope))?)
                    }
                    None => None,
                };
                join(left, right, *kind, condition)
            }
        }
    }

    /// Binds a table's rows under fresh names.
    pub(super) fn scan(
        &self,
        table: BoundTable,
        alias: &str,
        schema: Option<String>,
    ) -> Result<Source, SqlError> {
        let names: Vec<String> =
            table.provider.schema().fields().iter().map(|field| field.name().clone()).collect();
        let scanned = LogicalPlanBuilder::scan(self.fresh(), provider_as_source(table.provider), None)
            .map_err(plan_error)?;
        let qualifiers: Vec<_> = scanned.schema().iter().map(|(qualifier, _)| qualifier.cloned()).collect();
        let mut columns = Vec::with_capacity(names.len());
        let mut projected = Vec::with_capacity(names.len());
        for ((output, name), qualifier) in table.columns.into_iter().zip(names).zip(qualifiers) {
            let unique = self.fresh();
            projected.push(
                datafusion::logical_expr::Expr::Column(datafusion::common::Column::new(qualifier, name))
                    .alias(&unique),
            );
            let value = Typed::new(reference(&unique), output.sql_type.clone(), output.nullable)
                .with_collation(output.collation);
            columns.push(ScopeColumn {
                table: Some(alias.to_string()),
                schema: schema.clone(),
                output,
                value,
            });
        }
        let plan = scanned.project(projected).and_then(LogicalPlanBuilder::build).map_err(plan_error)?;
        Ok(Source { plan, columns })
    }

    /// Binds a select list over given rows and keeps their order: the answers are taken by position. A subquery or
    /// several threads would mix them up, so they are numbered.
    pub fn over_rows(
        &self,
        rows: &super::JoinedRows,
        items: &[tsql::query::SelectItem],
    ) -> Result<BoundQuery, SqlError> {
        let batch = numbered(&rows.batch)?;
        let provider =
            super::super::MemoryTable::provider(batch.schema().as_ref(), vec![batch]).map_err(plan_error)?;
        let number = OutputColumn::expression(NUMBER, SqlType::BigInt, false);
        let columns = rows.columns.iter().map(|(_, column)| column.clone()).chain([number]).collect();
        let mut source = self.scan(BoundTable { columns, provider }, "", None)?;
        let number = source.columns.pop().ok_or_else(|| SqlError::internal("rows without a number"))?;
        for (column, (table, _)) in source.columns.iter_mut().zip(&rows.columns) {
            column.table = Some(table.clone());
        }
        self.select_over(source, items, number.value)
    }
}

/// Rows with their numbers behind them.
fn numbered(batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0i64..).take(batch.num_rows())));
    let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(NUMBER, DataType::Int64, false)));
    let arrays = batch.columns().iter().cloned().chain([numbers]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| SqlError::internal(error))
}

/// Joins the sides if the right one does not look at the left one; else runs the right side for each row.
fn applied(
    binder: &Binder<'_>,
    left: Source,
    right: &TableSource,
    kind: JoinKind,
    parent: Option<&Scope<'_>>,
) -> Result<Source, SqlError> {
    let scope = Scope::of(left.columns.clone(), parent);
    let right = binder.source(right, Some(&scope))?;
    let outer = kind == JoinKind::OuterApply;
    let used = outer_names(&right.plan).map_err(plan_error)?;
    let looks_left = left.plan.schema().fields().iter().any(|field| used.contains(field.name()));
    if !looks_left {
        let kind = if outer { JoinKind::Left } else { JoinKind::Cross };
        return join(left, right, kind, Some(truth(true)));
    }
    let apply_kind = if outer { ApplyKind::Outer } else { ApplyKind::Cross };
    let table = ApplyTable::new(left.plan, right.plan, apply_kind).map_err(plan_error)?;
    let plan = table.into_plan(&binder.fresh()).map_err(plan_error)?;
    let mut columns = left.columns;
    columns.extend(right.columns.into_iter().map(|mut column| {
        column.value.nullable |= outer;
        column.output.nullable |= outer;
        // A constant of the right side is NULL for a row without a match.
        column.value.constant = column.value.constant.filter(|_| !outer);
        column
    }));
    Ok(Source { plan, columns })
}

fn function_source(
    binder: &Binder<'_>,
    name: &ObjectName,
    arguments: &[Ast],
    shape: &[JsonColumn],
    alias: Option<&str>,
    names: Option<&[String]>,
    parent: Option<&Scope<'_>>,
) -> Result<Source, SqlError> {
    let scope = Scope::of(Vec::new(), parent);
    let own;
    let name = match binder.database.borrow().clone() {
        Some(database) if name.schema.is_some() && name.database.is_none() => {
            own = ObjectName { database: Some(database), ..name.clone() };
            &own
        }
        _ => name,
    };
    let is_default = |argument: &Ast| matches!(argument, Ast::Variable(name) if name == DEFAULT_ARGUMENT);
    let null = Ast::Literal(Literal::Null);
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(binder.value(if is_default(argument) { &null } else { argument }, &scope)?);
    }
    if let Some(function) = binder.environment.inline_function(name)? {
        let mut values = values.clone();
        for (index, _) in arguments.iter().enumerate().filter(|(_, argument)| is_default(argument)) {
            if let Some((Some(default), value)) = function.defaults.get(index).zip(values.get_mut(index)) {
                *value = binder.value(default, &scope)?;
            }
        }
        if let Some(source) = inline_source(binder, function, values, name, alias, names)? {
            return Ok(source);
        }
    }
    let mut function = binder.rows_call(name, &values, shape)?;
    for (index, _) in arguments.iter().enumerate().filter(|(_, argument)| is_default(argument)) {
        if let Some((Some(default), value)) = function.defaults.get(index).zip(values.get_mut(index)) {
            *value = binder.value(default, &scope)?;
        }
    }
    for (column, name) in function.columns.iter_mut().zip(names.into_iter().flatten()) {
        column.name.clone_from(name);
    }
    let (mut exprs, mut types) = (Vec::new(), Vec::new());
    if let Some((name, parameters)) = &function.parameters {
        check_count(name, parameters.len(), arguments.len())?;
    }
    for (index, mut value) in values.into_iter().enumerate() {
        if let Some((_, parameters)) = &function.parameters
            && let Some(sql_type) = parameters.get(index)
        {
            value = value.cast(sql_type)?;
        }
        exprs.push(value.expr);
        types.push(value.sql_type);
    }
    let columns = function.columns.clone();
    let provider = computed(FunctionTable::new(function, exprs, types));
    binder.scan(BoundTable { columns, provider }, alias.unwrap_or(&name.name), name.schema.clone())
}

/// Binds an inline function as its query, over the arguments in the place of its parameters. `None` if an argument may not stand
/// in several places, or the query not over outer columns: then it runs for one row after the other.
fn inline_source(
    binder: &Binder<'_>,
    function: InlineFunction,
    values: Vec<Typed>,
    name: &ObjectName,
    alias: Option<&str>,
    names: Option<&[String]>,
) -> Result<Option<Source>, SqlError> {
    let InlineFunction { name: shown, query, parameters, .. } = function;
    check_count(&shown, parameters.len(), values.len())?;
    let mut arguments = Vec::with_capacity(values.len());
    for (value, (name, sql_type)) in values.into_iter().zip(parameters) {
        if !is_plain(&value.expr).map_err(plan_error)? {
            return Ok(None);
        }
        let value = Typed { nullable: true, collation: None, explicit: false, ..value.cast(&sql_type)? };
        arguments.push((name, value));
    }
    let around = binder.arguments.replace(Some(arguments));
    let hints = binder.hints.take();
    let bound = view_source(binder, query, &name.name, alias);
    binder.arguments.replace(around);
    binder.hints.set(hints);
    let mut source = match bound {
        Ok(source) => source,
        Err(error) if error.number == errors::CANCELLED.number => return Err(error),
        Err(_) => return Ok(None),
    };
    for (column, name) in source.columns.iter_mut().zip(names.into_iter().flatten()) {
        column.output.name.clone_from(name);
    }
    if alias.is_none() {
        source.columns.iter_mut().for_each(|column| column.schema.clone_from(&name.schema));
    }
    Ok(Some(source))
}

/// Returns the argument that stands for a parameter of the inline function being bound.
pub(super) fn argument_of(binder: &Binder<'_>, parameter: &str) -> Option<Typed> {
    let arguments = binder.arguments.borrow();
    arguments.iter().flatten().find(|(own, _)| same_name(own, parameter)).map(|(_, value)| value.clone())
}

/// Returns true for a value that costs little and is the same each time: it has no subquery, no call of a user's function, and
/// nothing like NEWID.
fn is_plain(value: &Expr) -> datafusion::common::Result<bool> {
    if value.is_volatile() {
        return Ok(false);
    }
    let found = value.exists(|part| {
        Ok(match part {
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => true,
            Expr::ScalarFunction(call) => call.func.name().starts_with(USER_FUNCTION),
            _ => false,
        })
    })?;
    Ok(!found)
}

fn named_source(
    binder: &Binder<'_>,
    name: &ObjectName,
    alias: Option<&str>,
    hints: TableHints,
) -> Result<Source, SqlError> {
    if name.schema.is_none()
        && let Some(table) = binder.work_table(&name.name)
    {
        return binder.scan(table, alias.unwrap_or(&name.name), None);
    }
    let common = match (&name.schema, &name.database) {
        (None, None) => find_common_table(binder, &name.name),
        _ => None,
    };
    if let Some((position, table)) = common {
        // A common table sees only those before it; seeing itself would be recursion.
        refuse_order(&table.query)?;
        let hidden = binder.common_tables.borrow_mut().split_off(position);
        let outer = binder.hints.replace(hints.with(binder.hints.get()));
        let bound = match recursion_of(&table) {
            Some(parts) => binder.deeper(|| binder.recursive(&table, parts)),
            None => binder.deeper(|| binder.query(&table.query, None)),
        };
        binder.hints.set(outer);
        binder.common_tables.borrow_mut().extend(hidden);
        let bound = bound.map_err(|error| {
            let itself = error.number == 208 && error.message.contains(&format!("'{}'", table.name));
            if itself { not_recursive(&table.name) } else { error }
        })?;
        return aliased(bound, alias.unwrap_or(&table.name), table.columns.as_deref());
    }
    let database = binder.database.borrow().clone().filter(|_| !(name.is_temporary() || name.is_variable()));
    let own;
    let name = match database {
        Some(database) if name.database.is_none() => {
            own = ObjectName { database: Some(database), ..name.clone() };
            &own
        }
        _ => name,
    };
    // A name without a schema in a view is of the view's own schema, if an object of that name exists there.
    let near = binder.schema.borrow().clone().filter(|schema| !same_name(schema, "dbo"));
    let near = match near {
        Some(schema) if name.schema.is_none() && !(name.is_temporary() || name.is_variable()) => {
            let near = ObjectName { schema: Some(schema), ..name.clone() };
            binder.environment.stands(&near)?.then_some(near)
        }
        _ => None,
    };
    let name = near.as_ref().unwrap_or(name);
    let hints = hints.with(binder.hints.get());
    let table = match binder.environment.table(name, hints) {
        Ok(table) => table,
        Err(error) if error.number == 208 => match binder.environment.view_query(name)? {
            Some(view) => {
                let outer = binder.hints.replace(hints);
                let source = view_source(binder, view, &name.name, alias);
                binder.hints.set(outer);
                return source;
            }
            None => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let schema = match alias {
        Some(alias) => own_schema(name, alias, &table),
        None => Some(name.schema.clone().unwrap_or_else(|| "dbo".into())),
    };
    binder.scan(table, alias.unwrap_or(&name.name), schema)
}

/// Binds a view as its query, which sees no name of the query around it.
fn view_source(
    binder: &Binder<'_>,
    view: super::ViewQuery,
    name: &str,
    alias: Option<&str>,
) -> Result<Source, SqlError> {
    let hidden = binder.common_tables.take();
    let recursions = binder.recursions.take();
    let database = binder.database.replace(Some(view.database));
    let bound = binder.deeper(|| binder.query(&view.query, None));
    binder.common_tables.replace(hidden);
    binder.recursions.replace(recursions);
    binder.database.replace(database);
    let bound = with_known_columns(bound?, &view.known, view.columns.is_some(), name)?;
    let mut source = aliased(bound, alias.unwrap_or(name), view.columns.as_deref())?;
    if alias.is_none() {
        for column in &mut source.columns {
            column.schema = Some(view.schema.clone());
        }
    }
    Ok(source)
}

/// Returns a view's rows with the columns that it had when it was made: `*` of a table that has more of them since adds none.
/// Where `by_place`, the view names its columns itself, so that those of the query are known by their places.
///
/// Errors: 4502 if the query has fewer.
fn with_known_columns(
    bound: BoundQuery,
    known: &[String],
    by_place: bool,
    name: &str,
) -> Result<BoundQuery, SqlError> {
    if known.is_empty() || known.len() == bound.columns.len() {
        return Ok(bound);
    }
    if known.len() > bound.columns.len() {
        let text = format!("View or function '{name}' has more column names specified than columns defined.");
        return Err(SqlError::new(4502, 16, 1, text));
    }
    let places = match by_place {
        true => (0..known.len()).collect(),
        false => places_of(known, &bound.columns).unwrap_or_else(|| (0..known.len()).collect()),
    };
    let fields = bound.plan.schema().fields();
    let kept = places.iter().filter_map(|place| fields.get(*place)).map(|field| reference(field.name()));
    let kept: Vec<_> = kept.collect();
    let plan = LogicalPlanBuilder::from(bound.plan).project(kept).and_then(LogicalPlanBuilder::build);
    let columns = places.iter().filter_map(|place| bound.columns.get(*place)).cloned().collect();
    Ok(BoundQuery { plan: plan.map_err(plan_error)?, columns })
}

/// Finds the columns that a view has had all along. New columns of a table follow its others, where `*` stands, and so
/// the search goes from the end. It takes no new column for one of the same name that stands behind or before it.
fn places_of(known: &[String], columns: &[OutputColumn]) -> Option<Vec<usize>> {
    let mut wanted = known.iter().rev().peekable();
    let mut places = Vec::with_capacity(known.len());
    for (place, column) in columns.iter().enumerate().rev() {
        if wanted.next_if(|name| same_name(name, &column.name)).is_some() {
            places.push(place);
        }
    }
    places.reverse();
    wanted.peek().is_none().then_some(places)
}

fn find_common_table(binder: &Binder<'_>, name: &str) -> Option<(usize, tsql::query::CommonTable)> {
    let tables = binder.common_tables.borrow();
    let position = tables.iter().rposition(|table| same_name(&table.name, name))?;
    Some((position, tables.get(position)?.clone()))
}

/// Gives a query's rows an alias.
fn aliased(bound: BoundQuery, alias: &str, names: Option<&[String]>) -> Result<Source, SqlError> {
    if let Some(names) = names
        && names.len() != bound.columns.len()
    {
        let (number, than) = if bound.columns.len() > names.len() { (8158, "more") } else { (8159, "fewer") };
        let text = format!("'{alias}' has {than} columns than were specified in the column list.");
        return Err(SqlError::new(number, 16, 1, text));
    }
    let plan_names: Vec<String> =
        bound.plan.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut columns = Vec::with_capacity(plan_names.len());
    let mut known = HashSet::with_capacity(plan_names.len());
    for (index, (mut output, plan_name)) in bound.columns.into_iter().zip(plan_names).enumerate() {
        if let Some(name) = names.and_then(|names| names.get(index)) {
            output.name = name.clone();
        }
        if output.name.is_empty() {
            return Err(SqlError::new(
                8155,
                16,
                2,
                format!("No column name was specified for column {} of '{alias}'.", index + 1),
            ));
        }
        if !known.insert(output.name.to_lowercase()) {
            return Err(SqlError::new(
                8156,
                16,
                1,
                format!("The column '{}' was specified multiple times for '{alias}'.", output.name),
            ));
        }
        // Outside of its query a bare NULL is an int.
        output.untyped_null = false;
        let value = Typed::new(reference(&plan_name), output.sql_type.clone(), output.nullable)
            .with_collation(output.collation);
        columns.push(ScopeColumn { table: Some(alias.to_string()), schema: None, output, value });
    }
    Ok(Source { plan: bound.plan, columns })
}

/// Errors: 313 and 8144 for a call of a user's function with another number of arguments than it has parameters.
pub(super) fn check_count(name: &str, parameters: usize, arguments: usize) -> Result<(), SqlError> {
    if arguments < parameters {
        let text = format!(
            "An insufficient number of arguments were supplied for the procedure or function {name}."
        );
        return Err(SqlError::new(313, 16, 2, text));
    }
    if arguments > parameters {
        let text = format!("Procedure or function {name} has too many arguments specified.");
        return Err(SqlError::new(8144, 16, 3, text));
    }
    Ok(())
}

/// Errors: 1033 for an ORDER BY that decides nothing, where only a set of rows is wanted.
pub fn refuse_order(query: &tsql::query::Query) -> Result<(), SqlError> {
    let limited = query.offset.is_some()
        || query.for_clause.is_some()
        || matches!(&query.body, tsql::query::QueryBody::Select(select) if select.top.is_some());
    if query.order_by.is_empty() || limited {
        return Ok(());
    }
    Err(SqlError::new(
        1033,
        15,
        1,
        "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified.",
    ))
}

fn join(
    left: Source,
    right: Source,
    kind: JoinKind,
    condition: Option<datafusion::logical_expr::Expr>,
) -> Result<Source, SqlError> {
    let join_type = match kind {
        JoinKind::Left => JoinType::Left,
        JoinKind::Right => JoinType::Right,
        JoinKind::Full => JoinType::Full,
        _ => JoinType::Inner,
    };
    let builder = LogicalPlanBuilder::from(left.plan);
    let plan = match condition {
        Some(condition) => builder.join_on(right.plan, join_type, [condition]),
        None => builder.cross_join(right.plan),
    };
    let plan = plan.and_then(LogicalPlanBuilder::build).map_err(plan_error)?;
    let optional = |columns: Vec<ScopeColumn>, optional: bool| {
        columns.into_iter().map(move |mut column| {
            column.value.nullable |= optional;
            column.output.nullable |= optional;
            column
        })
    };
    let left_optional = matches!(join_type, JoinType::Right | JoinType::Full);
    let right_optional = matches!(join_type, JoinType::Left | JoinType::Full);
    let columns =
        optional(left.columns, left_optional).chain(optional(right.columns, right_optional)).collect();
    Ok(Source { plan, columns })
}
