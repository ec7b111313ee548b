//! Memory of pages that a scan reads past the cache, used again when no reader holds a page any more.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::page::{PAGE_BYTES, Page};

/// Pages that are remembered: those of some batches on their way to a reader.
const PAGES_MAX: usize = 256;

/// Memory into which a scan reads pages, used again for each extent.
#[derive(Debug, Default)]
pub(super) struct PagePool {
    /// An extent as it is read.
    pub extent: Vec<u8>,
    pub pages: Pages,
}

/// Pages that were handed out, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Pages(VecDeque<Arc<Page>>);

impl Pages {
    /// Makes a page of these bytes.
    pub fn page(&mut self, bytes: &[u8; PAGE_BYTES]) -> Arc<Page> {
        if let Some(mut page) = self.0.pop_front() {
            if let Some(own) = Arc::get_mut(&mut page) {
                own.bytes_mut().copy_from_slice(bytes);
                self.0.push_back(Arc::clone(&page));
                return page;
            }
            // Another owner still holds this page.
            self.0.push_back(page);
        }
        let page = Arc::new(Page::from_bytes(*bytes));
        if self.0.len() < PAGES_MAX {
            self.0.push_back(Arc::clone(&page));
        }
        page
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_page_stays_as_it_is_while_somebody_holds_it() {
        let mut pages = Pages::default();
        let mut held = VecDeque::new();
        for round in 0..300_u32 {
            let byte = (round % 251) as u8;
            held.push_back((byte, pages.page(&[byte; PAGE_BYTES])));
            if held.len() > round as usize % 290 {
                held.pop_front();
            }
            assert!(held.iter().all(|(byte, page)| page.bytes().iter().all(|own| own == byte)));
            assert!(pages.0.len() <= PAGES_MAX);
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut pages = Pages::default();
        let first = Arc::as_ptr(&pages.page(&[1; PAGE_BYTES]));
        assert_eq!(Arc::as_ptr(&pages.page(&[2; PAGE_BYTES])), first);
    }
}
