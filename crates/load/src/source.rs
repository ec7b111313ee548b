//! The input of a load: record batches that know the origins of their rows.

use std::{error::Error, fmt, ops::Range, sync::Arc, time::Duration};

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt32Array},
    compute::{concat_batches, take_record_batch},
    datatypes::DataType,
    error::ArrowError,
    record_batch::RecordBatch,
};

/// The place of a row in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Number of the row, counted from 0.
    pub row: u64,
    /// Offset of its first byte after decompression, if the source has bytes.
    pub byte_offset: Option<u64>,
    /// The row's bytes in the source, if they were kept.
    pub raw: Option<Vec<u8>>,
}

/// Says where the rows of a batch came from; needed when a reader leaves rows out, or to show refused rows as they were.
pub trait Origins: Send + Sync {
    /// Returns the origin of the row at `index` of the batch.
    fn origin(&self, index: usize) -> Origin;

    /// Returns the row's number alone, counted from 0.
    fn row(&self, index: usize) -> u64 {
        self.origin(index).row
    }

    /// Returns the bytes that the origins take in memory, if that grows with the rows that a load holds back.
    fn bytes(&self) -> usize {
        0
    }
}

/// A row that the source could not convert to its columns.
#[derive(Debug, Clone)]
pub struct UnreadRow {
    /// The place of the row in its source.
    pub origin: Origin,
    /// The source's own error.
    pub error: Arc<dyn Error + Send + Sync>,
}

/// A record batch and the origins of its rows. Without origins, rows are numbered as they come.
#[derive(Clone)]
pub struct SourceBatch {
    batch: RecordBatch,
    origins: Option<Arc<dyn Origins>>,
    /// Index of the batch's first row in `origins`.
    first: usize,
    /// Number of the batch's first row if there are no origins, counted from 0.
    counted: u64,
    /// Rows that stood before, between and behind these and could not be read, in the source's order.
    unread: Vec<UnreadRow>,
    /// CPU time of other threads that went into the batch.
    helpers_cpu: Duration,
    /// Name of the file in which the rows stood, and the number of its first row.
    file: Option<(Arc<str>, u64)>,
}

impl SourceBatch {
    /// Makes a batch whose rows have these origins.
    pub fn new(batch: RecordBatch, origins: Arc<dyn Origins>) -> Self {
        Self {
            batch,
            origins: Some(origins),
            first: 0,
            counted: 0,
            unread: Vec::new(),
            helpers_cpu: Duration::ZERO,
            file: None,
        }
    }

    /// Names the file in which the rows stood, for a source of several; `first_row` is the number of the file's first row.
    #[must_use]
    pub fn in_file(self, file: Arc<str>, first_row: u64) -> Self {
        Self { file: Some((file, first_row)), ..self }
    }

    /// Returns the name of the file in which the rows stood, if the source is files, and the number of its first row.
    pub fn file(&self) -> Option<(&Arc<str>, u64)> {
        self.file.as_ref().map(|(file, first_row)| (file, *first_row))
    }

    /// Adds the rows that stood among the batch's own and could not be read, in the source's order. Its own rows must
    /// know their origins. A load that tolerates no refused row fails at the first of them.
    #[must_use]
    pub fn with_unread(self, unread: Vec<UnreadRow>) -> Self {
        Self { unread, ..self }
    }

    /// Adds `by` to the numbers of all rows, for a source that is made of several. A batch whose rows have no numbers of its own
    /// is taken for the first of its part.
    #[must_use]
    pub fn shifted(self, by: u64) -> Self {
        let mut unread = self.unread;
        for row in &mut unread {
            row.origin.row = row.origin.row.saturating_add(by);
        }
        let (origins, first): (Arc<dyn Origins>, _) = match self.origins {
            Some(origins) => (Arc::new(Shifted { origins, by }), self.first),
            None => (Arc::new(Numbered { first: self.counted.saturating_add(by) }), 0),
        };
        Self { unread, origins: Some(origins), first, ..self }
    }

    /// Says how much CPU time of other threads than the reading one went into the batch, for the load's report.
    #[must_use]
    pub fn with_helpers_cpu(self, helpers_cpu: Duration) -> Self {
        Self { helpers_cpu, ..self }
    }

    /// Returns the CPU time of other threads that went into the batch.
    pub fn helpers_cpu(&self) -> Duration {
        self.helpers_cpu
    }

    /// Takes out the rows that could not be read.
    pub fn take_unread(&mut self) -> Vec<UnreadRow> {
        std::mem::take(&mut self.unread)
    }

    /// Returns the rows that could not be read.
    pub fn unread(&self) -> &[UnreadRow] {
        &self.unread
    }

    /// Returns the rows.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Takes some of the rows, without those that could not be read.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        Self {
            batch: self.batch.slice(offset, length),
            origins: self.origins.clone(),
            first: self.first + offset,
            counted: self.counted + offset as u64,
            unread: Vec::new(),
            helpers_cpu: Duration::ZERO,
            file: self.file.clone(),
        }
    }

    /// Copies some of the rows, in ascending order, without those that could not be read.
    ///
    /// # Errors
    /// A column has a type whose values cannot be taken.
    pub(crate) fn picked(&self, rows: &[u32]) -> Result<Self, ArrowError> {
        let taken = take_record_batch(&self.batch, &UInt32Array::from(rows.to_vec()))?;
        let columns = taken.columns().iter().map(compacted).collect();
        let batch = RecordBatch::try_new(taken.schema(), columns)?;
        let places = rows.iter().map(|row| *row as usize);
        let places: Arc<dyn Origins> = match &self.origins {
            Some(_) => Arc::new(Places(places.map(|place| self.origin(place)).collect())),
            None => Arc::new(Numbers(places.map(|place| self.origin_row(place)).collect())),
        };
        Ok(Self { batch, origins: Some(places), first: 0, counted: 0, unread: Vec::new(), ..self.clone() })
    }

    /// Joins the rows of batches that follow one another; `None` if they are of several files.
    ///
    /// # Errors
    /// The batches have different columns.
    pub(crate) fn joined(parts: &[Self]) -> Result<Option<Self>, ArrowError> {
        let Some(first) = parts.first() else { return Ok(None) };
        let file = |part: &Self| part.file.as_ref().map(|(name, first_row)| (Arc::clone(name), *first_row));
        if parts.iter().any(|part| file(part) != file(first)) {
            return Ok(None);
        }
        let batch = concat_batches(&first.batch.schema(), parts.iter().map(|part| &part.batch))?;
        let mut ends = Vec::with_capacity(parts.len());
        let mut end = 0;
        for part in parts {
            end += part.rows();
            // The origins alone: the values are in the new batch.
            let nothing = RecordBatch::new_empty(first.batch.schema());
            ends.push((end, Self { batch: nothing, unread: Vec::new(), ..part.clone() }));
        }
        Ok(Some(Self {
            batch,
            origins: Some(Arc::new(Joined(ends))),
            first: 0,
            counted: 0,
            unread: parts.iter().flat_map(|part| part.unread.iter().cloned()).collect(),
            helpers_cpu: Duration::ZERO,
            file: first.file.clone(),
        }))
    }

    /// Estimates the bytes that the origins of the rows take in memory.
    pub(crate) fn origin_bytes(&self) -> usize {
        let unread = self.unread.iter().map(|unread| unread.origin.raw.as_ref().map_or(0, Vec::len));
        self.origins.as_ref().map_or(0, |origins| origins.bytes()) + unread.sum::<usize>()
    }

    /// Replaces the rows by the same ones in another form, with their origins kept.
    #[must_use]
    pub fn with_rows(self, batch: RecordBatch) -> Self {
        Self { batch, ..self }
    }

    /// Numbers the rows from `first` on, unless the source says where they stood.
    #[must_use]
    pub fn numbered(self, first: u64) -> Self {
        match self.origins {
            Some(_) => self,
            None => self.counted_from(0).shifted(first),
        }
    }

    /// Numbers the rows from `counted` on, unless the source says where they stood.
    #[must_use]
    pub fn counted_from(self, counted: u64) -> Self {
        Self { counted, ..self }
    }

    /// Returns the number in the source, from 0, of the row at `index`.
    pub fn origin_row(&self, index: usize) -> u64 {
        match &self.origins {
            Some(origins) => origins.row(self.first + index),
            None => self.counted + index as u64,
        }
    }

    /// Counts the rows that stand before row `row` of the source.
    pub(crate) fn rows_before(&self, row: u64) -> usize {
        let (mut low, mut high) = (0, self.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.origin_row(middle) < row { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Divides a batch at the row with number `end`; `end_of_batch` is the number behind the last. Rows that could not
    /// be read go with their neighbours.
    pub(crate) fn parted(mut self, end: u64, end_of_batch: u64) -> (Self, Self) {
        if end >= end_of_batch {
            let rest = self.slice(self.rows(), 0);
            return (self, rest);
        }
        let taken = self.rows_before(end);
        let (here, behind) = self.take_unread().into_iter().partition(|unread| unread.origin.row < end);
        let rest = self.slice(taken, self.rows() - taken).with_unread(behind);
        (self.slice(0, taken).with_unread(here), rest)
    }

    /// Returns the origin of the row at `index`.
    pub fn origin(&self, index: usize) -> Origin {
        match &self.origins {
            Some(origins) => origins.origin(self.first + index),
            None => Origin { row: self.counted + index as u64, byte_offset: None, raw: None },
        }
    }
}

/// The rows of one of several sources.
struct Shifted {
    origins: Arc<dyn Origins>,
    by: u64,
}

impl Origins for Shifted {
    fn origin(&self, index: usize) -> Origin {
        let origin = self.origins.origin(index);
        Origin { row: origin.row.saturating_add(self.by), ..origin }
    }

    fn row(&self, index: usize) -> u64 {
        self.origins.row(index).saturating_add(self.by)
    }
}

/// Rows that follow one another.
struct Numbered {
    first: u64,
}

impl Origins for Numbered {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.first.saturating_add(index as u64), byte_offset: None, raw: None }
    }
}

/// Places of single rows.
struct Places(Vec<Origin>);

impl Origins for Places {
    fn origin(&self, index: usize) -> Origin {
        self.0.get(index).cloned().unwrap_or(Origin { row: 0, byte_offset: None, raw: None })
    }

    fn row(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |origin| origin.row)
    }

    fn bytes(&self) -> usize {
        let raw: usize = self.0.iter().map(|origin| origin.raw.as_ref().map_or(0, Vec::len)).sum();
        self.0.len() * size_of::<Origin>() + raw
    }
}

/// Numbers of single rows.
struct Numbers(Vec<u64>);

impl Origins for Numbers {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.row(index), byte_offset: None, raw: None }
    }

    fn row(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }
}

/// Rows of several batches: the index behind each batch's last row, and what knows its origins.
struct Joined(Vec<(usize, SourceBatch)>);

impl Joined {
    fn part(&self, index: usize) -> Option<(&SourceBatch, usize)> {
        let at = self.0.partition_point(|(end, _)| *end <= index);
        let start = at.checked_sub(1).and_then(|before| self.0.get(before)).map_or(0, |(end, _)| *end);
        self.0.get(at).map(|(_, part)| (part, index - start))
    }
}

impl Origins for Joined {
    fn origin(&self, index: usize) -> Origin {
        let part = self.part(index);
        part.map_or(Origin { row: 0, byte_offset: None, raw: None }, |(part, index)| part.origin(index))
    }

    fn row(&self, index: usize) -> u64 {
        self.part(index).map_or(0, |(part, index)| part.origin_row(index))
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, part)| part.origin_bytes()).sum()
    }
}

/// Copies taken values apart from the memory of those they were taken from.
fn compacted(taken: &ArrayRef) -> ArrayRef {
    match taken.data_type() {
        DataType::Utf8View => Arc::new(taken.as_string_view().gc()),
        DataType::BinaryView => Arc::new(taken.as_binary_view().gc()),
        _ => Arc::clone(taken),
    }
}

impl From<RecordBatch> for SourceBatch {
    fn from(batch: RecordBatch) -> Self {
        Self {
            batch,
            origins: None,
            first: 0,
            counted: 0,
            unread: Vec::new(),
            helpers_cpu: Duration::ZERO,
            file: None,
        }
    }
}

impl fmt::Debug for SourceBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceBatch")
            .field("rows", &self.rows())
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

/// Rows `wanted` of all, batch by batch.
pub(crate) fn parts_of(held: &[SourceBatch], wanted: Range<usize>) -> impl Iterator<Item = SourceBatch> + '_ {
    let mut before = 0;
    held.iter().filter_map(move |batch| {
        let own = before..before + batch.rows();
        before = own.end;
        let (first, last) = (wanted.start.max(own.start), wanted.end.min(own.end));
        (first < last).then(|| batch.slice(first - own.start, last - first))
    })
}

/// Finds the batch that holds the row at `index` of all, and the row's index in it.
pub(crate) fn row_at(held: &[SourceBatch], index: usize) -> Option<(&SourceBatch, usize)> {
    let mut before = 0;
    for batch in held {
        if index < before + batch.rows() {
            return Some((batch, index - before));
        }
        before += batch.rows();
    }
    None
}
