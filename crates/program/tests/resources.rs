//! What statements may use of the machine: huge values and endless work against a server with a memory limit, cancelled, left
//! alone and run to the end, while others ask for a row.
//!
//! `BULKWIRE_RESOURCES_SECONDS` makes the test go on for so long, with larger sizes, and prints how long answers took. Times are
//! measured there and asserted nowhere: another program may have the processors.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../server/tests/client/mod.rs"]
mod client;
#[allow(unused_imports)]
mod statements;

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use statements::Numbers;
use statements::child::{Answer, ChildServer, Session};

/// Settings of the server.
const LIMIT: &str = "1GB";
/// What it may have at most: allocators keep some of what was given back, and not everything is counted.
const RESIDENT_MAX_KIB: u64 = 1_800 << 10;
/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a statement works before it is cancelled or left.
const WORK: Duration = Duration::from_millis(300);
/// Statements that compute beside the one that asks for a row.
const BUSY: usize = 16;

/// Seconds of the long run; None for the short one.
fn long_run() -> Option<u64> {
    std::env::var("BULKWIRE_RESOURCES_SECONDS").ok().map(|seconds| seconds.parse().unwrap())
}

/// Statements that would take memory or time without end. `size` is a length in characters or rows.
fn greedy(size: usize) -> Vec<String> {
    let text = format!("REPLICATE(CAST('ab' AS varchar(max)), {size})");
    let commas = format!("REPLICATE(CAST(',' AS varchar(max)), {size})");
    let series = format!("GENERATE_SERIES(1, {size})");
    let rows = size / 100;
    vec![
        format!("SELECT MAX({text}) FROM GENERATE_SERIES(1, 1000)"),
        format!("SELECT MAX(REPLICATE(CAST('ab' AS varchar(max)), {size} + value % 2)) FROM GENERATE_SERIES(1, 1000)"),
        format!("SELECT LEN(REPLACE({text}, 'a', REPLICATE('x', 1000)))"),
        format!("SELECT LEN(REPLACE({text} COLLATE Latin1_General_BIN2, 'ab', 'xyz'))"),
        format!("SELECT REPLICATE(CAST('ab' AS varchar(max)), 2000000000)"),
        format!("SELECT LEN({text} + {text} + {text})"),
        format!("SELECT LEN(CONCAT({text}, {text}, {text}))"),
        format!("SELECT CHARINDEX('x', {text}), PATINDEX('%x%', {text}), UPPER({text})"),
        format!("SELECT COUNT(*) FROM {series} WHERE REPLICATE('ab', 3000 + value % 2) LIKE '%a%b%a%c%'"),
        format!("SELECT COUNT(*) FROM STRING_SPLIT({commas}, ',')"),
        format!("SELECT COUNT(*) FROM OPENJSON('[' + REPLICATE(CAST('1,' AS varchar(max)), {size}) + '1]')"),
        format!("SELECT STRING_AGG(REPLICATE(CAST('x' AS varchar(max)), 8000), ',') FROM {series}"),
        format!("SELECT TOP 1 value FROM {series} ORDER BY value % 1000, value DESC"),
        format!("SELECT COUNT(*) FROM (SELECT value % {size} AS k, COUNT(*) AS n FROM {series} GROUP BY value % {size}) AS g"),
        format!("SELECT COUNT(*) FROM {series} AS a JOIN {series} AS b ON a.value = b.value"),
        format!("SELECT COUNT(*) FROM {series} AS a JOIN {series} AS b ON a.value * 2 = b.value + 1 AND a.value < 0"),
        format!("SELECT COUNT(*) FROM {series} AS a JOIN {series} AS b ON a.value + b.value = -1"),
        format!("SELECT COUNT(*) FROM {series} AS a WHERE NOT EXISTS (SELECT 1 FROM {series} AS b WHERE a.value < b.value - {size})"),
        "WITH c AS (SELECT value FROM GENERATE_SERIES(1, 10)) SELECT COUNT_BIG(*) FROM c a, c b, c d, c e, c f, c g, c h, c i, c j, c k, c l".to_string(),
        "DECLARE @s varchar(max) = 'x' WHILE 1 = 1 SET @s = @s + @s".to_string(),
        "DECLARE @i int = 0 WHILE 1 = 1 SET @i = 1 - @i".to_string(),
        format!("CREATE TABLE #t (s varchar(max)) WHILE 1 = 1 INSERT #t VALUES ({text})"),
        format!("DECLARE @t TABLE (s varchar(max)) WHILE 1 = 1 INSERT @t VALUES ({text})"),
        format!("SELECT REPLICATE(CAST('x' AS varchar(max)), {size} / 10) AS s INTO #s FROM GENERATE_SERIES(1, 100000)"),
        format!("DECLARE c CURSOR STATIC LOCAL FOR SELECT REPLICATE('x', 8000) AS s FROM {series} OPEN c"),
        format!("SELECT REPLICATE('x', 8000) AS s, REPLICATE('y', 8000) AS t FROM {series} ORDER BY 2, 1"),
        format!("DECLARE @n int SELECT @n = COUNT(*) FROM GENERATE_SERIES(1, {rows}) AS a CROSS APPLY (SELECT TOP 1 b.value FROM GENERATE_SERIES(1, 100) AS b WHERE b.value > a.value % 7) AS d"),
        format!("INSERT k SELECT value, REPLICATE('x', 4000) FROM {series}"),
    ]
}

/// Statements that compute for long.
const COMPUTING: [&str; 6] = [
    "SELECT COUNT_BIG(*) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(2000000000000 AS bigint))",
    "SELECT COUNT(*) FROM GENERATE_SERIES(1, 1000000) AS a JOIN GENERATE_SERIES(1, 1000000) AS b ON a.value + b.value = -1",
    "DECLARE @i int = 0 WHILE 1 = 1 SET @i = 1 - @i",
    "SELECT MAX(LEN(REPLACE(REPLICATE(CAST('ab' AS varchar(max)), 1000000 + value % 2), 'A', 'cd'))) FROM GENERATE_SERIES(1, 1000000)",
    "SELECT COUNT(*) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(2000000000000 AS bigint)) AS a WHERE REPLICATE('ab', 1000 + value % 2) LIKE '%a%b%a%c%'",
    "SELECT TOP 1 REVERSE(CAST(value AS varchar(20))) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(2000000000000 AS bigint)) ORDER BY 1",
];

fn start() -> ChildServer {
    let server = ChildServer::start(&["--memory-limit", LIMIT]);
    let mut session = server.connect();
    for sql in [
        "CREATE TABLE p (id int NOT NULL PRIMARY KEY, v int NOT NULL)",
        "INSERT p SELECT value, value * 2 FROM GENERATE_SERIES(1, 1000)",
        "CREATE TABLE k (id int NOT NULL, s varchar(4000) NOT NULL)",
    ] {
        assert_eq!(session.run(sql, PATIENCE), Answer::Done, "{sql}");
    }
    server
}

/// Most memory that the process has had, in KiB.
fn resident_peak(server: &ChildServer) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn assert_sound(server: &mut ChildServer, after: &str) {
    assert!(server.is_alive(), "the server ended after {after}: {}", server.errors());
    let peak = resident_peak(server);
    assert!(peak <= RESIDENT_MAX_KIB, "{peak} KiB after {after}");
}

/// How long things took.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn add(&mut self, began: Instant) {
        self.0.push(began.elapsed());
    }

    fn print(&mut self, what: &str) {
        self.0.sort_unstable();
        let at = |hundredth: usize| self.0.get((self.0.len().saturating_sub(1)) * hundredth / 100);
        eprintln!(
            "{what}: {} times, median {:?}, 99 % {:?}, most {:?}",
            self.0.len(),
            at(50),
            at(99),
            at(100)
        );
    }
}

fn ended(answer: Answer) -> bool {
    // 701: no memory. 7119: too long. 1105, 9002: no room in a database or its log, which are in memory.
    matches!(
        answer,
        Answer::Done | Answer::Cancelled | Answer::Error(701 | 1105 | 7119 | 8115 | 8623 | 9002, _)
    )
}

#[test]
fn greedy_statements_end_or_fail_or_are_cancelled() {
    let long = long_run();
    let size = if long.is_some() { 20_000_000 } else { 1_000_000 };
    let end = Instant::now() + Duration::from_secs(long.unwrap_or(0));
    let mut server = start();
    let (mut attentions, mut leavings) = (Times::default(), Times::default());
    let mut numbers = Numbers(1);
    loop {
        for sql in greedy(size) {
            // What has not ended by then is cancelled.
            let mut session = server.connect();
            session.begin(&sql);
            let answer = match session.answer(WORK) {
                Answer::Late => {
                    let began = Instant::now();
                    let answer = session.cancel(PATIENCE);
                    attentions.add(began);
                    answer
                }
                answer => answer,
            };
            assert!(ended(answer.clone()), "{sql}: {answer:?}");
            assert_sound(&mut server, &sql);
            assert_eq!(session.run("SELECT v FROM p WHERE id = 5", PATIENCE), Answer::Done, "after {sql}");
            drop(session);
            // Left alone it is over, and so is its lock.
            let mut session = server.connect();
            session.begin(&format!("BEGIN TRAN UPDATE p SET v = 1 WHERE id = 7 {sql}"));
            thread::sleep(Duration::from_millis(20 + numbers.below(100) as u64));
            drop(session);
            let began = Instant::now();
            let answer = server.connect().run("UPDATE p SET v = 14 WHERE id = 7", PATIENCE);
            leavings.add(began);
            assert_eq!(answer, Answer::Done, "after leaving {sql}");
            assert_sound(&mut server, &sql);
        }
        if Instant::now() >= end {
            break;
        }
    }
    if long.is_some() {
        // To the end, as far as memory goes.
        for sql in
            greedy(size).iter().filter(|sql| !sql.contains("1 = 1 SET @i") && !sql.contains("+ b.value"))
        {
            let mut session = server.connect();
            session.begin(sql);
            let answer = match session.answer(PATIENCE) {
                Answer::Late => session.cancel(PATIENCE),
                answer => answer,
            };
            assert!(ended(answer.clone()), "{sql}: {answer:?}");
            assert_sound(&mut server, sql);
        }
        attentions.print("attention to its acknowledgement");
        leavings.print("leaving to the lock's next owner");
        eprintln!("most memory: {} MiB of {LIMIT}", resident_peak(&server) >> 10);
    }
}

#[test]
fn a_row_is_found_beside_sixteen_busy_statements() {
    let mut server = start();
    let stop = Arc::new(AtomicBool::new(false));
    let mut busy: Vec<Session> = Vec::new();
    for index in 0..BUSY {
        let mut session = server.connect();
        session.begin(COMPUTING[index % COMPUTING.len()]);
        busy.push(session);
    }
    let turns = long_run().map_or(20, |seconds| seconds as usize * 10);
    let (mut points, mut planned, mut logins) = (Times::default(), Times::default(), Times::default());
    for turn in 0..turns {
        let began = Instant::now();
        let mut session = server.connect();
        logins.add(began);
        for (sql, times) in [
            ("SELECT v FROM p WHERE id = 5", &mut points),
            ("SELECT MAX(v) FROM p WHERE id < 9 GROUP BY v % 2 ORDER BY 1", &mut planned),
        ] {
            let began = Instant::now();
            let answer = session.run(sql, PATIENCE);
            // Memory may be short beside so many sorts.
            assert!(matches!(answer, Answer::Done | Answer::Error(701, _)), "turn {turn}: {sql}: {answer:?}");
            times.add(began);
        }
    }
    stop.store(true, Ordering::Relaxed);
    assert_sound(&mut server, "sixteen busy statements");
    if long_run().is_some() {
        logins.print("log in");
        points.print("point query");
        planned.print("planned query");
    }
    // They can all be ended by another session. Those of the loop above may not have left yet: none of them is to be among the killed.
    let mut administrator = server.connect();
    let have_left = format!(
        "WHILE (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID) > {BUSY} WAITFOR DELAY '00:00:00.010'"
    );
    assert_eq!(administrator.run(&have_left, PATIENCE), Answer::Done);
    let killed = "DECLARE @sql varchar(max) = '' SELECT @sql = @sql + 'KILL ' + CAST(session_id AS varchar(9)) + ' ' FROM sys.dm_exec_sessions WHERE session_id <> @@SPID EXEC (@sql)";
    assert_eq!(administrator.run(killed, PATIENCE), Answer::Done);
    for session in &mut busy {
        let answer = session.answer(PATIENCE);
        assert!(matches!(answer, Answer::Error(596 | 701, _)), "{answer:?}");
    }
}

#[test]
fn a_product_of_tables_is_not_gathered_before_its_first_row() {
    let mut server = start();
    let mut session = server.connect();
    let tables = "WITH c AS (SELECT value FROM GENERATE_SERIES(1, 10)) SELECT";
    let from = "FROM c a, c b, c d, c e, c f, c g, c h, c i, c j, c k, c l, c m";
    // Nobody lives to see the last of 10 to the 12th.
    for columns in ["1 AS x", "a.value", "a.value, m.value", "d.value, g.value, m.value"] {
        let sql = format!("{tables} TOP 5 {columns} {from}");
        assert_eq!(session.run(&sql, PATIENCE), Answer::Done, "{sql}");
    }
    // Rows of which nothing is read are a number, however many there are.
    for from in [
        "c a, c b, c d, c e, c f LEFT JOIN c g ON 1 = 1",
        "(c a CROSS JOIN c b) CROSS JOIN (c d CROSS JOIN c e)",
    ] {
        let sql = format!("{tables} COUNT_BIG(*) FROM {from}");
        assert_eq!(session.run(&sql, PATIENCE), Answer::Done, "{sql}");
    }
    session.begin(&format!("{tables} COUNT_BIG(*) {from}"));
    assert_eq!(session.answer(WORK * 10), Answer::Late);
    assert_eq!(session.cancel(PATIENCE), Answer::Cancelled);
    assert_sound(&mut server, "a product of twelve tables");
}

#[test]
fn a_busy_server_ends_when_it_is_told_to() {
    let mut server = start();
    let busy: Vec<Session> = COMPUTING
        .iter()
        .map(|sql| {
            let mut session = server.connect();
            session.begin(sql);
            session
        })
        .collect();
    thread::sleep(WORK);
    let began = Instant::now();
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    while server.is_alive() {
        assert!(began.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(10));
    }
    if long_run().is_some() {
        eprintln!("SIGTERM to the end: {:?}", began.elapsed());
    }
    drop(busy);
}

/// Bytes of one side of the join below are more than statements may hold here.
const SMALL_LIMIT: &str = "96MB";

#[test]
fn a_join_of_more_rows_than_memory_has_room_for_gives_them_all() {
    let mut server = ChildServer::start(&["--memory-limit", SMALL_LIMIT]);
    let mut session = server.connect();
    let side = "SELECT value AS k, REPLICATE('x', 200 + value % 2) AS s FROM GENERATE_SERIES(1, 400000)";
    for join in ["JOIN", "LEFT JOIN", "FULL JOIN"] {
        let sql = format!(
            "DECLARE @n int, @s varchar(900) SELECT @n = COUNT(*), @s = MIN(b.s + a.s) FROM ({side}) AS a {join} ({side}) AS b ON a.k = b.k AND a.s <= b.s IF @n <> 400000 OR LEN(@s) <> 400 THROW 50000, 'wrong rows', 1"
        );
        assert_eq!(session.run(&sql, PATIENCE), Answer::Done, "{join}");
    }
    assert_eq!(session.run("SELECT 1", PATIENCE), Answer::Done);
    assert!(server.is_alive());
}

#[test]
fn rows_that_are_kept_for_a_cursor_or_a_table_are_counted() {
    let mut server = ChildServer::start(&["--memory-limit", SMALL_LIMIT]);
    let mut session = server.connect();
    let many = "SELECT value, REPLICATE('x', 200 + value % 2) AS s FROM GENERATE_SERIES(1, 1000000)";
    let cursor = format!("DECLARE c CURSOR STATIC GLOBAL FOR {many} OPEN c");
    let execute =
        format!("CREATE TABLE #t (v int, s varchar(300)) INSERT #t EXEC ('{}')", many.replace('\'', "''"));
    for sql in [cursor, execute] {
        let answer = session.run(&sql, PATIENCE);
        assert!(matches!(answer, Answer::Error(701, _)), "{sql}: {answer:?}");
    }
    // What was kept is given back.
    for _ in 0..10 {
        let sql = "DECLARE c2 CURSOR STATIC LOCAL FOR SELECT value, REPLICATE('x', 100) AS s FROM GENERATE_SERIES(1, 50000) OPEN c2 DEALLOCATE c2";
        assert_eq!(session.run(sql, PATIENCE), Answer::Done);
        let sql = "CREATE TABLE #few (v int) INSERT #few EXEC ('SELECT value FROM GENERATE_SERIES(1, 50000)') IF @@ROWCOUNT <> 50000 THROW 50000, 'rows', 1 DROP TABLE #few";
        assert_eq!(session.run(sql, PATIENCE), Answer::Done);
    }
    assert!(server.is_alive());
}

/// INSERT … EXECUTE of a text that catches the error of having too little memory. Rows that came before the error stay in the result.
const CAUGHT: &str = "INSERT t EXEC ('BEGIN TRY SELECT value, REPLICATE(''x'', 200 + value % 2) AS s FROM GENERATE_SERIES(1, 1000000) END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ''caught'' END CATCH')";

#[test]
fn rows_before_a_caught_error_are_inserted_if_the_table_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let server = ChildServer::start_any(&["--data", data, "--no-sync", "--memory-limit", SMALL_LIMIT]);
    let mut session = server.connect();
    for sql in [
        "CREATE TABLE t (v int, s varchar(300))",
        CAUGHT,
        "IF @@ROWCOUNT < 2 OR (SELECT COUNT(*) FROM t WHERE v = 701 AND s = 'caught') <> 1 THROW 50000, 'wrong rows', 1",
    ] {
        assert_eq!(session.run(sql, PATIENCE), Answer::Done, "{sql}");
    }
}

#[test]
fn a_table_in_memory_gets_the_room_of_rows_that_were_kept_for_it() {
    let mut server = ChildServer::start(&["--memory-limit", SMALL_LIMIT]);
    let mut session = server.connect();
    assert_eq!(session.run("CREATE TABLE t (v int, s varchar(300))", PATIENCE), Answer::Done);
    // The rows that are kept take all memory: the database has none for them and for the log of adding them.
    let answer = session.run(CAUGHT, PATIENCE);
    assert!(matches!(&answer, Answer::Error(1105 | 9002, text) if text.contains("memory")), "{answer:?}");
    // These do not fit beside themselves, their copies in the table and its log.
    let sql = "INSERT t EXEC ('SELECT value, REPLICATE(''x'', 200 + value % 2) AS s FROM GENERATE_SERIES(1, 50000)') IF @@ROWCOUNT <> 50000 THROW 50000, 'wrong rows', 1";
    assert_eq!(session.run(sql, PATIENCE), Answer::Done);
    assert!(server.is_alive());
}
