//! The text of `INSERT BULK`, the statement before a bulk load's rows.

use std::fmt::Write;

use tds::{Column, SqlType};

/// Hints about a load for the server: the WITH clause of INSERT BULK.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BulkHints {
    /// Check CHECK and FOREIGN KEY constraints; without it they become untrusted.
    pub check_constraints: bool,
    /// Fire AFTER INSERT triggers, once per batch.
    pub fire_triggers: bool,
    /// NULLs stay NULL where the column has a default.
    pub keep_nulls: bool,
    /// One bulk-update lock on the table in place of row locks.
    pub table_lock: bool,
    /// Rows in this batch, about.
    pub rows_per_batch: Option<u64>,
    /// Kilobytes in this batch, about.
    pub kilobytes_per_batch: Option<u64>,
    /// The order of the rows, by the clustered key: column, descending. The server verifies it.
    pub order: Vec<(String, bool)>,
    /// Further hints as a user wrote them, separated by commas; only the server checks them.
    pub as_written: Option<String>,
}

/// Writes `INSERT BULK` for `table` and the columns as they are declared in the table.
///
/// `table` is a name of one to three parts, and is put into the statement unchanged. Types are
/// spelled with their lengths; text columns carry the name of their collation, if it has one.
pub fn insert_bulk_statement(table: &str, columns: &[Column], hints: &BulkHints) -> String {
    let mut text = format!("INSERT BULK {table} (");
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {}", quote_name(&column.name), declared_type(column.sql_type()));
        if column.sql_type().is_character()
            && let Some(name) = column.type_info.collation.and_then(|collation| collation.name())
        {
            let _ = write!(text, " COLLATE {name}");
        }
    }
    text.push(')');
    let options = options(hints);
    if !options.is_empty() {
        let _ = write!(text, " WITH ({})", options.join(", "));
    }
    text
}

/// Puts a name in brackets; `]` is doubled.
pub fn quote_name(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Returns the spelling that servers accept in INSERT BULK: CLR types and JSON travel, and are declared, as
/// the types that carry them.
fn declared_type(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Udt { .. } => "varbinary(max)".to_owned(),
        SqlType::Json => "nvarchar(max)".to_owned(),
        other => other.to_string(),
    }
}

fn options(hints: &BulkHints) -> Vec<String> {
    let flags = [
        (hints.check_constraints, "CHECK_CONSTRAINTS"),
        (hints.fire_triggers, "FIRE_TRIGGERS"),
        (hints.keep_nulls, "KEEP_NULLS"),
        (hints.table_lock, "TABLOCK"),
    ];
    let mut options: Vec<String> =
        flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name.to_owned()).collect();
    options.extend(hints.rows_per_batch.map(|rows| format!("ROWS_PER_BATCH = {rows}")));
    options.extend(hints.kilobytes_per_batch.map(|kilobytes| format!("KILOBYTES_PER_BATCH = {kilobytes}")));
    if !hints.order.is_empty() {
        let keys: Vec<String> = hints
            .order
            .iter()
            .map(|(name, descending)| {
                format!("{} {}", quote_name(name), if *descending { "DESC" } else { "ASC" })
            })
            .collect();
        options.push(format!("ORDER ({})", keys.join(", ")));
    }
    options.extend(hints.as_written.clone());
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use tds::{Collation, Length};

    #[test]
    fn every_clause_in_its_place() {
        let latin1 = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        let columns = [
            Column::new("id", SqlType::Int, false, None),
            Column::new("a]b", SqlType::NVarChar { length: Length::Units(50) }, true, latin1),
            Column::new("at", SqlType::DateTime2 { scale: 7 }, true, None),
            Column::new("doc", SqlType::Json, true, None),
        ];
        assert_eq!(
            insert_bulk_statement("dbo.t", &columns, &BulkHints::default()),
            "INSERT BULK dbo.t ([id] int, [a]]b] nvarchar(50) COLLATE SQL_Latin1_General_CP1_CI_AS, \
             [at] datetime2(7), [doc] nvarchar(max))"
        );
        let hints = BulkHints {
            check_constraints: true,
            fire_triggers: true,
            keep_nulls: true,
            table_lock: true,
            rows_per_batch: Some(1000),
            kilobytes_per_batch: Some(64),
            order: vec![("id".to_owned(), false), ("a]b".to_owned(), true)],
            as_written: Some("SOMETHING(x), ELSE=1".to_owned()),
        };
        assert_eq!(
            insert_bulk_statement("t", &columns[..1], &hints),
            "INSERT BULK t ([id] int) WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS, TABLOCK, \
             ROWS_PER_BATCH = 1000, KILOBYTES_PER_BATCH = 64, ORDER ([id] ASC, [a]]b] DESC), SOMETHING(x), ELSE=1)"
        );
    }
}
