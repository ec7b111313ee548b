//! Runs every row of `docs/tsql.md`: what that page says of a statement is what the server answers.

use std::path::Path;
use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::empty;
use executor::statements::open_session;
use introspection::functions::signatures;
use query::functions::function::Signature;

/// A section of the page: statements to run first, then rows of statement and result.
#[derive(Default)]
struct Section {
    title: String,
    setup: String,
    rows: Vec<(String, String)>,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_of_the_page_is_true() {
    let page = Path::new(".").join("../../docs/tsql.md");
    let sections = sections(&std::fs::read_to_string(page).unwrap());
    let (mut statements, mut wrong) = (0, Vec::new());
    for section in &sections {
        let mut session = open_session(Arc::new(empty()), login(51)).unwrap();
        for batch in section.setup.split("\nGO\n") {
            let refused: Vec<String> = answer(&mut session, batch)
                .await
                .into_iter()
                .filter(|line| line.starts_with("error"))
                .collect();
            assert!(refused.is_empty(), "{}: {refused:?}", section.title);
        }
        for (statement, expected) in &section.rows {
            statements += 1;
            let lines = answer(&mut session, statement).await;
            let actual = result(&lines, expected.contains("affected"));
            if actual != *expected {
                wrong.push(format!(
                    "{}: {statement}\n  the page says  {expected}\n  the answer is  {actual}\n  {lines:?}",
                    section.title
                ));
            }
        }
    }
    assert!(statements > 250, "only {statements} rows were found");
    assert!(wrong.is_empty(), "{} of {statements} rows are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Around what is printed from the table of functions.
const PRINTED_START: &str = "<!-- functions -->";
const PRINTED_END: &str = "<!-- end of functions -->";

/// The page's list of functions: one table for each family.
fn printed_functions() -> String {
    let mut text = String::new();
    let mut last = "";
    for (title, signatures) in signatures() {
        if title != last {
            text.push_str(&format!("\n### {title}\n\n| Call | Gives |\n|---|---|\n"));
            last = title;
        }
        for signature in signatures {
            text.push_str(&format!("| `{}` | {} |\n", signature.syntax(), signature.returns));
        }
    }
    text.push('\n');
    text
}

/// Run with `UPDATE_DOCS=1` to rewrite the list.
#[test]
fn the_functions_of_the_page_are_those_of_the_table() {
    let path = Path::new(".").join("../../docs/tsql.md");
    let page = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let start = page.find(PRINTED_START).unwrap() + PRINTED_START.len() + 1;
    let end = page.find(PRINTED_END).unwrap();
    let printed = printed_functions();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{printed}{}", &page[..start], &page[end..])).unwrap();
    } else {
        let same = page[start..end] == printed;
        assert!(same, "the functions of docs/tsql.md are out of date; run this test with UPDATE_DOCS=1");
    }
}

#[test]
fn no_function_is_there_twice() {
    let mut names: Vec<&str> = all_signatures().map(|signature| signature.name).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(names.iter().all(|name| *name == name.to_ascii_uppercase()));
}

#[test]
fn light_functions_look_at_no_rows() {
    for (family, signatures) in signatures() {
        let light = signatures.iter().any(|signature| signature.is_light);
        assert!(!light || !["Windows", ROWS].contains(&family), "{family}");
    }
}

/// A row of this page or a script calls each function.
#[test]
fn each_function_has_an_example_that_runs() {
    let page = std::fs::read_to_string(Path::new(".").join("../../docs/tsql.md")).unwrap();
    let mut executed: String = sections(&page)
        .into_iter()
        .flat_map(|section| section.rows)
        .map(|(statement, _)| statement + "\n")
        .collect();
    for script in std::fs::read_dir("tests/scripts").unwrap() {
        executed.push_str(&std::fs::read_to_string(script.unwrap().path()).unwrap());
    }
    let executed = executed.to_uppercase();
    let without: Vec<&str> = all_signatures()
        .filter(|signature| !is_called(signature, &executed))
        .map(|signature| signature.name)
        .collect();
    assert!(without.is_empty(), "functions without an example: {without:?}");
}

fn all_signatures() -> impl Iterator<Item = &'static Signature> {
    signatures().into_iter().flat_map(|(_, signatures)| signatures)
}

/// Whether a text in capitals calls a function: its name before a parenthesis, or the words of its own form.
fn is_called(signature: &Signature, text: &str) -> bool {
    let words: Vec<String> = match (signature.name.split_once(' '), signature.written) {
        (Some(("TRIM", side)), _) => vec![format!("TRIM({side} ")],
        (Some((_, words)), _) => vec![words.to_owned()],
        // Without parentheses.
        (None, Some(written)) if written == signature.name => vec![written.to_owned()],
        (None, _) => vec![format!("{}(", signature.name), format!("{} (", signature.name)],
    };
    let within = |ch: char| ch.is_alphanumeric() || "_@#.".contains(ch);
    words.iter().any(|word| {
        text.match_indices(word.as_str()).any(|(at, _)| {
            let after = &text[at + word.len()..];
            let ends = word.ends_with(['(', ' ']) || !after.starts_with(within);
            !text[..at].ends_with(within) && ends
        })
    })
}

/// Each function takes its fewest and its most arguments, and no more.
#[tokio::test(flavor = "multi_thread")]
async fn each_function_binds_with_its_fewest_and_most_arguments() {
    let mut session = open_session(Arc::new(empty()), login(51)).unwrap();
    let mut wrong = Vec::new();
    for (family, signatures) in signatures() {
        for signature in signatures {
            let counts = [signature.least(), signature.most()];
            for count in counts {
                let mut errors = Vec::new();
                let mut bound = false;
                for call in calls(family, signature, count) {
                    let lines = answer(&mut session, &call).await;
                    let error = lines.iter().find(|line| line.starts_with("error "));
                    bound = error
                        .is_none_or(|error| RUN_TIME_ERRORS.iter().any(|known| error.starts_with(known)));
                    if bound {
                        break;
                    }
                    errors.push(format!("{call}: {}", error.unwrap()));
                }
                if !bound {
                    wrong.push(format!("{} with {count}:\n  {}", signature.name, errors.join("\n  ")));
                }
            }
            // The parser makes the forms with words, each of one number of arguments.
            if signature.name.contains(' ')
                || signature.name == "UPDATE"
                || signature.written == Some(signature.name)
            {
                continue;
            }
            let fewer = signature.least().checked_sub(1);
            for count in fewer.into_iter().chain([signature.most() + 1]) {
                for call in calls(family, signature, count) {
                    let lines = answer(&mut session, &call).await;
                    let refused = lines.iter().any(|line| {
                        ["error 174:", "error 189:", "error 102:", "error 10754:"]
                            .iter()
                            .any(|error| line.starts_with(error))
                    });
                    if !refused && !signature.repeats {
                        wrong.push(format!("{call}: {lines:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The family of functions that stand in FROM.
const ROWS: &str = "Functions that give rows";

/// Errors of a call that was bound: 157 for UPDATE() outside of a trigger.
const RUN_TIME_ERRORS: [&str; 1] = ["error 157:"];

/// Statements that call a function with so many arguments: one of them suits it.
fn calls(family: &str, signature: &Signature, count: usize) -> Vec<String> {
    let words = match signature.name {
        "TRIM LEADING" => Some("TRIM(LEADING 'a' FROM 'b')"),
        "TRIM TRAILING" => Some("TRIM(TRAILING 'a' FROM 'b')"),
        "TRIM BOTH" => Some("TRIM(BOTH 'a' FROM 'b')"),
        "AT TIME ZONE" => Some("GETDATE() AT TIME ZONE 'UTC'"),
        "JSON_OBJECT ABSENT ON NULL" => Some("JSON_OBJECT('a':1 ABSENT ON NULL)"),
        "JSON_ARRAY NULL ON NULL" => Some("JSON_ARRAY(1 NULL ON NULL)"),
        "JSON_OBJECTAGG" => Some("JSON_OBJECTAGG('a' : 1)"),
        "JSON_OBJECTAGG ABSENT ON NULL" => Some("JSON_OBJECTAGG('a' : 1 ABSENT ON NULL)"),
        "JSON_ARRAYAGG" => Some("JSON_ARRAYAGG(1)"),
        "JSON_ARRAYAGG NULL ON NULL" => Some("JSON_ARRAYAGG(1 NULL ON NULL)"),
        "JSON OF ROWS" => Some("JSON_OBJECT('a' : JSON_ARRAYAGG(1))"),
        "PARSE AS" => Some("PARSE('1' AS int USING 'en-US')"),
        "TRY_PARSE AS" => Some("TRY_PARSE('1' AS int)"),
        "UPDATE" => return vec!["IF UPDATE(a) SELECT 1".to_owned()],
        // A condition.
        "REGEXP_LIKE" => return vec![format!("IF REGEXP_LIKE({}) SELECT 1", vec!["'i'"; count].join(", "))],
        name => signature.written.filter(|written| *written == name),
    };
    if let Some(words) = words {
        return vec![format!("SELECT {words}")];
    }
    let named = |at: usize| {
        let names = signature.required.iter().chain(signature.optional);
        names.copied().nth(at).or(signature.required.last().copied()).unwrap_or("value")
    };
    let samples = ["1", "'1'", "'2024-01-01'", "'{}'", "NULL"];
    samples
        .iter()
        .map(|sample| {
            let argument = |at: usize| match named(at) {
                "datepart" => "day",
                "condition" => "1 = 1",
                "path" => "'$.a'",
                "kind" if signature.name == "ISJSON" => "VALUE",
                "kind" => "'json'",
                "fraction" => "0.5",
                "precision" | "bit" | "place" | "enable_ordinal" => "1",
                "offset" if family == "Windows" => "1",
                "pattern" => "'d'",
                "property" => "'x'",
                "vector" => "CAST('[1]' AS vector(1))",
                "metric" => "'dot'",
                "norm" => "'norm2'",
                "mode" if signature.name == "JSON_CONTAINS" => "0",
                _ => sample,
            };
            let mut arguments: String = (0..count).map(argument).collect::<Vec<_>>().join(", ");
            if signature.name == "JSON_OBJECT" {
                let pairs: Vec<&str> = vec!["'a' : 1"; count / 2];
                arguments = pairs.join(", ");
            }
            let name = signature.name;
            match family {
                ROWS => format!("SELECT * FROM {name}({arguments}) AS f"),
                "Windows" if signature.within_group => {
                    format!("SELECT {name}({arguments}) WITHIN GROUP (ORDER BY x) OVER () FROM (VALUES (1)) AS v(x)")
                }
                "Windows" => format!("SELECT {name}({arguments}) OVER (ORDER BY x) FROM (VALUES (1)) AS v(x)"),
                _ if named(0) == "fraction" => {
                    format!("SELECT {name}({arguments}) WITHIN GROUP (ORDER BY x) FROM (VALUES (1)) AS v(x)")
                }
                _ if name.starts_with("GROUPING") => {
                    let columns = vec!["x"; count].join(", ");
                    format!("SELECT {name}({columns}) FROM (VALUES (1)) AS v(x) GROUP BY ROLLUP (x)")
                }
                _ => format!("SELECT {name}({arguments})"),
            }
        })
        .collect()
}

/// The sections of the page that have tables.
fn sections(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_code = false;
    let mut in_printed = false;
    for line in page.lines() {
        in_printed = line == PRINTED_START || in_printed && line != PRINTED_END;
        if in_printed {
            continue;
        }
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title: title.to_owned(), ..Section::default() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            section.setup.push_str(line);
            section.setup.push('\n');
        } else if line.starts_with("| `") {
            let [statement, result] = cells(line);
            section.rows.push((statement, result));
        } else {
            let head = line == "| Statement | Result |" || line == "|---|---|";
            assert!(head || !line.starts_with('|'), "not a row of statement and result: {line}");
        }
    }
    sections
}

/// Both cells of a row, which are code; a bar inside code is escaped.
fn cells(line: &str) -> [String; 2] {
    let whole = line.replace("\\|", "\u{1}");
    let cells: Vec<String> = whole
        .trim_matches('|')
        .split('|')
        .map(|cell| {
            let code = cell.trim().strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
            code.unwrap_or_else(|| panic!("a cell without code: {line}"))
                .replace('\u{1}', "|")
                .trim_end()
                .to_owned()
        })
        .collect();
    cells.try_into().unwrap_or_else(|_| panic!("not two cells: {line}"))
}

/// An answer as the page writes it.
fn result(lines: &[String], counts: bool) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut results = 0;
    for line in lines {
        if line.starts_with('[') {
            results += 1;
        } else if line.starts_with("affected ") && !counts || line.starts_with("status ") {
            continue;
        } else if let Some(error) = line.strip_prefix("error ") {
            shown.push(format!("error {}", error.split(':').next().unwrap_or_default()));
        } else if let Some(text) = line.strip_prefix("info: ") {
            shown.push(format!("message {text}"));
        } else {
            shown.push(line.clone());
        }
    }
    match (shown.is_empty(), results) {
        (true, 0) => "done".to_owned(),
        (true, _) => "no rows".to_owned(),
        _ => shown.join(" / ").trim_end().to_owned(),
    }
}
