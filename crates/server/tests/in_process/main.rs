//! Statements, sessions and databases, without a network.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod administration;
mod answers;
mod backups;
mod bulk_files;
mod calls;
mod databases;
mod ending;
mod full_disk;
mod instances;
mod one_meaning;
mod own_rows;
mod parallel;
mod partitions;
mod reaches;
mod robustness;
mod scripts;
mod session;
mod storage;
mod sweep;
mod temporary;
mod tiers;
mod trees;
mod tsql_page;
