//! ALTER DATABASE: file groups and files.

use super::{Parsed, Parser};
use crate::administration::{DatabaseChange, FileSpec, Growth};
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses from ADD, REMOVE or MODIFY on, where a file or a file group follows; `None` if something else follows.
    pub(super) fn files_and_groups(&mut self) -> Parsed<Option<DatabaseChange>> {
        let group = self.is_word_ahead(1, Keyword::Filegroup);
        let file = self.is_word_ahead(1, Keyword::File);
        if self.accept_words(&[Keyword::Add, Keyword::Log, Keyword::File]) {
            self.refuse("ADD LOG FILE");
            self.file_spec()?;
            while self.accept_symbol(",") {
                self.file_spec()?;
            }
            return Ok(Some(DatabaseChange::Other));
        }
        if !group && !file {
            return Ok(None);
        }
        let change = match () {
            () if self.accept_word(Keyword::Add) => self.add(group)?,
            () if self.accept_word(Keyword::Remove) => {
                self.advance();
                let name = self.name()?;
                if !group {
                    self.refuse("REMOVE FILE");
                }
                DatabaseChange::RemoveFileGroup(name)
            }
            () if self.accept_word(Keyword::Modify) => {
                self.advance();
                if group { self.modify_group()? } else { DatabaseChange::ModifyFile(self.file_spec()?) }
            }
            () => return Ok(None),
        };
        Ok(Some(change))
    }

    /// Parses the rest of ADD.
    fn add(&mut self, group: bool) -> Parsed<DatabaseChange> {
        self.advance();
        if group {
            let name = self.name()?;
            self.other_contents()?;
            return Ok(DatabaseChange::AddFileGroup(name));
        }
        let mut files = vec![self.file_spec()?];
        while self.accept_symbol(",") {
            files.push(self.file_spec()?);
        }
        let group = match self.accept_words(&[Keyword::To, Keyword::Filegroup]) {
            true => Some(self.group_name()?),
            false => None,
        };
        Ok(DatabaseChange::AddFiles { files, group })
    }

    /// Parses the rest of MODIFY FILEGROUP.
    fn modify_group(&mut self) -> Parsed<DatabaseChange> {
        let name = self.group_name()?;
        if self.accept_word(Keyword::Default) {
            return Ok(DatabaseChange::DefaultFileGroup(name));
        }
        // Files of a group are always filled and grown together in proportion.
        if self.accept_word(Keyword::ReadWrite) || self.accept_word(Keyword::Readwrite) {
            return Ok(DatabaseChange::Other);
        }
        if self.accept_bare("NAME") {
            self.expect_symbol("=")?;
            self.name()?;
        } else {
            let known = ["AUTOGROW_SINGLE_FILE", "AUTOGROW_ALL_FILES", "READ_ONLY", "READONLY"];
            if !known.iter().any(|word| self.accept_bare(word)) {
                return Err(self.unexpected());
            }
        }
        self.refuse("This change of a file group");
        Ok(DatabaseChange::Other)
    }

    /// Parses `CONTAINS FILESTREAM` or `CONTAINS MEMORY_OPTIMIZED_DATA` behind a file group, if it stands there.
    pub(super) fn other_contents(&mut self) -> Parsed<()> {
        if !self.accept_word(Keyword::Contains) {
            return Ok(());
        }
        self.refuse("A file group of another kind");
        if self.accept_bare("MEMORY_OPTIMIZED_DATA") { Ok(()) } else { self.expect_word(Keyword::Filestream) }
    }

    /// Parses the name of a file group. PRIMARY is a reserved word: the group of that name is `[PRIMARY]`.
    pub(super) fn group_name(&mut self) -> Parsed<String> {
        self.name()
    }

    /// Parses `(NAME = x, FILENAME = 'y', SIZE = 10 MB, MAXSIZE = UNLIMITED, FILEGROWTH = 10%)`.
    pub(super) fn file_spec(&mut self) -> Parsed<FileSpec> {
        let spec = self.attached_file()?;
        if spec.name.is_empty() { Err(self.unexpected()) } else { Ok(spec) }
    }

    /// Parses the same, where the name may be missing.
    pub(super) fn attached_file(&mut self) -> Parsed<FileSpec> {
        self.expect_symbol("(")?;
        let mut spec = FileSpec::default();
        loop {
            let option = self.name()?.to_ascii_uppercase();
            if option == "OFFLINE" {
                self.refuse("OFFLINE");
                if !self.accept_symbol(",") {
                    break;
                }
                continue;
            }
            self.expect_symbol("=")?;
            match option.as_str() {
                "NAME" => spec.name = self.setting()?,
                "FILENAME" => spec.file_name = Some(self.setting()?),
                "SIZE" => spec.size_bytes = Some(self.bytes()?),
                "MAXSIZE" if self.accept_word(Keyword::Unlimited) => spec.limit_bytes = Some(None),
                "MAXSIZE" => spec.limit_bytes = Some(Some(self.bytes()?)),
                "FILEGROWTH" => spec.growth = Some(self.growth()?),
                "NEWNAME" => {
                    self.refuse("NEWNAME");
                    self.setting()?;
                }
                _ => return Err(errors::SYNTAX.with([&option]).at_line(self.line())),
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(spec)
    }

    /// Parses a number with a unit, by default megabytes.
    fn bytes(&mut self) -> Parsed<u64> {
        let number = self.unsigned()?;
        let unit: u64 = match () {
            () if self.accept_word(Keyword::Kb) => 1 << 10,
            () if self.accept_word(Keyword::Gb) => 1 << 30,
            () if self.accept_word(Keyword::Tb) => 1 << 40,
            () => {
                self.accept_word(Keyword::Mb);
                1 << 20
            }
        };
        number.checked_mul(unit).ok_or_else(|| self.unexpected())
    }

    fn growth(&mut self) -> Parsed<Growth> {
        if let (Some(TokenKind::Integer(digits)), true) = (self.kind().cloned(), self.is_symbol_ahead(1, "%"))
        {
            let percent = digits.parse().map_err(|_| self.unexpected())?;
            self.advance();
            self.advance();
            return Ok(Growth::Percent(percent));
        }
        Ok(Growth::Bytes(self.bytes()?))
    }
}
