//! The server as clients see it, over sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../client/mod.rs"]
mod client;
mod conversation;
mod direct_rows;
mod drivers;
mod endings;
mod faults;
mod ledger;
mod locks;
mod malformed;
mod metrics;
mod page_locks;
#[path = "../served/mod.rs"]
mod served;
mod whole_packets;
mod wire;
mod written_batches;
