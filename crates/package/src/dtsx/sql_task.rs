//! Execute SQL tasks.

use crate::dtsx::connection_managers::{FileManager, Manager, property_expression};
use crate::dtsx::expression::parse;
use crate::dtsx::named::VariableNames;
use crate::dtsx::translation::Flow;
use crate::dtsx::tsql::template;
use crate::dtsx::written::{Table, Toml};
use crate::dtsx::xml::Element;

/// Translates a task.
pub fn translate(
    flow: &mut Flow<'_>,
    executable: &Element,
    title: &str,
    variables: &VariableNames,
    task: &mut Table,
) {
    let Some(data) = executable.find("SqlTaskData") else {
        return flow.placeholder(title, "ExecuteSQLTask without its data", task);
    };
    let connection = match flow.managers.get(data.value("Connection")) {
        Some(Manager::Server(name)) => name.clone(),
        _ => return flow.placeholder(title, "ExecuteSQLTask on a connection that is no SQL Server", task),
    };
    task.keys.push(("type".to_owned(), Toml::text("sql")));
    task.keys.push(("connection".to_owned(), Toml::text(connection)));
    let expression = property_expression(executable, "SqlStatementSource");
    let made = expression.as_deref().and_then(|text| template(&parse(text).ok()?, variables));
    if let (Some(expression), None) = (&expression, &made) {
        flow.left_out.push(format!("{title}: the expression that makes its statement: {expression}"));
    }
    let source = data.value("SqlStatementSource");
    let bindings: Vec<&Element> = data.all("ParameterBinding").collect();
    match data.value("SqlStmtSourceType") {
        _ if made.is_some() => {
            let made = made.unwrap_or_default();
            task.keys.push(("statement".to_owned(), Toml::text(numbered(&made))));
        }
        "FileConnection" => match flow.managers.get(source) {
            Some(Manager::File(FileManager { path, .. })) => {
                task.keys.push(("file".to_owned(), Toml::text(path.clone())));
            }
            _ => flow.left_out.push(format!("{title}: the file of its statement")),
        },
        "Variable" if variables.get(source).is_some() => {
            let here = variables.get(source).unwrap_or_default();
            task.keys.push(("statement".to_owned(), Toml::text(format!("${{{here}}}"))));
        }
        "Variable" => {
            flow.left_out.push(format!("{title}: its statement stands in the variable {source}"));
            task.keys.push((
                "statement".to_owned(),
                Toml::literal(&format!("THROW 50000, N'the statement of {title} stands in {source}', 1")),
            ));
        }
        _ => task.keys.push(("statement".to_owned(), Toml::literal(&numbered(source)))),
    }
    let mut parameters = Vec::new();
    for binding in bindings {
        let name = binding.value("ParameterName");
        let variable = binding.value("DtsVariableName");
        if !matches!(binding.value("ParameterDirection"), "" | "Input") {
            flow.left_out
                .push(format!("{title}: the parameter {name}, which returns a value into {variable}"));
            continue;
        }
        let name = match name.strip_prefix('@') {
            Some(name) => name.to_owned(),
            None if name.bytes().all(|b| b.is_ascii_digit()) => format!("p{name}"),
            None => name.to_owned(),
        };
        match variables.get(variable) {
            Some(here) => parameters.push((name, Toml::text(format!("${{{here}}}")))),
            None => flow.left_out.push(format!("{title}: the parameter {name} from {variable}")),
        }
    }
    if !parameters.is_empty() {
        task.keys.push(("parameters".to_owned(), Toml::Table(parameters)));
    }
    match data.value("ResultType") {
        "ResultSetType_SingleRow" => results(flow, data, title, variables, task),
        "" | "ResultSetType_None" => {}
        other => flow.left_out.push(format!("{title}: its result ({other})")),
    }
    if let Some(seconds) =
        data.attribute("TimeOut").filter(|time| *time != "0" && time.parse::<u32>().is_ok())
    {
        task.keys.push(("timeout".to_owned(), Toml::Word(seconds.to_owned())));
    }
}

fn results(flow: &mut Flow<'_>, data: &Element, title: &str, variables: &VariableNames, task: &mut Table) {
    let bindings: Vec<(&str, Option<String>)> = data
        .all("ResultBinding")
        .map(|binding| (binding.value("ResultName"), variables.get(binding.value("DtsVariableName"))))
        .collect();
    match bindings.as_slice() {
        [("0", Some(here))] => task.keys.push(("into".to_owned(), Toml::text(here.clone()))),
        all => {
            let mut columns = Vec::new();
            for (column, here) in all {
                match here {
                    Some(here) if column.parse::<usize>().is_err() => {
                        columns.push((here.clone(), Toml::literal(column)))
                    }
                    _ => flow.left_out.push(format!("{title}: the column {column} of its result")),
                }
            }
            if !columns.is_empty() {
                task.keys.push(("into".to_owned(), Toml::Table(columns)));
            }
        }
    }
}

/// Numbers the `?` of a statement as `@p0`, `@p1` and so on; those in texts, names and comments stay.
fn numbered(sql: &str) -> String {
    with_marks(sql, &mut |number| format!("@p{number}"))
}

/// Puts a text in place of each `?` of a statement, by its number from 0; those in texts, names and comments stay.
pub fn with_marks(sql: &str, value: &mut dyn FnMut(usize) -> String) -> String {
    let mut found = String::new();
    let mut number = 0;
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '\'' | '"' => rest.get(1..).and_then(|inner| inner.find(c)).map(|at| at + 2),
            '[' => rest.find(']').map(|at| at + 1),
            '-' if rest.starts_with("--") => rest.find('\n'),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            '?' => {
                found.push_str(&value(number));
                number += 1;
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            c => Some(c.len_utf8()),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()).min(rest.len()));
        found.push_str(part);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn marks_get_names() {
        assert_eq!(
            numbered("EXEC p ?, 'what?', ? -- why?\nSELECT [a?], \"b?\" /* ? */ WHERE x = ?"),
            "EXEC p @p0, 'what?', @p1 -- why?\nSELECT [a?], \"b?\" /* ? */ WHERE x = @p2"
        );
    }
}
