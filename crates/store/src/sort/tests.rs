#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use arena::Arena;
use frame::bytes_of;

fn rows(keys: &[(&[u8], u8)]) -> KeyedRows {
    let mut rows = KeyedRows::default();
    keys.iter().for_each(|(key, record)| rows.push(key, &[*record]));
    rows
}

fn sorted(parts: &[KeyedRows]) -> Vec<(Vec<u8>, u8)> {
    let mut arena = Arena::default();
    parts.iter().for_each(|part| arena.push(part).unwrap());
    let mut run = MemoryRun::new(arena);
    let mut found = Vec::new();
    while let Some((key, record)) = run.peek() {
        found.push((key.to_vec(), record[0]));
        run.advance();
    }
    found
}

#[test]
fn keys_order_as_bytes_and_equal_ones_as_they_came() {
    let first = rows(&[(b"shared/b", 1), (b"shared/", 2), (b"shared/b\0", 3), (b"shared/abcdefgh2", 4)]);
    let second = rows(&[(b"shared/abcdefgh1", 5), (b"shared/b", 6), (b"shared/abcdefgh", 7)]);
    let found = sorted(&[first, second]);
    let expected: [(&[u8], u8); 7] = [
        (b"shared/", 2),
        (b"shared/abcdefgh", 7),
        (b"shared/abcdefgh1", 5),
        (b"shared/abcdefgh2", 4),
        (b"shared/b", 1),
        (b"shared/b", 6),
        (b"shared/b\0", 3),
    ];
    assert_eq!(found, expected.map(|(key, record)| (key.to_vec(), record)));
}

#[test]
fn rows_in_order_stay_where_they_are() {
    let mut arena = Arena::default();
    arena.push(&rows(&[(b"a", 1), (b"b", 2)])).unwrap();
    arena.push(&rows(&[(b"b", 3), (b"c", 4)])).unwrap();
    assert_eq!(arena.memory_bytes(), 4 * bytes_of(b"a", &[1]));
    let run = MemoryRun::new(arena);
    assert_eq!(run.chunks().map(<[Vec<u8>]>::len), Some(1));
}

#[test]
fn rows_that_are_too_long_for_a_page_are_refused() {
    let mut long = KeyedRows::default();
    long.push(&vec![0; 70_000], &[1]);
    assert!(matches!(Arena::default().push(&long), Err(EngineError::Internal { .. })));
}
