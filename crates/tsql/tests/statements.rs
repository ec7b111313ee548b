//! Where statements end that stand behind one another without a semicolon: none swallows the next.

use bulkwire_tsql::parse_batch;

/// Batches of two statements each.
const PAIRS: &[(&str, &str)] = &[
    ("CREATE DATABASE x", "ALTER DATABASE x SET RECOVERY FULL"),
    ("CREATE DATABASE x COLLATE Latin1_General_CI_AS", "UPDATE t SET a = 1"),
    (
        "CREATE DATABASE x ON PRIMARY (NAME = a, FILENAME = 'b', SIZE = 5MB) LOG ON (NAME = c)",
        "DELETE FROM t",
    ),
    ("ALTER DATABASE x SET AUTO_SHRINK OFF", "UPDATE t SET a = 1"),
    ("ALTER DATABASE x SET AUTO_SHRINK OFF, AUTO_CLOSE OFF", "DELETE t"),
    (
        "ALTER DATABASE x SET OFFLINE WITH ROLLBACK IMMEDIATE",
        "MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE;",
    ),
    ("ALTER DATABASE x SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE)", "TRUNCATE TABLE t"),
    ("ALTER DATABASE x SET COMPATIBILITY_LEVEL = 150", "SET NOCOUNT ON"),
    ("ALTER DATABASE x COLLATE Latin1_General_CI_AS", "WHILE 1 = 0 PRINT 'x'"),
    ("ALTER DATABASE x SET MULTI_USER", "RAISERROR('x', 16, 1)"),
    ("ALTER DATABASE x SET READ_WRITE", "WAITFOR DELAY '0:00:00'"),
    (
        "CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (1)",
        "MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE;",
    ),
    ("ALTER PARTITION SCHEME s NEXT USED", "SELECT 1"),
    ("ALTER PARTITION FUNCTION f () MERGE RANGE (1)", "DROP PARTITION SCHEME s"),
    ("ALTER TABLE t SET (LOCK_ESCALATION = AUTO)", "UPDATE t SET a = 1"),
    ("ALTER TABLE t SWITCH PARTITION 1 TO u PARTITION 2", "DELETE t"),
    ("TRUNCATE TABLE t WITH (PARTITIONS (1, 2 TO 3))", "SELECT 1"),
];

#[test]
fn no_statement_swallows_the_next() {
    for (first, second) in PAIRS {
        let batch = format!("{first} {second}");
        let found = parse_batch(&batch, true).map(|statements| statements.len());
        assert_eq!(found, Ok(2), "{batch}");
    }
}
