//! The address of a server: connection strings, URLs, and secrets from the environment.

mod authentication;
mod error;
mod foreign_url;
mod keyword;
mod keyword_string;
mod settings;
#[cfg(test)]
mod tests;
mod url;

use std::{fmt, path::PathBuf, time::Duration};

use crate::interruption::Interruption;

pub use entra::{Identity, Proof, Way};
pub use error::ConfigError;
pub use sign_in::{Password, Secret};

/// The port of a default instance.
pub const DEFAULT_PORT: u16 = 1433;
/// Default time for TCP, TLS and login together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Default time for which a server may be silent over a request.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// The default of `ConnectRetryInterval`.
const CONNECT_RETRY_WAIT: Duration = Duration::from_secs(10);
/// The environment variable that is used when a user is named without a password.
pub const PASSWORD_VARIABLE: &str = "BULKWIRE_PASSWORD";
/// The environment variable that is used when neither a user nor a token is given.
pub const ACCESS_TOKEN_VARIABLE: &str = "BULKWIRE_ACCESS_TOKEN";

/// The method by which the client authenticates itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// SQL Server authentication.
    SqlLogin {
        /// The login.
        user: String,
        /// The password of the login, or the place that has it.
        password: Password,
    },
    /// A Microsoft Entra access token for the resource `https://database.windows.net/`, obtained elsewhere.
    AccessToken(Secret),
    /// A Microsoft Entra access token that is got when a connection is opened, at the place that the server names.
    Entra(Identity),
    /// A Kerberos ticket.
    Integrated {
        /// The owner of the ticket, as `user@REALM`; the default principal if absent.
        principal: Option<String>,
    },
}

/// The encryption that the client asks for in PRELOGIN (MS-TDS 2.2.6.5, option ENCRYPTION).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encrypt {
    /// `Encrypt=Off`: no TLS at all (NOT_SUP). A server that insists on TLS refuses.
    Off,
    /// `Encrypt=Optional` (`no`, `false`): the login is encrypted if the server can; everything if it insists.
    Login,
    /// `Encrypt=Mandatory` (`yes`, `true`), the default: the whole session, or no session.
    Required,
    /// `Encrypt=Strict`: TDS 8.0, TLS before the first byte of TDS.
    Strict,
}

/// Declares that the client will only read; an availability group then may route it to a secondary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplicationIntent {
    /// Reads and writes.
    ReadWrite,
    /// Reads only.
    ReadOnly,
}

/// Selects the vectors that are sent in their binary form; the others are sent as JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VectorSupport {
    /// No vectors: `VectorTypeSupport=off`.
    Off,
    /// Vectors of float32: `v1`.
    Float32,
    /// All: `v2`, the default.
    #[default]
    All,
}

impl VectorSupport {
    /// Returns the version of the feature that LOGIN7 asks for; 0 asks for none.
    pub fn version(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Float32 => 1,
            Self::All => 2,
        }
    }
}

/// Everything that is needed to connect. `Display` prints it as a URL without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port. The default is [`DEFAULT_PORT`], or the port that SQL Server Browser gives for `instance`.
    pub port: Option<u16>,
    /// Named instance. SQL Server Browser is asked for its port when none is given.
    pub instance: Option<String>,
    /// Database to start in; the login's default when absent.
    pub database: Option<String>,
    /// Credentials.
    pub auth: Auth,
    /// The server's service principal name for [`Auth::Integrated`], if not that of its host and port.
    pub server_spn: Option<String>,
    /// Encryption asked for.
    pub encrypt: Encrypt,
    /// Accept any certificate. Never together with `Encrypt::Strict`.
    pub trust_server_certificate: bool,
    /// PEM or DER file of the one certificate that is accepted.
    pub server_certificate: Option<PathBuf>,
    /// The name that the certificate must carry, if not `host`.
    pub host_name_in_certificate: Option<String>,
    /// Name shown in `sys.dm_exec_sessions.program_name`.
    pub application_name: String,
    /// Name shown in `sys.dm_exec_sessions.host_name`; the machine's own when absent.
    pub workstation_id: Option<String>,
    /// Language of the session's messages; the login's default when absent.
    pub language: Option<String>,
    /// Read-write or read-only.
    pub application_intent: ApplicationIntent,
    /// Try all addresses of the host at once.
    pub multi_subnet_failover: bool,
    /// The vectors to send in binary form, if the server supports them.
    pub vectors: VectorSupport,
    /// Packet size to request, 512 to 32767 bytes; chosen by encryption when absent.
    pub packet_size_bytes: Option<u16>,
    /// Time for TCP, TLS and login together; `None` waits for ever.
    pub connect_timeout: Option<Duration>,
    /// The number of retries of a connection that fails with a transient error; 0 by default.
    pub connect_retries: u32,
    /// The time between two such tries.
    pub connect_retry_wait: Duration,
    /// The longest silence of the server during a request, by default [`COMMAND_TIMEOUT`]; `None` waits for ever.
    /// After that time the request is cancelled. If the server does not acknowledge this within five seconds, the
    /// connection is closed.
    pub command_timeout: Option<Duration>,
    /// Ends the requests of this connection, and of those that are made with a copy of this. A connection string never sets it.
    pub interruption: Option<Interruption>,
    /// Keywords that other clients know and that change nothing here, as written.
    pub ignored: Vec<String>,
}

impl Config {
    /// Reads a keyword string (`Server=…;Database=…`) or a `mssql://` URL. `${env:NAME}` in a value is replaced by that
    /// environment variable; a missing password or token is taken from [`PASSWORD_VARIABLE`] or
    /// [`ACCESS_TOKEN_VARIABLE`].
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, &|name| std::env::var(name).ok())
    }

    /// Parses like [`parse`](Self::parse), but takes environment variables from the caller.
    pub fn parse_with(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        settings::resolve(split(text)?, environment)
    }

    /// Parses like [`parse`](Self::parse), with further keywords and their values. They do not replace those of the text: two
    /// different values are refused.
    pub fn parse_and(text: &str, further: &[(&str, String)]) -> Result<Self, ConfigError> {
        let mut settings = split(text)?;
        for (name, value) in further {
            let keyword = keyword::Keyword::find(name).ok_or_else(|| keyword::Keyword::unknown(name))?;
            settings.push((keyword, value.clone(), 0));
        }
        settings::resolve(settings, &|name| std::env::var(name).ok())
    }

    /// Returns the keywords that lead to the same authentication again, but for the user and secrets.
    pub fn authentication_settings(&self) -> Vec<(&'static str, String)> {
        authentication::settings(&self.auth)
    }

    /// Returns the port to connect to when no instance has to be looked up.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(DEFAULT_PORT)
    }
}

fn split(text: &str) -> Result<Vec<keyword_string::Setting>, ConfigError> {
    if let Some(settings) = foreign_url::parse(text) {
        return settings;
    }
    if url::is_url(text) { url::parse(text) } else { keyword_string::parse(text) }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mssql://")?;
        if let Auth::SqlLogin { user, .. } = &self.auth {
            write!(f, "{user}@")?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        if let Some(instance) = &self.instance {
            write!(f, "\\{instance}")?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        match &self.database {
            Some(database) => write!(f, "/{database}"),
            None => Ok(()),
        }
    }
}
