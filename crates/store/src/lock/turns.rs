//! The order of commits to tables that several transactions change at the same time.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Turn of the commits that change what others may change at the same time: one at a time.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    free: Condvar,
}

/// The right to be that commit, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Turns>);

impl Turn {
    pub fn wait(turns: &Arc<Turns>) -> Turn {
        let mut taken = turns.taken.lock();
        while *taken {
            turns.free.wait(&mut taken);
        }
        *taken = true;
        drop(taken);
        Turn(Arc::clone(turns))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.free.notify_one();
    }
}
