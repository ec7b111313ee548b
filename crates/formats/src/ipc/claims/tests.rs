#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;

use crate::{
    Compression, Format, FormatError, IpcCompression, IpcContainer, IpcOptions, Location, Reason, create,
    open,
};

const FORMS: [(IpcContainer, IpcCompression); 6] = [
    (IpcContainer::File, IpcCompression::None),
    (IpcContainer::File, IpcCompression::Lz4),
    (IpcContainer::File, IpcCompression::Zstd),
    (IpcContainer::Stream, IpcCompression::None),
    (IpcContainer::Stream, IpcCompression::Lz4),
    (IpcContainer::Stream, IpcCompression::Zstd),
];

/// Makes a batch of a megabyte of zeros, which compresses best of all, and a text.
fn batch() -> RecordBatch {
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; ROWS]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("Zürich"); ROWS]));
    RecordBatch::try_from_iter([("zeros", zeros), ("texts", texts)]).unwrap()
}

/// A number whose multiples no other field happens to have.
const ROWS: usize = (1 << 17) + 29;

fn written(container: IpcContainer, compression: IpcCompression) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.arrow");
    let format = Format::ArrowIpc(IpcOptions { container, compression });
    let location = Location::Path(path.clone());
    let mut writer = create(&location, batch().schema(), &format, Compression::None).unwrap();
    for _ in 0..2 {
        writer.write(&batch()).unwrap();
    }
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

fn read(bytes: &[u8]) -> Result<usize, FormatError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.arrow");
    std::fs::write(&path, bytes).unwrap();
    let format = Format::ArrowIpc(IpcOptions::default());
    let reader = open(&Location::Path(path), &format, Compression::None, usize::MAX)?;
    reader.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}

/// Returns the problem of the bytes with `from` replaced by `to`, for each place of `from`.
fn problems(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<String> {
    let places = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from));
    places
        .map(|at| {
            let mut bytes = bytes.to_vec();
            bytes[at..at + to.len()].copy_from_slice(to);
            match *read(&bytes).unwrap_err().reason {
                Reason::Damaged { problem } => problem,
                other => panic!("{other:?}"),
            }
        })
        .collect()
}

#[test]
fn what_is_well_compressed_is_believed() {
    for (container, compression) in FORMS {
        let bytes = written(container, compression);
        assert_eq!(read(&bytes).unwrap(), 2 * ROWS, "{container:?} {compression:?}");
    }
}

#[test]
fn a_buffer_cannot_claim_more_than_its_compression_makes_of_it() {
    let zeros = (ROWS as i64 * 8).to_le_bytes();
    for (container, compression) in FORMS.into_iter().filter(|(_, codec)| *codec != IpcCompression::None) {
        let bytes = written(container, compression);
        // 64 TiB, which no machine grants.
        let found = problems(&bytes, &zeros, &(1i64 << 46).to_le_bytes());
        assert_eq!(found.len(), 2, "one buffer of zeros in each batch");
        for problem in found {
            assert!(problem.ends_with("compressed bytes claims to hold 70368744177664"), "{problem}");
        }
    }
}

#[test]
fn a_body_cannot_claim_more_than_there_is() {
    // The body's length of an uncompressed batch stands in its message and, in the file form, in the footer.
    let rows = ROWS as u64;
    let texts = (rows * 7).next_multiple_of(64) + ((rows + 1) * 4).next_multiple_of(64);
    let body = ((rows * 8).next_multiple_of(64) + texts).to_le_bytes();
    let huge = (1u64 << 60).to_le_bytes();
    let stream = problems(&written(IpcContainer::Stream, IpcCompression::None), &body, &huge);
    assert_eq!(stream, ["1152921504606846976 bytes are claimed, more than can be allocated"; 2]);

    let bytes = written(IpcContainer::File, IpcCompression::None);
    let footer_bytes = u32::from_le_bytes(*bytes[bytes.len() - 10..].first_chunk().unwrap()) as usize;
    let (blocks, footer) = bytes.split_at(bytes.len() - 10 - footer_bytes);
    let places: Vec<usize> = (0..footer.len()).filter(|&at| footer[at..].starts_with(&body)).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        let mut bytes = bytes.clone();
        bytes[blocks.len() + at..][..8].copy_from_slice(&huge);
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("a block of 1152921504606846976 bytes at byte"), "{error}");
    }
}
