//! Files of fields of fixed width whose rows are lines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Cursor;

use arrow::array::{Array, AsArray};
use formats::bcp::{
    ByteOrderMark, Deviation, FileCodePage, FormatFile, HostReadOptions, HostReader, Tolerance, declare,
};

const LINES: &str = "14.0\n3\n\
    1 SQLCHAR 0 4 \"\" 1 id \"\"\n\
    2 SQLCHAR 0 6 \"\" 2 name \"\"\n\
    3 SQLCHAR 0 0 \"\\n\" 3 rest \"\"\n";
const WIDE: &str = "14.0\n2\n\
    1 SQLNCHAR 0 6 \"\" 1 id \"\"\n\
    2 SQLNCHAR 0 0 \"\\n\\0\" 2 rest \"\"\n";

fn options(skip_lines: usize) -> HostReadOptions {
    HostReadOptions {
        blank_is_null: true,
        skip_lines,
        byte_order_mark: ByteOrderMark::Strip,
        tolerance: Tolerance::strict().suffer(Deviation::MissingLastTerminator),
        ..HostReadOptions::default()
    }
}

/// Rows as text, `-` for NULL, and those that were rejected; the same whatever the size of blocks.
fn read(format: &str, columns: &str, bytes: &[u8], options: &HostReadOptions) -> (Vec<String>, Vec<String>) {
    let file = FormatFile::parse(format.as_bytes(), "t.fmt").unwrap();
    let columns = declare(columns).unwrap();
    let of_blocks = |block_bytes: usize| {
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let reader =
            HostReader::with_block_bytes(input, "t.txt", &file, &columns, options, block_bytes).unwrap();
        let (mut rows, mut rejected) = (Vec::new(), Vec::new());
        for batch in reader {
            let batch = batch.unwrap();
            for row in 0..batch.batch.num_rows() {
                let cells = batch.batch.columns().iter().map(|column| {
                    let texts = column.as_string::<i32>();
                    if texts.is_null(row) { "-" } else { texts.value(row) }
                });
                let place = (batch.positions.row(row), batch.positions.byte_offset(row));
                rows.push(format!("{place:?} {}", cells.collect::<Vec<_>>().join("|")));
            }
            let reason =
                |row: &formats::bcp::RejectedRow| format!("{} {}: {}", row.row, row.column, row.reason);
            rejected.extend(batch.rejected.iter().map(reason));
        }
        (rows, rejected)
    };
    let whole = of_blocks(1 << 20);
    for block_bytes in 1..20 {
        assert_eq!(of_blocks(block_bytes), whole, "blocks of {block_bytes}");
    }
    whole
}

const TEXTS: &str = "id nvarchar(4), name nvarchar(6), rest nvarchar(20)";

#[test]
fn a_line_may_leave_out_blanks() {
    let text = "1   anna  x y  \n22  bob\n333\n\n4   carl        \n      here\n5   last  z";
    let (rows, rejected) = read(LINES, TEXTS, text.as_bytes(), &options(0));
    assert_eq!(
        rows,
        [
            "(1, 0) 1|anna|x y",
            "(2, 16) 22|bob|-",
            "(3, 24) 333|-|-",
            "(4, 29) 4|carl|-",
            "(5, 46) -|  here|-",
            "(6, 57) 5|last|z",
        ]
    );
    assert_eq!(rejected, [""; 0]);
}

#[test]
fn lines_in_front_of_the_rows_are_skipped() {
    let text = "A title of any length\n\nID  NAME  REST\n1   anna  x\n";
    assert_eq!(read(LINES, TEXTS, text.as_bytes(), &options(3)).0, ["(1, 38) 1|anna|x"]);
    // Of a file that ends before them, nothing is left.
    assert_eq!(read(LINES, TEXTS, text.as_bytes(), &options(4)).0, [""; 0]);
    assert_eq!(read(LINES, TEXTS, text.as_bytes(), &options(9)).0, [""; 0]);
    assert_eq!(read(LINES, TEXTS, b"", &options(1)).0, [""; 0]);
    let unended = LINES.replace("0 0 \"\\n\"", "0 5 \"\"");
    let file = FormatFile::parse(unended.as_bytes(), "t.fmt").unwrap();
    let input = Cursor::new(b"".to_vec());
    let error = HostReader::new(input, "t.txt", &file, &declare(TEXTS).unwrap(), &options(1)).err().unwrap();
    assert!(error.to_string().contains("no lines to skip"), "{error}");
}

#[test]
fn widths_count_bytes() {
    // Two bytes for a kanji of Shift-JIS; in the third line the second one is cut in two.
    let japanese = HostReadOptions { code_page: FileCodePage::from_number(932).unwrap(), ..options(0) };
    let text = b"\x8A\xBF\x8E\x9Ankanji\n\xB1   kana\nab\x8A\xBFx\nabc\x8A\xBFx\n";
    let (rows, rejected) = read(LINES, TEXTS, text, &japanese);
    assert_eq!(rows, ["(1, 0) 漢字|nkanji|-", "(2, 11) ｱ|kana|-", "(3, 20) ab漢|x|-"]);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert!(rejected[0].starts_with("4 id: "), "{rejected:?}");
    let utf8 = "é   name  r\n日 name  r\n";
    let (rows, _) = read(LINES, TEXTS, utf8.as_bytes(), &options(0));
    assert_eq!(rows, ["(1, 0) é| name| r", "(2, 13) 日|name|r"]);
}

#[test]
fn widths_of_utf_16_count_units_behind_the_mark() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    // U+0A0D holds both bytes of a line end across two units.
    let text = wide("\u{FEFF}漢字xrest\n😀 ਊ\u{A0D}\n\n1\n");
    let columns = "id nvarchar(3), rest nvarchar(20)";
    let (rows, rejected) = read(WIDE, columns, &text, &options(0));
    assert_eq!(rows, ["(1, 2) 漢字x|rest", "(2, 18) 😀|ਊ\u{A0D}", "(3, 32) 1|-"]);
    assert_eq!(rejected, [""; 0]);
}
