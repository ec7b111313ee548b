//! sp_help, sp_helpindex, sp_helpconstraint, sp_helptext.

use std::sync::Arc;

use databases::catalogue::definition_text;
use databases::catalogue::{Index, Module, Partitioning, TableDefinition, same_name};
use introspection::system_views::{self, View};
use query::Datum;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;
use tsql::parse_object_name;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::scope;
use crate::statements::procedures::argument::{Argument, Outcome, text_of};
use crate::statements::procedures::show;

/// sp_help without a name.
const EVERYTHING: &str = "SELECT o.name AS Name, N'dbo' AS Owner, CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Object_type \
    FROM sys.all_objects o WHERE o.type <> 'IT' ORDER BY o.schema_id, o.name; \
    SELECT t.name AS User_type, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length, t.precision AS Prec, \
    t.scale AS Scale, CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS Nullable, N'none' AS Default_name, \
    N'none' AS Rule_name, t.collation_name AS Collation FROM sys.types t WHERE t.user_type_id > 256 ORDER BY t.name";

/// The query that describes an object.
const OBJECT: &str = "SELECT o.name AS Name, N'dbo' AS Owner, CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Type, \
    o.create_date AS Created_datetime FROM sys.all_objects o WHERE o.object_id = @id";

/// The query for the object's columns.
const COLUMNS: &str = "SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type, \
    CASE c.is_computed WHEN 0 THEN 'no' ELSE 'yes' END AS Computed, CAST(c.max_length AS int) AS Length, \
    CAST(CASE WHEN c.precision = 0 THEN '' ELSE CAST(c.precision AS char(5)) END AS char(5)) AS Prec, \
    CAST(CASE WHEN c.precision = 0 THEN '' ELSE CAST(c.scale AS char(5)) END AS char(5)) AS Scale, \
    CASE c.is_nullable WHEN 0 THEN 'no' ELSE 'yes' END AS Nullable, \
    CASE WHEN TYPE_NAME(c.system_type_id) NOT IN ('char', 'varchar', 'binary', 'varbinary') THEN '(n/a)' \
    WHEN c.is_ansi_padded = 0 THEN 'yes' ELSE 'no' END AS TrimTrailingBlanks, \
    CASE WHEN TYPE_NAME(c.system_type_id) NOT IN ('char', 'varchar', 'binary', 'varbinary') THEN '(n/a)' \
    WHEN c.is_nullable = 0 THEN 'no' ELSE 'yes' END AS FixedLenNullInSource, c.collation_name AS Collation \
    FROM sys.all_columns c WHERE c.object_id = @id ORDER BY c.column_id";

/// The queries for the table's identity column, its row's own identifier, and its group.
const TABLE: &str = "IF EXISTS (SELECT * FROM sys.identity_columns WHERE object_id = @id) \
    SELECT name AS [Identity], CAST(seed_value AS numeric(38,0)) AS Seed, CAST(increment_value AS numeric(38,0)) AS Increment, 0 AS [Not For Replication] \
    FROM sys.identity_columns WHERE object_id = @id \
    ELSE SELECT N'No identity column defined.' AS [Identity], CAST(NULL AS numeric(38,0)) AS Seed, \
    CAST(NULL AS numeric(38,0)) AS Increment, CAST(NULL AS int) AS [Not For Replication]; \
    SELECT ISNULL((SELECT name FROM sys.columns WHERE object_id = @id AND is_rowguidcol = 1), N'No rowguidcol column defined.') AS [RowGuidCol]; \
    SELECT s.name AS Data_located_on_filegroup FROM sys.data_spaces s JOIN sys.indexes i ON i.data_space_id = s.data_space_id \
    WHERE i.object_id = @id AND i.index_id < 2";

/// The query that describes a type.
const TYPE: &str = "SELECT t.name AS Type_name, TYPE_NAME(t.system_type_id) AS Storage_type, CAST(t.max_length AS int) AS Length, \
    CAST(t.precision AS int) AS Prec, CAST(t.scale AS int) AS Scale, CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS Nullable, \
    N'none' AS Default_name, N'none' AS Rule_name, t.collation_name AS Collation FROM sys.types t WHERE t.user_type_id = @id";

/// Parameters of a procedure or function.
const PARAMETERS: &str = "SELECT p.name AS Parameter_name, TYPE_NAME(p.user_type_id) AS Type, CAST(p.max_length AS int) AS Length, \
    CAST(p.precision AS int) AS Prec, CAST(p.scale AS int) AS Scale, p.parameter_id AS Param_order, CAST(NULL AS sysname) AS Collation \
    FROM sys.parameters p WHERE p.object_id = @id ORDER BY p.parameter_id";

/// The object that a name stands for in these procedures.
enum Named {
    Table(Arc<TableDefinition>),
    Module(Arc<Module>),
}

/// Runs a help procedure. Errors: 15009 for an unknown object, 15197 for an object without a text.
pub async fn run(
    session: &mut Session,
    procedure: &str,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let Some(text) = text_of(arguments, 0, "@objname") else {
        return match procedure {
            "sp_help" => show_help(session, EVERYTHING, None, frame, output).await,
            other => Err(errors::PARAMETER_MISSING.with([other, "@objname"])),
        };
    };
    let named = match named_for_help(session, &text) {
        Err(error) if procedure == "sp_help" => {
            let id = type_id(session, &text)?.ok_or(error)?;
            return show_help(session, TYPE, Some(id), frame, output).await;
        }
        named => named?,
    };
    match (procedure, &named) {
        ("sp_helptext", named) => show_text(session, &text, named, arguments, output).await?,
        ("sp_helpindex", Named::Table(table)) => show_indexes(session, &text, table, output).await?,
        ("sp_helpindex", Named::Module(_)) => no_indexes(session, &text, output).await,
        ("sp_helpconstraint", Named::Table(table)) => {
            if text_of(arguments, 1, "@nomsg").is_none_or(|word| !word.eq_ignore_ascii_case("nomsg")) {
                show_name(session, &text, output).await?;
            }
            show_constraints(session, &text, table, output).await?;
        }
        ("sp_helpconstraint", Named::Module(_)) => no_constraints(session, &text, output).await,
        (_, Named::Table(table)) => {
            let id = Some(table.object_id);
            for part in [OBJECT, COLUMNS, TABLE] {
                let outcome = show_help(session, part, id, frame, output).await?;
                if outcome.stop {
                    return Ok(outcome);
                }
            }
            show_indexes(session, &text, table, output).await?;
            show_constraints(session, &text, table, output).await?;
        }
        (_, Named::Module(module)) => {
            let definition = &module.definition;
            let id = Some(definition.object_id);
            let mut parts = vec![OBJECT];
            if !definition.columns.is_empty() {
                parts.push(COLUMNS);
            }
            if !definition.parameters.is_empty() {
                parts.push(PARAMETERS);
            }
            for part in parts {
                let outcome = show_help(session, part, id, frame, output).await?;
                if outcome.stop {
                    return Ok(outcome);
                }
            }
        }
    }
    Ok(Outcome::plain())
}

/// Runs queries over the catalogue in which `@id` is an object.
async fn show_help(
    session: &mut Session,
    text: &str,
    id: Option<i32>,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let mut inner = frame.inner()?;
    inner.declare("@id", SqlType::Int, id.map_or(Datum::Null, |id| Datum::Int(i64::from(id))));
    Ok(Outcome::of(&scope::run_text(session, text, &mut inner, output).await?))
}

/// Returns the number of a type, of the system's or the user's.
fn type_id(session: &Session, text: &str) -> Result<Option<i32>, SqlError> {
    let Ok(name) = parse_object_name(text) else { return Ok(None) };
    let of_system = Some(&name)
        .filter(|name| name.schema.as_deref().is_none_or(|schema| schema.eq_ignore_ascii_case("sys")));
    if let Some(id) = of_system.and_then(|name| system_views::type_id_of_name(&name.name)) {
        return Ok(Some(id));
    }
    let schema = name.schema.as_deref().unwrap_or("dbo");
    let own = session.work.view().user_types()?.into_iter().find(|found| {
        same_name(&found.database, &session.database)
            && same_name(&found.schema, schema)
            && same_name(&found.name, &name.name)
    });
    Ok(own.map(|found| found.id))
}

fn named_for_help(session: &Session, text: &str) -> Result<Named, SqlError> {
    let missing = || {
        let text = format!(
            "The object '{text}' does not exist in database '{}' or is invalid for this operation.",
            session.database
        );
        SqlError::new(15009, 16, 1, text)
    };
    let name: ObjectName = parse_object_name(text).map_err(|_| missing())?;
    if let Some(table) = session.work.find(&name, &session.database)? {
        return Ok(Named::Table(table.definition));
    }
    let found = session.work.find_module(&name, &session.database)?;
    found.map(|(_, module)| Named::Module(module)).ok_or_else(missing)
}

/// Shows the text of a module, or of a computed column, line by line.
async fn show_text(
    session: &mut Session,
    written: &str,
    named: &Named,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<(), SqlError> {
    let text = match named {
        Named::Module(module) => Some(module.definition.text.clone()).filter(|text| !text.is_empty()),
        Named::Table(table) => {
            let column = text_of(arguments, 1, "@columnname");
            let position = column.and_then(|column| table.position(&column));
            let column = position.and_then(|position| table.columns.get(position));
            column.and_then(|column| column.computed.as_ref()).map(|text| definition_text(text))
        }
    };
    let text =
        text.ok_or_else(|| SqlError::new(15197, 16, 1, format!("There is no text for object '{written}'.")))?;
    let mut view = View::new(&[("Text", "nvarchar(255)")]);
    for line in text.split_inclusive('\n') {
        let units: Vec<u16> = line.encode_utf16().collect();
        for piece in units.chunks(255) {
            view.push(vec![Datum::Text(String::from_utf16_lossy(piece))]);
        }
    }
    show::show_view(session, view, output).await
}

async fn no_indexes(session: &mut Session, written: &str, output: &mut Output) {
    let text = format!("The object '{written}' does not have any indexes, or you do not have permissions.");
    answer::inform(session, SqlError::new(15472, 0, 1, text), output).await;
}

async fn show_indexes(
    session: &mut Session,
    written: &str,
    table: &TableDefinition,
    output: &mut Output,
) -> Result<(), SqlError> {
    let mut view = View::new(&[
        ("index_name", "name"),
        ("index_description", "varchar(210)"),
        ("index_keys", "nvarchar(2078)"),
    ]);
    let group = |clustered: bool, by: &Option<Partitioning>, own: &Option<String>| {
        let by = if clustered { &table.partitioning } else { by };
        let scheme = by.as_ref().map(|by| by.scheme.clone());
        scheme.or_else(|| own.clone()).unwrap_or_else(|| "PRIMARY".to_string())
    };
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for key in &table.keys {
        let what = if key.primary { "primary key" } else { "unique key" };
        let clustered = if key.clustered { "clustered" } else { "nonclustered" };
        let place = group(key.clustered, &key.partitioning, &key.file_group);
        let description = format!("{clustered}, unique, {what} located on {place}");
        rows.push((key.name.clone(), description, keys_of(&key.columns)));
    }
    for index in &table.indexes {
        let place = group(index.clustered, &index.partitioning, &index.file_group);
        rows.push((index.name.clone(), described(index, &place), keys_of(&index.columns)));
    }
    if rows.is_empty() {
        no_indexes(session, written, output).await;
        return Ok(());
    }
    rows.sort_by_key(|(name, ..)| name.to_lowercase());
    for (name, description, keys) in rows {
        view.push([name, description, keys].map(Datum::Text).to_vec());
    }
    show::show_view(session, view, output).await
}

async fn no_constraints(session: &mut Session, written: &str, output: &mut Output) {
    let text = format!("No constraints are defined on object '{written}', or you do not have permissions.");
    answer::inform(session, SqlError::new(15469, 0, 1, text), output).await;
}

/// Shows the first result of sp_helpconstraint: the requested name.
async fn show_name(session: &mut Session, written: &str, output: &mut Output) -> Result<(), SqlError> {
    let mut view = View::new(&[("Object Name", "nvarchar(776)")]);
    view.push(vec![Datum::Text(written.to_owned())]);
    show::show_view(session, view, output).await
}

async fn show_constraints(
    session: &mut Session,
    written: &str,
    table: &TableDefinition,
    output: &mut Output,
) -> Result<(), SqlError> {
    let mut view = View::new(&[
        ("constraint_type", "nvarchar(146)"),
        ("constraint_name", "nvarchar(128)"),
        ("delete_action", "nvarchar(11)"),
        ("update_action", "nvarchar(11)"),
        ("status_enabled", "varchar(8)"),
        ("status_for_replication", "varchar(19)"),
        ("constraint_keys", "nvarchar(2126)"),
    ]);
    let none = "(n/a)".to_string();
    let enabled = |disabled: bool| if disabled { "Disabled" } else { "Enabled" }.to_string();
    let mut add = |cells: [String; 7]| view.push(cells.map(Datum::Text).to_vec());
    for check in &table.checks {
        let on = match &check.column {
            Some(column) => format!("CHECK on column {column}"),
            None => "CHECK Table Level ".to_string(),
        };
        let text = definition_text(&check.text);
        let replication = "Is_For_Replication".to_string();
        add([on, check.name.clone(), none.clone(), none.clone(), enabled(check.disabled), replication, text]);
    }
    for column in &table.columns {
        if let Some(default) = &column.default {
            let on = format!("DEFAULT on column {}", column.name);
            let [a, b, c, d] = [0; 4].map(|_| none.clone());
            add([on, default.name.clone(), a, b, c, d, default.definition()]);
        }
    }
    for key in &table.foreign_keys {
        let (own, other) = (key.columns.join(", "), key.referenced.join(", "));
        let action = |description: &str| match description {
            "NO_ACTION" => "No Action".to_string(),
            "CASCADE" => "Cascade".to_string(),
            "SET_NULL" => "Set null".to_string(),
            _ => "Set default".to_string(),
        };
        let (gone, changed) = (action(key.on_delete.description()), action(key.on_update.description()));
        let replication = "Is_For_Replication".to_string();
        let kind = "FOREIGN KEY".to_string();
        add([kind, key.name.clone(), gone, changed, enabled(key.disabled), replication, own]);
        let place = format!("REFERENCES {}.{}.{} ({other})", table.database, key.schema, key.table);
        let blank = || " ".to_string();
        add([blank(), blank(), blank(), blank(), blank(), blank(), place]);
    }
    for key in &table.keys {
        let what = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        let kind = format!("{what} ({})", if key.clustered { "clustered" } else { "non-clustered" });
        let [a, b, c, d] = [0; 4].map(|_| none.clone());
        add([kind, key.name.clone(), a, b, c, d, keys_of(&key.columns)]);
    }
    if view.is_empty() {
        no_constraints(session, written, output).await;
        return Ok(());
    }
    show::show_view(session, view, output).await
}

/// Lists the key columns; `(-)` marks one that descends.
fn keys_of(columns: &[(String, bool)]) -> String {
    let spelled =
        columns.iter().map(|(name, descending)| format!("{name}{}", if *descending { "(-)" } else { "" }));
    spelled.collect::<Vec<_>>().join(", ")
}

fn described(index: &Index, group: &str) -> String {
    let mut words = vec![if index.clustered { "clustered" } else { "nonclustered" }];
    if index.columnstore {
        words.push("columnstore");
    }
    if index.unique {
        words.push("unique");
    }
    if index.options.ignore_dup_key {
        words.push("ignore duplicate keys");
    }
    format!("{} located on {group}", words.join(", "))
}
