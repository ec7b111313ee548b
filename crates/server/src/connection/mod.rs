//! One connection: PRELOGIN, TLS, LOGIN7, then requests until the client leaves.

mod access_token;
mod batch_writer;
mod bulk_receiver;
mod clr_names;
mod discard;
mod error;
mod execution;
mod fault_sink;
mod faulty;
mod handshake;
mod login_reply;
mod packet_reader;
mod page_rows;
pub(crate) mod request_log;
mod requests;
mod response_writer;
mod responses;
mod sign_in;
mod store_sink;
mod trace;

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

pub(crate) use error::ConnectionError;
pub(crate) use sign_in::begin as try_keys;

use crate::serving::{Front, Shared};

/// Serves one accepted connection to its end.
pub(crate) async fn serve(socket: TcpStream, shared: &Arc<Shared>, spid: u16) -> Result<(), ConnectionError> {
    let limit = shared.options.limits.login_timeout;
    let opened = timeout(limit, handshake::open(socket, shared, Some(&shared.instance), spid)).await;
    match opened.map_err(|_| ConnectionError::LoginTimeout)?? {
        Some(connection) => requests::serve(connection, shared).await,
        None => Ok(()),
    }
}

/// Answers one accepted connection that its server is not ready yet.
pub(crate) async fn refuse(socket: TcpStream, front: &Front, spid: u16) -> Result<(), ConnectionError> {
    let limit = front.options.limits.login_timeout;
    let opened = timeout(limit, handshake::open(socket, front, None, spid)).await;
    opened.map_err(|_| ConnectionError::LoginTimeout)?.map(drop)
}
