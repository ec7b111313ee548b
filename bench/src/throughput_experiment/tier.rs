//! Service tiers as they were measured in 2014, with the limits that were published of them.

use std::thread;
use std::time::{Duration, Instant};

use load::Client;
use serde::Serialize;

use crate::experiment::{Interrupt, Outcome, answer, text};

/// Longest time that a hosted service may take to change the tier.
const CHANGE_MAX: Duration = Duration::from_secs(600);

/// Published figures of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Published {
    /// Name of the tier.
    pub name: &'static str,
    /// Megabytes of rows a minute that it took at most.
    pub megabytes_per_minute: f64,
    /// Threads with which unlimited throughput was measured.
    pub threads: u16,
    /// Rows a second of the three tests of unlimited throughput; none are known of Web and Business.
    pub rows_per_second: Option<[f64; 3]>,
}

/// The tiers that were measured.
pub const TIERS: [Published; 6] = [
    tier("Basic", 9.3, 1, Some([410.0, 451.0, 454.0])),
    tier("S1", 18.7, 1, Some([821.0, 908.0, 909.0])),
    tier("S2", 37.5, 1, Some([1641.0, 1817.0, 1816.0])),
    tier("P1", 46.9, 2, Some([2057.0, 2268.0, 2273.0])),
    tier("P2", 91.3, 4, Some([3878.0, 4458.0, 4502.0])),
    tier("Web", 93.7, 4, None),
];

const fn tier(
    name: &'static str,
    megabytes_per_minute: f64,
    threads: u16,
    rows_per_second: Option<[f64; 3]>,
) -> Published {
    Published { name, megabytes_per_minute, threads, rows_per_second }
}

impl Published {
    /// Returns the tier of a name, if it was measured. Business was the same as Web.
    pub fn named(name: &str) -> Option<Published> {
        let name = if name.eq_ignore_ascii_case("business") { "Web" } else { name };
        TIERS.into_iter().find(|tier| tier.name.eq_ignore_ascii_case(name))
    }

    /// Returns the rows a second, the middle one of the three tests.
    pub fn usual_rows_per_second(&self) -> Option<f64> {
        let mut rates = self.rows_per_second?;
        rates.sort_by(f64::total_cmp);
        rates.get(1).copied()
    }
}

/// Gives the current database a tier, `None` for no limit, and waits until it has it.
///
/// # Errors
/// The server has no tiers, or not this one; a change that takes longer than ten minutes.
pub fn set(client: &mut Client, tier: Option<&str>, interrupt: &Interrupt) -> Outcome<()> {
    let name = tier.unwrap_or("None");
    // The statement takes no text of nvarchar.
    let objective = name.replace('\'', "''");
    client
        .execute(&format!("ALTER DATABASE CURRENT MODIFY (SERVICE_OBJECTIVE = '{objective}')"))
        .map_err(|error| format!("cannot set the service tier {name}: {error}"))?;
    let Some(tier) = tier else { return Ok(()) };
    let started = Instant::now();
    loop {
        match of_database(client)? {
            Some(objective)
                if objective.eq_ignore_ascii_case(tier)
                    || Published::named(&objective) == Published::named(tier) =>
            {
                return Ok(());
            }
            other if started.elapsed() > CHANGE_MAX => {
                let other = other.unwrap_or_else(|| "none".to_owned());
                return Err(
                    format!("the service tier is {other} ten minutes after it was set to {tier}").into()
                );
            }
            _ => {}
        }
        interrupt.check()?;
        thread::sleep(Duration::from_millis(500));
    }
}

/// Returns the tier of the current database, if the server names one.
///
/// # Errors
/// [`answer`]'s.
pub fn of_database(client: &mut Client) -> Outcome<Option<String>> {
    let rows =
        answer(client, "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128))")?;
    Ok(rows.value().and_then(|rows| text(rows.first()?.first()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_found_by_their_names() {
        assert_eq!(Published::named("basic").map(|tier| tier.megabytes_per_minute), Some(9.3));
        assert_eq!(Published::named("Business").map(|tier| tier.name), Some("Web"));
        assert_eq!(Published::named("S9"), None);
        assert_eq!(Published::named("S2").and_then(|tier| tier.usual_rows_per_second()), Some(1816.0));
    }
}
