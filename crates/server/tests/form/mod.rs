//! The form in which the servers of these tests keep rows: `BULKWIRE_TEST_STORAGE`, as `bulkwire serve --storage` takes it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bulkwire_server::session::Instance;
use bulkwire_server::storage::{Database, Form};

/// The form asked for.
pub fn form() -> Form {
    match std::env::var("BULKWIRE_TEST_STORAGE").as_deref() {
        Ok("pages") => Form::Pages,
        Ok("segments") => Form::Segments,
        Ok(other) => panic!("BULKWIRE_TEST_STORAGE is {other}"),
        Err(_) => Form::OF_NEW,
    }
}

/// An empty server in memory.
pub fn instance() -> Instance {
    instance_of(form())
}

/// The same of one form.
pub fn instance_of(form: Form) -> Instance {
    Instance::new(Database::in_memory_of(form).unwrap()).unwrap()
}
