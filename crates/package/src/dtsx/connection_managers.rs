//! Connection managers: servers become connections, files become paths.

use std::collections::BTreeMap;

use crate::dtsx::expression::parse;
use crate::dtsx::named::{Names, VariableNames, without_mark};
use crate::dtsx::project::{Project, SignIn};
use crate::dtsx::tsql::template;
use crate::dtsx::written::{Table, Toml};
use crate::dtsx::xml::{Element, is_true};

/// The counterpart of a connection manager.
#[derive(Debug, Clone, PartialEq)]
pub enum Manager {
    /// A connection of the package, by name.
    Server(String),
    /// A file, and the flags of `copy` that say what it is like.
    File(FileManager),
    /// Nothing that could be translated.
    Other(String),
}

impl Manager {
    /// Returns the connection, for a server.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Server(name) => Some(name),
            Self::File(_) | Self::Other(_) => None,
        }
    }
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileManager {
    /// The path of the file, a template.
    pub path: String,
    /// The options of reading the file.
    pub options: Vec<(String, Toml)>,
    /// True for a workbook.
    pub is_workbook: bool,
    /// The columns of the file, in order.
    pub columns: Vec<String>,
}

/// The connection managers of a package, by their ids and names.
#[derive(Debug, Clone, Default)]
pub struct Managers {
    /// Connections of the package.
    pub connections: Vec<Table>,
    by_id: BTreeMap<String, Manager>,
}

impl Managers {
    /// Reads those of a package, and those of its project, which come first.
    pub fn read(
        package: &Element,
        project: &Project,
        variables: &VariableNames,
        left_out: &mut Vec<String>,
    ) -> Self {
        let mut names = Names::default();
        let mut this = Self::default();
        let own = package.within("ConnectionManagers", "ConnectionManager");
        for manager in project.managers.iter().chain(own) {
            let name = manager.property("ObjectName").to_owned();
            let kind = manager.property("CreationName").to_owned();
            let inner = manager.find_in_data("ConnectionManager");
            let text = inner.map_or("", |inner| inner.value("ConnectionString"));
            let expression = property_expression(manager, "ConnectionString");
            let path = path_of(&name, text, expression.as_deref(), variables, left_out);
            let read = match kind.split(':').next().unwrap_or_default() {
                "OLEDB" | "ADO.NET" | "ADO" => {
                    let here = names.give(&name);
                    match server(&here, &name, text, project.sign_in.as_ref(), left_out) {
                        Some(table) => {
                            this.connections.push(table);
                            Manager::Server(here)
                        }
                        None => Manager::Other(kind.clone()),
                    }
                }
                "FLATFILE" => Manager::File(flat_file(&name, path, inner, left_out)),
                "FILE" | "MULTIFILE" | "MULTIFLATFILE" => {
                    Manager::File(FileManager { path, ..FileManager::default() })
                }
                "EXCEL" => {
                    let source = setting(text, &["data source"]).unwrap_or_default();
                    let path = if expression.is_some() { path } else { source.replace("${", "$${") };
                    Manager::File(FileManager { path, is_workbook: true, ..FileManager::default() })
                }
                _ => {
                    left_out.push(format!("connection manager {name:?} ({kind})"));
                    Manager::Other(kind.clone())
                }
            };
            let of_project = format!("Project.ConnectionManagers[{name}]");
            let ids = [manager.value("refId"), manager.property("DTSID"), &name, &of_project];
            for id in ids.into_iter().filter(|id| !id.is_empty()) {
                this.by_id.insert(id.to_ascii_lowercase(), read.clone());
            }
        }
        this
    }

    /// Finds the manager that an id, a reference or a name stands for.
    pub fn get(&self, id: &str) -> Option<&Manager> {
        let id = id.to_ascii_lowercase();
        // Ids of the data flow say where the manager is: `{…}:external`.
        self.by_id.get(&id).or_else(|| self.by_id.get(id.split(":external").next().unwrap_or(&id)))
    }
}

impl Element {
    /// Finds an element within ObjectData.
    fn find_in_data(&self, name: &str) -> Option<&Element> {
        let data = self.child("ObjectData")?;
        data.find("FlatFileConnectionManager").or_else(|| data.find(name))
    }
}

/// Finds an expression that sets a property.
pub fn property_expression(element: &Element, property: &str) -> Option<String> {
    element
        .all("PropertyExpression")
        .find(|expression| expression.value("Name") == property)
        .map(|expression| expression.text.clone())
}

fn path_of(
    name: &str,
    text: &str,
    expression: Option<&str>,
    variables: &VariableNames,
    left_out: &mut Vec<String>,
) -> String {
    let Some(expression) = expression else { return text.replace("${", "$${") };
    match parse(expression).ok().and_then(|expression| template(&expression, variables)) {
        Some(path) => path,
        None => {
            left_out.push(format!(
                "connection manager {name:?}: the expression of its connection string: {expression}"
            ));
            text.replace("${", "$${")
        }
    }
}

/// Returns the value of a setting in a connection string.
fn setting(text: &str, names: &[&str]) -> Option<String> {
    text.split(';').find_map(|part| {
        let (name, value) = part.split_once('=')?;
        names
            .contains(&name.trim().to_ascii_lowercase().as_str())
            .then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Makes a connection to SQL Server, without its password.
fn server(
    here: &str,
    name: &str,
    text: &str,
    sign_in: Option<&SignIn>,
    left_out: &mut Vec<String>,
) -> Option<Table> {
    let provider = setting(text, &["provider"]).unwrap_or_default();
    let is_sql_server = provider.is_empty()
        || ["sqlncli", "msoledbsql", "sqloledb"]
            .iter()
            .any(|known| provider.to_ascii_lowercase().starts_with(known));
    if !is_sql_server {
        left_out.push(format!("connection manager {name:?} (provider {provider})"));
        return None;
    }
    let source = setting(text, &["data source", "server", "address", "addr"])
        .unwrap_or_else(|| "localhost".to_owned());
    let source = match source.as_str() {
        "." | "(local)" => "localhost".to_owned(),
        other => other.strip_prefix("tcp:").unwrap_or(other).replacen(".\\", "localhost\\", 1),
    };
    let (host, port) = source.split_once(',').unwrap_or((&source, ""));
    let user = setting(text, &["user id", "uid", "user"]).filter(|user| !user.is_empty());
    let has_ticket = setting(text, &["integrated security", "trusted_connection"])
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "sspi" | "true" | "yes"));
    let mut url = "mssql://".to_owned();
    let mut keys = Vec::new();
    let mut comments = vec![name.to_owned()];
    let mut parameters = Vec::new();
    if let Some(SignIn { user, password_env }) = sign_in {
        url.push_str(&format!("{}@", encoded(user)));
        keys.push(("password_env".to_owned(), Toml::text(password_env.clone())));
    } else if let Some(user) = user {
        url.push_str(&format!("{}@", encoded(&user)));
        keys.push(("password_env".to_owned(), Toml::text(format!("{}_PASSWORD", here.to_ascii_uppercase()))));
    } else if has_ticket {
        parameters.push("IntegratedSecurity=true".to_owned());
        comments.push("Signs in with the Kerberos ticket of whoever runs this.".to_owned());
    } else {
        left_out.push(format!(
            "connection manager {name:?}: sign-in with the Windows account; name a user and password_env"
        ));
        comments.push(
            "NOT TRANSLATED: sign-in with the Windows account; name a user and password_env".to_owned(),
        );
    }
    let (host, instance) = host.split_once('\\').unwrap_or((host, ""));
    url.push_str(&encoded(host.trim()));
    // Beside a port the instance says nothing.
    if !instance.is_empty() && port.is_empty() {
        parameters.push(format!("Instance={}", encoded(instance.trim())));
    }
    if !port.is_empty() {
        url.push_str(&format!(":{}", port.trim()));
    }
    if let Some(database) = setting(text, &["initial catalog", "database"]) {
        url.push_str(&format!("/{}", encoded(&database)));
    }
    if !parameters.is_empty() {
        url.push_str(&format!("?{}", parameters.join("&")));
    }
    keys.insert(0, ("url".to_owned(), Toml::text(url)));
    Some(Table { name: here.to_owned(), comments, keys, tasks: Vec::new() })
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn flat_file(name: &str, path: String, inner: Option<&Element>, left_out: &mut Vec<String>) -> FileManager {
    let Some(inner) = inner else { return FileManager { path, ..FileManager::default() } };
    let mut options = Vec::new();
    let columns: Vec<&Element> = inner.within("FlatFileColumns", "FlatFileColumn").collect();
    match inner.value("Format") {
        "" | "Delimited" => {
            let delimiter = columns.first().map_or("", |column| column.value("ColumnDelimiter"));
            let delimiter = decoded(delimiter);
            if columns.len() > 1 && !matches!(delimiter.as_str(), "," | "") {
                options.push(("delimiter".to_owned(), Toml::literal(&delimiter)));
            }
            let quote = decoded(inner.value("TextQualifier"));
            match quote.as_str() {
                "" | "\"" => {}
                "<none>" => options.push(("no_quote".to_owned(), Toml::Word("true".to_owned()))),
                quote => options.push(("quote".to_owned(), Toml::literal(quote))),
            }
        }
        other => left_out.push(format!("connection manager {name:?}: columns of fixed width ({other}); `copy` reads them by a format file of bcp")),
    }
    let names: Vec<String> =
        columns.iter().map(|column| without_mark(column.property("ObjectName")).to_owned()).collect();
    if !is_true(inner.value("ColumnNamesInFirstDataRow")) {
        options.push(("no_header".to_owned(), Toml::Word("true".to_owned())));
        if !names.is_empty() {
            options.push((
                "columns".to_owned(),
                Toml::List(names.iter().map(|name| Toml::literal(name)).collect()),
            ));
        }
    }
    // Only this suffix says by itself what the file is.
    if !path.to_ascii_lowercase().ends_with(".csv") {
        options.insert(0, ("format".to_owned(), Toml::text("csv")));
    }
    let skipped = inner.value("HeaderRowsToSkip");
    if !matches!(skipped, "" | "0") && skipped.bytes().all(|b| b.is_ascii_digit()) {
        options.push(("skip_lines".to_owned(), Toml::Word(skipped.to_owned())));
    }
    if is_true(inner.value("Unicode")) {
        options.push(("encoding".to_owned(), Toml::text("utf-16le")));
    } else if let code @ ("1250" | "1251" | "1252" | "1253" | "1254" | "1255" | "1256" | "1257" | "1258") =
        inner.value("CodePage")
    {
        options.push(("encoding".to_owned(), Toml::text(code)));
    }
    FileManager { path, options, is_workbook: false, columns: names }
}

/// Decodes text in which characters stand as `_x000D_`.
fn decoded(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let (before, from) = rest.split_at(at);
        found.push_str(before);
        let code =
            from.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        match (code, from.get(6..7)) {
            (Some(c), Some("_")) => {
                found.push(c);
                rest = from.get(7..).unwrap_or_default();
            }
            _ => {
                found.push_str("_x");
                rest = from.get(2..).unwrap_or_default();
            }
        }
    }
    found.push_str(rest);
    found
}
