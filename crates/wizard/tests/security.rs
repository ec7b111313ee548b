//! Who may talk to the wizard.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use bulkwire_wizard::Wizard;
use bulkwire_wizard::security::Guard;
use bulkwire_wizard::server::router;
use bulkwire_wizard::{Options, ServeError, serve};
use tower::ServiceExt;

const PORT: u16 = 4711;

struct Place {
    router: Router,
    start: String,
}

impl Place {
    fn new() -> Self {
        let guard = Arc::new(Guard::new(PORT).unwrap());
        let address = guard.address().unwrap();
        let start = address.strip_prefix("http://127.0.0.1:4711").unwrap().to_owned();
        Self { router: router(&Arc::new(Wizard::new(None)), guard), start }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:4711");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.router.clone().oneshot(request)).unwrap()
    }

    fn cookie(&self) -> String {
        let response = self.ask("GET", &self.start, &[]);
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }
}

#[test]
fn the_token_lets_one_browser_in() {
    let place = Place::new();
    assert_eq!(place.ask("GET", "/source", &[]).status(), StatusCode::FORBIDDEN);
    assert_eq!(
        place.ask("GET", "/start/0123456789abcdef0123456789abcdef", &[]).status(),
        StatusCode::FORBIDDEN
    );
    // Who only looks, as a preview of links does, does not use it up.
    for method in ["HEAD", "OPTIONS", "POST"] {
        let looked = place.ask(method, &place.start, &[]);
        assert!(looked.headers().get(header::SET_COOKIE).is_none(), "{method}");
    }
    let cookie = place.cookie();
    assert_eq!(place.ask("GET", "/source", &[("cookie", &cookie)]).status(), StatusCode::OK);
    // The token is used up; the browser that used it may come back by it.
    assert_eq!(place.ask("GET", &place.start, &[]).status(), StatusCode::FORBIDDEN);
    assert_eq!(place.ask("GET", &place.start, &[("cookie", &cookie)]).status(), StatusCode::SEE_OTHER);
    let other = format!("{}0", &cookie[..cookie.len() - 1]);
    let other = if other == cookie { format!("{}1", &cookie[..cookie.len() - 1]) } else { other };
    assert_eq!(place.ask("GET", "/source", &[("cookie", &other)]).status(), StatusCode::FORBIDDEN);
}

#[test]
fn other_names_of_the_host_are_refused() {
    let place = Place::new();
    let cookie = place.cookie();
    for (host, expected) in [
        ("127.0.0.1:4711", StatusCode::OK),
        ("localhost:4711", StatusCode::OK),
        ("evil.example:4711", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1:4712", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1.evil.example:4711", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let headers = [("host", host), ("cookie", cookie.as_str())];
        assert_eq!(place.ask("GET", "/source", &headers).status(), expected, "{host}");
    }
    let start = Place::new();
    let stolen = start.ask("GET", &start.start, &[("host", "evil.example:4711")]);
    assert_eq!(stolen.status(), StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(start.ask("GET", &start.start, &[]).status(), StatusCode::SEE_OTHER);
}

#[test]
fn foreign_pages_change_nothing() {
    let place = Place::new();
    let cookie = place.cookie();
    let ours = "http://127.0.0.1:4711";
    let cases: [(&[(&str, &str)], bool); 8] = [
        (&[("origin", ours), ("sec-fetch-site", "same-origin")], true),
        (&[("origin", ours)], true),
        (&[("sec-fetch-site", "same-origin")], true),
        (&[], false),
        (&[("origin", "https://evil.example")], false),
        (&[("origin", "null")], false),
        (&[("origin", "http://127.0.0.1:4712"), ("sec-fetch-site", "same-site")], false),
        (&[("origin", ours), ("sec-fetch-site", "cross-site")], false),
    ];
    for (headers, is_ours) in cases {
        let mut all = headers.to_vec();
        all.push(("cookie", &cookie));
        let status = place.ask("POST", "/source", &all).status();
        assert_eq!(status == StatusCode::SEE_OTHER, is_ours, "{headers:?}: {status}");
        assert_eq!(status == StatusCode::FORBIDDEN, !is_ours, "{headers:?}: {status}");
    }
}

#[test]
fn every_answer_has_the_headers() {
    let place = Place::new();
    let cookie = place.cookie();
    for (path, headers) in
        [("/source", vec![("cookie", cookie.as_str())]), ("/source", vec![]), ("/nowhere", vec![])]
    {
        let response = place.ask("GET", path, &headers);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(response.headers()[name], value, "{path}");
        }
    }
}

#[test]
fn it_ends_when_nobody_uses_it() {
    let options = Options {
        port: 0,
        opens_browser: false,
        idle_limit: Some(std::time::Duration::from_millis(100)),
        source: None,
    };
    serve(&options, None).unwrap();
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = Options { port, opens_browser: false, idle_limit: None, source: None };
    let refused = serve(&options, None);
    assert!(matches!(refused, Err(ServeError::Listen { port: named, .. }) if named == port), "{refused:?}");
}
