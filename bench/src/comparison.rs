//! Results of many runs, machines and clients on one page: `bench report` side by side, `bench league` in the order of speed.
//!
//! A submission is one JSON file: what `--output` of any benchmark writes, the runs of the race of clients, or the file of another
//! program in one of these shapes. Objects with a `name` (or a `case`) and figures with a `median` count, wherever they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use load::report::grouped;
use serde_json::Value;

use crate::experiment::{Bar, Outcome, Page, Table};
use crate::statistics::Spread;

/// Bytes of a submission at most.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The figure that a league is ordered by.
const SPEED: &str = "rows_per_second";

/// `bench report` and `bench league`.
#[derive(Debug, Clone, Args)]
pub struct ComparisonArguments {
    /// The folder with the results, a JSON file each
    pub folder: PathBuf,
    /// The page to write (default: report.html or league.html in the folder)
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The results of a file.
#[derive(Debug)]
struct Submission {
    name: String,
    place: String,
    /// Spreads by variant and figure.
    figures: BTreeMap<(String, String), Spread>,
}

impl ComparisonArguments {
    /// Writes the page of all results side by side.
    ///
    /// # Errors
    /// The folder has no results, or a file cannot be read or written.
    pub fn report(&self) -> Outcome<()> {
        let all = self.submissions()?;
        let mut page = Page::new("Results side by side", &places(&all));
        let kinds: BTreeSet<&str> =
            all.iter().flat_map(|one| one.figures.keys().map(|(_, figure)| figure.as_str())).collect();
        for kind in kinds {
            page.table(&side_by_side(&all, kind));
        }
        self.write("report.html", &page.finish())
    }

    /// Writes the page of the fastest, variant by variant.
    ///
    /// # Errors
    /// The folder has no results, or a file cannot be read or written.
    pub fn league(&self) -> Outcome<()> {
        let all = self.submissions()?;
        let mut page = Page::new("The league of loads", &places(&all));
        page.table(&fastest(&all));
        let variants: BTreeSet<&str> = all
            .iter()
            .flat_map(|one| one.figures.keys())
            .filter(|(_, figure)| figure == SPEED)
            .map(|(variant, _)| variant.as_str())
            .collect();
        for variant in variants {
            page.bars(&format!("{variant}: rows a second"), &ranked(&all, variant));
        }
        self.write("league.html", &page.finish())
    }

    fn submissions(&self) -> Outcome<Vec<Submission>> {
        let folder = &self.folder;
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json")));
        files.sort();
        let all = files.iter().map(|file| Submission::read(file)).collect::<Outcome<Vec<_>>>()?;
        match all.is_empty() {
            true => Err(format!("{}: no results (*.json, as --output writes them)", folder.display()).into()),
            false => Ok(all),
        }
    }

    fn write(&self, name: &str, page: &str) -> Outcome<()> {
        let path = self.output.clone().unwrap_or_else(|| self.folder.join(name));
        std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
        Ok(())
    }
}

impl Submission {
    fn read(file: &Path) -> Outcome<Self> {
        let refused = |reason: String| format!("{}: {reason}", file.display());
        let bytes = std::fs::metadata(file).map_err(|error| refused(error.to_string()))?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(refused(format!("{} bytes are no result", grouped(bytes))).into());
        }
        let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let tree: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let mut figures = BTreeMap::new();
        collect(&tree, None, &mut figures);
        collect_runs(&tree, &mut figures);
        if figures.is_empty() {
            return Err(refused("no figure with a name and a median is in it".to_owned()).into());
        }
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, place: place_of(&tree), figures })
    }
}

/// Gathers the figures of all named objects. Numbers of rows are part of a variant: only equal tasks are compared.
fn collect(tree: &Value, rows: Option<u64>, figures: &mut BTreeMap<(String, String), Spread>) {
    match tree {
        Value::Array(items) => items.iter().for_each(|item| collect(item, rows, figures)),
        Value::Object(members) => {
            let rows = members.get("rows").and_then(Value::as_u64).or(rows);
            let name = ["name", "case"].iter().find_map(|key| members.get(*key)?.as_str());
            for (key, value) in members {
                match (name, spread_of(value)) {
                    (Some(name), Some(spread)) => {
                        figures.insert((variant(name, rows), key.clone()), spread);
                    }
                    _ => collect(value, rows, figures),
                }
            }
        }
        _ => {}
    }
}

/// Gathers the runs of a race of clients: those of a contestant in a case are a variant. Failed runs do not count.
fn collect_runs(tree: &Value, figures: &mut BTreeMap<(String, String), Spread>) {
    let runs = tree.get("runs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut values: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for run in runs {
        let text = |name: &str| run.get(name).and_then(Value::as_str);
        let number = |name: &str| run.get(name).and_then(Value::as_f64).filter(|number| *number > 0.0);
        let (Some(case), Some(contestant), Some(seconds)) =
            (text("case"), text("contestant"), number("seconds"))
        else {
            continue;
        };
        if text("error").is_some_and(|error| !error.is_empty()) {
            continue;
        }
        let name = variant(&format!("{case}, {contestant}"), run.get("rows").and_then(Value::as_u64));
        let speed = number("rows").map(|rows| rows / seconds);
        let found = [
            (SPEED, speed),
            ("seconds", Some(seconds)),
            ("cpu_seconds", number("cpu_seconds")),
            ("peak_bytes", number("peak_bytes")),
        ];
        for (figure, value) in found {
            values.entry((name.clone(), figure.to_owned())).or_default().extend(value);
        }
    }
    let spreads = values.into_iter().filter(|(_, values)| !values.is_empty());
    figures.extend(spreads.map(|(key, values)| (key, Spread::of(values))));
}

fn variant(name: &str, rows: Option<u64>) -> String {
    match rows {
        Some(rows) => format!("{name}, {} rows", grouped(rows)),
        None => name.to_owned(),
    }
}

fn spread_of(value: &Value) -> Option<Spread> {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    let median = number("median")?;
    Some(Spread { min: number("min").unwrap_or(median), median, max: number("max").unwrap_or(median) })
}

/// Returns the server and the machine of a result, as far as it names them.
fn place_of(tree: &Value) -> String {
    let surroundings = tree.get("surroundings").unwrap_or(tree);
    let names = ["client", "server", "edition", "machine", "version"];
    let machine = surroundings.get("machine").and_then(|machine| machine.get("processor")?.as_str());
    let told = names.iter().filter_map(|name| surroundings.get(*name)?.as_str()).chain(machine);
    told.collect::<Vec<_>>().join(", ")
}

fn places(all: &[Submission]) -> String {
    let lines = all.iter().map(|one| match one.place.as_str() {
        "" => one.name.clone(),
        place => format!("{}: {place}", one.name),
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Makes the table of a figure: a row for each variant, a column for each result.
fn side_by_side(all: &[Submission], kind: &str) -> Table {
    let names: Vec<&str> =
        std::iter::once("variant").chain(all.iter().map(|one| one.name.as_str())).collect();
    let mut table = Table::new(&kind.replace('_', " "), &names);
    let variants: BTreeSet<&String> = all
        .iter()
        .flat_map(|one| one.figures.keys())
        .filter(|(_, figure)| figure == kind)
        .map(|(name, _)| name)
        .collect();
    for variant in variants {
        let key = (variant.clone(), kind.to_owned());
        let cells = all
            .iter()
            .map(|one| one.figures.get(&key).map_or_else(|| "-".to_owned(), |spread| shown(spread.median)));
        table.row(std::iter::once(variant.clone()).chain(cells));
    }
    table
}

/// Makes the table of the fastest variant of each result, the fastest result first.
fn fastest(all: &[Submission]) -> Table {
    let mut table = Table::new("The fastest load of each", &["result", "variant", "rows/s", "where"]);
    let mut best: Vec<(&Submission, &str, f64)> = all
        .iter()
        .filter_map(|one| {
            let speeds = one.figures.iter().filter(|((_, figure), _)| figure == SPEED);
            let best = speeds.max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))?;
            Some((one, best.0.0.as_str(), best.1.median))
        })
        .collect();
    best.sort_by(|a, b| b.2.total_cmp(&a.2));
    for (one, variant, speed) in best {
        table.row([one.name.clone(), variant.to_owned(), shown(speed), one.place.clone()]);
    }
    table
}

/// Makes the bars of a variant, the fastest first.
fn ranked(all: &[Submission], variant: &str) -> Vec<Bar> {
    let key = (variant.to_owned(), SPEED.to_owned());
    let mut bars: Vec<Bar> = all
        .iter()
        .filter_map(|one| {
            let value = *one.figures.get(&key)?;
            Some(Bar { name: one.name.clone(), label: shown(value.median), value })
        })
        .collect();
    bars.sort_by(|a, b| b.value.median.total_cmp(&a.value.median));
    bars
}

fn shown(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(large.round() as u64))
        }
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn results_of_several_files_meet_on_one_page() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "small.json",
            r#"{"surroundings": {"machine": "linux <small>", "server": "S 1"}, "sizes": [{"rows": 500, "variants": [
               {"name": "heap", "rows_per_second": {"min": 900, "median": 1000, "max": 1100}, "seconds": {"min": 1, "median": 2.5, "max": 3}}]},
               {"rows": 7000, "variants": [{"name": "heap", "rows_per_second": {"median": 1234}}]}]}"#,
        );
        write(
            "race.json",
            r#"{"machine": {"processor": "two cores"}, "runs": [
               {"case": "sink", "contestant": "quick", "rows": 3000, "error": "", "seconds": 0.5},
               {"case": "sink", "contestant": "quick", "rows": 3000, "error": "gone", "seconds": 9},
               {"case": "sink", "contestant": "quick", "rows": 3000, "error": "", "seconds": 1.5}]}"#,
        );
        write(
            "large.json",
            r#"[{"case": "heap", "rows_per_second": {"median": 5000000}}, {"case": "tree", "rows_per_second": {"median": 7}}]"#,
        );
        write("notes.txt", "nothing");
        let arguments = ComparisonArguments { folder: folder.path().to_owned(), output: None };
        arguments.report().unwrap();
        arguments.league().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (report, league) = (read("report.html"), read("league.html"));
        for expected in [
            "linux &lt;small&gt;",
            "5,000,000",
            "2.500",
            "seconds",
            "tree",
            "heap, 500 rows",
            "heap, 7,000 rows",
            "sink, quick, 3,000 rows",
            "4,000",
            "two cores",
        ] {
            assert!(report.contains(expected), "{expected}: {report}");
        }
        let table = league.split("The fastest load of each").nth(1).unwrap();
        assert!(table.find("large") < table.find("small"), "{league}");
        assert!(!league.contains("<script"));
        write("wrong.json", "{}");
        assert!(arguments.report().unwrap_err().to_string().contains("wrong.json"));
    }

    #[test]
    fn a_folder_without_results_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ComparisonArguments { folder: folder.path().to_owned(), output: None };
        assert!(arguments.league().unwrap_err().to_string().contains("no results"));
    }
}
