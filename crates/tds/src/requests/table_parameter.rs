//! Table-valued parameters of a remote procedure call (MS-TDS 2.2.5.5.5).

use crate::codec::{DecodeError, Reader, Writer};
use crate::column::{Column, decode_columns, encode_columns};
use crate::row_span::{ROW, RowLayout};
use crate::type_info::{Direction, Form};
use crate::type_token;

/// The rows of a table-valued parameter, in their wire form.
#[derive(Debug, Clone, PartialEq)]
pub struct TableParameter {
    /// Database of the table type; empty in all that clients send.
    pub database: String,
    /// Schema; may be empty.
    pub schema: String,
    /// Name; may be empty, for a procedure's parameter has one type only.
    pub name: String,
    /// Columns in the order of the type; None: no rows, and the columns are not announced.
    pub columns: Option<Vec<Column>>,
    /// The declared order or uniqueness of the rows.
    pub order: Vec<TableOrder>,
    /// For each sent column the ordinal, from 1, of the type's column; empty if the columns are in order.
    pub places: Vec<u16>,
    /// The rows, each as a ROW token without the columns that are [default](DEFAULT_COLUMN).
    pub rows: Vec<u8>,
    /// Number of rows.
    pub row_count: u64,
}

/// The order of the rows, as the client declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOrder {
    /// Ordinal of the column, from 1.
    pub column: u16,
    /// 1 ascending, 2 descending, 4 unique.
    pub flags: u8,
}

/// The flag of a column that rows have no value for: each gets the type's default.
pub const DEFAULT_COLUMN: u16 = 0x0200;

const END: u8 = 0x00;
const TABLE_ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;

impl TableParameter {
    /// Lists the columns that rows have values for.
    pub fn sent_columns(&self) -> Vec<Column> {
        let columns = self.columns.iter().flatten();
        columns.filter(|column| !is_default(column)).cloned().collect()
    }

    /// Reads the TYPE_INFO and the rows, type token included.
    ///
    /// # Errors
    /// Malformed bytes, and columns of types that a table type's values do not travel as: `text`, `ntext`, `image` and the untyped NULL.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = r.position();
        if r.u8("TVP type token")? != type_token::TVP {
            return Err(DecodeError::invalid("TVP type token", offset, "no table-valued parameter"));
        }
        let mut table = Self {
            database: r.b_varchar("TVP database")?,
            schema: r.b_varchar("TVP schema")?,
            name: r.b_varchar("TVP type name")?,
            columns: None,
            order: Vec::new(),
            places: Vec::new(),
            rows: Vec::new(),
            row_count: 0,
        };
        let offset = r.position();
        table.columns = decode_columns(r, Direction::ClientToServer)?;
        let sent = table.sent_columns();
        let unfit = |column: &Column| {
            column.type_info.sql_type.is_legacy_lob() || column.type_info.form == Form::Null
        };
        if sent.iter().any(unfit) {
            let what = "a table-valued parameter has no column of text, ntext or image";
            return Err(DecodeError::invalid("TVP columns", offset, what));
        }
        table.decode_options(r)?;
        table.decode_rows(r, &RowLayout::new(&sent))?;
        Ok(table)
    }

    fn decode_options(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        loop {
            let offset = r.position();
            match r.u8("TVP metadata token")? {
                END => return Ok(()),
                ORDER_UNIQUE => {
                    let count = usize::from(r.u16("TVP order count")?);
                    r.check_count(count, 3, "TVP order")?;
                    for _ in 0..count {
                        let column = r.u16("TVP order column")?;
                        self.order.push(TableOrder { column, flags: r.u8("TVP order flags")? });
                    }
                }
                COLUMN_ORDERING => {
                    let count = usize::from(r.u16("TVP column ordering count")?);
                    r.check_count(count, 2, "TVP column ordering")?;
                    for _ in 0..count {
                        self.places.push(r.u16("TVP column ordinal")?);
                    }
                }
                other => {
                    let what =
                        format!("{other:02X} where the metadata of a table-valued parameter should end");
                    return Err(DecodeError::invalid("TVP metadata token", offset, what));
                }
            }
        }
    }

    fn decode_rows(&mut self, r: &mut Reader<'_>, layout: &RowLayout) -> Result<(), DecodeError> {
        loop {
            let offset = r.position();
            match r.peek_u8("TVP row token")? {
                END => {
                    r.u8("TVP end")?;
                    return Ok(());
                }
                TABLE_ROW if self.columns.is_some() => {
                    let Some(length) = layout.row_len_behind_token(r.ahead())? else {
                        // The row is incomplete. Taking more bytes than there are makes the error of the
                        // reader.
                        return r.take(r.remaining() + 1, "TVP row").map(|_| ());
                    };
                    let row = r.take(length, "TVP row")?;
                    self.rows.push(ROW);
                    self.rows.extend_from_slice(row.get(1..).unwrap_or_default());
                    self.row_count += 1;
                }
                other => {
                    let what = format!("{other:02X} where a row of a table-valued parameter should start");
                    return Err(DecodeError::invalid("TVP row token", offset, what));
                }
            }
        }
    }

    /// Appends the TYPE_INFO and the rows, type token included.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(type_token::TVP);
        w.b_varchar(&self.database, "TVP database");
        w.b_varchar(&self.schema, "TVP schema");
        w.b_varchar(&self.name, "TVP type name");
        encode_columns(self.columns.as_deref(), w, Direction::ClientToServer);
        if !self.order.is_empty() {
            w.u8(ORDER_UNIQUE);
            let count = w.length_u16(self.order.len(), "TVP order");
            w.u16(count);
            for order in &self.order {
                w.u16(order.column);
                w.u8(order.flags);
            }
        }
        if !self.places.is_empty() {
            w.u8(COLUMN_ORDERING);
            let count = w.length_u16(self.places.len(), "TVP column ordering");
            w.u16(count);
            for place in &self.places {
                w.u16(*place);
            }
        }
        w.u8(END);
        let layout = RowLayout::new(&self.sent_columns());
        let mut rest = self.rows.as_slice();
        while !rest.is_empty() {
            match layout.row_len_behind_token(rest) {
                Ok(Some(length)) => {
                    let (row, behind) = rest.split_at(length.clamp(1, rest.len()));
                    w.u8(TABLE_ROW);
                    w.bytes(row.get(1..).unwrap_or_default());
                    rest = behind;
                }
                _ => return w.invalid("TVP rows", "no whole rows of these columns"),
            }
        }
        w.u8(END);
    }
}

fn is_default(column: &Column) -> bool {
    column.flags.has(DEFAULT_COLUMN)
}
