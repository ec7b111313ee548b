//! `bulkwire describe` of files that SQL Server wrote: the database in them, or one of its tables.

use std::io::{self, Write};

use copy::{CopyError, DatabaseFileEndpoint};
use database_files::{
    Column, DatabaseFile, Description, FileError, Index, KeyKind, Origin, Table as FileTable,
};
use load::report::grouped;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::table::Table;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Threads that read a table.
const THREADS: usize = 2;

/// Describes the database, or the table that is named. With `verifies`, all rows are read too.
pub(super) fn run(endpoint: &DatabaseFileEndpoint, is_json: bool, verifies: bool) -> Result<(), Failure> {
    let database = endpoint.open()?;
    let mut out = io::stdout().lock();
    if verifies {
        return verify(&database, is_json, &mut out);
    }
    let written = match (&endpoint.table, is_json) {
        (None, true) => writeln!(out, "{}", database_json(&database)),
        (None, false) => write_database(endpoint, &database, &mut out),
        (Some(_), is_json) => {
            let index = endpoint.table_index()?;
            match (database.tables().get(index), is_json) {
                (Some(table), true) => writeln!(out, "{}", table_json(table)),
                (Some(table), false) => write_table(table, &mut out),
                (None, _) => Ok(()),
            }
        }
    };
    written.map_err(|source| Failure::Stream { stream: "output", source })
}

/// Reads every table and compares every checksum. A table that is not sound does not keep others from being read.
fn verify(database: &DatabaseFile, is_json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let stream = |source| Failure::Stream { stream: "output", source };
    let checksums = database.verify_checksums().map_err(|error| CopyError::Stream(error.into()))?;
    let (mut failed, mut all) = (Vec::new(), 0);
    let mut results = Vec::new();
    for (index, table) in database.tables().into_iter().enumerate() {
        let rows = rows_of(database, index);
        let name = table.full_name();
        let problem = match &rows {
            Ok(rows) => {
                all += rows;
                let counted = table.rows.filter(|counted| counted != rows);
                counted.map(|counted| format!("{rows} rows, and the catalogue counts {counted}"))
            }
            Err(error) => Some(error.to_string()),
        };
        match (&problem, is_json) {
            (_, true) => results.push(json!({ "table": name, "rows": rows.ok(), "problem": problem })),
            (None, false) => {
                writeln!(out, "{name}: {} rows", grouped(rows.unwrap_or_default())).map_err(stream)?
            }
            (Some(problem), false) => writeln!(out, "{name}: FAILED: {problem}").map_err(stream)?,
        }
        failed.extend(problem.map(|_| name));
    }
    match is_json {
        true => writeln!(out, "{}", json!({ "tables": results, "rows": all, "stream_checksums": checksums }))
            .map_err(stream)?,
        false => {
            let sound = results.len().max(database.tables().len()) - failed.len();
            writeln!(
                out,
                "{sound} of {} tables are sound, {} rows; {checksums} checksums over whole streams",
                database.tables().len(),
                grouped(all)
            )
            .map_err(stream)?;
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => {
            let text = format!("not sound or not read: {}", failed.join(", "));
            Err(CopyError::Stream(text.into()).into())
        }
    }
}

/// Reads a table to its end, and counts the rows.
fn rows_of(database: &DatabaseFile, table: usize) -> Result<u64, FileError> {
    let mut rows = 0;
    for batch in database.read(table, rows::Form::Exact, BATCH_ROWS, THREADS)? {
        rows += batch?.num_rows() as u64;
    }
    Ok(rows)
}

fn write_database(
    endpoint: &DatabaseFileEndpoint,
    database: &DatabaseFile,
    out: &mut impl Write,
) -> io::Result<()> {
    let description = database.description();
    writeln!(out, "{endpoint}: {}", origin_words(description))?;
    if description.version > 0 {
        let Description { server, version, compatibility, .. } = description;
        writeln!(out, "{server} (internal version {version}, compatibility level {compatibility})")?;
    } else {
        writeln!(out, "for {}", description.server)?;
    }
    writeln!(out)?;
    let names =
        [("table", false), ("rows", true), ("columns", true), ("storage", false), ("not read", false)];
    let mut tables = Table::new(names.map(|(name, is_number)| (name.to_owned(), is_number)));
    for table in database.tables() {
        tables.push([
            table.full_name(),
            table.rows.map(grouped).unwrap_or_default(),
            table.columns.len().to_string(),
            storage(table).to_owned(),
            table.unreadable.clone().unwrap_or_default(),
        ]);
    }
    tables.write(out)?;
    let modules = database.modules().len();
    if modules > 0 {
        writeln!(out, "\n{modules} views, procedures, functions and triggers, which are not copied")?;
    }
    Ok(())
}

fn origin_words(description: &Description) -> String {
    let Description { database, origin, .. } = description;
    match origin {
        Origin::DataFiles => format!("data files of the database {database}, which was shut down"),
        Origin::Backup { is_differential, files, begun, server_version, last_lsn } => {
            let kind = if *is_differential { "full and differential backup" } else { "full backup" };
            let files = if *files == 1 { String::new() } else { format!(" in {files} files") };
            format!(
                "{kind}{files} of the database {database}, begun {begun} by version {server_version}, recovery point {last_lsn}"
            )
        }
        Origin::Package { product, has_data } => {
            let kind = if *has_data { "package of model and data" } else { "package of a model alone" };
            format!("{kind} of the database {database}, written by {product}")
        }
    }
}

fn storage(table: &FileTable) -> &'static str {
    if table.clustered().is_some() { "clustered" } else { "heap" }
}

fn write_table(table: &FileTable, out: &mut impl Write) -> io::Result<()> {
    let rows = table.rows.map(|rows| format!(", {} rows", grouped(rows))).unwrap_or_default();
    writeln!(out, "{} ({}){rows}", table.full_name(), storage(table))?;
    if let Some(reason) = &table.unreadable {
        writeln!(out, "its rows are not read: {reason}")?;
    }
    writeln!(out)?;
    let mut columns =
        Table::new(["column", "type", "null", "properties"].map(|name| (name.to_owned(), false)));
    for column in &table.columns {
        let null = if column.is_nullable { "NULL" } else { "NOT NULL" };
        columns.push([
            column.name.clone(),
            type_words(column),
            null.to_owned(),
            properties(column).join(", "),
        ]);
    }
    columns.write(out)?;
    if !table.indexes.is_empty() {
        writeln!(out)?;
        let mut indexes = Table::new(["index", "kind", "key"].map(|name| (name.to_owned(), false)));
        for index in &table.indexes {
            indexes.push([index.name.clone().unwrap_or_default(), kind(index), key(index)]);
        }
        indexes.write(out)?;
    }
    for key in &table.foreign_keys {
        let name = key.name.as_deref().unwrap_or_default();
        let (from, to) = (key.columns.join(", "), key.to_columns.join(", "));
        writeln!(out, "FOREIGN KEY {name} ({from}) REFERENCES {}.{} ({to})", key.to_schema, key.to_table)?;
    }
    for check in &table.checks {
        writeln!(out, "CHECK {} {}", check.name.as_deref().unwrap_or_default(), check.definition)?;
    }
    for what in &table.left_out {
        writeln!(out, "not copied: {what}")?;
    }
    Ok(())
}

/// Returns the type; that of a computed column is not in the file.
fn type_words(column: &Column) -> String {
    if column.computed.is_some() { String::new() } else { column.sql_type.to_string() }
}

fn properties(column: &Column) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(identity) = &column.identity {
        words.push(format!("identity({}, {})", identity.seed, identity.increment));
    }
    if let Some(computed) = &column.computed {
        words.push(format!("computed {}", computed.definition).trim_end().to_owned());
    }
    if let Some(default) = &column.default {
        words.push(format!("default {}", default.definition));
    }
    words.extend(column.collation.and_then(|collation| collation.name()));
    words
}

fn kind(index: &Index) -> String {
    let words = [
        (index.key_kind == Some(KeyKind::Primary), "primary key"),
        (index.key_kind == Some(KeyKind::Unique), "unique constraint"),
        (index.is_unique && index.key_kind.is_none(), "unique"),
        (index.is_clustered, "clustered"),
        (!index.is_clustered, "nonclustered"),
    ];
    words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect::<Vec<_>>().join(", ")
}

fn key(index: &Index) -> String {
    let part =
        |(name, descends): &(String, bool)| if *descends { format!("{name} DESC") } else { name.clone() };
    index.key.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Returns the database as one object.
fn database_json(database: &DatabaseFile) -> Value {
    let description = database.description();
    let origin = match &description.origin {
        Origin::DataFiles => json!({ "kind": "data files" }),
        Origin::Backup { is_differential, files, begun, server_version, last_lsn } => json!({
            "kind": "backup",
            "differential": is_differential,
            "files": files,
            "begun": begun,
            "server_version": server_version,
            "last_lsn": last_lsn,
        }),
        Origin::Package { product, has_data } => {
            json!({ "kind": "package", "product": product, "data": has_data })
        }
    };
    let modules = database.modules().iter().map(|module| json!({ "kind": module.kind, "name": module.name }));
    json!({
        "database": description.database,
        "server": description.server,
        "internal_version": (description.version > 0).then_some(description.version),
        "compatibility_level": (description.compatibility > 0).then_some(description.compatibility),
        "origin": origin,
        "tables": database.tables().into_iter().map(table_json).collect::<Vec<_>>(),
        "modules": modules.collect::<Vec<_>>(),
    })
}

fn table_json(table: &FileTable) -> Value {
    let columns = table.columns.iter().map(|column| {
        json!({
            "name": column.name,
            "type": column.computed.is_none().then(|| column.sql_type.to_string()),
            "nullable": column.is_nullable,
            "identity": column.identity.is_some(),
            "computed": column.computed.as_ref().map(|computed| &computed.definition),
            "default": column.default.as_ref().map(|default| &default.definition),
            "collation": column.collation.and_then(|collation| collation.name()),
        })
    });
    let indexes = table.indexes.iter().map(|index| {
        json!({
            "name": index.name,
            "clustered": index.is_clustered,
            "unique": index.is_unique,
            "primary_key": index.key_kind == Some(KeyKind::Primary),
            "key": index.key.iter().map(|(name, descends)| json!({ "name": name, "descending": descends })).collect::<Vec<_>>(),
        })
    });
    let foreign_keys = table.foreign_keys.iter().map(|key| {
        json!({
            "name": key.name,
            "columns": key.columns,
            "references": format!("{}.{}", key.to_schema, key.to_table),
            "referenced": key.to_columns,
            "trusted": !key.is_not_trusted,
        })
    });
    let checks =
        table.checks.iter().map(|check| json!({ "name": check.name, "definition": check.definition }));
    json!({
        "table": table.full_name(),
        "rows": table.rows,
        "storage": storage(table),
        "columns": columns.collect::<Vec<_>>(),
        "indexes": indexes.collect::<Vec<_>>(),
        "foreign_keys": foreign_keys.collect::<Vec<_>>(),
        "checks": checks.collect::<Vec<_>>(),
        "left_out": table.left_out,
        "not_read": table.unreadable,
    })
}
