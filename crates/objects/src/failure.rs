//! Failures that a service reports, in one line: status, the service's code, its words.

use std::error::Error;
use std::io::{self, ErrorKind};

use formats::objects::shown_url;

/// The text before a status in the errors of the stores' library.
const STATUS_MARK: &str = "Server returned non-2xx status code: ";
/// Addresses at which a cloud machine answers for its own credentials.
const METADATA_MARKS: [&str; 3] = ["169.254.169.254", "169.254.170.2/", "metadata.google.internal"];
const TEXT_CHARS_MAX: usize = 300;

/// A bucket that another region has than the one that was asked.
#[derive(Debug, thiserror::Error)]
#[error("{status}: the bucket is in the region {region}; set AWS_REGION={region}")]
pub(crate) struct OtherRegion {
    status: String,
    region: String,
}

impl OtherRegion {
    /// Names another region. `None` for a text that is no name of a region.
    pub(crate) fn new(status: String, region: &str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let fits = !region.is_empty() && region.len() <= 64 && region.chars().all(is_name);
        fits.then(|| Self { status, region: region.to_owned() })
    }
}

/// A store that sends its requests to another host, where its tokens must not go.
#[derive(Debug, thiserror::Error)]
#[error(
    "{status}: the store redirects to {host}, and requests with credentials go to no other host; name the endpoint that answers"
)]
pub(crate) struct OtherHost {
    status: String,
    host: String,
}

impl OtherHost {
    pub(crate) fn new(status: String, location: &str) -> Self {
        let url = url::Url::parse(location).ok();
        let host = url.as_ref().and_then(url::Url::host_str).unwrap_or("another address");
        Self { status, host: host.chars().take(TEXT_CHARS_MAX).collect() }
    }
}

/// Makes the error of a request to a store.
pub(crate) fn of_store(error: &object_store::Error) -> io::Error {
    use object_store::Error as E;
    if let Some(elsewhere) = chain(error).find_map(|link| link.downcast_ref::<OtherRegion>()) {
        return io::Error::new(ErrorKind::InvalidInput, elsewhere.to_string());
    }
    if let Some(elsewhere) = chain(error).find_map(|link| link.downcast_ref::<OtherHost>()) {
        return io::Error::new(ErrorKind::InvalidInput, elsewhere.to_string());
    }
    let texts: Vec<String> = chain(error).map(ToString::to_string).collect();
    let answered = texts.iter().find_map(|text| text.strip_prefix(STATUS_MARK));
    if texts.iter().any(|text| METADATA_MARKS.iter().any(|mark| text.contains(mark))) {
        let answer = answered.map_or_else(|| of_chain(error).to_string(), one_line);
        return io::Error::new(
            ErrorKind::PermissionDenied,
            format!(
                "no credentials were found, and the machine has none ({answer}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_ACCOUNT_KEY or GOOGLE_APPLICATION_CREDENTIALS"
            ),
        );
    }
    if let Some(answer) = answered {
        let (status, body) = answer.split_once(": ").unwrap_or((answer, ""));
        let code = status.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or_default();
        return of_answer(code, status, body);
    }
    if texts.iter().any(|text| text.contains("redirect without LOCATION")) {
        return io::Error::new(
            ErrorKind::InvalidInput,
            "301 Moved Permanently, PermanentRedirect: the bucket is in another region; name it by AWS_REGION",
        );
    }
    match error {
        E::NotFound { .. } => io::Error::new(ErrorKind::NotFound, "404 Not Found"),
        E::Precondition { .. } => changed(),
        E::AlreadyExists { .. } => exists(),
        E::NotImplemented { .. } | E::NotSupported { .. } => {
            io::Error::new(ErrorKind::Unsupported, one_line(&error.to_string()))
        }
        _ => of_chain(error),
    }
}

/// Makes the error that an answer is.
pub(crate) fn of_answer(code: u16, status: &str, body: &str) -> io::Error {
    let kind = match code {
        404 | 410 => ErrorKind::NotFound,
        401 | 403 => ErrorKind::PermissionDenied,
        412 => return changed(),
        409 => ErrorKind::AlreadyExists,
        408 | 504 => ErrorKind::TimedOut,
        400..500 => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    let said = [element(body, "Code"), element(body, "Message").or_else(|| member(body, "message"))];
    let said: Vec<String> = said.into_iter().flatten().map(one_line).collect();
    let text = match said.as_slice() {
        [] => status.to_owned(),
        said => format!("{status}, {}", said.join(": ")),
    };
    io::Error::new(kind, text)
}

/// Makes the error of an object that is no longer the one that was looked at.
pub(crate) fn changed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the object changed while it was read")
}

/// Makes the error of an object that must not be there, and is.
pub(crate) fn exists() -> io::Error {
    io::Error::new(ErrorKind::AlreadyExists, "there is such an object already")
}

/// Returns true if a certificate was refused.
pub(crate) fn is_of_certificate(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|link| link.is::<rustls::Error>() || link.to_string().contains("certificate"))
}

/// Makes an error of the network: what it was about, and what was underneath.
pub(crate) fn of_chain(error: &(dyn Error + 'static)) -> io::Error {
    let mut kind = ErrorKind::Other;
    let mut last = String::new();
    for link in chain(error) {
        last = link.to_string();
        if let Some(io) = link.downcast_ref::<io::Error>() {
            kind = io.kind();
        }
        if link.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout) {
            let text = "the server did not answer in time";
            return io::Error::new(ErrorKind::TimedOut, text);
        }
    }
    if last.contains("URL scheme is not allowed") {
        last = "an unencrypted connection is not allowed; https is expected".to_owned();
    }
    io::Error::new(kind, one_line(&last))
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let current = next?;
        next = current.source();
        Some(current)
    })
}

/// Returns the text of an element of XML.
fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text).filter(|text| !text.is_empty())
}

/// Returns the first text of a name in JSON, up to a quote.
fn member<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("\"{name}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(text, _)| text).filter(|text| !text.is_empty())
}

/// Returns the first line of a text, without the secrets that URLs in it may hold.
fn one_line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let words: Vec<String> = first
        .split(' ')
        .map(|word| match word.find("http") {
            Some(at) => {
                let (before, url) = word.split_at(at);
                format!("{before}{}", shown_url(url))
            }
            None => word.to_owned(),
        })
        .collect();
    words.join(" ").chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line() {
        let body =
            "<?xml?>\n<Error><Code>NoSuchKey</Code><Message>The specified key\nis gone.</Message></Error>";
        let error = of_answer(404, "404 Not Found", body);
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::NotFound, "404 Not Found, NoSuchKey: The specified key")
        );
        let body = r#"{"error": {"code": 400, "message": "invalid name", "errors": [{"message": "x"}]}}"#;
        assert_eq!(of_answer(400, "400 Bad Request", body).to_string(), "400 Bad Request, invalid name");
        assert_eq!(of_answer(503, "503 Service Unavailable", "").to_string(), "503 Service Unavailable");
        assert_eq!(
            of_answer(412, "412 Precondition Failed", "").to_string(),
            "the object changed while it was read"
        );
    }

    #[test]
    fn urls_lose_their_queries() {
        assert_eq!(
            one_line("Error performing GET https://h/a?sig=secret in 1ms (http://u:pw@h/b?x)"),
            "Error performing GET https://h/a?... in 1ms (http://h/b?..."
        );
    }
}
