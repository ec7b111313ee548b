//! The server as a program: its command line, and waiting for the signal that ends it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::{fs, io, io::Write};

use crate::CertificateSource;
use crate::DataLocation;
use crate::EncryptionPolicy;
use crate::Entra;
use crate::Kerberos;
use crate::Limits;
use crate::Password;
use crate::Restorer;
use crate::Restoring;
use crate::Server;
use crate::ServerOptions;
use crate::StartError;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use databases::log;
use databases::memory::parse_bytes;
use databases::storage::{ResourceLimits, ServiceTier};
use tracing::level_filters::LevelFilter;

/// A TDS endpoint in one small process: an independent server for tests, local work and experiments. It is not
/// SQL Server.
#[derive(Debug, Parser)]
#[command(name = "bulkwire serve", bin_name = "bulkwire serve", version, max_term_width = 100)]
struct Arguments {
    /// Address to listen on
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 1433)]
    port: u16,
    /// Directory that holds the rows; created if missing
    #[arg(long, value_name = "DIR", default_value = "bulkwire-data", conflicts_with = "in_memory")]
    data: PathBuf,
    /// Keep rows in memory only
    #[arg(long)]
    in_memory: bool,
    /// Do not wait for the disk at commit: a power cut may then lose committed work
    #[arg(long, conflicts_with = "in_memory")]
    no_sync: bool,
    /// Run a script of T-SQL (batches separated by GO) before the first connection; may be given several times
    #[arg(long, value_name = "FILE.sql")]
    init: Vec<PathBuf>,
    /// Make a database of a backup, data files or a package before the first connection (shop=shop.bak); a database of the name that is
    /// there is left as it is. May be given several times
    #[arg(long, value_name = "NAME=FILE", value_parser = restored, conflicts_with_all = ["faults", "discard"])]
    restore: Vec<(String, String)>,
    /// The login's name
    #[arg(long, default_value = "sa")]
    user: String,
    /// The login's password; without one a random password is made and shown
    #[arg(long, env = "BULKWIRE_SERVER_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// A file whose only line is the login's password
    #[arg(long, value_name = "FILE", conflicts_with = "password")]
    password_file: Option<PathBuf>,
    /// Which connections to accept
    #[arg(long, value_enum, default_value = "optional")]
    encryption: Encryption,
    /// Certificate chain in PEM form (default: a new self-signed one)
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key in PEM form
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Write the self-signed certificate here, for clients that pin it
    #[arg(long, value_name = "FILE", conflicts_with = "certificate")]
    certificate_out: Option<PathBuf>,
    /// Let BULK INSERT and OPENROWSET(BULK …) read files below this directory, and no others; may be given several times
    #[arg(long, value_name = "DIR")]
    bulk_directory: Vec<PathBuf>,
    /// Read bulk loads and count their rows, but keep nothing: for measuring clients
    #[arg(long)]
    discard: bool,
    /// Accept Kerberos tickets with the keys of this file (needs the system's Kerberos library)
    #[arg(long, value_name = "FILE", requires = "trusted_principal")]
    keytab: Option<PathBuf>,
    /// The service's principal, MSSQLSvc/host:port@REALM [default: any of the keytab]
    #[arg(long, value_name = "NAME", requires = "keytab")]
    spn: Option<String>,
    /// Let this principal log in with a ticket: user@REALM, where * stands for any characters; may be given several times
    #[arg(long, value_name = "PATTERN", requires = "keytab")]
    trusted_principal: Vec<String>,
    /// Accept access tokens of Microsoft Entra that these public keys verify: PEM, or a JSON Web Key Set
    #[arg(long, value_name = "FILE", requires_all = ["entra_issuer", "entra_principal"])]
    entra_key: Option<PathBuf>,
    /// Who has signed the tokens: their claim `iss`
    #[arg(long, value_name = "TEXT", requires = "entra_key")]
    entra_issuer: Option<String>,
    /// What the tokens are for: their claim `aud`; may be given several times [default: https://database.windows.net/]
    #[arg(long, value_name = "TEXT", requires = "entra_key")]
    entra_audience: Vec<String>,
    /// Where clients that ask get a token [default: the issuer]
    #[arg(long, value_name = "URL", requires = "entra_key")]
    entra_sign_in_url: Option<String>,
    /// Let this user or application log in with a token: a name or client ID, where * stands for any characters; may be given
    /// several times
    #[arg(long, value_name = "PATTERN", requires = "entra_key")]
    entra_principal: Vec<String>,
    /// Inject the faults that a file of rules names (delays, caps, cuts, lost answers, errors): for testing what clients do about them
    #[arg(long, value_name = "FILE.json")]
    faults: Option<PathBuf>,
    /// Print every request on standard error
    #[arg(long)]
    log_requests: bool,
    /// Trace sessions, requests and errors on standard error, down to this level: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "BULKWIRE_LOG", default_value = "off")]
    log_level: LevelFilter,
    /// Write standard error as text, or as a JSON object for each line
    #[arg(long, value_enum, value_name = "FORMAT", env = "BULKWIRE_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Serve metrics and health over HTTP at this port: /metrics for Prometheus, /health, /live; 0 takes a free port
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
    /// Address of that port. Who can reach it needs no password
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), requires = "metrics_port")]
    metrics_address: IpAddr,
    /// Hold each database to the log rate and processors of a tier as it was in 2014: Basic, S0, S1, S2, S3, P1, P2, P3, Web
    /// (needs pages)
    #[arg(long, value_name = "TIER", value_parser = service_tier)]
    service_objective: Option<ServiceTier>,
    /// Hold each database to so many bytes of log a second (needs pages)
    #[arg(long, value_name = "BYTES", conflicts_with = "service_objective")]
    log_rate_limit: Option<u64>,
    /// Hold each database to so many processors, such as 0.5 (needs pages; Linux only)
    #[arg(long, value_name = "N", conflicts_with = "service_objective", value_parser = processors)]
    processor_limit: Option<f64>,
    /// Memory of the whole server, such as 512MB or 2GB [default: half of the machine's, or of its control group's]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
    /// Connections at one time
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Write the manual page into this folder and stop: for packages
    #[arg(long, value_name = "DIR", exclusive = true, hide = true)]
    manual: Option<PathBuf>,
}

fn service_tier(name: &str) -> Result<ServiceTier, String> {
    ServiceTier::named(name).ok_or_else(|| {
        let names: Vec<&str> = ServiceTier::ALL.iter().map(|tier| tier.name()).collect();
        format!("no tier: {}", names.join(", "))
    })
}

fn restored(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, files)) if !name.is_empty() && !files.is_empty() => {
            Ok((name.to_owned(), files.to_owned()))
        }
        _ => Err("a name and a file: shop=shop.bak".to_owned()),
    }
}

fn processors(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("not a positive number".to_owned()),
    }
}

/// The form of the lines on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The encryption that clients must agree to.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Encryption {
    /// No TLS is offered.
    Off,
    /// The client chooses.
    Optional,
    /// The whole session is encrypted.
    Required,
    /// TDS 8.0 only.
    Strict,
}

/// Runs the server with a command line, the program's name first, until a signal stops it. `restorer` makes databases of files
/// (`--restore`). Errors are printed, and false is returned. Wrong arguments, `--help` and `--version` end the process.
pub fn run_program(words: Vec<OsString>, restorer: Restorer) -> bool {
    let matches = Arguments::command().get_matches_from(words);
    let of_environment = matches.value_source("password") == Some(ValueSource::EnvVariable);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    log::set_json(arguments.log_format == LogFormat::Json);
    let done = match &arguments.manual {
        Some(folder) => {
            manual::write(folder).map_err(|source| Failure::Manual { folder: folder.clone(), source })
        }
        None => serve(arguments, of_environment, restorer),
    };
    done.inspect_err(explain).is_ok()
}

fn explain(error: &Failure) {
    log::last_line(format!("error: {error}"));
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot write {}: {source}", path.display())]
    CertificateOut { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", folder.display())]
    Manual { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Password(#[from] sign_in::PasswordError),
    #[error(
        "{place} is empty, and with an empty password anybody could sign in; without it a password is made and shown"
    )]
    EmptyPassword { place: &'static str },
    #[error("cannot wait for a signal: {0}")]
    Signal(io::Error),
}

/// Starts the server and waits. `of_environment`: a password that is given is the variable's.
fn serve(arguments: Arguments, of_environment: bool, restorer: Restorer) -> Result<(), Failure> {
    trace::subscribe(arguments.log_level, arguments.log_format);
    if arguments.password.as_deref() == Some("") {
        let place = if of_environment { "BULKWIRE_SERVER_PASSWORD" } else { "--password" };
        return Err(Failure::EmptyPassword { place });
    }
    let of_file =
        arguments.password_file.clone().map(|file| sign_in::Password::File(file).obtain(&arguments.user));
    let of_file = of_file.transpose()?.map(|password| password.expose().to_owned());
    let given = arguments.password.clone().or(of_file);
    let made = given.is_none().then(|| uuid::Uuid::new_v4().simple().to_string());
    let password = given.or_else(|| made.clone()).unwrap_or_default();
    exposure::warnings(&arguments, made.is_none().then_some(&password))
        .into_iter()
        .for_each(|warning| log::line(format!("warning: {warning}")));
    let certificate_out = arguments.certificate_out.clone();
    let server = Server::start(options(arguments, password, restorer))?;
    if let (Some(path), Some(pem)) = (certificate_out, server.certificate_pem()) {
        fs::write(&path, pem).map_err(|source| Failure::CertificateOut { path, source })?;
    }
    // Only now: a server that does not start has no password to tell.
    if let Some(made) = made {
        log::line(format!("no password was given; this run's password is {made}"));
        log::flush();
    }
    // The parent process may have closed the server's output.
    let metrics = server.metrics_address().map(|address| format!("metrics at http://{address}/metrics\n"));
    // At once: who has seen the first line finds the second.
    let ready = format!("listening on {}\n{}", server.url(), metrics.unwrap_or_default());
    let _ = io::stdout().write_all(ready.as_bytes());
    let _ = io::stdout().flush();
    wait_for_signal().map_err(Failure::Signal)?;
    server.stop();
    log::flush();
    Ok(())
}

fn options(arguments: Arguments, password: String, restorer: Restorer) -> ServerOptions {
    let certificate = match (arguments.encryption, arguments.certificate, arguments.key) {
        (Encryption::Off, _, _) => None,
        (_, Some(certificate), Some(key)) => Some(CertificateSource::Files { certificate, key }),
        _ => Some(CertificateSource::SelfSigned),
    };
    let encryption = match arguments.encryption {
        Encryption::Off | Encryption::Optional => EncryptionPolicy::Optional,
        Encryption::Required => EncryptionPolicy::Required,
        Encryption::Strict => EncryptionPolicy::Strict,
    };
    let resources = match (arguments.service_objective, arguments.log_rate_limit, arguments.processor_limit) {
        (Some(tier), ..) => Some(tier.limits()),
        (None, None, None) => None,
        (None, log_rate, processors) => Some(ResourceLimits::custom(log_rate, processors)),
    };
    let data = match arguments.in_memory {
        true => DataLocation::InMemory,
        false => DataLocation::Directory { path: arguments.data, sync: !arguments.no_sync },
    };
    let (service, trusted) = (arguments.spn, arguments.trusted_principal);
    let mut audiences = arguments.entra_audience;
    if audiences.is_empty() {
        audiences.push(Entra::AUDIENCE.to_owned());
    }
    let (sign_in_url, trusted_names) = (arguments.entra_sign_in_url, arguments.entra_principal);
    let entra = arguments.entra_key.zip(arguments.entra_issuer);
    let entra =
        entra.map(|(keys, issuer)| Entra { keys, issuer, audiences, sign_in_url, trusted: trusted_names });
    let kerberos = arguments.keytab.map(|keytab| Kerberos { keytab, service, trusted });
    ServerOptions {
        listen: SocketAddr::new(arguments.address, arguments.port),
        data,
        init: arguments.init,
        restoring: Some(Restoring { databases: arguments.restore, by: restorer }),
        user: arguments.user,
        password: Password::new(password),
        certificate,
        encryption,
        discard: arguments.discard,
        bulk_directories: arguments.bulk_directory,
        log_requests: arguments.log_requests,
        faults: arguments.faults,
        kerberos,
        metrics: arguments.metrics_port.map(|port| SocketAddr::new(arguments.metrics_address, port)),
        entra,
        limits: Limits {
            connections: arguments.max_connections,
            memory_bytes: arguments.memory_limit,
            resources,
            ..Limits::default()
        },
    }
}

/// Waits for an interrupt or, where there is such a thing, a termination signal.
fn wait_for_signal() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut terminated = signal(SignalKind::terminate())?;
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => interrupted,
                _ = terminated.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    })
}

mod exposure;
mod json_events;
mod manual;
mod trace;

#[cfg(test)]
mod tests;
