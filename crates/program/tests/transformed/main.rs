//! Rows that are transformed on their way.
#![allow(clippy::unwrap_used, clippy::panic)]

mod case;
mod command;
mod fixture;
mod into_tables;
mod option_paths;
mod rows_on_their_way;
mod transform_page;
mod transformations;
