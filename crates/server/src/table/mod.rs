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

pub(crate) use intake::{DecodeReason, Intake, LoadFacts};
pub(crate) use order::OrderCheck;
pub(crate) use plan::{WritePlan, scope_of};
pub(crate) use reference::{Reference, encode, single};
pub(crate) use writer::{InputRows, TableWriter, WriteOptions};
