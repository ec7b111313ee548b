//! Packages: the steps of a job in one file that people can read, compare and keep.
//!
//! | Module | What it is |
//! |---|---|
//! | [`model`], [`schema()`] | what a file may say, as types and as a JSON Schema |
//! | [`check()`] | finds the mistakes of a file, all at once, with their places |
//! | [`run()`] | runs the tasks in order and side by side |
//! | [`journal`] | what a run has done, so that a killed one goes on |
//! | [`sql_script`] | scripts of T-SQL and their batches |

mod check;
mod condition;
mod conformity;
mod copies;
mod diagnostic;
mod document;
mod dry_run;
mod dtsx;
pub mod journal;
mod loaded;
pub mod model;
mod names;
mod order;
mod run;
mod scalar;
mod schema;
mod scope;
mod secrets;
mod server;
pub mod sql_script;
mod task;
mod task_context;
mod task_error;
mod template;

pub use check::{Checked, check};
pub use copies::Copies;
pub use diagnostic::{Diagnostic, Severity};
pub use dry_run::{DryRun, PlannedTask, dry_run};
pub use dtsx::{ImportError, Imported, Project as SsisProject, import_dtsx, packages_of_project};
pub use loaded::{Loaded, On, Predecessor, Step};
pub use run::event::{Event, Observer, Unobserved};
pub use run::report::{Outcome, RunReport, TaskReport};
pub use run::{RunError, RunOptions, default_state, run};
pub use schema::schema;
