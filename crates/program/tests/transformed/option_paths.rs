//! Each option of text and dates on each path of rows: it changes what comes out, or it is refused there by its name. An option that
//! is accepted and does nothing lets somebody believe that a file was read as it was not.
//!
//! The options come from the definition of the command line. One without a sample fails the test: somebody has to say what it changes.

use std::fmt::Write;
use std::fs;

use crate::fixture::Fixture;

/// A file in which an option shows, and the words of the option.
struct Sample {
    option: &'static str,
    words: &'static [&'static str],
    text: &'static str,
}

/// The plain file; its table is `(a nvarchar(50) NULL, b nvarchar(50) NULL)`.
const PLAIN: &str = "a,b\nx,y\n";

const SAMPLES: &[Sample] = &[
    Sample { option: "delimiter", words: &["--delimiter", ";"], text: "a;b\nx;y\n" },
    Sample { option: "row-terminator", words: &["--row-terminator", "|"], text: "a,b|x,y|" },
    Sample { option: "skip-lines", words: &["--skip-lines", "1"], text: "title\na,b\nx,y\n" },
    Sample { option: "skip-footer", words: &["--skip-footer", "1"], text: "a,b\nx,y\ntotal,1\n" },
    Sample { option: "quote", words: &["--quote", "'"], text: "a,b\n'x,z',y\n" },
    Sample { option: "no-quote", words: &["--no-quote"], text: "a,b\n\"x\",y\n" },
    Sample { option: "no-header", words: &["--no-header"], text: "a,b\nx,y\n" },
    Sample { option: "columns", words: &["--columns", "b,a"], text: PLAIN },
    Sample { option: "null-text", words: &["--null-text", "x"], text: PLAIN },
    Sample { option: "escape", words: &["--escape", "\\"], text: "a,b\n\"x\\\"\",y\n" },
    Sample { option: "skip-initial-space", words: &["--skip-initial-space"], text: "a,b\nx, y\n" },
    Sample { option: "encoding", words: &["--encoding", "1252"], text: "a,b\nx\u{fc},y\n" },
    Sample { option: "max-row-bytes", words: &["--max-row-bytes", "4"], text: "a,b\nxxxxxxxx,y\n" },
    Sample { option: "date-order", words: &["--date-order", "dmy"], text: "a,b\n03/04/2026,y\n" },
    Sample { option: "year-cutoff", words: &["--year-cutoff", "2009"], text: "a,b\n5-Dec-12,y\n" },
    Sample { option: "decimal", words: &["--decimal", "."], text: "a,b\n(12.50),y\n" },
    Sample { option: "thousands", words: &["--thousands", "'"], text: "a,b\n1'234,y\n" },
    Sample { option: "currency", words: &["--currency", "EUR"], text: "a,b\nEUR 5,y\n" },
    Sample { option: "percent", words: &["--percent", "fraction"], text: "a,b\n5%,y\n" },
    Sample { option: "types", words: &["--types", "a=nvarchar(7)"], text: PLAIN },
    Sample { option: "trim-blanks", words: &["--trim-blanks"], text: PLAIN },
];

/// Options under the same headings that say how a file is written, and not how one is read.
const OF_TARGETS: &[&str] =
    &["to-delimiter", "to-row-terminator", "to-no-quote", "to-no-header", "to-null-text", "to-encoding"];

/// Cells that change nothing by what they mean: option, path, reason.
const BY_MEANING: &[(&str, &str, &str)] = &[];

/// Kinds of input.
const KINDS: [&str; 4] = ["csv", "char", "parquet", "transformed csv"];

/// Exit code, what was said, and what came out.
type Outcome = (i32, String, String);

#[test]
fn each_option_of_text_and_dates_counts_on_each_path_or_is_refused() {
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (a nvarchar(50) NULL, b nvarchar(50) NULL)"]);
    fixture.ok(&["query", "CREATE TABLE d (a date NULL, b nvarchar(50) NULL)"]);
    fixture.ok(&["query", "CREATE TABLE n (a decimal(9, 4) NULL, b nvarchar(50) NULL)"]);
    let mut cells = 0;
    let mut silent = String::new();
    let options = bulkwire_cli::defined_options().into_iter().filter(|option| {
        let reads = ["load", "copy", "convert"].contains(&option.verb.as_str());
        let of_text = ["CSV", "Text"].contains(&option.heading.as_str());
        reads && of_text && !OF_TARGETS.contains(&option.name.as_str())
    });
    for option in options {
        let Some(sample) = SAMPLES.iter().find(|sample| sample.option == option.name) else {
            panic!("--{} of {}: which file does it read otherwise?", option.name, option.verb);
        };
        for kind in KINDS {
            let transforms = kind == "transformed csv";
            if transforms && option.verb != "copy" {
                continue;
            }
            cells += 1;
            let plain = run(&fixture, &option.verb, kind, sample, &[]);
            let asked = run(&fixture, &option.verb, kind, sample, sample.words);
            let name = format!("--{}", option.name);
            let is_refused = asked.0 == 2 && asked.1.contains(&name);
            let is_meant = BY_MEANING.iter().any(|cell| (cell.0, cell.1) == (sample.option, kind));
            if plain == asked && !is_refused && !is_meant {
                writeln!(silent, "{} {name} of {kind}: {asked:?}", option.verb).unwrap();
            }
        }
    }
    assert!(silent.is_empty(), "accepted, and without effect:\n{silent}");
    assert!(cells > 60, "only {cells} cells");
}

/// Reads the sample's file of a kind by a verb, with further words.
fn run(fixture: &Fixture, verb: &str, kind: &str, sample: &Sample, words: &[&str]) -> Outcome {
    let (table, sql_type) = match sample.option {
        "date-order" | "year-cutoff" => ("d", "date"),
        "decimal" | "thousands" | "currency" | "percent" => ("n", "decimal(9, 4)"),
        _ => ("t", "nvarchar(50)"),
    };
    let is_typed = table != "t";
    let (source, mut of_kind): (&str, Vec<&str>) = match kind {
        "csv" | "transformed csv" => {
            // Bytes as they are in the encoding that the option names.
            let text = sample.text.replace('\u{fc}', "\u{1}");
            let bytes: Vec<u8> = text.bytes().map(|byte| if byte == 1 { 0xFC } else { byte }).collect();
            fixture.file("in.csv", if sample.option == "encoding" { bytes } else { sample.text.into() });
            ("in.csv", Vec::new())
        }
        "char" => {
            fixture.file(
                "in.bcp",
                sample.text.split_once('\n').map_or(sample.text, |(_, rows)| rows).replace(',', "\t"),
            );
            let format = if verb == "convert" { "--from" } else { "--format" };
            ("in.bcp", vec![format, "char"])
        }
        _ => {
            fixture.file("plain.csv", if is_typed { sample.text } else { PLAIN });
            fixture.ok(&["convert", "plain.csv", "in.parquet", "-q"]);
            ("in.parquet", Vec::new())
        }
    };
    let declared = format!("a {sql_type} null, b nvarchar(50) null");
    if kind == "char" && verb != "load" {
        of_kind.extend(["--declare", &declared]);
    }
    let select = if is_typed { format!("CAST(a AS {sql_type}) AS a, b") } else { "a, b".to_owned() };
    if kind == "transformed csv" {
        of_kind.extend(["--select", &select]);
    }
    let mssql = format!("mssql:{table}");
    let (code, _, said) = match verb {
        "load" => {
            fixture.ok(&["query", &format!("TRUNCATE TABLE {table}")]);
            fixture.run(&[&["load", table, source], of_kind.as_slice(), words].concat())
        }
        "copy" if is_typed => {
            fixture.ok(&["query", &format!("TRUNCATE TABLE {table}")]);
            fixture.run(&[&["copy", source, &mssql], of_kind.as_slice(), words].concat())
        }
        verb => {
            // A file of an earlier run would be taken for this one's.
            let _ = fs::remove_file(fixture.path("out.csv"));
            fixture.run(&[&[verb, source, "out.csv"], of_kind.as_slice(), words].concat())
        }
    };
    let out = match (verb, is_typed) {
        ("load", _) => fixture.rows(&format!("SELECT a, b FROM {table}")),
        ("copy", true) => fixture.rows(&format!("SELECT a, b FROM {table}")),
        _ => fs::read_to_string(fixture.path("out.csv")).unwrap_or_default(),
    };
    // Messages of a successful run contain times, so they are not compared.
    (code, if code == 0 { String::new() } else { said }, out)
}
