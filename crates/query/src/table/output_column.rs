//! Columns of tables and results.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use rows::mapping::{Form, field_for};
use tds::{Collation, ColumnFlags, SqlType};

/// A column of a table or of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// The name of the column as users see it; empty for an expression without alias.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// Collation of a character column.
    pub collation: Option<Collation>,
    /// True if the column may be NULL.
    pub nullable: bool,
    /// The flag word of COLMETADATA, without the nullable bit.
    pub flags: ColumnFlags,
    /// Base table (`schema.name`) and column it comes from unchanged.
    pub source: Option<(String, String)>,
    /// The table's ROWGUIDCOL.
    pub row_guid: bool,
    /// A bare NULL, which takes the type of the columns that a set operator puts beside it.
    pub untyped_null: bool,
}

impl OutputColumn {
    /// Makes a column of an expression.
    pub fn expression(name: impl Into<String>, sql_type: SqlType, nullable: bool) -> OutputColumn {
        OutputColumn {
            name: name.into(),
            sql_type,
            collation: None,
            nullable,
            flags: ColumnFlags(ColumnFlags::COMPUTED),
            source: None,
            row_guid: false,
            untyped_null: false,
        }
    }

    /// Describes the column as COLMETADATA does.
    pub fn wire(&self) -> tds::Column {
        let collation = self
            .sql_type
            .is_character()
            .then(|| self.collation.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
        // Only a client that has been promised the json type knows it, and none is promised it.
        let sql_type = match &self.sql_type {
            SqlType::Json => SqlType::NVarChar { length: tds::Length::Max },
            other => other.clone(),
        };
        let collation =
            collation.or_else(|| sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
        let mut column = tds::Column::new(self.name.clone(), sql_type, self.nullable, collation);
        column.flags = ColumnFlags(self.flags.0 | (u16::from(self.nullable) * ColumnFlags::NULLABLE));
        column
    }
}

/// Returns the schema of a result: Exact types, `sql_type` and `collation` metadata, names as users see them.
pub fn exact_schema(columns: &[OutputColumn]) -> SchemaRef {
    Arc::new(Schema::new(
        columns.iter().map(|column| field_for(&column.wire(), &Form::Exact)).collect::<Vec<_>>(),
    ))
}
