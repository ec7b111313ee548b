//! Records of a page, plain or compressed, written as rows of the wire.

use tds::{LengthClass, SqlType};

use crate::{
    catalogue::{Place, RowColumn},
    compressed_value::Expansion,
    error::FileError,
    records::{FixedVar, LargeValues, PageInformation, Pointer, Shared, compressed::Cell},
    stored_value::Conversion,
    wire_row::WireRows,
};

/// The way from records to the values of a column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnReader {
    name: String,
    class: LengthClass,
    is_nullable: bool,
    is_bit: bool,
    is_text_pointer: bool,
    /// Bytes of a fixed column, and the most that a variable one has.
    bytes_max: Option<usize>,
    expansion: Expansion,
    conversion: Conversion,
}

impl ColumnReader {
    /// Makes the reader of a column.
    pub(crate) fn of(column: &tds::Column) -> Self {
        let sql_type = column.sql_type();
        Self {
            name: column.name.clone(),
            class: column.type_info.length_class(),
            is_nullable: column.flags.is_nullable(),
            is_bit: *sql_type == SqlType::Bit,
            is_text_pointer: sql_type.is_legacy_lob(),
            bytes_max: sql_type.max_length_bytes().map(|bytes| bytes as usize),
            expansion: Expansion::of(sql_type),
            conversion: Conversion::of(sql_type),
        }
    }
}

/// An error in a row: something of its own, or a page that it points to.
pub(crate) enum Problem {
    Of(String),
    Elsewhere(FileError),
}

/// The place of a value in its record.
enum Found<'a> {
    Null,
    /// The record is from before the column was added.
    Missing,
    /// A bit of a byte.
    Bit(bool),
    /// Bytes of a plain record.
    Plain(&'a [u8]),
    /// Bytes of a compressed record or of its page.
    Compressed(Shared<'a>),
    /// A pointer to pages of large values.
    Pointer(&'a [u8]),
}

/// Writes records as rows of the wire.
pub(crate) struct RowWriter<'a, 'b> {
    readers: &'a [ColumnReader],
    columns: &'a [RowColumn],
    large: &'a mut LargeValues<'b>,
    buffers: Buffers,
}

/// Buffers of a value on its way: put together, restored, turned.
#[derive(Default)]
struct Buffers {
    value: Vec<u8>,
    expanded: Vec<u8>,
    converted: Vec<u8>,
}

impl<'a, 'b> RowWriter<'a, 'b> {
    /// Writes rows whose columns have these readers and places.
    pub(crate) fn new(
        readers: &'a [ColumnReader],
        columns: &'a [RowColumn],
        large: &'a mut LargeValues<'b>,
    ) -> Self {
        Self { readers, columns, large, buffers: Buffers::default() }
    }

    /// Writes a record without compression.
    pub(crate) fn write_plain(&mut self, record: &FixedVar<'_>, rows: &mut WireRows) -> Result<(), Problem> {
        self.write(|reader, column| plain(reader, column, record), &PageInformation::default(), rows)
    }

    /// Writes a compressed record of a page.
    pub(crate) fn write_compressed(
        &mut self,
        cells: &[Cell<'_>],
        information: &PageInformation<'_>,
        rows: &mut WireRows,
    ) -> Result<(), Problem> {
        self.write(|reader, column| compressed(reader, column, cells), information, rows)
    }

    fn write<'c>(
        &mut self,
        find: impl Fn(&ColumnReader, RowColumn) -> Result<Found<'c>, String>,
        information: &PageInformation<'_>,
        rows: &mut WireRows,
    ) -> Result<(), Problem> {
        rows.begin();
        let readers = self.readers;
        for (reader, column) in readers.iter().zip(self.columns) {
            let written = match find(reader, *column) {
                Ok(found) => self.value(reader, *column, found, information, rows),
                Err(text) => Err(Problem::Of(text)),
            };
            written.map_err(|problem| match problem {
                Problem::Of(text) => Problem::Of(format!("column {}: {text}", reader.name)),
                elsewhere @ Problem::Elsewhere(_) => elsewhere,
            })?;
        }
        Ok(())
    }

    fn value(
        &mut self,
        reader: &ColumnReader,
        column: RowColumn,
        found: Found<'_>,
        information: &PageInformation<'_>,
        rows: &mut WireRows,
    ) -> Result<(), Problem> {
        let Buffers { value, expanded, converted } = &mut self.buffers;
        let bytes = match found {
            Found::Null => return reader.null(rows).map_err(Problem::Of),
            Found::Missing if reader.is_nullable => return reader.null(rows).map_err(Problem::Of),
            Found::Missing => {
                let text =
                    "the row is older than the column, and its default stands in a form that is not read";
                return Err(Problem::Of(text.to_owned()));
            }
            Found::Bit(bit) => {
                value.clear();
                value.push(u8::from(bit));
                value.as_slice()
            }
            Found::Plain(bytes) => bytes,
            Found::Compressed(shared) => {
                let position = column.place.position();
                let stored = information.value(position, shared, value);
                let stored = stored.map_err(|text| Problem::Of(text.to_owned()))?;
                let restored = reader.expansion.apply(stored, expanded);
                restored.ok_or_else(|| Problem::Of(format!("{stored:02x?} is no value of its type")))?
            }
            Found::Pointer(bytes) => {
                let pointer = match reader.is_text_pointer && bytes.len() == 16 {
                    true => Pointer::Text(bytes),
                    false => Pointer::Root(bytes),
                };
                value.clear();
                match self.large.append(pointer, value).map_err(Problem::Elsewhere)? {
                    true => value.as_slice(),
                    false => return reader.null(rows).map_err(Problem::Of),
                }
            }
        };
        if reader.bytes_max.is_some_and(|most| bytes.len() > most) {
            return Err(Problem::Of(format!("{} bytes, more than its type has", bytes.len())));
        }
        let bytes = reader.conversion.apply(bytes, converted).map_err(Problem::Of)?;
        rows.value(reader.class, bytes)
            .map_err(|_| Problem::Of(format!("{} bytes, which is no value of its type", bytes.len())))
    }
}

impl ColumnReader {
    fn null(&self, rows: &mut WireRows) -> Result<(), String> {
        if !self.is_nullable {
            return Err("NULL in a column that is NOT NULL".to_owned());
        }
        rows.null(self.class);
        Ok(())
    }
}

/// Finds the value of a column in a plain record.
fn plain<'a>(reader: &ColumnReader, column: RowColumn, record: &FixedVar<'a>) -> Result<Found<'a>, String> {
    if record.is_null(column.null_bit) {
        return Ok(if record.has_column(column.null_bit) { Found::Null } else { Found::Missing });
    }
    Ok(match column.place {
        Place::Fixed { offset, bit } if reader.is_bit => match record.fixed(offset, 1) {
            Some(byte) => Found::Bit(byte.first().copied().unwrap_or_default() >> bit & 1 == 1),
            None => Found::Missing,
        },
        Place::Fixed { offset, .. } => match record.fixed(offset, reader.bytes_max.unwrap_or_default()) {
            Some(bytes) => Found::Plain(bytes),
            None => Found::Missing,
        },
        Place::Variable { ordinal } => {
            match record.variable(ordinal).ok_or("its length does not fit the record")? {
                (bytes, true) => Found::Pointer(bytes),
                (bytes, false) => Found::Plain(bytes),
            }
        }
    })
}

/// Finds the value of a column in a compressed record, whose columns are numbered one after another.
fn compressed<'a>(reader: &ColumnReader, column: RowColumn, cells: &[Cell<'a>]) -> Result<Found<'a>, String> {
    Ok(match cells.get(column.place.position()).copied() {
        None => Found::Missing,
        Some(Cell::Null) => Found::Null,
        Some(Cell::One) if reader.is_bit => Found::Bit(true),
        Some(Cell::One) => return Err("the code of a bit in a column that is none".to_owned()),
        Some(Cell::Bytes(bytes)) => Found::Compressed(Shared::Bytes(bytes)),
        Some(Cell::Symbol(number)) => Found::Compressed(Shared::Symbol(number)),
        Some(Cell::Pointer(bytes)) => Found::Pointer(bytes),
    })
}
