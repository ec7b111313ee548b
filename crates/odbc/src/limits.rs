//! Limits of the memory that rows take on their way.

use adbc_core::error::Result;
use adbc_core::options::OptionValue;
use drivers::option_values;

const MAX_TEXT_SIZE: &str = "bulkwire.odbc.max_text_size";
const MAX_BINARY_SIZE: &str = "bulkwire.odbc.max_binary_size";
const MAX_BYTES_PER_BATCH: &str = "bulkwire.odbc.max_bytes_per_batch";
const BATCH_ROWS: &str = "bulkwire.odbc.batch_rows";

/// Sizes of the buffers that a driver fills and empties.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// UTF-16 units of a text. A longer one is an error.
    pub(crate) max_text_size: usize,
    /// Greatest number of bytes of a binary value. A longer one is an error.
    pub(crate) max_binary_size: usize,
    /// Greatest number of bytes of all buffers of a statement.
    pub(crate) max_bytes_per_batch: usize,
    /// Rows of a batch, if they do not take more bytes.
    pub(crate) batch_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_text_size: 1 << 20,
            max_binary_size: 1 << 20,
            max_bytes_per_batch: 64 << 20,
            batch_rows: 8192,
        }
    }
}

impl Limits {
    /// Sets a limit; `false`: there is none of this name.
    pub(crate) fn set(&mut self, key: &str, value: OptionValue) -> Result<bool> {
        let limit = match key {
            MAX_TEXT_SIZE => &mut self.max_text_size,
            MAX_BINARY_SIZE => &mut self.max_binary_size,
            MAX_BYTES_PER_BATCH => &mut self.max_bytes_per_batch,
            BATCH_ROWS => &mut self.batch_rows,
            _ => return Ok(false),
        };
        *limit = usize::try_from(option_values::count(key, value)?).unwrap_or(usize::MAX);
        Ok(true)
    }
}
