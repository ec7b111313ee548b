//! The bytes that `docs/store-format.md` describes, as they are found on disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use bulkwire_store::{Database, Options};
use support::disk::Disk;
use support::workload::{batch, schema};

/// Reads off fields one after the other.
struct Bytes(Vec<u8>, usize);

impl Bytes {
    fn take(&mut self, length: usize) -> Vec<u8> {
        self.1 += length;
        self.0[self.1 - length..self.1].to_vec()
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn string(&mut self) -> String {
        let length = self.u32() as usize;
        String::from_utf8(self.take(length)).unwrap()
    }

    /// A record's header, its CRC checked; returns the end of the record.
    fn record(&mut self) -> usize {
        assert_eq!(self.take(4), b"BWRE");
        let length = self.u32();
        let crc = self.u32();
        let end = self.1 + length as usize;
        let checked = [&length.to_le_bytes(), &self.0[self.1..end]].concat();
        assert_eq!(crc, crc32fast::hash(&checked));
        end
    }
}

#[test]
fn journal_and_segment_are_as_described() {
    let disk = Disk::default();
    let database = Database::open_on(Arc::new(disk.clone()), Options::default()).unwrap();
    let field = Field::new("c", DataType::Decimal128(19, 4), true)
        .with_metadata([("k".to_owned(), "v".to_owned())].into());
    let mut transaction = database.begin();
    transaction.create_table("n", Arc::new(Schema::new(vec![field])), "p").unwrap();
    let rows = transaction.create_table("rows", schema(), "").unwrap();
    let data: Vec<_> = (0..5000).map(|id| (id, Some("text of this row".to_owned()))).collect();
    transaction.append(rows, &batch(&data)).unwrap();
    transaction.commit().unwrap();

    let mut journal = Bytes(disk.read("journal"), 0);
    assert_eq!(journal.take(8), b"BWSTORE\n");
    assert_eq!(journal.u32(), 1, "format version");
    assert_eq!(journal.u32(), crc32fast::hash(&journal.0[..12]));

    let end = journal.record();
    assert_eq!(journal.take(1), [1], "base");
    assert_eq!((journal.u64(), journal.u64()), (0, 0), "sequence, durable sequence");
    assert_eq!((journal.u64(), journal.u64()), (1, 1), "next table, next segment");
    assert_eq!(journal.u32(), 0, "changes");
    assert_eq!(journal.1, end);

    let end = journal.record();
    assert_eq!(journal.take(1), [2], "commit");
    assert_eq!((journal.u64(), journal.u64()), (1, 0), "sequence, durable sequence");
    assert_eq!((journal.u64(), journal.u64()), (3, 2), "next table, next segment");
    assert_eq!(journal.u32(), 3, "changes");
    assert_eq!((journal.take(1), journal.u64()), (vec![1], 1), "create table 1");
    assert_eq!((journal.string(), journal.string()), ("n".to_owned(), "p".to_owned()));
    assert_eq!((journal.u32(), journal.u32()), (0, 1), "schema metadata, columns");
    assert_eq!((journal.string(), journal.string()), ("c".to_owned(), "Decimal128(19, 4)".to_owned()));
    assert_eq!((journal.take(1), journal.u32()), (vec![1], 1), "nullable, metadata");
    assert_eq!((journal.string(), journal.string()), ("k".to_owned(), "v".to_owned()));
    assert_eq!((journal.take(1), journal.u64()), (vec![1], 2), "create table 2");
    assert_eq!((journal.string(), journal.string()), ("rows".to_owned(), String::new()));
    assert_eq!((journal.u32(), journal.u32()), (0, 2));
    for _ in 0..2 {
        journal.string();
        journal.string();
        journal.take(1);
        for _ in 0..2 * journal.u32() {
            journal.string();
        }
    }
    assert_eq!((journal.take(1), journal.u64()), (vec![6], 2), "add a segment to table 2");
    assert_eq!((journal.u64(), journal.u32()), (1, 1), "segment, frames");
    let (length, rows) = (journal.u32(), journal.u32());
    assert_eq!(rows, 5000);
    assert_eq!((journal.1, end), (end, journal.0.len()));

    let mut segment = Bytes(disk.read("segment-0000000000000001.rows"), 0);
    assert_eq!(segment.0.len(), length as usize);
    assert_eq!(length % 64, 0);
    assert_eq!(segment.take(4), b"BWFR");
    assert_eq!(segment.u32(), crc32fast::hash(&segment.0[8..]));
    assert_eq!((segment.u32(), segment.u32()), (length, 5000));
    assert_eq!((segment.u64(), segment.u64(), segment.u64()), (2, 1, 0), "table, segment, offset");
    assert_eq!(segment.take(24), [0; 24]);
    assert_eq!(segment.u32(), u32::MAX, "continuation marker of the IPC message");
    let metadata = segment.u32();
    assert_eq!(metadata % 8, 0);
    assert_eq!((64 + 8 + metadata) % 64, 0, "the body is aligned");
}
