//! Metrics and health over HTTP, for who runs the server: `/metrics`, `/health`, `/live`.
//!
//! It listens from the first moment, also while databases recover. What is counted of clients is counted where it happens; everything
//! else is read from the engines when somebody asks, as the management views read it.

mod exposition;
mod figures;
mod health;
mod process;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bulkwire_http::Limits;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, spawn_blocking};

pub(crate) use health::Health;

use crate::serving::Front;

/// A few readers that ask again and again, with requests that fit into a page.
const LIMITS: Limits = Limits {
    connections: 16,
    head_bytes: 8 << 10,
    body_bytes: 1 << 10,
    head_time: Duration::from_secs(5),
    transfer_time: Duration::from_secs(10),
};
/// The content type of Prometheus's text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The state that the routes share.
pub(super) struct Place {
    pub front: Arc<Front>,
    pub health: Arc<Health>,
}

/// The listener, until it is dropped.
pub(crate) struct Endpoint {
    /// The address that it was given.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Begins to answer.
    pub fn begin(
        runtime: &Runtime,
        address: SocketAddr,
        front: &Arc<Front>,
        health: &Arc<Health>,
    ) -> io::Result<Endpoint> {
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let place = Arc::new(Place { front: Arc::clone(front), health: Arc::clone(health) });
        let task = runtime.spawn(bulkwire_http::serve(listener, routes(place), LIMITS));
        Ok(Endpoint { address, task })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn routes(place: Arc<Place>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .route(
            "/live",
            get(|| async { answer(StatusCode::OK, "text/plain; charset=utf-8", "live\n".to_owned()) }),
        )
        .with_state(place)
}

async fn metrics(State(place): State<Arc<Place>>) -> Response {
    // Figures wait for locks of the engines, for moments: not where sockets are served.
    match spawn_blocking(move || figures::page(&place)).await {
        Ok(text) => answer(StatusCode::OK, TEXT_FORMAT, text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn health(State(place): State<Arc<Place>>) -> Response {
    let Ok(state) = spawn_blocking(move || place.health.state()).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let status = match state.is_ready() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let body = serde_json::json!({ "status": state.name(), "reasons": state.reasons() });
    answer(status, "application/json", format!("{body}\n"))
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response {
    let fixed: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, fixed, text).into_response()
}
