//! Options as words and as keys, and their page, docs/copy-options.md, which is made of them. `BULKWIRE_RECORD=page` writes it again.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::PathBuf;

use bulkwire_copy::{Ends, Language, Options, Spec, Voice};
use clap::{Args, Command, Parser};
use serde_json::{Value, json};

const HEAD: &str = "\
# Options of a copy

This page is made of `copy::Options`, which the command line, packages, the wizard and Python share. The option is that of
`bulkwire copy`; the key is that of a task of type `copy` in a [package](package.md), and the keyword of `bulkwire.copy`
in Python unless it says otherwise. [Copies](copy.md) explains them.
";

/// A command line with nothing but options.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn of_words(words: &[&str]) -> Result<Options, clap::Error> {
    Line::try_parse_from(std::iter::once(&"copy").chain(words)).map(|line| line.options)
}

fn of_keys(keys: Value) -> Result<Options, String> {
    let Value::Object(keys) = keys else { return Err("no object".to_owned()) };
    Options::from_keys(&keys, Language::Toml).map_err(|error| error.to_string())
}

/// What a command line says and what keys say is the same, and is printed as the words that were given.
#[test]
fn words_and_keys_say_the_same() {
    let cases = [
        (vec!["--batch-rows=5"], json!({"batch_rows": 5})),
        (vec!["--create=always"], json!({"create": "always"})),
        (vec!["--mode=insert-new", "--key=a,b"], json!({"mode": "insert-new", "key": ["a", "b"]})),
        (vec!["--writers=auto", "--readers=3"], json!({"writers": "auto", "readers": 3})),
        (vec!["--writers=4"], json!({"writers": 4})),
        (vec!["--encoding=1252"], json!({"encoding": 1252})),
        (vec!["--encoding=utf-16le"], json!({"encoding": "utf-16le"})),
        (vec!["--order=id,at DESC"], json!({"order": ["id", "at DESC"]})),
        (vec!["--map=a=b", "--map=c=d"], json!({"map": ["a=b", "c=d"]})),
        (
            vec!["--tables=sales.*,x", "--jobs=3", "--fail-fast"],
            json!({"tables": ["sales.*", "x"], "jobs": 3, "fail_fast": true}),
        ),
        (vec!["--table-lock=off"], json!({"table_lock": "off"})),
        (vec!["--collations=map=A:B"], json!({"collations": "map=A:B"})),
        (vec!["--consistent=lock"], json!({"consistent": "lock"})),
        (vec!["--quote='", "--no-header"], json!({"quote": "'", "no_header": true})),
        (vec!["--select=id", "--where=id > 3"], json!({"select": "id", "where": "id > 3"})),
        (vec!["--transform-query=SELECT 1"], json!({"transform_sql": "SELECT 1"})),
        (vec!["--memory-limit=1024"], json!({"memory_limit": 1024})),
        (vec!["--datetime2=cut", "--guid-text"], json!({"datetime2": "cut", "guid_text": true})),
        (vec!["--columns=a,b"], json!({"columns": ["a", "b"]})),
        (vec!["--date-order=dmy"], json!({"date_order": "dmy"})),
        (vec!["--decimal=,", "--thousands=."], json!({"decimal": ",", "thousands": "."})),
        (vec!["--thousands=blank", "--percent=number"], json!({"thousands": "blank", "percent": "number"})),
        (vec!["--null-text=a,b"], json!({"null_text": "a,b"})),
        (vec!["--null-text=NULL", "--null-text="], json!({"null_text": ["NULL", ""]})),
        (vec!["--replacement=?"], json!({"replacement": "?"})),
    ];
    for (words, keys) in cases {
        let of_words = of_words(&words).unwrap();
        assert_eq!(of_words, of_keys(keys).unwrap(), "{words:?}");
        let printed = of_words.words();
        let mut sorted: Vec<&str> = printed.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let mut given = words.clone();
        given.sort_unstable();
        assert_eq!(sorted, given);
    }
}

#[test]
fn wrong_keys_are_named() {
    let cases = [
        (json!({"batch_row": 5}), "there is no option `batch_row`"),
        (json!({"batch_rows": "many"}), "batch_rows: invalid type: string \"many\", expected u64"),
        (json!({"batch_rows": 0}), "batch_rows: a number from 1 on is expected, not 0"),
        (json!({"jobs": 65, "tables": ["a"]}), "jobs: a number from 1 to 64 is expected, not 65"),
        (
            json!({"mode": "merge"}),
            "mode: unknown variant `merge`, expected one of `append`, `truncate`, `replace`, `upsert`, `insert-new`",
        ),
        (json!({"writers": 257}), "writers: a number from 1 to 256, or auto"),
        (json!({"map": ["a"]}), "map: expected SOURCE=TARGET"),
        (json!({"map": ["a=b"], "by_position": true}), "by_position cannot be used with map"),
        (json!({"select": "a", "transform_sql": "b"}), "transform_sql cannot be used with select"),
        (json!({"exclude": ["a"]}), "exclude needs tables"),
    ];
    for (keys, expected) in cases {
        assert_eq!(of_keys(keys.clone()).unwrap_err(), expected, "{keys}");
    }
}

/// What an option needs on a command line it needs as a key too.
#[test]
fn what_an_option_needs_is_what_the_command_says() {
    let command = Options::augment_args(Command::new("copy"));
    let samples = [
        ("action", json!("'skip'")),
        ("exclude", json!("a")),
        ("fail-fast", json!(true)),
        ("pause", json!(3)),
        ("skip-failing-modules", json!(true)),
        ("to-schema", json!("s")),
        ("trim-blanks", json!(true)),
    ];
    for (name, value) in &samples {
        let word = match value.as_str() {
            Some(text) => format!("--{name}={text}"),
            None if value.is_boolean() => format!("--{name}"),
            None => format!("--{name}={value}"),
        };
        let refused = of_words(&[&word]).map(drop).unwrap_err();
        assert_eq!(refused.kind(), clap::error::ErrorKind::MissingRequiredArgument, "{name}");
        let key = name.replace('-', "_");
        let message = of_keys(json!({ key.as_str(): value })).unwrap_err();
        assert!(message.starts_with(&format!("{key} needs ")), "{message}");
    }
    for argument in command.get_arguments() {
        let Some(name) = argument.get_long() else { continue };
        let is_switch = !argument.get_action().takes_values();
        if is_switch && !samples.iter().any(|(known, _)| *known == name) {
            assert!(of_words(&[&format!("--{name}")]).is_ok(), "{name}");
        }
    }
}

#[test]
fn options_are_named_as_they_were_written() {
    let message = "--batch-rows cannot go with --mode upsert: -- and --no-such-thing stay";
    assert_eq!(Language::Command.spelled(message), message);
    let expected = "batch_rows cannot go with mode upsert: -- and --no-such-thing stay";
    assert_eq!(Language::Toml.spelled(message), expected);
    assert_eq!(Language::Python.spelled("say --transform-query"), "say transform");
    assert_eq!(Language::Toml.spelled("say --transform-query, --where"), "say transform_sql, where");
}

/// An error of what does not fit an end speaks as its reader wrote.
#[test]
fn an_end_refuses_an_option_in_the_language_of_its_reader() {
    let options =
        Options::from_keys(&json!({"batch_rows": 5}).as_object().unwrap().clone(), Language::Toml).unwrap();
    let ends = Ends::parse("a.csv", "b.csv", &options, Voice::default()).unwrap();
    for (language, name) in [
        (Language::Command, "--batch-rows"),
        (Language::Toml, "batch_rows"),
        (Language::Python, "batch_rows"),
    ] {
        let error = Spec::new(&ends, &options, language, Voice::default()).unwrap_err().to_string();
        assert_eq!(error, format!("{name} is for loading SQL Server, and b.csv is not one of those"));
    }
}

fn page() -> String {
    let schema = schemars::schema_for!(Options).to_value();
    let keys = schema.get("properties").unwrap().as_object().unwrap();
    let command = Options::augment_args(Command::new("copy"));
    let mut page = HEAD.to_owned();
    let mut headings: Vec<&str> = Vec::new();
    for argument in command.get_arguments() {
        let heading = argument.get_help_heading().unwrap_or("Others");
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        writeln!(page, "\n## {heading}\n\n| Option | Key | What it does |\n|---|---|---|").unwrap();
        for argument in command.get_arguments() {
            if argument.get_help_heading().unwrap_or("Others") != heading {
                continue;
            }
            let name = argument.get_long().unwrap();
            let key = Language::Toml.option(name);
            let key = if keys.contains_key(&key) { format!("`{key}`") } else { "—".to_owned() };
            let value = match argument.get_action().takes_values() {
                true => argument.get_value_names().map(|names| format!(" {}", names[0])).unwrap_or_default(),
                false => String::new(),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            writeln!(page, "| `--{name}{}` | {key} | {help} |", value.replace('|', "\\|")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_lists_every_option() {
    let path = PathBuf::from("../../docs/copy-options.md");
    if std::env::var("BULKWIRE_RECORD").is_ok_and(|what| what == "page") {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), page());
}
