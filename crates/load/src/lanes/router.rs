//! Deals the rows of a source out to lanes.

use super::{lane_rule::LaneRule, routing::Routing};
use crate::{error::Error, source::SourceBatch};

/// Deals the rows of a source out to lanes.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    rule: LaneRule,
    routing: Routing,
}

impl Router {
    /// Makes a router by a load's rule.
    pub(crate) fn new(rule: LaneRule, routing: Routing) -> Self {
        Self { rule, routing }
    }

    /// Returns the rule.
    pub(crate) fn rule(&self) -> &LaneRule {
        &self.rule
    }

    /// Splits the rows of a batch by lane, each lane's in the source's order and apart from the batch's own memory.
    /// Rows that could not be read go with those whose partition is not known.
    ///
    /// # Errors
    /// The batch has a type whose rows cannot be taken one by one.
    pub(crate) fn split(&self, mut batch: SourceBatch) -> Result<Vec<(usize, SourceBatch)>, Error> {
        let unplaced = self.rule.unplaced();
        let unread = batch.take_unread();
        let mut lanes = vec![Vec::new(); self.rule.count()];
        let mut row = 0;
        self.routing.values(&batch, &mut |value| {
            let lane = value.map_or(unplaced, |value| self.rule.lane_of(&value));
            if let Some(rows) = lanes.get_mut(lane) {
                rows.push(row);
            }
            row += 1;
        });
        let mut parts: Vec<(usize, SourceBatch)> = Vec::new();
        let mut without_rows = None;
        if !unread.is_empty() && lanes.get(unplaced).is_some_and(Vec::is_empty) {
            without_rows = Some(batch.slice(0, 0));
        }
        for (lane, rows) in lanes.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let part = match rows.len() == batch.rows() {
                true => batch.slice(0, batch.rows()),
                false => batch.picked(rows).map_err(|error| Error::Source(Box::new(error)))?,
            };
            parts.push((lane, part));
        }
        parts.extend(without_rows.map(|part| (unplaced, part)));
        // The lane of unplaced rows is the last.
        match parts.pop() {
            Some((lane, part)) if lane == unplaced => parts.push((lane, part.with_unread(unread))),
            Some(other) => parts.push(other),
            None => {}
        }
        Ok(parts)
    }
}
