//! NEXT VALUE FOR: all of a statement that name one sequence have the same value in a row ("NEXT VALUE FOR (Transact-SQL)").

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tsql::SqlError;

use super::super::Datum;
use super::{ScalarFunction, ValueKernel};

/// Values by the number of the row that they are for, and the sequence.
type ByRow = HashMap<(usize, String), Arc<Drawn>>;

/// The sequences that a list of values names.
#[derive(Clone, Default)]
pub struct RowSequences {
    drawn: Arc<Mutex<ByRow>>,
    /// Values are kept to the end, since places are bound when others have had theirs.
    keeps: bool,
}

impl RowSequences {
    /// Makes those of rows whose values are computed before all are bound.
    pub fn kept() -> Self {
        Self { keeps: true, ..Self::default() }
    }
}

/// The values of a sequence that some places of a row have had, and others have not.
#[derive(Default)]
struct Drawn(Mutex<Values>);

#[derive(Default)]
struct Values {
    /// The number of the first value that is kept.
    first: usize,
    kept: VecDeque<Datum>,
    /// Of each place, the number of its next value.
    places: Vec<usize>,
}

impl Drawn {
    /// Adds a place; returns its number.
    fn add(&self) -> usize {
        let mut values = self.0.lock();
        let first = values.first;
        values.places.push(first);
        values.places.len() - 1
    }

    /// Returns the next value at a place: that of the other places of the row, or a new one.
    fn next(&self, place: usize, keeps: bool, draw: &ValueKernel) -> Result<Datum, SqlError> {
        let mut values = self.0.lock();
        // Nobody else waits for it.
        if values.places.len() == 1 && !keeps {
            return draw(&[]);
        }
        let number = values.places.get(place).copied().unwrap_or_default();
        let value = match values.kept.get(number - values.first) {
            Some(value) => value.clone(),
            None => {
                let value = draw(&[])?;
                values.kept.push_back(value.clone());
                value
            }
        };
        if let Some(next) = values.places.get_mut(place) {
            *next += 1;
        }
        if keeps {
            return Ok(value);
        }
        let least = values.places.iter().copied().min().unwrap_or_default();
        while values.first < least {
            values.kept.pop_front();
            values.first += 1;
        }
        Ok(value)
    }
}

/// The row of a list of values that a binder is at.
#[derive(Default)]
pub struct RowAtHand {
    /// The sequences of the list.
    sequences: RefCell<RowSequences>,
    /// The number of the row.
    number: Cell<usize>,
}

impl RowAtHand {
    /// Binds a list of values of its own, such as that of a SELECT.
    pub(super) fn of_list<T>(&self, bind: impl FnOnce() -> T) -> T {
        let around = self.sequences.replace(RowSequences::default());
        let result = self.at(0, bind);
        self.sequences.replace(around);
        result
    }

    /// Binds values of one of a list's rows.
    pub fn at<T>(&self, number: usize, bind: impl FnOnce() -> T) -> T {
        let before = self.number.replace(number);
        let result = bind();
        self.number.set(before);
        result
    }

    /// Shares values with other binders of the same rows.
    pub fn share(&self, sequences: &RowSequences) {
        self.sequences.replace(sequences.clone());
    }

    /// Returns the function that gives a sequence's value in the row.
    pub(super) fn value(&self, function: &ScalarFunction) -> ValueKernel {
        let key = (self.number.get(), function.name.to_lowercase());
        let sequences = self.sequences.borrow();
        let (drawn, keeps) = (Arc::clone(sequences.drawn.lock().entry(key).or_default()), sequences.keeps);
        let (place, draw) = (drawn.add(), Arc::clone(&function.kernel));
        Arc::new(move |_| drawn.next(place, keeps, &draw))
    }
}
