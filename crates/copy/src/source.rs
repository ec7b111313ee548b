//! The trait of sources.

use std::sync::{Arc, atomic::AtomicU64};

use arrow::datatypes::SchemaRef;
use load::{Choice, KeyOrder, SourceIdentity, TableShape, read::RowGate};
use tds::Column;

use crate::{error::CopyError, places::Places, row_stream::RowStream};

/// The form in which a destination wants its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadForm {
    /// Columns of SQL Server come in the lossless form of [`rows::Form::Exact`].
    pub is_exact: bool,
    /// Columns of text files come with the types that their values have, instead of as text.
    pub is_typed: bool,
}

/// The facts about a source that are known before its rows are read.
#[derive(Debug, Clone)]
pub struct Description {
    /// The schema of the rows. A column whose SQL type is known has it in its metadata, see [`rows::mapping::SQL_TYPE_KEY`].
    pub schema: SchemaRef,
    /// The number of rows, if that is known; an estimate will do.
    pub rows: Option<u64>,
    /// The number of bytes, if that is known; an estimate will do.
    pub bytes: Option<u64>,
    /// True if the columns have names of their own; otherwise they are matched by position.
    pub has_names: bool,
    /// The source's choices and their reasons, for people.
    pub notes: Vec<String>,
}

/// The columns of a table that is to be made for a source.
#[derive(Debug, Clone)]
pub struct NewColumns {
    /// Names, types and nullability, SQL types and collations in the metadata.
    pub schema: SchemaRef,
    /// The length of each column's longest value where it is known: UTF-16 units of text, bytes of binary.
    pub longest: Vec<Option<u64>>,
}

/// Tells if a source yields the same rows in the same order when it is opened again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// The source yields the same rows; a later run recognises it by this identity.
    InOrder(SourceIdentity),
    /// The source is a pipe: the user vouches for the same rows by naming the copy.
    IfNamed(SourceIdentity),
    /// The source yields other rows, for this reason.
    No(String),
}

/// Rows that a server sends, before they are decoded.
#[derive(Debug, Clone, Default)]
pub enum Undecoded {
    /// The source is no SQL Server.
    #[default]
    OfNoServer,
    /// The rows must be decoded, for this reason.
    Never(&'static str),
    /// The rows may pass as they come.
    Rows {
        /// The columns of the answer.
        columns: Vec<Column>,
        /// Decides before the first row whether they do.
        gate: RowGate,
    },
}

/// Yields rows.
pub trait Source: Send {
    /// Returns the name for messages, without secrets.
    fn name(&self) -> String;

    /// Returns what was found of the columns of text, with the values that decided it, once the rows were looked at for their types.
    fn findings(&self) -> Vec<Choice> {
        Vec::new()
    }

    /// Looks at the source without reading its rows.
    ///
    /// # Errors
    /// It cannot be reached, or is not there.
    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError>;

    /// Returns the columns of a table that could hold the rows. Types of text and lengths come from all rows, where
    /// they can be read twice.
    ///
    /// # Errors
    /// The errors of [`describe`](Self::describe), and of reading.
    fn new_columns(&mut self, form: ReadForm) -> Result<NewColumns, CopyError> {
        let schema = self.describe(form)?.schema;
        let longest = vec![None; schema.fields().len()];
        Ok(NewColumns { schema, longest })
    }

    /// Starts to read, from the first row. A source that was opened before is read again, if it can be.
    ///
    /// # Errors
    /// It cannot be reached, or not be read again.
    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError>;

    /// Returns the rows that [`open`](Self::open) in the same form yields, as the server sends them. They are decoded unless
    /// the gate is opened otherwise.
    ///
    /// # Errors
    /// The errors of [`describe`](Self::describe).
    fn undecoded(&mut self, _form: ReadForm) -> Result<Undecoded, CopyError> {
        Ok(Undecoded::OfNoServer)
    }

    /// Checks whether another run of the copy meets the same rows in the same order.
    ///
    /// # Errors
    /// The errors of [`describe`](Self::describe).
    fn repeat(&mut self) -> Result<Repeat, CopyError>;

    /// Rows that malformed ones are left out of do not end the reading: they travel with their batch. To be asked for before
    /// [`open`](Self::open).
    fn collect_unread(&mut self) {}

    /// Bytes of the source that have been read, if it counts them.
    fn bytes_read(&self) -> Option<Arc<AtomicU64>> {
        None
    }

    /// Returns the places of the rows, for messages.
    fn places(&self) -> Places {
        Places::default()
    }

    /// Says why the rows are known to come in the order of a key, if they are.
    ///
    /// # Errors
    /// The errors of [`describe`](Self::describe), and of reading the key.
    fn follows(&mut self, _form: ReadForm, _order: &KeyOrder) -> Result<Option<&'static str>, CopyError> {
        Ok(None)
    }

    /// Returns the whole definition of a table of SQL Server.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    fn table_shape(&mut self) -> Result<Option<TableShape>, CopyError> {
        Ok(None)
    }
}
