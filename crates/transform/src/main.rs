//! The `bulkwire` program with the engine for transformations in it.

fn main() {}
