//! Recovery models.

use std::fmt;

use clap::ValueEnum;
use load::Client;
use serde::Serialize;

use super::{Outcome, Target};

/// A recovery model of SQL Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// SIMPLE: minimal logging where its conditions hold, and no log is kept.
    Simple,
    /// BULK_LOGGED: minimal logging where its conditions hold.
    BulkLogged,
    /// FULL: everything is logged.
    Full,
}

impl Recovery {
    /// Sets the model of the experiment's own database.
    ///
    /// # Errors
    /// The database is not the experiment's own, or the server refuses.
    pub fn set(self, target: &Target, client: &mut Client) -> Outcome<()> {
        if !target.owns_database() {
            return Err("--recovery changes the database, which --in-place leaves as it is".into());
        }
        client
            .execute(&format!("ALTER DATABASE CURRENT SET RECOVERY {self}"))
            .map_err(|error| format!("cannot set the recovery model {self}: {error}"))?;
        Ok(())
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Recovery::Simple => "SIMPLE",
            Recovery::BulkLogged => "BULK_LOGGED",
            Recovery::Full => "FULL",
        })
    }
}
