//! BULK INSERT of real files, and the files that it leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::instances::empty;
use bulkwire_server::FileAccess;
use executor::session::response::Response;
use executor::session::{Cancellation, ClientConnection, LoginSettings, Request, Session};
use executor::statements::{execute, open_session};
use query::Datum;
use serde_json::Value;
use tds::SqlType;
use tokio::sync::mpsc;

fn session(directory: PathBuf) -> Session {
    let access = FileAccess::new([directory]).unwrap();
    let instance = Arc::new(empty().with_files(access));
    let login = LoginSettings {
        database: String::new(),
        user: "sa".into(),
        application: "bulk files".into(),
        host: "host".into(),
        spid: 51,
        ansi_defaults: true,
        is_encrypted: false,
        client: ClientConnection::default(),
    };
    open_session(instance, login).unwrap()
}

/// What a batch answers: rows as text, errors.
async fn run(session: &mut Session, batch: &str) -> (Vec<Vec<Option<String>>>, Vec<i32>) {
    let (events, mut queue) = mpsc::channel(2);
    let (mut rows, mut errors, mut types) = (Vec::new(), Vec::new(), Vec::<SqlType>::new());
    let receive = async {
        while let Some(event) = queue.recv().await {
            match event {
                Response::Columns(result) => {
                    types = result.columns.iter().map(|column| column.sql_type().clone()).collect();
                }
                Response::Batch(batch) => {
                    for row in 0..batch.num_rows() {
                        let cells = batch.columns().iter().zip(&types).map(|(array, sql_type)| {
                            match Datum::read(array.as_ref(), sql_type, row).unwrap() {
                                Datum::Null => None,
                                value => Some(value.as_text().unwrap().to_owned()),
                            }
                        });
                        rows.push(cells.collect());
                    }
                }
                Response::Error(message) => errors.push(message.number),
                _ => {}
            }
        }
    };
    tokio::join!(execute(session, Request::Batch(batch.to_string()), events, Cancellation::new()), receive);
    (rows, errors)
}

/// All files of the AdventureWorks warehouse, with the options that its own installer uses. Values whose text is the same in
/// the file and in SQL (text, whole numbers) are compared cell by cell, the others by where they are NULL.
#[tokio::test(flavor = "multi_thread")]
async fn adventure_works_loads_with_its_installers_options() {
    let directory = Path::new(".").join("../../testdata/adventureworks-dw");
    let tables: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("tables.json")).unwrap()).unwrap();
    let mut session = session(directory.clone());
    let mut loaded = 0;
    for (table, description) in tables.as_object().unwrap() {
        let columns = description["columns"].as_array().unwrap();
        let definitions: Vec<String> = columns
            .iter()
            .map(|column| {
                let identity = if column.get("identity").is_some() { "IDENTITY(1, 1)" } else { "" };
                let null = if column["nullable"].as_bool().unwrap() { "NULL" } else { "NOT NULL" };
                format!(
                    "[{}] {} {identity} {null}",
                    column["name"].as_str().unwrap(),
                    column["type"].as_str().unwrap()
                )
            })
            .collect();
        let (_, errors) =
            run(&mut session, &format!("CREATE TABLE [{table}] ({})", definitions.join(", "))).await;
        assert!(errors.is_empty(), "{table}: {errors:?}");

        let load = &description["load"];
        let text = |name: &str| load[name].as_str().unwrap();
        let mut options = vec![
            format!("CODEPAGE = '{}'", text("codepage")),
            format!("DATAFILETYPE = '{}'", text("datafiletype")),
            format!("FIELDTERMINATOR = '{}'", text("fieldterminator")),
            format!("ROWTERMINATOR = '{}'", text("rowterminator")),
        ];
        let flags = ["check_constraints", "keepidentity", "tablock"];
        options.extend(flags.iter().filter(|flag| load[**flag] == true).map(|flag| flag.to_uppercase()));
        let file = description["file"].as_str().unwrap();
        let statement = format!("BULK INSERT [{table}] FROM '{file}' WITH ({})", options.join(", "));
        let (_, errors) = run(&mut session, &statement).await;
        assert!(errors.is_empty(), "{statement}: {errors:?}");

        let exact: Vec<bool> = columns
            .iter()
            .map(|column| {
                let sql_type = column["type"].as_str().unwrap();
                sql_type.starts_with("nvarchar")
                    || sql_type.starts_with("varchar")
                    || sql_type.ends_with("int")
            })
            .collect();
        let list: Vec<String> = columns
            .iter()
            .zip(&exact)
            .map(|(column, exact)| {
                let name = column["name"].as_str().unwrap();
                match exact {
                    true => format!("CAST([{name}] AS nvarchar(max))"),
                    false => format!("CASE WHEN [{name}] IS NULL THEN NULL ELSE N'there' END"),
                }
            })
            .collect();
        let (mut rows, errors) =
            run(&mut session, &format!("SELECT {} FROM [{table}]", list.join(", "))).await;
        assert!(errors.is_empty(), "{table}: {errors:?}");
        let source = fs::read_to_string(directory.join(file)).unwrap();
        let mut expected: Vec<Vec<Option<String>>> = source
            .trim_start_matches('\u{feff}')
            .split_terminator('\n')
            .map(|line| {
                let fields = line.split('|').zip(&exact);
                fields
                    .map(|(field, exact)| {
                        let value = if *exact { field } else { "there" };
                        (!field.is_empty()).then(|| value.to_owned())
                    })
                    .collect()
            })
            .collect();
        rows.sort();
        expected.sort();
        assert_eq!(rows.len(), expected.len(), "{table}");
        for (row, wanted) in rows.iter().zip(&expected) {
            assert_eq!(row, wanted, "{table}");
        }
        loaded += 1;
    }
    assert_eq!(loaded, 23);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_file_has_the_bad_rows_and_its_companion_says_where_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let files = Path::new(".").join("tests/files");
    for name in ["bad.txt", "bad.csv"] {
        fs::copy(files.join(name), directory.path().join(name)).unwrap();
    }
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let mut session = session(directory.path().to_owned());
    run(&mut session, "CREATE TABLE p (id int, name nvarchar(10), price decimal(9, 2))").await;

    let (_, errors) = run(&mut session, "BULK INSERT p FROM 'bad.txt' WITH (ERRORFILE = 'bad.rows')").await;
    assert_eq!(errors, [4864, 4863, 4864, 4867]);
    assert_eq!(read("bad.rows"), "x\tBob\t2\n3\tMuch too long a name\t3\n4\tDan\t1..2\n6\tFay\t12345678\n");
    // Offsets: row 1 has 8 bytes, row 2 has 8, row 3 has 25, rows 4 and 5 have 11 and 8.
    assert_eq!(
        read("bad.rows.Error.Txt"),
        "Row 2 File Offset 8 ErrorFile Offset 0 - HRESULT 0x80020005\n\
         Row 3 File Offset 16 ErrorFile Offset 8 - HRESULT 0x80004005\n\
         Row 4 File Offset 41 ErrorFile Offset 33 - HRESULT 0x80020005\n\
         Row 6 File Offset 60 ErrorFile Offset 44 - HRESULT 0x8002000a\n"
    );

    // It is never written over.
    let (_, errors) = run(&mut session, "BULK INSERT p FROM 'bad.txt' WITH (ERRORFILE = 'bad.rows')").await;
    assert_eq!(errors, [4861]);

    let statement = "BULK INSERT p FROM 'bad.csv' WITH (FORMAT = 'CSV', ERRORFILE = 'csv.rows')";
    assert_eq!(run(&mut session, statement).await.1, [4864]);
    assert_eq!(read("csv.rows"), "x,\"Bob, B\",2\n");
    assert_eq!(read("csv.rows.Error.Txt"), "Row 2 ErrorFile Offset 0 - HRESULT 0x80020005\n");
}

/// A file of any size is read with little memory, and a load can be cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn a_load_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let line = "1\tsome text that makes the file longer\n";
    fs::write(directory.path().join("long.txt"), line.repeat(400_000)).unwrap();
    let mut session = session(directory.path().to_owned());
    run(&mut session, "CREATE TABLE t (id int, name varchar(50))").await;
    let cancellation = Cancellation::new();
    let (events, mut queue) = mpsc::channel(2);
    let request = Request::Batch("BULK INSERT t FROM 'long.txt'".to_owned());
    let stop = cancellation.clone();
    let cancel = async move {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        stop.cancel();
    };
    let drain = async { while queue.recv().await.is_some() {} };
    tokio::join!(execute(&mut session, request, events, cancellation), cancel, drain);
    let (rows, _) = run(&mut session, "SELECT CAST(COUNT(*) AS nvarchar(20)) FROM t").await;
    // Either all of it had been loaded by then, or nothing of it stays.
    let count = rows[0][0].clone().unwrap();
    assert!(count == "0" || count == "400000", "{count}");
}

/// Opening them might wait for ever.
#[cfg(unix)]
#[tokio::test]
async fn pipes_and_devices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", path("device")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("rows"), "1\n").unwrap();
    let mut session = session(folder.path().to_owned());
    run(&mut session, "CREATE TABLE one (n int)").await;
    for name in ["pipe", "device", "socket", "folder", "/dev/zero", "/dev/stdin"] {
        for statement in [
            format!("BULK INSERT one FROM '{name}'"),
            format!("BULK INSERT one FROM 'rows' WITH (FORMATFILE = '{name}')"),
            format!("SELECT * FROM OPENROWSET(BULK '{name}', SINGLE_BLOB) AS f"),
            format!("SELECT * FROM OPENROWSET(BULK 'rows', FORMATFILE = '{name}') AS f"),
        ] {
            assert_eq!(run(&mut session, &statement).await.1, [4861], "{statement}");
        }
    }
    let (rows, errors) = run(&mut session, "SELECT CAST(COUNT(*) AS varchar(9)) AS n FROM one").await;
    assert_eq!((rows, errors), (vec![vec![Some("0".to_owned())]], Vec::new()));
}
