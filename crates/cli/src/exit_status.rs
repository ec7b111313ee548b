//! The exit status of a command.

use std::process::ExitCode;

/// An exit code, as a value that another program than this one can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u8);

impl ExitStatus {
    /// Done.
    pub const SUCCESS: Self = Self(0);
    /// Failed.
    pub const FAILURE: Self = Self(1);
    /// The command line is wrong.
    pub const USAGE: Self = Self(2);
    /// Done without the rows that were refused.
    pub const ROWS_REFUSED: Self = Self(3);
    /// Failed, and it is not known whether the last batch or statement took effect.
    pub const IN_DOUBT: Self = Self(4);
    /// Nothing was done: another run of the same package is under way.
    pub const UNDER_WAY: Self = Self(5);
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.0)
    }
}
