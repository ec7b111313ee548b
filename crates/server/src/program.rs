//! The server as a program: its command line, and waiting for the signal that ends it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::{fs, io, io::Write};

use crate::CertificateSource;
use crate::DataLocation;
use crate::EncryptionPolicy;
use crate::Kerberos;
use crate::Limits;
use crate::Password;
use crate::Server;
use crate::ServerOptions;
use crate::StartError;
use clap::{Parser, ValueEnum};
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
    /// The login's name
    #[arg(long, default_value = "sa")]
    user: String,
    /// The login's password; without one a random password is made and shown
    #[arg(long, env = "BULKWIRE_SERVER_PASSWORD", hide_env_values = true)]
    password: Option<String>,
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
    /// Accept Kerberos tickets with the keys of this file (needs the program bulkwire-kerberos)
    #[arg(long, value_name = "FILE", requires = "trusted_principal")]
    keytab: Option<PathBuf>,
    /// The service's principal, MSSQLSvc/host:port@REALM [default: any of the keytab]
    #[arg(long, value_name = "NAME", requires = "keytab")]
    spn: Option<String>,
    /// Let this principal log in with a ticket: user@REALM, where * stands for any characters; may be given several times
    #[arg(long, value_name = "PATTERN", requires = "keytab")]
    trusted_principal: Vec<String>,
    /// Inject the faults that a file of rules names (delays, caps, cuts, lost answers, errors): for testing what clients do about them
    #[arg(long, value_name = "FILE.json")]
    faults: Option<PathBuf>,
    /// Print every request on standard error
    #[arg(long)]
    log_requests: bool,
    /// Trace sessions, requests and errors on standard error, down to this level: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "BULKWIRE_LOG", default_value = "off")]
    log_level: LevelFilter,
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
}

fn service_tier(name: &str) -> Result<ServiceTier, String> {
    ServiceTier::named(name).ok_or_else(|| {
        let names: Vec<&str> = ServiceTier::ALL.iter().map(|tier| tier.name()).collect();
        format!("no tier: {}", names.join(", "))
    })
}

fn processors(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("not a positive number".to_owned()),
    }
}

/// What clients must agree to.
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

/// Runs the server with a command line, the program's name first, until a signal stops it. Errors are printed, and
/// false is returned. Wrong arguments, `--help` and `--version` end the process.
pub fn run_program(words: Vec<OsString>) -> bool {
    serve(Arguments::parse_from(words)).inspect_err(told).is_ok()
}

fn told(error: &Failure) {
    let _ = writeln!(io::stderr(), "error: {error}");
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot write {}: {source}", path.display())]
    CertificateOut { path: PathBuf, source: io::Error },
    #[error("cannot wait for a signal: {0}")]
    Signal(io::Error),
}

fn serve(arguments: Arguments) -> Result<(), Failure> {
    trace::subscribe(arguments.log_level);
    let made = arguments.password.is_none().then(|| uuid::Uuid::new_v4().simple().to_string());
    let password = arguments.password.clone().or_else(|| made.clone()).unwrap_or_default();
    let certificate_out = arguments.certificate_out.clone();
    let server = Server::start(options(arguments, password))?;
    if let (Some(path), Some(pem)) = (certificate_out, server.certificate_pem()) {
        fs::write(&path, pem).map_err(|source| Failure::CertificateOut { path, source })?;
    }
    // Only now: a server that does not start has no password to tell.
    if let Some(made) = made {
        log::line(format!("no password was given; this run's password is {made}"));
        log::flush();
    }
    // The parent process may have closed the server's output.
    let _ = writeln!(io::stdout(), "listening on {}", server.url());
    let _ = io::stdout().flush();
    wait_for_signal().map_err(Failure::Signal)?;
    server.stop();
    log::flush();
    Ok(())
}

fn options(arguments: Arguments, password: String) -> ServerOptions {
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
    let kerberos = arguments.keytab.map(|keytab| Kerberos { keytab, service, trusted });
    ServerOptions {
        listen: SocketAddr::new(arguments.address, arguments.port),
        data,
        init: arguments.init,
        user: arguments.user,
        password: Password::new(password),
        certificate,
        encryption,
        discard: arguments.discard,
        bulk_directories: arguments.bulk_directory,
        log_requests: arguments.log_requests,
        faults: arguments.faults,
        kerberos,
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

mod trace;

#[cfg(test)]
mod tests;
