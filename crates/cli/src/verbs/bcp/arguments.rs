//! The command line of bcp: option letters with attached or separate values, in any order.
//!
//! Letters are case-sensitive, a value that begins with `-` must be attached, and on Windows `/` introduces an option too
//! (Microsoft Learn, "bcp utility"). Options that bcp lacks begin with `--`.

use std::path::Path;

use formats::is_same_file;
use load::VectorSupport;

use super::switch::{LONG_SWITCHES, SWITCHES, Takes};

/// The request of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `-v`: name and version.
    Version,
    /// `-?`, `?`, `--help`, or nothing at all.
    Usage,
    /// A copy, or a format file.
    Copy(Box<Job>),
}

/// A copy as the command line describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Table, view or query, as written.
    pub source: String,
    /// The direction of the rows.
    pub direction: Direction,
    /// The data file, as written; `-` is standard input or output.
    pub file: String,
    /// The source of the file's layout.
    pub layout: Layout,
    /// `-f`
    pub format_file: Option<String>,
    /// `-x`
    pub xml: bool,
    /// `-t`, as written
    pub field_terminator: Option<String>,
    /// `-r`, as written
    pub row_terminator: Option<String>,
    /// `-C`
    pub code_page: CodePageChoice,
    /// `-V`
    pub version: Option<u16>,
    /// `-F`, counted from 1
    pub first_row: u64,
    /// `-L`, counted from 1 and included
    pub last_row: Option<u64>,
    /// `-b`
    pub batch_rows: Option<u64>,
    /// `-m`: the copy fails when this many rows were refused; `None` is no limit
    pub max_errors: Option<u64>,
    /// `-e`
    pub error_file: Option<String>,
    /// `-i`
    pub response_file: Option<String>,
    /// `-o`
    pub output_file: Option<String>,
    /// `-E`
    pub keep_identity: bool,
    /// `-k`
    pub keep_nulls: bool,
    /// `-q`
    pub quoted_identifiers: bool,
    /// `-R`
    pub regional: bool,
    /// `-h`, as written
    pub hints: Option<String>,
    /// `--rejects`
    pub rejects_file: Option<String>,
    /// `--strict`
    pub strict: bool,
    /// `--bisect`
    pub bisect: bool,
    /// The server and the sign-in.
    pub login: Login,
    /// Options that were given twice or have no effect; printed before the copy.
    pub warnings: Vec<String>,
}

/// The server to connect to, and the means of signing in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// `-S`
    pub server: Option<String>,
    /// `-D`: the server is the name of an ODBC data source
    pub is_data_source: bool,
    /// `-d`
    pub database: Option<String>,
    /// `-U`
    pub user: Option<String>,
    /// `-P`; an empty one for `-P` without a value
    pub password: Option<String>,
    /// `--password-file`, `--authentication` and the like, as keywords of a connection string
    pub keywords: Vec<(&'static str, String)>,
    /// `-T`
    pub trusted: bool,
    /// `-G`
    pub entra: bool,
    /// `-Y`
    pub encryption: Option<Encryption>,
    /// `-u`
    pub trust_certificate: bool,
    /// `-H`
    pub certificate_host: Option<String>,
    /// `-J`
    pub certificate_file: Option<String>,
    /// `-a`, bytes
    pub packet_size_bytes: Option<u32>,
    /// `-l`, seconds; 0 waits for ever
    pub login_timeout_seconds: Option<u32>,
    /// `--command-timeout`, seconds; 0 waits for ever
    pub command_timeout_seconds: Option<u32>,
    /// `-K ReadOnly`
    pub read_only: bool,
    /// `-z`: which vectors are copied as such and not as JSON text
    pub vectors: VectorSupport,
}

/// The direction of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a file into a table.
    In,
    /// From a table into a file.
    Out,
    /// From a query into a file.
    QueryOut,
    /// No rows: only a format file is written.
    Format,
}

/// The source of a file's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `-c`
    Character,
    /// `-w`
    UnicodeCharacter,
    /// `-n`
    Native,
    /// `-N`
    UnicodeNative,
    /// `-f` with `in`, `out` or `queryout`
    FormatFile,
    /// No letter: questions are asked, field by field.
    Dialogue,
}

/// `-C`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodePageChoice {
    /// Not given.
    Unsaid,
    /// The ANSI page of this machine.
    Acp,
    /// The OEM code page of the client.
    Oem,
    /// No conversion.
    Raw,
    /// The code page of this number.
    Number(u32),
}

/// `-Y`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// `s`: TLS before TDS.
    Strict,
    /// `m`, the default for servers named by `-S`.
    Mandatory,
    /// `o`
    Optional,
    /// `--no-encryption`
    Off,
}

/// A wrong command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// An option that bcp does not have.
    #[error("Unknown argument '{0}' on command line.")]
    Unknown(String),
    /// An option without its value.
    #[error("The option {0} needs a value; one that begins with '-' must follow without a space.")]
    NoValue(String),
    /// A value after an option that takes none.
    #[error("The option {option} takes no value, but \"{text}\" follows it.")]
    Surplus {
        /// The option.
        option: String,
        /// The superfluous text.
        text: String,
    },
    /// A value that the option does not take.
    #[error("\"{value}\" is not a value of {option}: {expected}.")]
    Value {
        /// The option.
        option: String,
        /// The given value.
        value: String,
        /// A description of the accepted values.
        expected: &'static str,
    },
    /// No table or query.
    #[error("A valid table name is required for in, out, or format options.")]
    NoTable,
    /// The second word is not a direction.
    #[error("Copy direction must be either 'in', 'out', 'queryout' or 'format'.")]
    Direction,
    /// No data file.
    #[error("A data file name is required; it is \"nul\" for format.")]
    NoFile,
    /// Words that belong to nothing.
    #[error("Unexpected \"{0}\": table or query, direction and data file are all there already.")]
    TooMany(String),
    /// Options that exclude each other, or one that needs another.
    #[error("{0}")]
    Conflict(&'static str),
}

impl Request {
    /// Reads the words behind the program's name.
    pub fn parse(words: &[String]) -> Result<Self, ArgumentError> {
        let mut draft = Draft::default();
        let mut words = words.iter().map(String::as_str).peekable();
        if words.peek().is_none() {
            return Ok(Self::Usage);
        }
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
                draft.long(name, &mut words)?;
            } else if let Some(option) = option_of(word) {
                draft.short(option, &mut words)?;
            } else if word == "?" && draft.positional.is_empty() {
                draft.usage = true;
            } else {
                draft.positional.push(word.to_owned());
            }
        }
        draft.finish()
    }
}

/// Returns the letter of an option word, and the rest of the word. A lone `-` is a file.
fn option_of(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('-').or_else(|| if cfg!(windows) { word.strip_prefix('/') } else { None });
    rest.filter(|rest| !rest.is_empty())
}

/// The command line so far.
#[derive(Default)]
struct Draft {
    positional: Vec<String>,
    given: Vec<(char, String)>,
    long: Vec<(&'static str, String)>,
    usage: bool,
}

impl Draft {
    fn short<'w>(
        &mut self,
        option: &str,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
    ) -> Result<(), ArgumentError> {
        let mut letters = option.chars();
        let Some(letter) = letters.next() else { return Ok(()) };
        let attached = letters.as_str();
        if letter == '?' {
            self.usage = true;
            return Ok(());
        }
        let Some(switch) = SWITCHES.iter().find(|switch| switch.letter == letter) else {
            return Err(ArgumentError::Unknown(format!("-{option}")));
        };
        let name = || format!("-{letter}");
        let value = match switch.takes {
            Takes::Nothing if attached.is_empty() => String::new(),
            Takes::Nothing => {
                return Err(ArgumentError::Surplus { option: name(), text: attached.to_owned() });
            }
            Takes::Maybe => attached.to_owned(),
            Takes::Value if !attached.is_empty() => attached.to_owned(),
            Takes::Value => {
                let is_number = |word: &str| word.parse::<i64>().is_ok();
                match words.next_if(|next| option_of(next).is_none() || (switch.numeric && is_number(next))) {
                    Some(next) => next.to_owned(),
                    // -P at the end is the empty password.
                    None if letter == 'P' => String::new(),
                    None => return Err(ArgumentError::NoValue(name())),
                }
            }
        };
        self.given.push((letter, value));
        Ok(())
    }

    fn long<'w>(
        &mut self,
        option: &str,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
    ) -> Result<(), ArgumentError> {
        let (name, attached) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        if name == "help" {
            self.usage = true;
            return Ok(());
        }
        let Some(switch) = LONG_SWITCHES.iter().find(|switch| switch.name == name) else {
            return Err(ArgumentError::Unknown(format!("--{option}")));
        };
        let value = match (switch.takes_value, attached) {
            (true, Some(value)) => value.to_owned(),
            (true, None) => match words.next() {
                Some(value) => value.to_owned(),
                None => return Err(ArgumentError::NoValue(format!("--{name}"))),
            },
            (false, Some(text)) => {
                return Err(ArgumentError::Surplus { option: format!("--{name}"), text: text.to_owned() });
            }
            (false, None) => String::new(),
        };
        self.long.push((switch.name, value));
        Ok(())
    }

    /// Returns the last value of an option.
    fn value(&self, letter: char) -> Option<String> {
        self.given.iter().rev().find(|(given, _)| *given == letter).map(|(_, value)| value.clone())
    }

    fn has(&self, letter: char) -> bool {
        self.given.iter().any(|(given, _)| *given == letter)
    }

    fn long_value(&self, name: &str) -> Option<String> {
        self.long.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.clone())
    }

    fn number<T: std::str::FromStr + PartialOrd>(
        &self,
        letter: char,
        range: std::ops::RangeInclusive<T>,
        expected: &'static str,
    ) -> Result<Option<T>, ArgumentError> {
        let Some(value) = self.value(letter) else { return Ok(None) };
        match value.trim().parse::<T>() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(ArgumentError::Value { option: format!("-{letter}"), value, expected }),
        }
    }

    fn finish(self) -> Result<Request, ArgumentError> {
        if self.usage {
            return Ok(Request::Usage);
        }
        if self.has('v') {
            return Ok(Request::Version);
        }
        if self.has('X') {
            return Err(ArgumentError::Unknown("-X".to_owned()));
        }
        if self.has('6') {
            return Err(ArgumentError::Conflict(
                "-6 (the layouts of SQL Server 6.0 and 6.5) is not supported; -V 80 is the oldest layout.",
            ));
        }
        let mut positional = self.positional.iter();
        let source = positional.next().filter(|name| !name.trim().is_empty());
        let source = source.ok_or(ArgumentError::NoTable)?.clone();
        let direction = match positional.next().map(|word| word.to_ascii_lowercase()).as_deref() {
            Some("in") => Direction::In,
            Some("out") => Direction::Out,
            Some("queryout") => Direction::QueryOut,
            Some("format") => Direction::Format,
            _ => return Err(ArgumentError::Direction),
        };
        let file = positional.next().filter(|file| !file.is_empty()).ok_or(ArgumentError::NoFile)?.clone();
        if let Some(word) = positional.next() {
            return Err(ArgumentError::TooMany(word.clone()));
        }
        let mut warnings = Vec::new();
        let layout = self.layout(direction, &mut warnings);
        let job = Job {
            direction,
            layout,
            file,
            format_file: self.value('f'),
            xml: self.has('x'),
            field_terminator: self.value('t'),
            row_terminator: self.value('r'),
            code_page: self.code_page()?,
            version: self.version()?,
            first_row: self.row('F')?.unwrap_or(1).max(1),
            last_row: self.row('L')?.filter(|row| *row > 0),
            batch_rows: self.row('b')?.filter(|rows| *rows > 0),
            max_errors: self.max_errors()?,
            error_file: self.value('e'),
            response_file: self.value('i'),
            output_file: self.value('o'),
            keep_identity: self.has('E'),
            keep_nulls: self.has('k'),
            quoted_identifiers: self.has('q'),
            regional: self.has('R'),
            hints: self.value('h'),
            rejects_file: self.long_value("rejects"),
            strict: self.long_value("strict").is_some(),
            bisect: self.long_value("bisect").is_some(),
            login: self.login()?,
            warnings,
            source,
        };
        job.check()?;
        Ok(Request::Copy(Box::new(job)))
    }

    /// Chooses the layout: a format file describes everything; of several letters the last one counts.
    fn layout(&self, direction: Direction, warnings: &mut Vec<String>) -> Layout {
        let letters: Vec<char> =
            self.given.iter().map(|(letter, _)| *letter).filter(|letter| "cwnN".contains(*letter)).collect();
        if direction != Direction::Format && self.has('f') {
            if let Some(letter) = letters.last() {
                warnings.push(format!("Warning: -f overrides -{letter}."));
            }
            return Layout::FormatFile;
        }
        let Some(last) = letters.last() else { return Layout::Dialogue };
        if let Some(before) = letters.iter().rev().find(|letter| *letter != last) {
            warnings.push(format!("Warning: -{last} overrides -{before}."));
        }
        match last {
            'c' => Layout::Character,
            'w' => Layout::UnicodeCharacter,
            'n' => Layout::Native,
            _ => Layout::UnicodeNative,
        }
    }

    /// Parses row numbers and counts; a number below the first counts as not given, as the original has it.
    fn row(&self, letter: char) -> Result<Option<u64>, ArgumentError> {
        let range = i64::MIN..=i64::MAX;
        let number = self.number(letter, range, "a number up to 9223372036854775807 is expected")?;
        Ok(number.map(|number| u64::try_from(number).unwrap_or(0)))
    }

    fn max_errors(&self) -> Result<Option<u64>, ArgumentError> {
        let short = self.number('m', i64::MIN..=i64::MAX, "a number of rows is expected")?;
        let long = match self.long_value("max-errors") {
            Some(value) => Some(value.trim().parse::<i64>().map_err(|_| ArgumentError::Value {
                option: "--max-errors".to_owned(),
                value,
                expected: "a number of rows is expected",
            })?),
            None => None,
        };
        let asked = long.or(short).unwrap_or(MAX_ERRORS_DEFAULT);
        Ok(u64::try_from(asked).ok().filter(|errors| *errors > 0))
    }

    fn code_page(&self) -> Result<CodePageChoice, ArgumentError> {
        let Some(value) = self.value('C') else { return Ok(CodePageChoice::Unsaid) };
        match value.to_ascii_uppercase().as_str() {
            "ACP" => Ok(CodePageChoice::Acp),
            "OEM" => Ok(CodePageChoice::Oem),
            "RAW" => Ok(CodePageChoice::Raw),
            number => number.parse().map(CodePageChoice::Number).map_err(|_| ArgumentError::Value {
                option: "-C".to_owned(),
                value: value.clone(),
                expected: "ACP, OEM, RAW or the number of a code page is expected",
            }),
        }
    }

    fn version(&self) -> Result<Option<u16>, ArgumentError> {
        let expected = "80, 90, 100, 110, 120, 130, 140, 150, 160 or 170 is expected";
        let number = self.number('V', 0..=u16::MAX, expected)?;
        match number {
            Some(version) if !VERSIONS.contains(&version) => {
                Err(ArgumentError::Value { option: "-V".to_owned(), value: version.to_string(), expected })
            }
            version => Ok(version),
        }
    }

    fn login(&self) -> Result<Login, ArgumentError> {
        let encryption = match self.value('Y') {
            Some(_) if self.long_value("no-encryption").is_some() => {
                return Err(ArgumentError::Conflict("-Y and --no-encryption exclude each other."));
            }
            None => self.long_value("no-encryption").map(|_| Encryption::Off),
            Some(value) => match value.as_str() {
                "s" => Some(Encryption::Strict),
                "m" => Some(Encryption::Mandatory),
                "o" => Some(Encryption::Optional),
                _ => {
                    let expected = "s (strict), m (mandatory) or o (optional) is expected";
                    return Err(ArgumentError::Value { option: "-Y".to_owned(), value, expected });
                }
            },
        };
        let command_timeout_seconds = match self.long_value("command-timeout") {
            None => None,
            Some(value) => match value.parse() {
                Ok(seconds) => Some(seconds),
                Err(_) => {
                    let option = "--command-timeout".to_owned();
                    let expected = "a number of seconds is expected";
                    return Err(ArgumentError::Value { option, value, expected });
                }
            },
        };
        let read_only = match self.value('K') {
            None => false,
            Some(value) if value.eq_ignore_ascii_case("ReadOnly") => true,
            Some(value) => {
                let expected = "ReadOnly is expected";
                return Err(ArgumentError::Value { option: "-K".to_owned(), value, expected });
            }
        };
        let vectors = match self.value('z').as_deref() {
            None => VectorSupport::Off,
            Some("" | "0") => VectorSupport::Float32,
            Some("1") => VectorSupport::All,
            Some(value) => {
                return Err(ArgumentError::Value {
                    option: "-z".to_owned(),
                    value: value.to_owned(),
                    expected: "0 (vectors of float32) or 1 (of float16 too) is expected",
                });
            }
        };
        Ok(Login {
            vectors,
            server: self.value('S').filter(|server| !server.is_empty()),
            is_data_source: self.has('D'),
            database: self.value('d'),
            user: self.value('U'),
            password: self.value('P'),
            keywords: KEYWORDS
                .iter()
                .filter_map(|(option, keyword)| Some((*keyword, self.long_value(option)?)))
                .collect(),
            trusted: self.has('T'),
            entra: self.has('G'),
            encryption,
            trust_certificate: self.has('u'),
            certificate_host: self.value('H'),
            certificate_file: self.value('J'),
            packet_size_bytes: self.number('a', 4096..=65535, "4096 to 65535 bytes are expected")?,
            login_timeout_seconds: self.number('l', 0..=65534, "0 to 65534 seconds are expected")?,
            command_timeout_seconds,
            read_only,
        })
    }
}

/// Options that say who the client is, and the keywords of connection strings that they stand for.
const KEYWORDS: [(&str, &str); 5] = [
    ("password-file", "Password File"),
    ("password-command", "Password Command"),
    ("password-keyring", "Password Keyring"),
    ("authentication", "Authentication"),
    ("authority", "Authority"),
];

/// Rows that may be refused before a copy fails.
pub const MAX_ERRORS_DEFAULT: i64 = 10;

/// Servers whose native layout `-V` can name.
const VERSIONS: [u16; 10] = [80, 90, 100, 110, 120, 130, 140, 150, 160, 170];

impl Job {
    /// Refuses one file for two things: the second would empty it.
    fn check_files(&self) -> Result<(), ArgumentError> {
        let is_format = self.direction == Direction::Format;
        let written = [&self.error_file, &self.output_file, &self.rejects_file];
        let data = Some(&self.file).filter(|_| !is_format);
        let read = [data, self.format_file.as_ref(), self.response_file.as_ref()];
        let all: Vec<&String> = written.into_iter().flatten().chain(read.into_iter().flatten()).collect();
        let is_twice = |(index, file): (usize, &&String)| {
            all.iter().skip(index + 1).any(|other| is_same_file(Path::new(file), Path::new(other)))
        };
        match all.iter().enumerate().any(is_twice) {
            true => Err(ArgumentError::Conflict(
                "One file is named twice: the data file, -e, -f, -i, -o and --rejects need files of their own.",
            )),
            false => Ok(()),
        }
    }

    /// Options that exclude or need each other.
    fn check(&self) -> Result<(), ArgumentError> {
        let conflict = |reason| Err(ArgumentError::Conflict(reason));
        let format = self.direction == Direction::Format;
        if format && self.format_file.is_none() {
            return conflict("format needs -f with the name of the format file to write.");
        }
        if format && !self.file.eq_ignore_ascii_case("nul") && self.file != "/dev/null" {
            return conflict("format moves no data: its data file must be \"nul\".");
        }
        if self.xml && !format {
            return conflict("-x is for format only.");
        }
        self.check_files()?;
        if self.login.trusted && self.login.user.is_some() {
            return conflict("-T and -U exclude each other.");
        }
        if self.hints.is_some() && self.direction != Direction::In {
            return conflict("-h is for in only.");
        }
        if self.login.database.is_some()
            && has_database(&self.source)
            && self.direction != Direction::QueryOut
        {
            return conflict("-d and a database in the table's name exclude each other.");
        }
        if self.batch_rows.is_some()
            && self.hints.as_ref().is_some_and(|hints| hints.to_ascii_uppercase().contains("ROWS_PER_BATCH"))
        {
            return conflict("-b and the hint ROWS_PER_BATCH exclude each other.");
        }
        if (self.rejects_file.is_some() || self.bisect) && self.direction != Direction::In {
            return conflict("--rejects and --bisect are for in only.");
        }
        Ok(())
    }
}

/// Returns true if a name has three parts.
fn has_database(source: &str) -> bool {
    source.parse::<load::TableName>().is_ok_and(|name| name.database.is_some())
}

#[cfg(test)]
mod tests;
