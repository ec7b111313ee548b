//! The package with the same copy: a TOML file for `bulkwire run`.

use super::end::{Password, Side};
use super::flag::{Flag, Value};
use super::{Draft, End, EndKind, What};

impl Draft {
    /// Writes a package with this copy: one task, also for several tables, so that referenced tables are there in the
    /// end.
    pub fn package(&self) -> String {
        let mut text = format!("name = {}\n", quoted(&self.package_name()));
        for (side, end) in [(Side::Source, &self.source), (Side::Destination, &self.destination)] {
            text += &connection(side, end);
        }
        let is_one = !self.has_several_tables();
        let destination = match self.destination.kind {
            EndKind::File => quoted(&self.destination.endpoint(Side::Destination, Password::Left, is_one)),
            _ if !is_one => "{ connection = \"destination\" }".to_owned(),
            _ => {
                let table = quoted(self.destination.table.trim());
                format!("{{ connection = \"destination\", table = {table} }}")
            }
        };
        let source = match self.source.kind {
            EndKind::File => quoted(&self.source.endpoint(Side::Source, Password::Left, is_one)),
            _ if !is_one => "{ connection = \"source\" }".to_owned(),
            _ => source_of(&self.source, &self.source.table),
        };
        text += &self.task("copy", &source, &destination);
        text
    }

    /// Makes a name for the package and for its file.
    pub fn package_name(&self) -> String {
        let end = match self.destination.kind {
            EndKind::File => self.destination.file.path.trim_end_matches('/'),
            _ if self.has_several_tables() => "tables",
            _ => self.destination.table.as_str(),
        };
        let last = end.rsplit(['/', '\\']).next().unwrap_or_default();
        match task_name(last).trim_matches('_') {
            "" => "copy".to_owned(),
            name => format!("copy_{name}"),
        }
    }

    fn task(&self, name: &str, source: &str, destination: &str) -> String {
        let mut text =
            format!("\n[tasks.{name}]\ntype = \"copy\"\nsource = {source}\ndestination = {destination}\n");
        let flags = self.flags();
        for flag in &flags {
            // A query is part of the source.
            if flag.name != "query" {
                text += &key(flag);
            }
        }
        if self.destination.is_server() && !self.way.resumes {
            text += "resume = false\n";
        }
        for flag in &self.table_flags() {
            text += &key(flag);
        }
        text
    }
}

/// Writes the table of a connection, if an end has one.
fn connection(side: Side, end: &End) -> String {
    if end.kind == EndKind::File {
        return String::new();
    }
    let variable = end.password_variable(side);
    // An address that is no URL has no place for a password.
    let takes_variable = end.kind == EndKind::SqlServer || end.database.address.contains("://");
    let form = if takes_variable { Password::Left } else { Password::Variable };
    let url = end.endpoint(side, form, false);
    let url = if takes_variable { quoted(&url) } else { toml_text(&url) };
    let mut text = format!("\n[connections.{}]\nurl = {url}\n", side.name());
    if let Some(variable) = variable.filter(|_| takes_variable) {
        text += &format!("password_env = {}\n", toml_text(&variable));
    }
    text
}

fn source_of(end: &End, table: &str) -> String {
    match end.what {
        What::Query => format!("{{ connection = \"source\", query = {} }}", quoted(end.query.trim())),
        _ => format!("{{ connection = \"source\", table = {} }}", quoted(table.trim())),
    }
}

/// Writes a line of a task.
fn key(flag: &Flag) -> String {
    let name = match flag.name {
        "transform-query" => "transform_sql".to_owned(),
        name => name.replace('-', "_"),
    };
    let value = match &flag.value {
        Value::Switch => "true".to_owned(),
        Value::Text(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::List(values) => {
            format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
        }
    };
    format!("{name} = {value}\n")
}

/// Writes a text of a package, in which nothing is replaced.
fn quoted(text: &str) -> String {
    toml_text(&text.replace("${", "$${"))
}

/// Writes a text of TOML. Lines stay lines.
fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Makes a name that a task may have.
fn task_name(text: &str) -> String {
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("t_{name}"),
    }
}
