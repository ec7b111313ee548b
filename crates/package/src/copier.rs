//! The door to copies: the program that runs packages does them, with the same flags as its own command.

use copy::Endpoint;

use crate::task::key_of;

/// A copy that a task asks for.
#[derive(Debug, Clone)]
pub struct CopyRequest {
    /// Where rows come from.
    pub source: Endpoint,
    /// A query in place of a table.
    pub query: Option<String>,
    /// Where they go.
    pub destination: Endpoint,
    /// Flags of `bulkwire copy`, as words of a command line.
    pub flags: Vec<String>,
    /// What is done to the rows.
    pub transformation: copy::Transformation,
    /// Tables that the transformation may join: name, endpoint and a query in place of a table.
    pub lookups: Vec<(String, Endpoint, Option<String>)>,
    /// The name under which committed rows are recorded, so that each arrives once. None: they are not recorded.
    pub load_id: Option<String>,
    /// Such a record is asked for, and not only welcome.
    pub must_resume: bool,
}

impl CopyRequest {
    /// The name under which the rows of one of several tables are recorded.
    pub fn load_id_of(&self, table: &str) -> Option<String> {
        self.load_id.as_ref().map(|load_id| key_of(&format!("{load_id} {table}")))
    }
}

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Rows that are at the destination, those of earlier runs of the same load among them.
    pub rows: u64,
    /// Rows that were refused.
    pub refused: u64,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// A copy that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFailure {
    /// Why.
    pub message: String,
    /// It is not known whether the last rows are at the destination.
    pub is_in_doubt: bool,
    /// Another attempt cannot help.
    pub is_final: bool,
}

/// Hears of a copy while it runs.
pub trait CopyListener: Send + Sync {
    /// So many rows are on their way or there.
    fn rows(&self, rows: u64);
    /// Something for people.
    fn note(&self, note: &str);
    /// Whether the copy is to end.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Does copies.
pub trait Copier: Send + Sync {
    /// Copies all rows.
    ///
    /// # Errors
    /// Why they are not all there.
    fn copy(&self, request: &CopyRequest, listener: &dyn CopyListener) -> Result<Copied, CopyFailure>;

    /// The choices that a copy would make, a line each. Both ends are looked at, and nothing is changed.
    ///
    /// # Errors
    /// Why it could not begin.
    fn plan(&self, request: &CopyRequest) -> Result<Vec<String>, CopyFailure>;
}
