//! Queries that need no plan at all: constants, and the row of a whole key, `SELECT columns FROM table WHERE key = constant`.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal as Constant};
use tds::SqlType;
use tsql::SqlError;
use tsql::expression::{Comparison, Expr as Ast, Literal};
use tsql::hints::TableHints;
use tsql::query::{Query, QueryBody, SelectItem, TableSource};
use tsql::{ObjectName, same_name};

use super::{SimpleQuery, Source, Step};
use crate::Datum;
use crate::bind::{Binder, Environment, OutputColumn, Scope};
use crate::limits::Limits;
use crate::provider::StoredTable;
use crate::seek::seek_row;

/// 208.
const INVALID_OBJECT: i32 = 208;

/// A query without a plan, and the columns of its result.
type Unplanned = (Vec<OutputColumn>, SimpleQuery);

/// Binds a query of constants, or one for columns of the row of a whole key of whole numbers. None: it is another query.
///
/// # Errors
/// Those of opening the table, and error 137 for a variable that is not declared.
pub fn without_plan(query: &Query, environment: &dyn Environment) -> Result<Option<Unplanned>, SqlError> {
    if Limits::current() == Limits::Nothing {
        return Ok(None);
    }
    match Written::of(query) {
        Some(Written { items, source: None }) => constants(items, environment),
        Some(Written { items, source: Some(source) }) => row_of_key(items, &source, environment),
        None => Ok(None),
    }
}

fn constants(items: &[SelectItem], environment: &dyn Environment) -> Result<Option<Unplanned>, SqlError> {
    let Some(list) = list(items, None, environment)? else { return Ok(None) };
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
    let row = Source::Row(Some(row.map_err(|error| SqlError::internal(error))?));
    Ok(projected(list, &Schema::empty(), &[])
        .map(|(columns, step)| (columns, SimpleQuery::over(row, 1).then(step))))
}

fn row_of_key(
    items: &[SelectItem],
    source: &Keyed<'_>,
    environment: &dyn Environment,
) -> Result<Option<Unplanned>, SqlError> {
    let table = match environment.table(source.name, source.hints) {
        Ok(table) => table,
        // It may be a view.
        Err(error) if error.number == INVALID_OBJECT => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(stored) = table.provider.downcast_ref::<StoredTable>() else { return Ok(None) };
    let Some(keyed) = stored.keyed() else { return Ok(None) };
    let mut key = Vec::with_capacity(source.equal.len());
    for (column, value) in &source.equal {
        let Some(position) = source.position(&table.columns, column) else { return Ok(None) };
        let Some(value) = whole_number(value, environment)? else { return Ok(None) };
        key.push((position, value));
    }
    let Some(range) = seek_row(keyed, &key) else { return Ok(None) };
    let Some(list) = list(items, Some((source, &table.columns)), environment)? else { return Ok(None) };
    let mut read: Vec<usize> = list.iter().filter_map(|(_, shown)| shown.position()).collect();
    read.sort_unstable();
    read.dedup();
    if read.is_empty() {
        return Ok(None);
    }
    let Some((columns, step)) = projected(list, stored.schema_ref(), &read) else { return Ok(None) };
    let rows = stored.open_range(Some(read), Some(&range))?;
    let source = Source::Table(rows, Box::new((stored.clone(), Some(range))));
    Ok(Some((columns, SimpleQuery::over(source, 1).then(step))))
}

/// The columns of a list and what computes them, over the columns of a table at the positions `read`.
fn projected(
    list: Vec<(OutputColumn, Shown)>,
    table: &Schema,
    read: &[usize],
) -> Option<(Vec<OutputColumn>, Step)> {
    let (mut columns, mut exprs, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for (output, shown) in list {
        let (expr, data_type): (Arc<dyn PhysicalExpr>, DataType) = match shown {
            Shown::Column(position) => {
                let field = table.fields().get(position)?;
                let column = Column::new(field.name(), read.binary_search(&position).ok()?);
                (Arc::new(column), field.data_type().clone())
            }
            Shown::Constant(constant) => {
                let data_type = constant.value().data_type();
                (Arc::new(constant), data_type)
            }
        };
        fields.push(Field::new(&output.name, data_type, true));
        exprs.push(expr);
        columns.push(output);
    }
    Some((columns, Step::Project(exprs, Arc::new(Schema::new(fields)))))
}

/// What an item of the list shows.
enum Shown {
    /// The column at a position of the table.
    Column(usize),
    Constant(Constant),
}

impl Shown {
    fn position(&self) -> Option<usize> {
        match self {
            Shown::Column(position) => Some(*position),
            Shown::Constant(_) => None,
        }
    }
}

/// The parts of such a query.
struct Written<'q> {
    items: &'q [SelectItem],
    source: Option<Keyed<'q>>,
}

/// A table, and what the columns of its key are equal to.
struct Keyed<'q> {
    name: &'q ObjectName,
    /// What the query calls the table.
    alias: &'q str,
    hints: TableHints,
    equal: Vec<(&'q [String], &'q Ast)>,
}

impl<'q> Written<'q> {
    fn of(query: &'q Query) -> Option<Written<'q>> {
        let QueryBody::Select(select) = &query.body else { return None };
        let alone = query.with.is_empty()
            && query.order_by.is_empty()
            && query.offset.is_none()
            && query.fetch.is_none()
            && query.for_clause.is_none()
            && query.schema.is_none();
        let plain = !select.distinct
            && select.top.is_none()
            && select.into.is_none()
            && select.group_by.is_empty()
            && select.grouping_sets.is_none()
            && select.having.is_none();
        let shown = |item: &SelectItem| match item {
            SelectItem::Wildcard(qualifier) => qualifier.is_empty(),
            SelectItem::Value { expr, .. } => {
                matches!(expr, Ast::Column(_) | Ast::Literal(_) | Ast::Variable(_))
            }
            SelectItem::Assign { .. } => false,
        };
        if !(alone && plain && select.items.iter().all(shown)) {
            return None;
        }
        let source = match (select.from.as_slice(), &select.filter) {
            ([], None) => None,
            ([TableSource::Table { name, alias, hints }], Some(filter)) => {
                let mut equal = Vec::new();
                if !equalities(filter, &mut equal) {
                    return None;
                }
                Some(Keyed { name, alias: alias.as_deref().unwrap_or(&name.name), hints: *hints, equal })
            }
            _ => return None,
        };
        Some(Written { items: &select.items, source })
    }
}

impl Keyed<'_> {
    /// The one column that a name means; None: none, several, or it is for the binder to say.
    fn position(&self, columns: &[OutputColumn], parts: &[String]) -> Option<usize> {
        let name = match parts {
            [name] => name,
            [alias, name] if same_name(alias, self.alias) => name,
            _ => return None,
        };
        let mut found = (0..).zip(columns).filter(|(_, column)| same_name(&column.name, name));
        match (found.next(), found.next()) {
            (Some((position, _)), None) => Some(position),
            _ => None,
        }
    }
}

/// The select list as the binder describes it, over the columns of a table if there is one; None: that is left to the binder.
fn list(
    items: &[SelectItem],
    source: Option<(&Keyed<'_>, &[OutputColumn])>,
    environment: &dyn Environment,
) -> Result<Option<Vec<(OutputColumn, Shown)>>, SqlError> {
    let binder = Binder::new(environment);
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        match (item, source) {
            (SelectItem::Value { expr: Ast::Column(parts), alias }, Some((source, columns))) => {
                let Some(position) = source.position(columns, parts) else { return Ok(None) };
                let (Some(column), Some(own)) = (columns.get(position), parts.last()) else {
                    return Ok(None);
                };
                let name = alias.as_ref().unwrap_or(own).clone();
                list.push((OutputColumn { name, ..column.clone() }, Shown::Column(position)));
            }
            (SelectItem::Value { expr: expr @ (Ast::Literal(_) | Ast::Variable(_)), alias }, _) => {
                let value = binder.value(expr, &Scope::empty())?;
                let Expr::Literal(constant, _) = &value.expr else { return Ok(None) };
                let shown = Shown::Constant(Constant::new(constant.clone()));
                let output = OutputColumn {
                    collation: value.collation,
                    untyped_null: value.untyped_null,
                    ..OutputColumn::expression(
                        alias.clone().unwrap_or_default(),
                        value.sql_type,
                        value.nullable,
                    )
                };
                list.push((output, shown));
            }
            (SelectItem::Wildcard(_), Some((_, columns))) => {
                let visible = (0..).zip(columns).filter(|(_, column)| !column.flags.is_hidden());
                list.extend(visible.map(|(position, column)| (column.clone(), Shown::Column(position))));
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(list))
}

/// Notes the columns of a condition that only says what they are equal to; false: it says more.
fn equalities<'q>(condition: &'q Ast, equal: &mut Vec<(&'q [String], &'q Ast)>) -> bool {
    match condition {
        Ast::And(left, right) => equalities(left, equal) && equalities(right, equal),
        Ast::Compare(left, Comparison::Equal, right) => match (left.as_ref(), right.as_ref()) {
            (Ast::Column(column), value @ (Ast::Literal(_) | Ast::Variable(_))) => {
                equal.push((column.as_slice(), value));
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// The whole number that a constant is; None: it is none that compares with whole numbers as one.
fn whole_number(value: &Ast, environment: &dyn Environment) -> Result<Option<i64>, SqlError> {
    match value {
        Ast::Literal(Literal::Integer(digits)) => Ok(digits.parse::<i32>().ok().map(i64::from)),
        Ast::Variable(name) => Ok(match environment.variable(name)? {
            (Datum::Int(value), SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt) => {
                Some(value)
            }
            _ => None,
        }),
        _ => Ok(None),
    }
}
