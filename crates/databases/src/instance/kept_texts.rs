//! Parsed batches, kept by their text, since drivers send the same few again and again. Only syntax is kept. Names and types are
//! bound when a statement runs, so nothing here can become stale.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::Statement;
use tsql::{UndeclaredVariable, parse_batch_and_variables};

/// Texts in each of the two generations.
const TEXTS_MAX: usize = 256;
/// A longer text is parsed each time: it is a script rather than a driver's statement.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// A text as its statements.
#[derive(Debug, PartialEq)]
pub struct Parsed {
    /// Statements of the text, in order.
    pub statements: Vec<Statement>,
    /// Variables that the text uses and does not declare before.
    pub undeclared: Vec<UndeclaredVariable>,
    /// Tables of the statements, if all of them are light; decided when it is first asked.
    light_tables: OnceLock<Option<Vec<ObjectName>>>,
}

impl Parsed {
    /// Returns the tables that the statements name if they are light, as `decide` finds at the first call.
    pub fn light_tables(&self, decide: fn(&[Statement]) -> Option<Vec<ObjectName>>) -> Option<&[ObjectName]> {
        self.light_tables.get_or_init(|| decide(&self.statements)).as_deref()
    }
}

/// Text and QUOTED_IDENTIFIER.
type Key = (Box<str>, bool);

/// The latest texts of all sessions. A used text moves to the young generation; when that is full it becomes the old one, and the
/// previous old one is dropped.
#[derive(Default)]
pub struct StatementCache {
    generations: Mutex<Generations>,
}

/// A kept text's statements, and how often it was asked for.
struct Kept {
    parsed: Arc<Parsed>,
    uses: u32,
}

/// A kept text, as sys.dm_exec_cached_plans shows it.
#[derive(Debug, Clone)]
pub struct KeptText {
    /// Text of the statements.
    pub text: String,
    /// Number of times that the text was asked for.
    pub uses: u32,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Key, Kept>,
    old: HashMap<Key, Kept>,
}

impl StatementCache {
    /// Parses a text on the server of a name, which never changes, or returns its kept statements. Errors:
    /// those of the parser, which are not kept.
    pub fn parse(&self, server: &str, text: &str, quoted_identifier: bool) -> Result<Arc<Parsed>, SqlError> {
        if text.len() > TEXT_BYTES_MAX {
            return parsed(server, text, quoted_identifier);
        }
        let key: Key = (text.into(), quoted_identifier);
        if let Some(known) = self.generations.lock().find(&key) {
            return Ok(known);
        }
        let parsed = parsed(server, text, quoted_identifier)?;
        self.generations.lock().keep(key, Kept { parsed: Arc::clone(&parsed), uses: 1 });
        Ok(parsed)
    }

    /// Lists the texts, in no order.
    pub fn texts(&self) -> Vec<KeptText> {
        let generations = self.generations.lock();
        let all = generations.young.iter().chain(&generations.old);
        all.map(|((text, _), kept)| KeptText { text: text.to_string(), uses: kept.uses }).collect()
    }

    /// Forgets all texts.
    pub fn forget(&self) {
        *self.generations.lock() = Generations::default();
    }
}

fn parsed(server: &str, text: &str, quoted_identifier: bool) -> Result<Arc<Parsed>, SqlError> {
    let (statements, undeclared) = parse_batch_and_variables(server, text, quoted_identifier)?;
    Ok(Arc::new(Parsed { statements, undeclared, light_tables: OnceLock::new() }))
}

impl Generations {
    fn find(&mut self, key: &Key) -> Option<Arc<Parsed>> {
        if let Some(known) = self.young.get_mut(key) {
            known.uses = known.uses.saturating_add(1);
            return Some(Arc::clone(&known.parsed));
        }
        let (key, mut known) = self.old.remove_entry(key)?;
        known.uses = known.uses.saturating_add(1);
        let parsed = Arc::clone(&known.parsed);
        self.keep(key, known);
        Some(parsed)
    }

    fn keep(&mut self, key: Key, kept: Kept) {
        if self.young.len() >= TEXTS_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, kept);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_text_that_is_used_stays_and_others_go() {
        let cache = StatementCache::default();
        let first = cache.parse("s", "SELECT 1", true).unwrap();
        for n in 0..10 * TEXTS_MAX {
            cache.parse("s", &format!("SELECT {n} AS n"), true).unwrap();
            assert!(Arc::ptr_eq(&first, &cache.parse("s", "SELECT 1", true).unwrap()));
        }
        let generations = cache.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * TEXTS_MAX);
    }

    #[test]
    fn the_option_tells_texts_apart_and_errors_are_not_kept() {
        let cache = StatementCache::default();
        let name = cache.parse("s", "SELECT \"x\" FROM t", true).unwrap();
        let text = cache.parse("s", "SELECT \"x\" FROM t", false).unwrap();
        assert_ne!(name, text);
        assert!(cache.parse("s", "SELECT 1 +", true).is_err());
        assert!(cache.parse("s", "SELECT 1 +", true).is_err());
    }
}
