//! Writing rows: conversion, defaults, identities, constraints.

mod column;
mod duplicates;
mod intake;
mod keys;
mod order;
mod plan;
mod reference;
mod value_form;
mod wide_keys;
mod writer;

pub use intake::{DecodeReason, Intake, LoadFacts};
pub use order::OrderCheck;
pub use plan::{WritePlan, scope_of, text_calls_function};
pub use reference::{Reference, encode, single};
pub use writer::{InputRows, TableWriter, WriteOptions};
