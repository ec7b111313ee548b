//! The 23 tables of AdventureWorksDW through bcp: the sample's own files in, and out and in again in every layout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fixture::{Fixture, text};

struct Table {
    name: String,
    create: String,
    file: PathBuf,
}

fn tables() -> Vec<Table> {
    let folder = fs::canonicalize(Path::new("../../testdata/adventureworks-dw")).unwrap();
    let tables: BTreeMap<String, Value> =
        serde_json::from_str(&fs::read_to_string(folder.join("tables.json")).unwrap()).unwrap();
    let table = |(name, table): (String, Value)| {
        let columns = table["columns"].as_array().unwrap().iter().map(|column| {
            let word = |key: &str| column[key].as_str().unwrap().to_owned();
            let null = if column["nullable"] == true { "NULL" } else { "NOT NULL" };
            let identity = if column.get("identity").is_some() { "IDENTITY(1, 1) " } else { "" };
            format!("[{}] {} {identity}{null}", word("name"), word("type"))
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let file = folder.join(table["file"].as_str().unwrap());
        Table { create: format!("CREATE TABLE {{}} ({columns})"), file, name }
    };
    tables.into_iter().map(table).collect()
}

/// Rows of a file: the last line of some has no line break.
fn rows_of(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap();
    bytes.iter().filter(|byte| **byte == b'\n').count() + usize::from(bytes.last() != Some(&b'\n'))
}

/// The lines of a file in an order of their own: a table has none.
fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_file_goes_in_and_out_and_in_again() {
    let fixture = Fixture::new();
    let dialect = ["-c", "-t|", "-r", "\\n", "-C65001"];
    let tables = tables();
    assert_eq!(tables.len(), 23);
    for Table { name, create, file } in &tables {
        let copy = format!("{name}_copy");
        for target in [name, &copy] {
            fixture.sql(&create.replace("{}", target));
        }
        let rows = rows_of(file);
        let copied = |words: &[&str]| {
            let ran = fixture.ok(&[&["bcp"], words].concat());
            assert!(ran.stdout.contains(&format!("\n{rows} rows copied.\n")), "{words:?}: {}", ran.stdout);
        };
        copied(&[&[name, "in", text(file), "-E", "-m1", "-hTABLOCK"], &dialect[..]].concat());
        fixture.ok(&[&["bcp", name, "format", "nul", "-f", "table.fmt"], &dialect[..]].concat());
        // Collations win over -C and none here is UTF-8, so they have to go, as Microsoft's documentation says too.
        let format_file = fs::read_to_string(fixture.path("table.fmt")).unwrap();
        assert!(format_file.contains("\"|\"") && format_file.starts_with("14.0\n"), "{format_file}");
        fixture.file("table.fmt", format_file.replace("SQL_Latin1_General_CP1_CI_AS", "\"\""));
        fixture.ok(&["bcp", name, "format", "nul", "-N", "-f", "native.fmt"]);
        // The sample's file again, through the format file, into an empty table: the same rows.
        copied(&[&copy, "in", text(file), "-E", "-m1", "-f", "table.fmt", "-C65001"]);
        copied(&[&[name, "out", "first.dat"], &dialect[..]].concat());
        let first = lines(&fixture.path("first.dat"));
        for (layout, flags) in
            [("letters", &dialect[..]), ("native", &["-N"]), ("format file", &["-f", "table.fmt"])]
        {
            copied(&[&[copy.as_str(), "out", "again.dat"], flags].concat());
            fixture.sql(&format!("TRUNCATE TABLE [{copy}]"));
            copied(&[&[copy.as_str(), "in", "again.dat", "-E", "-m1"], flags].concat());
            copied(&[&[copy.as_str(), "out", "again.dat"], &dialect[..]].concat());
            assert!(lines(&fixture.path("again.dat")) == first, "{name} through {layout}");
        }
    }
}
