//! A scope's variables and cursors, and the flow of control between statements.

use std::collections::HashMap;
use std::sync::Arc;

use databases::memory::Reservation;
use introspection::facts::UpdatedColumns;
use query::BoundTable;
use query::Datum;
use query::convert::convert;
use query::running;
use tds::SqlType;
use tsql::SqlError;
use tsql::errors;

use crate::session::cursor::Cursors;
use crate::session::response::DoneKind;
use crate::session::work::VariableTable;

/// The effect of a statement on the control of flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Next,
    /// Leave the loop.
    Break,
    /// Next turn of the loop.
    Continue,
    /// Go on behind a label.
    GoTo(String),
    /// Leave the scope, with a status.
    Return(i32),
    /// Leave the scope, which an error has ended; the caller goes on.
    Leave,
    /// Leave the batch: an error ended it, or it was cancelled.
    Stop,
}

/// A scope: a batch, or the text of sp_executesql.
pub(crate) struct Frame {
    variables: HashMap<String, (Datum, SqlType)>,
    /// The variables that are parameters, in lower case.
    parameters: Vec<String>,
    /// Tables that the scope is given when it begins.
    pub tables: Vec<(String, VariableTable)>,
    /// The rows that the statement in the FROM of the INSERT at hand has changed.
    pub changed: Option<BoundTable>,
    /// Bytes of long values among them, and the part of the server's memory that they are counted in.
    long_bytes: usize,
    memory: Option<Reservation>,
    /// Cursors of its own: LOCAL ones and those of variables.
    pub cursors: Cursors,
    /// Variables of type CURSOR, in lower case.
    pub cursor_variables: Vec<String>,
    /// Statements end with DONEINPROC.
    pub in_procedure: bool,
    /// The number of open TRY blocks, including those of callers.
    pub tries: u32,
    /// The number of open TRY blocks of the scope itself.
    pub own_tries: u32,
    /// The error that CATCH handles.
    pub error: Option<SqlError>,
    /// `@@NESTLEVEL`: calls around this one.
    pub nesting: u32,
    /// The procedure that runs, for messages.
    pub procedure: String,
    /// `@@PROCID`: the object id of the module that runs, 0 in a batch or text.
    pub module_id: i32,
    /// In a trigger: the columns that were assigned.
    pub trigger: Option<Arc<UpdatedColumns>>,
    /// In a function: the type of its value.
    pub returns: Option<SqlType>,
    /// The value of RETURN.
    pub returned: Option<Datum>,
}

impl Frame {
    pub fn new(in_procedure: bool) -> Frame {
        Frame {
            variables: HashMap::new(),
            parameters: Vec::new(),
            tables: Vec::new(),
            changed: None,
            long_bytes: 0,
            memory: None,
            cursors: Cursors::new(),
            cursor_variables: Vec::new(),
            in_procedure,
            tries: 0,
            own_tries: 0,
            error: None,
            nesting: 0,
            procedure: String::new(),
            module_id: 0,
            trigger: None,
            returns: None,
            returned: None,
        }
    }

    /// Makes a scope inside this one, without its variables.
    pub fn inner(&self) -> Result<Frame, SqlError> {
        if self.nesting >= NESTING_MAX {
            return Err(errors::NESTED_TOO_DEEPLY.error());
        }
        Ok(Frame {
            nesting: self.nesting + 1,
            tries: self.tries,
            error: self.error.clone(),
            ..Frame::new(true)
        })
    }

    pub fn variable(&self, name: &str) -> Option<(Datum, SqlType)> {
        self.variables.get(&name.to_lowercase()).cloned()
    }

    /// Returns true if a variable or a table of that name, in lower case, is declared.
    pub fn has_declared(&self, key: &str) -> bool {
        self.variables.contains_key(key)
            || self.tables.iter().any(|(name, _)| name.to_lowercase() == key)
            || self.cursor_variables.iter().any(|name| name == key)
    }

    pub fn declare(&mut self, name: &str, sql_type: SqlType, value: Datum) {
        self.variables.insert(name.to_lowercase(), (value, sql_type));
    }

    /// Declares a parameter with its value.
    pub fn declare_parameter(&mut self, name: &str, sql_type: SqlType, value: Datum) {
        self.parameters.push(name.to_lowercase());
        self.declare(name, sql_type, value);
    }

    /// Returns true if a variable is a parameter.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|own| *own == name.to_lowercase())
    }

    /// Assigns a value of another type. Errors: 137, 701, and conversions.
    pub fn assign(&mut self, name: &str, value: Datum, from: &SqlType) -> Result<(), SqlError> {
        let key = name.to_lowercase();
        let Some((old, sql_type)) = self.variables.get(&key) else {
            return Err(errors::UNDECLARED_VARIABLE.with([name]));
        };
        let value = convert(value, from, sql_type, 0)?;
        self.count(old.heap_bytes(), value.heap_bytes())?;
        if let Some((slot, _)) = self.variables.get_mut(&key) {
            *slot = value;
        }
        Ok(())
    }

    /// Counts a long value that takes the place of another. Errors: 701.
    fn count(&mut self, old: usize, new: usize) -> Result<(), SqlError> {
        let long = |bytes: usize| if bytes >= LONG_VALUE_BYTES { bytes } else { 0 };
        let (old, new) = (long(old), long(new));
        if old == new {
            return Ok(());
        }
        let bytes = self.long_bytes.saturating_sub(old).saturating_add(new);
        if self.memory.is_none() {
            self.memory = running::reservation();
        }
        if let Some(memory) = &mut self.memory {
            memory.resize(bytes)?;
        }
        self.long_bytes = bytes;
        Ok(())
    }

    /// Returns the kind of DONE that ends a statement here.
    pub fn done_kind(&self) -> DoneKind {
        if self.in_procedure { DoneKind::InProcedure } else { DoneKind::Statement }
    }
}

/// Depth of EXEC inside EXEC (SQL Server's limit is 32 too).
pub(crate) const NESTING_MAX: u32 = 32;

/// Values of variables from here on are counted in the server's memory.
pub(crate) const LONG_VALUE_BYTES: usize = 4096;
