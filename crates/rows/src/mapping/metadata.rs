//! The SQL type and collation in a field's metadata.

use std::collections::HashMap;

use arrow::datatypes::Field;
use tds::{Collation, SqlType};

use super::MappingError;

/// Metadata key of a field's SQL type, spelled as T-SQL does: `nvarchar(50)`.
pub const SQL_TYPE_KEY: &str = "sql_type";
/// Metadata key of a text field's collation name.
pub const COLLATION_KEY: &str = "collation";

/// Makes the metadata of a field that holds values of `sql_type`.
pub(super) fn of(sql_type: &SqlType, collation: Option<Collation>) -> HashMap<String, String> {
    let mut metadata = HashMap::from([(SQL_TYPE_KEY.to_owned(), sql_type.to_string())]);
    if let Some(name) = collation.and_then(|collation| collation.name()) {
        metadata.insert(COLLATION_KEY.to_owned(), name.to_string());
    }
    metadata
}

/// Returns the SQL type named in the field's metadata, if any.
pub fn declared_sql_type(field: &Field) -> Result<Option<SqlType>, MappingError> {
    let Some(text) = field.metadata().get(SQL_TYPE_KEY) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| unknown(field, SQL_TYPE_KEY, text))
}

/// Returns the collation named in the field's metadata, if any.
pub(super) fn declared_collation(field: &Field) -> Result<Option<Collation>, MappingError> {
    let Some(text) = field.metadata().get(COLLATION_KEY) else { return Ok(None) };
    Collation::from_name(text).map(Some).ok_or_else(|| unknown(field, COLLATION_KEY, text))
}

/// Returns true if the field carries Arrow's canonical UUID extension type.
pub(super) fn is_uuid(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.uuid")
}

fn unknown(field: &Field, key: &'static str, text: &str) -> MappingError {
    MappingError::Metadata { field: field.name().clone(), key, text: text.to_owned() }
}
