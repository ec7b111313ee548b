//! Statements of administrators: ALTER DATABASE, CHECKPOINT, BACKUP, RESTORE, DBCC, KILL.

use super::backup::{Backup, Restore};
use super::expression::Expr;
use super::names::ObjectName;
use crate::sql_error::SqlError;

/// A statement of administrators.
#[derive(Debug, Clone, PartialEq)]
pub enum Administration {
    /// ALTER DATABASE.
    AlterDatabase {
        /// The name of the database; `None` for CURRENT.
        database: Option<String>,
        /// The changes, in the order of the statement.
        changes: Vec<DatabaseChange>,
    },
    /// CHECKPOINT.
    Checkpoint,
    /// BACKUP.
    Backup(Box<Backup>),
    /// RESTORE.
    Restore(Box<Restore>),
    /// UPDATE STATISTICS of a table, which does nothing since there are no statistics.
    UpdateStatistics(ObjectName),
    /// DBCC.
    Dbcc(Dbcc),
    /// GRANT, DENY and REVOKE.
    Permission(Permission),
    /// EXECUTE AS.
    ExecuteAs {
        /// LOGIN, not USER.
        is_login: bool,
        /// The name; None for CALLER.
        name: Option<Expr>,
    },
    /// REVERT.
    Revert,
    /// KILL.
    Kill {
        /// The session.
        session: i64,
        /// WITH STATUSONLY: nothing is ended.
        status_only: bool,
    },
}

/// A change that ALTER DATABASE makes.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseChange {
    /// SET RECOVERY.
    Recovery(Recovery),
    /// MODIFY (EDITION = …, SERVICE_OBJECTIVE = …).
    Service {
        /// The edition, if written.
        edition: Option<String>,
        /// The service objective, if written.
        objective: Option<String>,
    },
    /// ADD FILEGROUP.
    AddFileGroup(String),
    /// REMOVE FILEGROUP.
    RemoveFileGroup(String),
    /// MODIFY FILEGROUP … DEFAULT.
    DefaultFileGroup(String),
    /// ADD FILE.
    AddFiles {
        /// The files.
        files: Vec<FileSpec>,
        /// The file group; `None` for the default.
        group: Option<String>,
    },
    /// MODIFY FILE.
    ModifyFile(FileSpec),
    /// SET ALLOW_SNAPSHOT_ISOLATION.
    SnapshotIsolation(bool),
    /// SET READ_COMMITTED_SNAPSHOT.
    ReadCommittedSnapshot(bool),
    /// COLLATE.
    Collation(String),
    /// Parsed, and without effect.
    Other,
    /// Parsed, and refused when it runs.
    Refused(Box<SqlError>),
}

/// GRANT, DENY or REVOKE.
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    /// GRANT, DENY or REVOKE.
    pub verb: PermissionVerb,
    /// ON; None: the database or the server.
    pub securable: Option<(SecurableClass, ObjectName)>,
    /// The columns that are listed, behind a permission or behind the securable.
    pub columns: Vec<String>,
    /// TO or FROM.
    pub principals: Vec<String>,
}

/// The effect on a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionVerb {
    /// GRANT.
    Grant,
    /// DENY.
    Deny,
    /// REVOKE.
    Revoke,
}

/// The class of the securable that a permission is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurableClass {
    /// A table, view, procedure, function, sequence or synonym.
    Object,
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A type.
    Type,
    /// Another, as messages call it.
    Other(&'static str),
}

/// The clauses of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSpec {
    /// The logical name of the file.
    pub name: String,
    /// FILENAME.
    pub file_name: Option<String>,
    /// SIZE.
    pub size_bytes: Option<u64>,
    /// MAXSIZE; None within: UNLIMITED.
    pub limit_bytes: Option<Option<u64>>,
    /// FILEGROWTH.
    pub growth: Option<Growth>,
}

/// FILEGROWTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// A number of bytes; 0 for no growth.
    Bytes(u64),
    /// A share of the size.
    Percent(u16),
}

/// A recovery model as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// FULL.
    Full,
    /// BULK_LOGGED.
    BulkLogged,
    /// SIMPLE.
    Simple,
}

/// A DBCC statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Dbcc {
    /// The word after DBCC, in upper case.
    pub command: String,
    /// The arguments in parentheses.
    pub arguments: Vec<DbccArgument>,
    /// The options after WITH, in upper case, without values.
    pub options: Vec<String>,
}

impl Dbcc {
    /// Returns true if the option is written.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|own| own == option)
    }
}

/// An argument of DBCC.
#[derive(Debug, Clone, PartialEq)]
pub enum DbccArgument {
    /// A name without quotes: a table, an index, a word such as LOGSPACE.
    Name(String),
    /// A text, a number, a variable, NULL.
    Value(Expr),
}
