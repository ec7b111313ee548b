//! Connections of a package while it runs: their URLs with variables and secrets put in.

use std::collections::BTreeMap;
use std::time::Duration;

use load::{Client, Config, Interruption};

use crate::model::Connection;
use crate::scope::{Scope, Secrets};
use crate::secrets;
use crate::task_error::TaskError;
use crate::template::{Part, Template};

/// The connections of a package.
#[derive(Debug, Clone, Copy)]
pub struct Server<'a> {
    connections: &'a BTreeMap<String, Connection>,
    /// Ends requests from another thread.
    interruption: Option<&'a Interruption>,
}

/// Stands for a secret in a connection string until it is parsed, so that no character of it is taken for syntax.
const PLACE: &str = "BULKWIRE_PACKAGE_SECRET_";

impl<'a> Server<'a> {
    /// Makes the connections of a package.
    pub fn new(
        connections: &'a BTreeMap<String, Connection>,
        interruption: Option<&'a Interruption>,
    ) -> Self {
        Self { connections, interruption }
    }

    /// Makes an endpoint that is spelled out, for connections of this run.
    pub fn endpoint(&self, text: &str) -> Result<copy::Endpoint, TaskError> {
        let mut parsed =
            copy::Endpoint::parse(text, None).map_err(|error| TaskError::last(error.to_string()))?;
        if let Some(interruption) = self.interruption {
            parsed.interrupted_by(interruption);
        }
        Ok(parsed)
    }

    /// Returns the configuration of the connection to a SQL Server.
    ///
    /// # Errors
    /// A variable or secret is missing, or the text is no connection string.
    pub fn config(&self, name: &str, scope: &Scope) -> Result<Config, TaskError> {
        let connection = self.get(name)?;
        let template =
            Template::parse(connection.url()).map_err(|error| TaskError::last(error.to_string()))?;
        let (url, texts) = connection_string(&template, scope)?;
        let password = self.password(connection, scope)?;
        let lookup = |name: &str| match name.strip_prefix(PLACE) {
            Some(index) => index.parse::<usize>().ok().and_then(|index| texts.get(index).cloned()),
            None if name == load::config::PASSWORD_VARIABLE && password.is_some() => password.clone(),
            None => std::env::var(name).ok(),
        };
        let config = Config::parse_with(&url, &lookup)
            .map_err(|error| TaskError::last(format!("connection `{name}`: {error}")))?;
        Ok(Config { interruption: self.interruption.cloned(), ..config })
    }

    /// Returns the URL of a database that a driver reaches, with its secrets.
    ///
    /// # Errors
    /// A variable or secret is missing.
    pub fn url(&self, name: &str, scope: &Scope) -> Result<String, TaskError> {
        let connection = self.get(name)?;
        let url = scope.text(connection.url(), Secrets::Resolve)?;
        let Some(password) = self.password(connection, scope)? else { return Ok(url) };
        let mut parsed = url::Url::parse(&url).map_err(|error| {
            TaskError::last(format!("connection `{name}` takes no password by itself: {error}"))
        })?;
        match parsed.set_password(Some(&password)) {
            Ok(()) => Ok(parsed.into()),
            Err(()) => {
                let message = "has no place for a password: write ${env:NAME} where it belongs";
                Err(TaskError::last(format!("connection `{name}` {message}")))
            }
        }
    }

    /// Returns true if a connection is a SQL Server.
    pub fn is_sql_server(&self, name: &str) -> bool {
        self.connections.get(name).is_some_and(|connection| {
            let scheme = connection.url().split_once(':').map_or("", |(scheme, _)| scheme);
            let is_word = |scheme: &str| {
                !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+')
            };
            !is_word(scheme)
                || scheme.eq_ignore_ascii_case("mssql")
                || scheme.eq_ignore_ascii_case("sqlserver")
        })
    }

    /// Connects to a SQL Server.
    ///
    /// # Errors
    /// The errors of [`config`](Self::config), and of connecting.
    pub fn connect(&self, name: &str, scope: &Scope, timeout: Option<Duration>) -> Result<Client, TaskError> {
        let mut config = self.config(name, scope)?;
        if let Some(timeout) = timeout {
            config.command_timeout = (!timeout.is_zero()).then_some(timeout);
        }
        Client::connect(&config).map_err(|error| TaskError::new(format!("connection `{name}`: {error}")))
    }

    fn get(&self, name: &str) -> Result<&'a Connection, TaskError> {
        self.connections.get(name).ok_or_else(|| TaskError::last(format!("there is no connection `{name}`")))
    }

    fn password(&self, connection: &Connection, scope: &Scope) -> Result<Option<String>, TaskError> {
        let Connection::Parts(parts) = connection else { return Ok(None) };
        match (&parts.password_env, &parts.password_file) {
            (Some(name), _) => secrets::of_environment(name).map(Some).map_err(of_secret),
            (None, Some(file)) => {
                let file = scope.text(file, Secrets::Resolve)?;
                secrets::of_file(scope.folder(), &file).map(Some).map_err(of_secret)
            }
            (None, None) => Ok(None),
        }
    }
}

/// Returns a connection string with a place for each secret in it, and these secrets. A secret that is the whole text is the string.
fn connection_string(template: &Template, scope: &Scope) -> Result<(String, Vec<String>), TaskError> {
    let secret = |part: &Part| match part {
        Part::Environment(name) => Some(secrets::of_environment(name).map_err(of_secret)),
        Part::File(path) => Some(secrets::of_file(scope.folder(), path).map_err(of_secret)),
        Part::Text(_) | Part::Variable { .. } => None,
    };
    if let [whole] = template.parts()
        && let Some(found) = secret(whole)
    {
        return Ok((found?, Vec::new()));
    }
    let mut url = String::new();
    let mut texts = Vec::new();
    for part in template.parts() {
        match part {
            Part::Text(text) => url.push_str(text),
            Part::Variable { name, .. } => {
                let value = scope.get(name);
                let value = value.ok_or_else(|| TaskError::last(format!("there is no variable `{name}`")))?;
                url.push_str(&value.to_string());
            }
            Part::Environment(_) | Part::File(_) => {
                url.push_str(&format!("${{env:{PLACE}{}}}", texts.len()));
                texts.extend(secret(part).transpose()?);
            }
        }
    }
    Ok((url, texts))
}

fn of_secret(error: secrets::SecretError) -> TaskError {
    TaskError::last(error.to_string())
}
