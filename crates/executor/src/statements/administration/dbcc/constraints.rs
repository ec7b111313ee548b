//! DBCC CHECKCONSTRAINTS: rows that violate CHECK and FOREIGN KEY constraints.

use databases::catalogue::{Check, ForeignKey, TableDefinition, same_name};
use introspection::system_views::View;
use query::Datum;
use query::convert::display;
use tsql::SqlError;
use tsql::administration::Dbcc;
use tsql::ast::StatementKind;
use tsql::{parse_batch, parse_object_name};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::work::OpenTable;
use crate::statements::administration::dbcc;
use crate::statements::administration::dbcc::Argument;
use crate::statements::ddl::alter_columns::uses_column;
use crate::statements::evaluation::evaluate;

/// Rows of one constraint that are shown without ALL_ERRORMSGS.
const ROWS_SHOWN: u64 = 200;

const COLUMNS: &[(&str, &str)] =
    &[("Table", "nvarchar(517)"), ("Constraint", "nvarchar(258)"), ("Where", "nvarchar(max)")];

/// A constraint of a table.
enum Constraint<'d> {
    Check(&'d Check),
    ForeignKey(&'d ForeignKey),
}

impl Constraint<'_> {
    fn name(&self) -> &str {
        match self {
            Constraint::Check(check) => &check.name,
            Constraint::ForeignKey(key) => &key.name,
        }
    }

    fn is_disabled(&self) -> bool {
        match self {
            Constraint::Check(check) => check.disabled,
            Constraint::ForeignKey(key) => key.disabled,
        }
    }

    /// Returns the columns that a broken row is shown by.
    fn columns(&self, table: &TableDefinition) -> Vec<usize> {
        match self {
            Constraint::Check(check) => {
                let only = TableDefinition {
                    columns: Vec::new(),
                    indexes: Vec::new(),
                    checks: vec![Check::clone(check)],
                    ..table.clone()
                };
                let columns = table.columns.iter().enumerate();
                let used = columns.filter(|(_, column)| uses_column(&only, &column.name));
                used.map(|(position, _)| position).collect()
            }
            Constraint::ForeignKey(key) => table.positions(&key.columns),
        }
    }

    /// Builds the condition of the rows that break the constraint; the table is called `own`.
    fn broken(&self, table: &TableDefinition) -> String {
        match self {
            Constraint::Check(check) => format!("NOT ({})", check.text),
            Constraint::ForeignKey(key) => {
                let present: Vec<String> =
                    key.columns.iter().map(|column| format!("own.{} IS NOT NULL", quoted(column))).collect();
                let pairs = key.columns.iter().zip(&key.referenced);
                let equal: Vec<String> = pairs
                    .map(|(own, other)| format!("other.{} = own.{}", quoted(other), quoted(own)))
                    .collect();
                format!(
                    "{} AND NOT EXISTS (SELECT 1 FROM {}.{}.{} AS other WHERE {})",
                    present.join(" AND "),
                    quoted(&table.database),
                    quoted(&key.schema),
                    quoted(&key.table),
                    equal.join(" AND ")
                )
            }
        }
    }
}

/// Runs DBCC CHECKCONSTRAINTS of a table, of one constraint, or of the current database. Rows that violate one are
/// shown by the constraint's columns. Errors: 2501.
pub async fn run(
    session: &mut Session,
    dbcc: &Dbcc,
    arguments: &[Argument],
    frame: &Frame,
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let (tables, only) = constrained(session, arguments.first())?;
    session.placement.leave().await;
    let mut view = View::new(COLUMNS);
    for table in &tables {
        let definition = &table.definition;
        let checks = definition.checks.iter().map(Constraint::Check);
        let keys = definition.foreign_keys.iter().map(Constraint::ForeignKey);
        for constraint in checks.chain(keys) {
            let chosen = match &only {
                Some(name) => same_name(constraint.name(), name),
                None => dbcc.has("ALL_CONSTRAINTS") || !constraint.is_disabled(),
            };
            if chosen {
                let limit = (!dbcc.has("ALL_ERRORMSGS")).then_some(ROWS_SHOWN);
                broken_rows(session, definition, &constraint, limit, frame, &mut view).await?;
            }
        }
    }
    match view.is_empty() {
        true => Ok(None),
        false => dbcc::rows(session, &view, output).await,
    }
}

/// Finds the tables of an argument, and the constraint if it names one.
fn constrained(
    session: &Session,
    argument: Option<&Argument>,
) -> Result<(Vec<OpenTable>, Option<String>), SqlError> {
    let own = || -> Result<Vec<OpenTable>, SqlError> {
        let mut tables = session.work.view().tables()?;
        tables.retain(|table| same_name(&table.definition.database, &session.database));
        Ok(tables)
    };
    let Some(argument) = argument else { return Ok((own()?, None)) };
    let missing = match dbcc::table_named(session, argument) {
        Ok(table) => return Ok((vec![table], None)),
        Err(missing) => missing,
    };
    let named = |constraint: &Constraint<'_>, id: i32| match argument {
        Argument::Name(text) => {
            parse_object_name(text).is_ok_and(|name| same_name(&name.name, constraint.name()))
        }
        Argument::Number(number) => i64::from(id) == *number,
        Argument::Null => false,
    };
    for table in own()? {
        let definition = &table.definition;
        let checks = definition.checks.iter().map(|check| (Constraint::Check(check), check.object_id));
        let keys = definition.foreign_keys.iter().map(|key| (Constraint::ForeignKey(key), key.object_id));
        let found = checks.chain(keys).find(|(constraint, id)| named(constraint, *id));
        if let Some(name) = found.map(|(constraint, _)| constraint.name().to_owned()) {
            return Ok((vec![table], Some(name)));
        }
    }
    Err(missing)
}

async fn broken_rows(
    session: &mut Session,
    table: &TableDefinition,
    constraint: &Constraint<'_>,
    limit: Option<u64>,
    frame: &Frame,
    view: &mut View,
) -> Result<(), SqlError> {
    let mut positions = constraint.columns(table);
    if positions.is_empty() {
        positions.push(0);
    }
    let columns: Vec<_> = positions.iter().filter_map(|position| table.columns.get(*position)).collect();
    let listed: Vec<String> = columns.iter().map(|column| format!("own.{}", quoted(&column.name))).collect();
    let top = limit.map(|limit| format!("TOP {limit} ")).unwrap_or_default();
    let text = format!(
        "SELECT {top}{} FROM {} AS own WHERE {}",
        listed.join(", "),
        source(table),
        constraint.broken(table)
    );
    let Some(StatementKind::Query(query)) = parse_batch(&text, true)?.into_iter().next().map(|one| one.kind)
    else {
        return Err(SqlError::internal("a constraint that is no condition"));
    };
    let bound = evaluate::bind(session, &query, frame)?;
    let types: Vec<_> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let instance = std::sync::Arc::clone(&session.instance);
    let mut stream = instance.engine().start(bound, &session.cancellation).await?;
    while let Some(batch) = stream.next().await? {
        for row in 0..batch.num_rows() {
            let mut parts = Vec::with_capacity(columns.len());
            for ((array, sql_type), column) in batch.columns().iter().zip(&types).zip(&columns) {
                let value = Datum::read(array.as_ref(), sql_type, row)?;
                parts.push(match value.is_null() {
                    true => format!("{} IS NULL", quoted(&column.name)),
                    false => {
                        let value = display(&value, sql_type).replace('\'', "''");
                        format!("{} = '{value}'", quoted(&column.name))
                    }
                });
            }
            view.push(vec![
                Datum::Text(format!("{}.{}", quoted(&table.schema), quoted(&table.name))),
                Datum::Text(quoted(constraint.name())),
                Datum::Text(parts.join(" AND ")),
            ]);
        }
    }
    Ok(())
}

/// Names a table for a query.
fn source(table: &TableDefinition) -> String {
    match table.name.starts_with('#') {
        true => quoted(&table.name),
        false => format!("{}.{}.{}", quoted(&table.database), quoted(&table.schema), quoted(&table.name)),
    }
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
