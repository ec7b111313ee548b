//! The questions that bcp asks when nothing describes the file: storage type, prefix, length and terminator of every field. The
//! last question is whether to keep the answers in a format file.
//!
//! Answers come from the terminal or, line by line, from a response file (`-i`). A question is repeated after an invalid answer.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use formats::bcp::{
    DataMode, FileCodePage, FormatFile, HostField, HostType, LayoutOptions, interactive, terminator,
};
use tds::Column;

use super::arguments::Job;

/// The questions' file, unless another is named.
const FORMAT_FILE_DEFAULT: &str = "bcp.fmt";

/// An error of the dialogue.
#[derive(Debug, thiserror::Error)]
pub enum DialogueError {
    /// The response file cannot be opened.
    #[error("Unable to open the response file {file}: {source}")]
    ResponseFile {
        /// The name of the file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// The answers end before the questions do.
    #[error("The answers end at the question \"{question}\".")]
    Over {
        /// The open question.
        question: String,
    },
    /// Asking or reading failed.
    #[error("The answer cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The format file cannot be written.
    #[error("Unable to write the format file {file}: {source}")]
    FormatFile {
        /// The name of the file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
}

/// Asks questions and reads answers.
pub struct Dialogue {
    answers: Box<dyn BufRead>,
    questions: Box<dyn Write>,
    /// The code page of the client, in which names of a format file are written.
    code_page: FileCodePage,
}

impl Dialogue {
    /// Opens the dialogue of a job. Questions go to standard error where standard output carries the data.
    pub fn open(job: &Job) -> Result<Self, DialogueError> {
        let answers: Box<dyn BufRead> = match &job.response_file {
            Some(file) => {
                let failed = |source| DialogueError::ResponseFile { file: file.clone(), source };
                Box::new(BufReader::new(File::open(file).map_err(failed)?))
            }
            None => Box::new(io::stdin().lock()),
        };
        let questions: Box<dyn Write> =
            if job.writes_to_stdout() { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
        // A page that does not exist is refused before the copy; names alone need none.
        let code_page = super::layout::code_page(job.code_page).unwrap_or_default();
        Ok(Self { answers, questions, code_page })
    }

    /// Asks for the layout of a file with these columns. The defaults are the native layout.
    pub fn layout(&mut self, columns: &[Column]) -> Result<FormatFile, DialogueError> {
        let native = FormatFile::for_columns(columns, DataMode::Native, &LayoutOptions::default());
        let proposals = columns.iter().zip(&native.fields);
        let fields =
            proposals.map(|(column, proposal)| self.field(column, proposal)).collect::<Result<_, _>>()?;
        Ok(FormatFile { fields, ..native })
    }

    /// Asks whether the answers are to be kept, and where.
    pub fn save(&mut self, layout: &FormatFile) -> Result<(), DialogueError> {
        let question = "Do you want to save this format information in a file? [Y/n] ";
        let keep = self.ask(question, |answer| match answer.trim() {
            "" | "y" | "Y" | "yes" | "Yes" | "YES" => Ok(true),
            "n" | "N" | "no" | "No" | "NO" => Ok(false),
            _ => Err("Please answer y or n."),
        })?;
        if !keep {
            return Ok(());
        }
        let file = self.ask(&format!("Host filename [{FORMAT_FILE_DEFAULT}]: "), |answer| {
            Ok(if answer.trim().is_empty() { FORMAT_FILE_DEFAULT } else { answer.trim() }.to_owned())
        })?;
        std::fs::write(&file, layout.to_text_for(self.code_page))
            .map_err(|source| DialogueError::FormatFile { file, source })
    }

    fn field(&mut self, column: &Column, native: &HostField) -> Result<HostField, DialogueError> {
        let name = &column.name;
        let type_name = interactive::proposed_storage_name(column);
        let question = format!("Enter the file storage type of field {name} [{type_name}]: ");
        let host_type = self.ask(&question, |answer| match answer {
            "" => Ok(native.host_type),
            code => interactive::storage_type(code).ok_or(STORAGE_TYPES),
        })?;
        let prefix_default = interactive::proposed_prefix_length(column, host_type);
        let question = format!("Enter prefix-length of field {name} [{prefix_default}]: ");
        let prefix_length = self.ask(&question, |answer| match answer.trim() {
            "" => Ok(prefix_default),
            digits => match digits.parse::<u8>() {
                Ok(length) if matches!(length, 0 | 1 | 2 | 4 | 8) => Ok(length),
                _ => Err("The prefix-length is 0, 1, 2, 4 or 8."),
            },
        })?;
        let length_default = interactive::proposed_length(column, host_type);
        let is_variable = matches!(host_type, HostType::Char | HostType::NChar | HostType::Binary);
        let length = if prefix_length == 0 && is_variable {
            self.ask(&format!("Enter length of field {name} [{length_default}]: "), |answer| {
                match answer.trim() {
                    "" => Ok(length_default),
                    digits => digits.parse::<u32>().map_err(|_| "The length is a number of bytes."),
                }
            })?
        } else if host_type == native.host_type {
            native.length
        } else {
            length_default
        };
        let terminator = self.ask("Enter field terminator [none]: ", |answer| {
            let answer = if cfg!(windows) && answer == "\\n" { "\\r\\n" } else { answer };
            match answer {
                "" | "none" => Ok(Vec::new()),
                text => terminator::parse_argument(text)
                    .map(|bytes| if host_type == HostType::NChar { terminator::widen(&bytes) } else { bytes })
                    .map_err(|_| "The terminator is not understood; \\t \\n \\r \\0 \\\\ and 0x… are."),
            }
        })?;
        writeln!(self.questions)?;
        Ok(HostField { host_type, prefix_length, length, terminator, ..native.clone() })
    }

    /// Asks until the answer makes sense.
    fn ask<T>(
        &mut self,
        question: &str,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Result<T, DialogueError> {
        loop {
            write!(self.questions, "{question}")?;
            self.questions.flush()?;
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                writeln!(self.questions)?;
                return Err(DialogueError::Over {
                    question: question.trim_end_matches([':', ' ']).to_owned(),
                });
            }
            match read(line.trim_end_matches(['\n', '\r'])) {
                Ok(value) => return Ok(value),
                Err(hint) => writeln!(self.questions, "{hint}")?,
            }
        }
    }
}

/// The answer to a storage type that does not exist.
const STORAGE_TYPES: &str = "Valid file storage types:\n  \
     <cr>    the column's own       c[har]    text\n  \
     w       Unicode text           T[ext]    text\n  \
     W       Unicode text           x         binary\n  \
     I[mage] binary                 i[nt]     int\n  \
     s[mallint]                     t[inyint]\n  \
     B[igint]                       b[it]\n  \
     f[loat]                        r[eal]\n  \
     m[oney]                        M         smallmoney\n  \
     d[ate]  datetime               D         smalldatetime\n  \
     de      date                   te        time\n  \
     d2      datetime2              do        datetimeoffset\n  \
     n       decimal, numeric       u         uniqueidentifier\n  \
     V[ariant]                      U         CLR type\n  \
     X       xml";

#[cfg(test)]
mod tests;
