//! Summary of the runs: spreads, ratios within a round, sizes, and the server's estimates of them.

use load::report::grouped;
use serde::Serialize;

use super::run::{Estimate, Run};
use super::variant::{Compression, Variant};
use super::{Settings, Shape};
use crate::experiment::{Bar, Findings, Page, Surroundings, Table, Told, few_rows, or_dash};
use crate::statistics::Spread;

/// PAGE to NONE, in time, as published for a clustered index of SQL Server 2008: 217 s and 80 s.
const PUBLISHED_PAGE_TIME: f64 = 2.7;

/// Everything that was measured, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Server and machine.
    pub surroundings: Surroundings,
    /// Rows of the source.
    pub rows: u64,
    /// Number of rounds.
    pub rounds: usize,
    /// Recovery model that was set.
    pub recovery: Option<crate::experiment::Recovery>,
    /// Figures of each variant.
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
    /// Rows a second.
    pub rows_per_second: Spread,
    /// Time as a multiple of the same shape's without compression, in the same round.
    pub time_ratio: Option<Spread>,
    /// Server's processor time as such a multiple.
    pub cpu_ratio: Option<Spread>,
    /// Pages of rows as such a multiple.
    pub size_ratio: Option<f64>,
    /// Sizes that `sp_estimate_data_compression_savings` foretold.
    pub estimate: Option<Told<Estimate>>,
    /// Size as such a multiple, by the estimate.
    pub estimated_size_ratio: Option<f64>,
    /// Runs in the order of rounds.
    pub runs: Vec<Run>,
}

impl Results {
    pub(super) fn new(settings: &Settings, surroundings: Surroundings) -> Results {
        let figures = |variant: &Variant| Figures {
            variant: *variant,
            name: variant.to_string(),
            seconds: Spread::default(),
            rows_per_second: Spread::default(),
            time_ratio: None,
            cpu_ratio: None,
            size_ratio: None,
            estimate: None,
            estimated_size_ratio: None,
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

    pub(super) fn estimate(&mut self, variant: Variant, estimate: Told<Estimate>) {
        for figures in self.variants.iter_mut().filter(|figures| figures.variant == variant) {
            figures.estimate = Some(estimate.clone());
        }
    }

    /// Computes the spreads, once all runs are there.
    pub(super) fn settle(&mut self) {
        let without: Vec<(Shape, Vec<Run>)> = self
            .variants
            .iter()
            .filter(|figures| figures.variant.compression == Compression::None)
            .map(|figures| (figures.variant.shape, figures.runs.clone()))
            .collect();
        for figures in &mut self.variants {
            let base =
                without.iter().find(|(shape, _)| *shape == figures.variant.shape).map(|(_, runs)| runs);
            figures.settle(base);
        }
    }
}

impl Figures {
    fn settle(&mut self, base: Option<&Vec<Run>>) {
        self.seconds = Spread::of(self.runs.iter().map(|run| run.seconds));
        self.rows_per_second = Spread::of(self.runs.iter().map(|run| run.rows as f64 / run.seconds));
        let Some(base) = base else { return };
        let pairs = || self.runs.iter().zip(base);
        self.time_ratio = Some(Spread::of(pairs().map(|(run, base)| run.seconds / base.seconds)));
        let cpu = |(run, base): (&Run, &Run)| {
            run.server_cpu_seconds
                .zip(base.server_cpu_seconds.filter(|cpu| *cpu > 0.0))
                .map(|(run, base)| run / base)
        };
        let ratios: Vec<f64> = pairs().filter_map(cpu).collect();
        self.cpu_ratio = (ratios.len() == self.runs.len()).then(|| Spread::of(ratios));
        self.size_ratio =
            self.pages().zip(base.last().and_then(pages)).map(|(pages, base)| pages as f64 / base as f64);
        self.estimated_size_ratio =
            self.estimate.as_ref().and_then(|estimate| estimate.value()).and_then(|estimate| {
                (estimate.current_bytes > 0)
                    .then(|| estimate.requested_bytes as f64 / estimate.current_bytes as f64)
            });
    }

    /// Returns the pages of rows, after the last round.
    pub fn pages(&self) -> Option<u64> {
        self.runs.last().and_then(pages)
    }
}

fn pages(run: &Run) -> Option<u64> {
    run.physical.value().map(|physical| physical.pages)
}

impl Findings for Results {
    fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    fn tables(&self) -> Vec<Table> {
        let mut times = Table::new(
            &format!("INSERT ... SELECT of {} rows, {} rounds: median (smallest-largest)", grouped(self.rows), self.rounds),
            &["table", "seconds", "rows/s", "of NONE", "server CPU, of NONE", "log, KB"],
        )
        .with_note(&format!(
            "Published for a clustered index of SQL Server 2008: PAGE takes {PUBLISHED_PAGE_TIME} times the time of NONE."
        ));
        let mut sizes = Table::new(
            "Sizes, and what sp_estimate_data_compression_savings foretold of them",
            &["table", "pages", "of NONE", "estimated", "page density"],
        );
        for figures in &self.variants {
            let log = figures.runs.last().and_then(|run| run.log.bytes());
            times.row([
                figures.name.clone(),
                figures.seconds.print(|seconds| format!("{seconds:.3}")),
                figures.rows_per_second.print(|rate| grouped(rate.round() as u64)),
                or_dash(figures.time_ratio, |ratio| ratio.print(|ratio| format!("{ratio:.2}"))),
                or_dash(figures.cpu_ratio, |ratio| ratio.print(|ratio| format!("{ratio:.2}"))),
                or_dash(log, |bytes| grouped((bytes / 1e3).round() as u64)),
            ]);
            let density = figures.runs.last().and_then(|run| run.physical.value()?.page_density_percent);
            sizes.row([
                figures.name.clone(),
                or_dash(figures.pages(), grouped),
                or_dash(figures.size_ratio, |ratio| format!("{ratio:.3}")),
                or_dash(figures.estimated_size_ratio, |ratio| format!("{ratio:.3}")),
                or_dash(density, |percent| format!("{percent:.1} %")),
            ]);
        }
        vec![times, sizes]
    }

    fn page(&self) -> String {
        let recovery = self.recovery.map_or_else(|| "as it was".to_owned(), |recovery| recovery.to_string());
        let mut page = Page::new(
            "Compression and inserts",
            &format!(
                "{}. Recovery model: {recovery}. The table is made anew, empty, for every run; the source was read as a whole before the \
                 first. After every run the server's count and a content checksum of what reads back were those of the source. Settings \
                 take turns within a round, and ratios are taken within it.",
                self.surroundings.line()
            ),
        );
        if let Some(warning) = few_rows(self.rows) {
            page.paragraph(&warning);
        }
        let bars = |value: fn(&Figures) -> Option<Spread>, label: fn(f64) -> String| -> Vec<Bar> {
            let bar = |figures: &Figures| {
                let value = value(figures)?;
                Some(Bar { name: figures.name.clone(), label: label(value.median), value })
            };
            self.variants.iter().filter_map(bar).collect()
        };
        page.bars("Seconds", &bars(|figures| Some(figures.seconds), |seconds| format!("{seconds:.3} s")));
        page.bars(
            "Time, as a multiple of the same table's without compression",
            &bars(|figures| figures.time_ratio, |ratio| format!("{ratio:.2}")),
        );
        let single = |value: f64| Spread { min: value, median: value, max: value };
        let sizes: Vec<Bar> = self
            .variants
            .iter()
            .filter_map(|figures| {
                let value = single(figures.pages()? as f64);
                Some(Bar { name: figures.name.clone(), label: grouped(value.median as u64), value })
            })
            .collect();
        page.bars("Pages of rows", &sizes);
        for table in self.tables() {
            page.table(&table);
        }
        page.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Keeping, LogUse, Physical};

    fn run(seconds: f64, pages: u64) -> Run {
        let none = || Told::unavailable("not asked");
        Run {
            rows: 1000,
            seconds,
            server_cpu_seconds: Some(seconds / 2.0),
            physical: Told::Value(Physical {
                pages,
                page_density_percent: None,
                scan_density_percent: None,
                compressed_pages: None,
            }),
            space: Told::unavailable("not asked"),
            log: LogUse {
                used_bytes: none(),
                record_bytes: Told::unavailable("no log"),
                operations: Told::unavailable("no log"),
            },
            io: Told::unavailable("not asked"),
        }
    }

    #[test]
    fn ratios_are_to_the_same_shape_in_the_same_round() {
        let shapes = [Shape::Clustered, Shape::HeapTablock];
        let variants = Variant::combinations(&shapes, &[Compression::None, Compression::Page]);
        let surroundings = Surroundings {
            server: "Test".to_owned(),
            keeping: Keeping::Target,
            edition: None,
            version: "0.0.0",
            machine: "none".to_owned(),
            cores: 2,
            packet_size_bytes: 4096,
        };
        let settings = Settings {
            target: crate::experiment::TargetArguments {
                target: None,
                database: "d".to_owned(),
                in_place: false,
                server: Default::default(),
            },
            rows: 1000,
            rounds: 2,
            variants,
            recovery: None,
            max_dop: None,
            plant_wrong_row: false,
        };
        let mut results = Results::new(&settings, surroundings);
        for slower in [1.0, 3.0] {
            for (index, seconds) in [2.0, 5.0, 1.0, 1.5].into_iter().enumerate() {
                results.add(index, run(seconds * slower, if index % 2 == 0 { 100 } else { 60 }));
            }
        }
        let page = Variant { shape: Shape::Clustered, compression: Compression::Page };
        results.estimate(page, Told::Value(Estimate { current_bytes: 819_200, requested_bytes: 409_600 }));
        results.settle();
        let ratios: Vec<f64> = results
            .variants
            .iter()
            .map(|figures| figures.time_ratio.map_or(0.0, |ratio| ratio.max))
            .collect();
        assert_eq!(ratios, [1.0, 2.5, 1.0, 1.5]);
        assert_eq!(results.variants.get(1).and_then(|figures| figures.size_ratio), Some(0.6));
        assert_eq!(results.variants.get(1).and_then(|figures| figures.estimated_size_ratio), Some(0.5));
        let text = results.tables().iter().map(Table::to_string).collect::<String>();
        assert!(text.contains("2.50"), "{text}");
        assert!(results.page().contains("heap, TABLOCK, PAGE"));
    }
}
