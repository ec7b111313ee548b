//! The options of a server.

use databases::storage::ResourceLimits;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::transport::CertificateSource;

/// The settings of a server at its start.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The place of the rows.
    pub data: DataLocation,
    /// Scripts to run, in this order, before the first connection is taken.
    pub init: Vec<PathBuf>,
    /// Databases of files to make before the scripts run.
    pub restoring: Option<Restoring>,
    /// The one login.
    pub user: String,
    /// The password of the administrator's login.
    pub password: Password,
    /// Certificate for TLS; `None` offers no TLS at all.
    pub certificate: Option<CertificateSource>,
    /// The encryption that clients must agree to.
    pub encryption: EncryptionPolicy,
    /// Read bulk loads and count their rows, but keep nothing.
    pub discard: bool,
    /// Print every request readably on standard error.
    pub log_requests: bool,
    /// Directories below which BULK INSERT and OPENROWSET(BULK …) may read files; none: no file is touched.
    pub bulk_directories: Vec<PathBuf>,
    /// Accept Kerberos tickets.
    pub kerberos: Option<Kerberos>,
    /// Accept access tokens of Microsoft Entra, or of another issuer.
    pub entra: Option<Entra>,
    /// A file of faults to inject, so that clients can test what they do about them.
    pub faults: Option<PathBuf>,
    /// The address of metrics and health over HTTP; `None` serves neither. Port 0 takes a free one.
    pub metrics: Option<SocketAddr>,
    /// Limits of what clients can make the server hold.
    pub limits: Limits,
}

/// Databases that are made of files (backups, data files, packages) when the server starts, and who makes them: also those of
/// RESTORE DATABASE later.
#[derive(Clone, Debug)]
pub struct Restoring {
    /// Names, and the files of each as its user spells them.
    pub databases: Vec<(String, String)>,
    /// Makes a database through a connection of its own.
    pub by: Restorer,
}

/// Makes one database of its files. Returns what is to be said of it, or the reason why it cannot be made.
pub type Restorer = fn(&RestoreRequest<'_>) -> Result<String, String>;

/// A database that is to be made.
#[derive(Debug)]
pub struct RestoreRequest<'a> {
    /// The address to connect to, which nobody else knows.
    pub address: SocketAddr,
    /// The administrator's login.
    pub user: &'a str,
    /// The password of this login there. The address has no TLS.
    pub password: &'a str,
    /// The name of the database.
    pub database: &'a str,
    /// The files.
    pub files: RestoreFiles<'a>,
}

/// The files of a database that is to be made.
#[derive(Debug, Clone, Copy)]
pub enum RestoreFiles<'a> {
    /// As the user spells them on a command line: backups, data files or a package.
    Spelled(&'a str),
    /// Backups of SQL Server, with the number (from 1) of the set in files that have several.
    Backups(&'a [PathBuf], Option<usize>),
    /// The other way: a new package, into which the tables of the database go.
    ToPackage(&'a Path),
}

/// The Kerberos tickets that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kerberos {
    /// The file with the service's keys.
    pub keytab: PathBuf,
    /// The service's principal; any of the keytab if absent.
    pub service: Option<String>,
    /// The principals that may log in; `*` stands for any characters.
    pub trusted: Vec<String>,
}

impl Kerberos {
    /// Returns true if this principal may log in.
    pub fn trusts(&self, principal: &str) -> bool {
        self.trusted.iter().any(|pattern| matches(pattern, principal))
    }
}

/// The access tokens that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entra {
    /// The file with the issuer's public keys: PEM, or a JSON Web Key Set.
    pub keys: PathBuf,
    /// The issuer that the tokens name.
    pub issuer: String,
    /// The audiences of tokens, any of which is accepted. Clients that ask are given the first.
    pub audiences: Vec<String>,
    /// The address at which clients get a token, if not at the issuer.
    pub sign_in_url: Option<String>,
    /// The names of users and IDs of applications that may log in; `*` stands for any characters.
    pub trusted: Vec<String>,
}

impl Entra {
    /// The audience of tokens for Azure SQL.
    pub const AUDIENCE: &str = "https://database.windows.net/";

    /// Returns true if this user or application may log in.
    pub fn trusts(&self, name: &str) -> bool {
        self.trusted.iter().any(|pattern| matches(pattern, name))
    }
}

/// Returns true if a text fits a pattern in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = text.split_once(part) else { return false };
        text = behind;
    }
    text.ends_with(last)
}

/// The place where a server keeps its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLocation {
    /// A directory; created if missing.
    Directory {
        /// The path of the directory.
        path: PathBuf,
        /// True if commits wait for the disk. Without it a power cut can lose committed work (a killed process
        /// cannot).
        sync: bool,
    },
    /// Memory: gone when the server stops.
    InMemory,
}

/// The connections that are accepted, by their encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionPolicy {
    /// The client chooses: none, login only, the whole session, or strict.
    Optional,
    /// The whole session, TDS 7.x or strict.
    Required,
    /// TDS 8.0 only.
    Strict,
}

/// A password that no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Keeps `text`.
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// Returns true if the password is empty, so that nothing is compared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares in a time that depends only on the lengths.
    pub fn matches(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let difference = own.iter().zip(offered).fold(0, |sum, (a, b)| sum | (a ^ b));
        own.len() == offered.len() && difference == 0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(..)")
    }
}

/// Limits against abuse and accidents.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at one time; one more is closed at once.
    pub connections: usize,
    /// From accept to the end of login.
    pub login_timeout: Duration,
    /// The delay of the answer to a refused login, which slows down guessing.
    pub failed_login_delay: Duration,
    /// Largest request other than a bulk load, in bytes.
    pub message_bytes: usize,
    /// Largest single row of a bulk load, in bytes.
    pub row_bytes: usize,
    /// Memory of the whole server in bytes: a part of it caches pages, the rest is what statements may hold. None: half of the
    /// machine's, or of what its control groups allow.
    pub memory_bytes: Option<u64>,
    /// Limits of log rate and processors for each database. They take precedence over a tier that ALTER DATABASE has set.
    pub resources: Option<ResourceLimits>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            login_timeout: Duration::from_secs(15),
            failed_login_delay: Duration::from_millis(500),
            message_bytes: 256 << 20,
            row_bytes: 2 << 30,
            memory_bytes: None,
            resources: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_of_principals() {
        for (pattern, text, expected) in [
            ("ann@X", "ann@X", true),
            ("ann@X", "ann@x", false),
            ("ann@X", "joann@X", false),
            ("*@X", "ann@X", true),
            ("*@X", "ann@XY", false),
            ("*@X", "@X", true),
            ("*", "", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "a.b.b.c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("loader/*@X", "loader/host.x@X", true),
            ("**", "x", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
