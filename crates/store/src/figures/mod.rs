//! What is counted while a database is open: reads and writes, waits, transactions. Counting costs some counters per block of a
//! megabyte, and two looks at the clock per read or write.

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
