//! Advice on errors, in the words of the command line.

use formats::FormatError;

use crate::error::CopyError;

/// "There is already an object named ..." (sys.messages).
const NAME_TAKEN: i32 = 2714;

/// "Invalid collation" (sys.messages).
const UNKNOWN_COLLATION: i32 = 448;
/// "Keyword or statement option is not supported on this platform" (sys.messages).
const NOT_ON_THIS_PLATFORM: i32 = 16202;

const NESTED: &str = "--nested-as-json stores such values as JSON text";

/// Returns what helps against the error of a copy.
pub fn of_copy(error: &CopyError) -> Option<&'static str> {
    match error {
        CopyError::Client { source, .. } => of_load(source, false, false),
        CopyError::Unfit { error, .. } => of_load(error, false, false),
        CopyError::Statement { error, .. } => of_load(error, false, true),
        CopyError::Load { error, .. } => of_load(&error.source, false, false),
        CopyError::Format(error) => of_file(error),
        _ => None,
    }
}

/// Returns what helps against an error of the client. `is_plan`: of a plan; `is_statement`: of a statement that belongs to a load.
pub fn of_load(error: &load::Error, is_plan: bool, is_statement: bool) -> Option<&'static str> {
    use rows::CellErrorReason::{Inexact, Null, Parse, TimeOfDay, TooLong, Unmappable};
    use rows::mapping::{MappingError, NoSqlType};
    use rows::text::TextError;
    use rows::{PlanError, Refusal, RowDecodeErrorReason};
    let error = match error {
        load::Error::InDoubt { source, .. } => source,
        error => error,
    };
    match error {
        load::Error::Source(source) => source.downcast_ref::<FormatError>().and_then(of_file),
        load::Error::Cell(cell) if matches!(cell.reason, Parse(_)) && stands_for_null(&cell.value) => {
            Some("--null-text TEXT says which text stands for NULL, as in --null-text NULL")
        }
        load::Error::Cell(cell) => match &cell.reason {
            Null => {
                Some("--null-text TEXT says which text stands for NULL; an empty field is then an empty text")
            }
            TooLong { .. } | TimeOfDay => Some("--allow-truncate cuts such values"),
            Inexact(_)
            | Parse(
                TextError::NeedsRounding { .. }
                | TextError::NeedsFloatRounding { .. }
                | TextError::NeedsDateTimeRounding
                | TextError::NeedsMinuteRounding,
            ) => Some("--allow-rounding rounds such values"),
            Parse(TextError::LosesOffset) => Some("--drop-time-zone keeps the local time"),
            Parse(TextError::AmbiguousDate) => Some("--date-order mdy or dmy says which is which"),
            Parse(TextError::ShortYear) => Some(
                "--date-order takes years of two digits too, up to 2049; --year-cutoff YEAR names another last year",
            ),
            Parse(TextError::Syntax { expected }) if is_of_numbers(expected) => of_number(&cell.value),
            Unmappable { .. } => Some("--replacement CHAR replaces such characters"),
            _ => None,
        },
        load::Error::Plan(error) => match &**error {
            PlanError::Refused { refusal, .. } => match **refusal {
                Refusal::TimeZone { .. } => Some("--drop-time-zone keeps the local time"),
                Refusal::Nested(_) => Some(NESTED),
                _ => None,
            },
            PlanError::NoTarget { .. } => {
                Some("--map SRC=DST names the pairs, and leaves the other columns out")
            }
            _ => None,
        },
        load::Error::Mapping(error) => match &**error {
            MappingError::NoSqlType { reason: NoSqlType::Nested(_), .. } => Some(NESTED),
            _ => None,
        },
        load::Error::RowDecode(error) => match error.reason {
            RowDecodeErrorReason::NanosecondOverflow { .. } => {
                Some("--datetime2 us or text, and --datetimeoffset-text, hold every year")
            }
            RowDecodeErrorReason::NeedsRounding { .. } => {
                Some("--datetime2 cut cuts the seventh digit off, --datetime2 text keeps it")
            }
            _ => None,
        },
        load::Error::RejectLimit => Some("--max-errors N lets N rows be refused, --rejects FILE keeps them"),
        load::Error::Stage(error) if matches!(**error, load::StageError::KeyMissing { .. }) => {
            Some("--key A,B names the columns that rows are told apart by")
        }
        load::Error::NoTable { .. } if is_plan => Some("--create makes the table from the source's columns"),
        load::Error::Server(server) if is_statement && server.first().number == NAME_TAKEN => Some(
            "there is such a table already, or another load has just made it; without --create rows go into it",
        ),
        load::Error::Server(server) if server.first().number == UNKNOWN_COLLATION => Some(
            "--collations default leaves them to the database, and --collations map=OLD:NEW names others",
        ),
        load::Error::Server(server) if server.first().number == NOT_ON_THIS_PLATFORM && is_statement => Some(
            "SQL Server on Linux takes no code page: --encoding RAW with its version 2019; without --server-side this command converts the file",
        ),
        load::Error::Server(server) if server.is_about_the_stream() => {
            Some("--bisect sends such a batch again in parts; --batch-rows makes smaller ones")
        }
        load::Error::TimedOut { .. } => {
            Some("--command-timeout SECONDS lets the server be silent for longer, 0 without end")
        }
        load::Error::Tls(error) if matches!(**error, load::tls::TlsError::Certificate { .. }) => {
            Some("TrustServerCertificate=true accepts any certificate")
        }
        _ => None,
    }
}

fn is_of_numbers(expected: &str) -> bool {
    expected.contains("number") || expected.contains("money")
}

/// Returns the options that read a text as a number, if it is one in another country's spelling.
fn of_number(value: &str) -> Option<&'static str> {
    let value = value.trim();
    let is_mark = |c: char| !c.is_alphabetic() || "eE".contains(c);
    if !value.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if value.contains('%') {
        return Some("--percent number makes 12% 12, --percent fraction makes it 0.12");
    }
    if value.contains(['$', '€', '£', '¥', '₹']) {
        return Some("--currency SIGN leaves the sign of a currency out, as in --currency €");
    }
    if !value.chars().all(is_mark) {
        return None;
    }
    let behind_comma = value.rfind(',').map(|at| value.get(at + 1..).unwrap_or_default());
    match (behind_comma, value.rfind('.') > value.rfind(',')) {
        (Some(_), true) => Some("--thousands , reads such numbers"),
        (Some(_), false) if value.contains('.') => Some("--decimal , --thousands . reads such numbers"),
        (Some(behind), _) if behind.len() == 3 => {
            Some("--decimal , reads 1,234 as 1.234, --thousands , as 1234")
        }
        (Some(_), _) => Some("--decimal , reads such numbers"),
        (None, _) if value.contains(['\'', '\u{2019}']) => Some("--thousands \"'\" reads such numbers"),
        (None, _) if value.contains([' ', '\u{a0}', '\u{202f}']) => {
            Some("--thousands blank reads such numbers")
        }
        (None, _) if value.ends_with(['-', ')']) => {
            Some("--decimal . reads (12.50) and 12.50- as negative numbers")
        }
        _ => None,
    }
}

/// Returns true for words that programs write for NULL.
pub fn stands_for_null(value: &str) -> bool {
    ["NULL", "\\N", "N/A", "#N/A", "None", "NaN"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// Returns what helps against a file that does not read as it should.
pub fn of_file(error: &FormatError) -> Option<&'static str> {
    use formats::Reason;
    match &*error.reason {
        Reason::InvalidText { .. } => {
            Some("--encoding names the file's encoding (1252, utf-16le, ...); `bulkwire sniff` guesses it")
        }
        Reason::Ragged { .. } => Some(
            "--delimiter, --quote, --row-terminator, --skip-lines, --skip-initial-space (blanks in front of quotes) and --escape say how rows are divided; `bulkwire sniff` guesses it",
        ),
        Reason::UnterminatedQuote | Reason::TextAfterQuote => Some(
            "--escape '\\' takes \\\" for a quote that is data; --no-quote takes all quotes for data; --quote names another quote character",
        ),
        Reason::UnknownSuffix => Some(
            "--format csv (of convert: --from csv) reads any file as delimited text; `bulkwire sniff` guesses the format",
        ),
        Reason::RowTooLong { .. } => Some(
            "--row-terminator says what ends a row, --no-quote takes quotes for data; `bulkwire sniff` guesses both",
        ),
        _ => None,
    }
}
