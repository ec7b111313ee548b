//! The bulk load streams of eleven real clients, byte for byte: COLMETADATA, three rows and the end of each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use bulkwire_tds::{
    BulkError, BulkEvent, BulkStream, Column, Direction, Reader, SqlType, Value, ValuePlace, Writer,
    decode_value, encode_columns, encode_value,
};
use proptest::prelude::*;

const CLIENTS: [&str; 11] = [
    "freebcp",
    "go",
    "jdbc_native",
    "mssqlpython_arrow",
    "mssqltds",
    "odbc_bcp_exec",
    "odbc_dm_prefix",
    "pymssql",
    "pytds",
    "tedious20",
    "tiberius",
];

/// The payload of the bulk load message that the client sent, over all its connections.
fn bulk_payload(client: &str) -> Vec<u8> {
    let folder = Path::new(".").join("tests/fixtures/wire-captures").join(client);
    let mut payload = Vec::new();
    for connection in ["c1.c2s", "c2.c2s"] {
        let Ok(bytes) = std::fs::read(folder.join(connection)) else { continue };
        let mut rest = bytes.as_slice();
        while let [packet_type, _, high, low, ..] = rest {
            let (packet, tail) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
            if *packet_type == 7 {
                payload.extend(&packet[8..]);
            }
            rest = tail;
        }
    }
    payload
}

/// Runs the stream, shown `step` more bytes at a time, and decodes every cell.
fn read(payload: &[u8], step: usize) -> (Vec<Column>, Vec<Vec<Value>>, usize) {
    let mut stream = BulkStream::new();
    let (mut at, mut shown) = (0, 0);
    let mut rows = Vec::new();
    loop {
        match stream.next(&payload[at..shown], shown == payload.len()).unwrap() {
            BulkEvent::Columns { bytes } => at += bytes,
            BulkEvent::MoreNeeded => shown = payload.len().min(shown + step),
            BulkEvent::Rows(span) => {
                let mut r = Reader::new_complete(&payload[at..at + span.bytes]);
                for _ in 0..span.rows {
                    assert_eq!(r.u8("row token"), Ok(0xD1));
                    let cells = stream.columns().iter();
                    rows.push(
                        cells.map(|c| decode_value(&mut r, &c.type_info, ValuePlace::Row).unwrap()).collect(),
                    );
                }
                r.finish("rows").unwrap();
                at += span.bytes;
            }
            BulkEvent::End => break,
        }
    }
    assert_eq!(stream.rows(), rows.len() as u64);
    (stream.columns().to_vec(), rows, payload.len() - at)
}

/// One line per row; the two columns that clients send differently are checked apart.
fn line(columns: &[Column], row: &[Value]) -> String {
    let same =
        columns.iter().zip(row).filter(|(c, _)| !matches!(c.name.as_str(), "col_datetime2" | "col_decimal"));
    same.map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("|")
}

const ROWS: [&str; 3] = [
    "0|-100|0|0.25|0|2020-01-01|user_00000|cat_000@example|Zürich_0000",
    "1|-93|1000003|0.75|1|2020-01-02|user_00001|cat_001@example|Zürich_0001",
    "2|-86|2000006|1.25|0|2020-01-03|user_00002|cat_002@example|Zürich_0002",
];

#[test]
fn eleven_clients_send_the_same_table() {
    for client in CLIENTS {
        let payload = bulk_payload(client);
        let (columns, rows, tail_bytes) = read(&payload, payload.len());
        let lines: Vec<_> = rows.iter().map(|row| line(&columns, row)).collect();
        assert_eq!(lines, ROWS, "{client}");

        let types: Vec<_> = columns.iter().map(|column| column.sql_type().to_string()).collect();
        let datetime2 = if matches!(client, "freebcp" | "pymssql") { "datetime2(7)" } else { "datetime2(6)" };
        let decimal = match client {
            "freebcp" | "go" | "pymssql" | "mssqltds" | "mssqlpython_arrow" | "tiberius" => "numeric(18, 4)",
            "odbc_bcp_exec" => "float",
            _ => "decimal(18, 4)",
        };
        assert_eq!(
            types,
            [
                "int",
                "int",
                "bigint",
                "float",
                "bit",
                "date",
                datetime2,
                decimal,
                "nvarchar(100)",
                "varchar(100)",
                "nvarchar(100)"
            ],
            "{client}"
        );
        assert_eq!(columns[9].type_info.collation.unwrap().name().unwrap(), "SQL_Latin1_General_CP1_CI_AS");
        assert!(columns[1].flags.is_nullable(), "{client}");
        let done_bytes = if client.starts_with("mssql") { 9 } else { 13 };
        assert_eq!(tail_bytes, done_bytes, "{client}");
    }
}

#[test]
fn times_and_decimals_of_each_client() {
    for client in CLIENTS {
        let payload = bulk_payload(client);
        let (_, rows, _) = read(&payload, payload.len());
        let times: Vec<_> = rows.iter().map(|row| row[6].to_string()).collect();
        // freebcp and pymssql know no scale but 7; pymssql loses the microseconds of its text.
        let expected = match client {
            "freebcp" => ["00:00:00.0000070", "00:00:01.0010070", "00:00:02.0020070"],
            "pymssql" => ["00:00:00.0000000", "00:00:01.0010000", "00:00:02.0020000"],
            _ => ["00:00:00.000007", "00:00:01.001007", "00:00:02.002007"],
        };
        assert_eq!(times, expected.map(|time| format!("2024-01-01 {time}")), "{client}");

        let decimals: Vec<_> = rows.iter().map(|row| row[7].to_string()).collect();
        assert_eq!(decimals, ["0.0001", "1.2346", "2.4691"], "{client}");
    }
}

#[test]
fn any_split_gives_the_same_rows() {
    for client in CLIENTS {
        let payload = bulk_payload(client);
        let whole = read(&payload, payload.len());
        for step in [1, 7, 64] {
            assert_eq!(read(&payload, step), whole, "{client}, {step} bytes at a time");
        }
    }
}

#[test]
fn what_was_read_is_written_back_byte_for_byte() {
    for client in CLIENTS {
        let payload = bulk_payload(client);
        let (columns, rows, tail_bytes) = read(&payload, payload.len());
        let mut w = Writer::new();
        w.u8(0x81);
        encode_columns(Some(&columns), &mut w, Direction::ClientToServer);
        for row in &rows {
            w.u8(0xD1);
            for (column, value) in columns.iter().zip(row) {
                encode_value(value, &column.type_info, &mut w, ValuePlace::Row);
            }
        }
        let written = w.finish().unwrap();
        // These send decimals longer or shorter than their precision needs.
        if !matches!(client, "jdbc_native" | "odbc_dm_prefix" | "tiberius") {
            assert_eq!(written, payload[..payload.len() - tail_bytes], "{client}");
        }
        assert_eq!(read(&written, written.len()), (columns, rows, 0), "{client}, without a DONE");
    }
}

#[test]
fn broken_streams_are_refused_by_kind() {
    let payload = bulk_payload("go");
    let end = payload.len() - 13;
    let outcome = |bytes: &[u8]| {
        let (mut stream, mut at) = (BulkStream::new(), 0);
        loop {
            match stream.next(&bytes[at..], true) {
                Ok(BulkEvent::Columns { bytes }) => at += bytes,
                Ok(BulkEvent::Rows(span)) => at += span.bytes,
                Ok(BulkEvent::MoreNeeded) => panic!("the message has ended"),
                Ok(BulkEvent::End) => return Ok(stream.rows()),
                Err(error) => return Err(error),
            }
        }
    };
    assert_eq!(outcome(&payload), Ok(3));
    assert_eq!(outcome(&payload[..end]), Ok(3));
    assert_eq!(outcome(&payload[..end - 1]), Err(BulkError::EndedInsideRow { rows: 2 }));
    assert_eq!(outcome(&payload[..end + 5]), Err(BulkError::MalformedTail { bytes: 5 }));
    assert_eq!(outcome(&payload[..20]), Err(BulkError::EndedInsideRow { rows: 0 }));
    assert_eq!(outcome(&payload[1..]), Err(BulkError::MetadataMissing));
    assert_eq!(outcome(&[]), Err(BulkError::MetadataMissing));
    let mut other = payload[..end].to_vec();
    other.push(0xAA);
    assert_eq!(outcome(&other), Err(BulkError::UnexpectedToken { token: 0xAA, rows: 3 }));
}

#[test]
fn not_null_columns_use_fixed_tokens_where_the_client_says_so() {
    for (client, max_decimal) in [("go", 17), ("mssqltds", 108), ("odbc_dm_prefix", 19), ("tedious20", 9)] {
        let payload = bulk_payload(client);
        let (columns, ..) = read(&payload, payload.len());
        let fixed = matches!(columns[0].type_info.form, bulkwire_tds::Form::Fixed);
        assert_eq!(fixed, client == "go", "{client}");
        assert_eq!(columns[7].type_info.max_length, max_decimal, "{client}");
        assert!(matches!(columns[0].sql_type(), SqlType::Int));
    }
}

proptest! {
    /// Bytes of a real stream, some of them changed: whatever comes, it is read or refused, and nothing panics.
    #[test]
    fn damaged_streams_never_panic(
        client in 0..CLIENTS.len(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<proptest::sample::Index>(),
    ) {
        let mut payload = bulk_payload(CLIENTS[client]);
        for (index, byte) in damage {
            let index = index.index(payload.len());
            payload[index] = byte;
        }
        payload.truncate(cut.index(payload.len() * 3));
        let (mut stream, mut at) = (BulkStream::new(), 0);
        while at <= payload.len() {
            match stream.next(&payload[at..], true) {
                Ok(BulkEvent::Columns { bytes }) => at += bytes,
                Ok(BulkEvent::Rows(span)) => {
                    prop_assert!(span.rows > 0 && at + span.bytes <= payload.len());
                    let mut r = Reader::new_complete(&payload[at..at + span.bytes]);
                    'rows: while r.u8("row token").is_ok_and(|token| token == 0xD1) {
                        for column in stream.columns() {
                            if decode_value(&mut r, &column.type_info, ValuePlace::Row).is_err() {
                                break 'rows;
                            }
                        }
                    }
                    at += span.bytes;
                }
                Ok(BulkEvent::MoreNeeded) => panic!("the message has ended"),
                Ok(BulkEvent::End) | Err(_) => break,
            }
        }
    }
}
