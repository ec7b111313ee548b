//! Values outside of their rows: fragments of up to 8,040 bytes, and a tree of links above them.
//!
//! In the row: type u8 (2 overflow, 4 large), level u8, two zeros, length u64, then up to five links. A link is where its part ends
//! (u32), page u32, file u16, slot u16. At level 0 links lead to data, above to fragments that hold further links.

use std::sync::Arc;

use crate::error::EngineError;
use crate::page::unit::UnitKind;
use crate::page::{Page, PageId, PageType, RowId};
use crate::record::{
    FRAGMENT_HEADER_BYTES, LargeUse, LargeValueSink, LargeValueSource, RecordType, record_type,
};

/// Bytes of data in one fragment.
pub const FRAGMENT_BYTES: usize = 8040;
const ROOT_BYTES: usize = 12;
const LINK_BYTES: usize = 12;
const ROOT_LINKS: usize = 5;
const NODE_LINKS: usize = 500;
const FRAGMENT_STATUS: u8 = 4 << 1;
const DATA: u8 = 3;
const NODE: u8 = 2;

/// Puts fragments into pages.
pub trait FragmentSink {
    /// Stores one fragment in a page of this type and returns its address.
    fn put(&mut self, unit: UnitKind, page_type: PageType, record: &[u8]) -> Result<RowId, EngineError>;
}

/// Cuts values into fragments.
#[derive(Debug)]
pub struct LargeValueWriter<'a, S> {
    /// Destination of the fragments.
    pub sink: &'a mut S,
}

impl<S: FragmentSink> LargeValueSink for LargeValueWriter<'_, S> {
    fn store(&mut self, purpose: LargeUse, value: &[u8]) -> Result<Vec<u8>, EngineError> {
        let (unit, root_type) = match purpose {
            LargeUse::Overflow => (UnitKind::Overflow, 2),
            LargeUse::Large => (UnitKind::Large, 4),
        };
        let mut links = Vec::new();
        let mut end = 0_u32;
        for part in value.chunks(FRAGMENT_BYTES) {
            let address = self.sink.put(unit, PageType::TextMix, &fragment(DATA, part))?;
            end = end.saturating_add(part.len() as u32);
            links.push((end, address));
        }
        let mut level = 0_u8;
        while links.len() > ROOT_LINKS {
            let mut above = Vec::new();
            for children in links.chunks(NODE_LINKS) {
                let bytes: Vec<u8> = children.iter().flat_map(link_bytes).collect();
                let address = self.sink.put(unit, PageType::TextTree, &fragment(NODE, &bytes))?;
                above.push((children.last().map_or(0, |(end, _)| *end), address));
            }
            links = above;
            level += 1;
        }
        let mut pointer = vec![root_type, level, 0, 0];
        pointer.extend_from_slice(&(value.len() as u64).to_le_bytes());
        pointer.extend(links.iter().flat_map(link_bytes));
        Ok(pointer)
    }
}

/// Reads pages of large values.
pub trait FragmentSource {
    /// Reads a page of fragments.
    fn page(&self, id: PageId) -> Result<Arc<Page>, EngineError>;
}

/// Puts values together again.
#[derive(Debug)]
pub struct LargeValueReader<'a, S: ?Sized> {
    /// Source of the fragments.
    pub source: &'a S,
}

impl<S: FragmentSource + ?Sized> LargeValueSource for LargeValueReader<'_, S> {
    fn read(&self, pointer: &[u8], out: &mut Vec<u8>) -> Result<(), EngineError> {
        let start = out.len();
        let mut none = |_: RowId| {};
        let length = walk(self.source, pointer, Some(out), &mut none)?;
        if (out.len() - start) as u64 != length {
            return Err(damaged(PageId::NONE, "the parts of a large value do not make its length"));
        }
        Ok(())
    }
}

/// Lists the addresses of all fragments of a value, for freeing them.
pub fn fragments<S: FragmentSource + ?Sized>(source: &S, pointer: &[u8]) -> Result<Vec<RowId>, EngineError> {
    let mut found = Vec::new();
    walk(source, pointer, None, &mut |address| found.push(address))?;
    Ok(found)
}

/// Visits all fragments below a pointer; appends the data to `out` if wanted. Returns the length that the pointer states.
fn walk<S: FragmentSource + ?Sized>(
    source: &S,
    pointer: &[u8],
    mut out: Option<&mut Vec<u8>>,
    visit: &mut dyn FnMut(RowId),
) -> Result<u64, EngineError> {
    let bad = |reason| damaged(PageId::NONE, reason);
    let (root, links) = pointer.split_at_checked(ROOT_BYTES).ok_or_else(|| bad("a pointer is too short"))?;
    let level = root.get(1).copied().unwrap_or(0);
    let length = root.get(4..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // Three levels of 500 links hold far more than a value can have.
    if level > 4 {
        return Err(bad("a pointer has too many levels"));
    }
    let mut seen = 0_u64;
    let mut open: Vec<(u8, RowId)> = parse_links(links).rev().map(|address| (level, address)).collect();
    while let Some((level, address)) = open.pop() {
        let page = source.page(address.page)?;
        let record = page.row(address.slot).ok_or_else(|| damaged(address.page, "a fragment is missing"))?;
        let kind = record.get(12).copied().unwrap_or(0);
        let expected = if level == 0 { DATA } else { NODE };
        let is_fragment =
            record.first().and_then(|status| record_type(*status)) == Some(RecordType::Fragment);
        let body = record.get(FRAGMENT_HEADER_BYTES..).filter(|_| is_fragment && kind == expected);
        let body = body.ok_or_else(|| damaged(address.page, "a fragment is of another kind"))?;
        visit(address);
        if level > 0 {
            open.extend(parse_links(body).rev().map(|address| (level - 1, address)));
            continue;
        }
        seen += body.len() as u64;
        if seen > length {
            return Err(damaged(address.page, "a large value is longer than its pointer says"));
        }
        if let Some(out) = &mut out {
            out.extend_from_slice(body);
        }
    }
    Ok(length)
}

fn fragment(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (FRAGMENT_HEADER_BYTES + body.len()) as u16;
    let mut record = vec![FRAGMENT_STATUS, 0];
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(&[0; 8]);
    record.extend_from_slice(&[kind, 0]);
    record.extend_from_slice(body);
    record
}

fn link_bytes((end, address): &(u32, RowId)) -> Vec<u8> {
    let mut bytes = end.to_le_bytes().to_vec();
    bytes.extend_from_slice(&address.to_bytes());
    bytes
}

fn parse_links(bytes: &[u8]) -> impl DoubleEndedIterator<Item = RowId> {
    let (links, _) = bytes.as_chunks::<LINK_BYTES>();
    links.iter().map(|link| {
        let [_, _, _, _, address @ ..] = link;
        RowId::from_bytes(*address)
    })
}

fn damaged(page: PageId, reason: &str) -> EngineError {
    EngineError::DamagedPage { page, reason: reason.to_owned() }
}
