//! What a page of given rows would leave out: an anchor per column, then a dictionary of what remains.

use std::borrow::Cow;

use super::cell::{self, Cell};
use super::dictionary::Dictionary;
use super::grid::{CellView, Grid, has_bytes};
use super::information::{self, Anchor};

/// Values of a column that are looked at to choose its anchor.
const SAMPLES: usize = 16;
/// Those of them that may become it.
const CANDIDATES: usize = 4;

/// Plans pages; kept from page to page for its memory.
#[derive(Debug, Default)]
pub struct Planner {
    /// The rows as the page would have them.
    pub coded: Grid,
    /// The information record.
    pub information: Vec<u8>,
    dictionary: Dictionary,
    scratch: Vec<u8>,
}

impl Planner {
    /// Plans a page of the first `rows` rows. False: they share nothing.
    pub fn plan(&mut self, views: &[CellView<'_>], rows: usize) -> bool {
        if self.coded.columns.len() != views.len() {
            self.coded = Grid::new(views.len());
        }
        self.coded.clear();
        self.information.clear();
        let anchors: Vec<Option<Anchor<'_>>> =
            views.iter().enumerate().map(|(column, view)| self.column(column, view, rows)).collect();
        self.dictionary.apply(&mut self.coded, rows);
        match information::build(&anchors, self.dictionary.entries()) {
            Some(bytes) => {
                self.information = bytes;
                true
            }
            None => false,
        }
    }

    /// Fills a column of the coded rows, with the anchor that was chosen for it.
    fn column<'v>(&mut self, column: usize, view: &CellView<'v>, rows: usize) -> Option<Anchor<'v>> {
        let Grid { columns, data, .. } = &mut self.coded;
        let coded = columns.get_mut(column)?;
        if let Some(anchor) = choose(view, rows, &mut self.scratch) {
            let start = data.len();
            let (mut before, mut after) = (0, anchor.bytes().len() + 2);
            for (code, word) in view.codes.iter().zip(view.words).take(rows) {
                let cell = Cell { code: *code, word: *word };
                let long = if cell.is_long() { view.long(cell) } else { &[] };
                let short = anchor.shorten(cell, long, data);
                before += cell.cost();
                after += short.cost();
                coded.push(short);
            }
            if after < before {
                return Some(anchor);
            }
            coded.codes.clear();
            coded.words.clear();
            data.truncate(start);
        }
        for (code, word) in view.codes.iter().zip(view.words).take(rows) {
            let cell = Cell { code: *code, word: *word };
            let long = if cell.is_long() { view.long(cell) } else { &[] };
            coded.push(super::record::owned(cell, long, data));
        }
        None
    }
}

/// The value of a column that saves most among some of its values.
fn choose<'v>(view: &CellView<'v>, rows: usize, scratch: &mut Vec<u8>) -> Option<Anchor<'v>> {
    let samples: [Cell; SAMPLES] = std::array::from_fn(|index| {
        let row = (2 * index + 1) * rows / (2 * SAMPLES);
        view.cell(row)
    });
    let mut best: Option<(usize, Cell)> = None;
    let costs: usize = samples.iter().map(|cell| cell.cost()).sum();
    for index in 0..CANDIDATES {
        let Some(candidate) = samples.get(index * SAMPLES / CANDIDATES).filter(|cell| has_bytes(**cell))
        else {
            continue;
        };
        let anchor = Anchor::new(bytes_of(view, *candidate));
        let after: usize = samples
            .iter()
            .map(|cell| {
                scratch.clear();
                let long = if cell.is_long() { view.long(*cell) } else { &[] };
                anchor.shorten(*cell, long, scratch).cost()
            })
            .sum();
        let saved = costs.saturating_sub(after);
        if saved > best.map_or(0, |(saved, _)| saved) {
            best = Some((saved, *candidate));
        }
    }
    best.map(|(_, cell)| Anchor::new(bytes_of(view, cell)))
}

fn bytes_of<'v>(view: &CellView<'v>, cell: Cell) -> Cow<'v, [u8]> {
    match cell.code {
        cell::LONG => Cow::Borrowed(view.long(cell)),
        _ => Cow::Owned(cell.word.to_le_bytes().iter().copied().take(cell.short_bytes()).collect()),
    }
}
