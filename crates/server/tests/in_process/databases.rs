//! Databases as folders with stores of their own: making and dropping them is cut short at every step, a server that is killed leaves
//! transactions over several of them done or undone, waits in a circle through two of them end, and what was set of each is kept.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::answers::answer;
use crate::ending::EndingFolders;
use crate::instances::{empty, on_disk, session};
use databases::instance::Instance;
use databases::storage::{Databases, DirectoryFolders, OpenError};
use executor::session::Session;
use store::{EngineError, EngineOptions};

/// Rows, errors and messages of a batch.
async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

async fn is_done(session: &mut Session, batch: &str) {
    assert_eq!(lines(session, batch).await, [""; 0], "{batch}");
}

fn folders_of(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const SYSTEM: [&str; 4] = ["master", "model", "msdb", "tempdb"];

/// What is done while the process ends.
const MAKE_AND_DROP: [&str; 4] = [
    "CREATE DATABASE [Größe 1]",
    "CREATE TABLE [Größe 1]..t (id int); INSERT [Größe 1]..t VALUES (1)",
    "CREATE DATABASE other",
    "DROP DATABASE [Größe 1]",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_made_and_dropped_as_a_whole_wherever_the_process_ends() {
    // Cuts in which the database was there and not, and in which something had to be removed.
    let (mut with, mut without, mut removed) = (0, 0, 0);
    let start = i64::MAX / 2;
    let mut steps = 0;
    let mut end = None;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let left = Arc::new(AtomicI64::new(start));
        let folders = DirectoryFolders::open(folder.path(), false).unwrap();
        let folders = Box::new(EndingFolders { folders, left: Arc::clone(&left) });
        let databases = Databases::open_in(folders, EngineOptions::default()).unwrap();
        let instance = Arc::new(Instance::new(databases).unwrap());
        left.store(end.unwrap_or(start), Ordering::SeqCst);
        let mut done = 0;
        {
            let mut session = session(&instance, 51);
            for batch in MAKE_AND_DROP {
                if lines(&mut session, batch).await.iter().any(|line| line.starts_with("error ")) {
                    break;
                }
                done += 1;
            }
        }
        if end.is_none() {
            // Once without an end, to count the operations.
            assert_eq!(done, 4);
            steps = start - left.load(Ordering::SeqCst);
        }
        drop(instance);
        let before = folders_of(folder.path());
        let instance = on_disk(folder.path());
        let mut session = session(&instance, 51);
        let names =
            lines(&mut session, "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY 1").await;
        let when = format!("ended after {end:?} of {steps}, {done} done");
        match (done, names.iter().any(|name| name == "Größe 1")) {
            (0, true) | (1..=2, true) | (3, true) => {
                with += 1;
                let rows = lines(&mut session, "SELECT COUNT(*) FROM [Größe 1]..t").await;
                match done {
                    2.. => assert_eq!(rows, ["1"], "{when}"),
                    // The table, the row, or neither.
                    _ => assert!(rows[0].starts_with("error 208") || ["0", "1"].contains(&rows[0].as_str())),
                }
                is_done(&mut session, "CREATE TABLE [Größe 1]..after (id int); DROP DATABASE [Größe 1]")
                    .await;
            }
            // Being made, or being dropped.
            (0 | 3 | 4, false) => without += 1,
            (done, there) => panic!("{when}: {done}, {there}"),
        }
        // The names are free, and no folder is left over.
        is_done(&mut session, "CREATE DATABASE [Größe 1]; CREATE TABLE [Größe 1]..t (id int)").await;
        let names =
            lines(&mut session, "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY 1").await;
        let after = folders_of(folder.path());
        assert_eq!(after.len(), SYSTEM.len() + names.len(), "{when}: {after:?}");
        removed += usize::from(before.iter().any(|folder| !after.contains(folder)));
        drop((session, instance));
        end = match end {
            None => Some(0),
            Some(end) if end >= steps => break,
            Some(end) => Some(end + 1),
        };
    }
    println!(
        "{steps} operations: with the database {with}, without {without}, {removed} times something was removed"
    );
    assert!(steps > 60 && with > 20 && without > 20 && removed > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_are_not_the_servers_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    {
        let instance = on_disk(folder.path());
        is_done(&mut session(&instance, 51), "CREATE DATABASE sales; CREATE TABLE sales..t (id int)").await;
        // Neither another process nor another server of this one gets in.
        let refused = Databases::open(folder.path(), false).unwrap_err();
        assert!(matches!(refused, OpenError::Engine(EngineError::InUse { .. })), "{refused}");
    }
    for (name, file) in [("notes", "readme.txt"), ("old-7", "control")] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join(file), b"x").unwrap();
    }
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    drop(on_disk(folder.path()));
    let names = folders_of(folder.path());
    assert!(["notes", "old-7", "empty"].iter().all(|name| names.iter().any(|own| own == name)), "{names:?}");
    // A database whose files are gone is not taken for an empty one.
    let sales = names.iter().find(|name| name.starts_with("sales-")).unwrap();
    std::fs::rename(folder.path().join(sales), folder.path().join("elsewhere")).unwrap();
    let refused = Databases::open(folder.path(), false).unwrap_err();
    assert!(refused.to_string().contains("\"sales\"") && refused.to_string().contains(sales), "{refused}");
    std::fs::remove_dir_all(folder.path().join(sales)).unwrap();
    std::fs::rename(folder.path().join("elsewhere"), folder.path().join(sales)).unwrap();
    drop(on_disk(folder.path()));
    // Nor is a directory without its catalogue a new one.
    std::fs::rename(folder.path().join("master"), folder.path().join("kept")).unwrap();
    let refused = Databases::open(folder.path(), false).unwrap_err();
    assert!(refused.to_string().contains("no master"), "{refused}");
}

#[test]
fn a_directory_of_one_store_for_all_databases_is_refused_with_its_form() {
    let folder = tempfile::tempdir().unwrap();
    drop(store::Engine::open(folder.path(), EngineOptions::default()).unwrap());
    let refused = Databases::open(folder.path(), false).unwrap_err();
    assert!(matches!(refused, OpenError::OneStore { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_set_of_a_database_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "SELECT name, recovery_model_desc, DATABASEPROPERTYEX(name, 'ServiceObjective') FROM sys.databases WHERE name IN ('sales', 'stock') ORDER BY 1; SELECT name FROM sales.sys.filegroups ORDER BY data_space_id; SELECT COUNT(*) FROM stock..t";
    let expected = ["sales | FULL | S1", "stock | SIMPLE | NULL", "PRIMARY", "late", "3"];
    {
        let instance = on_disk(folder.path());
        let mut session = session(&instance, 51);
        is_done(
            &mut session,
            "CREATE DATABASE sales; CREATE DATABASE stock; ALTER DATABASE sales SET RECOVERY FULL; ALTER DATABASE sales MODIFY (SERVICE_OBJECTIVE = 'S1'); ALTER DATABASE sales ADD FILEGROUP late; CREATE TABLE stock..t (id int); INSERT stock..t VALUES (1), (2), (3); CREATE TABLE tempdb..kept (id int)",
        )
        .await;
        assert_eq!(lines(&mut session, asked).await, expected);
        let paths = lines(
            &mut session,
            "SELECT physical_name FROM sys.master_files WHERE database_id = DB_ID('sales') ORDER BY 1",
        )
        .await;
        assert!(paths[0].starts_with("sales-") && paths[0].ends_with("/data-1.pages"), "{paths:?}");
    }
    let instance = on_disk(folder.path());
    let mut session = session(&instance, 51);
    assert_eq!(lines(&mut session, asked).await, expected);
    // tempdb is empty whenever a server starts.
    assert!(lines(&mut session, "SELECT * FROM tempdb..kept").await[0].starts_with("error 208"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_circle_of_waits_through_two_databases_is_error_1205() {
    let instance = Arc::new(empty());
    let (mut one, mut two) = (session(&instance, 51), session(&instance, 52));
    is_done(
        &mut one,
        "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a..t (id int); CREATE TABLE b..t (id int)",
    )
    .await;
    is_done(&mut one, "BEGIN TRANSACTION; TRUNCATE TABLE a..t").await;
    is_done(&mut two, "BEGIN TRANSACTION; TRUNCATE TABLE b..t").await;
    let first = tokio::spawn(async move {
        let answer = lines(&mut one, "TRUNCATE TABLE b..t").await;
        drop(one);
        answer
    });
    let second = tokio::spawn(async move {
        let answer = lines(&mut two, "TRUNCATE TABLE a..t").await;
        drop(two);
        answer
    });
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        (first.await.unwrap(), second.await.unwrap())
    });
    let (first, second) = ended.await.expect("they wait for each other");
    let victims =
        [&first, &second].into_iter().filter(|lines| lines.iter().any(|line| line.starts_with("error 1205")));
    assert_eq!(victims.count(), 1, "{first:?} {second:?}");
}

const CHILD_DIRECTORY: &str = "BULKWIRE_DATABASES_KILL_DIRECTORY";
const KILLS: u64 = 40;

/// Makes transactions over two databases, or three, and says so after each; now and then a database comes and goes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other half of `a_killed_server_leaves_transactions_over_several_databases_done_or_undone`"]
async fn child() {
    let directory = std::env::var_os(CHILD_DIRECTORY).unwrap();
    let instance = on_disk(Path::new(&directory));
    let mut session = session(&instance, 51);
    let next = lines(&mut session, "SELECT COALESCE(MAX(id), 0) + 1 FROM a..t").await;
    let next: u64 = next[0].parse().unwrap();
    let mut output = io::stdout();
    writeln!(output, "\nopen").unwrap();
    for number in next.. {
        let third = if number % 3 == 0 { format!("UPDATE t SET id = {number};") } else { String::new() };
        let batch = format!(
            "BEGIN TRANSACTION; INSERT a..t VALUES ({number}); {third} INSERT b..t VALUES ({number}); COMMIT"
        );
        is_done(&mut session, &batch).await;
        if number % 5 == 0 {
            is_done(&mut session, &format!("CREATE DATABASE passing; CREATE TABLE passing..t (id int); INSERT passing..t VALUES ({number})")).await;
            is_done(&mut session, "DROP DATABASE passing").await;
        }
        writeln!(output, "done {number}").unwrap();
        output.flush().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_transactions_over_several_databases_done_or_undone() {
    let folder = tempfile::tempdir().unwrap();
    {
        let mut session = session(&on_disk(folder.path()), 51);
        is_done(
            &mut session,
            "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a..t (id int); CREATE TABLE b..t (id int PRIMARY KEY); CREATE TABLE t (id int); INSERT t VALUES (0)",
        )
        .await;
    }
    let mut known = 0_u64;
    for kill in 0..KILLS {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["databases::child", "--exact", "--ignored", "--nocapture"]);
        let mut child = command.env(CHILD_DIRECTORY, folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines_of_child = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines_of_child.by_ref().any(|line| line.unwrap() == "open"));
        std::thread::sleep(Duration::from_micros(kill * 7919 % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = lines_of_child
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("done ")?.parse().ok())
            .max();
        let acknowledged: u64 = told.unwrap_or(known);

        let instance = on_disk(folder.path());
        let mut session = session(&instance, 51);
        let found = lines(&mut session, "SELECT COUNT(*), COALESCE(MAX(id), 0), (SELECT COUNT(*) FROM a..t x JOIN b..t y ON y.id = x.id), (SELECT COUNT(*) FROM b..t), (SELECT id FROM t) FROM a..t").await;
        let numbers: Vec<u64> = found[0].split(" | ").map(|number| number.parse().unwrap()).collect();
        let [rows, last, both, others, third] = numbers.as_slice() else { panic!("{found:?}") };
        assert!(rows == last && rows == both && rows == others, "kill {kill}: {found:?}");
        assert_eq!(*third, last / 3 * 3, "kill {kill}");
        assert!(
            *last >= acknowledged && *last <= acknowledged.max(known) + 1,
            "kill {kill}: {last} of {acknowledged}"
        );
        // What was passing is there as a whole, or not at all.
        let passing = lines(&mut session, "IF DB_ID('passing') IS NOT NULL DROP DATABASE passing").await;
        assert_eq!(passing, [""; 0], "kill {kill}");
        assert_eq!(folders_of(folder.path()).len(), SYSTEM.len() + 2, "kill {kill}");
        is_done(&mut session, "DBCC CHECKDB (a) WITH NO_INFOMSGS; DBCC CHECKDB (b) WITH NO_INFOMSGS").await;
        known = *last;
    }
    assert!(known > KILLS, "{known} transactions in {KILLS} kills");
}
