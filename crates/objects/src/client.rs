//! HTTP over rustls with ring and the system's certificates; reads that stand still end.

use std::env;
use std::fs;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpService,
};
use reqwest::{Client, ClientBuilder};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};

use crate::failure;
use crate::settings::stall;

/// Names a file of certificates that are trusted too.
const FURTHER_CERTIFICATES: &str = "AWS_CA_BUNDLE";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// A client. `allows_http`: also for unencrypted requests.
pub(crate) fn client(allows_http: bool) -> io::Result<Client> {
    built(builder(allows_http)?)
}

fn built(builder: ClientBuilder) -> io::Result<Client> {
    builder.build().map_err(|error| failure::of_chain(&error))
}

fn builder(allows_http: bool) -> io::Result<ClientBuilder> {
    if !allows_http && env::var_os(FURTHER_CERTIFICATES).is_none() {
        trust::system_certificates().map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
    }
    let stall = stall();
    Ok(Client::builder()
        .user_agent(concat!("bulkwire/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured((*tls()?).clone())
        .https_only(!allows_http)
        .connect_timeout(CONNECT_TIMEOUT.min(stall))
        .read_timeout(stall))
}

/// Makes clients for the stores.
#[derive(Debug)]
pub(crate) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let value = |key| options.get_config_value(&key);
        let allows_http = value(ClientConfigKey::AllowHttp).is_some_and(|text| text == "true");
        let failed =
            |source: io::Error| object_store::Error::Generic { store: "HTTP", source: source.into() };
        let mut builder = builder(allows_http).map_err(failed)?;
        if let Some(proxy) = value(ClientConfigKey::ProxyUrl) {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| failed(failure::of_chain(&error)))?;
            builder = builder.proxy(proxy);
        }
        Ok(HttpClient::new(Service(built(builder).map_err(failed)?)))
    }
}

/// Requests of a store. A certificate that is refused is no passing trouble, as other failures to connect may be.
#[derive(Debug)]
struct Service(Client);

impl HttpService for Service {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Answer> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            self.0.call(request).await.map_err(|error| match failure::is_of_certificate(&error) {
                true => HttpError::new(HttpErrorKind::Unknown, error),
                false => error,
            })
        })
    }
}

type Answer = Result<HttpResponse, HttpError>;

/// What a handshake needs; the system's certificates are read once.
fn tls() -> io::Result<Arc<ClientConfig>> {
    static TLS: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(tls) = TLS.get() {
        return Ok(Arc::clone(tls));
    }
    let mut roots = trust::system_roots().unwrap_or_else(|_| RootCertStore::empty());
    if let Ok(file) = env::var(FURTHER_CERTIFICATES) {
        roots.add_parsable_certificates(certificates_of(&file)?);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::clone(TLS.get_or_init(|| Arc::new(config))))
}

/// The certificates of a PEM file.
fn certificates_of(file: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    let failed = |reason: String| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{FURTHER_CERTIFICATES}: {file}: {reason}"))
    };
    let bytes = fs::read(file).map_err(|error| failed(error.to_string()))?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    match found.map_err(|error| failed(error.to_string()))? {
        found if found.is_empty() => Err(failed("holds no certificate".to_owned())),
        found => Ok(found),
    }
}
