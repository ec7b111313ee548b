//! Rows of the data parts: values one after another, some behind their lengths, and no ends of rows.

use std::io::Read;
use std::sync::Arc;

use arrow::{
    array::{RecordBatch, RecordBatchOptions},
    datatypes::{Schema, SchemaRef},
};
use rows::{Decoder, Form as BatchForm, mapping::field_for};
use tds::{LengthClass, SqlType, Vector};

use super::{
    archive::Archive,
    deviation::other_form,
    types::{Encoding, Form, encoding},
};
use crate::{
    definition::Table,
    error::{FileError, Reason, Result, malformed},
    little_endian::{u16_at, u32_at, u64_at},
    parallel::{Hand, in_order},
    reading::TableReader,
    scan::wire_column,
    wire_row::WireRows,
};

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// Largest value.
const VALUE_BYTES_MAX: u64 = i32::MAX as u64;
/// Bytes of rows that wait before they are decoded.
const WAITING_BYTES: usize = 1 << 20;

/// A part of a table's data: slices of the key's range, and their continuations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DataPart {
    slice: u32,
    continuation: u32,
    pub name: String,
}

impl DataPart {
    /// Reads the numbers of a part: `TableData-002-00001.BCP`.
    pub(crate) fn of(name: &str, file: &str) -> Option<Self> {
        let numbers = file.strip_prefix("TableData-")?.strip_suffix(".BCP")?;
        let (slice, continuation) = numbers.split_once('-')?;
        Some(Self {
            slice: slice.parse().ok()?,
            continuation: continuation.parse().ok()?,
            name: name.to_owned(),
        })
    }
}

impl DataPart {
    /// Returns true if there is no row in it.
    pub(super) fn is_empty(&self, archive: &mut Archive) -> bool {
        let mut first = [0];
        archive.part(&self.name).is_ok_and(|mut part| part.read(&mut first).is_ok_and(|read| read == 0))
    }
}

/// The way from the data to the values of a column.
#[derive(Debug, Clone)]
struct ColumnReader {
    name: String,
    encoding: Encoding,
    /// The form in which some writers put the values.
    other: Option<Encoding>,
    class: LengthClass,
    is_nullable: bool,
}

/// Reads the parts of a table.
#[derive(Clone)]
pub(crate) struct PartRows {
    table: String,
    columns: Vec<ColumnReader>,
    wire_columns: Vec<tds::Column>,
    form: BatchForm,
    schema: SchemaRef,
}

impl PartRows {
    /// Plans the reading of a table's stored columns.
    ///
    /// # Errors
    /// A column is of a type that is not read.
    pub(crate) fn new(table: &Table, form: BatchForm) -> std::result::Result<Self, Reason> {
        let (mut columns, mut wire_columns, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for column in table.stored_columns() {
            let (encoding, decoded) =
                encoding(&column.sql_type, column.is_nullable).map_err(crate::error::unsupported)?;
            let declared = wire_column(column);
            let wire = tds::Column::new(&column.name, decoded, column.is_nullable, column.collation);
            columns.push(ColumnReader {
                name: column.name.clone(),
                other: other_form(column, encoding),
                encoding,
                class: wire.type_info.length_class(),
                is_nullable: column.is_nullable,
            });
            fields.push(field_for(&declared, &form));
            wire_columns.push(wire);
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { table: table.full_name(), columns, wire_columns, form, schema })
    }

    /// Returns the same rows with columns in the forms of writers that deviate: each kind of them alone, and both.
    pub(super) fn with_other_forms(&self) -> Vec<Self> {
        let prefixes = [&[2_u8] as &[u8], &[8], &[2, 8]];
        let has = |prefix: u8| {
            self.columns.iter().any(|column| column.other.is_some_and(|other| other.prefix == prefix))
        };
        let of = |prefixes: &[u8]| {
            let mut rows = self.clone();
            for column in &mut rows.columns {
                if let Some(other) = column.other.filter(|other| prefixes.contains(&other.prefix)) {
                    column.encoding = other;
                }
            }
            rows
        };
        prefixes.into_iter().filter(|all| all.iter().all(|prefix| has(*prefix))).map(of).collect()
    }

    /// Returns true if a part can be walked to its end in this form, and a row ends there.
    pub(super) fn fits(&self, archive: &mut Archive, part: &DataPart) -> bool {
        let Ok(mut bytes) = archive.part(&part.name) else { return false };
        let mut input = Input::default();
        loop {
            let mut rows = WireRows::default();
            let is_parsed = self.parse(&mut input, &mut rows).is_ok();
            match (is_parsed, input.fill(&mut bytes)) {
                (true, Ok(true)) => {}
                (true, Ok(false)) => return input.left() == 0,
                _ => return false,
            }
        }
    }

    /// Reads parts by several threads.
    pub(crate) fn read(
        self,
        archive: Archive,
        parts: Vec<DataPart>,
        batch_rows: usize,
        threads: usize,
    ) -> TableReader {
        let schema = Arc::clone(&self.schema);
        let table = self.table.clone();
        let batches = in_order(parts, threads, move |part, hand| {
            self.read_part(&mut archive.clone(), &part, batch_rows, hand)
                .map_err(|error| error.of_table(&table))
        });
        TableReader::new(schema, batches)
    }

    fn read_part(
        &self,
        archive: &mut Archive,
        part: &DataPart,
        batch_rows: usize,
        hand: &mut Hand<'_>,
    ) -> Result<()> {
        let name = archive.name().to_owned();
        let error =
            |place: String, reason: Reason| FileError::new(&name, format!("{}{place}", part.name), reason);
        let mut bytes = archive.part(&part.name)?;
        let decoder = Decoder::new(&self.wire_columns, self.form.clone());
        let decoder = decoder.map_err(|inner| error(String::new(), malformed(inner.to_string())))?;
        let mut decoder = decoder.with_batch_rows(batch_rows);
        let mut rows = WireRows::default();
        let mut input = Input::default();
        loop {
            let parsed = self.parse(&mut input, &mut rows);
            parsed.map_err(|wrong| {
                let place =
                    format!(", row {}, column {}, byte {}", input.row + 1, wrong.column, input.offset());
                error(place, malformed(wrong.text))
            })?;
            let is_end =
                !input.fill(&mut bytes).map_err(|io| error(String::new(), malformed(io.to_string())))?;
            if rows.len() >= WAITING_BYTES || is_end {
                let is_wanted = self.decode(&mut decoder, &mut rows, hand).map_err(|wrong| {
                    error(format!(", row {}, column {}", wrong.0 + 1, wrong.1), malformed(wrong.2))
                })?;
                if !is_wanted {
                    return Ok(());
                }
            }
            if is_end {
                break;
            }
        }
        if input.left() > 0 {
            return Err(error(format!(", row {}", input.row + 1), Reason::Truncated("a row")));
        }
        if decoder.rows_buffered() > 0 {
            hand(self.take(&mut decoder).map_err(|inner| error(String::new(), malformed(inner)))?);
        }
        Ok(())
    }

    /// Decodes the rows that wait; false if no more are wanted.
    fn decode(
        &self,
        decoder: &mut Decoder,
        rows: &mut WireRows,
        hand: &mut Hand<'_>,
    ) -> std::result::Result<bool, (u64, String, String)> {
        loop {
            let consumed = decoder.decode(rows.bytes());
            let consumed = consumed.map_err(|error| (error.row, error.column, error.reason.to_string()))?;
            rows.drain(consumed);
            if !decoder.is_full() {
                return Ok(true);
            }
            let batch = self.take(decoder).map_err(|text| (decoder.rows_decoded(), String::new(), text))?;
            if !hand(batch) {
                return Ok(false);
            }
        }
    }

    /// Takes a batch under the schema of the declared types: text of a code page was decoded as Unicode.
    fn take(&self, decoder: &mut Decoder) -> std::result::Result<RecordBatch, String> {
        let batch = decoder.take_batch().map_err(|error| error.to_string())?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), batch.columns().to_vec(), &options)
            .map_err(|error| error.to_string())
    }

    /// Turns the whole rows at the head of the input into rows of the wire.
    fn parse(&self, input: &mut Input, rows: &mut WireRows) -> std::result::Result<(), Wrong> {
        let mut value = Vec::new();
        while input.left() > 0 {
            let (row_start, row_at) = (rows.len(), input.at);
            rows.begin();
            for column in &self.columns {
                match column.parse(input, rows, &mut value) {
                    Ok(true) => {}
                    Ok(false) => {
                        // The row goes on in bytes that are yet to come.
                        rows.truncate(row_start);
                        input.at = row_at;
                        return Ok(());
                    }
                    Err(text) => return Err(Wrong { column: column.name.clone(), text }),
                }
            }
            input.row += 1;
        }
        Ok(())
    }
}

/// An error in a value.
struct Wrong {
    column: String,
    text: String,
}

/// Bytes of a part that have been read and not yet been parsed.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of the part before `bytes`.
    before: u64,
    /// Whole rows so far.
    row: u64,
}

impl Input {
    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads more behind what is left; false at the end of the part.
    fn fill(&mut self, part: &mut impl Read) -> std::io::Result<bool> {
        self.before += self.at as u64;
        self.bytes.drain(..self.at);
        self.at = 0;
        // What a row needs is read in steps that grow with it.
        let count = READ_BYTES.max(self.bytes.len());
        let read = part.take(count as u64).read_to_end(&mut self.bytes)?;
        Ok(read > 0)
    }

    /// Returns the next bytes without taking them.
    fn peek(&self, count: usize) -> Option<&[u8]> {
        self.bytes.get(self.at..self.at.checked_add(count)?)
    }
}

impl ColumnReader {
    /// Takes one value; false if it is not all there yet.
    fn parse(
        &self,
        input: &mut Input,
        rows: &mut WireRows,
        value: &mut Vec<u8>,
    ) -> std::result::Result<bool, String> {
        let prefix = usize::from(self.encoding.prefix);
        let Some(head) = input.peek(prefix) else { return Ok(false) };
        let length = match self.encoding.prefix {
            0 => self.encoding.bytes,
            1 => head.first().copied().filter(|length| *length != u8::MAX).map(usize::from),
            2 => u16_at(head, 0).filter(|length| *length != u16::MAX).map(usize::from),
            4 => bounded(u32_at(head, 0).filter(|length| *length != u32::MAX).map(u64::from))?,
            _ => bounded(u64_at(head, 0).filter(|length| *length != u64::MAX))?,
        };
        let Some(length) = length else {
            if !self.is_nullable {
                return Err("NULL in a column that is NOT NULL".to_owned());
            }
            rows.null(self.class);
            input.at += prefix;
            return Ok(true);
        };
        if self.encoding.bytes.is_some_and(|most| length > most || (self.is_exact() && length != most)) {
            return Err(format!(
                "a value of {length} bytes, where {} belong",
                self.encoding.bytes.unwrap_or_default()
            ));
        }
        let Some(bytes) = input.peek(prefix + length).and_then(|bytes| bytes.get(prefix..)) else {
            return Ok(false);
        };
        let bytes = converted(self.encoding.form, bytes, value)?;
        rows.value(self.class, bytes)
            .map_err(|_| format!("a value of {length} bytes, which its type does not have"))?;
        input.at += prefix + length;
        Ok(true)
    }

    /// Returns true if all values have the same length.
    fn is_exact(&self) -> bool {
        self.encoding.prefix < 2
    }
}

fn bounded(length: Option<u64>) -> std::result::Result<Option<usize>, String> {
    match length {
        Some(length) if length > VALUE_BYTES_MAX => Err(format!("a value of {length} bytes")),
        length => Ok(length.map(|length| length as usize)),
    }
}

/// Returns the value of the wire.
fn converted<'a>(
    form: Form,
    bytes: &'a [u8],
    into: &'a mut Vec<u8>,
) -> std::result::Result<&'a [u8], String> {
    into.clear();
    match form {
        Form::Same => return Ok(bytes),
        Form::Decimal { precision, scale } => decimal(bytes, precision, scale, into)?,
        Form::Ticks { scale, rest } => ticks(bytes, scale, rest, into)?,
        Form::Vector { base } => {
            let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            let text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(' ')).collect();
            let vector = Vector::parse(&text, base).map_err(|error| error.to_string())?;
            into.extend(vector.to_bytes());
        }
    }
    Ok(into)
}

/// Turns precision, scale, sign and 16 bytes into a sign and as many bytes as the type has.
fn decimal(bytes: &[u8], precision: u8, scale: u8, into: &mut Vec<u8>) -> std::result::Result<(), String> {
    let [own_precision, own_scale, sign, magnitude @ ..] = bytes else {
        return Err("no decimal number".to_owned());
    };
    if *own_scale != scale || *own_precision > 38 || *sign > 1 {
        return Err(format!(
            "a decimal({own_precision}, {own_scale}) in a column of decimal({precision}, {scale})"
        ));
    }
    let length = SqlType::Decimal { precision, scale }.max_length_bytes().unwrap_or(17) as usize - 1;
    let (kept, rest) = magnitude.split_at_checked(length).ok_or("no decimal number")?;
    if rest.iter().any(|byte| *byte != 0) {
        return Err(format!("a number that decimal({precision}, {scale}) does not hold"));
    }
    into.push(*sign);
    into.extend(kept);
    Ok(())
}

/// Turns a count of 100 ns into one of the type's fractions of a second.
fn ticks(bytes: &[u8], scale: u8, rest: usize, into: &mut Vec<u8>) -> std::result::Result<(), String> {
    let (time, tail) =
        bytes.split_at_checked(5).filter(|(_, tail)| tail.len() == rest).ok_or("no time of day")?;
    let mut wide = [0; 8];
    wide.iter_mut().zip(time).for_each(|(to, from)| *to = *from);
    let ticks = u64::from_le_bytes(wide);
    let unit = 10_u64.pow(u32::from(7_u8.saturating_sub(scale)));
    if ticks % unit != 0 {
        return Err(format!("a time with more digits than {scale}"));
    }
    let length = SqlType::Time { scale }.max_length_bytes().unwrap_or(5) as usize;
    into.extend((ticks / unit).to_le_bytes().iter().take(length));
    into.extend(tail);
    Ok(())
}
