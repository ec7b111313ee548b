//! Ctrl-C ends every experiment in order: what it made on the server is dropped.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::served::Served;

/// Starts an experiment that would take hours, interrupts it after its first run, and looks at what is left.
fn interrupt(command: &str, arguments: &[&str]) {
    let server = Served::in_memory();
    let mut child =
        server.command(command, arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = errors.by_ref().map(Result::unwrap).find(|line| line.contains("round 1 of"));
    assert!(first.is_some(), "{command} ended");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let rest: Vec<String> = errors.map(Result::unwrap).collect();
    assert!(!child.wait().unwrap().success(), "{command}");
    assert!(rest.iter().any(|line| line.starts_with("error: interrupted")), "{command}: {rest:?}");
    server.assert_empty();
}

#[test]
fn arrow_drops_its_table() {
    interrupt("arrow", &["--rows", "500", "--row-by-row", "10", "--rounds", "10000"]);
}

#[test]
fn compression_drops_its_database() {
    interrupt("compression", &["--rows", "3000", "--rounds", "10000"]);
}

#[test]
fn compression_drops_its_tables_where_it_has_no_database() {
    interrupt("compression", &["--in-place", "--rows", "3000", "--rounds", "10000"]);
}

#[test]
fn select_into_drops_its_database() {
    interrupt("select-into", &["--rows", "500", "--rounds", "10000"]);
}

#[test]
fn showdown_drops_its_database() {
    interrupt("showdown", &["--rows", "50", "--mover", "load,bcp", "--rounds", "10000"]);
}

#[test]
fn throughput_drops_its_database() {
    interrupt("throughput", &["--mode", "ut", "--seconds", "1", "--rounds", "10000"]);
}
