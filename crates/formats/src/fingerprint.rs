//! A short text that identifies a file's content, so that another file of the same name is noticed.

use std::{
    fs::File,
    io::{self, Read},
};

use crate::location::Location;

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns size and checksum of a file; `None` for a pipe, which can be read only once. The fingerprint of an
/// object is the one that its store gives for its version; `None` if the store gives none.
///
/// The whole file is read. Neither samples of it nor its time would do: a corrected file may have the size of
/// the wrong one, and a file that was copied again has another time.
///
/// # Errors
/// The file cannot be opened or read.
pub fn fingerprint(location: &Location) -> io::Result<Option<String>> {
    let path = match location {
        Location::Path(path) => path,
        Location::Object(object) => return Ok(object.open()?.fingerprint()),
        Location::Stdin | Location::Stdout | Location::Spooled(_) => return Ok(None),
    };
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut checksum = crc32fast::Hasher::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut length = 0;
    loop {
        let read = match file.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        checksum.update(block.get(..read).unwrap_or_default());
        length += read as u64;
    }
    Ok(Some(format!("{length} bytes, CRC-32 {:08x}", checksum.finalize())))
}

/// Computes the CRC-32 of bytes.
pub fn checksum_of(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_byte_anywhere_in_a_large_file_is_another_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("large.csv");
        let location = Location::Path(path.clone());
        let mut content = vec![b'x'; 9 << 20];
        fs::write(&path, &content)?;
        let before = fingerprint(&location)?;
        for place in [0, 100_000, (5 << 20) + 12_345, (9 << 20) - 1] {
            content[place] = b'y';
            fs::write(&path, &content)?;
            assert_ne!(fingerprint(&location)?, before, "{place}");
            content[place] = b'x';
        }
        fs::write(&path, &content)?;
        assert_eq!(fingerprint(&location)?, before);
        Ok(())
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
