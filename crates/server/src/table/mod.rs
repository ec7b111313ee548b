//! Writing rows: conversion, defaults, identities, constraints.

mod column;
mod keys;
mod plan;
mod writer;

pub(crate) use keys::{KeyCache, TableKeys};
pub(crate) use plan::{WritePlan, scope_of};
pub(crate) use writer::{InputRows, TableWriter, WriteOptions};
