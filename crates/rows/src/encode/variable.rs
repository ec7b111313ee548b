//! Columns whose values differ in length: text, binary, LOBs, variants.

use std::borrow::Cow;

use arrow::buffer::NullBuffer;

use super::block::{Block, Validity};
use super::frame::{Chunked, Frame, Framing, Short, TextPointer, Total};
use super::transcode::{transcode_utf16, widen_ascii};

/// Where each value lies in the column's bytes.
#[derive(Debug)]
pub(crate) enum Offsets<'a> {
    /// Value `i` is `offsets[i]..offsets[i + 1]`.
    Narrow(&'a [i32]),
    /// The same with wide offsets.
    Wide(Cow<'a, [i64]>),
    /// Value `i` is the `i`-th run of this many bytes.
    Every(usize),
}

/// What the column's bytes become on the wire.
#[derive(Debug)]
pub(crate) enum Content {
    /// They are sent as they are.
    Bytes,
    /// ASCII, sent as UTF-16LE.
    AsciiAsUtf16,
    /// UTF-8, sent as UTF-16LE; the length of each value in UTF-16 code units (0 for a NULL).
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

    /// Writes this column's cell of every row of the block.
    pub(crate) fn scatter(&self, block: &mut Block<'_>, nulls: Option<&NullBuffer>) {
        self.for_framing(Scatter { block, nulls });
    }

    /// Compiles `pass` for the column's framing, content and offsets, and runs it.
    fn for_framing(&self, pass: impl Pass) {
        match self.frame {
            Frame::Chunked => self.for_offsets::<Chunked>(pass),
            Frame::TextPointer => self.for_offsets::<TextPointer>(pass),
            Frame::Total => self.for_offsets::<Total>(pass),
            Frame::Short | Frame::Byte | Frame::Bare => self.for_offsets::<Short>(pass),
        }
    }

    fn for_offsets<F: Framing>(&self, pass: impl Pass) {
        match &self.offsets {
            Offsets::Narrow(offsets) => {
                let spans = |first: usize, rows: usize| {
                    offsets[first..=first + rows].windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
                };
                self.for_content::<F, _>(pass, spans);
            }
            Offsets::Wide(offsets) => {
                let spans = |first: usize, rows: usize| {
                    offsets[first..=first + rows].windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
                };
                self.for_content::<F, _>(pass, spans);
            }
            &Offsets::Every(width) => {
                let spans = move |first: usize, rows: usize| {
                    (first..first + rows).map(move |row| row * width..(row + 1) * width)
                };
                self.for_content::<F, _>(pass, spans);
            }
        }
    }

    fn for_content<F: Framing, I: Iterator<Item = std::ops::Range<usize>>>(
        &self,
        pass: impl Pass,
        spans: impl Fn(usize, usize) -> I,
    ) {
        let spans = spans(pass.first(), pass.rows());
        let bytes = &*self.bytes;
        match &self.content {
            Content::Bytes => pass.run::<F>(spans.map(|span| (span.len(), span)), |span, target| {
                target.copy_from_slice(&bytes[span])
            }),
            Content::AsciiAsUtf16 => pass
                .run::<F>(spans.map(|span| (2 * span.len(), span)), |span, target| {
                    widen_ascii(&bytes[span], target)
                }),
            Content::Utf8AsUtf16 { units } => {
                let units = units[pass.first()..].iter();
                pass.run::<F>(
                    spans.zip(units).map(|(span, &units)| (2 * units as usize, span)),
                    |span, target| {
                        let text = &bytes[span];
                        if target.len() == 2 * text.len() {
                            widen_ascii(text, target);
                        } else {
                            transcode_utf16(text, target);
                        }
                    },
                );
            }
        }
    }
}

/// One pass over a block of rows; `values` yields the length on the wire and the source span of each.
trait Pass {
    fn first(&self) -> usize;
    fn rows(&self) -> usize;
    fn run<F: Framing>(
        self,
        values: impl Iterator<Item = (usize, std::ops::Range<usize>)>,
        write: impl Fn(std::ops::Range<usize>, &mut [u8]),
    );
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

    fn run<F: Framing>(
        self,
        values: impl Iterator<Item = (usize, std::ops::Range<usize>)>,
        _write: impl Fn(std::ops::Range<usize>, &mut [u8]),
    ) {
        let Some(nulls) = self.nulls else {
            for (length, (data_len, _)) in self.lengths.iter_mut().zip(values) {
                *length += F::cell_len(data_len);
            }
            return;
        };
        let validity = Validity::new(nulls, self.first, self.lengths.len());
        for ((row, length), (data_len, _)) in self.lengths.iter_mut().enumerate().zip(values) {
            *length += if validity.is_valid(row) { F::cell_len(data_len) } else { F::NULL.len() };
        }
    }
}

struct Scatter<'s, 'b, 'n> {
    block: &'s mut Block<'b>,
    nulls: Option<&'n NullBuffer>,
}

impl Pass for Scatter<'_, '_, '_> {
    fn first(&self) -> usize {
        self.block.first
    }

    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn run<F: Framing>(
        self,
        values: impl Iterator<Item = (usize, std::ops::Range<usize>)>,
        write: impl Fn(std::ops::Range<usize>, &mut [u8]),
    ) {
        let block = self.block;
        let shift = std::mem::take(&mut block.shift);
        let validity = self.nulls.map(|nulls| Validity::new(nulls, block.first, block.cursors.len()));
        for ((row, cursor), (data_len, span)) in block.cursors.iter_mut().enumerate().zip(values) {
            let at = *cursor + shift;
            if validity.as_ref().is_none_or(|validity| validity.is_valid(row)) {
                let cell = &mut block.out[at..at + F::cell_len(data_len)];
                let head = F::head(data_len, cell);
                let (data, rest) = cell[head..].split_at_mut(data_len);
                write(span, data);
                F::tail(data_len, rest);
                *cursor = at + F::cell_len(data_len);
            } else {
                block.out[at..at + F::NULL.len()].copy_from_slice(F::NULL);
                *cursor = at + F::NULL.len();
            }
        }
    }
}
