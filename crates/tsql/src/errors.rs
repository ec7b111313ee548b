//! A table of the messages that several places raise, as in `sys.messages`.

use crate::sql_error::SqlError;

/// A message with places for `N` words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<const N: usize> {
    /// `sys.messages.message_id`.
    pub number: i32,
    /// Severity.
    pub class: u8,
    /// State.
    pub state: u8,
    /// The text: `{}` is a place for a word, `{:.128}` for its first 128 characters.
    pub text: &'static str,
}

/// A place for a word of any length, and one for the beginning of a word.
const PLACE: &str = "{}";
const SHORT_PLACE: &str = "{:.128}";
const SHORT_MAX: usize = 128;

impl<const N: usize> Message<N> {
    /// Makes the error with its words, in the order of their places.
    pub fn with(&self, words: [&str; N]) -> SqlError {
        let mut text =
            String::with_capacity(self.text.len() + words.iter().map(|word| word.len()).sum::<usize>());
        let mut words = words.into_iter();
        let mut rest = self.text;
        while let Some((before, place)) = rest.split_once('{') {
            text.push_str(before);
            let word = words.next().unwrap_or_default();
            let short = place.starts_with(":.");
            text.push_str(if short { beginning(word) } else { word });
            let place = if short { SHORT_PLACE } else { PLACE };
            rest = rest.get(before.len() + place.len()..).unwrap_or_default();
        }
        text.push_str(rest);
        SqlError::new(self.number, self.class, self.state, text)
    }
}

impl Message<0> {
    /// Makes the error.
    pub fn error(&self) -> SqlError {
        SqlError::new(self.number, self.class, self.state, self.text)
    }
}

/// Cuts a word to the length that a short place shows.
fn beginning(word: &str) -> &str {
    word.char_indices().nth(SHORT_MAX).and_then(|(end, _)| word.get(..end)).unwrap_or(word)
}

/// A row of the table: name, number, class, state, text and how many words it has.
pub type Row = (&'static str, i32, u8, u8, &'static str, usize);

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident [$words:literal]: $number:expr, $class:literal, $state:literal, $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Message<$words> =
            Message { number: $number, class: $class, state: $state, text: $text };)*

        /// All of them.
        pub const ALL: &[Row] = &[$((stringify!($name), $number, $class, $state, $text, $words)),*];
    };
}

messages! {
    /// The parser stopped at `near`.
    SYNTAX [1]: 102, 15, 1, "Incorrect syntax near '{:.128}'.";
    /// A name longer than 128 characters.
    IDENTIFIER_TOO_LONG [1]: 103, 15, 4, "The identifier that starts with '{:.128}' is too long. Maximum length is 128.";
    /// A string without its closing quote.
    UNCLOSED_QUOTE [1]: 105, 15, 1, "Unclosed quotation mark after the character string '{}'.";
    /// A comment without its end.
    UNCLOSED_COMMENT [0]: 113, 15, 1, "Missing end comment mark '*/'.";
    /// A type with more bytes than any may have.
    TYPE_SIZE [2]: 131, 15, 2, "The size ({}) given to the type '{}' exceeds the maximum allowed for any data type (8000).";
    /// A label declared twice in one batch.
    LABEL_REDECLARED [1]: 132, 15, 1, "The label '{}' has already been declared. Label names must be unique within a query batch or stored procedure.";
    /// GOTO to a label that the batch does not have.
    UNKNOWN_LABEL [1]: 133, 15, 1, "A GOTO statement references the label '{}' but the label has not been declared.";
    /// A variable declared twice in one batch.
    VARIABLE_REDECLARED [1]: 134, 15, 2, "The variable name '{}' has already been declared. Variable names must be unique within a query batch or stored procedure.";
    /// An undeclared variable.
    UNDECLARED_VARIABLE [1]: 137, 15, 2, "Must declare the scalar variable \"{}\".";
    /// The parser stopped at a keyword.
    SYNTAX_KEYWORD [1]: 156, 15, 1, "Incorrect syntax near the keyword '{}'.";
    /// A floating point literal that a float cannot hold.
    FLOAT_OUT_OF_RANGE [1]: 168, 15, 1, "The floating point value '{:.128}' is out of the range of computer representation (8 bytes).";
    /// A function called with the wrong number of arguments.
    ARGUMENT_COUNT [2]: 174, 15, 1, "The {} function requires {} argument(s).";
    /// A function called with fewer or more arguments than it takes.
    ARGUMENT_RANGE [3]: 189, 15, 1, "The {} function requires {} to {} arguments.";
    /// The parser stopped at a depth that no text may have.
    TOO_DEEP [0]: 191, 15, 1, "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.";
    /// A Unicode type with more characters than it may have.
    UNICODE_TYPE_SIZE [2]: 2717, 15, 2, "The size ({}) given to the type '{}' exceeds the maximum allowed (4000).";
    /// A name followed by parentheses that is no function.
    UNKNOWN_FUNCTION [1]: 195, 15, 10, "'{}' is not a recognized built-in function name.";
    /// A call without an argument that it needs.
    PARAMETER_MISSING [2]: 201, 16, 4, "Procedure or function '{}' expects parameter '{}', which was not supplied.";
    /// Operands of types that have no common type.
    TYPE_CLASH [2]: 206, 16, 2, "Operand type clash: {} is incompatible with {}";
    /// A column that no table in scope has.
    INVALID_COLUMN [1]: 207, 16, 1, "Invalid column name '{}'.";
    /// A backup or a restore that failed; the error before says why.
    ABNORMAL_END [1]: 3013, 16, 1, "{} is terminating abnormally.";
    /// BACKUP or RESTORE within a transaction.
    BACKUP_IN_TRANSACTION [0]: 3021, 16, 0, "Cannot perform a backup or restore operation within a transaction.";
    /// RESTORE of the database that the session is in.
    RESTORE_OF_OWN [1]: 3102, 16, 1, "RESTORE cannot process database '{}' because it is in use by this session. It is recommended that the master database be used when performing this operation.";
    /// A backup that follows another one, which was not restored WITH NORECOVERY.
    NOTHING_TO_ROLL [0]: 3117, 16, 1, "The log or differential backup cannot be restored because no files are ready to rollforward.";
    /// A backup that follows another one, of a database that is not there.
    RESTORE_OF_NOTHING [1]: 3118, 16, 1, "The database \"{}\" does not exist. RESTORE can only create a database when restoring either a full backup or a file backup of the primary file.";
    /// Stripes of a backup that are not all named.
    STRIPES_MISSING [2]: 3132, 16, 1, "The media set has {} media families but only {} are provided. All members must be provided.";
    /// A backup of another kind than the statement restores.
    WRONG_BACKUP_KIND [2]: 3135, 16, 1, "The backup set in file '{}' was created by {} and cannot be used for this restore operation.";
    /// A differential backup of another full one.
    WRONG_BASE [0]: 3136, 16, 1, "This differential backup cannot be restored because the database has not been restored to the correct earlier state.";
    /// BACKUP or RESTORE of tempdb.
    BACKUP_OF_TEMPDB [0]: 3147, 16, 3, "Backup and restore operations are not allowed on database tempdb.";
    /// RESTORE … WITH RECOVERY of a database that is whole.
    ALREADY_RECOVERED [0]: 3153, 16, 1, "The database is already fully recovered.";
    /// RESTORE over another database without REPLACE.
    OTHER_DATABASE [1]: 3154, 16, 4, "The backup set holds a backup of a database other than the existing '{}' database.";
    /// RESTORE over a database whose log is kept, without REPLACE.
    TAIL_OF_LOG [1]: 3159, 16, 1, "The tail of the log for the database \"{}\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log.";
    /// RESTORE WITH CHECKSUM of a backup without.
    NO_CHECKSUMS [0]: 3187, 16, 1, "RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum information.";
    /// A file of a backup that cannot be opened.
    BACKUP_DEVICE [2]: 3201, 16, 1, "Cannot open backup device '{}'. Operating system error {}";
    /// A backup that cannot be read, with the place and the reason.
    BACKUP_READ [2]: 3203, 16, 1, "Read on \"{}\" failed: {}";
    /// MOVE of a file that the backup has not.
    NO_LOGICAL_FILE [2]: 3234, 16, 2, "Logical file '{}' is not part of database '{}'. Use RESTORE FILELISTONLY to list the logical file names.";
    /// A file that is no backup.
    NOT_A_BACKUP [1]: 3241, 16, 0, "The media family on device '{}' is incorrectly formed. SQL Server cannot process this media family.";
    /// A file that BACKUP must not overwrite without FORMAT.
    NOT_BACKUP_MEDIA [1]: 3242, 16, 2, "The file on device '{}' is not a valid Microsoft Tape Format backup set.";
    /// A backup set that has not expired yet.
    MEDIA_NOT_EXPIRED [2]: 4030, 16, 1, "The medium on device '{}' expires on {} and cannot be overwritten.";
    /// FILE of a set that is not there.
    NO_BACKUP_SET [2]: 4038, 16, 1, "Cannot find file ID {} on device '{}'.";
    /// A load of rows whose table was altered since it was announced.
    BULK_SCHEMA_CHANGED [0]: 4891, 16, 1, "Insert bulk failed due to a schema change of the target table.";
    /// A SELECT list of more columns than any may have.
    SELECT_LIST_TOO_LONG [1]: 1056, 15, 1, "The number of elements in the select list exceeds the maximum allowed number of {} elements.";
    /// A table that does not exist.
    INVALID_OBJECT [1]: 208, 16, 1, "Invalid object name '{}'.";
    /// A column name that several tables have.
    AMBIGUOUS_COLUMN [1]: 209, 16, 1, "Ambiguous column name '{}'.";
    /// An INSERT whose values do not match the table.
    COLUMN_COUNT_MISMATCH [0]: 213, 16, 1, "Column name or number of supplied values does not match table definition.";
    /// Procedures or functions in each other.
    NESTED_TOO_DEEPLY [0]: 217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).";
    /// A small integer out of range.
    SMALL_OVERFLOW [2]: 220, 16, 1, "Arithmetic overflow error for data type {}, value = {}.";
    /// A text that is no date or time.
    DATE_CONVERSION_FAILED [0]: 241, 16, 1, "Conversion failed when converting date and/or time from character string.";
    /// A text that is no number, met while converting.
    CONVERSION_FAILED [3]: 245, 16, 1, "Conversion failed when converting the {} value '{}' to data type {}.";
    /// A column that is assigned twice.
    COLUMN_NAMED_TWICE [1]: 264, 16, 1, "The column name '{}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.";
    /// A computed column that is assigned.
    COMPUTED_COLUMN [1]: 271, 16, 1, "The column \"{}\" cannot be modified because it is either a computed column or is the result of a UNION operator.";
    /// A hint that the statement does not take.
    UNKNOWN_HINT [1]: 321, 15, 1, "\"{}\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.";
    /// A scalar subquery of several rows.
    SUBQUERY_ROWS [0]: 512, 16, 1, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.";
    /// NULL for a NOT NULL column.
    NULL_NOT_ALLOWED [3]: 515, 16, 2, "Cannot insert the value NULL into column '{}', table '{}'; column does not allow nulls. {} fails.";
    /// A pair of types with no conversion.
    NO_CONVERSION [2]: 529, 16, 2, "Explicit conversion from data type {} to {} is not allowed.";
    /// An explicit value for an identity column.
    IDENTITY_INSERT_OFF [1]: 544, 16, 1, "Cannot insert explicit value for identity column in table '{}' when IDENTITY_INSERT is set to OFF.";
    /// No value for an identity column under IDENTITY_INSERT.
    IDENTITY_VALUE_MISSING [1]: 545, 16, 1, "Explicit value must be specified for identity column in table '{}' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.";
    /// A CHECK or FOREIGN KEY constraint is broken; the last word is empty or names the column.
    CONSTRAINT_CONFLICT [6]: 547, 16, 0, "The {} statement conflicted with the {} constraint \"{}\". The conflict occurred in database \"{}\", table \"{}\"{}.";
    /// Another session has ended this one with KILL.
    KILLED [0]: 596, 21, 1, "Cannot continue the execution because the session is in the kill state.";
    /// Something inside the server failed (storage, execution engine); the text says what.
    INTERNAL [1]: 596, 16, 1, "The server could not finish the statement: {}";
    /// The server's memory is in use.
    OUT_OF_MEMORY [0]: 701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.";
    /// USE of an unknown database.
    UNKNOWN_DATABASE [1]: 911, 16, 1, "Database '{}' does not exist. Make sure that the name is entered correctly.";
    /// The server has just been started.
    BEING_RECOVERED [1]: 922, 14, 1, "Database '{}' is being recovered. Waiting until recovery is finished.";
    /// GOTO into a TRY or CATCH block.
    GOTO_INTO_TRY [0]: 1026, 15, 1, "GOTO cannot be used to jump into a TRY or CATCH scope.";
    /// A number of more than 38 digits.
    NUMBER_OUT_OF_RANGE [1]: 1007, 15, 1, "The number '{:.128}' is out of the range for numeric representation (maximum precision 38).";
    /// A call that has begun or ended transactions of its caller's.
    UNBALANCED [2]: 266, 16, 2, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = {}, current count = {}.";
    /// An undeclared table variable.
    UNDECLARED_TABLE [1]: 1087, 15, 2, "Must declare the table variable \"{}\".";
    /// The session was chosen as the deadlock victim.
    DEADLOCK [1]: 1205, 13, 51, "Transaction (Process ID {}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.";
    /// A lock was not granted in time.
    LOCK_TIMEOUT [0]: 1222, 16, 51, "Lock request time out period exceeded.";
    /// A duplicate key in a unique index.
    DUPLICATE_IN_INDEX [3]: 2601, 14, 1, "Cannot insert duplicate key row in object '{}' with unique index '{}'. The duplicate key value is ({}).";
    /// A duplicate key of a constraint.
    DUPLICATE_KEY [4]: 2627, 14, 1, "Violation of {} constraint '{}'. Cannot insert duplicate key in object '{}'. The duplicate key value is ({}).";
    /// A text or binary value longer than its column.
    TRUNCATED [3]: 2628, 16, 1, "String or binary data would be truncated in table '{}', column '{}'. Truncated value: '{}'.";
    /// CREATE of a name that is taken.
    OBJECT_EXISTS [1]: 2714, 16, 6, "There is already an object named '{}' in the database.";
    /// A type name that is none.
    UNKNOWN_TYPE [2]: 2715, 16, 6, "Column, parameter, or variable #{}: Cannot find data type {}.";
    /// EXEC of an unknown procedure.
    UNKNOWN_PROCEDURE [1]: 2812, 16, 62, "Could not find stored procedure '{}'.";
    /// Rows were left out whose keys were there already. A notice.
    DUPLICATES_IGNORED [0]: 3604, 0, 1, "Duplicate key was ignored.";
    /// The client took the request back. It is never sent: the acknowledgement of the attention tells the client.
    CANCELLED [0]: 3617, 11, 1, "The query was cancelled.";
    /// DROP of something that is not there.
    CANNOT_DROP [2]: 3701, 11, 5, "Cannot drop the {} '{}', because it does not exist or you do not have permission.";
    /// COMMIT without BEGIN.
    COMMIT_WITHOUT_BEGIN [0]: 3902, 16, 1, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// ROLLBACK without BEGIN.
    ROLLBACK_WITHOUT_BEGIN [0]: 3903, 16, 1, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// The transaction began under another level.
    NOT_BEGUN_AS_SNAPSHOT [1]: 3951, 16, 1, "Transaction failed in database '{}' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level.";
    /// The database does not allow SNAPSHOT.
    SNAPSHOT_NOT_ALLOWED [1]: 3952, 16, 1, "Snapshot isolation transaction failed accessing database '{}' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.";
    /// Rows that a statement is about to change were changed since it has read them: it is to read them again. No client sees it.
    ROWS_CHANGED [0]: -3960, 16, 2, "Rows were changed by another transaction since they were read.";
    /// A transaction under SNAPSHOT changes what another one has changed since.
    UPDATE_CONFLICT [2]: 3960, 16, 2, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{}' directly or indirectly in database '{}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.";
    /// A transaction under SNAPSHOT reads a table that is defined otherwise since it began.
    DEFINITION_CHANGED [1]: 3961, 16, 1, "Snapshot isolation transaction failed in database '{}' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.";
    /// A definition is to be changed within a transaction under SNAPSHOT.
    DEFINITION_UNDER_SNAPSHOT [1]: 3964, 16, 1, "Transaction failed in database '{}' because this DDL statement is not allowed inside a snapshot isolation transaction. Since metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation.";
    /// The bytes from the client cannot be read.
    MALFORMED_STREAM [1]: 4002, 20, 1, "The incoming tabular data stream (TDS) protocol stream is incorrect: {}.";
    /// The outer joins of before the SQL standard.
    OLD_OUTER_JOIN [0]: 4147, 15, 1, "The query uses non-ANSI outer join operators (\"*=\" or \"=*\"). To run this query without modification, please set the compatibility level for current database to 80, using the SET COMPATIBILITY_LEVEL option of ALTER DATABASE. It is strongly recommended to rewrite the query using ANSI outer join operators (LEFT OUTER JOIN, RIGHT OUTER JOIN). In the future versions of SQL Server, non-ANSI join operators will not be supported even in backward-compatibility modes.";
    /// A qualified name that binds to nothing.
    UNBOUND_IDENTIFIER [1]: 4104, 16, 1, "The multi-part identifier \"{}\" could not be bound.";
    /// TRUNCATE TABLE of a table that is not there.
    CANNOT_TRUNCATE [1]: 4701, 16, 1, "Cannot find the object \"{}\" because it does not exist or you do not have permissions.";
    /// ALTER TABLE of a table that is not there.
    CANNOT_FIND_OBJECT [1]: 4902, 16, 1, "Cannot find the object \"{}\" because it does not exist or you do not have permissions.";
    /// A value would become longer than any may be.
    VALUE_TOO_LONG [0]: 7119, 16, 1, "Attempting to grow LOB beyond maximum allowed size of 2,147,483,647 bytes.";
    /// A conversion error between two types, without the value.
    CONVERTING [2]: 8114, 16, 5, "Error converting data type {} to {}.";
    /// A value too large for its target.
    ARITHMETIC_OVERFLOW [2]: 8115, 16, 2, "Arithmetic overflow error converting {} to data type {}.";
    /// A select-list column that is neither grouped nor aggregated.
    NOT_GROUPED [1]: 8120, 16, 1, "Column '{}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// Division by zero.
    DIVIDE_BY_ZERO [0]: 8134, 16, 1, "Divide by zero error encountered.";
    /// A call with more arguments than parameters.
    TOO_MANY_ARGUMENTS [1]: 8144, 16, 2, "Procedure or function {} has too many arguments specified.";
    /// A named argument that is no parameter.
    NOT_A_PARAMETER [2]: 8145, 16, 1, "{} is not a parameter for procedure {}.";
    /// A query that is too large or too deep to be planned.
    TOO_COMPLEX [0]: 8623, 16, 1, "The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please simplify the query.";
    /// More rows than INSERT … VALUES takes.
    TOO_MANY_ROWS [0]: 10738, 15, 1, "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of 1000 row values.";
    /// Text that is no vector.
    NOT_A_VECTOR [1]: 13670, 16, 1, "Input JSON is not a valid Vector : '{}'.";
    /// T-SQL that this server does not have: the number that Azure SQL uses for the same case.
    UNSUPPORTED [1]: 40515, 16, 1, "{} is not supported by this server.";
    /// A metric of VECTOR_DISTANCE that is none.
    VECTOR_METRIC [1]: 42201, 16, 1, "The requested distance metric '{}' is not supported by vector_distance. Provide a valid distance metric.";
    /// A vector type of no or too many dimensions.
    VECTOR_RANGE [2]: 42203, 16, 1, "The provided dimension for the vector ({}) is not within the allowed range [1-{}].";
    /// Vectors of different dimensions.
    VECTOR_DIMENSIONS [2]: 42204, 16, 1, "The vector dimensions {} and {} do not match.";
    /// Bytes that are no vector.
    VECTOR_INVALID [1]: 42206, 16, 1, "The vector is invalid. Error details: '{}'.";
    /// A norm that is none.
    VECTOR_NORM [1]: 42210, 16, 1, "The requested norm function '{}' is not supported by vector_norm/vector_normalize. Provide a valid norm function.";
    /// A vector for which a text is too short.
    VECTOR_TRUNCATED [0]: 42211, 16, 1, "Truncation of vector is not allowed during the conversion. Ensure the vector size is appropriate before conversion.";
    /// CREATE TYPE from vector.
    VECTOR_ALIAS [0]: 42212, 16, 1, "Cannot create alias types from a vector datatype.";
    /// Vectors have no order and are not equal.
    VECTOR_COMPARED [0]: 42213, 16, 1, "The vector data types cannot be compared or sorted, except when using the IS NULL operator.";
    /// A native file for a table with vectors.
    VECTOR_BULK [0]: 42225, 16, 1, "VECTOR column(s) cannot be natively imported through BULK INSERT or OPENROWSET(BULK) statement.";
    /// A vector of another base type.
    VECTOR_BASE [2]: 42238, 16, 1, "Conversion of vector from data type {} to {} is not allowed.";
    /// A number that the base type cannot hold.
    VECTOR_VALUES [1]: 42241, 16, 1, "Input JSON contains out-of-range values for {}.";
    /// The distance of vectors of two base types.
    VECTOR_BASES [0]: 42243, 16, 1, "VECTOR_DISTANCE function does not support different base types for vector arguments.";
}
