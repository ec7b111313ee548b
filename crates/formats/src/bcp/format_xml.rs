//! XML format files.

use tds::Column;

use super::error::{FormatFileError, FormatFileProblem};
use super::format_file::FormatFile;

pub(super) fn parse(_text: &str, name: &str) -> Result<FormatFile, FormatFileError> {
    let problem =
        FormatFileProblem::Xml { found: "an XML format file, which this version does not read".into() };
    Err(FormatFileError::new(name, None, problem))
}

pub(super) fn print(_file: &FormatFile, _columns: &[Column]) -> Result<String, FormatFileError> {
    let problem =
        FormatFileProblem::Xml { found: "an XML format file, which this version does not write".into() };
    Err(FormatFileError::new("format file", None, problem))
}
