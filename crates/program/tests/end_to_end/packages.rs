//! Packages as a user checks and runs them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, PASSWORD, Ran, text};

/// A package's head: the server of the fixture.
fn head(fixture: &Fixture) -> String {
    format!(
        "[connections]\ndb = {{ url = \"mssql://sa@{}/master?Encrypt=Off\", password_env = \"BULKWIRE_PASSWORD\" }}\n",
        fixture.server.address()
    )
}

fn run(fixture: &Fixture, package: &str, arguments: &[&str]) -> Ran {
    let path = fixture.file("p.toml", format!("{}{package}", head(fixture)));
    fixture.run(&[&["run", text(&path)], arguments].concat())
}

fn count(fixture: &Fixture, table: &str) -> String {
    fixture.rows(&format!("SELECT COUNT(*) FROM {table}")).trim().to_owned()
}

#[test]
fn tasks_run_in_order_and_pass_values_on() {
    let fixture = Fixture::new();
    fixture.file(
        "make.sql",
        "CREATE TABLE t (n int, s nvarchar(50))\nGO\nINSERT INTO t VALUES (1, @what)\nGO 3\n",
    );
    let ran = run(
        &fixture,
        r#"
[variables]
what = "it's"
rows = 0
said = ""
[tasks.last]
type = "program"
after = ["count"]
if = "${rows} = 3"
command = ["printf", "%s rows of %s", "${rows}", "${what}"]
into = "said"
[tasks.make]
type = "sql"
connection = "db"
file = "make.sql"
parameters = { what = "${what}" }
[tasks.count]
type = "sql"
after = ["make"]
connection = "db"
statement = "SELECT COUNT(*) AS n FROM t WHERE s = ${what:literal}"
into = { rows = "n" }
[tasks.note]
type = "sql"
after = ["last"]
connection = "db"
statement = "UPDATE t SET s = @said; PRINT 'noted'"
parameters = { said = "${said}" }
[tasks.never]
type = "program"
after_failure = ["make"]
command = ["false"]
"#,
        &["--json", "--set", "what=other"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT DISTINCT s FROM t"), "3 rows of other\n");
    let report = &ran.stdout;
    assert!(report.contains("\"outcome\":\"succeeded\",\"package\":\"p\""), "{report}");
    assert!(ran.stderr.contains("never: skipped: make: succeeded"), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: noted"), "{}", ran.stderr);
    // A run that is over leaves nothing to go on with.
    let again = fixture.run(&["run", "p.toml", "--only", "last"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(!again.stderr.contains("continued"), "{}", again.stderr);
}

#[test]
fn a_failed_run_goes_on_where_it_stopped() {
    let fixture = Fixture::new();
    let package = |second: &str| {
        format!(
            r#"
[variables]
day = {{ type = "date", default = "2026-11-23" }}
[tasks.first]
type = "sql"
connection = "db"
statement = "CREATE TABLE t (d date); INSERT INTO t VALUES (@day)"
parameters = {{ day = "${{day}}" }}
[tasks.second]
type = "sql"
after = ["first"]
connection = "db"
statement = "{second}"
[tasks.apart]
type = "program"
after = ["first"]
command = ["true"]
[tasks.clean]
type = "program"
after_failure = ["second"]
command = ["true"]
"#
        )
    };
    let failed = run(&fixture, &package("INSERT INTO t VALUES (1/0)"), &["--jobs", "1"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(failed.stderr.contains("second: failed: statement, line 1"), "{}", failed.stderr);
    assert!(failed.stderr.contains("apart: skipped: a task has failed"), "{}", failed.stderr);
    assert!(failed.stderr.contains("clean: succeeded"), "{}", failed.stderr);
    let other = run(&fixture, &package("SELECT 1"), &["--set", "day=2026-11-24"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("--new begins again"), "{}", other.stderr);
    let done = run(&fixture, &package("INSERT INTO t SELECT d FROM t"), &[]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("first: done before"), "{}", done.stderr);
    assert_eq!(count(&fixture, "t"), "2");
    assert!(done.stderr.contains("clean: skipped"), "{}", done.stderr);
}

#[test]
fn done_tasks_that_changed_are_not_passed_over() {
    let fixture = Fixture::new();
    let package = |first: &str| {
        format!(
            "[tasks.first]\ntype = 'program'\ncommand = ['{first}']\n[tasks.second]\ntype = 'program'\nafter = ['first']\ncommand = ['false']\n"
        )
    };
    assert_eq!(run(&fixture, &package("true"), &[]).code, 1);
    let changed = run(&fixture, &package("echo"), &[]);
    assert_eq!(changed.code, 2);
    assert!(
        changed.stderr.contains("has done `first`, and the package has changed there since"),
        "{}",
        changed.stderr
    );
    assert!(run(&fixture, &package("echo"), &["--continue"]).stderr.contains("first: done before"));
    assert!(run(&fixture, &package("echo"), &["--new"]).stderr.contains("first: succeeded"));
}

#[test]
fn loops_groups_and_packages() {
    let fixture = Fixture::new();
    for name in ["in_a.txt", "in_b.txt", "in_c.txt"] {
        fixture.file(name, name);
    }
    fixture.sql("CREATE TABLE seen (name nvarchar(100), part int)");
    fixture.file(
        "inner.toml",
        format!(
            "{}[variables]\nname = ''\n[tasks.a]\ntype = 'sql'\nconnection = 'db'\nstatement = 'INSERT INTO seen VALUES (@name, 3)'\nparameters = {{ name = '${{name}}' }}\n",
            head(&fixture)
        ),
    );
    let ran = run(
        &fixture,
        r#"
[tasks.files]
type = "group"
for_each = { files = "in_*.txt", as = "file", jobs = 2 }
[tasks.files.tasks.one]
type = "sql"
connection = "db"
statement = "INSERT INTO seen VALUES (@name, 1)"
parameters = { name = "${file.name}" }
[tasks.files.tasks.two]
type = "package"
after = ["one"]
file = "inner.toml"
variables = { name = "${file.stem}" }
[tasks.rows]
type = "sql"
after = ["files"]
connection = "db"
for_each = { query = "SELECT name, COUNT(*) AS n FROM seen WHERE part = 1 GROUP BY name ORDER BY name", connection = "db" }
if = "${each.name} <> 'in_b.txt'"
statement = "INSERT INTO seen VALUES (@name, 2)"
parameters = { name = "${each.name} ${each.n}" }
"#,
        &[],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        fixture.rows("SELECT name, part FROM seen ORDER BY part, name"),
        "in_a.txt,1\nin_b.txt,1\nin_c.txt,1\nin_a.txt 1,2\nin_c.txt 1,2\nin_a,3\nin_b,3\nin_c,3\n"
    );
    assert!(ran.stderr.contains("files[1]/two/a: succeeded"), "{}", ran.stderr);
    assert!(ran.stderr.contains("rows[1]: skipped: its condition does not hold"), "{}", ran.stderr);
}

#[test]
fn a_transaction_is_committed_whole_or_not_at_all() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int)");
    let package = |second: &str| {
        format!(
            r#"
[tasks.both]
type = "group"
transaction = true
[tasks.both.tasks.one]
type = "sql"
connection = "db"
statement = "INSERT INTO t VALUES (1)"
[tasks.both.tasks.two]
type = "sql"
after = ["one"]
connection = "db"
statement = "{second}"
"#
        )
    };
    let failed = run(&fixture, &package("INSERT INTO t VALUES (1/0)"), &[]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(count(&fixture, "t"), "0");
    let done = run(&fixture, &package("INSERT INTO t VALUES (2)"), &[]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(count(&fixture, "t"), "2");
    let leaves = run(&fixture, &package("COMMIT"), &["--new"]);
    assert!(leaves.stderr.contains("has ended the transaction by itself"), "{}", leaves.stderr);
}

#[test]
fn secrets_of_programs_stand_in_no_log() {
    let fixture = Fixture::new();
    fixture.file("pw.txt", "hush-hush\n");
    let ran = run(
        &fixture,
        r#"
[tasks.tells]
type = "program"
command = ["sh", "-c", "echo it is $PW; echo not $PW >&2; exit 7"]
environment = { PW = "${file:pw.txt}" }
"#,
        &["--log", "log.jsonl"],
    );
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let log = fs::read_to_string(fixture.path("log.jsonl")).unwrap();
    for text in [&ran.stderr, &ran.stdout, &log] {
        assert!(!text.contains("hush"), "{text}");
    }
    assert!(ran.stderr.contains("tells: it is ${file:pw.txt}"), "{}", ran.stderr);
    assert!(log.contains("not ${file:pw.txt}"), "{log}");
}

#[test]
fn programs_files_and_retries() {
    let fixture = Fixture::new();
    let started = Instant::now();
    fixture.file("try.sh", "test -e tried && exit 3\ntouch tried\necho broken >&2\nexit 1\n");
    let ran = run(
        &fixture,
        r#"
[variables]
code = 0
file = ""
left = ""
[tasks.try]
type = "program"
command = ["sh", "try.sh"]
exit_codes = [3]
exit_code_into = "code"
retry = { attempts = 3, wait = "10ms" }
[tasks.make]
type = "program"
after = ["try"]
if = "${code} = 3"
command = ["sh", "-c", "echo content > late.txt"]
[tasks.wait]
type = "wait-for-file"
after = ["make"]
files = "la*.txt"
stable = "50ms"
every = "10ms"
timeout = "60s"
into = "file"
[tasks.show]
type = "program"
after = ["wait"]
command = ["cat", "${file}"]
[tasks.slow]
type = "program"
# The program has one of its own, which holds the output when the program is killed.
command = ["sh", "-c", "sleep 60; true"]
timeout = "50ms"
may_fail = true
[tasks.leaves]
type = "program"
command = ["sh", "-c", "sleep 60 & echo $! && exit 0"]
into = "left"
[tasks.tidy]
type = "program"
after = ["leaves"]
command = ["kill", "${left}"]
[tasks.missing]
type = "wait-for-file"
files = "nothing.txt"
timeout = "20ms"
every = "10ms"
may_fail = true
"#,
        &["--log", "log.jsonl"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("try: sh ended with exit code 1: broken; attempt 2 comes in 0.01 s"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("show: content"), "{}", ran.stderr);
    // Neither the program that was killed nor the one that left another behind holds up the run.
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    assert!(ran.stderr.contains("slow: failed: sh was ended after 0.05 s"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("missing: failed: after 0 s there are 0 files nothing.txt"),
        "{}",
        ran.stderr
    );
    let log = std::fs::read_to_string(fixture.path("log.jsonl")).unwrap();
    assert!(log.lines().all(|line| line.starts_with('{') && line.contains("\"at\":")), "{log}");
    assert!(log.contains("\"event\":\"retry\"") && log.contains("\"event\":\"over\""), "{log}");
}

#[test]
fn requests_over_http() {
    let fixture = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let mut heard = Vec::new();
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
            "HTTP/1.1 500 No\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops",
        ] {
            let (mut socket, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut request = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                request.push_str(&line);
                if line == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8(body).unwrap());
            socket.write_all(answer.as_bytes()).unwrap();
            heard.push(request);
        }
        heard
    });
    let ran = run(
        &fixture,
        &format!(
            r#"
[variables]
port = {port}
answer = ""
[tasks.post]
type = "http"
url = "http://127.0.0.1:${{port}}/hook?key=${{env:BULKWIRE_PASSWORD}}"
headers = {{ X-Key = "${{env:BULKWIRE_PASSWORD}}" }}
body = '{{"package": "${{package.name}}"}}'
into = "answer"
[tasks.say]
type = "program"
after = ["post"]
command = ["echo", "${{answer}} there"]
[tasks.fail]
type = "http"
after = ["say"]
url = "http://127.0.0.1:${{port}}/hook?key=${{env:BULKWIRE_PASSWORD}}"
[tasks.unsed]
type = "sql"
connection = "db"
statement = "SELECT 1"
"#
        ),
        &["--log", "log.jsonl", "--report", "page.html"],
    );
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let heard = server.join().unwrap();
    assert!(heard[0].starts_with(&format!("POST /hook?key={PASSWORD} ")), "{}", heard[0]);
    assert!(
        heard[0].contains(&format!("x-key: {PASSWORD}")) || heard[0].contains(&format!("X-Key: {PASSWORD}"))
    );
    assert!(heard[0].ends_with("{\"package\": \"p\"}"), "{}", heard[0]);
    assert!(ran.stderr.contains("say: hello there"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the answer is 500 Internal Server Error: oops"), "{}", ran.stderr);
    let page = std::fs::read_to_string(fixture.path("page.html")).unwrap();
    let log = std::fs::read_to_string(fixture.path("log.jsonl")).unwrap();
    let state = std::fs::read_to_string(fixture.path("p.state.jsonl")).unwrap();
    for (name, text) in [("page", &page), ("log", &log), ("state", &state), ("output", &ran.stderr)] {
        assert!(!text.contains(PASSWORD), "the secret is in the {name}");
    }
    assert!(page.contains("<h2>Timeline</h2>") && page.contains("<h2>Errors</h2>"));
}

#[test]
fn a_package_runs_once_at_a_time() {
    let fixture = Fixture::new();
    let package = "[tasks.wait]\ntype = 'program'\ncommand = ['sleep', '30']\n[tasks.db]\ntype = 'sql'\nconnection = 'db'\nstatement = 'SELECT 1'\n";
    let path = fixture.file("p.toml", format!("{}{package}", head(&fixture)));
    let mut first = start(&fixture, text(&path));
    wait_for(&mut first, "wait: begins");
    let second = fixture.run(&["run", text(&path)]);
    assert_eq!(second.code, 5, "{}", second.stderr);
    assert!(second.stderr.contains("another run of this package is under way"), "{}", second.stderr);
    first.0.kill().unwrap();
    first.0.wait().unwrap();
}

#[test]
fn a_run_that_is_killed_in_each_task_ends_with_exact_counts() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int, step int)");
    let slow = "INSERT INTO t SELECT 1, {n}; WAITFOR DELAY '00:00:00.300'; INSERT INTO t SELECT 2, {n}";
    let mut package = head(&fixture);
    package.push_str("[variables]\nseen = 0\n");
    let mut before = String::new();
    for step in 1..=4 {
        let statement = slow.replace("{n}", &step.to_string());
        package.push_str(&format!(
            "[tasks.s{step}]\ntype = 'sql'\nconnection = 'db'\ntransaction = true\nstatement = \"{statement}; SELECT COUNT(*) FROM t\"\ninto = 'seen'\n{before}"
        ));
        before = format!("after = ['s{step}']\n");
    }
    package.push_str(&format!("[tasks.group]\ntype = 'group'\ntransaction = true\n{before}"));
    for step in 5..=6 {
        let statement = slow.replace("{n}", &step.to_string());
        let after = if step == 6 { "after = ['s5']\n" } else { "" };
        package.push_str(&format!(
            "[tasks.group.tasks.s{step}]\ntype = 'sql'\nconnection = 'db'\nstatement = \"{statement}\"\n{after}"
        ));
    }
    let path = fixture.file("p.toml", package);
    for (task, delay_ms) in
        [("s1", 100), ("s2", 0), ("s2", 350), ("s3", 200), ("s4", 290), ("group", 320), ("group", 600)]
    {
        let mut run = start(&fixture, text(&path));
        if wait_for(&mut run, &format!("{task}: begins")) {
            thread::sleep(Duration::from_millis(delay_ms));
        }
        run.0.kill().unwrap();
        run.0.wait().unwrap();
    }
    let done = fixture.run(&["run", text(&path)]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(
        fixture.rows("SELECT step, COUNT(*), SUM(n) FROM t GROUP BY step ORDER BY step"),
        "1,2,3\n2,2,3\n3,2,3\n4,2,3\n5,2,3\n6,2,3\n"
    );
    assert_eq!(count(&fixture, "bulkwire_package_steps"), "5");
}

#[test]
fn a_task_hears_of_any_failure() {
    let fixture = Fixture::new();
    let package = |count: u32, timeout: &str| {
        format!(
            r#"
[tasks.files]
type = "wait-for-file"
files = "*.csv"
count = {count}
every = "50ms"
stable = "10ms"
timeout = "{timeout}"
[tasks.load]
type = "sql"
after = ["files"]
connection = "db"
statement = "CREATE TABLE loaded (n int)"
[tasks.alarm]
type = "sql"
after_any_failure = true
connection = "db"
statement = "CREATE TABLE alarm (n int)"
[tasks.second_alarm]
type = "program"
after_any_failure = true
command = ["true"]
[tasks.behind]
type = "program"
after = ["alarm"]
command = ["true"]
"#
        )
    };
    fixture.file("a.csv", "n\n1\n");
    let failed = run(&fixture, &package(2, "200ms"), &[]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    for line in
        ["load: skipped: files: failed", "alarm: succeeded", "second_alarm: succeeded", "behind: succeeded"]
    {
        assert!(failed.stderr.contains(line), "{line}: {}", failed.stderr);
    }
    assert_eq!(fixture.rows("SELECT name FROM sys.tables WHERE name IN ('alarm', 'loaded')"), "alarm\n");
    let well = run(&fixture, &package(1, "60s"), &["--new"]);
    assert_eq!(well.code, 0, "{}", well.stderr);
    assert!(well.stderr.contains("alarm: skipped: no task has failed"), "{}", well.stderr);
    let planned = run(&fixture, &package(1, "60s"), &["--dry-run"]);
    assert!(planned.stdout.contains("alarm (sql), after the failure of any task"), "{}", planned.stdout);
    let wrong = run(
        &fixture,
        &package(1, "60s").replace("after_any_failure = true", "after_any_failure = true\nafter = ['files']"),
        &["--dry-run"],
    );
    assert!(wrong.stderr.contains("this waits for all other tasks already"), "{}", wrong.stderr);
}

#[test]
fn a_continued_run_counts_the_rows_that_a_loop_refused_before() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE parts (n int NOT NULL)");
    fixture.file("part-a.csv", "n\n1\nx\n");
    fixture.file("part-b.csv", "n\n2\n");
    let package = r#"
[tasks.load]
type = "copy"
for_each = { files = "part-*.csv" }
source = "${each}"
destination = { connection = "db", table = "parts" }
rejects = "bad-${each.stem}.jsonl"
[tasks.then]
type = "sql"
after = ["load"]
connection = "db"
statement = "INSERT INTO later SELECT n FROM parts"
"#;
    let first = run(&fixture, package, &[]);
    assert_eq!(first.code, 1, "{}", first.stderr);
    fixture.sql("CREATE TABLE later (n int NOT NULL)");
    let again = run(&fixture, package, &[]);
    assert!(again.stderr.contains("load: done before"), "{}", again.stderr);
    assert!(again.stderr.contains(", 1 row refused"), "{}", again.stderr);
    assert_eq!(again.code, 3, "{}", again.stderr);
    assert_eq!(fixture.rows("SELECT n FROM later ORDER BY n"), "1\n2\n");
}

#[test]
fn tasks_that_must_not_repeat_wait_for_a_decision() {
    let fixture = Fixture::new();
    let package = "[tasks.pay]\ntype = 'program'\ncommand = ['sleep', '30']\nif_interrupted = 'stop'\n[tasks.db]\ntype = 'sql'\nafter = ['pay']\nconnection = 'db'\nstatement = 'SELECT 1'\n";
    let path = fixture.file("p.toml", format!("{}{package}", head(&fixture)));
    let mut first = start(&fixture, text(&path));
    wait_for(&mut first, "pay: begins");
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    let asked = fixture.run(&["run", text(&path)]);
    assert_eq!(asked.code, 2, "{}", asked.stderr);
    assert!(asked.stderr.contains("killed in the middle of `pay`; --redo TASK"), "{}", asked.stderr);
    let done = fixture.run(&["run", text(&path), "--done", "pay"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("pay: done before"), "{}", done.stderr);
}

#[test]
fn a_dry_run_changes_nothing_and_shows_no_secret() {
    let fixture = Fixture::new();
    let ran = run(
        &fixture,
        "[variables]\nday = '2026-11-23'\n[tasks.b]\ntype = 'http'\nafter = ['a']\nurl = 'http://127.0.0.1:1/${env:BULKWIRE_PASSWORD}'\n[tasks.a]\ntype = 'sql'\nconnection = 'db'\nstatement = 'CREATE TABLE x (d date DEFAULT ${day:literal})'\n",
        &["--dry-run", "--set", "day=tomorrow"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("1. a (sql)\n       connection = db\n       statement = CREATE TABLE x (d date DEFAULT N'tomorrow')\n  2. b (http), after a\n"), "{}", ran.stdout);
    assert!(
        !ran.stdout.contains(PASSWORD) && ran.stdout.contains("${env:BULKWIRE_PASSWORD}"),
        "{}",
        ran.stdout
    );
    assert!(!fixture.path("p.state.jsonl").exists());
}

#[test]
fn a_dry_run_shows_the_plans_of_copies() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE there (n int NOT NULL)");
    fixture.file("rows.csv", "n\n1\n");
    fixture.file("part-a.csv", "n\n1\n");
    fixture.file("part-b.csv", "n\n2\n");
    fixture.file("bad.jsonl", "kept\n");
    let ran = run(
        &fixture,
        r#"
[tasks.new]
type = "copy"
source = "rows.csv"
destination = { connection = "db", table = "made" }
rejects = "bad.jsonl"
[tasks.old]
type = "copy"
source = "rows.csv"
destination = { connection = "db", table = "there" }
mode = "truncate"
[tasks.loop]
type = "copy"
for_each = { files = "part-*.csv" }
source = "${each}"
destination = "out-${each.stem}.parquet"
[tasks.later]
type = "copy"
after = ["old"]
source = { connection = "db", table = "not_yet" }
destination = "later.csv"
"#,
        &["--dry-run"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "> makes the table: CREATE TABLE [made]",
        "> TABLOCK: ",
        "> rounds: 2 (this is the plan of the first)",
        "> no plan yet: ",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains(PASSWORD), "{}", ran.stdout);
    assert_eq!(fixture.rows("SELECT name FROM sys.tables"), "there\n");
    let mut files: Vec<String> = std::fs::read_dir(fixture.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["bad.jsonl", "p.toml", "part-a.csv", "part-b.csv", "rows.csv"]);
    assert_eq!(std::fs::read_to_string(fixture.path("bad.jsonl")).unwrap(), "kept\n");
}

#[test]
fn checks_the_schema_and_imports_are_commands() {
    let fixture = Fixture::new();
    let wrong = fixture.file("wrong.toml", "[tasks.a]\ntype = 'sqll'\n");
    let checked = fixture.run(&["package", "check", text(&wrong), "--json"]);
    assert_eq!(checked.code, 2);
    assert!(
        checked.stdout.contains("\"column\":8") && checked.stdout.contains("did you mean"),
        "{}",
        checked.stdout
    );
    assert_eq!(run(&fixture, "[tasks.a]\ntype = 'sq'\n", &[]).code, 2);
    let schema = fixture.ok(&["package", "schema"]).stdout;
    assert!(schema.contains("wait-for-file"), "{schema}");
    let foreign = std::path::absolute("../package/tests/fixtures/orders.dtsx").unwrap();
    let imported = fixture.ok(&["package", "import", text(&foreign), "-o", "orders.toml"]);
    assert!(imported.stderr.contains("not translated: task \"Move\""), "{}", imported.stderr);
    assert_eq!(fixture.run(&["package", "import", text(&foreign), "-o", "orders.toml"]).code, 1);
    assert_eq!(fixture.run(&["package", "import", text(&wrong)]).code, 2);
}

/// A run whose messages are read.
struct Running(Child, BufReader<std::process::ChildStderr>);

fn start(fixture: &Fixture, package: &str) -> Running {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["run", package])
        .current_dir(fixture.path(""))
        .env("BULKWIRE_PASSWORD", PASSWORD)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    Running(child, stderr)
}

/// Reads up to a line that begins so; false if the run ended before.
fn wait_for(run: &mut Running, beginning: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(120);
    while Instant::now() < deadline {
        let mut line = String::new();
        if run.1.read_line(&mut line).unwrap() == 0 {
            return false;
        }
        if line.starts_with(beginning) {
            return true;
        }
    }
    false
}

#[test]
fn a_task_of_several_tables_makes_the_foreign_keys_of_all() {
    let fixture = Fixture::new();
    fixture.sql("CREATE DATABASE old; CREATE DATABASE new");
    for statement in [
        "CREATE TABLE old.dbo.[a.customers] (id int NOT NULL PRIMARY KEY); INSERT old.dbo.[a.customers] VALUES (1), (2)",
        "CREATE TABLE old.dbo.orders (id int NOT NULL PRIMARY KEY, customer int NOT NULL)",
        "CREATE TABLE old.dbo.lines (id int NOT NULL PRIMARY KEY, [order] int NOT NULL)",
        "INSERT old.dbo.orders VALUES (10, 1); INSERT old.dbo.lines VALUES (100, 10), (101, 10)",
    ] {
        fixture.sql(statement);
    }
    fixture
        .sql("USE old; ALTER TABLE orders ADD CONSTRAINT fc FOREIGN KEY (customer) REFERENCES [a.customers]");
    fixture.sql("USE old; ALTER TABLE lines ADD CONSTRAINT fo FOREIGN KEY ([order]) REFERENCES orders");
    let server = fixture.server.address();
    let package = format!(
        r#"
[connections.from]
url = "mssql://sa@{server}/old?Encrypt=Off"
password_env = "BULKWIRE_PASSWORD"
[connections.to]
url = "mssql://sa@{server}/new?Encrypt=Off"
password_env = "BULKWIRE_PASSWORD"
[tasks.copy]
type = "copy"
source = {{ connection = "from" }}
destination = {{ connection = "to" }}
tables = ["*"]
with_keys = true
jobs = 3
"#
    );
    let path = fixture.file("tables.toml", package);
    let checked = fixture.run(&["package", "check", text(&path)]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let ran = fixture.run(&["run", text(&path)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT name FROM new.sys.foreign_keys ORDER BY name"), "fc\nfo\n");
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM new.dbo.lines"), "2\n");
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM new.dbo.[a.customers]"), "2\n");
    assert!(ran.stderr.contains("5 rows"), "{}", ran.stderr);
}

/// Kills the session that waits in a batch, as soon as there is one.
fn kill_who_waits(fixture: &Fixture) {
    for _ in 0..600 {
        let found = fixture.rows("SELECT session_id FROM sys.dm_exec_requests WHERE session_id <> @@SPID AND DATEDIFF(ms, start_time, GETDATE()) > 500");
        if let Some(session) = found.lines().next() {
            fixture.sql(&format!("KILL {session}"));
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody waits");
}

/// Holds `third` until somebody else holds `other`, and then asks for that: one of the two is a deadlock's victim.
const RIVAL: &str = "SET DEADLOCK_PRIORITY HIGH; BEGIN TRANSACTION; UPDATE third SET n = n + 1; \
     WHILE EXISTS (SELECT 1 FROM other WITH (READPAST)) WAITFOR DELAY '00:00:00.050'; \
     UPDATE other SET n = n + 1; ROLLBACK TRANSACTION";

#[test]
fn nothing_of_a_package_follows_a_transaction_that_has_ended() {
    let endings = [
        ("conversion", "SELECT CONVERT(int, 'x')"),
        ("xact_abort", "SET XACT_ABORT ON; SELECT 1 / 0"),
        ("caught", "BEGIN TRY SELECT CONVERT(int, 'x') END TRY BEGIN CATCH ROLLBACK TRANSACTION END CATCH"),
        ("rollback", "ROLLBACK TRANSACTION"),
        ("commit", "ROLLBACK TRANSACTION; BEGIN TRANSACTION"),
        ("dynamic", "EXEC ('ROLLBACK TRANSACTION')"),
        ("deadlock", "SET DEADLOCK_PRIORITY LOW; UPDATE other SET n = n + 1; UPDATE third SET n = n + 1"),
        ("kill", "WAITFOR DELAY '00:01:00'"),
    ];
    let shapes = [
        "[tasks.one]\ntype = 'sql'\nconnection = 'db'\ntransaction = true\n\
         statement = \"\"\"\nINSERT t VALUES (1)\nGO\n{ends}\nGO\nINSERT t VALUES (2)\n\"\"\"\n",
        "[tasks.all]\ntype = 'group'\ntransaction = true\n\
         [tasks.all.tasks.one]\ntype = 'sql'\nconnection = 'db'\nstatement = 'INSERT t VALUES (1)'\n\
         [tasks.all.tasks.two]\ntype = 'sql'\nconnection = 'db'\nafter = ['one']\nstatement = \"{ends}\"\n\
         [tasks.all.tasks.three]\ntype = 'sql'\nconnection = 'db'\nafter = ['two']\nstatement = 'INSERT t VALUES (2)'\n\
         [tasks.all.tasks.four]\ntype = 'bulk-insert'\nconnection = 'db'\nafter = ['three']\ntable = 't'\nfile = '{file}'\n",
    ];
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|options| options.bulk_directories = vec![folder.path().to_owned()]);
    let file = folder.path().join("more.txt");
    fs::write(&file, "3\n").unwrap();
    fixture.sql("CREATE TABLE t (n int); CREATE TABLE other (n int); CREATE TABLE third (n int); INSERT other VALUES (1); INSERT third VALUES (1)");
    for (name, ends) in endings {
        for shape in shapes {
            let package = shape.replace("{ends}", ends).replace("{file}", text(&file));
            let ran = thread::scope(|scope| {
                match name {
                    "kill" => drop(scope.spawn(|| kill_who_waits(&fixture))),
                    "deadlock" => {
                        scope.spawn(|| fixture.sql(RIVAL));
                        while fixture.rows("SELECT COUNT(*) FROM third WITH (READPAST)").trim() != "0" {
                            thread::sleep(Duration::from_millis(20));
                        }
                    }
                    _ => {}
                }
                run(&fixture, &package, &["--new"])
            });
            assert!([1, 4].contains(&ran.code), "{name}: {} {}\n{package}", ran.code, ran.stderr);
            assert_eq!(count(&fixture, "t"), "0", "{name}: {}\n{package}", ran.stderr);
            let marks = "SELECT COUNT(*) FROM bulkwire_package_steps";
            assert_eq!(fixture.rows(marks).trim(), "0", "{name}: {}\n{package}", ran.stderr);
            // The statement itself may have committed something: that is not known. All else is certain.
            let is_doubtful = ["caught", "rollback", "commit", "dynamic"].contains(&name);
            assert!(is_doubtful || ran.code == 1, "{name}: {} {}", ran.code, ran.stderr);
        }
    }
}

/// Imports a package of SSIS from the fixtures, with the fixture's server in place of its own.
fn imported(fixture: &Fixture, name: &str) -> std::path::PathBuf {
    let source = std::path::absolute(format!("../package/tests/fixtures/{name}")).unwrap();
    let words = ["package", "import", text(&source), "-o", "imported.toml", "--force", "--user", "sa"];
    fixture.ok(&[&words[..], &["--password-env", "BULKWIRE_PASSWORD"]].concat());
    let written = fs::read_to_string(fixture.path("imported.toml")).unwrap();
    let url = format!("url = \"mssql://sa@{}/master?Encrypt=Off\"", fixture.server.address());
    let lines = written.lines().map(|line| if line.starts_with("url = ") { url.as_str() } else { line });
    fixture.file("imported.toml", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_imported_lesson_loads_its_files() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.Currency (CurrencyKey int, Code nvarchar(3)); INSERT dbo.Currency VALUES (1, 'EUR'), (2, 'USD')");
    fixture
        .sql("CREATE TABLE dbo.Days (DayKey int, Day date); INSERT dbo.Days VALUES (20260301, '2026-03-01')");
    fixture
        .sql("CREATE TABLE dbo.Rates (CurrencyKey int, DayKey int, AverageRate float, EndOfDayRate float)");
    fs::create_dir(fixture.path("in")).unwrap();
    fixture.file("in/rates_1.txt", "1.5\tEUR\t2026-03-01\t1.25\r\n9\tXXX\t2026-03-01\t9\r\n");
    fixture.file("in/rates_2.txt", "0.5\tUSD\t2026-03-01\t0.75\r\n");
    let package = imported(&fixture, "rates.dtsx");
    fixture.ok(&["run", text(&package)]);
    assert_eq!(
        fixture.rows("SELECT CurrencyKey, DayKey, AverageRate, EndOfDayRate FROM dbo.Rates ORDER BY 1"),
        "1,20260301,1.5,1.25\n2,20260301,0.5,0.75\n"
    );
}

#[test]
fn imported_sets_of_rows_are_those_of_the_components() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.shop_orders (id int, customer nvarchar(10), amount decimal(9, 2));
         CREATE TABLE dbo.web_orders (number int, customer nvarchar(10), amount decimal(9, 2));
         CREATE TABLE dbo.customers (code nvarchar(10), city nvarchar(10));
         CREATE TABLE dbo.totals ([key] nvarchar(10), total decimal(18, 2), orders bigint, city nvarchar(10));
         CREATE TABLE dbo.buyers ([key] nvarchar(10));
         INSERT dbo.shop_orders VALUES (1, 'ann', 1.50), (2, 'bob', 2.25), (3, NULL, 4);
         INSERT dbo.web_orders VALUES (7, 'ANN', 10), (8, 'cyd', 5);
         INSERT dbo.customers VALUES ('ANN', 'Oslo'), ('BOB', 'Bonn'), (NULL, 'nowhere')",
    );
    let package = imported(&fixture, "summary.dtsx");
    fixture.ok(&["run", text(&package)]);
    assert_eq!(
        fixture.rows("SELECT [key], total, orders, city FROM dbo.totals ORDER BY [key]"),
        ",4.00,1,nowhere\nANN,11.50,2,Oslo\nBOB,2.25,1,Bonn\nCYD,5.00,1,\n"
    );
    assert_eq!(fixture.rows("SELECT [key] FROM dbo.buyers ORDER BY [key]"), "\nANN\nBOB\nCYD\n");
}

#[test]
fn a_project_is_imported_as_a_whole_and_checked() {
    let fixture = Fixture::new();
    let project = std::path::absolute("../package/tests/fixtures/warehouse/Daily.dtproj").unwrap();
    let project = text(&project);
    let ran = fixture.ok(&["package", "import", project, "-o", "packages"]);
    assert!(!ran.stderr.contains("not translated: task"), "{}", ran.stderr);
    let written = fs::read_to_string(fixture.path("packages/Daily.toml")).unwrap();
    assert!(written.contains("mssql://db.example/ShopDW?IntegratedSecurity=true"), "{written}");
    assert_eq!(fixture.run(&["package", "import", project, "-o", "packages"]).code, 1);
    assert_eq!(fixture.run(&["package", "import", project, "-o", "-"]).code, 2);
    let missing = fixture.file(
        "p.toml",
        "[connections]\ndb = \"mssql://db.example/x\"\n[tasks.a]\ntype = \"program\"\ncommand = [\"not-translated\", \"Mail\"]\n\
         [tasks.b]\ntype = \"sql\"\nconnection = \"db\"\nstatement = \"SELECT 1\"\n",
    );
    let ran = fixture.ok(&["package", "check", text(&missing)]);
    assert!(ran.stderr.contains("warning: Mail was not translated from SSIS"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: connection `db` names no user"), "{}", ran.stderr);
    assert!(ran.stderr.contains("is sound, 2 tasks, 2 warnings"), "{}", ran.stderr);
}
