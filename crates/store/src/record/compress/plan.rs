//! Plans what a page of given rows leaves out: an anchor per column, then a dictionary of what remains.

use std::ops::Range;

use super::anchor::{Anchor, CodedCells};
use super::cell::SYMBOL;
use super::dictionary::Dictionary;
use super::distinct::Distinct;
use super::grid::{CellView, WHOLE};
use super::information::InformationWriter;
use super::row::{RowLengths, push_costs};

/// Pages in a row without an anchor after which a column is searched for one less often.
const MISSES_LIMIT: u32 = 4;
/// Pages after which such a column is searched again.
const RETRY_PAGES: u32 = 16;

/// Plans pages; kept from page to page for its memory, and for what it has learnt of the columns.
#[derive(Debug, Default)]
pub struct Planner {
    columns: Vec<CodedColumn>,
    dictionary: Dictionary,
    lengths: Vec<u16>,
    adder: RowLengths,
    information: InformationWriter,
    /// Rows for which anchors and dictionary were chosen, and those with the ones that were added.
    planned: usize,
    rows: usize,
}

/// A column of the rows as the page would have them.
#[derive(Debug, Default)]
struct CodedColumn {
    anchor: Option<Anchor<'static>>,
    /// True if the column's cells differ from those that they were made of.
    changed: bool,
    /// Number of the column's rows that have symbols.
    symbols: usize,
    cells: Cells,
    /// Spare memory, swapped with `cells`.
    spare: Cells,
    /// The column's values if they are few, which stand for its rows while the page is planned.
    distinct: Distinct,
    has_few: bool,
    /// Pages so far, and how many of the last had no anchor in this column.
    pages: u32,
    misses: u32,
}

/// Cells of a column that differ from those that they were made of, or only what those cost.
#[derive(Debug, Default)]
struct Cells {
    codes: Vec<u8>,
    words: Vec<u64>,
    /// Heads of the long values, if the column has an anchor.
    heads: Vec<u16>,
    /// Bytes that each value adds to its row.
    costs: Vec<u16>,
}

impl Planner {
    /// Plans a page of the first `rows` rows. False if they share nothing.
    pub fn plan(&mut self, views: &[CellView<'_>], rows: usize) -> bool {
        self.columns.resize_with(views.len(), CodedColumn::default);
        (self.rows, self.planned) = (rows, rows);
        for (column, view) in self.columns.iter_mut().zip(views) {
            column.plan(&view.slice(0..rows));
        }
        let planned = self.columns.iter().zip(views);
        let coded: Vec<CellView<'_>> = planned.map(|(column, view)| column.planned(view, rows)).collect();
        let counts: Vec<&[u16]> = self.columns.iter().map(CodedColumn::counts).collect();
        let any_symbol = self.dictionary.build(&coded, &counts, rows);
        let Self { columns, dictionary, .. } = self;
        for (index, symbols) in dictionary.columns().filter(|_| any_symbol) {
            if let (Some(column), Some(view)) = (columns.get_mut(index), views.get(index)) {
                column.give_symbols(&view.slice(0..rows), symbols.iter());
            }
        }
        for (column, view) in columns.iter_mut().zip(views) {
            column.spread(&view.slice(0..rows));
        }
        let anchors = columns.iter().map(|column| column.anchor.as_ref().map(Anchor::bytes));
        let shares = self.information.write(anchors, dictionary.entries());
        self.measure(views, 0..rows);
        shares
    }

    /// Learns from the last planned page what need not be tried for the next ones.
    pub fn learn(&mut self) {
        let Self { columns, dictionary, .. } = self;
        dictionary.learn(self.planned, |index| columns.get(index).map_or(0, |column| column.symbols));
        for column in &mut self.columns {
            column.pages = column.pages.wrapping_add(1);
            column.has_few &= column.anchor.is_some() || column.symbols > 0;
            column.misses = if column.anchor.is_some() { 0 } else { column.misses.wrapping_add(1) };
        }
    }

    /// Adds rows to those that the page was planned for, up to `rows` of all.
    pub fn extend(&mut self, views: &[CellView<'_>], rows: usize) {
        let added = self.rows..rows;
        for (column, view) in self.columns.iter_mut().zip(views) {
            column.extend(&view.slice(added.clone()), added.start);
        }
        let mut found: Vec<(usize, Vec<u16>)> = Vec::new();
        let coded: Vec<CellView<'_>> =
            self.columns.iter().zip(views).map(|(column, view)| column.view(view, rows)).collect();
        for (index, (column, view)) in self.columns.iter().zip(&coded).enumerate() {
            if column.symbols > 0 {
                let symbols = added.clone().map(|row| self.dictionary.find(view, row, &coded));
                found.push((index, symbols.collect()));
            }
        }
        drop(coded);
        for (index, symbols) in found {
            if let (Some(column), Some(view)) = (self.columns.get_mut(index), views.get(index)) {
                column.cells.put_symbols(&view.slice(0..rows), added.start, symbols.into_iter());
            }
        }
        self.rows = rows;
        self.measure(views, added);
    }

    /// Returns the rows as the page would have them, from those that it was planned for.
    pub fn views<'s>(&'s self, views: &'s [CellView<'s>]) -> Vec<CellView<'s>> {
        self.columns.iter().zip(views).map(|(column, view)| column.view(view, self.rows)).collect()
    }

    /// Counts the rows that were planned.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the bytes of each row's record in the page.
    pub fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Returns the information record.
    pub fn information(&self) -> &[u8] {
        self.information.bytes()
    }

    /// Appends the lengths of these rows to those of the rows before them.
    fn measure(&mut self, views: &[CellView<'_>], rows: Range<usize>) {
        let Self { columns, lengths, adder, .. } = self;
        adder.start(columns.len(), rows.len());
        for (column, view) in columns.iter().zip(views) {
            let codes = if column.changed { &column.cells.codes } else { view.codes };
            let costs = column.cells.costs.get(rows.clone()).unwrap_or_default();
            adder.add(codes.get(rows.clone()).unwrap_or_default(), costs);
        }
        adder.finish(columns.len());
        lengths.truncate(rows.start);
        lengths.extend_from_slice(&adder.bytes);
    }
}

impl CodedColumn {
    /// Chooses an anchor, and codes the values with it.
    fn plan(&mut self, view: &CellView<'_>) {
        let Self { cells, distinct, .. } = self;
        cells.clear();
        (self.changed, self.anchor, self.symbols) = (false, None, 0);
        let tried = self.has_few || self.pages.is_multiple_of(RETRY_PAGES);
        self.has_few = tried && distinct.find(view);
        let values = if self.has_few { distinct.view(view) } else { *view };
        push_costs(&values, &mut cells.costs);
        if self.misses >= MISSES_LIMIT && !self.misses.is_multiple_of(RETRY_PAGES) {
            return;
        }
        let anchor = match self.has_few {
            true => Anchor::of(&values, distinct.heaviest()),
            false => Anchor::choose(view, self.misses == 0 && self.pages > 0),
        };
        let Some(anchor) = anchor else { return };
        let counts = if self.has_few { distinct.counts() } else { &[] };
        let before = total(&cells.costs, counts) as usize;
        cells.costs.clear();
        cells.code(&anchor, &values);
        if total(&cells.costs, counts) as usize + anchor.bytes().len() + 2 < before {
            (self.changed, self.anchor) = (true, Some(anchor));
            return;
        }
        cells.clear();
        push_costs(&values, &mut cells.costs);
    }

    /// Returns the values of the column while the page is planned, or the different ones if they are few.
    fn planned<'v>(&'v self, view: &CellView<'v>, rows: usize) -> CellView<'v> {
        match self.has_few {
            true => self.view(&self.distinct.view(view), self.distinct.counts().len()),
            false => self.view(view, rows),
        }
    }

    /// Returns the number of rows that each value stands for; empty: one each.
    fn counts(&self) -> &[u16] {
        if self.has_few { self.distinct.counts() } else { &[] }
    }

    /// Gives symbols to the values; 0: the value stays, else its symbol and one.
    fn give_symbols(&mut self, view: &CellView<'_>, symbols: impl Iterator<Item = u16>) {
        let values = if self.has_few { self.distinct.view(view) } else { *view };
        self.changed = true;
        self.symbols = self.cells.put_symbols(&values, 0, symbols);
    }

    /// Makes cells of all rows from those of the different values.
    fn spread(&mut self, view: &CellView<'_>) {
        if !self.has_few {
            return;
        }
        if !self.changed {
            self.cells.clear();
            push_costs(view, &mut self.cells.costs);
            return;
        }
        let Self { cells, spare, distinct, .. } = self;
        let symbols = cells.codes.iter().zip(distinct.counts()).filter(|(code, _)| **code == SYMBOL);
        self.symbols = symbols.map(|(_, count)| usize::from(*count)).sum();
        spare.clear();
        spread(&cells.codes, distinct.places(), &mut spare.codes);
        spread(&cells.words, distinct.places(), &mut spare.words);
        spread(&cells.costs, distinct.places(), &mut spare.costs);
        if !cells.heads.is_empty() {
            spread(&cells.heads, distinct.places(), &mut spare.heads);
        }
        std::mem::swap(cells, spare);
    }

    /// Adds values, before which there are `rows`.
    fn extend(&mut self, view: &CellView<'_>, rows: usize) {
        let Self { cells, anchor, changed, .. } = self;
        match anchor {
            Some(anchor) => cells.code(anchor, view),
            None => {
                cells.costs.truncate(rows);
                push_costs(view, &mut cells.costs);
                if *changed {
                    cells.codes.extend_from_slice(view.codes);
                    cells.words.extend_from_slice(view.words);
                }
            }
        }
    }

    /// Returns the column's cells; `of` has those that they were made of.
    fn view<'v>(&'v self, of: &CellView<'v>, rows: usize) -> CellView<'v> {
        let Cells { codes, words, heads, costs } = &self.cells;
        match self.changed {
            true => CellView { codes, words, heads, costs, ..*of },
            false => of.slice(0..rows),
        }
    }
}

impl Cells {
    fn clear(&mut self) {
        self.codes.clear();
        self.words.clear();
        self.heads.clear();
        self.costs.clear();
    }

    /// Appends values as they are in a column with an anchor.
    fn code(&mut self, anchor: &Anchor<'_>, view: &CellView<'_>) {
        let Self { codes, words, heads, costs } = self;
        let (from, rows) = (codes.len(), codes.len() + view.codes.len());
        codes.resize(rows, 0);
        words.resize(rows, 0);
        heads.resize(rows, WHOLE);
        costs.resize(rows, 0);
        let out = CodedCells {
            codes: codes.get_mut(from..).unwrap_or_default(),
            words: words.get_mut(from..).unwrap_or_default(),
            heads: heads.get_mut(from..).unwrap_or_default(),
            costs: costs.get_mut(from..).unwrap_or_default(),
        };
        anchor.code_column(view, out);
    }

    /// Puts symbols in the places of values of `view` from `first` on; 0: the value stays, else its symbol and one. Returns how many.
    fn put_symbols(
        &mut self,
        view: &CellView<'_>,
        first: usize,
        symbols: impl Iterator<Item = u16>,
    ) -> usize {
        if self.codes.is_empty() {
            self.codes.extend_from_slice(view.codes);
            self.words.extend_from_slice(view.words);
        }
        let mut found = 0;
        let cells = self.codes.iter_mut().zip(&mut self.words).zip(&mut self.costs).skip(first);
        for (((code, word), cost), symbol) in cells.zip(symbols) {
            if symbol > 0 {
                found += 1;
                (*code, *word, *cost) = (SYMBOL, u64::from(symbol - 1), 1);
            }
        }
        found
    }
}

/// Adds up the cost of all values. `counts` has the rows that each stands for; empty: one each.
fn total(costs: &[u16], counts: &[u16]) -> u32 {
    match counts {
        [] => costs.iter().map(|cost| u32::from(*cost)).sum(),
        counts => costs.iter().zip(counts).map(|(cost, count)| u32::from(*cost) * u32::from(*count)).sum(),
    }
}

fn spread<T: Copy + Default>(values: &[T], places: &[u8], out: &mut Vec<T>) {
    out.extend(places.iter().map(|place| values.get(usize::from(*place)).copied().unwrap_or_default()));
}
