//! The nesting of AUTO: a level for each table, in the order in which the select list names them.

use super::TextColumn;
use tsql::same_name;

/// A table and the columns that stand under it.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// The table's name.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
}

/// Groups columns into levels. A column of no table belongs to the table before it.
pub(super) fn levels(columns: &[TextColumn]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut current = 0;
    for (position, column) in columns.iter().enumerate() {
        if let Some(table) = &column.table {
            current = levels.iter().position(|level| same_name(&level.name, table)).unwrap_or_else(|| {
                levels.push(Level { name: table.clone(), columns: Vec::new() });
                levels.len() - 1
            });
        } else if levels.is_empty() {
            let first = columns.iter().find_map(|column| column.table.clone());
            levels.push(Level { name: first.unwrap_or_else(|| "row".to_string()), columns: Vec::new() });
        }
        if let Some(level) = levels.get_mut(current) {
            level.columns.push(position);
        }
    }
    levels
}

/// Returns the first level whose values differ from those of the row before; the last level if none does.
pub(super) fn first_change<T: PartialEq>(levels: &[Level], before: &[T], row: &[T]) -> usize {
    let differs = |level: &Level| level.columns.iter().any(|at| before.get(*at) != row.get(*at));
    levels.iter().position(differs).unwrap_or(levels.len().saturating_sub(1))
}
