#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;

use super::*;

/// Makes a record without columns of interest: fixed part of `length - 3` bytes, bitmap of one column.
fn record(length: usize, seed: u8) -> Vec<u8> {
    let mut bytes = vec![seed; length];
    bytes[..4].copy_from_slice(&[0x10, 0, (length - 3) as u8, ((length - 3) >> 8) as u8]);
    bytes[length - 3..].copy_from_slice(&[1, 0, 0xFE]);
    bytes
}

fn empty() -> Page {
    Page::formatted(PageId::new(1, 8), PageType::Data, 0, UnitId { object: 68, index: 256 }, 4)
}

#[test]
fn a_header_has_the_published_offsets() {
    let mut page = empty();
    page.set_links(PageId::new(1, 7), PageId::new(2, 0x0102_0304));
    page.set_lsn(Lsn { file: 0x20, block: 0x1A8, record: 3 });
    page.insert(0, &record(9, 7), true);
    let bytes = page.bytes();
    assert_eq!(bytes[..4], [1, 1, 4, 0]);
    assert_eq!(bytes[4..8], [0, 2, 0, 1], "checksum present, index id 256");
    assert_eq!(bytes[8..14], [7, 0, 0, 0, 1, 0], "previous");
    assert_eq!(bytes[14..16], [4, 0], "pminlen");
    assert_eq!(bytes[16..22], [4, 3, 2, 1, 2, 0], "next");
    assert_eq!(bytes[22..24], [1, 0], "slots");
    assert_eq!(bytes[24..28], [68, 0, 0, 0], "object id");
    assert_eq!(bytes[28..30], (8096_u16 - 9 - 2).to_le_bytes(), "free bytes");
    assert_eq!(bytes[30..32], 105_u16.to_le_bytes(), "first free byte");
    assert_eq!(bytes[32..38], [8, 0, 0, 0, 1, 0], "own address");
    assert_eq!(bytes[40..50], [0x20, 0, 0, 0, 0xA8, 1, 0, 0, 3, 0], "log position");
    assert_eq!(bytes[8190..], [96, 0], "slot 0");
    // The published example: object 68, index 256.
    assert_eq!(page.unit().allocation_unit_id(), 72_057_594_042_384_384);
}

#[test]
fn a_page_holds_736_rows_of_nine_bytes() {
    let mut page = empty();
    let mut rows = 0;
    while page.insert(rows, &record(9, 0), true) {
        rows += 1;
    }
    assert_eq!(rows, 736);
    assert_eq!(page.free_bytes(), 8096 - 736 * 11);
}

#[test]
fn damage_is_found_by_the_checksum_and_a_page_of_another_place_by_its_address() {
    let mut page = empty();
    page.insert(0, &record(50, 1), true);
    page.seal();
    page.verify(PageId::new(1, 8)).unwrap();
    assert!(page.verify(PageId::new(1, 9)).unwrap_err().contains("1:8"));
    for place in (0..8192).step_by(37).filter(|place| !(60..64).contains(place)) {
        let mut damaged = page.clone();
        damaged.bytes[place] ^= 0x10;
        assert!(damaged.verify(PageId::new(1, 8)).is_err(), "byte {place}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert { slot: usize, length: usize, shift: bool },
    Remove { slot: usize, shift: bool },
    Replace { slot: usize, length: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (any::<usize>(), 8_usize..900, any::<bool>()).prop_map(|(slot, length, shift)| Step::Insert { slot, length, shift }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(slot, shift)| Step::Remove { slot, shift }),
        2 => (any::<usize>(), 8_usize..900).prop_map(|(slot, length)| Step::Replace { slot, length }),
    ];
    prop::collection::vec(step, 0..120)
}

/// Returns true if all bytes outside of rows and slots are zeros.
fn is_clean(page: &Page) -> bool {
    let mut bytes = *page.bytes();
    bytes[..HEADER_BYTES].fill(0);
    bytes[PAGE_BYTES - SLOT_BYTES * usize::from(page.slot_count())..].fill(0);
    for (slot, row) in page.rows() {
        let start = page.row_offset(slot).unwrap();
        bytes[start..start + row.len()].fill(0);
    }
    bytes == [0; PAGE_BYTES]
}

type Slots = Vec<Option<Vec<u8>>>;

fn contents(page: &Page) -> Slots {
    (0..page.slot_count()).map(|slot| page.row(slot).map(<[u8]>::to_vec)).collect()
}

proptest! {
    /// Slots against a plain vector, nothing left of rows that have gone; and every step undone by its opposite, in reverse order, gives what was before.
    #[test]
    fn slots_behave_like_a_vector(steps in steps()) {
        let mut page = empty();
        let mut model: Slots = Vec::new();
        let mut undo: Vec<(Step, Vec<u8>, Slots)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let before = model.clone();
            match step {
                Step::Insert { slot, length, shift } => {
                    let slot = slot % (model.len() + 1);
                    let row = record(length, number as u8);
                    let used: usize = model.iter().flatten().map(Vec::len).sum::<usize>() + 2 * model.len();
                    let allowed = shift || model.get(slot).is_some_and(Option::is_none);
                    let fits = used + length + if shift { 2 } else { 0 } <= CAPACITY_BYTES;
                    prop_assert_eq!(page.insert(slot as u16, &row, shift), allowed && fits);
                    if allowed && fits {
                        if shift { model.insert(slot, Some(row)) } else { model[slot] = Some(row) }
                        undo.push((Step::Remove { slot, shift }, Vec::new(), before));
                    }
                }
                Step::Remove { slot, shift } if !model.is_empty() => {
                    let slot = slot % model.len();
                    let old = model[slot].clone();
                    prop_assert_eq!(page.remove(slot as u16, shift), old.is_some());
                    if let Some(old) = old {
                        if shift { model.remove(slot); } else { model[slot] = None }
                        undo.push((Step::Insert { slot, length: 0, shift }, old, before));
                    }
                }
                Step::Replace { slot, length } if !model.is_empty() => {
                    let slot = slot % model.len();
                    let row = record(length, number as u8);
                    let used: usize = model.iter().flatten().map(Vec::len).sum::<usize>() + 2 * model.len();
                    let old = model[slot].clone();
                    let fits = old.as_ref().is_some_and(|old| used - old.len() + length <= CAPACITY_BYTES);
                    prop_assert_eq!(page.replace(slot as u16, &row), fits);
                    if let (true, Some(old)) = (fits, old) {
                        model[slot] = Some(row);
                        undo.push((Step::Replace { slot, length: 0 }, old, before));
                    }
                }
                _ => {}
            }
            prop_assert_eq!(contents(&page), model.clone());
            let used: usize = model.iter().flatten().map(Vec::len).sum::<usize>() + 2 * model.len();
            prop_assert_eq!(page.free_bytes(), CAPACITY_BYTES - used);
            prop_assert!(is_clean(&page));
            page.seal();
            prop_assert!(page.verify(PageId::new(1, 8)).is_ok());
        }
        for (step, row, before) in undo.into_iter().rev() {
            let undone = match step {
                Step::Insert { slot, shift, .. } => page.insert(slot as u16, &row, shift),
                Step::Remove { slot, shift } => page.remove(slot as u16, shift),
                Step::Replace { slot, .. } => page.replace(slot as u16, &row),
            };
            prop_assert!(undone);
            prop_assert_eq!(contents(&page), before);
        }
    }
}
