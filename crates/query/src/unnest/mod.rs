//! Subqueries as operators.
//!
//! The binder leaves subqueries in expressions, and APPLY as a table of two plans. Before a plan is optimised,
//! [`without_subqueries`] makes dependent joins of them all. Such a join is the operator of
//! [`ApplyTable`](crate::apply::ApplyTable), whose right side looks at rows of the left one. Its kind is a value,
//! EXISTS, IN with true, false and unknown, CROSS or OUTER. Plain EXISTS and IN become semi joins at once.
//!
//! A dependent join is computed for all rows of its left side together, after Neumann and Kemper, "Unnesting Arbitrary
//! Queries" (2015). [`Unnesting`](dependent::Unnesting) turns the right side into a plan over the
//! [`Domain`](domain::Domain): the distinct outer values with a number for each. Groups and windows take the number as
//! a key, an aggregate without groups keeps its row for each number, TOP and OFFSET count within it. By the number the
//! rows are joined back, so that NULL needs no care. The left side's rows are held meanwhile: the domain is made of
//! them, and the left side runs once.
//!
//! The engine's own rules for subqueries are not used. They know few shapes and lose rows in some of them
//! (DataFusion's issues 24960, 25519 and 5492).

pub(crate) mod dependent;
pub(crate) mod domain;
mod lookups;
mod presence;
mod subqueries;

use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use subqueries::without_subqueries;

/// Makes a column name that no plan has yet.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("u{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
