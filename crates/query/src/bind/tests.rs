//! Binding by text scripts: a query, and the columns, plan or error that it gets.
//!
//! A script is blocks separated by blank lines: a batch, `----`, and what binding must answer, line by line:
//!
//! | Line | Meaning |
//! |---|---|
//! | `[a int, b varchar(3) null]` | the query's columns |
//! | `error 207, line 2: text` | an error |
//! | anything else | the plan, as the execution engine shows it; left out, it is not compared |
//!
//! CREATE TABLE, CREATE VIEW and DECLARE add to what later blocks find; they have no `----`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tds::{Collation, SqlType};
use tsql::ast::{CreateTable, ModuleBody, StatementKind};
use tsql::bulk_file::BulkRowset;
use tsql::hints::TableHints;
use tsql::{ObjectName, SqlError, errors, parse_batch, same_name};

use super::{Binder, BoundTable, Environment, ScalarFunction, ViewQuery};
use crate::facts::Facts;
use crate::standalone::Tables;
use crate::{Datum, OutputColumn, TableFunction};

/// What a script has declared so far.
#[derive(Default)]
struct Declared {
    tables: Tables,
    views: Vec<(ObjectName, ViewQuery)>,
    variables: HashMap<String, (Datum, SqlType)>,
}

impl Declared {
    /// Runs a batch; returns what binding its query answers, or nothing.
    fn run(&mut self, batch: &str) -> Result<Vec<String>, SqlError> {
        let mut answer = Vec::new();
        for statement in parse_batch(batch, true)? {
            match statement.kind {
                StatementKind::CreateTable(table) => self.add_table(&table),
                StatementKind::CreateModule(module) => {
                    let ModuleBody::View { columns, query, .. } = module.body else {
                        panic!("no view: {batch}");
                    };
                    let schema = module.name.schema.clone().unwrap_or_else(|| "dbo".to_owned());
                    let view = ViewQuery {
                        database: "master".to_owned(),
                        schema,
                        columns,
                        known: Vec::new(),
                        query: *query,
                    };
                    self.views.push((module.name, view));
                }
                StatementKind::Declare(variables) => {
                    let values = variables.into_iter().map(|own| (own.name, (Datum::Null, own.sql_type)));
                    self.variables.extend(values);
                }
                StatementKind::Query(query) => {
                    let bound = Binder::new(self).query(&query, None);
                    let bound = bound.map_err(|error| error.at_line(statement.line))?;
                    let columns: Vec<String> = bound.columns.iter().map(shown).collect();
                    answer.push(format!("[{}]", columns.join(", ")));
                    answer.extend(bound.plan.display_indent().to_string().lines().map(str::to_owned));
                }
                other => panic!("no query: {other:?}"),
            }
        }
        Ok(answer)
    }

    fn add_table(&mut self, table: &CreateTable) {
        let columns = table.columns.iter().map(|clause| {
            let sql_type = clause.sql_type.clone().unwrap();
            let collation = match &clause.collation {
                Some(name) => Collation::from_name(name),
                None => Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
            };
            let nullable = clause.nullable.unwrap_or(true);
            let collation = collation.filter(|_| sql_type.is_character());
            OutputColumn { collation, ..OutputColumn::expression(&clause.name, sql_type, nullable) }
        });
        self.tables.add(&table.name.name, columns.collect(), []);
    }
}

impl Environment for Declared {
    fn table(&self, name: &ObjectName, hints: TableHints) -> Result<BoundTable, SqlError> {
        let of_dbo = name.schema.as_deref().is_none_or(|schema| same_name(schema, "dbo"));
        let found = self.tables.table(&ObjectName::bare(&name.name), hints);
        found.ok().filter(|_| of_dbo).ok_or_else(|| errors::INVALID_OBJECT.with([&name.to_string()]))
    }

    fn bulk_rowset(&self, rowset: &BulkRowset) -> Result<BoundTable, SqlError> {
        self.tables.bulk_rowset(rowset)
    }

    fn table_function(&self, name: &ObjectName) -> Result<TableFunction, SqlError> {
        self.tables.table_function(name)
    }

    fn view_query(&self, name: &ObjectName) -> Result<Option<ViewQuery>, SqlError> {
        let found = self.views.iter().find(|(own, _)| same_name(&own.name, &name.name));
        Ok(found.map(|(_, view)| view.clone()))
    }

    fn scalar_function(
        &self,
        database: Option<&str>,
        schema: &str,
        name: &str,
    ) -> Result<ScalarFunction, SqlError> {
        self.tables.scalar_function(database, schema, name)
    }

    fn next_value(&self, name: &ObjectName) -> Result<ScalarFunction, SqlError> {
        self.tables.next_value(name)
    }

    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError> {
        let found = self.variables.iter().find(|(own, _)| same_name(own, name));
        found.map(|(_, variable)| variable.clone()).ok_or_else(|| errors::UNDECLARED_VARIABLE.with([name]))
    }

    fn facts(&self) -> Result<Arc<dyn Facts>, SqlError> {
        self.tables.facts()
    }
}

fn shown(column: &OutputColumn) -> String {
    let null = if column.nullable { " null" } else { "" };
    format!("{} {}{null}", column.name, column.sql_type)
}

/// How many blocks of a script agree, and those that do not.
fn run(path: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut declared = Declared::default();
    let (mut agreed, mut failures) = (0, Vec::new());
    let without_comments = |block: &str| -> String {
        let lines = block.lines().filter(|line| !line.starts_with("-- "));
        lines.map(|line| format!("{line}\n")).collect()
    };
    for block in text.split("\n\n").map(without_comments).filter(|block| !block.trim().is_empty()) {
        let Some((batch, expected)) = block.split_once("----\n") else {
            declared.run(&block).unwrap();
            continue;
        };
        let expected: Vec<&str> = expected.lines().collect();
        let mut actual = declared.run(batch).unwrap_or_else(|error| {
            vec![format!("error {}, line {}: {}", error.number, error.line, error.message)]
        });
        // A plan is compared where one is written.
        let plan = expected.iter().any(|line| !line.starts_with('[') && !line.starts_with("error "));
        actual.truncate(if plan { actual.len() } else { 1 });
        match actual == expected {
            true => agreed += 1,
            false => failures.push(format!(
                "{}\n{batch}---- expected\n{}\n---- actual\n{}\n",
                path.file_name().unwrap().to_string_lossy(),
                expected.join("\n"),
                actual.join("\n")
            )),
        }
    }
    (agreed, failures)
}

#[test]
fn queries_are_bound_as_their_scripts_say() {
    let directory = Path::new("src/bind/tests");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut agreed, mut failures) = (0, Vec::new());
    for path in paths {
        let (own, failed) = run(&path);
        assert!(own + failed.len() > 0, "{} has no query", path.display());
        agreed += own;
        failures.extend(failed);
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        agreed + failures.len(),
        failures.join("\n")
    );
}
