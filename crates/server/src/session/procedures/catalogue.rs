//! The ODBC catalogue procedures: sp_tables, sp_columns, sp_pkeys.

use std::sync::Arc;

use tds::SqlType;

use super::super::Session;
use super::super::interpreter::Frame;
use super::{Argument, text_of};
use crate::catalogue::views::{View, max_length, precision, scale};
use crate::catalogue::{ColumnDefinition, TableDefinition, same_name};
use crate::engine::Datum;
use crate::engine::convert::length_limit;
use crate::sql_error::SqlError;

impl Session {
    fn shown_tables(
        &self,
        name: Option<String>,
        owner: Option<String>,
        frame: &Frame,
    ) -> Vec<Arc<TableDefinition>> {
        let facts = self.facts(frame);
        facts
            .tables()
            .iter()
            .filter(|table| same_name(&table.database, &self.database) || table.name.starts_with('#'))
            .filter(|table| name.as_deref().is_none_or(|name| matches(name, &table.name)))
            .filter(|table| owner.as_deref().is_none_or(|owner| matches(owner, &table.schema)))
            .cloned()
            .collect()
    }

    pub(super) fn catalogue_tables(&self, arguments: &[Argument], frame: &Frame) -> Result<View, SqlError> {
        let mut view = View::new(&[
            ("TABLE_QUALIFIER", "name"),
            ("TABLE_OWNER", "name"),
            ("TABLE_NAME", "name"),
            ("TABLE_TYPE", "varchar"),
            ("REMARKS", "varchar"),
        ]);
        let (name, owner) = (text_of(arguments, 0, "@table_name"), text_of(arguments, 1, "@table_owner"));
        for table in self.shown_tables(name, owner, frame) {
            view.push(vec![
                Datum::Text(table.database.clone()),
                Datum::Text(table.schema.clone()),
                Datum::Text(table.name.clone()),
                Datum::Text("TABLE".to_string()),
                Datum::Null,
            ]);
        }
        Ok(view)
    }

    pub(super) fn catalogue_primary_keys(
        &self,
        arguments: &[Argument],
        frame: &Frame,
    ) -> Result<View, SqlError> {
        let mut view = View::new(&[
            ("TABLE_QUALIFIER", "name"),
            ("TABLE_OWNER", "name"),
            ("TABLE_NAME", "name"),
            ("COLUMN_NAME", "name"),
            ("KEY_SEQ", "smallint"),
            ("PK_NAME", "name"),
        ]);
        let (name, owner) = (text_of(arguments, 0, "@table_name"), text_of(arguments, 1, "@table_owner"));
        for table in self.shown_tables(name, owner, frame) {
            for key in table.keys.iter().filter(|key| key.primary) {
                for (ordinal, (column, _)) in (1_i64..).zip(&key.columns) {
                    view.push(vec![
                        Datum::Text(table.database.clone()),
                        Datum::Text(table.schema.clone()),
                        Datum::Text(table.name.clone()),
                        Datum::Text(column.clone()),
                        Datum::Int(ordinal),
                        Datum::Text(key.name.clone()),
                    ]);
                }
            }
        }
        Ok(view)
    }

    pub(super) fn catalogue_columns(&self, arguments: &[Argument], frame: &Frame) -> Result<View, SqlError> {
        let mut view = View::new(&[
            ("TABLE_QUALIFIER", "name"),
            ("TABLE_OWNER", "name"),
            ("TABLE_NAME", "name"),
            ("COLUMN_NAME", "name"),
            ("DATA_TYPE", "smallint"),
            ("TYPE_NAME", "name"),
            ("PRECISION", "int"),
            ("LENGTH", "int"),
            ("SCALE", "smallint"),
            ("RADIX", "smallint"),
            ("NULLABLE", "smallint"),
            ("REMARKS", "varchar"),
            ("COLUMN_DEF", "text"),
            ("SQL_DATA_TYPE", "smallint"),
            ("SQL_DATETIME_SUB", "smallint"),
            ("CHAR_OCTET_LENGTH", "int"),
            ("ORDINAL_POSITION", "int"),
            ("IS_NULLABLE", "varchar"),
            ("SS_DATA_TYPE", "tinyint"),
        ]);
        let (name, owner) = (text_of(arguments, 0, "@table_name"), text_of(arguments, 1, "@table_owner"));
        let column_name = text_of(arguments, 3, "@column_name");
        for table in self.shown_tables(name, owner, frame) {
            for (ordinal, column) in (1_i64..).zip(&table.columns) {
                if column_name.as_deref().is_some_and(|wanted| !matches(wanted, &column.name)) {
                    continue;
                }
                let mut row = vec![
                    Datum::Text(table.database.clone()),
                    Datum::Text(table.schema.clone()),
                    Datum::Text(table.name.clone()),
                    Datum::Text(column.name.clone()),
                ];
                row.extend(odbc_description(ordinal, column));
                view.push(row);
            }
        }
        Ok(view)
    }
}

/// Whether a name matches a pattern of LIKE.
fn matches(pattern: &str, name: &str) -> bool {
    crate::engine::Pattern::new(pattern, Some('\\'), true).matches(&name.to_lowercase())
}

/// ODBC's view of a column's type (SQLColumns).
fn odbc_description(ordinal: i64, column: &ColumnDefinition) -> Vec<Datum> {
    let sql_type = &column.sql_type;
    let (data_type, sql_data_type, sub) = match sql_type {
        SqlType::Bit => (-7, -7, None),
        SqlType::TinyInt => (-6, -6, None),
        SqlType::SmallInt => (5, 5, None),
        SqlType::Int => (4, 4, None),
        SqlType::BigInt => (-5, -5, None),
        SqlType::Real => (7, 7, None),
        SqlType::Float => (6, 6, None),
        SqlType::Decimal { .. } | SqlType::Money | SqlType::SmallMoney => (3, 3, None),
        SqlType::Numeric { .. } => (2, 2, None),
        SqlType::Date => (91, 9, Some(1)),
        SqlType::Time { .. } => (-154, -154, Some(0)),
        SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2 { .. } => (93, 9, Some(3)),
        SqlType::DateTimeOffset { .. } => (-155, -155, Some(0)),
        SqlType::Char { .. } => (1, 1, None),
        SqlType::VarChar { .. } => (12, 12, None),
        SqlType::Text => (-1, -1, None),
        SqlType::NChar { .. } => (-8, -8, None),
        SqlType::NVarChar { .. } => (-9, -9, None),
        SqlType::NText => (-10, -10, None),
        SqlType::Binary { .. } | SqlType::RowVersion => (-2, -2, None),
        SqlType::VarBinary { .. } => (-3, -3, None),
        SqlType::Image => (-4, -4, None),
        SqlType::UniqueIdentifier => (-11, -11, None),
        SqlType::SqlVariant => (-150, -150, None),
        SqlType::Xml => (-152, -152, None),
        _ => (-151, -151, None),
    };
    let int = |value: i64| Datum::Int(value);
    let bytes = i64::from(max_length(sql_type));
    let character = sql_type.is_character() || sql_type.is_binary();
    let size = if character {
        length_limit(sql_type).map_or(0, |length| length as i64)
    } else {
        i64::from(precision(sql_type))
    };
    let exact = matches!(
        sql_type,
        SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { .. }
            | SqlType::Numeric { .. }
            | SqlType::Money
            | SqlType::SmallMoney
    );
    let approximate = matches!(sql_type, SqlType::Float | SqlType::Real);
    let mut name = crate::engine::convert::type_name(sql_type);
    if let SqlType::Decimal { .. } = sql_type {
        name = "decimal".to_string();
    }
    if column.identity.is_some() {
        name.push_str(" identity");
    }
    vec![
        int(data_type),
        Datum::Text(name),
        int(size),
        int(bytes.max(0)),
        if exact || sql_type.is_temporal() { int(i64::from(scale(sql_type))) } else { Datum::Null },
        if exact {
            int(10)
        } else if approximate {
            int(2)
        } else {
            Datum::Null
        },
        int(i64::from(column.nullable)),
        Datum::Null,
        column.default.as_ref().map_or(Datum::Null, |default| Datum::Text(format!("({})", default.text))),
        int(sql_data_type),
        sub.map_or(Datum::Null, int),
        if character { int(bytes.max(0)) } else { Datum::Null },
        int(ordinal),
        Datum::Text(if column.nullable { "YES" } else { "NO" }.to_string()),
        int(0),
    ]
}
