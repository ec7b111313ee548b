//! Backups of the server's own databases: written, shown, verified, damaged, and restored under their own name and another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::answers::answer;
use crate::instances::session;
use bulkwire_server::FileAccess;
use databases::instance::Instance;
use databases::storage::Databases;
use executor::session::Session;

const MADE: &str = "CREATE DATABASE shop";
const FILLED: &str = "CREATE SCHEMA sales;
GO
CREATE TABLE sales.customers (id int IDENTITY(10, 5) PRIMARY KEY, name nvarchar(40) NOT NULL, UNIQUE (name));
CREATE TABLE dbo.orders (id int PRIMARY KEY, customer int NOT NULL REFERENCES sales.customers (id), note nvarchar(max) NULL, total AS id * 2);
CREATE SEQUENCE dbo.numbers AS int START WITH 100;
INSERT sales.customers VALUES (N'Åsa'), (N'Bo');
INSERT dbo.orders SELECT value, 10, REPLICATE(CAST(N'x' AS nvarchar(max)), 9000) FROM GENERATE_SERIES(1, 300);
SELECT NEXT VALUE FOR dbo.numbers;
GO
CREATE VIEW dbo.large AS SELECT id, total FROM shop.dbo.orders WHERE id > 250;
GO
CREATE PROCEDURE dbo.counted AS SELECT COUNT(*) FROM dbo.orders;
GO
CREATE TRIGGER dbo.kept ON dbo.orders AFTER DELETE AS ROLLBACK";
const CONTENTS: &str = "SELECT COUNT(*), SUM(LEN(note)), MAX(total) FROM dbo.orders; SELECT id, name FROM sales.customers ORDER BY id";

fn instance(data: Option<&Path>, backups: &Path) -> Arc<Instance> {
    let access = FileAccess::new([backups.to_owned()]).unwrap();
    let databases = match data {
        Some(data) => Databases::open(data, false).unwrap(),
        None => Databases::in_memory(None).unwrap(),
    };
    Arc::new(Instance::new(databases).unwrap().with_files(access))
}

/// Rows, messages and errors of batches that GO divides.
async fn lines(session: &mut Session, batches: &str) -> Vec<String> {
    let mut all = Vec::new();
    for batch in batches.split("GO\n") {
        let lines = answer(session, batch).await;
        all.extend(lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")));
    }
    all
}

async fn made(session: &mut Session) -> Vec<String> {
    assert_eq!(lines(session, MADE).await, [""; 0]);
    assert_eq!(lines(session, "USE shop").await, [""; 0]);
    assert_eq!(lines(session, FILLED).await, ["100"]);
    let contents = lines(session, CONTENTS).await;
    assert_eq!(contents, ["300 | 2700000 | 600", "10 | Åsa", "15 | Bo"]);
    contents
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_brings_the_whole_database_back_under_its_name_and_another_one() {
    for on_disk in [true, false] {
        let (data, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let instance = instance(on_disk.then(|| data.path()), backups.path());
        let mut session = session(&instance, 51);
        let contents = made(&mut session).await;
        let told = lines(
            &mut session,
            "BACKUP DATABASE shop TO DISK = 'shop.bak' WITH NAME = 'whole', DESCRIPTION = N'all of it', CHECKSUM, MEDIANAME = 'shelf', RETAINDAYS = 3",
        )
        .await;
        assert!(told[0].ends_with(" pages for database 'shop', file 'data-1' on file 1."), "{told:?}");
        assert!(told[1].starts_with("info: BACKUP DATABASE successfully processed "), "{told:?}");
        assert_eq!(lines(&mut session, "INSERT sales.customers VALUES (N'later')").await, [""; 0]);

        let other = "USE master; RESTORE DATABASE [Copy of shop] FROM DISK = N'shop.bak' WITH MOVE N'data-1' TO N'C:\\data\\copy.mdf', STATS = 100";
        let told = lines(&mut session, other).await;
        assert_eq!(told[0], "info: 100 percent processed.", "{told:?}");
        assert!(told[2].starts_with("info: RESTORE DATABASE successfully processed "), "{told:?}");
        assert_eq!(lines(&mut session, "USE [Copy of shop]").await, [""; 0]);
        assert_eq!(lines(&mut session, CONTENTS).await, contents);
        // Modules, constraints, identity and sequence go on there, and the original does not notice.
        assert_eq!(
            lines(&mut session, "EXEC dbo.counted; SELECT COUNT(*) FROM dbo.large").await,
            ["300", "status 0", "50"]
        );
        let refused = lines(&mut session, "INSERT dbo.orders (id, customer) VALUES (1000, 99)").await;
        assert!(refused[0].starts_with("error 547: "), "{refused:?}");
        let go_on = "INSERT sales.customers VALUES (N'Cid'); SELECT MAX(id) FROM sales.customers; SELECT CASE WHEN NEXT VALUE FOR dbo.numbers > 100 THEN 'on' END";
        assert_eq!(lines(&mut session, go_on).await, ["20", "on"]);
        let apart = "SELECT COUNT(*) FROM shop.sys.objects AS a JOIN [Copy of shop].sys.objects AS b ON a.object_id = b.object_id WHERE a.type = 'U'";
        assert_eq!(lines(&mut session, apart).await, ["0"]);
        assert_eq!(lines(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS").await, [""; 0]);

        // Over the database itself: what came later is gone.
        assert_eq!(lines(&mut session, "USE master").await, [""; 0]);
        let told = lines(&mut session, "RESTORE DATABASE shop FROM DISK = 'shop.bak' WITH REPLACE").await;
        assert!(told[0].starts_with("info: Processed "), "{told:?}");
        assert_eq!(lines(&mut session, "USE shop").await, [""; 0]);
        assert_eq!(lines(&mut session, CONTENTS).await, contents);
        let go_on = "INSERT sales.customers VALUES (N'again'); SELECT MAX(id) FROM sales.customers";
        assert_eq!(lines(&mut session, go_on).await, ["20"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_show_what_the_statement_said() {
    let backups = tempfile::tempdir().unwrap();
    let instance = instance(None, backups.path());
    let mut session = session(&instance, 51);
    made(&mut session).await;
    let prepared = "ALTER DATABASE shop SET RECOVERY FULL; BACKUP DATABASE shop TO DISK = 'set.bak' WITH NAME = 'whole', MEDIANAME = 'shelf', CHECKSUM, EXPIREDATE = '2099-01-02'; BACKUP LOG shop TO DISK = 'set.bak' WITH COMPRESSION, COPY_ONLY, DESCRIPTION = 'the log'";
    assert_eq!(lines(&mut session, prepared).await.len(), 4);
    let text = lines(&mut session, "RESTORE HEADERONLY FROM DISK = 'set.bak'").await;
    assert_eq!(text.len(), 2, "{text:?}");
    let columns = |line: &str| line.split(" | ").map(str::to_owned).collect::<Vec<String>>();
    let (full, log) = (columns(&text[0]), columns(&text[1]));
    assert_eq!(full.len(), 59);
    assert_eq!((&*full[0], &*full[2], &*full[4], &*full[5], &*full[9]), ("whole", "1", "0", "1", "shop"));
    assert!(full[3].contains("2099"), "{}", full[3]);
    assert_eq!((&*log[1], &*log[2], &*log[4], &*log[5]), ("the log", "2", "1", "2"));
    assert_eq!((&*full[38], &*log[38], &*full[43], &*log[43]), ("1", "0", "0", "1"));
    assert_eq!((&*full[46], &*full[49], &*log[49]), ("FULL", "DATABASE", "TRANSACTION LOG"));
    let lsn = |text: &str| text.parse::<u128>().unwrap();
    assert!(lsn(&full[13]) < lsn(&full[14]) && lsn(&log[13]) <= lsn(&full[14]), "{full:?} {log:?}");

    let files = lines(&mut session, "RESTORE FILELISTONLY FROM DISK = 'set.bak' WITH FILE = 2").await;
    let names: Vec<(String, String)> =
        files.iter().map(|line| (columns(line)[0].clone(), columns(line)[2].clone())).collect();
    let of = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
    assert_eq!(names, [of("data-1", "D"), of("shop_log", "L")]);
    let label = columns(&lines(&mut session, "RESTORE LABELONLY FROM DISK = 'set.bak'").await[0]);
    assert_eq!((&*label[0], &*label[2], &*label[8], label.len()), ("shelf", "1", "bulkwire", 13));
    for (set, wanted) in
        [(1, "info: The backup set on file 1 is valid."), (2, "info: The backup set on file 2 is valid.")]
    {
        let verify = format!("RESTORE VERIFYONLY FROM DISK = 'set.bak' WITH FILE = {set}");
        assert_eq!(lines(&mut session, &verify).await, [wanted]);
    }
    for (statement, number) in [
        ("RESTORE HEADERONLY FROM DISK = 'set.bak' WITH FILE = 3", 4038),
        ("RESTORE VERIFYONLY FROM DISK = 'set.bak' WITH FILE = 2, CHECKSUM", 3187),
        ("RESTORE HEADERONLY FROM DISK = 'nothing.bak'", 3201),
        ("RESTORE HEADERONLY FROM shelf", 40515),
        ("BACKUP DATABASE shop TO DISK = 'set.bak' WITH INIT", 4030),
        ("BACKUP DATABASE shop TO DISK = 'set.bak' WITH DIFFERENTIAL", 40515),
        ("RESTORE DATABASE shop FROM DISK = 'set.bak' WITH STOPAT = '2020-01-01'", 40515),
        ("USE shop; RESTORE DATABASE shop FROM DISK = 'set.bak'", 3102),
        ("USE master; RESTORE DATABASE shop FROM DISK = 'set.bak'", 3159),
        ("RESTORE DATABASE model FROM DISK = 'set.bak'", 40515),
        (
            "CREATE DATABASE other; ALTER DATABASE other SET RECOVERY SIMPLE; RESTORE DATABASE other FROM DISK = 'set.bak'",
            3154,
        ),
        ("RESTORE DATABASE new FROM DISK = 'set.bak' WITH FILE = 2", 3135),
        ("RESTORE LOG new FROM DISK = 'set.bak' WITH FILE = 2", 3118),
        ("RESTORE LOG other FROM DISK = 'set.bak' WITH FILE = 2", 3117),
        ("RESTORE DATABASE new FROM DISK = 'set.bak' WITH MOVE 'x' TO 'y'", 3234),
        ("RESTORE DATABASE shop WITH RECOVERY", 3153),
    ] {
        let refused = lines(&mut session, statement).await;
        let wanted = format!("error {number}: ");
        assert!(refused.iter().any(|line| line.starts_with(&wanted)), "{statement}: {refused:?}");
    }
    assert_eq!(
        lines(&mut session, "BACKUP DATABASE shop TO DISK = 'set.bak' WITH INIT, SKIP").await.len(),
        2
    );
    assert_eq!(lines(&mut session, "RESTORE HEADERONLY FROM DISK = 'set.bak'").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_backups_follow_a_full_one_with_norecovery() {
    let (data, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let instance = instance(Some(data.path()), backups.path());
    let mut session = session(&instance, 51);
    made(&mut session).await;
    let taken = "ALTER DATABASE shop SET RECOVERY FULL; BACKUP DATABASE shop TO DISK = 'full.bak'; INSERT sales.customers VALUES (N'one'); BACKUP LOG shop TO DISK = 'logs.trn'; INSERT sales.customers VALUES (N'two'); BACKUP LOG shop TO DISK = 'logs.trn' WITH COMPRESSION; INSERT sales.customers VALUES (N'three')";
    assert_eq!(lines(&mut session, taken).await.len(), 6);
    let restored = "USE master; RESTORE DATABASE later FROM DISK = 'full.bak' WITH NORECOVERY; RESTORE LOG later FROM DISK = 'logs.trn' WITH FILE = 1, NORECOVERY";
    lines(&mut session, restored).await;
    assert_eq!(lines(&mut session, "SELECT DB_ID('later')").await, ["NULL"]);
    let last = "RESTORE LOG later FROM DISK = 'logs.trn' WITH FILE = 2, NORECOVERY; RESTORE DATABASE later WITH RECOVERY";
    lines(&mut session, last).await;
    assert_eq!(
        lines(&mut session, "SELECT name FROM later.sales.customers WHERE id > 15").await,
        ["one", "two"]
    );
    // A gap in the chain is refused, and no database is left.
    let gap = "RESTORE DATABASE gap FROM DISK = 'full.bak' WITH NORECOVERY; RESTORE LOG gap FROM DISK = 'logs.trn' WITH FILE = 2";
    let refused = lines(&mut session, gap).await;
    assert!(refused.iter().any(|line| line.starts_with("error 4305: ")), "{refused:?}");
    assert_eq!(lines(&mut session, "SELECT DB_ID('gap')").await, ["NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_never_restored() {
    let backups = tempfile::tempdir().unwrap();
    let instance = instance(None, backups.path());
    let mut session = session(&instance, 51);
    made(&mut session).await;
    for options in ["", "WITH CHECKSUM", "WITH COMPRESSION, CHECKSUM"] {
        let file: PathBuf = backups.path().join("hurt.bak");
        let taken = format!("BACKUP DATABASE shop TO DISK = 'hurt.bak' {options}");
        assert_eq!(lines(&mut session, &taken).await.len(), 2);
        let sound = std::fs::read(&file).unwrap();
        for number in 0..12_usize {
            let mut bytes = sound.clone();
            // Damages of the label and the padding hurt nothing that is restored: those are in the middle.
            let at = bytes.len() / 5 + number * (bytes.len() / 2) / 12;
            bytes[at] ^= 1 << (number % 8);
            if number == 11 {
                bytes.truncate(at);
            }
            std::fs::write(&file, &bytes).unwrap();
            for statement in [
                "RESTORE VERIFYONLY FROM DISK = 'hurt.bak'",
                "USE master; RESTORE DATABASE hurt FROM DISK = 'hurt.bak'",
            ] {
                let refused = lines(&mut session, statement).await;
                assert!(refused.last().unwrap().starts_with("error 3013: "), "{options} {at}: {refused:?}");
            }
            assert_eq!(lines(&mut session, "SELECT DB_ID('hurt')").await, ["NULL"]);
        }
        std::fs::remove_file(&file).unwrap();
    }
}
