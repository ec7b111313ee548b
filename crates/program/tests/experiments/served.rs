//! A server in this process, and the bench program run against it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use bulkwire_server::{
    DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use load::{Client, Config};

const PASSWORD: &str = "Only-for-tests-1";

/// An empty server in memory.
pub struct Served(RunningServer);

impl Served {
    /// With a directory whose files it may read.
    pub fn start(files: Option<&Path>) -> Served {
        Served(
            Server::start(ServerOptions {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                data: DataLocation::InMemory,
                init: Vec::new(),
                restoring: None,
                user: "sa".to_owned(),
                password: Password::new(PASSWORD),
                certificate: None,
                encryption: EncryptionPolicy::Optional,
                bulk_directories: files.map(Path::to_owned).into_iter().collect(),
                discard: false,
                log_requests: false,
                faults: None,
                kerberos: None,
                metrics: None,
                entra: None,
                limits: Limits::default(),
            })
            .unwrap(),
        )
    }

    /// In memory.
    pub fn in_memory() -> Served {
        Served::start(None)
    }

    pub fn url(&self) -> String {
        format!("mssql://sa:{PASSWORD}@{}/master?Encrypt=Off", self.0.address())
    }

    pub fn client(&self) -> Client {
        Client::connect(&Config::parse(&self.url()).unwrap()).unwrap()
    }

    /// `bulkwire bench COMMAND --target …`, not started yet.
    pub fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        program.args(["bench", command, "--target", &self.url()]).args(arguments);
        program
    }

    pub fn bench(&self, command: &str, arguments: &[&str]) -> Output {
        self.command(command, arguments).output().unwrap()
    }

    /// Runs a command that succeeds and leaves nothing; its JSON, its page, and what it printed.
    pub fn results(&self, command: &str, arguments: &[&str]) -> (serde_json::Value, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let (json, html) = (folder.path().join("results.json"), folder.path().join("results.html"));
        let files = ["--output", json.to_str().unwrap(), "--report", html.to_str().unwrap()];
        let ran = self.bench(command, &[arguments, files.as_slice()].concat());
        assert!(ran.status.success(), "{}", said(&ran));
        self.assert_empty();
        let results = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        (results, std::fs::read_to_string(&html).unwrap(), String::from_utf8(ran.stdout).unwrap())
    }

    /// Runs a command that fails and leaves nothing; what it said.
    pub fn failure(&self, command: &str, arguments: &[&str]) -> String {
        let ran = self.bench(command, arguments);
        assert!(!ran.status.success(), "{command} {arguments:?} succeeded");
        self.assert_empty();
        said(&ran)
    }

    /// That no database and no table of an experiment is there.
    pub fn assert_empty(&self) {
        for (sql, expected) in [
            ("SELECT COUNT(*) FROM sys.tables WHERE name LIKE 'bulkwire%'", "0"),
            ("SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'bulkwire%'", "0"),
        ] {
            let found = self.client().query_values(sql).unwrap();
            assert_eq!(found[0].rows[0][0].to_string(), expected, "{sql}");
        }
    }
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
