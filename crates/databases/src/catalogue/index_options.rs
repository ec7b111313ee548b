//! Storage options of indexes and keys.

use serde::{Deserialize, Serialize};
use tsql::index::{DataCompression, IndexSettings};

/// WITH (…) of an index or a key, and whether it is disabled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexOptions {
    /// FILLFACTOR: how full pages are made when the index is built, in percent; 0 is full.
    pub fill_factor: u8,
    /// PAD_INDEX: the fill factor applies to upper levels too.
    pub pad_index: bool,
    /// DATA_COMPRESSION of a nonclustered index. A clustered one has that of its table.
    pub compression: DataCompression,
    /// IGNORE_DUP_KEY: INSERT leaves out rows whose key exists already.
    pub ignore_dup_key: bool,
    /// ALTER INDEX … DISABLE: neither kept up to date nor enforced.
    pub disabled: bool,
}

impl IndexOptions {
    /// Returns the options of a new index.
    pub fn of(settings: &IndexSettings) -> IndexOptions {
        let mut options = IndexOptions::default();
        options.change(settings);
        options
    }

    /// Applies the options of a statement; the others stay.
    pub fn change(&mut self, settings: &IndexSettings) {
        self.fill_factor = settings.fill_factor.unwrap_or(self.fill_factor);
        self.pad_index = settings.pad_index.unwrap_or(self.pad_index);
        self.compression = settings.compression.unwrap_or(self.compression);
        self.ignore_dup_key = settings.ignore_dup_key.unwrap_or(self.ignore_dup_key);
    }
}
