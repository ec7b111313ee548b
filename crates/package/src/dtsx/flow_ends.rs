//! The ends of a data flow: tables, queries and files.

use crate::dtsx::component_class::{Kind, kind_of, shown_class};
use crate::dtsx::connection_managers::{FileManager, Manager};
use crate::dtsx::flow_columns::property;
use crate::dtsx::named::VariableNames;
use crate::dtsx::sql_task::with_marks;
use crate::dtsx::translation::Flow;
use crate::dtsx::written::Toml;
use crate::dtsx::xml::{Element, is_true};

/// A source, and the options by which it is read.
pub struct SourceEnd {
    /// The endpoint.
    pub endpoint: Toml,
    /// The options of a file.
    pub options: Vec<(String, Toml)>,
}

impl SourceEnd {
    /// Returns the source as a table that a query joins.
    ///
    /// # Errors
    /// It is a file that needs options, which only the first source of a copy has.
    pub fn as_lookup(&self) -> Result<Toml, String> {
        match &self.endpoint {
            Toml::Text(path) if self.options.is_empty() => {
                Ok(Toml::Table(vec![("path".to_owned(), Toml::text(path.clone()))]))
            }
            Toml::Text(path) => Err(format!(
                "a second file ({path}) with a format of its own; load it into a table first, or convert it"
            )),
            other => Ok(other.clone()),
        }
    }
}

/// Finds the connection manager of a component.
pub fn connection_of(flow: &Flow<'_>, component: &Element) -> Option<Manager> {
    let connection = component.within("connections", "connection").next()?;
    let ids = ["connectionManagerRefId", "connectionManagerID"];
    ids.iter().find_map(|id| flow.managers.get(connection.value(id))).cloned()
}

/// Translates a source.
///
/// # Errors
/// It has no counterpart.
pub fn source_of(
    flow: &mut Flow<'_>,
    title: &str,
    component: &Element,
    variables: &VariableNames,
) -> Result<SourceEnd, String> {
    match (kind_of(component), connection_of(flow, component)) {
        (Kind::TableSource, Some(Manager::Server(server))) => {
            let (key, value) = rows_of_server(flow, title, component, variables)?;
            let members = vec![("connection".to_owned(), Toml::text(server)), (key.to_owned(), value)];
            Ok(SourceEnd { endpoint: Toml::Table(members), options: Vec::new() })
        }
        (Kind::FileSource, Some(Manager::File(file))) => {
            Ok(SourceEnd { endpoint: Toml::text(path_of(&file, component)), options: file.options })
        }
        (Kind::TableSource | Kind::FileSource, Some(Manager::Other(kind))) => {
            Err(format!("its connection ({kind}) is not translated"))
        }
        (Kind::TableSource | Kind::FileSource, _) => Err("its connection is not known".to_owned()),
        _ => Err(shown_class(component)),
    }
}

/// Returns the table or query of a source: a key of an endpoint and its value.
fn rows_of_server(
    flow: &mut Flow<'_>,
    title: &str,
    component: &Element,
    variables: &VariableNames,
) -> Result<(&'static str, Toml), String> {
    let query = property(component, "SqlCommand");
    let table = match property(component, "OpenRowset") {
        "" => property(component, "TableOrViewName"),
        table => table,
    };
    let mode = property(component, "AccessMode");
    let of_variable = |name: &str| {
        let variable = property(component, name);
        let here = variables.get(variable);
        here.map(|here| Toml::text(format!("${{{here}}}"))).ok_or_else(|| {
            format!("its table or query stands in the variable {variable}, which is not known")
        })
    };
    match mode {
        "1" => return Ok(("table", of_variable("OpenRowsetVariable")?)),
        "3" => return Ok(("query", of_variable("SqlCommandVariable")?)),
        _ => {}
    }
    if !query.is_empty() && (mode == "2" || table.is_empty()) {
        let mapping = property(component, "ParameterMapping");
        return Ok(("query", query_with(flow, title, query, mapping, variables)));
    }
    match table {
        "" => Err("it has neither table nor query".to_owned()),
        table => Ok(("table", Toml::literal(&plain_table(table)))),
    }
}

/// Puts the variables of a mapping (`"Parameter0:Input",{id};…`) in place of the marks of a query.
fn query_with(
    flow: &mut Flow<'_>,
    title: &str,
    query: &str,
    mapping: &str,
    variables: &VariableNames,
) -> Toml {
    if mapping.is_empty() {
        return Toml::literal(query);
    }
    let mut values = Vec::new();
    for pair in mapping.split(';').filter(|pair| !pair.trim().is_empty()) {
        let id = pair.rsplit_once(',').map_or("", |(_, id)| id.trim());
        match variables.get(id) {
            Some(here) => values.push(format!("${{{here}:literal}}")),
            None => {
                flow.left_out.push(format!("{title}: the parameter {pair} of its query"));
                values.push("NULL".to_owned());
            }
        }
    }
    Toml::text(with_marks(&query.replace("${", "$${"), &mut |number| {
        values.get(number).cloned().unwrap_or_else(|| "?".to_owned())
    }))
}

/// Translates a destination; its options are added.
///
/// # Errors
/// It has no counterpart.
pub fn destination_of(
    flow: &mut Flow<'_>,
    title: &str,
    component: &Element,
    variables: &VariableNames,
    options: &mut Vec<(String, Toml)>,
) -> Result<Toml, String> {
    match (kind_of(component), connection_of(flow, component)) {
        (Kind::TableDestination, Some(Manager::Server(server))) => {
            let table = ["OpenRowset", "TableOrViewName", "BulkInsertTableName"]
                .iter()
                .map(|name| property(component, name))
                .find(|table| !table.is_empty());
            let variable = property(component, "OpenRowsetVariable");
            let table = match (table, property(component, "AccessMode"), variables.get(variable)) {
                (_, "1" | "4", Some(here)) => Toml::text(format!("${{{here}}}")),
                (_, "1" | "4", None) => {
                    return Err(format!("its table stands in the variable {variable}, which is not known"));
                }
                (Some(table), ..) => Toml::literal(&plain_table(table)),
                (None, ..) => return Err("it has no table".to_owned()),
            };
            let flag = |key: &str| (key.to_owned(), Toml::Word("true".to_owned()));
            let fast = property(component, "FastLoadOptions").to_ascii_uppercase();
            if is_true(property(component, "FastLoadKeepIdentity")) {
                options.push(flag("keep_identity"));
            }
            if is_true(property(component, "FastLoadKeepNulls")) {
                options.push(flag("keep_nulls"));
            }
            if fast.contains("CHECK_CONSTRAINTS") {
                options.push(flag("check_constraints"));
            }
            if fast.contains("FIRE_TRIGGERS") {
                options.push(flag("fire_triggers"));
            }
            Ok(Toml::Table(vec![("connection".to_owned(), Toml::text(server)), ("table".to_owned(), table)]))
        }
        (Kind::FileDestination, Some(Manager::File(file))) => {
            for (key, value) in &file.options {
                match target_option(key) {
                    Some(target) => options.push((target.to_owned(), value.clone())),
                    None if key == "columns" => {}
                    None => flow.left_out.push(format!("{title}: {key} of the file {}", file.path)),
                }
            }
            if !is_true(property(component, "Overwrite")) && !property(component, "Overwrite").is_empty() {
                flow.left_out.push(format!("{title}: rows behind those of the file {}", file.path));
            }
            Ok(Toml::text(path_of(&file, component)))
        }
        (_, Some(Manager::Other(kind))) => Err(format!("its connection ({kind}) is not translated")),
        _ => Err("its connection is not known".to_owned()),
    }
}

/// Returns the option of a file that is written for one of a file that is read.
fn target_option(key: &str) -> Option<&'static str> {
    Some(match key {
        "format" => "to_format",
        "delimiter" => "to_delimiter",
        "no_quote" => "to_no_quote",
        "no_header" => "to_no_header",
        "encoding" => "to_encoding",
        _ => return None,
    })
}

fn path_of(file: &FileManager, component: &Element) -> String {
    let path = file.path.replace('\\', "/");
    if !file.is_workbook {
        return path;
    }
    let sheet = property(component, "OpenRowset").trim_end_matches('$').replace("${", "$${");
    format!("{path}#{sheet}")
}

/// Removes the quotes that ADO.NET puts around names.
fn plain_table(table: &str) -> String {
    table.trim().replace("\".\"", "].[").replacen('"', "[", 1).replace('"', "]")
}
