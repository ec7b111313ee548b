//! The listener on 127.0.0.1, and when it ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use bulkwire_http::Limits;
use tokio::net::TcpListener;

use crate::security::{self, Guard, NoRandomness};
use crate::wizard::{Engine, Wizard};
use crate::{assets, pages};

/// For one browser: forms with a query or many tables, and connections that it keeps for its next request.
const LIMITS: Limits = Limits {
    connections: 64,
    head_bytes: 32 << 10,
    body_bytes: 8 << 20,
    head_time: Duration::from_secs(60),
    transfer_time: Duration::from_secs(30),
};
/// The interval of the check that a browser is still there.
const IDLE_CHECK: Duration = Duration::from_millis(500);

/// The options of starting the wizard.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port; 0: any free one.
    pub port: u16,
    /// True if the browser is opened.
    pub opens_browser: bool,
    /// The server ends when nobody has asked for anything for so long and nothing runs; `None`: never.
    pub idle_limit: Option<Duration>,
    /// The source that the first page begins with.
    pub source: Option<String>,
}

/// An error by which the wizard cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is taken, or may not be used.
    #[error("127.0.0.1:{port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's words.
        source: std::io::Error,
    },
    /// Threads or sockets cannot be had.
    #[error("the wizard cannot be started: {0}")]
    System(#[from] std::io::Error),
    /// No token can be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// Serves the wizard until nobody needs it any more.
///
/// # Errors
/// It could not be started.
pub fn serve(options: &Options, engine: Engine) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let wizard = Arc::new(Wizard::new(engine));
    if let Some(source) = &options.source {
        wizard.state().draft.source.read(source);
    }
    let done = runtime.block_on(listen(options, wizard));
    // A connection test may still wait for a server that does not answer.
    runtime.shutdown_background();
    done
}

async fn listen(options: &Options, wizard: Arc<Wizard>) -> Result<(), ServeError> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let refused = |source| ServeError::Listen { port: options.port, source };
    let listener = TcpListener::bind(wanted).await.map_err(refused)?;
    let port = listener.local_addr()?.port();
    let guard = Arc::new(Guard::new(port)?);
    if let Some(address) = guard.address() {
        println!("{address}");
        eprintln!("The wizard waits at this address, which lets one browser in. Ctrl-C ends it.");
        if options.opens_browser {
            open(&address);
        }
    }
    let serving = bulkwire_http::serve(listener, router(&wizard, guard), LIMITS);
    let unused = async {
        let mut checks = tokio::time::interval(IDLE_CHECK);
        while options.idle_limit.is_none_or(|limit| wizard.idle() < limit) {
            checks.tick().await;
        }
    };
    tokio::select! {
        () = serving => {}
        () = unused => eprintln!("The wizard ends: nobody has used it for a while."),
    }
    Ok(())
}

/// Puts all pages behind the guard.
pub fn router(wizard: &Arc<Wizard>, guard: Arc<Guard>) -> Router {
    let start = Router::new().route("/start/{token}", get(security::start)).with_state(Arc::clone(&guard));
    pages::routes(Arc::clone(wizard))
        .merge(assets::routes())
        .merge(start)
        .layer(from_fn_with_state(guard, security::check))
}

/// Opens the browser. Where there is none, the printed address has to do.
fn open(address: &str) {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        if std::env::var_os("DISPLAY").is_none() && std::env::var_os("WAYLAND_DISPLAY").is_none() {
            return;
        }
        Command::new("xdg-open")
    };
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
