//! Programs that do not do what `bulkwire kerberos-tokens` does.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use bulkwire_sign_in::{Dialogue, Role, SignInError, Step};

const PATIENCE: Duration = Duration::from_secs(60);

/// A dialogue with a shell script, up to its first answer.
fn first(script: &str, limit: Duration) -> Result<(Dialogue, Step), SignInError> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let role = Role::Accept { service: None, binding: None };
    // Another test that forks just now may hold the script open for writing.
    let mut dialogue = loop {
        match Dialogue::start(program.clone(), role.clone(), iter::empty()) {
            Err(SignInError::Start { source, .. }) if source.raw_os_error() == Some(26) => {}
            other => break other?,
        }
    };
    let step = dialogue.first(Some(limit))?;
    Ok((dialogue, step))
}

fn refusal(script: &str) -> String {
    first(script, PATIENCE).unwrap_err().to_string()
}

#[test]
fn a_program_that_answers() {
    let script = r#"read line; echo "{\"done\":false}"; read line; echo "{\"token\":\"0aff\",\"done\":true,\"principal\":\"a@X\"}""#;
    let (mut dialogue, step) = first(script, PATIENCE).unwrap();
    assert_eq!(step, Step { token: Vec::new(), done: false, principal: None });
    assert!(!dialogue.is_done());
    let step = dialogue.step(b"x", Some(PATIENCE)).unwrap();
    assert_eq!(step, Step { token: vec![0x0A, 0xFF], done: true, principal: Some("a@X".to_owned()) });
    assert!(dialogue.is_done());
    // It has ended.
    assert!(matches!(dialogue.step(b"x", Some(PATIENCE)), Err(SignInError::Broken(_))));
}

#[test]
fn programs_that_do_not_answer() {
    assert!(matches!(first("exec sleep 600", Duration::from_millis(200)), Err(SignInError::TimedOut)));
    assert!(refusal("exit 3").contains("broke off: it ended without a reply"));
    assert!(refusal("read line; echo 'out of luck' >&2; exit 1").contains("broke off: out of luck"));
    assert!(refusal("read line; echo nonsense").contains("malformed"));
    assert!(refusal(r#"read line; echo "{\"token\":\"0\"}""#).contains("malformed"));
    assert!(refusal("read line; [ \"$1\" = kerberos-tokens ] || echo nonsense").contains("without a reply"));
    assert_eq!(refusal(r#"read line; echo "{\"error\":\"no ticket\"}""#), "no ticket");
}

#[test]
fn a_program_that_is_not_there() {
    let role = Role::Accept { service: None, binding: None };
    let error = Dialogue::start(PathBuf::from("/nowhere/bulkwire"), role, iter::empty()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("needs the program bulkwire") && said.contains("BULKWIRE_KERBEROS"), "{said}");
}
