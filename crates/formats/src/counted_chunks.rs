//! Parquet's bytes: a file that is read at any place.

use std::io::{BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

use crate::at_offset::AtOffset;
use crate::location::Spooled;
use crate::{Compression, FormatError, Location};

/// A file that is read at any place, and counts what is read from it.
#[derive(Clone)]
pub(crate) struct CountedChunks {
    pub(crate) source: AtOffset,
    length: u64,
}

impl CountedChunks {
    pub(crate) fn open(location: &Location, compression: Compression) -> Result<Self, FormatError> {
        let source = match compression == Compression::None && location.can_seek()? {
            true => location.open_seekable(Arc::default())?,
            false => spool(location, compression)?.open_seekable(Arc::default())?,
        };
        let length = source.length()?;
        Ok(Self { source, length })
    }

    /// Returns a reader of the same file whose reads are not counted.
    pub(crate) fn uncounted(&self) -> Self {
        Self { source: self.source.uncounted(), length: self.length }
    }

    /// Returns a reader of the same file for reading all of it, row group by row group.
    pub(crate) fn whole(&self, metadata: &ParquetMetaData) -> Self {
        let parts = metadata.row_groups().iter().filter_map(|group| {
            let starts = group.columns().iter().map(|column| column.byte_range().0);
            Some(starts.min()?..u64::MAX)
        });
        Self { source: self.source.whole(parts), length: self.length }
    }
}

/// Copies what a location gives, decompressed, to a temporary file.
pub(crate) fn spool(location: &Location, compression: Compression) -> Result<Location, FormatError> {
    let source = location.open_source()?;
    let mut input = compression.decompress(source.input)?;
    Ok(Location::Spooled(Spooled::fill(&mut input, source.name)?))
}

impl Length for CountedChunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for CountedChunks {
    type T = BufReader<AtOffset>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(self.source.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A corrupt footer may claim any length.
        let available = self.length.saturating_sub(start);
        if length as u64 > available {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "{length} bytes expected at offset {start}, {available} left"
            )));
        }
        let mut buffer = vec![0; length];
        self.source.at(start).read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}
