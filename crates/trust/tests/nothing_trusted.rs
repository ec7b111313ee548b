//! A machine without certificates, as a container from nothing is: its own process, because the store is read once.

#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Set in the process that looks.
const LOOKS: &str = "BULKWIRE_TEST_LOOKS_FOR_CERTIFICATES";

#[test]
fn a_machine_that_trusts_nobody_says_so_before_anything_is_sent() {
    if std::env::var_os(LOOKS).is_some() {
        look();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_machine_that_trusts_nobody_says_so_before_anything_is_sent", "--nocapture"])
        .env(LOOKS, "1")
        .env("SSL_CERT_FILE", folder.path().join("absent.pem"))
        .env("SSL_CERT_DIR", folder.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{printed}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(printed.contains("looked"), "{printed}");
}

fn look() {
    let error = bulkwire_trust::system_roots().unwrap_err();
    assert!(error.to_string().contains("ca-certificates"), "{error}");
    assert!(bulkwire_trust::for_requests("HTTPS://example.com/", Vec::new()).is_err());
    // Nothing is checked there.
    assert!(bulkwire_trust::for_requests("http://169.254.169.254/", Vec::new()).is_ok());
    println!("looked");
}
