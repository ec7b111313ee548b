//! Stages: tables in which the rows of a load wait until the target takes them all at once.
//!
//! | Part | What it is |
//! |---|---|
//! | [`Mode`], [`Strategy`] | what happens to existing rows, and how new ones reach the table |
//! | [`StagePlan`] | how rows reach the table by mode, strategy and table, with reasons |
//! | [`TableShape`] | everything that makes a table; [`Script`] writes it as T-SQL |
//! | [`RowAction`] | what a row does where each row decides for itself |
//! | [`Stage`] | the table itself: created, filled, completed, published, dropped |
//! | [`Obstacle`] | what stops a stage from taking a table's place |

mod action;
mod directed;
mod error;
mod heap_first;
mod merge;
mod mode;
mod obstacle;
mod pending;
mod plan;
mod publish;
mod read;
mod script;
mod shape;
mod staged;
mod type_text;

pub use action::{ACTION_COLUMN, RowAction};
pub use error::StageError;
pub(crate) use heap_first::{SEEN_BYTES_MIN, is_worth_it as heap_first_is_worth_it};
pub use merge::{Merge, MergeKind, Merged};
pub use mode::{Mode, Strategy};
pub use obstacle::{Obstacle, ObstacleKind};
pub use pending::PendingKeys;
pub use plan::{Route, StagePlan};
pub use publish::{BeforeCommit, How, Published};
pub use script::Script;
pub use shape::{
    CheckShape, ColumnShape, Compression, ComputedShape, DataSpace, DefaultShape, Division, ForeignKeyShape,
    IdentityShape, IndexKind, IndexShape, KeyKind, Standing, TableShape,
};
pub use staged::{FoundStage, Stage, StageKind, is_stage_name};
pub(crate) use {
    script::with_suffix,
    staged::{STREAM, TASKS, digits, owner_statements},
};
