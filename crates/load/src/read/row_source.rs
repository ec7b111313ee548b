//! The source of a read: a table or a query.

use super::{key::Parameter, key_range::Condition};
use crate::table_name::{TableName, quoted};

/// The source of a read: a table or a query.
#[derive(Debug, Clone, PartialEq)]
pub enum RowSource {
    /// A table or a view, all columns or those named.
    Table {
        /// The name of the table.
        name: TableName,
        /// The columns, in this order.
        columns: Option<Vec<String>>,
        /// A condition of T-SQL that the rows meet.
        condition: Option<String>,
    },
    /// The result of a query.
    Query {
        /// One SELECT. To be split it must be one that may stand in FROM: without ORDER BY and common tables.
        sql: String,
        /// The parameters of the query.
        parameters: Vec<Parameter>,
    },
}

impl RowSource {
    /// Makes the source of a whole table.
    pub fn table(name: TableName) -> Self {
        Self::Table { name, columns: None, condition: None }
    }

    /// Makes the source of a query without parameters.
    pub fn query(sql: impl Into<String>) -> Self {
        Self::Query { sql: sql.into(), parameters: Vec::new() }
    }

    /// Returns the table, if it is one.
    pub(crate) fn table_name(&self) -> Option<&TableName> {
        match self {
            Self::Table { name, .. } => Some(name),
            Self::Query { .. } => None,
        }
    }

    /// Returns the SQL text that goes behind FROM.
    pub(crate) fn from(&self) -> String {
        match self {
            Self::Table { name, .. } => name.to_string(),
            Self::Query { sql, .. } => {
                let sql = sql.trim().trim_end_matches([';', ' ', '\n', '\r', '\t']);
                // A comment at the query's end must not hide the bracket.
                format!("({sql}\n) AS [bulkwire_rows]")
            }
        }
    }

    /// Returns the parameters that every statement over the source needs.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        match self {
            Self::Table { .. } => &[],
            Self::Query { parameters, .. } => parameters,
        }
    }

    /// Writes the statement for the rows of a condition. For all rows a query is run as it was given.
    pub(crate) fn select(&self, condition: &Condition, order: &str) -> (String, Vec<Parameter>) {
        let mut parameters = self.parameters().to_vec();
        if let (Self::Query { sql, .. }, true) = (self, condition.sql.is_empty() && order.is_empty()) {
            return (sql.clone(), parameters);
        }
        let list = match self {
            Self::Table { columns: Some(columns), .. } => {
                columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ")
            }
            _ => "*".to_owned(),
        };
        let mut sql = format!("SELECT {list} FROM {}", self.from());
        let own = match self {
            Self::Table { condition: Some(own), .. } => format!("({own})"),
            _ => String::new(),
        };
        let conditions: Vec<&str> =
            [own.as_str(), condition.sql.as_str()].into_iter().filter(|sql| !sql.is_empty()).collect();
        if !conditions.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(&conditions.join(" AND "));
        }
        sql.push_str(order);
        parameters.extend(condition.parameters.iter().cloned());
        (sql, parameters)
    }
}
