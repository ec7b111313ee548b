#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
//! Files that several threads read: the rows of one thread, in its order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int32Type};
use arrow::record_batch::RecordBatch;
use formats::{
    Compression, CsvOptions, Format, FormatError, IpcCompression, IpcOptions, Location, ParquetOptions,
    create, open,
};

const ROWS: usize = 200_000;

fn batch() -> RecordBatch {
    let rows = || 0..ROWS as i64;
    let texts = rows().map(|row| (row % 7 != 0).then(|| format!("text \"{row}\",\nåäö {}", row * 31)));
    let keys = rows().map(|row| Some(format!("key {}", row % 5)));
    let dictionary: DictionaryArray<Int32Type> =
        keys.collect::<Vec<_>>().iter().map(|key| key.as_deref()).collect();
    let inner = Int64Array::from_iter_values(rows().map(|row| row * 3));
    let nested = StructArray::from(vec![(
        Arc::new(Field::new("inner", DataType::Int64, false)),
        Arc::new(inner) as ArrayRef,
    )]);
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(rows())) as ArrayRef),
        ("text", Arc::new(texts.collect::<StringArray>())),
        ("nested", Arc::new(nested)),
        (
            "share",
            Arc::new(Float64Array::from_iter(rows().map(|row| (row % 3 > 0).then_some(row as f64 / 7.0)))),
        ),
        ("key", Arc::new(dictionary)),
    ])
    .unwrap()
}

fn written(folder: &Path, name: &str, batch: &RecordBatch, format: &Format) -> PathBuf {
    let path = folder.join(name);
    let location = Location::Path(path.clone());
    let mut writer = create(&location, batch.schema(), format, Compression::None).unwrap();
    for start in (0..batch.num_rows()).step_by(30_000) {
        writer.write(&batch.slice(start, 30_000.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
    assert!(path.metadata().unwrap().len() > 4 << 20, "{name} is too small to be read by threads");
    path
}

fn read(path: &Path, format: &Format, threads: usize) -> Result<RecordBatch, FormatError> {
    let mut reader = open(&Location::Path(path.to_owned()), format, Compression::None, 16_384)?;
    reader.use_threads(threads);
    let schema = reader.schema();
    let mut batches = Vec::new();
    for batch in reader.by_ref() {
        let batch = batch?;
        assert!(batch.num_rows() <= 16_384);
        assert_eq!(batch.schema(), schema);
        batches.push(batch);
    }
    assert!(reader.next().is_none());
    Ok(concat_batches(&schema, &batches).unwrap())
}

#[test]
fn every_format_gives_the_rows_of_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let batch = batch();
    let parquet = ParquetOptions { row_group_rows: 70_000, ..ParquetOptions::default() };
    let lz4 = IpcOptions { compression: IpcCompression::Lz4, ..IpcOptions::default() };
    let flat = batch.project(&[0, 1, 3]).unwrap();
    for (name, format, batch) in [
        ("t.csv", Format::Csv(CsvOptions::default()), &flat),
        ("t.parquet", Format::Parquet(parquet), &batch),
        ("t.arrow", Format::ArrowIpc(IpcOptions::default()), &batch),
        ("lz4.arrow", Format::ArrowIpc(lz4), &batch),
    ] {
        let path = written(folder.path(), name, batch, &format);
        let one = read(&path, &format, 1).unwrap();
        assert_eq!(one.num_rows(), ROWS);
        for threads in [2, 3, 9] {
            assert!(one == read(&path, &format, threads).unwrap(), "{name} by {threads} threads");
        }
    }
}

#[test]
fn a_damaged_file_is_refused_by_threads_too() {
    let folder = tempfile::tempdir().unwrap();
    let batch = batch();
    for (name, format) in [
        ("t.parquet", Format::Parquet(ParquetOptions::default())),
        (
            "t.arrow",
            Format::ArrowIpc(IpcOptions { compression: IpcCompression::Lz4, ..IpcOptions::default() }),
        ),
    ] {
        let path = written(folder.path(), name, &batch, &format);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0xFF);
        std::fs::write(&path, &bytes).unwrap();
        assert!(read(&path, &format, 1).is_err(), "{name}");
        assert!(read(&path, &format, 3).is_err(), "{name}");
    }
}
