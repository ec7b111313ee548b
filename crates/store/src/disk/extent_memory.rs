//! Memory of one extent of a file in memory.

use std::ops::{Deref, DerefMut};

use crate::page::EXTENT_BYTES;

/// The bytes of an extent.
#[derive(Debug)]
pub(super) enum ExtentMemory {
    /// Of the allocator. A process touches such memory page by page, and the system gives out each page by itself.
    Allocated(Box<[u8]>),
    /// Of the system, which has given out all of it at once: a quarter less work for it.
    #[cfg(target_os = "linux")]
    Mapped(memmap2::MmapMut),
}

impl ExtentMemory {
    /// Zeros.
    pub fn zeroed() -> Self {
        Self::Allocated(vec![0; EXTENT_BYTES].into())
    }

    /// A copy of a whole extent.
    pub fn of(bytes: &[u8]) -> Self {
        match Self::mapped(bytes) {
            Some(memory) => memory,
            None => Self::Allocated(bytes.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn mapped(bytes: &[u8]) -> Option<Self> {
        // The system limits the number of mappings; neighbours are one to it.
        let mut memory = memmap2::MmapOptions::new().len(bytes.len()).populate().map_anon().ok()?;
        memory.copy_from_slice(bytes);
        Some(Self::Mapped(memory))
    }

    #[cfg(not(target_os = "linux"))]
    fn mapped(_: &[u8]) -> Option<Self> {
        None
    }
}

impl Deref for ExtentMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for ExtentMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Mapped(bytes) => bytes,
        }
    }
}
