//! `bulkwire bench`: the demo, benchmarks and published experiments, with data to move, a server process, and figures.
//!
//! `program` is the command line; `case`, `source`, `loopback` and `statistics` serve it, `demo`, `bcp_race` and `comparison` are commands of their own. Each published experiment is a folder `..._experiment` with
//! variants, one run, and a summary; `experiment` has what they share: target, figures, verification, tables and the page.

pub mod adventure_works;
pub mod arrow_experiment;
mod bcp_race;
pub mod case;
mod comparison;
pub mod compression_experiment;
mod demo;
pub mod eleven_columns;
pub mod experiment;
mod installed_program;
pub mod lineitem;
pub mod loopback;
pub mod process_usage;
mod program;
pub mod select_into_experiment;
pub mod server_process;
pub mod showdown_experiment;
pub mod source;
pub mod statistics;
pub mod throughput_experiment;

pub use program::run_program;
