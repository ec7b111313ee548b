//! The Arrow experiment, small: every variant loads and verifies, the files are written, and nothing stays behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::process::{Command, Output};

use bulkwire_server::{
    DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use load::{Client, Config};

const PASSWORD: &str = "Only-for-tests-1";

fn server() -> RunningServer {
    Server::start(ServerOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data: DataLocation::InMemory,
        storage: None,
        init: Vec::new(),
        user: "sa".to_owned(),
        password: Password::new(PASSWORD),
        certificate: None,
        encryption: EncryptionPolicy::Optional,
        bulk_directories: Vec::new(),
        discard: false,
        log_requests: false,
        limits: Limits::default(),
    })
    .unwrap()
}

fn url(server: &RunningServer) -> String {
    format!("mssql://sa:{PASSWORD}@{}/master?Encrypt=Off", server.address())
}

fn bench(target: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire-bench"));
    command.args(["arrow", "--target", target]).args(arguments).output().unwrap()
}

#[test]
fn every_variant_is_run_and_verified() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let (json, html) = (folder.path().join("arrow.json"), folder.path().join("arrow.html"));
    let small = ["--rows", "2000", "--row-by-row", "20", "--rounds", "2", "--batch-rows", "500,3000"];
    let files = ["--output", json.to_str().unwrap(), "--report", html.to_str().unwrap()];
    let ran = bench(&url(&server), &[small.as_slice(), files.as_slice()].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    // Three storages, two batch sizes, with and without TABLOCK, and row by row.
    let results: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 13);
    for variant in variants {
        let by_row = variant["variant"]["method"] == "row_by_row";
        let runs = variant["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2, "{variant}");
        for run in runs {
            assert_eq!(run["rows"], if by_row { 20 } else { 2000 }, "{variant}");
            let phases: Vec<&String> = run["phase_seconds"].as_object().unwrap().keys().collect();
            let expected: &[&str] = match (by_row, variant["variant"]["storage"].as_str().unwrap()) {
                (true, _) => &["encode", "wait"],
                (false, "heap_then_key") => &["encode", "key", "read", "send", "wait"],
                (false, _) => &["encode", "read", "send", "wait"],
            };
            assert_eq!(phases, expected, "{variant}");
        }
    }
    let table = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(
        table.lines().filter(|line| line.starts_with("| heap") || line.starts_with("| clustered")).count(),
        13
    );
    assert!(std::fs::read_to_string(&html).unwrap().contains("heap, then key, 3,000 a batch, TABLOCK"));

    let mut client = Client::connect(&Config::parse(&url(&server)).unwrap()).unwrap();
    let left = client.query_values("SELECT COUNT(*) FROM sys.tables").unwrap();
    assert_eq!(left[0].rows[0][0].to_string(), "0");
}

#[test]
fn a_table_that_exists_is_left_alone() {
    let server = server();
    let mut client = Client::connect(&Config::parse(&url(&server)).unwrap()).unwrap();
    client.execute("CREATE TABLE dbo.kept (n int); INSERT INTO dbo.kept VALUES (1)").unwrap();
    let ran = bench(&url(&server), &["--table", "dbo.kept", "--rows", "10", "--rounds", "1"]);
    assert!(!ran.status.success());
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("[dbo].[kept] exists"), "{said}");
    assert_eq!(client.query_values("SELECT n FROM dbo.kept").unwrap()[0].rows.len(), 1);
}
