//! Errors of files that are no package of SSIS.

/// An error by which a file cannot be translated at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Neither UTF-8 nor UTF-16.
    #[error("this is neither UTF-8 nor UTF-16 with a byte-order mark")]
    Encoding,
    /// Not XML.
    #[error("this is no XML, at byte {at}: {reason}")]
    Xml {
        /// The byte at which the XML is wrong.
        at: usize,
        /// A description of the mistake.
        reason: String,
    },
    /// A document type, by which entities could be defined.
    #[error("packages of SSIS have no document type (<!DOCTYPE>)")]
    DocumentType,
    /// An entity that XML does not know by itself.
    #[error("an entity is not known")]
    Entity,
    /// More or deeper than any package.
    #[error("the document is too large, or nested too deeply")]
    TooLarge,
    /// No archive.
    #[error("this is no archive of a project: {0}")]
    Archive(String),
    /// XML of another kind.
    #[error("this is no package of SSIS, nor a part of its project: its root is <{0}>")]
    Foreign(String),
}
