//! Unfinished loads of the same data under another name: through a link, from a folder that was moved, from a copy of the file.

use super::ledger::LoadIdentity;
use super::ledger_place::LedgerPlace;
use crate::table_name::literal;

/// Sources whose fingerprints are looked for in other loads.
const TWIN_SOURCES_MAX: usize = 100;

/// Returns the statement that finds an unfinished load of the same data under another name: a moved file, or another spelling.
pub(super) fn statement(place: &LedgerPlace, identity: &LoadIdentity) -> String {
    let LoadIdentity { load_id, target, mode, sources, is_named, .. } = identity;
    let prints = sources.iter().map(|source| source.fingerprint.as_str()).filter(|print| !print.is_empty());
    let prints: Vec<String> = prints.take(TWIN_SOURCES_MAX).map(literal).collect();
    // The other modes fill a stage, whose rows are in the table at the end alone.
    if *is_named || prints.is_empty() || !mode.starts_with("append") {
        return String::new();
    }
    format!(
        "SELECT TOP (1) @twin = l.load_id FROM {loads} l WHERE l.load_id <> {id} AND l.is_done = 0 \
         AND l.chunk_count > 0 AND l.target = {target} AND l.mode = {mode} AND EXISTS (SELECT 1 FROM {sources} s \
         WHERE s.load_id = l.load_id AND s.fingerprint IN ({prints}));\n",
        loads = place.loads(),
        sources = place.load_sources(),
        id = literal(load_id),
        target = literal(&target.to_string()),
        mode = literal(mode),
        prints = prints.join(", "),
    )
}
