//! A server in this process, and the command that transforms in another.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bulkwire_server::{
    CertificateSource, DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use tempfile::TempDir;

pub const PASSWORD: &str = "Only-for-tests-1";

/// One server and a folder for files; both go when it is dropped.
pub struct Fixture {
    pub server: RunningServer,
    pub folder: TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        let options = ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: DataLocation::InMemory,
            init: Vec::new(),
            restoring: None,
            user: "sa".to_owned(),
            password: Password::new(PASSWORD),
            certificate: Some(CertificateSource::SelfSigned),
            encryption: EncryptionPolicy::Optional,
            bulk_directories: Vec::new(),
            discard: false,
            log_requests: false,
            faults: None,
            kerberos: None,
            metrics: None,
            entra: None,
            limits: Limits::default(),
        };
        Self { server: Server::start(options).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("BULKWIRE_URL", format!("mssql://sa@{}/master?Encrypt=Off", self.server.address()))
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .stdin(Stdio::null());
        command
    }

    /// Exit code, standard output and standard error.
    pub fn run(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command(words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    pub fn ok(&self, words: &[&str]) -> String {
        let (code, out, error) = self.run(words);
        assert_eq!(code, 0, "{words:?}: {out}{error}");
        out
    }

    pub fn rows(&self, sql: &str) -> String {
        let csv = self.ok(&["query", sql, "--output", "csv"]);
        csv.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or_default()
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
