//! Files that change while they are read: no row of such a file may pass for whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::record_batch::RecordBatch;
use formats::{Compression, CsvOptions, Format, Location};

const BATCH_ROWS: usize = 1000;
const BATCHES: usize = 400;

fn batch(number: usize) -> RecordBatch {
    let first = (number * BATCH_ROWS) as i64;
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + BATCH_ROWS as i64));
    RecordBatch::try_from_iter([("n", values)]).unwrap()
}

/// Reads one batch, changes the file, and reads on; what the end was.
fn read_changed(path: &Path, format: &Format, change: impl FnOnce(&File)) -> Result<usize, String> {
    let mut reader =
        formats::open(&Location::Path(path.to_owned()), format, Compression::None, BATCH_ROWS).unwrap();
    let mut rows = reader.next().unwrap().unwrap().num_rows();
    change(&OpenOptions::new().append(true).open(path).unwrap());
    for next in reader {
        rows += next.map_err(|error| error.to_string())?.num_rows();
    }
    Ok(rows)
}

fn csv(path: &Path) {
    let rows: String = (0..BATCHES * BATCH_ROWS).map(|n| format!("{n}\n")).collect();
    std::fs::write(path, format!("n\n{rows}")).unwrap();
}

#[test]
fn text_that_shrinks_grows_or_is_written_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let format = Format::Csv(CsvOptions::default());
    csv(&path);
    let length = path.metadata().unwrap().len();
    assert_eq!(read_changed(&path, &format, |_| {}), Ok(BATCHES * BATCH_ROWS));
    // Cut in the middle of a row.
    let shrunk = read_changed(&path, &format, |file| file.set_len(length - 5).unwrap()).unwrap_err();
    assert!(shrunk.contains("changed while it was read") && shrunk.contains("t.csv"), "{shrunk}");
    csv(&path);
    let grown = read_changed(&path, &format, |mut file| file.write_all(b"7\n").unwrap()).unwrap_err();
    assert!(grown.contains("changed while it was read"), "{grown}");
    csv(&path);
    let touched = read_changed(&path, &format, |file| {
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    });
    assert!(touched.unwrap_err().contains("it was written to"));
}

#[test]
fn typed_files_that_change_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let schema = batch(0).schema();
    let file = folder.path().join("t.arrow");
    let stream = folder.path().join("t.arrows");
    let mut writer = FileWriter::try_new(File::create(&file).unwrap(), &schema).unwrap();
    let mut streamed = StreamWriter::try_new(File::create(&stream).unwrap(), &schema).unwrap();
    for number in 0..BATCHES {
        writer.write(&batch(number)).unwrap();
        streamed.write(&batch(number)).unwrap();
    }
    writer.finish().unwrap();
    streamed.finish().unwrap();
    for path in [file, stream] {
        let format = Format::ArrowIpc(Default::default());
        assert_eq!(read_changed(&path, &format, |_| {}), Ok(BATCHES * BATCH_ROWS));
        let changed = read_changed(&path, &format, |file| {
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        });
        // A stream ends with a mark of its own, before the end of the file.
        if path.extension().is_some_and(|extension| extension == "arrow") {
            assert!(changed.unwrap_err().contains("it was written to"));
        }
    }
}
