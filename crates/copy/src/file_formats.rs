//! Chooses the format of a file.

use std::{fmt, sync::Arc};

use formats::{Compression, Format, Location};
use tds::Column;

use crate::error::CopyError;

/// Chooses the format and the compression of a file.
type Choose = dyn Fn(&Location, Option<&[Column]>) -> Result<(Format, Compression), CopyError> + Send + Sync;

/// Chooses the format and compression of each file. The default goes by suffixes.
#[derive(Clone)]
pub struct FileFormats(Arc<Choose>);

impl FileFormats {
    /// Formats by a rule: it is given the file, and its columns if they are known, which a file of bcp needs.
    pub fn by(
        rule: impl Fn(&Location, Option<&[Column]>) -> Result<(Format, Compression), CopyError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(rule))
    }

    /// Returns the format of a file.
    ///
    /// # Errors
    /// Nothing says which it is.
    pub fn of(
        &self,
        location: &Location,
        columns: Option<&[Column]>,
    ) -> Result<(Format, Compression), CopyError> {
        (self.0)(location, columns)
    }
}

impl Default for FileFormats {
    fn default() -> Self {
        Self::by(|location, _| match location.path() {
            Some(_) => Ok(Format::of(location)?),
            None => Err(CopyError::Usage(format!("{location} has no suffix: name its format"))),
        })
    }
}

impl fmt::Debug for FileFormats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileFormats")
    }
}
