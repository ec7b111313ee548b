//! `load --report FILE.html`: what a load did, as a page with charts.

pub mod chart;
pub mod page;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use load::report::{bytes, grouped, row_words};
use load::{Choice, LoadReport, Phases, RetryNote};

use self::chart::Bar;
use self::page::Body;
use crate::failure::Failure;
use crate::verbs::load::observation::Afterword;

/// Waits and retries that are shown.
const WAITS_SHOWN: usize = 8;
const RETRIES_SHOWN: usize = 50;
/// Parts that the time of a load is divided into at most, for its throughput.
const PARTS: usize = 60;

/// The contents of the report about one load.
pub struct Section<'a> {
    /// Files.
    pub name: &'a str,
    pub load: &'a LoadReport,
    pub afterword: &'a Afterword,
    /// Writers at most, and what kept the load from being faster.
    pub writers: Option<(usize, String)>,
    pub retries: &'a [RetryNote],
    pub refused: u64,
    /// The logging of batches, where the server reports it.
    pub logging: Vec<String>,
}

/// The contents of the page so far; the command has one page.
static BODIES: Mutex<Vec<Body>> = Mutex::new(Vec::new());

/// Looks whether the page can be written, before anything is loaded.
pub fn check(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::Report { file: path.display().to_string(), source };
    drop(create(path).map_err(failed)?);
    std::fs::remove_file(path).map_err(failed)
}

/// Notes a load that is done.
pub fn note(section: &Section<'_>) {
    BODIES.lock().unwrap_or_else(PoisonError::into_inner).push(body(section));
}

/// Writes the page of the loads that are done. What cannot be written is only said: the rows are loaded.
pub fn write(path: &Path) {
    let bodies = std::mem::take(&mut *BODIES.lock().unwrap_or_else(PoisonError::into_inner));
    if bodies.is_empty() {
        return;
    }
    said(write_page(path, &Body::page("Load report", &bodies)));
}

/// Writes the page of a command that has moved rows.
pub fn write_body(path: &Path, title: &str, body: Body) {
    said(write_page(path, &Body::page(title, &[body])));
}

fn said(written: Result<(), Failure>) {
    if let Err(failure) = written {
        say!("warning: the rows are loaded, but {failure}");
    }
}

/// Writes a whole page into a new file.
pub fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    let written = create(path).and_then(|mut file| {
        let written = file.write_all(page.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // Half a page is worse than none.
            let _ = std::fs::remove_file(path);
        }
        written
    });
    written.map_err(|source| Failure::Report { file: path.display().to_string(), source })
}

fn create(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn body(section: &Section<'_>) -> Body {
    let Section { name, load, afterword, refused, .. } = section;
    let mut body = Body::default();
    body.heading(&format!("{name} into {}", afterword.table));
    let seconds = load.elapsed.as_secs_f64();
    body.tiles(&[
        (grouped(load.rows_stored()), row_words(load.rows_stored()).0),
        (format!("{seconds:.2} s"), "time"),
        (format!("{}/s", grouped(load.rows_per_second().round() as u64)), "rows"),
        (format!("{}/s", bytes(load.bytes_per_second())), "on the wire"),
        (grouped(load.batches), if load.batches == 1 { "batch" } else { "batches" }),
        (grouped(*refused), "refused"),
    ]);
    throughput(&mut body, section);
    writers(&mut body, section);
    phases(&mut body, load);
    forecast(&mut body, afterword, load);
    waits(&mut body, afterword);
    retries(&mut body, section.retries);
    if !section.logging.is_empty() {
        body.section("Logging");
        section.logging.iter().for_each(|line| body.paragraph(line));
    }
    body.section("Plan");
    // The plan is made for one writer; how many there were stands above.
    let shown = |choice: &&Choice| section.writers.is_none() || choice.setting != "writers";
    plan(&mut body, afterword.choices.iter().filter(shown));
    body
}

/// Adds a table of choices and their reasons.
pub fn plan<'a>(body: &mut Body, choices: impl Iterator<Item = &'a Choice>) {
    let row = |choice: &Choice| vec![choice.setting.to_owned(), choice.value.clone(), choice.reason.clone()];
    let rows: Vec<Vec<String>> = choices.map(row).collect();
    body.table(&["setting", "choice", "reason"], 3, &rows);
}

fn throughput(body: &mut Body, section: &Section<'_>) {
    let points = rates(section);
    if points.len() < 2 {
        return;
    }
    body.section("Throughput");
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let said = format!("Rows per second over time, at most {}", grouped(most.round() as u64));
    body.figure(&said, &chart::line("seconds", "rows/s", &points));
}

/// Rows a second over time.
fn rates(section: &Section<'_>) -> Vec<(f64, f64)> {
    let samples = &section.afterword.observed.samples;
    let Some(last) = samples.last() else { return Vec::new() };
    let part = last.at.as_secs_f64() / PARTS as f64;
    let (mut points, mut before) = (Vec::new(), (0.0, 0_u64));
    for sample in samples {
        let at = sample.at.as_secs_f64();
        if at - before.0 < part.max(0.001) && sample != last {
            continue;
        }
        let rows = sample.rows_sent.max(sample.rows_committed);
        let rate = rows.saturating_sub(before.1) as f64 / (at - before.0).max(0.001);
        // A rate holds from the sample before.
        points.extend([(before.0, rate), (at, rate)]);
        before = (at, rows.max(before.1));
    }
    points
}

fn writers(body: &mut Body, section: &Section<'_>) {
    let Some((most, limit)) = &section.writers else { return };
    body.section("Writers");
    let mut points = vec![(0.0, 0.0)];
    for change in &section.afterword.observed.writers {
        let at = change.at.as_secs_f64();
        points.push((at, points.last().map_or(0.0, |point| point.1)));
        points.push((at, change.writers as f64));
    }
    if *most > 1 {
        let said = format!("Writers over time, {most} at most");
        body.figure(&said, &chart::line("seconds", "writers", &points));
    }
    body.paragraph(&format!("{most} at most; limited by {limit}"));
}

fn phases(body: &mut Body, load: &LoadReport) {
    let Phases { read, encode, send, wait } = load.phases;
    body.section("Phases");
    let named = [("read", read), ("encode", encode), ("send", send), ("wait", wait)];
    let bars: Vec<Bar> = named
        .iter()
        .map(|(name, spent)| Bar {
            name: (*name).to_owned(),
            value: spent.as_secs_f64(),
            label: format!("{:.3} s", spent.as_secs_f64()),
        })
        .collect();
    let said: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
    body.figure(&said.join(", "), &chart::bars(&bars));
    let cpu = load
        .client_cpu
        .map(|cpu| format!("; this program used the processor for {:.3} s", cpu.as_secs_f64()));
    body.paragraph(&format!("Seconds of all writers together. Phases overlap{}.", cpu.unwrap_or_default()));
}

fn forecast(body: &mut Body, afterword: &Afterword, load: &LoadReport) {
    let logged = afterword.observed.log_bytes;
    let Some(forecast) = &afterword.forecast else {
        if let Some(logged) = logged {
            body.section("Server log");
            body.paragraph(&format!(
                "{} with what others logged in the database meanwhile.",
                bytes(logged as f64)
            ));
        }
        return;
    };
    body.section("Forecast and truth");
    let line = |name: &str, forecast: Option<f64>, truth: Option<f64>, shown: &dyn Fn(f64) -> String| {
        let show = |value: Option<f64>| value.map_or_else(|| "not known".to_owned(), shown);
        let error = forecast
            .zip(truth)
            .filter(|(_, truth)| *truth > 0.0)
            .map(|(forecast, truth)| format!("{:+.1} %", 100.0 * (forecast - truth) / truth));
        vec![name.to_owned(), show(forecast), show(truth), error.unwrap_or_default()]
    };
    let count = |value: f64| grouped(value.round() as u64);
    let pages = afterword.pages_grown.map(|pages| pages as f64);
    let time = forecast.time.as_ref().map(|time| time.expected.as_secs_f64());
    body.table(
        &["", "forecast", "truth", "error"],
        1,
        &[
            line("rows", Some(forecast.rows as f64), Some(load.rows as f64), &count),
            line("pages", Some(forecast.pages() as f64), pages, &count),
            line("size", Some(forecast.bytes() as f64), pages.map(|pages| pages * 8192.0), &bytes),
            line("log", Some(forecast.log_bytes as f64), logged.map(|logged| logged as f64), &bytes),
            line("time", time, Some(load.elapsed.as_secs_f64()), &|value| format!("{value:.2} s")),
        ],
    );
    forecast.notes.iter().for_each(|note| body.paragraph(note));
}

fn waits(body: &mut Body, afterword: &Afterword) {
    let Some(waits) = &afterword.observed.waits else { return };
    body.section("Server waits");
    let bars: Vec<Bar> = waits
        .iter()
        .filter(|wait| wait.milliseconds > 0)
        .take(WAITS_SHOWN)
        .map(|wait| Bar {
            name: wait.wait_type.clone(),
            value: wait.milliseconds as f64,
            label: format!("{} ms, {} times", grouped(wait.milliseconds), grouped(wait.count)),
        })
        .collect();
    if bars.is_empty() {
        return body.paragraph("The writers' sessions waited for nothing that took a millisecond.");
    }
    let said: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.label)).collect();
    body.figure(&said.join("; "), &chart::bars(&bars));
    body.paragraph("Milliseconds of the writers' sessions.");
}

fn retries(body: &mut Body, retries: &[RetryNote]) {
    if retries.is_empty() {
        return;
    }
    body.section("Tried again");
    let rows: Vec<Vec<String>> = retries
        .iter()
        .take(RETRIES_SHOWN)
        .map(|note| {
            vec![
                note.reason.clone(),
                note.error.clone(),
                (note.writer + 1).to_string(),
                format!("{:.1} s", note.at.as_secs_f64()),
                format!("{:.1} s", note.waited.as_secs_f64()),
            ]
        })
        .collect();
    body.table(&["reason", "error", "writer", "at", "waited"], 2, &rows);
    if retries.len() > RETRIES_SHOWN {
        body.paragraph(&format!("The first {RETRIES_SHOWN} of {}.", retries.len()));
    }
}
