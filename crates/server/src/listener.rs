//! Accepts and counts connections, and stops the server cleanly.

mod recovering;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io, thread};

use databases::file_access::FileAccess;
use databases::instance::Instance;
use databases::instance::counts::Counts;
use databases::log;
use databases::memory::{MemoryBudget, Shares, StoreQuota, default_limit};
use databases::secrets;
use databases::storage::{Databases, OpenError};
use entra::Verifier;
use recovering::Recovering;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tracing::field::Empty;
use tracing::{Instrument, error, error_span, info};
use tsql::SqlError;
use uuid::Uuid;

use crate::connection;
use crate::faults::{FaultFileError, FaultPlan, Faults};
use crate::init_script;
use crate::init_script::InitError;
use crate::metrics::{Endpoint, Health};
use crate::options::{
    DataLocation, EncryptionPolicy, Entra, Password, RestoreFiles, RestoreRequest, Restorer, Restoring,
    ServerOptions,
};
use crate::serving::{FIRST_SPID, Front, Guesses, STACK_BYTES, Shared, SpillDirectory};
use crate::transport::{CertificateError, TlsIdentity};

/// An error by which a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A login without a password would be everybody's.
    #[error("the login's password is empty, so that anybody could sign in as {user:?}")]
    EmptyPassword {
        /// The login.
        user: String,
    },
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The data directory cannot be opened.
    #[error("cannot open the data: {0}")]
    Open(#[from] OpenError),
    /// The data directory holds something that this server does not understand.
    #[error("cannot use the data: {0}")]
    Data(SqlError),
    /// An init script failed.
    #[error(transparent)]
    Init(#[from] InitError),
    /// A database could not be made of its files.
    #[error("cannot restore {database}: {reason}")]
    Restore {
        /// The database.
        database: String,
        /// The reason.
        reason: String,
    },
    /// The directory for rows that do not fit into memory cannot be used.
    #[error("cannot make a directory for temporary files: {0}")]
    SpillDirectory(io::Error),
    /// The file of faults cannot be used.
    #[error(transparent)]
    Faults(#[from] FaultFileError),
    /// Tickets cannot be accepted.
    #[error("cannot accept Kerberos tickets: {0}")]
    Kerberos(#[from] sign_in::SignInError),
    /// The address for metrics and health cannot be listened on.
    #[error("cannot serve metrics at {address}: {source}")]
    Metrics {
        /// The address asked for.
        address: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Access tokens cannot be accepted.
    #[error("cannot accept access tokens: {} {reason}", path.display())]
    Entra {
        /// The file of keys.
        path: PathBuf,
        /// A description of the mistake.
        reason: String,
    },
    /// A directory for bulk files does not exist or is not a directory.
    #[error("cannot use a directory for bulk files: {0}")]
    BulkDirectory(io::Error),
    /// Threads or the event loop cannot be started.
    #[error("cannot start the event loop: {0}")]
    Runtime(io::Error),
}

/// Fewest threads for sockets, and for the partitions of parallel queries.
const WORKERS_MIN: usize = 4;
/// Tokio's own default.
const BLOCKING_THREADS_MIN: usize = 512;
/// Silence after which a peer is asked whether it is still there.
const KEEP_ALIVE_TIME: Duration = Duration::from_secs(30);
/// From one such question to the next.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait at the server's end for a request that does not notice its cancellation.
const STOP_TIME_MAX: Duration = Duration::from_millis(800);
/// The longest wait for the last checkpoint beside such a request.
const CHECKPOINT_TIME_MAX: Duration = Duration::from_millis(800);
/// The longest wait until such a request has let go of the data directory.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(10);
/// From one look at its locks to the next.
const RELEASE_PAUSE: Duration = Duration::from_millis(2);

/// Makes the verifier of access tokens from the keys of a file.
fn verifier(settings: &Entra) -> Result<Verifier, StartError> {
    let unusable = |reason: String| StartError::Entra { path: settings.keys.clone(), reason };
    let file = fs::read(&settings.keys).map_err(|error| unusable(format!("cannot be read: {error}")))?;
    Verifier::new(&file, settings.issuer.clone(), settings.audiences.iter().cloned())
        .map_err(|error| unusable(error.to_string()))
}

/// A server.
pub struct Server;

impl Server {
    /// Listens, opens the data, runs the init scripts, and then serves on threads of its own until the handle is stopped or
    /// dropped. Clients that connect during recovery are refused with error 922; those that connect while the scripts run wait
    /// until these end.
    pub fn start(options: ServerOptions) -> Result<RunningServer, StartError> {
        if options.password.is_empty() {
            return Err(StartError::EmptyPassword { user: options.user });
        }
        let identity = options.certificate.as_ref().map(TlsIdentity::new).transpose()?;
        let files =
            FileAccess::new(options.bulk_directories.iter().cloned()).map_err(StartError::BulkDirectory)?;
        let plan = options.faults.as_deref().map(FaultPlan::read).transpose()?;
        let faults = plan.map(|plan| Arc::new(Faults::new(plan)));
        if let Some(kerberos) = &options.kerberos {
            drop(connection::try_keys(kerberos, None, options.limits.login_timeout)?);
        }
        let verifier = options.entra.as_ref().map(verifier).transpose()?;
        let runtime = server_runtime("bulkwire-server", BLOCKING_THREADS_MIN).map_err(StartError::Runtime)?;
        let threads = options.limits.connections.max(BLOCKING_THREADS_MIN);
        let work = server_runtime("bulkwire-work", threads).map_err(StartError::Runtime)?;
        let address = options.listen;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|source| StartError::Listen { address, source })?;
        let listener = Arc::new(listener);
        let local = listener.local_addr().map_err(|source| StartError::Listen { address, source })?;
        info!(address = %local, "listening");
        let guesses = Guesses::new(options.limits.failed_login_delay);
        let next_spid = Arc::new(AtomicU16::new(FIRST_SPID));
        let (counts, started) = (Arc::<Counts>::default(), SystemTime::now());
        let front =
            Arc::new(Front { options, identity, guesses, verifier, faults, next_spid, counts, started });
        let options = &front.options;
        let health = Arc::<Health>::default();
        let endpoint = options.metrics.map(|address| {
            let began = Endpoint::begin(&runtime, address, &front, &health);
            began.map_err(|source| StartError::Metrics { address, source })
        });
        let endpoint = endpoint.transpose()?;
        let recovering = Recovering::begin(&runtime, &listener, &front, local);
        let shares = Shares::of(options.limits.memory_bytes.unwrap_or_else(default_limit));
        let memory = MemoryBudget::new(shares.statement_bytes);
        let store = open_store(options, shares.cache_bytes, &memory)?;
        // Not before the data directory is this server's alone.
        let spill_directory = SpillDirectory::new(&options.data).map_err(StartError::SpillDirectory)?;
        let instance = Instance::new(store)
            .and_then(|instance| instance.with_memory(&memory, spill_directory.path()))
            .map_err(StartError::Data)?
            .with_counts(&front.counts)
            .with_files(files);
        if let Some(limits) = options.limits.resources {
            instance.store().limit_all(limits);
        }
        recovering.end(&runtime);
        health.note_open();
        let instance = Arc::new(instance);
        let shared = Arc::new(Shared {
            front,
            instance,
            memory,
            connections: AtomicUsize::new(0),
            work: work.handle().clone(),
            _spill_directory: Arc::new(spill_directory),
        });
        if let Some(restoring) = &shared.options.restoring {
            restore(runtime.handle(), &shared, restoring)?;
            import_later(runtime.handle(), &shared, restoring);
        }
        for script in &shared.options.init {
            run_script(&work, script.clone(), &shared.instance, shared.options.user.clone())?;
        }
        health.note_serving(&shared);
        let (stop, stopped) = watch::channel(false);
        let task = runtime.spawn(accept(listener, Arc::clone(&shared), stopped));
        let _released = Released(shared.options.data.clone());
        let runtimes = Some((runtime, work));
        let task = Some(task);
        Ok(RunningServer { address: local, endpoint, health, shared, stop, runtimes, task, _released })
    }
}

/// A server that runs; dropping it stops it.
pub struct RunningServer {
    address: SocketAddr,
    endpoint: Option<Endpoint>,
    health: Arc<Health>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    /// For sockets, and for requests.
    runtimes: Option<(Runtime, Runtime)>,
    task: Option<tokio::task::JoinHandle<()>>,
    /// Dropped last.
    _released: Released,
}

/// Dropped when nobody in this process holds a data directory any more, so that it can be opened again at once.
struct Released(DataLocation);

impl Drop for Released {
    fn drop(&mut self) {
        let DataLocation::Directory { path, .. } = &self.0 else { return };
        let started = Instant::now();
        while Databases::is_held(path) && started.elapsed() < RELEASE_TIME_MAX {
            thread::sleep(RELEASE_PAUSE);
        }
    }
}

impl RunningServer {
    /// Returns the address that it listens on, with the port it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of metrics and health, with the port it was given.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.endpoint.as_ref().map(|endpoint| endpoint.address)
    }

    /// Sessions that are logged in.
    pub fn sessions(&self) -> usize {
        self.shared.instance.sessions().count()
    }

    /// Connections that are open, logged in or not.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Returns the connection URL without the password.
    pub fn url(&self) -> String {
        format!("mssql://{}@{}/master", self.shared.options.user, self.address)
    }

    /// Returns the self-signed certificate in PEM form, if the server uses one.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.shared.identity.as_ref().and_then(TlsIdentity::certificate_pem)
    }

    /// Stops: no new connections, open work rolled back, data closed in order.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        self.health.note_stopping();
        // No receiver is left only if the accept loop has ended already.
        let _ = self.stop.send(true);
        let (Some((runtime, work)), Some(task)) = (self.runtimes.take(), self.task.take()) else { return };
        // A runtime must not be dropped inside another runtime's thread, where a caller may well be.
        let shared = Arc::clone(&self.shared);
        let joined = thread::spawn(move || {
            let _ = runtime.block_on(task);
            runtime.shutdown_timeout(STOP_TIME_MAX);
            // Every request has been cancelled; one that undoes much, or computes without a pause, is not waited for.
            work.shutdown_timeout(STOP_TIME_MAX);
            let all_ended = shared.instance.sessions().count() == 0;
            // Without this last checkpoint the next start replays the journal instead; nothing is lost.
            let (ended, checkpoint) = mpsc::channel::<()>();
            thread::spawn(move || {
                let _ = shared.instance.store().checkpoint();
                // Dropped before the end is signalled: the waiting thread then takes the data directory to be free.
                drop(shared);
                drop(ended);
            });
            let _ = match all_ended {
                true => checkpoint.recv().ok(),
                false => checkpoint.recv_timeout(CHECKPOINT_TIME_MAX).ok(),
            };
        });
        let _ = joined.join();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Makes a runtime with more threads for tasks than processors, so that a few computing tasks do not block the others.
/// Up to `threads` more run one request each, since every connection may have one that computes or waits.
fn server_runtime(name: &str, threads: usize) -> io::Result<Runtime> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .worker_threads(WORKERS_MIN.max(2 * processors))
        .max_blocking_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .build()
}

fn open_store(
    options: &ServerOptions,
    cache_bytes: usize,
    memory: &Arc<MemoryBudget>,
) -> Result<Databases, OpenError> {
    match &options.data {
        DataLocation::InMemory => Ok(Databases::in_memory(Some(Arc::new(StoreQuota(Arc::clone(memory)))))?),
        DataLocation::Directory { path, sync } => Databases::open_within(path, *sync, cache_bytes),
    }
}

/// Makes databases of files when the server starts.
fn restore(runtime: &Handle, shared: &Arc<Shared>, restoring: &Restoring) -> Result<(), StartError> {
    for (database, files) in &restoring.databases {
        let files = RestoreFiles::Spelled(files);
        let made = through_private_door(runtime, shared, restoring.by, database, files);
        let said = made.map_err(|reason| StartError::Restore { database: database.clone(), reason })?;
        log::line(said);
    }
    // At once: the process may end before the lines would be printed.
    log::flush();
    Ok(())
}

/// Has RESTORE DATABASE make databases of backups of SQL Server, and BACKUP DATABASE write packages of tables.
fn import_later(runtime_of: &Handle, shared: &Arc<Shared>, restoring: &Restoring) {
    let (runtime, weak, by) = (runtime_of.clone(), Arc::downgrade(shared), restoring.by);
    shared.instance.restores().set_importer(Arc::new(move |database, files, set| {
        let shared = weak.upgrade().ok_or_else(|| "the server is stopping".to_owned())?;
        through_private_door(&runtime, &shared, by, database, RestoreFiles::Backups(files, set))
    }));
    let (runtime, weak) = (runtime_of.clone(), Arc::downgrade(shared));
    shared.instance.restores().set_packer(Arc::new(move |database, package| {
        let shared = weak.upgrade().ok_or_else(|| "the server is stopping".to_owned())?;
        let to = RestoreFiles::ToPackage(package);
        through_private_door(&runtime, &shared, by, database, to).map(drop)
    }));
}

/// Makes a database of files through a port of this machine that closes again, and whose password nobody else knows.
fn through_private_door(
    runtime: &Handle,
    shared: &Arc<Shared>,
    by: Restorer,
    database: &str,
    files: RestoreFiles<'_>,
) -> Result<String, String> {
    let refused = |source: io::Error| format!("no port of this machine can be listened on: {source}");
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let listener = {
        let _entered = runtime.enter();
        TcpListener::from_std(listener).map_err(refused)?
    };
    let (stop, stopped) = watch::channel(false);
    let password = Uuid::new_v4().simple().to_string();
    let door = Arc::new(private_door(shared, &password));
    let task = runtime.spawn(accept(Arc::new(listener), door, stopped));
    let user = &shared.options.user;
    let made = by(&RestoreRequest { address, user, password: &password, database, files });
    let _ = stop.send(true);
    let _ = runtime.block_on(task);
    made
}

/// Makes the state of a listener that this process alone knows: its password is its own, and what other clients must agree to, what they
/// are served wrongly and what is printed of them does not hold there.
fn private_door(shared: &Shared, password: &str) -> Shared {
    let options = ServerOptions {
        password: Password::new(password),
        encryption: EncryptionPolicy::Optional,
        log_requests: false,
        // What is restored is kept, whatever becomes of the loads of other clients.
        discard: false,
        ..shared.options.clone()
    };
    let front = Front {
        identity: None,
        guesses: Guesses::new(options.limits.failed_login_delay),
        verifier: None,
        faults: None,
        next_spid: Arc::clone(&shared.next_spid),
        counts: Arc::clone(&shared.counts),
        started: shared.started,
        options,
    };
    Shared {
        front: Arc::new(front),
        instance: Arc::clone(&shared.instance),
        memory: Arc::clone(&shared.memory),
        connections: AtomicUsize::new(0),
        work: shared.work.clone(),
        _spill_directory: Arc::clone(&shared._spill_directory),
    }
}

/// Runs an init script where requests run; what it prints goes to standard error.
fn run_script(
    work: &Runtime,
    path: PathBuf,
    instance: &Arc<Instance>,
    user: String,
) -> Result<(), StartError> {
    let instance = Arc::clone(instance);
    let script = work.spawn(async move {
        let notice = |text: &str| log::paragraph(format!("{}: {text}", path.display()));
        init_script::run(&path, &instance, &user, notice).await
    });
    let ended = work.block_on(script).map_err(|error| StartError::Runtime(io::Error::other(error)))?;
    ended.map_err(StartError::Init)
}

async fn accept(listener: Arc<TcpListener>, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(shared.options.limits.connections));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    shared.counts.connections.add(1);
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                        shared.counts.connections_refused.add(1);
                        continue;
                    };
                    let open = OpenConnection::new(Arc::clone(&shared));
                    connections.spawn(async move {
                        serve(socket, peer, &open.shared).await;
                        drop(place);
                    });
                }
                // Out of file descriptors, or a peer that left at once: neither is a reason to stop serving.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Counts a connection for as long as it lives, however it ends.
struct OpenConnection {
    shared: Arc<Shared>,
}

impl OpenConnection {
    fn new(shared: Arc<Shared>) -> OpenConnection {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection { shared }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(socket: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
    let spid = shared.spid();
    // Finds a vanished peer within a minute, as SQL Server does (its KeepAlive is 30 s). Without keep-alive such a
    // connection stays until the peer's next sign of life.
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE_TIME).with_interval(KEEP_ALIVE_INTERVAL);
    let _ = SockRef::from(&socket).set_tcp_keepalive(&keep_alive);
    // Without it every short response would wait for the peer's delayed acknowledgement; if it fails, it is only slower.
    let _ = socket.set_nodelay(true);
    // Its own defects a server tells always.
    let session = error_span!("session", spid, %peer, user = Empty, database = Empty, application = Empty);
    let Err(error) = connection::serve(socket, shared, spid).instrument(session.clone()).await else {
        return;
    };
    session.in_scope(|| match error.is_own() {
        true => error!(error = secrets::without_literals(&error.to_string()), "connection ended"),
        false => info!(%error, "connection ended"),
    });
    if (shared.options.log_requests && !error.is_told()) || error.is_own() {
        connection::request_log::ended(spid, peer, &error);
    }
}
