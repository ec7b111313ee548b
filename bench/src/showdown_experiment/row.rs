//! The rows: two integers and twelve texts, 608 bytes if every text is as long as it may be.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int32Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use formats::{Checksum, ContentChecksum};

use crate::experiment::Outcome;

/// Texts of a row.
pub const TEXTS: usize = 12;
/// Characters that a text may have; files of fixed width give it as many.
pub const TEXT_MAX: usize = 50;
/// Characters that a text does have at most: 15.5 on average, so that a row takes a third of its 608 bytes, as the original's did.
const TEXT_FILLED_MAX: u64 = 30;
/// Rows that are gathered for a checksum.
const BATCH_ROWS: usize = 8192;

/// A row of the experiment's table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The identity, from 1 on.
    pub id: i32,
    /// A random number.
    pub number: i32,
    /// Texts of lower-case letters.
    pub texts: [String; TEXTS],
}

/// Calls `each` for the rows `1..=count` of a seed in turn. The same seed always gives the same rows.
///
/// # Errors
/// `each`'s.
pub fn for_each(count: u32, seed: u64, mut each: impl FnMut(&Row) -> Outcome<()>) -> Outcome<()> {
    let mut row = Row::default();
    // Zero is the one state that xorshift never leaves.
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    state = if state == 0 { 1 } else { state };
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for id in 1..=count {
        row.id = i32::try_from(id)?;
        row.number = (next() >> 33) as i32;
        for text in &mut row.texts {
            text.clear();
            let mut bits = next();
            let length = 1 + bits % TEXT_FILLED_MAX;
            for _ in 0..length {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push(char::from(b'a' + (bits >> 59) as u8 % 26));
            }
        }
        each(&row)?;
    }
    Ok(())
}

/// Lists the columns as CREATE TABLE has them, without the key and the brackets.
pub fn columns() -> String {
    let texts: Vec<String> =
        (1..=TEXTS).map(|number| format!("t{number} varchar({TEXT_MAX}) NOT NULL")).collect();
    format!("id int IDENTITY(1,1) NOT NULL, number int NOT NULL, {}", texts.join(", "))
}

/// Writes a SELECT list that changes no row.
pub fn transformation() -> String {
    let texts: Vec<String> = (1..=TEXTS).map(|number| format!("LOWER(t{number}) AS t{number}")).collect();
    format!("CAST(id AS int) AS id, CAST(number AS int) AS number, {}", texts.join(", "))
}

fn schema() -> SchemaRef {
    let texts = (1..=TEXTS).map(|number| Field::new(format!("t{number}"), DataType::Utf8, false));
    let numbers = ["id", "number"].map(|name| Field::new(name, DataType::Int32, false));
    Arc::new(Schema::new(numbers.into_iter().chain(texts).collect::<Vec<_>>()))
}

/// Gathers rows for a content checksum.
#[derive(Debug)]
pub struct RowChecksum {
    schema: SchemaRef,
    ids: Int32Builder,
    numbers: Int32Builder,
    texts: Vec<StringBuilder>,
    rows: usize,
    checksum: ContentChecksum,
}

impl RowChecksum {
    /// Begins a checksum of no rows yet.
    pub fn new() -> RowChecksum {
        RowChecksum {
            schema: schema(),
            ids: Int32Builder::new(),
            numbers: Int32Builder::new(),
            texts: (0..TEXTS).map(|_| StringBuilder::new()).collect(),
            rows: 0,
            checksum: ContentChecksum::new(),
        }
    }

    /// Adds a row, with its texts as they are or padded with blanks.
    ///
    /// # Errors
    /// None that can be met: the types of the columns are those of the builders.
    pub fn add(&mut self, row: &Row, padded: bool) -> Outcome<()> {
        self.ids.append_value(row.id);
        self.numbers.append_value(row.number);
        for (builder, text) in self.texts.iter_mut().zip(&row.texts) {
            match padded {
                true => builder.append_value(format!("{text:<TEXT_MAX$}")),
                false => builder.append_value(text),
            }
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let finish = |builder: &mut Int32Builder| -> Int32Array { builder.finish() };
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(finish(&mut self.ids)), Arc::new(finish(&mut self.numbers))];
        columns.extend(self.texts.iter_mut().map(|builder| Arc::new(builder.finish()) as ArrayRef));
        let batch: Result<RecordBatch, ArrowError> = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.checksum.update(&batch?)?;
        self.rows = 0;
        Ok(())
    }

    /// Returns the checksum of all rows.
    ///
    /// # Errors
    /// The errors of [`RowChecksum::add`].
    pub fn finish(mut self) -> Outcome<Checksum> {
        self.flush()?;
        Ok(self.checksum.finish())
    }
}

/// Computes the checksum of the first rows of a seed, their texts as they are or padded with blanks.
///
/// # Errors
/// The errors of [`RowChecksum::add`].
pub fn checksum(count: u32, seed: u64, padded: bool) -> Outcome<Checksum> {
    let mut checksum = RowChecksum::new();
    for_each(count, seed, |row| checksum.add(row, padded))?;
    checksum.finish()
}
