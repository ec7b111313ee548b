//! Summary of the runs: times as a percentage of the slowest, log, density, space, processor time, input and
//! output.

use std::collections::BTreeMap;

use load::report::grouped;
use serde::Serialize;

use super::Settings;
use super::findings::{self, Finding};
use super::host_file::HostFile;
use super::run::Run;
use super::variant::{Direction, Variant};
use crate::experiment::{Bar, Findings, Line, Page, Recovery, Surroundings, Table, few_rows, or_dash};
use crate::statistics::Spread;

/// Everything that was measured, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Server and machine.
    pub surroundings: Surroundings,
    /// True if the server could read the files, so that BULK INSERT was run.
    pub server_reads_files: bool,
    /// Recovery models that were set; none if the database was left as it is.
    pub recoveries: Vec<Recovery>,
    /// Seed of the rows.
    pub seed: u64,
    /// Number of rounds.
    pub rounds: usize,
    /// Results for each number of rows.
    pub sizes: Vec<SizeResults>,
}

/// Results for one number of rows.
#[derive(Debug, Clone, Serialize)]
pub struct SizeResults {
    /// Number of rows.
    pub rows: u32,
    /// Bytes of the files.
    pub file_bytes: BTreeMap<HostFile, u64>,
    /// Figures of each variant.
    pub variants: Vec<Figures>,
    /// The original's findings, and the same ratios here.
    pub findings: Vec<Finding>,
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
    /// Time as a percentage of the slowest of the same round, direction and number of rows.
    pub percent_of_slowest: Spread,
    /// Runs in the order of rounds.
    pub runs: Vec<Run>,
}

impl Results {
    pub(super) fn new(settings: &Settings, surroundings: Surroundings, server_reads_files: bool) -> Results {
        let mut recoveries: Vec<Recovery> =
            settings.variants.iter().filter_map(|variant| variant.recovery).collect();
        recoveries.sort_unstable();
        recoveries.dedup();
        Results {
            surroundings,
            recoveries,
            server_reads_files,
            seed: settings.seed,
            rounds: settings.rounds,
            sizes: Vec::new(),
        }
    }
}

impl SizeResults {
    pub(super) fn new(settings: &Settings, rows: u32, file_bytes: BTreeMap<HostFile, u64>) -> SizeResults {
        // A property that all variants share is said once.
        let mut models = settings.variants.iter().map(|variant| variant.recovery);
        let first = models.next();
        let one_model = models.all(|model| Some(model) == first);
        let figures = |variant: &Variant| Figures {
            variant: *variant,
            name: if one_model {
                Variant { recovery: None, ..*variant }.to_string()
            } else {
                variant.to_string()
            },
            seconds: Spread::default(),
            percent_of_slowest: Spread::default(),
            runs: Vec::new(),
        };
        SizeResults {
            rows,
            file_bytes,
            variants: settings.variants.iter().map(figures).collect(),
            findings: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, variant: usize, run: Run) {
        if let Some(figures) = self.variants.get_mut(variant) {
            figures.runs.push(run);
        }
    }

    /// Computes the spreads and ratios, once all runs are there.
    pub(super) fn settle(&mut self) {
        let rounds = self.variants.iter().map(|figures| figures.runs.len()).min().unwrap_or(0);
        let slowest = |direction: Direction| -> Vec<f64> {
            let of_round = |round: usize| {
                let times = self.variants.iter().filter(|figures| figures.variant.direction == direction);
                times.filter_map(|figures| Some(figures.runs.get(round)?.seconds)).fold(0.0, f64::max)
            };
            (0..rounds).map(of_round).collect()
        };
        let (imports, exports) = (slowest(Direction::Import), slowest(Direction::Export));
        for figures in &mut self.variants {
            let slowest = if figures.variant.direction == Direction::Import { &imports } else { &exports };
            figures.seconds = Spread::of(figures.runs.iter().map(|run| run.seconds));
            figures.percent_of_slowest = Spread::of(
                figures.runs.iter().zip(slowest).map(|(run, slowest)| run.seconds / slowest * 100.0),
            );
        }
        self.findings = findings::of(self);
    }

    fn of(&self, direction: Direction) -> impl Iterator<Item = &Figures> {
        self.variants.iter().filter(move |figures| figures.variant.direction == direction)
    }

    fn times(&self, direction: Direction, rounds: usize) -> Table {
        let way = if direction == Direction::Import { "Import" } else { "Export" };
        let mut table = Table::new(
            &format!(
                "{way} of {} rows, {rounds} rounds: median (smallest-largest)",
                grouped(u64::from(self.rows))
            ),
            &[
                "how",
                "of the slowest, %",
                "seconds",
                "file, MB",
                "client CPU, s",
                "server CPU, s",
                "phases, s",
            ],
        );
        for figures in self.of(direction) {
            let cpu = |of: fn(&Run) -> Option<f64>| {
                let values: Option<Vec<f64>> = figures.runs.iter().map(of).collect();
                values.map_or_else(
                    || "-".to_owned(),
                    |values| Spread::of(values).print(|cpu| format!("{cpu:.2}")),
                )
            };
            let phases = figures.runs.last().map(|run| {
                let words: Vec<String> =
                    run.phase_seconds.iter().map(|(name, time)| format!("{name} {time:.3}")).collect();
                words.join(", ")
            });
            table.row([
                figures.name.clone(),
                figures.percent_of_slowest.print(|percent| format!("{percent:.0}")),
                figures.seconds.print(|seconds| format!("{seconds:.3}")),
                figures
                    .runs
                    .last()
                    .map_or_else(String::new, |run| format!("{:.2}", run.file_bytes as f64 / 1e6)),
                cpu(|run| run.client_cpu_seconds),
                cpu(|run| run.server_cpu_seconds),
                phases.filter(|phases| !phases.is_empty()).unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        table
    }

    fn server_side(&self) -> Table {
        let mut table = Table::new(
            &format!("Log, pages and disk of importing {} rows (last round)", grouped(u64::from(self.rows))),
            &[
                "how",
                "log, KB",
                "table, MB",
                "page density, %",
                "scan density, %",
                "data I/Os per s",
                "queue",
                "log I/Os per s",
                "queue",
            ],
        );
        for figures in self.of(Direction::Import) {
            let Some(run) = figures.runs.last() else { continue };
            let physical = run.physical.as_ref().and_then(|physical| physical.value());
            let files = run.io.value();
            let io = |kind: &str| files.and_then(|files| files.get(kind));
            let rate =
                |kind: &str| or_dash(io(kind), |io| format!("{:.0}", io.requests_per_second(run.seconds)));
            let queue = |kind: &str| or_dash(io(kind), |io| format!("{:.2}", io.queue_length(run.seconds)));
            table.row([
                figures.name.clone(),
                or_dash(run.log.bytes(), |bytes| grouped((bytes / 1e3).round() as u64)),
                or_dash(run.space.as_ref().and_then(|space| space.value()), |space| {
                    format!("{:.1}", space.data_bytes as f64 / 1e6)
                }),
                or_dash(physical.and_then(|physical| physical.page_density_percent), |percent| {
                    format!("{percent:.1}")
                }),
                or_dash(physical.and_then(|physical| physical.scan_density_percent), |percent| {
                    format!("{percent:.1}")
                }),
                rate("data"),
                queue("data"),
                rate("log"),
                queue("log"),
            ]);
        }
        table
    }

    fn ratios(&self) -> Table {
        let mut table = Table::new(
            &format!(
                "The original's findings as ratios, and here with {} rows",
                grouped(u64::from(self.rows))
            ),
            &["ratio", "published", "here"],
        );
        for finding in &self.findings {
            table.row([
                finding.name.clone(),
                format!("{:.2}", finding.published),
                finding.measured.print(|ratio| format!("{ratio:.2}")),
            ]);
        }
        table
    }
}

impl Findings for Results {
    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn tables(&self) -> Vec<Table> {
        self.sizes
            .iter()
            .flat_map(|size| {
                [
                    size.times(Direction::Import, self.rounds),
                    size.server_side(),
                    size.times(Direction::Export, self.rounds),
                    size.ratios(),
                ]
            })
            .collect()
    }

    fn page(&self) -> String {
        let recoveries = match self.recoveries.as_slice() {
            [] => "as it was".to_owned(),
            models => models.iter().map(Recovery::to_string).collect::<Vec<_>>().join(", "),
        };
        let mut page = Page::new(
            "bcp, BULK INSERT, load",
            &format!(
                "{}. Recovery model: {recoveries}. Rows of two integers and twelve varchar(50), 608 bytes at most, with a clustered primary key on an identity, fill factor \
                 10. The table is made anew for every import, and the whole file is one batch. After every run the rows of the table, or of the \
                 file, were counted and compared with the generated ones by a content checksum. Variants take turns within a round.",
                self.surroundings.line()
            ),
        );
        if !self.server_reads_files {
            page.paragraph(
                "BULK INSERT was not run: the server does not see the files (--server-file-directory).",
            );
        }
        for size in &self.sizes {
            page.table(&size.ratios());
            if let Some(warning) = few_rows(size.rows.into()) {
                page.paragraph(&warning);
            }
        }
        for size in &self.sizes {
            for direction in [Direction::Import, Direction::Export] {
                let bar = |figures: &Figures| Bar {
                    name: figures.name.clone(),
                    value: figures.percent_of_slowest,
                    label: format!(
                        "{:.0} % ({:.3} s)",
                        figures.percent_of_slowest.median, figures.seconds.median
                    ),
                };
                let way = if direction == Direction::Import { "import" } else { "export" };
                let title = format!(
                    "{} rows, {way}: time, as a percentage of the slowest",
                    grouped(u64::from(size.rows))
                );
                page.bars(&title, &size.of(direction).map(bar).collect::<Vec<_>>());
            }
            page.lines(
                &format!("{} rows, import: time against the size of the file", grouped(u64::from(size.rows))),
                "MB of the file",
                "seconds",
                &against_bytes(size),
            );
        }
        for size in &self.sizes {
            for table in [
                size.times(Direction::Import, self.rounds),
                size.server_side(),
                size.times(Direction::Export, self.rounds),
            ] {
                page.table(&table);
            }
        }
        page.finish()
    }
}

/// Makes a line for each program and lock, from file to file.
fn against_bytes(size: &SizeResults) -> Vec<Line> {
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for figures in size.of(Direction::Import) {
        let (variant, Some(run)) = (figures.variant, figures.runs.last()) else { continue };
        // Names of a line are those of its variants without the file.
        let name = figures.name.replacen(&format!(", {}", variant.file), "", 1);
        lines.entry(name).or_default().push((run.file_bytes as f64 / 1e6, figures.seconds.median));
    }
    lines
        .into_iter()
        .filter(|(_, points)| points.len() > 1)
        .map(|(name, mut points)| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line { name, points }
        })
        .collect()
}
