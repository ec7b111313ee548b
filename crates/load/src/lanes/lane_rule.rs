//! The lane of a value, and the text by which a ledger remembers the rule.

use std::fmt::Write;

use tds::Value;

use super::partition_rule::PartitionRule;
use crate::value_order::OrderedValue;

/// The first line of the text.
const VERSION: &str = "bulkwire lanes 1";

/// Deals partitions out to lanes. One more lane takes the rows whose partition is not known.
///
/// A load keeps its rule for as long as a ledger can continue it, whatever becomes of the target's partitions: which rows are
/// committed is known by lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneRule {
    pub(crate) partitions: PartitionRule,
    /// Lanes of partitions.
    pub(crate) lanes: usize,
    /// NULL becomes a default, whose partition is not known.
    pub(crate) has_default: bool,
    /// Column, type and conversions: what has to be the same for a row to have the same value again.
    pub(crate) column: String,
}

impl LaneRule {
    /// Returns the lane of a stored value. Neighbouring partitions have different lanes, since rows often come a
    /// partition after the other.
    pub(crate) fn lane_of(&self, value: &Value) -> usize {
        let partition = match value {
            Value::Null if self.has_default => None,
            value => self.partitions.partition_of(value),
        };
        partition.map_or_else(|| self.unplaced(), |partition| partition % self.lanes.max(1))
    }

    /// Returns the lane of rows whose partition is not known.
    pub(crate) fn unplaced(&self) -> usize {
        self.lanes
    }

    /// Returns the number of lanes.
    pub(crate) fn count(&self) -> usize {
        self.lanes + 1
    }

    /// Writes the rule as text.
    pub(crate) fn to_text(&self) -> String {
        let range = if self.partitions.is_right() { "right" } else { "left" };
        let mut text = format!(
            "{VERSION}\nlanes {}\nrange {range}\ndefault {}\ncolumn {:?}\n",
            self.lanes, self.has_default, self.column
        );
        for boundary in self.partitions.boundaries() {
            // Writing to a string cannot fail.
            let _ = match boundary {
                None => writeln!(text, "null"),
                Some(OrderedValue::Number(number)) => writeln!(text, "n{number}"),
                Some(OrderedValue::Float(bits)) => writeln!(text, "f{bits}"),
                Some(OrderedValue::Guid(number)) => writeln!(text, "g{number}"),
                Some(OrderedValue::Bytes(bytes)) => {
                    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    writeln!(text, "b{digits}")
                }
            };
        }
        text
    }

    /// Reads the text of [`to_text`](Self::to_text) for a load of this column. None: it is of another column or of other
    /// conversions, or no such text.
    pub(crate) fn of_text(text: &str, column: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let lanes = lines.next()?.strip_prefix("lanes ")?.parse().ok().filter(|lanes| *lanes > 0)?;
        let is_right = match lines.next()? {
            "range right" => true,
            "range left" => false,
            _ => return None,
        };
        let has_default = lines.next()?.strip_prefix("default ")?.parse().ok()?;
        if lines.next()?.strip_prefix("column ")? != format!("{column:?}") {
            return None;
        }
        let boundaries = lines.map(boundary).collect::<Option<Vec<_>>>()?;
        let partitions = PartitionRule::of(is_right, boundaries).ok()?;
        Some(Self { partitions, lanes, has_default, column: column.to_owned() })
    }
}

fn boundary(line: &str) -> Option<Option<OrderedValue>> {
    if line == "null" {
        return Some(None);
    }
    let kind = line.chars().next()?;
    let rest = line.get(kind.len_utf8()..)?;
    Some(Some(match kind {
        'n' => OrderedValue::Number(rest.parse().ok()?),
        'f' => OrderedValue::Float(rest.parse().ok()?),
        'g' => OrderedValue::Guid(rest.parse().ok()?),
        'b' => {
            let digit = |index: usize| u8::from_str_radix(rest.get(index..index + 2)?, 16).ok();
            OrderedValue::Bytes((0..rest.len()).step_by(2).map(digit).collect::<Option<_>>()?)
        }
        _ => return None,
    }))
}
