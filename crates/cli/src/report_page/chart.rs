//! Charts of a load, drawn as SVG. The page's style gives text and axes the colour of its text, in light and dark.

use std::error::Error;

use load::report::grouped;
use plotters::coord::ranged1d::{IntoSegmentedCoord, SegmentValue};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Colours that stay apart for readers without colour vision, and are seen on white and on black.
pub const COLOURS: [RGBColor; 4] =
    [RGBColor(38, 139, 210), RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
/// Sizes in pixels.
const WIDTH: u32 = 860;
const LINES_HEIGHT: u32 = 260;
const NAMES_WIDTH: u32 = 270;
const BAR_HEIGHT: u32 = 26;
const AXIS_HEIGHT: u32 = 36;
const FONT: (&str, i32) = ("sans-serif", 13);
/// The axis goes on beyond the longest bar by this part of it, for the bar's label.
const LABEL_ROOM: f64 = 0.4;

/// A bar: a name, a figure, and what stands behind it.
#[derive(Debug, Clone)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub label: String,
}

/// A bar of a timeline: it begins at `start`, and its colour is one of [`COLOURS`].
#[derive(Debug, Clone)]
pub struct TimelineBar {
    pub start: f64,
    pub colour: usize,
    pub bar: Bar,
}

type Drawn = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws a line over time, and the area below it.
pub fn line(x_name: &str, y_name: &str, points: &[(f64, f64)]) -> String {
    svg(LINES_HEIGHT, |area| draw_line(area, x_name, y_name, points))
}

/// Draws horizontal bars from zero.
pub fn bars(bars: &[Bar]) -> String {
    let bars: Vec<TimelineBar> = bars
        .iter()
        .enumerate()
        .map(|(colour, bar)| TimelineBar { start: 0.0, colour, bar: bar.clone() })
        .collect();
    timeline(&bars)
}

/// Draws horizontal bars, each from its start.
pub fn timeline(bars: &[TimelineBar]) -> String {
    let rows = u32::try_from(bars.len()).unwrap_or(u32::MAX / BAR_HEIGHT / 2);
    svg(rows * BAR_HEIGHT + AXIS_HEIGHT, |area| draw_bars(area, bars))
}

fn svg(height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area).and_then(|()| Ok(area.present()?))
    };
    match drawn {
        Ok(()) => text,
        Err(error) => format!("<p>This chart could not be drawn: {error}</p>\n"),
    }
}

fn draw_line(area: &Area<'_>, x_name: &str, y_name: &str, points: &[(f64, f64)]) -> Drawn {
    let end = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (x_end, y_end) = (end(|point| point.0), end(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(AXIS_HEIGHT + 8)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..x_end * 1.01, 0.0..y_end * 1.1)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(FONT)
        .axis_desc_style(FONT)
        .x_desc(x_name)
        .y_desc(y_name)
        .y_labels(5)
        .x_label_formatter(&|value| figure(*value, x_end))
        .y_label_formatter(&|value| figure(*value, y_end))
        .draw()?;
    let colour = COLOURS[0];
    let mut below: Vec<(f64, f64)> = points.to_vec();
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        below.extend([(last.0, 0.0), (first.0, 0.0)]);
    }
    chart.draw_series([Polygon::new(below, colour.mix(0.2).filled())])?;
    chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
    Ok(())
}

fn draw_bars(area: &Area<'_>, bars: &[TimelineBar]) -> Drawn {
    let longest = bars.iter().map(|bar| bar.start + bar.bar.value).fold(0.0, f64::max);
    let end = if longest > 0.0 { longest } else { 1.0 };
    // Bars are counted from the top, the axis from the bottom.
    let names: Vec<&str> = bars.iter().rev().map(|bar| bar.bar.name.as_str()).collect();
    let mut chart = ChartBuilder::on(area)
        .x_label_area_size(AXIS_HEIGHT - 8)
        .y_label_area_size(NAMES_WIDTH)
        .margin_top(4)
        .build_cartesian_2d(
            0.0..end * (1.0 + LABEL_ROOM),
            (0..bars.len().saturating_sub(1)).into_segmented(),
        )?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(FONT)
        .x_labels(6)
        .y_labels(bars.len())
        .y_label_formatter(&|value| match value {
            SegmentValue::CenterOf(index) | SegmentValue::Exact(index) => {
                names.get(*index).copied().unwrap_or_default().to_owned()
            }
            SegmentValue::Last => String::new(),
        })
        .x_label_formatter(&|value| figure(*value, end))
        .draw()?;
    let label = FONT.into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    for (index, TimelineBar { start, colour, bar }) in bars.iter().rev().enumerate() {
        let colour = COLOURS.iter().cycle().nth(*colour).unwrap_or(&COLOURS[0]);
        let bar_end = start + bar.value;
        let mut rectangle = Rectangle::new(
            [(*start, SegmentValue::Exact(index)), (bar_end, SegmentValue::Exact(index + 1))],
            colour.filled(),
        );
        rectangle.set_margin(4, 4, 0, 0);
        chart.draw_series([rectangle])?;
        let behind = EmptyElement::at((bar_end, SegmentValue::CenterOf(index)));
        chart.draw_series([behind + Text::new(bar.label.clone(), (6, 0), label.clone())])?;
    }
    Ok(())
}

/// Writes a figure at a tick of an axis that goes up to `end`.
fn figure(value: f64, end: f64) -> String {
    if end >= 20.0 {
        return grouped(value.round() as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
