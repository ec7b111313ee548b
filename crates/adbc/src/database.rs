//! The driver and its databases: settings for connections.

use std::collections::BTreeMap;

use adbc_core::Optionable;
use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use drivers::option_values;
use drivers::refusal::{not_set, refused, unknown};
use load::{Client, Config};

use crate::connection::Connection;
use crate::error::from_load;

/// Prefix of options that are keywords of connection strings: `bulkwire.Encrypt`, `bulkwire.TrustServerCertificate`, ….
const KEYWORD_PREFIX: &str = "bulkwire.";

/// The driver. It has no state.
#[derive(Debug, Default)]
pub struct Driver;

impl adbc_core::Driver for Driver {
    type DatabaseType = Database;

    fn new_database(&mut self) -> Result<Database> {
        Ok(Database::default())
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<Database> {
        let mut database = Database::default();
        for (key, value) in options {
            database.set_option(key, value)?;
        }
        Ok(database)
    }
}

/// Settings of a server: a URL or connection string (`uri`), `username`, `password`, and any keyword of connection strings as
/// `bulkwire.KEYWORD`.
#[derive(Default)]
pub struct Database {
    uri: Option<String>,
    username: Option<String>,
    password: Option<String>,
    keywords: BTreeMap<String, String>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL and the keywords may hold secrets.
        f.debug_struct("Database").field("username", &self.username).finish_non_exhaustive()
    }
}

impl Database {
    fn config(&self) -> Result<Config> {
        let uri = self.uri.as_deref().ok_or_else(|| {
            refused(Status::InvalidState, "option \"uri\" is missing: mssql://user@host:port/database")
        })?;
        let own = [("User ID", &self.username), ("Password", &self.password)];
        let own = own.into_iter().filter_map(|(keyword, value)| Some((keyword, value.as_deref()?)));
        let others = self.keywords.iter().map(|(keyword, value)| (keyword.as_str(), value.as_str()));
        let text = own
            .chain(others)
            .fold(uri.to_owned(), |text, (keyword, value)| with_keyword(&text, keyword, value));
        Config::parse(&text).map_err(|error| from_load(error.into()))
    }
}

/// Adds a setting to a URL or keyword string.
fn with_keyword(text: &str, keyword: &str, value: &str) -> String {
    match text.contains("://") {
        true => {
            let separator = if text.contains('?') { '&' } else { '?' };
            format!("{text}{separator}{}={}", percent_encoded(keyword), percent_encoded(value))
        }
        false => {
            format!("{};{keyword}=\"{}\"", text.trim_end_matches([';', ' ']), value.replace('"', "\"\""))
        }
    }
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

impl adbc_core::Database for Database {
    type ConnectionType = Connection;

    fn new_connection(&self) -> Result<Connection> {
        let client = Client::connect(&self.config()?).map_err(from_load)?;
        Ok(Connection::new(client))
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<Connection> {
        let mut connection = self.new_connection()?;
        for (key, value) in options {
            connection.set_option(key, value)?;
        }
        Ok(connection)
    }
}

impl Optionable for Database {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        // An unknown option is refused as such, before its value is read.
        let is_keyword = |key: &str| key.len() > KEYWORD_PREFIX.len() && key.starts_with(KEYWORD_PREFIX);
        match &key {
            OptionDatabase::Uri | OptionDatabase::Username | OptionDatabase::Password => {}
            other if is_keyword(other.as_ref()) => {}
            other => return Err(unknown(other.as_ref())),
        }
        let text = option_values::text(key.as_ref(), value)?;
        match &key {
            OptionDatabase::Uri => self.uri = Some(text),
            OptionDatabase::Username => self.username = Some(text),
            OptionDatabase::Password => self.password = Some(text),
            other => match other.as_ref().strip_prefix(KEYWORD_PREFIX) {
                Some(keyword) if !keyword.is_empty() => {
                    self.keywords.insert(keyword.to_owned(), text);
                }
                _ => return Err(unknown(other.as_ref())),
            },
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        match key {
            OptionDatabase::Username => self.username.clone().ok_or_else(|| not_set(key.as_ref())),
            other => Err(not_set(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(not_set(key.as_ref()))
    }
}
