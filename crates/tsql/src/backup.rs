//! BACKUP and RESTORE.

use super::expression::Expr;

/// BACKUP DATABASE or BACKUP LOG.
#[derive(Debug, Clone, PartialEq)]
pub struct Backup {
    /// True for BACKUP LOG.
    pub is_log: bool,
    /// The database: a name or a variable.
    pub database: Expr,
    /// The file: a text or a variable.
    pub file: Expr,
    /// The options after WITH.
    pub options: BackupOptions,
}

/// The options of BACKUP that change the backup.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BackupOptions {
    /// INIT: the sets of the file are replaced.
    pub init: bool,
    /// FORMAT: the file is replaced, whatever it is.
    pub format: bool,
    /// SKIP: a set that has not expired is replaced too.
    pub skip: bool,
    /// COPY_ONLY.
    pub copy_only: bool,
    /// COMPRESSION.
    pub compression: bool,
    /// CHECKSUM.
    pub checksum: bool,
    /// STATS: percent from one message to the next.
    pub stats: Option<Stats>,
    /// NAME.
    pub name: Option<Expr>,
    /// DESCRIPTION.
    pub description: Option<Expr>,
    /// MEDIANAME.
    pub media_name: Option<Expr>,
    /// MEDIADESCRIPTION.
    pub media_description: Option<Expr>,
    /// EXPIREDATE or RETAINDAYS.
    pub expires: Option<Expiry>,
}

/// STATS.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats(pub Option<Expr>);

/// The date until which a backup set is not replaced.
#[derive(Debug, Clone, PartialEq)]
pub enum Expiry {
    /// EXPIREDATE.
    Date(Expr),
    /// RETAINDAYS.
    Days(Expr),
}

/// A statement that begins with RESTORE.
#[derive(Debug, Clone, PartialEq)]
pub struct Restore {
    /// The kind of the statement.
    pub kind: RestoreKind,
    /// The database: a name or a variable; None for statements about files alone.
    pub database: Option<Expr>,
    /// The files: texts or variables. None are named to end a restore that WITH NORECOVERY has left open.
    pub files: Vec<Expr>,
    /// The options after WITH.
    pub options: RestoreOptions,
}

/// The kinds of RESTORE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreKind {
    /// RESTORE DATABASE.
    Database,
    /// RESTORE LOG.
    Log,
    /// RESTORE HEADERONLY.
    HeaderOnly,
    /// RESTORE FILELISTONLY.
    FileListOnly,
    /// RESTORE LABELONLY.
    LabelOnly,
    /// RESTORE VERIFYONLY.
    VerifyOnly,
}

impl RestoreKind {
    /// Returns the words of the statement, as messages give them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Database => "RESTORE DATABASE",
            Self::Log => "RESTORE LOG",
            Self::HeaderOnly => "RESTORE HEADERONLY",
            Self::FileListOnly => "RESTORE FILELIST",
            Self::LabelOnly => "RESTORE LABELONLY",
            Self::VerifyOnly => "VERIFY DATABASE",
        }
    }
}

/// The options of RESTORE that change what is restored or shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RestoreOptions {
    /// NORECOVERY: more backups follow.
    pub no_recovery: bool,
    /// REPLACE: a database of the name is replaced, whatever it is.
    pub replace: bool,
    /// FILE: the number of the backup set, from 1.
    pub set: Option<Expr>,
    /// MOVE … TO …: logical names and files.
    pub moves: Vec<(Expr, Expr)>,
    /// CHECKSUM: a backup without checksums is refused.
    pub checksum: bool,
    /// STATS: percent from one message to the next.
    pub stats: Option<Stats>,
    /// MEDIANAME: the name that the media must have.
    pub media_name: Option<Expr>,
}
