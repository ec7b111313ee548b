//! Keeps a damaged file from taking the program down.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{FormatError, Reason};

/// Runs a library's decoder. The Arrow and Parquet readers check most of what a file claims, but some claims
/// (lengths that contradict each other) they meet with a panic; a file must never do more than fail to load, so that
/// becomes [`Reason::Damaged`]. Whatever `decode` was working on must not be used again after an error.
pub(crate) fn contained<T>(decode: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        let problem = message(panic.as_ref()).unwrap_or("its parts contradict each other").to_owned();
        Err(FormatError::new(Reason::Damaged { problem }))
    })
}

fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}
