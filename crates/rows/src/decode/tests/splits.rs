//! The same rows must come out however the input is cut.

use super::captures::{CAPTURES, opened};
use super::*;

/// Feeds `bytes` in pieces: first those up to `cut`, then `step` bytes at a time.
fn in_pieces(
    columns: &[Column],
    bytes: &[u8],
    cut: usize,
    step: usize,
    batch_rows: usize,
) -> (RecordBatch, usize) {
    let mut decoder = Decoder::new(columns, Form::Exact).unwrap().with_batch_rows(batch_rows);
    let mut batches = Vec::new();
    let (mut at, mut seen) = (0, cut);
    loop {
        at += decoder.decode(&bytes[at..seen]).unwrap();
        if decoder.is_full() {
            batches.push(decoder.take_batch().unwrap());
            assert!(batches.last().unwrap().num_rows() <= batch_rows);
        } else if seen == bytes.len() {
            break;
        } else {
            seen = (seen + step).min(bytes.len());
        }
    }
    batches.push(decoder.take_batch().unwrap());
    (arrow::compute::concat_batches(&decoder.schema(), &batches).unwrap(), at)
}

#[test]
fn every_split_of_a_capture_gives_the_same_rows() {
    for (client, payload) in CAPTURES {
        let (columns, rows) = opened(payload);
        let whole = in_pieces(&columns, rows, rows.len(), 1, usize::MAX);
        assert_eq!(whole.0.num_rows(), 3, "{client}");
        for cut in 0..rows.len() {
            assert_eq!(
                in_pieces(&columns, rows, cut, rows.len(), usize::MAX),
                whole,
                "{client} cut at {cut}"
            );
        }
        assert_eq!(in_pieces(&columns, rows, 0, 1, usize::MAX), whole, "{client} byte by byte");
        assert_eq!(in_pieces(&columns, rows, rows.len(), 1, 2), whole, "{client} in batches of 2");
    }
}

/// Makes rows with a long value in each of two columns, in chunks of many sizes.
fn long_rows() -> (Vec<Column>, Vec<u8>) {
    let columns = ["int", "nvarchar(max)", "varchar(10)", "varbinary(max)", "text", "bit"]
        .map(|sql_type| column(sql_type, true));
    let mut bytes = Vec::new();
    for row in 0..4u32 {
        bytes.extend([0xd1, 4]);
        bytes.extend(row.to_le_bytes());
        let text: Vec<u8> =
            format!("Zürich {row} ").repeat(7).encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.extend(if row % 2 == 0 { u64::MAX - 1 } else { text.len() as u64 }.to_le_bytes());
        for chunk in text.chunks(5 + row as usize) {
            bytes.extend((chunk.len() as u32).to_le_bytes());
            bytes.extend(chunk);
        }
        bytes.extend([0; 4]);
        bytes.extend([2, 0, b'o', b'k']);
        bytes.extend((u64::MAX - 1).to_le_bytes());
        for chunk in [&b"\x00\x01\x02"[..], b"\xd1\xff"] {
            bytes.extend((chunk.len() as u32).to_le_bytes());
            bytes.extend(chunk);
        }
        bytes.extend([0; 4]);
        bytes.push(16);
        bytes.extend([7; 24]);
        bytes.extend([3, 0, 0, 0, b'a', b'b', b'c']);
        bytes.extend([1, 1]);
    }
    bytes.push(0xfd);
    (columns.to_vec(), bytes)
}

#[test]
fn every_split_of_long_values_gives_the_same_rows() {
    let (columns, bytes) = long_rows();
    let whole = in_pieces(&columns, &bytes, bytes.len(), 1, usize::MAX);
    assert_eq!((whole.0.num_rows(), whole.1), (4, bytes.len() - 1));
    assert_eq!(spelled(&whole.0, 1)[3].as_deref(), Some(&*"Zürich 3 ".repeat(7)));
    assert_eq!(spelled(&whole.0, 3)[0].as_deref(), Some("000102D1FF"));
    for cut in 0..bytes.len() {
        assert_eq!(in_pieces(&columns, &bytes, cut, bytes.len(), usize::MAX), whole, "cut at {cut}");
        assert_eq!(in_pieces(&columns, &bytes, cut, 7, 3), whole, "cut at {cut}, then pieces of 7");
    }
}

#[test]
fn many_rows_cross_blocks() {
    // More rows than a block holds, and rows longer than a block.
    let columns = [column("int", true), column("varbinary(max)", true)];
    let mut bytes = Vec::new();
    let rows = 3000u32;
    for row in 0..rows {
        bytes.extend([0xd1, 4]);
        bytes.extend(row.to_le_bytes());
        let length = if row % 1000 == 999 { 300_000 } else { row as usize % 7 };
        bytes.extend((length as u64).to_le_bytes());
        if length > 0 {
            bytes.extend((length as u32).to_le_bytes());
            bytes.extend(std::iter::repeat_n(row as u8, length));
        }
        bytes.extend([0; 4]);
    }
    for batch_rows in [1, 511, 512, 513, usize::MAX] {
        let (batch, used) = in_pieces(&columns, &bytes, bytes.len(), 1, batch_rows);
        assert_eq!(used, bytes.len());
        assert_eq!(batch.num_rows(), rows as usize);
        let texts = spelled(&batch, 1);
        for row in [0usize, 6, 511, 512, 999, 1000, 2999] {
            let length = if row % 1000 == 999 { 300_000 } else { row % 7 };
            assert_eq!(texts[row].as_ref().map(String::len), Some(2 * length), "row {row}");
        }
        assert_eq!(spelled(&batch, 0)[2999].as_deref(), Some("2999"));
    }
}
