//! Operators and rules that the execution engine lacks.

pub(crate) mod attentive;
pub(crate) mod cross_joins;
pub(crate) mod distinct_spread;
pub(crate) mod extreme;
pub(crate) mod first_of_group;
pub(crate) mod grouping;
pub(crate) mod guarded_filters;
pub(crate) mod in_order;
pub(crate) mod join_order;
pub(crate) mod lazy_logic;
pub(crate) mod merge_joins;
pub(crate) mod moving;
pub(crate) mod one_input;
pub(crate) mod parallel;
pub(crate) mod pause;
pub(crate) mod percentile;
pub(crate) mod row_steps;
pub(crate) mod shift;
pub(crate) mod unordered;
pub(crate) mod until_error;
pub(crate) mod window_keys;
pub(crate) mod window_twins;
