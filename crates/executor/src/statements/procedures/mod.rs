//! EXEC, remote calls and the system's procedures.

pub(crate) mod application_lock;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod catalogue;
pub(crate) mod cursors;
pub(crate) mod deduce;
pub(crate) mod describe;
pub(crate) mod each;
pub(crate) mod execute;
pub(crate) mod extended_property;
pub(crate) mod help;
pub(crate) mod messages;
pub(crate) mod parameters;
pub(crate) mod prepared;
pub(crate) mod remote;
pub(crate) mod show;
pub(crate) mod space;
pub(crate) mod table_argument;
pub(crate) mod table_option;
pub(crate) mod texts;
pub(crate) mod triggers;
pub(crate) mod views;
