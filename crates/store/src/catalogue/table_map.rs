//! Tables by number, by name, and by the names that they refer to. Copies share unchanged parts, so that the cost of savepoints
//! and commits does not depend on the number of tables.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::Table;

/// Function of the caller that finds the names of tables in a table's text.
#[derive(Clone, Copy)]
pub struct References {
    /// Function that returns the names in a table's text.
    pub read: fn(text: &str) -> Vec<String>,
}

impl std::fmt::Debug for References {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("References")
    }
}

/// Values by number in chunks of `1 << SHIFT` numbers, which copies share.
#[derive(Debug, Clone)]
pub(crate) struct Chunked<V, const SHIFT: u32> {
    chunks: BTreeMap<u64, Arc<BTreeMap<u64, V>>>,
}

impl<V, const SHIFT: u32> Default for Chunked<V, SHIFT> {
    fn default() -> Self {
        Self { chunks: BTreeMap::new() }
    }
}

impl<V: Clone, const SHIFT: u32> Chunked<V, SHIFT> {
    pub fn get(&self, key: u64) -> Option<&V> {
        self.chunks.get(&(key >> SHIFT))?.get(&key)
    }

    pub fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let chunk = self.chunks.get_mut(&(key >> SHIFT)).filter(|chunk| chunk.contains_key(&key))?;
        Arc::make_mut(chunk).get_mut(&key)
    }

    pub fn insert(&mut self, key: u64, value: V) -> Option<V> {
        Arc::make_mut(self.chunks.entry(key >> SHIFT).or_default()).insert(key, value)
    }

    pub fn remove(&mut self, key: u64) -> Option<V> {
        let number = key >> SHIFT;
        let chunk = self.chunks.get_mut(&number).filter(|chunk| chunk.contains_key(&key))?;
        let own = Arc::make_mut(chunk);
        let removed = own.remove(&key);
        if own.is_empty() {
            self.chunks.remove(&number);
        }
        removed
    }

    /// Adds a value behind the last one.
    pub fn push(&mut self, value: V) {
        let last = self.chunks.last_key_value().and_then(|(_, chunk)| chunk.last_key_value());
        let next = last.map_or(0, |(key, _)| key + 1);
        self.insert(next, value);
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Lists the entries in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.chunks.values().flat_map(|chunk| chunk.iter().map(|(key, value)| (*key, value)))
    }

    /// Lists numbers from `first` to `last`, which are in one chunk.
    fn keys_between(&self, first: u64, last: u64) -> impl Iterator<Item = u64> {
        let chunk = self.chunks.get(&(first >> SHIFT));
        chunk.into_iter().flat_map(move |chunk| chunk.range(first..=last).map(|(key, _)| *key))
    }
}

/// Numbers of tables by the hash of a name, which is the upper half of each number.
#[derive(Debug, Clone, Default)]
struct Names(Chunked<(), 58>);

impl Names {
    fn number(name: &str, object: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hasher.finish() & !u64::from(u32::MAX) | u64::from(object)
    }

    fn add(&mut self, name: &str, object: u32) {
        self.0.insert(Self::number(name, object), ());
    }

    fn remove(&mut self, name: &str, object: u32) {
        self.0.remove(Self::number(name, object));
    }

    /// Lists tables that may have the name.
    fn of(&self, name: &str) -> impl Iterator<Item = u32> {
        self.0.keys_between(Self::number(name, 0), Self::number(name, u32::MAX)).map(|number| number as u32)
    }
}

/// Tables, and the numbers of tables that are gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableMap {
    tables: Chunked<Option<Arc<Table>>, 6>,
    names: Names,
    referring: Names,
}

impl TableMap {
    /// Returns true if a table has, or once had, this number.
    pub fn contains(&self, object: u32) -> bool {
        self.tables.get(u64::from(object)).is_some()
    }

    /// Returns the table of a number; `Some(None)`: it is gone.
    pub fn entry(&self, object: u32) -> Option<Option<&Arc<Table>>> {
        self.tables.get(u64::from(object)).map(Option::as_ref)
    }

    /// Returns the table of a number.
    pub fn get(&self, object: u32) -> Option<&Arc<Table>> {
        self.tables.get(u64::from(object))?.as_ref()
    }

    /// Returns the table of a number, for changes of anything but its name and its text.
    pub fn get_mut(&mut self, object: u32) -> Option<&mut Table> {
        self.tables.get_mut(u64::from(object))?.as_mut().map(Arc::make_mut)
    }

    /// Sets the table of a number, or None for one that is gone. Returns the entry before.
    pub fn put(&mut self, object: u32, table: Option<Arc<Table>>) -> Option<Arc<Table>> {
        let old = self.tables.insert(u64::from(object), table.clone()).flatten();
        let same = |old: &Table, new: &Table| old.name == new.name && old.refers_to == new.refers_to;
        if let (Some(old), Some(new)) = (&old, &table)
            && same(old, new)
        {
            return Some(Arc::clone(old));
        }
        self.forget_names(old.as_deref());
        if let Some(table) = table {
            self.names.add(&table.name, object);
            table.refers_to.iter().for_each(|name| self.referring.add(name, object));
        }
        old
    }

    /// Forgets a table.
    pub fn remove(&mut self, object: u32) {
        let old = self.tables.remove(u64::from(object)).flatten();
        self.forget_names(old.as_deref());
    }

    fn forget_names(&mut self, old: Option<&Table>) {
        let Some(old) = old else { return };
        self.names.remove(&old.name, old.object);
        old.refers_to.iter().for_each(|name| self.referring.remove(name, old.object));
    }

    /// Returns the table of a name.
    pub fn named(&self, name: &str) -> Option<&Arc<Table>> {
        self.names.of(name).filter_map(|object| self.get(object)).find(|table| &*table.name == name)
    }

    /// Lists the tables whose text refers to a name.
    pub fn referring(&self, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        let tables = self.referring.of(name).filter_map(|object| self.get(object));
        tables.filter(move |table| table.refers_to.iter().any(|own| **own == *name))
    }

    /// Lists the entries in the order of the numbers; None: a table that is gone.
    pub fn entries(&self) -> impl Iterator<Item = (u32, Option<&Arc<Table>>)> {
        self.tables.iter().map(|(object, table)| (object as u32, table.as_ref()))
    }

    /// Lists the tables in the order of their numbers.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().filter_map(|(_, table)| table.as_ref())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::catalogue::catalogue_layout;
    use crate::disk::file_layout::PRIMARY;
    use crate::page::PageId;
    use crate::page::unit::Unit;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn table(object: u32, name: &str, text: &str) -> Arc<Table> {
        let layout = catalogue_layout().unwrap();
        let unit = |id| Ok(Unit { id, group: PRIMARY, first_iam: PageId::NONE, extents: Arc::default() });
        Arc::new(Table::new(object, name, (text, Some(References { read: words })), layout, unit).unwrap())
    }

    fn referring(map: &TableMap, name: &str) -> Vec<u32> {
        let mut objects: Vec<u32> = map.referring(name).map(|table| table.object).collect();
        objects.sort_unstable();
        objects
    }

    #[test]
    fn tables_are_found_by_number_name_and_reference_as_each_copy_has_them() {
        let mut map = TableMap::default();
        for object in 10..1010 {
            let text = if object % 2 == 0 { "hub t11" } else { "" };
            assert!(map.put(object, Some(table(object, &format!("t{object}"), text))).is_none());
        }
        let before = map.clone();
        assert_eq!(map.named("t500").map(|table| table.object), Some(500));
        assert!(map.named("hub").is_none());
        assert_eq!(referring(&map, "hub").len(), 500);

        map.put(500, Some(table(500, "renamed", "t11 other")));
        map.put(502, None);
        map.remove(504);
        assert!(map.named("t500").is_none() && map.named("t502").is_none() && map.named("t504").is_none());
        assert_eq!(map.named("renamed").map(|table| table.object), Some(500));
        assert_eq!((referring(&map, "hub").len(), referring(&map, "t11").len()), (497, 498));
        assert_eq!(referring(&map, "other"), [500]);
        assert_eq!((map.contains(502), map.contains(504)), (true, false));
        assert!(matches!(map.entry(502), Some(None)) && map.entry(504).is_none());
        assert_eq!((map.tables().count(), map.entries().count()), (998, 999));

        map.get_mut(11).unwrap().rows = 7;
        assert_eq!(map.get(11).map(|table| table.rows), Some(7));
        assert_eq!(before.get(11).map(|table| table.rows), Some(0));
        assert_eq!(before.named("t500").map(|table| table.object), Some(500));
        assert_eq!((referring(&before, "hub").len(), before.tables().count()), (500, 1000));
    }

    #[test]
    fn a_copy_shares_all_chunks_but_the_changed_one() {
        let mut map = TableMap::default();
        (0..10_000).for_each(|object| drop(map.put(object, Some(table(object, &format!("t{object}"), "")))));
        let copy = map.clone();
        map.get_mut(77).unwrap().rows = 1;
        let pairs = map.tables.chunks.values().zip(copy.tables.chunks.values());
        assert_eq!(pairs.filter(|(one, other)| !Arc::ptr_eq(one, other)).count(), 1);
        assert!(map.names.0.chunks.len() <= 64 && map.tables.chunks.len() <= 157);
    }

    #[test]
    fn what_is_pushed_comes_in_its_order() {
        let mut list = Chunked::<u32, 2>::default();
        (0..11).for_each(|value| list.push(value));
        assert_eq!(list.iter().map(|(_, value)| *value).collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
        assert_eq!(list.chunks.len(), 3);
    }
}
