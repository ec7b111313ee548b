//! Summary of the runs: elapsed time against the degree of parallelism, waits, log records, input and output.

use load::report::grouped;
use serde::Serialize;

use super::{Run, Settings, Variant};
use crate::experiment::{Bar, Findings, Line, Page, Recovery, Surroundings, Table, few_rows, or_dash};
use crate::statistics::Spread;

/// Waits and log operations that a table names, the largest first.
const NAMED: usize = 4;

/// Everything that was measured, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Server and machine.
    pub surroundings: Surroundings,
    /// Rows of the source.
    pub rows: u64,
    /// Number of rounds.
    pub rounds: usize,
    /// Recovery model of the database.
    pub recovery: Recovery,
    /// The variants; the first is what the others are compared with.
    pub variants: Vec<Figures>,
}

/// Runs of a variant, in the order of rounds, and their spreads.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Variant of the runs.
    pub variant: Variant,
    /// Name of the variant.
    pub name: String,
    /// Seconds that a run took.
    pub seconds: Spread,
    /// Time as a multiple of the first variant's in the same round.
    pub time_ratio: Spread,
    /// Processor time of the embedded server, in seconds.
    pub server_cpu_seconds: Option<Spread>,
    /// Megabytes of the table a second.
    pub megabytes_per_second: Option<Spread>,
    /// Runs in the order of rounds.
    pub runs: Vec<Run>,
}

impl Results {
    pub(super) fn new(settings: &Settings, surroundings: Surroundings) -> Results {
        let figures = |variant: &Variant| Figures {
            variant: *variant,
            name: variant.to_string(),
            seconds: Spread::default(),
            time_ratio: Spread::default(),
            server_cpu_seconds: None,
            megabytes_per_second: None,
            runs: Vec::new(),
        };
        Results {
            surroundings,
            rows: settings.rows,
            rounds: settings.rounds,
            recovery: settings.recovery,
            variants: settings.variants.iter().map(figures).collect(),
        }
    }

    pub(super) fn add(&mut self, variant: usize, run: Run) {
        if let Some(figures) = self.variants.get_mut(variant) {
            figures.runs.push(run);
        }
    }

    /// Computes the spreads, once all runs are there.
    pub(super) fn settle(&mut self) {
        let first: Vec<f64> = self
            .variants
            .first()
            .map(|first| first.runs.iter().map(|run| run.seconds).collect())
            .unwrap_or_default();
        for figures in &mut self.variants {
            let runs = &figures.runs;
            figures.seconds = Spread::of(runs.iter().map(|run| run.seconds));
            figures.time_ratio = Spread::of(runs.iter().zip(&first).map(|(run, first)| run.seconds / first));
            let all = |of: &dyn Fn(&Run) -> Option<f64>| {
                let values: Option<Vec<f64>> = runs.iter().map(of).collect();
                values.filter(|values| !values.is_empty()).map(Spread::of)
            };
            figures.server_cpu_seconds = all(&|run| run.server_cpu_seconds);
            figures.megabytes_per_second =
                all(&|run| Some(run.space.value()?.data_bytes as f64 / 1e6 / run.seconds));
        }
    }
}

/// Lists the waits of the last run, the longest first.
fn named_waits(figures: &Figures) -> String {
    let Some(waits) = figures.runs.last().and_then(|run| run.waits.value()) else { return "-".to_owned() };
    let mut waits: Vec<_> = waits.iter().collect();
    waits.sort_by(|a, b| b.1.milliseconds.total_cmp(&a.1.milliseconds));
    let words: Vec<String> = waits
        .iter()
        .take(NAMED)
        .map(|(name, wait)| format!("{name} {}x {:.0} ms", grouped(wait.count), wait.milliseconds))
        .collect();
    words.join(", ")
}

fn named_operations(figures: &Figures) -> String {
    let operations = figures.runs.last().and_then(|run| run.log.operations.value());
    let Some(operations) = operations else { return "-".to_owned() };
    let words: Vec<String> = operations
        .iter()
        .take(NAMED)
        .map(|operation| {
            format!("{} {} {}x", operation.operation, operation.context, grouped(operation.records))
        })
        .collect();
    words.join(", ")
}

impl Findings for Results {
    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn tables(&self) -> Vec<Table> {
        let title = format!(
            "SELECT INTO of {} rows, {}, {} rounds: median (smallest-largest)",
            grouped(self.rows),
            self.recovery,
            self.rounds
        );
        let mut times = Table::new(
            &title,
            &["file group, MAXDOP", "seconds", "of the first", "MB/s of the table", "server CPU, s"],
        );
        let mut log = Table::new(
            "Log of the last run",
            &["file group, MAXDOP", "records", "KB", "of the table", "most bytes"],
        );
        let mut io = Table::new(
            "Input and output of the last run, and its longest waits",
            &["file group, MAXDOP", "data writes", "MB written", "log, MB", "writes at a time", "waits"],
        );
        for figures in &self.variants {
            let name = || figures.name.clone();
            let last = figures.runs.last();
            times.row([
                name(),
                figures.seconds.print(|seconds| format!("{seconds:.3}")),
                figures.time_ratio.print(|ratio| format!("{ratio:.2}")),
                or_dash(figures.megabytes_per_second, |rate| rate.print(|rate| format!("{rate:.0}"))),
                or_dash(figures.server_cpu_seconds, |cpu| cpu.print(|cpu| format!("{cpu:.2}"))),
            ]);
            let records = last
                .and_then(|run| run.log.operations.value())
                .map(|all| all.iter().map(|one| one.records).sum::<u64>());
            let bytes = last.and_then(|run| run.log.bytes());
            let share =
                bytes.zip(last.and_then(|run| run.space.value())).filter(|(_, space)| space.data_bytes > 0);
            log.row([
                name(),
                or_dash(records, grouped),
                or_dash(bytes, |bytes| format!("{:.0}", bytes / 1e3)),
                or_dash(share, |(bytes, space)| format!("{:.2} %", bytes * 100.0 / space.data_bytes as f64)),
                named_operations(figures),
            ]);
            let files = last.and_then(|run| run.io.value());
            let data = files.and_then(|files| files.get("data"));
            let log_file = files.and_then(|files| files.get("log"));
            io.row([
                name(),
                or_dash(data, |data| grouped(data.writes)),
                or_dash(data, |data| format!("{:.0}", data.written_bytes as f64 / 1e6)),
                or_dash(log_file, |log| format!("{:.1}", log.written_bytes as f64 / 1e6)),
                or_dash(data.zip(last), |(data, run)| format!("{:.2}", data.queue_length(run.seconds))),
                named_waits(figures),
            ]);
        }
        vec![times, log, io]
    }

    fn page(&self) -> String {
        let mut page = Page::new(
            "Parallel SELECT INTO",
            &format!(
                "{}. {} rows of eleven columns from one heap into a new one, in file groups of several files, with several degrees of \
                 parallelism, under {}. After every run the server's count and a content checksum of what reads back were those of the \
                 source. Variants take turns within a round, and ratios are taken within it.",
                self.surroundings.line(),
                grouped(self.rows),
                self.recovery
            ),
        );
        if let Some(warning) = few_rows(self.rows) {
            page.paragraph(&warning);
        }
        let mut files: Vec<u16> = self.variants.iter().map(|figures| figures.variant.files).collect();
        files.dedup();
        let line = |files: u16| {
            let of_group = self.variants.iter().filter(|figures| figures.variant.files == files);
            let points = of_group
                .map(|figures| (f64::from(figures.variant.max_dop), figures.seconds.median))
                .collect();
            Line { name: format!("{files} files"), points }
        };
        let lines: Vec<Line> = files.into_iter().map(line).collect();
        page.lines("Elapsed time against the degree of parallelism", "MAXDOP", "seconds", &lines);
        let bar = |figures: &Figures| Bar {
            name: figures.name.clone(),
            value: figures.time_ratio,
            label: format!("{:.2}", figures.time_ratio.median),
        };
        page.bars("Time, as a multiple of the first", &self.variants.iter().map(bar).collect::<Vec<_>>());
        for table in self.tables() {
            page.table(&table);
        }
        let mut operations = Table::new(
            "Log records of the last run by operation and context",
            &["operation, context", "file group, MAXDOP", "records", "bytes"],
        );
        let mut waits = Table::new("Waits of the last run", &["type", "file group, MAXDOP", "waits", "ms"]);
        for figures in &self.variants {
            let Some(run) = figures.runs.last() else { continue };
            for operation in run.log.operations.value().into_iter().flatten() {
                operations.row([
                    format!("{} {}", operation.operation, operation.context),
                    figures.name.clone(),
                    grouped(operation.records),
                    grouped(operation.bytes),
                ]);
            }
            for (kind, wait) in run.waits.value().into_iter().flatten() {
                waits.row([
                    kind.clone(),
                    figures.name.clone(),
                    grouped(wait.count),
                    format!("{:.1}", wait.milliseconds),
                ]);
            }
        }
        page.table(&operations);
        page.table(&waits);
        page.finish()
    }
}
