//! The `bulkwire` command against the embedded server, as a user runs it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod advice;
mod afterwords;
mod bcp_adventure_works;
mod bcp_in;
mod bcp_out;
mod bcp_regional;
mod claims;
mod clustered_loads;
mod connections;
mod conversions;
mod copies;
mod copy_kills;
mod database_files;
mod dialects;
mod doubtful_server;
mod dying_line;
mod events;
mod exactly_once;
mod exports;
mod faulty_line;
mod fixture;
mod held_commits;
#[cfg(unix)]
mod kerberos_dialogue;
mod kills;
mod loads;
mod manual;
mod modes;
mod noted_loads;
mod odd_files;
mod packages;
mod parallel_exports;
mod partitions;
mod passwords;
#[cfg(unix)]
mod printed_copies;
#[cfg(unix)]
mod printed_scripts;
mod queries;
mod recorded;
mod refusals;
mod rejected_rows;
mod restricted_login;
mod resumed;
mod rewriting_line;
mod serve;
mod silent_sign_in;
mod small_loads;
mod spelled_files;
mod spliced_copies;
mod stages;
mod types;
mod watchdog;
