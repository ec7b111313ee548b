//! The plan of a read: its ranges and number of readers, with reasons.

use std::{fmt, ops::Range};

use tds::{Column, SqlType};

use super::{
    boundaries::{self, Boundaries, Search},
    consistency::Consistency,
    crew::Joining,
    error::ReadError,
    key::SplitKey,
    key_range::{Condition, KeyRange},
    options::{Gentle, READERS_MAX, ReadOptions, Readers},
    partition_bounds, reader,
    row_source::RowSource,
};
use crate::{
    client::Client,
    describe::{CIPHERTEXT, Partitioning, Storage, TableDescription},
    error::Error,
    plan::{Choice, estimated_len, write_choices},
    report::grouped,
    result::BATCH_ROWS,
    table_name::quoted,
};

/// Fewer rows than this are not worth a statement of their own.
const RANGE_ROWS_MIN: u64 = 64;
/// More readers than ranges are idle: so many ranges for each make the work even.
const RANGES_A_READER: usize = 4;
const RANGES_MAX: usize = 16_384;
/// For a number of readers that is to be found, ranges may be so small and so many.
const SMALL_RANGE_BYTES: u64 = 512 << 10;
const SMALL_RANGES_MAX: usize = 256;
/// Bytes that a record batch aims at.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS_MIN: usize = 1024;
/// A row whose columns are not known beforehand.
const ROW_BYTES_GUESS: u64 = 100;

/// A read that is ready to run. `Display` prints every choice with its reason.
#[derive(Debug, Clone)]
pub struct SplitPlan {
    /// The table or query to read.
    pub source: RowSource,
    /// The column that splits the rows.
    pub key: Option<SplitKey>,
    /// The ranges, in the order of the key. Together they have every row once.
    pub ranges: Vec<KeyRange>,
    /// The number of connections that read.
    pub readers: Readers,
    /// The point in time that all readers see.
    pub consistency: Consistency,
    /// Short statements, and no transaction beyond one.
    pub gentle: Option<Gentle>,
    /// Rows of a record batch.
    pub batch_rows: usize,
    /// Every choice, in the order in which it is printed.
    pub choices: Vec<Choice>,
    /// ORDER BY of every statement, or nothing.
    pub(crate) order: String,
    /// The number of neighbouring ranges that may be read as one, while many are left.
    pub(crate) joined_max: usize,
    /// The columns of a unique key in whose order rows come: where to go on behind a row.
    pub(crate) unique_key: Vec<SplitKey>,
}

/// The key that splits the rows, and what is known of it.
struct Chosen {
    key: SplitKey,
    reason: String,
    has_index: bool,
    order: String,
    unique_key: Vec<SplitKey>,
}

impl SplitPlan {
    /// Plans a read: looks at the table or query, and finds where its ranges begin.
    pub fn new(client: &mut Client, source: RowSource, options: &ReadOptions) -> Result<Self, Error> {
        let nothing = Condition { sql: "1 = 0".to_owned(), parameters: Vec::new() };
        let described = match &source {
            RowSource::Table { name, .. } => Some(client.describe(name)?),
            RowSource::Query { .. } => None,
        };
        let is_split = options.split_by.is_some()
            || options.gentle.is_some()
            || options.readers != Readers::Count(1)
            || options.ranges.is_some_and(|ranges| ranges > 1);
        let chosen = match (is_split, &described, &options.split_by) {
            (false, Some(table), _) if table.storage == Storage::Clustered => {
                // One statement, but one that can be resumed.
                by_clustered_key(client, table).map_err(|_| "one reader was asked for".to_owned())
            }
            (false, ..) => Err("one reader was asked for".to_owned()),
            (true, Some(table), None) => match by_partitions(client, table, options) {
                Some(chosen) => chosen,
                None => by_clustered_key(client, table),
            },
            (true, Some(table), Some(column)) => Ok(by_column(client, table, column)?),
            (true, None, None) => Err("a query is split by a column that is named (split by)".to_owned()),
            (true, None, Some(_)) => Err(String::new()),
        };
        let mut columns: Vec<Column> = match &described {
            Some(table) => table.columns.iter().map(|column| column.column.clone()).collect(),
            None => Vec::new(),
        };
        let chosen = match (&source, &options.split_by, is_split) {
            (RowSource::Query { .. }, Some(column), true) => {
                let (sql, parameters) = source.select(&nothing, "");
                columns =
                    reader::statement(client, &sql, &parameters, options.form.clone())?.columns().to_vec();
                Ok(by_result_column(client, &columns, column)?)
            }
            _ => chosen,
        };
        let row_bytes = match columns.as_slice() {
            [] => ROW_BYTES_GUESS,
            columns => 1 + columns.iter().map(column_bytes).sum::<u64>(),
        };
        let rows = described.as_ref().filter(|table| !table.is_view).map(|table| table.rows);
        let mut plan = Self {
            readers: options.readers,
            consistency: options.consistency,
            gentle: options.gentle,
            batch_rows: options.batch_rows.unwrap_or_else(|| batch_rows(row_bytes)).max(1),
            key: None,
            ranges: vec![KeyRange::All],
            choices: Vec::new(),
            order: String::new(),
            joined_max: 1,
            unique_key: Vec::new(),
            source,
        };
        plan.choose("source", plan.source_shown(rows), String::new());
        if let Some(columns) = described.as_ref().and_then(TableDescription::encrypted_columns_shown) {
            plan.choose("Always Encrypted", columns, CIPHERTEXT.to_owned());
        }
        match chosen {
            Ok(chosen) => {
                let by_key = |partitioning: &&Partitioning| partitioning.column == chosen.key.name;
                let partitioning = described.as_ref().and_then(|table| table.partitioning.as_ref());
                let partitioning = partitioning.filter(by_key).filter(|_| options.gentle.is_none());
                let size = Size { rows, row_bytes };
                plan.split(client, chosen, is_split, size, partitioning, options)?;
            }
            Err(reason) => plan.choose("split", "not at all".to_owned(), reason),
        }
        plan.check(&described)?;
        plan.choose_readers();
        plan.choose_consistency();
        if let Some(gentle) = plan.gentle {
            plan.choose(
                "gentle",
                format!("{} ms a statement", gentle.statement_time.as_millis()),
                format!(
                    "LOCK_TIMEOUT {} ms, DEADLOCK_PRIORITY LOW, {} ms between statements, no transaction over two of them",
                    gentle.lock_timeout.as_millis(),
                    gentle.pause.as_millis()
                ),
            );
        }
        plan.choose_resume();
        Ok(plan)
    }

    /// Returns the columns of a unique key in whose order rows come, and so in the same order every time, with
    /// "descending". None if there is no such order.
    pub fn unique_key(&self) -> impl Iterator<Item = (&str, bool)> {
        self.unique_key.iter().map(|column| (column.name.as_str(), column.is_descending))
    }

    fn choose(&mut self, setting: &'static str, value: String, reason: String) {
        self.choices.push(Choice { setting, value, reason });
    }

    fn source_shown(&self, rows: Option<u64>) -> String {
        match (&self.source, rows) {
            (RowSource::Table { name, .. }, Some(rows)) => {
                format!("{name}, {} rows as the catalogue counts", grouped(rows))
            }
            (RowSource::Table { name, .. }, None) => name.to_string(),
            (RowSource::Query { .. }, _) => "a query".to_owned(),
        }
    }

    /// Returns the ranges that may be joined into one statement.
    pub(crate) fn joining(&self) -> Joining {
        let is_values = |range: &KeyRange| matches!(range, KeyRange::Values { .. });
        let first = self.ranges.iter().position(is_values).unwrap_or_default();
        let end = self.ranges.iter().rposition(is_values).map_or(first, |last| last + 1);
        Joining { joinable: first..end, most: self.joined_max }
    }

    /// Joins the rows of neighbouring ranges.
    pub(crate) fn joined(&self, ranges: &Range<usize>) -> Option<KeyRange> {
        let first = self.ranges.get(ranges.start)?;
        let last = self.ranges.get(ranges.end.checked_sub(1)?)?;
        match (&self.key, ranges.len()) {
            (_, 1) => Some(first.clone()),
            (Some(key), _) => first.joined(last, key.is_descending),
            (None, _) => None,
        }
    }

    /// Finds the ranges.
    fn split(
        &mut self,
        client: &mut Client,
        chosen: Chosen,
        is_split: bool,
        size: Size,
        partitioning: Option<&Partitioning>,
        options: &ReadOptions,
    ) -> Result<(), Error> {
        let Chosen { key, reason, has_index, order, unique_key } = chosen;
        self.order = order;
        self.unique_key = unique_key;
        if !is_split {
            self.choose("split", "not at all".to_owned(), "one reader was asked for".to_owned());
            self.key = Some(key);
            return Ok(());
        }
        let (ranges, joined_max) = wanted(size, options);
        let no_scan = match (options.gentle, options.readers) {
            (Some(_), _) => Some("a statement over all keys would not be gentle"),
            (None, Readers::Auto) => {
                Some("reading all keys first takes longer than it may save; a number of readers asks for it")
            }
            (None, Readers::Count(_)) => None,
        };
        let search = Search { ranges, has_index, no_scan };
        let found = match partitioning.filter(|_| ranges > 1) {
            Some(partitioning) if !has_index => by_whole_partitions(partitioning, ranges),
            partitioning => boundaries::find(client, &self.source, &key, search)?
                .map(|found| along_partitions(found, partitioning, ranges)),
        };
        match found {
            Ok(Boundaries { values, reason: found }) => {
                self.ranges = KeyRange::between(values, &key);
                self.choose("split", format!("by [{}]", key.name), reason);
                let count = self.ranges.len();
                self.joined_max = joined_max;
                let joined = match joined_max {
                    1 => String::new(),
                    most => format!("; a reader takes up to {most} neighbours at a time"),
                };
                self.choose("ranges", grouped(count as u64), found + &joined);
            }
            Err(found) => {
                if self.gentle.is_some() {
                    self.ranges = KeyRange::keyed(&key);
                }
                self.choose("split", "not at all".to_owned(), found);
            }
        }
        self.key = Some(key);
        Ok(())
    }

    /// Refuses what does not go together.
    fn check(&self, described: &Option<TableDescription>) -> Result<(), Error> {
        let refused = |what| Err(Error::from(ReadError::Option(what)));
        if self.gentle.is_some() && self.key.is_none() {
            return refused(
                "a gentle read needs a key to go by: the table has no clustered key, so name a column to split by",
            );
        }
        if self.gentle.is_some() && self.consistency != Consistency::None {
            return refused(
                "a gentle read has no transaction beyond a statement, and so no snapshot and no lock of its own",
            );
        }
        let is_temporary = self.source.table_name().is_some_and(|name| name.is_temporary());
        if is_temporary {
            return refused("a temporary table is read by its own session alone: read it without readers");
        }
        match (self.consistency, &self.source) {
            (Consistency::Lock, RowSource::Query { .. }) => refused(
                "which tables a query reads is not known here, so they cannot be locked: name a table, or read in a snapshot with one reader",
            ),
            (Consistency::Snapshot, RowSource::Query { .. }) if self.readers != Readers::Count(1) => refused(
                "several readers need a lock while their snapshots begin, and which tables a query reads is not known here: name a table, or use one reader",
            ),
            (Consistency::Lock, _) if described.as_ref().is_some_and(|table| table.is_view) => {
                refused("a view cannot be locked as a whole: name a table, or read in a snapshot")
            }
            _ => Ok(()),
        }
    }

    fn choose_readers(&mut self) {
        let (value, reason) = match (self.readers, self.ranges.len()) {
            (Readers::Count(1), _) => ("1".to_owned(), String::new()),
            (_, 1) => {
                self.readers = Readers::Count(1);
                ("1".to_owned(), "there is one range".to_owned())
            }
            (Readers::Count(count), ranges) if count > ranges => {
                self.readers = Readers::Count(ranges);
                (ranges.to_string(), format!("a reader a range; {count} were asked for"))
            }
            (Readers::Count(count), _) => (count.to_string(), "as asked".to_owned()),
            (Readers::Auto, _) => {
                ("auto".to_owned(), "one at first, and more while the rows come faster".to_owned())
            }
        };
        self.choose("readers", value, reason);
    }

    fn choose_consistency(&mut self) {
        let reason = match self.consistency {
            Consistency::None => "each statement sees what is committed when it runs",
            Consistency::Snapshot if self.readers == Readers::Count(1) => "one SNAPSHOT transaction",
            Consistency::Snapshot => {
                "SNAPSHOT transactions that begin together, while a shared lock keeps writers waiting for a moment"
            }
            Consistency::Lock => "a shared lock keeps writers waiting until all rows are read",
        };
        self.choose("consistency", self.consistency.to_string(), reason.to_owned());
    }

    fn choose_resume(&mut self) {
        let (value, reason) = match (self.consistency, self.gentle.is_some(), self.unique_key.as_slice()) {
            (Consistency::Snapshot, ..) => ("no", "a broken connection loses its snapshot".to_owned()),
            (_, true, _) => ("yes", "each statement's rows are handed on when it is complete".to_owned()),
            (_, _, []) => (
                "no",
                "without a unique key a range is read again only if none of its rows was handed on"
                    .to_owned(),
            ),
            (_, _, key) => {
                let names: Vec<&str> = key.iter().map(|column| column.name.as_str()).collect();
                ("yes", format!("behind the last row, by the unique key ({})", names.join(", ")))
            }
        };
        self.choose("resume", value.to_owned(), reason);
    }
}

impl fmt::Display for SplitPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_choices(f, &self.choices)
    }
}

/// The size of a source, as far as it is known.
#[derive(Clone, Copy)]
struct Size {
    rows: Option<u64>,
    row_bytes: u64,
}

/// Ranges of whole partitions: without an index, a part of a partition costs as much as all of it.
fn by_whole_partitions(partitioning: &Partitioning, ranges: usize) -> Result<Boundaries, String> {
    let values = partition_bounds::of_groups(partitioning, ranges);
    if values.is_empty() {
        return Err("its rows are in one partition".to_owned());
    }
    let partitions = grouped(partitioning.rows.len() as u64);
    let reason = format!("whole partitions, of {partitions} (function {})", partitioning.function);
    Ok(Boundaries { values, reason })
}

/// Boundaries that follow the partitions, so that no range has parts of several.
fn along_partitions(found: Boundaries, partitioning: Option<&Partitioning>, ranges: usize) -> Boundaries {
    let Some(partitioning) = partitioning else { return found };
    match partition_bounds::with_partitions(&found.values, partitioning, ranges) {
        Some(values) => {
            let partitions = grouped(partitioning.rows.len() as u64);
            let reason = format!("along {partitions} partitions, large ones by {}", found.reason);
            Boundaries { values, reason }
        }
        None => found,
    }
}

/// Returns the number of ranges to aim at, and the number of them that may be joined.
fn wanted(size: Size, options: &ReadOptions) -> (usize, usize) {
    let Size { rows, row_bytes } = size;
    let wanted = wanted_ranges(rows, row_bytes, options);
    let joins = options.readers == Readers::Auto
        && options.ranges.is_none()
        && options.gentle.is_none()
        && !options.keeps_ranges;
    let Some(rows) = rows.filter(|_| joins) else { return (wanted, 1) };
    // The number of readers is not known yet: small ranges keep many busy to the end.
    let bytes = rows.saturating_mul(row_bytes);
    let small = usize::try_from(bytes / SMALL_RANGE_BYTES).unwrap_or(SMALL_RANGES_MAX);
    let ranges = wanted.max(small.min(SMALL_RANGES_MAX));
    let range_bytes = (bytes / ranges as u64).max(1);
    (ranges, usize::try_from(options.range_bytes / range_bytes).unwrap_or(1).max(1))
}

fn wanted_ranges(rows: Option<u64>, row_bytes: u64, options: &ReadOptions) -> usize {
    let readers = match options.readers {
        Readers::Count(count) => count.min(READERS_MAX),
        Readers::Auto => 1,
    };
    let least = if readers > 1 { readers * RANGES_A_READER } else { 1 };
    let by_size = |rows: u64| {
        let bytes = rows.saturating_mul(row_bytes);
        usize::try_from(bytes / options.range_bytes.max(1)).unwrap_or(RANGES_MAX)
    };
    let wanted = match (options.ranges, rows) {
        (Some(ranges), _) => return ranges.clamp(1, RANGES_MAX),
        (None, Some(rows)) => {
            let most = usize::try_from(rows / RANGE_ROWS_MIN).unwrap_or(RANGES_MAX);
            least.max(by_size(rows)).min(most)
        }
        // A query says nothing of its size beforehand.
        (None, None) => least.max(64),
    };
    wanted.clamp(1, RANGES_MAX)
}

/// Bytes of a column's values: those of fixed length take all of it.
fn column_bytes(column: &Column) -> u64 {
    match column.sql_type() {
        SqlType::Char { length } | SqlType::Binary { length } => u64::from(*length),
        SqlType::NChar { length } => 2 * u64::from(*length),
        _ => estimated_len(&column.type_info),
    }
}

fn batch_rows(row_bytes: u64) -> usize {
    usize::try_from(BATCH_BYTES / row_bytes.max(1)).unwrap_or(BATCH_ROWS).clamp(BATCH_ROWS_MIN, BATCH_ROWS)
}

/// Splits by the partitioning column, for a table whose rows have no order of their own. `None` for others, which are
/// split by their key.
fn by_partitions(
    client: &Client,
    table: &TableDescription,
    options: &ReadOptions,
) -> Option<Result<Chosen, String>> {
    let partitioning = table.partitioning.as_ref().filter(|_| options.gentle.is_none())?;
    let kind = match table.storage {
        Storage::Clustered => return None,
        Storage::Heap => "a heap",
        Storage::Columnstore => "a columnstore",
    };
    let column = &partitioning.column;
    let key = key_of(client, table, column, false).map_err(|why| format!("[{column}]: {why}"));
    Some(key.map(|key| Chosen {
        key,
        reason: format!("the partitioning column of {kind}: each range reads partitions of its own"),
        has_index: false,
        order: String::new(),
        unique_key: Vec::new(),
    }))
}

/// Splits by the first column of the clustered key, or says why there is none.
fn by_clustered_key(client: &Client, table: &TableDescription) -> Result<Chosen, String> {
    let index = match (table.storage, table.clustered_index()) {
        _ if table.is_view => {
            return Err("a view has no key of its own; a column to split by can be named".to_owned());
        }
        (Storage::Clustered, Some(index)) => index,
        (Storage::Columnstore, _) => {
            return Err("a columnstore has no order; a column to split by can be named".to_owned());
        }
        _ => {
            return Err(match table.secondary_indexes().find_map(|index| index.key.first()) {
                Some((column, _)) => format!(
                    "a heap: its rows have no order, and by its index each row would be looked up by itself; splitting by [{column}] can be asked for"
                ),
                None => "a heap without a key: its rows have no order that ranges could use".to_owned(),
            });
        }
    };
    let keys: Result<Vec<SplitKey>, String> = index
        .key
        .iter()
        .map(|(name, descending)| {
            key_of(client, table, name, *descending).map_err(|why| format!("[{name}]: {why}"))
        })
        .collect();
    let keys = keys?;
    let Some(key) = keys.first().cloned() else {
        return Err("the clustered index has no columns".to_owned());
    };
    let parts: Vec<String> = index
        .key
        .iter()
        .map(|(name, descending)| format!("{}{}", quoted(name), if *descending { " DESC" } else { "" }))
        .collect();
    let is_unique = index.is_unique && keys.iter().all(|column| !column.is_nullable());
    Ok(Chosen {
        reason: format!("first column of the clustered key ({})", parts.join(", ")),
        has_index: true,
        order: format!(" ORDER BY {}", parts.join(", ")),
        unique_key: if is_unique { keys } else { Vec::new() },
        key,
    })
}

/// Splits by the requested column of the table.
fn by_column(client: &Client, table: &TableDescription, column: &str) -> Result<Chosen, Error> {
    if let (Ok(chosen), false) = (by_clustered_key(client, table), table.is_view)
        && chosen.key.name.eq_ignore_ascii_case(column)
    {
        return Ok(Chosen { reason: format!("as asked; {}", chosen.reason), ..chosen });
    }
    let refused = |reason| Error::from(ReadError::Split { column: column.to_owned(), reason });
    let key = key_of(client, table, column, false).map_err(refused)?;
    let has_index =
        table.secondary_indexes().any(|index| index.key.first().is_some_and(|(name, _)| *name == key.name));
    let is_partitioning =
        table.partitioning.as_ref().is_some_and(|partitioning| partitioning.column == key.name);
    let reason = match has_index {
        true => "as asked; an index begins with it",
        false if is_partitioning => {
            "as asked; it is the partitioning column, so each range reads partitions of its own"
        }
        false => "as asked; no index begins with it, and so each range reads the whole table",
    };
    Ok(Chosen { reason: reason.to_owned(), has_index, order: String::new(), unique_key: Vec::new(), key })
}

fn key_of(
    client: &Client,
    table: &TableDescription,
    name: &str,
    descending: bool,
) -> Result<SplitKey, &'static str> {
    let column = table
        .columns
        .iter()
        .find(|column| column.column.name == name)
        .or_else(|| table.columns.iter().find(|column| column.column.name.eq_ignore_ascii_case(name)))
        .ok_or("the table has no such column")?;
    let sent = column.column.type_info.collation.and_then(tds::Collation::name);
    let collation = column.collation.as_deref().or(sent.as_deref());
    SplitKey::new(&column.column, descending, collation, client.collation())
}

/// Splits by a column of a query's result.
fn by_result_column(client: &Client, columns: &[Column], name: &str) -> Result<Chosen, Error> {
    let refused = |reason| Error::from(ReadError::Split { column: name.to_owned(), reason });
    let mut named = columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
    let column = match (named.next(), named.next()) {
        (Some(column), None) => column,
        (None, _) => return Err(refused("the query has no such column")),
        (Some(_), Some(_)) => return Err(refused("the query has several columns of this name")),
    };
    let collation = column.type_info.collation.and_then(tds::Collation::name);
    let key = SplitKey::new(column, false, collation.as_deref(), client.collation()).map_err(refused)?;
    Ok(Chosen {
        key,
        reason: "as asked".to_owned(),
        has_index: false,
        order: String::new(),
        unique_key: Vec::new(),
    })
}
