//! Memory of one extent of a file in memory.

use std::ops::{Deref, DerefMut};

use crate::page::EXTENT_BYTES;

/// The bytes of an extent.
#[derive(Debug)]
pub(super) enum ExtentMemory {
    /// Memory of the allocator. A process touches such memory page by page, and the system gives out each
    /// page by itself.
    Allocated(Box<[u8]>),
    /// Memory of the system, which has given out all of it at once: a quarter less work for it.
    #[cfg(target_os = "linux")]
    Mapped(mapping::Mapping),
}

impl ExtentMemory {
    /// Makes the memory of an extent, 65,536 zero bytes.
    pub fn zeroed() -> Self {
        Self::Allocated(vec![0; EXTENT_BYTES].into())
    }

    /// Copies a whole extent.
    pub fn of(bytes: &[u8]) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(memory) = mapping::Mapping::of(bytes, &mapping::LIVE) {
            return Self::Mapped(memory);
        }
        Self::Allocated(bytes.into())
    }
}

impl Deref for ExtentMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Mapped(memory) => memory.bytes(),
        }
    }
}

impl DerefMut for ExtentMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Mapped(memory) => memory.bytes_mut(),
        }
    }
}

#[cfg(target_os = "linux")]
mod mapping {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use memmap2::{MmapMut, MmapOptions};

    /// The mappings of this process. The system allows it 65,530 (`vm.max_map_count`), those of threads and of the allocator
    /// among them. Neighbours are one to it, but any of them may end up alone. So a gigabyte is mapped, and no more.
    pub static LIVE: Live = Live { count: AtomicUsize::new(0), most: 16_384 };

    /// Number of mappings that exist, and the most that may.
    #[derive(Debug)]
    pub struct Live {
        count: AtomicUsize,
        most: usize,
    }

    /// Memory that is given back to the system with it.
    #[derive(Debug)]
    pub struct Mapping {
        memory: MmapMut,
        live: &'static Live,
    }

    impl Mapping {
        /// Copies some bytes. `None`: there are as many mappings as there may be, or the system gives out no
        /// more.
        pub fn of(bytes: &[u8], live: &'static Live) -> Option<Self> {
            let one_more = |count| (count < live.most).then_some(count + 1);
            live.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
            match MmapOptions::new().len(bytes.len()).populate().map_anon() {
                Ok(mut memory) => {
                    memory.copy_from_slice(bytes);
                    Some(Self { memory, live })
                }
                Err(_) => {
                    live.count.fetch_sub(1, Ordering::Relaxed);
                    None
                }
            }
        }

        pub fn bytes(&self) -> &[u8] {
            &self.memory
        }

        pub fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.memory
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            self.live.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

        use super::*;

        #[test]
        fn no_more_is_mapped_than_the_system_can_bear() {
            static FEW: Live = Live { count: AtomicUsize::new(0), most: 3 };
            let map = |byte: u8| Mapping::of(&[byte; 65_536], &FEW);
            let mut mapped: Vec<Mapping> = (0..3).map(|byte| map(byte).unwrap()).collect();
            assert!(map(3).is_none());
            for (byte, mapping) in mapped.iter().enumerate() {
                assert!(mapping.bytes().iter().all(|own| usize::from(*own) == byte));
            }
            mapped.remove(1);
            mapped.push(map(9).unwrap());
            assert!(map(3).is_none());
            drop(mapped);
            assert_eq!(FEW.count.load(Ordering::Relaxed), 0);
        }
    }
}
