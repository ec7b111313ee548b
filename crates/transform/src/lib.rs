//! Transformations in T-SQL over rows that are copied: the engine behind [`copy::TransformEngine`].
//!
//! | Module | What it is |
//! |---|---|
//! | [`Transformer`] | makes transformations ready: reads lookups, plans the query |
//! | `row_wise_rows`, `gathered_rows` | the rows that come out, batch by batch or after all have been read |
//! | `form_change` | columns to and from the form in which the engine computes |
//! | [`wizard()`] | the command that serves the wizard |
//! | `source_columns` | the columns of the source as a query sees them, pseudo columns included |
//! | `file_functions`, `file_folder` | READ_FILE and WRITE_FILE, and the one folder that they see |

mod error;
mod file_folder;
mod file_functions;
mod form_change;
mod gathered_rows;
mod row_wise_rows;
mod source_columns;
mod transformer;
mod wizard_command;

pub use error::TransformError;
pub use transformer::Transformer;
pub use wizard_command::wizard;
