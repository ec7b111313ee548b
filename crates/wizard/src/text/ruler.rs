//! The first lines of a file whose columns have fixed widths: characters at their places.
//!
//! Places are counted as the format file counts them: in bytes, or in UTF-16 units of two bytes. So a character may take several
//! places (`漢` two in Shift-JIS and three in UTF-8), and no column begins within one.

use formats::Encoding;
use formats::csv::{Glyph, glyphs};
use formats::sniff::{Positions, fixed_columns};
use memchr::memmem;

use super::dialect::ChoiceError;
use super::fixed_width;
use super::text_file::TextFile;
use crate::draft::TextChoices;

/// The unit of places in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of the file.
    Byte,
    /// Pairs of bytes, as UTF-16 has them.
    Utf16,
}

/// The first lines, and how their columns can lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruler {
    /// The unit of places in a line.
    pub unit: Unit,
    /// The lines, those that are skipped included.
    pub lines: Vec<RulerLine>,
    /// Places of the longest line of rows.
    pub width: usize,
    /// The doubts about the layout, in words.
    pub doubts: Vec<String>,
    /// Lines that are no rows.
    skipped: usize,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulerLine {
    /// The number of the line in the file, from 1.
    pub number: usize,
    /// The characters of the line, each with the places that it takes.
    pub glyphs: Vec<(char, usize)>,
    /// True if the line is a row; the others are skipped.
    pub is_row: bool,
}

impl Unit {
    /// Returns the number of bytes in a unit.
    pub fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Utf16 => 2,
        }
    }

    /// Returns the plural word for people.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Byte => "bytes",
            Self::Utf16 => "UTF-16 units",
        }
    }

    /// Returns the unit of an encoding.
    pub(super) fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => Self::Utf16,
            _ => Self::Byte,
        }
    }
}

impl RulerLine {
    /// Places that it takes.
    pub fn width(&self) -> usize {
        self.glyphs.iter().map(|(_, places)| places).sum()
    }

    /// Returns the texts between breaks, and the place at which each begins.
    pub fn fields(&self, breaks: &[usize]) -> Vec<Vec<(char, usize)>> {
        let mut fields = vec![Vec::new()];
        let mut breaks = breaks.iter().copied().peekable();
        let mut at = 0;
        for glyph in &self.glyphs {
            while breaks.next_if(|place| *place <= at).is_some() {
                fields.push(Vec::new());
            }
            if let Some(field) = fields.last_mut() {
                field.push(*glyph);
            }
            at += glyph.1;
        }
        fields.extend(breaks.map(|_| Vec::new()));
        fields
    }

    /// Returns true if a break at `place` would divide one of its characters.
    pub fn is_cut_at(&self, place: usize) -> bool {
        let mut at = 0;
        for (_, places) in &self.glyphs {
            if at >= place {
                return false;
            }
            at += places;
            if at > place {
                return true;
            }
        }
        false
    }

    /// Repeats every character as often as it takes places.
    fn spread(&self) -> String {
        self.glyphs.iter().flat_map(|(character, places)| std::iter::repeat_n(*character, *places)).collect()
    }
}

impl Ruler {
    /// Lines that are shown.
    pub const LINES: usize = 40;
    /// Lines that breaks are guessed from.
    const LOOKED_AT: usize = 1000;
    /// Places of a line that are looked at.
    pub const PLACES: usize = 4000;

    /// Divides the head of a file into lines.
    ///
    /// # Errors
    /// A choice makes no sense, or no format file can say it.
    pub fn of(file: &TextFile, choices: &TextChoices) -> Result<Self, ChoiceError> {
        let (encoding, mark) = fixed_width::encoding_of(file, choices)?;
        let unit = Unit::of(encoding);
        let line_end = fixed_width::line_end(choices, encoding)?;
        let bytes = file.whole_lines(encoding).get(mark..).unwrap_or_default();
        let skipped = fixed_width::skipped(choices);
        let mut lines = Vec::new();
        let mut at = 0;
        while at < bytes.len() && lines.len() < Self::LOOKED_AT {
            let rest = bytes.get(at..).unwrap_or_default();
            let (line, next) = match position(rest, &line_end, unit.bytes()) {
                Some(end) => (rest.get(..end).unwrap_or_default(), at + end + line_end.len()),
                None => (rest, bytes.len()),
            };
            at = next;
            let number = lines.len() + 1;
            let line = line.get(..line.len().min(Self::PLACES * unit.bytes())).unwrap_or_default();
            let places = |glyph: Glyph| (glyph.character, glyph.bytes.div_ceil(unit.bytes()));
            let glyphs = glyphs(encoding, line).into_iter().map(places).collect();
            lines.push(RulerLine { number, glyphs, is_row: number > skipped });
        }
        let rows = lines.iter().filter(|line| line.is_row && !line.glyphs.is_empty());
        let width = rows.clone().map(RulerLine::width).max().unwrap_or(0);
        let doubts = doubts(&lines, encoding, width);
        Ok(Self { unit, lines, width, doubts, skipped })
    }

    /// Lists the lines that are rows.
    pub fn rows(&self) -> impl Iterator<Item = &RulerLine> {
        self.lines.iter().filter(|line| line.is_row && !line.glyphs.is_empty())
    }

    /// Returns the line that names the columns, if there is one.
    pub(super) fn header(&self) -> Option<&RulerLine> {
        self.lines.get(self.skipped.checked_sub(1)?)
    }

    /// Guesses the beginnings of columns by the blanks between them.
    pub fn guessed(&self) -> Vec<usize> {
        let lines: Vec<String> = self.rows().map(RulerLine::spread).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut breaks =
            fixed_columns(&lines, Positions::Characters).map(|found| found.breaks).unwrap_or_default();
        breaks.retain(|place| !self.rows().any(|line| line.is_cut_at(*place)));
        breaks
    }

    /// Finds the breaks that stand within a character, with the number of the first such line.
    pub fn cuts(&self, breaks: &[usize]) -> Vec<(usize, usize)> {
        let cut = |place: &usize| {
            let line = self.rows().find(|line| line.is_cut_at(*place))?;
            Some((*place, line.number))
        };
        breaks.iter().filter_map(cut).collect()
    }
}

/// Finds `needle` at a multiple of `step`.
fn position(text: &[u8], needle: &[u8], step: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memmem::find(text.get(from..)?, needle)?;
        if at % step == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Signs that lines are no rows of fixed width.
fn doubts(lines: &[RulerLine], encoding: Encoding, width: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    let rows: Vec<&RulerLine> = lines.iter().filter(|line| line.is_row && !line.glyphs.is_empty()).collect();
    let holds = |line: &&&RulerLine, characters: &[char]| {
        line.glyphs.iter().any(|(character, _)| characters.contains(character))
    };
    if let Some(line) = rows.iter().find(|line| holds(line, &['\n', '\r'])) {
        doubts.push(format!("line {} holds another line end: is this how rows end?", line.number));
    }
    if let Some(line) = rows.iter().find(|line| holds(line, &[char::REPLACEMENT_CHARACTER])) {
        doubts.push(format!("line {} is not text in {encoding}", line.number));
    }
    let characters = rows.iter().map(|line| line.glyphs.len());
    let is_even = characters.clone().max() == characters.min();
    if let Some(short) = rows.iter().find(|line| line.width() < width).filter(|_| is_even && rows.len() > 1) {
        doubts.push(format!(
            "all lines have {} characters, but line {} has fewer {}: its columns were counted in characters, and a format file counts {}",
            short.glyphs.len(),
            short.number,
            Unit::of(encoding).plural(),
            Unit::of(encoding).plural(),
        ));
    }
    if rows.iter().any(|line| line.glyphs.iter().any(|(character, _)| *character == '\t')) {
        doubts.push("there are tabs, which take one place each here".to_owned());
    }
    doubts
}
