//! Columns whose values differ in length: text, binary, LOBs, variants.

use std::borrow::Cow;
use std::ops::Range;

use arrow::buffer::NullBuffer;

use super::block::{Block, SLACK_BYTES, Validity};
use super::frame::{Chunked, Frame, Framing, Short, TextPointer, Total, UnsetTextPointer};
use super::transcode::{SHORT_BYTES, transcode_short, transcode_utf16, widen_ascii, widen_block};

/// Place of each value in the column's bytes.
#[derive(Debug)]
pub(crate) enum Offsets<'a> {
    /// Value `i` is `offsets[i]..offsets[i + 1]`.
    Narrow(&'a [i32]),
    /// Value `i` is `offsets[i]..offsets[i + 1]`, with 64-bit offsets.
    Wide(Cow<'a, [i64]>),
    /// Value `i` is the `i`-th run of this many bytes.
    Every(usize),
}

/// Transformation of the column's bytes on their way to the wire.
#[derive(Debug)]
pub(crate) enum Content {
    /// Bytes that are sent unchanged.
    Bytes,
    /// ASCII, sent as UTF-16LE.
    AsciiAsUtf16,
    /// UTF-8, sent as UTF-16LE; the length of each value in UTF-16 code units (of no meaning for a NULL).
    Utf8AsUtf16 { units: Vec<u32> },
}

/// A column of variable-length values.
#[derive(Debug)]
pub(crate) struct VariableLane<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) offsets: Offsets<'a>,
    pub(crate) content: Content,
    pub(crate) frame: Frame,
}

impl VariableLane<'_> {
    /// Adds the length of this column's cell to each of `lengths`, rows from `first` on.
    pub(crate) fn add_lengths(&self, lengths: &mut [usize], first: usize, nulls: Option<&NullBuffer>) {
        self.for_framing(Lengths { lengths, first, nulls });
    }

    /// Writes this column's cell of every row of the block. If the block is `LOOSE`, cells may write beyond their ends.
    pub(crate) fn scatter<const LOOSE: bool>(&self, block: &mut Block<'_>, nulls: Option<&NullBuffer>) {
        self.for_framing(Scatter::<LOOSE> { block, nulls });
    }

    /// Compiles `pass` for the column's framing, content and offsets, and runs it.
    fn for_framing(&self, pass: impl Pass) {
        match self.frame {
            Frame::Chunked => self.for_offsets::<Chunked>(pass),
            Frame::TextPointer => self.for_offsets::<TextPointer>(pass),
            Frame::UnsetTextPointer => self.for_offsets::<UnsetTextPointer>(pass),
            Frame::Total => self.for_offsets::<Total>(pass),
            Frame::Short | Frame::Byte | Frame::Bare => self.for_offsets::<Short>(pass),
        }
    }

    fn for_offsets<F: Framing>(&self, pass: impl Pass) {
        let (first, rows) = (pass.first(), pass.rows());
        match &self.offsets {
            Offsets::Narrow(offsets) => {
                let pairs = offsets[first..=first + rows].windows(2);
                self.for_content::<F>(pass, pairs.map(|pair| pair[0] as usize..pair[1] as usize));
            }
            Offsets::Wide(offsets) => {
                let pairs = offsets[first..=first + rows].windows(2);
                self.for_content::<F>(pass, pairs.map(|pair| pair[0] as usize..pair[1] as usize));
            }
            &Offsets::Every(width) => {
                let rows = first..first + rows;
                self.for_content::<F>(pass, rows.map(|row| row * width..(row + 1) * width));
            }
        }
    }

    fn for_content<F: Framing>(&self, pass: impl Pass, spans: impl Iterator<Item = Range<usize>>) {
        let bytes = &*self.bytes;
        match &self.content {
            Content::Bytes => pass.run::<F, _>(spans.map(|span| (span.len(), span)), Copied(bytes)),
            Content::AsciiAsUtf16 => {
                pass.run::<F, _>(spans.map(|span| (2 * span.len(), span)), Widened(bytes))
            }
            Content::Utf8AsUtf16 { units } => {
                let units = units[pass.first()..].iter();
                let spans = spans.zip(units).map(|(span, &units)| (2 * units as usize, span));
                pass.run::<F, _>(spans, Transcoded(bytes));
            }
        }
    }
}

/// Copies a value's bytes from the column into its cell.
trait Transfer {
    /// Writes the value at `span` over exactly `target`.
    fn exact(&self, span: Range<usize>, target: &mut [u8]);
    /// Writes the value at `span` over the first `data_len` bytes of `target`. The next [`SLACK_BYTES`] may
    /// be overwritten too. False, with useless bytes in `target`, if the value needs [`exact`](Self::exact).
    fn loose(&self, span: Range<usize>, data_len: usize, target: &mut [u8]) -> bool;
}

/// The bytes as they are.
struct Copied<'a>(&'a [u8]);

impl Transfer for Copied<'_> {
    #[inline(always)]
    fn exact(&self, span: Range<usize>, target: &mut [u8]) {
        target.copy_from_slice(&self.0[span]);
    }

    #[inline(always)]
    fn loose(&self, span: Range<usize>, data_len: usize, target: &mut [u8]) -> bool {
        const LEN: usize = SLACK_BYTES / 2;
        let source = self.0.get(span.start..).and_then(<[u8]>::first_chunk::<LEN>);
        let (Some(source), Some(target)) = (source, target.first_chunk_mut()) else { return false };
        *target = *source;
        data_len <= LEN
    }
}

/// ASCII made UTF-16.
struct Widened<'a>(&'a [u8]);

impl Transfer for Widened<'_> {
    #[inline(always)]
    fn exact(&self, span: Range<usize>, target: &mut [u8]) {
        widen_ascii(&self.0[span], target);
    }

    #[inline(always)]
    fn loose(&self, span: Range<usize>, data_len: usize, target: &mut [u8]) -> bool {
        const LEN: usize = SLACK_BYTES / 2;
        let source = self.0.get(span.start..).and_then(<[u8]>::first_chunk::<LEN>);
        let target = target.as_chunks_mut().0.first_chunk_mut();
        let (Some(source), Some(target)) = (source, target) else { return false };
        widen_block(source, target);
        data_len <= SLACK_BYTES
    }
}

/// UTF-8 made UTF-16.
struct Transcoded<'a>(&'a [u8]);

impl Transfer for Transcoded<'_> {
    #[inline(always)]
    fn exact(&self, span: Range<usize>, target: &mut [u8]) {
        let text = &self.0[span];
        // Text with as many UTF-16 units as bytes is all ASCII.
        if target.len() == 2 * text.len() {
            widen_ascii(text, target);
        } else {
            transcode_utf16(text, target);
        }
    }

    #[inline(always)]
    fn loose(&self, span: Range<usize>, data_len: usize, target: &mut [u8]) -> bool {
        let length = span.len();
        // Text with as many units as bytes is all ASCII, and a cell without data is NULL or empty.
        if data_len == 2 * length || data_len == 0 {
            return Widened(self.0).loose(span, data_len, target);
        }
        let text = self.0.get(span.start..).unwrap_or_default();
        length <= SHORT_BYTES && transcode_short(text, length, data_len / 2, target)
    }
}

/// One pass over a block of rows; `values` yields the length on the wire and the source span of each.
trait Pass {
    fn first(&self) -> usize;
    fn rows(&self) -> usize;
    fn run<F: Framing, T: Transfer>(self, values: impl Iterator<Item = (usize, Range<usize>)>, transfer: T);
}

struct Lengths<'l, 'n> {
    lengths: &'l mut [usize],
    first: usize,
    nulls: Option<&'n NullBuffer>,
}

impl Pass for Lengths<'_, '_> {
    fn first(&self) -> usize {
        self.first
    }

    fn rows(&self) -> usize {
        self.lengths.len()
    }

    fn run<F: Framing, T: Transfer>(self, values: impl Iterator<Item = (usize, Range<usize>)>, _transfer: T) {
        if self.nulls.is_none() {
            for (length, (data_len, _)) in self.lengths.iter_mut().zip(values) {
                *length += F::cell_len(data_len);
            }
            return;
        }
        let validity = Validity::new(self.nulls, self.first, self.lengths.len());
        for ((length, (data_len, _)), &valid) in self.lengths.iter_mut().zip(values).zip(validity.flags()) {
            *length += if valid == 1 { F::cell_len(data_len) } else { F::NULL.len() };
        }
    }
}

struct Scatter<'s, 'b, 'n, const LOOSE: bool> {
    block: &'s mut Block<'b>,
    nulls: Option<&'n NullBuffer>,
}

impl<const LOOSE: bool> Pass for Scatter<'_, '_, '_, LOOSE> {
    fn first(&self) -> usize {
        self.block.first
    }

    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn run<F: Framing, T: Transfer>(self, values: impl Iterator<Item = (usize, Range<usize>)>, transfer: T) {
        let block = self.block;
        let shift = std::mem::take(&mut block.shift);
        let validity = Validity::new(self.nulls, block.first, block.cursors.len());
        for ((cursor, (data_len, span)), &valid) in block.cursors.iter_mut().zip(values).zip(validity.flags())
        {
            let at = *cursor + shift;
            if LOOSE && F::LOOSE {
                // No branch on the value: NULL and length only choose what is written and how far the row moves.
                let data_len = if valid == 1 { data_len } else { 0 };
                let (head, target) = block.out[at..].split_at_mut(F::NULL.len());
                head.copy_from_slice(&F::loose_head(data_len, valid == 1)[..F::NULL.len()]);
                if transfer.loose(span.clone(), data_len, target) || valid == 0 {
                    *cursor = at + F::NULL.len() + data_len;
                    continue;
                }
            }
            if valid == 0 {
                block.out[at..at + F::NULL.len()].copy_from_slice(F::NULL);
                *cursor = at + F::NULL.len();
                continue;
            }
            let cell = &mut block.out[at..at + F::cell_len(data_len)];
            let head = F::head(data_len, cell);
            let (data, rest) = cell[head..].split_at_mut(data_len);
            transfer.exact(span, data);
            F::tail(data_len, rest);
            *cursor = at + F::cell_len(data_len);
        }
    }
}
