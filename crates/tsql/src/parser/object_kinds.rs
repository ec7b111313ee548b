//! The kinds of object that CREATE, ALTER and DROP name and that this server does not have.

use super::{Parsed, Parser};
use crate::keywords::Keyword;
use crate::sql_error::SqlError;

/// First words of kinds of object, in capitals.
const KINDS: &[&str] = &[
    "AGGREGATE",
    "APPLICATION",
    "ASSEMBLY",
    "ASYMMETRIC",
    "AUTHORIZATION",
    "AVAILABILITY",
    "BROKER",
    "CERTIFICATE",
    "COLUMN",
    "CONTRACT",
    "CREDENTIAL",
    "CRYPTOGRAPHIC",
    "DEFAULT",
    "ENDPOINT",
    "EVENT",
    "EXTERNAL",
    "FULLTEXT",
    "JSON",
    "LOGIN",
    "MASTER",
    "MESSAGE",
    "PRIMARY",
    "QUEUE",
    "REMOTE",
    "RESOURCE",
    "ROLE",
    "ROUTE",
    "RULE",
    "SCHEMA",
    "SEARCH",
    "SECURITY",
    "SELECTIVE",
    "SENSITIVITY",
    "SERVER",
    "SERVICE",
    "SIGNATURE",
    "SPATIAL",
    "STATISTICS",
    "SYMMETRIC",
    "USER",
    "VECTOR",
    "WORKLOAD",
    "XML",
];

/// The words that may follow DATABASE without being a database's name.
const OF_DATABASES: &[&str] =
    &["ENCRYPTION KEY", "AUDIT SPECIFICATION", "SCOPED CREDENTIAL", "EVENT NOTIFICATION", "EVENT SESSION"];

impl Parser<'_> {
    /// Says why there is no statement for a kind of object: 40515 for one of SQL Server's, 343 for an unknown one.
    pub(crate) fn other_object(&self, verb: &str, kind: &str) -> SqlError {
        if KINDS.contains(&kind) {
            return SqlError::unsupported(&format!("{verb} {kind}"));
        }
        let text = format!("Unknown object type '{kind}' used in a CREATE, DROP, or ALTER statement.");
        SqlError::new(343, 15, 1, text)
    }

    /// Refuses keys, credentials and the like, which are spelled like databases. Error: 40515.
    pub(crate) fn refuse_other_database_objects(&self, verb: &str) -> Parsed<()> {
        for words in OF_DATABASES {
            let found = words.split(' ').enumerate().all(|(ahead, word)| self.is_bare_ahead(ahead, word));
            // `DROP DATABASE audit` is of a database, and so is `CREATE DATABASE [encryption]`.
            if found && !self.is_word(Keyword::If) {
                let what = format!("{verb} DATABASE {words}");
                return Err(SqlError::unsupported(&what).at_line(self.line()));
            }
        }
        Ok(())
    }
}
