//! Where the program is.

use std::env;
use std::path::PathBuf;
use std::sync::RwLock;

/// Name of the program, without the platform's suffix.
pub const PROGRAM: &str = "bulkwire-kerberos";
/// The environment variable that names another program.
pub const PROGRAM_VARIABLE: &str = "BULKWIRE_KERBEROS";

/// Folders of programs that the running one does not lie in, as that of a Python environment.
static FOLDERS: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Has [`program`] look in this folder too.
pub fn look_in(folder: PathBuf) {
    if let Ok(mut folders) = FOLDERS.write() {
        folders.push(folder);
    }
}

/// The program that the environment names, or the one beside the running program, or what the search path offers.
pub fn program() -> PathBuf {
    if let Some(named) = env::var_os(PROGRAM_VARIABLE).filter(|named| !named.is_empty()) {
        return PathBuf::from(named);
    }
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let further = FOLDERS.read().map(|folders| folders.clone()).unwrap_or_default();
    let found =
        beside.into_iter().chain(further).map(|folder| folder.join(&name)).find(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from(name))
}
