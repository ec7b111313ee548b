//! Running a query: the path that it takes, its plan, its memory and its end.

pub(crate) mod cancellation;
pub(crate) mod limits;
pub mod memory;
pub(crate) mod path;
pub(crate) mod plain;
pub(crate) mod plan_operator;
pub(crate) mod planner;
pub(crate) mod run;
pub mod running;
pub(crate) mod show_plan;
pub(crate) mod simple;
pub(crate) mod size;
pub(crate) mod spool;
pub(crate) mod standalone;
