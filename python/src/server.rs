//! The embedded server, in threads of the Python process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bulkwire_server::{
    CertificateSource, DataLocation, EncryptionPolicy, Entra, Kerberos, Limits, Password, RestoreFiles,
    RestoreRequest, Restoring, RunningServer, ServerOptions,
};
use pyo3::prelude::*;

use crate::failure;

/// Makes a database of the server of files.
pub(crate) fn restorer(request: &RestoreRequest<'_>) -> Result<String, String> {
    let &RestoreRequest { address, user, password, database, files } = request;
    match files {
        RestoreFiles::Spelled(files) => bulkwire_cli::restore(address, (user, password), database, files),
        RestoreFiles::Backups(files, set) => {
            bulkwire_cli::import(address, (user, password), database, files, set)
        }
        RestoreFiles::ToPackage(package) => bulkwire_cli::pack(address, (user, password), database, package),
    }
}

/// The native server; `bulkwire.Server` is its documented face.
#[pyclass(frozen, module = "bulkwire._bulkwire")]
pub(crate) struct Server {
    running: Mutex<Option<RunningServer>>,
    address: SocketAddr,
    metrics_port: Option<u16>,
}

#[pymethods]
impl Server {
    #[staticmethod]
    #[pyo3(signature = (*, data, address, port, user, password, encryption, sync, discard, log_requests, max_connections, memory_limit, restore, init, bulk_directories, keytab, spn, trusted_principals, entra_key, entra_issuer, entra_audiences, entra_sign_in_url, entra_principals, faults, metrics_port))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of Python's Server()")]
    fn start(
        py: Python<'_>,
        data: Option<PathBuf>,
        address: &str,
        port: u16,
        user: String,
        password: String,
        encryption: &str,
        sync: bool,
        discard: bool,
        log_requests: bool,
        max_connections: Option<usize>,
        memory_limit: Option<u64>,
        restore: Vec<(String, String)>,
        init: Vec<PathBuf>,
        bulk_directories: Vec<PathBuf>,
        keytab: Option<PathBuf>,
        spn: Option<String>,
        trusted_principals: Vec<String>,
        entra_key: Option<PathBuf>,
        entra_issuer: Option<String>,
        mut entra_audiences: Vec<String>,
        entra_sign_in_url: Option<String>,
        entra_principals: Vec<String>,
        faults: Option<PathBuf>,
        metrics_port: Option<u16>,
    ) -> PyResult<Self> {
        if entra_audiences.is_empty() {
            entra_audiences.push(Entra::AUDIENCE.to_owned());
        }
        let entra = entra_key.zip(entra_issuer).map(|(keys, issuer)| Entra {
            keys,
            issuer,
            audiences: entra_audiences,
            sign_in_url: entra_sign_in_url,
            trusted: entra_principals,
        });
        let kerberos = keytab.map(|keytab| Kerberos { keytab, service: spn, trusted: trusted_principals });
        let address: IpAddr = address
            .parse()
            .map_err(|_| failure::usage(py, format!("address must be an IP address, not \"{address}\"")))?;
        let (certificate, policy) = match encryption {
            "off" => (None, EncryptionPolicy::Optional),
            "optional" => (Some(CertificateSource::SelfSigned), EncryptionPolicy::Optional),
            "required" => (Some(CertificateSource::SelfSigned), EncryptionPolicy::Required),
            "strict" => (Some(CertificateSource::SelfSigned), EncryptionPolicy::Strict),
            other => {
                let text = format!("encryption must be off, optional, required or strict, not \"{other}\"");
                return Err(failure::usage(py, text));
            }
        };
        let limits = Limits::default();
        let options = ServerOptions {
            listen: SocketAddr::new(address, port),
            data: data.map_or(DataLocation::InMemory, |path| DataLocation::Directory { path, sync }),
            user,
            password: Password::new(password),
            certificate,
            encryption: policy,
            discard,
            log_requests,
            faults,
            kerberos,
            entra,
            metrics: metrics_port.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
            restoring: Some(Restoring { databases: restore, by: restorer }),
            init,
            bulk_directories,
            limits: Limits {
                connections: max_connections.unwrap_or(limits.connections),
                memory_bytes: memory_limit,
                ..limits
            },
        };
        let started = py.detach(|| bulkwire_server::Server::start(options));
        let running = started.map_err(|error| failure::named(py, "Error", error.to_string()))?;
        let metrics_port = running.metrics_address().map(|address| address.port());
        Ok(Self { address: running.address(), metrics_port, running: Mutex::new(Some(running)) })
    }

    #[getter]
    fn host(&self) -> String {
        self.address.ip().to_string()
    }

    #[getter]
    fn port(&self) -> u16 {
        self.address.port()
    }

    #[getter]
    fn metrics_port(&self) -> Option<u16> {
        self.metrics_port
    }

    /// Returns the self-signed certificate in PEM form, `None` without TLS or after the end.
    #[getter]
    fn certificate_pem(&self) -> Option<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref()?.certificate_pem().map(str::to_owned)
    }

    fn stop(&self, py: Python<'_>) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(running));
    }
}
