//! Charts of the results, drawn as SVG.

use std::error::Error;

use plotters::coord::ranged1d::{IntoSegmentedCoord, SegmentValue};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::statistics::Spread;

pub use plotters::style::RGBColor;

/// Colours that stay apart for readers without colour vision.
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(153, 153, 51),
    RGBColor(0, 0, 0),
];
/// Sizes in pixels.
const WIDTH: u32 = 960;
const NAMES_WIDTH: u32 = 340;
const BAR_HEIGHT: u32 = 24;
const AXIS_HEIGHT: u32 = 40;
const LINES_HEIGHT: u32 = 340;
/// Room for the names of lines, beside them.
const LEGEND_WIDTH: u32 = 260;
const LEGEND_LINE: i32 = 16;
const FONT: (&str, i32) = ("sans-serif", 12);
/// The axis goes on beyond the longest bar by this part of it, for the bar's label.
const LABEL_ROOM: f64 = 0.35;

/// A bar: a name, and a figure with its spread.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Length of the bar; a line goes from the smallest to the largest value.
    pub value: Spread,
    /// Text behind the bar.
    pub label: String,
}

/// A bar of parts, one after another.
#[derive(Debug, Clone)]
pub struct PartedBar {
    /// Name of the bar.
    pub name: String,
    /// Length of each part; the colours are those of [`COLOURS`], in their order.
    pub parts: Vec<f64>,
    /// Text behind the bar.
    pub label: String,
}

/// A line of points, in the order of `x`.
#[derive(Debug, Clone)]
pub struct Line {
    /// Name of the line.
    pub name: String,
    /// Points of the line, as x and y.
    pub points: Vec<(f64, f64)>,
}

type Drawn = Result<(), Box<dyn Error>>;

/// Draws horizontal bars from zero, each with its spread.
pub fn bars(bars: &[Bar]) -> String {
    let rows: Vec<Row<'_>> = bars
        .iter()
        .map(|bar| Row {
            name: &bar.name,
            label: &bar.label,
            parts: vec![bar.value.median],
            whisker: Some((bar.value.min, bar.value.max)),
        })
        .collect();
    let longest = bars.iter().map(|bar| bar.value.max).fold(0.0, f64::max);
    svg(height_of(rows.len()), |area| draw_rows(area, &rows, longest))
}

/// Draws horizontal bars from zero, each cut into parts. Bars longer than `longest` are cut off there.
pub fn parted_bars(bars: &[PartedBar], longest: f64) -> String {
    let rows: Vec<Row<'_>> = bars
        .iter()
        .map(|bar| Row { name: &bar.name, label: &bar.label, parts: bar.parts.clone(), whisker: None })
        .collect();
    svg(height_of(rows.len()), |area| draw_rows(area, &rows, longest))
}

/// Draws lines over common axes that begin at zero, with their names.
pub fn lines(x_name: &str, y_name: &str, lines: &[Line]) -> String {
    svg(LINES_HEIGHT, |area| draw_lines(area, x_name, y_name, lines))
}

struct Row<'a> {
    name: &'a str,
    label: &'a str,
    parts: Vec<f64>,
    whisker: Option<(f64, f64)>,
}

fn height_of(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX / BAR_HEIGHT / 2) * BAR_HEIGHT + AXIS_HEIGHT
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

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

fn draw_rows(area: &Area<'_>, rows: &[Row<'_>], longest: f64) -> Drawn {
    let end = if longest > 0.0 { longest } else { 1.0 };
    // Rows are counted from the top, the axis from the bottom.
    let names: Vec<&str> = rows.iter().rev().map(|row| row.name).collect();
    let mut chart = ChartBuilder::on(area)
        .x_label_area_size(AXIS_HEIGHT - 8)
        .y_label_area_size(NAMES_WIDTH)
        .margin_top(4)
        .margin_right(24)
        .build_cartesian_2d(
            0.0..end * (1.0 + LABEL_ROOM),
            (0..rows.len().saturating_sub(1)).into_segmented(),
        )?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(FONT)
        .y_labels(rows.len())
        .y_label_formatter(&|value| match value {
            SegmentValue::CenterOf(index) | SegmentValue::Exact(index) => {
                names.get(*index).copied().unwrap_or_default().to_owned()
            }
            SegmentValue::Last => String::new(),
        })
        // The room for labels is no part of the scale.
        .x_label_formatter(&|value| if *value > end * 1.001 { String::new() } else { figure(*value) })
        .draw()?;
    let label = FONT.into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    for (index, row) in rows.iter().rev().enumerate() {
        let middle = SegmentValue::CenterOf(index);
        let mut from = 0.0;
        for (part, colour) in row.parts.iter().zip(COLOURS.iter().cycle()) {
            let to = (from + part).min(end);
            let mut bar = Rectangle::new(
                [(from, SegmentValue::Exact(index)), (to, SegmentValue::Exact(index + 1))],
                colour.filled(),
            );
            bar.set_margin(4, 4, 0, 0);
            chart.draw_series([bar])?;
            from = to;
        }
        let is_cut = row.parts.iter().sum::<f64>() > end * 1.001;
        if is_cut {
            // Two strokes through the end of a bar that goes on.
            for shift in [-14, -8] {
                let at = EmptyElement::at((end, middle.clone()));
                let stroke = PathElement::new(vec![(shift, 9), (shift + 6, -9)], WHITE.stroke_width(3));
                chart.draw_series([at + stroke])?;
            }
        }
        if let Some((min, max)) = row.whisker {
            let ends = [(min, middle.clone()), (max, middle.clone())];
            chart.draw_series([PathElement::new(ends, BLACK.stroke_width(1))])?;
            from = from.max(max);
        }
        let behind = EmptyElement::at((from, middle));
        let cut = if is_cut { " (the bar is cut)" } else { "" };
        chart.draw_series([behind + Text::new(format!("{}{cut}", row.label), (6, 0), label.clone())])?;
    }
    Ok(())
}

fn draw_lines(area: &Area<'_>, x_name: &str, y_name: &str, lines: &[Line]) -> Drawn {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x_end = points().map(|point| point.0).fold(0.0, f64::max);
    let y_end = points().map(|point| point.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(LEGEND_WIDTH)
        .x_label_area_size(AXIS_HEIGHT)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..x_end * 1.02, 0.0..y_end * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(FONT)
        .axis_desc_style(FONT)
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&|value| figure(*value))
        .y_label_formatter(&|value| figure(*value))
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let colour = *colour;
        chart.draw_series(
            LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3),
        )?;
    }
    let ends = lines.iter().zip(COLOURS.iter().cycle()).filter_map(|(line, colour)| {
        let last = line.points.last()?;
        let (_, y) = chart.plotting_area().map_coordinate(last);
        Some((y, line.name.as_str(), *colour))
    });
    draw_names(area, ends.collect())
}

/// Writes the names of lines beside them, each at the height of its end as far as there is room.
fn draw_names(area: &Area<'_>, mut names: Vec<(i32, &str, RGBColor)>) -> Drawn {
    names.sort_by_key(|(y, ..)| *y);
    let left = i32::try_from(WIDTH - LEGEND_WIDTH)? + 14;
    let lowest = i32::try_from(LINES_HEIGHT - AXIS_HEIGHT)?;
    let mut places: Vec<i32> = Vec::new();
    for (y, ..) in &names {
        let above = places.last().map_or(i32::MIN, |above| above.saturating_add(LEGEND_LINE));
        places.push((*y).max(above));
    }
    // Names that ran out of room below move up together.
    let mut below = lowest;
    for place in places.iter_mut().rev() {
        *place = (*place).min(below);
        below = place.saturating_sub(LEGEND_LINE);
    }
    for ((_, name, colour), y) in names.into_iter().zip(places) {
        let style = FONT.into_text_style(area).color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Rectangle::new([(left, y - 2), (left + 10, y + 2)], colour.filled()))?;
        area.draw(&Text::new(name.to_owned(), (left + 16, y), style))?;
    }
    Ok(())
}

/// Formats a figure at a tick of an axis.
fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => load::report::grouped(value.round() as u64),
        value => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the values of an attribute of all elements of a name.
    fn attributes<'a>(svg: &'a str, element: &str, name: &str) -> Vec<&'a str> {
        svg.split(&format!("<{element} "))
            .skip(1)
            .filter_map(|rest| rest.split_once(&format!("{name}=\"")))
            .filter_map(|(_, rest)| rest.split_once('"').map(|(value, _)| value))
            .collect()
    }

    #[test]
    fn a_bar_is_as_long_as_its_figure() {
        let bar = |name: &str, median| Bar {
            name: name.to_owned(),
            value: Spread { min: median / 2.0, median, max: median },
            label: format!("{median} <s>"),
        };
        let svg = bars(&[bar("first", 2.0), bar("second & last", 4.0)]);
        let widths: Vec<f64> =
            attributes(&svg, "rect", "width").iter().filter_map(|width| width.parse().ok()).collect();
        assert_eq!(widths.len(), 2, "{svg}");
        let [second, first] = widths.as_slice() else { return };
        assert!((first * 2.0 - second).abs() <= 2.0, "{widths:?}");
        for text in ["first", "second &amp; last", "2 &lt;s&gt;", "4 &lt;s&gt;"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn parts_follow_one_another_and_end_at_the_longest() {
        let parted =
            |parts: &[f64]| PartedBar { name: "bar".to_owned(), parts: parts.to_vec(), label: String::new() };
        let svg = parted_bars(&[parted(&[1.0, 1.0]), parted(&[2.0, 8.0])], 4.0);
        let widths: Vec<i64> =
            attributes(&svg, "rect", "width").iter().filter_map(|width| width.parse().ok()).collect();
        assert_eq!(widths.len(), 4, "{svg}");
        let [cut_first, cut_second, first, second] = widths.as_slice() else { return };
        assert!((first - second).abs() <= 1 && (cut_first - 2 * first).abs() <= 2, "{widths:?}");
        // 8 of which 2 have room.
        assert!((cut_second - cut_first).abs() <= 2, "{widths:?}");
    }

    #[test]
    fn lines_have_names_points_and_axes() {
        let line = Line { name: "4 files".to_owned(), points: vec![(0.0, 0.0), (10.0, 5_000.0)] };
        let svg = lines("MAXDOP", "seconds", &[line]);
        assert_eq!(attributes(&svg, "circle", "r").len(), 2);
        for text in ["4 files", "MAXDOP", "seconds", "5,000"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }
}
