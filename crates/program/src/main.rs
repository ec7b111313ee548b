//! The `bulkwire` program: the command line with everything that its verbs start.

use std::env;
use std::process::ExitCode;

use bulkwire_cli::Parts;
#[cfg(feature = "engine")]
use bulkwire_server::RestoreFiles;

/// Gives memory back to the system that other threads have freed, so that a server's `--memory-limit` is kept in the long run.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sign_in::is_running();
    bulkwire_cli::run(env::args_os().collect(), parts()).into()
}

#[cfg(feature = "engine")]
fn parts() -> Parts {
    Parts {
        kerberos: bulkwire_kerberos::converse,
        serve: Some(|words| bulkwire_server::run_program(words, restore)),
        bench: Some(bulkwire_bench::run_program),
        engine: Some(std::sync::Arc::new(bulkwire_transform::Transformer)),
        wizard: Some(bulkwire_transform::wizard),
    }
}

/// Makes a database of the embedded server of files.
#[cfg(feature = "engine")]
fn restore(request: &bulkwire_server::RestoreRequest<'_>) -> Result<String, String> {
    let &bulkwire_server::RestoreRequest { address, user, password, database, files } = request;
    match files {
        RestoreFiles::Spelled(files) => bulkwire_cli::restore(address, (user, password), database, files),
        RestoreFiles::Backups(files, set) => {
            bulkwire_cli::import(address, (user, password), database, files, set)
        }
        RestoreFiles::ToPackage(package) => bulkwire_cli::pack(address, (user, password), database, package),
    }
}

#[cfg(not(feature = "engine"))]
fn parts() -> Parts {
    Parts { kerberos: bulkwire_kerberos::converse, serve: None, bench: None, engine: None, wizard: None }
}
