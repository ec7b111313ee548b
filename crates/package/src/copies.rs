//! The means to run a package's copies.

use std::sync::Arc;

use copy::{TransformEngine, Voice};

/// The means of the program to run a package's copies.
#[derive(Clone, Default)]
pub struct Copies {
    /// Transforms rows, if the program can.
    pub engine: Option<Arc<dyn TransformEngine>>,
    /// Receives the retries and warnings that come before the first row.
    pub voice: Voice,
}
