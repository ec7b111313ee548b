//! Summary of the runs of all variants: spreads, and ratios taken round by round.

use std::collections::BTreeMap;
use std::fmt;

use load::Client;
use load::report::grouped;
use serde::Serialize;

use super::variant::{Method, Storage, Variant};
use super::{Run, Settings};
use crate::statistics::Spread;

/// Everything that was measured, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Name and version of the server; a target's as it says at login.
    pub server: String,
    /// True for the embedded server, started for the experiment.
    pub embedded_server: bool,
    /// Version of bulkwire.
    pub version: &'static str,
    /// Operating system and processor.
    pub machine: String,
    /// Threads that the machine runs at once.
    pub cores: usize,
    /// Packet size of the connection, in bytes.
    pub packet_size_bytes: usize,
    /// Number of rounds.
    pub rounds: usize,
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
    /// Rows a second.
    pub rows_per_second: Spread,
    /// Megabytes of data a second, without what the protocol adds.
    pub data_megabytes_per_second: Spread,
    /// Time of a row as a multiple of the first variant's in the same round.
    pub time_ratio: Spread,
    /// Seconds by phase.
    pub phase_seconds: BTreeMap<&'static str, Spread>,
    /// CPU time of the client, if it is known.
    pub client_cpu_ns_per_row: Option<Spread>,
    /// CPU time of the embedded server.
    pub server_cpu_ns_per_row: Option<Spread>,
    /// Runs in the order of rounds.
    pub runs: Vec<Run>,
}

/// Figure of a run that is compared between variants.
type Figure = fn(&Run) -> f64;

/// A ratio that the published experiment reports, and the same one here.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedRatio {
    /// Name of the ratio: its dividend and divisor.
    pub name: &'static str,
    /// Published ratio, over ODBC's bulk-copy functions.
    pub published: f64,
    /// Ratio measured here, taken round by round.
    pub measured: Spread,
}

impl Results {
    pub(super) fn new(settings: &Settings, client: &Client, embedded_server: bool) -> Results {
        let info = client.server_info();
        let (major, minor, build) = info.version;
        Results {
            server: match embedded_server {
                true => format!("bulkwire serve {}", env!("CARGO_PKG_VERSION")),
                false => format!("{} {major}.{minor}.{build}", info.program.trim_end_matches('\0')),
            },
            embedded_server,
            version: env!("CARGO_PKG_VERSION"),
            machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            packet_size_bytes: info.packet_size_bytes,
            rounds: settings.rounds,
            variants: settings.variants.iter().map(Figures::new).collect(),
        }
    }

    pub(super) fn add(&mut self, variant: usize, run: Run) {
        if let Some(figures) = self.variants.get_mut(variant) {
            figures.runs.push(run);
        }
    }

    /// Computes the spreads, once all runs are there.
    pub(super) fn settle(&mut self) {
        let baseline: Vec<Run> = self.variants.first().map(|first| first.runs.clone()).unwrap_or_default();
        for figures in &mut self.variants {
            figures.settle(&baseline);
        }
    }

    /// Lists the published ratios whose variants were all run.
    pub fn published_ratios(&self) -> Vec<PublishedRatio> {
        let bulk =
            |storage, table_lock| Variant { storage, method: Method::Bulk, batch_rows: 50_000, table_lock };
        let heap = bulk(Storage::Heap, true);
        let row_by_row = Variant { method: Method::RowByRow, table_lock: false, ..heap };
        let cases: [(&'static str, f64, Variant, Figure); 3] = [
            (
                "time into a clustered table / into a heap",
                1.126,
                bulk(Storage::Clustered, true),
                seconds_per_row,
            ),
            ("waiting without TABLOCK / with it", 1.15, bulk(Storage::Heap, false), wait_per_row),
            ("time row by row / in bulk", 5.2, row_by_row, seconds_per_row),
        ];
        cases
            .into_iter()
            .filter_map(|(name, published, over, figure)| {
                let (over, under) = (self.runs_of(&over)?, self.runs_of(&heap)?);
                let measured =
                    Spread::of(over.iter().zip(under).map(|(over, under)| figure(over) / figure(under)));
                Some(PublishedRatio { name, published, measured })
            })
            .collect()
    }

    fn runs_of(&self, variant: &Variant) -> Option<&[Run]> {
        let figures = self.variants.iter().find(|figures| figures.variant == *variant)?;
        Some(&figures.runs)
    }
}

impl Figures {
    fn new(variant: &Variant) -> Figures {
        Figures {
            variant: *variant,
            name: variant.to_string(),
            rows_per_second: Spread::default(),
            data_megabytes_per_second: Spread::default(),
            time_ratio: Spread::default(),
            phase_seconds: BTreeMap::new(),
            client_cpu_ns_per_row: None,
            server_cpu_ns_per_row: None,
            runs: Vec::new(),
        }
    }

    fn settle(&mut self, baseline: &[Run]) {
        let spread = |figure: &dyn Fn(&Run) -> f64| Spread::of(self.runs.iter().map(figure));
        let per_row = |seconds: &dyn Fn(&Run) -> Option<f64>| {
            let all: Option<Vec<f64>> =
                self.runs.iter().map(|run| Some(seconds(run)? * 1e9 / run.rows as f64)).collect();
            all.map(Spread::of)
        };
        self.rows_per_second = spread(&|run| run.rows as f64 / run.seconds);
        self.data_megabytes_per_second = spread(&|run| run.data_bytes as f64 / 1e6 / run.seconds);
        self.client_cpu_ns_per_row = per_row(&|run| run.client_cpu_seconds);
        self.server_cpu_ns_per_row = per_row(&|run| run.server_cpu_seconds);
        self.time_ratio = Spread::of(
            self.runs.iter().zip(baseline).map(|(run, first)| seconds_per_row(run) / seconds_per_row(first)),
        );
        let phases: Vec<&'static str> =
            self.runs.first().map(|run| run.phase_seconds.keys().copied().collect()).unwrap_or_default();
        self.phase_seconds = phases
            .into_iter()
            .map(|phase| {
                let seconds = |run: &Run| run.phase_seconds.get(phase).copied().unwrap_or(0.0);
                (phase, Spread::of(self.runs.iter().map(seconds)))
            })
            .collect();
    }

    /// Returns the rows of a run.
    pub fn rows(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.rows)
    }
}

fn seconds_per_row(run: &Run) -> f64 {
    run.seconds / run.rows as f64
}

fn wait_per_row(run: &Run) -> f64 {
    run.phase_seconds.get("wait").copied().unwrap_or(0.0) / run.rows as f64
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}{}, packets of {} bytes; {} with {} cores; {} rounds, median (smallest-largest)\n",
            self.server,
            if self.embedded_server { " (embedded, in memory)" } else { "" },
            self.packet_size_bytes,
            self.machine,
            self.cores,
            self.rounds
        )?;
        writeln!(f, "| variant | rows | rows/s | data MB/s | time, of the first | client ns/row | phases |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for figures in &self.variants {
            let phases: Vec<String> = figures
                .phase_seconds
                .iter()
                .map(|(phase, seconds)| format!("{phase} {:.3} s", seconds.median))
                .collect();
            let cpu =
                figures.client_cpu_ns_per_row.map_or("-".to_owned(), |cpu| format!("{:.0}", cpu.median));
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {cpu} | {} |",
                figures.name,
                grouped(figures.rows()),
                spread(figures.rows_per_second, |rate| grouped(rate.round() as u64)),
                spread(figures.data_megabytes_per_second, |rate| format!("{rate:.1}")),
                spread(figures.time_ratio, |ratio| format!("{ratio:.2}")),
                phases.join(", "),
            )?;
        }
        let ratios = self.published_ratios();
        if ratios.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n| ratio | published, over ODBC | here |\n|---|---|---|")?;
        for ratio in ratios {
            let here = spread(ratio.measured, |ratio| format!("{ratio:.2}"));
            writeln!(f, "| {} | {:.2} | {here} |", ratio.name, ratio.published)?;
        }
        Ok(())
    }
}

/// Formats a spread as `median (smallest-largest)`.
pub(super) fn spread(spread: Spread, print: impl Fn(f64) -> String) -> String {
    format!("{} ({}-{})", print(spread.median), print(spread.min), print(spread.max))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes two rounds of a heap, a heap without a lock, a clustered table and row by row, in round numbers.
    pub(in super::super) fn results() -> Results {
        let variants =
            Variant::combinations(&[Storage::Heap, Storage::Clustered], &[50_000], &[true, false], true);
        let mut results = Results {
            server: "Test <server> 1.2.3".to_owned(),
            embedded_server: true,
            version: "0.0.0",
            machine: "none".to_owned(),
            cores: 2,
            packet_size_bytes: 4096,
            rounds: 2,
            variants: variants.iter().map(Figures::new).collect(),
        };
        for round in 0..2 {
            for (index, seconds) in [1.0, 1.5, 2.0, 3.0, 0.5].into_iter().enumerate() {
                let rows = if index == 4 { 100 } else { 1000 };
                let slower = f64::from(round + 1);
                results.add(
                    index,
                    Run {
                        rows,
                        data_bytes: rows * 100,
                        bytes_on_wire: rows * 140,
                        seconds: seconds * slower,
                        phase_seconds: BTreeMap::from([("wait", seconds * slower / 2.0)]),
                        client_cpu_seconds: Some(0.001),
                        server_cpu_seconds: None,
                    },
                );
            }
        }
        results.settle();
        results
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let results = results();
        let ratios: Vec<(f64, f64)> =
            results.variants.iter().map(|figures| (figures.time_ratio.min, figures.time_ratio.max)).collect();
        // The second round took twice as long for every variant, which no ratio shows.
        assert_eq!(ratios, [(1.0, 1.0), (1.5, 1.5), (2.0, 2.0), (3.0, 3.0), (5.0, 5.0)]);
        let published: Vec<f64> =
            results.published_ratios().iter().map(|ratio| ratio.measured.median).collect();
        assert_eq!(published, [2.0, 1.5, 5.0]);
        assert_eq!(results.variants.first().map(|first| first.rows_per_second.max), Some(1000.0));
        assert_eq!(results.variants.first().map(|first| first.rows_per_second.median), Some(750.0));
    }

    #[test]
    fn the_table_has_a_line_for_each_variant() {
        let text = results().to_string();
        assert!(text.contains("| heap, 50,000 a batch | 1,000 | 500 (333-667) | 0.1 (0.0-0.1) | 1.50 (1.50-1.50) | 1000 | wait 1.125 s |"), "{text}");
        assert!(text.contains("| time row by row / in bulk | 5.20 | 5.00 (5.00-5.00) |"), "{text}");
    }
}
