//! Command lines of `load`, `export`, `convert` and `copy` with what they print and how they end, as recorded in `tests/recorded`.
//!
//! A file has sections, each with a server and a folder of its own. `file` writes a file, `sql` runs a statement, `$` runs the
//! command, `stdin` gives the next command its input, and `cat` shows a file. Lines that begin with `exit`, `out|` and `err|` are the
//! record. `BULKWIRE_RECORD=commands` writes it again.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread;

use crate::fixture::{Fixture, PASSWORD};

/// Units of what is measured: the number before one of them is not the same twice.
const UNITS: [&str; 8] = ["s", "ms", "rows/s", "B/s", "kB/s", "MB/s", "GB/s", "ns"];
/// Fields of JSON that are measured.
const FIELDS: [&str; 20] = [
    "seconds",
    "read",
    "encode",
    "send",
    "wait",
    "client_cpu_seconds",
    "at_seconds",
    "bytes_per_second",
    "rows_per_second",
    "waited_seconds",
    "timestamp",
    "process",
    "bytes_on_wire",
    "limited_by",
    "bytes_written",
    "bytes",
    "elapsed",
    "wait_seconds",
    "decode",
    "write",
];

#[test]
fn load_does_as_recorded() {
    replay("load.txt");
}

#[test]
fn export_does_as_recorded() {
    replay("export.txt");
}

#[test]
fn convert_does_as_recorded() {
    replay("convert.txt");
}

#[test]
fn copy_does_as_recorded() {
    replay("copy.txt");
}

/// Replays a file of the record, its sections side by side.
fn replay(name: &str) {
    let path = PathBuf::from("tests/recorded").join(name);
    let recorded = fs::read_to_string(&path).unwrap();
    let sections: Vec<String> = recorded.split("\n== ").map(str::to_owned).collect();
    let (head, sections) = sections.split_first().unwrap();
    let mut replayed: Vec<String> = Vec::new();
    for group in sections.chunks(4) {
        let of_group: Vec<String> = thread::scope(|scope| {
            let running: Vec<_> = group.iter().map(|section| scope.spawn(|| section_of(section))).collect();
            running.into_iter().map(|section| section.join().unwrap()).collect()
        });
        replayed.extend(of_group);
    }
    if std::env::var("BULKWIRE_RECORD").is_ok_and(|what| what == "commands") {
        fs::write(&path, format!("{head}\n== {}", replayed.join("\n== "))).unwrap();
        return;
    }
    let differing =
        sections.iter().zip(&replayed).filter(|(before, now)| before.trim_end() != now.trim_end());
    let differences: Vec<String> = differing.map(|(before, now)| difference(before, now)).collect();
    assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
}

/// The lines of a section in which a replay differs, behind its title and the command that they belong to.
fn difference(before: &str, now: &str) -> String {
    let (before, now): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let same = before.iter().zip(&now).take_while(|(before, now)| before == now).count();
    let command = before[..same].iter().rposition(|line| line.starts_with("$ ")).unwrap_or(0);
    let rest = |lines: &[&str]| {
        let own = lines[same..]
            .iter()
            .enumerate()
            .take_while(|(index, line)| *index == 0 || !line.starts_with("$ "));
        own.map(|(_, line)| (*line).to_owned()).collect::<Vec<_>>().join("\n  ")
    };
    format!("== {}\n{}\n- {}\n+ {}", before[0], before[command], rest(&before), rest(&now))
}

/// Runs the lines of a section, and returns it with what happened.
fn section_of(section: &str) -> String {
    let fixture = Fixture::new();
    let mut stdin = String::new();
    let mut replayed = String::new();
    for line in section.lines() {
        if line.starts_with("exit ") || line.starts_with("out|") || line.starts_with("err|") {
            continue;
        }
        replayed.push_str(line);
        replayed.push('\n');
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "file" => {
                let (name, content) = rest.split_once(' ').unwrap_or((rest, ""));
                fixture.file(name, unescaped(content));
            }
            "sql" => fixture.sql(rest),
            "stdin" => stdin = unescaped(rest),
            "cat" => {
                let content =
                    fs::read(fixture.path(rest)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                shown(&mut replayed, "out", &content.unwrap_or_else(|_| "(no file)".to_owned()));
            }
            "$" => {
                let words = words_of(rest);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let ran = fixture.run_with(
                    &fixture.url("Encrypt=Off"),
                    PASSWORD,
                    &words,
                    &std::mem::take(&mut stdin),
                );
                writeln!(replayed, "exit {}", ran.code).unwrap();
                shown(&mut replayed, "out", &normal(&ran.stdout, &fixture));
                shown(&mut replayed, "err", &normal(&ran.stderr, &fixture));
            }
            _ => {}
        }
    }
    replayed
}

fn shown(replayed: &mut String, stream: &str, text: &str) {
    for line in text.lines() {
        writeln!(replayed, "{stream}| {line}").unwrap();
    }
}

/// Words as a shell divides them: blanks divide, single quotes hold.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut has_word) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (is_quoted, has_word) = (!is_quoted, true),
            ' ' if !is_quoted => {
                if std::mem::take(&mut has_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                has_word = true;
            }
        }
    }
    if has_word {
        words.push(word);
    }
    words
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
}

/// A text without what differs from run to run: the folder, the server's address, times, rates and names of stages.
fn normal(text: &str, fixture: &Fixture) -> String {
    let text = text
        .replace(&fixture.path("").display().to_string(), "DIR/")
        .replace(&fixture.server.address().to_string(), "SERVER");
    let lines: Vec<String> = text.lines().map(|line| normal_line(line).trim_end().to_owned()).collect();
    lines.join("\n")
}

fn normal_line(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for index in 1..words.len() {
        let is_unit = UNITS.contains(&words[index].trim_end_matches([',', ';', ':', '.', ')']));
        if is_unit && words[index - 1].trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit()) {
            words[index - 1] = "#";
            // The unit of a rate follows its size.
            words[index] = words[index].trim_start_matches(['k', 'M', 'G']);
        }
    }
    let is_rate = |word: &str| {
        let digits = word.strip_prefix('(').and_then(|word| word.strip_suffix("/s)"));
        digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    };
    for word in &mut words {
        let end = &word[word.trim_end_matches([',', ';']).len()..];
        if is_rate(word.trim_end_matches([',', ';'])) {
            *word = match end {
                "" => "(#/s)",
                "," => "(#/s),",
                _ => "(#/s);",
            };
        }
    }
    let mut line = without_stages(&words.join(" "));
    if line.starts_with("limit: ") {
        return "limit: #".to_owned();
    }
    if let Some(at) = line.find("limited by ") {
        line.replace_range(at.., "limited by #");
    }
    if line.starts_with('{') { normal_json(line) } else { line }
}

/// A stage has a name of its own in each run.
fn without_stages(line: &str) -> String {
    const MARK: &str = "__bulkwire_";
    let mut parts = line.split(MARK);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || ('a'..='f').contains(&c));
        format!("{text}{MARK}#{rest}")
    })
}

fn normal_json(mut text: String) -> String {
    for field in FIELDS {
        let mark = format!("\"{field}\":");
        let mut from = 0;
        while let Some(at) = text[from..].find(&mark).map(|at| from + at + mark.len()) {
            // A text may have a comma of its own.
            let quoted = text[at..].strip_prefix('"').and_then(|rest| rest.find('"')).map(|end| end + 2);
            let end = quoted.or_else(|| text[at..].find([',', '}'])).map_or(text.len(), |end| at + end);
            if !text[at..].starts_with('{') {
                text.replace_range(at..end, "#");
            }
            from = at;
        }
    }
    text
}
