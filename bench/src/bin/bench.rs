//! Placeholder until the client lands.
fn main() {}
