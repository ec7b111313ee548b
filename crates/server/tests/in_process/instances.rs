//! Servers without tables, in memory.

use databases::instance::Instance;
use databases::storage::Databases;

/// One of them.
pub fn instance() -> Instance {
    Instance::new(Databases::in_memory(None).unwrap()).unwrap()
}
