//! The experiments, small.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arrow;
mod compression;
mod forecast;
mod interrupted;
mod select_into;
mod served;
mod showdown;
mod throughput;
