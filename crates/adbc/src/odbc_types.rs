//! ODBC's type codes for SQL Server's types, as SQLColumns of Microsoft's driver returns them.

/// The codes of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OdbcCodes {
    /// DATA_TYPE, the code that distinguishes all types.
    pub(crate) concise: i16,
    /// SQL_DATA_TYPE, which is one and the same for all dates and times that ODBC knows.
    pub(crate) verbose: i16,
    /// SQL_DATETIME_SUB, which distinguishes date and time types.
    pub(crate) datetime_sub: Option<i16>,
}

const DATETIME: i16 = 9;

/// Returns the codes of a type's name; `None` for types that a user made.
pub(crate) fn odbc_codes(type_name: &str) -> Option<OdbcCodes> {
    let (concise, datetime_sub) = match type_name.to_ascii_lowercase().as_str() {
        "bit" => (-7, None),
        "tinyint" => (-6, None),
        "smallint" => (5, None),
        "int" => (4, None),
        "bigint" => (-5, None),
        "real" => (7, None),
        "float" => (6, None),
        "decimal" | "money" | "smallmoney" => (3, None),
        "numeric" => (2, None),
        "char" => (1, None),
        "varchar" => (12, None),
        "text" => (-1, None),
        "nchar" => (-8, None),
        "nvarchar" => (-9, None),
        "ntext" => (-10, None),
        "binary" | "timestamp" | "rowversion" => (-2, None),
        "varbinary" => (-3, None),
        "image" => (-4, None),
        "uniqueidentifier" => (-11, None),
        "date" => (91, Some(1)),
        "datetime" | "smalldatetime" | "datetime2" => (93, Some(3)),
        "time" => (-154, None),
        "datetimeoffset" => (-155, None),
        "xml" => (-152, None),
        "sql_variant" => (-150, None),
        "vector" => (-156, None),
        "geometry" | "geography" | "hierarchyid" => (-151, None),
        _ => return None,
    };
    let verbose = if datetime_sub.is_some() { DATETIME } else { concise };
    Some(OdbcCodes { concise, verbose, datetime_sub })
}
