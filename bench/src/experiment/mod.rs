//! Shared parts of the experiments: target server, figures, verification and reports.

pub mod chart;
mod figures;
mod host_server;
mod interrupt;
mod log_figures;
pub mod origin;
mod page;
mod program;
mod recovery;
mod report;
mod surroundings;
mod table;
mod target;
mod verification;

use std::error::Error;

pub use chart::{Bar, Line};
pub use figures::{
    FileIo, Physical, Space, Told, Wait, answer, file_io, number, physical, space, text, waits,
};
pub use host_server::{Keeping, ServerArguments};
pub use interrupt::{Interrupt, Interrupted};
pub use log_figures::{LogMark, LogOperation, LogUse};
pub use page::{Page, STYLE, escaped, few_rows};
pub use program::{Finished, run_program};
pub use recovery::Recovery;
pub use report::{Findings, ReportArguments, turns};
pub use surroundings::Surroundings;
pub use table::{Table, or_dash};
pub use target::{Session, Target, TargetArguments};
pub use verification::{checksum_of, count_of, plant_wrong_row, verify};

/// The result of an experiment, or its error.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
