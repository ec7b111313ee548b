//! Files of bcp's formats outside the bcp verb: for `load`, `export`, `convert` and `copy`.
//!
//! Such files do not describe themselves. A format file or a mode gives the positions of values, and a table, a result or a
//! declaration gives their types. Nothing is silently lost: what bcp would load wrongly is refused.

use std::path::Path;

use formats::bcp::{
    ByteOrderMark, DataMode, Deviation, FieldCollation, FileCodePage, FormatFile, HostFormat, LayoutOptions,
    Tolerance, UnmappableText, terminator,
};
use rows::text::spelling::TextSpelling;
use tds::{CodePage, Column};

use crate::error::CopyError;
use crate::options::{FileOptions, FormatName};

/// The layout of a file before its columns are known.
#[derive(Debug, Clone)]
pub struct HostLayout {
    description: Description,
    code_page: FileCodePage,
    trim_blanks: bool,
    skip_lines: usize,
    options: LayoutOptions,
    /// The field terminator was named.
    has_field_terminator: bool,
    /// The spelling of numbers and dates in text.
    spelling: TextSpelling,
}

#[derive(Debug, Clone)]
enum Description {
    FormatFile(FormatFile),
    Mode(DataMode),
}

impl HostLayout {
    /// Returns the layout that the options name; `None` if the file is of another kind.
    ///
    /// # Errors
    /// An option is not for such a file, or the format file cannot be read.
    pub fn of(flags: &FileOptions) -> Result<Option<Self>, CopyError> {
        if flags.format == Some(FormatName::Csv) && flags.format_file.is_some() {
            // Text with quotes, whose fields the format file names.
            return Ok(None);
        }
        let mode = flags.format.and_then(mode_of);
        let description = match (&flags.format_file, mode) {
            (Some(path), None) if flags.format.is_none() => Description::FormatFile(format_file(path)?),
            (None, Some(mode)) => Description::Mode(mode),
            (None, None) => return Ok(None),
            _ => {
                return Err(CopyError::Usage(
                    "--format-file describes the whole file: leave --format out, or say --format csv if values are in quotes"
                        .to_owned(),
                ));
            }
        };
        let given = [
            ("--skip-footer", flags.skip_footer.is_some()),
            ("--quote", flags.quote.is_some()),
            ("--no-quote", flags.no_quote),
            ("--no-header", flags.no_header),
            ("--columns", flags.columns.is_some()),
            ("--escape", flags.escape.is_some()),
            ("--skip-initial-space", flags.skip_initial_space),
            ("--null-text", !flags.null_text.is_empty()),
            (
                "--row-terminator",
                flags.row_terminator.is_some() && matches!(description, Description::FormatFile(_)),
            ),
            ("--delimiter", flags.delimiter.is_some() && matches!(description, Description::FormatFile(_))),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(CopyError::Usage(format!("{flag} is not for this kind of file")));
        }
        let mut options = LayoutOptions::default();
        if let Some(text) = &flags.delimiter {
            options.field_terminator =
                terminator::parse_argument(text).map_err(|error| CopyError::Usage(error.to_string()))?;
        }
        if let Some(text) = &flags.row_terminator {
            options.row_terminator =
                terminator::parse_argument(text).map_err(|error| CopyError::Usage(error.to_string()))?;
        }
        let code_page = code_page(flags.encoding.as_deref())?;
        let mut description = description;
        if let (Description::FormatFile(file), Some(asked)) = (&mut description, &flags.encoding) {
            encode_as_asked(file, code_page, asked)?;
        }
        let skip_lines = flags.skip_lines.unwrap_or_default();
        Ok(Some(Self {
            description,
            code_page,
            trim_blanks: flags.trim_blanks,
            skip_lines,
            options,
            has_field_terminator: flags.delimiter.is_some(),
            spelling: TextSpelling::default(),
        }))
    }

    /// Makes the format of a file of this layout with `columns`; without columns, with those of the format file.
    ///
    /// # Errors
    /// The format file does not fit the columns.
    pub fn with_columns(&self, columns: Option<Vec<Column>>) -> Result<HostFormat, CopyError> {
        let mut host = match (&self.description, columns) {
            (Description::Mode(mode), columns) => {
                HostFormat::for_columns(columns.unwrap_or_default(), *mode, &self.options)
            }
            (Description::FormatFile(file), None) => HostFormat::from_format_file(file.clone())?,
            (Description::FormatFile(file), Some(columns)) => {
                file.check("the format file", columns.len())
                    .map_err(|error| CopyError::Usage(error.to_string()))?;
                let base = HostFormat::for_columns(columns, DataMode::Native, &self.options);
                HostFormat { format_file: file.clone(), ..base }
            }
        };
        host.read.code_page = self.code_page;
        host.read.blank_is_null = self.trim_blanks;
        host.read.skip_lines = self.skip_lines;
        if matches!(self.description, Description::FormatFile(_)) {
            // A mark is never data here, whatever the original does with it.
            host.read.byte_order_mark = ByteOrderMark::Strip;
        }
        host.write.trim_blanks = self.trim_blanks;
        host.read.tolerance =
            Tolerance::strict().suffer(Deviation::MissingLastTerminator).suffer(Deviation::RowEndInField);
        if let Description::Mode(mode) = &self.description {
            let end = &self.options.field_terminator;
            let is_asked = self.has_field_terminator && !mode.is_native();
            let end = if mode.is_unicode() { terminator::widen(end) } else { end.clone() };
            host.read.field_terminator = Some(end).filter(|_| is_asked);
        }
        host.read.spelling = Some(self.spelling);
        host.write.code_page = self.code_page;
        host.write.unmappable = UnmappableText::Refuse;
        host.write.refuse_terminators = true;
        Ok(host)
    }

    /// Returns the layout of a file whose numbers and dates are spelled so.
    pub fn spelled(self, spelling: TextSpelling) -> Self {
        Self { spelling, ..self }
    }

    /// Returns true if the columns must come from elsewhere.
    pub fn needs_columns(&self) -> bool {
        matches!(self.description, Description::Mode(_))
    }
}

/// Reconciles a requested encoding with the collations of a format file. UTF-8 takes precedence, as SQL Server
/// documents for code page 65001. Any other encoding that contradicts them is refused.
fn encode_as_asked(file: &mut FormatFile, asked: FileCodePage, name: &str) -> Result<(), CopyError> {
    let against = match asked {
        FileCodePage::Page(CodePage::Utf8) => {
            file.drop_collations();
            None
        }
        FileCodePage::Page(page) => file.collation_against(page),
        // No collation is of it, or none may count.
        FileCodePage::Latin1 | FileCodePage::Raw => {
            file.fields.iter().find_map(|field| match &field.collation {
                FieldCollation::Named { name, .. } => Some((field.name.as_str(), name.as_str())),
                _ => None,
            })
        }
    };
    match against {
        None => Ok(()),
        Some((field, collation)) => Err(CopyError::Usage(format!(
            "--encoding {name} contradicts the format file, which says {collation} of the field {field}: leave the option out, or put \"\" in place of the collation"
        ))),
    }
}

fn mode_of(name: FormatName) -> Option<DataMode> {
    Some(match name {
        FormatName::Char => DataMode::Character,
        FormatName::Widechar => DataMode::UnicodeCharacter,
        FormatName::Native => DataMode::Native,
        FormatName::Widenative => DataMode::UnicodeNative,
        _ => return None,
    })
}

/// Reads a format file of bcp.
///
/// # Errors
/// It cannot be read, or is none.
pub fn format_file(path: &Path) -> Result<FormatFile, CopyError> {
    FormatFile::read(path).map_err(|error| CopyError::Usage(error.to_string()))
}

fn code_page(encoding: Option<&str>) -> Result<FileCodePage, CopyError> {
    match encoding.map(str::to_ascii_lowercase).as_deref() {
        None | Some("utf-8" | "utf8") => Ok(FileCodePage::default()),
        Some("raw") => Ok(FileCodePage::Raw),
        Some(number) => number.parse().ok().and_then(FileCodePage::from_number).ok_or_else(|| {
            CopyError::Usage(format!(
                "--encoding {number}: utf-8, raw or the number of a code page is expected"
            ))
        }),
    }
}
