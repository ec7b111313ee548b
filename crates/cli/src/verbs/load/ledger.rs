//! The ledger of a load that can be continued: who the load is, and the file of refused rows that goes with it.

use formats::Location;
use load::{Beginning, Client, Ledger, LedgerPlace, LoadIdentity, LoadWay, SourceIdentity, TableName};

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::verbs::load::source::{self, Source};
use copy::rejects::{self, Rejects};

/// Enters the load into the ledger, if it is to be continued when it breaks.
pub fn open(
    client: &mut Client,
    table: &TableName,
    sources: &[Source],
    way: &LoadWay,
    arguments: &LoadArgs,
    command: Option<String>,
    beginning: &Beginning<'_>,
) -> Result<Option<Ledger>, Failure> {
    let asked = &arguments.writers;
    if !asked.is_resumable() || arguments.dry_run {
        return Ok(None);
    }
    if arguments.bulk.autocommit {
        return Err(Failure::Usage(
            "--resume notes rows in the transaction that commits them: not with --autocommit".to_owned(),
        ));
    }
    let mut identities = Vec::new();
    for source in sources {
        let fingerprint = formats::fingerprint(&source.location)
            .map_err(|error| Failure::Unreadable { file: source.name.clone(), source: error })?;
        if fingerprint.is_none() && asked.load_id.is_none() {
            return Err(Failure::Usage(format!(
                "--resume cannot tell {} from another that is called so: name the load by --load-id",
                source.name
            )));
        }
        let name = full_name(source);
        identities.push(SourceIdentity { name, fingerprint: fingerprint.unwrap_or_default() });
    }
    let target = beginning.run(client, &mut |client| client.full_name(table))?;
    let load_id = match &asked.load_id {
        Some(name) => name.clone(),
        None => default_load_id(&target, &identities),
    };
    let identity = LoadIdentity {
        load_id,
        target,
        mode: copy::way_words(way),
        sources: identities,
        command: command.unwrap_or_default(),
        is_named: asked.load_id.is_some(),
    };
    let place = LedgerPlace::beside(table, &asked.ledger_schema);
    let opened = beginning.run(client, &mut |client| Ledger::open(client, place.clone(), identity.clone()));
    Ok(Some(opened?))
}

/// Joins table and files to a name, shortened by a checksum if it is too long.
fn default_load_id(target: &TableName, sources: &[SourceIdentity]) -> String {
    const LENGTH_MAX: usize = 128;
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    // Most servers do not tell capitals apart in names.
    let whole = format!("{} <- {}", target.to_string().to_lowercase(), names.join(", "));
    if whole.encode_utf16().count() <= LENGTH_MAX {
        return whole;
    }
    let checksum = formats::checksum_of(whole.as_bytes());
    let kept: String = whole.chars().take(LENGTH_MAX / 2).collect();
    format!("{kept}... {checksum:08x}")
}

/// Returns the name by which a source is recognised.
fn full_name(source: &Source) -> String {
    match &source.location {
        Location::Path(path) => formats::true_name(path),
        _ => source.name.clone(),
    }
}

/// Opens the file of refused rows; one of an earlier run is continued.
pub fn open_rejects(
    sources: &[Source],
    ledger: Option<&Ledger>,
    arguments: &LoadArgs,
) -> Result<Option<Rejects>, Failure> {
    let read = sources.iter().filter_map(|source| source.location.path());
    rejects::check_apart(arguments.refusals.rejects.as_ref(), read)?;
    let (Some(ledger), Some(path)) = (ledger, &arguments.refusals.rejects) else {
        return source::rejects(arguments);
    };
    let committed: Vec<_> = (0..sources.len()).map(|source| ledger.settled_refusals(source)).collect();
    let keeps = |file: &str, row: u64| {
        let index = sources.iter().position(|source| source.name == file);
        index.and_then(|index| committed.get(index)).is_some_and(|rows| rows.contains(row))
    };
    let opened = Rejects::reopen(path, arguments.refusals.max_errors, keeps);
    opened.map(Some).map_err(|source| source::rejects_failure(arguments, source))
}
