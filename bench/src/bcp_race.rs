//! Comparison of `in -c` of bulkwire under the name bcp with FreeTDS's freebcp: the same file into the same
//! server, turn by turn.
//!
//! Rows have the 608 bytes of an old published comparison of SQL Server's loaders: integers and varchars. Every run is
//! verified by the server's count of rows.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::installed_program::beside;
use crate::server_process::ServerProcess;
use clap::Args;
use load::{Client, Config};
use tds::Value;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const TABLE: &str = "bench_bcp";
/// Text columns of a row, and the characters of each: with two integers and the separators, 608 bytes on average.
const TEXTS: usize = 12;
const TEXT_CHARS_MAX: usize = 50;

/// Compare `bcp in -c` with freebcp.
#[derive(Debug, Args)]
pub struct BcpArguments {
    /// Rows of the file
    #[arg(long, default_value_t = 200_000)]
    rows: u64,
    /// Runs of each program
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// The other program
    #[arg(long, default_value = "freebcp")]
    freebcp: PathBuf,
}

impl BcpArguments {
    /// Races both programs and prints the medians.
    ///
    /// # Errors
    /// A program cannot be started or fails, or the table's rows are not those of the file.
    pub fn run(&self) -> Outcome<()> {
        run(self)
    }
}

fn run(arguments: &BcpArguments) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("rows.dat");
    let bytes = write_rows(&file, arguments.rows)?;
    let server = ServerProcess::start(&["--in-memory"])?;
    let config = Config::parse(&server.url())?;
    let mut client = Client::connect(&config)?;
    let texts: Vec<String> = (0..TEXTS).map(|n| format!("t{n} varchar({TEXT_CHARS_MAX}) NOT NULL")).collect();
    client
        .execute(&format!("CREATE TABLE {TABLE} (id int NOT NULL, n int NOT NULL, {})", texts.join(", ")))?;
    let programs =
        [Program::bulkwire(&server), Program::freebcp(&arguments.freebcp, &config, folder.path())?];
    println!(
        "{} rows, {:.0} bytes each, {} runs",
        arguments.rows,
        bytes as f64 / arguments.rows as f64,
        arguments.runs
    );
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); programs.len()];
    for _ in 0..arguments.runs {
        for (program, seconds) in programs.iter().zip(&mut seconds) {
            client.execute(&format!("TRUNCATE TABLE {TABLE}"))?;
            let started = Instant::now();
            program.load(&file)?;
            seconds.push(started.elapsed().as_secs_f64());
            let rows = count(&mut client)?;
            if rows != i64::try_from(arguments.rows)? {
                return Err(format!(
                    "{}: {rows} rows are in the table instead of {}",
                    program.name, arguments.rows
                )
                .into());
            }
        }
    }
    let medians: Vec<f64> = seconds.iter_mut().map(|seconds| median(seconds)).collect();
    for (program, median) in programs.iter().zip(&medians) {
        println!("{:10} {median:8.3} s {:12.0} rows/s", program.name, arguments.rows as f64 / median);
    }
    if let [ours, theirs] = medians.as_slice() {
        println!("bulkwire loads {:.2} times as many rows a second", theirs / ours);
    }
    Ok(())
}

/// A program under measurement, with everything but the file.
struct Program {
    name: &'static str,
    path: PathBuf,
    before: Vec<String>,
    after: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Program {
    fn bulkwire(server: &ServerProcess) -> Self {
        Self {
            name: "bulkwire",
            path: beside("bulkwire"),
            before: vec!["bcp".to_owned(), TABLE.to_owned(), "in".to_owned()],
            after: ["-c", "-a", "32767"].map(str::to_owned).to_vec(),
            environment: vec![("BULKWIRE_URL", server.url())],
        }
    }

    fn freebcp(path: &Path, config: &Config, folder: &Path) -> Outcome<Self> {
        let file = folder.join("freetds.conf");
        let section = format!(
            "[global]\ntds version = 7.4\nclient charset = UTF-8\nencryption = off\n[bench]\nhost = {}\nport = {}\n",
            config.host,
            config.port_or_default()
        );
        fs::write(&file, section)?;
        let load::config::Auth::SqlLogin { user, password } = &config.auth else {
            return Err("the server wants a token".into());
        };
        let password = password.given().map_or("", |password| password.expose());
        let login = ["-S", "bench", "-U", user, "-P", password, "-c", "-A", "32767"];
        Ok(Self {
            name: "freebcp",
            path: path.to_owned(),
            before: vec![format!("master..{TABLE}"), "in".to_owned()],
            after: login.map(str::to_owned).to_vec(),
            environment: vec![("FREETDSCONF", file.to_string_lossy().into_owned())],
        })
    }

    fn load(&self, file: &Path) -> Outcome<()> {
        let output = Command::new(&self.path)
            .args(&self.before)
            .arg(file)
            .args(&self.after)
            .envs(self.environment.iter().map(|(key, value)| (*key, value.as_str())))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{}: {}{}",
                self.name,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
            .into()),
        }
    }
}

/// Writes the file; its size in bytes.
fn write_rows(path: &Path, rows: u64) -> Outcome<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut random = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for id in 0..rows {
        write!(out, "{id}\t{}", random() % 1_000_000_000)?;
        for _ in 0..TEXTS {
            let length = TEXT_CHARS_MAX - 3 + (random() % 3) as usize;
            let word = format!("{:016x}", random());
            let text: String = word.chars().cycle().take(length).collect();
            write!(out, "\t{text}")?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(fs::metadata(path)?.len())
}

fn count(client: &mut Client) -> Outcome<i64> {
    let tables = client.query_values(&format!("SELECT COUNT_BIG(*) FROM {TABLE}"))?;
    match load::first_value(&tables) {
        Some(Value::BigInt(rows)) => Ok(*rows),
        other => Err(format!("no count, but {other:?}").into()),
    }
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}
