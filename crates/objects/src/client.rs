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
use reqwest::dns::Resolve;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};

use crate::failure::{self, OtherHost, OtherRegion};
use crate::names::{self, Names};
use crate::patience::Patience;
use crate::settings::{allows_http as allows_http_to, stall};

/// Names a file of certificates that are trusted too.
const FURTHER_CERTIFICATES: &str = "AWS_CA_BUNDLE";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Creates a client. `allows_http`: also for unencrypted requests.
pub(crate) fn client(allows_http: bool) -> io::Result<Client> {
    built(builder(allows_http, names())?)
}

/// Creates a client that finds hosts in a way of its own.
#[cfg(test)]
pub(crate) fn looking_up<R: Resolve + 'static>(names: Arc<R>) -> io::Result<Client> {
    built(builder(false, names)?)
}

/// Returns the names that are looked up by all clients of this process.
fn names() -> Arc<Names> {
    static NAMES: OnceLock<Arc<Names>> = OnceLock::new();
    Arc::clone(NAMES.get_or_init(Arc::default))
}

fn built(builder: ClientBuilder) -> io::Result<Client> {
    builder.build().map_err(|error| failure::of_chain(&error))
}

fn builder<R: Resolve + 'static>(allows_http: bool, names: Arc<R>) -> io::Result<ClientBuilder> {
    if !allows_http && env::var_os(FURTHER_CERTIFICATES).is_none() {
        trust::system_certificates().map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
    }
    let stall = stall();
    Ok(Client::builder()
        .user_agent(concat!("bulkwire/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured((*tls()?).clone())
        .https_only(!allows_http)
        // The address that is left may be a secret as a whole, as signed ones are.
        .referer(false)
        .redirect(Policy::custom(followed))
        .dns_resolver(names)
        .connect_timeout(CONNECT_TIMEOUT.min(stall))
        .read_timeout(stall))
}

/// Redirections that are followed.
const REDIRECTS_MAX: usize = 10;

/// Follows a redirection of a web server, but to no host that may not be asked without encryption.
fn followed(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > REDIRECTS_MAX {
        return attempt.error(format!("there were more than {REDIRECTS_MAX} redirections"));
    }
    let host = attempt.url().host_str().unwrap_or_default();
    if attempt.url().scheme() == "http" && !allows_http_to(host) {
        let text = format!(
            "the server redirects to {host} without encryption; unencrypted connections are for this machine only, or set BULKWIRE_ALLOW_HTTP=true"
        );
        return attempt.error(text);
    }
    attempt.follow()
}

/// Follows a redirection of a store on its own host. Its requests carry tokens, which no other host is to see.
fn followed_within(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_same = attempt.previous().last().is_some_and(|before| before.origin() == attempt.url().origin());
    if is_same && attempt.previous().len() <= REDIRECTS_MAX { attempt.follow() } else { attempt.stop() }
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
        let mut builder =
            builder(allows_http, names()).map_err(failed)?.redirect(Policy::custom(followed_within));
        if let Some(proxy) = value(ClientConfigKey::ProxyUrl) {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| failed(failure::of_chain(&error)))?;
            builder = builder.proxy(proxy);
        }
        let client = built(builder).map_err(failed)?;
        Ok(HttpClient::new(Service { client, patience: Patience::new }))
    }
}

/// Requests of a store. A certificate that is refused, a name that no host has and a bucket of another region are no passing trouble,
/// as other failures to connect may be.
#[derive(Debug)]
struct Service {
    client: Client,
    patience: fn() -> Patience,
}

impl HttpService for Service {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Answer> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let mut patience = (self.patience)();
            loop {
                let error = match self.client.call(request.clone()).await {
                    Ok(answer) => return checked(answer),
                    Err(error) => error,
                };
                if failure::is_of_certificate(&error) {
                    return Err(HttpError::new(HttpErrorKind::Unknown, error));
                }
                if !names::is_missing(&error) {
                    return Err(error);
                }
                let last = patience.after_unknown_host(error).await;
                last.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
            }
        })
    }
}

/// Checks an answer of S3. One from another region than the bucket's is an error that names the right one,
/// and so is a redirection that was not followed.
fn checked(answer: HttpResponse) -> Answer {
    let status = answer.status();
    let is_elsewhere = matches!(status.as_u16(), 301 | 307 | 308);
    let region = answer.headers().get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
    if let Some(elsewhere) =
        region.filter(|_| is_elsewhere).and_then(|region| OtherRegion::new(status.to_string(), region))
    {
        return Err(HttpError::new(HttpErrorKind::Unknown, elsewhere));
    }
    let location = answer.headers().get("location").and_then(|location| location.to_str().ok());
    match location.filter(|_| is_elsewhere || matches!(status.as_u16(), 302 | 303)) {
        Some(location) => {
            let elsewhere = OtherHost::new(status.to_string(), location);
            Err(HttpError::new(HttpErrorKind::Unknown, elsewhere))
        }
        None => Ok(answer),
    }
}

type Answer = Result<HttpResponse, HttpError>;

/// Returns the settings of TLS handshakes; the system's certificates are read once.
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

/// Reads the certificates of a PEM file.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use object_store::client::HttpRequestBody;

    use super::*;
    use crate::names::tests::Nowhere;
    use crate::patience::{UNKNOWN_HOST_TRIES, tests::hasty};
    use crate::web_object::tests::{answer, serving};

    /// Asks a host whose look-up says this; what became of it, and how often the name was looked up.
    async fn asked(says: &'static str) -> (HttpError, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let nowhere = Arc::new(Nowhere { says, asked: Arc::clone(&count) });
        let client = looking_up(nowhere).unwrap();
        let service = Service { client, patience: hasty };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = "https://bucket.store.example/a.csv".parse().unwrap();
        (service.call(request).await.unwrap_err(), count.load(Ordering::Relaxed))
    }

    /// The token of a session goes to no other host.
    #[tokio::test]
    async fn a_store_that_redirects_to_another_host_is_not_followed() {
        let to = "Location: http://127.0.0.1:1/b.csv\r\n";
        let (port, _) = serving(vec![answer("302 Found", to, "")]);
        let client =
            built(builder(true, names()).unwrap().redirect(Policy::custom(followed_within))).unwrap();
        let service = Service { client, patience: hasty };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = format!("http://127.0.0.1:{port}/a.csv").parse().unwrap();
        let error = service.call(request).await.unwrap_err();
        let text = failure::of_chain(&error).to_string();
        assert!(text.contains("redirects to 127.0.0.1") && text.contains("no other host"), "{text}");
    }

    #[tokio::test]
    async fn a_host_that_does_not_exist_is_tried_a_few_times() {
        let (error, tries) = asked("Name or service not known").await;
        assert_eq!(tries, UNKNOWN_HOST_TRIES);
        // The stores' library tries no error of this kind again.
        assert_eq!(error.kind(), HttpErrorKind::Unknown);
        assert_eq!(failure::of_chain(&error).to_string(), "no host has the name bucket.store.example");
    }

    #[tokio::test]
    async fn a_look_up_that_failed_is_left_to_the_stores_library_to_try_again() {
        let (error, tries) = asked("Temporary failure in name resolution").await;
        assert_eq!((tries, error.kind()), (1, HttpErrorKind::Connect));
        let text = failure::of_chain(&error).to_string();
        assert!(text.contains("bucket.store.example") && text.contains("Temporary failure"), "{text}");
    }
}
