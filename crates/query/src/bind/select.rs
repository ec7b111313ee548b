//! SELECT, set operators, ORDER BY, TOP and OFFSET.

use std::cell::{Cell, RefCell};

use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use tds::SqlType;

use super::super::clr::ClrType;
use super::super::collation::{is_lossy, key};
use super::super::convert::type_name;
use super::super::rows_as_text::TextColumn;
use super::super::typed::Typed;
use super::aggregate::{Grouping, first_of, has_own_aggregate};
use super::clause::{Clause, not_grouped};
use super::for_clause::is_nested;
use super::scope::{InnerAggregates, natural_name, reference};
use super::top;
use super::window::Windows;
use super::{Binder, BoundQuery, OutputColumn, Scope, ScopeColumn, plan_error};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{Expr as Ast, Literal};
use tsql::for_clause::ForClause;
use tsql::query::{CommonTable, OrderItem, Query, QueryBody, Select, SelectItem};
use tsql::same_name;

/// Finds `written` in the select list of a body's first SELECT.
fn position_in_list(written: &Ast, body: &QueryBody) -> Option<usize> {
    match body {
        QueryBody::Set { left, .. } => position_in_list(written, left),
        QueryBody::Nested(query) => position_in_list(written, &query.body),
        // A wildcard stands for any number of columns: positions behind it are not known here.
        QueryBody::Select(select) => {
            select.items.iter().take_while(|item| !matches!(item, SelectItem::Wildcard(_))).position(
                |item| matches!(item, SelectItem::Value { expr, .. } if says_the_same(expr, written) || is_base_name(expr, written)),
            )
        }
    }
}

/// Returns true if a column of the list, qualified or not, has the bare name `written`.
fn is_base_name(listed: &Ast, written: &Ast) -> bool {
    match (listed, written) {
        (Ast::Column(listed), Ast::Column(written)) => match written.as_slice() {
            [name] => listed.last().is_some_and(|own| same_name(own, name)),
            _ => false,
        },
        _ => false,
    }
}

/// Returns true if two expressions are written alike; names may differ in case.
fn says_the_same(one: &Ast, other: &Ast) -> bool {
    match (one, other) {
        (Ast::Column(one), Ast::Column(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_name(one, other))
        }
        _ => one == other,
    }
}

/// A bound item of a select list.
struct Item {
    value: Typed,
    output: OutputColumn,
    /// The expression as it was written, for ORDER BY to find it again.
    written: Option<Ast>,
    /// The table that it is a column of.
    table: Option<String>,
}

/// The items of ORDER BY: positions in the select list, or values of their own.
type Order = Vec<Result<usize, Typed>>;

impl Binder<'_> {
    /// Binds what stands behind WITH. Errors: 239 for a name twice, and those of `bind`.
    pub fn with_common_tables<T>(
        &self,
        with: &[CommonTable],
        bind: impl FnOnce() -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        for (index, table) in with.iter().enumerate() {
            if with.iter().skip(index + 1).any(|other| same_name(&other.name, &table.name)) {
                let text = format!("Duplicate common table expression name '{}' was specified.", table.name);
                return Err(SqlError::new(239, 16, 1, text));
            }
        }
        let before = self.common_tables.borrow().len();
        self.common_tables.borrow_mut().extend(with.iter().cloned());
        let bound = bind();
        self.common_tables.borrow_mut().truncate(before);
        bound
    }

    /// Binds a query. `parent` is the scope of the query around it.
    pub fn query(&self, query: &Query, parent: Option<&Scope<'_>>) -> Result<BoundQuery, SqlError> {
        if query.max_recursion.is_some() {
            self.max_recursion.set(query.max_recursion);
        }
        let around = query.schema.as_ref().map(|schema| self.schema.replace(Some(schema.clone())));
        let result = self.with_common_tables(&query.with, || query_within(self, query, parent));
        if let Some(around) = around {
            self.schema.replace(around);
        }
        result
    }

    pub(super) fn body(&self, body: &QueryBody, parent: Option<&Scope<'_>>) -> Result<BoundQuery, SqlError> {
        match body {
            QueryBody::Select(select) => {
                let plain = Query::of(QueryBody::Select(select.clone()));
                bound_select(self, select, &plain, parent)
            }
            QueryBody::Nested(query) => self.deeper(|| self.query(query, parent)),
            QueryBody::Set { .. } => self.deeper(|| self.combined(body, parent)),
        }
    }

    /// Binds a select list over one source in an order, without anything else.
    pub(super) fn select_over(
        &self,
        source: super::from::Source,
        items: &[SelectItem],
        order: Typed,
    ) -> Result<BoundQuery, SqlError> {
        let scope = Scope::of(source.columns, None);
        let select = Select { items: items.to_vec(), ..Select::default() };
        let item = OrderItem { expr: Ast::Literal(Literal::Null), descending: false };
        let query = Query { order_by: vec![item], ..Query::select(Select::default()) };
        let items = bound_items(self, items, &scope)?;
        finished(self, (&select, &query), source.plan, (items, vec![Err(order)]), &Windows::default(), None)
    }

    /// Keeps a single row of each key.
    pub(super) fn distinct(&self, bound: BoundQuery) -> Result<BoundQuery, SqlError> {
        let values = output_values(&bound);
        if let Some((value, _)) = values.iter().find(|(value, _)| {
            matches!(
                value.sql_type,
                SqlType::Text
                    | SqlType::NText
                    | SqlType::Image
                    | SqlType::Xml
                    | SqlType::Json
                    | SqlType::Vector { .. }
            ) || ClrType::is_unordered(&value.sql_type)
        }) {
            return Err(SqlError::new(
                421,
                16,
                1,
                format!(
                    "The {} data type cannot be selected as DISTINCT because it is not comparable.",
                    type_name(&value.sql_type)
                ),
            ));
        }
        if !values.iter().any(|(value, _)| is_lossy(value)) {
            let plan = LogicalPlanBuilder::from(bound.plan).distinct().and_then(LogicalPlanBuilder::build);
            return Ok(BoundQuery { plan: plan.map_err(plan_error)?, columns: bound.columns });
        }
        let names: Vec<String> =
            bound.plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        let (mut groups, mut firsts) = (Vec::new(), Vec::new());
        for ((value, _), name) in values.iter().zip(&names) {
            if is_lossy(value) {
                groups.push(key(value).alias(self.fresh()));
                let first = self.fresh();
                firsts.push((name, first.clone(), first_of(value).alias(first)));
            } else {
                groups.push(value.expr.clone());
            }
        }
        let outputs: Vec<Expr> = names
            .iter()
            .map(|name| match firsts.iter().find(|(of, _, _)| *of == name) {
                Some((_, first, _)) => reference(first).alias(name),
                None => reference(name),
            })
            .collect();
        let aggregates: Vec<Expr> = firsts.into_iter().map(|(_, _, expr)| expr).collect();
        let plan = LogicalPlanBuilder::from(bound.plan)
            .aggregate(groups, aggregates)
            .and_then(|builder| builder.project(outputs))
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
        Ok(BoundQuery { plan, columns: bound.columns })
    }

    /// Limits a query to its first rows, for SET ROWCOUNT; 0 is all.
    pub fn limited_to(bound: BoundQuery, rows: u64) -> Result<BoundQuery, SqlError> {
        if rows == 0 {
            return Ok(bound);
        }
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let plan =
            LogicalPlanBuilder::from(bound.plan).limit(0, Some(rows)).and_then(LogicalPlanBuilder::build);
        Ok(BoundQuery { plan: plan.map_err(plan_error)?, columns: bound.columns })
    }

    /// Makes the query return no rows, for SET FMTONLY.
    pub fn without_rows(bound: BoundQuery) -> Result<BoundQuery, SqlError> {
        let plan =
            LogicalPlanBuilder::from(bound.plan).filter(lit(false)).and_then(LogicalPlanBuilder::build);
        Ok(BoundQuery { plan: plan.map_err(plan_error)?, columns: bound.columns })
    }
}

fn query_within(
    binder: &Binder<'_>,
    query: &Query,
    parent: Option<&Scope<'_>>,
) -> Result<BoundQuery, SqlError> {
    let bound = match &query.body {
        QueryBody::Select(select) => return bound_select(binder, select, query, parent),
        body => binder.body(body, parent)?,
    };
    // Above a set operator only output columns can be ordered by: by name, or as the first SELECT writes them.
    let mut sorts = Vec::new();
    for (place, item) in (1..).zip(&query.order_by) {
        let position = output_position(item, place, &bound.columns, &[])?;
        let position = position.or_else(|| position_in_list(&item.expr, &query.body)).ok_or_else(|| {
            SqlError::new(
                104,
                16,
                1,
                "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.",
            )
        })?;
        sorts.push(sort_of(&output_values(&bound), position, item)?);
    }
    let Some(clause) = query.for_clause.as_deref() else {
        let plan = top::limited(binder, bound.plan, sorts, (None, query), parent)?;
        return Ok(BoundQuery { plan, columns: bound.columns });
    };
    let texts = bound
        .columns
        .iter()
        .map(|column| TextColumn {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            table: None,
            nested: false,
        })
        .collect();
    let plan = top::limited(binder, bound.plan, sorts.clone(), (None, query), parent)?;
    let names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
    binder.as_text(clause, plan, &names, texts, sorts)
}

fn bound_select(
    binder: &Binder<'_>,
    select: &Select,
    query: &Query,
    parent: Option<&Scope<'_>>,
) -> Result<BoundQuery, SqlError> {
    binder.count_select()?;
    if select.into.is_some() {
        // The caller takes INTO out of the first SELECT of a statement.
        return Err(errors::SYNTAX_KEYWORD.with(["INTO"]));
    }
    let source = binder.from(&select.from, parent)?;
    let (plain_windows, wanted) = (Windows::default(), Cell::new(false));
    let mut scope = Scope::of(source.columns, parent);
    let mut plan = source.plan;
    scope.inner_aggregates = InnerAggregates::Refused;
    if let Some(filter) = &select.filter {
        let filter = binder.of_clause(Clause::Where, || binder.condition(filter, &scope))?;
        plan = LogicalPlanBuilder::from(plan)
            .filter(filter)
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
    }
    let aggregated = !select.group_by.is_empty()
        || select.grouping_sets.is_some()
        || select.having.is_some()
        || select.items.iter().any(|item| matches!(item, SelectItem::Value { expr, .. } | SelectItem::Assign { expr, .. } if has_own_aggregate(expr, &scope)))
        || query.order_by.iter().any(|item| has_own_aggregate(&item.expr, &scope));
    if !aggregated {
        scope.windows = Some(&plain_windows);
        scope.inner_aggregates = InnerAggregates::Group(&wanted);
        let bound = list_and_order(binder, select, query, &scope);
        // Unless an aggregate in a subquery makes it a grouped query.
        if !wanted.get() {
            let (items, hidden) = bound?;
            return finished(binder, (select, query), plan, (items, hidden), &plain_windows, parent);
        }
        scope.windows = None;
    }
    let windows = Windows::default();
    let sets = select.grouping_sets.as_deref().filter(|_| !select.group_by.is_empty());
    let mut keys = binder.of_clause(Clause::GroupBy, || group_keys(binder, &select.group_by, &scope))?;
    for (_, above) in keys.iter_mut().filter(|_| sets.is_some()) {
        above.nullable = true;
    }
    let set_column = sets.map(|_| binder.fresh());
    let grouping = Grouping { below: &scope, keys, aggregates: RefCell::new(Vec::new()), set_column };
    let mut above = Scope::of(Vec::new(), parent);
    above.columns = above_columns(&scope, &grouping);
    above.grouping = Some(&grouping);
    let having = match &select.having {
        Some(having) => Some(binder.of_clause(Clause::Having, || binder.condition(having, &above))?),
        None => None,
    };
    above.windows = Some(&windows);
    let items = bound_items(binder, &select.items, &above)?;
    let hidden = order_values(binder, (select, query), &items, &above)?;
    let plan = binder.grouped_plan(plan, &grouping, sets)?;
    let mut builder = LogicalPlanBuilder::from(plan);
    if let Some(having) = having {
        builder = builder.filter(having).map_err(plan_error)?;
    }
    let plan = builder.build().map_err(plan_error)?;
    finished(binder, (select, query), plan, (items, hidden), &windows, parent)
}

/// Binds the grouped expressions, and the columns that will stand for them.
fn group_keys(
    binder: &Binder<'_>,
    group_by: &[Ast],
    scope: &Scope<'_>,
) -> Result<Vec<(Typed, Typed)>, SqlError> {
    let mut keys = Vec::with_capacity(group_by.len());
    for expr in group_by {
        if matches!(expr, Ast::Literal(_) | Ast::Variable(_)) {
            return Err(SqlError::new(
                164,
                15,
                1,
                "Each GROUP BY expression must contain at least one column that is not an outer reference.",
            ));
        }
        let below = binder.value(expr, scope)?;
        if matches!(
            below.sql_type,
            SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::Vector { .. }
        ) {
            return Err(not_sortable(&below.sql_type));
        }
        let name = binder.fresh();
        let above = Typed { expr: reference(&name), constant: None, ..below.clone() };
        keys.push((below, above));
    }
    Ok(keys)
}

/// Binds the select list, and the further values of ORDER BY.
fn list_and_order(
    binder: &Binder<'_>,
    select: &Select,
    query: &Query,
    scope: &Scope<'_>,
) -> Result<(Vec<Item>, Order), SqlError> {
    let items = bound_items(binder, &select.items, scope)?;
    let hidden = order_values(binder, (select, query), &items, scope)?;
    Ok((items, hidden))
}

fn bound_items(binder: &Binder<'_>, items: &[SelectItem], scope: &Scope<'_>) -> Result<Vec<Item>, SqlError> {
    binder.row.of_list(|| listed_items(binder, items, scope))
}

fn listed_items(binder: &Binder<'_>, items: &[SelectItem], scope: &Scope<'_>) -> Result<Vec<Item>, SqlError> {
    SelectItem::check_count(items.len())?;
    let mut bound = Vec::with_capacity(items.len());
    for item in items {
        match item {
            SelectItem::Wildcard(qualifier) => {
                if !qualifier.is_empty() && !scope.has_table(qualifier) {
                    return Err(SqlError::new(
                        107,
                        15,
                        1,
                        format!(
                            "The column prefix '{}' does not match with a table name or alias name used in the query.",
                            qualifier.join(".")
                        ),
                    ));
                }
                if scope.columns.is_empty() && scope.grouping.is_none() {
                    return Err(SqlError::new(263, 16, 1, "Must specify table to select from."));
                }
                for column in scope
                    .columns
                    .iter()
                    .filter(|column| column.is_of(qualifier) && !column.output.flags.is_hidden())
                {
                    bound.push(Item {
                        value: column.value.clone(),
                        output: column.output.clone(),
                        written: None,
                        table: column.table.clone(),
                    });
                }
                if let Some(grouping) = scope.grouping
                    && let Some(column) = grouping.below.columns.iter().find(|column| {
                        !grouping.keys.iter().any(|(below, _)| below.expr == column.value.expr)
                    })
                {
                    let table = column.table.clone().unwrap_or_default();
                    return Err(not_grouped(binder.clause.get(), &format!("{table}.{}", column.output.name)));
                }
            }
            SelectItem::Value { expr, alias } => bound
                .push(binder.of_clause(Clause::List, || bound_item(binder, expr, alias.as_deref(), scope))?),
            SelectItem::Assign { expr, .. } => bound.push(bound_item(binder, expr, None, scope)?),
        }
    }
    SelectItem::check_count(bound.len())?;
    Ok(bound)
}

fn bound_item(
    binder: &Binder<'_>,
    expr: &Ast,
    alias: Option<&str>,
    scope: &Scope<'_>,
) -> Result<Item, SqlError> {
    let value = binder.value(expr, scope)?;
    let name = alias.map_or_else(|| natural_name(expr), str::to_string);
    let base = match expr {
        Ast::Column(parts) => scope.resolve(parts).ok().map(|(_, output)| output),
        _ => None,
    };
    let output = match base {
        // `$IDENTITY` and `$ROWGUID` stand for the column's own name.
        Some(base) if alias.is_none() && name.starts_with('$') && base.name != name => {
            OutputColumn { nullable: value.nullable, ..base }
        }
        Some(base) => OutputColumn { name, nullable: value.nullable, ..base },
        None => OutputColumn {
            collation: value.collation,
            untyped_null: value.untyped_null,
            ..OutputColumn::expression(name, value.sql_type.clone(), value.nullable)
        },
    };
    let table = match expr {
        Ast::Column(parts) => scope.table_of(parts),
        _ => None,
    };
    Ok(Item { value, output, written: Some(expr.clone()), table })
}

/// Binds the ORDER BY items: a position in the select list, or a value of its own.
fn order_values(
    binder: &Binder<'_>,
    (select, query): (&Select, &Query),
    items: &[Item],
    scope: &Scope<'_>,
) -> Result<Order, SqlError> {
    let outputs: Vec<OutputColumn> = items.iter().map(|item| item.output.clone()).collect();
    let mut order: Order = Vec::with_capacity(query.order_by.len());
    for (place, item) in (1..).zip(&query.order_by) {
        let own = match output_position(item, place, &outputs, items)? {
            Some(position) => Ok(position),
            None => {
                let value = binder.of_clause(Clause::OrderBy, || binder.value(&item.expr, scope))?;
                // Of DISTINCT rows only what is in the list is left, whatever it is called there.
                let listed = items.iter().position(|item| select.distinct && item.value.expr == value.expr);
                listed.ok_or(value)
            }
        };
        let again = |before: &Result<usize, Typed>| match (before, &own) {
            (Ok(before), Ok(own)) => before == own,
            (Err(before), Err(own)) => before.expr == own.expr && matches!(own.expr, Expr::Column(_)),
            _ => false,
        };
        if order.iter().any(again) {
            return Err(SqlError::new(
                169,
                15,
                1,
                "A column has been specified more than once in the order by list. Columns in the order by list must be unique.",
            ));
        }
        order.push(own);
    }
    Ok(order)
}

/// Finds the output column that an ORDER BY item names: by position, by alias, or by its text.
fn output_position(
    item: &OrderItem,
    place: usize,
    outputs: &[OutputColumn],
    items: &[Item],
) -> Result<Option<usize>, SqlError> {
    match &item.expr {
        Ast::Literal(Literal::Integer(digits)) => {
            let position = digits.parse::<usize>().unwrap_or(0);
            if (1..=outputs.len()).contains(&position) {
                return Ok(Some(position - 1));
            }
            Err(SqlError::new(
                108,
                16,
                1,
                format!(
                    "The ORDER BY position number {digits} is out of range of the number of items in the select list."
                ),
            ))
        }
        Ast::Column(parts) if parts.len() == 1 => {
            let name = parts.first().map_or("", String::as_str);
            let mut matches = outputs.iter().enumerate().filter(|(_, output)| same_name(&output.name, name));
            let found = matches.next();
            if let Some((first, _)) = found
                && matches.any(|(other, _)| match (items.get(first), items.get(other)) {
                    (Some(one), Some(two)) => one.value.expr != two.value.expr,
                    _ => true,
                })
            {
                return Err(errors::AMBIGUOUS_COLUMN.with([name]));
            }
            Ok(found.map(|(position, _)| position))
        }
        Ast::Literal(_) => Err(SqlError::new(
            408,
            16,
            1,
            format!("A constant expression was encountered in the ORDER BY list, position {place}."),
        )),
        other => Ok(items.iter().position(|item| item.written.as_ref() == Some(other))),
    }
}

/// `outer` is the scope of the query around.
fn finished(
    binder: &Binder<'_>,
    (select, query): (&Select, &Query),
    plan: LogicalPlan,
    (items, order): (Vec<Item>, Order),
    windows: &Windows,
    outer: Option<&Scope<'_>>,
) -> Result<BoundQuery, SqlError> {
    let mut builder = windows.input(plan)?;
    let window_exprs = windows.exprs.borrow();
    for (name, expr) in window_exprs.iter() {
        builder = builder.window([expr.clone().alias(name)]).map_err(plan_error)?;
    }
    let mut names = Vec::with_capacity(items.len());
    let mut exprs = Vec::with_capacity(items.len());
    for item in &items {
        let name = binder.fresh();
        exprs.push(item.value.expr.clone().alias(&name));
        names.push(name);
    }
    let text_columns = query.for_clause.as_deref().map(|clause| text_columns(clause, &items));
    let columns: Vec<OutputColumn> = items.into_iter().map(|item| item.output).collect();
    let mut sort_values = Vec::with_capacity(order.len());
    for target in order {
        sort_values.push(match target {
            Ok(position) => Ok(position),
            Err(_) if select.distinct => {
                return Err(SqlError::new(
                    145,
                    15,
                    1,
                    "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.",
                ));
            }
            Err(value) => {
                let name = binder.fresh();
                exprs.push(value.expr.clone().alias(&name));
                Err(Typed { expr: reference(&name), constant: None, ..value })
            }
        });
    }
    let visible = names.len();
    let wide = exprs.len() > visible;
    let plan = builder.project(exprs).and_then(LogicalPlanBuilder::build).map_err(plan_error)?;
    let mut bound = BoundQuery { plan, columns };
    if select.distinct {
        bound = binder.distinct(bound)?;
    }
    let values = output_values(&bound);
    let mut sorts = Vec::with_capacity(sort_values.len());
    for (target, item) in sort_values.into_iter().zip(&query.order_by) {
        sorts.push(match target {
            Ok(position) => sort_of(&values, position, item)?,
            Err(value) => sort(&value, item)?,
        });
    }
    let order = if text_columns.is_some() { sorts.clone() } else { Vec::new() };
    bound.plan = top::limited(binder, bound.plan, sorts, (select.top.as_ref(), query), outer)?;
    if let (Some(clause), Some(columns)) = (query.for_clause.as_deref(), text_columns) {
        // DISTINCT may have made other names.
        let names: Vec<String> =
            bound.plan.schema().fields().iter().take(visible).map(|field| field.name().clone()).collect();
        return binder.as_text(clause, bound.plan, &names, columns, order);
    }
    if wide {
        bound.plan = LogicalPlanBuilder::from(bound.plan)
            .project(names.iter().map(|name| reference(name)))
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
    }
    Ok(bound)
}

fn sort_of(values: &[(Typed, OutputColumn)], position: usize, item: &OrderItem) -> Result<Sort, SqlError> {
    let (value, _) =
        values.get(position).ok_or_else(|| SqlError::internal("an ORDER BY item without a column"))?;
    sort(value, item)
}

/// Returns the columns of rows that become text.
fn text_columns(clause: &ForClause, items: &[Item]) -> Vec<TextColumn> {
    items
        .iter()
        .map(|item| TextColumn {
            name: item.output.name.clone(),
            sql_type: item.output.sql_type.clone(),
            table: item.table.clone(),
            nested: is_nested(clause, item.written.as_ref()),
        })
        .collect()
}

/// Makes the errors 305, 306 and 42213 for values that have no order.
fn not_sortable(sql_type: &SqlType) -> SqlError {
    if matches!(sql_type, SqlType::Vector { .. }) {
        return errors::VECTOR_COMPARED.error();
    }
    if *sql_type == SqlType::Xml {
        let text = "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
        return SqlError::new(305, 16, 1, text);
    }
    SqlError::new(
        306,
        16,
        2,
        "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.",
    )
}

fn sort(value: &Typed, item: &OrderItem) -> Result<Sort, SqlError> {
    if matches!(
        value.sql_type,
        SqlType::Text
            | SqlType::NText
            | SqlType::Image
            | SqlType::Xml
            | SqlType::Json
            | SqlType::Vector { .. }
    ) || ClrType::is_unordered(&value.sql_type)
    {
        return Err(not_sortable(&value.sql_type));
    }
    // NULL is the lowest value.
    Ok(Sort::new(key(value), !item.descending, !item.descending))
}

/// Returns a bound query's columns as values above it.
pub(super) fn output_values(bound: &BoundQuery) -> Vec<(Typed, OutputColumn)> {
    bound
        .plan
        .schema()
        .fields()
        .iter()
        .zip(&bound.columns)
        .map(|(field, output)| {
            let value = Typed::new(reference(field.name()), output.sql_type.clone(), output.nullable)
                .with_collation(output.collation);
            (value, output.clone())
        })
        .collect()
}

/// Columns that can be named above a grouping: those grouped by.
fn above_columns(below: &Scope<'_>, grouping: &Grouping<'_>) -> Vec<ScopeColumn> {
    below
        .columns
        .iter()
        .filter_map(|column| {
            let (_, above) = grouping.keys.iter().find(|(key, _)| key.expr == column.value.expr)?;
            Some(ScopeColumn { value: above.clone(), ..column.clone() })
        })
        .collect()
}
