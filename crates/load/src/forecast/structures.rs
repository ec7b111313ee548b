//! Pages and log of the heap or the clustered tree, and of each index.

use std::borrow::Cow;

use super::{
    StructureForecast,
    compressed_page::{self, PageRows},
    definition::{ColumnSource, Definition, Structure},
    key::{KeyColumn, sorted},
    large::{Moved, move_out},
    log_volume::{Logged, Way, checkpoint_bytes, embedded, server},
    merging::{Built, Coming, Merging},
    page::{Filled, SLOT_BYTES, STUB_BYTES, fill, fill_limit_bytes},
    record::{RecordColumn, RecordForm, compressed_lengths, plain_lengths, shrunk},
    sample::{Sample, Values, absent},
    stored_kind::StoredKind,
    tree::{Upper, upper_levels},
};
use crate::stage::Compression;

/// Pages of a block of a bulk writer.
const BLOCK_PAGES: usize = 128;
/// A heap's row in an index, and the number of a row in a clustered tree whose key is not unique.
const ADDRESS: StoredKind = StoredKind::Variable { limit_bytes: Some(8), is_unicode: false };
const UNIQUIFIER: StoredKind = StoredKind::Variable { limit_bytes: Some(4), is_unicode: false };

/// The circumstances under which rows enter the table.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// Rows of the sample stand for so many of the load.
    pub factor: f64,
    /// The rows of the sample at which batches end.
    pub batch_ends: Vec<usize>,
    /// True if the second of two batches comes first.
    pub is_out_of_turn: bool,
    pub table_lock: bool,
    /// The table has no rows.
    pub is_empty: bool,
    /// The recovery model lets extents be logged in place of pages.
    pub may_be_minimal: bool,
    /// True if there are so few rows that a server adds them one by one.
    pub is_few: bool,
}

/// The table's structures after the load.
#[derive(Debug)]
pub(super) struct Outcome {
    pub structures: Vec<StructureForecast>,
    /// Log bytes of all of them.
    pub log_bytes: f64,
}

/// Columns of a heap, a tree or an index, the hidden ones, too.
type StoredColumns<'a> = Vec<(StoredKind, bool, Cow<'a, Values>)>;

/// The pages on which the rows of the table lie.
struct Located {
    /// Addresses of the rows of a heap, or numbers of those whose key others share.
    locator: Option<Values>,
}

pub(super) fn outcome(definition: &Definition, sample: &Sample, arrival: &Arrival) -> Outcome {
    let rows = sample.rows();
    let mut columns: StoredColumns<'_> = definition
        .columns
        .iter()
        .map(|column| {
            let own = match column.source {
                ColumnSource::Loaded(place) => sample.values(place).map(Cow::Borrowed),
                _ => None,
            };
            let counted = column.source == ColumnSource::Counted;
            let values = own.unwrap_or_else(|| Cow::Owned(absent(column.kind, counted, rows)));
            (column.kind, column.is_nullable, values)
        })
        .collect();
    let work = Work { definition, arrival, rows };
    // Indexes have whole values, which a table may have moved.
    let whole: StoredColumns<'_> =
        columns.iter().map(|(kind, nullable, values)| (*kind, *nullable, values.clone())).collect();
    let moved = move_out(&mut columns, &definition.table.key, rows);
    let (table, located) = if definition.is_heap() { work.heap(&columns) } else { work.clustered(&columns) };
    let mut all = vec![table];
    all.extend(definition.indexes.iter().map(|index| work.index(index, &whole, &located)));
    let mut outcome = Outcome { structures: Vec::new(), log_bytes: 0.0 };
    work.add_moved(&mut outcome, &moved);
    work.let_grow(&mut outcome, &mut all);
    let moved = outcome.structures.split_off(0);
    for (number, stored) in all.into_iter().enumerate() {
        work.add(&mut outcome, stored);
        if number == 0 {
            outcome.structures.extend_from_slice(&moved);
        }
    }
    outcome
}

/// A heap, a tree or an index that is filled.
struct Stored {
    name: String,
    kind: &'static str,
    compression: Compression,
    rows: f64,
    /// Pages of a heap; the leaves that are built of the first rows of a tree.
    leaves: Filled,
    /// Lengths of entries above that would lead to each row of a tree, in the order of its key.
    entries: Vec<u16>,
    is_tree: bool,
    way: Way,
    growing: Option<Growing>,
}

/// A tree into which batches come, one after the other.
struct Growing {
    merging: Merging,
    batches: std::vec::IntoIter<Vec<u32>>,
    log_bytes: f64,
}

impl Growing {
    /// Puts the next batch into the tree. Returns the bytes of its log records.
    fn take(&mut self) -> usize {
        self.batches.next().iter().for_each(|batch| self.merging.take(batch));
        let records = self.merging.take_records();
        self.log_bytes += records.log_bytes();
        records.bytes
    }
}

impl Stored {
    /// Returns the log bytes of pages that were filled before rows came between others.
    fn filled_log(&self, factor: f64, is_embedded: bool) -> f64 {
        let logged = Logged {
            way: self.way,
            rows: self.rows * factor,
            pages: self.leaves.pages * factor,
            bytes: self.leaves.bytes * factor,
            upper: self.upper(&self.leaves.firsts, self.leaves.pages * factor),
            is_tree: self.is_tree,
        };
        if is_embedded { embedded(&logged) } else { server(&logged) }
    }

    /// Returns the levels above leaves that begin with these rows.
    fn upper(&self, firsts: &[usize], pages: f64) -> Upper {
        let entries: Vec<u16> = firsts.iter().filter_map(|first| self.entries.get(*first).copied()).collect();
        upper_levels(pages, &entries)
    }
}

struct Work<'a> {
    definition: &'a Definition,
    arrival: &'a Arrival,
    rows: usize,
}

/// Rows in the order in which they are stored.
struct Ordered<'a> {
    structure: &'a Structure,
    form: RecordForm,
    records: Vec<RecordColumn<'a>>,
    order: Vec<u32>,
    least_bytes: usize,
    block_pages: usize,
}

impl Work<'_> {
    fn add(&self, outcome: &mut Outcome, stored: Stored) {
        let factor = self.arrival.factor;
        outcome.log_bytes += stored.filled_log(factor, self.definition.is_embedded);
        let grown = stored.growing.as_ref().map(|growing| (growing.merging.leaves(), growing.log_bytes));
        let leaves = match &grown {
            Some((leaves, log_bytes)) => {
                outcome.log_bytes += log_bytes * factor;
                leaves
            }
            None => &stored.leaves,
        };
        let upper = stored.upper(&leaves.firsts, leaves.pages * factor);
        outcome.structures.push(StructureForecast {
            name: stored.name.clone(),
            kind: stored.kind,
            compression: stored.compression,
            rows: (stored.rows * factor).round() as u64,
            leaf_pages: whole_pages(leaves.pages * factor),
            upper_pages: whole_pages(upper.pages),
            map_pages: maps_of(leaves.pages * factor + upper.pages),
            compressed_pages: whole_pages(leaves.compressed_pages * factor),
        });
    }

    /// Lets batches come into trees, and the server make its checkpoints between them: behind one every page that changes is logged
    /// as a whole once more.
    fn let_grow(&self, outcome: &mut Outcome, all: &mut [Stored]) {
        let Arrival { factor, ref batch_ends, .. } = *self.arrival;
        let Definition { is_embedded, checkpoints, .. } = *self.definition;
        // Heaps and what is outside of rows grow with each batch.
        let steady: f64 = outcome.log_bytes
            + all
                .iter()
                .filter(|stored| !stored.is_tree)
                .map(|of| of.filled_log(factor, is_embedded))
                .sum::<f64>();
        let trees = || all.iter().filter(|stored| stored.is_tree);
        let built: f64 = trees().map(|of| of.filled_log(factor, is_embedded)).sum();
        let mut since = checkpoints.since_bytes + built;
        let mut start = 0;
        for (number, end) in batch_ends.iter().enumerate() {
            since += steady * (end - start) as f64 / self.rows.max(1) as f64;
            start = *end;
            if number > 0 {
                let growing = all.iter_mut().filter_map(|stored| stored.growing.as_mut());
                since += factor * growing.map(|growing| growing.take() as f64).sum::<f64>();
            }
            if is_embedded && since >= checkpoints.every_bytes && number + 1 < batch_ends.len() {
                since = 0.0;
                let growing = all.iter_mut().filter_map(|stored| stored.growing.as_mut());
                growing.for_each(|growing| growing.merging.note_checkpoint());
                outcome.log_bytes += checkpoint_bytes(all.len());
            }
        }
    }

    fn add_moved(&self, outcome: &mut Outcome, moved: &Moved) {
        let factor = self.arrival.factor;
        let large = moved.large.pages + moved.nodes.pages;
        for (kind, pages, bytes) in [
            ("row overflow", moved.overflow.pages, moved.overflow.bytes),
            ("large values", large, moved.large.bytes + moved.nodes.bytes),
        ] {
            if pages == 0.0 {
                continue;
            }
            let way = self.way(true);
            let way = if way == Way::Rows { Way::Pages } else { way };
            let logged = Logged {
                way,
                rows: 0.0,
                pages: pages * factor,
                bytes: bytes * factor,
                upper: Upper::default(),
                is_tree: false,
            };
            outcome.log_bytes +=
                if self.definition.is_embedded { embedded(&logged) } else { server(&logged) };
            outcome.structures.push(StructureForecast {
                name: String::new(),
                kind,
                compression: Compression::None,
                rows: 0,
                leaf_pages: whole_pages(pages * factor),
                upper_pages: 0,
                map_pages: maps_of(pages * factor),
                compressed_pages: 0,
            });
        }
    }

    /// Chooses the logging of the first rows of a heap, or of an empty tree.
    fn way(&self, is_heap: bool) -> Way {
        let Arrival { table_lock, is_empty, may_be_minimal, is_few, .. } = *self.arrival;
        let is_embedded = self.definition.is_embedded;
        match (is_heap, is_embedded) {
            (_, true) if is_few => Way::Rows,
            _ if may_be_minimal && table_lock && (is_heap || is_empty) => Way::Minimal,
            (_, true) => Way::Pages,
            (_, false) if table_lock => Way::Pages,
            _ => Way::Rows,
        }
    }

    fn heap(&self, columns: &StoredColumns<'_>) -> (Stored, Located) {
        let table = &self.definition.table;
        let has_indexes = !self.definition.indexes.is_empty();
        let compressed = table.compression != Compression::None;
        let ordered = Ordered {
            structure: table,
            form: RecordForm::Row,
            records: records(columns),
            order: (0..self.rows as u32).collect(),
            least_bytes: if compressed { STUB_BYTES } else { 0 },
            block_pages: if has_indexes { BLOCK_PAGES } else { 0 },
        };
        let lengths = ordered.lengths();
        let leaves = match table.compression {
            Compression::Page if !self.arrival.is_few => {
                let mut filled = ordered.fill(&lengths, 100);
                filled.pages +=
                    (self.arrival.batch_ends.len().saturating_sub(1)) as f64 / 2.0 / self.arrival.factor;
                filled
            }
            _ => {
                let mut start = 0;
                let mut leaves = Filled::default();
                for end in &self.arrival.batch_ends {
                    let lengths = lengths.get(start..*end).unwrap_or_default();
                    let mut batch = fill(lengths.iter().copied(), 100, ordered.least_bytes);
                    batch.firsts.iter_mut().for_each(|first| *first += start);
                    leaves = leaves.plus(batch);
                    start = *end;
                }
                leaves
            }
        };
        let locator = has_indexes.then(|| addresses(&leaves, self.rows));
        let result = Stored {
            name: self.definition.shape.name.name.clone(),
            kind: "heap",
            compression: table.compression,
            rows: self.rows as f64,
            leaves,
            entries: Vec::new(),
            is_tree: false,
            way: self.way(true),
            growing: None,
        };
        (result, Located { locator })
    }

    fn clustered(&self, columns: &StoredColumns<'_>) -> (Stored, Located) {
        let table = &self.definition.table;
        let key: Vec<KeyColumn<'_>> =
            table.key.iter().filter_map(|key| self.key_column(columns, *key)).collect();
        let (order, repeats) = sorted(&key, self.rows);
        let locator = (!table.is_unique).then(|| uniquifiers(&order, &repeats, self.rows));
        let mut all = records(columns);
        let hidden =
            locator.as_ref().map(|values| RecordColumn { kind: UNIQUIFIER, is_nullable: true, values });
        all.extend(hidden);
        let mut keys: Vec<RecordColumn<'_>> =
            table.key.iter().filter_map(|(column, _)| all.get(*column).copied()).collect();
        keys.extend(hidden);
        let ordered = Ordered {
            structure: table,
            form: RecordForm::Row,
            records: all,
            order,
            least_bytes: 0,
            block_pages: 0,
        };
        let result = self.tree("clustered", &ordered, &keys);
        (result, Located { locator })
    }

    fn index(&self, index: &Structure, columns: &StoredColumns<'_>, located: &Located) -> Stored {
        let table = &self.definition.table;
        let record = |column: usize| records(columns).get(column).copied();
        let of_table: Vec<RecordColumn<'_>> = records(columns);
        let mut places: Vec<usize> = index.key.iter().map(|(column, _)| *column).collect();
        let mut parts: Vec<RecordColumn<'_>> =
            places.iter().filter_map(|column| of_table.get(*column).copied()).collect();
        let mut keys = parts.clone();
        let mut key: Vec<KeyColumn<'_>> =
            index.key.iter().filter_map(|key| self.key_column(columns, *key)).collect();
        for (column, descending) in &table.key {
            if !places.contains(column) {
                places.push(*column);
                parts.extend(record(*column));
                if !index.is_unique {
                    keys.extend(record(*column));
                    key.extend(self.key_column(columns, (*column, *descending)));
                }
            }
        }
        if let Some(values) = &located.locator {
            let hidden = match self.definition.is_heap() {
                true => RecordColumn { kind: ADDRESS, is_nullable: false, values },
                false => RecordColumn { kind: UNIQUIFIER, is_nullable: true, values },
            };
            parts.push(hidden);
            if !index.is_unique {
                keys.push(hidden);
            }
        }
        for column in &index.included {
            if !places.contains(column) {
                places.push(*column);
                parts.extend(record(*column));
            }
        }
        let (mut order, _) = sorted(&key, self.rows);
        if let Some((_, _, values)) = index.not_null.and_then(|column| columns.get(column)) {
            order.retain(|row| values.get(*row as usize).is_some());
        }
        let ordered = Ordered {
            structure: index,
            form: RecordForm::IndexLeaf,
            records: parts,
            order,
            least_bytes: 0,
            block_pages: 0,
        };
        self.tree("index", &ordered, &keys)
    }

    /// Makes a tree with these rows in its leaves; `keys` are the columns of its upper levels.
    fn tree(&self, kind: &'static str, ordered: &Ordered<'_>, keys: &[RecordColumn<'_>]) -> Stored {
        let Structure { name, compression, fill_percent, .. } = ordered.structure;
        let Arrival { table_lock, is_empty, is_few, ref batch_ends, .. } = *self.arrival;
        let entries: Vec<u16> = {
            let all = match compression {
                Compression::None => plain_lengths(RecordForm::IndexUpper, keys, self.rows),
                _ => compressed_lengths(RecordForm::IndexUpper, &shrunk(keys), self.rows),
            };
            ordered.order.iter().map(|row| all.get(*row as usize).copied().unwrap_or(0)).collect()
        };
        let fill_percent = if table_lock && is_empty { *fill_percent } else { 100 };
        let way = self.way(false);
        let adds_row_by_row = is_few && self.definition.is_embedded;
        let (leaves, growing) = if batch_ends.len() > 1 || adds_row_by_row {
            let (first, growing) = self.growing(ordered, &entries, fill_percent, adds_row_by_row);
            (first, Some(growing))
        } else {
            (ordered.fill(&ordered.lengths(), fill_percent), None)
        };
        Stored {
            name: name.clone(),
            kind,
            compression: *compression,
            rows: ordered.order.len() as f64,
            leaves,
            entries,
            is_tree: true,
            way: if adds_row_by_row && way == Way::Rows { Way::Counted } else { way },
            growing,
        }
    }

    /// Rows that come in several batches, of which the first one builds the tree, or one by one.
    fn growing(
        &self,
        ordered: &Ordered<'_>,
        entries: &[u16],
        fill_percent: u8,
        row_by_row: bool,
    ) -> (Filled, Growing) {
        let mut ranks = vec![u32::MAX; self.rows];
        for (rank, row) in ordered.order.iter().enumerate() {
            if let Some(place) = ranks.get_mut(*row as usize) {
                *place = rank as u32;
            }
        }
        let ranks_of = |rows: std::ops::Range<usize>| -> Vec<u32> {
            let own = ranks.get(rows).unwrap_or_default().iter().copied();
            own.filter(|rank| *rank < u32::MAX).collect()
        };
        let lengths = ordered.lengths();
        let whole = ordered.fill(&lengths, 100);
        let may_compress = ordered.structure.compression == Compression::Page;
        let coming = Coming { may_compress, ..coming(lengths, entries, &whole) };
        if row_by_row {
            let mut merging = Merging::new(coming, None);
            ranks_of(0..self.rows).into_iter().for_each(|row| merging.take(&[row]));
            let mut growing = Growing { merging, batches: Vec::new().into_iter(), log_bytes: 0.0 };
            growing.take();
            return (Filled::default(), growing);
        }
        let mut start = 0;
        let mut batches = Vec::new();
        for end in &self.arrival.batch_ends {
            let mut batch = ranks_of(start..*end);
            batch.sort_unstable();
            batches.push(batch);
            start = *end;
        }
        let first = batches.remove(0);
        if self.arrival.is_out_of_turn {
            batches.chunks_mut(2).for_each(<[Vec<u32>]>::reverse);
        }
        let filled = coming.fill(&first, fill_percent);
        let is_logged = self.way(false) != Way::Minimal;
        let merging = Merging::new(coming, Some(&Built { rows: &first, filled: &filled, is_logged }));
        // Places among the rows of the batch become those among all.
        let firsts = filled.firsts.iter().filter_map(|place| first.get(*place).map(|rank| *rank as usize));
        let filled = Filled { firsts: firsts.collect(), ..filled };
        (filled, Growing { merging, batches: batches.into_iter(), log_bytes: 0.0 })
    }

    fn key_column<'v>(
        &self,
        columns: &'v StoredColumns<'_>,
        (column, descending): (usize, bool),
    ) -> Option<KeyColumn<'v>> {
        let (kind, _, values) = columns.get(column)?;
        let ignores_case = self.definition.columns.get(column)?.ignores_case;
        Some(KeyColumn { kind: *kind, values, descending, ignores_case })
    }
}

impl Ordered<'_> {
    /// Bytes of each row's record, in the order of the rows.
    fn lengths(&self) -> Vec<u16> {
        let rows = self.records.first().map_or(0, |column| column.values.len());
        let lengths = match self.structure.compression {
            Compression::None => plain_lengths(self.form, &self.records, rows),
            _ => compressed_lengths(self.form, &shrunk(&self.records), rows),
        };
        self.order.iter().map(|row| lengths.get(*row as usize).copied().unwrap_or(0)).collect()
    }

    fn fill(&self, lengths: &[u16], fill_percent: u8) -> Filled {
        if self.structure.compression != Compression::Page {
            return fill(lengths.iter().copied(), fill_percent, self.least_bytes);
        }
        compressed_page::fill(&PageRows {
            columns: &shrunk(&self.records),
            order: &self.order,
            lengths,
            limit_bytes: fill_limit_bytes(fill_percent),
            least_bytes: self.least_bytes,
            block_pages: self.block_pages,
        })
    }
}

/// Rows of these lengths that come into a tree; `whole` is what they take if all come at once.
fn coming(lengths: Vec<u16>, entries: &[u16], whole: &Filled) -> Coming {
    let slots = (SLOT_BYTES * lengths.len()) as f64;
    let plain: f64 = lengths.iter().map(|length| f64::from(*length)).sum();
    let compressed_share = (whole.compressed_pages > 0.0)
        .then(|| ((whole.bytes - whole.information_bytes - slots) / plain.max(1.0)).clamp(0.01, 1.0));
    let entry_bytes = entries.iter().map(|length| usize::from(*length)).sum::<usize>() / entries.len().max(1);
    Coming {
        lengths,
        may_compress: false,
        compressed_share,
        information_bytes: (whole.information_bytes / whole.compressed_pages.max(1.0)) as usize,
        entry_bytes: entry_bytes.max(1),
    }
}

fn records<'a>(columns: &'a StoredColumns<'_>) -> Vec<RecordColumn<'a>> {
    let record = |(kind, is_nullable, values): &'a (StoredKind, bool, Cow<'_, Values>)| RecordColumn {
        kind: *kind,
        is_nullable: *is_nullable,
        values,
    };
    columns.iter().map(record).collect()
}

/// Addresses that rows of a heap may get: page, file and slot.
fn addresses(filled: &Filled, rows: usize) -> Values {
    /// Pages before the table's.
    const FIRST_PAGE: u32 = 256;
    let mut values = Values::default();
    let mut page = 0;
    let rows_per_page = (rows as f64 / filled.pages.max(1.0)).max(1.0);
    for row in 0..rows {
        let (number, slot) = match filled.firsts.len() as f64 >= filled.pages.floor() {
            true => {
                while filled.firsts.get(page + 1).is_some_and(|first| *first <= row) {
                    page += 1;
                }
                (page, row - filled.firsts.get(page).copied().unwrap_or(0))
            }
            false => {
                let page = (row as f64 / rows_per_page) as usize;
                (page, row.saturating_sub((page as f64 * rows_per_page) as usize))
            }
        };
        let [a, b, c, d] = (FIRST_PAGE + number as u32).to_le_bytes();
        let [low, high] = (slot as u16).to_le_bytes();
        values.push(Some(&[a, b, c, d, 1, 0, low, high]));
    }
    values
}

/// Numbers that tell rows of one key apart; the first has none.
fn uniquifiers(order: &[u32], repeats: &[bool], rows: usize) -> Values {
    let mut numbers = vec![0_u32; rows];
    let mut number = 0;
    for (row, repeats) in order.iter().zip(repeats) {
        number = if *repeats { number + 1 } else { 0 };
        if let Some(place) = numbers.get_mut(*row as usize) {
            *place = number;
        }
    }
    let mut values = Values::default();
    for number in numbers {
        values.push((number > 0).then_some(number.to_be_bytes()).as_ref().map(<[u8; 4]>::as_slice));
    }
    values
}

/// Pages that say which extents belong to something: one for 4 GB.
fn maps_of(pages: f64) -> u64 {
    /// Extents of a map.
    const MAP_PAGES: f64 = 63_904.0 * 8.0;
    (pages / MAP_PAGES).ceil().max(1.0) as u64
}

fn whole_pages(pages: f64) -> u64 {
    pages.ceil().max(0.0) as u64
}
