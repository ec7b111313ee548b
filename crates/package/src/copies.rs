//! What copies of a package are done with.

use std::sync::Arc;

use copy::{TransformEngine, Voice};

/// What the program that runs a package has for its copies.
#[derive(Clone, Default)]
pub struct Copies {
    /// Transforms rows, if the program can.
    pub engine: Option<Arc<dyn TransformEngine>>,
    /// Who hears of what a copy meets before its rows.
    pub voice: Voice,
}
