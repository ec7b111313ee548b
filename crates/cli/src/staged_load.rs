//! Loads through a stage: `--mode replace`, `upsert` and `insert-new`, `--strategy heap-then-key` and `swap`.

use std::io::{self, Write};

use arrow::datatypes::Schema;
use load::stage::{How, Published};
use load::{
    Client, Error, Ledger, LoadOptions, LoadPlan, Mode, RetryPolicy, Stage, StagePlan, Strategy,
    TableDescription, TableName,
};
use serde_json::json;

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::interrupt;

/// The mode and the strategy of a command line.
pub struct Way {
    mode: Mode,
    strategy: Strategy,
    /// The command line names one of them, so that the plan says what follows.
    is_named: bool,
}

/// A stage that is being filled.
pub struct StagedLoad {
    plan: StagePlan,
    stage: Stage,
    target: TableDescription,
    is_made: bool,
}

impl Way {
    /// Reads mode and strategy from a command line, and refuses options that exclude each other.
    pub fn of(arguments: &LoadArgs) -> Result<Self, Failure> {
        let modes = &arguments.modes;
        let word = match (modes.mode, modes.truncate) {
            (Some(name), _) => name.into(),
            (None, true) => "truncate",
            (None, false) => "append",
        };
        let usage = |error: load::StageError| Failure::Usage(error.to_string());
        let mode = Mode::parse(word, modes.key.clone()).map_err(usage)?;
        let mut strategy = modes.strategy.map_or(Strategy::Auto, Strategy::from);
        let is_staged = !matches!(mode, Mode::Append | Mode::Truncate)
            || !matches!(strategy, Strategy::Auto | Strategy::Direct);
        let refuse = |option: &str, reason: &str| {
            let way = match modes.mode {
                Some(_) => format!("--mode {word}"),
                None => format!("--strategy {strategy}"),
            };
            Err(Failure::Usage(format!("{option} cannot go with {way}: {reason}")))
        };
        if is_staged {
            if arguments.server_side {
                return refuse("--server-side", "BULK INSERT puts rows into the table itself");
            }
            if arguments.create {
                return refuse("--create", "a table that is yet to be made has neither rows nor indexes");
            }
            if arguments.autocommit {
                return refuse("--autocommit", "a stage is published in a transaction");
            }
            if arguments.sole_writer {
                return refuse("--sole-writer", "nobody else writes to a stage in any case");
            }
            if arguments.bisect {
                match (mode.keys().is_some(), strategy) {
                    (true, _) => {
                        return refuse("--bisect", "the table takes all rows of the stage at once");
                    }
                    (false, Strategy::HeapThenKey) => {
                        return refuse(
                            "--bisect",
                            "the indexes that could refuse a row are built after the rows",
                        );
                    }
                    // Only indexes that are there before the rows refuse them one by one.
                    (false, _) => strategy = Strategy::Swap,
                }
            }
        }
        Ok(Self { mode, strategy, is_named: modes.mode.is_some() || modes.strategy.is_some() })
    }

    /// Mode and strategy in words, to be compared with those of an earlier run of the load.
    pub fn words(&self) -> String {
        match self.strategy {
            Strategy::Auto => self.mode.word().to_owned(),
            strategy => format!("{} by {strategy}", self.mode.word()),
        }
    }

    /// Chooses how the first source, with these columns, reaches the table. `None` means directly; the lines are for the plan, if
    /// the command line has a mode or strategy.
    pub fn choose(
        &self,
        client: &mut Client,
        table: &TableName,
        schema: &Schema,
        options: &LoadOptions,
        load_id: &str,
    ) -> Result<(Option<StagedLoad>, Vec<load::Choice>), Error> {
        if !self.is_named {
            return Ok((None, Vec::new()));
        }
        let target = client.describe(table)?;
        let plan = StagePlan::choose(client, &target, schema, self.mode.clone(), self.strategy, options)?;
        let choices = plan.choices.clone();
        let staged =
            plan.stage(&target, load_id).map(|stage| StagedLoad { plan, stage, target, is_made: false });
        Ok((staged, choices))
    }
}

impl StagedLoad {
    /// Makes the stage, once, unless nothing is to be changed.
    pub fn make(&mut self, client: &mut Client, arguments: &LoadArgs) -> Result<(), Failure> {
        if !self.is_made && !arguments.dry_run {
            interrupt::note_stage(self.stage.name().to_string());
            self.stage.create(client)?;
            self.is_made = true;
        }
        Ok(())
    }

    /// Makes the stage of a load that a ledger records, or continues with the stage of an earlier run.
    ///
    /// # Errors
    /// The earlier stage is gone, with rows that the ledger says are committed.
    pub fn make_or_continue(
        &mut self,
        client: &mut Client,
        ledger: &Ledger,
        arguments: &LoadArgs,
    ) -> Result<(), Failure> {
        interrupt::note_stage(self.stage.name().to_string());
        if self.stage.exists(client)? {
            self.is_made = true;
            return Ok(());
        }
        match ledger.rows_before() {
            0 => self.make(client, arguments),
            rows => Err(Error::StageGone { stage: self.stage.name().to_string(), rows }.into()),
        }
    }

    /// The plan of a source.
    pub fn plan(
        &self,
        client: &mut Client,
        schema: &Schema,
        options: &LoadOptions,
    ) -> Result<LoadPlan, Error> {
        let described = match self.is_made {
            true => self.stage.describe(client)?,
            false => self.stage.foreseen(&self.target),
        };
        let mut plan = LoadPlan::new(client, &described, schema, options)?;
        self.stage.check_plan(&plan)?;
        plan.choices.splice(1..1, self.plan.choices.iter().cloned());
        Ok(plan)
    }

    /// Publishes the rows of all sources.
    pub fn publish(&self, client: &mut Client, arguments: &LoadArgs) -> Result<(), Failure> {
        let table = self.target.name.to_string();
        let failed = |error| Failure::Publish { table: table.clone(), error: Box::new(error) };
        self.stage.build(client).map_err(&failed)?;
        let published = interrupt::during_statement(|| self.stage.publish(client, &mut |_| Ok(())));
        let published = match published {
            Err(error @ Error::InDoubt { .. }) => match self.stage.was_published(client) {
                Ok(true) => {
                    interrupt::note_published();
                    if !arguments.quiet {
                        eprintln!("note: {table}: {error}; the stage is gone, so its rows are in the table");
                    }
                    return Ok(());
                }
                Ok(false) => return Err(failed(error.settled())),
                Err(_) => return Err(failed(error)),
            },
            published => published.map_err(failed)?,
        };
        interrupt::note_published();
        show(&published, &table, self.plan.mode.word(), arguments)
    }

    /// Publishes the rows of all sources, and marks the load as done in the same transaction. After transient errors it tries again.
    pub fn publish_noted(
        &self,
        client: &mut Client,
        ledger: &Ledger,
        retry: RetryPolicy,
        arguments: &LoadArgs,
    ) -> Result<(), Failure> {
        let table = self.target.name.to_string();
        let published = ledger.finish_by(client, retry, &mut |client| {
            self.stage.build(client)?;
            self.stage.publish(client, &mut |client| client.execute(&ledger.done_statements()).map(drop))
        });
        let published = interrupt::during_statement(|| published);
        let published =
            published.map_err(|error| Failure::Publish { table: table.clone(), error: Box::new(error) })?;
        interrupt::note_published();
        match published {
            Some(published) => show(&published, &table, self.plan.mode.word(), arguments),
            // The answer was lost, and the ledger has the end of the load.
            None => Ok(()),
        }
    }

    /// Drops the stage of a failed load, and reports if it is left behind.
    pub fn give_up(&self, client: &mut Client, failure: Failure) -> Failure {
        if failure.is_in_doubt() {
            return failure;
        }
        let dropped = !self.is_made || self.stage.drop(client).is_ok();
        Failure::Staged {
            table: self.target.name.to_string(),
            left: (!dropped).then(|| self.stage.name().to_string()),
            failure: Box::new(failure),
        }
    }
}

fn show(published: &Published, table: &str, mode: &str, arguments: &LoadArgs) -> Result<(), Failure> {
    if arguments.json {
        let how = match &published.how {
            How::Switched => "switch",
            How::Renamed { .. } => "rename",
            How::Merged => "merge",
        };
        let line = json!({
            "table": table,
            "mode": mode,
            "published_by": how,
            "inserted": published.inserted,
            "updated": published.updated,
            "unchanged": published.unchanged,
        });
        writeln!(io::stdout(), "{line}").map_err(|source| Failure::Stream { stream: "output", source })
    } else {
        if !arguments.quiet {
            eprintln!("{table}: {published}");
        }
        Ok(())
    }
}
