//! A package as text, with comments for what is left to do.

use std::fmt::Write;

/// A value of TOML.
#[derive(Debug, Clone, PartialEq)]
pub enum Toml {
    /// A text; one of several lines is written as such.
    Text(String),
    /// A number, true or false, as it is written.
    Word(String),
    /// A list.
    List(Vec<Toml>),
    /// An inline table.
    Table(Vec<(String, Toml)>),
}

/// A table with comments before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The name of the table in the tables around it.
    pub name: String,
    /// Lines before it.
    pub comments: Vec<String>,
    /// The keys of the table.
    pub keys: Vec<(String, Toml)>,
    /// Tables in it, under `tasks`.
    pub tasks: Vec<Table>,
}

impl Toml {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a text in which `${` has no meaning.
    pub fn literal(text: &str) -> Self {
        Self::Text(text.replace("${", "$${"))
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => quoted(text, out),
            Self::Word(word) => out.push_str(word),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Table(members) => {
                out.push_str("{ ");
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    key(name, out);
                    out.push_str(" = ");
                    // An inline table is one line in the TOML that most readers know.
                    match value {
                        Self::Text(text) => basic(text, out),
                        other => other.write(out),
                    }
                }
                out.push_str(" }");
            }
        }
    }
}

impl Table {
    /// Writes the table and those in it under a path such as `tasks`.
    pub fn write(&self, path: &str, out: &mut String) {
        out.push('\n');
        for comment in &self.comments {
            for line in comment.lines() {
                let _ = writeln!(out, "# {}", line.trim_end());
            }
        }
        let mut own = path.to_owned();
        own.push('.');
        key(&self.name, &mut own);
        let _ = writeln!(out, "[{own}]");
        pairs(&self.keys, out);
        let is_group = self.keys.iter().any(|(name, value)| name == "type" && *value == Toml::text("group"));
        if is_group && self.tasks.is_empty() {
            let _ = writeln!(out, "tasks = {{}}");
        }
        for task in &self.tasks {
            task.write(&format!("{own}.tasks"), out);
        }
    }
}

/// Writes keys and values, a line each.
pub fn pairs(pairs: &[(String, Toml)], out: &mut String) {
    for (name, value) in pairs {
        key(name, out);
        out.push_str(" = ");
        value.write(out);
        out.push('\n');
    }
}

fn key(name: &str, out: &mut String) {
    let is_bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if is_bare { out.push_str(name) } else { basic(name, out) }
}

fn quoted(text: &str, out: &mut String) {
    if !text.contains('\n') {
        return basic(text, out);
    }
    out.push_str("\"\"\"\n");
    escaped(&text.replace("\r\n", "\n"), true, out);
    out.push_str("\"\"\"");
}

fn basic(text: &str, out: &mut String) {
    out.push('"');
    escaped(text, false, out);
    out.push('"');
}

fn escaped(text: &str, keeps_lines: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '\n' if keeps_lines => out.push('\n'),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}
