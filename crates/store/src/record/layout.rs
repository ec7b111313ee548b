//! The place of each column in the records of a table.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use super::compress::{self, Compression};
use super::kind::{Kind, Place};
use crate::error::EngineError;
use crate::page::ROW_LIMIT_BYTES;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// The kind of values that it holds.
    pub kind: Kind,
    /// True if the column may be null.
    pub nullable: bool,
}

impl Column {
    /// Declares a column that may be null.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, nullable: true }
    }

    /// Declares a column that may not be null.
    pub fn required(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, nullable: false }
    }
}

/// Bytes of a record's header: two status bytes and the length of the fixed part.
pub const RECORD_HEADER_BYTES: usize = 4;

/// Form of the head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordForm {
    /// A row of a table: [`RECORD_HEADER_BYTES`].
    #[default]
    Row,
    /// A row in the leaf of a nonclustered index: one status byte.
    IndexLeaf,
}

impl RecordForm {
    fn header_bytes(self) -> usize {
        match self {
            Self::Row => RECORD_HEADER_BYTES,
            Self::IndexLeaf => 1,
        }
    }
}

/// Name of the hidden column that distinguishes rows with equal keys.
const UNIQUIFIER: &str = "uniquifier";

/// Position of a column in its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// `offset` from the start of the record, `width` bytes.
    Fixed {
        /// Byte offset.
        offset: usize,
        /// Number of bytes.
        width: usize,
    },
    /// Bit `bit` of the byte at `offset`.
    Bit {
        /// Byte offset.
        offset: usize,
        /// Bit, 0 lowest.
        bit: u8,
    },
    /// Entry `index` of the offset array.
    Variable {
        /// Number of the variable column, from 0.
        index: usize,
        /// Maximum number of bytes of a value; None: the column has large values.
        limit_bytes: Option<usize>,
    },
}

/// The record form of a table's rows (`docs/store-engine.md`, "A record").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the table's rows.
    pub columns: Arc<[Column]>,
    /// The places of the columns, in the same order.
    pub positions: Arc<[Position]>,
    /// Header and fixed part: the offset of the column count.
    pub fixed_bytes: usize,
    /// Number of variable columns.
    pub variable_count: usize,
    /// Columns whose values never leave their rows: those of the clustered key.
    pub pinned: Arc<[usize]>,
    /// Form of the records' heads.
    pub form: RecordForm,
    /// Number of columns at the end that callers do not see, such as the one that distinguishes rows with equal keys.
    pub hidden: usize,
    /// The Arrow schema of batches that go in and come out.
    pub schema: SchemaRef,
    /// Compression of the rows: with ROW and PAGE they are CD records, with PAGE their pages are compressed
    /// too.
    pub compression: Compression,
    /// Longest row as an uncompressed record. It is less than [`ROW_LIMIT_BYTES`] if the row may be longer as a CD record.
    pub row_limit_bytes: usize,
}

impl Layout {
    /// Lays out the columns in their order, bits packed eight to a byte.
    pub fn new(columns: Vec<Column>) -> Result<Self, EngineError> {
        Self::with_form(columns, RecordForm::Row, 0)
    }

    /// Lays out the columns with the hidden one of a clustered key that is not unique: null in the first row of each
    /// key, else four bytes. It is a nullable column of variable length, as in SQL Server.
    pub fn with_uniquifier(mut columns: Vec<Column>) -> Result<Self, EngineError> {
        columns.push(Self::uniquifier());
        Self::with_form(columns, RecordForm::Row, 1)
    }

    /// Creates the layout of a nonclustered index's leaf rows: key columns, the locator of the row, included
    /// columns. All values stay in the row.
    pub fn of_index(columns: Vec<Column>) -> Result<Self, EngineError> {
        let mut layout = Self::with_form(columns, RecordForm::IndexLeaf, 0)?;
        layout.pinned = (0..layout.columns.len()).collect();
        Ok(layout)
    }

    /// Declares the hidden column. Its bytes are big-endian, so that they order as the number does.
    pub(crate) fn uniquifier() -> Column {
        Column::new(UNIQUIFIER, Kind::VarBinary(Some(4)))
    }

    fn with_form(columns: Vec<Column>, form: RecordForm, hidden: usize) -> Result<Self, EngineError> {
        let refuse = |reason: String| Err(EngineError::Schema { reason });
        if columns.is_empty() || columns.len() > 1024 {
            return refuse(format!("{} columns; a table has 1 to 1024", columns.len()));
        }
        let mut positions = Vec::with_capacity(columns.len());
        let (mut offset, mut variable_count) = (form.header_bytes(), 0);
        let mut bits: Option<(usize, u8)> = None;
        for column in &columns {
            if !column.kind.is_valid() {
                return refuse(format!("column {:?} is {}", column.name, column.kind));
            }
            positions.push(match column.kind.place() {
                Place::Fixed(width) => {
                    offset += width;
                    Position::Fixed { offset: offset - width, width }
                }
                Place::Bit => {
                    let (place, bit) = match bits {
                        Some((place, bit)) if bit < 8 => (place, bit),
                        _ => {
                            offset += 1;
                            (offset - 1, 0)
                        }
                    };
                    bits = Some((place, bit + 1));
                    Position::Bit { offset: place, bit }
                }
                Place::Variable { limit_bytes } => {
                    variable_count += 1;
                    Position::Variable { index: variable_count - 1, limit_bytes }
                }
            });
        }
        let fields = columns
            .iter()
            .take(columns.len() - hidden)
            .map(|column| Field::new(&column.name, column.kind.data_type(), column.nullable))
            .collect::<Vec<_>>();
        let layout = Self {
            positions: positions.into(),
            fixed_bytes: offset,
            variable_count,
            pinned: Arc::default(),
            form,
            hidden,
            schema: Arc::new(Schema::new(fields)),
            columns: columns.into(),
            compression: Compression::None,
            row_limit_bytes: ROW_LIMIT_BYTES,
        };
        let least = layout.row_bytes(0, 0);
        if least > ROW_LIMIT_BYTES {
            return Err(EngineError::RowTooLarge { bytes: least, limit_bytes: ROW_LIMIT_BYTES });
        }
        Ok(layout)
    }

    /// Returns the columns that callers see.
    pub fn visible(&self) -> &[Column] {
        self.columns.get(..self.columns.len() - self.hidden).unwrap_or_default()
    }

    /// Returns the layout of these columns under another compression. Refused if a row of fixed columns alone could be too long as a CD record: a
    /// row that fits uncompressed must fit compressed, and the other way round.
    pub fn with_compression(mut self, compression: Compression) -> Result<Self, EngineError> {
        self.compression = compression;
        self.row_limit_bytes = ROW_LIMIT_BYTES;
        if self.is_compressed() {
            let fixed = compress::record::most_fixed_bytes(&self);
            if fixed > ROW_LIMIT_BYTES {
                return Err(EngineError::RowTooLarge { bytes: fixed, limit_bytes: ROW_LIMIT_BYTES });
            }
            // Variable values cost a CD record no more than they cost an uncompressed one.
            self.row_limit_bytes -= fixed.saturating_sub(self.bitmap_end());
        }
        Ok(self)
    }

    /// Returns true if records are CD records.
    pub fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// Returns the bytes of the NULL bitmap.
    pub fn bitmap_bytes(&self) -> usize {
        self.columns.len().div_ceil(8)
    }

    /// Returns the offset of the first byte behind the NULL bitmap.
    pub fn bitmap_end(&self) -> usize {
        self.fixed_bytes + 2 + self.bitmap_bytes()
    }

    /// Computes the size of a record with `variable_columns` entries in its offset array and `variable_bytes`
    /// of variable data. This is the documented estimate: Fixed_Data_Size + Variable_Data_Size + Null_Bitmap
    /// + 4.
    pub fn row_bytes(&self, variable_columns: usize, variable_bytes: usize) -> usize {
        let variable = if variable_columns > 0 { 2 + 2 * variable_columns + variable_bytes } else { 0 };
        self.bitmap_end() + variable
    }
}
