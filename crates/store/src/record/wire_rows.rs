//! Turns wire rows, which follow each other in the caller's bytes, into records. It reads each value once.
//!
//! Most values have the same bytes in a record as in a TDS row; `money`, `datetime` and `smalldatetime` swap halves. Copying stops
//! before a row that needs conversion, which the caller decodes into a batch. Only tables without compression take wire rows, with
//! columns of up to 8,000 bytes.

use std::sync::Arc;

use super::kind::Kind;
use super::layout::{Layout, Position, RecordForm};
use super::scatter::{IN_ROW_LIMIT_BYTES, put_short, status, template};
use super::uniquifier::growth_bytes;
use super::value_checks::{SHORT_BYTES, Text, ValueCheck, padding};
use super::{HAS_VARIABLE, LengthPrefix, ValueContent, ValueForm};

/// The form of wire rows: a marker byte, then the values, each after its length.
#[derive(Debug, Clone, Copy)]
pub struct WireForm<'a> {
    /// The byte that every row begins with.
    pub marker: u8,
    /// Column of the table and form of each value. Every column has one value.
    pub values: &'a [(usize, ValueForm)],
}

/// Reason why a table takes no wire rows of a form, so that they must be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyRefusal {
    /// Rows go into trees whose records are not copied from theirs.
    Keys,
    /// Pages hold compressed records.
    Compression,
    /// The form does not name every column once.
    Columns,
    /// Values of variable length are in another order than the table's columns.
    ColumnOrder,
    /// The column at this position is stored in another form.
    Values(usize),
}

/// Makes records of wire rows of one form, for one table.
#[derive(Debug)]
pub struct WireRowCopier {
    layout: Arc<Layout>,
    marker: u8,
    steps: Vec<Step>,
    /// First steps, whose values have fixed places in a row that has no null among them.
    head: Vec<HeadStep>,
    /// Bytes of a row up to the value behind the head, its marker included.
    head_bytes: usize,
    /// Bytes that a record begins as, if no variable column were null.
    template: Vec<u8>,
    /// Offset of the variable part, which begins with the count of entries.
    array: usize,
    /// Columns of variable length that rows have values of: not the hidden one, which is null.
    variable_count: usize,
    limit_bytes: usize,
}

/// Rows that were taken from the head of some bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireRows {
    /// Number of rows.
    pub rows: u64,
    /// The bytes that they took.
    pub bytes: usize,
}

/// Step of copying a row: the handling of its next value.
#[derive(Debug, Clone, Copy)]
struct Step {
    prefix: LengthPrefix,
    action: Action,
    /// Byte and bit of the record that say that the value is null; None: it may not be.
    null: Option<(usize, u8)>,
}

/// Step for a value whose place in a wire row is known.
#[derive(Debug, Clone, Copy)]
struct HeadStep {
    /// The byte of the row that has the value's length; 0: there is none.
    prefix: usize,
    length: u8,
    /// Offset of the value in the wire row.
    from: usize,
    to: usize,
    action: HeadAction,
}

#[derive(Debug, Clone, Copy)]
enum HeadAction {
    Four,
    Eight,
    Bit {
        mask: u8,
    },
    /// A value of another width, or one that is checked.
    Copy {
        check: ValueCheck,
    },
}

#[derive(Debug, Clone, Copy)]
enum Action {
    /// A value of this many bytes, copied to a place of the record.
    Copy {
        offset: usize,
        width: usize,
        swaps_halves: bool,
        check: ValueCheck,
    },
    /// Text or bytes of up to a width, filled up.
    Pad {
        offset: usize,
        width: usize,
        limit_bytes: usize,
        text: Text,
        padding: &'static [u8],
    },
    Bit {
        offset: usize,
        mask: u8,
    },
    Variable {
        index: usize,
        limit_bytes: usize,
        text: Text,
    },
}

/// Records that were made.
#[derive(Debug, Default)]
pub struct Records {
    /// Bytes of all records, one after the other.
    pub bytes: Vec<u8>,
    /// The length of each.
    pub lengths: Vec<u16>,
}

impl Records {
    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    /// Adds a copy of one.
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.lengths.push(record.len() as u16);
    }

    /// Lists the records in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.lengths.iter().map(move |length| {
            let end = start + usize::from(*length);
            let record = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            record
        })
    }

    /// Lists the records, each at its place.
    pub(crate) fn list(&self) -> Vec<&[u8]> {
        self.iter().collect()
    }
}

/// Bytes of records that are made before they go to their pages: they stay in the processor's first cache.
const RECORDS_BYTES: usize = 16 << 10;
/// Room for the longest record, and for what is written behind it.
pub(crate) const RECORD_ROOM_BYTES: usize = 9 << 10;

impl WireRowCopier {
    /// Creates a copier for the records of a layout.
    pub(crate) fn new(layout: &Arc<Layout>, form: WireForm<'_>) -> Result<Self, CopyRefusal> {
        if layout.is_compressed() {
            return Err(CopyRefusal::Compression);
        }
        if layout.form != RecordForm::Row {
            return Err(CopyRefusal::Keys);
        }
        let visible = layout.visible().len();
        if form.values.len() != visible {
            return Err(CopyRefusal::Columns);
        }
        let mut seen = vec![false; visible];
        let mut next_variable = 0;
        let mut steps = Vec::with_capacity(form.values.len());
        for (column, form) in form.values {
            if seen.get_mut(*column).is_none_or(|seen| std::mem::replace(seen, true)) {
                return Err(CopyRefusal::Columns);
            }
            let step = Step::new(layout, *column, *form).ok_or(CopyRefusal::Values(*column))?;
            if let Action::Variable { index, .. } = step.action {
                // Variable values stand in a record as they come.
                if index != next_variable {
                    return Err(CopyRefusal::ColumnOrder);
                }
                next_variable += 1;
            }
            steps.push(step);
        }
        let mut template = template(layout);
        let array = template.len();
        for column in visible..layout.columns.len() {
            if let Some(nulls) = template.get_mut(layout.fixed_bytes + 2 + column / 8) {
                *nulls |= 1 << (column % 8);
            }
        }
        let variable_count = next_variable;
        if variable_count > 0 {
            if let Some(first) = template.first_mut() {
                *first = status(layout) | HAS_VARIABLE;
            }
            template.extend_from_slice(&(variable_count as u16).to_le_bytes());
        }
        let limit_bytes = IN_ROW_LIMIT_BYTES.min(layout.row_limit_bytes.saturating_sub(growth_bytes(layout)));
        let layout = Arc::clone(layout);
        let (head, head_bytes) = head_of(&steps);
        let marker = form.marker;
        Ok(Self { layout, marker, steps, head, head_bytes, template, array, variable_count, limit_bytes })
    }

    /// Returns true if the copier makes records of this layout: a table that was altered has another.
    pub(crate) fn is_for(&self, layout: &Arc<Layout>) -> bool {
        Arc::ptr_eq(&self.layout, layout) || self.layout == *layout
    }

    /// Makes records of the first rows of `bytes`, as many as stay in cache together, and returns the bytes that the
    /// rows take. It stops in front of a row that is incomplete or cannot be copied unchanged.
    pub fn make(&self, bytes: &[u8], records: &mut Records) -> usize {
        records.lengths.clear();
        records.bytes.resize(RECORDS_BYTES + RECORD_ROOM_BYTES, 0);
        let (mut taken, mut end) = (0, 0);
        while end < RECORDS_BYTES {
            let source = bytes.get(taken..).unwrap_or_default();
            let Some(record) = records.bytes.get_mut(end..end + RECORD_ROOM_BYTES) else { break };
            let Some((row_bytes, length)) = self.row(source, record) else { break };
            records.lengths.push(length as u16);
            end += length;
            taken += row_bytes;
        }
        taken
    }

    /// Makes the record of the first row: the bytes that the row takes, and the length of the record. None: the row is
    /// incomplete, it cannot be copied unchanged, or `record` has no room for it. What `record` then has is of no use.
    #[inline]
    pub(crate) fn row(&self, source: &[u8], record: &mut [u8]) -> Option<(usize, usize)> {
        if source.first() != Some(&self.marker) {
            return None;
        }
        put_short(record, 0, &self.template);
        let (steps, mut at) = match self.put_head(source, record) {
            Some(()) => (self.steps.get(self.head.len()..)?, self.head_bytes),
            None => {
                put_short(record, 0, &self.template);
                (self.steps.as_slice(), 1)
            }
        };
        let entries = self.array + 2;
        let (mut cursor, mut count) = (self.template.len() + 2 * self.variable_count, 0);
        for step in steps {
            let (length, is_null) = match step.prefix {
                LengthPrefix::None => (step.width(), false),
                LengthPrefix::Byte => {
                    let length = usize::from(*source.get(at)?);
                    at += 1;
                    (length, length == 0)
                }
                LengthPrefix::Short => {
                    let length = u16::from_le_bytes(*source.get(at..)?.first_chunk()?);
                    at += 2;
                    (usize::from(length), length == u16::MAX)
                }
            };
            if is_null {
                let (place, mask) = step.null?;
                *record.get_mut(place)? |= mask;
                if let Action::Variable { index, .. } = step.action {
                    *record.get_mut(entries + 2 * index..)?.first_chunk_mut()? =
                        (cursor as u16).to_le_bytes();
                }
                continue;
            }
            let rest = source.get(at..)?;
            let value = rest.get(..length)?;
            at += length;
            match step.action {
                Action::Copy { offset, width, swaps_halves, check } => {
                    if length != width || !check.passes(value) {
                        return None;
                    }
                    copy_fixed(record, offset, value)?;
                    if swaps_halves {
                        record.get_mut(offset..offset + width)?.rotate_left(width / 2);
                    }
                }
                Action::Variable { index, limit_bytes, text } => {
                    // The length is checked before the value is read: a record has room for the longest row
                    // that is allowed.
                    if length > limit_bytes || cursor + length > self.limit_bytes {
                        return None;
                    }
                    copy_text(record, cursor, rest, value, text)?;
                    cursor += length;
                    count = index + 1;
                    *record.get_mut(entries + 2 * index..)?.first_chunk_mut()? =
                        (cursor as u16).to_le_bytes();
                }
                Action::Bit { offset, mask } => match value {
                    [0] => {}
                    [1] => *record.get_mut(offset)? |= mask,
                    _ => return None,
                },
                Action::Pad { offset, width, limit_bytes, text, padding } => {
                    if length > limit_bytes || !text.allows(value) {
                        return None;
                    }
                    let (head, tail) =
                        record.get_mut(offset..offset + width)?.split_at_mut_checked(length)?;
                    head.copy_from_slice(value);
                    tail.iter_mut().zip(padding.iter().cycle()).for_each(|(place, byte)| *place = *byte);
                }
            }
        }
        let missing = self.variable_count - count;
        if missing > 0 {
            cursor = self.leave_out(missing, cursor, record)?;
        }
        (cursor <= self.limit_bytes.min(record.len())).then_some((at, cursor))
    }

    /// Takes the values of the head. `None`: one of them is null or cannot be taken, or the row is incomplete.
    #[inline]
    fn put_head(&self, source: &[u8], record: &mut [u8]) -> Option<()> {
        let source = source.get(..self.head_bytes)?;
        for HeadStep { prefix, length, from, to, action } in &self.head {
            if *prefix > 0 && source.get(*prefix) != Some(length) {
                return None;
            }
            let (value, place) = (source.get(*from..)?, record.get_mut(*to..)?);
            match action {
                HeadAction::Four => *place.first_chunk_mut::<4>()? = *value.first_chunk()?,
                HeadAction::Eight => *place.first_chunk_mut::<8>()? = *value.first_chunk()?,
                HeadAction::Bit { mask } => match value.first()? {
                    0 => {}
                    1 => *place.first_mut()? |= mask,
                    _ => return None,
                },
                HeadAction::Copy { check } => {
                    let value = value.get(..usize::from(*length))?;
                    if !check.passes(value) {
                        return None;
                    }
                    copy_fixed(place, 0, value)?;
                }
            }
        }
        Some(())
    }

    /// Takes the entries of nulls at the end of the variable part out again. Returns the record's length.
    #[cold]
    fn leave_out(&self, missing: usize, end: usize, record: &mut [u8]) -> Option<usize> {
        let count = self.variable_count - missing;
        if count == 0 {
            *record.first_mut()? = status(&self.layout);
            return Some(self.array);
        }
        *record.get_mut(self.array..)?.first_chunk_mut()? = (count as u16).to_le_bytes();
        let entries = record.get_mut(self.array + 2..self.array + 2 + 2 * count)?;
        for entry in entries.as_chunks_mut::<2>().0 {
            *entry = (u16::from_le_bytes(*entry) - 2 * missing as u16).to_le_bytes();
        }
        let first = self.array + 2 + 2 * self.variable_count;
        record.get(first..end)?;
        record.copy_within(first..end, first - 2 * missing);
        Some(end - 2 * missing)
    }
}

/// Finds the first steps whose values have fixed places in a row, and the bytes of the row up to the value
/// behind them.
fn head_of(steps: &[Step]) -> (Vec<HeadStep>, usize) {
    let (mut head, mut end) = (Vec::new(), 1);
    for step in steps {
        let prefix_bytes = match step.prefix {
            LengthPrefix::None => 0,
            LengthPrefix::Byte => 1,
            LengthPrefix::Short => break,
        };
        let (to, action) = match step.action {
            Action::Copy { offset, width: 4, swaps_halves: false, check: ValueCheck::None } => {
                (offset, HeadAction::Four)
            }
            Action::Copy { offset, width: 8, swaps_halves: false, check: ValueCheck::None } => {
                (offset, HeadAction::Eight)
            }
            Action::Copy { offset, swaps_halves: false, check, .. } => (offset, HeadAction::Copy { check }),
            Action::Bit { offset, mask } => (offset, HeadAction::Bit { mask }),
            Action::Copy { .. } | Action::Pad { .. } | Action::Variable { .. } => break,
        };
        let Ok(length) = u8::try_from(step.width()) else { break };
        let from = end + prefix_bytes;
        let prefix = if prefix_bytes > 0 { end } else { 0 };
        head.push(HeadStep { prefix, length, from, to, action });
        end = from + step.width();
    }
    (head, end)
}

impl Step {
    fn new(layout: &Layout, column: usize, form: ValueForm) -> Option<Self> {
        let (definition, position) = (layout.columns.get(column)?, layout.positions.get(column)?);
        let kind = definition.kind;
        let bitmap = layout.fixed_bytes + 2;
        let may_be_null = definition.nullable && !form.required;
        let null = may_be_null.then_some((bitmap + column / 8, 1 << (column % 8)));
        let is_text = matches!(kind, Kind::Char(_) | Kind::NChar(_) | Kind::Binary(_));
        let is_swapped = matches!(kind, Kind::Money | Kind::SmallDateTime | Kind::DateTime);
        let action = match *position {
            Position::Variable { index, limit_bytes } => Action::Variable {
                index,
                limit_bytes: limit_bytes?.min(form.limit_bytes),
                text: Text::of(kind, form)?,
            },
            Position::Fixed { offset, width } if is_text => Action::Pad {
                offset,
                width,
                limit_bytes: width.min(form.limit_bytes),
                text: Text::of(kind, form)?,
                padding: padding(kind, form),
            },
            // Only the server makes row versions.
            Position::Fixed { offset, width }
                if form.prefix != LengthPrefix::Short && kind != Kind::RowVersion =>
            {
                if is_swapped != (form.content == ValueContent::SwappedHalves) {
                    return None;
                }
                Action::Copy { offset, width, swaps_halves: is_swapped, check: ValueCheck::of(kind) }
            }
            Position::Bit { offset, bit } if form.prefix != LengthPrefix::Short => {
                Action::Bit { offset, mask: 1 << bit }
            }
            Position::Fixed { .. } | Position::Bit { .. } => return None,
        };
        Some(Self { prefix: form.prefix, action, null })
    }

    fn width(&self) -> usize {
        match self.action {
            Action::Copy { width, .. } => width,
            Action::Bit { .. } => 1,
            Action::Pad { .. } | Action::Variable { .. } => 0,
        }
    }
}

#[inline]
fn copy_fixed(record: &mut [u8], offset: usize, value: &[u8]) -> Option<()> {
    let place = record.get_mut(offset..offset + value.len())?;
    match value.len() {
        1 => *place.first_chunk_mut::<1>()? = *value.first_chunk()?,
        2 => *place.first_chunk_mut::<2>()? = *value.first_chunk()?,
        3 => *place.first_chunk_mut::<3>()? = *value.first_chunk()?,
        4 => *place.first_chunk_mut::<4>()? = *value.first_chunk()?,
        5..=7 => {
            *place.first_chunk_mut::<4>()? = *value.first_chunk()?;
            *place.last_chunk_mut::<4>()? = *value.last_chunk()?;
        }
        8..=16 => {
            *place.first_chunk_mut::<8>()? = *value.first_chunk()?;
            *place.last_chunk_mut::<8>()? = *value.last_chunk()?;
        }
        _ => {
            for (place, byte) in place.iter_mut().zip(value) {
                *place = *byte;
            }
        }
    }
    Some(())
}

/// Copies `value`, the head of `rest`, if it is what `text` allows. Behind a short one more of `rest` may come, which the next value
/// overwrites: a record's room has no end near.
#[inline]
fn copy_text(record: &mut [u8], at: usize, rest: &[u8], value: &[u8], text: Text) -> Option<()> {
    let place = record.get_mut(at..)?;
    if value.len() <= SHORT_BYTES
        && let (Some(place), Some(source)) = (place.first_chunk_mut::<SHORT_BYTES>(), rest.first_chunk())
    {
        *place = *source;
        return (text.is_plain(source, value.len()) || text.allows(value)).then_some(());
    }
    place.get_mut(..value.len())?.copy_from_slice(value);
    text.allows(value).then_some(())
}

#[cfg(test)]
mod tests;
