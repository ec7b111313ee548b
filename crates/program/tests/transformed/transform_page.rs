//! Runs every row of the table of docs/transform.md: what the page says of a spelling is what it gives.

use std::fs;
use std::path::Path;

use crate::case::Case;

/// The source and the lookup that the page describes.
const HEAD: &str = "page
source
id:int!,name:text,code:text,amount:text,day:text
1, Ada  King ,ab-123,12.5,2024-02-29

lookup cities
code:text,city:text
ab,Lisbon

file in/people.csv
";

/// Run with `UPDATE_DOCS=1` to rewrite the results.
#[test]
fn every_row_of_the_page_is_true() {
    let path = Path::new("../../docs/transform.md");
    let page = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let (mut count, mut wrong, mut printed) = (0, String::new(), String::new());
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [title, spelling, expected] = cells[..] else {
            printed += &format!("{line}\n");
            continue;
        };
        let spelling = spelling.trim_matches('`');
        if !line.starts_with("| ") || expected == "Gives" {
            printed += &format!("{line}\n");
            continue;
        }
        count += 1;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("note.txt"), "hello").unwrap();
        let head = format!("{HEAD}files {}\nselect {spelling} AS x\n", folder.path().display());
        let out = Case::all(&head)[0].run(usize::MAX);
        let value = out.lines().nth(1).and_then(|line| line.strip_prefix("1: ")).unwrap_or(&out);
        let value = format!("`{}`", value.trim_end_matches('\n'));
        if value != expected {
            wrong += &format!("{title}: {spelling}\n  the page says {expected}\n  it gives {value}\n");
        }
        printed += &format!("| {title} | `{spelling}` | {value} |\n");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, printed).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 30, "only {count} rows were found");
}
