#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn parse(line: &str) -> Result<Request, ArgumentError> {
    // Words are split at blanks; `_` stands for a blank inside a word, `~` for `_`, `''` for an empty word.
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| if word == "''" { String::new() } else { word.replace('_', " ").replace('~', "_") })
        .collect();
    Request::parse(&words)
}

fn job(line: &str) -> Job {
    match parse(line) {
        Ok(Request::Copy(job)) => *job,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    parse(line).expect_err(line).to_string()
}

#[test]
fn values_are_attached_or_separate() {
    for line in
        ["t in f -c -Uuser -Psecret -Sserver -t, -F3", "t in f -c -U user -P secret -S server -t , -F 3"]
    {
        let job = job(line);
        assert_eq!(job.login.user.as_deref(), Some("user"));
        assert_eq!(job.login.password.as_deref(), Some("secret"));
        assert_eq!(job.login.server.as_deref(), Some("server"));
        assert_eq!((job.field_terminator.as_deref(), job.first_row), (Some(","), 3));
    }
}

#[test]
fn letters_are_case_sensitive() {
    let job = job("t in f -N -F 2 -f x.fmt -k -K ReadOnly -T -t | -R -r \\n -u");
    assert!(job.keep_nulls && job.regional && job.login.read_only && job.login.trusted);
    assert!(job.login.trust_certificate);
    assert_eq!(job.row_terminator.as_deref(), Some("\\n"));
}

#[test]
fn a_value_that_begins_with_a_dash_must_be_attached() {
    assert_eq!(job("t out f -c -t- -P-x").field_terminator.as_deref(), Some("-"));
    assert_eq!(
        refusal("t out f -t -c"),
        "The option -t needs a value; one that begins with '-' must follow without a space."
    );
    assert_eq!(job("t out f -c -U u -P").login.password.as_deref(), Some(""));
    assert_eq!(job("t out f -c -U u -P -S s").login.server.as_deref(), Some("s"));
    assert_eq!(job("t in f -c -m -1").max_errors, None);
}

#[test]
fn the_error_limit_is_ten_unless_said() {
    let limits =
        [("", Some(10)), ("-m 3", Some(3)), ("-m0", None), ("-m-1", None), ("--max-errors=7", Some(7))];
    for (options, limit) in limits {
        assert_eq!(job(&format!("t in f -c {options}")).max_errors, limit, "{options}");
    }
}

#[test]
fn directions_are_words_of_any_case_and_options_may_stand_anywhere() {
    for (word, direction) in
        [("IN", Direction::In), ("Out", Direction::Out), ("queryOut", Direction::QueryOut)]
    {
        assert_eq!(job(&format!("-c t {word} -T f")).direction, direction);
    }
    assert_eq!(job("t format nul -n -f x").direction, Direction::Format);
    assert_eq!(refusal("t into f"), "Copy direction must be either 'in', 'out', 'queryout' or 'format'.");
    assert_eq!(refusal("''"), "A valid table name is required for in, out, or format options.");
    assert_eq!(refusal("t in"), "A data file name is required; it is \"nul\" for format.");
    assert!(refusal("t in f g").contains("\"g\""));
}

#[test]
fn the_layout_follows_the_letters() {
    let layouts = [
        ("-c", Layout::Character),
        ("-w", Layout::UnicodeCharacter),
        ("-n", Layout::Native),
        ("-N", Layout::UnicodeNative),
        ("-f x", Layout::FormatFile),
        ("", Layout::Dialogue),
    ];
    for (options, layout) in layouts {
        let job = job(&format!("t in f {options}"));
        assert_eq!((job.layout, job.warnings.len()), (layout, 0), "{options}");
    }
    let both = job("t in f -c -w");
    assert_eq!(
        (both.layout, both.warnings),
        (Layout::UnicodeCharacter, vec!["Warning: -w overrides -c.".into()])
    );
    let file = job("t in f -f x -c");
    assert_eq!((file.layout, file.warnings), (Layout::FormatFile, vec!["Warning: -f overrides -c.".into()]));
    assert_eq!(job("t format nul -c -f x").layout, Layout::Character);
}

#[test]
fn a_dash_alone_is_a_file() {
    assert_eq!(job("t in - -c").file, "-");
}

#[test]
fn code_pages_versions_and_encryption_are_checked() {
    assert_eq!(job("t in f -c -C RAW").code_page, CodePageChoice::Raw);
    assert_eq!(job("t in f -c -C65001").code_page, CodePageChoice::Number(65001));
    assert_eq!(job("t in f -n -V80").version, Some(80));
    assert_eq!(job("t in f -c -Yo").login.encryption, Some(Encryption::Optional));
    assert_eq!(job("t in f -c -z1").layout, Layout::Character);
    for line in
        ["t in f -c -C latin", "t in f -n -V 70", "t in f -c -Yx", "t in f -c -K ReadWrite", "t in f -a 100"]
    {
        assert!(refusal(line).contains("is not a value of"), "{line}: {}", refusal(line));
    }
}

#[test]
fn rows_below_the_first_are_the_first() {
    let below = job("t in f -c -F 0 -L -1 -b 0");
    assert_eq!((below.first_row, below.last_row, below.batch_rows), (1, None, None));
    assert_eq!(job("t in f -c -F -2").first_row, 1);
}

#[test]
fn what_bcp_does_not_have_is_refused() {
    assert_eq!(refusal("t in f -X"), "Unknown argument '-X' on command line.");
    assert_eq!(refusal("t in f -Z"), "Unknown argument '-Z' on command line.");
    assert_eq!(refusal("t in f --fast"), "Unknown argument '--fast' on command line.");
    assert!(refusal("t in f -6").contains("-V 80"));
    assert!(refusal("t in f -cT").contains("takes no value"));
}

#[test]
fn what_excludes_each_other_is_refused() {
    for line in [
        "t format nul -c",
        "t format f -c -f x",
        "t in f -x -c",
        "t in f -c -T -U u",
        "t out f -c -h TABLOCK",
        "d.s.t in f -c -d other",
        "t in f -c -b 10 -h ROWS~PER~BATCH=5",
        "t out f -c --rejects r",
    ] {
        assert!(!refusal(line).is_empty(), "{line}");
    }
    assert_eq!(job("select_a.b.c_from_x queryout f -c -d other").login.database.as_deref(), Some("other"));
}

#[test]
fn help_and_version_come_first() {
    for line in ["", "?", "-?", "--help", "t in f -?"] {
        assert_eq!(parse(line), Ok(Request::Usage), "{line}");
    }
    assert_eq!(parse("-v"), Ok(Request::Version));
}

#[test]
fn the_usage_names_every_option() {
    let usage = super::super::switch::usage("bcp");
    for switch in SWITCHES.iter().filter(|switch| !"X6".contains(switch.letter)) {
        assert!(usage.contains(&format!("[-{} ", switch.letter)), "{}", switch.letter);
    }
    assert!(usage.starts_with("usage: bcp {dbtable | query} {in | out | queryout | format} datafile\n"));
    assert!(usage.lines().all(|line| line.len() <= 100), "{usage}");
}
