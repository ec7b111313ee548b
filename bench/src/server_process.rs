//! An embedded server in a process of its own, stopped when dropped.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::installed_program::beside;
use crate::process_usage::{self, Usage};

/// Password of the servers that the demo and the benchmarks start; they listen on loopback only and live for minutes.
const PASSWORD: &str = "Demo-only-1";
/// Words that the server prints before its URL when it is ready.
const READY: &str = "listening on ";

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    /// Starts `bulkwire serve`, by the program beside this one, on a free port, with further `arguments`.
    pub fn start(arguments: &[&str]) -> io::Result<ServerProcess> {
        let program = beside("bulkwire");
        let mut child = Command::new(&program)
            .args(["serve", "--port", "0"])
            .args(arguments)
            .env("BULKWIRE_SERVER_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().strip_prefix(READY) {
            Some(url) => Ok(ServerProcess { url: url.to_owned(), child }),
            None => {
                child.kill()?;
                child.wait()?;
                Err(io::Error::other(format!("{} did not start: {line:?}", program.display())))
            }
        }
    }

    /// Returns the connection URL, with the password, as the client takes it. Without TLS, which would be
    /// measured too.
    pub fn url(&self) -> String {
        format!("{}?Encrypt=Off", self.url.replacen('@', &format!(":{PASSWORD}@"), 1))
    }

    /// Returns the URL without its password.
    pub fn public_url(&self) -> &str {
        &self.url
    }

    /// Reads CPU and memory that the server has used so far.
    pub fn usage(&self) -> Option<Usage> {
        process_usage::of_process(self.child.id())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have ended by itself; there is nothing else to be done about a failure here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
