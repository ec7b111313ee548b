//! What is guessed of many files: each guess is right, or a doubt is voiced.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use formats::csv::CsvReader;
use formats::sniff::{Content, Contradiction, Layout, SniffedText, contradiction, sniff_bytes};
use formats::{Compression, CsvOptions, Location};

fn text(bytes: &[u8]) -> SniffedText {
    match sniff_bytes(bytes, true, "file").unwrap().content {
        Content::Text(text) => *text,
        other => panic!("{other:?}"),
    }
}

/// Delimiter, row terminator, columns, header.
fn guess(sniffed: &SniffedText) -> (String, String, usize, bool) {
    let delimiter = match &sniffed.layout {
        Layout::Delimited { delimiter, .. } => delimiter.clone(),
        Layout::FixedWidth { .. } => "fixed".to_owned(),
        Layout::OneColumn => "none".to_owned(),
    };
    (delimiter, sniffed.row_terminator.clone(), sniffed.columns.len(), sniffed.header)
}

/// Whole lines, some hundred kilobytes of them.
fn head(bytes: &[u8]) -> &[u8] {
    let cut = bytes.get(..200_000).and_then(|head| head.iter().rposition(|byte| *byte == b'\n'));
    cut.map_or(bytes, |end| &bytes[..=end])
}

#[test]
fn the_files_of_adventure_works() {
    let directory = Path::new(".").join("../../testdata/adventureworks-dw");
    let tables = std::fs::read_to_string(directory.join("tables.json")).unwrap();
    let tables: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&tables).unwrap();
    let mut certain = 0;
    for (name, table) in &tables {
        let bytes = std::fs::read(directory.join(table["file"].as_str().unwrap())).unwrap();
        let bytes = head(&bytes);
        let sniffed = text(bytes);
        let columns = table["columns"].as_array().unwrap().len();
        assert_eq!(sniffed.encoding.to_string(), "UTF-8", "{name}");
        let right = ("|".to_owned(), "\n".to_owned(), columns, false);
        assert!(guess(&sniffed) == right || !sniffed.doubts.is_empty(), "{name}: {:?}", guess(&sniffed));
        certain += usize::from(guess(&sniffed) == right);

        // The rows get two-character delimiters and a mark at their ends, as in the OLTP sample.
        let marked =
            std::str::from_utf8(bytes).unwrap().trim_end().replace('|', "+|").replace('\n', "&|\n") + "&|\n";
        let sniffed = text(marked.as_bytes());
        let right = ("+|".to_owned(), "&|\n".to_owned(), columns, false);
        assert!(guess(&sniffed) == right || !sniffed.doubts.is_empty(), "{name}: {:?}", guess(&sniffed));
        certain += usize::from(guess(&sniffed) == right);
    }
    assert_eq!(certain, 2 * tables.len());
}

#[test]
fn small_files() {
    for (file, delimiter, end, columns, header) in [
        ("1+|a+|2014-01-01&|\n2+|two\nlines+|2014-01-02&|\n3+|+|2014-01-03&|\n", "+|", "&|\n", 3, false),
        ("1+|a+|&|\n2+|b+|&|\n", "+|", "&|\n", 3, false),
        ("1+|a&|\r\n2+|b&|\r\n3+|c&|\r\n", "+|", "&|\r\n", 2, false),
        ("1\ta\t2014-01-01 10:11:12\n", "\t", "\n", 3, false),
        (
            "1\t2014-01-01 10:11:12\t2014-01-01 11:12:13\n2\t2014-01-01 10:11:12\t2014-01-01 11:12:13\n",
            "\t",
            "\n",
            3,
            false,
        ),
        ("10:11:12\t1\n10:11:13\t2\n10:11:14\t3\n", "\t", "\n", 2, false),
        ("2014-01-01T10:11:12\n2014-01-01T10:11:13\n", "none", "\n", 1, false),
        (
            "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\nyou:x:7:7::/:/bin/sh\n",
            ":",
            "\n",
            7,
            false,
        ),
        ("preis;menge;tag\n1,50;2,75;x\n2,50;3,75;y\n", ";", "\n", 3, true),
        ("1,50;2,75\n2,50;3,75\n3,25;4,50\n", ";", "\n", 2, false),
        ("a|b|\n1|2|\n3|4|\n", "|", "\n", 3, false),
        ("id,name\r1,x\r2,y\r", ",", "\r", 2, true),
        ("id,name\r\r\n1,x\r\r\n2,y\r\r\n", ",", "\r\r\n", 2, true),
        ("1|~|a|~|b\n2|~|c|~|d\n", "|~|", "\n", 3, false),
        ("1~|a~|b\n2~|c~|d\n", "~|", "\n", 3, false),
        ("1::a::b\n2::c::d\n3::e::f\n", "::", "\n", 3, false),
        ("1^a^x y\n2^b^z\n3^c^u\n", "^", "\n", 3, false),
        ("1||2||3\n4||||5\n", "||", "\n", 3, false),
        ("id|when|note\n1|10:11:12|a; b\n2|10:11:13|c; d\n", "|", "\n", 3, true),
    ] {
        let sniffed = text(file.as_bytes());
        let right = (delimiter.to_owned(), end.to_owned(), columns, header);
        assert!(guess(&sniffed) == right, "{file:?}: {:?} {:?}", guess(&sniffed), sniffed.doubts);
    }
}

#[test]
fn thin_evidence_is_doubted() {
    for (file, doubt) in [
        ("1|2|3\n", "only 1 row to judge by"),
        ("a,b;c,d\ne,f;g,h\ni,j;k,l\n", "divides the rows about as evenly"),
        ("one, two\nthree\nfour\nfive, six, seven\n", "no delimiter divides the rows evenly"),
        ("a|b\nc|d\ne|f\n", "all columns are text"),
        ("1|2\n3|4\n5|6\n7|8|9\n10|11\n12|13\n", "rows have another number of fields"),
    ] {
        let doubts = text(file.as_bytes()).doubts.join("\n");
        assert!(doubts.contains(doubt), "{file:?}: {doubts}");
    }
    let doubts = text(b"1;K\xF6ln\n2;Bonn\n3;Trier\n").doubts.join("\n");
    assert!(doubts.contains("code page 1252 is a guess from 1 characters"), "{doubts}");
}

#[test]
fn a_guessed_dialect_reads_rows_with_marks_at_their_ends() {
    let file = b"1+|a \"b\"+|x&|\n2+|two\nlines+|y&|\n3+|+|z&|\n";
    let options = text(file).csv_options().unwrap();
    let reader = CsvReader::new(std::io::Cursor::new(file.to_vec()), "file", &options, 100).unwrap();
    let rows: Vec<usize> = reader.map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows, [3]);
}

fn against(file: &str, options: &CsvOptions) -> Option<Contradiction> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    std::fs::write(&path, file).unwrap();
    contradiction(&Location::Path(path), Compression::None, options).unwrap()
}

/// A mark at each field may be a part of the field: nothing is lost, and the other guess is said.
#[test]
fn marks_beside_delimiters_stay_with_their_fields() {
    for delimiter in [",", ";", "|", "\t"] {
        for mark in ["+", "$", "#", "@", "*", "%"] {
            let before = format!("Ann,{mark}491,{mark}492\nBob,{mark}441,{mark}442\n");
            let behind = format!("491{mark},492{mark},Ann\n441{mark},442{mark},Bob\n");
            let named = format!("name,{mark}a,{mark}b\nAnn,{mark}c,{mark}d\nBob,{mark}e,{mark}f\n");
            for file in [before, behind, named] {
                let file = file.replace(',', delimiter);
                let sniffed = text(file.as_bytes());
                assert_eq!(guess(&sniffed).0, delimiter, "{file:?}");
                assert!(sniffed.doubts.iter().any(|doubt| doubt.contains("as evenly")), "{file:?}");
                let options = CsvOptions { delimiter: delimiter.to_owned(), ..CsvOptions::default() };
                let found = against(&file, &options);
                assert!(!matches!(found, Some(Contradiction::Delimiter { .. })), "{file:?}: {found:?}");
            }
        }
    }
    assert_eq!(guess(&text(b"1,,2\n3,,4\n5,,6\n")).0, ",");
}

/// Quotes are those around fields, and none within.
#[test]
fn a_mark_of_inches_is_no_quote() {
    let layout = |file: &[u8]| text(file).layout;
    let plain = |quote| Layout::Delimited { delimiter: ",".to_owned(), quote };
    assert_eq!(layout(b"1,2\" pipe,x\n2,3\" pipe,y\n"), plain(None));
    assert_eq!(layout(b"1,\"2\"\" pipe\",x\n2,\"3\",y\n"), plain(Some(b'"')));
}

/// Lines of text above the names, and a delimiter behind each row of data.
#[test]
fn an_odd_head_hides_no_delimiter() {
    let titled = text(b"Report of May\n\nid,name\n1,x\n2,y\n");
    assert_eq!(guess(&titled), (",".to_owned(), "\n".to_owned(), 2, true));
    assert!(titled.doubts.iter().any(|doubt| doubt.contains("--skip-lines")), "{:?}", titled.doubts);
    let trailing = text(b"id,name\n1,x,\n2,y,\n3,z,\n");
    assert_eq!((guess(&trailing).0.as_str(), trailing.odd_rows), (",", 1));
}

/// Types come of every row that was read.
#[test]
fn rows_beyond_the_first_thousands_count() {
    let mut file: String = (0..5000).map(|row| format!("{row},x\n")).collect();
    file += "9000000000,x\n";
    let sniffed = text(file.as_bytes());
    assert_eq!(sniffed.rows, 5001);
    assert!(sniffed.declaration().contains("bigint"), "{}", sniffed.declaration());
}

/// A file without a header keeps its first row.
#[test]
fn a_first_row_of_data_is_no_header() {
    let first = |file: &str| match against(file, &CsvOptions::default()) {
        Some(Contradiction::FirstRow { is_certain, .. }) => Some(is_certain),
        None => None,
        other => panic!("{file:?}: {other:?}"),
    };
    for (file, expected) in [
        ("2024-01-01,Ann,5.5\n2024-01-02,Bob,6.5\n", Some(true)),
        ("1,Ann,5.5\n2,Bob,6.5\n", Some(true)),
        ("2024-01-01\n2024-01-02\n", Some(true)),
        ("country,1990,1991\nFrance,56,57\n", Some(false)),
        ("1,2\n3,4\n", Some(false)),
        ("day,name,amount\n2024-01-01,Ann,5.5\n", None),
        (",a,b\n0,1,2\n", None),
        ("2024-01-01,Ann\n", None),
        ("Ann,Smith\nBob,Jones\n", None),
        ("a,b\n,\n", None),
    ] {
        assert_eq!(first(file), expected, "{file:?}");
    }
    let named = CsvOptions { columns: Some(vec!["day".to_owned()]), ..CsvOptions::default() };
    assert!(against("2024-01-01\n2024-01-02\n", &named).is_some());
    for options in [
        CsvOptions { header: false, ..CsvOptions::default() },
        CsvOptions { skip_lines: 1, ..CsvOptions::default() },
    ] {
        assert_eq!(against("2024-01-01\n2024-01-02\n", &options), None);
    }
}

#[test]
fn options_that_the_file_contradicts() {
    let comma = CsvOptions::default();
    for file in ["a|b|c\n1|2|3\n4|5|6\n", "a\tb\n1\t2\n", "a||b\n1||2\n3||4\n", "a;b\n1,5;2\n"] {
        let found = against(file, &comma);
        let is_held = file.contains(',');
        let Some(Contradiction::Delimiter { is_uneven, .. }) = found else { panic!("{file:?}: {found:?}") };
        assert_eq!(is_uneven, is_held, "{file:?}");
    }
    let separator = against("sep=;\na;b\n1;2\n", &comma).unwrap();
    assert_eq!(separator.remedy(), "--skip-lines 1 --delimiter ';'");
    let marked = against("1+|a&|\n2+|b&|\n3+|c&|\n", &comma).unwrap();
    assert_eq!(marked.remedy(), "--delimiter '+|' --row-terminator '&|\\n' --no-quote");
    let same = CsvOptions { delimiter: "|".to_owned(), ..CsvOptions::default() };
    for (file, options) in [
        ("a,b\n1,2\n", &comma),
        ("name\nSmith\nJones\n", &comma),
        ("when\n10:11:12\n10:11:13\n", &comma),
        ("note\none; two\nthree\nfour\nfive\n", &comma),
        ("a|b\n1|2\n", &same),
        ("", &comma),
    ] {
        assert_eq!(against(file, options), None, "{file:?}");
    }
}

fn rows_and_names(file: &str, options: &CsvOptions, block_bytes: usize) -> (Vec<String>, Vec<Vec<String>>) {
    use arrow::array::AsArray;
    let input = Box::new(std::io::Cursor::new(file.as_bytes().to_vec()));
    let reader = CsvReader::with_block_bytes(input, "file", options, 100, block_bytes).unwrap();
    let names =
        formats::BatchReader::schema(&reader).fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|c| c.as_string::<i32>().value(row).to_owned()).collect());
        }
    }
    (names, rows)
}

#[test]
fn rows_that_end_with_carriage_returns() {
    let auto = CsvOptions::default();
    for (file, expected) in [
        ("a,b\r1,x\r2,y\r", vec![["1", "x"], ["2", "y"]]),
        ("a,b\r1,x\r2,y", vec![["1", "x"], ["2", "y"]]),
        ("a,b\r\r\n1,x\r\r\n2,y\r\r\n", vec![["1", "x"], ["2", "y"]]),
        ("a,b\r1,\"x\ny\"\r2,\"\"\"\n\"\r", vec![["1", "x\ny"], ["2", "\"\n"]]),
        // Among line feeds a carriage return is data.
        ("a,b\n1,x\ry\n2,z\n", vec![["1", "x\ry"], ["2", "z"]]),
        ("\"a\rA\",b\r\n1,x\r\n2,z", vec![["1", "x"], ["2", "z"]]),
    ] {
        let whole = rows_and_names(file, &auto, 1 << 20);
        assert_eq!(whole.1, expected, "{file:?}");
        assert_eq!(whole.0.len(), 2, "{file:?}");
        for block_bytes in [1, 2, 3, 7] {
            assert_eq!(rows_and_names(file, &auto, block_bytes), whole, "{file:?}");
        }
    }
    let skipped = CsvOptions { skip_lines: 1, ..CsvOptions::default() };
    assert_eq!(rows_and_names("title\ra,b\r1,x\r", &skipped, 1 << 20).1, [["1", "x"]]);
}

#[test]
fn an_open_quote_in_the_last_line_is_a_refused_row() {
    for (file, rows, refused) in [
        ("a,b\n1,x\n2,\"open\n", Some(1), 1),
        ("a,b\n1,x\n2,\"open", Some(1), 1),
        // The line behind may be its content.
        ("a,b\n1,x\n2,\"open\n3,y\n", None, 0),
    ] {
        let input = std::io::Cursor::new(file.as_bytes().to_vec());
        let mut reader = CsvReader::new(input, "file", &CsvOptions::default(), 100).unwrap();
        let rejects = formats::BatchReader::rejects(&mut reader).unwrap();
        let read: Result<Vec<_>, _> = reader.collect();
        match (read, rows) {
            (Ok(batches), Some(rows)) => {
                assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), rows, "{file:?}");
            }
            (Err(error), None) => assert!(error.to_string().contains("never closed"), "{error}"),
            (read, _) => panic!("{file:?}: {read:?}"),
        }
        assert_eq!(rejects.take().len(), refused, "{file:?}");
    }
}
