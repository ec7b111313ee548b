//! The objects that a URL means: one, those of a pattern, or those of a folder.

use formats::Location;
use formats::objects::{ListedObject, ObjectLocation, is_web_url, list, shown_url};

use crate::error::CopyError;
use crate::file_set::{is_like, is_pattern};
use crate::lake;

/// Lists the objects of a URL, in the order of their names. A web server has no patterns and no folders: its URL is one
/// file.
pub(crate) fn objects_of(url: &str) -> Result<Vec<Location>, CopyError> {
    if is_web_url(url) {
        return Ok(vec![Location::source(url)]);
    }
    let (root, key) = parts(url);
    if is_pattern(key) {
        return of_pattern(url, root, key);
    }
    if key.is_empty() || key.ends_with('/') {
        return named(of_folder(url)?, url, "the folder has no objects");
    }
    let object = ObjectLocation::new(url);
    if object.exists().map_err(|error| CopyError::endpoint(url, error))? {
        return Ok(vec![Location::Object(object)]);
    }
    // A folder without the slash; if that is missing too, opening the object says so.
    match of_folder(&format!("{url}/"))? {
        found if found.is_empty() => Ok(vec![Location::Object(object)]),
        found => named(found, url, ""),
    }
}

fn named(mut found: Vec<ListedObject>, url: &str, nothing: &str) -> Result<Vec<Location>, CopyError> {
    if found.is_empty() {
        return Err(CopyError::Usage(format!("{}: {nothing}", shown_url(url))));
    }
    found.sort_by(|one, other| one.url.cmp(&other.url));
    Ok(found.iter().map(|object| Location::Object(ObjectLocation::listed(object))).collect())
}

/// Splits a URL into scheme and bucket with a slash, and the key.
fn parts(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let slash = url.get(start..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| start + at + 1);
    url.split_at(slash)
}

fn listed(folder: &str) -> Result<Vec<ListedObject>, CopyError> {
    list(folder, usize::MAX).map_err(|error| CopyError::endpoint(shown_url(folder), error))
}

/// Lists the objects of a folder and those below it. Skips names with a dot or an underscore in front, which unfinished
/// files and notes have.
fn of_folder(folder: &str) -> Result<Vec<ListedObject>, CopyError> {
    let mut found = Vec::new();
    let all = listed(folder)?;
    lake::refuse_objects(all.iter().map(|object| object.url.as_str()))?;
    if !all.is_empty() {
        lake::refuse_object_folder(folder)?;
    }
    for object in all {
        let Some(inside) = object.url.strip_prefix(folder) else { continue };
        let mut names = inside.split('/');
        if names.clone().any(|name| name.starts_with(['.', '_'])) || inside.is_empty() {
            continue;
        }
        names.next_back();
        if names.any(|name| name.contains('=')) {
            return Err(CopyError::Usage(format!(
                "{folder}: the folder is partitioned, and its files lack the column that its name has; copy the files of one value by a pattern"
            )));
        }
        found.push(object);
    }
    Ok(found)
}

/// Lists the objects that fit a pattern: `*`, `?` and `[a-z]` within a name, `**` for any number of folders.
fn of_pattern(url: &str, root: &str, key: &str) -> Result<Vec<Location>, CopyError> {
    let pattern: Vec<&str> = key.split('/').collect();
    let known = pattern.iter().take_while(|name| !is_pattern(name)).count();
    let folder: String = pattern.iter().take(known).map(|name| format!("{name}/")).collect();
    let root = if root.ends_with('/') { root.to_owned() } else { format!("{root}/") };
    let folder = format!("{root}{folder}");
    let wanted = pattern.get(known..).unwrap_or_default();
    let all = listed(&folder)?;
    lake::refuse_objects(all.iter().map(|object| object.url.as_str()))?;
    let fitting: Vec<ListedObject> = all
        .into_iter()
        .filter(|object| {
            let names: Vec<&str> = object.url.strip_prefix(&folder).unwrap_or_default().split('/').collect();
            fits(wanted, &names)
        })
        .collect();
    let literal = ObjectLocation::new(url);
    if fitting.is_empty() && literal.exists().unwrap_or(false) {
        return Ok(vec![Location::Object(literal)]);
    }
    named(fitting, url, "no object has such a name")
}

/// Returns true if the parts of a key fit those of a pattern.
fn fits(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            fits(rest, names) || names.split_first().is_some_and(|(_, below)| fits(pattern, below))
        }
        (Some((wanted, rest)), Some((name, below))) => {
            is_like(wanted, name) && (!name.starts_with('.') || wanted.starts_with('.')) && fits(rest, below)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fit_patterns() {
        for (pattern, key, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "d/a.csv", false),
            ("d/*.csv", "d/a.csv", true),
            ("**/*.csv", "a.csv", true),
            ("**/*.csv", "d/e/a.csv", true),
            ("d/**/x/*.csv", "d/x/a.csv", true),
            ("d/**/x/*.csv", "d/y/x/a.csv", true),
            ("d/**/x/*.csv", "d/y/a.csv", false),
            ("day=*/part-[0-4].parquet", "day=3/part-4.parquet", true),
            ("*", ".hidden", false),
        ] {
            let (pattern, key): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), key.split('/').collect());
            assert_eq!(fits(&pattern, &key), expected, "{pattern:?} {key:?}");
        }
    }

    #[test]
    fn urls_are_cut_behind_the_bucket() {
        assert_eq!(parts("s3://b/d/*.csv"), ("s3://b/", "d/*.csv"));
        assert_eq!(parts("s3://b"), ("s3://b", ""));
        assert_eq!(parts("abfss://c@a.host/k"), ("abfss://c@a.host/", "k"));
    }
}
