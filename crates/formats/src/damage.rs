//! Keeps a damaged file from ending the program.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::{FormatError, Reason};

/// Runs a library's decoder and turns its panics into [`Reason::Damaged`]. The Arrow and Parquet readers check most
/// of what a file claims, but panic at some claims, such as lengths that contradict each other. After an error, the
/// reader that `decode` used must not be used again.
pub(crate) fn contained<T>(decode: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    silence();
    DEPTH.set(DEPTH.get() + 1);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DEPTH.set(DEPTH.get().saturating_sub(1));
    decoded.unwrap_or_else(|panic| {
        let problem = message(panic.as_ref()).unwrap_or("its parts contradict each other").to_owned();
        Err(FormatError::new(Reason::Damaged { problem }))
    })
}

thread_local! {
    /// Decoders within each other on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Keeps the words of a panic that becomes an error from standard error. Other panics are printed as before.
fn silence() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                before(panic);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}
