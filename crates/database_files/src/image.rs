//! The pages of a database: where each lies in the files that hold them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{
    error::{FileError, Reason, Result, malformed, unsupported},
    pages::{
        BadSlot, Damage, EXTENT_PAGES, PAGE_BYTES, PAGES_PER_PFS, Page, PageAddress, free_space_byte, kind,
    },
    random_access::ReadAt,
};

/// A database's data files, as they are or as a backup holds them.
pub(crate) struct Image {
    /// The name that errors give.
    name: String,
    sources: Vec<Arc<dyn ReadAt>>,
    files: BTreeMap<u16, FilePages>,
}

/// The pages of one data file.
#[derive(Debug, Clone)]
pub(crate) enum FilePages {
    /// All pages follow one another in a source.
    Whole { source: u32 },
    /// Extents lie where a backup has them, in order of their numbers.
    Extents(Vec<(u32, ExtentPlace)>),
}

/// An extent's place: the number of a source and the offset in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtentPlace {
    pub source: u32,
    pub offset: u64,
}

impl FilePages {
    /// Keeps the places of extents.
    pub(crate) fn of_extents(extents: BTreeMap<u32, ExtentPlace>) -> Self {
        Self::Extents(extents.into_iter().collect())
    }

    /// Returns the same file with extents of a later backup in place of its own.
    pub(crate) fn overlaid(self, later: Self) -> Self {
        match (self, later) {
            (Self::Extents(mine), Self::Extents(later)) => {
                let mut extents: BTreeMap<u32, ExtentPlace> = mine.into_iter().collect();
                extents.extend(later);
                Self::of_extents(extents)
            }
            (_, later) => later,
        }
    }

    fn place(&self, page: u32) -> Option<ExtentPlace> {
        match self {
            Self::Whole { source } => {
                Some(ExtentPlace { source: *source, offset: u64::from(page) * PAGE_BYTES as u64 })
            }
            Self::Extents(extents) => {
                let at = extents.binary_search_by_key(&(page / EXTENT_PAGES), |(extent, _)| *extent).ok()?;
                let (_, place) = extents.get(at)?;
                let within = u64::from(page % EXTENT_PAGES) * PAGE_BYTES as u64;
                Some(ExtentPlace { offset: place.offset + within, ..*place })
            }
        }
    }
}

impl Image {
    /// Makes an image of data files.
    pub(crate) fn new(name: &str, sources: Vec<Arc<dyn ReadAt>>, files: BTreeMap<u16, FilePages>) -> Self {
        Self { name: name.to_owned(), sources, files }
    }

    /// Returns the name that errors give.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads a page, and verifies its checksum and its address.
    ///
    /// # Errors
    /// It is not there, is damaged, or is another page.
    pub(crate) fn page(&self, address: PageAddress) -> Result<Page> {
        self.page_into(address, Box::new([0; PAGE_BYTES]))
    }

    /// Reads a page as [`page`](Self::page) does, into a buffer that is used again.
    ///
    /// # Errors
    /// Those of [`page`](Self::page).
    pub(crate) fn page_into(&self, address: PageAddress, mut buffer: Box<[u8; PAGE_BYTES]>) -> Result<Page> {
        let place = self.files.get(&address.file).and_then(|file| file.place(address.page));
        let source = place.and_then(|place| Some((self.sources.get(place.source as usize)?, place.offset)));
        let Some((source, offset)) = source else {
            return Err(self.error(address, Reason::Incomplete("it is in none of the files".to_owned())));
        };
        if offset + PAGE_BYTES as u64 > source.length() {
            return Err(self.error(address, Reason::Truncated("it")));
        }
        source
            .read_exact_at(buffer.as_mut_slice(), offset)
            .map_err(|error| self.error(address, Reason::Io(error.to_string().into())))?;
        let page = Page::verified(buffer).map_err(|damage| self.error(address, reason_of(damage)))?;
        match page.address() == address {
            true => Ok(page),
            false => {
                let reason = malformed(format!("its header says that it is {}", page.address()));
                Err(self.error(address, reason))
            }
        }
    }

    /// Returns true if the file's map of free space calls a page allocated.
    ///
    /// # Errors
    /// The map cannot be read.
    pub(crate) fn free_space_map(&self, of: PageAddress) -> Result<Page> {
        let interval = of.page / PAGES_PER_PFS;
        let page = if interval == 0 { 1 } else { interval * PAGES_PER_PFS };
        let address = PageAddress { page, ..of };
        let pfs = self.page(address)?;
        match pfs.kind() == kind::PFS && free_space_byte(&pfs, of.page).is_some() {
            true => Ok(pfs),
            false => Err(self.error(address, malformed("it is no map of free space"))),
        }
    }

    /// Makes an error of a page.
    pub(crate) fn error(&self, address: PageAddress, reason: Reason) -> FileError {
        FileError::new(&self.name, address.to_string(), reason)
    }

    /// Makes the error of a slot that points to no record.
    pub(crate) fn bad_slot(&self, address: PageAddress, slot: BadSlot) -> FileError {
        self.error(address, malformed(format!("slot {} points to no record", slot.slot)))
    }
}

fn reason_of(damage: Damage) -> Reason {
    match damage {
        Damage::Checksum { found, computed, may_be_encrypted: false } => {
            Reason::Checksum { what: "it", found, computed }
        }
        Damage::Checksum { .. } => {
            unsupported("its body is encrypted (TDE), and only the server that has the certificate reads it")
        }
        Damage::Torn { sector } => {
            malformed(format!("it was written in part: sector {sector} is of another time"))
        }
    }
}
