//! sp_stored_procedures, sp_sproc_columns, sp_server_info.

use super::Argument;
use super::parameters::Signature;
use super::shown::{Shown, Wanted};
use crate::catalogue::views::{PRODUCT_VERSION, View};
use crate::engine::Datum;
use crate::sql_error::SqlError;

fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

const STORED_PROCEDURES: Signature = Signature {
    name: "sp_stored_procedures",
    parameters: &["@sp_name", "@sp_owner", "@sp_qualifier", "@fUsePattern"],
    required: 0,
};

/// sp_stored_procedures: the system procedures that this server has.
pub(super) fn stored_procedures(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = STORED_PROCEDURES.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let off = parameters.is_off(3);
    let (name, owner) = (Wanted::pattern(parameters.text(0), off), Wanted::pattern(parameters.text(1), off));
    let mut view = View::new(&[
        ("PROCEDURE_QUALIFIER", "name"),
        ("PROCEDURE_OWNER", "name"),
        ("PROCEDURE_NAME", "nvarchar(134)!"),
        ("NUM_INPUT_PARAMS", "int"),
        ("NUM_OUTPUT_PARAMS", "int"),
        ("NUM_RESULT_SETS", "int"),
        ("REMARKS", "varchar(254)"),
        ("PROCEDURE_TYPE", "smallint"),
    ]);
    for procedure in super::NAMES.iter().filter(|procedure| owner.is("sys") && name.is(procedure)) {
        view.push(vec![
            text(&shown.database),
            text("sys"),
            text(&format!("{procedure};1")),
            Datum::Int(-1),
            Datum::Int(-1),
            Datum::Int(-1),
            Datum::Null,
            Datum::Int(2),
        ]);
    }
    Ok(view)
}

const PROCEDURE_COLUMNS: Signature = Signature {
    name: "sp_sproc_columns",
    parameters: &[
        "@procedure_name",
        "@procedure_owner",
        "@procedure_qualifier",
        "@column_name",
        "@ODBCVer",
        "@fUsePattern",
    ],
    required: 0,
};

/// sp_sproc_columns: there are no procedures of users, and the system's are not described.
pub(super) fn procedure_columns(
    shown: &Shown,
    procedure: &str,
    arguments: &[Argument],
) -> Result<View, SqlError> {
    let parameters = PROCEDURE_COLUMNS.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let udt: &[(&str, &str)] = if procedure.ends_with("_100") {
        &[
            ("SS_TYPE_CATALOG_NAME", "name"),
            ("SS_TYPE_SCHEMA_NAME", "name"),
            ("SS_UDT_CATALOG_NAME", "name"),
            ("SS_UDT_SCHEMA_NAME", "name"),
            ("SS_UDT_ASSEMBLY_TYPE_NAME", "text"),
            ("SS_XML_SCHEMACOLLECTION_CATALOG_NAME", "name"),
            ("SS_XML_SCHEMACOLLECTION_SCHEMA_NAME", "name"),
            ("SS_XML_SCHEMACOLLECTION_NAME", "name"),
        ]
    } else {
        &[]
    };
    Ok(View::new(
        &[
            &[
                ("PROCEDURE_QUALIFIER", "name"),
                ("PROCEDURE_OWNER", "name"),
                ("PROCEDURE_NAME", "nvarchar(134)!"),
                ("COLUMN_NAME", "name"),
                ("COLUMN_TYPE", "smallint"),
                ("DATA_TYPE", "smallint"),
                ("TYPE_NAME", "name"),
                ("PRECISION", "int"),
                ("LENGTH", "int"),
                ("SCALE", "smallint"),
                ("RADIX", "smallint"),
                ("NULLABLE", "smallint"),
                ("REMARKS", "varchar(254)"),
                ("COLUMN_DEF", "nvarchar(4000)"),
                ("SQL_DATA_TYPE", "smallint"),
                ("SQL_DATETIME_SUB", "smallint"),
                ("CHAR_OCTET_LENGTH", "int"),
                ("ORDINAL_POSITION", "int!"),
                ("IS_NULLABLE", "varchar(254)"),
            ][..],
            udt,
            &[("SS_DATA_TYPE", "tinyint")],
        ]
        .concat(),
    ))
}

const SERVER_INFO: Signature =
    Signature { name: "sp_server_info", parameters: &["@attribute_id"], required: 0 };

/// sp_server_info.
pub(super) fn server_info(arguments: &[Argument]) -> Result<View, SqlError> {
    let wanted = SERVER_INFO.bind(arguments)?.int(0);
    let mut view = View::new(&[
        ("attribute_id", "int!"),
        ("attribute_name", "varchar(60)!"),
        ("attribute_value", "varchar(255)"),
    ]);
    let version = format!("bulkwire {} ({PRODUCT_VERSION})", env!("CARGO_PKG_VERSION"));
    let attributes = [
        (1, "DBMS_NAME", "bulkwire"),
        (2, "DBMS_VER", version.as_str()),
        (10, "OWNER_TERM", "owner"),
        (11, "TABLE_TERM", "table"),
        (12, "MAX_OWNER_NAME_LENGTH", "128"),
        (13, "TABLE_LENGTH", "128"),
        (14, "MAX_QUAL_LENGTH", "128"),
        (15, "COLUMN_LENGTH", "128"),
        (16, "IDENTIFIER_CASE", "MIXED"),
        (17, "TX_ISOLATION", "2"),
        (18, "COLLATION_SEQ", "charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52"),
        (19, "SAVEPOINT_SUPPORT", "Y"),
        (20, "MULTI_RESULT_SETS", "Y"),
        (22, "ACCESSIBLE_TABLES", "Y"),
        (100, "USERID_LENGTH", "128"),
        (101, "QUALIFIER_TERM", "database"),
        (102, "NAMED_TRANSACTIONS", "Y"),
        (103, "SPROC_AS_LANGUAGE", "Y"),
        (104, "ACCESSIBLE_SPROC", "Y"),
        (105, "MAX_INDEX_COLS", "16"),
        (106, "RENAME_TABLE", "Y"),
        (107, "RENAME_COLUMN", "Y"),
        (108, "DROP_COLUMN", "Y"),
        (109, "INCREASE_COLUMN_LENGTH", "Y"),
        (110, "DDL_IN_TRANSACTION", "Y"),
        (111, "DESCENDING_INDEXES", "Y"),
        (112, "SP_RENAME", "Y"),
        (113, "REMOTE_SPROC", "N"),
        (500, "SYS_SPROC_VERSION", PRODUCT_VERSION),
    ];
    for (id, name, value) in attributes {
        if wanted.is_none_or(|wanted| wanted == id) {
            view.push(vec![Datum::Int(id), text(name), text(value)]);
        }
    }
    Ok(view)
}
