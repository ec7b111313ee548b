//! The positions of a batch's rows in their file.

/// Number, offset and, if they were kept, the bytes of each row of a batch.
#[derive(Debug, Clone, Default)]
pub struct RowPositions {
    rows: Vec<RowPosition>,
    raw: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy)]
struct RowPosition {
    row: u64,
    byte_offset: u64,
    byte_len: u32,
    /// Start and end of the row's bytes among those kept.
    raw: (usize, usize),
}

impl RowPositions {
    /// Counts the rows of the batch.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number in the file, from 1, of row `index` of the batch; 0 if there is no such row.
    pub fn row(&self, index: usize) -> u64 {
        self.rows.get(index).map_or(0, |position| position.row)
    }

    /// Returns the offset in the (decompressed) file of the first byte of row `index`.
    pub fn byte_offset(&self, index: usize) -> u64 {
        self.rows.get(index).map_or(0, |position| position.byte_offset)
    }

    /// Returns the number of bytes that row `index` takes in the file.
    pub fn byte_len(&self, index: usize) -> usize {
        self.rows.get(index).map_or(0, |position| position.byte_len as usize)
    }

    /// Returns the bytes of row `index` in the file, terminator included; `None` unless rows are kept. For
    /// delimited text they are the row in UTF-8, for files of every encoding.
    pub fn raw(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = self.rows.get(index)?.raw;
        self.raw.as_ref()?.get(start..end)
    }

    /// Begins positions of rows, whose bytes are kept if `keep_raw`.
    pub(crate) fn keeping(keep_raw: bool) -> Self {
        Self { rows: Vec::new(), raw: keep_raw.then(Vec::new) }
    }

    /// Appends a row of `byte_len` bytes of the file, which reads `raw`.
    pub(crate) fn push(&mut self, row: u64, byte_offset: u64, byte_len: u32, raw: &[u8]) {
        let kept = match &mut self.raw {
            Some(kept) => {
                let start = kept.len();
                kept.extend_from_slice(raw);
                (start, kept.len())
            }
            None => (0, 0),
        };
        self.rows.push(RowPosition { row, byte_offset, byte_len, raw: kept });
    }

    /// Returns the same rows, numbered `by` higher.
    pub(crate) fn moved(mut self, by: u64) -> Self {
        self.rows.iter_mut().for_each(|position| position.row += by);
        self
    }

    /// Keeps the rows for which `keep` holds, asked once for each in order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        self.rows.retain(|_| keep());
    }
}
