//! The rows of a table, page by page, as record batches.

use std::sync::Arc;

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use rows::{Decoder, Form};

use crate::{
    catalogue::{RowColumn, Rowset},
    definition::{Column, Table},
    error::{FileError, Reason, Result, malformed},
    image::Image,
    pages::{PAGE_BYTES, Page, PageAddress, RecordAddress, kind},
    parallel::in_order,
    reading::TableReader,
    records::{FixedVar, LargeValues, PageInformation, RecordKind, compressed},
    row_writer::{ColumnReader, Problem, RowWriter},
    wire_row::WireRows,
};

/// Pages that a thread reads at a time: 8 MiB.
const PIECE_PAGES: usize = 1024;

/// Pages of a table with one layout.
pub(crate) struct PagesOfRowset {
    pub rowset: Rowset,
    pub pages: Vec<PageAddress>,
}

/// Reads the rows of a table in the order of its pages.
pub(crate) struct Scan {
    image: Arc<Image>,
    table: String,
    readers: Vec<ColumnReader>,
    parts: std::vec::IntoIter<PagesOfRowset>,
    part: Option<(Vec<RowColumn>, std::vec::IntoIter<PageAddress>)>,
    decoder: Decoder,
    rows: WireRows,
    /// Places of the rows in `rows`.
    places: Vec<RecordAddress>,
    is_compressed: bool,
    is_done: bool,
}

impl Scan {
    /// Reads the stored columns of a table by several threads.
    ///
    /// # Errors
    /// The table has no stored columns.
    pub(crate) fn in_pieces(
        image: Arc<Image>,
        table: &Table,
        parts: Vec<PagesOfRowset>,
        form: Form,
        batch_rows: usize,
        threads: usize,
    ) -> Result<TableReader> {
        let schema = Self::new(Arc::clone(&image), table, Vec::new(), form.clone(), batch_rows)?.schema();
        let pieces: Vec<PagesOfRowset> = parts
            .into_iter()
            .flat_map(|part| {
                let pieces = part.pages.chunks(PIECE_PAGES).map(<[PageAddress]>::to_vec);
                let rowset = part.rowset.clone();
                pieces.map(|pages| PagesOfRowset { rowset: rowset.clone(), pages }).collect::<Vec<_>>()
            })
            .collect();
        let table = table.clone();
        let batches = in_order(pieces, threads, move |piece, hand| {
            for batch in Self::new(Arc::clone(&image), &table, vec![piece], form.clone(), batch_rows)? {
                if !hand(batch?) {
                    break;
                }
            }
            Ok(())
        });
        Ok(TableReader::new(schema, batches))
    }

    /// Begins to read the stored columns of a table.
    ///
    /// # Errors
    /// The table has no stored columns.
    pub(crate) fn new(
        image: Arc<Image>,
        table: &Table,
        parts: Vec<PagesOfRowset>,
        form: Form,
        batch_rows: usize,
    ) -> Result<Self> {
        let columns: Vec<tds::Column> = table.stored_columns().map(wire_column).collect();
        let decoder = Decoder::new(&columns, form).map_err(|error| {
            FileError::new(image.name(), "", malformed(error.to_string())).of_table(&table.full_name())
        })?;
        Ok(Self {
            table: table.full_name(),
            readers: columns.iter().map(ColumnReader::of).collect(),
            parts: parts.into_iter(),
            part: None,
            decoder: decoder.with_batch_rows(batch_rows),
            rows: WireRows::default(),
            places: Vec::new(),
            is_compressed: false,
            is_done: false,
            image,
        })
    }

    /// Returns the schema of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.decoder.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let image = Arc::clone(&self.image);
        let mut large = LargeValues::new(&image);
        let mut buffer = Box::new([0; PAGE_BYTES]);
        loop {
            self.decode()?;
            if self.decoder.is_full() {
                return self.take().map(Some);
            }
            let Some(address) = self.next_page() else {
                return match self.decoder.rows_buffered() {
                    0 => Ok(None),
                    _ => self.take().map(Some),
                };
            };
            let page = image.page_into(address, buffer)?;
            if page.kind() == kind::DATA {
                self.read_page(&page, address, &mut large)?;
            }
            buffer = page.into_bytes();
        }
    }

    fn next_page(&mut self) -> Option<PageAddress> {
        loop {
            if let Some((_, pages)) = &mut self.part
                && let Some(page) = pages.next()
            {
                return Some(page);
            }
            let part = self.parts.next()?;
            self.is_compressed = part.rowset.compression > 0;
            self.part = Some((part.rowset.columns, part.pages.into_iter()));
        }
    }

    /// Turns the rows of a page into those of the wire.
    fn read_page(&mut self, page: &Page, address: PageAddress, large: &mut LargeValues<'_>) -> Result<()> {
        let Some((columns, _)) = &self.part else { return Ok(()) };
        let information = match self.is_compressed {
            true => PageInformation::of(page),
            false => Some(PageInformation::default()),
        };
        let information = information.ok_or_else(|| {
            self.image.error(address, malformed("the lengths of its compression information do not fit"))
        })?;
        let mut writer = RowWriter::new(&self.readers, columns, large);
        let mut cells = Vec::new();
        for slot in 0..page.slots() {
            let record = page.record(slot).map_err(|slot| self.image.bad_slot(address, slot))?;
            let Some(bytes) = record else { continue };
            let place = RecordAddress { page: address, slot };
            let error = |reason: Reason| FileError::new(self.image.name(), place.to_string(), reason);
            let misfit = || error(malformed("its lengths do not fit a record"));
            let status = bytes.first().copied().unwrap_or_default();
            let compressed = self.is_compressed.then(|| compressed::kind(status)).flatten();
            let kind = compressed.unwrap_or_else(|| RecordKind::of(status));
            if !matches!(kind, RecordKind::Row | RecordKind::Forwarded) {
                continue;
            }
            let written = match (self.is_compressed, compressed) {
                (true, Some(_)) => {
                    compressed::cells(bytes, &mut cells).ok_or_else(misfit)?;
                    writer.write_compressed(&cells, &information, &mut self.rows)
                }
                (true, None) => {
                    Err(Problem::Of("a row without compression in a compressed table".to_owned()))
                }
                (false, _) => {
                    let record = FixedVar::parse(bytes).ok_or_else(misfit)?;
                    writer.write_plain(&record, &mut self.rows)
                }
            };
            written.map_err(|problem| match problem {
                Problem::Of(reason) => error(malformed(reason)),
                Problem::Elsewhere(inner) => inner,
            })?;
            self.places.push(place);
        }
        Ok(())
    }

    /// Decodes the rows that wait, as far as the batch has room.
    fn decode(&mut self) -> Result<()> {
        let before = self.decoder.rows_decoded();
        let consumed = self.decoder.decode(self.rows.bytes()).map_err(|error| {
            let index = usize::try_from(error.row - before.min(error.row)).unwrap_or(usize::MAX);
            let place = self.places.get(index).map(RecordAddress::to_string).unwrap_or_default();
            FileError::new(
                self.image.name(),
                place,
                malformed(format!("column {}: {}", error.column, error.reason)),
            )
        })?;
        self.rows.drain(consumed);
        let decoded = usize::try_from(self.decoder.rows_decoded() - before).unwrap_or(usize::MAX);
        self.places.drain(..decoded.min(self.places.len()));
        Ok(())
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.decoder
            .take_batch()
            .map_err(|error| FileError::new(self.image.name(), "", malformed(error.to_string())))
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.next_batch().map_err(|error| error.of_table(&self.table)).transpose();
        self.is_done = !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// Returns the column that a server would send.
pub(crate) fn wire_column(column: &Column) -> tds::Column {
    tds::Column::new(&column.name, column.sql_type.clone(), column.is_nullable, column.collation)
}
