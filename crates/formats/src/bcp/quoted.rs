//! Delimited text with quotes whose fields a format file names: FORMAT = 'CSV' together with FORMATFILE.

use tds::CodePage;

use super::HostType;
use super::format_file::{FieldCollation, FormatFile};
use crate::{CsvOptions, Encoding, RowTerminator};

/// The dialect and the columns of such a file.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotedLayout {
    /// The dialect: no header, a name for each field.
    pub options: CsvOptions,
    /// Number of the column that each field fills, from 1; None: the field is skipped.
    pub columns: Vec<Option<usize>>,
}

impl FormatFile {
    /// Returns the dialect of a file of these fields in which quotes may surround values.
    ///
    /// # Errors
    /// The reason why the fields are not those of such a file: a length in front of values, native values,
    /// different terminators.
    pub fn quoted_layout(&self) -> Result<QuotedLayout, String> {
        let Some((last, others)) = self.fields.split_last() else {
            return Err("there are no fields".to_owned());
        };
        let refused =
            |name: &str, what: &str| Err(format!("a file with quotes is text, and the field {name} {what}"));
        let wide = last.host_type == HostType::NChar;
        for field in &self.fields {
            if !field.host_type.is_text() {
                return refused(&field.name, "is native");
            }
            if field.prefix_length > 0 {
                return refused(&field.name, "has a length in front of it");
            }
            if field.terminator.is_empty() {
                return refused(&field.name, "has no terminator");
            }
            if (field.host_type == HostType::NChar) != wide {
                return refused(&field.name, "has another encoding than the others");
            }
        }
        if let Some(other) = others
            .iter()
            .find(|field| Some(&field.terminator) != others.first().map(|first| &first.terminator))
        {
            return refused(&other.name, "has another terminator than those before");
        }
        let text = |bytes: &[u8]| match wide {
            true => {
                let units: Vec<u16> =
                    bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
                String::from_utf16_lossy(&units)
            }
            false => String::from_utf8_lossy(bytes).into_owned(),
        };
        let row_terminator = match text(&last.terminator).as_str() {
            "\n" | "\r\n" => RowTerminator::Auto,
            other => RowTerminator::Text(other.to_owned()),
        };
        let names =
            (1..).zip(&self.fields).map(|(number, field)| format!("{number} {}", field.name)).collect();
        let default = CsvOptions::default();
        Ok(QuotedLayout {
            options: CsvOptions {
                delimiter: others.first().map_or(default.delimiter.clone(), |field| text(&field.terminator)),
                row_terminator,
                header: false,
                columns: Some(names),
                encoding: if wide { Encoding::Utf16Le } else { self.text_encoding()? },
                ..default
            },
            columns: self.fields.iter().map(|field| field.column).collect(),
        })
    }

    /// Returns the encoding that the collations of the fields name; UTF-8 if they name none.
    fn text_encoding(&self) -> Result<Encoding, String> {
        let mut page = None;
        for field in &self.fields {
            let FieldCollation::Named { collation, .. } = &field.collation else { continue };
            let own = collation.code_page();
            if page.is_some_and(|page: CodePage| page != own) {
                return Err(format!(
                    "the collation of the field {} has another code page than those before",
                    field.name
                ));
            }
            page = Some(own);
        }
        let encoding = page.and_then(|page| Encoding::from_code_page(page.number()));
        Ok(encoding.unwrap_or(Encoding::Utf8))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn quoted_files_are_described() {
        let parse = |fields: &[&str]| {
            let mut text = format!("14.0\n{}\n", fields.len());
            for (number, field) in (1..).zip(fields) {
                text += &format!("{number} {field}\n");
            }
            FormatFile::parse(text.as_bytes(), "f.fmt").unwrap().quoted_layout()
        };
        let layout = parse(&[
            r#"SQLCHAR 0 10 ";" 2 b SQL_Polish_CP1250_CI_AS"#,
            r#"SQLCHAR 0 10 ";" 0 x """#,
            r#"SQLCHAR 0 0 "\r\n" 1 a """#,
        ])
        .unwrap();
        assert_eq!(layout.columns, [Some(2), None, Some(1)]);
        assert_eq!((layout.options.delimiter.as_str(), layout.options.header), (";", false));
        assert_eq!(layout.options.encoding.to_string(), "code page 1250");
        assert_eq!(layout.options.row_terminator, RowTerminator::Auto);
        for (fields, word) in [
            (&[r#"SQLINT 0 4 "" 1 n """#][..], "native"),
            (&[r#"SQLCHAR 2 4 "" 1 n """#], "length in front"),
            (&[r#"SQLCHAR 0 4 "" 1 n """#], "no terminator"),
            (
                &[r#"SQLCHAR 0 4 "," 1 a """#, r#"SQLCHAR 0 4 ";" 2 b """#, r#"SQLCHAR 0 4 "\n" 3 c """#],
                "another terminator",
            ),
        ] {
            let error = parse(fields).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
