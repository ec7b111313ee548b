//! sp_stored_procedures, sp_sproc_columns, sp_server_info, xp_msver.

use databases::catalogue::procedure_names::NAMES;
use databases::catalogue::{ModuleDefinition, ModuleKind, PRODUCT_VERSION, UserType, same_name};
use introspection::system_views::View;
use query::Datum;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::ModuleWord;

use crate::statements::procedures::argument;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::catalogue::odbc_type::{Dialect, OdbcType};
use crate::statements::procedures::catalogue::shown::{Shown, Wanted};
use crate::statements::procedures::parameters::Signature;

fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

const STORED_PROCEDURES: Signature = Signature {
    name: "sp_stored_procedures",
    parameters: &["@sp_name", "@sp_owner", "@sp_qualifier", "@fUsePattern"],
    required: 0,
};

/// Runs sp_stored_procedures: procedures and functions, and the system procedures that this server has.
pub(crate) fn stored_procedures(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
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
    let mut rows: Vec<(String, String)> = Vec::new();
    for module in &shown.modules {
        let definition = &module.definition;
        // The number behind the name tells procedures from functions.
        let number = match definition.kind.word() {
            ModuleWord::Procedure => 1,
            ModuleWord::Function => 0,
            _ => continue,
        };
        if owner.is(&definition.schema) && name.is(&definition.name) {
            rows.push((definition.schema.clone(), format!("{};{number}", definition.name)));
        }
    }
    for procedure in NAMES.iter().filter(|procedure| owner.is("sys") && name.is(procedure)) {
        rows.push(("sys".to_string(), format!("{procedure};1")));
    }
    rows.sort_by_key(|(schema, name)| (schema.to_lowercase(), name.to_lowercase()));
    for (schema, name) in rows {
        view.push(vec![
            text(&shown.database),
            text(&schema),
            text(&name),
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

/// Runs sp_sproc_columns: the parameters of procedures and functions; those of the system are not described.
pub(crate) fn procedure_columns(
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
    let dialect = Dialect::new(procedure, parameters.int(4));
    let off = parameters.is_off(5);
    let wanted = |at: usize| Wanted::pattern(parameters.text(at), off);
    let (name, owner, column) = (wanted(0), wanted(1), wanted(3));
    let mut view = View::new(
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
    );
    let mut modules: Vec<&ModuleDefinition> = shown
        .modules
        .iter()
        .map(|module| &module.definition)
        .filter(|own| matches!(own.kind.word(), ModuleWord::Procedure | ModuleWord::Function))
        .filter(|own| name.is(&own.name) && owner.is(&own.schema))
        .collect();
    modules.sort_by_key(|own| (own.schema.to_lowercase(), own.name.to_lowercase()));
    for module in modules {
        for parameter in parameters_of(shown, module) {
            if column.is(&parameter.name) {
                view.push(parameter_row(shown, module, &parameter, dialect, udt.len()));
            }
        }
    }
    Ok(view)
}

/// ODBC's code of a table-valued parameter.
const SQL_SS_TABLE: i64 = -153;

/// A parameter or what a call gives back.
struct Described {
    name: String,
    /// COLUMN_TYPE: 1 in, 2 in and out, 3 a result's table, 5 a value given back.
    column_type: i64,
    /// The type of the parameter; `None` for a table.
    sql_type: Option<SqlType>,
    /// The user's type that the declaration names.
    user_type: Option<UserType>,
    ordinal: i64,
    nullable: bool,
}

fn parameters_of(shown: &Shown, module: &ModuleDefinition) -> Vec<Described> {
    let result = |name: &str, column_type: i64, sql_type: Option<SqlType>, nullable: bool| Described {
        name: name.to_string(),
        column_type,
        sql_type,
        user_type: None,
        ordinal: 0,
        nullable,
    };
    let mut declared = module.parameters.iter();
    let mut all = vec![match module.kind {
        ModuleKind::Procedure => result("@RETURN_VALUE", 5, Some(SqlType::Int), false),
        ModuleKind::ScalarFunction => {
            let value = declared.next().map(|value| type_of(shown, &value.type_text));
            let (sql_type, user_type) = value.unwrap_or_default();
            let value = result("@RETURN_VALUE", 5, Some(sql_type.unwrap_or(SqlType::Int)), true);
            Described { user_type, ..value }
        }
        _ => result("@TABLE_RETURN_VALUE", 3, None, false),
    }];
    all.extend((1_i64..).zip(declared).map(|(ordinal, parameter)| {
        let (sql_type, user_type) = type_of(shown, &parameter.type_text);
        Described {
            name: parameter.name.clone(),
            column_type: if parameter.output { 2 } else { 1 },
            sql_type,
            user_type,
            ordinal,
            nullable: true,
        }
    }));
    all
}

/// The type that a declaration's text names; None for a table.
fn type_of(shown: &Shown, type_text: &str) -> (Option<SqlType>, Option<UserType>) {
    match type_text.parse() {
        Ok(sql_type) => (Some(sql_type), None),
        Err(_) => {
            let own = shown.type_named(type_text).cloned();
            (own.as_ref().and_then(UserType::base).map(|(base, _)| base), own)
        }
    }
}

fn parameter_row(
    shown: &Shown,
    module: &ModuleDefinition,
    parameter: &Described,
    dialect: Dialect,
    udt_columns: usize,
) -> Vec<Datum> {
    let maybe = |value: Option<i64>| value.map_or(Datum::Null, Datum::Int);
    let number = if module.kind == ModuleKind::Procedure { 1 } else { 0 };
    let mut row = vec![
        text(&shown.database),
        text(&module.schema),
        text(&format!("{};{number}", module.name)),
        text(&parameter.name),
        Datum::Int(parameter.column_type),
    ];
    let nullable = Datum::Int(i64::from(parameter.nullable));
    let yes = text(if parameter.nullable { "YES" } else { "NO" });
    let described = parameter
        .sql_type
        .as_ref()
        .map(|sql_type| OdbcType::new(sql_type, parameter.nullable, false, dialect));
    match &described {
        Some(described) => row.extend([
            Datum::Int(described.data_type),
            text(parameter.user_type.as_ref().map_or(&described.name, |own| &own.name)),
            Datum::Int(described.precision),
            Datum::Int(described.length),
            maybe(described.scale),
            maybe(described.radix),
            nullable,
            Datum::Null,
            Datum::Null,
            Datum::Int(described.sql_data_type),
            maybe(described.datetime_sub),
            maybe(described.octets),
        ]),
        // A parameter of a table type ("Table-Valued Parameter Descriptor Fields" of ODBC's catalogue functions).
        None if parameter.column_type != 3 => row.extend([
            Datum::Int(SQL_SS_TABLE),
            parameter.user_type.as_ref().map_or(Datum::Null, |own| text(&own.name)),
            Datum::Null,
            Datum::Int(0),
            Datum::Int(0),
            Datum::Null,
            nullable,
            Datum::Null,
            Datum::Null,
            Datum::Int(SQL_SS_TABLE),
            Datum::Null,
            Datum::Null,
        ]),
        // The result of a table-valued function, whose columns are not listed.
        None => row.extend([
            Datum::Int(0),
            text("table"),
            Datum::Int(0),
            Datum::Int(0),
            Datum::Int(0),
            Datum::Int(0),
            nullable,
            text("Result table returned by table valued function"),
            Datum::Null,
            Datum::Int(0),
            Datum::Null,
            Datum::Null,
        ]),
    }
    row.extend([Datum::Int(parameter.ordinal), yes]);
    // SS_TYPE_CATALOG_NAME and SS_TYPE_SCHEMA_NAME are of table types alone.
    let table_type = parameter.user_type.as_ref().filter(|own| own.table().is_some() && udt_columns >= 2);
    let names = table_type.map(|own| [text(&own.database), text(&own.schema)]);
    let missing = udt_columns - names.as_ref().map_or(0, |names| names.len());
    row.extend(names.into_iter().flatten());
    row.extend(std::iter::repeat_n(Datum::Null, missing));
    row.push(Datum::Int(described.map_or(0, |described| described.ss_data_type)));
    row
}

/// Runs xp_msver: facts of the server and its machine.
pub(crate) fn server_versions(arguments: &[Argument]) -> View {
    let wanted: Vec<String> = arguments.iter().map(argument::text_of_value).collect();
    let mut view = View::new(&[
        ("Index", "int"),
        ("Name", "nvarchar(128)"),
        ("Internal_Value", "int"),
        ("Character_Value", "nvarchar(512)"),
    ]);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as i64;
    let own = env!("CARGO_PKG_VERSION");
    let facts: [(i64, &str, Option<i64>, Option<&str>); 10] = [
        (1, "ProductName", None, Some("bulkwire")),
        (2, "ProductVersion", Some(16 << 16), Some(PRODUCT_VERSION)),
        (3, "Language", Some(1033), Some("English (United States)")),
        (4, "Platform", None, Some(std::env::consts::OS)),
        (5, "Comments", None, Some("bulkwire embedded server")),
        (7, "FileDescription", None, Some("bulkwire embedded server")),
        (8, "FileVersion", None, Some(own)),
        (16, "ProcessorCount", Some(processors), None),
        (18, "ProcessorType", None, Some(std::env::consts::ARCH)),
        (20, "Product ID", None, None),
    ];
    for (index, name, number, value) in facts {
        if wanted.is_empty() || wanted.iter().any(|wanted| same_name(wanted, name)) {
            let count = number.map(|number| number.to_string());
            view.push(vec![
                Datum::Int(index),
                text(name),
                number.map_or(Datum::Null, Datum::Int),
                value.or(count.as_deref()).map_or(Datum::Null, text),
            ]);
        }
    }
    view
}

const SERVER_INFO: Signature =
    Signature { name: "sp_server_info", parameters: &["@attribute_id"], required: 0 };

/// Runs sp_server_info.
pub(crate) fn server_info(arguments: &[Argument]) -> Result<View, SqlError> {
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
