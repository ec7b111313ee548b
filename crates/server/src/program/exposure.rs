//! Warns of access that a starting server leaves open to others than its own clients.

use std::path::Path;

use super::{Arguments, Encryption};

/// Says what others could read, guess or listen to. `password` is the one that was given.
pub(super) fn warnings(arguments: &Arguments, password: Option<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mode = match arguments.encryption {
        Encryption::Off => Some("off"),
        Encryption::Optional => Some("optional"),
        Encryption::Required | Encryption::Strict => None,
    };
    if let Some(mode) = mode.filter(|_| !arguments.address.to_canonical().is_loopback()) {
        warnings.push(format!(
            "other machines can reach {}, and --encryption {mode} lets passwords and rows travel in the clear; --encryption \
             required does not",
            arguments.address
        ));
    }
    let mut letters = password.unwrap_or_default().chars();
    if letters.next().is_some_and(|first| letters.all(|letter| letter == first)) {
        warnings.push("the password is one letter, which is guessed at once".to_owned());
    }
    let files = [
        ("the private key", &arguments.key),
        ("the keytab", &arguments.keytab),
        ("the password file", &arguments.password_file),
    ];
    for (what, path) in files {
        let open = path.as_deref().and_then(|path| Some((path, open_mode(path)?)));
        if let Some((path, mode)) = open {
            warnings.push(format!(
                "{what} {} is open to other accounts (mode {mode:04o}); chmod 600 closes it",
                path.display()
            ));
        }
    }
    warnings
}

/// Returns the mode of a file that others may read, or that its group may write.
#[cfg(unix)]
fn open_mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    const OPEN: u32 = 0o027;
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode() & 0o777;
    (mode & OPEN != 0).then_some(mode)
}

/// Returns `None` on systems without modes of files.
#[cfg(not(unix))]
fn open_mode(_: &Path) -> Option<u32> {
    None
}
