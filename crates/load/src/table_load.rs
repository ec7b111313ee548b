//! A load into a table, step by step: the way of its rows, the stage, the plan of each source, the rows, and the end.
//!
//! Callers go through the steps in the order of the methods, and show what they like in between. [`load_whole`](crate::load_whole)
//! goes through all of them for callers that show nothing.

use arrow::datatypes::Schema;

use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    key_order::KeyOrder,
    load_error::{LoadError, Progress},
    missing_table::name_nearest,
    options::{LoadOptions, SourceFacts},
    parallel::{
        Ledger, LedgerPlace, LoadState, ParallelOptions, ParallelReport, ParallelSource, TargetFacts,
        load_parallel,
    },
    plan::{LoadPlan, counts_exactly, estimated_bytes, target_choice},
    retry::RetryPolicy,
    stage::{How, Mode, Published, Route, Stage, StagePlan, Strategy, heap_first_is_worth_it},
    table_name::TableName,
};

/// The effect on existing rows, and the way in which new rows reach the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadWay {
    /// The effect on existing rows.
    pub mode: Mode,
    /// The way in which new rows reach the table.
    pub strategy: Strategy,
    /// The user has named one of them: plans then say what follows.
    pub is_named: bool,
}

impl Default for LoadWay {
    fn default() -> Self {
        Self { mode: Mode::Append, strategy: Strategy::Auto, is_named: false }
    }
}

/// A load into a table.
#[derive(Debug)]
pub struct TableLoad<'a> {
    table: TableName,
    way: LoadWay,
    /// The record of committed rows.
    ledger: Option<&'a Ledger>,
    target: Option<TableDescription>,
    route: Option<Chosen>,
    is_emptied: bool,
    /// Nobody else changes the table.
    is_alone: bool,
    /// Rows that went into the stage, if each that was sent is one.
    rows_staged: Option<u64>,
    /// Rows that this load has sent and that were taken.
    rows_loaded: u64,
}

/// The choices that the first source has decided.
#[derive(Debug)]
struct Chosen {
    /// `None`: the rows go into the table, without a word about the way.
    plan: Option<StagePlan>,
    stage: Option<Stage>,
    is_made: bool,
    /// True once the creation of the stage was tried: the answer to that may have been lost.
    is_tried: bool,
}

/// Forgets a recorded load: its entries in the ledger and its stages go, and it can no longer be continued. Returns false if
/// there is neither.
///
/// # Errors
/// A statement fails.
pub fn forget_load(client: &mut Client, place: &LedgerPlace, load_id: &str) -> Result<bool, Error> {
    let mut is_found = place.forget(client, load_id)?;
    for stage in Stage::find_all(client)?.iter().filter(|stage| stage.load_id == load_id) {
        stage.drop(client)?;
        is_found = true;
    }
    Ok(is_found)
}

/// The end of a load whose rows had all been taken.
#[derive(Debug)]
pub enum Ending {
    /// The rows went into the table itself.
    Direct,
    /// The rows came from a stage into the table.
    Published(Published),
    /// The answer to the end was lost, and the load is done all the same: the ledger says so, or the stage is gone. The error is
    /// how the answer was lost, if it is known.
    AnswerLost(Option<Error>),
}

impl<'a> TableLoad<'a> {
    /// Makes a load into `table`. Nothing is asked of the server yet.
    pub fn new(table: TableName, way: LoadWay, ledger: Option<&'a Ledger>) -> Self {
        Self {
            table,
            way,
            ledger,
            target: None,
            route: None,
            is_emptied: false,
            is_alone: false,
            rows_staged: Some(0),
            rows_loaded: 0,
        }
    }

    /// Declares that nobody else changes the table: a ledger then knows how many rows it must have.
    #[must_use]
    pub fn alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }

    /// Looks at the table; later calls change nothing.
    ///
    /// # Errors
    /// The errors of [`Client::describe`].
    pub fn look(&mut self, client: &mut Client) -> Result<&TableDescription, Error> {
        let target = match self.target.take() {
            Some(target) => target,
            None => match client.describe_recent(&self.table) {
                Ok(target) => target,
                Err(error) => return Err(name_nearest(client, &self.table, error)),
            },
        };
        Ok(self.target.insert(target))
    }

    /// Returns the order in which the rows of a source of these columns would follow the table's clustered key. `None`
    /// if there is no such order, if another was requested, or if the rows do not go into the key.
    ///
    /// # Errors
    /// The errors of [`look`](Self::look).
    pub fn key_order(
        &mut self,
        client: &mut Client,
        schema: &Schema,
        options: &LoadOptions,
    ) -> Result<Option<KeyOrder>, Error> {
        if self.way.mode.keys().is_some() {
            return Ok(None);
        }
        let LoadWay { mode, strategy, .. } = self.way.clone();
        let has_ledger = self.ledger.is_some();
        let target = self.look(client)?;
        let source = SourceFacts { looks_sorted: true, ..options.source.clone() };
        let sorted = LoadOptions { source, ..options.clone() };
        let fills_heap = match strategy {
            Strategy::HeapThenKey => true,
            Strategy::Auto => !has_ledger && heap_first_is_worth_it(target, &mode, &sorted),
            _ => false,
        };
        if fills_heap || !options.order.is_empty() {
            return Ok(None);
        }
        Ok(KeyOrder::of(target, schema, options))
    }

    /// Estimates the bytes of a source of `rows` rows, for [`SourceFacts::bytes`]; `None` before [`look`](Self::look).
    pub fn estimated_bytes(&self, options: &LoadOptions, rows: u64) -> Option<u64> {
        self.target.as_ref().map(|target| estimated_bytes(target, options, rows))
    }

    /// Returns true if the route depends on the number of rows and on whether they look sorted, and neither is
    /// known yet.
    pub fn needs_a_look(&self, options: &LoadOptions) -> bool {
        let source = SourceFacts { bytes: options.source.bytes.or(Some(u64::MAX)), ..SourceFacts::default() };
        let large = LoadOptions { source, ..options.clone() };
        self.ledger.is_none()
            && self.way.strategy == Strategy::Auto
            && self
                .target
                .as_ref()
                .is_some_and(|target| heap_first_is_worth_it(target, &self.way.mode, &large))
    }

    /// Looks at the table and chooses the way of the rows, by the first source; later calls change nothing.
    ///
    /// # Errors
    /// The errors of [`Client::describe`] and [`StagePlan::choose`]; [`Error::TargetChanged`] if a load goes on and the table
    /// is not the one that it began with.
    pub fn choose(
        &mut self,
        client: &mut Client,
        schema: &Schema,
        options: &LoadOptions,
    ) -> Result<(), Error> {
        if self.route.is_some() {
            return Ok(());
        }
        let target = self.look(client)?.clone();
        let LoadWay { mode, strategy, is_named } = &self.way;
        // A load that may be continued keeps to one way, whatever its next run finds.
        let options = &match self.ledger {
            Some(_) => LoadOptions { may_stage: false, ..options.clone() },
            None => options.clone(),
        };
        let is_plain = !is_named
            && matches!(mode, Mode::Append | Mode::Truncate)
            && !heap_first_is_worth_it(&target, mode, options);
        let plan = match is_plain {
            true => None,
            false => Some(StagePlan::choose(client, &target, schema, mode.clone(), *strategy, options)?),
        };
        let id = self.ledger.map_or_else(Stage::new_load_id, |ledger| ledger.load_id().to_owned());
        let stage = plan.as_ref().and_then(|plan| plan.stage(&target, &id));
        if let (Some(ledger), None) =
            (self.ledger.filter(|ledger| ledger.state() == LoadState::Loading), &stage)
        {
            let begins_empty = *mode == Mode::Truncate;
            let facts = TargetFacts {
                table: &target,
                is_alone: self.is_alone || begins_empty,
                begins_empty,
                is_exact: !target.is_view && !options.fire_triggers && counts_exactly(&target),
            };
            ledger.check_target(client, &facts)?;
        }
        self.route = Some(Chosen { plan, stage, is_made: false, is_tried: false });
        Ok(())
    }

    /// Returns the stage that takes the rows, created or not.
    pub fn stage(&self) -> Option<&Stage> {
        self.route.as_ref().and_then(|chosen| chosen.stage.as_ref())
    }

    /// Makes the stage, if there is to be one, or goes on with the stage that an earlier run of a noted load has made. Later calls
    /// change nothing.
    ///
    /// # Errors
    /// A statement fails; [`Error::StageGone`] if rows are gone with the stage that the ledger says are committed.
    pub fn make_stage(&mut self, client: &mut Client) -> Result<(), Error> {
        let Some(Chosen { stage: Some(stage), is_made, is_tried, .. }) = &mut self.route else {
            return Ok(());
        };
        if *is_made {
            return Ok(());
        }
        let rows = self.ledger.map_or(0, Ledger::rows_before);
        let exists = (self.ledger.is_some() || *is_tried) && stage.exists(client)?;
        if !exists && rows > 0 {
            return Err(Error::StageGone { stage: stage.name().to_string(), rows });
        }
        if !exists {
            *is_tried = true;
            stage.create(client)?;
        }
        *is_made = true;
        Ok(())
    }

    /// Plans the load of a source of these columns.
    ///
    /// # Errors
    /// The errors of [`LoadPlan::new`] and of [`choose`](Self::choose).
    pub fn plan(
        &mut self,
        client: &mut Client,
        schema: &Schema,
        options: &LoadOptions,
    ) -> Result<LoadPlan, Error> {
        self.choose(client, schema, options)?;
        let (Some(target), Some(Chosen { plan: way, stage, is_made, .. })) = (&self.target, &self.route)
        else {
            return Err(Error::internal("a plan before the way was chosen"));
        };
        let mut plan = match (stage, is_made) {
            (Some(stage), true) => {
                let described = stage.describe(client)?;
                LoadPlan::new(client, &described, schema, options)?
            }
            (Some(stage), false) => LoadPlan::new(client, &stage.foreseen(target), schema, options)?,
            (None, _) => LoadPlan::new(client, target, schema, options)?,
        };
        if let Some(stage) = stage {
            stage.check_plan(&plan)?;
            // A reader of the plan asks about the table, not about the stage beside it.
            if let Some(shown) = plan.choices.first_mut() {
                *shown = target_choice(target);
            }
        }
        // Rows are compared, so none may be new.
        if self.way.mode.keys().is_none() {
            plan.check_required(target)?;
        }
        if self.ledger.is_some_and(Ledger::has_lanes) {
            plan.goes_on_by_partition();
        }
        if let Some(way) = way {
            plan.choices.splice(1..1, way.choices.iter().cloned());
        }
        Ok(plan)
    }

    /// Returns true if the table is to be emptied before the rows come, and has not been by this load or an earlier
    /// run of it.
    pub fn empties(&self) -> bool {
        let by_plan = self.route.as_ref().and_then(|chosen| chosen.plan.as_ref());
        let truncates = match by_plan {
            Some(plan) => matches!(plan.route, Route::TruncateFirst),
            None => self.way.mode == Mode::Truncate,
        };
        truncates && !self.is_emptied && self.ledger.is_none_or(|ledger| ledger.rows_before() == 0)
    }

    /// Empties the table. To be called when all sources are known to fit it; afterwards they have other plans.
    ///
    /// # Errors
    /// TRUNCATE TABLE fails, or the table cannot be described again.
    pub fn empty(&mut self, client: &mut Client) -> Result<(), Error> {
        client.execute(&self.emptying_statement())?;
        self.is_emptied = true;
        self.target = Some(client.describe(&self.table)?);
        Ok(())
    }

    /// Returns the statement that empties the table.
    pub fn emptying_statement(&self) -> String {
        format!("TRUNCATE TABLE {}", self.table)
    }

    /// Loads sources that have been planned. What is committed to a stage counts for nothing until it is published.
    ///
    /// # Errors
    /// The errors of [`load_parallel`].
    pub fn load(
        &mut self,
        client: &mut Client,
        sources: Vec<ParallelSource<'_>>,
        options: &ParallelOptions<'_>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<ParallelReport, LoadError> {
        let is_staged = self.stage().is_some();
        let mut staging = |at: &Progress| match is_staged {
            true => progress(&Progress { rows_committed: 0, rows_committing: 0, ..*at }),
            false => progress(at),
        };
        let loaded = load_parallel(client, sources, options, &mut staging);
        match loaded {
            Ok(report) => {
                self.rows_loaded = self.rows_loaded.saturating_add(report.load.rows_stored());
                let is_exact = self.target.as_ref().is_some_and(counts_exactly);
                self.rows_staged =
                    self.rows_staged.filter(|_| is_exact).map(|rows| rows.saturating_add(report.load.rows));
                if !is_staged {
                    client.note_loaded(report.load.rows);
                    if let Some(target) = &mut self.target {
                        target.rows = target.rows.saturating_add(report.load.rows);
                    }
                }
                Ok(report)
            }
            Err(error) => {
                // Whatever is wrong may come of a table that has changed since it was looked at.
                client.forget_description();
                Err(match is_staged {
                    true => LoadError { rows_committed: 0, rows_in_doubt: 0, look: None, ..error },
                    false => error,
                })
            }
        }
    }

    /// Returns the table, if its rows go through a stage.
    pub fn staged_target(&self) -> Option<&TableName> {
        self.stage().and(self.target.as_ref()).map(|target| &target.name)
    }

    /// Returns the table, by the name that it was given.
    pub fn table(&self) -> &TableName {
        &self.table
    }

    /// Returns the table, as the server resolves its name where that is known.
    pub fn target_name(&self) -> &TableName {
        self.target.as_ref().map_or(&self.table, |target| &target.name)
    }

    /// Returns true if a ledger can continue the load.
    pub fn is_noted(&self) -> bool {
        self.ledger.is_some()
    }

    /// Returns true if the load has emptied the table.
    pub fn has_emptied(&self) -> bool {
        self.is_emptied
    }

    /// Returns the mode, as options spell it.
    pub fn mode_word(&self) -> &'static str {
        self.way.mode.word()
    }

    /// Ends the load when all its sources are loaded: the stage comes into the table, and the ledger says that the load is done.
    /// `publishing` hears when the statements begin and end that change the table.
    ///
    /// # Errors
    /// A statement fails; for a noted load only if the error does not pass while the policy is patient. Without a stage all rows
    /// are committed; with one none is, unless all are in doubt.
    pub fn finish(
        &self,
        client: &mut Client,
        retry: RetryPolicy,
        publishing: &mut dyn FnMut(bool),
    ) -> Result<Ending, LoadError> {
        self.end(client, retry, publishing).map_err(|error| match self.stage() {
            Some(_) if error.is_in_doubt() => {
                LoadError { rows_in_doubt: self.rows_staged_in_all(), ..LoadError::before_rows(error) }
            }
            Some(_) => LoadError::before_rows(error),
            None => LoadError { rows_committed: self.rows_loaded, ..LoadError::before_rows(error) },
        })
    }

    /// Returns the rows of the stage, those of earlier runs included; never 0: a stage without rows changes the table too.
    fn rows_staged_in_all(&self) -> u64 {
        let before = self.ledger.map_or(0, Ledger::rows_before);
        self.rows_loaded.saturating_add(before).max(1)
    }

    fn end(
        &self,
        client: &mut Client,
        retry: RetryPolicy,
        publishing: &mut dyn FnMut(bool),
    ) -> Result<Ending, Error> {
        match (self.stage(), self.ledger) {
            (None, None) => Ok(Ending::Direct),
            (None, Some(ledger)) => ledger.finish(client, retry).map(|()| Ending::Direct),
            (Some(stage), Some(ledger)) => {
                let statements = ledger.done_statements();
                let published = ledger.finish_by(client, retry, &mut |client| {
                    stage.build(client)?;
                    publishing(true);
                    let published =
                        stage.publish(client, &mut |client| client.execute(&statements).map(drop));
                    // One in doubt may still change the table.
                    publishing(published.as_ref().is_err_and(Error::is_in_doubt));
                    published
                });
                publishing(false);
                Ok(published?
                    .map_or(Ending::AnswerLost(None), |published| Ending::Published(self.counted(published))))
            }
            (Some(stage), None) => {
                stage.build(client)?;
                publishing(true);
                let published = stage.publish(client, &mut |_| Ok(()));
                publishing(false);
                match published {
                    Ok(published) => Ok(Ending::Published(self.counted(published))),
                    Err(error) if error.is_in_doubt() => match stage.was_published(client) {
                        Ok(true) => Ok(Ending::AnswerLost(Some(error))),
                        Ok(false) => Err(error.settled()),
                        Err(_) => Err(error),
                    },
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Replaces the catalogue's estimate in the result by the number of rows that were loaded.
    fn counted(&self, published: Published) -> Published {
        let is_estimate = matches!(published.how, How::Switched | How::Renamed { .. });
        let before = self.ledger.map_or(0, Ledger::rows_before);
        match self.rows_staged.filter(|_| is_estimate) {
            Some(rows) => Published { inserted: rows.saturating_add(before), ..published },
            None => published,
        }
    }

    /// Gives a load up that failed: its stage goes, unless a ledger can continue the load or it is not known what became of
    /// the stage. The stage's name, if it is to go and could not be dropped.
    pub fn give_up(&self, client: &mut Client, is_in_doubt: bool) -> Option<TableName> {
        let Some(Chosen { stage: Some(stage), is_made: true, .. }) = &self.route else { return None };
        if is_in_doubt || self.ledger.is_some() {
            return None;
        }
        stage.drop(client).is_err().then(|| stage.name().clone())
    }

    /// Returns true if an earlier run has loaded everything.
    pub fn is_done(&self) -> bool {
        self.ledger.is_some_and(|ledger| ledger.state() == LoadState::Done)
    }
}
