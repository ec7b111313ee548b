//! Objects of sessions in tempdb: `#` objects and table variables under names that no other session uses, and `##` objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use databases::catalogue::store_key;
use databases::instance::Instance;
use databases::storage::{StoreError, TableId, TableInfo, Transaction};
use parking_lot::Mutex;

use crate::session::work::Place;

const TEMPDB: &str = "tempdb";

/// Returns the name of a `#` object in the store. `number` is that of the session.
pub(crate) fn own_key(name: &str, number: u64) -> String {
    format!("{}.{number}", global_key(name))
}

/// Returns the name in the store of a `#` object that hides one of the same name, which a caller has made.
pub(crate) fn hiding_key(name: &str, number: u64, object_id: i32) -> String {
    format!("{}{HIDES}{object_id}", own_key(name, number))
}

/// The separator between the number of a session and that of an object in such a name.
const HIDES: char = '+';

/// Returns the name of a table variable in the store.
pub(crate) fn variable_key(name: &str, number: u64, object_id: i32) -> String {
    format!("{}.{number}.{object_id}", global_key(name))
}

/// Returns the name of a `##` object in the store.
pub(crate) fn global_key(name: &str) -> String {
    store_key(TEMPDB, "dbo", name)
}

/// Returns the place of a stored table in a session. `None`: it is another session's, or a table variable, which
/// scopes know.
pub(crate) fn place_of_key(key: &str, number: u64) -> Option<Place> {
    if !key.starts_with("tempdb.dbo.") {
        return Some(Place::Shared);
    }
    let mut parts = unescaped_parts(key).skip(3);
    match (parts.next(), parts.next()) {
        (None, _) => Some(Place::Shared),
        (Some(own), None) if own.split(HIDES).next().map(str::parse) == Some(Ok(number)) => {
            Some(Place::Temporary)
        }
        _ => None,
    }
}

/// Returns the parts of a name between its points.
fn unescaped_parts(key: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    key.split(move |letter| match letter {
        '\\' => {
            escaped = !escaped;
            false
        }
        '.' => !std::mem::take(&mut escaped),
        _ => {
            escaped = false;
            false
        }
    })
}

/// The objects that a session has made in tempdb. They are dropped with it, once nobody uses it any more.
pub(crate) struct TemporaryObjects {
    instance: Arc<Instance>,
    number: u64,
    /// True if the session has made `#` objects.
    has_own: bool,
    variables: Mutex<BTreeSet<TableId>>,
    globals: Vec<TableId>,
}

impl TemporaryObjects {
    pub fn new(instance: Arc<Instance>) -> TemporaryObjects {
        let number = instance.new_temporary_number();
        TemporaryObjects {
            instance,
            number,
            has_own: false,
            variables: Mutex::default(),
            globals: Vec::new(),
        }
    }

    /// Returns the suffix of the session's names in the store.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes that there are `#` objects.
    pub fn note_own(&mut self) {
        self.has_own = true;
    }

    /// Notes a `##` object.
    pub fn add_global(&mut self, id: TableId) {
        self.globals.push(id);
    }

    /// Notes a table variable.
    pub fn add_variable(&self, id: TableId) {
        self.variables.lock().insert(id);
    }

    /// Returns true if there are table variables.
    pub fn has_variables(&self) -> bool {
        !self.variables.lock().is_empty()
    }

    /// Removes a table variable.
    pub fn remove_variable(&self, id: TableId) {
        self.variables.lock().remove(&id);
    }

    /// Drops all objects: those that are not in use at once, the others on a thread that waits.
    pub fn clear(&mut self) {
        let mut all = std::mem::take(&mut self.globals);
        all.extend(std::mem::take(&mut *self.variables.lock()));
        if std::mem::take(&mut self.has_own) {
            all.extend(self.own_objects().into_iter().map(|info| info.id));
        }
        if all.is_empty() || drop_objects(&self.instance, &all, Duration::ZERO).is_ok() {
            return;
        }
        let instance = Arc::clone(&self.instance);
        let wait = move || {
            for id in all {
                // A user of the table locks it until the end of his transaction.
                let _ = drop_objects(&instance, &[id], Duration::MAX);
            }
        };
        // Without a thread they stay until the next start of the server.
        let _ = std::thread::Builder::new().name("drop-temporary".to_string()).spawn(wait);
    }

    fn own_objects(&self) -> Vec<TableInfo> {
        let mut infos = self.instance.store().snapshot().tables_of(TEMPDB);
        infos.retain(|info| place_of_key(&info.name, self.number) == Some(Place::Temporary));
        infos
    }
}

impl Drop for TemporaryObjects {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Drops tables of tempdb, as far as they are still there, in a transaction of its own.
pub(crate) fn drop_objects(
    instance: &Instance,
    ids: &[TableId],
    timeout: Duration,
) -> Result<(), StoreError> {
    let mut transaction: Transaction = instance.store().begin();
    transaction.set_lock_timeout(timeout);
    for id in ids {
        match transaction.open(*id).and_then(|mut table| table.drop_table()) {
            Ok(()) | Err(StoreError::NoSuchTable { .. }) => instance.forget_table(*id),
            Err(error) => return Err(error),
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_a_table_is() {
        assert_eq!(place_of_key("sales.dbo.t", 7), Some(Place::Shared));
        assert_eq!(place_of_key(&global_key("##t"), 7), Some(Place::Shared));
        assert_eq!(place_of_key(&own_key("#a.b\\", 7), 7), Some(Place::Temporary));
        assert_eq!(place_of_key(&own_key("#t", 8), 7), None);
        assert_eq!(place_of_key(&hiding_key("#t", 7, 12), 7), Some(Place::Temporary));
        assert_eq!(place_of_key(&hiding_key("#t", 12, 7), 7), None);
        assert_eq!(place_of_key(&variable_key("@t", 7, 1), 7), None);
        assert_eq!(place_of_key(&store_key("tempdb", "dbo", "#t.7"), 7), Some(Place::Shared));
    }
}
