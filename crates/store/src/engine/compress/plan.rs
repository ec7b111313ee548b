//! What a page of given rows would leave out: an anchor per column, then a dictionary of what remains.

use std::ops::Range;

use super::anchor::{Anchor, CodedCells};
use super::cell::SYMBOL;
use super::dictionary::Dictionary;
use super::grid::{CellView, WHOLE};
use super::information::InformationWriter;
use super::row::{RowLengths, push_costs};

/// A column in which so many pages in a row had no anchor ...
const MISSES_LIMIT: u32 = 4;
/// ... gets a new chance every so many pages.
const RETRY_PAGES: u32 = 16;

/// Plans pages; kept from page to page for its memory, and for what it has learnt of the columns.
#[derive(Debug, Default)]
pub struct Planner {
    columns: Vec<CodedColumn>,
    dictionary: Dictionary,
    lengths: Vec<u32>,
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
    /// Whether its cells differ from those that they were made of.
    changed: bool,
    /// How many of its values have symbols.
    symbols: usize,
    /// If it is changed: its cells, and the heads of long ones if it has an anchor.
    codes: Vec<u8>,
    words: Vec<u64>,
    heads: Vec<u16>,
    /// What each value costs its row.
    costs: Vec<u16>,
    /// Pages so far, and how many of the last had no anchor in this column.
    pages: u32,
    misses: u32,
}

impl Planner {
    /// Plans a page of the first `rows` rows. False: they share nothing.
    pub fn plan(&mut self, views: &[CellView<'_>], rows: usize) -> bool {
        self.columns.resize_with(views.len(), CodedColumn::default);
        (self.rows, self.planned) = (rows, rows);
        for (column, view) in self.columns.iter_mut().zip(views) {
            column.plan(&view.slice(0..rows));
        }
        let coded: Vec<CellView<'_>> =
            self.columns.iter().zip(views).map(|(column, view)| column.view(view, rows)).collect();
        let any_symbol = self.dictionary.build(&coded, rows);
        drop(coded);
        let Self { columns, dictionary, .. } = self;
        for (index, symbols) in dictionary.columns(rows).filter(|_| any_symbol) {
            if let (Some(column), Some(view)) = (columns.get_mut(index), views.get(index)) {
                column.put_symbols(&view.slice(0..rows), 0, symbols.iter());
            }
        }
        let anchors = columns.iter().map(|column| column.anchor.as_ref().map(Anchor::bytes));
        let shares = self.information.write(anchors, dictionary.entries());
        self.measure(views, 0..rows);
        shares
    }

    /// Learns from the page that was planned last what need not be tried for the next ones.
    pub fn learn(&mut self) {
        let Self { columns, dictionary, .. } = self;
        dictionary.learn(self.planned, |index| columns.get(index).map_or(0, |column| column.symbols));
        for column in &mut self.columns {
            column.pages = column.pages.saturating_add(1);
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
                column.put_symbols(&view.slice(0..rows), added.start, symbols.into_iter());
            }
        }
        self.rows = rows;
        self.measure(views, added);
    }

    /// The rows as the page would have them, from those that it was planned for.
    pub fn views<'s>(&'s self, views: &'s [CellView<'s>]) -> Vec<CellView<'s>> {
        self.columns.iter().zip(views).map(|(column, view)| column.view(view, self.rows)).collect()
    }

    /// Number of rows that were planned.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of each row's record in the page.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// The information record.
    pub fn information(&self) -> &[u8] {
        self.information.bytes()
    }

    /// Lengths of these rows, behind those of the rows before them.
    fn measure(&mut self, views: &[CellView<'_>], rows: Range<usize>) {
        let Self { columns, lengths, adder, .. } = self;
        adder.start(columns.len(), rows.len());
        for (column, view) in columns.iter().zip(views) {
            let codes = if column.changed { &column.codes } else { view.codes };
            let costs = column.costs.get(rows.clone()).unwrap_or_default();
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
        self.clear();
        self.anchor = None;
        self.symbols = 0;
        push_costs(view, &mut self.costs);
        if self.misses >= MISSES_LIMIT && !self.misses.is_multiple_of(RETRY_PAGES) {
            return;
        }
        let Some(anchor) = Anchor::choose(view, self.misses == 0 && self.pages > 0) else { return };
        let before = total(&self.costs) as usize;
        self.costs.clear();
        self.code(&anchor, view);
        if total(&self.costs) as usize + anchor.bytes().len() + 2 < before {
            self.anchor = Some(anchor);
            return;
        }
        self.clear();
        push_costs(view, &mut self.costs);
    }

    fn clear(&mut self) {
        self.changed = false;
        self.codes.clear();
        self.words.clear();
        self.heads.clear();
        self.costs.clear();
    }

    /// Adds values, before which there are `rows`.
    fn extend(&mut self, view: &CellView<'_>, rows: usize) {
        match self.anchor.take() {
            Some(anchor) => {
                self.code(&anchor, view);
                self.anchor = Some(anchor);
            }
            None => {
                self.costs.truncate(rows);
                push_costs(view, &mut self.costs);
                if self.changed {
                    self.codes.extend_from_slice(view.codes);
                    self.words.extend_from_slice(view.words);
                }
            }
        }
    }

    /// Appends values as they are in a column with an anchor.
    fn code(&mut self, anchor: &Anchor<'_>, view: &CellView<'_>) {
        self.changed = true;
        let Self { codes, words, heads, costs, .. } = self;
        let (from, rows) = (codes.len(), codes.len() + view.codes.len());
        codes.resize(rows, 0);
        words.resize(rows, 0);
        heads.resize(rows, WHOLE);
        costs.resize(rows, 0);
        anchor.code_column(
            view,
            CodedCells {
                codes: codes.get_mut(from..).unwrap_or_default(),
                words: words.get_mut(from..).unwrap_or_default(),
                heads: heads.get_mut(from..).unwrap_or_default(),
                costs: costs.get_mut(from..).unwrap_or_default(),
            },
        );
    }

    /// Puts symbols in the places of values from `first` on; 0: the value stays, else its symbol and one.
    fn put_symbols(&mut self, view: &CellView<'_>, first: usize, symbols: impl Iterator<Item = u16> + Clone) {
        let found = symbols.clone().filter(|symbol| *symbol > 0).count();
        if found == 0 {
            return;
        }
        self.symbols += found;
        if !self.changed {
            self.changed = true;
            self.codes.extend_from_slice(view.codes);
            self.words.extend_from_slice(view.words);
        }
        let cells = self.codes.iter_mut().zip(&mut self.words).zip(&mut self.costs).skip(first);
        for (((code, word), cost), symbol) in cells.zip(symbols) {
            if symbol > 0 {
                (*code, *word, *cost) = (SYMBOL, u64::from(symbol - 1), 1);
            }
        }
    }

    /// Its cells, of those that they were made of.
    fn view<'v>(&'v self, of: &CellView<'v>, rows: usize) -> CellView<'v> {
        match self.changed {
            true => CellView { codes: &self.codes, words: &self.words, heads: &self.heads, ..*of },
            false => of.slice(0..rows),
        }
    }
}

fn total(costs: &[u16]) -> u32 {
    costs.iter().map(|cost| u32::from(*cost)).sum()
}
