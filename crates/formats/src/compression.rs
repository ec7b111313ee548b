//! gzip and zstd around any file.

use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::FormatError;
use crate::location::Target;

/// Compression of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// gzip (RFC 1952), also of several members one after another.
    Gzip,
    /// Zstandard (RFC 8878), also of several frames.
    Zstd,
}

impl Compression {
    /// Splits a compression suffix (`.gz`, `.gzip`, `.zst`, `.zstd`) off a path.
    pub fn from_path(path: &Path) -> (Self, PathBuf) {
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).map(str::to_ascii_lowercase);
        match suffix.as_deref() {
            Some("gz" | "gzip") => (Self::Gzip, path.with_extension("")),
            Some("zst" | "zstd") => (Self::Zstd, path.with_extension("")),
            _ => (Self::None, path.to_owned()),
        }
    }

    /// Decompresses what `input` gives.
    pub(crate) fn decompress(self, input: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, FormatError> {
        Ok(match self {
            Self::None => input,
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
        })
    }

    /// Compresses what is written on its way to `target`.
    pub(crate) fn compress(self, target: Target) -> Result<Compressor, FormatError> {
        let target = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, target);
        Ok(match self {
            Self::None => Compressor::None(target),
            Self::Gzip => Compressor::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            Self::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(target, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                // The checksum detects a flipped bit, which could otherwise change rows unnoticed.
                encoder.include_checksum(true)?;
                Compressor::Zstd(encoder)
            }
        })
    }
}

const OUTPUT_BUFFER_BYTES: usize = 256 * 1024;

/// The writing side: compresses, buffers, and hands the target back to be put in place.
pub(crate) enum Compressor {
    None(BufWriter<Target>),
    Gzip(GzEncoder<BufWriter<Target>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Target>>),
}

impl Compressor {
    /// Writes what is left and puts the file in place. Returns its size in bytes, as stored.
    pub(crate) fn finish(self) -> Result<u64, FormatError> {
        let buffered = match self {
            Self::None(output) => output,
            Self::Gzip(output) => output.finish()?,
            Self::Zstd(output) => output.finish()?,
        };
        buffered.into_inner().map_err(|error| FormatError::from(error.into_error()))?.finish()
    }
}

impl Write for Compressor {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(output) => output.write(buffer),
            Self::Gzip(output) => output.write(buffer),
            Self::Zstd(output) => output.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(output) => output.flush(),
            Self::Gzip(output) => output.flush(),
            Self::Zstd(output) => output.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use crate::Location;

    /// A flipped bit in any place of a compressed file never gives other text.
    #[test]
    fn a_flipped_bit_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..200).map(|row| format!("{row},name {row},{}\n", row * 7919 % 1000)).collect();
        for (name, compression) in [("a.csv.gz", Compression::Gzip), ("a.csv.zst", Compression::Zstd)] {
            let path = folder.path().join(name);
            let location = Location::Path(path.clone());
            let mut output = compression.compress(location.create_target().unwrap()).unwrap();
            output.write_all(text.as_bytes()).unwrap();
            output.finish().unwrap();
            let stored = fs::read(&path).unwrap();
            for bit in 0..stored.len() * 8 {
                let mut damaged = stored.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let mut found = Vec::new();
                let input: Box<dyn Read + Send> = Box::new(io::Cursor::new(damaged));
                let read =
                    compression.decompress(input).and_then(|mut input| Ok(input.read_to_end(&mut found)?));
                assert!(read.is_err() || found == text.as_bytes(), "{name}, bit {bit}");
            }
        }
    }
}
