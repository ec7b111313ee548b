//! Runs every row of `docs/tsql.md`: what that page says of a statement is what the server answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod empty;

use std::path::Path;
use std::sync::Arc;

use answers::{answer, login};
use bulkwire_server::statements::open_session;

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
        let mut session = open_session(Arc::new(empty::instance()), login(51)).unwrap();
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

/// The sections of the page that have tables.
fn sections(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
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
