//! Reading with several connections: the rows are split into ranges of a key, and each connection reads range after range.
//!
//! | Module | What it is |
//! |---|---|
//! | [`SplitPlan`] | ranges, number of readers and consistency, with reasons |
//! | `boundaries`, `even` | where ranges begin: from statistics, from the ends of the key, or from a scan of it |
//! | `partition_bounds` | where they begin in a partitioned table |
//! | [`ParallelRead`] | readers that run, and their rows in the order of the ranges |
//! | [`RangeSink`] | takes the rows if they are not needed in order |
//! | `consistency` | one point in time for all readers |
//! | `crew` | which ranges are left, and how many readers are at work |
//! | `reader_ramp` | the number of readers, found by measuring |
//! | [`Partition`] | a range that another process can read |

mod boundaries;
mod consistency;
mod crew;
mod error;
mod even;
mod handover;
mod key;
mod key_range;
mod last_key;
mod options;
mod parallel_read;
mod partition;
mod partition_bounds;
mod reader;
mod reader_ramp;
mod report;
mod row_source;
mod split_plan;

pub use consistency::Consistency;
pub use error::ReadError;
pub use handover::RangeSink;
pub use key::{Parameter, SplitKey};
pub use key_range::KeyRange;
pub use options::{Gentle, ReadOptions, Readers};
pub use parallel_read::{ParallelRead, RowGate, read_into};
pub use partition::{Partition, PartitionError};
pub use report::ReadReport;
pub use row_source::RowSource;
pub use split_plan::SplitPlan;
