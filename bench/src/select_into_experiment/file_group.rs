//! File groups, each with its number of files. They are made once, and each is the default in its turn:
//! SELECT INTO puts its table there in every version.

use load::{Client, literal, quoted};

use super::{Settings, Variant};
use crate::experiment::{Outcome, answer, text};

/// Bytes that a row of the source takes in its page, generously.
const ROW_BYTES: u64 = 150;
const MEGABYTE: u64 = 1 << 20;

/// Makes a file group for each number of files.
///
/// # Errors
/// The server has no file groups, or cannot make the files.
pub(super) fn make_all(client: &mut Client, settings: &Settings) -> Outcome<()> {
    let directory = match &settings.file_directory {
        Some(directory) => with_separator(directory),
        None => directory_of_the_first_file(client)?,
    };
    let database = client.database().to_owned();
    let mut numbers: Vec<u16> = settings.variants.iter().map(|variant| variant.files).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let size_mb = settings.file_size_mb.unwrap_or_else(|| enough_mb(settings.rows, number));
        let group = name(number);
        let files: Vec<String> = (1..=number)
            .map(|file| {
                let path = literal(&format!("{directory}{database}_{number}_{file}.ndf"));
                format!("(NAME = stripe_{number}_{file}, FILENAME = {path}, SIZE = {size_mb}MB, FILEGROWTH = 64MB)")
            })
            .collect();
        let statements =
            [format!("ADD FILEGROUP {group}"), format!("ADD FILE {} TO FILEGROUP {group}", files.join(", "))];
        for statement in statements {
            client
                .execute(&format!("ALTER DATABASE CURRENT {statement}"))
                .map_err(|error| format!("a file group of {number} files cannot be made: {error}"))?;
        }
    }
    Ok(())
}

/// Makes the variant's file group the default.
///
/// # Errors
/// The server refuses.
pub(super) fn choose(client: &mut Client, variant: &Variant) -> Outcome<()> {
    client.execute(&format!("ALTER DATABASE CURRENT MODIFY FILEGROUP {} DEFAULT", name(variant.files)))?;
    Ok(())
}

/// Makes PRIMARY the default, from which each run starts: some servers refuse to make a group the default
/// that is it already.
///
/// # Errors
/// The server refuses.
pub(super) fn choose_primary(client: &mut Client) -> Outcome<()> {
    client.execute("ALTER DATABASE CURRENT MODIFY FILEGROUP [PRIMARY] DEFAULT")?;
    Ok(())
}

fn name(files: u16) -> String {
    quoted(&format!("stripes_{files}"))
}

/// Returns the megabytes that each of `files` files needs to hold the rows without growing, with an eighth to
/// spare.
fn enough_mb(rows: u64, files: u16) -> u64 {
    (rows * ROW_BYTES * 9 / 8).div_ceil(u64::from(files)).div_ceil(MEGABYTE).max(2)
}

fn directory_of_the_first_file(client: &mut Client) -> Outcome<String> {
    let rows = answer(client, "SELECT physical_name FROM sys.database_files WHERE file_id = 1")?;
    let path = rows.and_then(|rows| text(rows.first()?.first()?), "sys.database_files does not tell");
    let path =
        path.value().ok_or("the server does not say where its data files are; --file-directory does")?;
    Ok(path.rfind(['/', '\\']).and_then(|end| path.get(..=end)).unwrap_or_default().to_owned())
}

fn with_separator(directory: &str) -> String {
    match directory.chars().last() {
        None | Some('/' | '\\') => directory.to_owned(),
        Some(_) if directory.contains('\\') => format!("{directory}\\"),
        Some(_) => format!("{directory}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_the_rows_and_directories_end_with_their_separator() {
        // 168,750,000 bytes in one file; an eighth of it, rounded up, in each of eight.
        assert_eq!(enough_mb(1_000_000, 1), 161);
        assert_eq!(enough_mb(1_000_000, 8), 21);
        assert_eq!(enough_mb(1, 8), 2);
        assert_eq!(with_separator("D:\\data"), "D:\\data\\");
        assert_eq!(with_separator("/var/data"), "/var/data/");
        assert_eq!(with_separator("/var/data/"), "/var/data/");
    }
}
