//! Tables of lakes, which are folders of Parquet files and a log of those that count.
//!
//! Files of rows that were deleted or replaced stay in the folder until they are cleaned up. Read as plain files they give such rows
//! back, so a folder of a table is refused with the way to read it.

use std::path::{Path, PathBuf};

use formats::Location;
use formats::objects::{is_object_url, list, shown_url};

use crate::error::CopyError;

/// The folders that mark a lake's table, each with the kind of lake.
const KINDS: [(&str, Lake); 2] = [("_delta_log", Lake::Delta), (".hoodie", Lake::Hudi)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lake {
    Delta,
    Iceberg,
    Hudi,
}

impl Lake {
    fn refusal(self, folder: &str) -> CopyError {
        let (what, way) = match self {
            Lake::Delta => {
                ("a Delta table (it has _delta_log)", "bulkwire.lakes.delta in Python reads the table")
            }
            Lake::Iceberg => {
                ("an Iceberg table (it has metadata)", "bulkwire.lakes.iceberg in Python reads the table")
            }
            Lake::Hudi => ("a Hudi table (it has .hoodie)", "export the table with Spark"),
        };
        CopyError::Usage(format!(
            "{folder} is {what}, and its files also hold rows that were deleted or replaced: {way}; a single file can still be named"
        ))
    }
}

/// Refuses files of a table of a lake. A single file that was named is what was asked for.
///
/// # Errors
/// One of the folders in which the files stand is such a table, or lies in one.
pub fn refuse(files: &[Location]) -> Result<(), CopyError> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for file in files {
        let Location::Path(path) = file else { continue };
        let Some(folder) = path.parent() else { continue };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // Those before the last are not looked at again.
        if seen.iter().any(|known| known == folder) {
            continue;
        }
        refuse_folder(folder)?;
        seen.push(folder.to_owned());
    }
    Ok(())
}

/// Refuses a folder that is a table of a lake, or lies in one.
///
/// # Errors
/// It is.
pub(crate) fn refuse_folder(folder: &Path) -> Result<(), CopyError> {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for above in whole.ancestors() {
        if let Some(lake) = lake_at(above) {
            return Err(lake.refusal(&above.display().to_string()));
        }
    }
    Ok(())
}

/// Recognises the table whose own folder this is.
fn lake_at(folder: &Path) -> Option<Lake> {
    if let Some((_, lake)) = KINDS.into_iter().find(|(name, _)| folder.join(name).is_dir()) {
        return Some(lake);
    }
    let metadata = std::fs::read_dir(folder.join("metadata")).ok()?;
    let is_iceberg =
        metadata.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with(".metadata.json"));
    is_iceberg.then_some(Lake::Iceberg)
}

/// Refuses the objects below a URL that are those of a table of a lake; `urls` are all that are there, notes included.
pub(crate) fn refuse_objects<'a>(urls: impl Iterator<Item = &'a str>) -> Result<(), CopyError> {
    for url in urls {
        for (name, lake) in KINDS {
            if let Some((folder, _)) = url.split_once(&format!("/{name}/")) {
                return Err(lake.refusal(&shown_url(folder)));
            }
        }
        let (folder, file) = url.rsplit_once('/').unwrap_or_default();
        if let Some(folder) = folder.strip_suffix("/metadata").filter(|_| file.ends_with(".metadata.json")) {
            return Err(Lake::Iceberg.refusal(&shown_url(folder)));
        }
    }
    Ok(())
}

/// Refuses a folder of a store that lies in a table of a lake. What cannot be listed is not known.
pub(crate) fn refuse_object_folder(folder: &str) -> Result<(), CopyError> {
    if !is_object_url(folder) {
        return Ok(());
    }
    let root = folder.find("://").map_or(0, |at| at + 3);
    let mut above = folder.trim_end_matches('/');
    while above.len() > root {
        for (name, lake) in KINDS {
            if list(&format!("{above}/{name}/"), 1).is_ok_and(|found| !found.is_empty()) {
                return Err(lake.refusal(&shown_url(above)));
            }
        }
        if let Ok(found) = list(&format!("{above}/metadata/"), METADATA_MAX) {
            refuse_objects(found.iter().map(|object| object.url.as_str()))?;
        }
        let Some((next, _)) = above.rsplit_once('/') else { break };
        above = next;
    }
    Ok(())
}

/// Objects of a folder of metadata that are looked at.
const METADATA_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use crate::files_of;

    #[test]
    fn tables_of_lakes_are_refused_with_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        for name in [
            "delta/_delta_log/0.json",
            "delta/a.parquet",
            "delta/b.parquet",
            "ice/metadata/v1.metadata.json",
            "ice/data/a.parquet",
            "hudi/.hoodie/x",
            "hudi/a.parquet",
            "plain/metadata/notes.json",
            "plain/a.parquet",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for (path, word) in [
            ("delta", "lakes.delta"),
            ("delta/*.parquet", "lakes.delta"),
            ("ice", "lakes.iceberg"),
            ("ice/data", "lakes.iceberg"),
            ("ice/data/*.parquet", "lakes.iceberg"),
            ("hudi", "Hudi"),
            ("", "table"),
        ] {
            let error = files_of(&format!("{root}/{path}")).unwrap_err().to_string();
            assert!(error.contains(word), "{path}: {error}");
        }
        assert_eq!(files_of(&format!("{root}/plain/*.parquet")).unwrap().len(), 1);
        // A file that is named by itself is read.
        assert_eq!(files_of(&format!("{root}/delta/a.parquet")).unwrap().len(), 1);
        let named = |name: &str| Location::Path(folder.path().join(name));
        assert!(refuse(&[named("delta/a.parquet"), named("delta/b.parquet")]).is_err());
        let urls = ["s3://b/t/part-0.parquet", "s3://b/t/_delta_log/0.json"];
        assert!(refuse_objects(urls.into_iter()).unwrap_err().to_string().contains("s3://b/t is a Delta"));
        assert!(refuse_objects(["s3://b/t/metadata/x.json"].into_iter()).is_ok());
    }
}
