//! A source or a destination, as the forms of its page have it.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::flag::Flag;
use crate::errors::Errors;
use load::config::Secret;

/// A source or a destination of the copy.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// The kind of the end, which decides the form that counts.
    pub kind: EndKind,
    /// Files.
    pub file: FileEnd,
    /// SQL Server.
    pub server: ServerEnd,
    /// Another database.
    pub database: DatabaseEnd,
    /// A table, several, or a query.
    pub what: What,
    /// The table, as T-SQL or the database spells it.
    pub table: String,
    /// The query.
    pub query: String,
}

/// Kinds of ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndKind {
    /// A file, a folder, a pattern.
    #[default]
    File,
    /// SQL Server.
    SqlServer,
    /// A database that a driver reaches.
    Database,
}

/// The part of a database that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum What {
    /// A single table or view.
    #[default]
    Table,
    /// Several tables.
    Tables,
    /// The result of a query.
    Query,
}

/// The role of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that rows come from.
    Source,
    /// The end that rows go to.
    Destination,
}

/// Files.
#[derive(Debug, Clone, Default)]
pub struct FileEnd {
    /// A path, or a pattern.
    pub path: String,
    /// The sheet of a workbook; empty: the first.
    pub sheet: String,
}

/// A SQL Server and a database of it.
#[derive(Debug, Clone, Default)]
pub struct ServerEnd {
    /// `host`, `host:port` or `host\instance`.
    pub host: String,
    /// The database; empty: that of the login.
    pub database: String,
    /// True if a Kerberos ticket signs in, so that there is no password.
    pub is_integrated: bool,
    /// The login; for a ticket whose it is, or nothing.
    pub user: String,
    /// The password of the login.
    pub password: Secret,
    /// The environment variable that holds the password when none is typed.
    pub password_variable: String,
    /// `optional`, `strict` or `off`; empty: mandatory.
    pub encrypt: String,
    /// True if any certificate is accepted.
    pub trusts_certificate: bool,
    /// More keywords, as `ApplicationIntent=ReadOnly;...`.
    pub more: String,
}

/// A database that a driver reaches.
#[derive(Debug, Clone, Default)]
pub struct DatabaseEnd {
    /// The address as `bulkwire copy` spells it, without the table and the password.
    pub address: String,
    /// The password of the database.
    pub password: Secret,
    /// The environment variable that holds the password when none is typed.
    pub password_variable: String,
}

/// The form of a password in an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Password {
    /// The name of an environment variable.
    Variable,
    /// The password itself, to run.
    Typed,
    /// Not at all: the package says it elsewhere.
    Left,
}

/// The characters that a part of a URL escapes.
const URL_PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The characters that a part with names of tables escapes, which keeps brackets.
const TABLE_PART: &AsciiSet = &URL_PART.remove(b'[').remove(b']');
/// Suffixes of files that say their columns themselves.
const TYPED_SUFFIXES: [&str; 8] = ["parquet", "arrow", "arrows", "xlsx", "xlsm", "xlsb", "xls", "ods"];
const WORKBOOK_SUFFIXES: [&str; 5] = ["xlsx", "xlsm", "xlsb", "xls", "ods"];

impl Side {
    /// Returns `source` or `destination`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }

    /// Returns the environment variable that the command and the package name for a typed password.
    fn variable(self) -> &'static str {
        match self {
            Self::Source => "SOURCE_PASSWORD",
            Self::Destination => "DESTINATION_PASSWORD",
        }
    }
}

impl FileEnd {
    /// Returns the suffix in lower case, without that of compression.
    pub fn suffix(&self) -> String {
        let name = self.path.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        name.rsplit_once('.').map(|(_, suffix)| suffix.to_owned()).unwrap_or_default()
    }

    /// Returns true for a text file, whose format has a page. The files in a folder are known by their names.
    pub fn is_text(&self) -> bool {
        !self.path.is_empty()
            && !TYPED_SUFFIXES.contains(&self.suffix().as_str())
            && !Path::new(&self.path).is_dir()
    }

    /// Returns true for a workbook.
    pub fn is_workbook(&self) -> bool {
        WORKBOOK_SUFFIXES.contains(&self.suffix().as_str())
    }

    /// Returns true if the suffix is one of delimited text.
    pub fn is_delimited(&self) -> bool {
        matches!(self.suffix().as_str(), "csv" | "tsv")
    }
}

impl End {
    /// Returns true for SQL Server.
    pub fn is_server(&self) -> bool {
        self.kind == EndKind::SqlServer
    }

    /// Returns true for a file.
    pub fn is_file(&self) -> bool {
        self.kind == EndKind::File
    }

    /// Reports the fields that are missing to connect.
    pub fn check_address(&self, errors: &mut Errors) {
        match self.kind {
            EndKind::SqlServer if self.server.host.trim().is_empty() => {
                errors.add("host", "Name the server.")
            }
            EndKind::SqlServer if self.server.user.trim().is_empty() && !self.server.is_integrated => {
                errors.add("user", "Name the login, or sign in with a Kerberos ticket.");
            }
            EndKind::Database if !self.database.address.contains(':') => {
                errors.add(
                    "address",
                    "Write an address, such as postgresql://user@host/database or sqlite:shop.db.",
                );
            }
            _ => {}
        }
    }

    pub(super) fn check(&self, side: Side, takes_several: bool, errors: &mut Errors) {
        self.check_address(errors);
        match self.kind {
            EndKind::File if self.file.path.trim().is_empty() => {
                errors.add("path", "Name a file, or browse for one.")
            }
            EndKind::File if self.file.path.trim() == "-" => {
                errors.add("path", "The wizard's own standard input and output are no files.");
            }
            EndKind::File if takes_several && !self.file.path.ends_with('/') => {
                errors.add("path", "Several tables go to a folder: end the path with /.");
            }
            _ => {}
        }
        if self.kind == EndKind::File || takes_several {
            return;
        }
        match (side, self.what) {
            (Side::Source, What::Query) if self.query.trim().is_empty() => {
                errors.add("query", "Write the query.")
            }
            (Side::Source, What::Query | What::Tables) => {}
            _ if self.table.trim().is_empty() => errors.add("table", "Name the table, or choose one."),
            _ => {}
        }
    }

    /// Returns the name of the environment variable for the password; `None` if there is no password to give.
    pub(super) fn password_variable(&self, side: Side) -> Option<String> {
        let (typed, named) = match self.kind {
            EndKind::File => return None,
            EndKind::SqlServer if self.server.is_integrated => return None,
            EndKind::SqlServer => (&self.server.password, &self.server.password_variable),
            EndKind::Database => (&self.database.password, &self.database.password_variable),
        };
        match (named.is_empty(), typed.is_empty()) {
            (false, _) => Some(named.clone()),
            (true, false) => Some(side.variable().to_owned()),
            (true, true) => None,
        }
    }

    /// Returns the typed password.
    fn typed(&self) -> &Secret {
        match self.kind {
            EndKind::Database => &self.database.password,
            _ => &self.server.password,
        }
    }

    /// Returns the text of the password in an endpoint, `encode`d if it is the password itself.
    fn password(&self, side: Side, form: Password, encode: &dyn Fn(&str) -> String) -> Option<String> {
        let variable = self.password_variable(side)?;
        match form {
            Password::Left => None,
            Password::Typed if !self.typed().is_empty() => Some(encode(self.typed().expose())),
            Password::Typed | Password::Variable => Some(format!("${{env:{variable}}}")),
        }
    }

    /// Returns the endpoint as `bulkwire copy` spells it. `has_table`: with the table.
    pub(super) fn endpoint(&self, side: Side, form: Password, has_table: bool) -> String {
        let has_table = has_table && self.what == What::Table;
        match self.kind {
            EndKind::File => self.file_endpoint(),
            EndKind::SqlServer => self.server_endpoint(side, form, has_table),
            EndKind::Database => self.database_endpoint(side, form, has_table),
        }
    }

    fn file_endpoint(&self) -> String {
        let path = self.file.path.trim();
        match self.file.sheet.trim() {
            "" => path.to_owned(),
            _ if !self.file.is_workbook() => path.to_owned(),
            sheet => format!("{path}#{sheet}"),
        }
    }

    fn server_endpoint(&self, side: Side, form: Password, has_table: bool) -> String {
        let server = &self.server;
        let encoded = |text: &str| utf8_percent_encode(text, URL_PART).to_string();
        let mut url = format!("mssql://{}", encoded(server.user.trim()));
        let has_user = !server.user.trim().is_empty();
        if let Some(password) = self.password(side, form, &encoded) {
            url += &format!(":{password}");
        }
        let (host, instance) = match server.host.trim().split_once('\\') {
            Some((host, instance)) => (host, Some(instance)),
            None => (server.host.trim(), None),
        };
        // SQL Server's own spelling has a comma before the port.
        url += &format!("{}{}", if has_user { "@" } else { "" }, host.replacen(',', ":", 1));
        if let Some(instance) = instance {
            url += &format!("%5C{}", encoded(instance));
        }
        let table = if has_table { self.table.trim() } else { "" };
        if !server.database.trim().is_empty() || !table.is_empty() {
            url += &format!("/{}", encoded(server.database.trim()));
        }
        if !table.is_empty() {
            url += &format!("/{}", utf8_percent_encode(table, TABLE_PART));
        }
        let mut keywords = Vec::new();
        if server.is_integrated {
            keywords.push("IntegratedSecurity=true".to_owned());
        }
        if !server.encrypt.is_empty() {
            keywords.push(format!("Encrypt={}", encoded(&server.encrypt)));
        }
        if server.trusts_certificate {
            keywords.push("TrustServerCertificate=true".to_owned());
        }
        for keyword in server.more.split(';').filter(|keyword| !keyword.trim().is_empty()) {
            let (name, value) = keyword.split_once('=').unwrap_or((keyword, ""));
            let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
            keywords.push(format!("{}={}", encoded(&name), encoded(value.trim())));
        }
        if !keywords.is_empty() {
            url += &format!("?{}", keywords.join("&"));
        }
        url
    }

    fn database_endpoint(&self, side: Side, form: Password, has_table: bool) -> String {
        let address = self.database.address.trim();
        let encoded = |text: &str| utf8_percent_encode(text, URL_PART).to_string();
        let braced = |text: &str| format!("{{{}}}", text.replace('}', "}}"));
        let mut text = address.to_owned();
        match address.split_once("://") {
            _ if address.to_ascii_lowercase().starts_with("odbc:") => {
                if let Some(password) = self.password(side, form, &braced) {
                    text = format!("{};Pwd={password}", address.trim_end_matches(';'));
                }
            }
            Some((scheme, rest)) => {
                if let Some(password) = self.password(side, form, &encoded)
                    && let Some((user, place)) = rest.split_once('@')
                {
                    text = format!("{scheme}://{user}:{password}@{place}");
                }
            }
            None => {}
        }
        match self.table.trim() {
            table if has_table && !table.is_empty() => format!("{text}#{table}"),
            _ => text,
        }
    }

    /// Returns the database as the command spells it, without password and table.
    pub fn database_address(&self, side: Side) -> String {
        self.endpoint(side, Password::Left, false)
    }

    /// Returns the endpoint with the typed password, to connect. `has_table`: with the table.
    pub fn address_to_connect(&self, side: Side, has_table: bool) -> String {
        self.endpoint(side, Password::Typed, has_table)
    }

    /// Returns the options that belong to a source.
    pub(super) fn source_flags(&self) -> Vec<Flag> {
        match (self.kind, self.what) {
            (EndKind::SqlServer | EndKind::Database, What::Query) => {
                vec![Flag::text("query", self.query.trim())]
            }
            _ => Vec::new(),
        }
    }
}
