//! Functions that look something up in the catalogue.

use std::sync::Arc;

use databases::catalogue::{
    ColumnDefinition, FIXED_ROLES, Identity, KeyConstraint, ModuleDefinition, ModuleKind, TableDefinition,
    same_name,
};
use query::functions::function::{Call, Function, ValueKernel};
use query::functions::{long_text, name_type, strict};
use query::system_types::{max_length, precision, scale, type_id_of_name, type_name_of_id};
use query::{Datum, Typed};
use tds::SqlType;
use tsql::SqlError;
use tsql::module::TriggerEvents;
use tsql::parse_object_name;

use crate::facts::Facts;
use crate::system_views;

/// Functions of the catalogue.
pub(super) const FUNCTIONS: &[Function<ValueKernel<Facts>>] = &[
    of_session("OBJECT_ID", &["name"], "int", id_of_object).optional(&["type"]),
    of_session("OBJECT_NAME", &["object_id"], "nvarchar(128)", |call| object_name_or_schema(call, true))
        .optional(&["database_id"]),
    of_session("OBJECT_SCHEMA_NAME", &["object_id"], "nvarchar(128)", |call| {
        object_name_or_schema(call, false)
    })
    .optional(&["database_id"]),
    of_session("OBJECT_DEFINITION", &["object_id"], "nvarchar(max)", object_definition),
    of_session("OBJECTPROPERTY", &["object_id", "property"], "int", objectproperty),
    of_session("OBJECTPROPERTYEX", &["object_id", "property"], "int", objectproperty),
    of_session("SCHEMA_NAME", &[], "nvarchar(128)", schema_name).optional(&["schema_id"]),
    of_session("SCHEMA_ID", &[], "int", schema_id).optional(&["schema"]),
    of_session("TYPE_NAME", &["type_id"], "nvarchar(128)", type_name),
    of_session("TYPE_ID", &["type"], "int", type_id),
    of_session("TYPEPROPERTY", &["type", "property"], "int", typeproperty),
    of_session("COL_LENGTH", &["table", "column"], "smallint", col_length),
    of_session("COL_NAME", &["table_id", "column_id"], "nvarchar(128)", col_name),
    of_session("COLUMNPROPERTY", &["table_id", "column", "property"], "int", columnproperty),
    of_session("INDEX_COL", &["table", "index_id", "key_id"], "nvarchar(128)", index_col),
    of_session("INDEXPROPERTY", &["table_id", "index", "property"], "int", indexproperty),
    of_session("IDENT_CURRENT", &["table"], "numeric(38, 0)", |call| {
        identity_of(call, |facts, table, identity| {
            facts.last_identity(table.object_id).unwrap_or(identity.seed)
        })
    })
    .light(),
    of_session("IDENT_SEED", &["table"], "numeric(38, 0)", |call| {
        identity_of(call, |_, _, identity| identity.seed)
    }),
    of_session("IDENT_INCR", &["table"], "numeric(38, 0)", |call| {
        identity_of(call, |_, _, identity| identity.increment)
    }),
    of_session("HAS_PERMS_BY_NAME", &["securable", "class", "permission"], "int", has_perms_by_name)
        .optional(&["sub_securable", "sub_class"]),
    of_session("STATS_DATE", &["table_id", "statistics_id"], "datetime", |_| {
        Typed::constant(Datum::Null, SqlType::DateTime)
    }),
    of_session("FILEGROUP_NAME", &["filegroup_id"], "nvarchar(128)", filegroup_name),
    of_session("FILEGROUP_ID", &["filegroup"], "int", filegroup_id),
    of_session("FULLTEXTSERVICEPROPERTY", &["property"], "int", |_| {
        Typed::constant(Datum::Int(0), SqlType::Int)
    }),
];

fn id_of_object(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let kind = match call.arguments.get(1).and_then(|kind| kind.constant.clone()) {
        Some(Datum::Text(kind)) => Some(kind.trim().to_ascii_uppercase()),
        Some(_) => return Typed::constant(Datum::Null, SqlType::Int),
        None => None,
    };
    let key = format!("OBJECT_ID_{}", kind.as_deref().unwrap_or_default());
    find(call, &key, [long_text()], SqlType::Int, move |facts, [value]| {
        let (id, letters) = object_id(facts, value.as_text()?)?;
        kind.as_deref().is_none_or(|kind| kind == letters).then_some(Datum::Int(i64::from(id)))
    })
}

fn object_name_or_schema(call: &Call<'_, Facts>, wants_name: bool) -> Result<Typed, SqlError> {
    let shown = move |(schema, object)| Datum::Text(if wants_name { object } else { schema });
    if call.arguments.len() < 2 {
        return lookup(call, SqlType::Int, name_type(), move |facts, id| {
            schema_and_name(facts, id.as_int()?, None).map(shown)
        });
    }
    let types = (SqlType::Int, SqlType::Int);
    pair(call, types, name_type(), move |facts, id, database| {
        let number = database.as_int();
        let databases = &facts.directory.databases;
        let database = databases.iter().find(|database| Some(i64::from(database.id)) == number)?;
        schema_and_name(facts, id.as_int()?, Some(&database.name)).map(shown)
    })
}

/// Finds schema and name of an object: a system view, a table or what belongs to it, or a module. None for
/// `database`: of any.
fn schema_and_name(facts: &Facts, id: i64, database: Option<&str>) -> Option<(String, String)> {
    if let Some((schema, view)) = system_views::view_of_id(id) {
        return Some((schema.to_string(), view.to_string()));
    }
    let within = |own: &str| database.is_none_or(|database| same_name(own, database));
    let of_table = facts.tables().iter().filter(|table| within(&table.database)).find_map(|table| {
        let object = table.objects().into_iter().find(|object| i64::from(object.object_id) == id)?;
        Some((table.schema.clone(), object.name.to_string()))
    });
    let module = || {
        let mut modules = facts.modules().iter().map(|module| &module.definition);
        let module = modules.find(|module| i64::from(module.object_id) == id && within(&module.database))?;
        Some((module.schema.clone(), module.name.clone()))
    };
    of_table.or_else(module)
}

fn schema_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return Typed::constant(Datum::Text("dbo".to_string()), name_type());
    }
    lookup(call, SqlType::Int, name_type(), |facts, value| {
        let schemas = &facts.current()?.schemas;
        let wanted = value.as_int()?;
        let schema = schemas.iter().find(|schema| i64::from(schema.id) == wanted);
        let role = || FIXED_ROLES.iter().find(|(id, _)| i64::from(*id) == wanted);
        let name = schema.map(|schema| schema.name.clone()).or_else(|| Some(role()?.1.to_owned()));
        name.map(Datum::Text)
    })
}

fn schema_id(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return Typed::constant(Datum::Int(1), SqlType::Int);
    }
    lookup(call, name_type(), SqlType::Int, |facts, value| {
        let name = value.as_text()?;
        let own = facts.current()?.schema(name).map(|schema| schema.id);
        let role = || FIXED_ROLES.iter().find(|(_, role)| same_name(role, name)).map(|(id, _)| *id);
        own.or_else(role).map(|id| Datum::Int(i64::from(id)))
    })
}

fn type_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, SqlType::Int, name_type(), |facts, value| {
        let id = value.as_int()?;
        let own = facts.types().iter().filter(|found| same_name(&found.database, &facts.database));
        let name = type_name_of_id(id).map(str::to_string);
        let own = own.into_iter().find(|found| i64::from(found.id) == id);
        name.or_else(|| Some(own?.name.clone())).map(Datum::Text)
    })
}

fn type_id(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, name_type(), SqlType::Int, |facts, value| {
        let name = value.as_text()?;
        let id = type_id_of_name(name).or_else(|| Some(facts.type_named(name)?.id));
        id.map(|id| Datum::Int(i64::from(id)))
    })
}

fn typeproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    pair(call, (name_type(), name_type()), SqlType::Int, |_, sql_type, property| {
        let sql_type: SqlType = sql_type.as_text()?.parse().ok()?;
        Some(Datum::Int(match property.as_text()?.to_ascii_lowercase().as_str() {
            "precision" if sql_type.is_character() || sql_type.is_binary() => characters(&sql_type),
            "precision" => i64::from(precision(&sql_type)),
            "scale" => i64::from(scale(&sql_type)),
            "allowsnull" => 1,
            "usesansitrim" => 1,
            "ownerid" => 4,
            _ => return None,
        }))
    })
}

fn col_length(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let result = SqlType::SmallInt;
    pair(call, (name_type(), name_type()), result, |facts, table, column| {
        let (text, column) = (table.as_text()?, column.as_text()?);
        let length = |column: &ColumnDefinition| Datum::Int(i64::from(max_length(&column.sql_type)));
        match facts.find(text) {
            Some(table) => column_of(&table.columns, column).map(length),
            None => column_of(&module_named(facts, text)?.columns, column).map(length),
        }
    })
}

fn col_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    pair(call, (SqlType::Int, SqlType::Int), name_type(), |facts, table, column| {
        let (id, wanted) = (table.as_int()?, column.as_int());
        let name = |columns: &[ColumnDefinition]| {
            let column = columns.iter().find(|column| Some(i64::from(column.id)) == wanted)?;
            Some(Datum::Text(column.name.clone()))
        };
        match facts.by_id(id) {
            Some(table) => name(&table.columns),
            None => name(&module_of_id(facts, id)?.columns),
        }
    })
}

fn index_col(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    three(call, [name_type(), SqlType::Int, SqlType::Int], name_type(), |facts, table, index, ordinal| {
        let table = facts.find(table.as_text()?)?;
        let index = indexes(&table).into_iter().find(|found| Some(i64::from(found.id)) == index.as_int())?;
        let ordinal = usize::try_from(ordinal.as_int()?).ok()?.checked_sub(1)?;
        Some(Datum::Text(index.columns.get(ordinal)?.0.clone()))
    })
}

fn indexproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    three(call, [SqlType::Int, name_type(), name_type()], SqlType::Int, |facts, table, index, property| {
        let table = facts.by_id(table.as_int()?)?;
        let wanted = index.as_text()?;
        let index = indexes(&table).into_iter().find(|index| same_name(index.name, wanted))?;
        Some(Datum::Int(match property.as_text()?.to_ascii_lowercase().as_str() {
            "indexid" => i64::from(index.id),
            "isunique" => i64::from(index.unique),
            "isclustered" => i64::from(index.clustered),
            "isdisabled"
            | "ishypothetical"
            | "isfulltextkey"
            | "isstatistics"
            | "isautostatistics"
            | "ispadindex"
            | "indexfillfactor"
            | "isrowlockdisallowed"
            | "ispagelockdisallowed" => 0,
            "indexdepth" => 1,
            _ => return None,
        }))
    })
}

fn columnproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    three(call, [SqlType::Int, name_type(), name_type()], SqlType::Int, |facts, table, column, property| {
        let (id, column, property) = (table.as_int()?, column.as_text()?, property.as_text()?);
        if let Some(table) = facts.by_id(id) {
            let column = column_of(&table.columns, column)?;
            return column_property(&table.keys, column, property).map(Datum::Int);
        }
        let module = module_of_id(facts, id)?;
        if let Some(column) = column_of(&module.columns, column) {
            return column_property(&[], column, property).map(Datum::Int);
        }
        let ordinal = module.parameters.iter().position(|parameter| same_name(&parameter.name, column))?;
        parameter_property(module, ordinal, property).map(Datum::Int)
    })
}

fn objectproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    pair(call, (SqlType::Int, name_type()), SqlType::Int, |facts, object, property| {
        let id = object.as_int()?;
        let property = property.as_text()?.to_ascii_lowercase();
        if system_views::view_of_id(id).is_some() {
            return system_view_property(&property).map(Datum::Int);
        }
        if let Some(module) = module_of_id(facts, id) {
            return module_property(facts, module, &property).map(Datum::Int);
        }
        let table =
            facts.tables().iter().find(|t| t.objects().iter().any(|o| i64::from(o.object_id) == id))?;
        if i64::from(table.object_id) == id {
            return table_property(facts, table, &property).map(Datum::Int);
        }
        let object = table.objects().into_iter().find(|o| i64::from(o.object_id) == id)?;
        constraint_property(facts, table, object.letters, &property).map(Datum::Int)
    })
}

fn object_definition(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, SqlType::Int, long_text(), |facts, value| {
        let id = value.as_int()?;
        if let Some(module) = module_of_id(facts, id) {
            return Some(Datum::Text(module.text.clone())).filter(|_| !module.text.is_empty());
        }
        facts.tables().iter().find_map(|table| {
            let check = table.checks.iter().find(|check| i64::from(check.object_id) == id);
            let default = || {
                let mut defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
                defaults.find(|default| i64::from(default.object_id) == id).map(|d| d.definition())
            };
            let text =
                check.map(|check| databases::catalogue::definition_text(&check.text)).or_else(default)?;
            Some(Datum::Text(text))
        })
    })
}

fn identity_of(
    call: &Call<'_, Facts>,
    number: fn(&Facts, &TableDefinition, &Identity) -> i64,
) -> Result<Typed, SqlError> {
    let result = SqlType::Numeric { precision: 38, scale: 0 };
    lookup(call, name_type(), result, move |facts, value| {
        let table = facts.find(value.as_text()?)?;
        let (_, identity) = table.identity()?;
        Some(Datum::Decimal(i128::from(number(facts, &table, &identity))))
    })
}

fn has_perms_by_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let class = call.arguments.get(1).and_then(|class| class.constant.clone());
    let of_object = matches!(&class, Some(Datum::Text(class)) if class.eq_ignore_ascii_case("object"));
    let [securable] = call.take()?;
    if !of_object || securable.untyped_null {
        return Typed::constant(Datum::Int(1), SqlType::Int);
    }
    lookup(call, long_text(), SqlType::Int, |facts, value| {
        object_id(facts, value.as_text()?).map(|_| Datum::Int(1))
    })
}

fn filegroup_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, SqlType::Int, name_type(), |facts, value| {
        let wanted = value.as_int()?;
        let groups = facts.figures(&facts.database).map(|figures| figures.engine().files().file_groups());
        match groups {
            Some(groups) => {
                let found = groups.into_iter().find(|group| i64::from(group.id) == wanted);
                found.map(|group| Datum::Text(group.name))
            }
            None => (wanted == 1).then(|| Datum::Text("PRIMARY".to_owned())),
        }
    })
}

fn filegroup_id(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, name_type(), SqlType::Int, |facts, value| {
        let wanted = value.as_text()?;
        let groups = facts.figures(&facts.database).map(|figures| figures.engine().files().file_groups());
        match groups {
            Some(groups) => {
                let found = groups.into_iter().find(|group| group.name.eq_ignore_ascii_case(wanted));
                found.map(|group| Datum::Int(i64::from(group.id)))
            }
            None => wanted.eq_ignore_ascii_case("PRIMARY").then_some(Datum::Int(1)),
        }
    })
}

/// Finds the `object_id` of a name and its letters: a table, a constraint of one, or a system view.
fn object_id(facts: &Facts, text: &str) -> Option<(i32, &'static str)> {
    if let Some(table) = facts.find(text) {
        return Some((table.object_id, "U"));
    }
    if let Some(view) = system_views::view_id(text) {
        return Some((view, "V"));
    }
    if let Some(module) = module_named(facts, text) {
        return Some((module.object_id, module.kind.letters()));
    }
    let name = parse_object_name(text).ok()?;
    let database = name.database.as_deref().unwrap_or(&facts.database);
    let schema = name.schema.as_deref().unwrap_or("dbo");
    let mut tables = facts
        .tables()
        .iter()
        .filter(|table| same_name(&table.database, database) && same_name(&table.schema, schema));
    tables.find_map(|table| {
        let object = table.object_named(&name.name)?;
        Some((object.object_id, object.letters))
    })
}

/// Finds the view, procedure, function, sequence or synonym that a text such as `dbo.v` names.
fn module_named<'f>(facts: &'f Facts, text: &str) -> Option<&'f ModuleDefinition> {
    let name = parse_object_name(text).ok()?;
    let database = name.database.as_deref().unwrap_or(&facts.database);
    let schema = name.schema.as_deref().unwrap_or("dbo");
    facts.modules().iter().map(|module| &module.definition).find(|module| {
        same_name(&module.database, database)
            && same_name(&module.schema, schema)
            && same_name(&module.name, &name.name)
    })
}

/// Finds the module of an id.
fn module_of_id(facts: &Facts, id: i64) -> Option<&ModuleDefinition> {
    facts.modules().iter().map(|module| &module.definition).find(|module| i64::from(module.object_id) == id)
}

/// An index by its name and number.
struct NamedIndex<'t> {
    name: &'t str,
    id: i32,
    unique: bool,
    clustered: bool,
    columns: &'t [(String, bool)],
}

fn indexes(table: &TableDefinition) -> Vec<NamedIndex<'_>> {
    let keys = table.keys.iter().map(|key| NamedIndex {
        name: &key.name,
        id: key.index_id,
        unique: true,
        clustered: key.clustered,
        columns: &key.columns,
    });
    let indexes = table.indexes.iter().map(|index| NamedIndex {
        name: &index.name,
        id: index.index_id,
        unique: index.unique,
        clustered: index.clustered,
        columns: &index.columns,
    });
    keys.chain(indexes).collect()
}

fn column_of<'t>(columns: &'t [ColumnDefinition], name: &str) -> Option<&'t ColumnDefinition> {
    columns.iter().find(|column| same_name(&column.name, name))
}

/// Returns the length in characters; -1 for (max).
fn characters(sql_type: &SqlType) -> i64 {
    let bytes = i64::from(max_length(sql_type));
    if sql_type.is_unicode() && bytes > 0 { bytes / 2 } else { bytes }
}

fn column_property(keys: &[KeyConstraint], column: &ColumnDefinition, property: &str) -> Option<i64> {
    let in_text = column.sql_type.is_character() || column.sql_type.is_binary();
    Some(match property.to_ascii_lowercase().as_str() {
        "isidentity" => i64::from(column.identity.is_some()),
        "isrowguidcol" => i64::from(column.row_guid),
        "issparse" => i64::from(column.sparse),
        "iscomputed" => i64::from(column.computed.is_some()),
        "isdeterministic" | "isprecise" if column.computed.is_some() => 1,
        "allowsnull" => i64::from(column.nullable),
        "columnid" | "ordinal" => i64::from(column.id),
        "isprimarykey" => {
            let mut keys = keys.iter().filter(|key| key.primary);
            i64::from(keys.any(|key| key.columns.iter().any(|(name, _)| same_name(name, &column.name))))
        }
        "ishidden"
        | "iscolumnset"
        | "generatedalwaystype"
        | "isfulltextindexed"
        | "isindexable"
        | "isidnotforrepl"
        | "isoutparam"
        | "iscursortype"
        | "isxmlindexable"
        | "fulltexttypecolumn" => 0,
        "systemdatatype" | "userdataaccess" | "systemdataaccess" => 0,
        "usesansitrim" if in_text => 1,
        "precision" if in_text => characters(&column.sql_type),
        "precision" => i64::from(precision(&column.sql_type)),
        "scale" if column.sql_type.is_character() || column.sql_type.is_binary() => return None,
        "scale" => i64::from(scale(&column.sql_type)),
        "charmaxlen" if in_text => characters(&column.sql_type),
        _ => return None,
    })
}

fn schema_number(facts: &Facts, database: &str, schema: &str) -> i64 {
    let database = facts.directory.database(database);
    database.and_then(|database| database.schema(schema)).map_or(1, |schema| i64::from(schema.id))
}

/// Returns a property of a parameter, of which `ordinal` come before.
fn parameter_property(module: &ModuleDefinition, ordinal: usize, property: &str) -> Option<i64> {
    let parameter = module.parameters.get(ordinal)?;
    // A function's value is a parameter without a name, the first.
    let returns = module.parameters.first().is_some_and(|first| first.name.is_empty());
    let sql_type = parameter.type_text.parse::<SqlType>().ok();
    Some(match property.to_ascii_lowercase().as_str() {
        "columnid" | "ordinal" => ordinal as i64 + i64::from(!returns),
        "allowsnull" => 1,
        "isoutparam" => i64::from(parameter.output),
        "precision" => {
            let sql_type = sql_type?;
            let in_text = sql_type.is_character() || sql_type.is_binary();
            if in_text { characters(&sql_type) } else { i64::from(precision(&sql_type)) }
        }
        "scale" => i64::from(scale(&sql_type.filter(|own| !(own.is_character() || own.is_binary()))?)),
        "charmaxlen" => characters(&sql_type.filter(|own| own.is_character() || own.is_binary())?),
        "iscomputed" | "isidentity" | "iscursortype" => 0,
        _ => return None,
    })
}

/// Returns a property of a view, procedure, function, trigger, sequence or synonym.
fn module_property(facts: &Facts, module: &ModuleDefinition, property: &str) -> Option<i64> {
    let is = |kinds: &[ModuleKind]| i64::from(kinds.contains(&module.kind));
    let has_text = !module.text.is_empty();
    Some(match property {
        "isview" => is(&[ModuleKind::View]),
        "isprocedure" => is(&[ModuleKind::Procedure]),
        "istrigger" => is(&[ModuleKind::Trigger]),
        "isscalarfunction" => is(&[ModuleKind::ScalarFunction]),
        "istablefunction" => is(&[ModuleKind::InlineFunction, ModuleKind::TableFunction]),
        "isinlinefunction" => is(&[ModuleKind::InlineFunction]),
        "isexecuted" => is(&[
            ModuleKind::View,
            ModuleKind::Procedure,
            ModuleKind::Trigger,
            ModuleKind::ScalarFunction,
            ModuleKind::InlineFunction,
            ModuleKind::TableFunction,
        ]),
        "execisansinullson" | "isansinullson" if has_text => 1,
        "execisquotedidenton" | "isquotedidenton" if has_text => i64::from(module.quoted_identifier),
        "execisstartup" | "execiswithnativecompilation" if has_text => 0,
        "isschemabound" if has_text => {
            let bound = |word: &str| word.eq_ignore_ascii_case("SCHEMABINDING");
            let head = module.text.split(|ch: char| !(ch.is_alphanumeric() || ch == '_'));
            i64::from(head.into_iter().any(bound))
        }
        "ownerid" => 1,
        "schemaid" => schema_number(facts, &module.database, &module.schema),
        "isusertable" | "istable" => 0,
        other => absent(other)?,
    })
}

fn table_property(facts: &Facts, table: &TableDefinition, property: &str) -> Option<i64> {
    Some(match property {
        "isusertable" | "istable" | "isansinullson" | "isquotedidenton" | "ownerid" => 1,
        "schemaid" => schema_number(facts, &table.database, &table.schema),
        "tablehasrowguidcol" => i64::from(table.columns.iter().any(|column| column.row_guid)),
        "tablehasidentity" => i64::from(table.identity().is_some()),
        "tablehasprimarykey" => i64::from(table.keys.iter().any(|key| key.primary)),
        "tablehasuniquecnst" => i64::from(table.keys.iter().any(|key| !key.primary)),
        "tablehasclustindex" => i64::from(table.is_clustered()),
        "tablehasindex" => i64::from(!table.keys.is_empty() || !table.indexes.is_empty()),
        "tablehasnonclustindex" => i64::from(indexes(table).iter().any(|index| !index.clustered)),
        "tablehascheckcnst" => i64::from(!table.checks.is_empty()),
        "tablehasdefaultcnst" => i64::from(table.columns.iter().any(|column| column.default.is_some())),
        "tablehasforeignkey" => i64::from(!table.foreign_keys.is_empty()),
        "tablehasforeignref" => {
            let refers = |other: &Arc<TableDefinition>| {
                other
                    .foreign_keys
                    .iter()
                    .any(|key| same_name(&key.table, &table.name) && same_name(&key.schema, &table.schema))
            };
            i64::from(facts.tables().iter().any(refers))
        }
        "tablehastextimage" => i64::from(table.columns.iter().any(|column| {
            let plain = matches!(column.sql_type, SqlType::Text | SqlType::NText | SqlType::Image);
            plain || column.sql_type.is_plp()
        })),
        "tablehastimestamp" => {
            i64::from(table.columns.iter().any(|column| column.sql_type == SqlType::RowVersion))
        }
        "tablehasinserttrigger" | "hasinserttrigger" => has_trigger(table, |events| events.insert),
        "tablehasupdatetrigger" | "hasupdatetrigger" => has_trigger(table, |events| events.update),
        "tablehasdeletetrigger" | "hasdeletetrigger" => has_trigger(table, |events| events.delete),
        "tableisfake" | "tableismemoryoptimized" | "tabletemporaltype" | "tablehascolumnset" => 0,
        other => absent(other)?,
    })
}

fn has_trigger(table: &TableDefinition, fires: fn(&TriggerEvents) -> bool) -> i64 {
    i64::from(table.triggers.iter().any(|trigger| !trigger.instead && fires(&trigger.events)))
}

fn constraint_property(facts: &Facts, table: &TableDefinition, letters: &str, property: &str) -> Option<i64> {
    Some(match property {
        "isconstraint" => 1,
        "isprimarykey" => i64::from(letters == "PK"),
        "isuniquecnst" => i64::from(letters == "UQ"),
        "ischeckcnst" => i64::from(letters == "C"),
        "isdefaultcnst" => i64::from(letters == "D"),
        "isforeignkey" => i64::from(letters == "F"),
        "ownerid" => 1,
        "schemaid" => schema_number(facts, &table.database, &table.schema),
        "cnstisdisabled" | "cnstisnotrepl" => 0,
        "isusertable" | "istable" => 0,
        other => absent(other)?,
    })
}

fn system_view_property(property: &str) -> Option<i64> {
    Some(match property {
        "isview" | "ismsshipped" | "issystemtable" => 1,
        "isusertable" | "istable" => 0,
        "schemaid" | "ownerid" => 4,
        other => absent(other)?,
    })
}

/// Returns 0 for a property that only other kinds of object have; None for an unknown property.
fn absent(property: &str) -> Option<i64> {
    matches!(
        property,
        "isview"
            | "isprocedure"
            | "istrigger"
            | "isscalarfunction"
            | "istablefunction"
            | "isinlinefunction"
            | "ismsshipped"
            | "isschemabound"
            | "issystemtable"
            | "isencrypted"
            | "isconstraint"
            | "isprimarykey"
            | "isuniquecnst"
            | "ischeckcnst"
            | "isdefaultcnst"
            | "isforeignkey"
            | "isindexed"
            | "isrule"
            | "isdefault"
            | "isextendedproc"
            | "isreplproc"
            | "isqueue"
    )
    .then_some(0)
}

/// Declares a function that knows the session.
pub(super) const fn of_session(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: ValueKernel<Facts>,
) -> Function<ValueKernel<Facts>> {
    Function::new(name, required, returns, kernel)
}

/// Binds a function of several values. It is NULL where `look` finds nothing. `key` distinguishes it from
/// other functions.
fn find<const N: usize>(
    call: &Call<'_, Facts>,
    key: &str,
    types: [SqlType; N],
    result: SqlType,
    look: impl Fn(&Facts, &[Datum; N]) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let values: [Typed; N] = call.take()?;
    let facts = Arc::clone(call.facts);
    strict(key, values.into_iter().zip(types).collect(), result, move |values| {
        let values = <&[Datum; N]>::try_from(values).ok();
        let values =
            values.ok_or_else(|| SqlError::internal("a function of metadata without its arguments"))?;
        facts.checked(look(&facts, values).unwrap_or(Datum::Null))
    })
}

/// Binds a function of one value. It is NULL where `look` finds nothing.
pub(super) fn lookup(
    call: &Call<'_, Facts>,
    argument: SqlType,
    result: SqlType,
    look: impl Fn(&Facts, &Datum) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    find(call, call.name, [argument], result, move |facts, [value]| look(facts, value))
}

/// Binds a function of two values. It is NULL where `look` finds nothing.
pub(super) fn pair(
    call: &Call<'_, Facts>,
    types: (SqlType, SqlType),
    result: SqlType,
    look: impl Fn(&Facts, &Datum, &Datum) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    find(call, call.name, [types.0, types.1], result, move |facts, [a, b]| look(facts, a, b))
}

fn three(
    call: &Call<'_, Facts>,
    types: [SqlType; 3],
    result: SqlType,
    look: impl Fn(&Facts, &Datum, &Datum, &Datum) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    find(call, call.name, types, result, move |facts, [a, b, c]| look(facts, a, b, c))
}
