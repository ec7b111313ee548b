//! The settings of loading rows into a table of SQL Server, and their meaning for a source and a table.

use std::time::Duration;

use load::{
    ACTION_COLUMN, BatchTransaction, Choice, CommitWatch, Ledger, LoadOptions, LoadPlan, LoadWay,
    ParallelOptions, RetryPolicy, TableDescription, TableShape, Writers,
};
use rows::Mapping;

use crate::{collations::Collations, destination::Create, source::Description};

/// The settings of loading rows into a table.
#[derive(Debug, Clone)]
pub struct ServerWrite {
    /// The effect on existing rows, and the way in which new rows reach the table.
    pub way: LoadWay,
    /// The options of the load. The mapping is by name, or as it is given.
    pub options: LoadOptions,
    /// Map columns by position, even if the source has names.
    pub by_position: bool,
    /// Connections; `None`: as many as pay.
    pub writers: Option<usize>,
    /// The time for which transient errors are retried, from the first connection on.
    pub retry: RetryPolicy,
    /// Hears of the first failure of a beginning that is tried again.
    pub hears: fn(&load::Error),
    /// Time for the whole load.
    pub time_limit: Option<Duration>,
    /// Record committed rows, and continue a copy that broke.
    pub resume: Option<Resume>,
    /// Decides whether the table is created.
    pub create: Create,
    /// Lists, structs and maps of a new table become JSON text.
    pub nested_as_json: bool,
    /// Copy the keys, indexes, defaults, checks and computed columns of a table of SQL Server.
    pub with_keys: bool,
    /// The collations of a table that is created.
    pub collations: Collations,
    /// The schema that takes the tables of all schemas; foreign keys then refer to it.
    pub to_schema: Option<String>,
    /// Nobody else changes the table during the copy.
    pub sole_writer: bool,
    /// The column of the source that says what each row does, for [`Mode::ByAction`](load::stage::Mode::ByAction).
    pub action: Option<String>,
}

impl Default for ServerWrite {
    fn default() -> Self {
        Self {
            way: LoadWay::default(),
            options: LoadOptions::default(),
            by_position: false,
            writers: Some(1),
            retry: RetryPolicy::NONE,
            hears: |_| {},
            time_limit: None,
            resume: None,
            create: Create::default(),
            nested_as_json: false,
            with_keys: false,
            collations: Collations::Keep,
            to_schema: None,
            sole_writer: false,
            action: None,
        }
    }
}

/// A copy that can be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The name of the recorded load; made from source and destination if it is not given.
    pub load_id: Option<String>,
    /// Schema of the tables that record loads.
    pub ledger_schema: String,
    /// The command that continues the load, as the program words it; empty if nothing does.
    pub command: String,
}

impl ServerWrite {
    /// Returns the options for a source: the assignment of its columns, and the keeping of identities.
    pub(crate) fn options_for(
        &self,
        target: &TableDescription,
        description: &Description,
        shape: Option<&TableShape>,
        plan: &mut Vec<Choice>,
    ) -> LoadOptions {
        let mut options = self.options.clone().with_writers(self.writers);
        // A load that is alone shows its rows as they arrive. Rows with actions wait in a stage of their own. A load that a
        // time limit ends must keep the rows that have arrived.
        options.may_stage = !self.sole_writer
            && self.action.is_none()
            && self.time_limit.is_none()
            && options.transaction == BatchTransaction::Explicit;
        let is_mapped = matches!(options.mapping, Mapping::Explicit(_));
        if let Mapping::Explicit(pairs) = &mut options.mapping
            && self.action.is_some()
        {
            pairs.push((ACTION_COLUMN.to_owned(), ACTION_COLUMN.to_owned()));
        }
        if !is_mapped && (self.by_position || !description.has_names) {
            options.mapping = Mapping::ByPosition;
            return options;
        }
        let Some(shape) = shape.filter(|_| !is_mapped) else { return options };
        // A table of SQL Server: what its server computes is computed again, and its identities are kept.
        let named =
            |name: &str| target.columns.iter().find(|column| column.column.name.eq_ignore_ascii_case(name));
        let is_computed =
            |name: &str| named(name).is_some_and(|column| column.is_computed || column.is_rowversion);
        let made_there: Vec<&str> = shape
            .columns
            .iter()
            .filter(|column| column.computed.is_some() || column.type_text == "rowversion")
            .map(|column| column.name.as_str())
            .filter(|name| is_computed(name))
            .collect();
        if !made_there.is_empty() {
            let pairs = description
                .schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .filter(|name| !made_there.contains(&name.as_str()))
                .map(|name| (name.clone(), name));
            options.mapping = Mapping::Explicit(pairs.collect());
            plan.push(Choice {
                setting: "left out",
                value: made_there.join(", "),
                reason: "the server of the destination makes these values itself".to_owned(),
            });
        }
        let keeps = shape
            .identity()
            .is_some_and(|column| named(&column.name).is_some_and(|target| target.is_identity));
        if keeps && !options.keep_identity {
            options.keep_identity = true;
        }
        options
    }

    /// Returns the options of the load's writers.
    pub(crate) fn parallel_options<'a>(
        &self,
        plan: &LoadPlan,
        ledger: Option<&'a Ledger>,
        watch: &'a dyn CommitWatch,
    ) -> ParallelOptions<'a> {
        ParallelOptions {
            writers: self.writers.map_or(Writers::Auto(plan.writers_max), Writers::Fixed),
            retry: self.retry,
            ledger,
            time_limit: self.time_limit,
            watch,
        }
    }

    /// Words the number of connections for the plan, in place of the plan's own choice for one.
    pub(crate) fn writers_choice(&self, plan: &LoadPlan) -> Choice {
        let (value, reason) = match self.writers {
            None if plan.writers_max > 1 => (
                format!("auto, up to {}", plan.writers_max),
                format!("{}; more are added while throughput rises", plan.writers_reason),
            ),
            None => ("1".to_owned(), plan.writers_reason.to_owned()),
            Some(0 | 1) => {
                ("1".to_owned(), "one connection; encoding overlaps sending and waiting".to_owned())
            }
            Some(writers) => (writers.to_string(), "as asked".to_owned()),
        };
        Choice { setting: "writers", value, reason }
    }
}
