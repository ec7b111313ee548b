//! What administrators do with a database of pages on disk: find damage that was planted in a file, back up the log, look at who waits
//! for whom, hold the database to a service tier.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::answer;
use crate::instances::{empty, session};
use bulkwire_server::FileAccess;
use databases::instance::Instance;
use databases::storage::Databases;
use executor::session::Session;

const PAGE: usize = 8192;

fn instance(directory: &Path) -> Arc<Instance> {
    let database = Databases::open(directory, false).unwrap();
    Arc::new(Instance::new(database).unwrap())
}

/// Rows, messages and errors of a batch.
async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

/// Two tables on disk, one with a text that no other page has.
async fn two_tables(directory: &Path) {
    let mut session = session(&instance(directory), 51);
    let made = lines(
        &mut session,
        "CREATE TABLE dbo.hurt (id int NOT NULL, word char(20) NOT NULL); CREATE TABLE dbo.whole (id int NOT NULL);
         INSERT dbo.hurt SELECT value, 'unmistakable' FROM GENERATE_SERIES(1, 2000); INSERT dbo.whole SELECT value FROM GENERATE_SERIES(1, 2000); CHECKPOINT",
    )
    .await;
    assert_eq!(made, [""; 0]);
}

/// Changes the first page of rows that holds a text, and says its number.
fn damage(directory: &Path, change: impl Fn(&mut [u8])) -> usize {
    let path = directory.join("master/data-1.pages");
    let mut file = std::fs::read(&path).unwrap();
    let is_wanted = |page: &[u8]| page[1] == 1 && page.windows(12).any(|text| text == b"unmistakable");
    let number = file.chunks(PAGE).position(is_wanted).expect("no page has the text");
    change(&mut file[number * PAGE..(number + 1) * PAGE]);
    std::fs::write(&path, file).unwrap();
    number
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc(bytes: impl Iterator<Item = u8>) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Gives a page the checksum of what it holds, so that only a look at its structure finds what is wrong.
fn seal(page: &mut [u8]) {
    let sum = crc(page.iter().enumerate().filter(|(at, _)| !(60..64).contains(at)).map(|(_, byte)| *byte));
    page[60..64].copy_from_slice(&sum.to_le_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_page_is_found_and_leaves_other_tables_usable() {
    let folder = tempfile::tempdir().unwrap();
    two_tables(folder.path()).await;
    let page = damage(folder.path(), |page| page[4000] ^= 0x40);
    let instance = instance(folder.path());
    let mut session = session(&instance, 51);
    let found = lines(&mut session, "DBCC CHECKTABLE ('hurt')").await;
    assert_eq!(found[0], "info: DBCC results for 'hurt'.");
    assert!(found[1].starts_with("error 8928: Object ID ") && found[1].contains(&format!("Page (1:{page})")));
    assert!(found[2].starts_with("error 8939: Table error: ") && found[2].contains("checksum"), "{found:?}");
    assert!(found[3].starts_with("info: There are 2000 rows in "), "{found:?}");
    assert!(
        found[4].starts_with(
            "info: CHECKTABLE found 0 allocation errors and 2 consistency errors in table 'hurt'"
        ),
        "{found:?}"
    );
    assert_eq!(
        found[5],
        "info: repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKTABLE (master.dbo.hurt)."
    );
    assert!(found[6].starts_with("info: DBCC execution completed."), "{found:?}");
    assert_eq!(lines(&mut session, "SELECT @@ERROR").await, ["8939"]);

    // Rows of 7 bytes header and column, and a slot: 2,000 rows of 13 bytes are four pages.
    let whole = lines(&mut session, "DBCC CHECKTABLE ('whole'); SELECT COUNT(*), SUM(id) FROM whole").await;
    assert_eq!(
        whole,
        [
            "info: DBCC results for 'whole'.",
            "info: There are 2000 rows in 4 pages for object \"whole\".",
            "info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.",
            "2000 | 2001000",
        ]
    );
    let all = lines(&mut session, "DBCC CHECKDB (master) WITH NO_INFOMSGS").await;
    let numbers: Vec<&str> = all.iter().filter_map(|line| line.strip_prefix("error ")?.get(..4)).collect();
    assert_eq!(numbers, ["8928", "8939"]);
    assert!(all.iter().any(|line| {
        line == "info: CHECKDB found 0 allocation errors and 2 consistency errors in database 'master'."
    }));
    assert!(!all.iter().any(|line| line.contains("whole")), "{all:?}");

    let rows = lines(
        &mut session,
        "CREATE TABLE #found (error int, level int, state int, message nvarchar(2048), repair nvarchar(60), status int, db int, fragment int,
           object int, [index] int, partition bigint, unit bigint, rid_db int, rid_pru int, [file] int, page int, slot int, ref_db int, ref_pru int,
           ref_file int, ref_page int, ref_slot int, allocation int);
         INSERT #found EXEC ('DBCC CHECKTABLE (hurt) WITH TABLERESULTS, NO_INFOMSGS');
         SELECT f.error, f.[file], f.page, f.object - OBJECT_ID('hurt'), u.type_desc FROM #found f JOIN sys.allocation_units u ON u.allocation_unit_id = f.unit",
    )
    .await;
    assert_eq!(
        rows,
        [format!("8928 | 1 | {page} | 0 | IN_ROW_DATA"), format!("8939 | 1 | {page} | 0 | IN_ROW_DATA")]
    );
    let read = lines(&mut session, "SELECT COUNT(*) FROM hurt WHERE word = 'unmistakable'").await;
    assert!(read.iter().any(|line| line.starts_with("error 824: ")), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_under_a_valid_checksum_is_found() {
    type Change = fn(&mut [u8]);
    let cases: [(&str, Change, &[&str]); 4] = [
        // The header's count of free bytes; the map of free space then disagrees, too.
        ("free bytes", |page| page[28..30].copy_from_slice(&8000_u16.to_le_bytes()), &["8939"]),
        // The first slot leads into the header.
        ("slot", |page| page[8190..8192].copy_from_slice(&20_u16.to_le_bytes()), &["8939", "8941", "2537"]),
        // The first record's fixed part reaches beyond the page.
        ("record", |page| page[98..100].copy_from_slice(&u16::MAX.to_le_bytes()), &["2537", "8941"]),
        // The page says that it is another table's.
        ("owner", |page| page[24..28].copy_from_slice(&77_u32.to_le_bytes()), &["2533"]),
    ];
    for (name, change, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        two_tables(folder.path()).await;
        let page = damage(folder.path(), |page| {
            change(page);
            seal(page);
        });
        let instance = instance(folder.path());
        let mut session = session(&instance, 51);
        let found = lines(&mut session, "DBCC CHECKTABLE ('hurt') WITH NO_INFOMSGS").await;
        let first = found.first().unwrap_or_else(|| panic!("{name}: nothing was found"));
        let number = first.strip_prefix("error ").and_then(|line| line.get(..4));
        assert!(expected.contains(&number.unwrap_or("")), "{name}: {found:?}");
        assert!(first.contains(&format!("(1:{page})")), "{name}: {found:?}");
        assert_eq!(
            lines(&mut session, "DBCC CHECKTABLE ('whole') WITH NO_INFOMSGS").await,
            [""; 0],
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_backup_is_written_whole_or_not_at_all() {
    let (data, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let access = FileAccess::new([backups.path().to_owned()]).unwrap();
    let database = Databases::open(data.path(), false).unwrap();
    let instance = Arc::new(Instance::new(database).unwrap().with_files(access));
    let mut session = session(&instance, 51);
    let used = "SELECT log_space_in_bytes_since_last_backup FROM sys.dm_db_log_space_usage";
    let prepared = "ALTER DATABASE CURRENT SET RECOVERY FULL; CREATE TABLE t (id int, filler char(200)); INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 20000)";
    assert_eq!(lines(&mut session, prepared).await, [""; 0]);
    let before: u64 = lines(&mut session, used).await[0].parse().unwrap();
    // 20,000 rows of 211 bytes, each page logged as a whole.
    assert!(before > 4_000_000, "{before}");
    let told = lines(&mut session, "BACKUP LOG master TO DISK = 'one.trn' WITH CHECKSUM, STATS = 50").await;
    assert_eq!(told[..2], ["info: 50 percent processed.", "info: 100 percent processed."]);
    assert!(
        told[2].starts_with("info: Processed ")
            && told[2].ends_with("for database 'master', file 'mastlog' on file 1.")
    );
    assert!(told[3].starts_with("info: BACKUP LOG successfully processed "), "{told:?}");
    let after: u64 = lines(&mut session, used).await[0].parse().unwrap();
    assert!(after * 10 < before, "{before} {after}");
    let file = std::fs::read(backups.path().join("one.trn")).unwrap();
    assert!(file.starts_with(b"TAPE") && file.len() as u64 >= before / 2);

    // A second backup replaces the first only with INIT or FORMAT; otherwise it follows it in the file.
    let second = lines(&mut session, "BACKUP LOG master TO DISK = 'one.trn'").await;
    assert!(second[0].ends_with("for database 'master', file 'mastlog' on file 2."), "{second:?}");
    assert!(std::fs::read(backups.path().join("one.trn")).unwrap().starts_with(&file));
    let told = lines(&mut session, "DECLARE @db sysname = 'master', @file nvarchar(20) = N'one.trn'; BACKUP LOG @db TO DISK = @file WITH INIT").await;
    assert!(told[1].starts_with("info: BACKUP LOG successfully processed "), "{told:?}");
    assert_ne!(std::fs::read(backups.path().join("one.trn")).unwrap(), file);
    let names: Vec<_> =
        std::fs::read_dir(backups.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["one.trn"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_shown_with_whom_he_waits_for() {
    let instance = Arc::new(empty());
    let (mut holder, mut watcher) = (session(&instance, 51), session(&instance, 53));
    assert_eq!(lines(&mut holder, "CREATE TABLE t (id int); INSERT t VALUES (1)").await, [""; 0]);
    assert_eq!(lines(&mut holder, "BEGIN TRAN; TRUNCATE TABLE t").await, [""; 0]);
    let held = "SELECT resource_type, request_mode, request_status, request_session_id, resource_database_id FROM sys.dm_tran_locks WHERE resource_associated_entity_id = OBJECT_ID('t') ORDER BY request_session_id";
    assert_eq!(lines(&mut watcher, held).await, ["OBJECT | Sch-M | GRANT | 51 | 1"]);

    let other = Arc::clone(&instance);
    let waiter = tokio::spawn(async move {
        let mut session = session(&other, 52);
        lines(&mut session, "INSERT t VALUES (3)").await
    });
    let waiting = "SELECT session_id, status, blocking_session_id, wait_type, wait_resource FROM sys.dm_exec_requests WHERE blocking_session_id <> 0";
    let mut seen = Vec::new();
    while seen.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        seen = lines(&mut watcher, waiting).await;
    }
    let id = lines(&mut watcher, "SELECT OBJECT_ID('t')").await.remove(0);
    assert_eq!(seen, [format!("52 | suspended | 51 | LCK_M_IX | OBJECT: 1:{id}:0")]);
    assert_eq!(
        lines(&mut watcher, held).await,
        ["OBJECT | Sch-M | GRANT | 51 | 1", "OBJECT | IX | WAIT | 52 | 1"]
    );
    let tasks = "SELECT session_id, wait_type, blocking_session_id FROM sys.dm_os_waiting_tasks";
    assert_eq!(lines(&mut watcher, tasks).await, ["52 | LCK_M_IX | 51"]);

    assert_eq!(lines(&mut holder, "COMMIT").await, [""; 0]);
    assert_eq!(waiter.await.unwrap(), [""; 0]);
    assert_eq!(lines(&mut watcher, held).await, [""; 0]);
    let waits = "SELECT waiting_tasks_count FROM sys.dm_os_wait_stats WHERE wait_type = 'LCK_M_IX'";
    assert_eq!(lines(&mut watcher, waits).await, ["1"]);
    assert_eq!(lines(&mut watcher, "SELECT id FROM t").await, ["3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_objective_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let shown =
        "SELECT DATABASEPROPERTYEX('master', 'Edition'), DATABASEPROPERTYEX('master', 'ServiceObjective')";
    {
        let mut session = session(&instance(folder.path()), 51);
        assert_eq!(lines(&mut session, shown).await, ["NULL | NULL"]);
        assert_eq!(lines(&mut session, "SELECT COUNT(*) FROM sys.dm_db_resource_stats").await, ["0"]);
        let set = "ALTER DATABASE CURRENT MODIFY (EDITION = 'Standard', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'S1')";
        assert_eq!(lines(&mut session, set).await, [""; 0]);
    }
    let mut session = session(&instance(folder.path()), 51);
    assert_eq!(lines(&mut session, shown).await, ["Standard | S1"]);
    assert_eq!(
        lines(&mut session, "SELECT edition, service_objective FROM sys.database_service_objectives WHERE database_id = DB_ID()").await,
        ["Standard | S1"]
    );
    // The first sample is of the first 15 seconds.
    let samples = "SELECT COUNT(*) FROM sys.dm_db_resource_stats WHERE dtu_limit <> 20 OR avg_log_write_percent > 100.01";
    assert_eq!(lines(&mut session, samples).await, ["0"]);
    for (statement, number) in [
        ("ALTER DATABASE CURRENT MODIFY (SERVICE_OBJECTIVE = 'S99')", "error 40804"),
        ("ALTER DATABASE CURRENT MODIFY (EDITION = 'Premium', SERVICE_OBJECTIVE = 'S1')", "error 40808"),
    ] {
        let refused = lines(&mut session, statement).await;
        assert!(refused[0].starts_with(number) && refused[1].starts_with("error 5069"), "{refused:?}");
    }
    assert_eq!(
        lines(&mut session, "ALTER DATABASE CURRENT MODIFY (SERVICE_OBJECTIVE = 'None')").await,
        [""; 0]
    );
    assert_eq!(lines(&mut session, shown).await, ["NULL | NULL"]);
}
