//! The path of a query: how it runs, decided once.

use crate::bind::BoundQuery;
use crate::plain::PlainQuery;
use crate::simple::SimpleQuery;
use tsql::SqlError;

/// The way in which a query runs.
#[derive(Debug)]
pub enum Path {
    /// Few rows pass through the bound plan's own steps: planning it would take longer than running it.
    Simple(SimpleQuery),
    /// Rows of one table, as they are stored.
    Plain(PlainQuery),
    /// The execution engine plans the query and runs it.
    Full,
}

impl Path {
    /// Chooses the path of a bound query. A simple query has its tables open, so that it can run at once.
    ///
    /// # Errors
    /// A table cannot be opened.
    pub fn of(bound: &BoundQuery) -> Result<Path, SqlError> {
        if let Some(query) = SimpleQuery::of(&bound.plan)? {
            return Ok(Path::Simple(query));
        }
        Ok(bound.plain().map_or(Path::Full, Path::Plain))
    }

    /// Returns the name of the path, as SHOWPLAN shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Path::Simple(_) => "Simple",
            Path::Plain(..) => "Plain",
            Path::Full => "Full",
        }
    }
}
