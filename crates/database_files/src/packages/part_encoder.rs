//! Record batches as rows of data parts: the way back of `data`.

use arrow::{
    array::RecordBatch,
    datatypes::{DataType, Schema},
};
use rows::{Plan, PlanError};
use tds::{Length, LengthClass, SqlType, Vector};

use super::types::{Encoding, Form, encoding};
use crate::{
    definition::Table,
    error::{Reason, unsupported},
    little_endian::{u16_at, u32_at, u64_at},
    scan::wire_column,
};

/// Rows that are encoded at a time.
const ROWS: usize = 256;
/// Bytes of a part, from which on the next row begins another. DacFx cuts at about as many.
const PART_BYTES: usize = 4 << 20;

/// The way from the wire's form of a column's values to that of the data.
struct ColumnEncoder {
    name: String,
    class: LengthClass,
    encoding: Encoding,
    /// Bytes that fill a value of a fixed length up.
    filler: Option<&'static [u8]>,
}

/// Encodes the rows of a table.
pub(crate) struct PartEncoder {
    plan: Plan,
    columns: Vec<ColumnEncoder>,
    wire: Vec<u8>,
    part: Vec<u8>,
    rows: u64,
}

impl PartEncoder {
    /// Plans the encoding of batches of a schema, whose columns are the table's stored ones in their order.
    ///
    /// # Errors
    /// A column has a type that packages cannot hold, or a batch's column does not fit it.
    pub(crate) fn new(schema: &Schema, table: &Table) -> Result<Self, Reason> {
        let (mut columns, mut wire_columns) = (Vec::new(), Vec::new());
        for (index, column) in table.stored_columns().enumerate() {
            let is_number =
                schema.fields().get(index).is_some_and(|field| *field.data_type() == DataType::UInt64);
            let problem = |text: String| unsupported(format!("column {}: {text}", column.name));
            let (encoding, decoded) = encoding(&column.sql_type, column.is_nullable)
                .map_err(|_| problem(not_held(&column.sql_type)))?;
            let mut wire = wire_column(column);
            wire = tds::Column::new(
                &wire.name,
                carrier(decoded, is_number),
                column.is_nullable,
                column.collation,
            );
            columns.push(ColumnEncoder {
                name: column.name.clone(),
                class: wire.type_info.length_class(),
                encoding,
                filler: filler(&column.sql_type),
            });
            wire_columns.push(wire);
        }
        let plan = Plan::for_result(schema, &wire_columns)
            .map_err(|error: PlanError| Reason::Value(error.to_string()))?;
        Ok(Self { plan, columns, wire: Vec::new(), part: Vec::new(), rows: 0 })
    }

    /// Counts the rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Encodes a batch, and hands each part on that is full.
    ///
    /// # Errors
    /// A value does not fit its column, by row and column; or the receiver's own.
    pub(crate) fn encode(
        &mut self,
        batch: &RecordBatch,
        hand: &mut dyn FnMut(Vec<u8>) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let bound = self.plan.bind(batch, self.rows).map_err(|error| Reason::Value(error.to_string()))?;
        let mut first = 0;
        while first < bound.rows() {
            let last = bound.rows().min(first + ROWS);
            self.wire.clear();
            bound.encode(first..last, &mut self.wire);
            let mut rest = self.wire.as_slice();
            for row in first..last {
                // Behind the token.
                rest = rest.get(1..).unwrap_or_default();
                for column in &self.columns {
                    rest = column.encode(rest, &mut self.part).map_err(|text| {
                        Reason::Value(format!(
                            "row {}, column {}: {text}",
                            self.rows + row as u64 + 1,
                            column.name
                        ))
                    })?;
                }
                if self.part.len() >= PART_BYTES {
                    hand(std::mem::replace(
                        &mut self.part,
                        Vec::with_capacity(PART_BYTES + (PART_BYTES >> 4)),
                    ))?;
                }
            }
            first = last;
        }
        self.rows += bound.rows() as u64;
        Ok(())
    }

    /// Returns the last part, if there is one.
    pub(crate) fn last_part(&mut self) -> Option<Vec<u8>> {
        let part = std::mem::take(&mut self.part);
        (!part.is_empty()).then_some(part)
    }
}

fn not_held(sql_type: &SqlType) -> String {
    format!("{sql_type} has no form in a package that is known")
}

/// Returns the type as which values are encoded: what has a text pointer or a form of its own on the wire travels as bytes. A rowversion
/// may come as a number.
fn carrier(decoded: SqlType, is_number: bool) -> SqlType {
    match decoded {
        SqlType::NText | SqlType::Xml => SqlType::NVarChar { length: Length::Max },
        SqlType::Image | SqlType::Udt { .. } => SqlType::VarBinary { length: Length::Max },
        SqlType::RowVersion if !is_number => SqlType::Binary { length: 8 },
        other => other,
    }
}

fn filler(sql_type: &SqlType) -> Option<&'static [u8]> {
    match sql_type {
        SqlType::Char { .. } | SqlType::NChar { .. } => Some(b" \0"),
        SqlType::Binary { .. } => Some(b"\0"),
        _ => None,
    }
}

/// The bytes of the wire's row do not go on as its columns say.
const CUT: &str = "its bytes end early";

impl ColumnEncoder {
    /// Takes a value off the wire's bytes, writes it, and returns what follows.
    fn encode<'a>(&self, wire: &'a [u8], part: &mut Vec<u8>) -> Result<&'a [u8], String> {
        let (prefix, prefix_at) = (usize::from(self.encoding.prefix), part.len());
        part.extend(std::iter::repeat_n(0, prefix));
        let value_at = part.len();
        let (is_null, rest) = self.take(wire, part).ok_or(CUT)?;
        if is_null {
            part.get_mut(prefix_at..).unwrap_or_default().fill(u8::MAX);
            return Ok(rest);
        }
        self.convert(part, value_at)?;
        if let (Some(filler), Some(bytes)) = (self.filler, self.encoding.bytes) {
            let missing = bytes.saturating_sub(part.len() - value_at);
            part.extend(filler.iter().cycle().take(missing));
        }
        let length = part.len() - value_at;
        if self.encoding.bytes.is_some_and(|most| length > most || (prefix < 2 && length != most)) {
            return Err(format!("a value of {length} bytes, where {:?} belong", self.encoding.bytes));
        }
        let of_prefix = part.get_mut(prefix_at..value_at).unwrap_or_default();
        of_prefix.copy_from_slice((length as u64).to_le_bytes().get(..prefix).unwrap_or_default());
        Ok(rest)
    }

    /// Copies the value at the head of the wire's bytes; true for NULL. Returns what follows too.
    fn take<'a>(&self, wire: &'a [u8], part: &mut Vec<u8>) -> Option<(bool, &'a [u8])> {
        let (length, rest) = match self.class {
            LengthClass::Fixed(width) => (usize::from(width), wire),
            LengthClass::ByteLen => match wire.split_first()? {
                (0, rest) => return Some((true, rest)),
                (length, rest) => (usize::from(*length), rest),
            },
            LengthClass::UShortLen => match u16_at(wire, 0)? {
                u16::MAX => return Some((true, wire.get(2..)?)),
                length => (usize::from(length), wire.get(2..)?),
            },
            LengthClass::Plp => return chunks(wire, part),
            // No carrier has them.
            LengthClass::LongLen | LengthClass::Variant => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        part.extend(value);
        Some((false, rest))
    }

    /// Turns a value that stands at the end of a part into the data's form.
    fn convert(&self, part: &mut Vec<u8>, value_at: usize) -> Result<(), String> {
        match self.encoding.form {
            Form::Same => {}
            Form::Decimal { precision, scale } => {
                part.splice(value_at..value_at, [precision, scale]);
                part.resize(value_at + 19, 0);
            }
            Form::Ticks { scale, rest } => {
                let time = part.len().checked_sub(value_at + rest).ok_or(CUT)?;
                let mut wide = [0; 8];
                let of_time = part.get(value_at..value_at + time).unwrap_or_default();
                wide.iter_mut().zip(of_time).for_each(|(to, from)| *to = *from);
                let ticks = u64::from_le_bytes(wide) * 10_u64.pow(u32::from(7_u8.saturating_sub(scale)));
                part.splice(value_at..value_at + time, ticks.to_le_bytes().into_iter().take(5));
            }
            Form::Vector { .. } => {
                let vector = Vector::from_bytes(part.get(value_at..).unwrap_or_default());
                let text = vector.map_err(|error| error.to_string())?.to_string();
                part.truncate(value_at);
                part.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            }
        }
        Ok(())
    }
}

/// Copies a value that comes in chunks (MS-TDS 2.2.5.2.3).
fn chunks<'a>(wire: &'a [u8], part: &mut Vec<u8>) -> Option<(bool, &'a [u8])> {
    let mut rest = wire.get(8..)?;
    if u64_at(wire, 0)? == u64::MAX {
        return Some((true, rest));
    }
    loop {
        let length = u32_at(rest, 0)? as usize;
        rest = rest.get(4..)?;
        if length == 0 {
            return Some((false, rest));
        }
        let (chunk, behind) = rest.split_at_checked(length)?;
        part.extend(chunk);
        rest = behind;
    }
}
