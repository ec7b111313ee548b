//! Files as strangers send them: what is guessed, and that the guess reads the file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use formats::bcp::{HostFormat, HostReadOptions, HostReader};
use formats::csv::CsvReader;
use formats::sniff::{Content, Layout, Positions, SniffedText, sniff_bytes};

fn text(bytes: &[u8]) -> SniffedText {
    match sniff_bytes(bytes, true, "file").unwrap().content {
        Content::Text(text) => *text,
        other => panic!("{other:?}"),
    }
}

fn report(bytes: &[u8]) -> String {
    sniff_bytes(bytes, true, "file").unwrap().to_string()
}

/// Rows that the guessed dialect reads.
fn rows_by_guess(bytes: &[u8]) -> usize {
    let options = text(bytes).csv_options().unwrap();
    let reader = CsvReader::new(std::io::Cursor::new(bytes.to_vec()), "file", &options, 100).unwrap();
    reader.map(|batch| batch.unwrap().num_rows()).sum()
}

/// Rows that the guessed format file reads, and those that it rejects.
fn rows_by_format_file(bytes: &[u8]) -> (usize, usize) {
    let sniffed = text(bytes);
    let format_file = sniffed.format_file().unwrap();
    let parsed = formats::bcp::FormatFile::parse(format_file.to_text().as_bytes(), "guess.fmt").unwrap();
    let format = HostFormat::from_format_file(parsed).unwrap();
    let options = HostReadOptions {
        byte_order_mark: formats::bcp::ByteOrderMark::Strip,
        first_row: if sniffed.header { 2 } else { 1 },
        ..format.read
    };
    let input = std::io::Cursor::new(bytes.to_vec());
    let reader = HostReader::new(input, "file", &format.format_file, &format.columns, &options).unwrap();
    reader.map(|batch| batch.unwrap()).fold((0, 0), |(rows, rejected), batch| {
        (rows + batch.batch.num_rows(), rejected + batch.rejected.len())
    })
}

#[test]
fn quoted_csv_with_line_breaks_in_fields() {
    let file = b"id,name,paid\n1,\"Smith, John\",1.50\n2,\"two\nlines\",20.25\n3,\"say \"\"hi\"\"\",\n";
    assert_eq!(
        report(file),
        "file (70 bytes, whole file)
  encoding        UTF-8
  row terminator  \\n
  delimiter       , (quoted with \")
  header          yes
  rows            3
  columns
    id    tinyint not null
    name  nvarchar(11) not null
    paid  decimal(4, 2) null
  preview
    |id|name       |paid |
    |1 |Smith, John|1.50 |
    |2 |two·lines  |20.25|
    |3 |say \"hi\"   |     |
"
    );
    assert_eq!(rows_by_guess(file), 3);
    // A format file has no quotes.
    assert_eq!(text(file).format_file(), None);
    assert_eq!(
        text(file).declaration(),
        "[id] tinyint not null, [name] nvarchar(11) not null, [paid] decimal(4, 2) null"
    );
}

#[test]
fn what_spreadsheets_write() {
    let semicolons = "sep=;\r\nNr;Stadt;Tag\r\n1;Köln;2026-03-14\r\n2;Zürich;2026-03-15\r\n";
    let windows = encode_1252(semicolons);
    let sniffed = text(&windows);
    assert_eq!(sniffed.encoding.to_string(), "code page 1252");
    assert!(sniffed.separator_line && sniffed.header);
    assert_eq!(sniffed.row_terminator, "\r\n");
    assert_eq!(rows_by_guess(&windows), 2);

    let tabs = "Nr\tStadt\r\n1\tKöln\r\n2\tZürich";
    let wide: Vec<u8> =
        std::iter::once(0xFEFF).chain(tabs.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let sniffed = text(&wide);
    assert_eq!(sniffed.encoding.to_string(), "UTF-16LE");
    assert!(sniffed.byte_order_mark && sniffed.header && !sniffed.last_row_is_terminated);
    assert_eq!(rows_by_guess(&wide), 2);
    assert_eq!(rows_by_format_file(&wide), (2, 0));
    let marked = [b"\xEF\xBB\xBF", semicolons.as_bytes()].concat();
    assert!(text(&marked).byte_order_mark);
    assert_eq!(rows_by_guess(&marked), 2);
}

fn encode_1252(text: &str) -> Vec<u8> {
    tds::CodePage::Cp1252.encode(text).unwrap().into_owned()
}

#[test]
fn a_character_file_of_bcp() {
    let file = b"1\t10\tab\t\n2\t\tcd\t2026-03-14\n3\t30\t\x00\t2026-03-15\n";
    let sniffed = text(file);
    assert_eq!(
        sniffed.format_file().unwrap().to_text(),
        "14.0
4
1       SQLCHAR             0       0       \"\\t\"   1     column1                          \"\"
2       SQLCHAR             0       0       \"\\t\"   2     column2                          \"\"
3       SQLCHAR             0       0       \"\\t\"   3     column3                          \"\"
4       SQLCHAR             0       0       \"\\n\"   4     column4                          \"\"
"
    );
    assert!(!sniffed.header);
    assert_eq!(rows_by_format_file(file), (3, 0));
}

#[test]
fn delimiters_of_several_characters() {
    let file = b"1||a,b||x\n2||c||y;z\n3||d||w\n";
    assert_eq!(
        text(file).layout,
        formats::sniff::Layout::Delimited { delimiter: "||".to_owned(), quote: None }
    );
    assert_eq!(rows_by_format_file(file), (3, 0));
}

#[test]
fn columns_of_fixed_width() {
    let file = b"0001Smith     London    2026-03-14\n0002Jones     Hull      2026-03-15\n0123Kim       Leeds     2026-03-16\n";
    assert_eq!(
        report(file),
        "file (105 bytes, whole file)
  encoding        UTF-8
  row terminator  \\n
  fixed width     34 characters: 4 + 10 + 10 + 10
  header          no
  rows            3
  found           column1: text: leading zeros; --types gives the column a type (row 1: \"0001\")
  columns
    column1  nvarchar(4) not null
    column2  nvarchar(5) not null
    column3  nvarchar(6) not null
    column4  date not null
  preview
    |0001|Smith     |London    |2026-03-14|
    |0002|Jones     |Hull      |2026-03-15|
    |0123|Kim       |Leeds     |2026-03-16|
"
    );
    assert_eq!(text(file).csv_options(), None);
    assert_eq!(rows_by_format_file(file), (3, 0));
}

/// UTF-16 with its mark.
fn utf16(text: &str) -> Vec<u8> {
    format!("\u{FEFF}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn columns_of_fixed_width_in_utf_16_are_counted_in_units() {
    // A character beyond the first 65,536 is a pair of units, as nchar(8) counts it.
    let by_units = utf16("0001Ann 😀  2026-03-14\n0002Bob     2026-03-15\n0003Cy😀😀  2026-03-16\n");
    let found = text(&by_units);
    let Layout::FixedWidth { positions, breaks, width } = &found.layout else { panic!("{:?}", found.layout) };
    assert_eq!((*positions, breaks.as_slice(), *width), (Positions::Utf16Units, [4, 12].as_slice(), 22));
    assert_eq!(found.preview[2], ["0003", "Cy😀😀  ", "2026-03-16"]);
    assert_eq!(rows_by_format_file(&by_units), (3, 0));
    assert!(report(&by_units).contains("fixed width     22 units of UTF-16: 4 + 8 + 10"));
    // Format files cannot count characters.
    let by_characters = utf16("0001Ann 😀  2026-03-14\n0002Bob    2026-03-15\n0003Cy😀😀   2026-03-16\n");
    let found = text(&by_characters);
    let Layout::FixedWidth { positions, breaks, .. } = &found.layout else { panic!("{:?}", found.layout) };
    assert_eq!((*positions, breaks.as_slice()), (Positions::Characters, [4, 11].as_slice()));
    assert_eq!(found.format_file(), None);
    // Neither can they count characters of UTF-8, wherever the first one of several bytes stands.
    let mut late: String = (0..50).map(|row| format!("{row:04}Smith     2026-03-14\n")).collect();
    assert!(text(late.as_bytes()).format_file().is_some());
    late += "0050Müller    2026-03-14\n";
    assert_eq!(text(late.as_bytes()).format_file(), None);
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    assert_eq!(report(b""), "file (0 bytes, whole file)\n  empty\n");
    assert_eq!(report(b"PAR1\x15\x04"), "file (6 bytes, whole file)\n  Apache Parquet\n");
    let native: Vec<u8> = (0..400_u32).flat_map(|number| (number * 7_919).to_le_bytes()).collect();
    assert_eq!(
        report(&native),
        "file (1600 bytes, whole file)\n  not text; a native file of bcp needs its format file, or the table that it came from\n"
    );
    assert!(report(b"{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n").contains("JSON, an object a line"));
    let japanese = tds::CodePage::Cp932.encode("番号,名前\n1,とうきょう\n2,おおさか\n").unwrap();
    assert_eq!(text(&japanese).encoding.to_string(), "code page 932");
    let words = text(b"one\ntwo words\nthree\n");
    assert_eq!(words.layout, formats::sniff::Layout::OneColumn);
    assert_eq!(rows_by_guess(b"one\ntwo words\nthree\n"), 3);
}

#[test]
fn a_row_of_another_shape_is_counted() {
    let file: String = (0..20).map(|row| format!("{row};x;y\n")).collect::<String>() + "only;two\n";
    assert_eq!(text(file.as_bytes()).odd_rows, 1);
}
