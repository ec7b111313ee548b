//! Lanes: which rows of a load one writer at a time may have.
//!
//! Each partition of a target belongs to a lane, and only one writer at a time has rows of a lane. So writers never meet in the
//! tree of one partition, and a lock on a partition keeps no writer waiting. A row that goes into the wrong lane is in the right
//! place all the same, since the server looks at its value again.
//!
//! | Part | What it is |
//! |---|---|
//! | [`choose`] | whether rows are routed, and why |
//! | [`PartitionRule`] | the partition of a stored value, as the server finds it |
//! | [`LaneRule`] | the lane of a stored value; its text is what a ledger keeps |
//! | [`Routing`] | finds the values of a source's rows as they will be stored |
//! | [`Router`] | deals the rows of a source out to lanes |

mod choice;
mod lane_rule;
mod partition_rule;
mod router;
mod routing;

pub(crate) use choice::{ON, SETTING, choose};
pub(crate) use lane_rule::LaneRule;
#[cfg(test)]
pub(crate) use partition_rule::PartitionRule;
pub(crate) use router::Router;
pub use routing::Routing;

#[cfg(test)]
pub(crate) mod tests;
