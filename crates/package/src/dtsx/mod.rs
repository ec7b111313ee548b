//! Turns packages of SSIS (`.dtsx`) into packages of bulkwire. What has no counterpart is named, in the result and in the file.

mod component_class;
mod connection_managers;
mod control_flow;
mod data_flow;
mod expression;
mod flow_columns;
mod flow_ends;
mod flow_graph;
mod flow_reader;
mod flow_rows;
mod flow_sets;
mod import_error;
mod named;
mod project;
mod sql_task;
mod translation;
mod tsql;
mod written;
mod xml;

use crate::dtsx::connection_managers::Managers;
pub use crate::dtsx::import_error::ImportError;
use crate::dtsx::named::{Names, VariableNames};
pub use crate::dtsx::project::{Project, packages_of_project};
use crate::dtsx::translation::Flow;
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

/// Types of a project's parameters by their numbers, those of .NET, and the types here.
const PARAMETER_KINDS: [(&[&str], &str); 6] = [
    (&["5", "6", "7", "8", "9", "10", "11", "12"], "integer"),
    (&["13", "14"], "number"),
    (&["15"], "decimal"),
    (&["16"], "datetime"),
    (&["3"], "boolean"),
    (&["18"], "text"),
];

/// Translates a package, which may use what its project has.
///
/// # Errors
/// It is no package of SSIS.
pub fn import_dtsx(bytes: &[u8], name: &str, project: &Project) -> Result<Imported, ImportError> {
    let text = script_text(bytes).ok_or(ImportError::Encoding)?;
    let package = xml::parse(&text)?;
    if package.name != "Executable" {
        return Err(ImportError::Foreign(package.name));
    }
    let mut left_out = Vec::new();
    let mut names = Names::default();
    let mut variables = VariableNames::default();
    let mut defined = Vec::new();
    let mut definer =
        Definer { names: &mut names, known: &mut variables, defined: &mut defined, left_out: &mut left_out };
    for parameter in &project.parameters {
        definer.parameter_of_project(parameter);
    }
    every_variable(&package, &mut |variable, is_parameter| definer.variable(variable, is_parameter));
    let managers = Managers::read(&package, project, &variables, &mut left_out);
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

/// Defines the variables of a package.
struct Definer<'a> {
    names: &'a mut Names,
    known: &'a mut VariableNames,
    defined: &'a mut Vec<(String, Toml)>,
    left_out: &'a mut Vec<String>,
}

impl Definer<'_> {
    fn parameter_of_project(&mut self, parameter: &Element) {
        let name = parameter.value("Name");
        let property = |name: &str| {
            let found = parameter.within("Properties", "Property").find(|one| one.value("Name") == name);
            found.map_or("", |one| one.text.as_str())
        };
        let kind = PARAMETER_KINDS.iter().find(|(numbers, _)| numbers.contains(&property("DataType")));
        let Some((_, kind)) = kind else {
            return self.left_out.push(format!("parameter $Project::{name} (an object)"));
        };
        let text = match property("Sensitive") {
            "1" | "True" | "true" => {
                self.left_out
                    .push(format!("parameter $Project::{name}: its value is a secret; `--set` gives it"));
                ""
            }
            _ => property("Value"),
        };
        self.define(&format!("$Project::{name}"), name, kind, text);
    }

    fn variable(&mut self, variable: &Element, is_parameter: bool) {
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
                let value =
                    variable.all("Property").find(|property| property.value("Name") == "ParameterValue");
                (value.map_or_else(String::new, |value| value.text.clone()), variable.property("DataType"))
            }
        };
        let kind = KINDS.iter().find(|(numbers, _)| numbers.contains(&data_type)).map(|(_, kind)| *kind);
        let Some(kind) = kind else {
            return self.left_out.push(format!("variable {namespace}::{name} (an object)"));
        };
        if !variable.property("Expression").is_empty() {
            self.left_out.push(format!(
                "variable {namespace}::{name}: its expression {}",
                variable.property("Expression")
            ));
        }
        let here = self.define(&format!("{namespace}::{name}"), name, kind, &text);
        // Queries refer to variables by their ids.
        let id = variable.property("DTSID");
        if !id.is_empty() {
            self.known.set(id, &here);
        }
    }

    /// Defines a variable of a type, and returns its name here.
    fn define(&mut self, full_name: &str, name: &str, kind: &str, text: &str) -> String {
        let here = self.names.give(name);
        self.known.set(full_name, &here);
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
        self.defined.push((here.clone(), value));
        here
    }
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
