//! Makes a format, its options and a compression from the options of files.

use std::path::Path;

use formats::sniff::{Contradiction, contradiction};
use formats::{
    Compression, CsvOptions, Encoding, Format, IpcContainer, IpcOptions, Location, ParquetOptions,
    RowTerminator,
};

use crate::error::CopyError;
use crate::host_file;
use crate::options::{CompressionName, FileOptions, FormatName};

/// Returns the format and compression of a file: by the options first, then by the suffix. Files of bcp's formats are described by
/// [`HostLayout`](crate::HostLayout) instead.
///
/// # Errors
/// Nothing says which format it is, or an option is not for it.
pub fn of(location: &Location, flags: &FileOptions) -> Result<(Format, Compression), CopyError> {
    let format = match (flags.format, location.path()) {
        (Some(name), _) => named(name)?,
        (None, Some(_)) => Format::of(location)?.0,
        (None, None) => {
            return Err(CopyError::Usage(format!("{location} has no suffix: name its format with --format")));
        }
    };
    Ok((with_csv_flags(format, flags)?, compression(location, flags)))
}

/// Chooses the compression of a file: by the option if it is given, else by the suffix.
pub fn compression(location: &Location, flags: &FileOptions) -> Compression {
    match (flags.compression, location.path()) {
        (Some(CompressionName::None), _) => Compression::None,
        (Some(CompressionName::Gzip), _) => Compression::Gzip,
        (Some(CompressionName::Zstd), _) => Compression::Zstd,
        (None, Some(path)) => Compression::from_path(path).0,
        (None, None) => Compression::None,
    }
}

/// Checks a CSV file's head against the delimiter. A contradiction to the default is an error, one to the user's own choice a warning.
///
/// # Errors
/// The contradiction, with the options that fit the file.
pub fn look_at(
    location: &Location,
    format: &Format,
    compression: Compression,
    flags: &FileOptions,
    warns: fn(&str),
) -> Result<(), CopyError> {
    let Format::Csv(options) = format else { return Ok(()) };
    let Some(found) = contradiction(location, compression, options)? else { return Ok(()) };
    let remedy = found.remedy();
    let is_named = match &found {
        Contradiction::Delimiter { .. } => flags.delimiter.is_some() || flags.row_terminator.is_some(),
        // As a row of data it has been asked for; as a header it never is.
        Contradiction::SeparatorLine { .. } => flags.no_header,
        Contradiction::FirstRow { is_certain, .. } => !is_certain,
    };
    if is_named {
        warns(&format!("{location}: {found}; {remedy} would read it so"));
        return Ok(());
    }
    let keep = match &found {
        Contradiction::Delimiter { assumed, .. } => {
            format!(" (--delimiter '{assumed}' if it is one column)")
        }
        Contradiction::SeparatorLine { .. } => String::new(),
        Contradiction::FirstRow { .. } => {
            " (if it does name them: --skip-lines 1 --no-header --columns A,B,...)".to_owned()
        }
    };
    Err(CopyError::Usage(format!("{location}: {found}; say {remedy}{keep}, or ask `bulkwire sniff`")))
}

/// Returns true if the source's columns have names of their own.
pub fn has_names(format: &Format) -> bool {
    match format {
        Format::Csv(options) => options.header || options.columns.is_some(),
        Format::Parquet(_) | Format::ArrowIpc(_) | Format::Host(_) => true,
    }
}

fn named(name: FormatName) -> Result<Format, CopyError> {
    Ok(match name {
        FormatName::Csv => Format::Csv(CsvOptions::default()),
        FormatName::Tsv => Format::Csv(CsvOptions { delimiter: "\t".to_owned(), ..CsvOptions::default() }),
        FormatName::Parquet => Format::Parquet(ParquetOptions::default()),
        FormatName::Arrow => Format::ArrowIpc(IpcOptions::default()),
        FormatName::Arrows => {
            Format::ArrowIpc(IpcOptions { container: IpcContainer::Stream, ..IpcOptions::default() })
        }
        FormatName::Char | FormatName::Widechar | FormatName::Native | FormatName::Widenative => {
            return Err(CopyError::Usage("files of bcp's formats are not possible here".to_owned()));
        }
    })
}

fn with_csv_flags(format: Format, flags: &FileOptions) -> Result<Format, CopyError> {
    let Format::Csv(mut options) = format else {
        return match first_csv_flag(flags) {
            Some(flag) => Err(CopyError::Usage(format!("{flag} is for CSV files only"))),
            None => Ok(format),
        };
    };
    if let Some(delimiter) = &flags.delimiter {
        options.delimiter = unescape(delimiter)?;
    }
    if let Some(terminator) = &flags.row_terminator {
        options.row_terminator = RowTerminator::Text(unescape(terminator)?);
    }
    options.skip_lines = flags.skip_lines.unwrap_or(0);
    options.skip_footer = flags.skip_footer.unwrap_or(0);
    if flags.no_quote {
        options.quote = None;
    } else if let Some(quote) = flags.quote {
        let byte = u8::try_from(quote).ok().filter(u8::is_ascii);
        options.quote =
            Some(byte.ok_or_else(|| CopyError::Usage("--quote takes an ASCII character".to_owned()))?);
    }
    options.header = !flags.no_header;
    options.columns.clone_from(&flags.columns);
    if let Some(path) = &flags.format_file {
        describe(&mut options, path, flags)?;
    }
    options.null_texts.clone_from(&flags.null_text);
    options.skip_initial_space = flags.skip_initial_space;
    if let Some(escape) = flags.escape {
        let byte = u8::try_from(escape).ok().filter(u8::is_ascii);
        options.escape =
            Some(byte.ok_or_else(|| CopyError::Usage("--escape takes an ASCII character".to_owned()))?);
    }
    if let Some(name) = &flags.encoding {
        options.encoding = name.parse::<Encoding>().map_err(|error| CopyError::Usage(error.to_string()))?;
    }
    Ok(Format::Csv(options))
}

/// Takes the terminators and the encoding of a file with quotes from a format file. Its columns go by position.
fn describe(options: &mut CsvOptions, path: &Path, flags: &FileOptions) -> Result<(), CopyError> {
    let named = [
        ("--delimiter", flags.delimiter.is_some()),
        ("--row-terminator", flags.row_terminator.is_some()),
        ("--columns", flags.columns.is_some()),
        ("--trim-blanks", flags.trim_blanks),
    ];
    if let Some((flag, _)) = named.into_iter().find(|(_, given)| *given) {
        return Err(CopyError::Usage(format!("{flag} has no place beside --format-file, which says it")));
    }
    let refused = |problem: String| CopyError::Usage(format!("{}: {problem}", path.display()));
    let described = host_file::format_file(path)?.quoted_layout().map_err(refused)?;
    let is_in_order = described.columns.iter().zip(1..).all(|(column, number)| *column == Some(number));
    if !is_in_order {
        return Err(refused(
            "with --format csv the fields fill the columns in their order; BULK INSERT with FORMAT = 'CSV' takes others"
                .to_owned(),
        ));
    }
    options.delimiter = described.options.delimiter;
    options.row_terminator = described.options.row_terminator;
    options.header = false;
    if flags.encoding.is_none() {
        options.encoding = described.options.encoding;
    }
    Ok(())
}

fn first_csv_flag(flags: &FileOptions) -> Option<&'static str> {
    [
        ("--delimiter", flags.delimiter.is_some()),
        ("--row-terminator", flags.row_terminator.is_some()),
        ("--skip-lines", flags.skip_lines.is_some()),
        ("--skip-footer", flags.skip_footer.is_some()),
        ("--quote", flags.quote.is_some()),
        ("--no-quote", flags.no_quote),
        ("--no-header", flags.no_header),
        ("--columns", flags.columns.is_some()),
        ("--escape", flags.escape.is_some()),
        ("--skip-initial-space", flags.skip_initial_space),
        ("--null-text", !flags.null_text.is_empty()),
        ("--encoding", flags.encoding.is_some()),
    ]
    .into_iter()
    .find_map(|(flag, given)| given.then_some(flag))
}

/// Replaces `\t`, `\n`, `\r`, `\0`, `\\` and `\xHH`, as shells and bcp users write them.
fn unescape(text: &str) -> Result<String, CopyError> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('0') => out.push('\0'),
            Some('\\') => out.push('\\'),
            Some('x') => {
                let digits: String = chars.by_ref().take(2).collect();
                let code = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
                out.push(char::from(code.ok_or_else(|| bad_escape(text))?));
            }
            _ => return Err(bad_escape(text)),
        }
    }
    Ok(out)
}

fn bad_escape(text: &str) -> CopyError {
    CopyError::Usage(format!("{text:?}: the escapes are \\t \\n \\r \\0 \\\\ and \\xHH (ASCII)"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::unescape;

    #[test]
    fn escapes() {
        assert_eq!(unescape("\\t").unwrap(), "\t");
        assert_eq!(unescape("a\\x7C\\\\").unwrap(), "a|\\");
        assert!(unescape("\\q").is_err());
        assert!(unescape("\\xZZ").is_err());
        assert!(unescape("\\").is_err());
    }
}
