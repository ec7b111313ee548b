//! The driver and its databases: settings for connections.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use adbc_core::Optionable;
use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use arrow_odbc::odbc_api::{ConnectionOptions, environment, escape_attribute_value};
use drivers::option_values;
use drivers::refusal::{not_set, refused, unknown};

use crate::connection::Connection;
use crate::error::from_odbc;
use crate::limits::Limits;

const LOGIN_TIMEOUT: &str = "bulkwire.odbc.login_timeout";

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

/// A connection string of ODBC (`uri`), with `username` and `password` as `UID` and `PWD` behind it, and limits.
#[derive(Default)]
pub struct Database {
    uri: Option<String>,
    username: Option<String>,
    password: Option<String>,
    /// Time limit of the login, in seconds.
    login_timeout: Option<u32>,
    limits: Limits,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The connection string may hold secrets.
        f.debug_struct("Database").field("username", &self.username).finish_non_exhaustive()
    }
}

impl Database {
    fn connection_string(&self) -> Result<String> {
        let uri = self.uri.as_deref().ok_or_else(|| {
            refused(Status::InvalidState, "option \"uri\" is missing: Driver={name};Server=host;...")
        })?;
        let uri = uri.strip_prefix("odbc:").unwrap_or(uri);
        let own = [("UID", &self.username), ("PWD", &self.password)];
        let own = own.into_iter().filter_map(|(keyword, value)| Some((keyword, value.as_deref()?)));
        Ok(own.fold(uri.to_owned(), |text, (keyword, value)| {
            let value: Cow<'_, str> = escape_attribute_value(value);
            format!("{};{keyword}={value}", text.trim_end_matches([';', ' ']))
        }))
    }
}

impl adbc_core::Database for Database {
    type ConnectionType = Connection;

    fn new_connection(&self) -> Result<Connection> {
        let environment = environment().map_err(|error| from_odbc(&error))?;
        let options =
            ConnectionOptions { login_timeout_sec: self.login_timeout, ..ConnectionOptions::default() };
        let connection = environment
            .connect_with_connection_string(&self.connection_string()?, options)
            .map_err(|error| from_odbc(&error))?;
        Connection::new(Arc::new(Mutex::new(connection)), self.limits)
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
        let name = key.as_ref().to_owned();
        match key {
            OptionDatabase::Uri => self.uri = Some(option_values::text(&name, value)?),
            OptionDatabase::Username => self.username = Some(option_values::text(&name, value)?),
            OptionDatabase::Password => self.password = Some(option_values::text(&name, value)?),
            OptionDatabase::Other(_) if name == LOGIN_TIMEOUT => {
                self.login_timeout = u32::try_from(option_values::count(&name, value)?).ok();
            }
            OptionDatabase::Other(_) => {
                if !self.limits.set(&name, value)? {
                    return Err(unknown(&name));
                }
            }
            _ => return Err(unknown(&name)),
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
