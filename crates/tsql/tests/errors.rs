//! What errors know of themselves.

#![allow(clippy::unwrap_used)]

use bulkwire_tsql::{SqlError, errors};

#[test]
fn an_internal_error_knows_where_it_was_raised() {
    let raised: Result<(), SqlError> = Err("broken").map_err(|error| SqlError::internal(error));
    for error in [raised.unwrap_err(), SqlError::internal("broken").at_line(3)] {
        assert!(error.origin.unwrap().file().ends_with("errors.rs"), "{error:?}");
        assert_eq!(
            error.to_string(),
            "Msg 596, Level 16, State 1: The server could not finish the statement: broken"
        );
    }
    assert_eq!(SqlError::new(208, 16, 1, "Invalid object name 't'.").origin, None);
}

/// Every message as a client sees it, its words called w1, w2 and so on.
const SHOWN: &[(&str, &str)] = &[
    ("SYNTAX", "Msg 102, Level 15, State 1: Incorrect syntax near 'w1'."),
    (
        "IDENTIFIER_TOO_LONG",
        "Msg 103, Level 15, State 4: The identifier that starts with 'w1' is too long. Maximum length is 128.",
    ),
    (
        "UNCLOSED_QUOTE",
        "Msg 105, Level 15, State 1: Unclosed quotation mark after the character string 'w1'.",
    ),
    ("UNCLOSED_COMMENT", "Msg 113, Level 15, State 1: Missing end comment mark '*/'."),
    (
        "TYPE_SIZE",
        "Msg 131, Level 15, State 2: The size (w1) given to the type 'w2' exceeds the maximum allowed for any data type (8000).",
    ),
    (
        "LABEL_REDECLARED",
        "Msg 132, Level 15, State 1: The label 'w1' has already been declared. Label names must be unique within a query batch or stored procedure.",
    ),
    (
        "UNKNOWN_LABEL",
        "Msg 133, Level 15, State 1: A GOTO statement references the label 'w1' but the label has not been declared.",
    ),
    (
        "VARIABLE_REDECLARED",
        "Msg 134, Level 15, State 2: The variable name 'w1' has already been declared. Variable names must be unique within a query batch or stored procedure.",
    ),
    ("UNDECLARED_VARIABLE", "Msg 137, Level 15, State 2: Must declare the scalar variable \"w1\"."),
    ("SYNTAX_KEYWORD", "Msg 156, Level 15, State 1: Incorrect syntax near the keyword 'w1'."),
    (
        "FLOAT_OUT_OF_RANGE",
        "Msg 168, Level 15, State 1: The floating point value 'w1' is out of the range of computer representation (8 bytes).",
    ),
    ("ARGUMENT_COUNT", "Msg 174, Level 15, State 1: The w1 function requires w2 argument(s)."),
    ("ARGUMENT_RANGE", "Msg 189, Level 15, State 1: The w1 function requires w2 to w3 arguments."),
    (
        "TOO_DEEP",
        "Msg 191, Level 15, State 1: Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
    ),
    (
        "UNICODE_TYPE_SIZE",
        "Msg 2717, Level 15, State 2: The size (w1) given to the type 'w2' exceeds the maximum allowed (4000).",
    ),
    ("UNKNOWN_FUNCTION", "Msg 195, Level 15, State 10: 'w1' is not a recognized built-in function name."),
    (
        "PARAMETER_MISSING",
        "Msg 201, Level 16, State 4: Procedure or function 'w1' expects parameter 'w2', which was not supplied.",
    ),
    ("TYPE_CLASH", "Msg 206, Level 16, State 2: Operand type clash: w1 is incompatible with w2"),
    ("INVALID_COLUMN", "Msg 207, Level 16, State 1: Invalid column name 'w1'."),
    ("ABNORMAL_END", "Msg 3013, Level 16, State 1: w1 is terminating abnormally."),
    (
        "BACKUP_IN_TRANSACTION",
        "Msg 3021, Level 16, State 0: Cannot perform a backup or restore operation within a transaction.",
    ),
    (
        "RESTORE_OF_OWN",
        "Msg 3102, Level 16, State 1: RESTORE cannot process database 'w1' because it is in use by this session. It is recommended that the master database be used when performing this operation.",
    ),
    (
        "NOTHING_TO_ROLL",
        "Msg 3117, Level 16, State 1: The log or differential backup cannot be restored because no files are ready to rollforward.",
    ),
    (
        "RESTORE_OF_NOTHING",
        "Msg 3118, Level 16, State 1: The database \"w1\" does not exist. RESTORE can only create a database when restoring either a full backup or a file backup of the primary file.",
    ),
    (
        "STRIPES_MISSING",
        "Msg 3132, Level 16, State 1: The media set has w1 media families but only w2 are provided. All members must be provided.",
    ),
    (
        "WRONG_BACKUP_KIND",
        "Msg 3135, Level 16, State 1: The backup set in file 'w1' was created by w2 and cannot be used for this restore operation.",
    ),
    (
        "WRONG_BASE",
        "Msg 3136, Level 16, State 1: This differential backup cannot be restored because the database has not been restored to the correct earlier state.",
    ),
    (
        "BACKUP_OF_TEMPDB",
        "Msg 3147, Level 16, State 3: Backup and restore operations are not allowed on database tempdb.",
    ),
    ("ALREADY_RECOVERED", "Msg 3153, Level 16, State 1: The database is already fully recovered."),
    (
        "OTHER_DATABASE",
        "Msg 3154, Level 16, State 4: The backup set holds a backup of a database other than the existing 'w1' database.",
    ),
    (
        "TAIL_OF_LOG",
        "Msg 3159, Level 16, State 1: The tail of the log for the database \"w1\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log.",
    ),
    (
        "NO_CHECKSUMS",
        "Msg 3187, Level 16, State 1: RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum information.",
    ),
    (
        "BACKUP_DEVICE",
        "Msg 3201, Level 16, State 1: Cannot open backup device 'w1'. Operating system error w2",
    ),
    ("BACKUP_READ", "Msg 3203, Level 16, State 1: Read on \"w1\" failed: w2"),
    (
        "NO_LOGICAL_FILE",
        "Msg 3234, Level 16, State 2: Logical file 'w1' is not part of database 'w2'. Use RESTORE FILELISTONLY to list the logical file names.",
    ),
    (
        "NOT_A_BACKUP",
        "Msg 3241, Level 16, State 0: The media family on device 'w1' is incorrectly formed. SQL Server cannot process this media family.",
    ),
    (
        "NOT_BACKUP_MEDIA",
        "Msg 3242, Level 16, State 2: The file on device 'w1' is not a valid Microsoft Tape Format backup set.",
    ),
    (
        "MEDIA_NOT_EXPIRED",
        "Msg 4030, Level 16, State 1: The medium on device 'w1' expires on w2 and cannot be overwritten.",
    ),
    ("NO_BACKUP_SET", "Msg 4038, Level 16, State 1: Cannot find file ID w1 on device 'w2'."),
    (
        "BULK_SCHEMA_CHANGED",
        "Msg 4891, Level 16, State 1: Insert bulk failed due to a schema change of the target table.",
    ),
    (
        "SELECT_LIST_TOO_LONG",
        "Msg 1056, Level 15, State 1: The number of elements in the select list exceeds the maximum allowed number of w1 elements.",
    ),
    ("INVALID_OBJECT", "Msg 208, Level 16, State 1: Invalid object name 'w1'."),
    ("AMBIGUOUS_COLUMN", "Msg 209, Level 16, State 1: Ambiguous column name 'w1'."),
    (
        "COLUMN_COUNT_MISMATCH",
        "Msg 213, Level 16, State 1: Column name or number of supplied values does not match table definition.",
    ),
    (
        "NESTED_TOO_DEEPLY",
        "Msg 217, Level 16, State 1: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
    ),
    ("SMALL_OVERFLOW", "Msg 220, Level 16, State 1: Arithmetic overflow error for data type w1, value = w2."),
    (
        "DATE_CONVERSION_FAILED",
        "Msg 241, Level 16, State 1: Conversion failed when converting date and/or time from character string.",
    ),
    (
        "CONVERSION_FAILED",
        "Msg 245, Level 16, State 1: Conversion failed when converting the w1 value 'w2' to data type w3.",
    ),
    (
        "COLUMN_NAMED_TWICE",
        "Msg 264, Level 16, State 1: The column name 'w1' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.",
    ),
    (
        "COMPUTED_COLUMN",
        "Msg 271, Level 16, State 1: The column \"w1\" cannot be modified because it is either a computed column or is the result of a UNION operator.",
    ),
    (
        "UNKNOWN_HINT",
        "Msg 321, Level 15, State 1: \"w1\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.",
    ),
    (
        "SUBQUERY_ROWS",
        "Msg 512, Level 16, State 1: Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.",
    ),
    (
        "NULL_NOT_ALLOWED",
        "Msg 515, Level 16, State 2: Cannot insert the value NULL into column 'w1', table 'w2'; column does not allow nulls. w3 fails.",
    ),
    (
        "NO_CONVERSION",
        "Msg 529, Level 16, State 2: Explicit conversion from data type w1 to w2 is not allowed.",
    ),
    (
        "IDENTITY_INSERT_OFF",
        "Msg 544, Level 16, State 1: Cannot insert explicit value for identity column in table 'w1' when IDENTITY_INSERT is set to OFF.",
    ),
    (
        "IDENTITY_VALUE_MISSING",
        "Msg 545, Level 16, State 1: Explicit value must be specified for identity column in table 'w1' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.",
    ),
    (
        "CONSTRAINT_CONFLICT",
        "Msg 547, Level 16, State 0: The w1 statement conflicted with the w2 constraint \"w3\". The conflict occurred in database \"w4\", table \"w5\"w6.",
    ),
    (
        "KILLED",
        "Msg 596, Level 21, State 1: Cannot continue the execution because the session is in the kill state.",
    ),
    ("INTERNAL", "Msg 596, Level 16, State 1: The server could not finish the statement: w1"),
    (
        "OUT_OF_MEMORY",
        "Msg 701, Level 17, State 123: There is insufficient system memory in resource pool 'default' to run this query.",
    ),
    (
        "UNKNOWN_DATABASE",
        "Msg 911, Level 16, State 1: Database 'w1' does not exist. Make sure that the name is entered correctly.",
    ),
    (
        "BEING_RECOVERED",
        "Msg 922, Level 14, State 1: Database 'w1' is being recovered. Waiting until recovery is finished.",
    ),
    ("GOTO_INTO_TRY", "Msg 1026, Level 15, State 1: GOTO cannot be used to jump into a TRY or CATCH scope."),
    (
        "NUMBER_OUT_OF_RANGE",
        "Msg 1007, Level 15, State 1: The number 'w1' is out of the range for numeric representation (maximum precision 38).",
    ),
    (
        "UNBALANCED",
        "Msg 266, Level 16, State 2: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = w1, current count = w2.",
    ),
    ("UNDECLARED_TABLE", "Msg 1087, Level 15, State 2: Must declare the table variable \"w1\"."),
    (
        "DEADLOCK",
        "Msg 1205, Level 13, State 51: Transaction (Process ID w1) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.",
    ),
    ("LOCK_TIMEOUT", "Msg 1222, Level 16, State 51: Lock request time out period exceeded."),
    (
        "DUPLICATE_IN_INDEX",
        "Msg 2601, Level 14, State 1: Cannot insert duplicate key row in object 'w1' with unique index 'w2'. The duplicate key value is (w3).",
    ),
    (
        "DUPLICATE_KEY",
        "Msg 2627, Level 14, State 1: Violation of w1 constraint 'w2'. Cannot insert duplicate key in object 'w3'. The duplicate key value is (w4).",
    ),
    (
        "TRUNCATED",
        "Msg 2628, Level 16, State 1: String or binary data would be truncated in table 'w1', column 'w2'. Truncated value: 'w3'.",
    ),
    ("OBJECT_EXISTS", "Msg 2714, Level 16, State 6: There is already an object named 'w1' in the database."),
    (
        "UNKNOWN_TYPE",
        "Msg 2715, Level 16, State 6: Column, parameter, or variable #w1: Cannot find data type w2.",
    ),
    ("UNKNOWN_PROCEDURE", "Msg 2812, Level 16, State 62: Could not find stored procedure 'w1'."),
    ("DUPLICATES_IGNORED", "Msg 3604, Level 0, State 1: Duplicate key was ignored."),
    ("CANCELLED", "Msg 3617, Level 11, State 1: The query was cancelled."),
    (
        "CANNOT_DROP",
        "Msg 3701, Level 11, State 5: Cannot drop the w1 'w2', because it does not exist or you do not have permission.",
    ),
    (
        "COMMIT_WITHOUT_BEGIN",
        "Msg 3902, Level 16, State 1: The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.",
    ),
    (
        "ROLLBACK_WITHOUT_BEGIN",
        "Msg 3903, Level 16, State 1: The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
    ),
    (
        "NOT_BEGUN_AS_SNAPSHOT",
        "Msg 3951, Level 16, State 1: Transaction failed in database 'w1' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level.",
    ),
    (
        "SNAPSHOT_NOT_ALLOWED",
        "Msg 3952, Level 16, State 1: Snapshot isolation transaction failed accessing database 'w1' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.",
    ),
    (
        "ROWS_CHANGED",
        "Msg -3960, Level 16, State 2: Rows were changed by another transaction since they were read.",
    ),
    (
        "UPDATE_CONFLICT",
        "Msg 3960, Level 16, State 2: Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table 'w1' directly or indirectly in database 'w2' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.",
    ),
    (
        "DEFINITION_CHANGED",
        "Msg 3961, Level 16, State 1: Snapshot isolation transaction failed in database 'w1' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.",
    ),
    (
        "DEFINITION_UNDER_SNAPSHOT",
        "Msg 3964, Level 16, State 1: Transaction failed in database 'w1' because this DDL statement is not allowed inside a snapshot isolation transaction. Since metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation.",
    ),
    (
        "MALFORMED_STREAM",
        "Msg 4002, Level 20, State 1: The incoming tabular data stream (TDS) protocol stream is incorrect: w1.",
    ),
    (
        "OLD_OUTER_JOIN",
        "Msg 4147, Level 15, State 1: The query uses non-ANSI outer join operators (\"*=\" or \"=*\"). To run this query without modification, please set the compatibility level for current database to 80, using the SET COMPATIBILITY_LEVEL option of ALTER DATABASE. It is strongly recommended to rewrite the query using ANSI outer join operators (LEFT OUTER JOIN, RIGHT OUTER JOIN). In the future versions of SQL Server, non-ANSI join operators will not be supported even in backward-compatibility modes.",
    ),
    (
        "UNBOUND_IDENTIFIER",
        "Msg 4104, Level 16, State 1: The multi-part identifier \"w1\" could not be bound.",
    ),
    (
        "CANNOT_TRUNCATE",
        "Msg 4701, Level 16, State 1: Cannot find the object \"w1\" because it does not exist or you do not have permissions.",
    ),
    (
        "CANNOT_FIND_OBJECT",
        "Msg 4902, Level 16, State 1: Cannot find the object \"w1\" because it does not exist or you do not have permissions.",
    ),
    (
        "VALUE_TOO_LONG",
        "Msg 7119, Level 16, State 1: Attempting to grow LOB beyond maximum allowed size of 2,147,483,647 bytes.",
    ),
    ("CONVERTING", "Msg 8114, Level 16, State 5: Error converting data type w1 to w2."),
    (
        "ARITHMETIC_OVERFLOW",
        "Msg 8115, Level 16, State 2: Arithmetic overflow error converting w1 to data type w2.",
    ),
    (
        "NOT_GROUPED",
        "Msg 8120, Level 16, State 1: Column 'w1' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.",
    ),
    ("DIVIDE_BY_ZERO", "Msg 8134, Level 16, State 1: Divide by zero error encountered."),
    (
        "TOO_MANY_ARGUMENTS",
        "Msg 8144, Level 16, State 2: Procedure or function w1 has too many arguments specified.",
    ),
    ("NOT_A_PARAMETER", "Msg 8145, Level 16, State 1: w1 is not a parameter for procedure w2."),
    (
        "TOO_COMPLEX",
        "Msg 8623, Level 16, State 1: The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please simplify the query.",
    ),
    (
        "TOO_MANY_ROWS",
        "Msg 10738, Level 15, State 1: The number of row value expressions in the INSERT statement exceeds the maximum allowed number of 1000 row values.",
    ),
    ("NOT_A_VECTOR", "Msg 13670, Level 16, State 1: Input JSON is not a valid Vector : 'w1'."),
    ("UNSUPPORTED", "Msg 40515, Level 16, State 1: w1 is not supported by this server."),
    (
        "VECTOR_METRIC",
        "Msg 42201, Level 16, State 1: The requested distance metric 'w1' is not supported by vector_distance. Provide a valid distance metric.",
    ),
    (
        "VECTOR_RANGE",
        "Msg 42203, Level 16, State 1: The provided dimension for the vector (w1) is not within the allowed range [1-w2].",
    ),
    ("VECTOR_DIMENSIONS", "Msg 42204, Level 16, State 1: The vector dimensions w1 and w2 do not match."),
    ("VECTOR_INVALID", "Msg 42206, Level 16, State 1: The vector is invalid. Error details: 'w1'."),
    (
        "VECTOR_NORM",
        "Msg 42210, Level 16, State 1: The requested norm function 'w1' is not supported by vector_norm/vector_normalize. Provide a valid norm function.",
    ),
    (
        "VECTOR_TRUNCATED",
        "Msg 42211, Level 16, State 1: Truncation of vector is not allowed during the conversion. Ensure the vector size is appropriate before conversion.",
    ),
    ("VECTOR_ALIAS", "Msg 42212, Level 16, State 1: Cannot create alias types from a vector datatype."),
    (
        "VECTOR_COMPARED",
        "Msg 42213, Level 16, State 1: The vector data types cannot be compared or sorted, except when using the IS NULL operator.",
    ),
    (
        "VECTOR_BULK",
        "Msg 42225, Level 16, State 1: VECTOR column(s) cannot be natively imported through BULK INSERT or OPENROWSET(BULK) statement.",
    ),
    (
        "VECTOR_BASE",
        "Msg 42238, Level 16, State 1: Conversion of vector from data type w1 to w2 is not allowed.",
    ),
    ("VECTOR_VALUES", "Msg 42241, Level 16, State 1: Input JSON contains out-of-range values for w1."),
    (
        "VECTOR_BASES",
        "Msg 42243, Level 16, State 1: VECTOR_DISTANCE function does not support different base types for vector arguments.",
    ),
];

#[test]
fn numbers_and_texts_stay_as_they_are() {
    let shown: Vec<(&str, String)> = errors::ALL
        .iter()
        .map(|(name, number, class, state, text, words)| {
            let mut text = text.replace("{:.128}", "{}");
            for word in 1..=*words {
                text = text.replacen("{}", &format!("w{word}"), 1);
            }
            assert!(!text.contains('{'), "{name} has more places than words");
            (*name, format!("Msg {number}, Level {class}, State {state}: {text}"))
        })
        .collect();
    for ((name, text), (expected_name, expected)) in shown.iter().zip(SHOWN) {
        assert_eq!((*name, text.as_str()), (*expected_name, *expected));
    }
    assert_eq!(shown.len(), SHOWN.len());
}

#[test]
fn words_go_to_their_places() {
    assert_eq!(errors::DIVIDE_BY_ZERO.error().message, "Divide by zero error encountered.");
    let error = errors::CONVERSION_FAILED.with(["varchar", "{} {", "int"]);
    assert_eq!(
        (error.number, error.message.as_str()),
        (245, "Conversion failed when converting the varchar value '{} {' to data type int.")
    );
    let cut = errors::SYNTAX.with([&"\u{e4}".repeat(200)]).message;
    assert_eq!(cut, format!("Incorrect syntax near '{}'.", "\u{e4}".repeat(128)));
    for (least, most, expected) in [(1, 1, 174), (1, 3, 189)] {
        assert_eq!(SqlError::argument_count("f", least, most).number, expected);
    }
    assert!(SqlError::overflow("", "int").message.contains("converting expression to data type int"));
    assert!(
        SqlError::update_conflict("db.t")
            .message
            .contains("table 't' directly or indirectly in database 'db'")
    );
    assert!(SqlError::being_recovered("").message.starts_with("Database 'master'"));
}
