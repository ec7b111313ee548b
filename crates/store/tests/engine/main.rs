//! The paged engine from outside: transactions against a model, power cuts, failures, damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backup;
mod backup_whole;
mod basics;
mod beside;
mod build;
mod compressed;
mod crash;
mod disk_full;
mod exchange;
mod faults;
mod figures;
mod former_keys;
mod groups;
mod index;
mod kill;
mod loads;
mod loads_beside;
mod moved;
mod opening_full;
mod removal;
mod several;
mod sizes;
#[path = "../support/mod.rs"]
mod support;
mod together;
mod tree;
mod versions;
mod workload;
