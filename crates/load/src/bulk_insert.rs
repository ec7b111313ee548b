//! `BULK INSERT`: the server reads a file by itself.

use std::fmt::Write;

use crate::table_name::{TableName, quoted};

/// Options of `BULK INSERT` (T-SQL reference). An option that is `None` or false is left out, so the server's default applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BulkInsertOptions {
    /// `DATAFILETYPE`: `char`, `widechar`, `native` or `widenative`.
    pub data_file_type: Option<&'static str>,
    /// `FORMAT = 'CSV'`: quoted fields are read as RFC 4180 has them (SQL Server 2017).
    pub csv: bool,
    /// `FIELDQUOTE`
    pub field_quote: Option<char>,
    /// `FIELDTERMINATOR`, as T-SQL spells it (`\t`, `0x1f`).
    pub field_terminator: Option<String>,
    /// `ROWTERMINATOR`, as T-SQL spells it. On Windows `\n` means CR LF, `0x0a` a line feed alone.
    pub row_terminator: Option<String>,
    /// `CODEPAGE`: `ACP`, `OEM`, `RAW` or a number.
    pub code_page: Option<String>,
    /// `FORMATFILE`: a path that the server sees.
    pub format_file: Option<String>,
    /// `ERRORFILE`: a path that the server can write; the file must not exist.
    pub error_file: Option<String>,
    /// `FIRSTROW`, from 1.
    pub first_row: Option<u64>,
    /// `LASTROW`
    pub last_row: Option<u64>,
    /// `MAXERRORS`: the load fails when more rows are refused.
    pub max_errors: Option<u64>,
    /// `BATCHSIZE`
    pub batch_rows: Option<u64>,
    /// `ORDER`: column, descending.
    pub order: Vec<(String, bool)>,
    /// `TABLOCK`
    pub table_lock: bool,
    /// `CHECK_CONSTRAINTS`
    pub check_constraints: bool,
    /// `FIRE_TRIGGERS`
    pub fire_triggers: bool,
    /// `KEEPIDENTITY`
    pub keep_identity: bool,
    /// `KEEPNULLS`
    pub keep_nulls: bool,
}

/// Writes the statement that loads `file`, a path as the server sees it. Values are quoted, so that no text can end its
/// literal.
pub fn bulk_insert_statement(table: &TableName, file: &str, options: &BulkInsertOptions) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut text = |keyword: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{keyword} = {}", literal(&value))));
    };
    text("DATAFILETYPE", options.data_file_type.map(str::to_owned));
    text("FORMAT", options.csv.then(|| "CSV".to_owned()));
    text("FIELDQUOTE", options.field_quote.map(String::from));
    text("FIELDTERMINATOR", options.field_terminator.clone());
    text("ROWTERMINATOR", options.row_terminator.clone());
    text("CODEPAGE", options.code_page.clone());
    text("FORMATFILE", options.format_file.clone());
    text("ERRORFILE", options.error_file.clone());
    let numbers = [
        ("FIRSTROW", options.first_row),
        ("LASTROW", options.last_row),
        ("MAXERRORS", options.max_errors),
        ("BATCHSIZE", options.batch_rows),
    ];
    words.extend(numbers.iter().filter_map(|(keyword, value)| Some(format!("{keyword} = {}", (*value)?))));
    if !options.order.is_empty() {
        let direction = |descending: &bool| if *descending { "DESC" } else { "ASC" };
        let keys = options
            .order
            .iter()
            .map(|(name, descending)| format!("{} {}", quoted(name), direction(descending)));
        words.push(format!("ORDER ({})", keys.collect::<Vec<_>>().join(", ")));
    }
    let flags = [
        ("TABLOCK", options.table_lock),
        ("CHECK_CONSTRAINTS", options.check_constraints),
        ("FIRE_TRIGGERS", options.fire_triggers),
        ("KEEPIDENTITY", options.keep_identity),
        ("KEEPNULLS", options.keep_nulls),
    ];
    words.extend(flags.iter().filter(|(_, set)| *set).map(|(word, _)| (*word).to_owned()));
    let mut statement = format!("BULK INSERT {table} FROM {}", literal(file));
    if !words.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(statement, " WITH ({})", words.join(", "));
    }
    statement
}

/// Writes a string literal; of Unicode only where it must be, as the reference shows these options.
fn literal(text: &str) -> String {
    let unicode = if text.is_ascii() { "" } else { "N" };
    format!("{unicode}'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_option_in_its_place() {
        let table: TableName = "dbo.t".parse().unwrap();
        let plain = bulk_insert_statement(&table, r"\\share\it's.csv", &BulkInsertOptions::default());
        assert_eq!(plain, r"BULK INSERT [dbo].[t] FROM '\\share\it''s.csv'");
        let foreign = bulk_insert_statement(&table, "größe.csv", &BulkInsertOptions::default());
        assert_eq!(foreign, "BULK INSERT [dbo].[t] FROM N'größe.csv'");
        let options = BulkInsertOptions {
            data_file_type: Some("char"),
            csv: true,
            field_quote: Some('\''),
            field_terminator: Some(",".to_owned()),
            row_terminator: Some("0x0a".to_owned()),
            code_page: Some("65001".to_owned()),
            format_file: Some("t.xml".to_owned()),
            error_file: Some("t.err".to_owned()),
            first_row: Some(2),
            last_row: Some(9),
            max_errors: Some(0),
            batch_rows: Some(1000),
            order: vec![("a]b".to_owned(), true), ("c".to_owned(), false)],
            table_lock: true,
            check_constraints: true,
            fire_triggers: true,
            keep_identity: true,
            keep_nulls: true,
        };
        assert_eq!(
            bulk_insert_statement(&table, "t.csv", &options),
            "BULK INSERT [dbo].[t] FROM 't.csv' WITH (DATAFILETYPE = 'char', FORMAT = 'CSV', FIELDQUOTE = '''', \
             FIELDTERMINATOR = ',', ROWTERMINATOR = '0x0a', CODEPAGE = '65001', FORMATFILE = 't.xml', \
             ERRORFILE = 't.err', FIRSTROW = 2, LASTROW = 9, MAXERRORS = 0, BATCHSIZE = 1000, \
             ORDER ([a]]b] DESC, [c] ASC), TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEPIDENTITY, KEEPNULLS)"
        );
    }
}
