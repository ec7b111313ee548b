//! Files with numbers, dates and NULL as people of many countries write them: each path of rows reads a file as the parsers of Python's
//! standard library (`csv`, `decimal`, `datetime`) have read it.
//!
//! `spelled_files.txt` has the cases. A case begins with `==`; then come the options of the file, those of its values, the type of
//! the amounts, whether the values decide their spelling by themselves, the lines of the file behind `<`, and the rows behind `>`.

use std::fmt::Write;

use crate::fixture::Fixture;

const CASES: &str = include_str!("spelled_files.txt");

/// A file, and the rows that it has.
struct Case<'a> {
    name: &'a str,
    dialect: Vec<&'a str>,
    spelling: Vec<&'a str>,
    amounts: &'a str,
    decides: bool,
    file: String,
    rows: String,
}

impl<'a> Case<'a> {
    fn read(text: &'a str) -> Self {
        let mut case = Case {
            name: "",
            dialect: Vec::new(),
            spelling: Vec::new(),
            amounts: "",
            decides: false,
            file: String::new(),
            rows: String::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                _ if number == 0 => case.name = line,
                "dialect" => case.dialect = rest.split(' ').collect(),
                "spelling" => case.spelling = rest.split(' ').filter(|word| !word.is_empty()).collect(),
                "amounts" => case.amounts = rest,
                "values" => case.decides = rest == "decide",
                "<" => writeln!(case.file, "{rest}").unwrap(),
                ">" => writeln!(case.rows, "{rest}").unwrap(),
                other => panic!("case {}: what is {other:?}?", case.name),
            }
        }
        case
    }

    /// The keys of a package that say what the options say.
    fn keys(&self) -> String {
        let mut keys = String::new();
        let mut nulls = Vec::new();
        let words: Vec<&str> = self.dialect.iter().chain(&self.spelling).copied().collect();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--null-text=") {
                Some(text) => nulls.push(text),
                None if *word == "--skip-initial-space" => keys += "skip_initial_space = true\n",
                None => {
                    let name = word.trim_start_matches('-').replace('-', "_");
                    let value = words.next().unwrap();
                    writeln!(keys, "{name} = {}", toml_text(value)).unwrap();
                }
            }
        }
        if !nulls.is_empty() {
            let nulls: Vec<String> = nulls.into_iter().map(toml_text).collect();
            writeln!(keys, "null_text = [{}]", nulls.join(", ")).unwrap();
        }
        keys
    }
}

fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[test]
fn each_path_reads_files_of_other_countries_as_python_does() {
    let fixture = Fixture::new();
    let cases: Vec<Case<'_>> = CASES.split("== ").filter(|text| !text.is_empty()).map(Case::read).collect();
    assert!(cases.len() >= 40);
    let mut wrong = String::new();
    for case in &cases {
        fixture.file("in.csv", &case.file);
        let columns = format!("k int, a {}, d date, s nvarchar(40)", case.amounts);
        let select = format!("SELECT k, CAST(a AS {}) AS a, CAST(d AS date) AS d, s FROM", case.amounts);
        let by_cast =
            format!("CAST(k AS int) AS k, CAST(a AS {}) AS a, CAST(d AS date) AS d, s", case.amounts);
        let mut check = |path: &str, found: String| {
            if found != case.rows {
                writeln!(wrong, "case {} by {path}:\n{found}instead of\n{}", case.name, case.rows).unwrap();
            }
        };
        let of = |words: &[&str]| -> String {
            let all = [words, &case.dialect, &case.spelling, &["--quiet"]].concat();
            let ran = fixture.run(&all);
            if ran.code == 0 { String::new() } else { ran.stderr }
        };
        let table = |said: String, table: &str| match said.is_empty() {
            true => fixture.rows(&format!("{select} {table} ORDER BY k")),
            false => said,
        };
        for name in ["existing", "made", "found", "chosen", "packed"] {
            fixture.sql(&format!("DROP TABLE IF EXISTS {name}"));
        }
        fixture.sql(&format!("CREATE TABLE existing ({columns})"));
        check("load", table(of(&["load", "existing", "in.csv"]), "existing"));
        check("load --create", table(of(&["load", "made", "in.csv", "--create"]), "made"));
        check(
            "copy --select",
            table(of(&["copy", "in.csv", "mssql:chosen", "--select", &by_cast]), "chosen"),
        );
        let converted = of(&["convert", "in.csv", "out.csv", "--declare", &columns]);
        let written = std::fs::read_to_string(fixture.path("out.csv")).unwrap_or_default();
        let rows = written.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or_default();
        check("convert", if converted.is_empty() { rows } else { converted });
        let package = format!(
            "name = \"p\"\n[connections.c]\nurl = \"{}\"\npassword_env = \"BULKWIRE_PASSWORD\"\n[tasks.t]\ntype = \"copy\"\n\
             source = \"in.csv\"\ndestination = {{ connection = \"c\", table = \"packed\" }}\n{}",
            fixture.url("Encrypt=Off"),
            case.keys()
        );
        fixture.file("p.toml", package);
        let ran = fixture.run(&["run", "p.toml"]);
        check("package", table(if ran.code == 0 { String::new() } else { ran.stderr }, "packed"));
        if case.decides {
            let words =
                [&["load", "found", "in.csv", "--create", "--quiet"], case.dialect.as_slice()].concat();
            let ran = fixture.run(&words);
            check("its values", table(if ran.code == 0 { String::new() } else { ran.stderr }, "found"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
