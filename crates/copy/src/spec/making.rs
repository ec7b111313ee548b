//! Makes a copy of its options and ends, which are known to fit one another.

use std::time::Duration;

use formats::Format;
use formats::bcp::declare;
use load::{ACTION_COLUMN, Client, RetryPolicy, read::ReadOptions};
use tds::Column;

use crate::{
    database_file::{DatabaseFileRead, PackageTarget},
    endpoint::{Endpoint, SqlServerEndpoint},
    error::CopyError,
    file_destination::FileWrite,
    file_format,
    file_formats::FileFormats,
    host_file::HostLayout,
    listed_table::TablePatterns,
    load_options::load_options,
    load_way::{load_way, way_by_action},
    options::{FileOptions, FormatName, Language, Options},
    server_write::{Resume, ServerWrite},
    spec::{
        DatabaseRead, DatabaseTarget, DestinationSpec, Ends, FileRead, FileTarget, ModulesSpec, Record,
        RefusalsSpec, RowsSpec, ServerRead, ServerTarget, SheetRead, SourceSpec, Spec, TablesSpec, Voice,
        is_text_by_suffix, suffix,
    },
    transformation::Transformation,
    workbook::SheetSettings,
};

/// Makes the copy.
pub(crate) fn spec(
    ends: &Ends,
    options: &Options,
    language: Language,
    voice: Voice,
) -> Result<Spec, CopyError> {
    let source = source(ends, options, voice)?;
    let destination = destination(ends, options, voice)?;
    let tables = &options.tables;
    Ok(Spec {
        rows: rows(ends, options)?,
        source,
        destination,
        tables: (!tables.tables.is_empty()).then(|| TablesSpec {
            patterns: TablePatterns { included: tables.tables.clone(), excluded: tables.exclude.clone() },
            jobs: tables.jobs,
            fails_fast: tables.fail_fast,
            to_schema: tables.to_schema.clone(),
        }),
        modules: options.with_modules.then_some(match options.skip_failing_modules {
            true => ModulesSpec::SkipFailing,
            false => ModulesSpec::All,
        }),
        refusals: RefusalsSpec::from(&options.refusals),
        is_dry: false,
        language,
    })
}

/// Makes the source of the copy from its options.
fn source(ends: &Ends, options: &Options, voice: Voice) -> Result<SourceSpec, CopyError> {
    let query = options.tables.query.clone();
    Ok(match &ends.source {
        Endpoint::SqlServer(endpoint) => {
            let form = options.forms.form(writes_text(ends, options));
            let read = options.reading.read_options(options.writers.retry_for, form, voice.retries);
            let beginning = match options.writers.is_asked() {
                true => options.writers.retry(),
                false => read.beginning,
            };
            SourceSpec::Server(Box::new(ServerRead {
                endpoint: (**endpoint).clone(),
                query,
                options: ReadOptions { beginning, ..read },
            }))
        }
        Endpoint::Database(endpoint) => {
            SourceSpec::Database(DatabaseRead { endpoint: endpoint.clone(), query })
        }
        Endpoint::Files(_) | Endpoint::DatabaseFile(_) if query.is_some() => {
            return Err(CopyError::Usage("--query is for databases; a file has no queries".to_owned()));
        }
        Endpoint::DatabaseFile(endpoint) => SourceSpec::DatabaseFile(DatabaseFileRead {
            endpoint: endpoint.with_set(options.backup_set.map(usize::from)),
            form: options.forms.form(writes_text(ends, options)),
        }),
        Endpoint::Files(endpoint) if endpoint.is_workbook() => SourceSpec::Sheet(SheetRead {
            endpoint: endpoint.clone(),
            settings: SheetSettings {
                sheet: options.sheet.clone(),
                has_header: !options.format.no_header,
                skip_rows: options.format.skip_lines.unwrap_or_default(),
                columns: options.format.columns.clone(),
            },
        }),
        Endpoint::Files(endpoint) => SourceSpec::Files(FileRead {
            endpoint: endpoint.clone(),
            formats: source_formats(options, &ends.destination, voice)?,
            keeps_text: options.target_file.keep_text,
            types: options.text.column_types()?,
            interruption: None,
        }),
    })
}

/// Returns true if rows go to delimited text.
pub(super) fn writes_text(ends: &Ends, options: &Options) -> bool {
    let target = &options.target_file;
    match (&ends.destination, target.to_format) {
        (Endpoint::Files(_), Some(name)) => matches!(name, FormatName::Csv | FormatName::Tsv),
        (Endpoint::Files(files), None) => {
            let is_one = target.split_rows.is_none() && target.partition_by.is_none();
            is_one && options.tables.tables.is_empty() && is_text_by_suffix(&files.path)
        }
        _ => false,
    }
}

fn source_formats(options: &Options, destination: &Endpoint, voice: Voice) -> Result<FileFormats, CopyError> {
    let file = options.format.clone();
    let spelling = options.text.spelling()?;
    let Some(layout) = HostLayout::of(&file)? else {
        if options.declare.is_some() {
            return Err(CopyError::Usage(
                "--declare is for bcp's formats; other files say what is in them".to_owned(),
            ));
        }
        return Ok(FileFormats::by(move |location, _| {
            let (format, compression) = file_format::of(location, &file)?;
            let format = format.spelled(spelling);
            if location.is_rereadable() {
                file_format::look_at(location, &format, compression, &file, voice.warns)?;
            }
            Ok((format, compression))
        }));
    };
    let layout = layout.spelled(spelling);
    let mut skipped = Vec::new();
    let columns = match (&options.declare, destination) {
        (Some(text), _) => {
            Some(declare(text).map_err(|error| CopyError::Usage(format!("--declare: {error}")))?)
        }
        (None, Endpoint::SqlServer(server)) => columns_of_table(server, options, &mut skipped)?,
        (None, _) => None,
    };
    if columns.is_none() && layout.needs_columns() {
        return Err(CopyError::Usage(
            "this file says nothing of its columns: --declare them, or describe them by --format-file"
                .to_owned(),
        ));
    }
    Ok(FileFormats::by(move |location, _| {
        let mut host = layout.with_columns(columns.clone())?;
        for number in &skipped {
            host.format_file.skip_column(*number);
        }
        Ok((Format::Host(Box::new(host)), file_format::compression(location, &file)))
    }))
}

/// Returns the columns of the destination's table; those that its server fills are in the file and are skipped.
fn columns_of_table(
    server: &SqlServerEndpoint,
    options: &Options,
    skipped: &mut Vec<usize>,
) -> Result<Option<Vec<Column>>, CopyError> {
    let Some(table) = &server.table else { return Ok(None) };
    let described = Client::connect(&server.config).and_then(|mut client| client.describe(table));
    let described = match described {
        Ok(described) => described,
        Err(load::Error::NoTable { .. }) => return Ok(None),
        Err(error) => return Err(CopyError::client(server.to_string(), error)),
    };
    for (number, column) in (1..).zip(&described.columns) {
        let is_identity = column.is_identity && !options.bulk.keep_identity;
        if column.is_computed || column.is_rowversion || is_identity {
            skipped.push(number);
        }
    }
    Ok(Some(described.columns.into_iter().map(|column| column.column).collect()))
}

/// Makes the destination of the copy from its options.
fn destination(ends: &Ends, options: &Options, voice: Voice) -> Result<DestinationSpec, CopyError> {
    let Options { bulk, modes, refusals, .. } = options;
    let action = action_column(options);
    let way = match action {
        Some(_) => way_by_action(modes, bulk, refusals)?,
        None => load_way(modes, bulk, refusals, &[])?,
    };
    let create = options.create.unwrap_or_default();
    if options.writers.is_resumable() && bulk.autocommit {
        return Err(CopyError::Usage(
            "--resume notes rows in the transaction that commits them: not with --autocommit".to_owned(),
        ));
    }
    Ok(match &ends.destination {
        Endpoint::DatabaseFile(endpoint) => DestinationSpec::Package(PackageTarget::new(
            endpoint.clone(),
            options.with_keys,
            create,
            options.tables.to_schema.clone(),
        )?),
        Endpoint::SqlServer(endpoint) => DestinationSpec::Server(Box::new(ServerTarget {
            endpoint: (**endpoint).clone(),
            record: match options.writers.is_resumable() {
                // A URL may hold a password, so no command is recorded.
                true => Record::Asked(Resume {
                    load_id: options.writers.load_id.clone(),
                    ledger_schema: options.writers.ledger_schema.clone(),
                    command: String::new(),
                }),
                false => Record::No,
            },
            write: ServerWrite { way, action, ..server_write(options, voice)? },
        })),
        Endpoint::Files(endpoint) => {
            let file = options.target_file.as_file();
            DestinationSpec::Files(FileTarget {
                endpoint: endpoint.clone(),
                suffix: suffix(options.target_file.to_format, &file),
                write: FileWrite {
                    formats: target_formats(file)?,
                    split_rows: options.target_file.split_rows,
                    partition_by: options.target_file.partition_by.clone(),
                    create,
                    keeps_text: options.target_file.keep_text,
                },
            })
        }
        Endpoint::Database(endpoint) => DestinationSpec::Database(DatabaseTarget {
            endpoint: endpoint.clone(),
            on_conflict: way.mode,
            create,
        }),
    })
}

fn server_write(options: &Options, voice: Voice) -> Result<ServerWrite, CopyError> {
    let Options { bulk, columns, conversions, writers, text, .. } = options;
    let retry: RetryPolicy = writers.retry();
    Ok(ServerWrite {
        options: load_options(bulk, columns, conversions, writers, text.spelling()?),
        by_position: columns.by_position,
        writers: writers.count(),
        retry,
        hears: voice.retries,
        time_limit: writers.time_limit.map(|seconds| Duration::from_secs(seconds.into())),
        create: options.create.unwrap_or_default(),
        nested_as_json: conversions.nested_as_json,
        with_keys: options.with_keys,
        collations: options.collations.clone(),
        to_schema: options.tables.to_schema.clone(),
        sole_writer: bulk.sole_writer,
        ..ServerWrite::default()
    })
}

/// Names the column with the action of each row: that of the expression, or, if a query yields the rows, one of its
/// own.
fn action_column(options: &Options) -> Option<String> {
    let action = options.transformation.action.as_ref()?;
    Some(if options.transformation.has_query() { action.trim().to_owned() } else { ACTION_COLUMN.to_owned() })
}

fn target_formats(file: FileOptions) -> Result<FileFormats, CopyError> {
    let layout = HostLayout::of(&file)?;
    Ok(FileFormats::by(move |location, columns| {
        let compression = file_format::compression(location, &file);
        match &layout {
            Some(layout) => {
                let host = layout.with_columns(columns.map(<[Column]>::to_vec))?;
                Ok((Format::Host(Box::new(host)), compression))
            }
            None if file.format.is_none() && location.path().is_none() => {
                Err(CopyError::Usage(format!("{location} has no suffix: name its format with --to-format")))
            }
            None => Ok((file_format::of(location, &file)?.0, compression)),
        }
    }))
}

/// Makes the transformation of rows from the options.
fn rows(ends: &Ends, options: &Options) -> Result<Option<RowsSpec>, CopyError> {
    let asked = &options.transformation;
    if !asked.is_given() {
        return Ok(None);
    }
    let query = match &asked.transform {
        None => asked.transform_query.clone(),
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|source| CopyError::Unreadable { file: path.display().to_string(), source })?,
        ),
    };
    let mut transformation = Transformation {
        select: asked.select.clone(),
        condition: asked.condition.clone(),
        action: asked.action.clone().filter(|_| query.is_none()),
        query,
        collation: asked.collation.clone(),
        form: options.forms.form(writes_text(ends, options)),
        spelling: options.text.spelling()?,
        files: asked.files.clone(),
        ..Transformation::default()
    };
    if let Some(limit) = asked.memory_limit {
        transformation.memory_limit = limit;
    }
    let lookups = ends
        .lookups
        .iter()
        .map(|lookup| (lookup.name.clone(), SourceSpec::of(lookup.endpoint.clone(), lookup.query.clone())));
    Ok(Some(RowsSpec { transformation, lookups: lookups.collect() }))
}
