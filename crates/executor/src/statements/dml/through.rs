//! Changing a table through a common table or a view: which table of its query, and by which of its columns.

use databases::catalogue::same_name;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Output, OutputInto};
use tsql::expression::Expr;
use tsql::hints::TableHints;
use tsql::query::{CommonTable, Query, QueryBody, Select, SelectItem, TableSource};

use crate::session::Session;
use crate::statements::dml::reference::tables;
use crate::statements::dml::target::{ROW, TARGET, rename_target};
use crate::statements::dml::view::view_table;
use crate::statements::evaluation::resolve;

/// The change of a statement to its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Whole rows.
    Rows,
    /// Columns of these names.
    Columns(Vec<String>),
}

/// Names that columns have in a common table or view, each with its name in the table.
pub(super) type ColumnNames = Vec<(String, String)>;

/// A table behind a common table or view.
pub(super) struct Through {
    /// The name of the table.
    pub table: ObjectName,
    /// The names of its columns.
    pub names: ColumnNames,
    /// The hints of the query.
    pub hints: TableHints,
    /// The outermost view WITH CHECK OPTION on the way, by the name of its common table.
    pub check: Option<String>,
}

/// Puts the numbered rows into a common table, which then has their numbers and which errors call `shown`. Views below it become
/// common tables before it.
///
/// Errors: 4403 for a query whose rows are no table's, 4405 for changes of several tables, 4406 for a column that is computed.
pub(super) fn through(
    session: &Session,
    with: &mut Vec<CommonTable>,
    position: usize,
    changes: &Changes,
    shown: &str,
) -> Result<Through, SqlError> {
    let before = with.get(..position).unwrap_or_default().to_vec();
    let Some(common) = with.get_mut(position) else {
        return Err(SqlError::internal("a common table that is not there"));
    };
    let refused = || {
        SqlError::new(
            4403,
            16,
            1,
            format!(
                "Cannot update the view or function '{shown}' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator."
            ),
        )
    };
    let names = common.columns.clone();
    let QueryBody::Select(select) = &mut common.query.body else { return Err(refused()) };
    let grouped = !select.group_by.is_empty() || select.having.is_some();
    if select.distinct || grouped || select.items.iter().any(has_aggregate) {
        return Err(refused());
    }
    let shape = Shape { session, before: &before, select: select.as_ref().clone(), names, shown };
    let chosen = shape.chosen(changes)?;
    let mut sources = Vec::new();
    select.from.iter_mut().for_each(|source| tables(source, &mut sources));
    let Some(TableSource::Table { name: base, alias, hints }) = sources.into_iter().nth(chosen) else {
        return Err(refused());
    };
    let mut hints = *hints;
    let own = alias.clone().unwrap_or_else(|| base.name.clone());
    let mut real = std::mem::replace(base, ObjectName::bare(TARGET));
    *alias = Some(own.clone());
    let starred = select.items.iter().any(|item| match item {
        SelectItem::Wildcard(path) => path.last().is_none_or(|last| same_name(last, &own)),
        _ => false,
    });
    let mut names = shape.columns_of(chosen)?;
    if !starred {
        let row = Expr::Column(vec![own, ROW.to_string()]);
        select.items.push(SelectItem::Value { expr: row, alias: Some(ROW.to_string()) });
        if let Some(columns) = &mut common.columns {
            columns.push(ROW.to_string());
        }
    }
    // A common table or view over another one.
    let mut check = None;
    let behind = with.len() - position;
    let mut inner_shown = real.name.clone();
    let mut inner =
        before.iter().position(|table| real.schema.is_none() && same_name(&table.name, &real.name));
    if inner.is_none()
        && let Some(view) = view_table(session, &real, with.len())?
    {
        inner_shown = view.shown;
        real = ObjectName::bare(view.table.name.clone());
        check = view.checks.then(|| view.table.name.clone());
        with.insert(0, view.table);
        inner = Some(0);
    }
    if let Some(inner) = inner {
        let place = real.name.clone();
        let changes = match changes {
            Changes::Rows => Changes::Rows,
            Changes::Columns(columns) => {
                Changes::Columns(columns.iter().map(|column| named(&names, column).to_string()).collect())
            }
        };
        let found = through(session, with, inner, &changes, &inner_shown)?;
        hints = hints.with(found.hints);
        check = check.or(found.check);
        // There may be more common tables before it than there were.
        let own = with.len().checked_sub(behind).and_then(|position| with.get_mut(position));
        if let Some(CommonTable { query: Query { body: QueryBody::Select(select), .. }, .. }) = own {
            for source in &mut select.from {
                rename_target(source, &place);
            }
        }
        real = found.table;
        for (_, column) in &mut names {
            *column = named(&found.names, column).to_string();
        }
    } else {
        real = resolve::resolved(session, &real)?;
    }
    Ok(Through { table: real, names, hints, check })
}

/// Returns true for an item with an aggregate of its query.
fn has_aggregate(item: &SelectItem) -> bool {
    let SelectItem::Value { expr, .. } = item else { return false };
    let mut found = false;
    expr.clone().rewrite(&mut |part| {
        if let Expr::Function(call) = &part {
            let own = call.schema.is_none() && call.over.is_none();
            found |= own && query::functions::aggregate(&call.name).is_some();
        }
        part
    });
    found
}

/// Returns the table's name of a column.
pub(super) fn named<'n>(names: &'n [(String, String)], column: &'n str) -> &'n str {
    names.iter().find(|(own, _)| same_name(own, column)).map_or(column, |(_, real)| real)
}

/// Returns OUTPUT with the table's names of columns; what it shows is still called as in the common table or view.
pub(super) fn renamed_output(clause: &Output, names: &[(String, String)]) -> Output {
    let items = |items: &[SelectItem]| items.iter().flat_map(|item| renamed_items(item, names)).collect();
    Output {
        into: clause.into.as_ref().map(|into| OutputInto { items: items(&into.items), ..into.clone() }),
        shown: clause.shown.as_deref().map(items),
    }
}

fn renamed_items(item: &SelectItem, names: &[(String, String)]) -> Vec<SelectItem> {
    let is_changed = |table: &str| same_name(table, "inserted") || same_name(table, "deleted");
    match item {
        SelectItem::Wildcard(path) if path.last().is_some_and(|table| is_changed(table)) => names
            .iter()
            .map(|(own, real)| {
                let path = path.iter().chain([real]).cloned().collect();
                SelectItem::Value { expr: Expr::Column(path), alias: Some(own.clone()) }
            })
            .collect(),
        SelectItem::Value { expr, alias } => {
            let own = match expr {
                Expr::Column(path) => path.last().cloned(),
                _ => None,
            };
            let expr = expr.clone().rewrite(&mut |part| match part {
                Expr::Column(mut path) => {
                    if let [.., table, column] = path.as_mut_slice()
                        && is_changed(table)
                    {
                        *column = named(names, column).to_string();
                    }
                    Expr::Column(path)
                }
                part => part,
            });
            vec![SelectItem::Value { expr, alias: alias.clone().or(own) }]
        }
        other => vec![other.clone()],
    }
}

/// The query of a common table or view.
struct Shape<'a> {
    session: &'a Session,
    /// The common tables before it.
    before: &'a [CommonTable],
    select: Select,
    /// The names that its columns are given.
    names: Option<Vec<String>>,
    /// The name of the object, for messages.
    shown: &'a str,
}

/// The origin of a column of the query.
enum Origin {
    /// A column of the table of that number.
    Column(usize),
    /// An expression.
    Computed,
    /// No column has the name.
    Unknown,
}

impl Shape<'_> {
    /// Returns the number of the table that changes.
    fn chosen(&self, changes: &Changes) -> Result<usize, SqlError> {
        let several = || {
            let text = format!(
                "View or function '{}' is not updatable because the modification affects multiple base tables.",
                self.shown
            );
            SqlError::new(4405, 16, 1, text)
        };
        let columns = match changes {
            Changes::Columns(columns) => columns,
            Changes::Rows if self.select.from.iter().map(rows_of).sum::<usize>() > 1 => return Err(several()),
            Changes::Rows => return Ok(0),
        };
        let mut chosen = None;
        for column in columns {
            match self.origin(column)? {
                Origin::Column(table) => {
                    if chosen.is_some_and(|chosen| chosen != table) {
                        return Err(several());
                    }
                    chosen = Some(table);
                }
                Origin::Computed => {
                    let text = format!(
                        "Update or insert of view or function '{}' failed because it contains a derived or constant field.",
                        self.shown
                    );
                    return Err(SqlError::new(4406, 16, 1, text));
                }
                Origin::Unknown => {}
            }
        }
        Ok(chosen.unwrap_or(0))
    }

    /// Returns the columns that come from one of the tables by their names in the query and in the table.
    fn columns_of(&self, table: usize) -> Result<ColumnNames, SqlError> {
        let mut names = Vec::new();
        for (index, item) in self.select.items.iter().enumerate() {
            if let SelectItem::Wildcard(qualifier) = item {
                for (number, column) in self.columns_behind(qualifier)? {
                    if number == table {
                        names.push((column.clone(), column));
                    }
                }
                continue;
            }
            let Some((visible, path)) = self.column_item(index, item) else { continue };
            if let Some((own, column)) = self.place_of(path)?
                && own == table
            {
                names.push((visible.to_string(), column));
            }
        }
        Ok(names)
    }

    /// The columns that a wildcard stands for, each with the number of its table.
    fn columns_behind(&self, qualifier: &[String]) -> Result<Vec<(usize, String)>, SqlError> {
        let mut from = self.select.from.clone();
        let mut sources = Vec::new();
        from.iter_mut().for_each(|source| tables(source, &mut sources));
        let mut columns = Vec::new();
        for (number, source) in sources.into_iter().enumerate() {
            let TableSource::Table { name, alias, .. } = source else { continue };
            let own = alias.as_ref().unwrap_or(&name.name);
            if qualifier.last().is_none_or(|table| same_name(table, own)) {
                columns.extend(self.names_in(name)?.into_iter().map(|column| (number, column)));
            }
        }
        Ok(columns)
    }

    /// The names of all columns of a table or a common table.
    fn names_in(&self, table: &ObjectName) -> Result<Vec<String>, SqlError> {
        let Some(shape) = self.below(table)? else {
            let real = resolve::resolved(self.session, table)?;
            let found = self.session.work.find(&real, &self.session.database)?;
            let columns = found.iter().flat_map(|table| &table.definition.columns);
            return Ok(columns.map(|column| column.name.clone()).collect());
        };
        let Some(shape) = shape else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for (index, item) in shape.select.items.iter().enumerate() {
            match item {
                SelectItem::Wildcard(qualifier) => {
                    names.extend(shape.columns_behind(qualifier)?.into_iter().map(|(_, column)| column));
                }
                _ => names.extend(shape.visible(index, item).map(str::to_string)),
            }
        }
        Ok(names)
    }

    /// A common table before this one, or a view; within it None for one that is no plain SELECT.
    fn below(&self, table: &ObjectName) -> Result<Option<Option<Shape<'_>>>, SqlError> {
        let place =
            self.before.iter().position(|own| table.schema.is_none() && same_name(&own.name, &table.name));
        let (common, before) = match place {
            Some(place) => (self.before.get(place).cloned(), self.before.get(..place).unwrap_or_default()),
            None => (view_table(self.session, table, 0)?.map(|view| view.table), &[] as &[CommonTable]),
        };
        let Some(CommonTable { columns, query, .. }) = common else { return Ok(None) };
        let QueryBody::Select(select) = query.body else { return Ok(Some(None)) };
        let (session, shown) = (self.session, self.shown);
        Ok(Some(Some(Shape { session, before, select: *select, names: columns, shown })))
    }

    /// Returns the name and the path of an item that is a column.
    fn column_item<'s>(&'s self, index: usize, item: &'s SelectItem) -> Option<(&'s str, &'s [String])> {
        let SelectItem::Value { expr: Expr::Column(path), .. } = item else { return None };
        Some((self.visible(index, item)?, path))
    }

    fn visible<'s>(&'s self, index: usize, item: &'s SelectItem) -> Option<&'s str> {
        if let Some(name) = self.names.as_ref().and_then(|names| names.get(index)) {
            return Some(name);
        }
        match item {
            SelectItem::Value { alias: Some(alias), .. } => Some(alias),
            SelectItem::Value { expr: Expr::Column(path), .. } => path.last().map(String::as_str),
            _ => None,
        }
    }

    fn origin(&self, name: &str) -> Result<Origin, SqlError> {
        for (index, item) in self.select.items.iter().enumerate() {
            if !self.visible(index, item).is_some_and(|visible| same_name(visible, name)) {
                continue;
            }
            return Ok(match item {
                SelectItem::Value { expr: Expr::Column(path), .. } => match self.place_of(path)? {
                    Some((table, _)) => Origin::Column(table),
                    None => Origin::Computed,
                },
                SelectItem::Wildcard(_) => continue,
                _ => Origin::Computed,
            });
        }
        for item in &self.select.items {
            let SelectItem::Wildcard(qualifier) = item else { continue };
            let path: Vec<String> = qualifier.iter().cloned().chain([name.to_string()]).collect();
            if let Some((table, _)) = self.place_of(&path)? {
                return Ok(Origin::Column(table));
            }
        }
        Ok(Origin::Unknown)
    }

    /// Returns the number of a column's table, and the column's name there; `None` for one of no table.
    fn place_of(&self, path: &[String]) -> Result<Option<(usize, String)>, SqlError> {
        let Some((column, qualifier)) = path.split_last() else { return Ok(None) };
        let mut from = self.select.from.clone();
        let alone = from.iter().map(rows_of).sum::<usize>() == 1;
        let mut sources = Vec::new();
        from.iter_mut().for_each(|source| tables(source, &mut sources));
        for (number, source) in sources.into_iter().enumerate() {
            let TableSource::Table { name, alias, .. } = source else { continue };
            let has = match qualifier.last() {
                Some(table) => same_name(table, alias.as_ref().unwrap_or(&name.name)),
                None => alone || self.has_column(name, column)?,
            };
            if has {
                return Ok(Some((number, column.clone())));
            }
        }
        Ok(None)
    }

    fn has_column(&self, table: &ObjectName, column: &str) -> Result<bool, SqlError> {
        match self.below(table)? {
            Some(Some(shape)) => return Ok(!matches!(shape.origin(column)?, Origin::Unknown)),
            Some(None) => return Ok(false),
            None => {}
        }
        let real = resolve::resolved(self.session, table)?;
        let found = self.session.work.find(&real, &self.session.database)?;
        Ok(found.is_some_and(|table| table.definition.position(column).is_some()))
    }
}

/// Tables and queries of a source, which are what rows are counted by.
fn rows_of(source: &TableSource) -> usize {
    match source {
        TableSource::Table { .. } | TableSource::Derived { .. } => 1,
        TableSource::Join { left, right, .. } => rows_of(left) + rows_of(right),
        _ => 0,
    }
}
