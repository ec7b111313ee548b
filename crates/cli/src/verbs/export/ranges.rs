//! `bulkwire export` over several connections, or to several files.

use std::path::Path;
use std::sync::Arc;

use copy::{HostLayout, file_format};
use formats::objects::is_object_url;
use formats::{BatchWriter, Compression, Folder, Format, Location, PartitionedFiles, SplitFiles, Written};
use load::read::{
    Consistency, ParallelRead, ReadOptions, ReadReport, Readers, RowSource, SplitPlan, read_into,
};
use load::report::grouped;
use load::{Beginning, Client, Waited};
use rows::Form;
use serde_json::json;

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::verbs::export::command::{figures, say_offsets};
use crate::verbs::export::range_files::RangeFiles;
use crate::verbs::load::options::hears;
use crate::{connection, event_log, progress};

/// Bytes of rows that a file of a range aims at.
const FILE_BYTES: u64 = 64 << 20;

/// Returns true if the flags ask for more than one statement and one file.
pub fn is_wanted(arguments: &ExportArgs, file: &str) -> bool {
    arguments.reading.readers != Readers::Count(1)
        || arguments.reading.split_by.is_some()
        || arguments.reading.ranges.is_some()
        || arguments.reading.consistent != Consistency::None
        || arguments.reading.gentle
        || arguments.retry_for.is_some()
        || is_folder(arguments, file)
}

/// Returns true if the export fills a directory.
fn is_folder(arguments: &ExportArgs, file: &str) -> bool {
    arguments.split_rows.is_some()
        || arguments.partition_by.is_some()
        || file.ends_with(['/', std::path::MAIN_SEPARATOR])
        || (file != "-" && !is_object_url(file) && Path::new(file).is_dir())
}

/// Plans, reads and writes.
pub fn run(arguments: &ExportArgs, source: RowSource, file: &str) -> Result<(), Failure> {
    let is_folder = is_folder(arguments, file);
    if is_folder && file == "-" {
        return Err(Failure::Usage("several files need a directory".to_owned()));
    }
    let files_are_ranges = is_folder && arguments.split_rows.is_none() && arguments.partition_by.is_none();
    let host = HostLayout::of(&arguments.format)?;
    if is_folder && host.is_some() {
        return Err(Failure::Usage("a directory takes CSV, Parquet and Arrow files".to_owned()));
    }
    let target = match is_folder {
        true => Location::Path("part.parquet".into()),
        false => Location::target(file),
    };
    let typed = match host {
        Some(_) => None,
        None => Some(file_format::of(&target, &arguments.format)?.0),
    };
    let is_text = matches!(typed, Some(Format::Csv(_)));
    let compression = file_format::compression(&target, &arguments.format);
    let form = if host.is_some() { Form::Exact } else { arguments.forms.form(is_text) };
    let mut options = arguments.reading.read_options(arguments.retry_for, form, hears);
    if files_are_ranges {
        options.range_bytes = FILE_BYTES;
        options.keeps_ranges = true;
    }
    let folder = match is_folder {
        true => Some(Arc::new(Folder::named(file)?)),
        false => None,
    };
    if arguments.quiet || arguments.json {
        options.hears = |_| {};
    }
    let beginning = Beginning { retry: options.beginning, hears: &options.hears };
    let mut client = connection::open_by(&arguments.connection, &beginning)?;
    let table = match &source {
        RowSource::Table { name, .. } if host.is_some() => client.describe(name).ok(),
        _ => None,
    };
    let plan = beginning.run(&mut client, &mut |client| SplitPlan::new(client, source.clone(), &options));
    let plan = plan.map_err(|error| match &source {
        RowSource::Table { name, .. } => load::name_nearest(&mut client, name, error),
        RowSource::Query { .. } => error,
    })?;
    if !arguments.quiet && !arguments.json {
        say!("{plan}");
    }
    let shown = Location::target(file).to_string();
    let lines = plan_lines(&plan);
    let bar = progress::bar(&shown, None, arguments.quiet);
    let count = {
        let bar = bar.clone();
        move |rows: u64| bar.set_message(format!("{} rows", grouped(rows)))
    };
    let done = match (&folder, typed, files_are_ranges) {
        (Some(folder), Some(format), true) => {
            into_ranges(client, plan, &options, (folder, &format, compression), Box::new(count), arguments)
        }
        (Some(folder), Some(format), false) => {
            in_order(client, plan, &options, (&count, arguments), |_, schema| {
                let folder = Arc::clone(folder);
                Ok(match (&arguments.partition_by, arguments.split_rows) {
                    (Some(column), _) => {
                        Box::new(PartitionedFiles::new(folder, &schema, column, &format, compression)?)
                    }
                    (None, rows) => {
                        let rows = rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX);
                        Box::new(SplitFiles::new(folder, schema, &format, compression, rows))
                    }
                })
            })
        }
        (_, typed, _) => in_order(client, plan, &options, (&count, arguments), |columns, schema| {
            let format = match (typed, host) {
                (Some(format), _) => format,
                (None, Some(host)) => {
                    let columns =
                        table.map_or_else(|| columns.to_vec(), |table| table.refined(columns.to_vec()));
                    Format::Host(Box::new(host.with_columns(Some(columns))?))
                }
                (None, None) => return Err(Failure::Usage("the file has no format".to_owned())),
            };
            Ok(formats::create(&target, schema, &format, compression)?)
        }),
    };
    bar.finish_and_clear();
    let (report, written) = done?;
    if let Some(folder) = folder {
        // All writers are gone, and with them the other holders.
        match Arc::into_inner(folder) {
            Some(folder) => folder.finish()?,
            None => return Err(Failure::Usage("the directory is still being written".to_owned())),
        }
    }
    show(&report, written.bytes, &shown, &lines, arguments);
    Ok(())
}

type Done = Result<(ReadReport, Written), Failure>;

/// Exports by one writer, which takes the rows in the order of the ranges.
fn in_order(
    client: Client,
    plan: SplitPlan,
    options: &ReadOptions,
    (count, arguments): (&dyn Fn(u64), &ExportArgs),
    create: impl FnOnce(&[tds::Column], arrow::datatypes::SchemaRef) -> Result<Box<dyn BatchWriter>, Failure>,
) -> Done {
    let mut read = ParallelRead::start_with(client, plan, options)?;
    let Waited::Ready((columns, schema)) = read.columns(None)? else {
        return Err(Failure::Usage("the query returns no result".to_owned()));
    };
    if columns.is_empty() {
        return Err(Failure::Usage("the query returns no result".to_owned()));
    }
    say_offsets(&schema, arguments);
    let mut writer = create(&columns, schema)?;
    let mut rows = 0;
    while let Some(batch) = read.next_blocking() {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        count(rows);
        writer.write(&batch)?;
    }
    let report = read.finish()?;
    Ok((report, writer.finish()?))
}

/// Exports a file a range, each written by the reader of the range.
fn into_ranges(
    client: Client,
    plan: SplitPlan,
    options: &ReadOptions,
    (folder, format, compression): (&Arc<Folder>, &Format, Compression),
    count: Box<dyn Fn(u64) + Send + Sync>,
    arguments: &ExportArgs,
) -> Done {
    let files = Arc::new(RangeFiles::new(Arc::clone(folder), format.clone(), compression, count));
    let (report, schema) = read_into(client, plan, options, Arc::clone(&files) as _)?;
    if schema.fields().is_empty() {
        return Err(Failure::Usage("the query returns no result".to_owned()));
    }
    say_offsets(&schema, arguments);
    let written = files.finish(schema)?;
    Ok((report, written))
}

fn plan_lines(plan: &SplitPlan) -> Vec<serde_json::Value> {
    plan.choices
        .iter()
        .map(|choice| json!({"setting": choice.setting, "value": choice.value, "reason": choice.reason}))
        .collect()
}

fn show(report: &ReadReport, bytes: u64, file: &str, plan: &[serde_json::Value], arguments: &ExportArgs) {
    if arguments.json || event_log::is_on() {
        let mut line = figures(&report.export, bytes, file);
        let more = json!({
            "readers": report.readers,
            "ranges": report.ranges,
            "consistency": report.consistency.to_string(),
            "retries": report.retries,
            "limit": report.limit,
            "trials": report
                .trials
                .iter()
                .map(|(readers, speed)| json!({"readers": readers, "bytes_per_second": speed}))
                .collect::<Vec<_>>(),
            "plan": plan,
        });
        if let (Some(line), serde_json::Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        match event_log::is_on() {
            true => event_log::write("exported", line),
            false => say!("{line}"),
        }
    } else if !arguments.quiet {
        say!("{file}: {report}\n{} written", load::report::bytes(bytes as f64));
    }
}
