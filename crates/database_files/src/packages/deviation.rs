//! Packages of writers that deviate: .NET Framework's DacFx put a length before `char` NOT NULL of a UTF-8 collation, and others
//! one of eight bytes before `varchar` of more than 4,000.
//!
//! Nothing in a package says so. A table with such a column is walked once in each form, to the end of every part.

use super::{
    archive::Archive,
    data::{DataPart, PartRows},
    types::Encoding,
};
use crate::{definition::Column, error::Reason};
use tds::{Length, SqlType};

/// Shortest `varchar` whose text may be more than 8,000 bytes of UTF-16.
const LONG_MIN: u16 = 4001;

/// Returns the other form that a column's values may have; None if there is one form alone.
pub(super) fn other_form(column: &Column, usual: Encoding) -> Option<Encoding> {
    match column.sql_type {
        SqlType::Char { .. }
            if !column.is_nullable && column.collation.is_some_and(|collation| collation.is_utf8()) =>
        {
            Some(Encoding { prefix: 2, ..usual })
        }
        SqlType::VarChar { length: Length::Units(LONG_MIN..) } => Some(Encoding { prefix: 8, ..usual }),
        _ => None,
    }
}

/// Chooses the form in which all parts of a table end where a row ends.
///
/// # Errors
/// Both forms fit, so that nobody can say which one it is.
pub(super) fn fitting(rows: PartRows, archive: &Archive, parts: &[DataPart]) -> Result<PartRows, Reason> {
    let others = rows.with_other_forms();
    if others.is_empty() {
        return Ok(rows);
    }
    let fits = |rows: &PartRows| parts.iter().all(|part| rows.fits(&mut archive.clone(), part));
    let fitting: Vec<&PartRows> = others.iter().filter(|rows| fits(rows)).collect();
    match (fits(&rows), fitting.as_slice()) {
        (true, [_, ..]) if parts.iter().any(|part| !part.is_empty(&mut archive.clone())) => {
            let text = "its data can be read in two forms, and nothing says which one was written";
            Err(Reason::Unsupported(text.to_owned()))
        }
        (false, [one]) => Ok((*one).clone()),
        // A table that fits in no form is an error with its place when it is read.
        _ => Ok(rows),
    }
}
