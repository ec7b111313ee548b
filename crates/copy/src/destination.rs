//! The trait of destinations.

use clap::ValueEnum;
use load::Choice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    directed_rows::ActionCounts,
    error::CopyError,
    row_stream::RowStream,
    source::{ReadForm, Source},
    watch::Control,
};

/// Decides whether the destination's table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Create {
    /// If it is not there.
    #[default]
    IfMissing,
    /// A table that is there is an error.
    Always,
    /// A table that is missing is an error.
    Never,
}

/// The destination's plan before the first row.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// Every choice, with its reason, for people.
    pub plan: Vec<Choice>,
    /// The statement that makes the table, if it is made.
    pub created_by: Option<String>,
    /// An earlier run has copied everything: there is nothing to read.
    pub is_done: bool,
    /// Rows that an earlier run has committed.
    pub rows_before: u64,
    /// Rows that an earlier run has refused, and that are not read again.
    pub refused_before: u64,
}

/// The rows and bytes that arrived.
#[derive(Debug, Clone, Default)]
pub struct Landed {
    /// Rows that were taken from the source in this run and are at the destination now.
    pub rows: u64,
    /// Rows of these that the destination has dropped, since their keys were there already.
    pub rows_ignored: u64,
    /// Rows that an earlier run had committed and that were passed over.
    pub rows_skipped: u64,
    /// Bytes that were written, if that is known.
    pub bytes: Option<u64>,
    /// Connections, or threads, that wrote.
    pub writers: usize,
    /// Rows that said themselves that they do nothing.
    pub rows_idle: u64,
    /// The number of rows per action, where each row names its own and the server's answer is known.
    pub actions: Option<ActionCounts>,
    /// More about it, for people: a line each.
    pub notes: Vec<String>,
}

/// Takes rows. The order of calls is [`form`](Self::form), [`prepare`](Self::prepare), [`write`](Self::write) and
/// [`finish`](Self::finish). After a failure of `write` or `finish`, [`abort`](Self::abort) follows.
pub trait Destination: Send {
    /// Returns the name for messages, without secrets.
    fn name(&self) -> String;

    /// Returns the form in which the destination wants its rows.
    ///
    /// # Errors
    /// It cannot be reached.
    fn form(&mut self) -> Result<ReadForm, CopyError>;

    /// Looks at source and destination, decides how rows are written, and makes what is missing unless `is_dry` is set.
    ///
    /// # Errors
    /// The source does not fit, or what is asked for cannot be had here. Nothing has been changed then.
    fn prepare(&mut self, source: &mut dyn Source, is_dry: bool) -> Result<Prepared, CopyError>;

    /// Takes all rows of a stream. What it reads ahead is bounded, so that a slow destination slows the source down.
    ///
    /// # Errors
    /// The stream's, or the destination's own.
    fn write(&mut self, rows: RowStream, control: &Control<'_>) -> Result<Landed, CopyError>;

    /// Makes what was written visible and lasting. After an earlier run that has copied everything it makes what that run has
    /// left to do.
    ///
    /// # Errors
    /// The destination's own.
    fn finish(&mut self, landed: Landed, control: &Control<'_>) -> Result<Landed, CopyError>;

    /// Makes what has to wait for other tables that are copied with this one, such as foreign keys. What is to be said of it.
    ///
    /// # Errors
    /// The destination's own.
    fn finish_together(&mut self) -> Result<Vec<String>, CopyError> {
        Ok(Vec::new())
    }

    /// Removes what a failed copy leaves, as far as it was promised. What stays behind, for people.
    fn abort(&mut self, failure: &CopyError) -> Vec<String>;
}
