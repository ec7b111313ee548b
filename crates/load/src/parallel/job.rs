//! A source as the threads of a load see it.

use crate::{lanes::Router, plan::LoadPlan, reject::Tolerance};

/// A source of a load with its plan and tolerance.
pub(super) struct Job<'a> {
    pub(super) plan: LoadPlan,
    pub(super) tolerance: Option<&'a Tolerance<'a>>,
    /// Says to which lanes its rows belong, if they go by lane.
    pub(super) router: Option<Router>,
}
