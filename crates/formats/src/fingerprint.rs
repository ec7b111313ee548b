//! A short text that identifies a file's content, so that another file of the same name is noticed.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use crate::location::Location;

/// Blocks that are looked at, evenly spread; the first and the last are among them.
const BLOCKS: u64 = 64;
const BLOCK_BYTES: u64 = 64 * 1024;

/// Size and a checksum of blocks of a file; `None` for a pipe, which can be read only once. A small file is read whole. The
/// fingerprint of an object is what its store says of its version; `None` if that is nothing.
///
/// # Errors
/// Those of opening and reading.
pub fn fingerprint(location: &Location) -> io::Result<Option<String>> {
    let path = match location {
        Location::Path(path) => path,
        Location::Object(object) => return Ok(object.open()?.fingerprint()),
        Location::Stdin | Location::Stdout | Location::Spooled(_) => return Ok(None),
    };
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let length = metadata.len();
    let mut checksum = crc32fast::Hasher::new();
    let mut block = Vec::new();
    for start in block_starts(length) {
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        (&mut file).take(BLOCK_BYTES).read_to_end(&mut block)?;
        checksum.update(&block);
    }
    Ok(Some(format!("{length} bytes, blocks {:08x}", checksum.finalize())))
}

/// CRC-32 of bytes.
pub fn checksum_of(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

fn block_starts(length: u64) -> impl Iterator<Item = u64> {
    let blocks = length.div_ceil(BLOCK_BYTES);
    let (count, last) = (blocks.min(BLOCKS), blocks.saturating_sub(1));
    (0..count).map(move |index| {
        let block = if count > 1 { u128::from(index) * u128::from(last) / u128::from(count - 1) } else { 0 };
        u64::try_from(block).unwrap_or(last) * BLOCK_BYTES
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn blocks_reach_from_the_first_byte_to_the_last() {
        for (length, first_and_last) in [
            (0, None),
            (1, Some((0, 0))),
            (65_537, Some((0, 65_536))),
            (1 << 40, Some((0, (1 << 40) - 65_536))),
        ] {
            let starts: Vec<u64> = block_starts(length).collect();
            assert_eq!(starts.first().copied().zip(starts.last().copied()), first_and_last, "{length}");
            assert!(starts.len() as u64 <= BLOCKS && starts.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn another_byte_in_a_small_file_is_another_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.csv");
        let location = Location::Path(path.clone());
        let mut seen = std::collections::BTreeSet::new();
        for content in ["1,a\n", "1,b\n", "1,b\n\n", ""] {
            fs::write(&path, content)?;
            assert!(seen.insert(fingerprint(&location)?), "{content:?}");
        }
        fs::write(&path, "1,a\n")?;
        assert!(!seen.insert(fingerprint(&location)?));
        assert_eq!(fingerprint(&Location::Stdin)?, None);
        Ok(())
    }
}
