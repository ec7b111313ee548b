//! `##` tables and procedures: everybody's while the session that has made them lasts.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use crate::catalogue::store_key;
use crate::session::Instance;
use crate::storage::Transaction;

/// What a session has made. Dropped with it, once nobody uses it any more.
pub(super) struct GlobalObjects {
    instance: Arc<Instance>,
    /// Names, and the ids of the tables of the store.
    made: Vec<(String, store::TableId)>,
}

impl GlobalObjects {
    pub fn new(instance: Arc<Instance>) -> GlobalObjects {
        GlobalObjects { instance, made: Vec::new() }
    }

    /// Notes a table or procedure.
    pub fn add(&mut self, name: &str, id: store::TableId) {
        self.made.push((name.to_string(), id));
    }

    /// Drops all of them: at once those that nobody uses, the others from a thread of its own that waits.
    pub fn clear(&mut self) {
        let mut used = Vec::new();
        for (name, id) in self.made.drain(..) {
            if drop_object(&self.instance, &name, id, Duration::ZERO).is_err() {
                used.push((name, id));
            }
        }
        if used.is_empty() {
            return;
        }
        let instance = Arc::clone(&self.instance);
        let wait = move || {
            for (name, id) in used {
                // Who has it locks it until his transaction ends.
                let _ = drop_object(&instance, &name, id, Duration::MAX);
            }
        };
        // Without a thread it stays until the server starts anew.
        let _ = std::thread::Builder::new().name("drop-global".to_string()).spawn(wait);
    }
}

impl Drop for GlobalObjects {
    fn drop(&mut self) {
        self.clear();
    }
}

fn drop_object(
    instance: &Instance,
    name: &str,
    id: store::TableId,
    timeout: Duration,
) -> Result<(), StoreError> {
    let mut transaction: Transaction = instance.store().begin();
    transaction.set_lock_timeout(timeout);
    // It may be gone, and another of its name may be somebody else's.
    match transaction.table(&store_key("tempdb", "dbo", name)).filter(|info| info.id == id) {
        Some(info) => transaction.drop_table(info.id)?,
        None => return Ok(()),
    }
    transaction.commit()
}
