//! The load plan: every choice with its reason.

use std::fmt;

use arrow::datatypes::{DataType, Field, Schema};
use rows::mapping::{CreateOptions, sql_type_of};
use rows::{BulkHints, Plan, PlanNote, insert_bulk_statement};
use tds::{Column, ColumnFlags, Length, LengthClass, SqlType, TypeInfo};

use crate::report::row_words;
use crate::{
    client::Client,
    describe::{ColumnDescription, RecoveryModel, Storage, TableDescription},
    error::Error,
    lanes::{self, Routing},
    options::{BatchTransaction, Connections, LoadOptions},
    report::grouped,
    table_name::TableName,
};

/// Has the server take ciphertext for encrypted columns.
const ENCRYPTED_VALUES_HINT: &str = "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS";
/// Bytes that a batch aims at: long enough that its commit does not count, short enough to be rolled back quickly.
const BATCH_BYTES: u64 = 32 << 20;
const BATCH_ROWS_MIN: u64 = 10_000;
const BATCH_ROWS_MAX: u64 = 500_000;
/// Connections at most, if their number is not given.
const WRITERS_MAX: usize = 16;
/// Rows of a full row group of a columnstore.
const ROW_GROUP_ROWS: u64 = 1_048_576;
/// Fewer rows than this go to a delta store, uncompressed and fully logged.
const ROW_GROUP_ROWS_MIN: u64 = 102_400;
/// The choice that names columns without a length.
const UNSIZED: &str = "(max) columns";
/// The assumed size of a variable-length value, if its limit is not lower.
const VARIABLE_GUESS_BYTES: u64 = 32;

/// A load that is ready to run. `Display` prints every choice with its reason.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// The target.
    pub table: TableName,
    /// Columns, casts and checks.
    pub rows: Plan,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// The user or the target has fixed the number of rows of a batch, so a load over several connections does not change it.
    pub keeps_batch_rows: bool,
    /// The hints of INSERT BULK.
    pub hints: BulkHints,
    /// Transactions.
    pub transaction: BatchTransaction,
    /// The rule that the server's row count is checked by.
    pub count_rule: CountRule,
    /// The rows that the table had, if nobody else changes it during the load. After a lost answer its count then shows
    /// whether the last batch was committed; `None` leaves that open.
    pub rows_before: Option<u64>,
    /// The routing of rows by partition, if the table has partitions and that is possible.
    pub routing: Option<Routing>,
    /// Several writers get the rows of a partition one after the other, never two at a time.
    pub routes: bool,
    /// The most connections that may load at a time, if their number is found by measuring.
    pub writers_max: usize,
    /// The reason for the number of writers.
    pub writers_reason: &'static str,
    /// Every choice, in the order in which it is printed.
    pub choices: Vec<Choice>,
}

/// The rule that the server's row count of a batch is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountRule {
    /// The count equals the number of rows sent.
    Exact,
    /// At most what was sent, since an index drops duplicate keys.
    AtMost,
    /// Anything, since a trigger inserts the rows.
    Unchecked,
}

/// A choice of a plan, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The chosen setting.
    pub setting: &'static str,
    /// The choice.
    pub value: String,
    /// The reason for the choice.
    pub reason: String,
}

impl LoadPlan {
    /// Refuses a load whose rows lack values that the table needs. Whether a trigger brings them is not known, where one fires.
    ///
    /// # Errors
    /// [`rows::PlanError::Lacking`].
    pub fn check_required(&self, target: &TableDescription) -> Result<(), Error> {
        if self.hints.fire_triggers && target.triggers.iter().any(|trigger| trigger.is_instead_of) {
            return Ok(());
        }
        match target.lacking(self.rows.declared_columns()).as_slice() {
            [] => Ok(()),
            columns => Err(rows::PlanError::Lacking(columns.join(", ")).into()),
        }
    }

    /// Plans a load of batches of `schema` into a table.
    pub fn new(
        client: &Client,
        target: &TableDescription,
        schema: &Schema,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        refuse_identity(target, schema, options)?;
        let mut columns = target.loadable_columns(options.keep_identity);
        if !options.keep_nulls {
            allow_defaults(target, &mut columns);
        }
        let (mapping, left_out) = without_made(target, schema, &options.mapping);
        let rows = Plan::new(schema, &columns, &mapping, options.cast.clone());
        let rows = rows.map_err(|error| made_by_server(target, error))?;
        let mut choices = vec![target_choice(target)];
        let mut choose = |setting, value: String, reason: &str| {
            choices.push(Choice { setting, value, reason: reason.to_owned() })
        };
        for note in rows.notes() {
            match note {
                PlanNote::Converted { column, from, to } => {
                    choose("column", column.clone(), &format!("{} is converted to {to}", words_of(from)));
                }
                PlanNote::Absent { columns } => {
                    choose("not loaded", columns.join(", "), "not in the source; the server fills them");
                }
            }
        }
        if !left_out.is_empty() {
            choose("left out", left_out.join(", "), "the server makes these values itself");
        }
        let unsized_columns = unsized_columns(&rows);
        if !unsized_columns.is_empty() {
            choose(
                UNSIZED,
                unsized_columns.join(", "),
                "their values are sent in pieces and may leave the row; a length, if there is one, loads faster",
            );
        }
        let chosen = lanes::choose(target, schema, &rows, options, is_sorted(target, options))?;
        let routes = chosen.is_on;
        let (table_lock, reason) = table_lock(target, options, routes);
        choose("TABLOCK", on_off(table_lock), reason);
        if let Some(Choice { setting, value, reason }) = chosen.choice {
            choose(setting, value, &reason);
        }
        let (batch_rows, reason) = batch_rows(target, &rows, options);
        choose("batch rows", grouped(batch_rows), &reason);
        let (order, reason) = order(target, options);
        choose("ORDER", order, &reason);
        choose("logging", logging(target, table_lock).0.to_owned(), logging(target, table_lock).1);
        constraint_choices(target, options, &mut choose);
        let (count_rule, reason) = count_rule(target, options.fire_triggers);
        let rule = match count_rule {
            CountRule::Exact => "exact",
            CountRule::AtMost => "at most",
            CountRule::Unchecked => "off",
        };
        choose("count check", rule.to_owned(), reason);
        match options.transaction {
            BatchTransaction::Explicit => choose(
                "transaction",
                "one a batch".to_owned(),
                "committed after the server's row count is checked",
            ),
            BatchTransaction::Autocommit => {
                choose("transaction", "autocommit".to_owned(), "as asked; each batch commits by itself")
            }
        }
        let info = client.server_info();
        choose(
            "packet size",
            format!("{} bytes", info.packet_size_bytes),
            "what the server granted; the larger, the fewer headers",
        );
        choose("writers", "1".to_owned(), "one connection; encoding overlaps sending and waiting");

        let (writers_max, writers_reason) = writers(target, table_lock, options, routes);
        let hints = BulkHints {
            check_constraints: options.check_constraints,
            fire_triggers: options.fire_triggers,
            keep_nulls: options.keep_nulls,
            table_lock,
            rows_per_batch: Some(batch_rows),
            kilobytes_per_batch: None,
            order: match options.source.order.is_none() || is_sorted(target, options) {
                true => options.order.clone(),
                false => Vec::new(),
            },
            as_written: options.allow_encrypted_values.then(|| ENCRYPTED_VALUES_HINT.to_owned()),
        };
        let table = target.name.clone();
        Ok(Self {
            table,
            rows,
            batch_rows,
            keeps_batch_rows: options.batch_rows.is_some() || target.storage == Storage::Columnstore,
            hints,
            transaction: options.transaction,
            count_rule,
            rows_before: None,
            routing: chosen.routing,
            routes,
            writers_max,
            writers_reason,
            choices,
        })
    }

    /// Makes a plan in which the caller has made every choice; it has no [`choices`](Self::choices) to print.
    pub fn decided(target: &TableDescription, rows: Plan, batch_rows: u64, hints: BulkHints) -> Self {
        let fire_triggers = hints.fire_triggers
            || hints
                .as_written
                .as_ref()
                .is_some_and(|text| text.to_ascii_uppercase().contains("FIRE_TRIGGERS"));
        Self {
            table: target.name.clone(),
            rows,
            batch_rows: batch_rows.max(1),
            keeps_batch_rows: true,
            hints,
            transaction: BatchTransaction::Explicit,
            count_rule: count_rule(target, fire_triggers).0,
            rows_before: None,
            routing: None,
            routes: false,
            writers_max: 1,
            writers_reason: "as the caller decided",
            choices: Vec::new(),
        }
    }

    /// Says that rows go by partition, since they did when the load began.
    pub(crate) fn goes_on_by_partition(&mut self) {
        for choice in self.choices.iter_mut().filter(|choice| choice.setting == lanes::SETTING) {
            choice.value = lanes::ON.to_owned();
            choice.reason =
                "as the load began: its ledger knows by partition which rows are committed".to_owned();
        }
    }

    /// Says of the columns without a length which would do.
    pub fn advise_unsized(&mut self, advice: &str) {
        for choice in self.choices.iter_mut().filter(|choice| choice.setting == UNSIZED) {
            choice.reason = advice.to_owned();
        }
    }

    /// Returns the INSERT BULK statement that starts every batch.
    pub fn statement(&self) -> String {
        insert_bulk_statement(&self.table.to_string(), self.rows.declared_columns(), &self.hints)
    }
}

impl fmt::Display for LoadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_choices(f, &self.choices)
    }
}

/// Prints choices as a table: setting, choice, reason.
pub(crate) fn write_choices(f: &mut fmt::Formatter<'_>, choices: &[Choice]) -> fmt::Result {
    let setting_width = choices.iter().map(|c| c.setting.len()).max().unwrap_or_default();
    let value_width =
        choices.iter().map(|c| c.value.chars().count()).filter(|w| *w <= 24).max().unwrap_or_default();
    for (index, Choice { setting, value, reason }) in choices.iter().enumerate() {
        if index > 0 {
            f.write_str("\n")?;
        }
        write!(f, "{setting:setting_width$}  {value:value_width$}")?;
        if !reason.is_empty() {
            write!(f, "  {reason}")?;
        }
    }
    Ok(())
}

/// Refuses a source column for an identity unless its values are kept: dropping them silently would lose data.
fn refuse_identity(target: &TableDescription, schema: &Schema, options: &LoadOptions) -> Result<(), Error> {
    if options.keep_identity {
        return Ok(());
    }
    let Some(identity) = target.columns.iter().find(|column| column.is_identity) else { return Ok(()) };
    let name = identity.column.name.as_str();
    let asked = match &options.mapping {
        rows::Mapping::ByName => schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(name)),
        rows::Mapping::Explicit(pairs) => pairs.iter().any(|(_, target)| target.eq_ignore_ascii_case(name)),
        rows::Mapping::ByPosition => false,
    };
    match asked {
        true => Err(Error::Identity { column: name.to_owned() }),
        false => Ok(()),
    }
}

/// Lets NULLs through to columns that the server gives their default in place of one, also where the table takes none.
fn allow_defaults(target: &TableDescription, columns: &mut [Column]) {
    let with_default =
        |name: &str| target.columns.iter().any(|column| column.has_default && column.column.name == name);
    for column in columns.iter_mut().filter(|column| !column.flags.is_nullable()) {
        if with_default(&column.name) {
            column.flags.0 |= ColumnFlags::NULLABLE;
            let info = &column.type_info;
            let form = TypeInfo::new(info.sql_type.clone(), true, info.collation).form;
            column.type_info = TypeInfo { form, ..info.clone() };
        }
    }
}

/// Returns the mapping, and the columns of the source that it leaves out: computed columns and rowversions, whose
/// values the server makes itself. A file exported from such a table has them.
fn without_made<'a>(
    target: &TableDescription,
    schema: &'a Schema,
    mapping: &rows::Mapping,
) -> (rows::Mapping, Vec<&'a str>) {
    let is_made = |name: &str| made(target, name).is_some();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let left_out: Vec<&str> = match mapping {
        rows::Mapping::ByName => names.clone().filter(|name| is_made(name)).collect(),
        rows::Mapping::ByPosition | rows::Mapping::Explicit(_) => Vec::new(),
    };
    if left_out.is_empty() {
        return (mapping.clone(), left_out);
    }
    let kept = names.filter(|name| !is_made(name)).map(|name| (name.to_owned(), name.to_owned()));
    (rows::Mapping::Explicit(kept.collect()), left_out)
}

/// Returns a column of the table whose values the server makes itself.
fn made<'a>(target: &'a TableDescription, name: &str) -> Option<&'a ColumnDescription> {
    let is_made = |column: &&ColumnDescription| {
        (column.is_computed || column.is_rowversion) && column.column.name.eq_ignore_ascii_case(name)
    };
    target.columns.iter().find(is_made)
}

/// Says of a column that is there, and cannot be loaded, why.
fn made_by_server(target: &TableDescription, error: rows::PlanError) -> Error {
    match &error {
        rows::PlanError::NoTarget { name, .. } => match made(target, name) {
            Some(column) => Error::Made {
                column: column.column.name.clone(),
                kind: if column.is_computed { "computed" } else { "a rowversion" },
            },
            None => error.into(),
        },
        _ => error.into(),
    }
}

/// Columns of `varchar(max)`, `nvarchar(max)` and `varbinary(max)` that are loaded.
fn unsized_columns(plan: &Plan) -> Vec<String> {
    let is_unsized = |sql_type: &SqlType| {
        matches!(
            sql_type,
            SqlType::VarChar { length: Length::Max }
                | SqlType::NVarChar { length: Length::Max }
                | SqlType::VarBinary { length: Length::Max }
        )
    };
    let columns = plan.declared_columns().iter().filter(|column| is_unsized(column.sql_type()));
    columns.map(|column| column.name.clone()).collect()
}

/// Returns the words for a type of the source: those of SQL where it has them, and otherwise Arrow's.
fn words_of(source: &DataType) -> String {
    use arrow::datatypes::TimeUnit;
    match source {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "binary".to_owned(),
        DataType::Dictionary(_, values) => words_of(values),
        DataType::Timestamp(unit, zone) => {
            let digits = match unit {
                TimeUnit::Second => 0,
                TimeUnit::Millisecond => 3,
                TimeUnit::Microsecond => 6,
                TimeUnit::Nanosecond => 9,
            };
            let kind = if zone.is_some() { "a time stamp with a zone" } else { "a time stamp" };
            format!("{kind} ({digits} digits)")
        }
        other => {
            let field = Field::new("", other.clone(), true);
            let plain = sql_type_of(&field, &CreateOptions::default());
            plain.map_or_else(|_| other.to_string(), |sql_type| sql_type.to_string())
        }
    }
}

/// Returns the line of a plan that names the table.
pub(crate) fn target_choice(target: &TableDescription) -> Choice {
    let value = format!("{} ({})", target.name, target.storage);
    Choice { setting: "target", value, reason: occupancy(target) }
}

fn occupancy(target: &TableDescription) -> String {
    let secondary = target.secondary_indexes().count();
    let mut text = match target.rows {
        0 => "empty".to_owned(),
        rows => format!("{} {}", grouped(rows), row_words(rows).0),
    };
    if secondary > 0 {
        text.push_str(&format!(", {secondary} further index{}", if secondary == 1 { "" } else { "es" }));
    }
    if target.partitions > 1 {
        text.push_str(&format!(", {} partitions", target.partitions));
    }
    text
}

fn table_lock(target: &TableDescription, options: &LoadOptions, routes: bool) -> (bool, &'static str) {
    if let Some(asked) = options.table_lock {
        return (asked, "as asked");
    }
    let indexed = target.secondary_indexes().next().is_some();
    match (target.storage, indexed, target.rows) {
        _ if target.is_view => (false, "the target is a view"),
        (Storage::Heap, false, _) => {
            (true, "a heap without indexes: one bulk-update lock, which other bulk loads share")
        }
        (Storage::Heap, true, 0) | (Storage::Clustered, _, 0) if routes || shares_empty(target, options) => {
            (false, "several connections load: a table lock would let in one at a time")
        }
        (Storage::Heap, true, 0) | (Storage::Clustered, _, 0) => {
            (true, "the table is empty: nobody is kept waiting, and one lock is cheaper than many")
        }
        (Storage::Heap, true, _) | (Storage::Clustered, _, _) => {
            (false, "the table is in use: others go on reading and writing")
        }
        (Storage::Columnstore, _, _) => {
            (false, "a columnstore compresses each batch by itself; a table lock would only keep others out")
        }
    }
}

/// Returns true if several connections load an empty table with indexes. If their number is yet to be found, they
/// do so only where each batch is a separate range of the key. Otherwise one connection under a table lock is
/// cheaper.
fn shares_empty(target: &TableDescription, options: &LoadOptions) -> bool {
    match options.connections {
        Connections::One => false,
        Connections::Several => true,
        Connections::Auto => is_sorted(target, options),
    }
}

/// Returns true if the source is declared to be in the order of the clustered key.
fn is_sorted(target: &TableDescription, options: &LoadOptions) -> bool {
    target.clustered_index().is_some_and(|index| index.key == options.order)
}

/// Returns the number of connections that can load without blocking one another, with the reason.
fn writers(
    target: &TableDescription,
    table_lock: bool,
    options: &LoadOptions,
    routes: bool,
) -> (usize, &'static str) {
    let partitions = usize::try_from(target.partitions).unwrap_or(usize::MAX);
    let indexed = target.secondary_indexes().next().is_some();
    let is_asked = options.table_lock.is_some();
    match (target.storage, indexed) {
        _ if target.name.is_temporary() => (1, "a temporary table goes with its connection"),
        _ if target.is_view => (1, "the target is a view"),
        _ if options.fire_triggers => (1, "triggers fire, and what they touch is not known"),
        _ if routes && !table_lock => {
            (WRITERS_MAX.min(partitions), "a writer a partition: no two meet in one partition's tree")
        }
        (Storage::Heap, false) => (WRITERS_MAX, "loads of a heap do not stand in one another's way"),
        (Storage::Columnstore, _) => (WRITERS_MAX, "each writer fills row groups of its own"),
        _ if table_lock && is_asked => (1, "a table lock on a table with indexes keeps other writers out"),
        (Storage::Clustered, _) if table_lock => (
            1,
            "the table is empty, and its rows are not said to be sorted: one writer under a table lock builds the \
             tree. Say their order, or use the strategy heap-then-key, for more",
        ),
        _ if table_lock => (
            1,
            "the table is empty: one writer under a table lock builds its indexes. Use the strategy heap-then-key \
             for more",
        ),
        (Storage::Heap, true) => {
            (WRITERS_MAX, "without a table lock, rows of others do not stand in the way")
        }
        (Storage::Clustered, _) if is_sorted(target, options) => {
            (WRITERS_MAX, "the source is sorted: each batch is a range of the key of its own")
        }
        (Storage::Clustered, _) => (
            WRITERS_MAX,
            "without a table lock, writers lock rows and pages, and a deadlock's victim tries again",
        ),
    }
}

fn batch_rows(target: &TableDescription, plan: &Plan, options: &LoadOptions) -> (u64, String) {
    if let Some(asked) = options.batch_rows {
        let small = target.storage == Storage::Columnstore && asked < ROW_GROUP_ROWS_MIN;
        let warning = if small {
            "as asked; fewer than 102,400 rows go to the delta store uncompressed"
        } else {
            "as asked"
        };
        return (asked.max(1), warning.to_owned());
    }
    if target.storage == Storage::Columnstore {
        return (
            ROW_GROUP_ROWS,
            "a full row group, compressed without passing through the delta store".to_owned(),
        );
    }
    let (rows, row_bytes) = usual_batch(plan.columns().iter().map(|column| &column.type_info));
    (rows, format!("about {} MiB at an estimated {row_bytes} bytes a row", (rows * row_bytes) >> 20))
}

/// Rows of a batch of such columns, and the bytes that a row is estimated to have.
fn usual_batch<'a>(columns: impl Iterator<Item = &'a TypeInfo>) -> (u64, u64) {
    let row_bytes = 1 + columns.map(estimated_len).sum::<u64>();
    let rows = BATCH_BYTES / row_bytes / BATCH_ROWS_MIN * BATCH_ROWS_MIN;
    (rows.clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX), row_bytes)
}

/// Bytes that a batch is estimated to have if its number of rows is not given.
pub(crate) fn batch_bytes(target: &TableDescription, options: &LoadOptions) -> u64 {
    let columns = target.loadable_columns(options.keep_identity);
    let (rows, row_bytes) = usual_batch(columns.iter().map(|column| &column.type_info));
    rows.saturating_mul(row_bytes)
}

/// Estimates the bytes of a number of rows, by the types of the columns.
pub(crate) fn estimated_bytes(target: &TableDescription, options: &LoadOptions, rows: u64) -> u64 {
    let columns = target.loadable_columns(options.keep_identity);
    rows.saturating_mul(usual_batch(columns.iter().map(|column| &column.type_info)).1)
}

pub(crate) fn estimated_len(info: &TypeInfo) -> u64 {
    let limit = u64::from(info.max_length);
    match info.length_class() {
        LengthClass::Fixed(length) => length.into(),
        LengthClass::ByteLen => 1 + limit.clamp(1, 17),
        // Always as long as they can be.
        LengthClass::UShortLen
            if matches!(
                info.sql_type,
                SqlType::Char { .. } | SqlType::NChar { .. } | SqlType::Binary { .. }
            ) =>
        {
            2 + limit
        }
        LengthClass::UShortLen => 2 + limit.min(VARIABLE_GUESS_BYTES),
        LengthClass::Plp | LengthClass::LongLen | LengthClass::Variant => 16 + VARIABLE_GUESS_BYTES,
    }
}

fn order(target: &TableDescription, options: &LoadOptions) -> (String, String) {
    let list = |key: &[(String, bool)]| {
        let parts: Vec<String> = key
            .iter()
            .map(|(name, descending)| format!("{name}{}", if *descending { " DESC" } else { "" }))
            .collect();
        parts.join(", ")
    };
    match (options.order.is_empty(), target.clustered_index()) {
        (false, Some(index)) if index.key == options.order => (
            list(&options.order),
            format!(
                "{}; it is the clustered key, so the server does not sort",
                options.source.order.as_deref().unwrap_or("as asked")
            ),
        ),
        (false, None) if options.source.order.is_some() => {
            ("none".to_owned(), "no clustered index to follow".to_owned())
        }
        (false, _) => {
            (list(&options.order), "as asked; it is not the clustered key, so it does not help".to_owned())
        }
        (true, Some(index)) => (
            "none".to_owned(),
            format!("if the source is sorted by ({}), say so and the server does not sort", list(&index.key)),
        ),
        (true, None) => ("none".to_owned(), "no clustered index to follow".to_owned()),
    }
}

/// Predicts the logging; the server decides.
fn logging(target: &TableDescription, table_lock: bool) -> (&'static str, &'static str) {
    let indexed = target.secondary_indexes().next().is_some();
    match (target.database.recovery_model, target.storage) {
        (None, _) => ("unknown", "the recovery model of the database is not visible"),
        (Some(RecoveryModel::Full), _) => ("full", "the database's recovery model is FULL"),
        (Some(_), Storage::Columnstore) => {
            ("minimal", "compressed row groups are; the delta store is logged in full")
        }
        (Some(_), Storage::Heap) if table_lock && !indexed => {
            ("minimal", "a heap under TABLOCK, and the recovery model allows it")
        }
        (Some(_), Storage::Heap) if table_lock => {
            ("partly minimal", "the heap's rows; index rows only where the server finds it worth it")
        }
        (Some(_), Storage::Heap) => ("full", "a heap without TABLOCK"),
        (Some(_), Storage::Clustered) => {
            ("partly minimal", "rows on newly allocated pages, on SQL Server 2016 and later")
        }
    }
}

fn constraint_choices(
    target: &TableDescription,
    options: &LoadOptions,
    choose: &mut impl FnMut(&'static str, String, &str),
) {
    let constraints = target.constraints.iter().filter(|constraint| !constraint.is_disabled).count();
    if constraints > 0 || options.check_constraints {
        let reason = match options.check_constraints {
            true => "as asked",
            false => "constraints are not checked and become untrusted; --check-constraints checks them",
        };
        choose("CHECK_CONSTRAINTS", on_off(options.check_constraints), reason);
    }
    if let Some(columns) = target.encrypted_columns_shown() {
        let reason = match options.allow_encrypted_values {
            true => "binary values are stored as the ciphertext that they are, and nobody checks it",
            false => {
                "no keys here: the server refuses plain values (error 206); --allow-encrypted-values loads ciphertext"
            }
        };
        choose("Always Encrypted", columns, reason);
    }
    if options.allow_encrypted_values {
        choose(
            ENCRYPTED_VALUES_HINT,
            on_off(true),
            "as asked; the server takes ciphertext without a look at its keys",
        );
    }
    let triggers = target.triggers.iter().filter(|trigger| !trigger.is_disabled).count();
    if triggers > 0 || options.fire_triggers {
        let reason = if options.fire_triggers {
            "as asked; once a batch"
        } else {
            "triggers stay silent; --fire-triggers fires them"
        };
        choose("FIRE_TRIGGERS", on_off(options.fire_triggers), reason);
    }
    if options.keep_nulls || target.columns.iter().any(|column| column.has_default) {
        let reason = if options.keep_nulls {
            "as asked"
        } else {
            "NULLs take the column's default; --keep-nulls keeps them"
        };
        choose("KEEP_NULLS", on_off(options.keep_nulls), reason);
    }
    if target.columns.iter().any(|column| column.is_identity) {
        let reason = if options.keep_identity {
            "as asked; the source's values are kept"
        } else {
            "the server makes the values"
        };
        choose("keep identity", on_off(options.keep_identity), reason);
    }
}

fn count_rule(target: &TableDescription, fire_triggers: bool) -> (CountRule, &'static str) {
    let instead = target.triggers.iter().any(|trigger| trigger.is_instead_of && !trigger.is_disabled);
    if instead && fire_triggers {
        return (CountRule::Unchecked, "an INSTEAD OF trigger does the inserting");
    }
    match counts_exactly(target) {
        false => (CountRule::AtMost, "an index has IGNORE_DUP_KEY: duplicates are dropped by the server"),
        true => (CountRule::Exact, "the server's row count must be what was sent"),
    }
}

/// Returns true if every row that is sent becomes a row of the table, unless a trigger decides otherwise.
pub(crate) fn counts_exactly(target: &TableDescription) -> bool {
    !target.indexes.iter().any(|index| index.ignores_duplicate_keys && !index.is_disabled)
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
