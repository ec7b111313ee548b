//! Parquet's bytes: a file that is read at any place.

use std::io::{BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};

use crate::at_offset::AtOffset;
use crate::location::Spooled;
use crate::{Compression, FormatError, Location};

/// A file that is read at any place, and counts what is read from it.
#[derive(Clone)]
pub(crate) struct CountedChunks(pub(crate) AtOffset);

impl CountedChunks {
    pub(crate) fn open(location: &Location, compression: Compression) -> Result<Self, FormatError> {
        let file = match (location, compression) {
            (Location::Path(_) | Location::Spooled(_), Compression::None) => location.open_file()?,
            _ => spool(location, compression)?.open_file()?,
        };
        Ok(Self(AtOffset::new(Arc::new(file), Arc::default())))
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
        Length::len(self.0.file())
    }
}

impl ChunkReader for CountedChunks {
    type T = BufReader<AtOffset>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(self.0.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A corrupt footer may claim any length.
        let available = Length::len(self.0.file()).saturating_sub(start);
        if length as u64 > available {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "{length} bytes expected at offset {start}, {available} left"
            )));
        }
        let mut buffer = vec![0; length];
        self.0.at(start).read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}
