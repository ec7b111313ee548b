//! `bulkwire load --resume`, `--load-id` and `--writers`: what is the same load, and what costs no rows.

use crate::fixture::{Fixture, PASSWORD};

const ROWS: &str = "SELECT COUNT(*), SUM(n) FROM t";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL)");
    fixture.file("a.csv", "n\n1\n2\n");
    fixture
}

fn piped(fixture: &Fixture, words: &[&str], stdin: &str) -> (i32, String) {
    let words = [&["load", "t", "-", "--format", "csv"], words].concat();
    let ran = fixture.run_with(&fixture.url("Encrypt=Off"), PASSWORD, &words, stdin);
    (ran.code, ran.stderr)
}

#[test]
fn one_table_is_one_load_however_it_is_spelled() {
    let fixture = fixture();
    for table in ["t", "dbo.t", "[DBO].[T]", "master.dbo.t"] {
        let ran = fixture.ok(&["load", table, "a.csv", "--resume"]);
        assert_eq!(ran.stderr.contains("is done already, and nothing was loaded"), table != "t", "{table}");
    }
    assert_eq!(fixture.rows(ROWS), "2,3\n");
}

#[test]
fn a_load_that_is_done_says_so_in_json_too() {
    let fixture = fixture();
    let words = ["load", "t", "a.csv", "--load-id", "monday", "--json", "--quiet"];
    let first = fixture.ok(&words).stdout;
    assert!(first.contains("\"rows\":2,") && first.contains("\"done_before\":false"), "{first}");
    let second = fixture.ok(&words).stdout;
    assert!(second.contains("\"rows\":0,") && second.contains("\"done_before\":true"), "{second}");
    assert!(second.contains("\"load_id\":\"monday\""), "{second}");
    assert_eq!(fixture.rows(ROWS), "2,3\n");
}

#[test]
fn a_pipe_has_no_name_of_its_own() {
    let fixture = fixture();
    let (code, said) = piped(&fixture, &["--resume"], "n\n1\n");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("name the load by --load-id"), "{said}");
    for (times, done) in [(1, false), (2, true)] {
        let (code, said) = piped(&fixture, &["--load-id", "tuesday"], "n\n5\n");
        assert_eq!((code, said.contains("is done already")), (0, done), "time {times}: {said}");
    }
    assert_eq!(fixture.rows(ROWS), "1,5\n");
}

#[test]
fn a_pipe_is_read_once_also_where_the_table_is_emptied() {
    let fixture = fixture();
    fixture.sql("INSERT INTO t VALUES (100)");
    let (code, said) = piped(&fixture, &["--truncate", "--writers", "2"], "n\n5\n6\n");
    assert_eq!(code, 0, "{said}");
    assert_eq!(fixture.rows(ROWS), "2,11\n");
}

#[test]
fn a_file_that_does_not_fit_costs_no_rows() {
    let fixture = fixture();
    fixture.sql("INSERT INTO t VALUES (100)");
    fixture.file("other.csv", "wrong\n1\n");
    for files in [&["other.csv"][..], &["a.csv", "other.csv"], &["a.csv", "missing.csv"]] {
        let ran = fixture.run(&[&["load", "t", "--truncate", "--writers", "2"], files].concat());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(fixture.rows(ROWS), "1,100\n", "{files:?}: {}", ran.stderr);
    }
    // What fails later says that the old rows are gone.
    fixture.file("late.csv", "n\n1\nx\n");
    let ran = fixture.run(&["load", "t", "late.csv", "--truncate", "--writers", "2"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("emptied"), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[cfg(unix)]
#[test]
fn a_device_for_rejects_stays_one() {
    let fixture = fixture();
    fixture.file("late.csv", "n\n1\nx\n");
    let words = ["load", "t", "late.csv", "--load-id", "l", "--rejects", "/dev/stderr"];
    let ran = fixture.run(&words);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("late.csv"), "{}", ran.stderr);
    assert_eq!(fixture.rows(ROWS), "1,1\n");
}
