//! `bulkwire load --mode` and `--strategy`.

use std::process::Command;
use std::time::Duration;

use crate::fixture::{Fixture, PASSWORD};

const OLD: &str = "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, v nvarchar(10) NULL); \
     CREATE INDEX ix ON dbo.t (v); INSERT INTO dbo.t VALUES (1, N'old'), (2, N'old')";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.sql(OLD);
    fixture.file("a.csv", "id,v\n2,b\n3,c\n");
    fixture.file("b.csv", "v,id\nd,4\n");
    fixture
}

fn stages(fixture: &Fixture) -> String {
    fixture.rows("SELECT COUNT(*) FROM sys.tables WHERE name LIKE N'%bulkwire%'")
}

#[test]
fn replaces_by_all_files_together() {
    for strategy in ["auto", "heap-then-key", "swap"] {
        let fixture = fixture();
        let ran = fixture.ok(&["load", "t", "a.csv", "b.csv", "--mode", "replace", "--strategy", strategy]);
        let chosen = if strategy == "auto" { "heap-then-key" } else { strategy };
        assert!(ran.stderr.contains("mode         replace"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(chosen) && ran.stderr.contains("[dbo].[t]: published by"),
            "{}",
            ran.stderr
        );
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "2,b\n3,c\n4,d\n");
        assert_eq!(fixture.rows("SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('t')"), "pk\nix\n");
        assert_eq!(stages(&fixture), "0\n");
    }
}

#[test]
fn upserts_and_inserts_new_rows_by_key() {
    let fixture = fixture();
    let ran =
        fixture.ok(&["load", "t", "a.csv", "b.csv", "--mode", "upsert", "--key", "id", "--json", "--quiet"]);
    let line = ran.stdout.lines().last().unwrap();
    assert_eq!(
        line,
        "{\"inserted\":2,\"mode\":\"upsert\",\"published_by\":\"merge\",\"table\":\"[dbo].[t]\",\"unchanged\":0,\"updated\":1}"
    );
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,old\n2,b\n3,c\n4,d\n");
    fixture.file("new.csv", "id,v\n1,x\n5,e\n");
    let ran = fixture.ok(&["load", "t", "new.csv", "--mode", "insert-new", "--key", "id"]);
    assert!(ran.stderr.contains("[dbo].[t]: 1 inserted, 0 updated, 1 unchanged"), "{}", ran.stderr);
    assert!(ran.stderr.contains("a unique index of the table has it"), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT v FROM t WHERE id IN (1, 5)"), "old\ne\n");
    assert_eq!(stages(&fixture), "0\n");
}

#[test]
fn truncate_has_two_spellings() {
    for words in [&["--truncate"][..], &["--mode", "truncate"], &["--mode=truncate", "--strategy=direct"]] {
        let fixture = fixture();
        fixture.ok(&[&["load", "t", "a.csv", "b.csv"], words].concat());
        assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "3\n");
    }
}

#[test]
fn an_empty_table_gets_its_indexes_after_its_rows() {
    let fixture = fixture();
    let words = ["load", "t", "a.csv", "--strategy", "heap-then-key"];
    let ran = fixture.run(&words);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("needs an empty table, or mode replace: [dbo].[t] has 2 rows"),
        "{}",
        ran.stderr
    );
    fixture.sql("TRUNCATE TABLE t");
    fixture.ok(&words);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "2,b\n3,c\n");
}

#[test]
fn what_fails_leaves_the_table_as_it_was_and_no_stage() {
    let fixture = fixture();
    fixture.file("bad.csv", "id,v\n3,c\nx,d\n");
    fixture.file("twice.csv", "id,v\n3,c\n3,d\n");
    fixture.file("null.csv", "id,v\n3,c\n,d\n");
    fixture.file("narrow.csv", "id\n8\n");
    let cases: [(&[&str], &str); 6] = [
        (&["a.csv", "bad.csv", "--mode", "replace"], "nothing was committed"),
        (&["twice.csv", "--mode", "replace"], "duplicate key"),
        (&["twice.csv", "--mode", "replace", "--strategy", "swap"], "Cannot insert duplicate key"),
        (&["twice.csv", "--mode", "upsert", "--key", "id"], "2 rows of the source have the key (3)"),
        (&["null.csv", "--mode", "upsert", "--key", "id"], "row 2, column \"id\""),
        (
            &["a.csv", "narrow.csv", "--mode", "upsert", "--key", "id"],
            "is in the first source and not in this one",
        ),
    ];
    for (words, message) in cases {
        let ran = fixture.run(&[&["load", "t"], words].concat());
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("note: [dbo].[t] is as it was"), "{words:?}: {}", ran.stderr);
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,old\n2,old\n", "{words:?}");
        assert_eq!(stages(&fixture), "0\n", "{words:?}");
    }
}

#[test]
fn bad_rows_are_told_apart_where_the_indexes_are_there_first() {
    let fixture = fixture();
    fixture.file("mixed.csv", "id,v\n3,c\n3,d\nx,e\n5,f\n");
    let words =
        ["load", "t", "mixed.csv", "--mode", "replace", "--bisect", "--rejects", "bad.json", "--quiet"];
    let ran = fixture.run(&words);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "3,c\n5,f\n");
}

#[test]
fn a_dry_run_changes_nothing() {
    let fixture = fixture();
    let ways: [&[&str]; 3] =
        [&["--mode", "replace"], &["--mode", "truncate"], &["--mode", "upsert", "--key", "id"]];
    for way in ways {
        let ran = fixture.ok(&[&["load", "t", "a.csv", "--dry-run"], way].concat());
        assert!(ran.stderr.contains("mode "), "{}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
    assert_eq!(stages(&fixture), "0\n");
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let fixture = fixture();
    let cases: [(&[&str], &str); 11] = [
        (&["--mode", "replace", "--key", "id"], "takes no key"),
        (&["--key", "id"], "takes no key"),
        (&["--mode", "replace", "--truncate"], "cannot be used with"),
        (&["--mode", "replace", "--strategy", "direct"], "only a stage brings all rows at once"),
        (&["--mode", "truncate", "--strategy", "swap"], "which is mode replace"),
        (&["--mode", "upsert", "--key", "id", "--strategy", "swap"], "always wait in a stage"),
        (&["--mode", "replace", "--create"], "--create cannot go with --mode replace"),
        (&["--mode", "replace", "--autocommit"], "--autocommit cannot go with"),
        (&["--mode", "upsert", "--key", "id", "--bisect"], "--bisect cannot go with"),
        (&["--mode", "replace", "--fire-triggers"], "fire no triggers"),
        (&["--mode", "replace", "--server-side"], "--server-side cannot go with"),
    ];
    for (words, message) in cases {
        let ran = fixture.run(&[&["load", "t", "a.csv"], words].concat());
        assert!(ran.code == 2 || ran.code == 1, "{words:?}");
        assert!(ran.stderr.contains(message), "{words:?}: {}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
}

/// A server with one fault, and the table.
fn faulty(rule: &str) -> Fixture {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{{\"seed\": 1, \"rules\": [{rule}]}}")).unwrap();
    let fixture = Fixture::with(|options| options.faults = Some(file.path().to_owned()));
    fixture.sql(OLD);
    fixture.file("a.csv", "id,v\n2,b\n3,c\n");
    fixture
}

#[test]
fn a_killed_load_leaves_the_table_as_it_was_and_a_stage_that_names_it() {
    // The commits of a load: the stage is made, its batch is loaded, it is published.
    for nth in [2, 3] {
        let rule =
            format!("{{\"fault\": \"silence\", \"on\": \"commit\", \"when\": \"before\", \"nth\": {nth}}}");
        let fixture = faulty(&rule);
        let mut load = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
            .args(["load", "t", "a.csv", "--mode", "replace", "--quiet"])
            .current_dir(fixture.path(""))
            .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .spawn()
            .unwrap();
        while fixture.rows("SELECT COUNT(*) FROM sys.extended_properties WHERE name = N'bulkwire.load'")
            == "0\n"
        {
            assert!(load.try_wait().unwrap().is_none(), "the load ended before its commit");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(500));
        load.kill().unwrap();
        load.wait().unwrap();
        assert_eq!(fixture.rows("SELECT * FROM t ORDER BY id"), "1,old\n2,old\n");
        assert_eq!(stages(&fixture), "1\n");
    }
}

#[test]
fn a_lost_answer_to_the_last_commit_is_looked_up() {
    for (when, code) in [("after", 0), ("before", 1)] {
        for mode in [&["--mode", "replace"][..], &["--mode", "upsert", "--key", "id"]] {
            let fixture = faulty(&format!(
                "{{\"fault\": \"cut\", \"on\": \"commit\", \"when\": \"{when}\", \"nth\": 3}}"
            ));
            let ran = fixture.run(&[&["load", "t", "a.csv"], mode].concat());
            assert_eq!(ran.code, code, "{when} {mode:?}: {}", ran.stderr);
            let said = if code == 0 { "so its rows are in the table" } else { "[dbo].[t] is as it was" };
            assert!(ran.stderr.contains(said), "{when} {mode:?}: {}", ran.stderr);
            let rows = fixture.rows("SELECT COUNT(*) FROM t WHERE v <> N'old'");
            assert_eq!(rows, if code == 0 { "2\n" } else { "0\n" }, "{when} {mode:?}");
            assert_eq!(stages(&fixture), "0\n", "{when} {mode:?}");
        }
    }
}

#[test]
fn triggers_in_place_of_rows_are_not_passed_over() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int)");
    fixture.sql("CREATE TRIGGER takes ON t INSTEAD OF INSERT AS RETURN");
    fixture.file("t.csv", "n\n1\n");
    let ran = fixture.run(&["load", "t", "t.csv", "--fire-triggers"]);
    assert!(ran.code == 1 && ran.stderr.contains("INSTEAD OF"), "{} {}", ran.code, ran.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t").trim(), "0");
    // Without the option a load fires nothing.
    fixture.ok(&["load", "t", "t.csv"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t").trim(), "1");
}
