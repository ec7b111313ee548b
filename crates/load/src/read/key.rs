//! The column whose values split rows into ranges.

use tds::{Collation, Column, Length, SqlType, Value};

use crate::table_name::quoted;

/// A parameter of a statement: its name with `@`, its declared type, its value.
pub type Parameter = (String, SqlType, Value);

/// A column whose values split rows into ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitKey {
    /// The name of the column.
    pub name: String,
    /// As the server describes it.
    pub column: Column,
    /// The key descends.
    pub is_descending: bool,
    /// The name of its collation, if it is text.
    collation: Option<String>,
    /// True if the column's code page differs from that of parameters, so that they are converted at the server.
    is_converted: bool,
}

impl SplitKey {
    /// Makes a key, or says why the column cannot be one. `collation` is the name of the column's, `database` that of
    /// text parameters.
    pub(crate) fn new(
        column: &Column,
        is_descending: bool,
        collation: Option<&str>,
        database: Option<Collation>,
    ) -> Result<Self, &'static str> {
        let mut key = Self {
            name: column.name.clone(),
            column: column.clone(),
            is_descending,
            collation: None,
            is_converted: false,
        };
        if let Some(refused) = key.refused() {
            return Err(refused);
        }
        if column.sql_type().is_character() {
            let name = collation.filter(|name| is_word(name));
            key.collation = Some(name.ok_or("its collation is not known")?.to_owned());
            let own = column.type_info.collation.map(Collation::code_page);
            key.is_converted = matches!(column.sql_type(), SqlType::Char { .. } | SqlType::VarChar { .. })
                && own != database.map(Collation::code_page);
        }
        Ok(key)
    }

    fn refused(&self) -> Option<&'static str> {
        match self.column.sql_type() {
            SqlType::Bit => Some("a bit has two values"),
            SqlType::Real | SqlType::Float => Some("numbers of floating point make no exact bounds"),
            SqlType::VarChar { length: Length::Max }
            | SqlType::NVarChar { length: Length::Max }
            | SqlType::VarBinary { length: Length::Max }
            | SqlType::Text
            | SqlType::NText
            | SqlType::Image => Some("its values may be too long to compare"),
            SqlType::Xml
            | SqlType::Json
            | SqlType::SqlVariant
            | SqlType::Vector { .. }
            | SqlType::Udt { .. } => Some("its type has no order that bounds could use"),
            _ => None,
        }
    }

    /// Returns the column's quoted name.
    pub(crate) fn quoted(&self) -> String {
        quoted(&self.name)
    }

    /// Returns true if the column may be NULL.
    pub(crate) fn is_nullable(&self) -> bool {
        self.column.flags.is_nullable()
    }

    /// Writes an operand as it is compared with the column: by the column's collation.
    pub(crate) fn compared(&self, operand: &str) -> String {
        match &self.collation {
            Some(collation) => format!("{operand} COLLATE {collation}"),
            None => operand.to_owned(),
        }
    }

    /// Writes an aggregate of the column in the column's own type. SQL Server returns that type; other servers return
    /// MIN and MAX of every time with seven digits, and of every decimal with their widest type.
    pub(crate) fn typed(&self, aggregate: &str) -> String {
        match self.column.sql_type() {
            scaled @ (SqlType::Time { .. }
            | SqlType::DateTime2 { .. }
            | SqlType::DateTimeOffset { .. }
            | SqlType::Decimal { .. }
            | SqlType::Numeric { .. }) => format!("CAST({aggregate} AS {scaled})"),
            _ => aggregate.to_owned(),
        }
    }

    /// Returns the SQL text that the column is compared with, and its parameter.
    pub(crate) fn operand(&self, name: &str, value: &Value) -> (String, Parameter) {
        let declared = match self.column.sql_type() {
            SqlType::RowVersion => SqlType::Binary { length: 8 },
            other => other.clone(),
        };
        match &self.collation {
            Some(collation) if self.is_converted => {
                let units = match &declared {
                    SqlType::Char { length } | SqlType::VarChar { length: Length::Units(length) } => {
                        (*length).clamp(1, 4000)
                    }
                    _ => 4000,
                };
                let sent = SqlType::NVarChar { length: Length::Units(units) };
                let text = format!("CAST({name} COLLATE {collation} AS {declared})");
                (text, (name.to_owned(), sent, value.clone()))
            }
            _ => (name.to_owned(), (name.to_owned(), declared, value.clone())),
        }
    }
}

/// Returns true for a word, as collation names are; anything else must not get into a statement.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use tds::{Column, SqlType};

    use super::SplitKey;

    #[test]
    fn an_aggregate_has_the_type_of_its_column() {
        let of = |sql_type: SqlType| {
            let column = Column::new("k", sql_type, false, None);
            SplitKey::new(&column, false, None, None).unwrap().typed("MAX([k])")
        };
        assert_eq!(of(SqlType::DateTime2 { scale: 3 }), "CAST(MAX([k]) AS datetime2(3))");
        assert_eq!(of(SqlType::DateTimeOffset { scale: 0 }), "CAST(MAX([k]) AS datetimeoffset(0))");
        assert_eq!(of(SqlType::Decimal { precision: 9, scale: 2 }), "CAST(MAX([k]) AS decimal(9, 2))");
        assert_eq!(of(SqlType::Int), "MAX([k])");
    }
}
