//! Sends a request over HTTP.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ureq::Agent;
use ureq::http::{Method, Request, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::model::HttpTask;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of an answer that a variable takes at most.
const ANSWER_MAX: u64 = 1 << 20;
/// Characters of an answer that a failure shows.
const SHOWN: usize = 200;

pub(super) fn run(task: &TaskContext<'_>, raw: &HttpTask) -> Result<Done, TaskError> {
    let http: HttpTask = task.action()?;
    // The file's own words: a URL may have a secret in it.
    let shown = &raw.url;
    let body = match (&http.body, &http.body_file) {
        (Some(body), _) => Some(body.clone().into_bytes()),
        (None, Some(file)) => {
            let path = task.scope.folder().join(file);
            Some(std::fs::read(path).map_err(|error| TaskError::new(format!("{file}: {error}")))?)
        }
        (None, None) => None,
    };
    let method = http.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let method: Method = method.parse().map_err(|_| TaskError::last(format!("{method:?} is no method")))?;
    let mut request = Request::builder().method(method.clone()).uri(&http.url);
    for (name, value) in &http.headers {
        request = request.header(name, value);
    }
    let failed = |reason: &str| format!("{method} {shown}: {reason}");
    let agent = agent(http.timeout.map_or(TIMEOUT, |span| span.0))?;
    // Only what the request says may be shown: the library's words for a bad URL have the URL in them.
    let unsound = |_| TaskError::last(failed("the URL or a header is not right"));
    let sent = match body {
        Some(body) => agent.run(request.body(body).map_err(unsound)?),
        None => agent.run(request.body(()).map_err(unsound)?),
    };
    let mut answer = sent.map_err(|error| {
        // A request that was sent may have been heard.
        let was_sent = !matches!(
            error,
            ureq::Error::HostNotFound
                | ureq::Error::ConnectionFailed
                | ureq::Error::BadUri(_)
                | ureq::Error::Tls(_)
        );
        let is_harmless = method == Method::GET || method == Method::HEAD || method == Method::OPTIONS;
        let reason = match &error {
            ureq::Error::BadUri(_) => "this is no URL".to_owned(),
            other => other.to_string(),
        };
        TaskError { is_in_doubt: was_sent && !is_harmless, ..TaskError::new(failed(&reason)) }
    })?;
    let status = answer.status();
    let expected = http.status.as_ref().map_or(status.is_success(), |codes| codes.contains(&status.as_u16()));
    if !expected {
        let mut text = Vec::new();
        let _ = answer.body_mut().as_reader().take(SHOWN as u64 * 4).read_to_end(&mut text);
        let text: String = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
        let said = if text.trim().is_empty() { String::new() } else { format!(": {}", text.trim()) };
        return Err(TaskError::new(failed(&format!("the answer is {status}{said}"))));
    }
    let mut done = Done { notes: vec![words(status)], ..Done::default() };
    if let Some(file) = &http.save {
        save(&task.scope.folder().join(file), &mut answer.body_mut().as_reader())
            .map_err(|error| TaskError::new(format!("{file}: {error}")))?;
    } else if let Some(name) = &http.into {
        let mut text = Vec::new();
        answer
            .body_mut()
            .as_reader()
            .take(ANSWER_MAX + 1)
            .read_to_end(&mut text)
            .map_err(|error| TaskError::new(failed(&error.to_string())))?;
        if text.len() as u64 > ANSWER_MAX {
            return Err(TaskError::new(failed(
                "the answer is longer than 1 MiB; `save` writes it to a file",
            )));
        }
        done.variables.insert(name.clone(), Some(String::from_utf8_lossy(&text).into_owned()));
    }
    Ok(done)
}

fn words(status: StatusCode) -> String {
    format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()).trim_end().to_owned()
}

/// The file appears under its name when it is whole.
fn save(path: &std::path::Path, body: &mut dyn Read) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        std::io::copy(body, &mut file)?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(&part, path)).inspect_err(|_| {
        // Half an answer is worse than none.
        let _ = std::fs::remove_file(&part);
    })
}

/// TLS by ring, and the certificates that this machine trusts.
fn agent(timeout: Duration) -> Result<Agent, TaskError> {
    static ROOTS: OnceLock<Vec<Certificate<'static>>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let loaded = rustls_native_certs::load_native_certs();
        loaded.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
    });
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    Ok(Agent::config_builder()
        .tls_config(tls)
        .timeout_global((!timeout.is_zero()).then_some(timeout))
        .http_status_as_error(false)
        .build()
        .new_agent())
}
