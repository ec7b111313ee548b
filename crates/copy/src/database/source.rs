//! A table, view or query of a database as a source.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};

use super::{
    address::Address,
    reading::{self, DERIVED, Reading},
    session::Session,
    system::{System, full_name, quoted},
};
use crate::{
    error::CopyError,
    row_stream::RowStream,
    source::{Description, NewColumns, ReadForm, Repeat, Source},
};

/// A source behind a driver.
pub(super) struct DatabaseSource {
    address: Address,
    query: Option<String>,
    opened: Option<(Session, Reading)>,
}

impl DatabaseSource {
    /// Makes a source of the address's table, or of a query.
    pub(super) fn new(address: Address, query: Option<&str>) -> Result<Self, CopyError> {
        match (&address.table, query) {
            (None, None) => Err(CopyError::Usage(format!(
                "{address}: no table is named: write it behind a '#' ({}#schema.table), or give --query",
                address.database()
            ))),
            (Some(_), Some(_)) => {
                Err(CopyError::Usage(format!("{address}: --query takes the place of the table behind '#'")))
            }
            _ => Ok(Self { address, query: query.map(str::to_owned), opened: None }),
        }
    }

    fn opened(&mut self) -> Result<&mut (Session, Reading), CopyError> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => {
                let mut session = Session::open(&self.address, true)?;
                if session.system == System::PostgreSql && session.begin() {
                    // The rows must not change between measuring and reading.
                    session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
                }
                let query = match (&self.query, &self.address.table) {
                    (Some(query), _) => query.trim_end().trim_end_matches(';').to_owned(),
                    (None, Some(table)) => format!("SELECT * FROM {}", full_name(table, &session.quote)),
                    (None, None) => String::new(),
                };
                let reading = reading::plan(&mut session, &query).map_err(|error| match error {
                    CopyError::Usage(text) => CopyError::Usage(format!("{}: {text}", self.address)),
                    other => other,
                })?;
                (session, reading)
            }
        };
        Ok(self.opened.insert(opened))
    }
}

impl Source for DatabaseSource {
    fn name(&self) -> String {
        self.address.to_string()
    }

    fn describe(&mut self, _form: ReadForm) -> Result<Description, CopyError> {
        let (_, reading) = self.opened()?;
        Ok(Description {
            schema: Arc::clone(&reading.schema),
            rows: None,
            bytes: None,
            has_names: true,
            notes: Vec::new(),
        })
    }

    fn new_columns(&mut self, _form: ReadForm) -> Result<NewColumns, CopyError> {
        let (session, reading) = self.opened()?;
        let longest = longest(session, reading)?;
        Ok(NewColumns { schema: Arc::clone(&reading.schema), longest })
    }

    fn open(&mut self, _form: ReadForm) -> Result<RowStream, CopyError> {
        let (session, reading) = self.opened()?;
        reading::open(session, reading)
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        Ok(Repeat::No(format!(
            "{}: the rows of a query come in no order that is sure to be the same",
            self.address
        )))
    }
}

/// Asks for the bytes of the longest values of texts and binaries: texts never have more UTF-16 units than bytes.
fn longest(session: &mut Session, reading: &Reading) -> Result<Vec<Option<u64>>, CopyError> {
    let mut lengths = vec![None; reading.schema.fields().len()];
    let measured: Vec<(usize, String)> = measures(session.system, &reading.schema);
    if measured.is_empty() {
        return Ok(lengths);
    }
    let list: Vec<&str> = measured.iter().map(|(_, measure)| measure.as_str()).collect();
    let from = match session.system {
        // Names may be there twice in PostgreSQL's results.
        System::PostgreSql | System::DuckDb => {
            let aliases: Vec<String> =
                (1..=reading.schema.fields().len()).map(|number| format!("c{number}")).collect();
            format!("({}) AS {DERIVED}({})", reading.sql, aliases.join(", "))
        }
        _ => reading.from.clone(),
    };
    let row = session.texts(&format!("SELECT {} FROM {from}", list.join(", ")))?.into_iter().next();
    for ((index, _), length) in measured.iter().zip(row.unwrap_or_default()) {
        if let Some(place) = lengths.get_mut(*index) {
            *place = Some(length.and_then(|text| text.parse().ok()).unwrap_or(0));
        }
    }
    Ok(lengths)
}

fn measures(system: System, schema: &SchemaRef) -> Vec<(usize, String)> {
    let columns = schema.fields().iter().enumerate();
    let measure = |(index, field): (usize, &Arc<arrow::datatypes::Field>)| {
        let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
        if !is_text && !matches!(field.data_type(), DataType::Binary | DataType::LargeBinary) {
            return None;
        }
        let (alias, name) = (format!("c{}", index + 1), quoted(field.name(), "\""));
        let measure = match (system, is_text) {
            (System::PostgreSql, true) => format!("max(octet_length({alias}::text))"),
            (System::PostgreSql, false) => format!("max(octet_length({alias}))"),
            (System::DuckDb, true) => format!("max(strlen(CAST({alias} AS VARCHAR)))"),
            (System::DuckDb, false) => format!("max(octet_length({alias}))"),
            (System::Sqlite, _) => format!("max(length(CAST({name} AS BLOB)))"),
            (System::Odbc | System::Other, _) => return None,
        };
        Some((index, measure))
    };
    columns.filter_map(measure).collect()
}
