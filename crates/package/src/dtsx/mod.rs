//! Turns packages of SSIS (`.dtsx`) into packages of bulkwire. What has no counterpart is named, in the result and in the file.

mod connection_managers;
mod control_flow;
mod data_flow;
mod expression;
mod flow_columns;
mod import_error;
mod named;
mod sql_task;
mod tsql;
mod written;
mod xml;

use crate::dtsx::connection_managers::Managers;
use crate::dtsx::control_flow::Flow;
pub use crate::dtsx::import_error::ImportError;
use crate::dtsx::named::{Names, VariableNames};
use crate::dtsx::written::{Table, Toml, pairs};
use crate::dtsx::xml::Element;
use crate::sql_script::script_text;

/// A package that was translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The TOML file.
    pub text: String,
    /// The number of tasks, including those of groups.
    pub tasks: usize,
    /// The number of connections.
    pub connections: usize,
    /// The number of variables.
    pub variables: usize,
    /// The parts that could not be translated, in words.
    pub left_out: Vec<String>,
}

/// Types of variables by their numbers, and the types here.
const KINDS: [(&[&str], &str); 6] = [
    (&["2", "3", "16", "17", "18", "19", "20", "21"], "integer"),
    (&["4", "5"], "number"),
    (&["6", "14"], "decimal"),
    (&["7"], "datetime"),
    (&["11"], "boolean"),
    (&["8"], "text"),
];

/// Translates a file.
///
/// # Errors
/// It is no package of SSIS.
pub fn import_dtsx(bytes: &[u8], name: &str) -> Result<Imported, ImportError> {
    let text = script_text(bytes).ok_or(ImportError::Encoding)?;
    let package = xml::parse(&text)?;
    if package.name != "Executable" {
        return Err(ImportError::Foreign(package.name));
    }
    let mut left_out = Vec::new();
    let mut names = Names::default();
    let mut variables = VariableNames::default();
    let mut defined = Vec::new();
    every_variable(&package, &mut |variable, is_parameter| {
        define(variable, is_parameter, &mut names, &mut variables, &mut defined, &mut left_out);
    });
    let managers = Managers::read(&package, &variables, &mut left_out);
    let mut flow = Flow { managers: &managers, left_out, loops: Vec::new(), tasks: 0 };
    let tasks = flow.executables(&package, &mut variables);
    if package.child("EventHandlers").is_some_and(|handlers| !handlers.children.is_empty()) {
        flow.left_out.push("event handlers of the package".to_owned());
    }
    if package.child("LogProviders").is_some_and(|providers| !providers.children.is_empty()) {
        flow.left_out.push("log providers (`bulkwire run --log` writes a log)".to_owned());
    }
    let Flow { left_out, loops, tasks: count, .. } = flow;
    // A variable that a loop sets becomes a name of the loop.
    defined.retain(|(name, _)| !loops.contains(name));
    let title = match package.property("ObjectName") {
        "" => name,
        title => title,
    };
    Ok(Imported {
        text: whole(
            title,
            package.property("Description"),
            &managers.connections,
            &defined,
            &tasks,
            &left_out,
        ),
        tasks: count,
        connections: managers.connections.len(),
        variables: defined.len(),
        left_out,
    })
}

/// Calls back with each variable and parameter, those of containers among them.
fn every_variable(element: &Element, visit: &mut dyn FnMut(&Element, bool)) {
    element.within("PackageParameters", "PackageParameter").for_each(|parameter| visit(parameter, true));
    element.within("Variables", "Variable").for_each(|variable| visit(variable, false));
    element.within("Executables", "Executable").for_each(|inner| every_variable(inner, visit));
}

fn define(
    variable: &Element,
    is_parameter: bool,
    names: &mut Names,
    known: &mut VariableNames,
    defined: &mut Vec<(String, Toml)>,
    left_out: &mut Vec<String>,
) {
    let name = variable.property("ObjectName");
    let namespace = if is_parameter { "$Package" } else { variable.property("Namespace") };
    if namespace == "System" {
        return;
    }
    let namespace = if namespace.is_empty() { "User" } else { namespace };
    let value = variable.child("VariableValue");
    let (text, data_type) = match value {
        Some(value) => (value.text.trim().to_owned(), value.value("DataType")),
        None => {
            let value = variable.all("Property").find(|property| property.value("Name") == "ParameterValue");
            (value.map_or_else(String::new, |value| value.text.clone()), variable.property("DataType"))
        }
    };
    let kind = KINDS.iter().find(|(numbers, _)| numbers.contains(&data_type)).map(|(_, kind)| *kind);
    let Some(kind) = kind else {
        return left_out.push(format!("variable {namespace}::{name} (an object)"));
    };
    if !variable.property("Expression").is_empty() {
        left_out.push(format!(
            "variable {namespace}::{name}: its expression {}",
            variable.property("Expression")
        ));
    }
    let here = names.give(name);
    known.set(&format!("{namespace}::{name}"), &here);
    let parsed = crate::scalar::Scalar::parse(kind_of(kind), &text.replace(['\r', '\n'], " "));
    let value = match (kind, parsed.ok().and_then(|value| value.text)) {
        ("text", _) => Toml::text(text),
        ("integer" | "boolean", Some(text)) => Toml::Word(text),
        (kind, default) => {
            let mut members = vec![("type".to_owned(), Toml::text(kind))];
            members.extend(default.map(|text| ("default".to_owned(), Toml::text(text))));
            Toml::Table(members)
        }
    };
    defined.push((here, value));
}

fn kind_of(word: &str) -> crate::model::Kind {
    use crate::model::Kind;
    match word {
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "decimal" => Kind::Decimal,
        "datetime" => Kind::Datetime,
        "boolean" => Kind::Boolean,
        _ => Kind::Text,
    }
}

fn whole(
    title: &str,
    description: &str,
    connections: &[Table],
    variables: &[(String, Toml)],
    tasks: &[Table],
    left_out: &[String],
) -> String {
    let mut out = String::from("# Translated from a package of SSIS.\n");
    if !left_out.is_empty() {
        out.push_str("#\n# NOT TRANSLATED:\n");
        for part in left_out {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            out.push_str(&format!("# - {part}\n"));
        }
    }
    out.push('\n');
    let mut head = vec![("name".to_owned(), Toml::text(title))];
    if !description.trim().is_empty() {
        head.push(("description".to_owned(), Toml::text(description.trim())));
    }
    pairs(&head, &mut out);
    connections.iter().for_each(|connection| connection.write("connections", &mut out));
    if !variables.is_empty() {
        out.push_str("\n[variables]\n");
        pairs(variables, &mut out);
    }
    if tasks.is_empty() {
        out.push_str("\n[tasks]\n");
    }
    tasks.iter().for_each(|task| task.write("tasks", &mut out));
    out
}
