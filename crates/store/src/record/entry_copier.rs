//! Entries of an index, copied from the records of its table.

use super::layout::{Layout, Position};
use super::scatter::template;
use super::{COMPLEX, HAS_VARIABLE, Records, u16_at};
use crate::page::RowId;

/// Makes the records of an index from uncompressed records of its table, whose values have the same bytes.
#[derive(Debug)]
pub(crate) struct EntryCopier {
    /// Bytes that every entry begins as.
    template: Vec<u8>,
    fixed: Vec<Fixed>,
    bits: Vec<Bit>,
    nulls: Vec<Bit>,
    variable: Vec<Variable>,
    /// Offset of the array of end offsets in the table's records.
    array: usize,
    limit_bytes: usize,
}

/// Bytes that are copied.
#[derive(Debug)]
struct Fixed {
    from: usize,
    to: usize,
    width: usize,
}

/// Source of an index entry's value of variable length.
#[derive(Debug)]
enum Variable {
    /// A column of the table: its number among those of variable length, and its NULL bit.
    Column { index: usize, null: Option<(usize, u8)> },
    /// The address of the row.
    Address,
}

/// A bit that is copied: byte and mask of each.
#[derive(Debug)]
struct Bit {
    from: (usize, u8),
    to: (usize, u8),
}

impl EntryCopier {
    /// Creates a copier for an index whose columns have these `sources` in the table, or the row's address
    /// where there is none. `None`: entries are not copies, because either is compressed.
    pub fn new(table: &Layout, entries: &Layout, sources: &[Option<usize>]) -> Option<Self> {
        if table.is_compressed() || entries.is_compressed() || sources.len() != entries.columns.len() {
            return None;
        }
        let mut copier = Self {
            template: template(entries),
            fixed: Vec::new(),
            bits: Vec::new(),
            nulls: Vec::new(),
            variable: (0..entries.variable_count).map(|_| Variable::Address).collect(),
            array: table.bitmap_end(),
            limit_bytes: entries.row_limit_bytes,
        };
        for (to, source) in sources.iter().enumerate() {
            let Some(from) = *source else {
                match *entries.positions.get(to)? {
                    Position::Variable { index, .. } => *copier.variable.get_mut(index)? = Variable::Address,
                    _ => return None,
                }
                continue;
            };
            let (column, twin) = (table.columns.get(from)?, entries.columns.get(to)?);
            if column.kind != twin.kind {
                return None;
            }
            let null =
                |layout: &Layout, column: usize| (layout.fixed_bytes + 2 + column / 8, 1 << (column % 8));
            let nullable = column.nullable.then(|| null(table, from));
            if let Some(bit) = nullable {
                copier.nulls.push(Bit { from: bit, to: null(entries, to) });
            }
            match (*table.positions.get(from)?, *entries.positions.get(to)?) {
                (Position::Fixed { offset: from, width }, Position::Fixed { offset: to, width: same })
                    if width == same =>
                {
                    copier.fixed.push(Fixed { from, to, width });
                }
                (Position::Bit { offset: from, bit }, Position::Bit { offset: to, bit: twin }) => {
                    copier.bits.push(Bit { from: (from, 1 << bit), to: (to, 1 << twin) });
                }
                (Position::Variable { index: from, .. }, Position::Variable { index: to, .. }) => {
                    *copier.variable.get_mut(to)? = Variable::Column { index: from, null: nullable };
                }
                _ => return None,
            }
        }
        Some(copier)
    }

    /// Adds the entries of records of the table to `out`; those of a heap have `addresses`. `None`: one of them has to be decoded,
    /// because a value is not in it or the entry is too long.
    pub fn copy(&self, records: &Records, addresses: &[RowId], out: &mut Records) -> Option<()> {
        out.bytes.reserve(records.lengths.len() * self.template.len());
        let mut addresses = addresses.iter();
        records.iter().try_for_each(|record| {
            let start = out.bytes.len();
            out.bytes.extend_from_slice(&self.template);
            self.fill(record, addresses.next(), start, &mut out.bytes)?;
            let length = out.bytes.len() - start;
            out.lengths.push(u16::try_from(length).ok()?);
            (length <= self.limit_bytes).then_some(())
        })
    }

    #[inline]
    fn fill(&self, record: &[u8], address: Option<&RowId>, start: usize, out: &mut Vec<u8>) -> Option<()> {
        let entry = out.get_mut(start..)?;
        for Fixed { from, to, width } in &self.fixed {
            match width {
                4 => *entry.get_mut(*to..)?.first_chunk_mut::<4>()? = *record.get(*from..)?.first_chunk()?,
                8 => *entry.get_mut(*to..)?.first_chunk_mut::<8>()? = *record.get(*from..)?.first_chunk()?,
                _ => entry.get_mut(*to..*to + width)?.copy_from_slice(record.get(*from..*from + width)?),
            }
        }
        for Bit { from, to } in self.bits.iter().chain(&self.nulls) {
            if record.get(from.0)? & from.1 != 0 {
                *entry.get_mut(to.0)? |= to.1;
            }
        }
        if self.variable.is_empty() { Some(()) } else { self.fill_variable(record, address, start, out) }
    }

    fn fill_variable(
        &self,
        record: &[u8],
        address: Option<&RowId>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let is_null = |variable: &Variable| match variable {
            Variable::Column { null: Some((place, mask)), .. } => {
                record.get(*place).map(|byte| byte & mask != 0)
            }
            Variable::Column { null: None, .. } | Variable::Address => Some(false),
        };
        let mut count = 0;
        for (index, variable) in self.variable.iter().enumerate() {
            if !is_null(variable)? {
                count = index + 1;
            }
        }
        if count == 0 {
            return Some(());
        }
        let present = match record.first()? & HAS_VARIABLE {
            0 => 0,
            _ => usize::from(u16_at(record, self.array)?),
        };
        *out.get_mut(start)? |= HAS_VARIABLE;
        let ends = out.len() + 2;
        out.extend_from_slice(&(count as u16).to_le_bytes());
        out.resize(ends + 2 * count, 0);
        for (number, variable) in self.variable.iter().take(count).enumerate() {
            match variable {
                Variable::Address => out.extend_from_slice(&address?.to_bytes()),
                Variable::Column { index, .. } if *index < present && !is_null(variable)? => {
                    let end = u16_at(record, self.array + 2 + 2 * index)?;
                    let from = match index {
                        0 => self.array + 2 + 2 * present,
                        _ => usize::from(u16_at(record, self.array + 2 * index)? & !COMPLEX),
                    };
                    if end & COMPLEX != 0 {
                        return None;
                    }
                    out.extend_from_slice(record.get(from..usize::from(end))?);
                }
                Variable::Column { .. } => {}
            }
            let end = u16::try_from(out.len() - start).ok()?;
            *out.get_mut(ends + 2 * number..)?.first_chunk_mut()? = end.to_le_bytes();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
