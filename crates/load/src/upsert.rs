//! Upserts: bulk into a temporary table, then one UPDATE and one INSERT, in one transaction.

use std::fmt;

use arrow::{datatypes::Schema, record_batch::RecordBatch};
use tds::{Column, Isolation};

use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    load::{LoadError, Progress, load},
    options::LoadOptions,
    plan::LoadPlan,
    report::{LoadReport, grouped},
    table_name::{TableName, quoted},
};

/// The temporary table; it lives within the upsert's transaction.
const STAGE: &str = "#bulkwire_upsert";

/// What an upsert did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpsertReport {
    /// Rows whose key was new.
    pub inserted: u64,
    /// Rows whose key was there already, changed or not.
    pub updated: u64,
    /// How the rows came to the server.
    pub staged: LoadReport,
}

impl fmt::Display for UpsertReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} inserted, {} updated", grouped(self.inserted), grouped(self.updated))?;
        write!(f, "staged: {}", self.staged)
    }
}

/// Brings every row of the source into the table: the row with its key is updated, or else it is inserted. Columns are
/// matched by name; columns of the table that the source lacks keep their values, or get their defaults.
///
/// All of it is one transaction (the caller's, if one is open), which locks the keys concerned against other writers.
/// On an error nothing of it stays, and a transaction of the caller's is rolled back by the server if it is its rule.
///
/// # Errors
/// Besides those of a load: a key that is no column of both sides ([`Error::UpsertKey`]), NULL in a key (a cell error that
/// names the row), and rows of the source that share a key ([`Error::DuplicateKey`]).
pub fn upsert<S, E>(
    client: &mut Client,
    target: &TableDescription,
    schema: &Schema,
    source: S,
    keys: &[String],
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<UpsertReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let statements = Statements::new(target, schema, keys, options).map_err(nothing)?;
    let owns_transaction = !client.in_transaction();
    if owns_transaction {
        client.begin(Isolation::Current).map_err(nothing)?;
    }
    let done = run(client, &statements, schema, source, options, progress);
    let done = match (done, owns_transaction) {
        (Ok(report), true) => match client.commit() {
            Ok(()) => Ok(report),
            Err(source) => {
                let rows_in_doubt = if source.is_in_doubt() { report.staged.rows } else { 0 };
                Err(LoadError { rows_in_doubt, ..LoadError::before_rows(source) })
            }
        },
        (done, _) => done,
    };
    if done.is_err() && owns_transaction && !client.is_broken() {
        // The first error matters more than that of the rollback, which a lost connection implies anyway.
        let _ = client.rollback();
    }
    done
}

fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source.without_doubt())
}

fn run<S, E>(
    client: &mut Client,
    statements: &Statements,
    schema: &Schema,
    source: S,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<UpsertReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    client.execute(&statements.create).map_err(nothing)?;
    let stage = TableName { database: None, schema: None, name: STAGE.to_owned() };
    let mut described = client.describe(&stage).map_err(nothing)?;
    for column in &mut described.columns {
        // Known from the statement, whatever the server's catalogue has of temporary tables.
        if statements.keys.iter().any(|key| key.eq_ignore_ascii_case(&column.column.name)) {
            column.forbid_null();
        }
    }
    let plan = LoadPlan::new(client, &described, schema, options).map_err(nothing)?;
    let staged =
        load(client, &plan, source, progress).map_err(|error| LoadError { rows_committed: 0, ..error })?;
    apply(client, statements, staged).map_err(nothing)
}

fn apply(client: &mut Client, statements: &Statements, staged: LoadReport) -> Result<UpsertReport, Error> {
    let duplicates = client.query_values(&statements.duplicates)?;
    if let Some(row) = duplicates.first().and_then(|table| table.rows.first()) {
        let (count, key) =
            row.split_last().ok_or(Error::unexpected("looking for duplicates", "an empty row"))?;
        let key = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(Error::DuplicateKey { key, count: count.to_string() });
    }
    let updated = client.execute(&statements.update)?.rows_affected;
    let inserted = client.execute(&statements.insert)?.rows_affected;
    client.execute(&format!("DROP TABLE {STAGE}"))?;
    Ok(UpsertReport { inserted, updated, staged })
}

struct Statements {
    keys: Vec<String>,
    create: String,
    duplicates: String,
    update: String,
    insert: String,
}

impl Statements {
    fn new(
        target: &TableDescription,
        schema: &Schema,
        keys: &[String],
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let is_identity =
            |column: &Column| target.columns.iter().any(|c| c.is_identity && c.column.name == column.name);
        let in_source =
            |name: &str| schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(name));
        let is_key = |column: &Column| keys.iter().any(|key| key.eq_ignore_ascii_case(&column.name));
        // An identity can be a key without its values being inserted; it can never be updated.
        let columns: Vec<Column> =
            target.loadable_columns(true).into_iter().filter(|column| in_source(&column.name)).collect();
        if keys.is_empty() {
            return Err(Error::UpsertKey {
                column: String::new(),
                reason: "an upsert needs at least one key column",
            });
        }
        for key in keys {
            let reason = match () {
                () if !in_source(key) => "it is not in the source",
                () if !columns.iter().any(|column| column.name.eq_ignore_ascii_case(key)) => {
                    "it is no column of the table that can be loaded"
                }
                () => continue,
            };
            return Err(Error::UpsertKey { column: key.clone(), reason });
        }
        let identity = columns.iter().find(|column| is_identity(column));
        if let Some(identity) = identity.filter(|identity| !options.keep_identity && !is_key(identity)) {
            return Err(Error::Identity { column: identity.name.clone() });
        }
        let names = |columns: &mut dyn Iterator<Item = &Column>, prefix: &str| {
            columns.map(|column| format!("{prefix}{}", quoted(&column.name))).collect::<Vec<_>>().join(", ")
        };
        let key_columns = || columns.iter().filter(|column| is_key(column));
        let matches = key_columns()
            .map(|column| format!("t.{0} = s.{0}", quoted(&column.name)))
            .collect::<Vec<_>>()
            .join(" AND ");
        let table = &target.name;
        let assignments: Vec<String> = columns
            .iter()
            .filter(|column| !is_key(column) && !is_identity(column))
            .map(|column| format!("{0} = s.{0}", quoted(&column.name)))
            .collect();
        let update = match assignments.is_empty() {
            // Nothing but keys: their rows are counted and locked all the same.
            true => "SELECT 1 AS present".to_owned(),
            false => format!("UPDATE t SET {}", assignments.join(", ")),
        };
        let update =
            format!("{update} FROM {table} AS t WITH (UPDLOCK, SERIALIZABLE) JOIN {STAGE} AS s ON {matches}");
        let kept = || columns.iter().filter(|column| options.keep_identity || !is_identity(column));
        let insert = format!(
            "INSERT INTO {table} ({}) SELECT {} FROM {STAGE} AS s WHERE NOT EXISTS (SELECT 1 FROM {table} AS t WHERE {matches})",
            names(&mut kept(), ""),
            names(&mut kept(), "s.")
        );
        let insert = match identity {
            Some(_) if options.keep_identity => {
                format!("SET IDENTITY_INSERT {table} ON; {insert}; SET IDENTITY_INSERT {table} OFF")
            }
            _ => insert,
        };
        let definitions = columns.iter().map(|column| {
            let collation = target.columns.iter().find(|c| c.column.name == column.name);
            let collation = collation.and_then(|c| c.collation.as_ref());
            let collation = collation.map(|name| format!(" COLLATE {name}")).unwrap_or_default();
            let null = if is_key(column) || !column.flags.is_nullable() { "NOT NULL" } else { "NULL" };
            format!("{} {}{collation} {null}", quoted(&column.name), column.type_info.sql_type)
        });
        let create = format!("CREATE TABLE {STAGE} ({})", definitions.collect::<Vec<_>>().join(", "));
        let key_names = names(&mut key_columns(), "");
        let duplicates = format!(
            "SELECT TOP (1) {key_names}, COUNT(*) FROM {STAGE} GROUP BY {key_names} HAVING COUNT(*) > 1 ORDER BY {key_names}"
        );
        Ok(Self { keys: keys.to_vec(), create, duplicates, update, insert })
    }
}
