//! The positions of the fields in a chunk of rows.

/// Bytes of one field. Values of several chunks are gathered outside the window; the top bit of `start` marks
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

const GATHERED: u32 = 1 << 31;

impl Span {
    /// The span of NULL.
    pub(super) const NULL: Self = Self { start: 1, end: 0 };

    /// Returns the span of bytes of the window, which is smaller than 2 GiB.
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the span of bytes gathered outside the window.
    pub(super) fn gathered(start: usize, end: usize) -> Self {
        Self { start: start as u32 | GATHERED, end: end as u32 | GATHERED }
    }

    /// Returns the range in the window, if it is there.
    pub(super) fn in_window(self) -> Option<(usize, usize)> {
        (self.start <= self.end && self.start & GATHERED == 0)
            .then_some((self.start as usize, self.end as usize))
    }

    fn of<'a>(self, window: &'a [u8], gathered: &'a [u8]) -> Option<&'a [u8]> {
        if self.start > self.end {
            return None;
        }
        let (bytes, start, end) = if self.start & GATHERED == 0 {
            (window, self.start, self.end)
        } else {
            (gathered, self.start & !GATHERED, self.end & !GATHERED)
        };
        Some(bytes.get(start as usize..end as usize).unwrap_or_default())
    }
}

/// The fields of a chunk of rows, as the splitter found them.
#[derive(Debug, Default)]
pub(super) struct SplitRows {
    /// Fields, row after row.
    pub(super) spans: Vec<Span>,
    /// First byte in the window of each row, and the byte behind its last.
    pub(super) bounds: Vec<(u32, u32)>,
    /// Values that lay in several pieces.
    pub(super) gathered: Vec<u8>,
    /// Deviations that the original would not have mentioned: row (from 0), field (from 0), deviation.
    pub(super) notes: Vec<(u32, u16, super::Deviation)>,
}

impl SplitRows {
    pub(super) fn clear(&mut self) {
        self.spans.clear();
        self.bounds.clear();
        self.gathered.clear();
        self.notes.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Returns column `field` of the chunk, whose rows have `fields` fields.
    pub(super) fn cells<'a>(&'a self, window: &'a [u8], field: usize, fields: usize) -> Cells<'a> {
        Cells { rows: self, window, field, fields }
    }
}

/// Cells of one field in all rows of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    rows: &'a SplitRows,
    window: &'a [u8],
    field: usize,
    fields: usize,
}

impl<'a> Cells<'a> {
    /// Lists the field's bytes, row by row; `None` for NULL.
    pub(super) fn iter(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let Self { rows, window, field, fields } = self;
        rows.spans.iter().skip(field).step_by(fields.max(1)).map(move |span| span.of(window, &rows.gathered))
    }

    /// Returns the field in one row.
    pub(super) fn get(self, row: usize) -> Option<&'a [u8]> {
        self.rows.spans.get(row * self.fields + self.field)?.of(self.window, &self.rows.gathered)
    }
}
