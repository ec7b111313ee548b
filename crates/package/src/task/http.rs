//! Sends a request over HTTP.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use trust::NothingTrusted;
use ureq::http::{Method, Request, Response, StatusCode};
use ureq::tls::{Certificate, PemItem, parse_pem};
use ureq::{Agent, Body};
use url::Url;

use crate::model::HttpTask;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of an answer that a variable takes at most.
const ANSWER_MAX: u64 = 1 << 20;
/// The interval at which the request checks whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Redirections that are followed.
const REDIRECTS_MAX: usize = 10;
/// Characters of an answer that a failure shows.
const SHOWN: usize = 200;

pub(super) fn run(task: &TaskContext<'_>, raw: &HttpTask) -> Result<Done, TaskError> {
    let http: HttpTask = task.action()?;
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
    let is_harmless = method == Method::GET || method == Method::HEAD || method == Method::OPTIONS;
    let exchange = Exchange {
        // The file's own words: a URL may have a secret in it.
        shown: raw.url.clone(),
        folder: task.scope.folder().to_owned(),
        method,
        body,
        http,
        is_abandoned: Arc::new(AtomicBool::new(false)),
    };
    // The library cannot end a request, so a run that is to end leaves it behind.
    let is_abandoned = Arc::clone(&exchange.is_abandoned);
    let (sender, answer) = sync_channel(1);
    thread::spawn(move || {
        let _ = sender.send(exchange.run());
    });
    loop {
        match answer.recv_timeout(LOOK) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) if task.run.is_interrupted() => {
                is_abandoned.store(true, Ordering::SeqCst);
                return Err(TaskError { is_in_doubt: !is_harmless, ..TaskError::interrupted() });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TaskError::new("the request ended without an answer"));
            }
        }
    }
}

/// A request and what becomes of its answer.
struct Exchange {
    shown: String,
    folder: PathBuf,
    method: Method,
    body: Option<Vec<u8>>,
    http: HttpTask,
    /// Nobody waits for it any more.
    is_abandoned: Arc<AtomicBool>,
}

impl Exchange {
    fn failed(&self, reason: &str) -> String {
        format!("{} {}: {reason}", self.method, self.shown)
    }

    fn run(mut self) -> Result<Done, TaskError> {
        let body = self.body.take();
        let http = &self.http;
        let further =
            http.ca_file.as_ref().map(|file| certificates(&self.folder.join(file), file)).transpose()?;
        let mut answer = self.answered(body, &further.unwrap_or_default())?;
        let status = answer.status();
        let expected =
            http.status.as_ref().map_or(status.is_success(), |codes| codes.contains(&status.as_u16()));
        if !expected {
            let mut text = Vec::new();
            let _ = answer.body_mut().as_reader().take(SHOWN as u64 * 4).read_to_end(&mut text);
            let text: String = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
            let said = if text.trim().is_empty() { String::new() } else { format!(": {}", text.trim()) };
            return Err(TaskError::new(self.failed(&format!("the answer is {status}{said}"))));
        }
        let mut done = Done { notes: vec![words(status)], ..Done::default() };
        if let Some(file) = &http.save {
            save(&self.folder.join(file), &mut answer.body_mut().as_reader(), &self.is_abandoned)
                .map_err(|error| TaskError::new(format!("{file}: {error}")))?;
        } else if let Some(name) = &http.into {
            let mut text = Vec::new();
            answer
                .body_mut()
                .as_reader()
                .take(ANSWER_MAX + 1)
                .read_to_end(&mut text)
                .map_err(|error| TaskError::new(self.failed(&error.to_string())))?;
            if text.len() as u64 > ANSWER_MAX {
                return Err(TaskError::new(
                    self.failed("the answer is longer than 1 MiB; `save` writes it to a file"),
                ));
            }
            done.variables.insert(name.clone(), Some(String::from_utf8_lossy(&text).into_owned()));
        }
        Ok(done)
    }

    /// Sends the request and follows redirections. Its own headers and its body go to the host of its URL alone.
    fn answered(
        &self,
        body: Option<Vec<u8>>,
        further: &[Certificate<'static>],
    ) -> Result<Response<Body>, TaskError> {
        let http = &self.http;
        let timeout = http.timeout.map_or(TIMEOUT, |span| span.0);
        let deadline = Instant::now().checked_add(timeout).filter(|_| !timeout.is_zero());
        // Only what the request says may be shown: the library's words for a bad URL have the URL in them.
        let unsound = || TaskError::last(self.failed("the URL or a header is not right"));
        let first = Url::parse(&http.url).map_err(|_| unsound())?;
        let mut target = Target { url: first.clone(), method: self.method.clone(), body };
        for _ in 0..=REDIRECTS_MAX {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(self.unsent(&ureq::Error::Timeout(ureq::Timeout::Global)));
            }
            let mut request = Request::builder().method(target.method.clone()).uri(target.url.as_str());
            if is_of_host(&first, &target.url) {
                for (name, value) in &http.headers {
                    request = request.header(name, value);
                }
            }
            let agent = agent(target.url.as_str(), left, further.to_vec())
                .map_err(|error| TaskError::last(self.failed(&error.to_string())))?;
            let sent = match &target.body {
                Some(body) => agent.run(request.body(body.as_slice()).map_err(|_| unsound())?),
                None => agent.run(request.body(()).map_err(|_| unsound())?),
            };
            let answer = sent.map_err(|error| self.unsent(&error))?;
            let is_expected =
                http.status.as_ref().is_some_and(|codes| codes.contains(&answer.status().as_u16()));
            match target.next(&first, &answer) {
                _ if is_expected => return Ok(answer),
                Ok(None) => return Ok(answer),
                Ok(Some(next)) => target = next,
                // The server has said that it did nothing.
                Err(reason) => return Err(TaskError::last(self.failed(&reason))),
            }
        }
        Err(TaskError::new(self.failed(&format!("there were more than {REDIRECTS_MAX} redirections"))))
    }

    /// Makes the error of a request without an answer. One that was sent may have been heard.
    fn unsent(&self, error: &ureq::Error) -> TaskError {
        let was_sent = match error {
            ureq::Error::HostNotFound
            | ureq::Error::ConnectionFailed
            | ureq::Error::BadUri(_)
            | ureq::Error::Tls(_) => false,
            ureq::Error::Io(error) => !is_before_request(error),
            _ => true,
        };
        let method = &self.method;
        let is_harmless = method == Method::GET || method == Method::HEAD || method == Method::OPTIONS;
        let reason = match error {
            ureq::Error::BadUri(_) => "this is no URL".to_owned(),
            other => other.to_string(),
        };
        TaskError { is_in_doubt: was_sent && !is_harmless, ..TaskError::new(self.failed(&reason)) }
    }
}

/// The target of the next request, which a redirection changes.
struct Target {
    url: Url,
    method: Method,
    body: Option<Vec<u8>>,
}

impl Target {
    /// Returns where an answer sends the request; None if it is the last one.
    fn next(&self, first: &Url, answer: &Response<Body>) -> Result<Option<Target>, String> {
        let status = answer.status();
        let location = answer.headers().get("location").and_then(|location| location.to_str().ok());
        let Some(location) = location.filter(|_| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308))
        else {
            return Ok(None);
        };
        let url = self.url.join(location).map_err(|_| format!("the answer is {status} to no URL"))?;
        if !matches!(url.scheme(), "http" | "https")
            || (self.url.scheme() == "https" && url.scheme() == "http")
        {
            return Err(format!("the answer is {status} to {}:, which is not followed", url.scheme()));
        }
        let keeps_all = matches!(status.as_u16(), 307 | 308);
        let reads = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if keeps_all && !reads && !is_of_host(first, &url) {
            let host = url.host_str().unwrap_or_default();
            return Err(format!(
                "the answer is {status} to {host}, and a {} goes to the host of `url` alone; nothing was done",
                self.method
            ));
        }
        let (method, body) = match keeps_all || reads {
            true => (self.method.clone(), self.body.clone()),
            false => (Method::GET, None),
        };
        let body = body.filter(|_| is_of_host(first, &url));
        Ok(Some(Target { url, method, body }))
    }
}

/// Returns true if a URL is of the server that the task names, maybe with encryption where it names none.
fn is_of_host(first: &Url, url: &Url) -> bool {
    let is_encrypted_now = first.scheme() == "http"
        && url.scheme() == "https"
        && first.port().is_none()
        && url.port().is_none()
        && first.host() == url.host();
    first.origin() == url.origin() || is_encrypted_now
}

/// Returns true if the connection was not made, so that nothing was sent over it.
fn is_before_request(error: &std::io::Error) -> bool {
    let of_tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    error.kind() == std::io::ErrorKind::ConnectionRefused
        || matches!(of_tls, Some(rustls::Error::InvalidCertificate(_)))
}

/// Reads the certificates of a PEM file.
fn certificates(path: &Path, shown: &str) -> Result<Vec<Certificate<'static>>, TaskError> {
    let bytes = std::fs::read(path).map_err(|error| TaskError::new(format!("{shown}: {error}")))?;
    let found: Vec<Certificate<'static>> = parse_pem(&bytes)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match found.is_empty() {
        true => Err(TaskError::last(format!("{shown} has no certificate in PEM form"))),
        false => Ok(found),
    }
}

fn words(status: StatusCode) -> String {
    format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()).trim_end().to_owned()
}

/// Saves the body. The file appears under its name when it is whole.
fn save(path: &Path, body: &mut dyn Read, is_abandoned: &AtomicBool) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        std::io::copy(body, &mut file)?;
        file.sync_all()
    });
    let written = written.and_then(|()| match is_abandoned.load(Ordering::SeqCst) {
        true => Err(std::io::Error::from(std::io::ErrorKind::Interrupted)),
        false => std::fs::rename(&part, path),
    });
    written.inspect_err(|_| {
        // Half an answer is worse than none.
        let _ = std::fs::remove_file(&part);
    })
}

/// Makes an HTTP client that trusts this machine's certificates and further ones.
fn agent(
    url: &str,
    timeout: Option<Duration>,
    further: Vec<Certificate<'static>>,
) -> Result<Agent, NothingTrusted> {
    Ok(Agent::config_builder()
        .tls_config(trust::for_requests(url, further)?)
        .timeout_global(timeout)
        .max_redirects(0)
        .http_status_as_error(false)
        .build()
        .new_agent())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// Where a request goes after an answer: its method, its address, whether its body goes along.
    fn next(
        method: Method,
        from: &str,
        status: u16,
        to: &str,
    ) -> Result<Option<(String, String, bool)>, String> {
        let answer =
            Response::builder().status(status).header("location", to).body(Body::builder().data("")).unwrap();
        let target = Target { url: url(from), method, body: Some(b"rows".to_vec()) };
        let next = target.next(&url("https://a.example/in"), &answer)?;
        Ok(next.map(|next| (next.method.to_string(), next.url.to_string(), next.body.is_some())))
    }

    #[test]
    fn redirections_take_the_tasks_own_to_its_host_alone() {
        let here = "https://a.example/in";
        let moved = |method: &str, to: &str, body| Ok(Some((method.to_owned(), to.to_owned(), body)));
        assert_eq!(next(Method::POST, here, 200, "https://a.example/x"), Ok(None));
        assert_eq!(next(Method::POST, here, 307, "/x"), moved("POST", "https://a.example/x", true));
        assert_eq!(next(Method::POST, here, 303, "/x"), moved("GET", "https://a.example/x", false));
        assert_eq!(
            next(Method::POST, here, 302, "https://b.example/"),
            moved("GET", "https://b.example/", false)
        );
        assert_eq!(
            next(Method::GET, here, 308, "https://b.example/"),
            moved("GET", "https://b.example/", false)
        );
        assert!(
            next(Method::POST, here, 307, "https://b.example/").unwrap_err().contains("nothing was done")
        );
        assert!(next(Method::GET, here, 302, "http://a.example/").is_err());
        assert!(next(Method::GET, here, 302, "file:///etc/passwd").is_err());
        assert!(is_of_host(&url("http://a.example/"), &url("https://a.example/x")));
        for other in ["https://b.example/", "https://a.example:8443/", "http://a.example/"] {
            assert!(!is_of_host(&url(here), &url(other)), "{other}");
        }
    }
}
