//! Shared parts of the demo and of the benchmarks: data to move, a server process to move it to, and figures.

pub mod adventure_works;
pub mod arrow_experiment;
pub mod case;
pub mod eleven_columns;
pub mod lineitem;
pub mod loopback;
pub mod process_usage;
pub mod server_process;
pub mod source;
pub mod statistics;
