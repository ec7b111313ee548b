//! The text file of the source, as far as it is known.

use std::path::PathBuf;
use std::sync::Arc;

use crate::text::{Content, Inference, TextFile};

/// The text file of the source, beside what was chosen for it.
#[derive(Debug, Clone, Default)]
pub struct SourceText {
    /// The path that the choices were guessed for.
    pub path: String,
    /// The head of the file.
    pub file: Option<Arc<TextFile>>,
    /// Files in all, if the path is a pattern.
    pub files: usize,
    /// The kind of the content, if it is no text.
    pub content: Option<Content>,
    /// Doubts about the guess.
    pub doubts: Vec<String>,
    /// Format files that were written here, and may be written again.
    pub written: Vec<PathBuf>,
    /// The reading of the whole source, and the source's words that it belongs to.
    pub inference: Option<(String, Arc<Inference>)>,
}
