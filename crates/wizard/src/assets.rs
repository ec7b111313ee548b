//! The stylesheet and the scripts, which are parts of the program.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

const STYLE: &str = include_str!("../assets/wizard.css");
const TEXT_STYLE: &str = include_str!("../assets/text.css");
const TEXT_SCRIPT: &str = include_str!("../assets/text.js");
const SCRIPT: &str = include_str!("../assets/wizard.js");

/// Returns the addresses of the stylesheets and scripts.
pub fn routes() -> Router {
    Router::new()
        .route("/assets/wizard.css", get(|| async { asset("text/css; charset=utf-8", STYLE) }))
        .route("/assets/text.css", get(|| async { asset("text/css; charset=utf-8", TEXT_STYLE) }))
        .route("/assets/text.js", get(|| async { asset("text/javascript; charset=utf-8", TEXT_SCRIPT) }))
        .route("/assets/wizard.js", get(|| async { asset("text/javascript; charset=utf-8", SCRIPT) }))
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}
