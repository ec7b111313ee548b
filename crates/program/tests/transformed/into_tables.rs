//! Transformed rows on their way into tables of a server, as a user runs it: actions of rows, and copies that are killed and continued.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::Fixture;

const EXPRESSION: &str = "CASE op WHEN 'I' THEN 'insert' WHEN 'U' THEN 'update' WHEN 'D' THEN 'delete' WHEN 'M' THEN 'Upsert  ' \
     WHEN 'S' THEN 'skip' WHEN '?' THEN 'replace' END -- the rest is NULL";
const LIST: &str = "CAST(id AS int) AS id, name, CAST(NULLIF(amount, '') AS decimal(9,2)) AS amount";

fn people() -> Fixture {
    let fixture = Fixture::new();
    fixture.ok(&[
        "query",
        "CREATE TABLE people (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL, amount decimal(9,2) NULL, \
         seen int NOT NULL DEFAULT 7); INSERT people (id, name, amount) VALUES (1, 'ann', 1), (2, 'bob', 2), \
         (3, 'cid', 3), (4, 'dan', 4), (5, 'eve', 5)",
    ]);
    fixture
}

const PEOPLE: &str = "SELECT id, name, amount, seen FROM people ORDER BY id";
const BEFORE: &str = "1,ann,1.00,7\n2,bob,2.00,7\n3,cid,3.00,7\n4,dan,4.00,7\n5,eve,5.00,7\n";

#[test]
fn each_row_does_what_its_action_says() {
    let fixture = people();
    fixture.file(
        "changes.csv",
        "op,id,name,amount\nU,1,Anna,10\nD,2,,\nM,3,cid,3\nM,9,ida,9\nI,8,hal,\nU,77,nobody,1\nD,78,,\nS,4,x,x\n,5,x,1\n",
    );
    let words =
        ["copy", "changes.csv", "mssql:people", "--select", LIST, "--action", EXPRESSION, "--key", "id"];
    // The skipped row has an amount that is no number, and that costs the row.
    let (code, _, error) = fixture.run(&words);
    assert_eq!(code, 1, "{error}");
    assert!(
        error.contains("row 8: column \"amount\"") && error.contains("it is row 8 of changes.csv, line 9"),
        "{error}"
    );
    assert_eq!(fixture.rows(PEOPLE), BEFORE);
    let words = [&words[..], &["--max-errors", "5", "--output", "json"]].concat();
    let (code, out, error) = fixture.run(&words);
    assert_eq!(code, 3, "{error}");
    let counts = r#""actions":{"deleted":1,"inserted":2,"missing":2,"skipped":1,"unchanged":1,"updated":1}"#;
    for part in [counts, r#""rows_read":9"#, r#""rows":7"#, r#""rejected":1"#] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let expected = "1,Anna,10.00,7\n3,cid,3.00,7\n4,dan,4.00,7\n5,eve,5.00,7\n8,hal,,7\n9,ida,9.00,7\n";
    assert_eq!(fixture.rows(PEOPLE), expected);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name LIKE '%bulkwire%'"), "0\n");
}

#[test]
fn an_unknown_action_and_a_missing_value_refuse_their_rows() {
    let fixture = people();
    fixture.file("changes.csv", "op,id,name,amount\n?,1,x,1\nU,2,,2\nD,3,,\nM,,x,1\nU,4,don,44\n");
    let list = "CAST(NULLIF(id, '') AS int) AS id, NULLIF(name, '') AS name, CAST(NULLIF(amount, '') AS money) AS amount";
    let words = [
        "copy",
        "changes.csv",
        "mssql:people",
        "--select",
        list,
        "--action",
        EXPRESSION,
        "--key",
        "id",
        "--rejects",
        "bad.jsonl",
    ];
    let (code, _, error) = fixture.run(&words);
    assert_eq!(code, 3, "{error}");
    assert!(
        error.contains("0 inserted, 1 updated, 1 deleted, 0 unchanged, 0 without a row to change"),
        "{error}"
    );
    let refused = fs::read_to_string(fixture.folder.path().join("bad.jsonl")).unwrap();
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!(lines.len(), 3, "{refused}");
    for (line, parts) in lines.iter().zip([
        [r#""row":1"#, r#""value":"replace""#, "this is no action"],
        [r#""row":2"#, r#""column":"name""#, "NULL in a row to update"],
        [r#""row":4"#, r#""column":"id""#, ""],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    assert_eq!(fixture.rows(PEOPLE), "1,ann,1.00,7\n2,bob,2.00,7\n4,don,44.00,7\n5,eve,5.00,7\n");
    // Without a tolerance the first one ends the copy.
    fixture.file("changes.csv", "op,id,name,amount\nU,4,x,1\n?,1,x,1\n");
    let (code, _, error) = fixture.run(&words[..words.len() - 2]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("row 2 of changes.csv, line 3") && error.contains("this is no action"), "{error}");
}

#[test]
fn known_keys_of_new_rows_and_doubled_keys_change_nothing() {
    let fixture = people();
    let words =
        ["copy", "changes.csv", "mssql:people", "--select", LIST, "--action", EXPRESSION, "--key", "id"];
    for (changes, expected) in [
        (
            "D,1,,\nI,2,bo,1\n",
            "the table has a row with the key (2), and a row of the source is to be new with that key",
        ),
        ("D,1,,\nI,1,ann,1\n", "2 rows of the source have the key (1)"),
        ("M,9,x,1\nS,9,x,1\nU,9,y,1\n", "2 rows of the source have the key (9)"),
    ] {
        fixture.file("changes.csv", format!("op,id,name,amount\n{changes}"));
        let (code, _, error) = fixture.run(&words);
        assert_eq!(code, 1, "{error}");
        assert!(error.contains(expected), "{error}");
        assert_eq!(fixture.rows(PEOPLE), BEFORE);
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name LIKE '%bulkwire%'"), "0\n");
    }
    // A row that skips has no key to double.
    fixture.file("changes.csv", "op,id,name,amount\nS,1,x,1\nM,1,Ann,1\nS,1,x,2\n");
    fixture.ok(&words);
    assert!(fixture.rows(PEOPLE).starts_with("1,Ann,1.00"));
}

#[test]
fn a_query_names_the_column_of_its_actions() {
    let fixture = people();
    fixture.file("changes.csv", "id,name\n1,ann\n2,robert\n6,fay\n");
    fixture.file("gone.csv", "id\n3\n");
    let query = "SELECT CAST(s.id AS int) AS id, s.name, CASE WHEN p.id IS NULL THEN 'insert' WHEN p.name <> s.name \
                 THEN 'update' END AS what FROM source AS s LEFT JOIN people AS p ON p.id = CAST(s.id AS int)";
    let words = [
        "copy",
        "changes.csv",
        "mssql:people",
        "--transform-query",
        query,
        "--lookup",
        "people=mssql:people",
        "--action",
        "WHAT",
        "--key",
        "id",
    ];
    fixture.ok(&words);
    let expected = "1,ann,1.00,7\n2,robert,2.00,7\n3,cid,3.00,7\n4,dan,4.00,7\n5,eve,5.00,7\n6,fay,,7\n";
    assert_eq!(fixture.rows(PEOPLE), expected);
    // The key alone is enough to delete, and a constant is an action too.
    let words = [
        "copy",
        "gone.csv",
        "mssql:people",
        "--select",
        "CAST(id AS int) AS id",
        "--action",
        "'delete'",
        "--key",
        "id",
    ];
    let (code, _, error) = fixture.run(&words);
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("1 deleted"), "{error}");
}

#[test]
fn what_actions_cannot_go_with_is_refused_before_anything_happens() {
    let fixture = people();
    fixture.file("changes.csv", "op,id,name,amount\nU,1,x,1\n");
    let cases: [(&str, &[&str], &str); 8] = [
        ("mssql:people", &["--action", "'update'"], "--key"),
        ("mssql:people", &["--action", "'update'", "--key", "id", "--mode", "upsert"], "cannot be used with"),
        ("mssql:people", &["--action", "'update'", "--key", "id", "--by-position"], "cannot be used with"),
        ("out.csv", &["--action", "'update'", "--key", "id"], "--action is for loading SQL Server"),
        ("mssql:nothing", &["--action", "'update'", "--key", "id"], "there is no such table"),
        ("mssql:people", &["--action", "1", "--select", LIST, "--key", "id"], "--action must give text"),
        ("mssql:people", &["--action", "'update'", "--select", LIST, "--key", "no"], "no"),
        (
            "mssql:people",
            &["--action", "what", "--transform-query", "SELECT id, name FROM source", "--key", "id"],
            "names a column of the result",
        ),
    ];
    for (destination, words, expected) in cases {
        let words: Vec<&str> = ["copy", "changes.csv", destination].iter().chain(words).copied().collect();
        let (code, _, error) = fixture.run(&words);
        assert_ne!(code, 0, "{words:?}");
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    assert_eq!(fixture.rows(PEOPLE), BEFORE);
}

#[test]
fn identities_and_heaps_take_actions() {
    let fixture = Fixture::new();
    fixture.ok(&[
        "query",
        "CREATE TABLE t (n int IDENTITY(1,1) NOT NULL, code varchar(9) NOT NULL, v int NULL); \
         INSERT t (code, v) VALUES ('a', 1), ('b', 2), ('b', 3), ('c', 4)",
    ]);
    fixture.file("c.csv", "code,v,op\na,,update\nb,,delete\nc,5,update\nd,6,insert\n");
    let list = "code, CAST(NULLIF(v, '') AS int) AS v";
    let words = ["copy", "c.csv", "mssql:t", "--select", list, "--action", "op", "--key", "code"];
    let (code, _, error) = fixture.run(&words);
    assert_eq!(code, 0, "{error}");
    // Both rows of the key go.
    assert!(error.contains("1 inserted, 2 updated, 2 deleted, 0 unchanged, 0 without"), "{error}");
    assert_eq!(fixture.rows("SELECT n, code, v FROM t ORDER BY n"), "1,a,\n4,c,5\n5,d,6\n");
}

/// Runs a copy that is killed when it has committed `batches` batches, then to its end, and once more.
/// Returns true if the second run had something to continue.
fn killed_and_continued(fixture: &Fixture, words: &[&str], batches: u32, code: i32) -> bool {
    let mut copy = fixture.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let count = "IF OBJECT_ID('bulkwire_load_chunks') IS NULL SELECT 0 ELSE EXEC('SELECT COUNT(*) FROM bulkwire_load_chunks')";
    let before: u32 = fixture.rows(count).trim().parse().unwrap();
    while copy.try_wait().unwrap().is_none() {
        let now: u32 = fixture.rows(count).trim().parse().unwrap();
        if now >= before + batches {
            break;
        }
    }
    copy.kill().unwrap();
    copy.wait().unwrap();
    let (ended, _, error) = fixture.run(words);
    let was_done = error.contains("an earlier run has copied everything");
    assert!(ended == code || was_done, "{words:?}: {error}");
    let (_, _, again) = fixture.run(words);
    assert!(again.contains("an earlier run has copied everything"), "{again}");
    error.contains("were there before")
}

#[test]
fn killed_copies_with_actions_change_everything_once() {
    const ROWS: u32 = 12_000;
    let fixture = Fixture::new();
    let lines: String = (0..ROWS)
        .map(|n| {
            let op = ["insert", "update", "delete", "upsert", "skip"][n as usize % 5];
            format!("{op},{n},new {n}\n")
        })
        .collect();
    fixture.file("changes.csv", format!("op,n,s\n{lines}"));
    let sums = "SELECT COUNT(*), SUM(CAST(n AS bigint)), CHECKSUM_AGG(CHECKSUM(n, s)) FROM";
    fixture.ok(&["query", "CREATE TABLE wanted (n int NOT NULL PRIMARY KEY, s varchar(30) NULL)"]);
    // The expected table has the rows that were inserted, updated, upserted or skipped.
    let kept = "n % 5 <> 2";
    let text = "CASE WHEN n % 5 = 4 THEN 'old ' ELSE 'new ' END + CAST(n AS varchar(9)) AS s";
    let list = format!("n, {text}");
    fixture.file("numbers.csv", format!("n\n{}", (0..ROWS).map(|n| format!("{n}\n")).collect::<String>()));
    fixture.ok(&[
        "copy",
        "numbers.csv",
        "mssql:wanted",
        "--transform-query",
        &format!("SELECT {list} FROM (SELECT CAST(n AS int) AS n FROM source) AS x WHERE {kept}"),
        "--quiet",
    ]);
    let mut continued = false;
    // The last one is killed while the stage comes into the table, or close to it.
    for (round, batches) in [1, 8, 20].into_iter().enumerate() {
        let table = format!("t{round}");
        fixture.ok(&[
            "query",
            &format!("CREATE TABLE {table} (n int NOT NULL PRIMARY KEY, s varchar(30) NULL)"),
        ]);
        let target = format!("mssql:{table}");
        fixture.ok(&[
            "copy",
            "numbers.csv",
            &target,
            "--select",
            "CAST(n AS int) AS n, 'old ' + n AS s",
            "--where",
            "CAST(n AS int) % 5 NOT IN (0, 3)",
            "--quiet",
        ]);
        let words = [
            "copy",
            "changes.csv",
            &target,
            "--select",
            "CAST(n AS int) AS n, s",
            "--action",
            "op",
            "--key",
            "n",
            "--resume",
            "--batch-rows",
            "500",
        ];
        continued |= killed_and_continued(&fixture, &words, batches, 0);
        assert_eq!(fixture.rows(&format!("{sums} {table}")), fixture.rows(&format!("{sums} wanted")));
    }
    assert!(continued);
}

/// A copy that leaves out rows and refuses others.
fn lossy_copy(target: &str) -> Vec<&str> {
    vec![
        "copy",
        "in.csv",
        target,
        "--select",
        "CAST(n AS int) AS n, CAST(amount AS decimal(9,2)) AS amount",
        "--where",
        "CAST(n AS int) % 3 <> 0",
        "--max-errors",
        "1000",
        "--batch-rows",
        "500",
    ]
}

#[test]
fn killed_copies_with_transformations_go_on_where_they_stopped() {
    const ROWS: u32 = 30_000;
    let fixture = Fixture::new();
    // Every thousandth amount is no number; every third row is left out.
    let lines: String = (0..ROWS)
        .map(|n| if n % 1_000 == 17 { format!("{n},x\n") } else { format!("{n},{n}.5\n") })
        .collect();
    fixture.file("in.csv", format!("n,amount\n{lines}"));
    let sums = "SELECT COUNT(*), COUNT(DISTINCT n), SUM(CAST(n AS bigint)), SUM(amount) FROM";
    let (code, _, error) = fixture.run(&lossy_copy("mssql:whole"));
    assert_eq!(code, 3, "{error}");
    let mut continued = false;
    for (round, batches) in [1, 8, 20].into_iter().enumerate() {
        let target = format!("mssql:t{round}");
        let words = [&lossy_copy(&target)[..], &["--resume"]].concat();
        continued |= killed_and_continued(&fixture, &words, batches, 3);
        assert_eq!(fixture.rows(&format!("{sums} t{round}")), fixture.rows(&format!("{sums} whole")));
    }
    assert!(continued);
}

const PACKAGE: &str = r#"
[connections.db]
url = "mssql://sa@SERVER/master?Encrypt=Off"
password_env = "BULKWIRE_PASSWORD"

[tasks.changes]
type = "copy"
source = "changes.csv"
destination = { connection = "db", table = "people" }
select = "CAST(id AS int) AS id, name"
action = "CASE WHEN name IS NULL THEN 'delete' ELSE 'upsert' END"
key = ["id"]
"#;

#[test]
fn a_package_has_actions_too() {
    let fixture = people();
    fixture.file("changes.csv", "id,name\n1,Ann\n2,\n9,ida\n");
    fixture.file("package.toml", PACKAGE.replace("SERVER", &fixture.server.address().to_string()));
    fixture.ok(&["package", "check", "package.toml"]);
    fixture.ok(&["run", "package.toml"]);
    let expected = "1,Ann,1.00,7\n3,cid,3.00,7\n4,dan,4.00,7\n5,eve,5.00,7\n9,ida,,7\n";
    assert_eq!(fixture.rows(PEOPLE), expected);
    fixture.file("package.toml", PACKAGE.replace("key = [\"id\"]", ""));
    let (code, _, error) = fixture.run(&["run", "package.toml"]);
    assert_ne!(code, 0, "{error}");
}

#[test]
fn the_table_of_actions_is_true() {
    let path = Path::new("../../docs/transform.md");
    let page = fs::read_to_string(path).unwrap();
    let section = page.split("## Rows that insert").nth(1).unwrap().split("\n## ").next().unwrap();
    let fixture = Fixture::new();
    fixture.ok(&["query", "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL)"]);
    let mut count = 0;
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let [action, _, row, before, after] = cells[..] else { panic!("{line}") };
        count += 1;
        fixture.ok(&["query", "TRUNCATE TABLE t"]);
        if let Some((id, name)) = before.split_once(',') {
            fixture.ok(&["query", &format!("INSERT t VALUES ({id}, '{name}')")]);
        }
        fixture.file("row.csv", format!("id,name\n{row}\n"));
        let list = "CAST(id AS int) AS id, NULLIF(name, '') AS name";
        let action = format!("CASE WHEN id <> '' THEN {action} ELSE '' END");
        let (code, _, error) = fixture
            .run(&["copy", "row.csv", "mssql:t", "--key", "id", "--select", list, "--action", &action]);
        match after.strip_prefix("error: ") {
            Some(text) => assert!(code == 1 && error.contains(text), "{line}: {error}"),
            None => {
                assert_eq!(code, 0, "{line}: {error}");
                let expected = if after == "empty" { String::new() } else { format!("{after}\n") };
                assert_eq!(fixture.rows("SELECT * FROM t"), expected, "{line}");
            }
        }
    }
    assert_eq!(count, 11);
}
