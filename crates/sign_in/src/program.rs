//! Finds the program.

use std::env;
use std::path::PathBuf;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of the program, without the platform's suffix.
pub const PROGRAM: &str = "bulkwire";
/// The verb, not listed in its help, with which the program makes or checks Kerberos tokens.
pub const VERB: &str = "kerberos-tokens";
/// The environment variable that names another program.
pub const PROGRAM_VARIABLE: &str = "BULKWIRE_KERBEROS";

/// True if the running program is `bulkwire` itself, whatever the name of its file.
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Folders of programs that the running one does not lie in, as that of a Python environment.
static FOLDERS: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Says that the running program knows [`VERB`], so that [`program`] returns it.
pub fn is_running() {
    IS_OWN.store(true, Ordering::Relaxed);
}

/// Has [`program`] look in this folder too.
pub fn look_in(folder: PathBuf) {
    if let Ok(mut folders) = FOLDERS.write() {
        folders.push(folder);
    }
}

/// Returns the program that the environment names, or the running one if it is `bulkwire`, or one beside it or on the search path.
pub fn program() -> PathBuf {
    if let Some(named) = env::var_os(PROGRAM_VARIABLE).filter(|named| !named.is_empty()) {
        return PathBuf::from(named);
    }
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let own = env::current_exe().ok();
    // Also when it runs under another name, as bcp.
    if let Some(own) = own.as_ref().filter(|_| IS_OWN.load(Ordering::Relaxed)) {
        return own.clone();
    }
    let beside = own.and_then(|own| Some(own.parent()?.to_owned()));
    let further = FOLDERS.read().map(|folders| folders.clone()).unwrap_or_default();
    let found =
        beside.into_iter().chain(further).map(|folder| folder.join(&name)).find(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from(name))
}
