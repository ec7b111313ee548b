//! Decides who may talk to the server: the browser that was given the token, at our own address, from our own pages.
//!
//! The first request brings the token of the address that was printed. It gets a cookie in exchange, and the token is worthless from then
//! on. Names of hosts are compared because a foreign name may lead to 127.0.0.1; origins, because a foreign page may send forms.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

/// Bytes of the token and of the cookie.
const SECRET_BYTES: usize = 16;

/// The content security policy of pages: our own style and scripts only.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Guards a server at one port.
pub struct Guard {
    port: u16,
    /// The token of the printed address, until it is used.
    token: Mutex<Option<String>>,
    /// The value of the cookie.
    session: String,
}

/// No random numbers can be had.
#[derive(Debug, thiserror::Error)]
#[error("the system has no random numbers: {0}")]
pub struct NoRandomness(String);

impl Guard {
    /// Makes a guard with a new token.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new(port: u16) -> Result<Self, NoRandomness> {
        Ok(Self { port, token: Mutex::new(Some(random()?)), session: random()? })
    }

    /// Returns the address that lets one browser in, once.
    pub fn address(&self) -> Option<String> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.as_ref().map(|token| format!("http://127.0.0.1:{}/start/{token}", self.port))
    }

    /// Takes the token: the first one to bring it is let in.
    fn redeem(&self, given: &str) -> bool {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = token.as_deref().is_some_and(|token| is_same(token, given));
        if is_right {
            *token = None;
        }
        is_right
    }

    /// Returns the cookie's name. Cookies of one host are shared by its ports, so each wizard has a name of its own.
    fn cookie(&self) -> String {
        format!("bulkwire_wizard_{}", self.port)
    }

    fn is_our_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        host.to_str().is_ok_and(|host| {
            host == format!("127.0.0.1:{}", self.port) || host == format!("localhost:{}", self.port)
        })
    }

    /// Returns true if a request was sent by one of our own pages.
    fn is_our_page(&self, headers: &HeaderMap) -> bool {
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin") {
            return false;
        }
        match headers.get(header::ORIGIN).map(HeaderValue::to_str) {
            None => site.is_some(),
            Some(Ok(origin)) => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                origin == format!("http://{host}")
            }
            Some(Err(_)) => false,
        }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(given, value)| given == name && is_same(value, &self.session))
    }

    /// Says why a request is refused.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        if !self.is_our_host(headers) {
            return Some((
                StatusCode::MISDIRECTED_REQUEST,
                "This server answers at 127.0.0.1 and localhost alone.",
            ));
        }
        if request.uri().path().starts_with("/start/") {
            return None;
        }
        if !self.has_cookie(headers) {
            return Some((
                StatusCode::FORBIDDEN,
                "This wizard belongs to another browser. Open the address that `bulkwire wizard` has printed; it works once. \
                 If it is used up, start the wizard again.",
            ));
        }
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_safe && !self.is_our_page(headers) {
            return Some((StatusCode::FORBIDDEN, "Another page has sent this request."));
        }
        None
    }
}

/// Lets a request through, or refuses it, and sets the headers that every answer has.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        None => next.run(request).await,
        Some(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        // Not `no-referrer`: browsers would then send `Origin: null` with forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let isolation =
        [("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin")];
    for (name, value) in isolation {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Answers `GET /start/TOKEN`: a cookie for the token.
pub async fn start(
    State(guard): State<Arc<Guard>>,
    Path(token): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    // Looking at the address without opening it does not use it up.
    if method != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")]).into_response();
    }
    // A page that is opened a second time is let in by its cookie.
    if guard.has_cookie(&headers) {
        return Redirect::to("/").into_response();
    }
    if !guard.redeem(&token) {
        let text = "This address has been used, or is not the one that was printed. Start the wizard again.";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", guard.cookie(), guard.session);
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn random() -> Result<String, NoRandomness> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares without telling by its time where two texts differ.
fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left.bytes().zip(right.bytes()).fold(0, |sum, (left, right)| sum | (left ^ right)) == 0
}
