//! Servers without tables, in memory.
#![allow(dead_code, clippy::unwrap_used)]

use bulkwire_server::instance::Instance;
use bulkwire_server::storage::Databases;

/// One of them.
pub fn instance() -> Instance {
    Instance::new(Databases::in_memory(None).unwrap()).unwrap()
}
