//! Tables in FROM: where rows come from, and which of them.

pub(crate) mod again;
pub(crate) mod apply;
pub(crate) mod computed;
pub(crate) mod correlated;
pub(crate) mod function_table;
pub mod key_order;
pub(crate) mod key_range;
pub(crate) mod large_scan;
pub(crate) mod matched;
pub(crate) mod output_column;
pub(crate) mod parameters;
pub(crate) mod planning;
pub(crate) mod provider;
pub(crate) mod recursive;
pub(crate) mod row_list;
pub(crate) mod row_scan;
pub(crate) mod seek;
