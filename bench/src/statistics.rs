//! Smallest, median and largest of a few runs.

use serde::Serialize;

/// Spread of one figure over the runs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// Smallest value.
    pub min: f64,
    /// Median (mean of the middle two for an even count).
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of `values`; all zero if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.first(), sorted.get(middle), sorted.last()) {
            (Some(&min), Some(&upper), Some(&max)) => {
                let lower =
                    if sorted.len().is_multiple_of(2) { sorted.get(middle - 1).copied() } else { None };
                Spread { min, median: lower.map_or(upper, |lower| (lower + upper) / 2.0), max }
            }
            _ => Spread::default(),
        }
    }
}

impl Spread {
    /// Prints `median (smallest-largest)`, or the one figure if they are the same.
    pub fn print(&self, print: impl Fn(f64) -> String) -> String {
        match self.min == self.max {
            true => print(self.median),
            false => format!("{} ({}-{})", print(self.median), print(self.min), print(self.max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn median_of_even_and_odd_counts() {
        let odd = Spread::of([3.0, 1.0, 2.0]);
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of([]).max, 0.0);
    }
}
