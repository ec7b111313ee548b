//! Server and machine on which an experiment was run.

use load::Client;
use serde::Serialize;

use super::{Keeping, Target, answer, text};

/// Server, machine and version, as every result has them.
#[derive(Debug, Clone, Serialize)]
pub struct Surroundings {
    /// Name and version of the server.
    pub server: String,
    /// Storage in which the server keeps rows.
    pub keeping: Keeping,
    /// Edition and service tier of a target, if it names them.
    pub edition: Option<String>,
    /// Version of bulkwire.
    pub version: &'static str,
    /// Operating system and processor of the client.
    pub machine: String,
    /// Threads that the client's machine runs at once.
    pub cores: usize,
    /// Packet size of the connection, in bytes.
    pub packet_size_bytes: usize,
}

impl Surroundings {
    /// Asks the server.
    pub fn of(target: &Target, client: &mut Client) -> Surroundings {
        let info = client.server_info();
        let (major, minor, build) = info.version;
        let packet_size_bytes = info.packet_size_bytes;
        let server = match target.server() {
            Some(_) => format!("bulkwire serve {}", env!("CARGO_PKG_VERSION")),
            None => format!("{} {major}.{minor}.{build}", info.program.trim_end_matches('\0')),
        };
        let edition = answer(client, "SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(128))")
            .ok()
            .and_then(|told| text(told.value()?.first()?.first()?));
        Surroundings {
            server,
            keeping: target.keeping(),
            edition: edition.filter(|_| target.server().is_none()),
            version: env!("CARGO_PKG_VERSION"),
            machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            packet_size_bytes,
        }
    }

    /// Describes server and machine in a line for people.
    pub fn line(&self) -> String {
        let keeping = match self.keeping {
            Keeping::Memory => " (embedded, in memory)",
            Keeping::Disk => " (embedded, on disk)",
            Keeping::Target => "",
        };
        let edition = self.edition.as_ref().map_or(String::new(), |edition| format!(", {edition}"));
        format!(
            "{}{keeping}{edition}; bulkwire {}, {} with {} cores, packets of {} bytes",
            self.server, self.version, self.machine, self.cores, self.packet_size_bytes
        )
    }
}
