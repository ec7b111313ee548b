//! SELECT INTO and INSERT … SELECT WITH (TABLOCK) by several tasks: the same rows as by one, or none; and what a load says of itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answers::{answer, login};
use databases::instance::Instance;
use databases::storage::Databases;
use executor::session::Session;
use executor::statements::open_session;

/// A server of pages, and a session with the table `source (id, half, name)` of 12,000 rows, five megabytes: more than the two from
/// which on a query is cut into partitions.
async fn filled() -> (Arc<Instance>, Session) {
    let database = Databases::in_memory(None).unwrap();
    let instance = Arc::new(Instance::new(database).unwrap());
    let mut session = open_session(Arc::clone(&instance), login(51)).unwrap();
    ok(&mut session, "CREATE TABLE source (id int NOT NULL, half int NOT NULL, name char(400) NULL)").await;
    ok(
        &mut session,
        "WITH ten AS (SELECT n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n))
         INSERT INTO source SELECT id, id / 2, CASE WHEN id % 7 = 0 THEN NULL ELSE 'row ' + CAST(id AS varchar(10)) END
         FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS id
               FROM ten AS a, ten AS b, ten AS c, (SELECT n FROM ten UNION ALL SELECT 10 UNION ALL SELECT 11) AS d) AS numbers",
    )
    .await;
    (instance, session)
}

async fn ok(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    assert!(!lines.iter().any(|line| line.starts_with("error")), "{batch}: {lines:?}");
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

/// What is known of all rows together: none is missing, doubled or changed.
async fn sums(session: &mut Session, table: &str) -> Vec<String> {
    let query = format!(
        "SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), SUM(half), COUNT(name), \
         SUM(CASE WHEN name = 'row ' + CAST(id AS varchar(10)) THEN 1 ELSE 0 END) FROM {table}"
    );
    ok(session, &query).await
}

/// Rows, tasks, and why it is one task, of the last load.
async fn last_load(session: &mut Session) -> String {
    let query = "SELECT TOP (1) command, row_count, degree_of_parallelism, non_parallel_reason \
                 FROM sys.dm_bulkwire_loads ORDER BY load_id DESC";
    ok(session, query).await.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn several_tasks_write_the_rows_that_one_writes() {
    let (instance, mut session) = filled().await;
    let expected = sums(&mut session, "source").await;
    // 0 + 1 + … + 11,999; halves are each number below 6,000 twice; every seventh row has no name.
    assert_eq!(expected, ["12000 | 12000 | 71994000 | 35994000 | 10285 | 10285"]);
    ok(&mut session, "SELECT * INTO copied FROM source OPTION (MAXDOP 3)").await;
    assert_eq!(last_load(&mut session).await, "SELECT INTO | 12000 | 3 | NULL");
    assert_eq!(sums(&mut session, "copied").await, expected);
    ok(&mut session, "CREATE TABLE target (id int NOT NULL, half int, name varchar(410) NULL)").await;
    ok(&mut session, "INSERT INTO target WITH (TABLOCK) (name, id, half) SELECT name, id, half FROM source OPTION (MAXDOP 2)")
        .await;
    assert_eq!(last_load(&mut session).await, "INSERT SELECT | 12000 | 2 | NULL");
    assert_eq!(sums(&mut session, "target").await, expected);
    ok(&mut session, "SELECT * INTO #copied FROM source OPTION (MAXDOP 3)").await;
    assert_eq!(last_load(&mut session).await, "SELECT INTO | 12000 | 3 | NULL");
    assert_eq!(sums(&mut session, "#copied").await, expected);
    // Joins, groups and unions are cut into partitions, too.
    ok(
        &mut session,
        "SELECT half AS id, COUNT(*) AS n, MIN(a.name) AS name INTO groups FROM source AS a GROUP BY half OPTION (MAXDOP 2)",
    )
    .await;
    assert_eq!(last_load(&mut session).await, "SELECT INTO | 6000 | 2 | NULL");
    assert_eq!(
        ok(&mut session, "SELECT COUNT(*), SUM(n), SUM(id) FROM groups").await,
        ["6000 | 12000 | 17997000"]
    );
    ok(
        &mut session,
        "SELECT a.id, b.half INTO joined FROM source AS a JOIN copied AS b ON b.id = a.id WHERE a.id >= 100
         UNION ALL SELECT id, half FROM source WHERE id < 100 OPTION (MAXDOP 2)",
    )
    .await;
    assert_eq!(last_load(&mut session).await, "SELECT INTO | 12000 | 2 | NULL");
    assert_eq!(
        ok(&mut session, "SELECT COUNT(*), COUNT(DISTINCT id), SUM(half) FROM joined").await,
        ["12000 | 12000 | 35994000"]
    );
    let pages = instance.store();
    assert!(pages.master().engine().check().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_task_writes_where_all_rows_must_be_in_one_place() {
    let (_, mut session) = filled().await;
    ok(&mut session, "SELECT TOP (700) * INTO small FROM source").await;
    ok(&mut session, "CREATE FUNCTION same (@n int) RETURNS int AS BEGIN RETURN @n END").await;
    ok(&mut session, "CREATE SEQUENCE counter AS int START WITH 1").await;
    for (statement, reason) in [
        ("SELECT * INTO t FROM source OPTION (MAXDOP 1)", "MaxDOPSetToOne"),
        ("SELECT TOP (11000) * INTO t FROM source OPTION (MAXDOP 2)", "LastStepHasOneStream"),
        ("SELECT * INTO t FROM source ORDER BY id DESC OPTION (MAXDOP 2)", "RowsAreOrdered"),
        (
            "SELECT dbo.same(id) AS id INTO t FROM source WHERE id < 600 OPTION (MAXDOP 2)",
            "TSQLUserDefinedFunctionsNotParallelizable",
        ),
        (
            "SELECT NEXT VALUE FOR dbo.counter AS id INTO t FROM source WHERE id < 50 OPTION (MAXDOP 2)",
            "NonParallelizableIntrinsicFunction",
        ),
        (
            "SELECT a.id, b.n INTO t FROM source AS a CROSS APPLY (SELECT a.id AS n) AS b WHERE a.id < 50 OPTION (MAXDOP 2)",
            "CouldNotGenerateValidParallelPlan",
        ),
        ("SELECT * INTO t FROM small OPTION (MAXDOP 2)", "EstimatedDOPIsOne"),
        (
            "CREATE TABLE t (id int NOT NULL); INSERT INTO t SELECT id FROM source OPTION (MAXDOP 2)",
            "NoTableLock",
        ),
        (
            "CREATE TABLE t (id int NOT NULL PRIMARY KEY); INSERT INTO t WITH (TABLOCK) SELECT id FROM source OPTION (MAXDOP 2)",
            "DMLQueryTargetNeedsAllRows",
        ),
        (
            "CREATE TABLE t (n int IDENTITY, id int); INSERT INTO t WITH (TABLOCK) SELECT id FROM source ORDER BY id DESC OPTION (MAXDOP 2)",
            "DMLQueryTargetNeedsAllRows",
        ),
    ] {
        ok(&mut session, "DROP TABLE IF EXISTS small; SELECT TOP (700) * INTO small FROM source").await;
        ok(&mut session, "DROP FUNCTION IF EXISTS same").await;
        ok(&mut session, "CREATE FUNCTION same (@n int) RETURNS int AS BEGIN RETURN @n END").await;
        ok(&mut session, "DROP SEQUENCE IF EXISTS counter; CREATE SEQUENCE counter AS int START WITH 1")
            .await;
        ok(&mut session, "DROP TABLE IF EXISTS t").await;
        ok(&mut session, statement).await;
        let load = last_load(&mut session).await;
        assert!(load.ends_with(&format!("| 1 | {reason}")), "{statement}: {load}");
    }
    // The last of them: identities rise as ids fall.
    assert_eq!(ok(&mut session, "SELECT COUNT(*) FROM t WHERE n + id = 12000").await, ["12000"]);
    ok(&mut session, "DROP TABLE t; SELECT * INTO t FROM source ORDER BY id DESC OPTION (MAXDOP 2)").await;
    assert_eq!(ok(&mut session, "SELECT TOP (2) id FROM t").await, ["11999", "11998"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_and_the_databases_settings_hold_unless_the_query_has_its_own() {
    let (_, mut session) = filled().await;
    let expect = [
        ("EXEC sp_configure 'max degree of parallelism', 1; RECONFIGURE", "", "1 | MaxDOPSetToOne"),
        ("ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2", "", "2 | NULL"),
        ("", "OPTION (MAXDOP 3)", "3 | NULL"),
        ("EXEC sp_configure 'max degree of parallelism', 4", "", "2 | NULL"),
        ("ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 0", "", "4 | NULL"),
    ];
    for (setting, hint, degree) in expect {
        ok(&mut session, "DROP TABLE IF EXISTS t").await;
        ok(&mut session, setting).await;
        ok(&mut session, &format!("SELECT * INTO t FROM source {hint}")).await;
        assert_eq!(
            last_load(&mut session).await,
            format!("SELECT INTO | 12000 | {degree}"),
            "{setting} {hint}"
        );
    }
    assert_eq!(
        ok(
            &mut session,
            "SELECT value, value_in_use FROM sys.configurations WHERE name = 'max degree of parallelism'"
        )
        .await,
        ["4 | 4"]
    );
    let refused = answer(&mut session, "EXEC sp_configure 'max degree of parallelism', 40000").await;
    assert!(refused.iter().any(|line| line.starts_with("error 15129")), "{refused:?}");
    let refused = answer(&mut session, "SELECT 1 OPTION (MAXDOP 40000)").await;
    assert!(refused.iter().any(|line| line.starts_with("error 102")), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_a_rollback_and_a_cancellation_leave_nothing() {
    let (instance, mut session) = filled().await;
    let expected = sums(&mut session, "source").await;
    let pages = instance.store();
    ok(&mut session, "CREATE TABLE target (id int NOT NULL, half int NOT NULL, name char(400) NOT NULL)")
        .await;
    let used = || {
        pages.master().engine().data_files().iter().map(|file| file.size_pages - file.free_pages).sum::<u64>()
    };
    // Extents of maps that tables share stay what they are; rows take hundreds of pages.
    let limit = used() + 32;
    // A row in the last of the extents is refused.
    for (statement, error) in [
        ("SELECT id, 1 / (id - 11998) AS n INTO broken FROM source OPTION (MAXDOP 2)", "error 8134"),
        (
            "INSERT INTO target WITH (TABLOCK) SELECT id, half, name FROM source OPTION (MAXDOP 2)",
            "error 515",
        ),
    ] {
        let lines = answer(&mut session, statement).await;
        assert!(lines.iter().any(|line| line.starts_with(error)), "{statement}: {lines:?}");
        assert_eq!(ok(&mut session, "SELECT OBJECT_ID('broken'), COUNT(*) FROM target").await, ["NULL | 0"]);
    }
    // Within a transaction the statement alone is undone; then all of it.
    ok(&mut session, "BEGIN TRANSACTION; INSERT INTO target VALUES (1, 1, 'one')").await;
    answer(
        &mut session,
        "INSERT INTO target WITH (TABLOCK) SELECT id, half, name FROM source OPTION (MAXDOP 2)",
    )
    .await;
    ok(
        &mut session,
        "INSERT INTO target WITH (TABLOCK) SELECT id, half, ISNULL(name, '') FROM source OPTION (MAXDOP 2)",
    )
    .await;
    assert_eq!(last_load(&mut session).await, "INSERT SELECT | 12000 | 2 | NULL");
    assert_eq!(ok(&mut session, "SELECT @@TRANCOUNT, COUNT(*) FROM target").await, ["1 | 12001"]);
    ok(&mut session, "SELECT * INTO copied FROM source OPTION (MAXDOP 2)").await;
    assert_eq!(sums(&mut session, "copied").await, expected);
    ok(&mut session, "ROLLBACK").await;
    assert_eq!(ok(&mut session, "SELECT OBJECT_ID('copied'), COUNT(*) FROM target").await, ["NULL | 0"]);
    assert!(used() <= limit, "extents are given back");
    // A request whose client has gone is dropped wherever it is.
    for delay_ms in [0, 1, 3, 8, 20, 50] {
        let statement = "SELECT a.id, b.name INTO copied FROM source AS a JOIN source AS b ON a.id = b.id OPTION (MAXDOP 2)";
        let mut other = open_session(Arc::clone(&instance), login(52)).unwrap();
        let running = tokio::spawn(async move {
            answer(&mut other, statement).await;
        });
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        running.abort();
        let _ = running.await;
        ok(&mut session, "DROP TABLE IF EXISTS copied").await;
        // What a table had is given back when nobody can see it any more: tasks of the request that is gone may wind down still.
        let patience = Instant::now() + Duration::from_secs(30);
        while used() > limit && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
            ok(&mut session, "CHECKPOINT").await;
        }
        assert!(used() <= limit, "after {delay_ms} ms");
    }
    assert!(pages.master().engine().check().unwrap().is_empty());
    assert_eq!(sums(&mut session, "source").await, expected);
}

/// What the message of SET STATISTICS BULK says of the statement, without its rows.
async fn told(session: &mut Session, statement: &str) -> String {
    let lines = ok(session, &format!("SET STATISTICS BULK ON; {statement}; SET STATISTICS BULK OFF")).await;
    let line = lines.iter().find_map(|line| line.strip_prefix("info: ")).unwrap_or_default();
    line.split_once("; ").map(|(_, logging)| logging.to_owned()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_says_which_conditions_of_minimal_logging_failed() {
    use store::RecoveryModel;
    let (instance, mut session) = filled().await;
    let pages = instance.store();
    let model = |model| pages.master().engine().set_recovery_model(model).unwrap();
    ok(&mut session, "CREATE TABLE heap (id int NOT NULL, half int NOT NULL, name char(400) NULL)").await;
    let with = "INSERT INTO heap WITH (TABLOCK) SELECT * FROM source";
    let without = "INSERT INTO heap SELECT * FROM source";
    for (recovery, statement, expected) in [
        (RecoveryModel::Simple, with, "data pages minimally logged."),
        (RecoveryModel::BulkLogged, with, "data pages minimally logged."),
        (RecoveryModel::Full, with, "data pages fully logged: the recovery model is FULL."),
        (
            RecoveryModel::Full,
            without,
            "data pages fully logged: the recovery model is FULL; the table was not locked as a whole (TABLOCK).",
        ),
        (
            RecoveryModel::Simple,
            without,
            "data pages fully logged: the table was not locked as a whole (TABLOCK).",
        ),
        (RecoveryModel::Simple, "SELECT * INTO made FROM source", "data pages minimally logged."),
        (
            RecoveryModel::Simple,
            "INSERT INTO heap WITH (TABLOCK) SELECT TOP (3) * FROM source",
            "data pages fully logged: the rows are too few for extents of their own.",
        ),
        // Few rows without TABLOCK are no load.
        (RecoveryModel::Simple, "INSERT INTO heap SELECT TOP (3) * FROM source", ""),
    ] {
        model(recovery);
        let before = pages.master().engine().usage().log_written_bytes;
        assert_eq!(told(&mut session, statement).await, expected, "{statement}");
        let logged = pages.master().engine().usage().log_written_bytes - before;
        // The rows take five megabytes; extents are a fiftieth of that at most.
        let minimal = expected == "data pages minimally logged.";
        assert!(!minimal || logged < 100_000, "{statement}: {logged} bytes of log");
        let all = expected.contains("fully logged: the recovery") || expected.ends_with("(TABLOCK).");
        assert!(!all || logged > 4_000_000, "{statement}: {logged} bytes of log");
    }
    assert_eq!(
        ok(
            &mut session,
            "SELECT command, recovery_model_desc, is_data_minimally_logged, failed_conditions, COUNT(*), SUM(row_count)
             FROM sys.dm_bulkwire_loads WHERE table_name = 'dbo.heap' AND database_id = DB_ID() AND object_id = OBJECT_ID('heap')
             GROUP BY command, recovery_model_desc, is_data_minimally_logged, failed_conditions
             ORDER BY 2, 4"
        )
        .await,
        [
            "INSERT SELECT | BULK_LOGGED | 1 |  | 1 | 12000",
            "INSERT SELECT | FULL | 0 | RECOVERY_MODEL | 1 | 12000",
            "INSERT SELECT | FULL | 0 | RECOVERY_MODEL, TABLE_LOCK | 1 | 12000",
            "INSERT SELECT | SIMPLE | 1 |  | 1 | 12000",
            "INSERT SELECT | SIMPLE | 0 | MANY_ROWS | 1 | 3",
            "INSERT SELECT | SIMPLE | 0 | TABLE_LOCK | 1 | 12000",
        ]
    );
    assert_eq!(ok(&mut session, "SELECT COUNT(*) FROM heap").await, ["60006"]);
}
