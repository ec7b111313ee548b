#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{collections::BTreeMap, sync::Arc};

use arrow::{
    array::{ArrayRef, Int32Array, StringArray},
    record_batch::RecordBatch,
};
use tds::{SqlType, Value};

use super::{Chunk, ChunkSize, LaneChunks, SourceBatch, first_number, last_number};
use crate::{
    lanes::tests::{partitioned_table, router},
    options::LoadOptions,
    source::{Origin, Origins},
};

impl LaneChunks<'_> {
    /// The memory of all rows that are held, which no other rows share.
    fn held(&self) -> usize {
        let pieces = self.lanes.iter().flat_map(|lane| &lane.pieces);
        pieces.map(|piece| piece.batch().get_array_memory_size() + piece.origin_bytes()).sum()
    }
}

/// Rows of a file, of which the bytes are kept.
struct Raw(u64);

impl Origins for Raw {
    fn origin(&self, index: usize) -> Origin {
        let row = self.0 + index as u64;
        Origin { row, byte_offset: Some(row * 40), raw: Some(vec![b'x'; 40]) }
    }
}

/// Batches in which no partition follows itself, with a text a row.
fn batches(partitions: usize, rows: usize, batch_rows: usize) -> impl Iterator<Item = SourceBatch> {
    (0..rows).step_by(batch_rows).map(move |first| {
        let places = first..rows.min(first + batch_rows);
        let keys = Int32Array::from_iter_values(places.clone().map(|row| (row * 7919 % partitions) as i32));
        let texts = StringArray::from_iter_values(places.map(|row| format!("row {row:>30}")));
        let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(keys)), ("n", Arc::new(texts))];
        SourceBatch::new(RecordBatch::try_from_iter(columns).unwrap(), Arc::new(Raw(first as u64)))
    })
}

#[test]
fn rows_of_15_000_partitions_take_no_more_memory_than_is_allowed() {
    const PARTITIONS: usize = 15_000;
    const ROWS: usize = 60_000;
    const BYTES_MAX: u64 = 1 << 20;
    let boundaries = (1..PARTITIONS).map(|boundary| Value::Int(boundary as i32)).collect();
    let mut target = partitioned_table(SqlType::Int, true, boundaries);
    target.columns[1].column.type_info =
        tds::TypeInfo::new(SqlType::NVarChar { length: tds::Length::Units(40) }, true, None);
    let size = ChunkSize::new(u64::MAX, true);
    let first = batches(PARTITIONS, 1, 1).next().unwrap();
    let router = router(&target, &first.batch().schema(), &LoadOptions::default(), 64);
    let mut chunks = LaneChunks::new(0, &size, router.rule().count());
    let (mut most, mut rows, mut numbers) = (0, 0, BTreeMap::new());
    let mut take = |chunk: Chunk| {
        for batch in &chunk.batches {
            rows += batch.rows();
            for row in 0..batch.rows() {
                assert!(chunk.rows.contains(&batch.origin_row(row)));
                numbers.insert(batch.origin_row(row), (chunk.lane, batch.origin(row).byte_offset));
            }
        }
        Ok::<(), ()>(())
    };
    for batch in batches(PARTITIONS, ROWS, 5_000) {
        for (lane, piece) in router.split(batch).unwrap() {
            let numbers = first_number(&piece).unwrap()..last_number(&piece).unwrap() + 1;
            chunks.push(lane, piece, numbers, BYTES_MAX, &mut take).unwrap();
            assert!(chunks.bytes <= BYTES_MAX);
            most = most.max(chunks.held());
        }
    }
    chunks.finish(&mut take).unwrap();
    assert_eq!((chunks.bytes, chunks.held()), (0, 0));
    // The memory is what was counted, and most of what was allowed.
    assert!(most as u64 <= BYTES_MAX + BYTES_MAX / 4 && most as u64 > BYTES_MAX / 2, "{most}");
    assert_eq!((rows, numbers.len()), (ROWS, ROWS));
    for (number, (lane, offset)) in numbers {
        let partition = number as usize * 7919 % PARTITIONS;
        assert_eq!((lane, offset), (Some(partition % 64), Some(number * 40)));
    }
}

#[test]
fn a_chunk_has_no_more_rows_than_it_may() {
    let target = partitioned_table(SqlType::Int, true, vec![Value::Int(1), Value::Int(2)]);
    let keys: ArrayRef = Arc::new(Int32Array::from_iter_values((0..100).map(|row| row % 3)));
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let batch = RecordBatch::try_from_iter([("k", keys), ("n", numbers)]).unwrap();
    let router = router(&target, &batch.schema(), &LoadOptions::default(), 3);
    let size = ChunkSize::new(7, true);
    let mut chunks = LaneChunks::new(0, &size, router.rule().count());
    let mut seen = Vec::new();
    let mut take = |chunk: Chunk| {
        seen.push((chunk.lane, chunk.rows, chunk.batches.iter().map(SourceBatch::rows).sum::<usize>()));
        Ok::<(), ()>(())
    };
    for (lane, piece) in router.split(SourceBatch::from(batch)).unwrap() {
        let numbers = first_number(&piece).unwrap()..last_number(&piece).unwrap() + 1;
        chunks.push(lane, piece, numbers, u64::MAX, &mut take).unwrap();
    }
    chunks.finish(&mut take).unwrap();
    let of_first: Vec<_> = seen.iter().filter(|(lane, ..)| *lane == Some(0)).collect();
    assert_eq!(of_first[0], &(Some(0), 0..19, 7));
    assert_eq!(of_first[1], &(Some(0), 21..40, 7));
    assert_eq!(of_first.last().unwrap(), &&(Some(0), 84..100, 6));
    assert_eq!(seen.iter().map(|(_, _, rows)| rows).sum::<usize>(), 100);
}
