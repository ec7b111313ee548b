//! A server in this process, and the command in another.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bulkwire_server::{
    CertificateSource, DataLocation, EncryptionPolicy, Limits, Password, RunningServer, Server, ServerOptions,
};
use tempfile::TempDir;

pub const PASSWORD: &str = "Only-for-tests-1";

/// One server and a folder for files; both go when it is dropped.
pub struct Fixture {
    pub server: RunningServer,
    folder: TempDir,
}

/// What a command printed, and its exit code.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Fixture {
    pub fn new() -> Fixture {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> Fixture {
        let mut options = ServerOptions {
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
        change(&mut options);
        Fixture { server: Server::start(options).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    pub fn url(&self, parameters: &str) -> String {
        format!("mssql://sa@{}/master?{parameters}", self.server.address())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs the command without encryption.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(&self.url("Encrypt=Off"), PASSWORD, arguments, "")
    }

    pub fn run_with(&self, url: &str, password: &str, arguments: &[&str], stdin: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command.args(arguments).env("BULKWIRE_URL", url).env("BULKWIRE_PASSWORD", password);
        self.run_command(command, stdin)
    }

    fn run_command(&self, mut command: Command, stdin: &str) -> Ran {
        let mut child = command
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early does not wait for its input.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        ran(child.wait_with_output().unwrap())
    }

    /// Runs the command without a connection string and without a password in the environment.
    pub fn run_without_password(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command.args(arguments).env_remove("BULKWIRE_URL").env_remove("BULKWIRE_PASSWORD");
        self.run_command(command, stdin)
    }

    /// Runs the command without a connection string, and with one further variable.
    pub fn run_with_variable(&self, variable: (&str, &Path), arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command
            .args(arguments)
            .env_remove("BULKWIRE_URL")
            .env("BULKWIRE_PASSWORD", PASSWORD)
            .env(variable.0, variable.1);
        self.run_command(command, "")
    }

    /// Runs the command without a connection string and a password, but with these variables.
    pub fn run_with_variables(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command.args(arguments).env_remove("BULKWIRE_URL").env_remove("BULKWIRE_PASSWORD");
        command.envs(variables.iter().copied());
        self.run_command(command, "")
    }

    /// Runs the command without encryption, and with further variables in place of the locale of this process.
    pub fn run_in_locale(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkwire"));
        command
            .args(arguments)
            .env("BULKWIRE_URL", self.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD);
        for name in ["LC_ALL", "LC_MONETARY", "LC_TIME", "LC_CTYPE", "LANG"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        self.run_command(command, "")
    }

    /// Runs a program that stands for the command, without encryption.
    pub fn run_program(&self, program: &Path, arguments: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("BULKWIRE_URL", self.url("Encrypt=Off"))
            .env("BULKWIRE_PASSWORD", PASSWORD);
        self.run_command(command, "")
    }

    /// Runs the command and insists that it succeeds.
    pub fn ok(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }

    /// Runs SQL that returns nothing of interest.
    pub fn sql(&self, sql: &str) {
        self.ok(&["query", sql]);
    }

    /// The result of a query as CSV without its header.
    pub fn rows(&self, sql: &str) -> String {
        let csv = self.ok(&["query", sql, "--output", "csv"]).stdout;
        csv.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or_default()
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
