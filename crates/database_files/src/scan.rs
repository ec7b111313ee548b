//! The rows of a table, page by page, as record batches.

use std::sync::Arc;

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use rows::{Decoder, Form};
use tds::{LengthClass, SqlType};

use crate::{
    catalogue::{Place, RowColumn, Rowset},
    definition::{Column, Table},
    error::{FileError, Reason, Result, malformed},
    image::Image,
    pages::{PAGE_BYTES, Page, PageAddress, RecordAddress, kind},
    parallel::in_order,
    reading::TableReader,
    records::{FixedVar, LargeValues, Pointer, RecordKind},
    stored_value::Conversion,
    wire_row::WireRows,
};

/// Pages that a thread reads at a time: 8 MiB.
const PIECE_PAGES: usize = 1024;

/// The way from records to the values of a column.
#[derive(Debug, Clone)]
struct ColumnReader {
    name: String,
    class: LengthClass,
    is_nullable: bool,
    is_bit: bool,
    is_text_pointer: bool,
    /// Bytes of a fixed column, and the most that a variable one has.
    bytes_max: Option<usize>,
    conversion: Conversion,
}

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
            if self.is_compressed && page.slots() > 0 {
                let text = "rows of a compressed table, which are not read".to_owned();
                return Err(image.error(address, Reason::Unsupported(text)));
            }
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
        let mut writer =
            RowWriter { readers: &self.readers, columns, large, value: Vec::new(), converted: Vec::new() };
        for slot in 0..page.slots() {
            let record = page.record(slot).map_err(|slot| self.image.bad_slot(address, slot))?;
            let Some(bytes) = record else { continue };
            let status = bytes.first().copied().unwrap_or_default();
            if !matches!(RecordKind::of(status), RecordKind::Row | RecordKind::Forwarded) {
                continue;
            }
            let place = RecordAddress { page: address, slot };
            let error = |reason: Reason| FileError::new(self.image.name(), place.to_string(), reason);
            let record =
                FixedVar::parse(bytes).ok_or_else(|| error(malformed("its lengths do not fit a record")))?;
            writer.write(&record, &mut self.rows).map_err(|problem| match problem {
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

impl ColumnReader {
    fn of(column: &tds::Column) -> Self {
        let sql_type = column.sql_type();
        Self {
            name: column.name.clone(),
            class: column.type_info.length_class(),
            is_nullable: column.flags.is_nullable(),
            is_bit: *sql_type == SqlType::Bit,
            is_text_pointer: sql_type.is_legacy_lob(),
            bytes_max: sql_type.max_length_bytes().map(|bytes| bytes as usize),
            conversion: Conversion::of(sql_type),
        }
    }
}

/// An error in a row: something of its own, or a page that it points to.
enum Problem {
    Of(String),
    Elsewhere(FileError),
}

/// Writes records as rows of the wire.
struct RowWriter<'a, 'b> {
    readers: &'a [ColumnReader],
    columns: &'a [RowColumn],
    large: &'a mut LargeValues<'b>,
    value: Vec<u8>,
    converted: Vec<u8>,
}

impl RowWriter<'_, '_> {
    fn write(&mut self, record: &FixedVar<'_>, rows: &mut WireRows) -> std::result::Result<(), Problem> {
        rows.begin();
        let readers = self.readers;
        for (reader, column) in readers.iter().zip(self.columns) {
            self.column(reader, *column, record, rows).map_err(|problem| match problem {
                Problem::Of(text) => Problem::Of(format!("column {}: {text}", reader.name)),
                elsewhere @ Problem::Elsewhere(_) => elsewhere,
            })?;
        }
        Ok(())
    }

    fn column(
        &mut self,
        reader: &ColumnReader,
        column: RowColumn,
        record: &FixedVar<'_>,
        rows: &mut WireRows,
    ) -> std::result::Result<(), Problem> {
        let null = |rows: &mut WireRows| match reader.is_nullable {
            true => {
                rows.null(reader.class);
                Ok(())
            }
            false if !record.has_column(column.null_bit) => Err(Problem::Of(
                "the row is older than the column, and its default stands in a form that is not read"
                    .to_owned(),
            )),
            false => Err(Problem::Of("NULL in a column that is NOT NULL".to_owned())),
        };
        if record.is_null(column.null_bit) {
            return null(rows);
        }
        let value = match column.place {
            Place::Fixed { offset, bit } if reader.is_bit => match record.fixed(offset, 1) {
                Some(byte) => {
                    self.value.clear();
                    self.value.push(byte.first().copied().unwrap_or_default() >> bit & 1);
                    self.value.as_slice()
                }
                None => return null(rows),
            },
            Place::Fixed { offset, .. } => match record.fixed(offset, reader.bytes_max.unwrap_or_default()) {
                Some(bytes) => bytes,
                None => return null(rows),
            },
            Place::Variable { ordinal } => {
                let (bytes, is_pointer) = record
                    .variable(ordinal)
                    .ok_or_else(|| Problem::Of("its length does not fit the record".to_owned()))?;
                if !is_pointer {
                    bytes
                } else {
                    let pointer = match reader.is_text_pointer && bytes.len() == 16 {
                        true => Pointer::Text(bytes),
                        false => Pointer::Root(bytes),
                    };
                    self.value.clear();
                    match self.large.append(pointer, &mut self.value).map_err(Problem::Elsewhere)? {
                        true => self.value.as_slice(),
                        false => return null(rows),
                    }
                }
            }
        };
        if reader.bytes_max.is_some_and(|most| value.len() > most) {
            return Err(Problem::Of(format!("{} bytes, more than its type has", value.len())));
        }
        let value = reader.conversion.apply(value, &mut self.converted).map_err(Problem::Of)?;
        rows.value(reader.class, value)
            .map_err(|_| Problem::Of(format!("{} bytes, which is no value of its type", value.len())))
    }
}
