//! Errors of T-SQL, with the number, class and text that SQL Server uses.

use std::fmt;
use std::panic::Location;

use crate::errors;

/// An error as a client sees it: the fields of the ERROR token, without server and procedure names.
///
/// [`errors`] has the numbers and texts that several places raise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// Message number (`sys.messages.message_id`); 50000 for user errors.
    pub number: i32,
    /// Severity: 11-16 end the statement, 20 and above end the connection.
    pub class: u8,
    /// State, for telling apart the places that raise the same number.
    pub state: u8,
    /// The text.
    pub message: String,
    /// Line in the batch, 1-based; 0 until the statement that failed is known.
    pub line: u32,
    /// The procedure that it was raised in; empty for a batch.
    pub procedure: String,
    /// The place in the server's code that raised it, for a defect of the server. The log shows it, clients do not
    /// see it.
    pub origin: Option<&'static Location<'static>>,
    /// The reach of the error, if it is known already.
    pub reach: Option<Reach>,
    /// The statement that raised it has dealt with the transaction, and a TRY further out is to catch it.
    pub is_dealt_with: bool,
}

/// The reach of an error beyond the part that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The statement alone.
    Statement,
    /// The batch, procedure or text that the statement stands in; the caller goes on.
    Scope,
    /// The whole batch.
    Batch,
    /// The batch and the transaction.
    Transaction,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Msg {}, Level {}, State {}: {}", self.number, self.class, self.state, self.message)
    }
}

impl std::error::Error for SqlError {}

/// Characters of an error's text.
const ERROR_MAX: usize = 2047;

impl SqlError {
    /// Makes an error of any number.
    pub fn new(number: i32, class: u8, state: u8, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // SQL Server cuts errors, too; messages that are none may be longer.
        if class > 10
            && let Some((end, _)) = message.char_indices().nth(ERROR_MAX)
        {
            message.truncate(end);
        }
        SqlError {
            number,
            class,
            state,
            message,
            line: 0,
            procedure: String::new(),
            origin: None,
            reach: None,
            is_dealt_with: false,
        }
    }

    /// Sets how far the error reaches.
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// Notes that the statement that raised the error has dealt with it.
    pub fn dealt_with(self) -> Self {
        Self { is_dealt_with: true, ..self }
    }

    /// Forgets how far the error reached where it was raised: the statement around raises it again.
    pub fn raised_anew(self) -> Self {
        Self { reach: None, is_dealt_with: false, ..self }
    }

    /// Sets the line, unless the error has one already.
    pub fn at_line(mut self, line: u32) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        self
    }

    /// Sets the procedure, unless the error has one already.
    pub fn in_procedure(mut self, procedure: &str) -> Self {
        if self.procedure.is_empty() {
            self.procedure.push_str(procedure);
        }
        self
    }

    /// Sets the state.
    pub fn with_state(mut self, state: u8) -> Self {
        self.state = state;
        self
    }

    /// Makes error 174 or 189: a function called with the wrong number of arguments.
    pub fn argument_count(name: &str, least: usize, most: usize) -> Self {
        match least == most {
            true => errors::ARGUMENT_COUNT.with([name, &least.to_string()]),
            false => errors::ARGUMENT_RANGE.with([name, &least.to_string(), &most.to_string()]),
        }
    }

    /// Makes error 8115: a value too large for its target.
    pub fn overflow(from: &str, to: &str) -> Self {
        errors::ARITHMETIC_OVERFLOW.with([if from.is_empty() { "expression" } else { from }, to])
    }

    /// Makes error 547: a CHECK or FOREIGN KEY constraint is broken.
    pub fn constraint_conflict(
        statement: &str,
        kind: &str,
        name: &str,
        database: &str,
        table: &str,
        column: Option<&str>,
    ) -> Self {
        let column = column.map(|column| format!(", column '{column}'")).unwrap_or_default();
        errors::CONSTRAINT_CONFLICT.with([statement, kind, name, database, table, &column])
    }

    /// Makes error 2627 (constraint) or 2601 (index): a duplicate key.
    pub fn duplicate_key(kind: KeyKind, name: &str, table: &str, value: &str) -> Self {
        match kind {
            KeyKind::UniqueIndex => errors::DUPLICATE_IN_INDEX.with([table, name, value]),
            KeyKind::PrimaryKey => errors::DUPLICATE_KEY.with(["PRIMARY KEY", name, table, value]),
            KeyKind::UniqueConstraint => errors::DUPLICATE_KEY.with(["UNIQUE KEY", name, table, value]),
        }
    }

    /// Makes the error fatal: the connection is closed after it (severity 20).
    pub fn fatal(self) -> Self {
        Self { class: 20, ..self }
    }

    /// Returns true for [`errors::CANCELLED`].
    pub fn is_cancelled(&self) -> bool {
        self.number == errors::CANCELLED.number
    }

    /// Makes error 922: the server has just been started.
    pub fn being_recovered(database: &str) -> Self {
        errors::BEING_RECOVERED.with([if database.is_empty() { "master" } else { database }])
    }

    /// Returns true for [`errors::ROWS_CHANGED`].
    pub fn is_rows_changed(&self) -> bool {
        self.number == errors::ROWS_CHANGED.number
    }

    /// Makes error 3960: a transaction under SNAPSHOT changes rows that another one has changed since. `table` is its
    /// name in the store.
    pub fn update_conflict(table: &str) -> Self {
        let (database, table) = table.split_once('.').unwrap_or(("", table));
        errors::UPDATE_CONFLICT.with([table, database])
    }

    /// Makes error 3961: a transaction under SNAPSHOT reads a table whose definition has changed since it began.
    pub fn definition_changed(table: &str) -> Self {
        let database = table.split_once('.').map_or("", |(database, _)| database);
        errors::DEFINITION_CHANGED.with([database])
    }

    /// Returns true if the error ends the transaction: a deadlock's victim, or a violation of SNAPSHOT.
    pub fn ends_transaction(&self) -> bool {
        matches!(self.number, 1205 | 3951 | 3952 | 3960 | 3961 | 3964)
    }

    /// Makes error 40515: T-SQL that this server does not have (the number that Azure SQL uses for the same case).
    pub fn unsupported(what: &str) -> Self {
        errors::UNSUPPORTED.with([what])
    }

    /// Makes error 596: something inside the server failed (storage, execution engine); the text has the details.
    #[track_caller]
    pub fn internal(what: impl fmt::Display) -> Self {
        let error = errors::INTERNAL.with([&what.to_string()]);
        Self { origin: Some(Location::caller()), ..error }
    }
}

/// The kind of key with a duplicate, which decides between 2627 and 2601.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY constraint.
    PrimaryKey,
    /// UNIQUE constraint.
    UniqueConstraint,
    /// CREATE UNIQUE INDEX.
    UniqueIndex,
}
