//! The errors of the T-SQL half, each with the number, class and text that SQL Server uses.

use std::fmt;
use std::panic::Location;

/// An error as a client sees it: the fields of the ERROR token, without server and procedure names.
///
/// Constructors are named after the situation and carry the number and text of `sys.messages`.
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
    /// Where in the server's code it was raised, if it is a defect of the server: for its log, not for clients.
    pub origin: Option<&'static Location<'static>>,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Msg {}, Level {}, State {}: {}", self.number, self.class, self.state, self.message)
    }
}

impl std::error::Error for SqlError {}

/// SQL Server's number for a query that the client cancelled.
const CANCELLED: i32 = 3617;
/// Update conflict; no client sees it.
const ROWS_CHANGED: i32 = -3960;

/// Characters of an error's text.
const ERROR_MAX: usize = 2047;

impl SqlError {
    /// An error of any number.
    pub fn new(number: i32, class: u8, state: u8, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // SQL Server cuts errors, too; messages that are none may be longer.
        if class > 10
            && let Some((end, _)) = message.char_indices().nth(ERROR_MAX)
        {
            message.truncate(end);
        }
        SqlError { number, class, state, message, line: 0, procedure: String::new(), origin: None }
    }

    /// The same error at a line, unless it knows its line already.
    pub fn at_line(mut self, line: u32) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        self
    }

    /// The same error in a procedure, unless it knows its own already.
    pub fn in_procedure(mut self, procedure: &str) -> Self {
        if self.procedure.is_empty() {
            self.procedure.push_str(procedure);
        }
        self
    }

    /// 217: procedures or functions in each other.
    pub fn nested_too_deeply() -> Self {
        Self::new(
            217,
            16,
            1,
            "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
        )
    }

    /// 191: the parser stopped at a depth that no text may have.
    pub fn too_deep() -> Self {
        Self::new(
            191,
            15,
            1,
            "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
        )
    }

    /// 8623: a query that is too large or too deep to be planned.
    pub fn too_complex() -> Self {
        Self::new(
            8623,
            16,
            1,
            "The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please simplify the query.",
        )
    }

    /// 103: a name longer than 128 characters.
    pub fn identifier_too_long(name: &str) -> Self {
        let text = format!(
            "The identifier that starts with '{}' is too long. Maximum length is 128.",
            beginning(name)
        );
        Self::new(103, 15, 4, text)
    }

    /// 1007: a number of more than 38 digits.
    pub fn number_out_of_range(digits: &str) -> Self {
        let text = format!(
            "The number '{}' is out of the range for numeric representation (maximum precision 38).",
            beginning(digits)
        );
        Self::new(1007, 15, 1, text)
    }

    /// 168: a floating point literal that a float cannot hold.
    pub fn float_out_of_range(digits: &str) -> Self {
        let text = format!(
            "The floating point value '{}' is out of the range of computer representation (8 bytes).",
            beginning(digits)
        );
        Self::new(168, 15, 1, text)
    }

    /// The same error with another state.
    pub fn with_state(mut self, state: u8) -> Self {
        self.state = state;
        self
    }

    /// Whether the error ends the whole batch rather than the statement (parse and name errors at run
    /// time, conversion errors and everything that dooms a transaction do).
    pub fn ends_batch(&self) -> bool {
        let ends_connection = self.class >= 20;
        ends_connection
            || matches!(
                self.number,
                102 | 105
                    | 113
                    | 156
                    | 207
                    | 208
                    | 209
                    | 241
                    | 242
                    | 245
                    | 293
                    | 295
                    | 911
                    | 1205
                    | 3609
                    | 3616
                    | 8114
                    | 9420
            )
            || self.class >= 17
    }

    /// 102: the parser stopped at `near`.
    pub fn syntax(near: &str) -> Self {
        Self::new(102, 15, 1, format!("Incorrect syntax near '{}'.", beginning(near)))
    }

    /// 156: the parser stopped at a keyword.
    pub fn syntax_keyword(near: &str) -> Self {
        Self::new(156, 15, 1, format!("Incorrect syntax near the keyword '{near}'."))
    }

    /// 105: a string without its closing quote.
    pub fn unclosed_quote(text: &str) -> Self {
        Self::new(105, 15, 1, format!("Unclosed quotation mark after the character string '{text}'."))
    }

    /// 113: a comment without its end.
    pub fn unclosed_comment() -> Self {
        Self::new(113, 15, 1, "Missing end comment mark '*/'.")
    }

    /// 137: an undeclared variable.
    pub fn undeclared_variable(name: &str) -> Self {
        Self::new(137, 15, 2, format!("Must declare the scalar variable \"{name}\"."))
    }

    /// 1087: an undeclared table variable.
    pub fn undeclared_table(name: &str) -> Self {
        Self::new(1087, 15, 2, format!("Must declare the table variable \"{name}\"."))
    }

    /// 134: a variable declared twice in one batch.
    pub fn variable_redeclared(name: &str) -> Self {
        Self::new(
            134,
            15,
            2,
            format!(
                "The variable name '{name}' has already been declared. Variable names must be unique within a query batch or stored procedure."
            ),
        )
    }

    /// 195: a name followed by parentheses that is no function.
    pub fn unknown_function(name: &str) -> Self {
        Self::new(195, 15, 10, format!("'{name}' is not a recognized built-in function name."))
    }

    /// 174 and 189: a function called with the wrong number of arguments.
    pub fn argument_count(name: &str, least: usize, most: usize) -> Self {
        let (number, text) = match least == most {
            true => (174, format!("The {name} function requires {least} argument(s).")),
            false => (189, format!("The {name} function requires {least} to {most} arguments.")),
        };
        Self::new(number, 15, 1, text)
    }

    /// 207: a column that no table in scope has.
    pub fn invalid_column(name: &str) -> Self {
        Self::new(207, 16, 1, format!("Invalid column name '{name}'."))
    }

    /// 321: a hint that the statement does not take.
    pub fn unknown_hint(name: &str) -> Self {
        Self::new(
            321,
            15,
            1,
            format!(
                "\"{name}\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90."
            ),
        )
    }

    /// 208: a table that does not exist.
    pub fn invalid_object(name: &str) -> Self {
        Self::new(208, 16, 1, format!("Invalid object name '{name}'."))
    }

    /// 209: a column name that several tables have.
    pub fn ambiguous_column(name: &str) -> Self {
        Self::new(209, 16, 1, format!("Ambiguous column name '{name}'."))
    }

    /// 4104: a qualified name that binds to nothing.
    pub fn unbound_identifier(name: &str) -> Self {
        Self::new(4104, 16, 1, format!("The multi-part identifier \"{name}\" could not be bound."))
    }

    /// 213: an INSERT whose values do not match the table.
    pub fn column_count_mismatch() -> Self {
        Self::new(213, 16, 1, "Column name or number of supplied values does not match table definition.")
    }

    /// 245: a text that is no number, met while converting.
    pub fn conversion_failed(from: &str, value: &str, to: &str) -> Self {
        Self::new(
            245,
            16,
            1,
            format!("Conversion failed when converting the {from} value '{value}' to data type {to}."),
        )
    }

    /// 264: a column that is assigned twice.
    pub fn column_named_twice(name: &str) -> Self {
        Self::new(
            264,
            16,
            1,
            format!(
                "The column name '{name}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code."
            ),
        )
    }

    /// 271: a computed column that is assigned.
    pub fn computed_column(name: &str) -> Self {
        Self::new(
            271,
            16,
            1,
            format!(
                "The column \"{name}\" cannot be modified because it is either a computed column or is the result of a UNION operator."
            ),
        )
    }

    /// 241: a text that is no date or time.
    pub fn date_conversion_failed() -> Self {
        Self::new(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
    }

    /// 8114: a conversion error between two types, without the value.
    pub fn converting(from: &str, to: &str) -> Self {
        Self::new(8114, 16, 5, format!("Error converting data type {from} to {to}."))
    }

    /// 8115: a value too large for its target.
    pub fn overflow(from: &str, to: &str) -> Self {
        let from = if from.is_empty() { String::from("expression") } else { from.to_string() };
        Self::new(8115, 16, 2, format!("Arithmetic overflow error converting {from} to data type {to}."))
    }

    /// 220: a small integer out of range.
    pub fn small_overflow(to: &str, value: &str) -> Self {
        Self::new(220, 16, 1, format!("Arithmetic overflow error for data type {to}, value = {value}."))
    }

    /// 529: a pair of types with no conversion.
    pub fn no_conversion(from: &str, to: &str) -> Self {
        Self::new(529, 16, 2, format!("Explicit conversion from data type {from} to {to} is not allowed."))
    }

    /// 206: operands of types that have no common type.
    pub fn type_clash(left: &str, right: &str) -> Self {
        Self::new(206, 16, 2, format!("Operand type clash: {left} is incompatible with {right}"))
    }

    /// 8134: division by zero.
    pub fn divide_by_zero() -> Self {
        Self::new(8134, 16, 1, "Divide by zero error encountered.")
    }

    /// 512: a scalar subquery of several rows.
    pub fn subquery_rows() -> Self {
        Self::new(
            512,
            16,
            1,
            "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.",
        )
    }

    /// 515: NULL for a NOT NULL column.
    pub fn null_not_allowed(column: &str, table: &str, statement: &str) -> Self {
        Self::new(
            515,
            16,
            2,
            format!(
                "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {statement} fails."
            ),
        )
    }

    /// 544: an explicit value for an identity column.
    pub fn identity_insert_off(table: &str) -> Self {
        Self::new(
            544,
            16,
            1,
            format!(
                "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF."
            ),
        )
    }

    /// 545: no value for an identity column under IDENTITY_INSERT.
    pub fn identity_value_missing(table: &str) -> Self {
        Self::new(
            545,
            16,
            1,
            format!(
                "Explicit value must be specified for identity column in table '{table}' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column."
            ),
        )
    }

    /// 547: a CHECK or FOREIGN KEY constraint is broken.
    pub fn constraint_conflict(
        statement: &str,
        kind: &str,
        name: &str,
        database: &str,
        table: &str,
        column: Option<&str>,
    ) -> Self {
        let column = column.map(|column| format!(", column '{column}'")).unwrap_or_default();
        Self::new(
            547,
            16,
            0,
            format!(
                "The {statement} statement conflicted with the {kind} constraint \"{name}\". The conflict occurred in database \"{database}\", table \"{table}\"{column}."
            ),
        )
    }

    /// 2627 (constraint) or 2601 (index): a duplicate key.
    pub fn duplicate_key(kind: KeyKind, name: &str, table: &str, value: &str) -> Self {
        match kind {
            KeyKind::UniqueIndex => Self::new(
                2601,
                14,
                1,
                format!(
                    "Cannot insert duplicate key row in object '{table}' with unique index '{name}'. The duplicate key value is ({value})."
                ),
            ),
            KeyKind::PrimaryKey | KeyKind::UniqueConstraint => {
                let what = if kind == KeyKind::PrimaryKey { "PRIMARY KEY" } else { "UNIQUE KEY" };
                Self::new(
                    2627,
                    14,
                    1,
                    format!(
                        "Violation of {what} constraint '{name}'. Cannot insert duplicate key in object '{table}'. The duplicate key value is ({value})."
                    ),
                )
            }
        }
    }

    /// 2628: a text or binary value longer than its column.
    pub fn truncated(table: &str, column: &str, value: &str) -> Self {
        Self::new(
            2628,
            16,
            1,
            format!(
                "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'."
            ),
        )
    }

    /// 2714: CREATE of a name that is taken.
    pub fn object_exists(name: &str) -> Self {
        Self::new(2714, 16, 6, format!("There is already an object named '{name}' in the database."))
    }

    /// 3701: DROP of something that is not there.
    pub fn cannot_drop(kind: &str, name: &str) -> Self {
        Self::new(
            3701,
            11,
            5,
            format!(
                "Cannot drop the {kind} '{name}', because it does not exist or you do not have permission."
            ),
        )
    }

    /// 4902: ALTER TABLE of a table that is not there.
    pub fn cannot_find_object(name: &str) -> Self {
        Self::new(
            4902,
            16,
            1,
            format!(
                "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
            ),
        )
    }

    /// 4701: TRUNCATE TABLE of a table that is not there.
    pub fn cannot_truncate(name: &str) -> Self {
        Self::new(
            4701,
            16,
            1,
            format!(
                "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
            ),
        )
    }

    /// 911: USE of an unknown database.
    pub fn unknown_database(name: &str) -> Self {
        Self::new(
            911,
            16,
            1,
            format!("Database '{name}' does not exist. Make sure that the name is entered correctly."),
        )
    }

    /// 2812: EXEC of an unknown procedure.
    pub fn unknown_procedure(name: &str) -> Self {
        Self::new(2812, 16, 62, format!("Could not find stored procedure '{name}'."))
    }

    /// 201: a call without an argument that it needs.
    pub fn parameter_missing(procedure: &str, parameter: &str) -> Self {
        Self::new(
            201,
            16,
            4,
            format!(
                "Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied."
            ),
        )
    }

    /// 8144: a call with more arguments than parameters.
    pub fn too_many_arguments(procedure: &str) -> Self {
        Self::new(8144, 16, 2, format!("Procedure or function {procedure} has too many arguments specified."))
    }

    /// 8145: a named argument that is no parameter.
    pub fn not_a_parameter(parameter: &str, procedure: &str) -> Self {
        Self::new(8145, 16, 1, format!("{parameter} is not a parameter for procedure {procedure}."))
    }

    /// 2715: a type name that is none.
    pub fn unknown_type(position: usize, name: &str) -> Self {
        Self::new(
            2715,
            16,
            6,
            format!("Column, parameter, or variable #{position}: Cannot find data type {name}."),
        )
    }

    /// 8120: a select-list column that is neither grouped nor aggregated.
    pub fn not_grouped(column: &str) -> Self {
        Self::new(
            8120,
            16,
            1,
            format!(
                "Column '{column}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."
            ),
        )
    }

    /// 3902: COMMIT without BEGIN.
    pub fn commit_without_begin() -> Self {
        Self::new(3902, 16, 1, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.")
    }

    /// 3903: ROLLBACK without BEGIN.
    pub fn rollback_without_begin() -> Self {
        Self::new(3903, 16, 1, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.")
    }

    /// The same error, after which the connection is closed (severity 20).
    pub fn fatal(self) -> Self {
        Self { class: 20, ..self }
    }

    /// 3617: the client took the request back. It is never sent: the acknowledgement of the attention tells the client.
    pub fn cancelled() -> Self {
        Self::new(CANCELLED, 11, 1, "The query was cancelled.")
    }

    /// Whether this is [`cancelled`](Self::cancelled).
    pub fn is_cancelled(&self) -> bool {
        self.number == CANCELLED
    }

    /// 701: the server's memory is in use.
    pub fn out_of_memory() -> Self {
        Self::new(
            701,
            17,
            123,
            "There is insufficient system memory in resource pool 'default' to run this query.",
        )
    }

    /// 7119: a value would become longer than any may be.
    pub fn value_too_long() -> Self {
        Self::new(7119, 16, 1, "Attempting to grow LOB beyond maximum allowed size of 2,147,483,647 bytes.")
    }

    /// 4002: what the client sends cannot be read.
    pub fn malformed_stream(error: &impl fmt::Display) -> Self {
        let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {error}.");
        Self::new(4002, 20, 1, text)
    }

    /// 922: the server has just been started.
    pub fn being_recovered(database: &str) -> Self {
        let name = if database.is_empty() { "master" } else { database };
        let text = format!("Database '{name}' is being recovered. Waiting until recovery is finished.");
        Self::new(922, 14, 1, text)
    }

    /// 596: another session has ended this one with KILL.
    pub fn killed() -> Self {
        Self::new(596, 21, 1, "Cannot continue the execution because the session is in the kill state.")
    }

    /// 3604: rows were left out whose keys were there already. A notice.
    pub fn duplicates_ignored() -> Self {
        Self::new(3604, 0, 1, "Duplicate key was ignored.")
    }

    /// 1222: a lock was not granted in time.
    pub fn lock_timeout() -> Self {
        Self::new(1222, 16, 51, "Lock request time out period exceeded.")
    }

    /// Rows that a statement is about to change were changed since it has read them: it is to read them again. No client sees it.
    pub fn rows_changed() -> Self {
        Self::new(ROWS_CHANGED, 16, 2, "Rows were changed by another transaction since they were read.")
    }

    /// Whether it is that.
    pub fn is_rows_changed(&self) -> bool {
        self.number == ROWS_CHANGED
    }

    /// 1205: this session was chosen as the deadlock victim.
    pub fn deadlock(spid: u16) -> Self {
        Self::new(
            1205,
            13,
            51,
            format!(
                "Transaction (Process ID {spid}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction."
            ),
        )
    }

    /// 3960: a transaction under SNAPSHOT changes what another one has changed since. `table`: as the store knows it.
    pub fn update_conflict(table: &str) -> Self {
        let (database, table) = table.split_once('.').unwrap_or(("", table));
        Self::new(
            3960,
            16,
            2,
            format!(
                "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement."
            ),
        )
    }

    /// 3961: a transaction under SNAPSHOT reads a table that is defined otherwise since it began.
    pub fn definition_changed(table: &str) -> Self {
        let database = table.split_once('.').map_or("", |(database, _)| database);
        Self::new(
            3961,
            16,
            1,
            format!(
                "Snapshot isolation transaction failed in database '{database}' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation."
            ),
        )
    }

    /// 3952: the database does not allow SNAPSHOT.
    pub fn snapshot_not_allowed(database: &str) -> Self {
        Self::new(
            3952,
            16,
            1,
            format!(
                "Snapshot isolation transaction failed accessing database '{database}' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation."
            ),
        )
    }

    /// 3951: the transaction began under another level.
    pub fn not_begun_as_snapshot(database: &str) -> Self {
        Self::new(
            3951,
            16,
            1,
            format!(
                "Transaction failed in database '{database}' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level."
            ),
        )
    }

    /// 3964: a definition is to be changed within a transaction under SNAPSHOT.
    pub fn definition_under_snapshot(database: &str) -> Self {
        Self::new(
            3964,
            16,
            1,
            format!(
                "Transaction failed in database '{database}' because this DDL statement is not allowed inside a snapshot isolation transaction. Since metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation."
            ),
        )
    }

    /// Whether the error ends the transaction: that of a deadlock's victim, or of what SNAPSHOT does not allow.
    pub fn ends_transaction(&self) -> bool {
        matches!(self.number, 1205 | 3951 | 3952 | 3960 | 3961 | 3964)
    }

    /// 40515: T-SQL that this server does not have (the number that Azure SQL uses for the same case).
    pub fn unsupported(what: &str) -> Self {
        Self::new(40515, 16, 1, format!("{what} is not supported by this server."))
    }

    /// 596: something inside the server failed (storage, execution engine); the text says what.
    #[track_caller]
    pub fn internal(what: impl fmt::Display) -> Self {
        let error = Self::new(596, 16, 1, format!("The server could not finish the statement: {what}"));
        Self { origin: Some(Location::caller()), ..error }
    }
}

/// Which kind of key a duplicate was found in; decides between 2627 and 2601.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY constraint.
    PrimaryKey,
    /// UNIQUE constraint.
    UniqueConstraint,
    /// CREATE UNIQUE INDEX.
    UniqueIndex,
}

/// As much of a text as a message shows.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(128).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
