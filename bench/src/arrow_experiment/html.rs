//! The results as one page that needs nothing else.

use std::fmt::Write;

use load::report::grouped;

use super::summary::{Figures, Results, spread};
use crate::experiment::chart::{self, Bar, COLOURS, PartedBar, RGBColor};
use crate::experiment::{STYLE, escaped, few_rows, origin};

/// Phases in the order in which rows pass them.
const PHASES: [&str; 5] = ["read", "encode", "send", "wait", "key"];

/// Makes the page of the results.
pub fn page(results: &Results) -> String {
    let mut page = String::new();
    let embedded = if results.embedded_server { ", embedded, rows in memory" } else { "" };
    // Writing to a string cannot fail; so below.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Arrow experiment</title><style>{STYLE}</style></head>\
         <body>\n<h1>Arrow record batches into one table</h1>\n<p>bulkwire {} into {}{embedded}; packets of {} bytes; {}, {} \
         cores; {} rounds, in which the variants take turns. Rows are made before the clock starts. After every run the \
         server's count and a content checksum of what reads back were those of the source. Figures are medians, with the smallest \
         and the largest of the rounds in brackets.</p>\n",
        results.version,
        escaped(&results.server),
        results.packet_size_bytes,
        escaped(&results.machine),
        results.cores,
        results.rounds
    );
    published(&mut page, results);
    if let Some(warning) = results.variants.first().and_then(|figures| few_rows(figures.rows())) {
        let _ = writeln!(page, "<p>{warning}</p>");
    }
    rates(&mut page, results);
    phases(&mut page, results);
    table(&mut page, results);
    let _ = writeln!(page, "<p class=\"origin\">{}</p>\n</body></html>", escaped(&origin::line()));
    page
}

/// Bars of rows a second, each with a line from the smallest to the largest.
fn rates(page: &mut String, results: &Results) {
    let bars: Vec<Bar> = results
        .variants
        .iter()
        .map(|figures| Bar {
            name: figures.name.clone(),
            value: figures.rows_per_second,
            label: grouped(figures.rows_per_second.median.round() as u64),
        })
        .collect();
    let _ = writeln!(page, "<h2>Rows a second</h2>\n{}", chart::bars(&bars));
}

/// Bars of time by phase, a row's worth each.
fn phases(page: &mut String, results: &Results) {
    page.push_str("<h2>Time of a row by phase</h2>\n<p>Phases of a bulk load overlap, so a bar may be longer than the run.</p>\n<p class=\"key\">");
    for (phase, RGBColor(red, green, blue)) in PHASES.iter().zip(COLOURS) {
        let _ = write!(page, "<span><b style=\"color:rgb({red},{green},{blue})\">&#9632;</b> {phase}</span>");
    }
    page.push_str("</p>\n");
    let per_row = |figures: &Figures, phase: &str| {
        let nanoseconds = figures.phase_seconds.get(phase).map_or(0.0, |seconds| seconds.median * 1e9);
        nanoseconds / figures.rows().max(1) as f64
    };
    let total = |figures: &Figures| PHASES.iter().map(|phase| per_row(figures, phase)).sum::<f64>();
    // Statements row by row take so much longer that nothing else could be seen next to them: their bar is
    // cut.
    let longest = results
        .variants
        .iter()
        .filter(|figures| figures.variant.method == super::Method::Bulk)
        .map(total)
        .fold(0.0, f64::max);
    let bars: Vec<PartedBar> = results
        .variants
        .iter()
        .map(|figures| PartedBar {
            name: figures.name.clone(),
            parts: PHASES.iter().map(|phase| per_row(figures, phase)).collect(),
            label: format!("{:.0} ns", total(figures)),
        })
        .collect();
    page.push_str(&chart::parted_bars(&bars, longest));
}

fn table(page: &mut String, results: &Results) {
    page.push_str(
        "<h2>Figures</h2>\n<table><tr><th>Variant<th>Rows<th>Seconds<th>Rows/s<th>Data MB/s<th>Time, of the first<th>Client CPU, ns/row\
         <th>Server CPU, ns/row</tr>\n",
    );
    let cpu = |spread: Option<crate::statistics::Spread>| {
        spread.map_or("&#8211;".to_owned(), |spread| format!("{:.0}", spread.median))
    };
    for figures in &results.variants {
        let seconds = crate::statistics::Spread::of(figures.runs.iter().map(|run| run.seconds));
        let _ = writeln!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>",
            escaped(&figures.name),
            grouped(figures.rows()),
            spread(seconds, |seconds| format!("{seconds:.3}")),
            spread(figures.rows_per_second, |rate| grouped(rate.round() as u64)),
            spread(figures.data_megabytes_per_second, |rate| format!("{rate:.1}")),
            spread(figures.time_ratio, |ratio| format!("{ratio:.2}")),
            cpu(figures.client_cpu_ns_per_row),
            cpu(figures.server_cpu_ns_per_row),
        );
    }
    page.push_str("</table>\n");
}

fn published(page: &mut String, results: &Results) {
    let ratios = results.published_ratios();
    if ratios.is_empty() {
        return;
    }
    page.push_str(
        "<h2>Beside the published experiment</h2>\n<p>Its rows went through the bulk-copy functions of ODBC into SQL Server 2022, on other \
         hardware: only ratios can be compared. Row by row was a slower path of its ODBC client there, and is one INSERT a row here.</p>\n<table><tr><th>Ratio<th>Published<th>Here</tr>\n",
    );
    for ratio in ratios {
        let here = spread(ratio.measured, |ratio| format!("{ratio:.2}"));
        let _ = writeln!(page, "<tr><td>{}<td>{:.2}<td>{here}</tr>", escaped(ratio.name), ratio.published);
    }
    page.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::results;

    #[test]
    fn the_page_is_complete_and_fetches_nothing() {
        let page = super::page(&results());
        for expected in
            ["heap, 50,000 a batch, row by row", "Test &lt;server&gt; 1.2.3", "<td>1.50 (1.50-1.50)<td>"]
        {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        for foreign in ["href", "src=", "<script"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
