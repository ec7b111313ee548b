//! Shared parts of the demo and of the benchmarks: data to move, a server process to move it to, and figures.
//!
//! `case`, `source`, `loopback` and `statistics` serve `bulkwire-bench`. Each published experiment is a folder `..._experiment` with
//! variants, one run, and a summary; `experiment` has what they share: target, figures, verification, tables and the page.

pub mod adventure_works;
pub mod arrow_experiment;
pub mod case;
pub mod compression_experiment;
pub mod eleven_columns;
pub mod experiment;
pub mod lineitem;
pub mod loopback;
pub mod process_usage;
pub mod select_into_experiment;
pub mod server_process;
pub mod showdown_experiment;
pub mod source;
pub mod statistics;
pub mod throughput_experiment;
