//! Counts of an open database: reads and writes, waits, transactions. Counting costs a few counters per block
//! of a megabyte, and reading the clock twice per read or write.

mod counters;
mod io;
pub(crate) mod session_waits;
mod waits;

pub use counters::Counters;
pub(crate) use counters::{CounterCells, count};
pub use io::FileIo;
pub(crate) use io::IoCounts;
pub use session_waits::SessionWaits;
pub use waits::{WaitCount, WaitType, Waits};
