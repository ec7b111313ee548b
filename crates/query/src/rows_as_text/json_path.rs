//! FOR JSON PATH: names of columns with points are paths of objects.

use std::collections::HashSet;

use super::super::Datum;
use super::json::{check_names, quoted, value};
use super::{RowWriter, TextColumn};
use tsql::SqlError;
use tsql::for_clause::ForJson;

/// Errors: 13605 for a column without a name, 13601 for two columns in each other's way.
pub(super) fn check(columns: &[TextColumn]) -> Result<(), SqlError> {
    check_names(columns)?;
    let conflict = |name: &str| {
        let text = format!(
            "Property '{name}' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list."
        );
        SqlError::new(13601, 16, 1, text)
    };
    // Objects that are closed cannot be opened again, and no name is given twice.
    let mut used: HashSet<Vec<&str>> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for column in columns {
        let path: Vec<&str> = column.name.split('.').collect();
        let common = path.iter().zip(&open).take_while(|(one, other)| one == other).count();
        for depth in common..path.len() {
            if !used.insert(path.iter().take(depth + 1).copied().collect()) {
                return Err(conflict(&column.name));
            }
        }
        if common == path.len() {
            return Err(conflict(&column.name));
        }
        open = path.split_last().map(|(_, parents)| parents.to_vec()).unwrap_or_default();
    }
    Ok(())
}

/// Writes the rows of PATH.
#[derive(Debug)]
pub(super) struct PathWriter {
    clause: ForJson,
    columns: Vec<TextColumn>,
    rows: usize,
    text: String,
}

impl PathWriter {
    pub(super) fn new(clause: ForJson, columns: Vec<TextColumn>) -> PathWriter {
        PathWriter { clause, columns, rows: 0, text: String::new() }
    }
}

impl RowWriter for PathWriter {
    fn add(&mut self, row: Vec<Datum>) -> Result<(), SqlError> {
        if self.rows > 0 {
            self.text.push(',');
        }
        self.rows += 1;
        self.text.push('{');
        let mut open: Vec<&str> = Vec::new();
        let mut first = true;
        for (column, cell) in self.columns.iter().zip(row) {
            if cell.is_null() && !self.clause.include_nulls {
                continue;
            }
            let mut path: Vec<&str> = column.name.split('.').collect();
            let name = path.pop().unwrap_or_default();
            let common = path.iter().zip(&open).take_while(|(one, other)| one == other).count();
            self.text.push_str(&"}".repeat(open.len() - common));
            if !std::mem::take(&mut first) {
                self.text.push(',');
            }
            for object in path.iter().skip(common) {
                self.text.push_str(&format!("{}:{{", quoted(object)));
            }
            self.text.push_str(&format!(
                "{}:{}",
                quoted(name),
                value(cell, &column.sql_type, column.nested)?
            ));
            open = path;
        }
        self.text.push_str(&"}".repeat(open.len() + 1));
        Ok(())
    }

    fn rows(&self) -> Option<String> {
        (self.rows > 0).then(|| self.text.clone())
    }

    fn size(&self) -> usize {
        self.text.capacity()
    }
}
