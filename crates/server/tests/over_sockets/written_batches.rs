//! Loads whose batches are written on a thread of their own, while the rows behind them are decoded.

use std::io::Write;

use bulkwire_server::RunningServer;
use tds::packet::{PacketType, Status};
use tds::packet_framer::frame_message;
use tds::token::Token;

use crate::client::Client;
use crate::served::{
    self, assert_no_error, connect, count, error_numbers, packets, rows_loaded, scalar, send_attention,
};

/// Rows of three batches: a batch of the server has 16,384.
const ROWS: usize = 40_000;
/// Refused by the table's CHECK.
const UNCHECKED: (i32, [u8; 3]) = (-1, [1, 0, 0]);
/// Behind the last day of `date`.
const NO_DAY: (i32, [u8; 3]) = (1, [0xFF; 3]);

/// COLMETADATA of `a int NULL, d date NULL`, and rows that are good but for those at these places.
fn payload(bad: &[(usize, (i32, [u8; 3]))]) -> Vec<u8> {
    let mut payload = vec![0x81, 2, 0];
    for (type_info, name) in [(&[0x26, 4][..], b'a'), (&[0x28], b'd')] {
        payload.extend([0, 0, 0, 0, 9, 0]);
        payload.extend(type_info);
        payload.extend([1, name, 0]);
    }
    let mut rows = vec![(7, [1, 0, 0]); ROWS];
    bad.iter().for_each(|(place, row)| rows[*place] = *row);
    for (number, day) in rows {
        payload.extend([0xD1, 4]);
        payload.extend(number.to_le_bytes());
        payload.push(3);
        payload.extend(day);
    }
    payload
}

fn server() -> (RunningServer, Client) {
    let server = served::server();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE TABLE t (a int NULL CHECK (a > 0), d date NULL)"));
    (server, client)
}

fn begin(client: &mut Client) {
    assert_no_error(&client.batch("INSERT BULK t (a int, d date) WITH (CHECK_CONSTRAINTS)"));
}

fn load(client: &mut Client, bad: &[(usize, (i32, [u8; 3]))]) -> Vec<Token> {
    begin(client);
    client.socket.write_all(&packets(PacketType::BulkLoad, &payload(bad))).unwrap();
    client.answer()
}

#[test]
fn all_batches_are_there_and_in_their_order() {
    let (server, mut client) = server();
    let marks: Vec<_> = (0..ROWS).step_by(997).map(|place| (place, (place as i32 + 1, [1, 0, 0]))).collect();
    assert_eq!(rows_loaded(&load(&mut client, &marks)), Some(ROWS as u64));
    let marked = marks.len() as i32;
    assert_eq!(
        scalar(
            &mut client,
            "SELECT COUNT(*) FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) p FROM t) numbered
             WHERE (p - 1) % 997 = 0 AND a = p"
        ),
        marked
    );
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM t WHERE a = 7"), ROWS as i32 - marked);
    server.stop();
}

#[test]
fn a_row_that_is_refused_in_any_batch_undoes_all_of_them() {
    let (server, mut client) = server();
    for place in [0, 16_383, 16_384, 20_000, 32_767, 32_768, ROWS - 1] {
        assert_eq!(error_numbers(&load(&mut client, &[(place, UNCHECKED)])), [547], "row {place}");
        assert_eq!(count(&mut client), 0, "row {place}");
    }
    assert_eq!(rows_loaded(&load(&mut client, &[])), Some(ROWS as u64));
    assert_eq!(count(&mut client), ROWS as i32);
    server.stop();
}

#[test]
fn the_error_is_that_of_the_batch_that_came_first() {
    let (server, mut client) = server();
    for (refused, undecodable, expected) in [
        (5, 16_384, 547),
        (5, 20_000, 547),
        (16_384, ROWS - 1, 547),
        (20_000, 5, 4896),
        (ROWS - 1, 32_768, 4896),
    ] {
        let bad = [(refused, UNCHECKED), (undecodable, NO_DAY)];
        assert_eq!(error_numbers(&load(&mut client, &bad)), [expected], "{refused}, {undecodable}");
        assert_eq!(count(&mut client), 0);
    }
    server.stop();
}

#[test]
fn a_stream_that_breaks_behind_a_refused_row_has_the_error_of_the_row() {
    let (server, mut client) = server();
    // Behind the second batch, and in the middle of it while the first is still being written.
    for rows in [32_768, 16_500] {
        let whole = payload(&[(5, UNCHECKED)]);
        // The token, a number with its length, and a day with its length.
        let row_bytes = 1 + 5 + 4;
        let head = whole.len() - ROWS * row_bytes;
        let broken = [&whole[..head + rows * row_bytes], &[0x00]].concat();
        begin(&mut client);
        client.socket.write_all(&packets(PacketType::BulkLoad, &broken)).unwrap();
        assert_eq!(error_numbers(&client.answer()), [547], "after {rows} rows");
        assert_eq!(count(&mut client), 0);
    }
    server.stop();
}

#[test]
fn a_load_that_is_cancelled_or_left_leaves_no_batch() {
    let (server, mut client) = server();
    let payload = payload(&[]);
    for bytes in [payload.len() / 2, payload.len() / 5 * 4, payload.len()] {
        // All packets but the last, which would end the message.
        let unended: Vec<u8> = payload[..bytes]
            .chunks(4088)
            .flat_map(|chunk| {
                let mut packet = frame_message(PacketType::BulkLoad, 4096, 0, Status::NORMAL, chunk);
                packet[1] = 0;
                packet
            })
            .collect();
        begin(&mut client);
        client.socket.write_all(&unended).unwrap();
        send_attention(&mut client);
        assert_eq!(error_numbers(&client.answer()), Vec::<i32>::new(), "{bytes} bytes");
        assert_eq!(count(&mut client), 0, "{bytes} bytes");
        let mut other = connect(&server);
        begin(&mut other);
        other.socket.write_all(&unended).unwrap();
        drop(other);
        assert_eq!(rows_loaded(&load(&mut client, &[])), Some(ROWS as u64));
        assert_eq!(count(&mut client), ROWS as i32, "{bytes} bytes");
        assert_no_error(&client.batch("TRUNCATE TABLE t"));
    }
    server.stop();
}
