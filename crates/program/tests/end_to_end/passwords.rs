//! Where a password comes from, and that it is nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{Fixture, PASSWORD, Ran};

/// The place of a password as flags of each verb.
fn places(fixture: &Fixture) -> Vec<[String; 2]> {
    let file = fixture.file("password", format!("{PASSWORD}\n"));
    // What stands for the program of the system's keyring says what it was asked, and then the password.
    fixture.file("secret-tool", format!("#!/bin/sh\necho \"$@\" >> asked\ncat {}\n", file.display()));
    vec![
        ["--password-file".to_owned(), file.display().to_string()],
        ["--password-command".to_owned(), format!("cat {}; echo and more", file.display())],
        #[cfg(target_os = "linux")]
        ["--password-keyring".to_owned(), "sales db".to_owned()],
    ]
}

/// Runs the command with no password in its environment, and every detail in its log.
fn run(fixture: &Fixture, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let path = format!("{}:{}", fixture.path("").display(), std::env::var("PATH").unwrap());
    let mut all = vec![("PATH", path.as_str()), ("BULKWIRE_LOG", "trace")];
    all.extend(variables);
    fixture.run_with_variables(&all, arguments)
}

#[cfg(unix)]
#[test]
fn a_password_comes_from_a_file_a_command_or_the_keyring() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::new();
    let url = fixture.url("Encrypt=Off");
    let places = places(&fixture);
    fs::set_permissions(fixture.path("secret-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let server = format!("127.0.0.1,{}", fixture.server.address().port());
    for [flag, value] in &places {
        let query = ["query", "SELECT 41 + 1", "-o", "csv", flag, value];
        let ran = run(&fixture, &query, &[("BULKWIRE_URL", &url)]);
        assert!(ran.code == 0 && ran.stdout.ends_with("\n42\n"), "{flag}: {}{}", ran.stdout, ran.stderr);
        // A password that the environment has is not asked for.
        let ran = run(&fixture, &query, &[("BULKWIRE_URL", &url), ("BULKWIRE_PASSWORD", "another")]);
        assert_eq!(ran.code, 0, "{flag}: {}", ran.stderr);
        let bcp = [
            "bcp",
            "SELECT 42",
            "queryout",
            "out.txt",
            "-c",
            "-S",
            &server,
            "-U",
            "sa",
            "--no-encryption",
            flag,
            value,
        ];
        let ran = run(&fixture, &bcp, &[]);
        assert_eq!(ran.code, 0, "{flag}: {}{}", ran.stdout, ran.stderr);
        let keyword = flag.trim_start_matches('-').replace('-', "");
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let ran = run(&fixture, &["query", "SELECT 42", "--url", &format!("{url}&{keyword}={value}")], &[]);
        assert_eq!(ran.code, 0, "{flag}: {}", ran.stderr);
    }
    if places.len() == 3 {
        let asked = fs::read_to_string(fixture.path("asked")).unwrap();
        assert!(asked.lines().all(|line| line == "lookup service sales db username sa"), "{asked}");
    }
    let ran = run(
        &fixture,
        &["query", "SELECT 1", "--password-keyring", "x"],
        &[("BULKWIRE_URL", &url), ("PATH", "/nowhere")],
    );
    assert!(ran.stderr.contains("is not installed"), "{}", ran.stderr);
}

#[test]
fn places_that_give_no_password_are_named_and_exclude_one_another() {
    let fixture = Fixture::new();
    let url = fixture.url("Encrypt=Off");
    fixture.file("two", "a\nb\n");
    for (arguments, code, expected) in [
        (&["--password-file", "none"][..], 1, "the password file none"),
        (&["--password-file", "two"], 1, "has more than one line"),
        #[cfg(unix)]
        (&["--password-command", "echo hunter2; exit 3"], 1, "the password command failed (exit status: 3)"),
        #[cfg(unix)]
        (&["--password-command", "true"], 1, "printed no password"),
        (&["--password-file", "two", "--password-command", "true"], 2, "cannot be used with"),
        (&["--password-keyring", "x", "--password-command", "true"], 2, "cannot be used with"),
        (&["--authentication", "magic"], 2, "expected SqlPassword"),
        (&["--authority", "https://x"], 2, "Authority is not supported"),
    ] {
        let words = [&["query", "SELECT 1"], arguments].concat();
        let ran = run(&fixture, &words, &[("BULKWIRE_URL", &url)]);
        assert!(
            ran.code == code && ran.stderr.contains(expected),
            "{arguments:?}: {} {}",
            ran.code,
            ran.stderr
        );
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    let given = url.replace("sa@", "sa:hunter2@");
    let ran = run(&fixture, &["query", "SELECT 1", "--password-file", "two"], &[("BULKWIRE_URL", &given)]);
    assert!(ran.code == 2 && ran.stderr.contains("exclude one another"), "{}", ran.stderr);
    let both = ["bcp", "t", "out", "o", "-c", "-S", "x", "-U", "u", "-P", "p", "--password-file", "two"];
    let ran = run(&fixture, &both, &[]);
    assert!(ran.code == 1 && (ran.stdout + &ran.stderr).contains("exclude one another"));
}

/// Files and rows in which nobody may find a password.
fn hunt(what: &str, bytes: &[u8]) {
    let plain = PASSWORD.as_bytes();
    let wide: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // As LOGIN7 has it: nibbles exchanged, and A5 over each byte.
    let veiled: Vec<u8> = wide.iter().map(|byte| byte.rotate_left(4) ^ 0xA5).collect();
    for form in [plain, &wide, &veiled] {
        assert!(!bytes.windows(form.len()).any(|window| window == form), "{what} has the password");
    }
}

#[test]
fn the_password_is_in_no_output_log_report_journal_or_ledger() {
    let fixture = Fixture::new();
    let secret = fixture.file("password.secret", PASSWORD);
    let secret = secret.to_str().unwrap();
    let url = fixture.url("Encrypt=Off");
    fixture.file("rows.csv", "n,t\n1,a\n2,b\nx,c\n");
    let port = fixture.server.address().port();
    fixture.file(
        "job.toml",
        format!(
            "[connections.db]\nserver = \"127.0.0.1\"\nport = {port}\nuser = \"sa\"\npassword_file = \"password.secret\"\nencrypt = \"off\"\n\
             [tasks.fine]\ntype = \"sql\"\nconnection = \"db\"\nstatement = \"SELECT 1\"\n\
             [tasks.bad]\ntype = \"sql\"\nconnection = \"db\"\nafter = [\"fine\"]\nstatement = \"SELECT * FROM nowhere\"\n"
        ),
    );
    let flag = ["--password-file", secret];
    let commands: [&[&str]; 9] = [
        &["query", "CREATE TABLE t (n int NOT NULL, t varchar(9))"],
        &["load", "t", "rows.csv", "--rejects", "bad.jsonl", "--max-errors", "5", "--report", "load.html"],
        &["load", "t", "rows.csv", "--resume", "--rejects", "bad2.jsonl", "--max-errors", "5", "--json"],
        &["loads", "list"],
        &["describe", "t"],
        &["export", "t", "out.parquet"],
        &["query", "SELECT * FROM nowhere"],
        &["load", "nowhere", "rows.csv"],
        &["copy", "mssql:dbo.t", "copied.csv"],
    ];
    for command in commands {
        let ran = run(&fixture, &[command, &flag].concat(), &[("BULKWIRE_URL", &url)]);
        assert_ne!(ran.code, 2, "{command:?}: {}", ran.stderr);
        hunt(&format!("{command:?}"), (ran.stdout + &ran.stderr).as_bytes());
    }
    let given = url.replace("sa@", &format!("sa:{PASSWORD}@"));
    for (words, variables) in [
        (&["run", "job.toml"][..], &[][..]),
        (&["query", "SELECT 1"], &[("BULKWIRE_URL", url.as_str()), ("BULKWIRE_PASSWORD", PASSWORD)]),
        (&["query", "SELECT 1"], &[("BULKWIRE_URL", given.as_str())]),
        (&["query", "SELEC 1"], &[("BULKWIRE_URL", given.as_str())]),
        (&["copy", "mssql:dbo.t", "copied2.csv", "--dry-run"], &[("BULKWIRE_URL", given.as_str())]),
    ] {
        let ran = run(&fixture, words, variables);
        hunt(&format!("{words:?}"), (ran.stdout + &ran.stderr).as_bytes());
    }
    let mut files = BTreeMap::new();
    gather(&fixture.path(""), &mut files);
    assert!(files.len() > 6, "{:?}", files.keys());
    for (name, content) in files.iter().filter(|(name, _)| !name.ends_with(".secret")) {
        hunt(name, content);
    }
    // The ledger, and all else that the server keeps of loads and sessions.
    for table in fixture
        .rows(
            "SELECT s.name + '.' + t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id",
        )
        .lines()
    {
        let ran = fixture.ok(&["query", &format!("SELECT * FROM {table}"), "-o", "csv"]);
        hunt(table, ran.stdout.as_bytes());
    }
}

fn gather(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => gather(&path, files),
            false => drop(files.insert(path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
}

/// Others see a process's words, and its user sees the environment.
#[cfg(target_os = "linux")]
#[test]
fn the_password_is_not_in_the_process_list() {
    let fixture = Fixture::new();
    let secret = fixture.file("password.secret", PASSWORD);
    fixture.sql("CREATE TABLE t (n int)");
    let mut load = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .args(["load", "t", "-", "--format", "csv", "--password-command"])
        .arg(format!("cat {}", secret.display()))
        .env("BULKWIRE_URL", fixture.url("Encrypt=Off"))
        .env_remove("BULKWIRE_PASSWORD")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = load.stdin.take().unwrap();
    input.write_all(b"n\n1\n").unwrap();
    // The password is asked for within this time; later looks see the same.
    for _ in 0..20 {
        for file in ["cmdline", "environ"] {
            hunt(file, &fs::read(format!("/proc/{}/{file}", load.id())).unwrap());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(input);
    assert!(load.wait().unwrap().success());
}
