//! Shared parts of the demo and of the benchmarks: data to move, a server process to move it to, and figures.

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
