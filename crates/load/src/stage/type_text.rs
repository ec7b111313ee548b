//! The type of a column as CREATE TABLE takes it.

use crate::{catalogue_row::CatalogueRow, table_name::quoted};

/// Returns the type of a row of `sys.columns` that is joined with its type.
pub(super) fn type_text(row: &CatalogueRow<'_>) -> String {
    let name = row.text("type_name");
    if row.flag("is_user_defined") {
        return format!("{}.{}", quoted(&row.text("type_schema")), quoted(&name));
    }
    let bytes = row.integer("max_length").unwrap_or_default();
    let length = |unit: i64| match bytes {
        -1 => "max".to_owned(),
        bytes => (bytes / unit).to_string(),
    };
    let number = |column| row.integer(column).unwrap_or_default();
    match name.as_str() {
        "char" | "varchar" | "binary" | "varbinary" => format!("{name}({})", length(1)),
        "nchar" | "nvarchar" => format!("{name}({})", length(2)),
        "decimal" | "numeric" => format!("{name}({}, {})", number("precision"), number("scale")),
        "time" | "datetime2" | "datetimeoffset" => format!("{name}({})", number("scale")),
        // The only floating point types are of 24 and 53 bits, and each has its name.
        "vector" => vector_text(row, bytes),
        // `timestamp` is its name in the catalogue; the other is the one that is to be used.
        "timestamp" => "rowversion".to_owned(),
        _ => name,
    }
}

fn vector_text(row: &CatalogueRow<'_>, bytes: i64) -> String {
    /// Before the elements of four bytes each.
    const HEADER_BYTES: i64 = 8;
    let dimensions = row.integer("vector_dimensions").unwrap_or((bytes - HEADER_BYTES) / 4);
    match row.text("vector_base_type_desc").as_str() {
        "FLOAT16" | "float16" => format!("vector({dimensions}, float16)"),
        _ => format!("vector({dimensions})"),
    }
}
