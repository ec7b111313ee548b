//! The values of a column that CHECK constraints and partitions allow, as far as their conditions say it: what SWITCH compares.

use std::cmp::Ordering;

use databases::catalogue::{PartitionRanges, TableDefinition, constant_as, same_name};
use query::Datum;
use tsql::expression::{Comparison, Expr, Literal};
use tsql::parse_expression;

/// Values between two bounds.
#[derive(Debug, Clone, PartialEq)]
struct Interval {
    /// The least value, and whether it is one of them; None: there is none.
    from: Option<(Datum, bool)>,
    /// The greatest, likewise.
    to: Option<(Datum, bool)>,
}

/// A condition's result for NULL: the greatest that it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    False,
    Unknown,
    True,
}

/// Values that pass a condition.
#[derive(Debug, Clone)]
pub(super) struct AllowedValues {
    intervals: Vec<Interval>,
    null: Truth,
    /// The condition says exactly this, and not less.
    exact: bool,
}

impl AllowedValues {
    /// Returns all values.
    fn all() -> AllowedValues {
        AllowedValues { intervals: vec![Interval { from: None, to: None }], null: Truth::True, exact: true }
    }

    fn unknown() -> AllowedValues {
        AllowedValues { exact: false, ..AllowedValues::all() }
    }

    /// Returns the values that a partition allows.
    pub fn of_partition(ranges: &PartitionRanges, number: usize) -> AllowedValues {
        let (below, above) = ranges.bounds(number);
        let has_null = ranges.number(&Datum::Null) == number;
        // A boundary of NULL is below every value.
        let from = below.filter(|value| !value.is_null()).map(|value| (value.clone(), ranges.is_right()));
        let intervals = match above {
            Some(value) if value.is_null() => Vec::new(),
            Some(value) => vec![Interval { from, to: Some((value.clone(), !ranges.is_right())) }],
            None => vec![Interval { from, to: None }],
        };
        AllowedValues { intervals, null: if has_null { Truth::True } else { Truth::False }, exact: true }
    }

    /// Returns the values that a column of a table may have by its type and by the constraints that all rows are known
    /// to satisfy.
    pub fn of_table(table: &TableDefinition, position: usize, ranges: &PartitionRanges) -> AllowedValues {
        let mut allowed = AllowedValues::all();
        let column = table.columns.get(position);
        if column.is_some_and(|column| !column.nullable) {
            allowed.null = Truth::False;
        }
        let checks = table.checks.iter().filter(|check| check.trusted && !check.disabled);
        for check in checks {
            allowed = allowed.and(AllowedValues::of_check(&check.text, table, position, ranges), ranges);
        }
        allowed
    }

    /// Returns the values that a CHECK allows; all of them if none of it is understood.
    fn of_check(
        text: &str,
        table: &TableDefinition,
        position: usize,
        ranges: &PartitionRanges,
    ) -> AllowedValues {
        match parse_expression(text) {
            Ok(expr) => Reader { table, position, ranges }.read(&expr),
            Err(_) => AllowedValues::unknown(),
        }
    }

    /// Returns the values that a CHECK allows, if it concerns this column alone and all of it is understood.
    pub fn of_whole_check(
        text: &str,
        table: &TableDefinition,
        position: usize,
        ranges: &PartitionRanges,
    ) -> Option<AllowedValues> {
        Some(AllowedValues::of_check(text, table, position, ranges)).filter(|allowed| allowed.exact)
    }

    /// Values that both allow.
    pub fn and(self, other: AllowedValues, ranges: &PartitionRanges) -> AllowedValues {
        let mut intervals = Vec::new();
        for one in &self.intervals {
            for two in &other.intervals {
                intervals.extend(one.within(two, ranges));
            }
        }
        AllowedValues { intervals, null: self.null.min(other.null), exact: self.exact && other.exact }
    }

    fn or(mut self, other: AllowedValues, ranges: &PartitionRanges) -> AllowedValues {
        self.intervals.extend(other.intervals);
        AllowedValues {
            intervals: joined(self.intervals, ranges),
            null: self.null.max(other.null),
            exact: self.exact && other.exact,
        }
    }

    /// Returns true if all of these values are among the others. NULL passes a condition that is unknown for it.
    pub fn are_within(&self, other: &AllowedValues, ranges: &PartitionRanges) -> bool {
        let null = self.null == Truth::False || other.null != Truth::False;
        let whole = joined(other.intervals.clone(), ranges);
        null && self.intervals.iter().all(|own| whole.iter().any(|outer| own.is_within(outer, ranges)))
    }
}

impl Interval {
    fn point(value: Datum) -> Interval {
        Interval { from: Some((value.clone(), true)), to: Some((value, true)) }
    }

    /// Intersects two intervals; `None` if they share no value.
    fn within(&self, other: &Interval, ranges: &PartitionRanges) -> Option<Interval> {
        let from = match (&self.from, &other.from) {
            (Some(one), Some(two)) => Some(if lower(one, two, ranges) == Ordering::Less { two } else { one }),
            (one, two) => one.as_ref().or(two.as_ref()),
        };
        let to = match (&self.to, &other.to) {
            (Some(one), Some(two)) => {
                Some(if upper(one, two, ranges) == Ordering::Greater { two } else { one })
            }
            (one, two) => one.as_ref().or(two.as_ref()),
        };
        if let (Some((from, from_in)), Some((to, to_in))) = (from, to) {
            match ranges.compare(from, to) {
                Ordering::Greater => return None,
                Ordering::Equal if !(*from_in && *to_in) => return None,
                _ => {}
            }
        }
        Some(Interval { from: from.cloned(), to: to.cloned() })
    }

    fn is_within(&self, outer: &Interval, ranges: &PartitionRanges) -> bool {
        let from = match (&self.from, &outer.from) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(outer)) => lower(own, outer, ranges) != Ordering::Less,
        };
        let to = match (&self.to, &outer.to) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(outer)) => upper(own, outer, ranges) != Ordering::Greater,
        };
        from && to
    }
}

/// Orders two lower bounds: one that includes its value begins earlier.
fn lower(one: &(Datum, bool), other: &(Datum, bool), ranges: &PartitionRanges) -> Ordering {
    ranges.compare(&one.0, &other.0).then_with(|| other.1.cmp(&one.1))
}

/// Orders two upper bounds: one that includes its value ends later.
fn upper(one: &(Datum, bool), other: &(Datum, bool), ranges: &PartitionRanges) -> Ordering {
    ranges.compare(&one.0, &other.0).then_with(|| one.1.cmp(&other.1))
}

/// Intervals in order, those that touch each other as one.
fn joined(mut intervals: Vec<Interval>, ranges: &PartitionRanges) -> Vec<Interval> {
    intervals.sort_by(|one, other| match (&one.from, &other.from) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(one), Some(other)) => lower(one, other, ranges),
    });
    let mut whole: Vec<Interval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        let Some(last) = whole.last_mut() else {
            whole.push(next);
            continue;
        };
        let touches = match (&last.to, &next.from) {
            (None, _) | (_, None) => true,
            (Some((to, to_in)), Some((from, from_in))) => match ranges.compare(from, to) {
                Ordering::Less => true,
                Ordering::Equal => *to_in || *from_in,
                Ordering::Greater => false,
            },
        };
        if !touches {
            whole.push(next);
            continue;
        }
        let ends_later = match (&last.to, &next.to) {
            (None, _) => false,
            (_, None) => true,
            (Some(own), Some(other)) => upper(own, other, ranges) == Ordering::Less,
        };
        if ends_later {
            last.to = next.to;
        }
    }
    whole
}

/// Reads what a condition says of one column.
struct Reader<'a> {
    table: &'a TableDefinition,
    position: usize,
    ranges: &'a PartitionRanges,
}

impl Reader<'_> {
    fn read(&self, expr: &Expr) -> AllowedValues {
        match expr {
            Expr::And(left, right) => self.read(left).and(self.read(right), self.ranges),
            Expr::Or(left, right) => self.read(left).or(self.read(right), self.ranges),
            Expr::Compare(left, comparison, right) => {
                if self.is_column(left) {
                    self.compared(*comparison, right)
                } else if self.is_column(right) {
                    self.compared(turned(*comparison), left)
                } else {
                    AllowedValues::unknown()
                }
            }
            Expr::Between { value, low, high, negated: false } if self.is_column(value) => {
                let from = self.compared(Comparison::GreaterOrEqual, low);
                from.and(self.compared(Comparison::LessOrEqual, high), self.ranges)
            }
            Expr::InList { value, list, negated: false } if self.is_column(value) => {
                let none = AllowedValues { intervals: Vec::new(), null: Truth::False, exact: true };
                let equal = list.iter().map(|item| self.compared(Comparison::Equal, item));
                equal.fold(none, |all, one| all.or(one, self.ranges))
            }
            Expr::IsNull(value, negated) if self.is_column(value) => match negated {
                true => AllowedValues { null: Truth::False, ..AllowedValues::all() },
                false => AllowedValues { intervals: Vec::new(), null: Truth::True, exact: true },
            },
            _ => AllowedValues::unknown(),
        }
    }

    fn is_column(&self, expr: &Expr) -> bool {
        let column = self.table.columns.get(self.position);
        match (expr, column) {
            (Expr::Column(path), Some(column)) => {
                path.last().is_some_and(|name| same_name(name, &column.name))
            }
            _ => false,
        }
    }

    /// Values that compare so with a constant. For NULL the result is unknown.
    fn compared(&self, comparison: Comparison, constant: &Expr) -> AllowedValues {
        if matches!(comparison, Comparison::Distinct | Comparison::NotDistinct) {
            return AllowedValues::unknown();
        }
        let some = |intervals| AllowedValues { intervals, null: Truth::Unknown, exact: true };
        if matches!(constant, Expr::Literal(Literal::Null)) {
            return some(vec![Interval { from: None, to: None }]);
        }
        let Some(value) = constant_as(constant, self.ranges.sql_type()) else {
            return AllowedValues::unknown();
        };
        let from = |included| Interval { from: Some((value.clone(), included)), to: None };
        let to = |included| Interval { from: None, to: Some((value.clone(), included)) };
        some(match comparison {
            Comparison::Equal | Comparison::NotDistinct => vec![Interval::point(value.clone())],
            Comparison::NotEqual | Comparison::Distinct => vec![to(false), from(false)],
            Comparison::Less => vec![to(false)],
            Comparison::LessOrEqual => vec![to(true)],
            Comparison::Greater => vec![from(false)],
            Comparison::GreaterOrEqual => vec![from(true)],
        })
    }
}

/// Swaps the sides of a comparison.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}
