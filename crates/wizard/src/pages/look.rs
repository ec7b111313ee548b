//! The part of the page of text formats that shows the first rows.

use askama::Template;

use super::format::listed;
use crate::draft::{FixedWidth, Layout, TextChoices};
use crate::text::{self, Cell, ChoiceError, Look, LookRow, Ruler, RulerLine, TextFile};

/// The first rows of a file under choices.
#[derive(Template, Default)]
#[template(path = "look.html")]
pub struct LookView {
    problem: Option<String>,
    doubts: Vec<String>,
    ruler: Option<RulerView>,
    columns: Vec<LookColumn>,
    rows: Vec<LookRow>,
    caption: String,
}

/// The ruler and the lines below it.
struct RulerView {
    width: usize,
    breaks: String,
    guessed: String,
    unit: &'static str,
    scale: String,
    lines: Vec<LineView>,
}

struct LineView {
    number: usize,
    is_row: bool,
    html: String,
}

struct LookColumn {
    number: usize,
    name: String,
    typed: String,
    extent: String,
}

impl LookView {
    /// Places of a line that are shown.
    const PLACES: usize = 1000;
    /// Columns that are shown: a delimiter that is a common letter makes thousands.
    const COLUMNS: usize = 300;

    /// Reads the first rows.
    ///
    /// # Errors
    /// A choice makes no sense.
    pub fn of(file: &TextFile, choices: &TextChoices) -> Result<Self, ChoiceError> {
        match &choices.layout {
            Layout::Delimited => Self::delimited(file, choices),
            Layout::FixedWidth(fixed) => Self::fixed(file, choices, fixed),
        }
    }

    /// Shows only an error.
    pub fn problem(text: String) -> Self {
        Self { problem: Some(text), ..Self::default() }
    }

    fn delimited(file: &TextFile, choices: &TextChoices) -> Result<Self, ChoiceError> {
        let own = Look::of(file, &TextChoices { columns: Vec::new(), ..choices.clone() })?;
        let columns = completed(&choices.columns, &own.columns);
        let look = match columns.is_empty() {
            true => own.clone(),
            false => Look::of(file, &TextChoices { columns, ..choices.clone() })?,
        };
        let column = |(index, name): (usize, &String)| LookColumn {
            number: index.saturating_add(1),
            name: name.clone(),
            typed: choices.columns.get(index).cloned().unwrap_or_default(),
            extent: String::new(),
        };
        let caption = match (look.rows.len(), look.faults()) {
            (rows, 0) => format!("The first {rows} rows"),
            (rows, faults) => format!("The first {rows} rows; {faults} of them cannot be read so"),
        };
        let caption = match own.columns.len() {
            all if all > Self::COLUMNS => format!("{caption}; the first {} of {all} columns", Self::COLUMNS),
            _ => caption,
        };
        Ok(Self {
            problem: look.problem.clone(),
            columns: own.columns.iter().take(Self::COLUMNS).enumerate().map(column).collect(),
            rows: look.rows.into_iter().map(narrowed).collect(),
            caption,
            ..Self::default()
        })
    }

    fn fixed(file: &TextFile, choices: &TextChoices, fixed: &FixedWidth) -> Result<Self, ChoiceError> {
        let ruler = Ruler::of(file, choices)?;
        let names = text::names(&ruler, &TextChoices { columns: Vec::new(), ..choices.clone() }, fixed);
        let starts = std::iter::once(0).chain(fixed.breaks.iter().copied());
        let ends = fixed.breaks.iter().copied().map(Some).chain([None]);
        let columns =
            starts.zip(ends).zip(names).enumerate().map(|(index, ((start, end), name))| LookColumn {
                number: index.saturating_add(1),
                name,
                typed: choices.columns.get(index).cloned().unwrap_or_default(),
                extent: match end {
                    Some(end) => format!("{start} to {}", end.saturating_sub(1)),
                    None => format!("{start} to the end"),
                },
            });
        let row = |(index, line): (usize, &RulerLine)| LookRow {
            number: (index as u64).saturating_add(1),
            cells: line.fields(&fixed.breaks).iter().map(|field| cell(field, fixed.trim_blanks)).collect(),
            fault: None,
        };
        let rows: Vec<LookRow> = ruler.rows().take(Ruler::LINES).enumerate().map(row).map(narrowed).collect();
        let mut doubts = ruler.doubts.clone();
        doubts.extend(ruler.cuts(&fixed.breaks).into_iter().map(|(place, line)| {
            format!(
                "{place} lies within a character of line {line}, which takes several {}",
                ruler.unit.plural()
            )
        }));
        Ok(Self {
            problem: None,
            doubts,
            columns: columns.take(Self::COLUMNS).collect(),
            caption: format!("The first {} rows", rows.len()),
            rows,
            ruler: Some(RulerView {
                width: ruler.width.min(Self::PLACES),
                breaks: listed(&fixed.breaks),
                guessed: listed(&ruler.guessed()),
                unit: ruler.unit.plural(),
                scale: scale(ruler.width.min(Self::PLACES)),
                lines: ruler.lines.iter().take(Ruler::LINES).map(|line| LineView::of(line, fixed)).collect(),
            }),
        })
    }
}

impl LineView {
    fn of(line: &RulerLine, fixed: &FixedWidth) -> Self {
        let mut html = String::new();
        let mut places = 0_usize;
        for (index, field) in line.fields(&fixed.breaks).iter().enumerate() {
            html += if index % 2 == 0 { "<span class=\"part even\">" } else { "<span class=\"part\">" };
            for (character, width) in field {
                places = places.saturating_add(*width);
                if places > LookView::PLACES {
                    break;
                }
                push(&mut html, *character, *width);
            }
            html += "</span>";
        }
        Self { number: line.number, is_row: line.is_row, html }
    }
}

/// Drops the columns of a row that are not shown.
fn narrowed(mut row: LookRow) -> LookRow {
    row.cells.truncate(LookView::COLUMNS);
    row
}

/// Writes a character in as many places as it takes.
fn push(html: &mut String, character: char, places: usize) {
    let shown = match character {
        '\t' => '→',
        '\r' | '\n' => '↵',
        other if other.is_control() => '·',
        other => other,
    };
    let escaped = match shown {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        other => other.to_string(),
    };
    match shown.is_ascii() && places == 1 {
        true => *html += &escaped,
        false => *html += &format!("<span class=\"g{}\">{escaped}</span>", places.min(4)),
    }
}

/// Returns a field's text, as the copy will read it.
fn cell(field: &[(char, usize)], trims: bool) -> Cell {
    let text: String = field.iter().map(|(character, _)| *character).collect();
    match trims {
        true if text.trim_matches(' ').is_empty() => Cell::Null,
        true => Cell::Text(text::shown(text.trim_end_matches(' '), Look::CELL_CHARS)),
        false => Cell::Text(text::shown(&text, Look::CELL_CHARS)),
    }
}

/// Marks for places: a number at every tenth.
fn scale(width: usize) -> String {
    let mut scale = String::new();
    while scale.len() <= width {
        match scale.len() {
            place if place % 10 == 0 => scale += &place.to_string(),
            place if place % 5 == 0 => scale.push(':'),
            _ => scale.push('.'),
        }
    }
    scale
}

/// Completes the typed names by the file's own; none, if nothing was typed at all.
pub(super) fn completed(typed: &[String], own: &[String]) -> Vec<String> {
    let is_typed = typed.iter().take(own.len()).any(|name| !name.is_empty());
    if !is_typed {
        return Vec::new();
    }
    let name = |(index, own): (usize, &String)| match typed.get(index) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => own.clone(),
    };
    own.iter().enumerate().map(name).collect()
}
