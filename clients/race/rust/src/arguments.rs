//! The command line that all contestants share.

use std::path::PathBuf;

use crate::Failure;

/// Which way the rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Load,
    Read,
}

/// What to move, from where, where to.
pub struct Arguments {
    pub client: String,
    pub mode: Mode,
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
    /// TLS for the whole connection, without checking the certificate.
    pub encrypt: bool,
    pub table: String,
    pub rows: u64,
    /// Rows of a commit, or of a batch read; 0 means all.
    pub batch_rows: usize,
    pub source: Option<PathBuf>,
    /// Path of Microsoft's ODBC driver; given once, before the mode.
    pub driver: Option<PathBuf>,
}

impl Arguments {
    /// Reads `CLIENT load|read --name value …`, pairs in any order.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, Failure> {
        let mut words = words;
        let mut places = Vec::new();
        let mut arguments = Arguments {
            client: String::new(),
            mode: Mode::Load,
            host: "127.0.0.1".to_owned(),
            port: 1433,
            user: "sa".to_owned(),
            password: std::env::var("RACE_PASSWORD")?,
            database: "master".to_owned(),
            encrypt: false,
            table: String::new(),
            rows: 0,
            batch_rows: 0,
            source: None,
            driver: None,
        };
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--") else {
                places.push(word);
                continue;
            };
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            match name {
                "host" => arguments.host = value,
                "port" => arguments.port = value.parse()?,
                "user" => arguments.user = value,
                "database" => arguments.database = value,
                "encrypt" => arguments.encrypt = value == "on",
                "table" => arguments.table = value,
                "rows" => arguments.rows = value.parse()?,
                "batch-rows" => arguments.batch_rows = value.parse()?,
                "source" => arguments.source = Some(value.into()),
                "driver" => arguments.driver = Some(value.into()),
                _ => return Err(format!("no option is called {word}").into()),
            }
        }
        let [client, mode] =
            <[String; 2]>::try_from(places).map_err(|_| "wanted: CLIENT load|read --table …")?;
        arguments.client = client;
        arguments.mode = match mode.as_str() {
            "load" => Mode::Load,
            "read" => Mode::Read,
            other => return Err(format!("load or read, not {other}").into()),
        };
        Ok(arguments)
    }

    /// The query of a read.
    pub fn query(&self) -> String {
        format!("SELECT * FROM {}", self.table)
    }

    /// The largest packets that the connection carries: TLS keeps to records of 16 KiB.
    pub fn packet_size_bytes(&self) -> u16 {
        if self.encrypt { 16_383 } else { 32_767 }
    }
}
