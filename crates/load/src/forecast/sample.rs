//! Rows of the source as they are stored.

use tds::{Column, LengthClass, RowLayout, SqlType};

use super::stored_kind::{StoredKind, whole_number};

/// Values of a column, one behind the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    data: Vec<u8>,
    /// The end of each value in the bytes, and whether it is not NULL.
    ends: Vec<(u32, bool)>,
}

impl Values {
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.data.extend_from_slice(value.unwrap_or_default());
        self.ends.push((u32::try_from(self.data.len()).unwrap_or(u32::MAX), value.is_some()));
    }

    /// Returns the value of a row; `None` for NULL.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let (end, is_there) = *self.ends.get(row)?;
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        is_there.then(|| self.data.get(start as usize..end as usize)).flatten()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|row| self.get(row))
    }

    fn bytes(&self) -> usize {
        self.data.len() + size_of::<(u32, bool)>() * self.ends.len()
    }
}

impl<'a> FromIterator<Option<&'a [u8]>> for Values {
    fn from_iter<T: IntoIterator<Item = Option<&'a [u8]>>>(values: T) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

/// Rows of the source, column by column.
#[derive(Debug)]
pub(super) struct Sample {
    columns: Vec<SampledColumn>,
    layout: RowLayout,
    rows: usize,
}

#[derive(Debug)]
struct SampledColumn {
    sql_type: SqlType,
    class: LengthClass,
    values: Values,
}

impl Sample {
    /// Makes a sample of rows that travel as `columns`, and are stored as the columns of `declared`.
    pub fn new(columns: &[Column], declared: &[Column]) -> Self {
        let layout = RowLayout::new(columns);
        let columns = columns.iter().zip(declared).map(|(column, declared)| SampledColumn {
            sql_type: declared.sql_type().clone(),
            class: column.type_info.length_class(),
            values: Values::default(),
        });
        Self { columns: columns.collect(), layout, rows: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn values(&self, column: usize) -> Option<&Values> {
        self.columns.get(column).map(|column| &column.values)
    }

    /// Returns the bytes that the sample holds in memory.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.values.bytes()).sum()
    }

    /// Adds rows of the wire.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some((_token, rest)) = bytes.split_first() {
            let mut rest = rest;
            for (index, column) in self.columns.iter_mut().enumerate() {
                let length = self.layout.value_len(index, rest).ok().flatten().unwrap_or(rest.len());
                let (value, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                column.push(value);
                rest = behind;
            }
            self.rows += 1;
            bytes = rest;
        }
    }
}

impl SampledColumn {
    fn push(&mut self, wire: &[u8]) {
        let chunked;
        let value = match self.class {
            LengthClass::Fixed(_) => Some(wire),
            LengthClass::ByteLen => wire.get(1..).filter(|value| !value.is_empty()),
            LengthClass::UShortLen => match wire {
                [0xFF, 0xFF, ..] => None,
                _ => wire.get(2..),
            },
            LengthClass::Variant => wire.get(4..).filter(|value| !value.is_empty()),
            LengthClass::LongLen => match wire.split_first() {
                // A pointer and a timestamp come before the length.
                Some((pointer, rest)) if *pointer > 0 => rest.get(usize::from(*pointer) + 8 + 4..),
                _ => None,
            },
            LengthClass::Plp => match plp(wire) {
                Some(value) => {
                    chunked = value;
                    Some(chunked.as_slice())
                }
                None => None,
            },
        };
        match value.and_then(|value| whole_number(&self.sql_type, value)) {
            Some(swapped) => self.values.push(Some(&swapped)),
            None => self.values.push(value),
        }
    }
}

/// Reads a value that comes in chunks; `None` for NULL.
fn plp(wire: &[u8]) -> Option<Vec<u8>> {
    let (total, mut rest) = wire.split_first_chunk()?;
    if u64::from_le_bytes(*total) == u64::MAX {
        return None;
    }
    let mut value = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((chunk, behind)) = behind.split_at_checked(length).filter(|_| length > 0) else { break };
        value.extend_from_slice(chunk);
        rest = behind;
    }
    Some(value)
}

/// Fills a column that the source lacks: a number for each row if the server counts, else nothing.
pub(super) fn absent(kind: StoredKind, is_counted: bool, rows: usize) -> Values {
    let counted = |row: usize| match kind {
        StoredKind::RowVersion => Some((row as u64 + 1).to_be_bytes().to_vec()),
        StoredKind::Integer(bytes) => (row as u64 + 1).to_le_bytes().get(..bytes).map(<[u8]>::to_vec),
        StoredKind::Decimal { bytes, .. } => {
            let magnitude = (row as u128 + 1).to_le_bytes();
            Some([1].into_iter().chain(magnitude).take(bytes).collect())
        }
        _ => None,
    };
    let is_counted = is_counted || kind == StoredKind::RowVersion;
    let mut values = Values::default();
    (0..rows).for_each(|row| values.push(if is_counted { counted(row) } else { None }.as_deref()));
    values
}
