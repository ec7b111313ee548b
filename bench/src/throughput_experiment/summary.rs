//! Results of the tests, the published limits, and the limiting resource.

use load::report::grouped;
use serde::Serialize;

use super::sampler::Sample;
use super::test_run::TestRun;
use super::tier::Published;
use super::worker::Pace;
use super::{Settings, Test};
use crate::experiment::{Bar, Findings, Line, Page, Surroundings, Table, or_dash};
use crate::statistics::Spread;

/// Everything that was measured, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Server and machine.
    pub surroundings: Surroundings,
    /// Seconds of a test.
    pub test_seconds: f64,
    /// Times that every test was run.
    pub rounds: usize,
    /// Tiers without limited throughput, because neither they nor the command line gave batch sizes.
    pub without_ramp: Vec<String>,
    /// Figures of each test.
    pub tests: Vec<Figures>,
}

/// Runs of a test, and their spreads.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Test of the runs.
    pub test: Test,
    /// Name of the test.
    pub name: String,
    /// Published figures of the test's tier.
    pub published: Option<Published>,
    /// Rows a second.
    pub rows_per_second: Spread,
    /// Megabytes (1,048,576 bytes) of data a minute.
    pub megabytes_per_minute: Spread,
    /// Rate as a multiple of the tier's published limit.
    pub of_published: Option<Spread>,
    /// Runs in the order of rounds.
    pub runs: Vec<TestRun>,
}

impl Results {
    pub(super) fn new(settings: &Settings, surroundings: Surroundings) -> Results {
        Results {
            surroundings,
            test_seconds: settings.duration.as_secs_f64(),
            rounds: settings.rounds,
            without_ramp: Vec::new(),
            tests: Vec::new(),
        }
    }

    pub(super) fn left_out(&mut self, tier: Option<&str>) {
        let tier = tier.unwrap_or("no tier").to_owned();
        if !self.without_ramp.contains(&tier) {
            self.without_ramp.push(tier);
        }
    }

    pub(super) fn add(&mut self, test: Test, run: TestRun) {
        if let Some(figures) = self.tests.iter_mut().find(|figures| figures.test == test) {
            figures.runs.push(run);
            return;
        }
        self.tests.push(Figures {
            name: test.to_string(),
            published: test.tier.as_deref().and_then(Published::named),
            test,
            rows_per_second: Spread::default(),
            megabytes_per_minute: Spread::default(),
            of_published: None,
            runs: vec![run],
        });
    }

    /// Computes the spreads, once all runs are there.
    pub(super) fn settle(&mut self) {
        for figures in &mut self.tests {
            let spread = |of: &dyn Fn(&TestRun) -> f64| Spread::of(figures.runs.iter().map(of));
            figures.rows_per_second = spread(&|run| run.rows_per_second);
            figures.megabytes_per_minute = spread(&|run| run.megabytes_per_minute);
            figures.of_published = figures
                .published
                .map(|tier| spread(&|run| run.megabytes_per_minute / tier.megabytes_per_minute));
        }
    }
}

impl Results {
    fn note(&self) -> String {
        let note = "UT: the next batch at once; LT: batches at fixed times. MB are 1,048,576 bytes of data.";
        match self.without_ramp.as_slice() {
            [] => note.to_owned(),
            tiers => format!(
                "{note} LT was left out on {}, of which no rate was published: --ramp-rows.",
                tiers.join(", ")
            ),
        }
    }
}

/// Formats the spread of a figure that all runs have.
fn all(figures: &Figures, of: fn(&TestRun) -> Option<f64>) -> String {
    let values: Option<Vec<f64>> = figures.runs.iter().map(of).collect();
    or_dash(values, |values| Spread::of(values).print(|value| format!("{value:.0}")))
}

impl Findings for Results {
    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn tables(&self) -> Vec<Table> {
        let mut rates = Table::new(
            &format!(
                "Random rows of 400 bytes, {} s a test, {} rounds: median (smallest-largest)",
                self.test_seconds, self.rounds
            ),
            &["test", "rows/s", "published UT", "MB/min", "published limit", "of it", "limit"],
        )
        .with_note(&self.note());
        let mut resources = Table::new(
            "Resources, and what went wrong",
            &["test", "log write, %", "server CPU, % of tier", "server process, %", "client CPU, %", "errors", "missed: server", "missed: client"],
        )
        .with_note("Of the server's statistics, the largest interval of 15 seconds that lies within a test; processes: % of all processors.");
        for figures in &self.tests {
            let published = figures.published.filter(|_| figures.test.pace == Pace::Unlimited);
            let usual = published.and_then(|tier| tier.rows_per_second).map(Spread::of);
            let mut limits: Vec<&str> = figures.runs.iter().map(|run| run.limit.name()).collect();
            limits.dedup();
            rates.row([
                figures.name.clone(),
                figures.rows_per_second.print(|rate| grouped(rate.round() as u64)),
                or_dash(usual, |rate| rate.print(|rate| grouped(rate.round() as u64))),
                figures.megabytes_per_minute.print(|rate| format!("{rate:.1}")),
                or_dash(figures.published, |tier| format!("{:.1}", tier.megabytes_per_minute)),
                or_dash(figures.of_published, |ratio| ratio.print(|ratio| format!("{ratio:.2}"))),
                limits.join(", "),
            ]);
            let sum = |of: fn(&TestRun) -> u64| grouped(figures.runs.iter().map(of).sum());
            resources.row([
                figures.name.clone(),
                all(figures, TestRun::log_write_percent),
                all(figures, TestRun::server_cpu_percent),
                all(figures, |run| run.server_process_cpu_percent),
                all(figures, |run| run.client_cpu_percent),
                sum(|run| run.errors),
                sum(|run| run.missed_for_server),
                sum(|run| run.missed_by_client),
            ]);
        }
        vec![rates, resources]
    }

    fn page(&self) -> String {
        let mut page = Page::new(
            "Bulk-load throughput of service tiers",
            &format!(
                "{}. Threads load random rows of about 400 bytes with a sequential primary key, each into a table of its own. After every test \
                 each table's count and content checksum were those of the batches that were committed.",
                self.surroundings.line()
            ),
        );
        let unlimited = || self.tests.iter().filter(|figures| figures.test.pace == Pace::Unlimited);
        let bar = |figures: &Figures| {
            let published = figures
                .published
                .map_or_else(String::new, |tier| format!(", published {:.1}", tier.megabytes_per_minute));
            let rate = figures.megabytes_per_minute;
            Bar { name: figures.name.clone(), value: rate, label: format!("{:.1}{published}", rate.median) }
        };
        page.bars("Unlimited throughput: MB of data a minute", &unlimited().map(bar).collect::<Vec<_>>());
        page.lines(
            "Limited throughput: rows/s against rows a batch",
            "rows a batch",
            "rows/s",
            &ramps(&self.tests),
        );
        let over_time = |of: fn(&Sample) -> Option<f64>| -> Vec<Line> {
            let line = |figures: &Figures| {
                let run = figures.runs.last()?;
                let points: Vec<(f64, f64)> =
                    run.samples.iter().filter_map(|sample| Some((sample.at_seconds, of(sample)?))).collect();
                (!points.is_empty()).then(|| Line { name: figures.name.clone(), points })
            };
            unlimited().filter_map(line).collect()
        };
        page.lines(
            "Unlimited throughput: rows/s over time",
            "seconds",
            "rows/s",
            &over_time(|sample| Some(sample.rows_per_second)),
        );
        page.lines(
            "Unlimited throughput: MB of log a minute over time",
            "seconds",
            "MB/min",
            &over_time(|sample| sample.log_megabytes_per_minute),
        );
        for table in self.tables() {
            page.table(&table);
        }
        let mut intervals = Table::new(
            "sys.dm_db_resource_stats within the last round's tests",
            &["test", "until", "CPU, %", "log write, %"],
        );
        let mut errors = Table::new("First errors", &["test", "error"]);
        for figures in &self.tests {
            let Some(run) = figures.runs.last() else { continue };
            for sample in run.resources.value().into_iter().flatten() {
                intervals.row([
                    figures.name.clone(),
                    sample.end_time.clone(),
                    format!("{:.1}", sample.cpu_percent),
                    format!("{:.1}", sample.log_write_percent),
                ]);
            }
            if let Some(error) = &run.first_error {
                errors.row([figures.name.clone(), error.clone()]);
            }
        }
        page.table(&intervals);
        page.table(&errors);
        page.finish()
    }
}

/// Makes a line for each tier whose batch size was ramped.
fn ramps(tests: &[Figures]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for figures in tests.iter().filter(|figures| figures.test.pace != Pace::Unlimited) {
        let name = figures.test.tier.clone().unwrap_or_else(|| "no tier".to_owned());
        let point = (figures.test.batch_rows as f64, figures.rows_per_second.median);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::test_run::tests::test_run;
    use super::*;
    use crate::experiment::Keeping;

    #[test]
    fn rates_stand_beside_what_was_published() {
        let surroundings = Surroundings {
            server: "Test".to_owned(),
            keeping: Keeping::Target,
            edition: None,
            version: "0.0.0",
            machine: "none".to_owned(),
            cores: 2,
            packet_size_bytes: 4096,
        };
        let mut results = Results {
            surroundings,
            test_seconds: 10.0,
            rounds: 2,
            without_ramp: Vec::new(),
            tests: Vec::new(),
        };
        let test = |pace, batch_rows| Test { tier: Some("Basic".to_owned()), pace, threads: 1, batch_rows };
        for megabytes_per_minute in [9.3, 18.6] {
            results.add(test(Pace::Unlimited, 100), TestRun { megabytes_per_minute, ..test_run() });
            results.add(test(Pace::BatchesPerSecond(1.0), 50), test_run());
        }
        results.settle();
        assert_eq!(results.tests.len(), 2);
        let ratio = results
            .tests
            .first()
            .and_then(|figures| figures.of_published)
            .map(|ratio| (ratio.min, ratio.max));
        assert_eq!(ratio, Some((1.0, 2.0)));
        let text = results.tables().iter().map(Table::to_string).collect::<String>();
        assert!(text.contains("451 (410-454)"), "{text}");
        assert!(results.page().contains("First errors") || results.page().contains("99.5"));
    }
}
