//! The rows behind a component, as a SELECT that is still open: its FROM, joins, conditions and columns.

use std::collections::BTreeSet;

use crate::dtsx::flow_columns::FlowColumns;

/// The first source of a copy, as its query calls it.
pub const SOURCE: &str = "source";

/// An open SELECT.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The text behind FROM.
    pub from: String,
    /// Joins behind it.
    pub joins: Vec<String>,
    /// Conditions, all of which hold.
    pub conditions: Vec<String>,
    /// The columns, by their lineages.
    pub columns: FlowColumns,
    /// Sort keys, the first one first, if an order is wanted.
    pub order: Vec<String>,
    /// The variable that takes the number of rows.
    pub rows_into: Option<String>,
    /// A column is not what the source has under its name.
    pub is_changed: bool,
}

impl Rows {
    /// Returns true if the rows are those of the source, but for conditions and expressions.
    pub fn are_of_source(&self) -> bool {
        self.from == SOURCE && self.joins.is_empty() && self.order.is_empty()
    }

    /// Writes what follows the SELECT list.
    pub fn tail(&self) -> String {
        let mut text = format!("FROM {}", self.from);
        for join in &self.joins {
            text.push('\n');
            text.push_str(join);
        }
        if !self.conditions.is_empty() {
            text.push_str(&format!("\nWHERE {}", self.conditions.join(" AND ")));
        }
        text
    }

    /// Makes a table of the rows, called `alias`, so that they can be joined, united or grouped.
    pub fn closed(self, alias: &str) -> Self {
        let (list, columns) = self.select_list(alias);
        let from = format!("(SELECT {list}\n{}) AS {alias}", self.tail());
        Self {
            from,
            joins: Vec::new(),
            conditions: Vec::new(),
            columns,
            order: Vec::new(),
            rows_into: self.rows_into,
            is_changed: true,
        }
    }

    /// Writes a SELECT list of all columns, each under a name of its own, and returns the columns as those of `alias`.
    fn select_list(&self, alias: &str) -> (String, FlowColumns) {
        let mut taken = BTreeSet::new();
        let mut parts = Vec::new();
        let mut columns = FlowColumns::default();
        for (lineage, name, sql) in self.columns.all() {
            let own = unique(name, &mut taken);
            let quoted = load::quoted(&own);
            parts.push(format!("{sql} AS {quoted}"));
            columns.put(lineage, name, format!("{alias}.{quoted}"));
        }
        match parts.is_empty() {
            true => ("1 AS [none]".to_owned(), columns),
            false => (parts.join(", "), columns),
        }
    }
}

/// Gives a column a name that no other has.
pub fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut own = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(own.to_lowercase()) {
        own = format!("{name}_{number}");
        number = number.saturating_add(1);
    }
    own
}
