//! `bulkwire describe`.

use std::io::{self, Write};

use copy::DatabaseFileEndpoint;
use load::report::{grouped, row_words};
use load::{LoadOptions, LoadPlan, RecoveryModel, TableDescription, TableName};
use rows::Mapping;
use rows::mapping::{Form, field_for};

use super::{describe_file, describe_json};
use crate::args::DescribeArgs;
use crate::connection;
use crate::failure::Failure;
use crate::table::Table;

/// Shows a table and the plan of a load into it, or the database in files that SQL Server wrote.
pub fn run(arguments: &DescribeArgs) -> Result<(), Failure> {
    if let Some(files) = DatabaseFileEndpoint::parse(&arguments.table) {
        let set = arguments.backup_set.map(usize::from);
        return describe_file::run(&files.with_set(set), arguments.json, arguments.verify);
    }
    if arguments.backup_set.is_some() || arguments.verify {
        let text = "--backup-set and --verify are for files of SQL Server (shop.bak)".to_owned();
        return Err(Failure::Usage(text));
    }
    let table: TableName =
        arguments.table.parse().map_err(|error: load::Error| Failure::Usage(error.to_string()))?;
    let mut client = connection::open(&arguments.connection)?;
    let described = client.describe(&table);
    let description = described.map_err(|error| load::name_nearest(&mut client, &table, error))?;
    let mut out = io::stdout().lock();
    if arguments.json {
        let line = describe_json::of(&description);
        return writeln!(out, "{line}").map_err(|source| Failure::Stream { stream: "output", source });
    }
    write_table(&description, &mut out).map_err(|source| Failure::Stream { stream: "output", source })?;
    // A load of every column, as Arrow would carry them.
    let fields: Vec<_> =
        description.loadable_columns(true).iter().map(|column| field_for(column, &Form::default())).collect();
    let options = LoadOptions { mapping: Mapping::ByName, keep_identity: true, ..LoadOptions::default() };
    let plan = LoadPlan::new(&client, &description, &arrow::datatypes::Schema::new(fields), &options)?;
    writeln!(out, "\nA load of every column would use\n{plan}")
        .map_err(|source| Failure::Stream { stream: "output", source })
}

fn write_table(description: &TableDescription, out: &mut impl Write) -> io::Result<()> {
    let kind = if description.is_view { "view".to_owned() } else { description.storage.to_string() };
    let (noun, _) = row_words(description.rows);
    writeln!(out, "{} ({kind}), {} {noun}", description.name, grouped(description.rows))?;
    let recovery = match description.database.recovery_model {
        Some(RecoveryModel::Simple) => "SIMPLE",
        Some(RecoveryModel::BulkLogged) => "BULK_LOGGED",
        Some(RecoveryModel::Full) => "FULL",
        None => "unknown",
    };
    let collation = description.database.collation.as_deref().unwrap_or("unknown");
    writeln!(
        out,
        "database {}, recovery model {recovery}, collation {collation}\n",
        description.database.name
    )?;
    let mut columns =
        Table::new(["column", "type", "null", "properties"].map(|name| (name.to_owned(), false)));
    for column in &description.columns {
        let properties: Vec<String> = [
            (column.is_identity, "identity".to_owned()),
            (column.is_computed, "computed".to_owned()),
            (column.is_rowversion, "rowversion".to_owned()),
            (column.has_default, "default".to_owned()),
            (column.collation.is_some(), column.collation.clone().unwrap_or_default()),
            (
                column.encryption.is_some(),
                column.encryption.as_ref().map(ToString::to_string).unwrap_or_default(),
            ),
        ]
        .into_iter()
        .filter_map(|(present, text)| present.then_some(text))
        .collect();
        let null = if column.column.flags.is_nullable() { "NULL" } else { "NOT NULL" };
        columns.push([
            column.column.name.clone(),
            column.column.type_info.sql_type.to_string(),
            null.to_owned(),
            properties.join(", "),
        ]);
    }
    columns.write(out)?;
    write_indexes(description, out)?;
    write_partitions(description, out)?;
    for constraint in &description.constraints {
        let kind = if constraint.is_foreign_key { "FOREIGN KEY" } else { "CHECK" };
        let state = match (constraint.is_disabled, constraint.is_not_trusted) {
            (true, _) => ", disabled",
            (false, true) => ", not trusted",
            (false, false) => "",
        };
        writeln!(out, "{kind} {}{state}", constraint.name)?;
    }
    for trigger in &description.triggers {
        let kind = if trigger.is_instead_of { "INSTEAD OF" } else { "AFTER" };
        let state = if trigger.is_disabled { ", disabled" } else { "" };
        writeln!(out, "{kind} trigger {}{state}", trigger.name)?;
    }
    Ok(())
}

/// Partitions in a row that have no rows are one line.
fn write_partitions(description: &TableDescription, out: &mut impl Write) -> io::Result<()> {
    let Some(partitioning) = &description.partitioning else { return Ok(()) };
    writeln!(out, "\n{}", partitioning.shown())?;
    let mut partitions = Table::new([("partition", true), ("values", false), ("rows", true)].map(named));
    let mut first = 0;
    for run in partitioning.rows.chunk_by(|one, next| *one == 0 && *next == 0) {
        let last = first + run.len() - 1;
        let (number, values) = match run.len() {
            1 => ((first + 1).to_string(), partitioning.values_of(first)),
            _ => {
                let (from, to) = (partitioning.values_of(first), partitioning.values_of(last));
                (format!("{}-{}", first + 1, last + 1), format!("{from} ... {to}"))
            }
        };
        partitions.push([number, values, grouped(run.iter().sum())]);
        first = last + 1;
    }
    partitions.write(out)?;
    for index in &partitioning.unaligned_indexes {
        writeln!(out, "index {index} is not partitioned as the table is")?;
    }
    Ok(())
}

fn named((name, is_right_aligned): (&str, bool)) -> (String, bool) {
    (name.to_owned(), is_right_aligned)
}

fn write_indexes(description: &TableDescription, out: &mut impl Write) -> io::Result<()> {
    if description.indexes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut indexes = Table::new(["index", "kind", "key"].map(|name| (name.to_owned(), false)));
    for index in &description.indexes {
        let key: Vec<String> = index
            .key
            .iter()
            .map(|(name, descending)| if *descending { format!("{name} DESC") } else { name.clone() })
            .collect();
        let clustered = description.clustered_index() == Some(index);
        let words = [
            (index.is_primary_key, "primary key"),
            (index.is_unique && !index.is_primary_key, "unique"),
            (clustered, "clustered"),
            (!clustered, "nonclustered"),
            (index.ignores_duplicate_keys, "ignores duplicate keys"),
            (index.is_disabled, "disabled"),
        ];
        let kind: Vec<&str> = words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        indexes.push([index.name.clone(), kind.join(", "), key.join(", ")]);
    }
    indexes.write(out)
}
