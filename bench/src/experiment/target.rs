//! The server of an experiment, and the database that is made on it.

use std::ops::{Deref, DerefMut};

use clap::Args;
use load::{Client, Config, TableName, literal, quoted};
use tds::Value;
use tempfile::TempDir;

use super::interrupt::Registered;
use super::{Interrupt, Interrupted, Keeping, Outcome, ServerArguments};
use crate::server_process::ServerProcess;

/// The server, and the database on it.
#[derive(Debug, Clone, Args)]
pub struct TargetArguments {
    /// Connection string of the server (default: an embedded server, started for the experiment); the password may come from
    /// BULKWIRE_PASSWORD
    #[arg(long, value_name = "URL", help_heading = "Server")]
    pub target: Option<String>,
    /// Database to make for the experiment and to drop after it; it must not exist
    #[arg(long, value_name = "NAME", default_value = "bulkwire_bench", help_heading = "Server")]
    pub database: String,
    /// Make no database: work in the connection string's own, whose settings are left as they are
    #[arg(long, conflicts_with = "database", requires = "target", help_heading = "Server")]
    pub in_place: bool,
    /// The start of the embedded server.
    #[command(flatten)]
    pub server: ServerArguments,
}

/// A server that can be reached, with a database for the experiment.
#[derive(Debug)]
pub struct Target {
    config: Config,
    url: String,
    database: Option<String>,
    interrupt: Interrupt,
    keeping: Keeping,
    server: Option<ServerProcess>,
    // Goes after the server has ended.
    _folder: Option<TempDir>,
}

/// A connection whose requests a signal cancels.
#[derive(Debug)]
pub struct Session {
    client: Client,
    _registered: Registered,
}

impl Deref for Session {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl Target {
    /// Starts the embedded server, with further `arguments`, or connects to the one that is named, and makes the database.
    ///
    /// # Errors
    /// A server that cannot be started or reached, a database that exists or may not be made.
    pub fn open(
        arguments: &TargetArguments,
        server_arguments: &[String],
        interrupt: &Interrupt,
    ) -> Outcome<Target> {
        let (server, folder) = match arguments.target {
            Some(_) => (None, None),
            None => {
                let (server, folder) = arguments.server.start(server_arguments)?;
                (Some(server), folder)
            }
        };
        let url = match (&arguments.target, &server) {
            (Some(target), _) => target.clone(),
            (None, Some(server)) => server.url(),
            (None, None) => return Err("no server".into()),
        };
        let config = Config::parse(&url).map_err(|error| format!("--target: {error}"))?;
        let keeping = if server.is_some() { arguments.server.keeping() } else { Keeping::Target };
        let mut target = Target {
            config,
            url,
            database: None,
            interrupt: interrupt.clone(),
            keeping,
            server,
            _folder: folder,
        };
        if !arguments.in_place {
            target.make_database(&arguments.database)?;
        }
        Ok(target)
    }

    fn make_database(&mut self, name: &str) -> Outcome<()> {
        let mut client = self.connect()?;
        let found = client.query_values(&format!("SELECT DB_ID({})", literal(name)))?;
        if !matches!(load::first_value(&found), Some(Value::Null)) {
            return Err(format!(
                "database {} exists; --database names another, which is made and dropped",
                quoted(name)
            )
            .into());
        }
        client.execute(&format!("CREATE DATABASE {}", quoted(name))).map_err(|error| {
            format!(
                "cannot make database {}: {error}; --in-place works in the connection string's own",
                quoted(name)
            )
        })?;
        self.database = Some(name.to_owned());
        Ok(())
    }

    /// Opens a connection in the experiment's database.
    ///
    /// # Errors
    /// The server cannot be reached, or the login was refused.
    pub fn connect(&self) -> Outcome<Session> {
        self.interrupt.check()?;
        let mut config = self.config.clone();
        if let Some(database) = &self.database {
            config.database = Some(database.clone());
        }
        let client = Client::connect(&config)?;
        Ok(Session { _registered: self.interrupt.register(&client), client })
    }

    /// Returns the server's connection string, with its password if it has one: for programs that are
    /// started.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the name of a table in the experiment's database, with the database.
    pub fn table(&self, name: &str) -> TableName {
        TableName { database: self.database.clone(), schema: Some("dbo".to_owned()), name: name.to_owned() }
    }

    /// Checks that none of the tables exists, so that no other table is dropped.
    ///
    /// # Errors
    /// One that is, by name.
    pub fn refuse_existing(&self, tables: &[TableName]) -> Outcome<()> {
        let mut client = self.connect()?;
        for table in tables {
            let found = client.query_values(&format!("SELECT OBJECT_ID({})", literal(&table.to_string())))?;
            let id = load::first_value(&found);
            if !matches!(id, Some(Value::Null)) {
                return Err(
                    format!("{table} exists; the experiment makes and drops a table of that name").into()
                );
            }
        }
        Ok(())
    }

    /// Returns true if the experiment has a database of its own, whose settings it may change.
    pub fn owns_database(&self) -> bool {
        self.database.is_some()
    }

    /// Returns the embedded server.
    pub fn server(&self) -> Option<&ServerProcess> {
        self.server.as_ref()
    }

    /// Returns the storage in which the server keeps rows.
    pub fn keeping(&self) -> Keeping {
        self.keeping
    }

    /// Returns the flag that a signal, such as Ctrl+C, sets.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Returns the processor time of the embedded server so far, in seconds; `None` for another server, and
    /// if the system does not provide it.
    pub fn server_cpu_seconds(&self) -> Option<f64> {
        Some(self.server.as_ref()?.usage()?.cpu.as_secs_f64())
    }

    /// Ends the experiment: drops the database, or the `tables` of a database that is not the experiment's own, and
    /// stops the embedded server. `outcome` is how the experiment ended; what could not be dropped is said in its
    /// error.
    ///
    /// # Errors
    /// `outcome`'s, and what stays on the server.
    pub fn close<T>(self, tables: &[TableName], outcome: Outcome<T>) -> Outcome<T> {
        let outcome = match outcome {
            Err(error) if self.interrupt.is_asked() && !error.is::<Interrupted>() => {
                Err(format!("interrupted: {error}").into())
            }
            outcome => outcome,
        };
        // The embedded server goes with its files.
        let dropped = if self.server.is_some() { Ok(()) } else { self.drop_all(tables) };
        match (outcome, dropped) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(left)) => Err(left),
            (Err(error), Ok(())) => Err(error),
            (Err(error), Err(left)) => Err(format!("{error}; {left}").into()),
        }
    }

    fn drop_all(&self, tables: &[TableName]) -> Outcome<()> {
        // A connection of its own: those of the experiment may be broken, or in the middle of something.
        let attempt = |client: &mut Client| -> Outcome<()> {
            match &self.database {
                Some(name) => {
                    let name = quoted(name);
                    // Sessions that the server has not noticed to be gone would keep the database. Not every server has the
                    // statement; then the other one is tried all the same.
                    let _ = client
                        .execute(&format!("ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE"));
                    client.execute(&format!("DROP DATABASE {name}"))?;
                }
                None => {
                    for table in tables {
                        client.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
                    }
                }
            }
            Ok(())
        };
        let mut config = self.config.clone();
        if self.database.is_some() && config.database.is_none() {
            config.database = Some("master".to_owned());
        }
        Client::connect(&config).map_err(Into::into).and_then(|mut client| attempt(&mut client)).map_err(
            |error| {
                let left = match &self.database {
                    Some(name) => format!("database {}", quoted(name)),
                    None => {
                        format!(
                            "tables {}",
                            tables.iter().map(TableName::to_string).collect::<Vec<_>>().join(", ")
                        )
                    }
                };
                format!("{left} may be left on the server: {error}").into()
            },
        )
    }
}
