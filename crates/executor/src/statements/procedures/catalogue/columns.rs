//! sp_columns and sp_special_columns.

use databases::catalogue::{ColumnDefinition, TableDefinition};
use introspection::system_views::View;
use query::Datum;
use tds::SqlType;
use tsql::SqlError;

use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::catalogue::odbc_type::{Dialect, OdbcType};
use crate::statements::procedures::catalogue::shown::{Shown, Wanted};
use crate::statements::procedures::parameters::Signature;

const COLUMNS: Signature = Signature {
    name: "sp_columns",
    parameters: &["@table_name", "@table_owner", "@table_qualifier", "@column_name", "@ODBCVer"],
    required: 1,
};

const COLUMNS_100: Signature = Signature {
    name: "sp_columns_100",
    parameters: &[
        "@table_name",
        "@table_owner",
        "@table_qualifier",
        "@column_name",
        "@NameScope",
        "@ODBCVer",
        "@fUsePattern",
    ],
    required: 1,
};

/// The columns of every result; `sp_columns_90` and `_100` have the SS_ columns between the last two.
const SHAPE: &[(&str, &str)] = &[
    ("TABLE_QUALIFIER", "name"),
    ("TABLE_OWNER", "name"),
    ("TABLE_NAME", "name!"),
    ("COLUMN_NAME", "name"),
    ("DATA_TYPE", "smallint!"),
    ("TYPE_NAME", "name"),
    ("PRECISION", "int"),
    ("LENGTH", "int"),
    ("SCALE", "smallint"),
    ("RADIX", "smallint"),
    ("NULLABLE", "smallint"),
    ("REMARKS", "varchar(254)"),
    ("COLUMN_DEF", "nvarchar(4000)"),
    ("SQL_DATA_TYPE", "smallint!"),
    ("SQL_DATETIME_SUB", "smallint"),
    ("CHAR_OCTET_LENGTH", "int"),
    ("ORDINAL_POSITION", "int!"),
    ("IS_NULLABLE", "varchar(254)"),
];

const SS_SHAPE: &[(&str, &str)] = &[
    ("SS_IS_SPARSE", "smallint"),
    ("SS_IS_COLUMN_SET", "smallint"),
    ("SS_IS_COMPUTED", "smallint"),
    ("SS_IS_IDENTITY", "smallint"),
    ("SS_UDT_CATALOG_NAME", "name"),
    ("SS_UDT_SCHEMA_NAME", "name"),
    ("SS_UDT_ASSEMBLY_TYPE_NAME", "text"),
    ("SS_XML_SCHEMACOLLECTION_CATALOG_NAME", "name"),
    ("SS_XML_SCHEMACOLLECTION_SCHEMA_NAME", "name"),
    ("SS_XML_SCHEMACOLLECTION_NAME", "name"),
];

fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

fn maybe(value: Option<i64>) -> Datum {
    value.map_or(Datum::Null, Datum::Int)
}

/// Runs sp_columns, sp_columns_90 and sp_columns_100.
pub fn columns(shown: &Shown, procedure: &str, arguments: &[Argument]) -> Result<View, SqlError> {
    let long_form = procedure.ends_with("_100") || procedure.ends_with("_90");
    let (parameters, version_at) =
        if long_form { (COLUMNS_100.bind(arguments)?, 5) } else { (COLUMNS.bind(arguments)?, 4) };
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let dialect = Dialect::new(procedure, parameters.int(version_at));
    let off = long_form && parameters.is_off(6);
    let temporary =
        parameters.text(0).is_some_and(|name| name.starts_with('#')) || shown.database == "tempdb";
    let table_wanted = Wanted::pattern(parameters.text(0), off);
    let owner_wanted = Wanted::pattern(parameters.text(1), off);
    let column_wanted = Wanted::pattern(parameters.text(3), off);
    let ss: &[(&str, &str)] = if long_form { SS_SHAPE } else { &[] };
    let mut view = View::new(&[SHAPE, ss, &[("SS_DATA_TYPE", "tinyint")]].concat());
    let mut tables: Vec<&TableDefinition> = shown
        .tables(&table_wanted, &owner_wanted)
        .filter(|table| temporary || !table.name.starts_with('#'))
        .collect();
    let views = shown.views(&table_wanted, &owner_wanted);
    tables.extend(views.iter().map(AsRef::as_ref));
    tables.sort_by_key(|table| (table.schema.to_lowercase(), table.name.to_lowercase()));
    for table in tables {
        for (ordinal, column) in (1_i64..).zip(&table.columns) {
            if column_wanted.is(&column.name) {
                let mut row = shown.names(table);
                row.extend(column_row(ordinal, column, dialect, long_form));
                view.push(row);
            }
        }
    }
    Ok(view)
}

fn column_row(ordinal: i64, column: &ColumnDefinition, dialect: Dialect, long_form: bool) -> Vec<Datum> {
    let described = OdbcType::new(&column.sql_type, column.nullable, column.identity.is_some(), dialect);
    let mut row = vec![
        text(&column.name),
        Datum::Int(described.data_type),
        text(&described.name),
        Datum::Int(described.precision),
        Datum::Int(described.length),
        maybe(described.scale),
        maybe(described.radix),
        Datum::Int(i64::from(column.nullable)),
        Datum::Null,
        column.default.as_ref().map_or(Datum::Null, |default| text(&default.definition())),
        Datum::Int(described.sql_data_type),
        maybe(described.datetime_sub),
        maybe(described.octets),
        Datum::Int(ordinal),
        text(if column.nullable { "YES" } else { "NO" }),
    ];
    if long_form {
        row.extend([
            Datum::Int(0),
            Datum::Int(0),
            Datum::Int(i64::from(column.computed.is_some())),
            Datum::Int(i64::from(column.identity.is_some())),
        ]);
        row.extend(std::iter::repeat_n(Datum::Null, 6));
    }
    row.push(Datum::Int(described.ss_data_type));
    row
}

const SPECIAL_COLUMNS: Signature = Signature {
    name: "sp_special_columns",
    parameters: &[
        "@table_name",
        "@table_owner",
        "@qualifier",
        "@col_type",
        "@scope",
        "@nullable",
        "@ODBCVer",
    ],
    required: 1,
};

/// Runs sp_special_columns: the columns that identify a row (`R`), or that change with every update (`V`).
pub(crate) fn special_columns(
    shown: &Shown,
    procedure: &str,
    arguments: &[Argument],
) -> Result<View, SqlError> {
    let parameters = SPECIAL_COLUMNS.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let dialect = Dialect::new(procedure, parameters.int(6));
    let mut view = View::new(&[
        ("SCOPE", "smallint"),
        ("COLUMN_NAME", "name!"),
        ("DATA_TYPE", "smallint!"),
        ("TYPE_NAME", "name!"),
        ("PRECISION", "int"),
        ("LENGTH", "int"),
        ("SCALE", "smallint"),
        ("PSEUDO_COLUMN", "smallint"),
    ]);
    let is = |position: usize, letter: &str| {
        parameters.text(position).is_some_and(|value| value.trim().eq_ignore_ascii_case(letter))
    };
    let versions = is(3, "V");
    let not_null = is(5, "O");
    let scope = if versions { Datum::Null } else { Datum::Int(if is(4, "C") { 0 } else { 1 }) };
    let name = parameters.text(0).unwrap_or_default();
    let Some((table, _)) = shown.table(&name, parameters.text(1).as_deref()) else { return Ok(view) };
    let columns: Vec<&ColumnDefinition> = if versions {
        table.columns.iter().filter(|column| column.sql_type == SqlType::RowVersion).collect()
    } else {
        identifying(table, not_null)
    };
    for column in columns {
        let described = OdbcType::new(&column.sql_type, column.nullable, column.identity.is_some(), dialect);
        view.push(vec![
            scope.clone(),
            text(&column.name),
            Datum::Int(described.data_type),
            text(&described.name),
            Datum::Int(described.precision),
            Datum::Int(described.length),
            maybe(described.scale),
            Datum::Int(1),
        ]);
    }
    Ok(view)
}

/// Returns the primary key, or else the first unique key whose columns are allowed to be NULL.
fn identifying(table: &TableDefinition, not_null: bool) -> Vec<&ColumnDefinition> {
    let mut keys = table.unique_keys();
    keys.retain(|key| key.filter.is_none());
    keys.sort_by_key(|key| key.kind != tsql::sql_error::KeyKind::PrimaryKey);
    for key in keys {
        let columns: Vec<&ColumnDefinition> =
            key.columns.iter().filter_map(|position| table.columns.get(*position)).collect();
        if !not_null || columns.iter().all(|column| !column.nullable) {
            return columns;
        }
    }
    Vec::new()
}
