//! Checks find every mistake, with its place.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use bulkwire_package::check;

/// The findings of a text, and the files that stand beside it.
fn findings(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("there.sql"), "SELECT 1\nGO 2\n").unwrap();
    fs::write(folder.path().join("wrong.sql"), "SELECT 1\nGO twice\n").unwrap();
    fs::write(
        folder.path().join("inner.toml"),
        "[variables]\nday = 'x'\n[tasks.a]\ntype = 'program'\ncommand = ['true', '${day}']\n",
    )
    .unwrap();
    let path = folder.path().join("p.toml");
    fs::write(&path, text).unwrap();
    check(&path).unwrap().findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_sound_package_has_no_findings() {
    let text = r#"
name = "nightly"
jobs = 2
[connections]
db = "mssql://loader@localhost/sales"
other = { url = "postgresql://reader@localhost/shop", password_env = "SHOP_PASSWORD" }
[variables]
day = { type = "date", default = 2026-11-23 }
rows = 0
[tasks.stage]
type = "sql"
connection = "db"
file = "there.sql"
parameters = { day = "${day}" }
retry = { attempts = 3, wait = "10s" }
[tasks.load]
type = "copy"
after = ["stage"]
for_each = { files = "in/*.csv" }
source = "${each}"
destination = { connection = "db", table = "dbo.orders" }
rows_into = "rows"
[tasks.shop]
type = "copy"
source = { connection = "other", table = "t" }
destination = "out/${day:digits}.parquet"
[tasks.inner]
type = "package"
after = ["load"]
if = "${rows} > 0"
file = "inner.toml"
variables = { day = "${day}" }
[tasks.tell]
type = "http"
after_failure = ["load", "inner"]
join = "any"
url = "https://example.org/hook"
headers = { Authorization = "Bearer ${env:TOKEN}" }
body = "run ${run.id} of ${package.name}"
"#;
    assert_eq!(findings(text), Vec::<String>::new());
}

#[test]
fn every_mistake_is_found_at_once_with_its_place() {
    for (text, expected) in [
        (
            "[tasks.a]\ntype = 'sql'\nconection = 'x'\nstatement = 'SELECT 1'",
            vec![
                "1:8: error: the key `connection` is missing",
                "3:1: error: there is no key `conection` here (did you mean `connection`?)",
            ],
        ),
        (
            "job = 3\n[tasks.a]\ntype = 'sqll'",
            vec![
                "1:1: error: there is no key `job` here (did you mean `jobs`?)",
                "3:8: error: \"sqll\" is not known here (did you mean \"sql\"?)",
            ],
        ),
        (
            "jobs = 0\n[tasks.a]\ncommand = ['x']",
            vec![
                "1:8: error: a number from 1 to 256 is expected here",
                "2:8: error: the key `type` is missing (one of `copy`, `sql`, `bulk-insert`, `wait-for-file`, `program`, `http`, `package`, `group`)",
            ],
        ),
        (
            "[tasks.a]\ntype = 'program'\ncommand = 'rm -rf /'",
            vec!["3:11: error: a list is expected here, not \"rm -rf /\""],
        ),
        (
            "[tasks.a]\ntype = 'program'\ncommand = ['a']\nafter = ['b', 'c']\n[tasks.b]\ntype = 'program'\ncommand = ['b']\nafter = ['a']",
            vec![
                "1:8: error: tasks wait for one another: b -> a -> b",
                "4:15: error: there is no task `c` on this level",
            ],
        ),
        (
            "[connections]\ndb = 'mssql://sa:geheim@h/d'\n[tasks.a]\ntype = 'sql'\nconnection = 'bd'\nstatement = 'SELECT ${x}'",
            vec![
                "2:1: warning: connection `db` is not used",
                "2:6: error: a secret (password) stands in the file (password_env or password_file says where it is, or ${env:NAME} in its place)",
                "5:14: error: there is no connection `bd`",
                "6:13: error: there is no variable `x`",
                "6:13: error: `${x}` would become part of the SQL (`@x` with `parameters`, `${x:literal}` or `${x:identifier}`)",
            ],
        ),
        (
            "[variables]\nday = {type = 'date', default = 'gestern'}\nold = 1\n[tasks.a]\ntype = 'program'\ncommand = ['x', '${dya}', '${day:nice}', '${each}']\n",
            vec![
                "2:1: warning: variable `day` is not used",
                "2:33: error: \"gestern\" is no date (2026-11-23)",
                "3:1: warning: variable `old` is not used",
                "6:17: error: there is no variable `dya` (did you mean `day`?)",
                "6:27: error: `:nice` is no form of a value: literal, identifier, digits and url are",
                "6:42: error: there is no variable `each`",
            ],
        ),
        (
            "[connections]\ndb = 'mssql://u@h/d'\n[tasks.a]\ntype = 'sql'\nconnection = 'db'\nfile = 'nowhere.sql'\n[tasks.b]\ntype = 'sql'\nconnection = 'db'\nfile = 'wrong.sql'\n[tasks.c]\ntype = 'sql'\nconnection = 'db'",
            vec![
                "6:8: error: there is no file nowhere.sql",
                "10:8: error: wrong.sql, line 2: GO takes a number at most, not \"twice\"",
                "11:8: error: a task of sql has either a `statement` or a `file`",
            ],
        ),
        (
            "[tasks.a]\ntype = 'copy'\nsource = '${run.id}.csv'\ndestination = 'b.csv'\nmode = 'upsrt'\nbatch_row = 5\nwriters = true\nbatch_rows = 0",
            vec![
                "5:8: error: \"upsrt\" is not known here (did you mean \"upsert\"?)",
                "6:1: error: there is no key `batch_row` here (did you mean `batch_rows`?)",
                "7:11: error: a whole number or a text is expected here, not true",
                "8:14: error: a number from 1 on is expected here",
            ],
        ),
        (
            "[tasks.a]\ntype = 'package'\nfile = 'inner.toml'\nvariables = { dya = 1 }\n[tasks.b]\ntype = 'package'\nfile = 'p.toml'",
            vec!["4:15: error: inner.toml has no variable `dya`", "7:8: error: p.toml runs itself"],
        ),
        (
            "[tasks.a]\ntype = 'program'\ncommand = ['x', '${env:SECRET}']\nif = '${n} >'",
            vec![
                "3:17: error: the secret SECRET does not belong here (they belong into connections, headers, bodies and URLs of http, environments of programs)",
                "4:6: error: `${variable}`, a number or a text in quotes is expected in the condition",
            ],
        ),
        ("[tasks.a\ntype = 1", vec!["1:9: error: this is no TOML: unclosed table, expected `]`"]),
        (
            "[connections]\ndb = 'mssql://u@h/d'\n[tasks.g]\ntype = 'group'\ntransaction = true\n[tasks.g.tasks.a]\ntype = 'program'\ncommand = ['x']\n[tasks.g.tasks.b]\ntype = 'sql'\nconnection = 'db'\nstatement = 'SELECT 1'\nretry = { attempts = 2 }",
            vec![
                "6:16: error: a group with `transaction` has tasks of sql and bulk-insert alone",
                "13:1: error: within a transaction the first failure undoes everything; `retry` is for the group",
            ],
        ),
    ] {
        assert_eq!(findings(text), expected, "{text}");
    }
}

#[test]
fn hostile_files_do_no_harm() {
    let deep = format!("x = {}{}", "[".repeat(5000), "]".repeat(5000));
    for text in [deep.as_str(), "", "\u{0}", "tasks = 3", "[tasks]\n[tasks.a]\ntype = 'group'\ntasks = []"] {
        assert!(!findings(text).is_empty(), "{}", text.chars().take(40).collect::<String>());
    }
    assert!(check(Path::new("/nowhere/p.toml")).is_err());
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("long.toml");
    std::fs::write(&long, "a = 1\n".repeat(1_000_000)).unwrap();
    let refused = check(&long).unwrap_err().to_string();
    assert!(refused.contains("4 MiB at most"), "{refused}");
}

#[test]
fn mistakes_of_form_do_not_hide_others() {
    let found = findings(
        r#"
[variables]
day = "x"
[connections]
db = { url = "mssql://u@h/d", colour = "red" }
[tasks.load]
type = "sql"
connection = "dbb"
statement = "SELECT ${dya:literal}"
[tasks.wrong]
type = "sql"
statemnt = "SELECT 1"
[tasks.last]
type = "program"
after = ["wrong", "laod"]
command = ["true"]
"#,
    );
    for expected in ["colour", "statemnt", "no connection `dbb`", "dya", "no task `laod`"] {
        assert!(found.iter().any(|finding| finding.contains(expected)), "{expected}: {found:#?}");
    }
    assert!(!found.iter().any(|finding| finding.contains("no task `wrong`")), "{found:#?}");
}
