//! Rows that go from packets into pages, and back, without becoming a batch, beside the same rows that do become one.

use std::io::Write;

use crate::client::{Client, batch_packets};
use crate::served;
use crate::served::{assert_no_error, connect, error_numbers, packets, rows_loaded, scalar};
use bulkwire_server::{DataLocation, RunningServer};
use tds::RowLayout;
use tds::packet::PacketType;
use tds::token::{Token, TokenReader};
use tds::version::TdsVersion;

/// Types, two values that are the same bytes on the wire and in a page, and one that needs more than copying where there is one.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("bit", "1", "0", "1"),
    ("tinyint", "255", "0", "7"),
    ("smallint", "-32768", "32767", "7"),
    ("int", "-2147483648", "2147483647", "7"),
    ("bigint", "-9223372036854775808", "9223372036854775807", "7"),
    ("real", "1.5", "-3.25e20", "0"),
    ("float", "1.7976931348623157e308", "-2.5e-300", "0"),
    ("decimal(9,2)", "-9999999.99", "9999999.99", "0"),
    ("decimal(19,4)", "-1.5", "0", "0"),
    ("decimal(28,0)", "9999999999999999999999999999", "-1", "0"),
    ("numeric(38,10)", "-1234567890123456789012345678.0123456789", "1", "0"),
    ("smallmoney", "-214748.3648", "214748.3647", "0"),
    ("money", "922337203685477.5807", "-922337203685477.5808", "0.0001"),
    ("date", "'0001-01-01'", "'9999-12-31'", "'2000-02-29'"),
    ("time(0)", "'23:59:59'", "'00:00:00'", "'12:00:00'"),
    ("time(4)", "'23:59:59.9999'", "'00:00:00.0001'", "'12:00:00'"),
    ("time(7)", "'23:59:59.9999999'", "'00:00:00.0000001'", "'12:00:00'"),
    ("smalldatetime", "'1900-01-01 00:00'", "'2079-06-06 23:59'", "'2000-02-29 12:34'"),
    ("datetime", "'1753-01-01'", "'9999-12-31 23:59:59.997'", "'2000-02-29 12:34:56.003'"),
    ("datetime2(0)", "'9999-12-31 23:59:59'", "'0001-01-01'", "'2000-02-29'"),
    ("datetime2(3)", "'9999-12-31 23:59:59.999'", "'0001-01-01 00:00:00.001'", "'2000-02-29'"),
    ("datetime2(7)", "'9999-12-31 23:59:59.9999999'", "'0001-01-01 00:00:00.0000001'", "'2000-02-29'"),
    (
        "datetimeoffset(0)",
        "'1900-01-01 00:00:00 -14:00'",
        "'2024-02-29 12:00:00 +00:00'",
        "'0001-01-01 00:00:00 +00:00'",
    ),
    (
        "datetimeoffset(7)",
        "'2024-02-29 12:34:56.1234567 +14:00'",
        "'2024-02-29 12:34:56.1234567 -00:01'",
        "'9999-12-31 23:59:59.9999999 +00:00'",
    ),
    (
        "uniqueidentifier",
        "'00112233-4455-6677-8899-AABBCCDDEEFF'",
        "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'",
        "'00000000-0000-0000-0000-000000000000'",
    ),
    ("char(5)", "'ab'", "'abcde'", "'äöü'"),
    ("varchar(40)", "'a text of thirty-three characters'", "''", "'€é  '"),
    ("varchar(6) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "'abc '", "''", "N'€é'"),
    ("nchar(4)", "N'x'", "N'中文é '", "N'😀x'"),
    ("nvarchar(40)", "N'中文 and forty characters, or almost so'", "N''", "N'😀 a pair'"),
    ("binary(3)", "0x01", "0xFFFFFF", "0x00"),
    ("varbinary(30)", "0x0102030405060708090A0B0C0D0E0F101112131415", "0x", "0x00"),
    // Longer than what is copied at once.
    ("varchar(200)", "REPLICATE('long ', 30)", "'short'", "'é'"),
];

fn pages() -> RunningServer {
    served::start(served::limits(), DataLocation::InMemory)
}

/// `c0 int, c1 …`, the columns' names, and how INSERT BULK declares them.
fn columns() -> (String, String) {
    let declared: Vec<String> =
        VALUES.iter().enumerate().map(|(index, (name, ..))| format!("c{index} {name}")).collect();
    let names: Vec<String> = (0..VALUES.len()).map(|index| format!("c{index}")).collect();
    (declared.join(", "), names.join(", "))
}

fn answer_of(client: &mut Client, sql: &str) -> Vec<u8> {
    client.socket.write_all(&batch_packets(sql)).unwrap();
    client.message()
}

/// COLMETADATA of an answer, and its rows one by one.
fn result(payload: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (token, mut at) = TokenReader::new(TdsVersion::V7_4).next(payload).unwrap().unwrap();
    let Token::ColMetaData(Some(columns)) = token else { panic!("{token:?}") };
    let layout = RowLayout::new(&columns);
    let (head, mut rows) = (payload[..at].to_vec(), Vec::new());
    while matches!(payload[at], 0xD1 | 0xD2) {
        let length = layout.row_len(&payload[at..]).unwrap().unwrap();
        rows.push(payload[at..at + length].to_vec());
        at += length;
    }
    (head, rows)
}

fn load(client: &mut Client, table: &str, declared: &str, payload: &[u8]) -> Vec<Token> {
    assert_no_error(&client.batch(&format!("INSERT BULK {table} ({declared}) WITH (TABLOCK)")));
    client.socket.write_all(&packets(PacketType::BulkLoad, payload)).unwrap();
    client.answer()
}

/// The kinds of rows: two plain ones, one of NULLs, and one that cannot be copied; with their COLMETADATA.
fn samples(client: &mut Client) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (declared, _) = columns();
    assert_no_error(&client.batch(&format!("CREATE TABLE sample ({declared})")));
    for sample in 0..4 {
        let value = |values: &(&'static str, &'static str, &'static str, &'static str)| match sample {
            0 => values.1,
            1 => values.2,
            2 => "NULL",
            _ => values.3,
        };
        let values: Vec<&str> = VALUES.iter().map(value).collect();
        assert_no_error(&client.batch(&format!("INSERT INTO sample VALUES ({})", values.join(", "))));
    }
    let (head, rows) = result(&answer_of(client, "SELECT * FROM sample"));
    assert_eq!(rows.len(), 4);
    (head, rows)
}

#[test]
fn rows_are_the_same_whichever_way_they_go_in_and_out() {
    let server = pages();
    let mut client = connect(&server);
    let (head, rows) = samples(&mut client);
    let (declared, names) = columns();
    // One table takes wire rows unchanged; the other has a column to be completed.
    assert_no_error(&client.batch(&format!("CREATE TABLE direct ({declared})")));
    assert_no_error(&client.batch(&format!("CREATE TABLE completed ({declared}, more int NULL)")));
    let order: Vec<usize> = std::iter::repeat_n([0, 1, 2], 3000)
        .chain(std::iter::repeat_n([3, 0, 3], 3))
        .chain(std::iter::repeat_n([2, 1, 0], 6000))
        .flatten()
        .collect();
    let sent: Vec<u8> = order.iter().flat_map(|row| rows[*row].clone()).collect();
    let payload = [head.clone(), sent.clone()].concat();
    for table in ["direct", "completed"] {
        let loaded = rows_loaded(&load(&mut client, table, &declared, &payload));
        assert_eq!(loaded, Some(order.len() as u64), "{table}");
        // A condition is not read past.
        for condition in ["", " WHERE LEN('x') = 1"] {
            let (_, found) =
                result(&answer_of(&mut client, &format!("SELECT {names} FROM {table}{condition}")));
            assert_eq!(found.len(), order.len(), "{table}{condition}");
            let differs = found.iter().zip(&order).position(|(found, row)| *found != rows[*row]);
            assert_eq!(differs, None, "{table}{condition}");
        }
    }
    // Some columns, in another order, one under another name.
    let all = result(&answer_of(&mut client, "SELECT c29 AS x, c3, c26 FROM direct WHERE LEN('x') = 1"));
    assert_eq!(result(&answer_of(&mut client, "SELECT c29 AS x, c3, c26 FROM direct")), all);
    // One column twice.
    let twice = result(&answer_of(&mut client, "SELECT c26, c26 FROM direct WHERE LEN('x') = 1"));
    assert_eq!(result(&answer_of(&mut client, "SELECT c26, c26 FROM direct")), twice);
    assert_eq!(twice.1.len(), order.len());
    server.stop();
}

/// COLMETADATA of one column `a`, nullable, of the type with these bytes.
fn one_column(type_info: &[u8]) -> Vec<u8> {
    [&[0x81, 1, 0, 0, 0, 0, 0, 9, 0], type_info, &[1, b'a', 0]].concat()
}

/// NVARCHAR of up to 20 characters under a Windows collation.
const NVARCHAR20: &[u8] = &[0xE7, 40, 0, 0x09, 0x04, 0xD0, 0x00, 0x34];

fn nvarchar_row(text: &str) -> Vec<u8> {
    let bytes = served::wide(text);
    [&[0xD1][..], &(bytes.len() as u16).to_le_bytes(), &bytes].concat()
}

#[test]
fn a_row_that_is_refused_leaves_none_of_those_copied_before_it() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(
        &client.batch(
            "CREATE TABLE short (a nvarchar(3) NOT NULL); CREATE TABLE wide (a nvarchar(20) NOT NULL)",
        ),
    );
    let many = nvarchar_row("abc").repeat(9000);
    let long = [one_column(NVARCHAR20), many.clone(), nvarchar_row("abcd"), many.clone()].concat();
    assert_eq!(error_numbers(&load(&mut client, "short", "a nvarchar(20)", &long)), [2628]);
    let null = [one_column(NVARCHAR20), many.clone(), vec![0xD1, 0xFF, 0xFF], many.clone()].concat();
    assert_eq!(error_numbers(&load(&mut client, "short", "a nvarchar(20)", &null)), [515]);
    // Blanks that are too many go.
    let blanks = [one_column(NVARCHAR20), many.clone(), nvarchar_row("ab  "), many.clone()].concat();
    assert_eq!(rows_loaded(&load(&mut client, "short", "a nvarchar(20)", &blanks)), Some(18_001));
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM short WHERE DATALENGTH(a) = 6"), 18_001);
    // More than the stream has declared is an error of the protocol, though the column has room.
    let declared = [0xE7, 6, 0, 0x09, 0x04, 0xD0, 0x00, 0x34];
    let beyond = [one_column(&declared), many.clone(), nvarchar_row("abcd")].concat();
    assert_eq!(error_numbers(&load(&mut client, "wide", "a nvarchar(3)", &beyond)), [4815]);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM wide"), 0);
    server.stop();
}

#[test]
fn what_a_table_adds_to_rows_it_adds() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(&client.batch(
        "CREATE TABLE filled (a nvarchar(20) NULL DEFAULT N'none');
         CREATE TABLE numbered (n int IDENTITY(5, 5), a nvarchar(20) NULL);
         CREATE TABLE checked (a nvarchar(20) NULL CHECK (LEN(a) < 4));
         CREATE TABLE keyed (a nvarchar(20) NOT NULL); CREATE INDEX i ON keyed (a);
         CREATE TABLE packed (a nvarchar(20) NOT NULL) WITH (DATA_COMPRESSION = PAGE);
         CREATE TABLE number (a bigint NULL)",
    ));
    let many = nvarchar_row("abc").repeat(2000);
    let null = [one_column(NVARCHAR20), many.clone(), vec![0xD1, 0xFF, 0xFF], many.clone()].concat();
    let long = [one_column(NVARCHAR20), many.clone(), nvarchar_row("abcde"), many.clone()].concat();
    for (table, payload) in [("filled", &null), ("numbered", &null), ("keyed", &long), ("packed", &long)] {
        let loaded = rows_loaded(&load(&mut client, table, "a nvarchar(20)", payload));
        assert_eq!(loaded, Some(4001), "{table}");
    }
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM filled WHERE a = N'none'"), 1);
    assert_eq!(scalar(&mut client, "SELECT n FROM numbered WHERE a IS NULL"), 5 * 2001);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM keyed WHERE a = N'abcde'"), 1);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM packed WHERE a = N'abc'"), 4000);
    assert_no_error(&client.batch("INSERT BULK checked (a nvarchar(20)) WITH (CHECK_CONSTRAINTS)"));
    client.socket.write_all(&packets(PacketType::BulkLoad, &long)).unwrap();
    assert_eq!(error_numbers(&client.answer()), [547]);
    // Another type than the column's: INTN of four bytes.
    let ints: Vec<u8> = (0..3000_i32).flat_map(|n| [&[0xD1, 4][..], &n.to_le_bytes()].concat()).collect();
    let ints = [one_column(&[0x26, 4]), ints].concat();
    assert_eq!(rows_loaded(&load(&mut client, "number", "a int", &ints)), Some(3000));
    assert_eq!(scalar(&mut client, "SELECT CAST(SUM(a) AS int) FROM number"), 2999 * 1500);
    server.stop();
}

#[test]
fn a_load_tells_how_many_rows_it_copied_and_why_it_decoded_the_others() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(&client.batch(
        "CREATE TABLE plain (a nvarchar(20) NULL);
         CREATE TABLE keyed (a nvarchar(20) NOT NULL); CREATE INDEX i ON keyed (a);
         CREATE TABLE filtered (a nvarchar(20) NOT NULL); CREATE INDEX i ON filtered (a) WHERE a > N'b';
         CREATE TABLE checked (a nvarchar(20) NULL CHECK (LEN(a) < 40))",
    ));
    let last = "FROM sys.dm_bulkwire_loads WHERE load_id = (SELECT MAX(load_id) FROM sys.dm_bulkwire_loads)";
    let told = |client: &mut Client, copied: i32, reason: &str| {
        let rows = scalar(client, &format!("SELECT CAST(copied_row_count AS int) {last}"));
        assert_eq!(rows, copied, "{reason}");
        let same = format!("SELECT COUNT(*) {last} AND ISNULL(decode_reason, 'NULL') = '{reason}'");
        assert_eq!(scalar(client, &same), 1, "{reason}");
    };
    let declared = "a nvarchar(20)";
    let rows = |text: &str, count: usize| [one_column(NVARCHAR20), nvarchar_row(text).repeat(count)].concat();
    let many = rows("abc", 20_000);
    assert_eq!(rows_loaded(&load(&mut client, "plain", declared, &many)), Some(20_000));
    told(&mut client, 20_000, "NULL");
    assert_eq!(rows_loaded(&load(&mut client, "plain", declared, &rows("abc", 5))), Some(5));
    told(&mut client, 0, "FEW_ROWS");
    // A surrogate pair is looked at as text.
    let mixed = [many.clone(), nvarchar_row("\u{1F600}")].concat();
    assert_eq!(rows_loaded(&load(&mut client, "plain", declared, &mixed)), Some(20_001));
    told(&mut client, 20_000, "VALUES");
    assert_eq!(rows_loaded(&load(&mut client, "keyed", declared, &many)), Some(20_000));
    told(&mut client, 20_000, "NULL");
    // Decoded rows between copied ones have addresses of their own.
    let third =
        [rows("abd", 10_000), nvarchar_row("\u{1F600}").repeat(100), nvarchar_row("abe").repeat(10_000)];
    assert_eq!(rows_loaded(&load(&mut client, "keyed", declared, &third.concat())), Some(20_100));
    for (condition, expected) in
        [("a = N'abc'", 20_000), ("a = N'abd'", 10_000), ("a = N'abe'", 10_000), ("a > N'abe'", 100)]
    {
        let by_index = format!("SELECT COUNT(*) FROM keyed WITH (INDEX(i)) WHERE {condition}");
        assert_eq!(scalar(&mut client, &by_index), expected, "{condition}");
    }
    assert_no_error(&client.batch("DBCC CHECKTABLE ('keyed') WITH NO_INFOMSGS"));
    assert_eq!(rows_loaded(&load(&mut client, "filtered", declared, &many)), Some(20_000));
    told(&mut client, 0, "INDEXES");
    assert_eq!(rows_loaded(&load(&mut client, "checked", declared, &many)), Some(20_000));
    told(&mut client, 20_000, "NULL");
    assert_no_error(&client.batch("INSERT BULK checked (a nvarchar(20)) WITH (CHECK_CONSTRAINTS)"));
    client.socket.write_all(&packets(PacketType::BulkLoad, &many)).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(20_000));
    told(&mut client, 0, "CHECK_CONSTRAINTS");
    // Rows of a query come in no bytes.
    assert_no_error(&client.batch("SELECT * INTO other FROM plain"));
    assert_eq!(scalar(&mut client, &format!("SELECT COUNT(*) {last} AND copied_row_count IS NULL")), 1);
    server.stop();
}

/// `INTN` of four bytes.
fn int_rows(values: impl Iterator<Item = i32>) -> Vec<u8> {
    values.flat_map(|value| [&[0xD1, 4][..], &value.to_le_bytes()].concat()).collect()
}

/// How many rows a scan finds behind one for which `late` holds, with `a` and the `b` before it.
fn out_of_order(late: &str) -> String {
    format!(
        "SELECT COUNT(*) FROM (SELECT a, LAG(a) OVER (ORDER BY p) b
           FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) p FROM t) numbered) pairs WHERE {late}"
    )
}

#[test]
fn clustered_tables_get_rows_as_they_came_in_the_order_of_their_keys() {
    let server = pages();
    let mut client = connect(&server);
    let int = one_column(&[0x26, 4]);
    let shuffled = int_rows((0..30_000).map(|row: i32| row * 7919 % 30_000 - 15_000));
    let shuffled = [int.clone(), shuffled].concat();
    let last = "FROM sys.dm_bulkwire_loads WHERE load_id = (SELECT MAX(load_id) FROM sys.dm_bulkwire_loads)";
    let copied = format!("SELECT CAST(copied_row_count AS int) {last}");
    for (key, late) in [
        ("a int NOT NULL PRIMARY KEY", "a < b"),
        ("a int NULL) CREATE CLUSTERED INDEX k ON t (a", "a < b"),
        ("a int NOT NULL, PRIMARY KEY (a DESC)) CREATE INDEX i ON t (a", "a > b"),
        ("a int NOT NULL) CREATE CLUSTERED INDEX k ON t (a) WITH (DATA_COMPRESSION = PAGE", "a < b"),
    ] {
        assert_no_error(&client.batch(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t ({key})")));
        assert_eq!(rows_loaded(&load(&mut client, "t", "a int", &shuffled)), Some(30_000), "{key}");
        let as_they_came = if key.contains("PAGE") { 0 } else { 30_000 };
        assert_eq!(scalar(&mut client, &copied), as_they_came, "{key}");
        assert_eq!(scalar(&mut client, "SELECT SUM(a) FROM t"), -15_000);
        assert_eq!(scalar(&mut client, &out_of_order(late)), 0, "{key}");
        // The same once more, into the tree that is there.
        let again = load(&mut client, "t", "a int", &shuffled);
        let is_unique = key.contains("PRIMARY");
        match is_unique {
            true => assert_eq!(error_numbers(&again), [2627], "{key}"),
            false => assert_eq!(rows_loaded(&again), Some(30_000), "{key}"),
        }
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), if is_unique { 30_000 } else { 60_000 });
        assert_eq!(scalar(&mut client, &out_of_order(late)), 0, "{key}");
        assert_no_error(&client.batch("DBCC CHECKTABLE ('t') WITH NO_INFOMSGS"));
    }
    // A key that two rows of the load have.
    let twice = [int.clone(), int_rows((0..30_000).map(|row| row.max(1)))].concat();
    assert_no_error(&client.batch("DROP TABLE t; CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY)"));
    let refused = load(&mut client, "t", "a int", &twice);
    assert_eq!(error_numbers(&refused), [2627]);
    assert!(format!("{refused:?}").contains("The duplicate key value is (1)"), "{refused:?}");
    // An order that does not hold is reported with the two rows.
    let sorted = int_rows(0..20_000);
    let late = [int.clone(), sorted.clone(), int_rows(77..78), sorted.clone()].concat();
    let ordered = "INSERT BULK t (a int) WITH (TABLOCK, ORDER (a ASC))";
    assert_no_error(&client.batch(ordered));
    client.socket.write_all(&packets(PacketType::BulkLoad, &late)).unwrap();
    let refused = client.answer();
    assert_eq!(error_numbers(&refused), [4819]);
    let rows = "primary key of first row: (19999), primary key of second row: (77)";
    assert!(format!("{refused:?}").contains(rows), "{refused:?}");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), 0);
    assert_no_error(&client.batch(ordered));
    client.socket.write_all(&packets(PacketType::BulkLoad, &[int.clone(), sorted].concat())).unwrap();
    assert_eq!(rows_loaded(&client.answer()), Some(20_000));
    assert_eq!(scalar(&mut client, &copied), 20_000);
    // Rows that exist are left out only if they are looked at.
    assert_no_error(&client.batch(
        "DROP TABLE t; CREATE TABLE t (a int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON)); INSERT INTO t VALUES (3)",
    ));
    load(&mut client, "t", "a int", &twice);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), 29_999);
    assert_eq!(
        scalar(&mut client, &format!("SELECT COUNT(*) {last} AND decode_reason = 'IGNORE_DUP_KEY'")),
        1
    );
    server.stop();
}

#[test]
fn copied_texts_are_in_the_order_of_their_collation() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(
        &client.batch("CREATE TABLE t (a nvarchar(20) NOT NULL) CREATE CLUSTERED INDEX k ON t (a)"),
    );
    let texts = ["b", "A", "a", "B ", "\u{e9}", "e", "Z", "10", "9", ""];
    let rows: Vec<u8> = (0..1000).flat_map(|_| texts.iter().flat_map(|text| nvarchar_row(text))).collect();
    let payload = [one_column(NVARCHAR20), rows].concat();
    assert_eq!(rows_loaded(&load(&mut client, "t", "a nvarchar(20)", &payload)), Some(10_000));
    assert_eq!(scalar(&mut client, &out_of_order("a < b")), 0);
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t WHERE a = N'a'"), 2000);
    assert_no_error(&client.batch("DBCC CHECKTABLE ('t') WITH NO_INFOMSGS"));
    server.stop();
}

#[test]
fn rows_of_a_transaction_are_read_as_it_has_them() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE t (a nvarchar(20) NULL)"));
    let payload = [one_column(NVARCHAR20), nvarchar_row("abc").repeat(60_000)].concat();
    assert_no_error(&client.batch("BEGIN TRANSACTION; INSERT INTO t VALUES (N'first')"));
    assert_eq!(rows_loaded(&load(&mut client, "t", "a nvarchar(20)", &payload)), Some(60_000));
    assert_no_error(&client.batch("INSERT INTO t VALUES (N'last')"));
    let (_, rows) = result(&answer_of(&mut client, "SELECT a FROM t"));
    assert_eq!(rows.len(), 60_002);
    assert_eq!(rows.iter().filter(|row| **row == nvarchar_row("abc")).count(), 60_000);
    assert_eq!(rows.first(), Some(&nvarchar_row("first")));
    assert_eq!(rows.last(), Some(&nvarchar_row("last")));
    // SET ROWCOUNT and TOP cut.
    assert_no_error(&client.batch("SET ROWCOUNT 50000"));
    let (_, cut) = result(&answer_of(&mut client, "SELECT a FROM t"));
    assert_eq!(cut.len(), 50_000);
    assert_no_error(&client.batch("SET ROWCOUNT 0"));
    let (_, top) = result(&answer_of(&mut client, "SELECT TOP (40000) a FROM t"));
    assert_eq!(top.len(), 40_000);
    assert_no_error(&client.batch("ROLLBACK"));
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t"), 0);
    server.stop();
}

#[test]
fn floats_that_are_no_numbers_are_refused() {
    let server = pages();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE floats (a float NULL)"));
    let row = |value: f64| [&[0xD1, 8][..], &value.to_le_bytes()].concat();
    let many = row(1.5).repeat(9000);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let payload = [one_column(&[0x6D, 8]), many.clone(), row(value), many.clone()].concat();
        assert_eq!(error_numbers(&load(&mut client, "floats", "a float", &payload)), [4896]);
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM floats"), 0);
    }
    server.stop();
}
