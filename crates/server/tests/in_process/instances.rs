//! Servers in this process, and sessions of them.

use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use databases::instance::Instance;
use databases::storage::Databases;
use executor::session::Session;
use executor::statements::open_session;

use crate::answers::login;

/// The server's own stacks: procedures and functions nest.
const STACK_BYTES: usize = 32 << 20;

/// Runs a test on stacks as deep as the server's.
pub fn on_deep_stacks<T: Send + 'static>(test: impl Future<Output = T> + Send + 'static) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_stack_size(STACK_BYTES).build().unwrap();
    runtime.block_on(runtime.spawn(test)).unwrap()
}

/// A server without tables, in memory.
pub fn empty() -> Instance {
    Instance::new(Databases::in_memory(None).unwrap()).unwrap()
}

/// A server on a directory. A process that another test starts has its lock, too, until that process runs its program.
pub fn on_disk(directory: &Path) -> Arc<Instance> {
    let started = Instant::now();
    loop {
        match Databases::open(directory, false) {
            Ok(databases) => return Arc::new(Instance::new(databases).unwrap()),
            Err(error) if started.elapsed().as_secs() > 10 => panic!("{error}"),
            Err(_) => sleep(Duration::from_millis(20)),
        }
    }
}

/// A session of a server.
pub fn session(instance: &Arc<Instance>, spid: u16) -> Session {
    open_session(Arc::clone(instance), login(spid)).unwrap()
}
