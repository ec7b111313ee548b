//! BULK INSERT and OPENROWSET(BULK …).

use std::collections::HashSet;

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::bulk_file::{
    BulkFileOptions, BulkInsert, BulkRowset, CodePageOption, DataFileType, RowsetContents,
};
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses BULK INSERT from `BULK` on.
    pub(crate) fn bulk_insert(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_word(Keyword::Insert)?;
        let table = self.local_name()?;
        self.expect_word(Keyword::From)?;
        let file = self.text()?;
        let mut options = BulkFileOptions::default();
        if self.accept_word(Keyword::With) {
            self.expect_symbol("(")?;
            let mut seen = HashSet::new();
            loop {
                self.bulk_file_option(&mut options, &mut seen)?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        Ok(StatementKind::BulkInsert(Box::new(BulkInsert { table, file, options })))
    }

    /// Parses the rest of `OPENROWSET (`, up to its closing parenthesis.
    pub(crate) fn bulk_rowset(&mut self) -> Parsed<BulkRowset> {
        if !self.accept_word(Keyword::Bulk) {
            self.refused_clause("provider_rowset", "OPENROWSET of a provider")?;
            let (file, options) = (String::new(), BulkFileOptions::default());
            return Ok(BulkRowset { file, contents: RowsetContents::Rows, options });
        }
        let file = self.text()?;
        let mut options = BulkFileOptions::default();
        let mut contents = RowsetContents::Rows;
        let mut seen = HashSet::new();
        while self.accept_symbol(",") {
            contents = match () {
                () if self.accept_word(Keyword::SingleBlob) => RowsetContents::Blob,
                () if self.accept_word(Keyword::SingleClob) => RowsetContents::Clob,
                () if self.accept_word(Keyword::SingleNclob) => RowsetContents::NClob,
                () => {
                    self.bulk_file_option(&mut options, &mut seen)?;
                    continue;
                }
            };
        }
        self.expect_symbol(")")?;
        Ok(BulkRowset { file, contents, options })
    }

    fn bulk_file_option(&mut self, options: &mut BulkFileOptions, seen: &mut HashSet<String>) -> Parsed<()> {
        let Some(TokenKind::Word(word)) = self.kind() else { return Err(self.unexpected()) };
        let name = word.to_ascii_uppercase();
        if !seen.insert(name.clone()) {
            return Err(SqlError::new(4130, 15, 1, "A duplicate hint was specified for the BULK rowset."));
        }
        match name.as_str() {
            "ORDER" => {
                self.advance();
                options.order = self.ordered_columns()?;
                self.accept_word(Keyword::Unique);
                return Ok(());
            }
            "TABLOCK" => options.table_lock = true,
            "CHECK_CONSTRAINTS" => options.check_constraints = true,
            "FIRE_TRIGGERS" => options.fire_triggers = true,
            "KEEPIDENTITY" => options.keep_identity = true,
            "KEEPNULLS" => options.keep_nulls = true,
            _ => return self.bulk_file_setting(&name, options),
        }
        self.advance();
        Ok(())
    }

    fn bulk_file_setting(&mut self, name: &str, options: &mut BulkFileOptions) -> Parsed<()> {
        let unexpected = self.unexpected();
        self.advance();
        self.expect_symbol("=")?;
        match name {
            "DATAFILETYPE" => options.data_file_type = Some(self.data_file_type()?),
            "CODEPAGE" => options.code_page = Some(self.code_page()?),
            "FORMAT" => {
                let format = self.text()?;
                if !format.eq_ignore_ascii_case("CSV") {
                    self.refuse(&format!("FORMAT = '{format}'"));
                }
                options.csv = true;
            }
            "FIELDQUOTE" => options.field_quote = Some(self.text()?),
            "FIELDTERMINATOR" => options.field_terminator = Some(self.text()?),
            "ROWTERMINATOR" => options.row_terminator = Some(self.text()?),
            "FORMATFILE" => options.format_file = Some(self.text()?),
            "ERRORFILE" => options.error_file = Some(self.text()?),
            "FIRSTROW" => options.first_row = Some(self.unsigned()?),
            "LASTROW" => options.last_row = Some(self.unsigned()?),
            "MAXERRORS" => options.max_errors = Some(self.unsigned()?),
            "BATCHSIZE" => options.batch_rows = Some(self.unsigned()?),
            "ROWS_PER_BATCH" => options.rows_per_batch = Some(self.unsigned()?),
            "KILOBYTES_PER_BATCH" => options.kilobytes_per_batch = Some(self.unsigned()?),
            "DATA_SOURCE" | "FORMATFILE_DATA_SOURCE" | "ERRORFILE_DATA_SOURCE" => {
                // There are none to refer to.
                let source = self.text()?;
                let text = format!("Referenced external data source \"{source}\" not found.");
                let line = self.line();
                self.refused.get_or_insert_with(|| SqlError::new(12703, 16, 1, text).at_line(line));
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }

    fn data_file_type(&mut self) -> Parsed<DataFileType> {
        let text = self.text()?;
        match text.to_ascii_lowercase().as_str() {
            "char" => Ok(DataFileType::Char),
            "widechar" => Ok(DataFileType::WideChar),
            "native" => Ok(DataFileType::Native),
            "widenative" => Ok(DataFileType::WideNative),
            _ => Err(errors::SYNTAX.with([&text])),
        }
    }

    fn code_page(&mut self) -> Parsed<CodePageOption> {
        let text = match self.kind() {
            Some(TokenKind::Integer(digits)) => {
                let digits = digits.clone();
                self.advance();
                digits
            }
            _ => self.text()?,
        };
        match text.to_ascii_uppercase().as_str() {
            "ACP" => Ok(CodePageOption::Acp),
            "OEM" => Ok(CodePageOption::Oem),
            "RAW" => Ok(CodePageOption::Raw),
            number => number.parse().map(CodePageOption::Number).map_err(|_| errors::SYNTAX.with([&text])),
        }
    }

    /// Parses a string literal.
    fn text(&mut self) -> Parsed<String> {
        let Some(TokenKind::Text { value, .. }) = self.kind() else { return Err(self.unexpected()) };
        let value = value.clone();
        self.advance();
        Ok(value)
    }
}
