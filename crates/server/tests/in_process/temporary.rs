//! What sessions keep in tempdb: whose it is, when it goes, and that its room is given back.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::answers::answer;
use crate::instances::{empty, on_disk, session};
use databases::instance::Instance;
use executor::session::Session;

async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    let kept = |line: &String| !["[", "affected", "status"].iter().any(|start| line.starts_with(start));
    lines.into_iter().filter(kept).collect()
}

async fn is_done(session: &mut Session, batch: &str) {
    assert_eq!(lines(session, batch).await, [""; 0], "{batch}");
}

/// Names of all tables in tempdb, of all sessions.
fn tables(instance: &Instance) -> Vec<String> {
    instance.store().snapshot().tables_of("tempdb").into_iter().map(|info| info.name.to_string()).collect()
}

const DIGITS: &str = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS";

#[tokio::test(flavor = "multi_thread")]
async fn each_session_has_its_own_and_leaves_nothing() {
    let instance = Arc::new(empty());
    let (mut one, mut two) = (session(&instance, 51), session(&instance, 52));
    is_done(&mut one, "CREATE TABLE #t (a int PRIMARY KEY); INSERT #t VALUES (1)").await;
    is_done(&mut two, "CREATE TABLE #t (b varchar(5)); INSERT #t VALUES ('two')").await;
    is_done(&mut two, "CREATE PROCEDURE #p AS SELECT b FROM #t").await;
    is_done(
        &mut one,
        "CREATE TABLE ##g (a int); BEGIN TRANSACTION; INSERT #t VALUES (2); UPDATE #t SET a = a + 1",
    )
    .await;
    assert_eq!(
        lines(&mut two, "EXEC #p; SELECT name FROM tempdb.sys.tables ORDER BY name").await,
        ["two", "##g", "#t"]
    );
    assert_eq!(lines(&mut one, "ROLLBACK; SELECT a FROM #t").await, ["1"]);
    assert_eq!(tables(&instance).len(), 4);
    // A pool gives the connection to somebody else.
    one.reset(false);
    assert_eq!(tables(&instance).len(), 2);
    assert!(lines(&mut one, "SELECT a FROM #t").await[0].starts_with("error 208"));
    is_done(&mut one, "CREATE TABLE #t (c int); BEGIN TRANSACTION; INSERT #t VALUES (1)").await;
    drop(one);
    assert_eq!(lines(&mut two, "EXEC #p").await, ["two"]);
    drop(two);
    assert_eq!(tables(&instance), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn table_variables_go_with_their_batch_whatever_becomes_of_it() {
    let instance = Arc::new(empty());
    let mut session = session(&instance, 51);
    is_done(&mut session, "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE log (a int)").await;
    is_done(&mut session, "CREATE TRIGGER tr ON t AFTER INSERT, DELETE AS INSERT log SELECT a FROM inserted; IF EXISTS (SELECT * FROM inserted WHERE a = 9) THROW 50001, 'no', 1").await;
    is_done(&mut session, "CREATE TYPE list AS TABLE (a int PRIMARY KEY)").await;
    is_done(&mut session, "CREATE PROCEDURE p @l list READONLY AS INSERT t SELECT a FROM @l").await;
    is_done(&mut session, "CREATE FUNCTION f(@n int) RETURNS @r TABLE (a int PRIMARY KEY) AS BEGIN INSERT @r VALUES (@n); INSERT @r VALUES (10 / @n); RETURN END").await;
    for batch in [
        "DECLARE @v TABLE (a int PRIMARY KEY); INSERT @v VALUES (1)",
        "DECLARE @v TABLE (a int PRIMARY KEY); INSERT @v VALUES (1), (1)",
        "DECLARE @v list; INSERT @v VALUES (1), (2); EXEC p @v",
        "DECLARE @v list; INSERT @v VALUES (1), (2); EXEC p @v",
        "DECLARE @v list; INSERT @v VALUES (9); EXEC p @v",
        "SELECT a FROM f(4)",
        "SELECT a FROM f(1)",
        "SELECT a FROM f(0)",
        "DECLARE @v TABLE (a int); BEGIN TRANSACTION; INSERT @v VALUES (1); ROLLBACK; THROW 50002, 'end', 1",
        "DELETE t",
    ] {
        lines(&mut session, batch).await;
        assert_eq!(tables(&instance), [""; 0], "{batch}");
    }
    assert_eq!(lines(&mut session, "SELECT a FROM log ORDER BY a").await, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn room_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let instance = on_disk(folder.path());
    let mut session = session(&instance, 51);
    let databases = instance.store();
    let engine = databases.database("tempdb").unwrap().engine().clone();
    let round = format!(
        "CREATE TABLE #t (id int PRIMARY KEY, text char(200)); CREATE INDEX i ON #t (text)
         INSERT #t SELECT a.n + 10 * b.n + 100 * c.n, 'text' FROM {DIGITS} a (n), {DIGITS} b (n), {DIGITS} c (n)
         DECLARE @v TABLE (id int PRIMARY KEY, text char(200)); INSERT @v SELECT * FROM #t
         SELECT * INTO #copy FROM #t
         DROP TABLE #t, #copy"
    );
    for _ in 0..5 {
        is_done(&mut session, &round).await;
    }
    let before = engine.usage();
    for _ in 0..60 {
        is_done(&mut session, &round).await;
    }
    let after = engine.usage();
    // One round takes some 150 extents.
    let taken = |usage: &store::Usage| usage.extents - usage.free_extents;
    assert!(taken(&after) <= taken(&before) + 50, "{} extents after {}", taken(&after), taken(&before));
    assert!(after.extents <= before.extents + 500, "{} extents after {}", after.extents, before.extents);
    drop(session);
    assert_eq!(engine.check().unwrap(), []);
}

const CHILD_DIRECTORY: &str = "BULKWIRE_TEMPORARY_KILL_DIRECTORY";

/// Fills tables of tempdb until it is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other half of `a_killed_server_leaves_nothing_in_tempdb`"]
async fn child() {
    let directory = std::env::var_os(CHILD_DIRECTORY).unwrap();
    let instance = on_disk(Path::new(&directory));
    let mut session = session(&instance, 51);
    is_done(
        &mut session,
        "CREATE TABLE #t (id int IDENTITY PRIMARY KEY, text char(500)); CREATE TABLE ##g (id int)",
    )
    .await;
    let mut output = io::stdout();
    for number in 0.. {
        let batch = format!(
            "DECLARE @v TABLE (id int PRIMARY KEY); INSERT @v SELECT a.n + 10 * b.n FROM {DIGITS} a (n), {DIGITS} b (n)
             BEGIN TRANSACTION; INSERT kept VALUES ({number}); INSERT #t SELECT 'x' FROM @v; INSERT ##g VALUES ({number}); COMMIT"
        );
        is_done(&mut session, &batch).await;
        writeln!(output, "\ndone {number}").unwrap();
        output.flush().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_nothing_in_tempdb() {
    let folder = tempfile::tempdir().unwrap();
    is_done(&mut session(&on_disk(folder.path()), 51), "CREATE TABLE kept (id int)").await;
    for kill in 0..5 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["temporary::child", "--exact", "--ignored", "--nocapture"]);
        let mut child = command.env(CHILD_DIRECTORY, folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        let wanted = format!("done {}", kill * 3);
        assert!(told.by_ref().any(|line| line.unwrap() == wanted));
        child.kill().unwrap();
        child.wait().unwrap();
        let instance = on_disk(folder.path());
        assert_eq!(tables(&instance), [""; 0]);
        let mut session = session(&instance, 51);
        assert!(lines(&mut session, "SELECT * FROM ##g").await[0].starts_with("error 208"));
        // What was committed elsewhere together with rows of tempdb is there.
        let kept = lines(&mut session, "SELECT CASE WHEN COUNT(*) > MAX(id) THEN 'all' END FROM kept").await;
        assert_eq!(kept, ["all"]);
        is_done(&mut session, "DELETE kept; DBCC CHECKDB (master) WITH NO_INFOMSGS").await;
    }
}
