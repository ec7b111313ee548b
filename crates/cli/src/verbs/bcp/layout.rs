//! The layout of a job's file: from its letters, its format file, or the answers to questions.

use std::env;

use formats::bcp::{
    DataMode, FileCodePage, FormatFile, FormatFileError, LayoutOptions, NativeVersion, TerminatorError,
    terminator,
};
use tds::{CodePage, Column};

use super::arguments::{CodePageChoice, Direction, Job, Layout};

/// An error in the layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The format file.
    #[error(transparent)]
    FormatFile(#[from] FormatFileError),
    /// `-t` or `-r`.
    #[error("{option}: {source}")]
    Terminator {
        /// The option with the terminator.
        option: &'static str,
        /// The mistake in the terminator.
        source: TerminatorError,
    },
    /// `-C`: no such code page.
    #[error("The code page specified for bcp operation is not supported on the machine.")]
    CodePage(u32),
    /// The locale's character set is none that can be read here.
    #[error("the locale's character set {0} is not known: name the file's by -C, a code page number or RAW")]
    Locale(String),
}

/// Makes the layout of a job's letters. Only a format file that is to be written names collations; in a copy the
/// encoding of the file is that of `-C`.
pub fn of_letters(job: &Job, columns: &[Column]) -> Result<FormatFile, LayoutError> {
    let mode = mode(job.layout);
    let mut options = LayoutOptions {
        native_version: native_version(job),
        collations: job.direction == Direction::Format,
        ..LayoutOptions::default()
    };
    options.row_terminator = row_terminator("\\n")?;
    if let Some(text) = &job.field_terminator {
        options.field_terminator = field_terminator(text)?;
    }
    if let Some(text) = &job.row_terminator {
        options.row_terminator = row_terminator(text)?;
    }
    Ok(FormatFile::for_columns(columns, mode, &options))
}

/// Reads the layout of a format file.
///
/// The collations in it are documented to name the encoding of their fields unless `-C` is 65001. That holds on Windows;
/// Microsoft's library on Linux ignores them, whatever `-C` is.
pub fn of_format_file(job: &Job, path: &str) -> Result<FormatFile, LayoutError> {
    let mut file = FormatFile::read(path.as_ref())?;
    if !cfg!(windows) || code_page(job.code_page)? == FileCodePage::Page(CodePage::Utf8) {
        file.drop_collations();
    }
    Ok(file)
}

/// Returns the mode that a letter stands for.
fn mode(layout: Layout) -> DataMode {
    match layout {
        Layout::Character => DataMode::Character,
        Layout::UnicodeCharacter => DataMode::UnicodeCharacter,
        Layout::UnicodeNative => DataMode::UnicodeNative,
        Layout::Native | Layout::FormatFile | Layout::Dialogue => DataMode::Native,
    }
}

/// Returns the native layout that `-V` names.
pub fn native_version(job: &Job) -> NativeVersion {
    job.version.and_then(|version| NativeVersion::from_number(version.into())).unwrap_or_default()
}

/// Reads a field terminator from the command line.
pub fn field_terminator(text: &str) -> Result<Vec<u8>, LayoutError> {
    terminator::parse_argument(text).map_err(|source| LayoutError::Terminator { option: "-t", source })
}

/// Reads a row terminator from the command line. On Windows a line feed alone means CR LF.
pub fn row_terminator(text: &str) -> Result<Vec<u8>, LayoutError> {
    let text = if cfg!(windows) && matches!(text, "\\n" | "\n") { "\\r\\n" } else { text };
    terminator::parse_argument(text).map_err(|source| LayoutError::Terminator { option: "-r", source })
}

/// Returns the encoding of text in the file.
pub fn code_page(choice: CodePageChoice) -> Result<FileCodePage, LayoutError> {
    Ok(match choice {
        CodePageChoice::Raw => FileCodePage::Raw,
        CodePageChoice::Number(number) => u16::try_from(number)
            .ok()
            .and_then(FileCodePage::from_number)
            .ok_or(LayoutError::CodePage(number))?,
        CodePageChoice::Acp if cfg!(windows) => FileCodePage::Page(CodePage::Cp1252),
        CodePageChoice::Oem | CodePageChoice::Unsaid if cfg!(windows) => FileCodePage::Page(CodePage::Cp437),
        // Elsewhere there is one page, that of the locale, as the vendor's library has it.
        CodePageChoice::Acp | CodePageChoice::Oem | CodePageChoice::Unsaid => {
            locale_code_page(|name| env::var(name).ok())?
        }
    })
}

/// Returns the code page of the locale, behind the point in LC_ALL, LC_CTYPE or LANG; UTF-8 where none names one.
///
/// ISO 8859-1 is not Windows' 1252, which has letters where it has controls. A character set that is not known here is refused: in
/// another one its letters would be others.
fn locale_code_page(variable: impl Fn(&str) -> Option<String>) -> Result<FileCodePage, LayoutError> {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .unwrap_or_default();
    let charset = locale.split_once('.').map_or("", |(_, rest)| rest.split('@').next().unwrap_or_default());
    let name = charset.to_ascii_uppercase().replace(['-', '_'], "");
    let page = match name.as_str() {
        // The library knows no other name of a DOS page, and takes UTF-8 for it.
        "" | "UTF8" | "ANSIX3.41968" | "USASCII" | "ASCII" => Some(FileCodePage::default()),
        name if name.starts_with("IBM") => Some(FileCodePage::default()),
        "ISO88591" => Some(FileCodePage::Latin1),
        "SHIFTJIS" | "SJIS" | "WINDOWS31J" => Some(FileCodePage::Page(CodePage::Cp932)),
        "GBK" | "GB2312" | "EUCCN" => Some(FileCodePage::Page(CodePage::Cp936)),
        "EUCKR" | "UHC" => Some(FileCodePage::Page(CodePage::Cp949)),
        "BIG5" => Some(FileCodePage::Page(CodePage::Cp950)),
        "TIS620" => Some(FileCodePage::Page(CodePage::Cp874)),
        name => ["CP", "WINDOWS"]
            .into_iter()
            .find_map(|prefix| name.strip_prefix(prefix)?.parse().ok())
            .and_then(FileCodePage::from_number),
    };
    page.ok_or_else(|| LayoutError::Locale(charset.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_locale_names_a_code_page() {
        let page = |lang: &str| locale_code_page(|name| (name == "LANG").then(|| lang.to_owned()));
        let known = |lang: &str| page(lang).unwrap();
        let number = |number| FileCodePage::from_number(number).unwrap();
        assert_eq!(known("C.UTF-8"), FileCodePage::default());
        assert_eq!(known("en_US.CP1252"), number(1252));
        // 0x80 is a control character there, and no euro.
        assert_eq!(known("de_DE.ISO-8859-1@euro"), FileCodePage::Latin1);
        assert_eq!(known("ja_JP.CP932"), number(932));
        assert_eq!(known("zh_TW.BIG5"), number(950));
        assert_eq!(known("C"), FileCodePage::default());
        assert_eq!(
            known("en_US.IBM437"),
            FileCodePage::default(),
            "the vendor's library does not know that name either"
        );
        for lang in ["ru_RU.KOI8-R", "de_DE.ISO-8859-15@euro", "ja_JP.eucJP"] {
            assert!(matches!(page(lang), Err(LayoutError::Locale(_))), "{lang}");
        }
        let both = |name: &str| Some(if name == "LC_ALL" { "x.CP1252" } else { "x.UTF-8" }.to_owned());
        assert_eq!(locale_code_page(both).unwrap(), number(1252));
    }

    #[test]
    fn code_pages_are_known_or_refused() {
        assert_eq!(code_page(CodePageChoice::Number(850)).unwrap(), FileCodePage::Page(CodePage::Cp850));
        assert_eq!(code_page(CodePageChoice::Raw).unwrap(), FileCodePage::Raw);
        let refused = code_page(CodePageChoice::Number(12345)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "The code page specified for bcp operation is not supported on the machine."
        );
    }
}
