//! Chooses how rows reach the table, with reasons.

use arrow::datatypes::Schema;

use super::{
    error::StageError,
    heap_first,
    merge::{Merge, MergeKind},
    mode::{Mode, Strategy},
    obstacle::{Obstacle, ObstacleKind},
    shape::TableShape,
    staged::{Stage, StageKind},
};
use crate::{
    catalogue_row::rows,
    client::Client,
    describe::{Storage, TableDescription},
    error::Error,
    options::LoadOptions,
    plan::Choice,
};

/// The plan by which a load's rows reach a table.
#[derive(Debug, Clone)]
pub struct StagePlan {
    /// The effect on existing rows.
    pub mode: Mode,
    /// The strategy; [`Strategy::Auto`] only for modes by key, for which there is only one.
    pub strategy: Strategy,
    /// The route that follows from the mode and the strategy.
    pub route: Route,
    /// Every choice with its reason, to be printed with those of the [load plan](crate::LoadPlan).
    pub choices: Vec<Choice>,
}

/// Returns the mode with the columns of the table's primary key, if it goes by a key and none is given.
fn keyed(mode: Mode, target: &TableDescription) -> Result<Mode, StageError> {
    if mode.keys().is_none_or(|keys| !keys.is_empty()) {
        return Ok(mode);
    }
    let primary = target.indexes.iter().find(|index| index.is_primary_key);
    let Some(primary) = primary else {
        return Err(StageError::KeyMissing { mode: mode.word(), table: target.name.to_string() });
    };
    let keys = primary.key.iter().map(|(name, _)| name.clone()).collect();
    Ok(match mode {
        Mode::Upsert { .. } => Mode::Upsert { keys },
        Mode::InsertNew { .. } => Mode::InsertNew { keys },
        Mode::ByAction { .. } => Mode::ByAction { keys },
        other => other,
    })
}

/// Counts the rows of a table if the route depends on it and the catalogue says that there are none, which is an
/// estimate.
fn recounted(
    client: &mut Client,
    target: &TableDescription,
    mode: &Mode,
    strategy: Strategy,
    options: &LoadOptions,
) -> Result<Option<TableDescription>, Error> {
    let may_stage = matches!(strategy, Strategy::HeapThenKey | Strategy::Swap)
        || (strategy == Strategy::Auto && heap_first::is_worth_it(target, mode, options));
    if *mode != Mode::Append || target.rows > 0 || target.is_view || !may_stage {
        return Ok(None);
    }
    let found = client.query_values(&format!("SELECT TOP (1) 1 AS filled FROM {}", target.name))?;
    if found.first().is_none_or(|table| table.rows.is_empty()) {
        return Ok(None);
    }
    let found = client.query_values(&format!("SELECT COUNT_BIG(*) AS row_count FROM {}", target.name))?;
    let rows = found.iter().flat_map(rows).find_map(|row| row.integer("row_count"));
    let rows = rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(1);
    Ok(Some(TableDescription { rows, ..target.clone() }))
}

/// The route of the rows.
#[derive(Debug, Clone)]
pub enum Route {
    /// Into the table.
    Direct,
    /// Into the table, after `TRUNCATE TABLE`.
    TruncateFirst,
    /// Into a stage.
    Stage(StageKind),
}

impl StagePlan {
    /// Chooses by mode, strategy and table, and reads the table's definition as needed. An impossible combination is an error
    /// with the reason.
    pub fn choose(
        client: &mut Client,
        target: &TableDescription,
        schema: &Schema,
        mode: Mode,
        strategy: Strategy,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let mode = keyed(mode, target)?;
        let counted = recounted(client, target, &mode, strategy, options)?;
        let target = counted.as_ref().unwrap_or(target);
        let is_candidate = strategy == Strategy::Auto && heap_first::is_worth_it(target, &mode, options);
        let heap = match is_candidate {
            true => Some(heap_first::shape(client, &target.name)?),
            false => None,
        };
        if let Some(Ok(shape)) = heap {
            let shape = Box::new(shape);
            let kind = StageKind::Swap {
                shape,
                keys_first: false,
                replaces: false,
                fills_partitions: false,
                inserts_otherwise: true,
            };
            let (strategy, route) = (Strategy::HeapThenKey, Route::Stage(kind));
            let choices = choices(target, &mode, strategy, heap_first::reason(target, options), &route);
            return Ok(Self { mode, strategy, route, choices });
        }
        let (strategy, mut reason) = decide(target, &mode, strategy)?;
        let refusal = heap.and_then(Result::err);
        if let Some(refusal) = &refusal {
            reason = refusal;
        }
        let route = match (&mode, strategy) {
            (Mode::Append, Strategy::Direct) => Route::Direct,
            (Mode::Truncate, _) => Route::TruncateFirst,
            (Mode::Upsert { keys } | Mode::InsertNew { keys } | Mode::ByAction { keys }, _) => {
                refuse_setting(&mode, options.fire_triggers, "fire triggers", TRIGGERS_FIRE)?;
                let kind = match mode {
                    Mode::Upsert { .. } => MergeKind::Upsert,
                    Mode::ByAction { .. } => MergeKind::ByAction,
                    _ => MergeKind::InsertNew,
                };
                Route::Stage(StageKind::Merge(Box::new(Merge::new(target, schema, keys, kind, options)?)))
            }
            _ => {
                refuse_setting(&mode, options.fire_triggers, "fire triggers", TRIGGERS_STAY_SILENT)?;
                let refused = |obstacles| {
                    let table = target.name.to_string();
                    Err(StageError::Obstacles { table, obstacles }.into())
                };
                if target.is_view {
                    return refused(vec![Obstacle::new(ObstacleKind::View, "")]);
                }
                let shape = TableShape::read(client, &target.name)?;
                let obstacles = shape.obstacles_to_any();
                if !obstacles.is_empty() {
                    return refused(obstacles);
                }
                Route::Stage(StageKind::Swap {
                    shape: Box::new(shape),
                    keys_first: strategy == Strategy::Swap,
                    replaces: mode == Mode::Replace,
                    fills_partitions: mode == Mode::Append && target.rows > 0,
                    inserts_otherwise: false,
                })
            }
        };
        let choices = choices(target, &mode, strategy, reason, &route);
        Ok(Self { mode, strategy, route, choices })
    }

    /// Returns the stage of a load, created or not; `None` if the rows go directly into the table.
    pub fn stage(&self, target: &TableDescription, load_id: &str) -> Option<Stage> {
        match &self.route {
            Route::Direct | Route::TruncateFirst => None,
            Route::Stage(kind) => Some(Stage::new(&target.name, self, kind.clone(), load_id)),
        }
    }
}

const TRIGGERS_FIRE: &str = "the UPDATE and the INSERT of the table fire its triggers in any case";
const TRIGGERS_STAY_SILENT: &str = "rows that come with a stage fire no triggers";

fn refuse_setting(
    mode: &Mode,
    is_set: bool,
    setting: &'static str,
    reason: &'static str,
) -> Result<(), StageError> {
    match is_set {
        true => Err(StageError::Combination { mode: mode.word(), setting, reason }),
        false => Ok(()),
    }
}

/// Decides the strategy, with the reason.
fn decide(
    target: &TableDescription,
    mode: &Mode,
    asked: Strategy,
) -> Result<(Strategy, &'static str), StageError> {
    let refuse = |reason| Err(StageError::Combination { mode: mode.word(), setting: asked.word(), reason });
    let drops_duplicates = target.indexes.iter().any(|index| index.ignores_duplicate_keys);
    let has_indexes = target.storage != Storage::Heap || target.secondary_indexes().next().is_some();
    match (mode, asked) {
        (Mode::Upsert { .. } | Mode::InsertNew { .. } | Mode::ByAction { .. }, Strategy::Auto) => {
            Ok((Strategy::Auto, "the rows wait in a stage until the table takes them by key"))
        }
        (Mode::Upsert { .. } | Mode::InsertNew { .. } | Mode::ByAction { .. }, _) => {
            refuse("its rows always wait in a stage, from which the table takes them by key")
        }
        (Mode::Append | Mode::Truncate, Strategy::Auto) => {
            Ok((Strategy::Direct, "rows go into the table itself"))
        }
        (Mode::Append | Mode::Truncate, Strategy::Direct) => Ok((Strategy::Direct, "as asked")),
        (Mode::Truncate, Strategy::HeapThenKey | Strategy::Swap) => {
            refuse("a stage takes the place of the old rows in one transaction, which is mode replace")
        }
        (Mode::Replace, Strategy::Direct) => {
            refuse("only a stage brings all rows at once; mode truncate loads directly")
        }
        (_, Strategy::HeapThenKey) if drops_duplicates => refuse(
            "an index drops duplicate keys (IGNORE_DUP_KEY), which it does only if it is there before the rows",
        ),
        (Mode::Append, Strategy::HeapThenKey | Strategy::Swap)
            if target.rows > 0 && !has_empty_partition(target) =>
        {
            Err(StageError::Filled {
                table: target.name.to_string(),
                rows: target.rows,
                strategy: asked.word(),
            })
        }
        (Mode::Append | Mode::Replace, Strategy::HeapThenKey | Strategy::Swap) => Ok((asked, "as asked")),
        (Mode::Replace, Strategy::Auto) if drops_duplicates => {
            Ok((Strategy::Swap, "an index drops duplicate keys, so it has to be there before the rows"))
        }
        (Mode::Replace, Strategy::Auto) if has_indexes => {
            Ok((Strategy::HeapThenKey, "indexes are built once, over all rows, instead of row by row"))
        }
        (Mode::Replace, Strategy::Auto) => Ok((Strategy::Swap, "the table has no indexes to build")),
    }
}

/// Returns true if a stage's rows may go into empty partitions of a table that has rows in others. A table with an
/// identity is excluded: the stage counts identities from the beginning and would repeat existing ones.
fn has_empty_partition(target: &TableDescription) -> bool {
    target.partitioning.as_ref().is_some_and(|partitioning| partitioning.rows.contains(&0))
        && !target.columns.iter().any(|column| column.is_identity)
}

fn choices(
    target: &TableDescription,
    mode: &Mode,
    strategy: Strategy,
    reason: &str,
    route: &Route,
) -> Vec<Choice> {
    let effect = match mode {
        Mode::Append => "existing rows stay",
        Mode::Truncate => "the table is emptied first; readers see it empty, then filling up",
        Mode::Replace => "readers see the old rows or the new ones",
        Mode::Upsert { .. } => "rows with a known key are updated if they differ, the others are inserted",
        Mode::InsertNew { .. } => "rows with a known key are skipped, the others are inserted",
        Mode::ByAction { .. } => "each row inserts, updates, upserts or deletes, all in one transaction",
    };
    let mut choices = vec![choice("mode", mode.word(), effect)];
    match route {
        Route::Direct | Route::TruncateFirst => choices.push(choice("strategy", strategy.word(), reason)),
        Route::Stage(StageKind::Swap { shape, keys_first, fills_partitions, .. }) => {
            choices.push(choice("strategy", strategy.word(), reason));
            let indexes = shape.indexes.len();
            let built = match (indexes, keys_first) {
                (0, _) => "none to build".to_owned(),
                (count, true) => format!("{count} of them, before the rows"),
                (count, false) => format!("{count} of them, after the rows"),
            };
            choices.push(choice("indexes", "of the stage", &built));
            let constraints = shape.checks.len() + shape.foreign_keys.len();
            if constraints > 0 {
                let reason =
                    "checked on all rows before they are published, as far as the table's own are trusted";
                choices.push(choice("constraints", "of the stage", reason));
            }
            let lost = shape.obstacles_to_rename();
            let reason = match lost.is_empty() {
                true => {
                    "or a rename, if the server refuses to switch; the report says which it was".to_owned()
                }
                false => format!("no rename, which would lose: {}", super::error::list(&lost)),
            };
            let reason = match (shape.division(), fills_partitions) {
                (None, _) => reason,
                (Some(_), false) => format!("a partition after the other; {reason}"),
                (Some(_), true) => {
                    "a partition after the other, each of which has to be empty in the table".to_owned()
                }
            };
            choices.push(choice("publishing", "SWITCH", &reason));
        }
        Route::Stage(StageKind::Merge(merge)) => {
            choices.push(choice("strategy", "stage", reason));
            let key = merge.keys().join(", ");
            let names: Vec<&str> = merge.keys().iter().map(String::as_str).collect();
            let reason = match has_unique_index(target, &names) {
                true => "a unique index of the table has it",
                false => "no unique index of the table has it: every row of the table is read and locked",
            };
            choices.push(choice("key", &key, reason));
            let absent: Vec<&str> = target
                .columns
                .iter()
                .filter(|column| !column.is_computed && !column.is_rowversion && !column.is_identity)
                .map(|column| column.column.name.as_str())
                .filter(|name| !merge.has_column(name))
                .collect();
            if !absent.is_empty() {
                let reason = "not in the source; kept in existing rows, filled by the server in new ones";
                choices.push(choice("not loaded", &absent.join(", "), reason));
            }
        }
    }
    choices
}

fn choice(setting: &'static str, value: &str, reason: &str) -> Choice {
    Choice { setting, value: value.to_owned(), reason: reason.to_owned() }
}

fn has_unique_index(target: &TableDescription, keys: &[&str]) -> bool {
    target.indexes.iter().filter(|index| index.is_unique && !index.is_disabled).any(|index| {
        index.key.len() == keys.len()
            && index.key.iter().all(|(name, _)| keys.iter().any(|key| key.eq_ignore_ascii_case(name)))
    })
}
