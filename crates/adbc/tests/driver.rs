//! The driver as a program uses it: options, the life of a statement, ingestion, metadata, errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::sync::Arc;

use adbc_core::error::{Error, Status};
use adbc_core::options::{
    IngestMode, IsolationLevel, ObjectDepth, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
};
use adbc_core::{Connection as _, Database as _, Driver as _, Optionable, Statement as _, schemas};
use adbc_driver_bulkwire::{Connection, Database, Driver, Statement};
use arrow::array::{Array, AsArray, Int32Array, RecordBatch, RecordBatchReader, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use bulkwire_server::{
    DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};

const PASSWORD: &str = "Passw0rd;=\"'{ä}";

fn server() -> RunningServer {
    Server::start(ServerOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data: DataLocation::InMemory,
        init: Vec::new(),
        restoring: None,
        user: "sa".to_owned(),
        password: Password::new(PASSWORD),
        certificate: None,
        encryption: EncryptionPolicy::Optional,
        bulk_directories: Vec::new(),
        discard: false,
        log_requests: false,
        faults: None,
        kerberos: None,
        metrics: None,
        entra: None,
        limits: Limits::default(),
    })
    .unwrap()
}

fn database(uri: &str) -> Database {
    Driver
        .new_database_with_opts([
            (OptionDatabase::Uri, uri.into()),
            (OptionDatabase::Username, "sa".into()),
            (OptionDatabase::Password, PASSWORD.into()),
            (OptionDatabase::Other("bulkwire.Encrypt".to_owned()), "Off".into()),
        ])
        .unwrap()
}

fn connection(server: &RunningServer) -> Connection {
    database(&format!("mssql://{}/master", server.address())).new_connection().unwrap()
}

fn run(connection: &mut Connection, sql: &str) -> Result<Option<i64>, Error> {
    let mut statement = connection.new_statement()?;
    statement.set_sql_query(sql)?;
    statement.execute_update()
}

/// The one number that a query gives.
fn number(connection: &mut Connection, sql: &str) -> i32 {
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query(sql).unwrap();
    let batches: Vec<RecordBatch> = statement.execute().unwrap().map(Result::unwrap).collect();
    batches[0].column(0).as_primitive::<Int32Type>().value(0)
}

fn batch(numbers: &[i32], names: &[Option<&str>]) -> RecordBatch {
    let fields = vec![Field::new("n", DataType::Int32, false), Field::new("name", DataType::Utf8, true)];
    let columns: Vec<Arc<dyn Array>> =
        vec![Arc::new(Int32Array::from(numbers.to_vec())), Arc::new(StringArray::from(names.to_vec()))];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn status<T>(result: Result<T, Error>) -> Status {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.status,
    }
}

fn other(name: &str) -> OptionStatement {
    OptionStatement::Other(name.to_owned())
}

#[test]
fn settings_come_from_a_url_or_a_keyword_string() {
    let server = server();
    let address = server.address();
    for uri in [
        format!("mssql://{address}/master"),
        format!("mssql://{address}/master?Application Name=a"),
        format!("Server={},{};Database=master;", address.ip(), address.port()),
    ] {
        let mut connection = database(&uri).new_connection().unwrap();
        assert_eq!(number(&mut connection, "SELECT 1 AS n"), 1, "{uri}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let mut database = Driver.new_database().unwrap();
    assert_eq!(status(database.new_connection()), Status::InvalidState);
    for unknown in ["adbc.unknown", "bulkwire.", "bulkwire"] {
        let key = OptionDatabase::Other(unknown.to_owned());
        assert_eq!(status(database.set_option(key, "x".into())), Status::NotImplemented, "{unknown}");
    }
    assert_eq!(
        status(database.set_option(OptionDatabase::Uri, OptionValue::Double(1.0))),
        Status::InvalidArguments
    );
    database.set_option(OptionDatabase::Uri, "mssql://127.0.0.1:1/master".into()).unwrap();
    database.set_option(OptionDatabase::Username, "sa".into()).unwrap();
    database.set_option(OptionDatabase::Password, PASSWORD.into()).unwrap();
    assert_eq!(database.get_option_string(OptionDatabase::Username).unwrap(), "sa");
    assert_eq!(status(database.get_option_string(OptionDatabase::Password)), Status::NotFound);
    assert!(!format!("{database:?}").contains("Passw0rd"));
    database.set_option(OptionDatabase::Other("bulkwire.NoSuchKeyword".to_owned()), "1".into()).unwrap();
    assert_eq!(status(database.new_connection()), Status::InvalidArguments);
}

#[test]
fn a_connection_that_is_refused_says_why() {
    let server = server();
    let mut wrong = database(&format!("mssql://{}/master", server.address()));
    wrong.set_option(OptionDatabase::Password, "wrong".into()).unwrap();
    let error = wrong.new_connection().unwrap_err();
    assert_eq!((error.status, error.vendor_code), (Status::Unauthenticated, 18456));
    assert!(!error.message.contains("wrong"), "{}", error.message);
    let address = server.address();
    server.stop();
    assert_eq!(status(database(&format!("mssql://{address}/master")).new_connection()), Status::IO);
}

#[test]
fn options_of_a_connection() {
    let server = server();
    let options = [(OptionConnection::AutoCommit, OptionValue::from("false"))];
    let database = database(&format!("mssql://{}/master", server.address()));
    let mut connection = database.new_connection_with_opts(options).unwrap();
    assert_eq!(connection.get_option_string(OptionConnection::AutoCommit).unwrap(), "false");
    assert_eq!(connection.get_option_string(OptionConnection::CurrentCatalog).unwrap(), "master");
    assert_eq!(connection.get_option_string(OptionConnection::CurrentSchema).unwrap(), "dbo");
    connection.set_option(OptionConnection::CurrentCatalog, "tempdb".into()).unwrap();
    assert_eq!(connection.get_option_string(OptionConnection::CurrentCatalog).unwrap(), "tempdb");
    connection.set_option(OptionConnection::CurrentSchema, "dbo".into()).unwrap();
    connection.set_option(OptionConnection::ReadOnly, "false".into()).unwrap();
    let serializable = String::from(IsolationLevel::Serializable);
    connection.set_option(OptionConnection::IsolationLevel, serializable.as_str().into()).unwrap();
    for (key, value, expected) in [
        (OptionConnection::CurrentSchema, "elsewhere", Status::NotImplemented),
        (OptionConnection::ReadOnly, "true", Status::NotImplemented),
        (OptionConnection::AutoCommit, "perhaps", Status::InvalidArguments),
        (OptionConnection::IsolationLevel, "linear", Status::InvalidArguments),
        (OptionConnection::CurrentCatalog, "nowhere", Status::NotFound),
        (OptionConnection::Other("adbc.unknown".to_owned()), "1", Status::NotImplemented),
    ] {
        let name = key.as_ref().to_owned();
        assert_eq!(status(connection.set_option(key, value.into())), expected, "{name} = {value}");
    }
}

#[test]
fn transactions_begin_and_end_with_autocommit() {
    let server = server();
    let mut connection = connection(&server);
    run(&mut connection, "CREATE TABLE t (n int)").unwrap();
    assert_eq!(status(connection.commit()), Status::InvalidState);
    assert_eq!(status(connection.rollback()), Status::InvalidState);
    connection.set_option(OptionConnection::AutoCommit, "false".into()).unwrap();
    run(&mut connection, "INSERT INTO t VALUES (1)").unwrap();
    connection.rollback().unwrap();
    run(&mut connection, "INSERT INTO t VALUES (2)").unwrap();
    connection.commit().unwrap();
    run(&mut connection, "INSERT INTO t VALUES (3)").unwrap();
    connection.set_option(OptionConnection::AutoCommit, "true".into()).unwrap();
    assert_eq!(number(&mut connection, "SELECT SUM(n) AS n FROM t"), 5);
    // A transaction that the server has rolled back cannot be committed.
    connection.set_option(OptionConnection::AutoCommit, "false".into()).unwrap();
    run(&mut connection, "INSERT INTO t VALUES (4); ROLLBACK").unwrap();
    assert_eq!(status(connection.commit()), Status::InvalidState);
    run(&mut connection, "INSERT INTO t VALUES (5)").unwrap();
    connection.commit().unwrap();
    assert_eq!(number(&mut connection, "SELECT SUM(n) AS n FROM t"), 10);
}

#[test]
fn a_statement_needs_a_query_and_forgets_it_for_a_target() {
    let server = server();
    let mut connection = connection(&server);
    let mut statement = connection.new_statement().unwrap();
    assert_eq!(status(statement.execute()), Status::InvalidState);
    assert_eq!(status(statement.execute_update()), Status::InvalidState);
    assert_eq!(status(statement.prepare()), Status::InvalidState);
    assert_eq!(status(statement.execute_schema()), Status::InvalidState);
    assert_eq!(status(statement.set_substrait_plan(b"")), Status::NotImplemented);
    statement.set_sql_query("SELECT 1 AS n, CAST(N'a' AS nvarchar(9)) AS name").unwrap();
    statement.prepare().unwrap();
    let schema = statement.execute_schema().unwrap();
    assert_eq!(
        (schema.field(0).data_type(), schema.field(1).data_type()),
        (&DataType::Int32, &DataType::Utf8)
    );
    // It runs as often as it is asked to.
    for _ in 0..2 {
        assert_eq!(statement.execute().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
    }
    statement.set_option(OptionStatement::TargetTable, "t".into()).unwrap();
    assert_eq!(statement.get_option_string(OptionStatement::TargetTable).unwrap(), "t");
    assert_eq!(status(statement.execute_update()), Status::InvalidState, "no rows are bound");
    statement.set_sql_query("SELECT 1 AS n").unwrap();
    assert_eq!(status(statement.get_option_string(OptionStatement::TargetTable)), Status::NotFound);
}

#[test]
fn a_result_under_way_keeps_its_connection_until_it_is_dropped() {
    let server = server();
    let mut connection = connection(&server);
    let mut statement = connection.new_statement().unwrap();
    statement.set_option(other("bulkwire.read.batch_rows"), OptionValue::Int(10)).unwrap();
    assert_eq!(statement.get_option_int(other("bulkwire.read.batch_rows")).unwrap(), 10);
    statement.set_sql_query("SELECT n.value AS n FROM GENERATE_SERIES(1, 100000) AS n").unwrap();
    let mut rows = statement.execute().unwrap();
    assert_eq!(rows.next().unwrap().unwrap().num_rows(), 10);
    let mut second = connection.new_statement().unwrap();
    second.set_sql_query("SELECT 1 AS n").unwrap();
    assert_eq!(status(second.execute()), Status::InvalidState);
    drop(rows);
    assert_eq!(second.execute().unwrap().count(), 1);
}

#[test]
fn bound_rows_are_parameters_by_position_or_by_name() {
    let server = server();
    let mut connection = connection(&server);
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query("SELECT ? AS n, ? AS name").unwrap();
    assert_eq!(statement.get_parameter_schema().unwrap().fields().len(), 2);
    assert_eq!(status(statement.execute_schema()), Status::NotImplemented);
    statement.bind(batch(&[1, 2, 3], &[Some("a"), None, Some("ü")])).unwrap();
    let rows = statement.execute().unwrap();
    assert_eq!(rows.schema().field(0).name(), "n");
    let batches: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
    let names: Vec<Option<String>> = batches
        .iter()
        .flat_map(|batch| {
            batch.column(1).as_string::<i32>().iter().map(|name| name.map(str::to_owned)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(names, [Some("a".to_owned()), None, Some("ü".to_owned())]);
    run(&mut connection, "CREATE TABLE t (n int, name nvarchar(9))").unwrap();
    let mut insert = connection.new_statement().unwrap();
    insert.set_sql_query("INSERT INTO t VALUES (@n, @name)").unwrap();
    insert.bind(batch(&[1, 2], &[Some("a"), None])).unwrap();
    assert_eq!(insert.execute_update().unwrap(), Some(2));
    insert.set_sql_query("INSERT INTO t VALUES (?, ?, ?)").unwrap();
    insert.bind(batch(&[1], &[None])).unwrap();
    assert_eq!(status(insert.execute_update()), Status::InvalidArguments, "one value is missing");
}

/// A statement that ingests rows in a mode.
fn ingest(connection: &mut Connection, target: &str, mode: IngestMode, rows: RecordBatch) -> Statement {
    let mut statement = connection.new_statement().unwrap();
    statement.set_option(OptionStatement::TargetTable, target.into()).unwrap();
    statement.set_option(OptionStatement::IngestMode, String::from(mode).as_str().into()).unwrap();
    assert_eq!(statement.get_option_string(OptionStatement::IngestMode).unwrap(), String::from(mode));
    statement.bind(rows).unwrap();
    statement
}

#[test]
fn ingest_modes_create_append_and_replace() {
    let server = server();
    let mut connection = connection(&server);
    let rows = || batch(&[1, 2, 3], &[Some("a"), None, Some("b")]);
    let count = |connection: &mut Connection| number(connection, "SELECT COUNT(*) AS n FROM t");
    for (mode, expected) in [
        (IngestMode::Append, Err(Status::NotFound)),
        (IngestMode::Create, Ok(3)),
        (IngestMode::Create, Err(Status::AlreadyExists)),
        (IngestMode::Append, Ok(6)),
        (IngestMode::CreateAppend, Ok(9)),
        (IngestMode::Replace, Ok(3)),
    ] {
        let done = ingest(&mut connection, "t", mode, rows()).execute_update();
        match expected {
            Ok(total) => {
                assert_eq!(done.unwrap(), Some(3), "{mode:?}");
                assert_eq!(count(&mut connection), total, "{mode:?}");
            }
            Err(expected) => assert_eq!(status(done), expected, "{mode:?}"),
        }
    }
    // Other columns: nothing is appended.
    let wide = RecordBatch::try_from_iter([("other", Arc::new(Int32Array::from(vec![1])) as Arc<dyn Array>)]);
    let done = ingest(&mut connection, "t", IngestMode::Append, wide.unwrap()).execute_update();
    assert_eq!(status(done), Status::AlreadyExists);
    // A temporary table, which has no schema.
    let mut temporary = ingest(&mut connection, "x", IngestMode::Create, rows());
    temporary.set_option(OptionStatement::Temporary, "true".into()).unwrap();
    assert_eq!(temporary.execute_update().unwrap(), Some(3));
    assert_eq!(number(&mut connection, "SELECT COUNT(*) AS n FROM #x"), 3);
    temporary.set_option(OptionStatement::TargetDbSchema, "dbo".into()).unwrap();
    temporary.bind(rows()).unwrap();
    assert_eq!(status(temporary.execute_update()), Status::InvalidArguments);
}

#[test]
fn modes_of_this_driver_say_what_becomes_of_the_rows_that_are_there() {
    let server = server();
    let mut connection = connection(&server);
    run(&mut connection, "CREATE TABLE t (n int NOT NULL PRIMARY KEY, name nvarchar(9))").unwrap();
    let mut done = |mode: &str, key: &str, rows| {
        let mut statement = ingest(&mut connection, "t", IngestMode::Append, rows);
        statement.set_option(other("bulkwire.ingest.mode"), mode.into()).unwrap();
        statement.set_option(other("bulkwire.ingest.key"), key.into()).unwrap();
        statement.execute_update()
    };
    assert_eq!(done("append", "", batch(&[1, 2], &[Some("a"), Some("b")])).unwrap(), Some(2));
    assert_eq!(done("upsert", "n", batch(&[2, 3], &[Some("B"), Some("c")])).unwrap(), Some(2));
    assert_eq!(done("insert-new", "n", batch(&[3, 4], &[Some("x"), Some("d")])).unwrap(), Some(1));
    // Without a key it is the table's own.
    assert_eq!(done("upsert", "", batch(&[2], &[None])).unwrap(), Some(1));
    assert_eq!(status(done("upsert", "nothing", batch(&[2], &[None]))), Status::InvalidArguments);
    assert_eq!(done("replace", "", batch(&[7, 8, 9], &[None; 3])).unwrap(), Some(3));
    assert_eq!(done("truncate", "", batch(&[7], &[None])).unwrap(), Some(1));
    assert_eq!(number(&mut connection, "SELECT COUNT(*) AS n FROM t"), 1);
    // ADBC's other modes make a table, in which there is nothing yet.
    let mut made = ingest(&mut connection, "t", IngestMode::Replace, batch(&[7], &[None]));
    made.set_option(other("bulkwire.ingest.mode"), "upsert".into()).unwrap();
    assert_eq!(status(made.execute_update()), Status::InvalidState);
    assert_eq!(
        status(made.set_option(other("bulkwire.ingest.strategy"), "none".into())),
        Status::InvalidArguments
    );
}

#[test]
fn options_of_ingestion_are_checked() {
    let server = server();
    let mut connection = connection(&server);
    let mut statement = connection.new_statement().unwrap();
    for (name, value) in [
        ("bulkwire.ingest.batch_rows", "2"),
        ("bulkwire.ingest.table_lock", "true"),
        ("bulkwire.ingest.allow_rounding", "true"),
        ("bulkwire.ingest.allow_truncate", "0"),
        ("bulkwire.ingest.drop_time_zone", "1"),
    ] {
        statement.set_option(other(name), value.into()).unwrap();
        assert_eq!(
            status(statement.set_option(other(name), "neither".into())),
            Status::InvalidArguments,
            "{name}"
        );
    }
    assert_eq!(
        status(statement.set_option(other("bulkwire.ingest.batch_rows"), OptionValue::Int(0))),
        Status::InvalidArguments
    );
    assert_eq!(status(statement.set_option(other("bulkwire.unknown"), "1".into())), Status::NotImplemented);
    assert_eq!(
        status(statement.set_option(OptionStatement::IngestMode, "upsert".into())),
        Status::InvalidArguments
    );
    // The error names what a batch had committed before another failed.
    run(&mut connection, "CREATE TABLE t (n int NOT NULL PRIMARY KEY, name nvarchar(9))").unwrap();
    let mut rows = ingest(&mut connection, "t", IngestMode::Append, batch(&[1, 2, 2, 4], &[None; 4]));
    rows.set_option(other("bulkwire.ingest.batch_rows"), OptionValue::Int(2)).unwrap();
    let error = rows.execute_update().unwrap_err();
    assert_eq!((error.status, error.vendor_code), (Status::Integrity, 2627));
    let details = error.details.unwrap();
    assert!(details.contains(&("bulkwire.rows_committed".to_owned(), b"2".to_vec())), "{details:?}");
    assert!(details.contains(&("mssql.number".to_owned(), b"2627".to_vec())), "{details:?}");
}

#[test]
fn errors_have_the_status_that_their_number_means() {
    let server = server();
    let mut connection = connection(&server);
    run(
        &mut connection,
        "CREATE TABLE t (n int NOT NULL PRIMARY KEY CHECK (n < 10)); INSERT INTO t VALUES (1)",
    )
    .unwrap();
    for (sql, expected, number) in [
        ("SELECT * FROM nowhere", Status::NotFound, 208),
        ("EXEC no_such_procedure", Status::NotFound, 2812),
        ("CREATE TABLE t (n int)", Status::AlreadyExists, 2714),
        ("INSERT INTO t VALUES (1)", Status::Integrity, 2627),
        ("INSERT INTO t VALUES (NULL)", Status::Integrity, 515),
        ("INSERT INTO t VALUES (11)", Status::Integrity, 547),
        ("SELECT no_such_column FROM t", Status::InvalidArguments, 207),
        ("SELEC 1", Status::NotFound, 2812),
        ("SELECT 1 FROM", Status::InvalidArguments, 156),
        ("SELECT CAST('x' AS int)", Status::InvalidData, 245),
        ("SELECT 1 / 0", Status::InvalidData, 8134),
        ("THROW 50000, 'own', 1", Status::Unknown, 50000),
    ] {
        let error = run(&mut connection, sql).unwrap_err();
        assert_eq!((error.status, error.vendor_code), (expected, number), "{sql}: {}", error.message);
    }
}

#[test]
fn metadata_has_the_shapes_of_adbc() {
    let server = server();
    let mut connection = connection(&server);
    run(
        &mut connection,
        "CREATE TABLE parent (id int NOT NULL CONSTRAINT parent_key PRIMARY KEY, name nvarchar(20) NULL)",
    )
    .unwrap();
    run(&mut connection, "INSERT INTO parent VALUES (1, NULL), (2, N'b')").unwrap();
    run(&mut connection, "CREATE TABLE child (id int REFERENCES parent (id))").unwrap();

    let schema = connection.get_table_schema(None, Some("dbo"), "parent").unwrap();
    let fields: Vec<(&str, bool)> =
        schema.fields().iter().map(|field| (field.name().as_str(), field.is_nullable())).collect();
    assert_eq!(fields, [("id", false), ("name", true)]);
    assert_eq!(status(connection.get_table_schema(None, None, "nowhere")), Status::NotFound);

    let types = connection.get_table_types().unwrap();
    assert_eq!(types.schema(), *schemas::GET_TABLE_TYPES_SCHEMA);
    let info = connection.get_info(None).unwrap();
    assert_eq!(info.schema(), *schemas::GET_INFO_SCHEMA);
    assert!(info.map(|batch| batch.unwrap().num_rows()).sum::<usize>() > 3);

    for depth in [ObjectDepth::Catalogs, ObjectDepth::Schemas, ObjectDepth::Tables, ObjectDepth::All] {
        let objects =
            connection.get_objects(depth, Some("master"), Some("dbo"), Some("parent"), None, None).unwrap();
        assert_eq!(objects.schema(), *schemas::GET_OBJECTS_SCHEMA);
        let batches: Vec<RecordBatch> = objects.map(Result::unwrap).collect();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 1, "one catalogue of that name");
        let schemas = batches[0].column(1).as_list::<i32>();
        if matches!(depth, ObjectDepth::Catalogs) {
            assert!(schemas.is_null(0));
            continue;
        }
        let schemas = schemas.value(0);
        let tables = schemas.as_struct().column(1).as_list::<i32>();
        if matches!(depth, ObjectDepth::Schemas) {
            assert!(tables.is_null(0));
            continue;
        }
        let tables = tables.value(0);
        let tables = tables.as_struct();
        assert_eq!((tables.len(), tables.column(0).as_string::<i32>().value(0)), (1, "parent"));
        let columns = tables.column(2).as_list::<i32>();
        match depth {
            ObjectDepth::Tables => assert!(columns.is_null(0)),
            _ => assert_eq!(columns.value(0).len(), 2),
        }
    }
    let none = connection.get_objects(ObjectDepth::All, Some("no%such"), None, None, None, None).unwrap();
    assert_eq!(none.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);

    let statistics = connection.get_statistics(None, Some("dbo"), Some("parent"), false).unwrap();
    assert_eq!(statistics.schema(), *schemas::GET_STATISTICS_SCHEMA);
    let names = connection.get_statistic_names().unwrap();
    assert_eq!(names.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
    let mut count = connection.new_statement().unwrap();
    count.set_sql_query("SELECT COUNT_BIG(*) AS n FROM parent").unwrap();
    let batches: Vec<RecordBatch> = count.execute().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 2);
}

#[test]
fn a_cancelled_statement_leaves_its_connection_usable() {
    let server = server();
    let mut connection = connection(&server);
    let cancel = connection.get_cancel_handle();
    // Nothing under way: nothing happens.
    cancel.try_cancel().unwrap();
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query("WAITFOR DELAY '00:10:00'").unwrap();
    let handle = statement.get_cancel_handle();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    // Asked again until it is heard: the statement may not have been sent at the first time.
    let asking = std::thread::spawn(move || {
        while ended.recv_timeout(std::time::Duration::from_millis(20))
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            handle.try_cancel().unwrap();
        }
    });
    assert_eq!(status(statement.execute_update()), Status::Cancelled);
    drop(done);
    asking.join().unwrap();
    assert_eq!(number(&mut connection, "SELECT 1 AS n"), 1);
}

/// The numbers in the first column of a partition, read over a connection of its own.
fn partition_numbers(server: &RunningServer, partition: &[u8]) -> Vec<i32> {
    let reader = connection(server).read_partition(partition).unwrap();
    reader
        .map(Result::unwrap)
        .flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec())
        .collect()
}

#[test]
fn partitions_have_every_row_once_and_are_read_by_other_connections() {
    let server = server();
    let mut own = connection(&server);
    run(
        &mut own,
        "CREATE TABLE t (n int NOT NULL PRIMARY KEY, s nvarchar(20)); \
         INSERT INTO t SELECT value, CONCAT(N'text ', value % 7) FROM GENERATE_SERIES(1, 5000)",
    )
    .unwrap();
    let option = |name: &str| OptionStatement::Other(name.to_owned());
    for (sql, split_by, count) in [
        ("SELECT * FROM t", None, 5),
        ("SELECT n, s FROM t WHERE n > 0", Some("n"), 5),
        ("SELECT n, s FROM t", Some("S"), 5),
        ("SELECT n, s FROM t ORDER BY n", None, 1),
    ] {
        let mut statement = own.new_statement().unwrap();
        statement.set_sql_query(sql).unwrap();
        statement.set_option(option("bulkwire.read.partitions"), OptionValue::Int(5)).unwrap();
        if let Some(column) = split_by {
            statement.set_option(option("bulkwire.read.split_by"), column.into()).unwrap();
        }
        let result = statement.execute_partitions().unwrap();
        let found = result.partitions.len();
        assert!(found == count || (split_by == Some("S") && found > 1), "{sql}: {found} partitions");
        assert_eq!(result.schema.fields().len(), 2);
        assert_eq!(result.rows_affected, -1);
        let mut numbers: Vec<i32> =
            result.partitions.iter().flat_map(|partition| partition_numbers(&server, partition)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=5000).collect::<Vec<_>>(), "{sql}");
        let partition = &result.partitions[0];
        let elsewhere = database(&format!("mssql://{}/tempdb", server.address())).new_connection().unwrap();
        assert_eq!(status(elsewhere.read_partition(partition)), Status::InvalidState);
        assert_eq!(status(own.read_partition(&partition[1..])), Status::InvalidArguments);
    }
    let mut statement = own.new_statement().unwrap();
    statement.set_sql_query("SELECT * FROM t").unwrap();
    let result = statement.execute_partitions().unwrap();
    run(&mut own, "ALTER TABLE t ADD more int").unwrap();
    assert_eq!(status(own.read_partition(&result.partitions[0])), Status::InvalidState);
    statement.set_option(option("bulkwire.read.split_by"), "nothing".into()).unwrap();
    assert_eq!(status(statement.execute_partitions()), Status::InvalidArguments);
    statement.bind(batch(&[1], &[None])).unwrap();
    assert_eq!(status(statement.execute_partitions()), Status::NotImplemented);
}
