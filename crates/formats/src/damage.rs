//! Keeps a damaged file from ending the program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{FormatError, Reason};

/// Runs a library's decoder and turns its panics into [`Reason::Damaged`]. The Arrow and Parquet readers check most
/// of what a file claims, but panic at some claims, such as lengths that contradict each other. After an error, the
/// reader that `decode` used must not be used again.
pub(crate) fn contained<T>(decode: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        let problem = message(panic.as_ref()).unwrap_or("its parts contradict each other").to_owned();
        Err(FormatError::new(Reason::Damaged { problem }))
    })
}

fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}
