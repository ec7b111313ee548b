//! The items that a loop runs over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model::{ForEach, Plain};
use crate::run::context::Items;
use crate::scalar::Scalar;
use crate::scope::{Scope, Secrets};
use crate::server::Server;
use crate::task_error::TaskError;

/// Rounds of a loop at most.
const ROUNDS_MAX: usize = 1_000_000;

/// Returns the rounds of a loop, in order; files by their names.
pub(crate) fn items(each: &ForEach, scope: &Scope, servers: &Server<'_>) -> Result<Items, TaskError> {
    let mut found: Items = if let Some(pattern) = &each.files {
        let pattern = scope.text(pattern, Secrets::Resolve)?;
        files(scope.folder(), &pattern)?.iter().map(|path| of_file(path)).collect()
    } else if let (Some(query), Some(connection)) = (&each.query, &each.connection) {
        let query = scope.text(query, Secrets::Resolve)?;
        let mut client = servers.connect(connection, scope, None)?;
        let tables = client.query_values(&query).map_err(TaskError::of_client)?;
        let table = tables.into_iter().next().unwrap_or_default();
        table
            .rows
            .iter()
            .map(|row| {
                let text = |value: &tds::Value| (!value.is_null()).then(|| value.to_string());
                let mut values: BTreeMap<String, Option<String>> =
                    table.columns.iter().cloned().zip(row.iter().map(text)).collect();
                values.insert(String::new(), row.first().and_then(text));
                values
            })
            .collect()
    } else {
        let values = each.values.as_deref().unwrap_or_default();
        values
            .iter()
            .map(|plain| {
                let text = match plain {
                    Plain::Text(text) => scope.text(text, Secrets::Resolve)?,
                    other => Scalar::of_plain(other).to_string(),
                };
                Ok(BTreeMap::from([(String::new(), Some(text))]))
            })
            .collect::<Result<Items, TaskError>>()?
    };
    if found.len() > ROUNDS_MAX {
        return Err(TaskError::new(format!("{} rounds are too many for a loop", found.len())));
    }
    for (index, item) in found.iter_mut().enumerate() {
        item.entry("index".to_owned()).or_insert_with(|| Some(index.to_string()));
    }
    Ok(found)
}

/// Makes the scope of a loop's round.
pub(crate) fn of_item(scope: &Scope, each: &ForEach, item: &BTreeMap<String, Option<String>>) -> Scope {
    let values = item
        .iter()
        .map(|(name, text)| (name.clone(), Scalar { kind: crate::model::Kind::Text, text: text.clone() }))
        .collect();
    scope.of_round(each.name.as_deref().unwrap_or("each"), values)
}

/// Files that a pattern finds, relative to a folder, by name.
pub(crate) fn files(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, TaskError> {
    let whole = folder.join(pattern);
    let literal = glob::Pattern::escape(&folder.display().to_string());
    let pattern = if Path::new(pattern).is_absolute() {
        pattern.to_owned()
    } else {
        format!(
            "{}{}{pattern}",
            literal.trim_end_matches(std::path::MAIN_SEPARATOR),
            std::path::MAIN_SEPARATOR
        )
    };
    let paths = glob::glob(&pattern)
        .map_err(|error| TaskError::new(format!("{} is no pattern of files: {error}", whole.display())))?;
    let mut found = Vec::new();
    for path in paths {
        let path = path.map_err(|error| TaskError::new(error.to_string()))?;
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn of_file(path: &Path) -> BTreeMap<String, Option<String>> {
    let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    BTreeMap::from([
        (String::new(), Some(absolute.display().to_string())),
        ("name".to_owned(), text(path.file_name())),
        ("stem".to_owned(), text(path.file_stem())),
        ("folder".to_owned(), absolute.parent().map(|folder| folder.display().to_string())),
    ])
}
