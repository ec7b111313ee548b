//! The manual page of `bulkwire serve`, made from the words that `--help` prints.

use std::path::Path;
use std::{fs, io};

use clap::CommandFactory;

use super::Arguments;

/// Writes the page into a folder, beside those that `bulkwire manual` has written.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).title("bulkwire-serve").render(&mut page)?;
    fs::write(folder.join("bulkwire-serve.1"), page)
}
