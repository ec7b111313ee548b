//! The meaning of a statement's names and expressions in its session.

pub(crate) mod answer;
pub(crate) mod declared_type;
pub(crate) mod described_columns;
pub(crate) mod environment;
pub(crate) mod evaluate;
pub(crate) mod function;
pub(crate) mod isolation;
pub(crate) mod partition_number;
pub(crate) mod resolve;
pub(crate) mod scope;
