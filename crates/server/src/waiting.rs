//! Waits that hold up no task of the runtime.

/// Runs something that may wait (for a lock, for the disk) without holding up other tasks of the runtime.
pub(crate) fn waiting<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}
