//! The format of a text file.

use std::path::PathBuf;

use super::flag::Flag;
use super::sql::quoted;
use crate::errors::Errors;

/// The choices for a text file. `None` leaves a choice to the format of the file's suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChoices {
    /// The encoding as `--encoding` spells it.
    pub encoding: Option<String>,
    /// The text between fields, as `--delimiter` spells it.
    pub delimiter: Option<String>,
    /// The quote character.
    pub quote: Quote,
    /// True if the first line has the names of the columns.
    pub has_header: bool,
    /// The text that ends a row, as `--row-terminator` spells it.
    pub row_terminator: Option<String>,
    /// Lines before the header or the first row.
    pub skip_lines: usize,
    /// Lines at the end that are no rows.
    pub skip_footer: usize,
    /// The character that makes a quote or a delimiter behind it data.
    pub escape: Option<char>,
    /// True if blanks between a delimiter and a field are left out.
    pub skips_blanks: bool,
    /// The text that stands for NULL.
    pub null_text: Option<String>,
    /// The spelling of numbers and dates.
    pub spelling: Spelling,
    /// Names of the columns; none: those of the header.
    pub columns: Vec<String>,
    /// The layout of fields.
    pub layout: Layout,
}

/// The spelling of numbers and dates, as the options of `bulkwire copy` have it. An empty text leaves it to the values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spelling {
    /// dmy, mdy or ymd.
    pub date_order: String,
    /// The mark in front of decimals.
    pub decimal: String,
    /// The mark between groups of digits.
    pub thousands: String,
    /// The sign or code of the currency beside numbers.
    pub currency: String,
    /// number or fraction.
    pub percent: String,
}

impl Spelling {
    /// The options, in the order of the fields.
    pub(super) const FLAGS: [&str; 5] = ["date-order", "decimal", "thousands", "currency", "percent"];

    fn flags(&self) -> Vec<Flag> {
        let texts = [&self.date_order, &self.decimal, &self.thousands, &self.currency, &self.percent];
        let given = Self::FLAGS.into_iter().zip(texts).filter(|(_, text)| !text.trim().is_empty());
        given.map(|(name, text)| Flag::text(name, text.trim())).collect()
    }
}

/// A quote character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quote {
    /// The quote of the format: `"`.
    #[default]
    Default,
    /// Another one.
    Char(char),
    /// No quote: quotes are data.
    None,
}

/// The layout of fields in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Layout {
    /// Divided by a delimiter.
    #[default]
    Delimited,
    /// Each at its place.
    FixedWidth(FixedWidth),
}

/// Fields of fixed width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FixedWidth {
    /// The beginnings of all fields but the first, counted in the units of the format file.
    pub breaks: Vec<usize>,
    /// The format file that describes them. It is written when the page is left.
    pub format_file: PathBuf,
    /// True if blanks at the end of fields are removed.
    pub trim_blanks: bool,
    /// Names of all columns. They are known when the page is left.
    pub names: Vec<String>,
    /// Types of the columns, as `--declare` has them; an empty one, or none: text.
    pub types: Vec<String>,
}

impl FixedWidth {
    /// Writes the columns as `--declare` has them: of the chosen types, or texts as long as their fields.
    pub fn declaration(&self) -> String {
        let starts = std::iter::once(0).chain(self.breaks.iter().copied());
        let ends = self.breaks.iter().copied().map(Some).chain([None]);
        let columns = starts.zip(ends).zip(&self.names).enumerate().map(|(index, ((start, end), name))| {
            let chosen = self.types.get(index).filter(|chosen| !chosen.is_empty());
            // A byte, or a unit, makes one unit of nvarchar at most.
            let kind = match (chosen, end.map(|end| end.saturating_sub(start))) {
                (Some(chosen), _) => chosen.clone(),
                (None, Some(length @ 1..=4000)) => format!("nvarchar({length})"),
                (None, _) => "nvarchar(max)".to_owned(),
            };
            format!("{} {kind} null", quoted(name))
        });
        columns.collect::<Vec<_>>().join(", ")
    }
}

impl Default for TextChoices {
    fn default() -> Self {
        Self {
            encoding: None,
            delimiter: None,
            quote: Quote::Default,
            has_header: true,
            row_terminator: None,
            skip_lines: 0,
            skip_footer: 0,
            escape: None,
            skips_blanks: false,
            null_text: None,
            spelling: Spelling::default(),
            columns: Vec::new(),
            layout: Layout::Delimited,
        }
    }
}

impl TextChoices {
    pub(super) fn check(&self, errors: &mut Errors) {
        if let Layout::FixedWidth(fixed) = &self.layout
            && fixed.format_file.as_os_str().is_empty()
        {
            errors.add("format_file", "Say where the format file is kept.");
        } else if let Layout::FixedWidth(fixed) = &self.layout
            && fixed.names.is_empty()
        {
            errors.add("breaks", "Look where the columns begin, and go on with Next.");
        }
        if self.columns.iter().any(|name| name.contains(',')) {
            errors.add("columns", "A column's name has a comma, which the command cannot spell.");
        }
    }

    /// Returns the options for a file. `has_known_suffix`: the suffix is one of delimited text.
    pub(super) fn flags(&self, has_known_suffix: bool) -> Vec<Flag> {
        let mut flags = Vec::new();
        if let Layout::FixedWidth(fixed) = &self.layout {
            flags.push(Flag::text("format-file", fixed.format_file.display().to_string()));
            flags.extend(fixed.trim_blanks.then(|| Flag::switch("trim-blanks")));
            // UTF-8 goes without saying, and UTF-16 stands in the format file.
            let page = self.encoding.as_ref().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            flags.extend(page.map(|page| Flag::text("encoding", page.clone())));
            flags.push(Flag::text("declare", fixed.declaration()));
            let skipped = self.skip_lines.saturating_add(usize::from(self.has_header));
            flags.extend((skipped > 0).then(|| Flag::number("skip-lines", skipped as u64)));
        } else {
            let texts = [
                ("format", &(!has_known_suffix).then(|| "csv".to_owned())),
                ("encoding", &self.encoding),
                ("delimiter", &self.delimiter),
                ("row-terminator", &self.row_terminator),
                ("null-text", &self.null_text),
            ];
            flags.extend(texts.into_iter().filter_map(|(name, text)| Some(Flag::text(name, text.clone()?))));
            match self.quote {
                Quote::Default => {}
                Quote::Char(quote) => flags.push(Flag::text("quote", quote)),
                Quote::None => flags.push(Flag::switch("no-quote")),
            }
            flags.extend((!self.has_header).then(|| Flag::switch("no-header")));
            flags.extend((!self.columns.is_empty()).then(|| Flag::list("columns", self.columns.clone())));
            flags.extend((self.skip_lines > 0).then(|| Flag::number("skip-lines", self.skip_lines as u64)));
            flags
                .extend((self.skip_footer > 0).then(|| Flag::number("skip-footer", self.skip_footer as u64)));
            flags.extend(self.escape.map(|escape| Flag::text("escape", escape)));
            flags.extend(self.skips_blanks.then(|| Flag::switch("skip-initial-space")));
        }
        flags.extend(self.spelling.flags());
        flags
    }
}
