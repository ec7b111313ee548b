//! Servers without tables, in memory.
#![allow(dead_code, clippy::unwrap_used)]

use databases::instance::Instance;
use databases::storage::Databases;

/// One of them.
pub fn instance() -> Instance {
    Instance::new(Databases::in_memory(None).unwrap()).unwrap()
}
