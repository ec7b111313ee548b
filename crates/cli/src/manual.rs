//! `bulkwire manual`: pages for man(1), made from the words that `--help` prints.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::failure::Failure;

/// Writes a page for the command and one for each verb into a folder, which is made if it is missing.
pub fn write(folder: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::Output { file: folder.display().to_string(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)
}
