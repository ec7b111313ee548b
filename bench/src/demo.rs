//! The main job on real data. It loads the AdventureWorksDW sample and a generated TPC-H `lineitem` into an embedded
//! server and reads everything back. Row counts and content checksums prove both directions.
//!
//! The expected content of a text file does not come from this project's own parsers: Arrow's casts turn the text
//! into the types that came back.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::adventure_works::{self, SampleTable};
use crate::lineitem::LineItem;
use crate::server_process::ServerProcess;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use clap::Args;
use formats::{BatchReader, Checksum, Compression, ContentChecksum, Format, Location, ParquetOptions};
use indicatif::{ProgressBar, ProgressStyle};
use load::report::{bytes, grouped};
use load::{Client, Config, LoadOptions, LoadPlan, LoadReport, create_table_statement, table_query};
use rows::Mapping;
use rows::mapping::{CreateOptions, Form};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Rows of a batch as read from files.
const BATCH_ROWS: usize = 65_536;

/// Loads and exports real tables through the embedded server, and proves both directions.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Rows of the generated lineitem table
    #[arg(long, default_value_t = 1_000_000)]
    lineitem_rows: usize,
    /// Folder of the AdventureWorksDW sample
    #[arg(long, default_value = "testdata/adventureworks-dw")]
    sample: PathBuf,
}

impl DemoArguments {
    /// Runs the demo and prints its table.
    ///
    /// # Errors
    /// The server does not start, a load or an export fails, or content differs.
    pub fn run(&self) -> Outcome<()> {
        run(self)
    }
}

/// A line of the result.
struct Line {
    name: String,
    rows: u64,
    bytes_on_wire: u64,
    seconds: f64,
}

fn run(arguments: &DemoArguments) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let server = ServerProcess::start(&["--data", &data.to_string_lossy()])?;
    eprintln!("embedded server: {}", server.public_url());
    let mut client = Client::connect(&Config::parse(&server.url())?)?;
    let mut lines = Vec::new();
    for (name, table) in adventure_works::tables(&arguments.sample)? {
        lines.push(sample_table(&mut client, &arguments.sample, &name, &table)?);
    }
    let source = folder.path().join("lineitem.parquet");
    let target = folder.path().join("lineitem-exported.parquet");
    generate_lineitem(arguments.lineitem_rows, &source)?;
    lines.push(load_lineitem(&mut client, &source)?);
    lines.push(export_lineitem(&mut client, &source, &target)?);
    print_lines(&lines);
    eprintln!("every table was read back; row counts and content checksums agree in both directions");
    Ok(())
}

/// Creates, loads and reads back one table of the sample.
fn sample_table(client: &mut Client, folder: &Path, name: &str, table: &SampleTable) -> Outcome<Line> {
    client.execute(&table.create_table(name))?;
    let location = Location::Path(folder.join(&table.file));
    let format = table.file_format();
    let options = LoadOptions {
        keep_identity: true,
        check_constraints: true,
        table_lock: Some(true),
        mapping: Mapping::ByName,
        ..LoadOptions::default()
    };
    let report = load_file(client, name, &location, &format, &options)?;
    let (schema, read) = read_back(client, name)?;
    let mut expected = ContentChecksum::new();
    for batch in formats::open(&location, &format, Compression::None, BATCH_ROWS)? {
        expected.update(&typed(&batch?, &schema)?)?;
    }
    agree(name, report.rows, expected.finish(), read)?;
    Ok(line(name, &report))
}

fn generate_lineitem(rows: usize, path: &Path) -> Outcome<()> {
    let generated = LineItem::new(rows, BATCH_ROWS);
    let location = Location::Path(path.to_owned());
    let format = Format::Parquet(ParquetOptions::default());
    let mut writer = formats::create(&location, generated.schema(), &format, Compression::None)?;
    let bar = bar("generate lineitem", rows as u64);
    for batch in generated {
        bar.inc(batch.num_rows() as u64);
        writer.write(&batch)?;
    }
    bar.finish_and_clear();
    writer.finish()?;
    Ok(())
}

fn load_lineitem(client: &mut Client, source: &Path) -> Outcome<Line> {
    let location = Location::Path(source.to_owned());
    let format = Format::Parquet(ParquetOptions::default());
    let measured = formats::measure(&location, &format, Compression::None)?;
    let statement = create_table_statement(&"lineitem".parse()?, &measured.schema(), |index, _| {
        let column = measured.columns.get(index);
        let max_length = column.map(|column| column.max_binary_bytes.unwrap_or(column.max_utf16_units));
        CreateOptions { max_length, ..CreateOptions::default() }
    })?;
    client.execute(&statement)?;
    let report = load_file(client, "lineitem", &location, &format, &LoadOptions::default())?;
    Ok(line("lineitem (load)", &report))
}

fn export_lineitem(client: &mut Client, source: &Path, target: &Path) -> Outcome<Line> {
    let stream = client.query(&table_query(&"lineitem".parse()?, None), Form::default())?;
    let format = Format::Parquet(ParquetOptions::default());
    let location = Location::Path(target.to_owned());
    let mut writer = formats::create(&location, stream.schema(), &format, Compression::None)?;
    let bar = bar("export lineitem", 0);
    let report = load::export(stream, |batch| {
        bar.inc(batch.num_rows() as u64);
        writer.write(&batch)
    })?;
    bar.finish_and_clear();
    writer.finish()?;
    let (expected, exported) = (file_checksum(source)?, file_checksum(target)?);
    agree("lineitem", report.rows, expected, exported)?;
    let seconds = report.elapsed.as_secs_f64();
    let name = "lineitem (export)".to_owned();
    Ok(Line { name, rows: report.rows, bytes_on_wire: report.bytes_on_wire, seconds })
}

fn load_file(
    client: &mut Client,
    name: &str,
    location: &Location,
    format: &Format,
    options: &LoadOptions,
) -> Outcome<LoadReport> {
    let reader = formats::open(location, format, Compression::None, BATCH_ROWS)?;
    let target = client.describe(&name.parse()?)?;
    let plan = LoadPlan::new(client, &target, &reader.schema(), options)?;
    let bar = bar(&format!("load {name}"), 0);
    let report = load::load(client, &plan, reader, &mut |progress| bar.set_position(progress.rows_sent))?;
    bar.finish_and_clear();
    Ok(report)
}

/// Reads a whole table; returns its schema and checksum.
fn read_back(client: &mut Client, name: &str) -> Outcome<(SchemaRef, Checksum)> {
    let mut stream = client.query(&table_query(&name.parse()?, None), Form::default())?;
    let schema = stream.schema();
    let mut checksum = ContentChecksum::new();
    while let Some(batch) = stream.next_batch()? {
        checksum.update(&batch)?;
    }
    Ok((schema, checksum.finish()))
}

fn file_checksum(path: &Path) -> Outcome<Checksum> {
    // Opened on its own first, so that a missing file is named as such.
    drop(File::open(path)?);
    let format = Format::Parquet(ParquetOptions::default());
    let reader: Box<dyn BatchReader> =
        formats::open(&Location::Path(path.to_owned()), &format, Compression::None, BATCH_ROWS)?;
    let mut checksum = ContentChecksum::new();
    for batch in reader {
        checksum.update(&batch?)?;
    }
    Ok(checksum.finish())
}

/// Converts text columns to the types of `schema`, by Arrow's own casts.
fn typed(batch: &RecordBatch, schema: &SchemaRef) -> Outcome<RecordBatch> {
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| match field.data_type() {
            DataType::Binary => from_hex(column),
            data_type => {
                let typed = cast(column, data_type)?;
                match typed.null_count() == column.null_count() {
                    true => Ok(typed),
                    false => {
                        Err(format!("{}: Arrow cannot read a value as {data_type}", field.name()).into())
                    }
                }
            }
        })
        .collect::<Outcome<Vec<ArrayRef>>>()?;
    Ok(RecordBatch::try_new(std::sync::Arc::clone(schema), columns)?)
}

/// Decodes hexadecimal digits, as which the sample writes binary values.
fn from_hex(column: &ArrayRef) -> Outcome<ArrayRef> {
    let values = column
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(hex_bytes).transpose())
        .collect::<Outcome<Vec<Option<Vec<u8>>>>>()?;
    Ok(std::sync::Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>()))
}

fn hex_bytes(text: &str) -> Outcome<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect()
}

fn agree(name: &str, loaded: u64, expected: Checksum, found: Checksum) -> Outcome<()> {
    if expected == found && loaded == found.rows {
        return Ok(());
    }
    Err(format!("{name}: expected {expected}, the server said {loaded} rows, and {found} came back").into())
}

fn line(name: &str, report: &LoadReport) -> Line {
    Line {
        name: name.to_owned(),
        rows: report.rows,
        bytes_on_wire: report.bytes_on_wire,
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn bar(label: &str, total: u64) -> ProgressBar {
    let bar = if total > 0 { ProgressBar::new(total) } else { ProgressBar::new_spinner() };
    let template = if total > 0 {
        "{prefix:40} [{bar:30}] {pos} rows"
    } else {
        "{prefix:40} {spinner} {pos} rows {elapsed}"
    };
    // The templates are constants, so a style can only fail to parse while they are being edited.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(label.to_owned());
    bar
}

fn print_lines(lines: &[Line]) {
    println!("{:46} {:>10} {:>12} {:>12} {:>10}", "table", "rows", "on the wire", "rows/s", "MB/s");
    for line in lines {
        let per_second = |count: u64| if line.seconds > 0.0 { count as f64 / line.seconds } else { 0.0 };
        println!(
            "{:46} {:>10} {:>12} {:>12} {:>10.1}",
            line.name,
            grouped(line.rows),
            bytes(line.bytes_on_wire as f64),
            grouped(per_second(line.rows) as u64),
            per_second(line.bytes_on_wire) / 1e6,
        );
    }
}
