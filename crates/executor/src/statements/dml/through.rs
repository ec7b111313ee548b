//! Changing a table through a common table or a view: which table of its query, and by which of its columns.

use databases::catalogue::same_name;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::hints::TableHints;
use tsql::query::{CommonTable, Query, QueryBody, Select, SelectItem, TableSource};

use crate::session::Session;
use crate::statements::dml::reference::tables;
use crate::statements::dml::target::{DERIVED, ROW, TARGET, VIEW, rename_target};
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

/// Puts the numbered rows into a common table, which then has their numbers. Returns the table's name.
///
/// Errors: 4403 for a query whose rows are no table's, 4405 for changes of several tables, 4406 for a column that is computed.
pub(super) fn through(
    session: &Session,
    with: &mut Vec<CommonTable>,
    position: usize,
    changes: &Changes,
) -> Result<(ObjectName, Option<ColumnNames>, TableHints), SqlError> {
    let before = with.get(..position).unwrap_or_default().to_vec();
    let Some(common) = with.get_mut(position) else {
        return Err(SqlError::internal("a common table that is not there"));
    };
    let shown =
        if [VIEW, DERIVED].contains(&common.name.as_str()) { common.name.trim() } else { &common.name };
    let shown = shown.to_string();
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
    if select.distinct || !select.group_by.is_empty() || select.having.is_some() {
        return Err(refused());
    }
    let shape = Shape { session, before: &before, select: select.as_ref().clone(), names, shown: &shown };
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
    // A common table over a common table.
    let inner = before.iter().position(|table| real.schema.is_none() && same_name(&table.name, &real.name));
    if let Some(inner) = inner {
        let place = real.clone();
        let changes = match changes {
            Changes::Rows => Changes::Rows,
            Changes::Columns(columns) => {
                Changes::Columns(columns.iter().map(|column| named(&names, column).to_string()).collect())
            }
        };
        let (base, inner_names, more) = through(session, with, inner, &changes)?;
        hints = hints.with(more);
        if let Some(CommonTable { query: Query { body: QueryBody::Select(select), .. }, .. }) =
            with.get_mut(position)
        {
            for source in &mut select.from {
                rename_target(source, &place.name);
            }
        }
        real = base;
        if let Some(inner_names) = inner_names {
            for (_, column) in &mut names {
                *column = named(&inner_names, column).to_string();
            }
        }
    }
    Ok((real, Some(names), hints))
}

/// Returns the table's name of a column.
pub(super) fn named<'n>(names: &'n [(String, String)], column: &'n str) -> &'n str {
    names.iter().find(|(own, _)| same_name(own, column)).map_or(column, |(_, real)| real)
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
            let Some((visible, path)) = self.column_item(index, item) else { continue };
            if let Some((own, column)) = self.place_of(path)?
                && own == table
            {
                names.push((visible.to_string(), column));
            }
        }
        Ok(names)
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
        let common =
            self.before.iter().find(|own| table.schema.is_none() && same_name(&own.name, &table.name));
        if let Some(common) = common {
            let QueryBody::Select(select) = &common.query.body else { return Ok(false) };
            let shape = Shape {
                session: self.session,
                before: self.before,
                select: select.as_ref().clone(),
                names: common.columns.clone(),
                shown: self.shown,
            };
            return Ok(!matches!(shape.origin(column)?, Origin::Unknown));
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
