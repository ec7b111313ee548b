//! Random and damaged bytes in journal and segments: typed errors, never a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use bulkwire_store::{Database, Options};
use proptest::prelude::*;
use support::Random;
use support::disk::Disk;
use support::workload::{Model, step};

/// A database after a few transactions, as files.
fn sample(seed: u64) -> Disk {
    let disk = Disk::default();
    let database = Database::open_on(Arc::new(disk.clone()), Options::default()).unwrap();
    let (mut model, mut random) = (Model::new(), Random(seed));
    for _ in 0..12 {
        let mut next = model.clone();
        if step(&database, &mut next, &mut random).unwrap() {
            model = next;
        }
    }
    disk
}

/// Opens and reads everything; errors are fine.
fn read_all(disk: &Disk) {
    let Ok(database) = Database::open_on(Arc::new(disk.clone()), Options::default()) else { return };
    let snapshot = database.snapshot();
    for table in snapshot.tables() {
        for projection in [None, Some(vec![1])] {
            snapshot.scan(table.id, projection).unwrap().for_each(drop);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_as_journal(bytes in prop::collection::vec(any::<u8>(), 0..600), with_header: bool) {
        let disk = Disk::default();
        let mut journal = Vec::new();
        if with_header {
            journal = sample_header();
        }
        journal.extend(bytes);
        disk.write("journal", &journal);
        read_all(&disk);
    }

    /// The checksum is made to fit, so that the damage gets past it.
    #[test]
    fn damage_that_passes_the_checksum(seed in 0..8_u64, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let disk = sample(seed);
        for name in disk.names() {
            let mut bytes = disk.read(&name);
            for (place, value) in &damage {
                if !bytes.is_empty() {
                    let length = bytes.len();
                    // Mostly where the structure is, not in the midst of row data.
                    let place = place.index(length.min(2000));
                    bytes[place] = *value;
                }
            }
            match name.as_str() {
                "journal" => mend_journal(&mut bytes),
                _ => mend_frame(&mut bytes),
            }
            disk.write(&name, &bytes);
        }
        read_all(&disk);
    }
}

fn sample_header() -> Vec<u8> {
    let disk = Disk::default();
    drop(Database::open_on(Arc::new(disk.clone()), Options::default()).unwrap());
    disk.read("journal")[..16].to_vec()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |field| u32::from_le_bytes(field.try_into().unwrap()) as usize)
}

/// Records from byte 16: magic, length, CRC-32 of length and payload.
fn mend_journal(bytes: &mut [u8]) {
    let mut at = 16;
    while at + 12 <= bytes.len() {
        let end = at + 12 + u32_at(bytes, at + 4);
        if end > bytes.len() {
            break;
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&bytes[at + 4..at + 8]);
        crc.update(&bytes[at + 12..end]);
        bytes[at + 8..at + 12].copy_from_slice(&crc.finalize().to_le_bytes());
        at = end;
    }
}

/// The first frame: magic, CRC-32 of everything after it, length.
fn mend_frame(bytes: &mut [u8]) {
    let length = u32_at(bytes, 8);
    if (64..=bytes.len()).contains(&length) {
        let crc = crc32fast::hash(&bytes[8..length]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}
