//! Requests over HTTPS, tried again where the answer asks for it.

use std::io::Read;
use std::time::Duration;

use tracing::debug;
use trust::NothingTrusted;
use ureq::Agent;
use ureq::http::{Method, Request};
use url::{Url, form_urlencoded};

use crate::error::EntraError;
use crate::patience::Patience;

/// Bytes of an answer that are read at most.
const ANSWER_MAX_BYTES: u64 = 1 << 20;
/// Number of times that a request is sent at most.
const ATTEMPTS_MAX: u32 = 5;
/// The pause before the second attempt; each further one doubles it.
const PAUSE: Duration = Duration::from_millis(800);
/// The longest pause that is taken, even if the server asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A request for a token.
#[derive(Debug)]
pub(crate) struct TokenRequest<'a> {
    pub url: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    /// Fields of a form that is posted; a GET without.
    pub form: &'a [(&'a str, &'a str)],
    /// Further statuses after which the request is tried again.
    pub passing: &'a [u16],
    /// True if a proxy may stand between.
    pub through_proxy: bool,
}

/// An answer of any status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub host: String,
    pub status: u16,
    pub body: String,
}

/// Sends a request, and again after an answer that is said to pass.
pub(crate) fn send(request: &TokenRequest<'_>, patience: &Patience<'_>) -> Result<Answer, EntraError> {
    let host = host_of(request.url);
    let mut pause = PAUSE;
    for attempt in 1.. {
        let sent = once(request, &host, patience.for_request()?);
        let (failure, asked) = match sent {
            Ok((answer, _)) if !is_passing(answer.status, request.passing) => return Ok(answer),
            Ok((answer, _)) if attempt >= ATTEMPTS_MAX => return Ok(answer),
            Ok((answer, asked)) => (format!("{host} answered {}", answer.status), asked),
            Err(error) if attempt >= ATTEMPTS_MAX => return Err(error),
            Err(error) => (error.to_string(), None),
        };
        let wait = asked.unwrap_or(pause).min(PAUSE_MAX);
        debug!(host, attempt, failure, wait_ms = wait.as_millis(), "asking for a token again");
        patience.wait(wait).map_err(|error| match error {
            EntraError::TimedOut(_) => EntraError::TimedOut(Some(failure)),
            other => other,
        })?;
        pause *= 2;
    }
    Err(EntraError::TimedOut(None))
}

fn is_passing(status: u16, further: &[u16]) -> bool {
    matches!(status, 408 | 429 | 500..=599) || further.contains(&status)
}

fn once(
    request: &TokenRequest<'_>,
    host: &str,
    time: Duration,
) -> Result<(Answer, Option<Duration>), EntraError> {
    let unreachable = |reason: String| EntraError::Unreachable { host: host.to_owned(), reason };
    let method = if request.form.is_empty() { Method::GET } else { Method::POST };
    let mut built = Request::builder().method(method).uri(request.url);
    for (name, value) in request.headers {
        built = built.header(*name, *value);
    }
    let agent =
        agent(request.url, time, request.through_proxy).map_err(|error| unreachable(error.to_string()))?;
    // The library's words for a bad header have the header in them.
    let unsound = |_| unreachable("the address or a header is not right".to_owned());
    let sent = match request.form {
        [] => agent.run(built.body(()).map_err(unsound)?),
        fields => {
            let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            let built = built.header("Content-Type", "application/x-www-form-urlencoded");
            agent.run(built.body(form).map_err(unsound)?)
        }
    };
    let mut answer = sent.map_err(|error| unreachable(error.to_string()))?;
    let seconds =
        answer.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let mut body = Vec::new();
    let read = answer.body_mut().as_reader().take(ANSWER_MAX_BYTES).read_to_end(&mut body);
    read.map_err(|error| unreachable(error.to_string()))?;
    let answer = Answer {
        host: host.to_owned(),
        status: answer.status().as_u16(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    Ok((answer, seconds.map(Duration::from_secs)))
}

/// Returns the host of an address, the only part of it that messages show.
pub(crate) fn host_of(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    parsed
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_else(|| "the token endpoint".to_owned())
}

/// Makes a client that trusts the certificates of this machine and follows no redirection: a secret goes only
/// where it was sent.
fn agent(url: &str, time: Duration, through_proxy: bool) -> Result<Agent, NothingTrusted> {
    let mut settings = Agent::config_builder()
        .tls_config(trust::for_requests(url, Vec::new())?)
        .timeout_global(Some(time))
        .max_redirects(0)
        .http_status_as_error(false);
    if !through_proxy {
        settings = settings.proxy(None);
    }
    Ok(settings.build().new_agent())
}
