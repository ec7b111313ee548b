//! A backup of 20 GB that exists only as a rule: a real one, whose file goes on with pages of one table.
//!
//! `cargo test --workspace --lib -- --ignored a_backup_of_20_gb --nocapture` prints rows and memory.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::{fs, io};

use rows::Form;

use super::{PagedDatabase, real_files};
use crate::{
    backup::{Blocks, Media},
    pages::{EXTENT_BYTES, EXTENT_PAGES, EXTENTS_PER_MAP, PAGE_BYTES, PAGES_PER_PFS, PageAddress, kind},
    random_access::{InMemory, ReadAt},
};

const EXTENT: usize = EXTENT_BYTES as usize;
/// Extents of the whole file: 20 GB.
const EXTENTS: u64 = 20 * (1 << 30) / EXTENT_BYTES;
/// One extent of so many has rows; the others are allocated to the table and empty.
const EVERY: u32 = 16;
const MEMORY_MAX_KIB: u64 = 256 << 10;
/// Offsets in a page: flags, the next page, its own address; the bytes of a PFS; the bits of a map.
const FLAGS: usize = 4;
const NEXT: usize = 16;
const ADDRESS: usize = 32;
const PFS_BYTES: usize = 100;
const MAP_BITS: usize = 194;
const IAM_START: usize = 96 + 40;

/// A page of a kind with its address, without a checksum.
fn page(of: u8, number: u32) -> Vec<u8> {
    let mut bytes = vec![0; PAGE_BYTES];
    (bytes[0], bytes[1]) = (1, of);
    address(&mut bytes, number);
    bytes
}

fn address(bytes: &mut [u8], number: u32) {
    bytes[FLAGS..FLAGS + 2].fill(0);
    bytes[ADDRESS..ADDRESS + 4].copy_from_slice(&number.to_le_bytes());
    bytes[ADDRESS + 4..ADDRESS + 6].copy_from_slice(&1_u16.to_le_bytes());
}

/// True for a page of the new part that has rows.
fn has_rows(number: u32, first_new: u32) -> bool {
    let extent = number / EXTENT_PAGES;
    extent > first_new && extent % EVERY == 3 && number % PAGES_PER_PFS != 0
}

struct Synthetic {
    /// Everything before the frames, and behind them.
    prefix: Vec<u8>,
    suffix: Vec<u8>,
    /// Frames of the real backup.
    real: Vec<u8>,
    frames: u64,
    /// First extent that is new; it has the allocation maps.
    first_new: u32,
    rows: Vec<u8>,
    maps: Vec<Vec<u8>>,
}

impl Synthetic {
    fn extent(&self, frame: u64) -> u32 {
        self.first_new + (frame - self.real.len() as u64 / EXTENT_BYTES) as u32
    }

    fn new_frame(&self, extent: u32) -> Vec<u8> {
        let mut bytes = vec![0; EXTENT];
        for (index, place) in (0..).zip(bytes.chunks_exact_mut(PAGE_BYTES)) {
            let number = extent * EXTENT_PAGES + index;
            if number % (EXTENTS_PER_MAP * EXTENT_PAGES) == 0 {
                let mut map = page(kind::GAM, number);
                let here = (EXTENTS - u64::from(extent)).min(EXTENTS_PER_MAP.into()) as usize;
                (here..EXTENTS_PER_MAP as usize).for_each(|bit| map[MAP_BITS + bit / 8] |= 1 << (bit % 8));
                place.copy_from_slice(&map);
            } else if number % PAGES_PER_PFS == 0 {
                let mut map = page(kind::PFS, number);
                for of in 0..PAGES_PER_PFS {
                    map[PFS_BYTES + of as usize] = u8::from(has_rows(number + of, self.first_new)) << 6;
                }
                place.copy_from_slice(&map);
            } else if extent == self.first_new {
                if let Some(map) = self.maps.get(index as usize) {
                    place.copy_from_slice(map);
                }
            } else if has_rows(number, self.first_new) {
                place.copy_from_slice(&self.rows);
                address(place, number);
            }
        }
        bytes
    }
}

impl ReadAt for Synthetic {
    fn name(&self) -> &'static str {
        "large.bak"
    }

    fn length(&self) -> u64 {
        (self.prefix.len() + self.suffix.len()) as u64 + self.frames * EXTENT_BYTES
    }

    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let (begin, end) = (self.prefix.len() as u64, self.prefix.len() as u64 + self.frames * EXTENT_BYTES);
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let piece = if at < begin {
                self.prefix[at as usize..].to_vec()
            } else if at >= end {
                self.suffix[(at - end) as usize..].to_vec()
            } else {
                let (frame, within) = ((at - begin) / EXTENT_BYTES, ((at - begin) % EXTENT_BYTES) as usize);
                let start = (frame * EXTENT_BYTES) as usize;
                match self.real.get(start..start + EXTENT) {
                    Some(real) => real[within..].to_vec(),
                    None => self.new_frame(self.extent(frame))[within..].to_vec(),
                }
            };
            let count = piece.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&piece[..count]);
            done += count;
        }
        Ok(())
    }
}

/// Returns the place of a page among the frames of a backup.
fn place(frames: &[u8], number: u32) -> usize {
    let wanted = PageAddress { file: 1, page: number };
    let is_it = |page: &&[u8]| PageAddress::at(page, ADDRESS) == Some(wanted);
    frames.chunks_exact(PAGE_BYTES).position(|page| is_it(&page)).unwrap() * PAGE_BYTES
}

/// Makes the backup, with the number of its rows in Territories.
fn synthetic() -> Option<(Synthetic, u64)> {
    let original = fs::read(real_files::path("northwind-655/northwind-full.bak")?).unwrap();
    let source: Arc<dyn ReadAt> = Arc::new(InMemory::new("full.bak", original.clone()));
    let database = PagedDatabase::open(vec![Arc::clone(&source)], None).unwrap();
    let index = database.tables().position(|table| table.name == "Territories").unwrap();
    let rowset = database.tables[index].rowsets[0].clone();
    let first_map = database.units.of_rows(rowset.id).unwrap().first_map;
    let part = database.part(&rowset).unwrap();
    let rows_page = database.image.page(part.pages[0]).unwrap();
    let mut rows = rows_page.into_bytes().to_vec();
    let per_page = real_files::rows(&database, index).num_rows() as u64;
    address(&mut rows, 0);

    let media = Media::read(source).unwrap();
    let stream = media.sets[0].data[0][0];
    let (at, length) = (stream.at as usize, stream.length as usize);
    let mut prefix = original[..at].to_vec();
    let mut real = original[at..at + length].to_vec();
    let first_new = (original_extents(&media) + 1) as u32;
    let real_frames = (length / EXTENT) as u64;
    let frames = real_frames + EXTENTS - u64::from(first_new);

    // The maps of the first interval call all new extents used, and those of the table its own.
    let gam = 2 * PAGE_BYTES;
    (first_new..EXTENTS_PER_MAP)
        .for_each(|bit| real[gam + MAP_BITS + (bit / 8) as usize] &= !(1 << (bit % 8)));
    real[gam + FLAGS..gam + FLAGS + 2].fill(0);
    let pfs = PAGE_BYTES;
    real[pfs + FLAGS..pfs + FLAGS + 2].fill(0);
    for number in first_new * EXTENT_PAGES..PAGES_PER_PFS {
        real[pfs + PFS_BYTES + number as usize] = u8::from(has_rows(number, first_new)) << 6;
    }
    let map = place(&real, first_map.page);
    let sound = database.image.page(first_map).unwrap().into_bytes().to_vec();
    let intervals = EXTENTS.div_ceil(EXTENTS_PER_MAP.into()) as u32;
    let mut maps = Vec::new();
    for interval in 0..intervals {
        let number = first_new * EXTENT_PAGES + interval;
        let mut bytes = sound.clone();
        let first = if interval == 0 { first_new + 1 } else { 0 };
        let here = (EXTENTS - u64::from(interval * EXTENTS_PER_MAP)).min(EXTENTS_PER_MAP.into()) as u32;
        if interval > 0 {
            bytes[IAM_START..IAM_START + 6 + 48].fill(0);
            bytes[MAP_BITS..MAP_BITS + EXTENTS_PER_MAP as usize / 8].fill(0);
            let start = interval * EXTENTS_PER_MAP * EXTENT_PAGES;
            bytes[IAM_START..IAM_START + 4].copy_from_slice(&start.to_le_bytes());
            bytes[IAM_START + 4] = 1;
        }
        (first..here).for_each(|bit| bytes[MAP_BITS + (bit / 8) as usize] |= 1 << (bit % 8));
        let next = if interval + 1 < intervals { number + 1 } else { 0 };
        bytes[NEXT..NEXT + 4].copy_from_slice(&next.to_le_bytes());
        bytes[NEXT + 4..NEXT + 6].copy_from_slice(&u16::from(next != 0).to_le_bytes());
        match interval {
            0 => {
                address(&mut bytes, first_map.page);
                real[map..map + PAGE_BYTES].copy_from_slice(&bytes);
                maps.push(vec![0; PAGE_BYTES]);
            }
            _ => {
                address(&mut bytes, number);
                maps.push(bytes);
            }
        }
    }
    // The stream's length, and the pages of the file.
    let head = at - 24;
    prefix[head + 8..head + 16].copy_from_slice(&(frames * EXTENT_BYTES + 2).to_le_bytes());
    let sum = prefix[head..head + 20]
        .chunks_exact(2)
        .fold(0, |sum, word| sum ^ u16::from_le_bytes([word[0], word[1]]));
    prefix[head + 20..head + 22].copy_from_slice(&sum.to_le_bytes());
    let file = prefix.windows(4).position(|window| window == b"SFIN").unwrap();
    let pages = (frames * u64::from(EXTENT_PAGES)) as u32;
    prefix[file + 24..file + 28].copy_from_slice(&pages.to_le_bytes());

    let new_rows = (first_new * EXTENT_PAGES..(EXTENTS * u64::from(EXTENT_PAGES)) as u32)
        .filter(|number| has_rows(*number, first_new) && number % (EXTENTS_PER_MAP * EXTENT_PAGES) != 0)
        .count() as u64;
    let suffix = original[at + length..].to_vec();
    let made = Synthetic { prefix, suffix, real, frames, first_new, rows, maps };
    Some((made, per_page * (new_rows + 1)))
}

/// Returns the number of the last extent that the real backup has.
fn original_extents(media: &Media) -> u64 {
    let size = media.sets[0].header.files[0].size;
    // Blocks are walked as a reader does, so that a wrong size would show.
    let mut blocks = Blocks::new(Arc::clone(&media.source));
    while blocks.next().unwrap().is_some() {}
    size / EXTENT_BYTES
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

#[test]
#[ignore = "reads 20 GB of made pages: about a minute"]
fn a_backup_of_20_gb_is_read_in_256_mib() {
    let Some((backup, wanted)) = synthetic() else { return };
    assert!(backup.length() > 20 << 30);
    let database = PagedDatabase::open(vec![Arc::new(backup)], None).unwrap();
    let index = database.tables().position(|table| table.name == "Territories").unwrap();
    let mut found = 0;
    for batch in database.read(index, Form::Exact, 10_000, 2).unwrap() {
        found += batch.unwrap().num_rows() as u64;
    }
    let (orders, memory) = (real_orders(&database), peak_memory_kib());
    println!("{found} rows of a table of 20 GB, {memory} KiB at most");
    assert_eq!((found, orders), (wanted, 830));
    assert!(memory < MEMORY_MAX_KIB, "{memory} KiB");
}

fn real_orders(database: &PagedDatabase) -> usize {
    let index = database.tables().position(|table| table.name == "Orders").unwrap();
    real_files::rows(database, index).num_rows()
}
