//! Names of one file.

use std::fs;
use std::path::Path;

/// Returns true if two paths name one file that is there, whatever links lead to it. Devices and pipes hold nothing that could be lost.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (fs::metadata(one), fs::metadata(other)) else {
        // A file that is not there yet has its path alone.
        return match (std::path::absolute(one), std::path::absolute(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
    };
    first.is_file() && second.is_file() && is_same(one, other, &first, &second)
}

#[cfg(unix)]
fn is_same(_: &Path, _: &Path, first: &fs::Metadata, second: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    first.dev() == second.dev() && first.ino() == second.ino()
}

#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path, _: &fs::Metadata, _: &fs::Metadata) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
