//! The files of the experiment, written and read here byte by byte, so that the check does not depend on the programs.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use formats::Checksum;
use serde::Serialize;

use super::row::{Row, RowChecksum, TEXT_MAX, TEXTS, for_each};
use crate::experiment::Outcome;

/// Characters of a number in a file of fixed width.
const NUMBER_WIDTH: usize = 12;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum HostFile {
    /// CSV with a line of names and quoted texts.
    Csv,
    /// bcp's character format: fields of their own length, tabs and line feeds.
    Delimited,
    /// Fields of fixed width, every text padded to 50 bytes with blanks, nothing between them.
    FixedWidth,
    /// bcp's native format.
    Native,
}

impl HostFile {
    /// Writes the first rows of a seed; the size in bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(self, path: &Path, rows: u32, seed: u64) -> Outcome<u64> {
        let mut out =
            BufWriter::new(File::create(path).map_err(|error| format!("{}: {error}", path.display()))?);
        if self == HostFile::Csv {
            let names: Vec<String> = (1..=TEXTS).map(|number| format!("\"t{number}\"")).collect();
            writeln!(out, "\"id\",\"number\",{}", names.join(","))?;
        }
        for_each(rows, seed, |row| Ok(self.write_row(&mut out, row)?))?;
        out.flush()?;
        Ok(fs::metadata(path)?.len())
    }

    fn write_row(self, out: &mut impl Write, row: &Row) -> std::io::Result<()> {
        match self {
            HostFile::Csv => {
                write!(out, "{},{}", row.id, row.number)?;
                row.texts.iter().try_for_each(|text| write!(out, ",\"{text}\""))?;
                out.write_all(b"\n")
            }
            HostFile::Delimited => {
                write!(out, "{}\t{}", row.id, row.number)?;
                row.texts.iter().try_for_each(|text| write!(out, "\t{text}"))?;
                out.write_all(b"\n")
            }
            HostFile::FixedWidth => {
                write!(out, "{:<NUMBER_WIDTH$}{:<NUMBER_WIDTH$}", row.id, row.number)?;
                row.texts.iter().try_for_each(|text| write!(out, "{text:<TEXT_MAX$}"))
            }
            HostFile::Native => {
                // Columns that are NOT NULL have no prefix in front of integers; texts have their length in two bytes.
                out.write_all(&row.id.to_le_bytes())?;
                out.write_all(&row.number.to_le_bytes())?;
                row.texts.iter().try_for_each(|text| {
                    out.write_all(&(text.len() as u16).to_le_bytes())?;
                    out.write_all(text.as_bytes())
                })
            }
        }
    }

    /// Computes the checksum of the rows of a file that was exported. Texts of fixed width end with their
    /// last character that is no blank.
    ///
    /// # Errors
    /// A row that is not of this format, by number.
    pub fn checksum(self, path: &Path) -> Outcome<Checksum> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut checksum = RowChecksum::new();
        if self == HostFile::Csv {
            file.skip_until(b'\n')?;
        }
        let mut number = 0_u64;
        loop {
            number += 1;
            let row = match self {
                HostFile::Csv => delimited(&mut file, b','),
                HostFile::Delimited => delimited(&mut file, b'\t'),
                HostFile::FixedWidth => fixed(&mut file),
                HostFile::Native => native(&mut file),
            };
            match row.map_err(|error| format!("{}: row {number}: {error}", path.display()))? {
                Some(row) => checksum.add(&row, false)?,
                None => return checksum.finish(),
            }
        }
    }

    /// Returns the format file that describes the file to bcp, for files that need one.
    pub fn format_file(self) -> Option<String> {
        if self != HostFile::FixedWidth {
            return None;
        }
        // No prefix and no terminator: every field has its full length.
        let mut text = format!("14.0\n{}\n", TEXTS + 2);
        for (index, name) in ["id", "number"].iter().enumerate() {
            let number = index + 1;
            text += &format!("{number} SQLCHAR 0 {NUMBER_WIDTH} \"\" {number} {name} \"\"\n");
        }
        for index in 1..=TEXTS {
            let number = index + 2;
            text += &format!(
                "{number} SQLCHAR 0 {TEXT_MAX} \"\" {number} t{index} SQL_Latin1_General_CP1_CI_AS\n"
            );
        }
        Some(text)
    }

    /// Returns the suffix of such a file.
    pub fn suffix(self) -> &'static str {
        match self {
            HostFile::Csv => "csv",
            HostFile::Delimited => "txt",
            HostFile::FixedWidth => "fix",
            HostFile::Native => "bcp",
        }
    }
}

impl fmt::Display for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostFile::Csv => "CSV",
            HostFile::Delimited => "delimited",
            HostFile::FixedWidth => "fixed width",
            HostFile::Native => "native",
        })
    }
}

fn row_of<'a>(mut fields: impl Iterator<Item = &'a str>) -> Outcome<Row> {
    let mut next = || fields.next().ok_or("a field is missing");
    let mut row =
        Row { id: next()?.trim_end().parse()?, number: next()?.trim_end().parse()?, ..Row::default() };
    for text in &mut row.texts {
        *text = next()?.to_owned();
    }
    match fields.next() {
        Some(_) => Err("there are more fields than columns".into()),
        None => Ok(row),
    }
}

/// Reads a line of fields. The texts hold neither separators nor quotes, so that quotes stand around fields
/// or nowhere.
fn delimited(file: &mut impl BufRead, separator: u8) -> Outcome<Option<Row>> {
    let mut line = Vec::new();
    if file.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = std::str::from_utf8(&line)?.trim_end_matches(['\r', '\n']);
    row_of(
        line.split(char::from(separator))
            .map(|field| field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)),
    )
    .map(Some)
}

fn fixed(file: &mut impl BufRead) -> Outcome<Option<Row>> {
    let mut bytes = vec![0; 2 * NUMBER_WIDTH + TEXTS * TEXT_MAX];
    if file.fill_buf()?.is_empty() {
        return Ok(None);
    }
    file.read_exact(&mut bytes)?;
    let (numbers, texts) = std::str::from_utf8(&bytes)?.split_at(2 * NUMBER_WIDTH);
    let (id, number) = numbers.split_at(NUMBER_WIDTH);
    let texts =
        (0..TEXTS).filter_map(|index| Some(texts.get(index * TEXT_MAX..(index + 1) * TEXT_MAX)?.trim_end()));
    row_of([id, number].into_iter().chain(texts)).map(Some)
}

fn native(file: &mut impl BufRead) -> Outcome<Option<Row>> {
    if file.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut integer = || -> Outcome<i32> {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes)?;
        Ok(i32::from_le_bytes(bytes))
    };
    let mut row = Row { id: integer()?, number: integer()?, ..Row::default() };
    for text in &mut row.texts {
        let mut length = [0; 2];
        file.read_exact(&mut length)?;
        let mut bytes = vec![0; usize::from(u16::from_le_bytes(length))];
        file.read_exact(&mut bytes)?;
        *text = String::from_utf8(bytes)?;
    }
    Ok(Some(row))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::row::checksum;
    use super::*;

    #[test]
    fn every_file_reads_back_as_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let expected = checksum(500, 7, false).unwrap();
        assert_ne!(expected, checksum(500, 8, false).unwrap());
        assert_ne!(expected, checksum(500, 7, true).unwrap());
        let sizes: Vec<u64> = HostFile::value_variants()
            .iter()
            .map(|kind| {
                let path = folder.path().join(kind.suffix());
                let bytes = kind.write(&path, 500, 7).unwrap();
                assert_eq!(kind.checksum(&path).unwrap(), expected, "{kind}");
                bytes
            })
            .collect();
        // 24 bytes of numbers and 12 texts of 50.
        assert_eq!(sizes.get(2), Some(&(500 * 624)));
        let ratio = sizes[2] as f64 / sizes[1] as f64;
        assert!((2.7..3.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_row_that_is_cut_off_is_told_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.fix");
        HostFile::FixedWidth.write(&path, 3, 1).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = HostFile::FixedWidth.checksum(&path).unwrap_err().to_string();
        assert!(error.contains("row 3"), "{error}");
    }
}
