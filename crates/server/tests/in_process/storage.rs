//! A data directory: an older form is refused, and pages keep what they are given.

use std::path::Path;
use std::sync::Arc;

use crate::answers::{answer, login};
use databases::instance::Instance;
use databases::storage::{Databases, OpenError};
use executor::session::Session;
use executor::statements::open_session;

fn open(directory: &Path) -> Session {
    let instance = Instance::new(Databases::open(directory, true).unwrap()).unwrap();
    open_session(Arc::new(instance), login(51)).unwrap()
}

/// The answer's rows and errors.
async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

#[test]
fn a_directory_of_segments_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal"), b"bulkwire").unwrap();
    let refused = Databases::open(folder.path(), true).unwrap_err();
    assert!(matches!(refused, OpenError::Segments { .. }), "{refused}");
    assert!(refused.to_string().ends_with("and load them into another directory"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Types with their limits, as literals and as they are shown.
const VALUES: &[(&str, &str, &str)] = &[
    ("bit", "1", "1"),
    ("tinyint", "255", "255"),
    ("smallint", "-32768", "-32768"),
    ("int", "-2147483648", "-2147483648"),
    ("bigint", "9223372036854775807", "9223372036854775807"),
    (
        "decimal(38,10)",
        "-1234567890123456789012345678.0123456789",
        "-1234567890123456789012345678.0123456789",
    ),
    ("numeric(5,0)", "99999", "99999"),
    ("smallmoney", "-214748.3648", "-214748.3648"),
    ("money", "922337203685477.5807", "922337203685477.5807"),
    ("date", "'0001-01-01'", "0001-01-01"),
    ("time(0)", "'23:59:59'", "23:59:59"),
    ("time(7)", "'23:59:59.9999999'", "23:59:59.9999999"),
    ("datetime2(0)", "'9999-12-31 23:59:59'", "9999-12-31 23:59:59"),
    ("datetime2(3)", "'0001-01-01 00:00:00.001'", "0001-01-01 00:00:00.001"),
    ("datetime2(7)", "'9999-12-31 23:59:59.9999999'", "9999-12-31 23:59:59.9999999"),
    ("datetimeoffset(7)", "'2024-02-29 12:34:56.1234567 +14:00'", "2024-02-29 12:34:56.1234567 +14:00"),
    ("datetimeoffset(0)", "'1900-01-01 00:00:00 -14:00'", "1900-01-01 00:00:00 -14:00"),
    ("varchar(4)", "'€é  '", "€é  "),
    ("char(6)", "'äöü'", "äöü   "),
    ("varchar(max)", "REPLICATE(CAST('é' AS varchar(max)), 20000)", "20000"),
    ("varchar(6) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "N'€é'", "€é"),
    ("nchar(4)", "N'😀x'", "😀x "),
    ("nvarchar(4)", "N'中文'", "中文"),
    ("nvarchar(max)", "REPLICATE(CAST(N'中' AS nvarchar(max)), 20000)", "20000"),
    ("binary(3)", "0x01", "0x010000"),
    ("varbinary(3)", "0x0100", "0x0100"),
    ("varbinary(max)", "CAST(REPLICATE(CAST('x' AS varchar(max)), 20000) AS varbinary(max))", "20000"),
    ("uniqueidentifier", "'00112233-4455-6677-8899-AABBCCDDEEFF'", "00112233-4455-6677-8899-AABBCCDDEEFF"),
    ("xml", "N'<a>é</a>'", "<a>é</a>"),
    ("text", "'é'", "é"),
    ("ntext", "N'中'", "中"),
    ("image", "0x0102", "0x0102"),
];

#[tokio::test(flavor = "multi_thread")]
async fn pages_keep_every_type_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = open(folder.path());
    let columns: Vec<String> =
        VALUES.iter().enumerate().map(|(index, (name, ..))| format!("c{index} {name} NULL")).collect();
    let create = format!("CREATE TABLE t (id int NOT NULL, {})", columns.join(", "));
    assert_eq!(lines(&mut session, &create).await, [""; 0]);
    let values: Vec<&str> = VALUES.iter().map(|(_, value, _)| *value).collect();
    let nulls = vec!["NULL"; VALUES.len()].join(", ");
    let insert = format!("INSERT INTO t VALUES (1, {}), (2, {nulls})", values.join(", "));
    assert_eq!(lines(&mut session, &insert).await, [""; 0]);
    let shown: Vec<String> = VALUES
        .iter()
        .enumerate()
        .map(|(index, (name, _, shown))| match *shown {
            // Long values by their length, and no other character in them.
            "20000" => format!("LEN(CAST(c{index} AS nvarchar(max)))"),
            // Text of money has two digits only.
            _ if name.ends_with("money") => format!("CAST(c{index} AS decimal(19,4))"),
            _ => format!("c{index}"),
        })
        .collect();
    let select = format!("SELECT {} FROM t WHERE id = 1", shown.join(", "));
    let expected: Vec<&str> = VALUES.iter().map(|(.., shown)| *shown).collect();
    let mut long = 0;
    for _ in 0..2 {
        let answered = lines(&mut session, &select).await;
        let [row] = answered.as_slice() else { panic!("{answered:?}") };
        // A binary value of 20,000 bytes as UTF-16 text has half as many characters.
        let cells: Vec<String> = row.split(" | ").map(str::to_owned).collect();
        for ((cell, expected), (name, ..)) in cells.iter().zip(&expected).zip(VALUES) {
            let expected = if *name == "varbinary(max)" { "10000" } else { expected };
            assert_eq!(cell, expected, "{name}");
            long += usize::from(expected == "20000");
        }
        assert_eq!(cells.len(), VALUES.len());
        let all_null = (0..VALUES.len()).map(|index| format!("c{index} IS NULL")).collect::<Vec<_>>();
        let count = format!("SELECT COUNT(*) FROM t WHERE {}", all_null.join(" AND "));
        assert_eq!(lines(&mut session, &count).await, ["1"]);
        drop(session);
        session = open(folder.path());
    }
    assert_eq!(long, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_columns_and_text_of_code_pages_are_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = open(folder.path());
    let made =
        "CREATE TABLE t (id int NOT NULL, text varchar(10) COLLATE Cyrillic_General_CI_AS NULL, n int NULL)
         CREATE CLUSTERED INDEX cx ON t (id)
         CREATE INDEX ix ON t (text) INCLUDE (n)
         INSERT INTO t VALUES (1, N'Я', 1), (1, N'Ж', NULL)
         ALTER TABLE t ADD more int NOT NULL CONSTRAINT df DEFAULT 3, note nvarchar(5) NULL
         DROP INDEX ix ON t
         ALTER TABLE t ALTER COLUMN n decimal(5, 1) NULL
         ALTER TABLE t ALTER COLUMN text varchar(20) COLLATE Cyrillic_General_CI_AS NULL
         CREATE INDEX ix ON t (text) INCLUDE (n)";
    assert_eq!(lines(&mut session, made).await, [""; 0]);
    // What is not committed is not there.
    assert_eq!(lines(&mut session, "BEGIN TRANSACTION ALTER TABLE t DROP COLUMN note").await, [""; 0]);
    drop(session);
    let mut session = open(folder.path());
    let rows = "SELECT text, n, more, note FROM t ORDER BY text DESC; SELECT n FROM t WHERE text = N'я'";
    assert_eq!(lines(&mut session, rows).await, ["Я | 1.0 | 3 | NULL", "Ж | NULL | 3 | NULL", "1.0"]);
}

/// Changes the text that the store keeps with a table, behind the server's back.
fn set_text(databases: &Databases, name: &str, change: impl FnOnce(&str) -> String) {
    let table = databases.snapshot().tables().into_iter().find(|table| table.name.contains(name)).unwrap();
    let mut transaction = databases.begin();
    transaction.open(table.id).unwrap().set_properties(&change(&table.properties)).unwrap();
    transaction.commit().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_catalogue_of_databases_is_no_empty_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = open(folder.path());
    assert_eq!(lines(&mut session, "CREATE DATABASE sales; CREATE TABLE sales..t (id int)").await, [""; 0]);
    drop(session);
    let databases = Databases::open(folder.path(), true).unwrap();
    let session_of = |instance: &Arc<Instance>| open_session(Arc::clone(instance), login(51));
    let instance = Arc::new(Instance::new(databases.clone()).unwrap());
    let mut session = session_of(&instance).unwrap();
    let mut kept = String::new();
    set_text(&databases, "directory", |text| {
        kept = text.to_owned();
        text.get(..text.len() / 2).unwrap().to_owned()
    });
    // A server that runs says it at every statement that asks for a database, and takes no login.
    for batch in
        ["SELECT name FROM sys.databases", "SELECT DB_ID('sales')", "CREATE DATABASE other", "USE sales"]
    {
        let answer = lines(&mut session, batch).await;
        let damaged = answer.iter().any(|line| line.contains("catalogue of databases is damaged"));
        assert!(damaged && answer.len() == 1, "{batch}: {answer:?}");
    }
    assert_eq!(session_of(&instance).err().unwrap().number, 596);
    drop((session, instance, databases));
    // It does not start with it, and removes nothing.
    let refused = Databases::open(folder.path(), true).unwrap_err().to_string();
    assert!(refused.contains("the catalogue of databases cannot be read"), "{refused}");
    assert!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("sales-") })
    );
    let master = store::Engine::open(&folder.path().join("master"), store::EngineOptions::default()).unwrap();
    let mut transaction = master.begin();
    transaction.open_table("directory").unwrap().alter("directory", &kept).unwrap();
    transaction.commit().unwrap();
    drop(master);
    assert_eq!(lines(&mut open(folder.path()), "SELECT COUNT(*) FROM sales..t").await, ["0"]);
    // Nor is a catalogue that is gone that of a new server.
    let master = store::Engine::open(&folder.path().join("master"), store::EngineOptions::default()).unwrap();
    let mut transaction = master.begin();
    transaction.open_table("directory").unwrap().drop().unwrap();
    transaction.commit().unwrap();
    drop(master);
    let refused = Databases::open(folder.path(), true).unwrap_err().to_string();
    assert!(refused.contains("it is missing, and there is a database in sales-"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_definition_is_an_error_of_all_that_lists_objects() {
    let databases = Databases::in_memory(None).unwrap();
    let instance = Arc::new(Instance::new(databases.clone()).unwrap());
    let mut session = open_session(Arc::clone(&instance), login(51)).unwrap();
    let made = "CREATE TABLE good (id int IDENTITY); CREATE TABLE bad (id int, b int); CREATE INDEX i ON bad (id) WHERE b = 1";
    assert_eq!(lines(&mut session, made).await, [""; 0]);
    let asked = [
        "SELECT name FROM sys.tables",
        "SELECT OBJECT_NAME(1)",
        "SELECT OBJECT_ID('bad')",
        "SELECT COL_LENGTH('bad', 'id')",
        "SELECT name FROM sys.identity_columns",
        "SELECT * FROM sys.fn_listextendedproperty(NULL, 'SCHEMA', 'dbo', 'TABLE', 'bad', NULL, NULL)",
        "EXEC sp_tables",
        "SELECT * FROM bad",
        "SET IDENTITY_INSERT bad ON",
        "INSERT bad VALUES (1, 1)",
    ];
    let cut = |text: &str| text.get(..text.len() - 5).unwrap().to_owned();
    let misfit = |text: &str| text.replacen(r#""columns":["#, r#""columns":[],"other":["#, 1);
    let filter = |text: &str| text.replace("=(1)", "=(").replace("b = 1", "b =").replace("b=1", "b=");
    let mut kept = String::new();
    set_text(&databases, "bad", |text| {
        kept = text.to_owned();
        cut(text)
    });
    for change in [&cut as &dyn Fn(&str) -> String, &misfit, &filter] {
        assert_ne!(change(&kept), kept);
        set_text(&databases, "bad", |_| change(&kept));
        for batch in asked {
            let answer = lines(&mut session, batch).await;
            let damaged = answer
                .iter()
                .any(|line| line.starts_with("error 596") && line.contains("dbo.bad is damaged"));
            assert!(damaged, "{batch}: {answer:?}");
        }
        // What does not ask for it goes on.
        assert_eq!(lines(&mut session, "SELECT COUNT(*) FROM good").await, ["0"]);
        assert_eq!(Instance::new(databases.clone()).unwrap_err().number, 596);
    }
    set_text(&databases, "bad", |_| kept.clone());
    assert_eq!(lines(&mut session, "SELECT COUNT(*) FROM bad").await, ["0"]);
    // A type of the user's own.
    assert_eq!(lines(&mut session, "CREATE TYPE dbo.amount FROM decimal(9, 2)").await, [""; 0]);
    set_text(&databases, "amount", cut);
    for batch in ["SELECT name FROM sys.types", "DECLARE @a dbo.amount", "SELECT TYPE_ID('dbo.amount')"] {
        let answer = lines(&mut session, batch).await;
        assert!(answer.iter().any(|line| line.contains("definition of type")), "{batch}: {answer:?}");
    }
    assert_eq!(Instance::new(databases.clone()).unwrap_err().number, 596);
}
