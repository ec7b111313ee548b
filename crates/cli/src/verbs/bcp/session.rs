//! Opens a connection by `-S`, `-U`, `-G` and the like.

use std::env;
use std::io::{self, BufRead, IsTerminal};

use load::config::{ApplicationIntent, Auth, Encrypt, Password, Secret};
use load::{Client, Config, ConfigError};

use super::arguments::{Encryption, Job, Login};
use super::{data_source, diagnostic::Diagnostic};
use crate::connection::time;

/// Bytes of the packets that bcp asks for; sizes that TDS does not have fall back to it.
const PACKET_BYTES: u16 = 4096;
/// The largest packet of TDS (MS-TDS 2.2.6.4).
const PACKET_BYTES_MAX: u32 = 32767;
const LOGIN_TIMEOUT_SECONDS: u32 = 15;

/// An error of connecting.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The settings contradict each other, or ask for something that is not supported.
    #[error("{0}")]
    Setting(String),
    /// The connection string of the environment or of a data source is unusable.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The data source is unknown.
    #[error(transparent)]
    DataSource(#[from] data_source::DataSourceError),
    /// A file with an access token, or the terminal, cannot be read.
    #[error("{what}: {source}")]
    Io {
        /// The name of the thing that was read.
        what: String,
        /// The system's words.
        source: io::Error,
    },
    /// The server or the way to it.
    #[error(transparent)]
    Client(#[from] load::Error),
}

impl SessionError {
    /// Returns the error as bcp shows it.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Client(error) => Diagnostic::all_of(error),
            other => vec![Diagnostic::client("08001", other.to_string())],
        }
    }
}

/// Connects, changes to the database and sets QUOTED_IDENTIFIER.
pub fn connect(job: &Job) -> Result<Client, SessionError> {
    let mut client = Client::connect(&config(job)?)?;
    // A copy that failed has no further use for its connection.
    client.close_failed_loads();
    let switch = if job.quoted_identifiers { "ON" } else { "OFF" };
    client.execute(&format!("SET QUOTED_IDENTIFIER {switch}"))?;
    Ok(client)
}

fn config(job: &Job) -> Result<Config, SessionError> {
    let login = &job.login;
    let mut config = base(login)?;
    config.auth = auth(job, &config)?;
    config.encrypt = match login.encryption {
        Some(Encryption::Strict) => Encrypt::Strict,
        Some(Encryption::Mandatory) => Encrypt::Required,
        Some(Encryption::Optional) => Encrypt::Login,
        Some(Encryption::Off) => Encrypt::Off,
        None => config.encrypt,
    };
    config.trust_server_certificate |= login.trust_certificate;
    if let Some(host) = &login.certificate_host {
        config.host_name_in_certificate = Some(host.clone());
    }
    if let Some(file) = &login.certificate_file {
        config.server_certificate = Some(file.into());
    }
    refuse_conflicts(&config)?;
    config.database = login.database.clone().or(config.database);
    config.application_name = "bcp (bulkwire)".to_owned();
    config.vectors = login.vectors;
    config.packet_size_bytes = Some(packet_size_bytes(login));
    if login.read_only {
        config.application_intent = ApplicationIntent::ReadOnly;
    }
    let seconds = login.login_timeout_seconds.unwrap_or(LOGIN_TIMEOUT_SECONDS);
    config.connect_timeout = time(seconds);
    if let Some(seconds) = login.command_timeout_seconds {
        config.command_timeout = time(seconds);
    }
    Ok(config)
}

fn packet_size_bytes(login: &Login) -> u16 {
    let asked = login.packet_size_bytes.filter(|size| *size <= PACKET_BYTES_MAX);
    asked.and_then(|size| u16::try_from(size).ok()).unwrap_or(PACKET_BYTES)
}

/// Returns the server: `-S`, or the data source that it names, or BULKWIRE_URL, or this machine.
fn base(login: &Login) -> Result<Config, SessionError> {
    // Credentials are settled apart; a connection string is not complete without some.
    let credentials = match login.trusted {
        true => "Integrated Security=yes",
        false => "User ID=nobody;Password=none",
    };
    match (&login.server, login.is_data_source) {
        (Some(name), true) => {
            let keywords = data_source::keywords(name)?;
            let text =
                if keywords.has_user { keywords.text } else { format!("{};{credentials}", keywords.text) };
            Ok(Config::parse(&text)?)
        }
        (None, true) => Err(SessionError::Setting("-D needs -S with the name of a data source".to_owned())),
        (Some(server), false) => Ok(Config::parse(&format!("Server={};{credentials}", braced(server)))?),
        (None, false) => match env::var("BULKWIRE_URL") {
            Ok(url) if !url.is_empty() => {
                let whole = login.user.is_none() && login.password.is_none();
                Ok(Config::parse_and(&url, if whole { &login.keywords } else { &[] })?)
            }
            _ => Ok(Config::parse(&format!("Server=localhost;{credentials}"))?),
        },
    }
}

/// Writes a value of a connection string.
pub fn braced(value: &str) -> String {
    format!("{{{}}}", value.replace('}', "}}"))
}

fn auth(job: &Job, config: &Config) -> Result<Auth, SessionError> {
    let login = &job.login;
    if (login.entra || login.trusted) && !login.keywords.is_empty() {
        let option = if login.entra { "-G" } else { "-T" };
        return Err(SessionError::Setting(format!(
            "{option} excludes --authentication, --authority, --password-file, --password-command and --password-keyring"
        )));
    }
    if login.entra {
        return entra(login);
    }
    if login.trusted {
        return Ok(Auth::Integrated { principal: None });
    }
    let named = login.user.clone();
    if named.is_none()
        && login.server.is_none()
        && login.password.is_none()
        && env::var("BULKWIRE_URL").is_ok()
    {
        return Ok(config.auth.clone());
    }
    if named.is_none()
        && login.is_data_source
        && let Auth::SqlLogin { user, .. } = &config.auth
        && user != "nobody"
        && login.password.is_none()
    {
        return Ok(config.auth.clone());
    }
    if named.is_none() && matches!(config.auth, Auth::Integrated { .. }) {
        return Ok(config.auth.clone());
    }
    if !login.keywords.is_empty() {
        return by_keywords(login, config);
    }
    let user = match named {
        Some(user) => user,
        None => env::var("USER").or_else(|_| env::var("USERNAME")).map_err(|_| {
            SessionError::Setting(
                "no login is named: use -U with -P, -T with a Kerberos ticket, or -G with an access token"
                    .to_owned(),
            )
        })?,
    };
    let password = match login.password.clone().or_else(|| env::var(load::config::PASSWORD_VARIABLE).ok()) {
        Some(password) => password,
        None => ask_password(job)?,
    };
    Ok(Auth::SqlLogin { user, password: Password::Given(Secret::new(password)) })
}

/// Signs in by `--password-file`, `--authentication` and the like, with `-U` and `-P`, as a connection string would.
fn by_keywords(login: &Login, config: &Config) -> Result<Auth, SessionError> {
    let mut settings = login.keywords.clone();
    let of_source = match &config.auth {
        Auth::SqlLogin { user, .. } if login.is_data_source && user != "nobody" => Some(user.clone()),
        _ => None,
    };
    settings.extend(login.user.clone().or(of_source).map(|user| ("User ID", user)));
    settings.extend(login.password.clone().map(|password| ("Password", password)));
    Ok(Config::parse_and("Server=none", &settings)?.auth)
}

/// Signs in by `-G`, only with a token that was obtained elsewhere.
fn entra(login: &Login) -> Result<Auth, SessionError> {
    if login.user.is_some() {
        return Err(SessionError::Setting(
            "-G with -U sends a person's password to Microsoft Entra, which bulkwire does not do; use --authentication with \
             ActiveDirectoryServicePrincipal or ActiveDirectoryDeviceCodeFlow, or name the file of a token with -G -P FILE"
                .to_owned(),
        ));
    }
    let token = match &login.password {
        Some(file) => token_file(file)?,
        None => env::var(load::config::ACCESS_TOKEN_VARIABLE).map_err(|_| {
            SessionError::Setting(
                "-G needs -P with the file of an access token, or BULKWIRE_ACCESS_TOKEN; --authentication=ActiveDirectoryDefault takes \
                 what the environment offers"
                    .to_owned(),
            )
        })?,
    };
    Ok(Auth::AccessToken(Secret::new(token)))
}

/// Reads the token in a file: UTF-16LE without a mark, as bcp wants it, or plain ASCII.
fn token_file(file: &str) -> Result<String, SessionError> {
    let what = || format!("the access token in {file}");
    let bytes = std::fs::read(file).map_err(|source| SessionError::Io { what: what(), source })?;
    let text = if bytes.contains(&0) {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        String::from_utf16(&units).ok()
    } else {
        String::from_utf8(bytes).ok()
    };
    let token = text.map(|text| text.trim_matches(['\u{FEFF}', '\n', '\r', ' ']).to_owned());
    token
        .filter(|token| !token.is_empty() && token.is_ascii())
        .ok_or_else(|| SessionError::Setting(format!("{} is neither UTF-16LE nor ASCII text", what())))
}

/// Asks at the terminal, without echo; without a terminal the next line of standard input is it.
fn ask_password(job: &Job) -> Result<String, SessionError> {
    let failed = |source| SessionError::Io { what: "Password".to_owned(), source };
    if io::stdin().is_terminal() {
        return rpassword::prompt_password("Password: ").map_err(failed);
    }
    if job.file == "-" && job.direction == super::arguments::Direction::In {
        return Err(SessionError::Setting(
            "standard input carries the data and no password: use -P or BULKWIRE_PASSWORD".to_owned(),
        ));
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Refuses settings that exclude each other once the options have changed the connection string.
fn refuse_conflicts(config: &Config) -> Result<(), SessionError> {
    let conflict = |reason: &str| Err(SessionError::Setting(reason.to_owned()));
    if config.encrypt == Encrypt::Strict && config.trust_server_certificate {
        return conflict("-Ys verifies the server's certificate, -u does not: they exclude each other");
    }
    if config.encrypt == Encrypt::Off
        && (config.server_certificate.is_some() || config.host_name_in_certificate.is_some())
    {
        return conflict("--no-encryption sees no certificate: it excludes -J and -H");
    }
    if config.encrypt == Encrypt::Off && matches!(config.auth, Auth::AccessToken(_) | Auth::Entra(_)) {
        return conflict("an access token is never sent in the clear: --no-encryption excludes it");
    }
    if config.server_certificate.is_some() && config.trust_server_certificate {
        return conflict("-J accepts one certificate, -u accepts any: they exclude each other");
    }
    Ok(())
}
