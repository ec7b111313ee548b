//! The process that makes and checks Kerberos tokens, by itself: its answer without a keytab, and to a first line without sense.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn answer(line: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bulkwire"))
        .arg("kerberos-tokens")
        .env("KRB5_KTNAME", "/nowhere/none.keytab")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may have ended already.
    let _ = program.stdin.take().unwrap().write_all(line.as_bytes());
    program.wait_with_output().unwrap()
}

#[test]
fn without_keys_nobody_is_accepted() {
    let answer = answer("{\"begin\":{\"role\":\"accept\",\"service\":null}}\n");
    let said = String::from_utf8(answer.stdout).unwrap();
    assert!(answer.status.success(), "{said}");
    assert!(said.contains("\"error\":\"Kerberos:") && said.contains("--keytab"), "{said}");
    assert!(!said.contains("principal\":\""), "{said}");
}

#[test]
fn a_first_line_without_a_role_ends_it() {
    for line in ["{}\n", "no JSON\n", "", "{\"token\":\"00\"}\n"] {
        let answer = answer(line);
        assert!(!answer.status.success() && answer.stdout.is_empty(), "{line:?}: {answer:?}");
    }
}
