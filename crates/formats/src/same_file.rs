//! Names of one file.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Returns the name of a file from the root, the same from every folder and through every link. What is not there, such as
/// a pattern, keeps its words behind those of its folder.
pub fn true_name(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let named = whole.ancestors().find_map(|above| {
        let rest = whole.strip_prefix(above).ok()?;
        let found = above.canonicalize().ok()?;
        Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
    });
    let name = named.unwrap_or(PathBuf::from(&whole)).to_string_lossy().into_owned();
    // Windows begins such a name with a mark of its own.
    match name.strip_prefix(r"\\?\") {
        Some(rest) if cfg!(windows) && !rest.starts_with("UNC") => rest.to_owned(),
        _ => name,
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_has_one_name_through_every_link_and_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("in")).unwrap();
        fs::write(root.join("in/rows.csv"), "1").unwrap();
        std::os::unix::fs::symlink(root.join("in"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("in/rows.csv"), root.join("latest.csv")).unwrap();
        let own = root.join("in/rows.csv").to_string_lossy().into_owned();
        for spelled in ["in/rows.csv", "in/../in/./rows.csv", "link/rows.csv", "latest.csv"] {
            assert_eq!(true_name(&root.join(spelled)), own, "{spelled}");
        }
        assert_eq!(true_name(&root.join("link/*.csv")), root.join("in/*.csv").to_string_lossy());
        assert_eq!(true_name(&root.join("link/none/../x")), root.join("in/none/../x").to_string_lossy());
    }
}
