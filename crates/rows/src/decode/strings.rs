//! Pass 2 for text and binary data.

use arrow::array::ArrayRef;
use arrow::error::ArrowError;
use tds::LengthClass;

use super::byte_builder::ByteBuilder;
use super::cell::{self, check_declared};
use super::charset::Charset;
use super::error::RowDecodeErrorReason as Reason;
use super::gather::{BadCell, Gather};
use super::utf16;
use super::validity::Validity;
use super::variant::write_variant;
use super::walk::NULL_CELL;

/// Values up to this long are copied as one block of this many bytes.
const COPY_BYTES: usize = 32;

/// `nchar`, `nvarchar`, `ntext`, `xml`.
pub(super) struct Utf16Column {
    class: LengthClass,
    /// Greatest number of bytes that the column declares.
    limit: usize,
    /// Drop a byte-order mark, as `xml` may have.
    has_mark: bool,
    builder: ByteBuilder,
    joined: Vec<u8>,
}

impl Utf16Column {
    pub fn new(class: LengthClass, limit: usize, has_mark: bool) -> Self {
        Self { class, limit, has_mark, builder: ByteBuilder::new(), joined: Vec::new() }
    }
}

impl Gather for Utf16Column {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { class, limit, has_mark, builder, joined } = self;
        let (class, limit, has_mark) = (*class, *limit, *has_mark);
        if class == LengthClass::UShortLen {
            return builder.rows(lane, |out, start| match short(block, start, limit)? {
                Some((at, length)) => utf16::append(block, at, length, out).map(|()| true),
                None => Ok(false),
            });
        }
        builder.rows(lane, |out, start| {
            let Some(mut bytes) = cell::value(block, start, class, joined) else { return Ok(false) };
            check_declared(bytes.len(), limit)?;
            if has_mark && let [0xff, 0xfe, rest @ ..] = bytes {
                bytes = rest;
            }
            utf16::append_all(bytes, out).map(|()| true)
        })
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.builder.finish_text(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}

/// `char`, `varchar`, `text`, `json`.
pub(super) struct CodePageColumn {
    class: LengthClass,
    limit: usize,
    charset: Charset,
    /// The batch has no characters beyond ASCII so far.
    is_ascii: bool,
    builder: ByteBuilder,
    joined: Vec<u8>,
}

impl CodePageColumn {
    pub fn new(class: LengthClass, limit: usize, charset: Charset) -> Self {
        Self { class, limit, charset, is_ascii: true, builder: ByteBuilder::new(), joined: Vec::new() }
    }
}

impl Gather for CodePageColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        if self.is_ascii {
            let mark = self.builder.mark();
            let copied = copy(&mut self.builder, &mut self.joined, block, lane, self.class, self.limit);
            // Every code page spells ASCII as itself. Anything else: once more, cell by cell.
            if self.builder.data.get(mark.0..).is_none_or(|data| data.is_ascii()) {
                return copied;
            }
            self.builder.back_to(mark);
            self.is_ascii = false;
        }
        let Self { class, limit, charset, builder, joined, .. } = self;
        if *class == LengthClass::UShortLen {
            return builder.rows(lane, |out, start| {
                let Some((at, length)) = short(block, start, *limit)? else { return Ok(false) };
                let bytes = block.get(at..).unwrap_or_default();
                charset.append_head(bytes, length, out).map(|()| true)
            });
        }
        builder.rows(lane, |out, start| {
            let Some(bytes) = cell::value(block, start, *class, joined) else { return Ok(false) };
            check_declared(bytes.len(), *limit)?;
            charset.append(bytes, out).map(|()| true)
        })
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.is_ascii = true;
        self.builder.finish_text(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}

/// `binary`, `varbinary`, `image` and CLR types.
pub(super) struct BinaryColumn {
    class: LengthClass,
    limit: usize,
    builder: ByteBuilder,
    joined: Vec<u8>,
}

impl BinaryColumn {
    pub fn new(class: LengthClass, limit: usize) -> Self {
        Self { class, limit, builder: ByteBuilder::new(), joined: Vec::new() }
    }
}

impl Gather for BinaryColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        copy(&mut self.builder, &mut self.joined, block, lane, self.class, self.limit)
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.builder.finish_bytes(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}

/// `sql_variant` in its exact form: the body as it came, once it is known to hold a value.
pub(super) struct VariantColumn {
    class: LengthClass,
    limit: usize,
    builder: ByteBuilder,
    joined: Vec<u8>,
    text: Vec<u8>,
}

impl VariantColumn {
    pub fn new(class: LengthClass, limit: usize) -> Self {
        Self { class, limit, builder: ByteBuilder::new(), joined: Vec::new(), text: Vec::new() }
    }
}

impl Gather for VariantColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { class, limit, builder, joined, text } = self;
        builder.rows(lane, |out, start| {
            let Some(body) = cell::value(block, start, *class, joined) else { return Ok(false) };
            check_declared(body.len(), *limit)?;
            text.clear();
            write_variant(text, body)?;
            out.extend_from_slice(body);
            Ok(true)
        })
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.builder.finish_bytes(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}

/// Writes one value's text.
pub(super) type Render = Box<dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), Reason> + Send>;

/// Values of other types that are read as text.
pub(super) struct RenderedColumn {
    class: LengthClass,
    limit: usize,
    render: Render,
    builder: ByteBuilder,
    joined: Vec<u8>,
}

impl RenderedColumn {
    pub fn new(class: LengthClass, limit: usize, render: Render) -> Self {
        Self { class, limit, render, builder: ByteBuilder::new(), joined: Vec::new() }
    }
}

impl Gather for RenderedColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { class, limit, render, builder, joined } = self;
        builder.rows(lane, |out, start| {
            let Some(bytes) = cell::value(block, start, *class, joined) else { return Ok(false) };
            check_declared(bytes.len(), *limit)?;
            render(bytes, out).map(|()| true)
        })
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.builder.finish_text(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}

/// Appends the cells' bytes as they are.
#[inline]
fn copy(
    builder: &mut ByteBuilder,
    joined: &mut Vec<u8>,
    block: &[u8],
    lane: &[u32],
    class: LengthClass,
    limit: usize,
) -> Result<(), BadCell> {
    if class != LengthClass::UShortLen {
        return builder.rows(lane, |out, start| {
            let Some(bytes) = cell::value(block, start, class, joined) else { return Ok(false) };
            check_declared(bytes.len(), limit)?;
            out.extend_from_slice(bytes);
            Ok(true)
        });
    }
    builder.rows(lane, |out, start| {
        let Some((at, length)) = short(block, start, limit)? else { return Ok(false) };
        let wide: Option<&[u8; COPY_BYTES]> =
            block.get(at..at + COPY_BYTES).and_then(|bytes| bytes.first_chunk());
        match wide {
            // A copy of known size is cheaper than one of the right size.
            Some(bytes) if length <= COPY_BYTES => {
                let end = out.len() + length;
                out.extend_from_slice(bytes);
                out.truncate(end);
            }
            _ => out.extend_from_slice(block.get(at..at + length).unwrap_or(&[])),
        }
        Ok(true)
    })
}

/// Returns offset and length of a value with a two-byte length; `None` for NULL.
#[inline]
fn short(block: &[u8], start: u32, limit: usize) -> Result<Option<(usize, usize)>, Reason> {
    let at = start as usize;
    let Some(&[low, high]) = block.get(at..at + 2).and_then(|prefix| prefix.first_chunk::<2>()) else {
        // Only the mark of NBCROW's NULL lies outside.
        debug_assert_eq!(start, NULL_CELL);
        return Ok(None);
    };
    let length = usize::from(u16::from_le_bytes([low, high]));
    if length <= limit {
        Ok(Some((at + 2, length)))
    } else if length == usize::from(u16::MAX) {
        Ok(None)
    } else {
        Err(Reason::TooLong { length, limit })
    }
}
