//! The files that a path means: one, those of a pattern, or those of a directory.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use formats::{Location, objects::is_object_url};

use crate::{error::CopyError, lake, object_set::objects_of};

/// Lists the files of a path or the objects of a URL, in the order of their names.
///
/// # Errors
/// There is none, or a directory cannot be read.
pub fn files_of(path: &str) -> Result<Vec<Location>, CopyError> {
    if path == "-" {
        return Ok(vec![Location::Stdin]);
    }
    if is_object_url(path) {
        return objects_of(path);
    }
    let plain = Path::new(path);
    if plain.is_dir() {
        lake::refuse_folder(plain)?;
        let mut found = Vec::new();
        collect(plain, &mut found)?;
        return named(found, || format!("{path}: the directory has no files"));
    }
    if plain.exists() || !is_pattern(path) {
        return Ok(vec![Location::Path(plain.to_owned())]);
    }
    let found = named(matching(plain)?, || format!("{path}: no file has such a name"))?;
    lake::refuse(&found)?;
    Ok(found)
}

fn named(mut found: Vec<PathBuf>, nothing: impl Fn() -> String) -> Result<Vec<Location>, CopyError> {
    if found.is_empty() {
        return Err(CopyError::Usage(nothing()));
    }
    found.sort();
    Ok(found.into_iter().map(Location::Path).collect())
}

pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

fn unreadable(path: &Path, error: io::Error) -> CopyError {
    CopyError::endpoint(path.display().to_string(), error)
}

/// Collects the files of a directory and those below it. Skips names with a dot or an underscore in front, which
/// unfinished files and notes have.
fn collect(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), CopyError> {
    for entry in fs::read_dir(directory).map_err(|error| unreadable(directory, error))? {
        let path = entry.map_err(|error| unreadable(directory, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if !path.is_dir() {
            found.push(path);
        } else if name.contains('=') {
            return Err(CopyError::Usage(format!(
                "{}: the directory is partitioned, and its files lack the column that its name has; copy the files of one value by a pattern",
                path.display()
            )));
        } else {
            lake::refuse_folder(&path)?;
            collect(&path, found)?;
        }
    }
    Ok(())
}

/// Lists the files that fit a pattern: `*`, `?` and `[a-z]` within a name, `**` for any number of directories.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, CopyError> {
    let mut reached = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(name) = component else {
            reached.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let name = name.to_string_lossy();
        let mut next = Vec::new();
        for path in &reached {
            if name == "**" {
                below(path, &mut next)?;
            } else if is_pattern(&name) {
                let like =
                    |entry: &str| is_like(&name, entry) && (!entry.starts_with('.') || name.starts_with('.'));
                next.extend(
                    entries(path)?.into_iter().filter(|entry| like(entry)).map(|entry| path.join(entry)),
                );
            } else if path.join(&*name).exists() {
                next.push(path.join(&*name));
            }
        }
        reached = next;
    }
    reached.sort();
    reached.dedup();
    Ok(reached.into_iter().filter(|path| !path.is_dir()).collect())
}

/// Lists the names in a directory; none if it is not one.
fn entries(path: &Path) -> Result<Vec<String>, CopyError> {
    let directory = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory).map_err(|error| unreadable(directory, error))?;
    entries
        .map(|entry| {
            let name = entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
            name.map_err(|error| unreadable(directory, error))
        })
        .collect()
}

/// Lists a directory and all below it, without links, which could lead in a circle.
fn below(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), CopyError> {
    found.push(path.to_owned());
    for entry in entries(path)? {
        let inner = path.join(entry);
        if inner.is_dir() && !inner.is_symlink() {
            below(&inner, found)?;
        }
    }
    Ok(())
}

/// Returns true if a name fits a pattern of `*`, `?` and `[a-z]` (`[!a-z]` for any other).
pub(crate) fn is_like(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = name.get(place) {
        let fits = match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
                continue;
            }
            Some('?') => Some(at + 1),
            Some('[') => class(&pattern, at, *c),
            Some(p) if p == c => Some(at + 1),
            _ => None,
        };
        match (fits, star) {
            (Some(next), _) => {
                at = next;
                place += 1;
            }
            (None, Some((star_at, tried))) => {
                star = Some((star_at, tried + 1));
                at = star_at + 1;
                place = tried + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

/// Returns the place behind the character class at `at`, if `c` belongs to it. A bracket that is not closed stands
/// for itself.
fn class(pattern: &[char], at: usize, c: char) -> Option<usize> {
    let end = pattern.iter().enumerate().skip(at + 2).find(|(_, p)| **p == ']').map(|(end, _)| end);
    let Some(end) = end else { return (c == '[').then_some(at + 1) };
    let inner = pattern.get(at + 1..end).unwrap_or_default();
    let (is_other, inner) = match inner.split_first() {
        Some(('!' | '^', rest)) if !rest.is_empty() => (true, rest),
        _ => (false, inner),
    };
    let mut rest = inner;
    let mut is_in = false;
    while let Some((first, tail)) = rest.split_first() {
        if let ['-', last, tail @ ..] = tail {
            is_in |= (*first..=*last).contains(&c);
            rest = tail;
        } else {
            is_in |= *first == c;
            rest = tail;
        }
    }
    (is_in != is_other).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("a?c*", "abcd", true),
            ("part-[0-4]*.parquet", "part-3x.parquet", true),
            ("part-[!0-4]*.parquet", "part-3x.parquet", false),
            ("[ab]", "b", true),
            ("[a", "[a", true),
            ("x*y*z", "xaybz", true),
            ("Größe*", "Größe1", true),
        ] {
            assert_eq!(is_like(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_path_means_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["b.csv", "a.csv", ".hidden.csv", "deep/c.csv", "deep/er/d.csv", "_notes", "literal[1].csv"]
        {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x\n1\n").unwrap();
        }
        let root = folder.path().display().to_string();
        let found = |pattern: &str| -> Vec<String> {
            let files = files_of(&format!("{root}/{pattern}")).unwrap();
            files.iter().map(|file| file.to_string().replace(&format!("{root}/"), "")).collect()
        };
        assert_eq!(found("*.csv"), ["a.csv", "b.csv", "literal[1].csv"]);
        assert_eq!(found("deep/*.csv"), ["deep/c.csv"]);
        assert_eq!(found("**/*.csv"), ["a.csv", "b.csv", "deep/c.csv", "deep/er/d.csv", "literal[1].csv"]);
        assert_eq!(found(""), ["a.csv", "b.csv", "deep/c.csv", "deep/er/d.csv", "literal[1].csv"]);
        assert_eq!(found("literal[1].csv"), ["literal[1].csv"]);
        assert_eq!(found("missing.csv"), ["missing.csv"]);
        assert!(
            files_of(&format!("{root}/*.parquet"))
                .unwrap_err()
                .to_string()
                .contains("no file has such a name")
        );
        fs::create_dir(folder.path().join("day=1")).unwrap();
        assert!(files_of(&root).unwrap_err().to_string().contains("partitioned"));
    }
}
