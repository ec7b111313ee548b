//! A server that is not ready yet: its port is open, and a login gets an error that asks to retry.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use databases::log;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::connection;
use crate::serving::Front;

/// Data that are opened faster keep nobody waiting for longer: who comes meanwhile is served then.
const GRACE: Duration = Duration::from_secs(1);

/// Refuses logins until it is ended.
pub(super) struct Recovering {
    ready: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Recovering {
    /// Begins to listen.
    pub fn begin(
        runtime: &Runtime,
        listener: &Arc<TcpListener>,
        front: &Arc<Front>,
        address: SocketAddr,
    ) -> Recovering {
        let (ready, waiting) = watch::channel(false);
        let task = runtime.spawn(refuse(Arc::clone(listener), Arc::clone(front), address, waiting));
        Recovering { ready, task }
    }

    /// Ends the refusals, since the data are open: from here on connections wait to be served.
    pub fn end(self, runtime: &Runtime) {
        self.ready.send_replace(true);
        // The thread ends by itself; if it has failed, there is nothing to end.
        let _ = runtime.block_on(self.task);
    }
}

async fn refuse(
    listener: Arc<TcpListener>,
    front: Arc<Front>,
    address: SocketAddr,
    mut ready: watch::Receiver<bool>,
) {
    if timeout(GRACE, ready.wait_for(|ready| *ready)).await.is_ok() {
        return;
    }
    log::line(format!(
        "the databases are being opened; logins at {address} are refused with error 922 until then"
    ));
    let mut refused = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = ready.wait_for(|ready| *ready) => break,
            Some(_) = refused.join_next() => {}
            accepted = listener.accept(), if refused.len() < front.options.limits.connections => {
                let Ok((socket, _)) = accepted else { continue };
                front.counts.connections.add(1);
                let front = Arc::clone(&front);
                let spid = front.spid();
                // A client that has left before being refused misses nothing.
                refused.spawn(async move { drop(connection::refuse(socket, &front, spid).await) });
            }
        }
    }
    log::line("the databases are open".to_owned());
    while refused.join_next().await.is_some() {}
}
