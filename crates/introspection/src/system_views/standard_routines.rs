//! Procedures, functions and sequences as the SQL standard shows them.

use query::Datum;
use tds::{Collation, SqlType};
use tsql::ast::ModuleWord;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::information_schema::measures;
use crate::system_views::modules;
use crate::view::{View, int, moment, text};
use databases::catalogue::{ModuleDefinition, ModuleKind};
use query::system_types::{precision, scale, system_type};

const ROUTINES: &str = "
    SPECIFIC_CATALOG nvarchar(128)
    SPECIFIC_SCHEMA nvarchar(128)
    SPECIFIC_NAME nvarchar(128)!
    ROUTINE_CATALOG nvarchar(128)
    ROUTINE_SCHEMA nvarchar(128)
    ROUTINE_NAME nvarchar(128)!
    ROUTINE_TYPE nvarchar(20)
    MODULE_CATALOG nvarchar(128)
    MODULE_SCHEMA nvarchar(128)
    MODULE_NAME nvarchar(128)
    UDT_CATALOG nvarchar(128)
    UDT_SCHEMA nvarchar(128)
    UDT_NAME nvarchar(128)
    DATA_TYPE nvarchar(128)
    CHARACTER_MAXIMUM_LENGTH int
    CHARACTER_OCTET_LENGTH int
    COLLATION_CATALOG nvarchar(128)
    COLLATION_SCHEMA nvarchar(128)
    COLLATION_NAME nvarchar(128)
    CHARACTER_SET_CATALOG nvarchar(128)
    CHARACTER_SET_SCHEMA nvarchar(128)
    CHARACTER_SET_NAME nvarchar(128)
    NUMERIC_PRECISION tinyint
    NUMERIC_PRECISION_RADIX smallint
    NUMERIC_SCALE int
    DATETIME_PRECISION smallint
    INTERVAL_TYPE nvarchar(30)
    INTERVAL_PRECISION smallint
    TYPE_UDT_CATALOG nvarchar(128)
    TYPE_UDT_SCHEMA nvarchar(128)
    TYPE_UDT_NAME nvarchar(128)
    SCOPE_CATALOG nvarchar(128)
    SCOPE_SCHEMA nvarchar(128)
    SCOPE_NAME nvarchar(128)
    MAXIMUM_CARDINALITY bigint
    DTD_IDENTIFIER nvarchar(128)
    ROUTINE_BODY nvarchar(30) = SQL
    ROUTINE_DEFINITION nvarchar(4000)
    EXTERNAL_NAME nvarchar(128)
    EXTERNAL_LANGUAGE nvarchar(30)
    PARAMETER_STYLE nvarchar(30)
    IS_DETERMINISTIC nvarchar(10) = NO
    SQL_DATA_ACCESS nvarchar(30)
    IS_NULL_CALL nvarchar(10)
    SQL_PATH nvarchar(128)
    SCHEMA_LEVEL_ROUTINE nvarchar(10) = YES
    MAX_DYNAMIC_RESULT_SETS smallint
    IS_USER_DEFINED_CAST nvarchar(10) = NO
    IS_IMPLICITLY_INVOCABLE nvarchar(10) = NO
    CREATED datetime
    LAST_ALTERED datetime";

const PARAMETERS: &str = "
    SPECIFIC_CATALOG nvarchar(128)
    SPECIFIC_SCHEMA nvarchar(128)
    SPECIFIC_NAME nvarchar(128)!
    ORDINAL_POSITION int!
    PARAMETER_MODE nvarchar(10)
    IS_RESULT nvarchar(10)
    AS_LOCATOR nvarchar(10) = NO
    PARAMETER_NAME nvarchar(128)
    DATA_TYPE nvarchar(128)
    CHARACTER_MAXIMUM_LENGTH int
    CHARACTER_OCTET_LENGTH int
    COLLATION_CATALOG nvarchar(128)
    COLLATION_SCHEMA nvarchar(128)
    COLLATION_NAME nvarchar(128)
    CHARACTER_SET_CATALOG nvarchar(128)
    CHARACTER_SET_SCHEMA nvarchar(128)
    CHARACTER_SET_NAME nvarchar(128)
    NUMERIC_PRECISION tinyint
    NUMERIC_PRECISION_RADIX smallint
    NUMERIC_SCALE int
    DATETIME_PRECISION smallint
    INTERVAL_TYPE nvarchar(30)
    INTERVAL_PRECISION smallint
    USER_DEFINED_TYPE_CATALOG nvarchar(128)
    USER_DEFINED_TYPE_SCHEMA nvarchar(128)
    USER_DEFINED_TYPE_NAME nvarchar(128)
    SCOPE_CATALOG nvarchar(128)
    SCOPE_SCHEMA nvarchar(128)
    SCOPE_NAME nvarchar(128)";

const SEQUENCES: &str = "
    SEQUENCE_CATALOG nvarchar(128)
    SEQUENCE_SCHEMA nvarchar(128)
    SEQUENCE_NAME sysname!
    DATA_TYPE sysname
    NUMERIC_PRECISION tinyint!
    NUMERIC_PRECISION_RADIX smallint = 10
    NUMERIC_SCALE int
    DECLARED_DATA_TYPE int
    DECLARED_NUMERIC_PRECISION int
    DECLARED_NUMERIC_SCALE int
    START_VALUE sql_variant
    MINIMUM_VALUE sql_variant
    MAXIMUM_VALUE sql_variant
    INCREMENT sql_variant
    CYCLE_OPTION bit";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::standard("ROUTINES", ROUTINES, routines),
    Entry::standard("PARAMETERS", PARAMETERS, parameters),
    Entry::standard("SEQUENCES", SEQUENCES, sequences),
];

/// Sets a type's name and sizes in the columns that ROUTINES and PARAMETERS share.
fn describe(view: &mut View, sql_type: &SqlType) {
    view.set("DATA_TYPE", text(system_type(sql_type).name));
    let names = [
        "CHARACTER_MAXIMUM_LENGTH",
        "CHARACTER_OCTET_LENGTH",
        "NUMERIC_PRECISION",
        "NUMERIC_PRECISION_RADIX",
        "NUMERIC_SCALE",
        "DATETIME_PRECISION",
    ];
    for (name, value) in names.into_iter().zip(measures(sql_type)) {
        view.set(name, value);
    }
    if sql_type.is_character() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.name().unwrap_or_default();
        view.set("COLLATION_NAME", text(&collation));
        view.set("CHARACTER_SET_NAME", text(if sql_type.is_unicode() { "UNICODE" } else { "iso_1" }));
    }
}

fn is_routine(module: &ModuleDefinition) -> bool {
    matches!(module.kind.word(), ModuleWord::Procedure | ModuleWord::Function)
}

fn routines(context: &Context<'_>, view: &mut View) {
    for module in modules::of(context) {
        let definition = &module.definition;
        if !is_routine(definition) {
            continue;
        }
        let procedure = definition.kind.word() == ModuleWord::Procedure;
        let cut: String = definition.text.chars().take(4000).collect();
        view.add([
            ("SPECIFIC_CATALOG", text(&definition.database)),
            ("SPECIFIC_SCHEMA", text(&definition.schema)),
            ("SPECIFIC_NAME", text(&definition.name)),
            ("ROUTINE_CATALOG", text(&definition.database)),
            ("ROUTINE_SCHEMA", text(&definition.schema)),
            ("ROUTINE_NAME", text(&definition.name)),
            ("ROUTINE_TYPE", text(if procedure { "PROCEDURE" } else { "FUNCTION" })),
            ("ROUTINE_DEFINITION", Datum::Text(cut)),
            ("SQL_DATA_ACCESS", text(if procedure { "MODIFIES" } else { "READS" })),
            ("CREATED", moment(definition.created_us)),
            ("LAST_ALTERED", moment(definition.modified_us)),
        ]);
        let value = definition.parameters.first().filter(|_| definition.kind == ModuleKind::ScalarFunction);
        match value.and_then(|value| value.type_text.parse::<SqlType>().ok()) {
            Some(sql_type) => describe(view, &sql_type),
            None if !procedure => view.set("DATA_TYPE", text("TABLE")),
            None => {}
        }
    }
}

fn parameters(context: &Context<'_>, view: &mut View) {
    for module in modules::of(context) {
        let definition = &module.definition;
        if !is_routine(definition) {
            continue;
        }
        let first = i64::from(definition.kind != ModuleKind::ScalarFunction);
        for (ordinal, parameter) in (first..).zip(&definition.parameters) {
            let Ok(sql_type) = parameter.type_text.parse::<SqlType>() else { continue };
            let mode = match (ordinal, parameter.output) {
                (0, _) => "OUT",
                (_, true) => "INOUT",
                (_, false) => "IN",
            };
            view.add([
                ("SPECIFIC_CATALOG", text(&definition.database)),
                ("SPECIFIC_SCHEMA", text(&definition.schema)),
                ("SPECIFIC_NAME", text(&definition.name)),
                ("ORDINAL_POSITION", int(ordinal)),
                ("PARAMETER_MODE", text(mode)),
                ("IS_RESULT", text(if ordinal == 0 { "YES" } else { "NO" })),
                ("PARAMETER_NAME", text(&parameter.name)),
            ]);
            describe(view, &sql_type);
        }
    }
}

fn sequences(context: &Context<'_>, view: &mut View) {
    for module in modules::of(context) {
        let definition = &module.definition;
        let Some(sequence) = &definition.sequence else { continue };
        let Ok(sql_type) = sequence.type_text.parse::<SqlType>() else { continue };
        let variant = |value: i64| {
            let value = match sql_type.is_decimal() {
                true => Datum::Decimal(i128::from(value)),
                false => Datum::Int(value),
            };
            query::convert::convert(value, &sql_type, &SqlType::SqlVariant, 0).unwrap_or(Datum::Null)
        };
        view.add([
            ("SEQUENCE_CATALOG", text(&definition.database)),
            ("SEQUENCE_SCHEMA", text(&definition.schema)),
            ("SEQUENCE_NAME", text(&definition.name)),
            ("DATA_TYPE", text(system_type(&sql_type).name)),
            ("NUMERIC_PRECISION", int(precision(&sql_type))),
            ("NUMERIC_SCALE", int(scale(&sql_type))),
            ("START_VALUE", variant(sequence.start)),
            ("MINIMUM_VALUE", variant(sequence.minimum)),
            ("MAXIMUM_VALUE", variant(sequence.maximum)),
            ("INCREMENT", variant(sequence.increment)),
            ("CYCLE_OPTION", Datum::Bit(sequence.cycle)),
        ]);
    }
}
