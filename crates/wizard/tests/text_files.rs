//! What text files look like under choices: guesses, cells, rulers, format files, types.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use bulkwire_wizard::draft::{FixedWidth, Layout, Quote, TextChoices};
use bulkwire_wizard::preview::Preview;
use bulkwire_wizard::text::{
    Cell, Content, Guess, Inference, Look, Ruler, TextFile, Unit, format_file, names,
};
use clap::Parser;
use copy::{Ends, FileFormats, Language, Options, SourceSpec, Spec, Voice};
use formats::{Compression, Encoding, Location};

fn file(bytes: &[u8]) -> TextFile {
    TextFile::of("t.txt", bytes, true)
}

fn fixed(breaks: &[usize]) -> TextChoices {
    TextChoices {
        has_header: false,
        layout: Layout::FixedWidth(FixedWidth {
            breaks: breaks.to_vec(),
            trim_blanks: true,
            ..FixedWidth::default()
        }),
        ..TextChoices::default()
    }
}

fn fixed_of(choices: &TextChoices) -> &FixedWidth {
    match &choices.layout {
        Layout::FixedWidth(fixed) => fixed,
        Layout::Delimited => panic!("delimited"),
    }
}

/// Cells of a look on one line each: `-` for NULL, `!` for a row that cannot be read.
fn shown(look: &Look) -> Vec<String> {
    let cell = |cell: &Cell| match cell {
        Cell::Null => "-".to_owned(),
        Cell::Text(text) => text.clone(),
    };
    look.rows
        .iter()
        .map(|row| match &row.fault {
            Some((reason, raw)) => format!("{} ! {reason}: {raw}", row.number),
            None => format!("{} {}", row.number, row.cells.iter().map(cell).collect::<Vec<_>>().join("|")),
        })
        .collect()
}

fn guess(bytes: &[u8]) -> TextChoices {
    Guess::of(&file(bytes), None).unwrap().unwrap().choices
}

fn in_utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn the_guess_says_only_what_differs() {
    let plain = guess(b"id,name\n1,anna\n2,bob\n");
    assert_eq!(plain, TextChoices::default());
    let german = guess("id;name\r\n1;Jürgen\r\n2;Bob\r\n".as_bytes());
    assert_eq!(german, TextChoices { delimiter: Some(";".into()), ..TextChoices::default() });
    let windows = guess(b"id\tname\n1\tJ\xFCrgen\n2\tBob\n");
    assert_eq!((windows.delimiter.as_deref(), windows.encoding.as_deref()), (Some("\\t"), Some("1252")));
    let without = guess(b"1|a\n2|b\n3|c\n");
    assert_eq!((without.delimiter.as_deref(), without.has_header), (Some("|"), false));
    let named = guess(b"sep=;\nid;v\n1;a\n2;b\n");
    assert_eq!((named.delimiter.as_deref(), named.skip_lines), (Some(";"), 1));
    let wide = guess(&in_utf16("\u{FEFF}id,name\n1,漢\n2,字\n", u16::to_be_bytes));
    assert_eq!(wide.encoding.as_deref(), Some("utf-16be"));
    let quotes = guess(b"a,b\n1,\"5\" x\n2,\"6\" x\n3,7\n");
    assert_eq!(quotes.quote, Quote::None);
}

#[test]
fn what_is_no_text_is_said() {
    assert_eq!(file(b"").content().unwrap(), Content::Empty);
    assert_eq!(file(b"PAR1....").content().unwrap(), Content::Known("Apache Parquet"));
    let binary: Vec<u8> = (0..4000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_eq!(file(&binary).content().unwrap(), Content::Binary);
    assert_eq!(file(b"a,b\n").content().unwrap(), Content::Text);
    // Looked at all the same, whatever is chosen.
    for bytes in [&b""[..], b"\n\n\n", b"\"", b"\xFF\xFE", b"\xEF\xBB\xBF", &binary] {
        for encoding in ["utf-8", "utf-16le", "utf-16be", "932", "1252", "54936"] {
            let choices = TextChoices { encoding: Some(encoding.into()), ..TextChoices::default() };
            Look::of(&file(bytes), &choices).unwrap();
            Guess::of(&file(bytes), Some(encoding.parse::<Encoding>().unwrap())).unwrap();
            let mut choices = fixed(&[3, 9]);
            choices.encoding = Some(encoding.into());
            if let Ok(ruler) = Ruler::of(&file(bytes), &choices) {
                ruler.guessed();
                names(&ruler, &choices, fixed_of(&choices));
                let _ = format_file(&file(bytes), &choices);
            }
        }
    }
}

#[test]
fn rows_are_shown_as_they_will_be_read() {
    let text = "id,name\n1,anna\n2,\"b,o\nb\"\n3\n4,\"\",x\n5,\n6,\"\"\n";
    let look = Look::of(&file(text.as_bytes()), &TextChoices::default()).unwrap();
    assert_eq!(look.columns, ["id", "name"]);
    let rows = shown(&look);
    assert_eq!(rows[..2], ["1 1|anna", "2 2|b,o↵b"]);
    assert!(rows[2].starts_with("3 ! ") && rows[2].ends_with(": 3"), "{rows:?}");
    assert!(rows[3].starts_with("4 ! ") && rows[3].ends_with(": 4,\"\",x"), "{rows:?}");
    assert_eq!(rows[4..], ["5 5|-", "6 6|"]);
    assert_eq!(look.faults(), 2);
    let choices = TextChoices {
        has_header: false,
        skip_lines: 1,
        null_text: Some("anna".into()),
        columns: vec!["a".into(), "b".into()],
        ..TextChoices::default()
    };
    let look = Look::of(&file(b"id,name\n1,anna\n2,\n"), &choices).unwrap();
    assert_eq!((look.columns.join(","), shown(&look)), ("a,b".into(), vec!["1 1|-".into(), "2 2|".into()]));
}

#[test]
fn a_look_never_shows_the_line_that_the_head_cuts_off() {
    let rows: String = (1..=30).map(|n| format!("{n},näme {n}\n")).collect();
    let head = &rows.as_bytes()[..rows.len() - 5];
    let choices = TextChoices { has_header: false, ..TextChoices::default() };
    let look = Look::of(&TextFile::of("t.csv", head, false), &choices).unwrap();
    assert_eq!((look.rows.len(), look.problem), (29, None));
    let quoted = format!("{}31,\"begins\nand goes on\n", rows);
    let look = Look::of(&TextFile::of("t.csv", quoted.as_bytes(), false), &choices).unwrap();
    assert_eq!((look.rows.len(), look.faults()), (30, 0), "{:?}", look.rows.last());
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let mut wide = in_utf16(&format!("\u{FEFF}{rows}"), unit);
        wide.truncate(wide.len() - 3);
        let look = Look::of(&TextFile::of("t.csv", &wide, false), &choices).unwrap();
        assert_eq!((look.rows.len(), look.problem), (29, None));
    }
}

#[test]
fn of_a_file_of_any_size_the_head_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.csv");
    fs::write(&path, "id,name\n1,anna\n".repeat(100_000)).unwrap();
    // The rest takes no room on the disk.
    fs::File::options().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
    let huge = TextFile::read(&Location::Path(path), Compression::None).unwrap();
    assert!(!huge.is_complete());
    assert_eq!(Look::of(&huge, &TextChoices::default()).unwrap().rows.len(), Look::ROWS);
    assert_eq!(Ruler::of(&huge, &fixed(&[2])).unwrap().width, 7);
}

#[test]
fn a_line_without_end_is_cut_where_it_is_shown() {
    let endless = TextFile::of("t.csv", &b"abc;".repeat(1 << 18), false);
    let look = Look::of(&endless, &TextChoices { has_header: false, ..TextChoices::default() }).unwrap();
    assert_eq!((look.rows.len(), look.problem), (1, None));
    let ruler = Ruler::of(&endless, &fixed(&[2])).unwrap();
    assert_eq!((ruler.lines.len(), ruler.width), (1, Ruler::PLACES));
    let nul = TextFile::of("t.csv", &vec![0; 1 << 20], false);
    Look::of(&nul, &TextChoices::default()).unwrap();
    Ruler::of(&nul, &fixed(&[2])).unwrap();
}

#[test]
fn choices_that_make_no_sense_are_refused_by_field() {
    let field = |choices: TextChoices| Look::of(&file(b"a,b\n"), &choices).unwrap_err().field;
    let choices = TextChoices::default;
    assert_eq!(field(TextChoices { encoding: Some("klingon".into()), ..choices() }), "encoding");
    assert_eq!(field(TextChoices { delimiter: Some("\\q".into()), ..choices() }), "delimiter");
    assert_eq!(field(TextChoices { row_terminator: Some("\\x1".into()), ..choices() }), "row_terminator");
    assert_eq!(field(TextChoices { quote: Quote::Char('»'), ..choices() }), "quote");
    // What the reader says of choices together is shown as it is.
    let look = Look::of(&file(b"a,b\n"), &TextChoices { delimiter: Some("\"".into()), ..choices() }).unwrap();
    assert!(look.problem.unwrap().contains("quote"));
    let look = Look::of(&file(b"a\nb\xFFc\n"), &choices()).unwrap();
    // Bytes that are no text are a fault of their row.
    assert!(look.rows[0].fault.is_some(), "{look:?}");
}

#[test]
fn the_ruler_counts_as_the_format_file_does() {
    let of = |bytes: &[u8], encoding: Option<&str>| {
        let choices = TextChoices { encoding: encoding.map(str::to_owned), ..fixed(&[4]) };
        Ruler::of(&file(bytes), &choices).unwrap()
    };
    let places = |ruler: &Ruler| -> Vec<usize> { ruler.lines.iter().map(|line| line.width()).collect() };
    // Bytes: é takes two in UTF-8, one in code page 1252; a kanji three, two and, in UTF-16, one unit.
    let ruler = of("é漢x\nabc\n".as_bytes(), None);
    assert_eq!((ruler.unit, places(&ruler), ruler.width), (Unit::Byte, vec![6, 3], 6));
    let ruler = of(b"\xE9x\n", Some("1252"));
    assert_eq!((ruler.unit, places(&ruler)), (Unit::Byte, vec![2]));
    let ruler = of(b"\x8A\xBFx\n\xB1\n", Some("932"));
    assert_eq!((ruler.unit, places(&ruler)), (Unit::Byte, vec![3, 1]));
    let ruler = of(&in_utf16("\u{FEFF}漢x\n😀y\n", u16::to_le_bytes), None);
    assert_eq!((ruler.unit, places(&ruler)), (Unit::Utf16, vec![2, 3]));
    let mut big = fixed(&[1]);
    big.encoding = Some("utf-16be".into());
    assert_eq!(Ruler::of(&file(b"\0a\0\n"), &big).unwrap_err().field, "encoding");
    big.encoding = Some("koi8-r".into());
    assert_eq!(Ruler::of(&file(b"a\n"), &big).unwrap_err().field, "encoding");
}

#[test]
fn no_break_stands_within_a_character() {
    let bytes = b"ab\x8A\xBF 1\ncd\x8E\x9A 2\n";
    let mut choices = fixed(&[3]);
    choices.encoding = Some("932".into());
    let ruler = Ruler::of(&file(bytes), &choices).unwrap();
    assert_eq!(ruler.cuts(&[2, 3, 5]), [(3, 1)]);
    assert_eq!(ruler.guessed(), [5]);
    let error = format_file(&file(bytes), &choices).unwrap_err();
    assert_eq!(error.field, "breaks");
    assert!(error.message.contains("line 1"), "{error}");
    for (breaks, part) in [(&[][..], "Set a break"), (&[0, 2], "begins at 0"), (&[5, 2], "not in order")] {
        let mut choices = fixed(breaks);
        choices.encoding = Some("932".into());
        let error = format_file(&file(bytes), &choices).unwrap_err();
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn doubts_name_widths_that_were_counted_in_characters() {
    let doubts = |text: &str| Ruler::of(&file(text.as_bytes()), &fixed(&[5])).unwrap().doubts;
    assert_eq!(doubts("anna 1\nbob  2\n"), [""; 0]);
    let found = doubts("anna 1\nbóna 2\n");
    assert!(found.len() == 1 && found[0].contains("line 1 has fewer bytes"), "{found:?}");
    assert!(doubts("anna 1\r\nbob\n")[0].contains("another line end"));
    assert!(doubts("anna\t1\n")[0].contains("tabs"));
}

const PARTS: &str = "ID    NAME      PRICE\n000012hammer     12.50\n000007nail       0.05\n000100saw\n";

#[test]
fn breaks_become_a_format_file_that_reads_the_file_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("parts.txt"), PARTS).unwrap();
    let mut choices = TextChoices { has_header: true, ..fixed(&[6, 16]) };
    let parts = TextFile::read(&Location::Path(path("parts.txt")), Compression::None).unwrap();
    let ruler = Ruler::of(&parts, &choices).unwrap();
    assert_eq!(names(&ruler, &choices, fixed_of(&choices)), ["ID", "NAME", "PRICE"]);
    assert_eq!(
        FixedWidth { names: names(&ruler, &choices, fixed_of(&choices)), ..fixed_of(&choices).clone() }
            .declaration(),
        "[ID] nvarchar(6) null, [NAME] nvarchar(10) null, [PRICE] nvarchar(max) null"
    );
    fs::write(path("parts.fmt"), format_file(&parts, &choices).unwrap().to_text()).unwrap();
    choices.columns = vec!["code".into(), String::new(), "CODE".into()];
    assert_eq!(names(&ruler, &choices, fixed_of(&choices)), ["code", "NAME", "CODE_2"]);
    let words: Vec<String> = [
        path("parts.txt").to_str().unwrap(),
        "-",
        "--to-format=csv",
        &format!("--format-file={}", path("parts.fmt").display()),
        "--trim-blanks",
        "--skip-lines=1",
        "--declare=[ID] nvarchar(6) null, [NAME] nvarchar(10) null, [PRICE] nvarchar(max) null",
    ]
    .map(str::to_owned)
    .to_vec();
    let preview = Preview::of(&spec_of(&words), None, &None).unwrap();
    let rows: Vec<String> = preview
        .rows
        .iter()
        .map(|row| {
            let cells = row.cells.iter().map(|cell| cell.as_deref().unwrap_or("-"));
            format!("{} {}", row.number, cells.collect::<Vec<_>>().join("|"))
        })
        .collect();
    assert_eq!(rows, ["1 000012|hammer| 12.50", "2 000007|nail| 0.05", "3 000100|saw|-"]);
    assert_eq!((preview.read, preview.came_out, preview.is_complete), (3, 3, true));

    let formats = formats_of(&spec_of(&words));
    let inferred = Inference::default().read(&[Location::Path(path("parts.txt"))], &formats).unwrap();
    let types: Vec<String> =
        inferred.columns.iter().map(|column| format!("{} {}", column.name, column.sql_type)).collect();
    // Leading zeros keep the first one text.
    assert_eq!(types, ["ID nvarchar(10)", "NAME nvarchar(10)", "PRICE decimal(9, 2)"], "{inferred:?}");
    assert_eq!((inferred.rows, inferred.is_complete, inferred.columns[2].nulls), (3, true, 1));
}

#[test]
fn types_come_with_the_value_that_decides_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut text = String::from("n,v,w\n");
    for row in 1..=20_000 {
        text += &match row {
            12_345 => format!("{row},x{row},\n"),
            15_000 => "short\n".to_owned(),
            _ => format!("{row},{row},\n"),
        };
    }
    fs::write(&path, &text).unwrap();
    let words = vec![path.to_str().unwrap().to_owned(), "-".to_owned(), "--to-format=csv".to_owned()];
    let formats = formats_of(&spec_of(&words));
    let inference = Inference::default();
    let inferred = inference.read(&[Location::Path(path.clone())], &formats).unwrap();
    assert_eq!((inferred.rows, inferred.refused, inferred.is_complete), (19_999, 1, true));
    assert_eq!((inferred.first_refused[0].row, inferred.first_refused[0].raw.as_str()), (15_000, "short"));
    let [n, v, w] = inferred.columns.as_slice() else { panic!("{inferred:?}") };
    // Wider than the values need, so that there is room for more of them.
    assert_eq!(n.sql_type, "int");
    let decided = v.decided_by.as_ref().unwrap();
    assert_eq!((decided.value.as_str(), decided.row), ("x12345", 12_345));
    assert_eq!(v.reason, "it was smallint until this value");
    assert_eq!(n.reason, "it was tinyint until this value");
    assert_eq!((w.decided_by.as_ref(), w.nulls, w.reason.as_str()), (None, 19_999, "no row has a value"));
    // Cancelled before it begins, it ends after the first batch.
    let cancelled = Inference::default();
    cancelled.cancel();
    let inferred = cancelled.read(&[Location::Path(path)], &formats).unwrap();
    assert!(!inferred.is_complete && inferred.rows < 19_999, "{}", inferred.rows);
}

/// A command line of a copy.
#[derive(clap::Parser)]
struct Line {
    source: String,
    destination: String,
    #[command(flatten)]
    options: Options,
}

fn spec_of(words: &[String]) -> Spec {
    let line = Line::try_parse_from(std::iter::once("copy".to_owned()).chain(words.iter().cloned())).unwrap();
    let ends = Ends::parse(&line.source, &line.destination, &line.options, Voice::default()).unwrap();
    Spec::new(&ends, &line.options, Language::Command, Voice::default()).unwrap()
}

fn formats_of(spec: &Spec) -> FileFormats {
    match &spec.source {
        SourceSpec::Files(read) => read.formats.clone(),
        other => panic!("{other:?}"),
    }
}
