//! Decides whether the rows of a load go by lane, and enters the rule into the ledger.

use super::{ledger::Ledger, options::Writers};
use crate::{
    client::Client,
    error::Error,
    lanes::{LaneRule, Router, Routing},
    plan::LoadPlan,
};

/// Lanes for each writer: so many that all writers have something to do when rows are spread unevenly, and so few that each lane
/// fills a chunk.
const LANES_A_WRITER: usize = 4;
const LANES_MIN: usize = 16;
const LANES_MAX: usize = 64;

/// Makes the routers of a load's sources. A load that began with lanes in its ledger keeps them, even if the table's
/// partitions or the plan have changed.
///
/// # Errors
/// [`Error::LedgerMismatch`]: the load began with lanes to which the rows cannot be dealt out any more. Those of the statement
/// that enters the lanes.
pub(super) fn routers<'p>(
    client: &mut Client,
    plans: impl Iterator<Item = &'p LoadPlan> + Clone,
    ledger: Option<&Ledger>,
    writers: &Writers,
) -> Result<Vec<Option<Router>>, Error> {
    let &(Writers::Fixed(most) | Writers::Auto(most)) = writers;
    let routings = || plans.clone().map(|plan| plan.routing.as_ref());
    let columns: Vec<&str> =
        routings().map(|routing| routing.map_or("", |routing| routing.column.as_str())).collect();
    let columns = columns.join("; ");
    let began_with = ledger.and_then(Ledger::lane_rule).map(|text| LaneRule::of_text(text, &columns));
    let rule = match (began_with, ledger) {
        (Some(Some(rule)), _) => Some(rule),
        (Some(None), Some(ledger)) => {
            return Err(ledger.mismatch(
                "its rows went by partition, and their partitions cannot be found in the same way any more: \
                 the partitioning column, its type or the conversions are others",
            ));
        }
        _ if most <= 1 || !plans.clone().any(|plan| plan.routes) => None,
        _ => routings().flatten().next().map(|routing| rule_of(routing, columns, most)),
    };
    let Some(rule) = rule else { return Ok(plans.map(|_| None).collect()) };
    if let Some(ledger) = ledger.filter(|ledger| ledger.lane_rule().is_none()) {
        ledger.enter_lane_rule(client, &rule.to_text())?;
    }
    Ok(routings().map(|routing| Some(Router::new(rule.clone(), routing?.clone()))).collect())
}

fn rule_of(routing: &Routing, column: String, writers: usize) -> LaneRule {
    let partitions = routing.partitions.clone();
    let wanted = writers.saturating_mul(LANES_A_WRITER).clamp(LANES_MIN, LANES_MAX);
    let lanes = partitions.partitions().min(wanted);
    LaneRule { partitions, lanes, has_default: routing.has_default, column }
}
