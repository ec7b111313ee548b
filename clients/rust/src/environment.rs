//! Where the server is, and what checks share.

use std::fmt::{Debug, Display};

use serde::Deserialize;

/// Why a check did not pass.
pub enum Failure {
    /// The client does not offer it.
    Cannot(&'static str),
    Failed(String),
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// A failure with a text.
pub fn failed(text: impl Into<String>) -> Failure {
    Failure::Failed(text.into())
}

/// Compares what was read with what must be there.
pub fn expect<T: PartialEq + Debug>(what: &str, actual: T, wanted: T) -> Result<(), Failure> {
    if actual == wanted {
        return Ok(());
    }
    Err(failed(format!("{what}: {actual:?}, expected {wanted:?}")))
}

pub struct Environment {
    pub host: String,
    pub port: u16,
    /// Of a server without TLS.
    pub plain_port: u16,
    pub plain_password: String,
    pub user: String,
    pub password: String,
    pub certificate: String,
    pub table: EveryType,
}

impl Environment {
    pub fn read() -> Result<Environment, Box<dyn std::error::Error>> {
        let variable = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
        Ok(Environment {
            host: variable("BULKWIRE_HOST")?,
            port: variable("BULKWIRE_PORT")?.parse()?,
            plain_port: variable("BULKWIRE_PLAIN_PORT")?.parse()?,
            plain_password: variable("BULKWIRE_PLAIN_PASSWORD")?,
            user: variable("BULKWIRE_USER")?,
            password: variable("BULKWIRE_PASSWORD")?,
            certificate: variable("BULKWIRE_CERTIFICATE")?,
            table: serde_json::from_str(&std::fs::read_to_string(variable("BULKWIRE_CELLS")?)?)?,
        })
    }
}

/// The table of every type; see cells.py for the canonical texts.
#[derive(Deserialize)]
pub struct EveryType {
    pub rows: usize,
    pub columns: Vec<Column>,
}

#[derive(Clone, Deserialize)]
pub struct Column {
    pub name: String,
    pub declaration: String,
    pub kind: String,
    pub literals: Vec<String>,
    pub texts: Vec<Option<String>>,
}

impl Column {
    /// The n-th number in the declaration's parentheses; 0 for `max` and where there is none.
    pub fn size(&self, part: usize) -> u16 {
        let inner = self.declaration.split(['(', ')']).nth(1).unwrap_or("");
        inner.split(',').nth(part).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}

impl EveryType {
    /// The table less some columns.
    pub fn without(&self, names: &[&str]) -> EveryType {
        let columns = self.columns.iter().filter(|column| !names.contains(&column.name.as_str()));
        EveryType { rows: self.rows, columns: columns.cloned().collect() }
    }

    /// The table with another text in one cell.
    pub fn with_text(mut self, name: &str, row: usize, text: &str) -> EveryType {
        for column in self.columns.iter_mut().filter(|column| column.name == name) {
            column.texts[row] = Some(text.to_string());
        }
        self
    }

    /// Statements that make an empty table; with "NOT NULL" its columns take no NULL, and it has no row of NULLs.
    pub fn create(&self, name: &str, nullability: &str) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {} {nullability}", column.name, column.declaration))
            .collect();
        format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id int NOT NULL, {})", columns.join(", "))
    }

    /// A statement that inserts a row by literals.
    pub fn insert(&self, name: &str, row: usize) -> String {
        let literals: Vec<&str> = self.columns.iter().map(|column| column.literals[row].as_str()).collect();
        format!("INSERT INTO {name} VALUES ({row}, {})", literals.join(", "))
    }

    /// Compares the canonical texts of the rows that a client has read.
    pub fn compare(
        &self,
        rows: &[Vec<Option<String>>],
        wanted_rows: usize,
        wanted: impl Fn(&Column, usize) -> Option<String>,
    ) -> Result<(), Failure> {
        expect("rows", rows.len(), wanted_rows)?;
        for (row, cells) in rows.iter().enumerate() {
            for (column, cell) in self.columns.iter().zip(cells) {
                let what = format!("{} of row {row}", column.name);
                expect(&what, cell.clone(), wanted(column, row))?;
            }
        }
        Ok(())
    }
}

/// The message of a key that is there already.
pub fn duplicate(table: &str) -> String {
    format!(
        "Violation of PRIMARY KEY constraint 'pk_{table}'. Cannot insert duplicate key in object 'dbo.{table}'. The \
         duplicate key value is (1)."
    )
}

/// Statements that make a table with a key.
pub fn keyed(name: &str) -> String {
    format!(
        "DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id int NOT NULL CONSTRAINT pk_{name} PRIMARY KEY, v int NULL)"
    )
}

/// What a cancelled stream is read from: 100 million rows.
pub const MANY_ROWS: &str = "SELECT a.n FROM #n a, #n b, #n c, #n d";
pub const HUNDRED: &str = "CREATE TABLE #n (n int); INSERT INTO #n SELECT a.n FROM \
    (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) a(n), \
    (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) b(n)";

/// A text of three million characters.
pub fn long_text() -> String {
    "0123456789äöü€🚀".repeat(200_000)
}
