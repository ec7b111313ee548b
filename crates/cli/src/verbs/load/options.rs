//! Prints the retries of a load's connection.

/// Says that the beginning of a command failed and is tried again.
pub fn hears(error: &load::Error) {
    say!("note: {error}; this is tried again");
}
