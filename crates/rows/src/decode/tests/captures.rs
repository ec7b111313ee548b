//! What real clients send must decode to the rows that they were given.

use tds::{Direction, Reader, decode_columns};

use super::*;

/// The bulk load payloads of the captures, by client.
pub(super) const CAPTURES: [(&str, &[u8]); 11] = [
    ("freebcp", include_bytes!("../../../tests/fixtures/bulk/freebcp.bin")),
    ("go", include_bytes!("../../../tests/fixtures/bulk/go.bin")),
    ("jdbc", include_bytes!("../../../tests/fixtures/bulk/jdbc_native.bin")),
    ("mssql-python", include_bytes!("../../../tests/fixtures/bulk/mssqlpython_arrow.bin")),
    ("mssql-tds", include_bytes!("../../../tests/fixtures/bulk/mssqltds.bin")),
    ("odbc bcp_exec", include_bytes!("../../../tests/fixtures/bulk/odbc_bcp_exec.bin")),
    ("odbc bcp_sendrow", include_bytes!("../../../tests/fixtures/bulk/odbc_dm_prefix.bin")),
    ("pymssql", include_bytes!("../../../tests/fixtures/bulk/pymssql.bin")),
    ("python-tds", include_bytes!("../../../tests/fixtures/bulk/pytds.bin")),
    ("tedious", include_bytes!("../../../tests/fixtures/bulk/tedious20.bin")),
    ("tiberius", include_bytes!("../../../tests/fixtures/bulk/tiberius.bin")),
];

/// Returns the columns of a payload and the rest of its bytes.
pub(super) fn opened(payload: &[u8]) -> (Vec<Column>, &[u8]) {
    let mut reader = Reader::new(payload);
    assert_eq!(reader.u8("token").unwrap(), 0x81);
    let columns = decode_columns(&mut reader, Direction::ClientToServer).unwrap().unwrap();
    let at = reader.position();
    (columns, &payload[at..])
}

/// The rows, as the clients were given them.
const ROWS: [[&str; 11]; 3] = [
    [
        "0",
        "-100",
        "0",
        "0.25",
        "0",
        "2020-01-01",
        "2024-01-01 00:00:00.000007",
        "0.0001",
        "user_00000",
        "cat_000@example",
        "Zürich_0000",
    ],
    [
        "1",
        "-93",
        "1000003",
        "0.75",
        "1",
        "2020-01-02",
        "2024-01-01 00:00:01.001007",
        "1.2346",
        "user_00001",
        "cat_001@example",
        "Zürich_0001",
    ],
    [
        "2",
        "-86",
        "2000006",
        "1.25",
        "0",
        "2020-01-03",
        "2024-01-01 00:00:02.002007",
        "2.4691",
        "user_00002",
        "cat_002@example",
        "Zürich_0002",
    ],
];
const DATETIME2: usize = 6;

#[test]
fn every_client_sends_the_same_rows() {
    for (client, payload) in CAPTURES {
        let (columns, rows) = opened(payload);
        for form in [Form::default(), Form::Exact] {
            let mut decoder = Decoder::new(&columns, form).unwrap();
            let used = decoder.decode(rows).unwrap();
            let tail = &rows[used..];
            assert!(tail.is_empty() || tail[0] == 0xfd, "{client}: {tail:02x?}");
            let batch = decoder.take_batch().unwrap();
            assert_eq!(batch.num_rows(), 3, "{client}");
            for index in 0..11 {
                for (found, row) in spelled(&batch, index).into_iter().zip(ROWS) {
                    let mut expected = row[index].to_owned();
                    match (index, client) {
                        // FreeTDS sends seven digits, and pymssql cuts to milliseconds.
                        (DATETIME2, "freebcp") => expected.push('0'),
                        (DATETIME2, "pymssql") => expected.replace_range(23.., "0000"),
                        _ => {}
                    }
                    assert_eq!(found.as_deref(), Some(&*expected), "{client}, column {index}");
                }
            }
        }
    }
}
