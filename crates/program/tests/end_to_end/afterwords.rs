//! What is said of a load when it is done.

use serde_json::Value;

use crate::fixture::Fixture;

/// A file that is large enough for the server to be asked.
fn numbers(fixture: &Fixture, rows: usize) -> String {
    let mut text = String::from("id,name\n");
    for row in 0..rows {
        text.push_str(&format!("{row},the name of number {row} among many\n"));
    }
    fixture.file("numbers.csv", text).to_string_lossy().into_owned()
}

fn report(fixture: &Fixture, arguments: &[&str]) -> Value {
    let ran = fixture.run(arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_report_says_what_the_server_logged_and_waited_for() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 40_000);
    let made = "CREATE DATABASE logged; ALTER DATABASE logged SET RECOVERY FULL; \
        CREATE TABLE logged.dbo.one (id int, name varchar(60)); CREATE TABLE logged.dbo.many (id int, name varchar(60))";
    assert_eq!(fixture.run(&["query", made]).code, 0);
    for (table, writers) in [("logged.dbo.one", None), ("logged.dbo.many", Some("3"))] {
        let mut arguments = vec!["load", table, &file, "--json", "--quiet"];
        arguments.extend(writers.iter().flat_map(|writers| ["--writers", *writers]));
        let report = report(&fixture, &arguments);
        assert_eq!(report["rows"], 40_000, "{report}");
        // Rows of 13 bytes besides their text of 36 to 40, each logged in its page.
        let logged = report["server_log_bytes"].as_u64().unwrap();
        assert!((40_000 * 50..40_000 * 80).contains(&logged), "{logged}");
        let waits = report["server_waits"].as_array().unwrap();
        assert!(waits.iter().all(|wait| wait["wait_type"].is_string() && wait["milliseconds"].is_u64()));
        let longest: Vec<u64> = waits.iter().map(|wait| wait["milliseconds"].as_u64().unwrap()).collect();
        assert!(longest.is_sorted_by(|one, other| one >= other), "{longest:?}");
        let changes = report["writer_changes"].as_array().unwrap();
        let most = changes.iter().map(|change| change["writers"].as_u64().unwrap()).max();
        assert_eq!(most, Some(if writers.is_some() { 3 } else { 1 }), "{report}");
        assert_eq!(changes.last().unwrap()["writers"], 0, "{report}");
    }
    let ran = fixture.run(&["load", "logged.dbo.one", &file]);
    assert!(ran.stderr.contains("server log: ") && ran.stderr.contains("server waits: "), "{}", ran.stderr);
}

#[test]
fn a_short_file_costs_no_questions() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 10);
    assert_eq!(fixture.run(&["query", "CREATE TABLE dbo.few (id int, name varchar(60))"]).code, 0);
    let report = report(&fixture, &["load", "dbo.few", &file, "--json", "--quiet"]);
    assert_eq!((&report["server_log_bytes"], &report["server_waits"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_forecast_says_what_a_load_will_take_and_loads_nothing() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 5_000);
    let made = "CREATE TABLE dbo.keyed (id int PRIMARY KEY, name varchar(60)); CREATE INDEX by_name ON dbo.keyed (name)";
    assert_eq!(fixture.run(&["query", made]).code, 0);
    let shown = fixture.run(&["load", "dbo.keyed", &file, "--dry-run", "--forecast"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for part in [
        "clustered  PK__keyed",
        "index      by_name",
        "log: ",
        "time: ",
        "a probe of ",
        "from all 5,000 rows",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let foreseen =
        report(&fixture, &["load", "dbo.keyed", &file, "--dry-run", "--forecast", "--json", "--quiet"]);
    let forecast = &foreseen["forecast"];
    assert_eq!((&forecast["rows"], &forecast["sample_rows"]), (&5_000.into(), &5_000.into()));
    assert_eq!(forecast["structures"].as_array().unwrap().len(), 2);
    assert_eq!(forecast["time_basis"]["measured"], "probe", "{forecast}");
    let left = "SELECT (SELECT COUNT(*) FROM dbo.keyed) + (SELECT COUNT(*) FROM tempdb.sys.tables) AS n";
    assert_eq!(fixture.run(&["query", left, "-o", "csv"]).stdout.lines().last(), Some("0"));

    assert_eq!(fixture.run(&["load", "dbo.keyed", &file, "--quiet"]).code, 0);
    let pages = "SELECT SUM(used_page_count) AS n FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('dbo.keyed')";
    let truth = fixture.run(&["query", pages, "-o", "csv"]).stdout;
    assert_eq!(truth.lines().last().unwrap().parse::<u64>().ok(), forecast["pages"].as_u64());

    let replaced = report(
        &fixture,
        &["load", "dbo.keyed", &file, "--mode", "replace", "--dry-run", "--forecast", "--json", "--quiet"],
    );
    assert_eq!(replaced["forecast"]["pages"], forecast["pages"]);
    let merged = ["load", "dbo.keyed", &file, "--mode", "upsert", "--key", "id", "--dry-run", "--forecast"];
    assert_eq!(fixture.run(&merged).code, 2);

    let view = "CREATE VIEW dbo.seen AS SELECT id, name FROM dbo.keyed";
    assert_eq!(fixture.run(&["query", view]).code, 0);
    let refused = fixture.run(&["load", "dbo.seen", &file, "--dry-run", "--forecast", "--quiet"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("no forecast: the target is a view"), "{}", refused.stderr);
    let alone = fixture.run(&["load", "dbo.keyed", &file, "--forecast"]);
    assert_eq!(alone.code, 2, "{}", alone.stderr);
}

#[test]
fn rows_that_do_not_fit_are_counted_and_left_out_of_a_forecast() {
    let fixture = Fixture::new();
    let file = fixture.file("bad.csv", "id,name\n1,a\nx,b\n3,c\n4,far too long for it\n5,e\n");
    assert_eq!(fixture.run(&["query", "CREATE TABLE dbo.few (id int, name varchar(5))"]).code, 0);
    let file = file.to_string_lossy().into_owned();
    let report =
        report(&fixture, &["load", "dbo.few", &file, "--dry-run", "--forecast", "--json", "--quiet"]);
    assert_eq!((&report["forecast"]["rows"], &report["forecast"]["rows_unfit"]), (&3.into(), &2.into()));
}

#[test]
fn the_page_of_a_load_stands_by_itself() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 20_000);
    assert_eq!(fixture.run(&["query", "CREATE TABLE dbo.[a<b] (id int, name varchar(60))"]).code, 0);
    for (name, writers) in [("one.html", None), ("several.html", Some("2"))] {
        let page = fixture.path(name).to_string_lossy().into_owned();
        let mut arguments = vec!["load", "dbo.[a<b]", &file, "--quiet", "--forecast", "--report", &page];
        arguments.extend(writers.iter().flat_map(|writers| ["--writers", *writers]));
        let ran = fixture.run(&arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let text = std::fs::read_to_string(&page).unwrap();
        for part in [
            "<svg",
            "Phases",
            "Server waits",
            "Plan",
            "Forecast and truth",
            "20,000",
            "prefers-color-scheme:dark",
            "[a&lt;b]",
        ] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
        for foreign in ["<script", "href", "src=", "@import", "url("] {
            assert!(!text.contains(foreign), "{name} has {foreign}");
        }
        assert_eq!(text.contains("Writers"), writers.is_some());
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
    let again = fixture.path("one.html").to_string_lossy().into_owned();
    let nowhere = fixture.path("no/such/folder.html").to_string_lossy().into_owned();
    for page in [&again, &nowhere] {
        let ran = fixture.run(&["load", "dbo.[a<b]", &file, "--report", page]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("error: the report cannot be written to"), "{}", ran.stderr);
    }
    let count = fixture.run(&["query", "SELECT COUNT(*) AS n FROM dbo.[a<b]", "-o", "csv"]).stdout;
    assert_eq!(count.lines().last(), Some("40000"), "what cannot be reported is not loaded");
}

#[cfg(unix)]
#[test]
fn a_page_that_cannot_be_written_loses_no_load() {
    let fixture = Fixture::new();
    let file = numbers(&fixture, 100);
    assert_eq!(fixture.run(&["query", "CREATE TABLE dbo.few (id int, name varchar(60))"]).code, 0);
    let page = fixture.path("page.html");
    // Files may have 1,024 bytes at most.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" load dbo.few '{file}' --quiet --report '{}'",
        page.display()
    );
    let ran = std::process::Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_bulkwire")])
        .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
        .env("BULKWIRE_PASSWORD", crate::fixture::PASSWORD)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: the rows are loaded, but the report cannot be written to"), "{said}");
    assert!(!page.exists());
    let count = fixture.run(&["query", "SELECT COUNT(*) AS n FROM dbo.few", "-o", "csv"]).stdout;
    assert_eq!(count.lines().last(), Some("100"));
}
