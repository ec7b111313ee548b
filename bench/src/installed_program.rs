//! Programs that are installed beside this one.

use std::env;
use std::path::PathBuf;

/// Returns the path of a program beside this one, or else its name, for the search path.
pub fn beside(name: &str) -> PathBuf {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(&name)))
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}
