//! Backups that tests make of a real one: divided into stripes, and changed as a differential one.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{fs, sync::Arc};

use arrow::array::RecordBatch;

use super::PagedDatabase;
use super::real_files::{self, rows};
use crate::{
    backup::{Blocks, Lsn, Media},
    pages::{Bitmap, EXTENT_BYTES, EXTENT_PAGES, PAGE_BYTES, Page, kind},
    random_access::{InMemory, ReadAt},
};

const EXTENT: usize = EXTENT_BYTES as usize;
const DIFFERENTIAL_MAP: usize = 6 * PAGE_BYTES;
/// Bits of a map begin here; a set bit is a changed extent.
const MAP_BITS: usize = 194;
/// Offsets in the description of the database: positions in the log, and in that of a file its pages.
const BASE_LSN: usize = 62;
const FILE_PAGES: usize = 24;

/// The bytes of Northwind's full backup, if it is there.
fn full() -> Option<Vec<u8>> {
    real_files::path("northwind-655/northwind-full.bak").map(|path| fs::read(path).unwrap())
}

fn source(name: &str, bytes: Vec<u8>) -> Arc<dyn ReadAt> {
    Arc::new(InMemory::new(name, bytes))
}

/// Writes a backup again, block by block. `stream` changes the bytes of a stream; None leaves it out.
fn remade(
    original: &[u8],
    mut block: impl FnMut(&[u8; 4], &mut Vec<u8>) -> bool,
    mut stream: impl FnMut(&[u8; 4], Vec<u8>) -> Option<Vec<u8>>,
) -> Vec<u8> {
    let mut blocks = Blocks::new(source("original.bak", original.to_vec()));
    let mut made = Vec::new();
    while let Some(of) = blocks.next().unwrap() {
        let mut head = of.bytes.clone();
        if !block(&of.kind, &mut head) {
            continue;
        }
        seal(&mut head[..52]);
        made.extend(head);
        for part in of.streams {
            let (at, end) = (part.at as usize, (part.at + part.length) as usize);
            let Some(bytes) = stream(&part.kind, original[at..end].to_vec()) else { continue };
            made.resize(made.len().next_multiple_of(4), 0);
            let mut head = original[at - 22..at].to_vec();
            head[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            seal(&mut head);
            made.extend(head);
            made.extend(bytes);
        }
    }
    made
}

/// Writes the checksum of a head: its last word is the exclusive or of the others.
fn seal(head: &mut [u8]) {
    let (words, last) = head.split_at_mut(head.len() - 2);
    let sum = words.chunks_exact(2).fold(0, |sum, word| sum ^ u16::from_le_bytes([word[0], word[1]]));
    last.copy_from_slice(&sum.to_le_bytes());
}

fn contents(backups: Vec<Arc<dyn ReadAt>>) -> Vec<(String, RecordBatch)> {
    let database = PagedDatabase::open(backups, None).unwrap();
    let names: Vec<String> = database.tables().map(|table| table.full_name()).collect();
    names.into_iter().enumerate().map(|(index, name)| (name, rows(&database, index))).collect()
}

/// Makes one of several stripes, with every other extent.
fn stripe(original: &[u8], number: u16, of: u16) -> Vec<u8> {
    remade(
        original,
        |kind, _| kind != b"MSTL" || number == 1,
        |kind, mut bytes| {
            match kind {
                b"RAID" => {
                    bytes[20..22].copy_from_slice(&of.to_le_bytes());
                    bytes[24..26].copy_from_slice(&number.to_le_bytes());
                }
                b"MQDA" if bytes.len() > 2 => {
                    let frames = bytes[2..].chunks_exact(EXTENT).enumerate();
                    let own = frames.filter(|(index, _)| index % usize::from(of) == usize::from(number) - 1);
                    bytes = [&bytes[..2], &own.flat_map(|(_, frame)| frame.to_vec()).collect::<Vec<u8>>()]
                        .concat();
                }
                b"CSUM" => return None,
                _ => {}
            }
            Some(bytes)
        },
    )
}

#[test]
fn stripes_are_put_together_in_any_order() {
    let Some(full) = full() else { return };
    let expected = contents(vec![source("full.bak", full.clone())]);
    for of in [2, 3] {
        let mut stripes: Vec<Arc<dyn ReadAt>> =
            (1..=of).map(|number| source(&format!("{number}.bak"), stripe(&full, number, of))).collect();
        assert_eq!(contents(stripes.clone()), expected, "{of} stripes");
        stripes.reverse();
        assert_eq!(contents(stripes.clone()), expected, "{of} stripes, the last first");
        stripes.pop();
        let refused = PagedDatabase::open(stripes.clone(), None).err().unwrap().to_string();
        assert!(refused.contains(&format!("of {of}: every other extent")), "{refused}");
        stripes.push(Arc::clone(&stripes[0]));
        assert!(PagedDatabase::open(stripes, None).is_err(), "a stripe twice");
    }
}

/// Makes a differential backup with the first extents and one more, in which a city has another name.
fn differential(original: &[u8], base: Lsn) -> Vec<u8> {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (before, after) = (utf16("Berlin"), utf16("Bremen"));
    let mut pages = 0_u32;
    let changed = |bytes: &[u8]| {
        let frames: Vec<&[u8]> = bytes[2..].chunks_exact(EXTENT).collect();
        let used: Vec<u32> = {
            let gam: [u8; PAGE_BYTES] = frames[0][2 * PAGE_BYTES..3 * PAGE_BYTES].try_into().unwrap();
            let gam = Page::verified(Box::new(gam)).ok().unwrap();
            let mut used: Vec<u32> = Bitmap::of(&gam).extents(false).collect();
            used.insert(0, 0);
            used.dedup();
            used
        };
        // Pages of rows alone: indexes have the city, too.
        let place = |page: &[u8]| match page[1] {
            kind::DATA => page.windows(before.len()).position(|window| window == before),
            _ => None,
        };
        let holds = |frame: &[u8]| frame.chunks_exact(PAGE_BYTES).any(|page| place(page).is_some());
        // The last one is Suppliers'; others are of tables with more cities.
        let index = frames.iter().rposition(|frame| holds(frame)).unwrap();
        let mut frame = frames[index].to_vec();
        for page in frame.chunks_exact_mut(PAGE_BYTES) {
            if let Some(at) = place(page) {
                let whole = Page::verified(Box::new(page.to_vec().try_into().unwrap())).ok().unwrap();
                page.copy_from_slice(whole.bytes());
                page[at..at + after.len()].copy_from_slice(&after);
                page[4..6].fill(0);
            }
        }
        let mut first = frames[0].to_vec();
        let map = &mut first[DIFFERENTIAL_MAP..DIFFERENTIAL_MAP + PAGE_BYTES];
        map[4..6].fill(0);
        map[MAP_BITS..PAGE_BYTES - 10].fill(0);
        let extent = used[index] as usize;
        for changed in [0, 1, extent] {
            map[MAP_BITS + changed / 8] |= 1 << (changed % 8);
        }
        (vec![first, frames[1].to_vec(), frame], 3 * EXTENT_PAGES)
    };
    let data = {
        let mut found = None;
        remade(
            original,
            |_, _| true,
            |kind, bytes| {
                if kind == b"MQDA" && bytes.len() > 2 && found.is_none() {
                    let (frames, count) = changed(&bytes);
                    pages = count;
                    found = Some([bytes[..2].to_vec(), frames.concat()].concat());
                }
                Some(bytes)
            },
        );
        found.unwrap()
    };
    remade(
        original,
        |kind, head| {
            if kind == b"SSET" {
                head[52] = head[52] & !4 | 8;
            }
            true
        },
        |kind, mut bytes| {
            match kind {
                b"MQCI" => {
                    bytes[BASE_LSN..BASE_LSN + 4].copy_from_slice(&base.virtual_log_file.to_le_bytes());
                    bytes[BASE_LSN + 4..BASE_LSN + 8].copy_from_slice(&base.block.to_le_bytes());
                    bytes[BASE_LSN + 8..BASE_LSN + 10].copy_from_slice(&base.record.to_le_bytes());
                    let file = bytes.windows(4).position(|window| window == b"SFIN").unwrap();
                    bytes[file + FILE_PAGES..file + FILE_PAGES + 4].copy_from_slice(&pages.to_le_bytes());
                }
                b"MQDA" if bytes.len() > 2 => return Some(data.clone()),
                b"CSUM" => return None,
                _ => {}
            }
            Some(bytes)
        },
    )
}

#[test]
fn a_differential_backup_lies_over_its_full_one() {
    let Some(full) = full() else { return };
    let media = Media::read(source("full.bak", full.clone())).unwrap();
    let base = media.sets[0].header.checkpoint_lsn;
    let later = source("later.bak", differential(&full, base));
    let before = contents(vec![source("full.bak", full.clone())]);
    let after = contents(vec![Arc::clone(&later), source("full.bak", full.clone())]);
    let differing: Vec<&str> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(of, _)| of.0.as_str())
        .collect();
    assert_eq!(differing, ["dbo.Suppliers"]);
    let city = |contents: &[(String, RecordBatch)]| {
        format!("{:?}", contents.iter().find(|of| of.0 == "dbo.Suppliers").unwrap().1.column(5).slice(10, 1))
    };
    assert!(city(&before).contains("Berlin") && city(&after).contains("Bremen"), "{}", city(&after));
    let alone = PagedDatabase::open(vec![later], None).err().unwrap().to_string();
    assert!(alone.contains("is read together with the full one"), "{alone}");
    let other = Lsn { block: base.block + 1, ..base };
    let stranger = source("stranger.bak", differential(&full, other));
    let refused =
        PagedDatabase::open(vec![source("full.bak", full), stranger], None).err().unwrap().to_string();
    assert!(refused.contains("rests on a full one whose checkpoint is"), "{refused}");
}

#[test]
fn a_differential_backup_finds_its_full_one_in_the_same_file() {
    let Some(full) = full() else { return };
    let base = Media::read(source("full.bak", full.clone())).unwrap().sets[0].header.checkpoint_lsn;
    let later = differential(&full, base);
    let mut blocks = Blocks::new(source("later.bak", later.clone()));
    // The label and the mark behind it are those of the file.
    (0..2).for_each(|_| drop(blocks.next().unwrap()));
    let both = [full.clone(), later[blocks.position() as usize..].to_vec()].concat();
    let of = |set: Option<usize>| PagedDatabase::open(vec![source("both.bak", both.clone())], set);
    let all = |database: PagedDatabase| -> Vec<RecordBatch> {
        (0..database.tables().len()).map(|index| rows(&database, index)).collect()
    };
    let apart = |backups: Vec<Arc<dyn ReadAt>>| all(PagedDatabase::open(backups, None).unwrap());
    assert_eq!(all(of(Some(1)).unwrap()), apart(vec![source("full.bak", full.clone())]));
    let wanted = apart(vec![source("full.bak", full), source("later.bak", later)]);
    assert_eq!(all(of(Some(2)).unwrap()), wanted);
    let unnamed = of(None).err().unwrap().to_string();
    assert!(unnamed.contains("1: full of Northwind; 2: differential of Northwind"), "{unnamed}");
}
