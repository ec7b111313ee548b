//! Loads of tables with a clustered key, by several connections of one command and by several commands at a time.

use std::thread;

use crate::fixture::{Fixture, Ran};

const ROWS: u64 = 24_000;
const DEFINITION: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(30) NOT NULL); \
     CREATE INDEX by_name ON t (name)";

fn lines(ids: impl Iterator<Item = u64>) -> String {
    let rows: String = ids.map(|id| format!("{id},name {}\n", id % 977)).collect();
    format!("id,name\n{rows}")
}

/// All numbers below `rows`, once each and in no order.
fn scattered(rows: u64) -> impl Iterator<Item = u64> {
    // A step without a factor in common with the number of rows visits each of them.
    (0..rows).map(move |row| row * 7919 % rows)
}

fn make(fixture: &Fixture, filled: bool) {
    let drop = fixture.run(&["query", "DROP TABLE IF EXISTS t"]);
    assert_eq!(drop.code, 0, "{}", drop.stderr);
    let made = fixture.run(&["query", DEFINITION]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    if filled {
        let row = fixture.run(&["query", "INSERT t VALUES (-1, 'first')"]);
        assert_eq!(row.code, 0, "{}", row.stderr);
    }
}

fn assert_whole(fixture: &Fixture, rows: u64, what: &str) {
    let count = fixture.run(&[
        "query",
        "SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), (SELECT COUNT(*) FROM t WITH (INDEX (by_name)) \
         WHERE name > '') FROM t WHERE id >= 0",
        "--format",
        "csv",
    ]);
    let sum = rows * (rows - 1) / 2;
    let (Some(line), true) = (count.stdout.lines().nth(1), count.code == 0) else {
        panic!("{what}: {}{}", count.stdout, count.stderr)
    };
    assert!(line.starts_with(&format!("{rows},{rows},{sum},")), "{what}: {line}");
}

fn writers_line(ran: &Ran) -> String {
    let line = ran.stderr.lines().find(|line| line.starts_with("writers "));
    line.unwrap_or_else(|| panic!("{}", ran.stderr)).to_owned()
}

#[test]
fn any_number_of_writers_fills_a_clustered_table() {
    let fixture = Fixture::new();
    fixture.file("sorted.csv", lines(0..ROWS));
    fixture.file("scattered.csv", lines(scattered(ROWS)));
    for filled in [false, true] {
        for (file, order) in [("sorted.csv", &["--order", "id"][..]), ("scattered.csv", &[])] {
            for writers in ["1", "4", "8", "auto"] {
                let what = format!("{writers} writers, {file}, filled: {filled}");
                make(&fixture, filled);
                // Nothing is tried again, so a deadlock would fail the load.
                let mut arguments =
                    vec!["load", "t", file, "--writers", writers, "--batch-rows", "700", "--retry-for", "0"];
                arguments.extend(order);
                let loaded = fixture.run(&arguments);
                assert_eq!(loaded.code, 0, "{what}: {}", loaded.stderr);
                assert_whole(&fixture, ROWS, &what);
                let shared =
                    filled || writers == "4" || writers == "8" || (writers == "auto" && !order.is_empty());
                let lock = loaded.stderr.lines().find(|line| line.starts_with("TABLOCK ")).unwrap();
                assert_eq!(lock.contains(" off "), shared, "{what}: {lock}");
                if writers == "auto" {
                    let reason = match (filled, order.is_empty()) {
                        (_, false) => "a range of the key of its own",
                        (true, true) => "a deadlock's victim tries again",
                        (false, true) => "one writer under a table lock",
                    };
                    assert!(writers_line(&loaded).contains(reason), "{what}: {}", writers_line(&loaded));
                }
            }
        }
    }
}

#[test]
fn ten_commands_load_one_clustered_table_at_a_time() {
    const COMMANDS: u64 = 10;
    let fixture = Fixture::new();
    for (name, interleaved) in [("interleaved", true), ("disjoint", false)] {
        make(&fixture, false);
        let share = ROWS / COMMANDS;
        for command in 0..COMMANDS {
            let own = scattered(share);
            let content = match interleaved {
                true => lines(own.map(|row| row * COMMANDS + command)),
                false => lines(own.map(|row| command * share + row)),
            };
            fixture.file(&format!("{name}-{command}.csv"), content);
        }
        thread::scope(|scope| {
            for command in 0..COMMANDS {
                let fixture = &fixture;
                scope.spawn(move || {
                    let file = format!("{name}-{command}.csv");
                    let loaded = fixture.run(&[
                        "load",
                        "t",
                        &file,
                        "--quiet",
                        "--table-lock=off",
                        "--batch-rows",
                        "600",
                        "--retry-for",
                        "0",
                    ]);
                    assert_eq!(loaded.code, 0, "{file}: {}", loaded.stderr);
                });
            }
        });
        assert_whole(&fixture, ROWS, name);
    }
}
