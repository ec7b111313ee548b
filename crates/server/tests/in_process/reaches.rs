//! What ends a statement, a scope, a batch and a transaction: every kind of error in every place, with work behind it.
//!
//! The kinds are those of SQL Server's documentation: TRY...CATCH (errors of compiling are not caught at their own level; most errors
//! of definitions, and those under XACT_ABORT, end the transaction), SET XACT_ABORT (errors of compiling and RAISERROR do not heed it, THROW
//! does), THROW (the batch is terminated), RAISERROR (up to 18 nothing ends), and the severities of errors (19 and more end the
//! batch, 20 and more the connection).

use std::sync::Arc;

use databases::instance::Instance;
use executor::session::response::Response;
use executor::session::{Cancellation, Request, Session};
use executor::statements::execute;
use tokio::sync::mpsc;

use crate::answers::answer;
use crate::instances::{empty, on_deep_stacks, session};

/// What an error ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ends {
    /// Its statement; under XACT_ABORT the transaction.
    Statement,
    /// Its statement, whatever XACT_ABORT says.
    StatementAlways,
    /// The batch, procedure or text that it stands in. It could not be compiled, and no TRY of the same level catches it.
    Scope,
    /// The batch; under XACT_ABORT the transaction.
    Batch,
    /// The batch, whatever XACT_ABORT says.
    BatchAlways,
    /// The batch and the transaction.
    Transaction,
}

use Ends::{Batch, BatchAlways, Scope, Statement, StatementAlways, Transaction};

/// Statements that fail, by the error's number.
const FAILING: &[(i32, Ends, &str)] = &[
    (8134, Statement, "SELECT 1 / 0"),
    (515, Statement, "INSERT keyed (id) VALUES (2)"),
    (547, Statement, "INSERT keyed (id, n) VALUES (2, 500)"),
    (547, Statement, "INSERT child VALUES (77)"),
    (547, Statement, "DELETE keyed"),
    (2627, Statement, "INSERT keyed (id, n) VALUES (1, 2)"),
    (2601, Statement, "INSERT keyed (id, n) VALUES (2, 1)"),
    (2628, Statement, "UPDATE keyed SET s = 'too long'"),
    (220, Statement, "UPDATE keyed SET t = 300"),
    (232, Statement, "SELECT CAST(1e20 AS int)"),
    (8115, Statement, "SELECT CAST(1000000 AS decimal(3, 0))"),
    (512, Statement, "SELECT (SELECT id FROM twice)"),
    (517, Statement, "SELECT DATEADD(year, 9000, GETDATE())"),
    (544, Statement, "INSERT counted (id) VALUES (5)"),
    (2812, Statement, "EXEC nosuch"),
    (201, Statement, "EXEC needs"),
    (8144, Statement, "EXEC needs 1, 2"),
    (8145, Statement, "EXEC needs @b = 2"),
    (8178, Statement, "EXEC sp_executesql N'SELECT @p', N'@p int'"),
    (16916, Statement, "OPEN nosuch"),
    (102, Statement, "EXEC('SELECT , 1')"),
    (156, Statement, "EXEC sp_executesql N'SELECT FROM'"),
    (133, Statement, "EXEC('GOTO nosuch')"),
    (137, Statement, "EXEC('SELECT @nosuch')"),
    (137, Statement, "EXEC sp_executesql N'EXEC needs @nosuch'"),
    (1087, Statement, "EXEC('SELECT * FROM @nosuch')"),
    (13608, Statement, "SELECT JSON_VALUE('{}', 'strict $.a')"),
    (13609, Statement, "SELECT JSON_VALUE('x', '$.a')"),
    (15600, StatementAlways, "RAISERROR(15600, -1, -1, 'p')"),
    (50000, StatementAlways, "RAISERROR('low', 11, 1)"),
    (50000, StatementAlways, "RAISERROR('middle', 16, 1)"),
    (50000, StatementAlways, "RAISERROR('high', 17, 1)"),
    (50000, StatementAlways, "RAISERROR('higher', 18, 1)"),
    (50000, StatementAlways, "IF 1 = 1 BEGIN RAISERROR('inside', 16, 1) END"),
    (3701, StatementAlways, "DROP TABLE nosuch"),
    (15225, StatementAlways, "EXEC sp_rename 'nosuch', 'other'"),
    (208, Scope, "SELECT * FROM nosuch"),
    (208, Scope, "INSERT nosuch VALUES (1)"),
    (208, Scope, "DELETE FROM nosuch"),
    (208, Scope, "IF EXISTS (SELECT * FROM nosuch) PRINT 'there'"),
    (207, Scope, "SELECT nosuch FROM keyed"),
    (207, Scope, "UPDATE keyed SET nosuch = 1"),
    (207, Scope, "BEGIN IF 1 = 1 SELECT nosuch FROM keyed END"),
    (209, Scope, "SELECT id FROM keyed CROSS JOIN child"),
    (213, Scope, "INSERT child VALUES (1, 2)"),
    (4104, Scope, "SELECT x.id FROM keyed"),
    (8120, Scope, "SELECT id, COUNT(*) FROM keyed"),
    (195, Scope, "SELECT NOSUCH(1)"),
    (205, Scope, "SELECT 1 UNION SELECT 1, 2"),
    (206, Scope, "SELECT CAST(CAST('x' AS varchar(max)) AS sql_variant)"),
    (529, Scope, "SELECT CAST(1 AS xml)"),
    (1033, Scope, "SELECT * FROM (SELECT id FROM twice ORDER BY id) x"),
    (8121, Scope, "SELECT COUNT(*) FROM keyed HAVING n > 1"),
    (8117, Scope, "SELECT SUM(CAST('x' AS varchar(5)))"),
    (50001, Batch, "THROW 50001, 'thrown', 1"),
    (50001, Batch, "IF 1 = 1 BEGIN THROW 50001, 'inside', 1 END"),
    (50001, Batch, "EXEC('THROW 50001, ''deep'', 1')"),
    (8134, Batch, "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH THROW END CATCH"),
    (50000, BatchAlways, "RAISERROR('highest', 19, 1) WITH LOG"),
    (245, Transaction, "SELECT CAST('x' AS int)"),
    (245, Transaction, "INSERT child SELECT 'x'"),
    (241, Transaction, "SELECT CAST('2023-02-29' AS date)"),
    (8114, Transaction, "SELECT CAST('x' AS decimal(5, 2))"),
    (8169, Transaction, "SELECT CAST('x' AS uniqueidentifier)"),
    (9400, Transaction, "SELECT CAST('<a' AS xml)"),
    (289, Transaction, "SELECT DATEFROMPARTS(2023, 2, 30)"),
    (3623, Transaction, "SELECT SQRT(-1)"),
    (217, Transaction, "EXEC endless"),
    (911, Transaction, "USE nosuch"),
    (8106, Transaction, "SET IDENTITY_INSERT keyed ON"),
    (2714, Transaction, "CREATE TABLE keyed (a int)"),
    (2714, Transaction, "SELECT 1 AS a INTO keyed"),
    (2705, Transaction, "CREATE TABLE other (a int, a int)"),
    (4902, Transaction, "ALTER TABLE nosuch ADD a int"),
    (4924, Transaction, "ALTER TABLE keyed DROP COLUMN nosuch"),
    (3728, Transaction, "ALTER TABLE keyed DROP CONSTRAINT nosuch"),
    (547, Transaction, "ALTER TABLE twice ADD CHECK (id > 1)"),
    (1505, Transaction, "CREATE UNIQUE INDEX u ON twice (id)"),
    (3726, Transaction, "DROP TABLE keyed"),
    (4712, Transaction, "TRUNCATE TABLE keyed"),
];

/// Tables and procedures that they fail with.
const SETUP: &[&str] = &[
    "CREATE TABLE work (place varchar(10))",
    "CREATE TABLE keyed (id int PRIMARY KEY, n int NOT NULL CHECK (n < 100), t tinyint, s varchar(3))
     CREATE UNIQUE INDEX un ON keyed (n) INSERT keyed VALUES (1, 1, 1, 'a')",
    "CREATE TABLE child (id int REFERENCES keyed) INSERT child VALUES (1)",
    "CREATE TABLE twice (id int) INSERT twice VALUES (1), (1)",
    "CREATE TABLE counted (id int IDENTITY)",
    "CREATE TABLE fired (a int)",
    "CREATE PROCEDURE needs @a int AS SELECT @a AS a",
    "CREATE PROCEDURE endless AS EXEC endless",
];

/// Where a statement stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// A batch.
    Alone,
    /// A block and a loop within it.
    Block,
    /// A procedure that the batch calls.
    Procedure,
    /// A procedure that a text calls.
    Nested,
    /// EXEC of a text.
    Text,
    /// sp_executesql.
    Parameterised,
    /// A trigger.
    Trigger,
    /// TRY.
    Try,
    /// TRY around EXEC of a text.
    TryAround,
    /// TRY around a procedure.
    TryCall,
    /// CATCH.
    Catch,
}

const PLACES: [Place; 11] = [
    Place::Alone,
    Place::Block,
    Place::Procedure,
    Place::Nested,
    Place::Text,
    Place::Parameterised,
    Place::Trigger,
    Place::Try,
    Place::TryAround,
    Place::TryCall,
    Place::Catch,
];

impl Place {
    fn is_called(self) -> bool {
        matches!(
            self,
            Place::Procedure
                | Place::Nested
                | Place::Text
                | Place::Parameterised
                | Place::Trigger
                | Place::TryAround
                | Place::TryCall
        )
    }

    /// The batch with a statement at this place, and work behind it there and after it.
    fn batch(self, statement: &str) -> String {
        let work = |place: &str| format!("PRINT '{place}' INSERT work VALUES ('{place}')");
        let inner = format!("{statement}; {}", work("behind"));
        let quoted = inner.replace('\'', "''");
        let caught =
            "BEGIN CATCH PRINT CONCAT('caught ', ERROR_NUMBER(), ' ', XACT_STATE(), ' ', @@TRANCOUNT)
             IF XACT_STATE() = -1 ROLLBACK END CATCH";
        let after = work("after");
        match self {
            Place::Alone => inner,
            Place::Block => {
                format!(
                    "DECLARE @once int = 0 WHILE @once = 0 BEGIN SET @once = 1 IF 1 = 1 BEGIN {inner} END END {after}"
                )
            }
            Place::Procedure => format!("EXEC fails {after}"),
            Place::Nested => format!("EXEC('EXEC fails {}') {after}", work("between").replace('\'', "''")),
            Place::Text => format!("EXEC('{quoted}') {after}"),
            Place::Parameterised => format!("EXEC sp_executesql N'{quoted}' {after}"),
            Place::Trigger => format!("INSERT fired VALUES (1) {after}"),
            Place::Try => format!("BEGIN TRY {inner} END TRY {caught} {after}"),
            Place::TryCall => format!("BEGIN TRY EXEC fails END TRY {caught} {after}"),
            Place::TryAround => format!("BEGIN TRY EXEC('{quoted}') END TRY {caught} {after}"),
            Place::Catch => {
                format!("BEGIN TRY RAISERROR('into', 16, 1) END TRY BEGIN CATCH {inner} END CATCH {after}")
            }
        }
    }

    /// The module that the batch needs.
    fn module(self, statement: &str) -> Option<String> {
        let body = format!("{statement}; PRINT 'behind' INSERT work VALUES ('behind')");
        match self {
            Place::Procedure | Place::Nested | Place::TryCall => {
                Some(format!("CREATE OR ALTER PROCEDURE fails AS {body}"))
            }
            Place::Trigger => Some(format!("CREATE OR ALTER TRIGGER fires ON fired AFTER INSERT AS {body}")),
            _ => None,
        }
    }
}

/// What is seen of a case.
#[derive(Debug, PartialEq)]
struct Seen {
    /// What was printed: the work that was reached, and what CATCH knew.
    printed: Vec<String>,
    /// @@TRANCOUNT behind the batch.
    depth: usize,
    /// The work that stays once the transaction is committed that is still open.
    kept: Vec<String>,
}

fn expected(number: i32, ends: Ends, place: Place, aborts: bool, in_transaction: bool) -> Seen {
    // XACT_ABORT is ON in triggers.
    let aborts = aborts || place == Place::Trigger;
    let reach = match ends {
        Statement | Batch if aborts => Transaction,
        Scope if aborts && place.is_called() => Transaction,
        StatementAlways => Statement,
        BatchAlways => Batch,
        other => other,
    };
    let loses = reach == Transaction;
    let (mut printed, mut kept) = (Vec::new(), Vec::new());
    if in_transaction && !loses {
        kept.push("before".to_string());
    }
    let depth = usize::from(in_transaction && !loses);
    let tries =
        matches!(place, Place::Try if ends != Scope) || matches!(place, Place::TryAround | Place::TryCall);
    let (behind, after) = match place {
        _ if tries => (false, true),
        Place::Procedure | Place::Nested | Place::Text | Place::Parameterised => {
            (reach == Statement, matches!(reach, Statement | Scope))
        }
        _ => (reach == Statement, reach == Statement),
    };
    let mut reached = |place: &str| {
        printed.push(place.to_string());
        kept.push(place.to_string());
    };
    if behind {
        reached("behind");
    }
    if after && place == Place::Nested {
        reached("between");
    }
    if after && place != Place::Alone {
        reached("after");
    }
    if tries {
        let state = if !in_transaction { 0 } else { 1 - 2 * i32::from(loses) };
        printed.insert(0, format!("caught {number} {state} {}", i32::from(in_transaction)));
    }
    Seen { printed, depth, kept }
}

async fn lines(session: &mut Session, batch: &str, of: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.iter().filter_map(|line| line.strip_prefix(of)).map(str::to_string).collect()
}

async fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let lines = answer(session, query).await;
    lines.into_iter().filter(|line| !line.starts_with(['[', 's']) && !line.starts_with("affected")).collect()
}

async fn seen(
    instance: &Arc<Instance>,
    batch: &str,
    aborts: bool,
    in_transaction: bool,
) -> (Seen, Vec<String>) {
    let mut own = session(instance, 51);
    let begin = if in_transaction { "BEGIN TRAN INSERT work VALUES ('before')" } else { "" };
    let switch = if aborts { "ON" } else { "OFF" };
    let none = lines(&mut own, &format!("DELETE work SET XACT_ABORT {switch} {begin}"), "error ").await;
    assert_eq!(none, [""; 0]);
    let answered = answer(&mut own, batch).await;
    let printed =
        answered.iter().filter_map(|line| line.strip_prefix("info: ")).map(str::to_string).collect();
    let errors = answered.iter().filter_map(|line| line.strip_prefix("error ")).map(str::to_string).collect();
    let depth = rows(&mut own, "SELECT @@TRANCOUNT").await[0].parse().unwrap();
    let kept = rows(&mut own, "IF @@TRANCOUNT > 0 COMMIT SELECT place FROM work").await;
    (Seen { printed, depth, kept }, errors)
}

#[test]
fn what_must_end_ends_and_nothing_else() {
    on_deep_stacks(every_case());
}

async fn every_case() {
    let instance = Arc::new(empty());
    let mut first = session(&instance, 50);
    for batch in SETUP {
        assert_eq!(lines(&mut first, batch, "error ").await, [""; 0], "{batch}");
    }
    let (mut cases, mut failures) = (0, Vec::new());
    for (number, ends, statement) in FAILING {
        for place in PLACES {
            // USE stands in no procedure, and what a trigger that ends its batch by RAISERROR undoes is documented nowhere.
            let nowhere = matches!(place, Place::Procedure | Place::Nested | Place::TryCall | Place::Trigger)
                && *number == 911
                || place == Place::Trigger && *ends == BatchAlways;
            if nowhere {
                continue;
            }
            if let Some(module) = place.module(statement) {
                assert_eq!(lines(&mut first, &module, "error ").await, [""; 0], "{module}");
            }
            for (aborts, in_transaction) in [(false, false), (false, true), (true, false), (true, true)] {
                let batch = place.batch(statement);
                let (found, errors) = seen(&instance, &batch, aborts, in_transaction).await;
                let wanted = expected(*number, *ends, place, aborts, in_transaction);
                let said = errors.iter().any(|error| error.starts_with(&format!("{number}:")));
                let said = said || wanted.printed.iter().any(|line| line.starts_with("caught"));
                cases += 1;
                if found != wanted || !said {
                    failures.push(format!(
                        "{number} {place:?}, XACT_ABORT {aborts}, transaction {in_transaction}: {batch}\n  \
                         expected {wanted:?}\n  found    {found:?}\n  errors {errors:?}"
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {cases} differ:\n{}", failures.len(), failures.join("\n"));
}

/// 3960 in every place: the work behind it is not done outside of the transaction that it has ended.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_conflict_ends_the_batch() {
    let instance = Arc::new(empty());
    let mut other = session(&instance, 60);
    for batch in [
        "ALTER DATABASE master SET ALLOW_SNAPSHOT_ISOLATION ON",
        "CREATE TABLE work (place varchar(10)); CREATE TABLE acc (id int PRIMARY KEY, bal int); INSERT acc VALUES (1, 0)",
        "CREATE TABLE fired (a int)",
    ] {
        assert_eq!(lines(&mut other, batch, "error ").await, [""; 0], "{batch}");
    }
    let statement = "UPDATE acc SET bal = bal - 5 WHERE id = 1";
    for place in PLACES {
        if let Some(module) = place.module(statement) {
            assert_eq!(lines(&mut other, &module, "error ").await, [""; 0]);
        }
        let mut own = session(&instance, 51);
        let begin =
            "DELETE work SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN SELECT SUM(bal) FROM acc";
        assert_eq!(lines(&mut own, begin, "error ").await, [""; 0]);
        lines(&mut other, "UPDATE acc SET bal = bal + 1 WHERE id = 1", "error ").await;
        let printed = lines(&mut own, &place.batch(statement), "info: ").await;
        let depth = rows(&mut own, "SELECT @@TRANCOUNT").await;
        let kept = rows(&mut other, "SELECT place FROM work").await;
        let wanted = match place {
            Place::Try | Place::TryAround | Place::TryCall => vec!["caught 3960 -1 1", "after"],
            _ => vec![],
        };
        assert_eq!(printed, wanted, "{place:?}");
        assert_eq!(kept, wanted.into_iter().filter(|line| *line == "after").collect::<Vec<_>>(), "{place:?}");
        assert_eq!(depth, ["0"], "{place:?}");
    }
}

/// Severities of 20 and more end the connection, in every place: nothing catches them, and nothing behind them runs.
#[tokio::test(flavor = "multi_thread")]
async fn the_highest_severities_end_the_connection() {
    let instance = Arc::new(empty());
    let mut first = session(&instance, 50);
    lines(&mut first, "CREATE TABLE work (place varchar(10)) CREATE TABLE fired (a int)", "error ").await;
    let statement = "RAISERROR('fatal', 20, 1) WITH LOG";
    for place in PLACES {
        if let Some(module) = place.module(statement) {
            assert_eq!(lines(&mut first, &module, "error ").await, [""; 0]);
        }
        let mut own = session(&instance, 51);
        lines(&mut own, "BEGIN TRAN INSERT work VALUES ('before')", "error ").await;
        let (events, mut queue) = mpsc::channel(64);
        let batch = Request::Batch(place.batch(statement));
        execute(&mut own, batch, events, Cancellation::new()).await;
        let mut is_fatal = false;
        while let Ok(event) = queue.try_recv() {
            match event {
                Response::Done(done) => is_fatal |= done.fatal,
                Response::Info(notice) => panic!("{place:?}: {}", notice.message),
                _ => {}
            }
        }
        assert!(is_fatal, "{place:?}");
        drop(own);
        assert_eq!(rows(&mut first, "SELECT COUNT(*) FROM work").await, ["0"], "{place:?}");
    }
}

/// 1205 in every place: the session of the lower DEADLOCK_PRIORITY is the victim, and the work behind its statement is not done.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_ends_the_batch_of_the_lower_priority() {
    let instance = Arc::new(empty());
    let mut first = session(&instance, 60);
    for batch in [
        "CREATE TABLE work (place varchar(10)); CREATE TABLE fired (a int)",
        "CREATE TABLE one (n int); CREATE TABLE two (n int); INSERT one VALUES (1); INSERT two VALUES (1)",
    ] {
        assert_eq!(lines(&mut first, batch, "error ").await, [""; 0], "{batch}");
    }
    let statement = "UPDATE two SET n = n + 1";
    for (place, [own_priority, other_priority], is_victim) in PLACES.into_iter().flat_map(|place| {
        [(place, ["LOW", "NORMAL"], true), (place, ["3", "-3"], false), (place, ["-10", "LOW"], true)]
    }) {
        if let Some(module) = place.module(statement) {
            assert_eq!(lines(&mut first, &module, "error ").await, [""; 0]);
        }
        let begin = |priority: &str, table: &str| {
            format!("SET DEADLOCK_PRIORITY {priority} BEGIN TRAN UPDATE {table} SET n = n + 1")
        };
        lines(&mut first, "DELETE work", "error ").await;
        let (mut own, mut other) = (session(&instance, 51), session(&instance, 52));
        assert_eq!(lines(&mut own, &begin(own_priority, "one"), "error ").await, [""; 0]);
        assert_eq!(lines(&mut other, &begin(other_priority, "two"), "error ").await, [""; 0]);
        let waiting = tokio::spawn(async move {
            let answered = answer(&mut other, "UPDATE one SET n = n + 1 COMMIT").await;
            answered.iter().any(|line| line.starts_with("error 1205"))
        });
        let printed = lines(&mut own, &place.batch(statement), "info: ").await;
        let depth = rows(&mut own, "SELECT @@TRANCOUNT").await;
        drop(own);
        assert_eq!(waiting.await.unwrap(), !is_victim, "{place:?}");
        let wanted = match place {
            Place::Try | Place::TryAround | Place::TryCall => vec!["caught 1205 -1 1", "after"],
            _ => vec![],
        };
        if is_victim {
            assert_eq!(printed, wanted, "{place:?}");
            assert_eq!(depth, ["0"], "{place:?}");
        } else {
            assert_eq!(printed.first().map(String::as_str), Some("behind"), "{place:?}");
            assert_eq!(depth, ["1"], "{place:?}");
        }
    }
}

/// RAISERROR in a trigger undoes nothing, within TRY too: the row stays in a transaction that can be committed. THROW dooms it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_trigger_raises_is_caught_around_its_statement() {
    let instance = Arc::new(empty());
    let mut own = session(&instance, 51);
    for (raise, wanted) in [
        ("RAISERROR('no', 16, 1)", ["caught 50000 1 1", "after"]),
        ("THROW 50000, 'no', 1", ["caught 50000 -1 1", "after"]),
    ] {
        for batch in [
            "DROP TABLE IF EXISTS work, fired",
            "CREATE TABLE work (place varchar(10)); CREATE TABLE fired (a int)",
            &format!("CREATE TRIGGER fires ON fired AFTER INSERT AS {raise}; PRINT 'behind'"),
            "SET XACT_ABORT OFF BEGIN TRAN",
        ] {
            assert_eq!(lines(&mut own, batch, "error ").await, [""; 0], "{batch}");
        }
        let batch = "BEGIN TRY INSERT fired VALUES (1) END TRY BEGIN CATCH
             PRINT CONCAT('caught ', ERROR_NUMBER(), ' ', XACT_STATE(), ' ', @@TRANCOUNT)
             IF XACT_STATE() = -1 ROLLBACK ELSE COMMIT END CATCH PRINT 'after'";
        assert_eq!(lines(&mut own, batch, "info: ").await, wanted, "{raise}");
        let kept = usize::from(raise.starts_with("RAISERROR")).to_string();
        assert_eq!(rows(&mut own, "SELECT COUNT(*) FROM fired").await, [kept], "{raise}");
    }
}
