//! CREATE and ALTER.

use super::index::OptionPlace;
use super::{Parsed, Parser};
use crate::ast::{
    AlterAction, ColumnAttribute, ColumnClause, ConstraintClause, ConstraintKind, CreateTable,
    ReferentialAction, SourceText, StatementKind,
};
use crate::expression::{Expr, Literal};
use crate::file_group::{DEFAULT_GROUP, FileGroups, WrittenGroup};
use crate::index::IndexSettings;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::partition::WrittenScheme;
use crate::sql_error::SqlError;

impl Parser<'_> {
    pub(crate) fn create(&mut self) -> Parsed<StatementKind> {
        let start = self.at;
        self.advance();
        if self.accept_word(Keyword::Table) {
            return self.create_table();
        }
        if self.accept_word(Keyword::Database) {
            return self.create_database();
        }
        if self.accept_word(Keyword::Type) {
            return self.create_type();
        }
        if self.accept_word(Keyword::Partition) {
            return self.create_partition();
        }
        if self.accept_word(Keyword::Schema) {
            return self.create_schema();
        }
        let first = self.at;
        let unique = self.accept_word(Keyword::Unique);
        let clustered = self.accept_word(Keyword::Clustered);
        if !clustered {
            self.accept_word(Keyword::Nonclustered);
        }
        let columnstore = self.accept_word(Keyword::Columnstore);
        if self.accept_word(Keyword::Index) {
            return self.create_index(unique, clustered, columnstore);
        }
        if self.at > first {
            return Err(self.unexpected());
        }
        self.create_module(start)
    }

    /// Parses the rest of CREATE TABLE.
    pub(crate) fn create_table(&mut self) -> Parsed<StatementKind> {
        let name = self.local_name()?;
        self.table.clone_from(&name);
        if let Some(other) = self.table_of_another_kind()? {
            return Ok(other);
        }
        let (columns, constraints) = self.table_body()?;
        if self.is_word(Keyword::As) && (self.is_bare_ahead(1, "NODE") || self.is_bare_ahead(1, "EDGE")) {
            self.refuse("CREATE TABLE … AS NODE or EDGE");
            self.at += 2;
        }
        let (mut file_groups, mut scheme) = (FileGroups::default(), None);
        let settings = self.placed_options(OptionPlace::Table, |parser, clause| {
            match (clause, parser.place()?) {
                ("ON", Place::Group(group)) => file_groups.rows = group,
                ("ON", Place::Scheme(written)) => scheme = Some(written),
                ("TEXTIMAGE_ON", Place::Group(group)) => {
                    file_groups.large_values = group.or_else(|| Some(DEFAULT_GROUP.to_owned()));
                }
                ("TEXTIMAGE_ON", Place::Scheme(_)) => return Err(parser.unexpected()),
                _ => {}
            }
            Ok(())
        })?;
        let compression = settings.compression.unwrap_or_default();
        Ok(StatementKind::CreateTable(CreateTable {
            name,
            columns,
            constraints,
            indexes: std::mem::take(&mut self.inline_indexes),
            compression,
            file_groups,
            scheme,
        }))
    }

    /// Parses CREATE TABLE behind the name, if no columns follow: a FileTable, a clone, a table that a query makes, or a graph's
    /// edges without columns of their own. They are refused when they run.
    fn table_of_another_kind(&mut self) -> Parsed<Option<StatementKind>> {
        let settings = |parser: &mut Self| {
            parser.placed_options(OptionPlace::Table, |parser, _| parser.place().map(drop)).map(drop)
        };
        if self.accept_word(Keyword::As) {
            if self.accept_bare("FILETABLE") {
                self.refuse("CREATE TABLE … AS FILETABLE");
                settings(self)?;
            } else if self.accept_bare("EDGE") {
                self.refuse("CREATE TABLE … AS NODE or EDGE");
                settings(self)?;
            } else {
                self.refused_clause("as_clone", "CREATE TABLE … AS CLONE OF")?;
            }
        } else if self.is_word(Keyword::With) {
            self.refuse("CREATE TABLE … AS SELECT");
            settings(self)?;
            self.expect_word(Keyword::As)?;
            self.query()?;
        } else {
            return Ok(None);
        }
        Ok(Some(StatementKind::Nothing))
    }

    /// Parses an index's settings, and its file group or partition scheme, if one is written.
    pub(crate) fn index_options(&mut self, of: OptionPlace) -> Parsed<(IndexSettings, Option<Place>)> {
        let mut place = None;
        let settings = self.placed_options(of, |parser, clause| {
            let unexpected = parser.unexpected();
            let read = parser.place()?;
            match clause {
                "ON" => place = Some(read),
                "TEXTIMAGE_ON" => return Err(unexpected),
                _ => {}
            }
            Ok(())
        })?;
        Ok((settings, place))
    }

    /// Parses `WITH (DATA_COMPRESSION = PAGE, …)`, `ON group`, `TEXTIMAGE_ON group`.
    fn placed_options(
        &mut self,
        of: OptionPlace,
        mut placed: impl FnMut(&mut Self, &'static str) -> Parsed<()>,
    ) -> Parsed<IndexSettings> {
        let mut settings = IndexSettings::default();
        let mut seen = Vec::new();
        loop {
            let clause = [Keyword::On, Keyword::TextimageOn, Keyword::FilestreamOn, Keyword::With]
                .into_iter()
                .find(|word| self.is_word(*word));
            let Some(clause) = clause else { return Ok(settings) };
            let old = OLD_OPTIONS.iter().any(|option| self.is_bare_ahead(1, option));
            if clause == Keyword::With && !(self.is_symbol_ahead(1, "(") || old) {
                return Ok(settings);
            }
            // Each stands once.
            if seen.contains(&clause) {
                return Err(self.unexpected());
            }
            seen.push(clause);
            self.advance();
            if clause == Keyword::FilestreamOn {
                self.refuse("FILESTREAM_ON");
            }
            if clause != Keyword::With {
                placed(self, clause.text())?;
            } else if self.is_symbol("(") {
                settings = self.index_settings(of)?;
            } else {
                self.old_settings(of, &mut settings)?;
            }
        }
    }

    /// Parses `option, …` behind WITH, in the form without parentheses.
    fn old_settings(&mut self, of: OptionPlace, settings: &mut IndexSettings) -> Parsed<()> {
        loop {
            let Some(option) = OLD_OPTIONS.iter().find(|option| self.is_bare_ahead(0, option)) else {
                return Err(self.unexpected());
            };
            if self.is_symbol_ahead(1, "=") {
                self.index_setting(of, settings)?;
            } else {
                self.advance();
                match *option {
                    "DROP_EXISTING" => settings.drop_existing = true,
                    "IGNORE_DUP_KEY" => settings.ignore_dup_key = Some(true),
                    "PAD_INDEX" => settings.pad_index = Some(true),
                    "FILLFACTOR" => return Err(self.unexpected()),
                    _ => {}
                }
            }
            let more = OLD_OPTIONS.iter().any(|option| self.is_bare_ahead(1, option));
            if !(more && self.accept_symbol(",")) {
                return Ok(());
            }
        }
    }

    /// Parses the place behind ON: a file group, `None` for `"default"`, or a partition scheme with its column.
    fn place(&mut self) -> Parsed<Place> {
        let name = self.group_name()?;
        match self.is_symbol("(") {
            true => self.scheme_columns(name).map(Place::Scheme),
            false => Ok(Place::Group(named_group(name))),
        }
    }

    /// Parses the group of a table; `None` for `"default"`.
    pub(crate) fn table_group(&mut self) -> Parsed<WrittenGroup> {
        self.group_name().map(named_group)
    }

    /// Parses `(column, …)`, which has at least one element.
    pub(crate) fn table_body(&mut self) -> Parsed<(Vec<ColumnClause>, Vec<ConstraintClause>)> {
        self.inline_indexes.clear();
        self.expect_symbol("(")?;
        let (columns, constraints) = self.table_elements()?;
        if columns.is_empty() && constraints.is_empty() && self.inline_indexes.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_symbol(")")?;
        Ok((columns, constraints))
    }

    pub(crate) fn table_elements(&mut self) -> Parsed<(Vec<ColumnClause>, Vec<ConstraintClause>)> {
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        loop {
            if self.is_symbol(")") {
                return Ok((columns, constraints));
            }
            if self.at_table_constraint() {
                constraints.push(self.constraint()?);
            } else if self.accept_words(&[Keyword::Period, Keyword::For, Keyword::SystemTime]) {
                self.refused_clause("period", "PERIOD FOR SYSTEM_TIME")?;
            } else if self.accept_word(Keyword::Index) {
                let index = self.inline_index(None)?;
                self.inline_indexes.push(index);
            } else {
                columns.push(self.column(columns.len() + 1)?);
            }
            if !self.accept_symbol(",") {
                return Ok((columns, constraints));
            }
        }
    }

    fn at_table_constraint(&self) -> bool {
        [
            Keyword::Constraint,
            Keyword::Primary,
            Keyword::Unique,
            Keyword::Check,
            Keyword::Foreign,
            Keyword::Default,
        ]
        .iter()
        .any(|word| self.is_word(*word))
    }

    /// Parses a column; `number` is its place in the list, from 1.
    fn column(&mut self, number: usize) -> Parsed<ColumnClause> {
        let mut column = ColumnClause::named(self.name()?);
        let mut named = false;
        if self.accept_word(Keyword::As) {
            column.computed = Some(self.source_text()?);
            column.persisted = self.accept_word(Keyword::Persisted);
        } else if column.name.eq_ignore_ascii_case("timestamp")
            && (self.is_symbol(",") || self.is_symbol(")"))
        {
            // A column called timestamp may leave its type out.
            column.sql_type = Some(tds::SqlType::RowVersion);
        } else {
            let start = self.at;
            column.sql_type = Some(self.declared_type(number)?);
            // The system's alias type for names is NOT NULL unless something else is said.
            named = self.tokens.get(start..self.at).is_some_and(|tokens| {
                tokens.iter().any(|token| {
                    matches!(&token.kind, TokenKind::Word(word) | TokenKind::Quoted(word) if word.eq_ignore_ascii_case("sysname"))
                })
            });
        }
        self.column_attributes(&mut column)?;
        if named {
            column.nullable = column.nullable.or(Some(false));
            column.alias = Some("sys.sysname".to_owned());
        }
        Ok(column)
    }

    fn column_attributes(&mut self, column: &mut ColumnClause) -> Parsed<()> {
        let computed = column.computed.is_some();
        loop {
            let (line, unexpected) = (self.line(), self.unexpected());
            let null = self.is_word(Keyword::Null);
            if self.refused_attribute()? {
                continue;
            }
            // Attributes that may stand once, and not at all on a computed column.
            let once = |written: bool| if written || computed { Err(unexpected.clone()) } else { Ok(()) };
            if self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]) {
                if column.identity.is_none() {
                    return Err(unexpected);
                }
            } else if null || self.accept_words(&[Keyword::Not, Keyword::Null]) {
                if column.nullable.is_some() {
                    return Err(several_nulls(&column.name, &self.table.name).at_line(line));
                }
                column.nullable = Some(null && self.accept_word(Keyword::Null));
            } else if self.accept_word(Keyword::Collate) {
                once(column.collation.is_some())?;
                column.collation = Some(self.collation()?);
            } else if self.accept_word(Keyword::Identity) {
                once(column.identity.is_some())?;
                column.identity = Some(self.identity()?);
            } else if self.accept_word(Keyword::Rowguidcol) {
                once(column.row_guid)?;
                column.row_guid = true;
            } else if self.accept_word(Keyword::Sparse) {
                once(column.sparse)?;
                column.sparse = true;
            } else if column.default.is_some()
                && !column.with_values
                && self.accept_words(&[Keyword::With, Keyword::Values])
            {
                column.with_values = true;
            } else if self.is_word(Keyword::Constraint)
                && (self.is_word_ahead(2, Keyword::Null)
                    || self.is_word_ahead(2, Keyword::Not) && self.is_word_ahead(3, Keyword::Null))
            {
                // NULL and NOT NULL may have a name, which is not kept.
                self.advance();
                self.name()?;
            } else if self.at_table_constraint() {
                let clause = self.constraint_with(Some(&column.name.clone()))?;
                match clause {
                    ConstraintClause { name, kind: ConstraintKind::Default { value, .. } } => {
                        once(false)?;
                        if column.default.is_some() {
                            return Err(
                                several_constraints("DEFAULT", &column.name, &self.table.name).at_line(line)
                            );
                        }
                        column.default = Some((name, value));
                    }
                    other => column.constraints.push(other),
                }
            } else if self.accept_word(Keyword::References) {
                let kind = self.references(Vec::new())?;
                column.constraints.push(ConstraintClause { name: None, kind });
            } else if self.accept_word(Keyword::Index) {
                let index = self.inline_index(Some(&column.name))?;
                self.inline_indexes.push(index);
            } else {
                return Ok(());
            }
        }
    }

    /// Parses an attribute of a column that this server does not have, if one begins here.
    fn refused_attribute(&mut self) -> Parsed<bool> {
        if self.accept_words(&[Keyword::Encrypted, Keyword::With]) {
            self.refused_clause("encrypted_column", "ENCRYPTED WITH (Always Encrypted)")?;
        } else if self.accept_words(&[Keyword::Generated, Keyword::Always, Keyword::As]) {
            self.refused_clause("generated_column", "GENERATED ALWAYS AS ROW")?;
        } else if self.is_bare_ahead(0, "MASKED") && self.is_word_ahead(1, Keyword::With) {
            self.at += 2;
            self.refused_clause("masked_column", "MASKED WITH (dynamic data masking)")?;
        } else if self.is_word(Keyword::Filestream) || self.is_word(Keyword::Hidden) {
            let word = self.keyword_ahead(0);
            let doubled = word.is_some_and(|word| self.is_word_ahead(1, word));
            let word = self.any_word()?;
            self.refuse(&word);
            if doubled {
                return Err(self.unexpected());
            }
        } else if self.accept_bare("COLUMN_SET FOR ALL_SPARSE_COLUMNS") {
            self.refuse("COLUMN_SET FOR ALL_SPARSE_COLUMNS");
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn identity(&mut self) -> Parsed<(i64, i64)> {
        if !self.accept_symbol("(") {
            return Ok((1, 1));
        }
        let seed = self.identity_number()?;
        self.expect_symbol(",")?;
        let increment = self.identity_number()?;
        self.expect_symbol(")")?;
        Ok((seed, increment))
    }

    /// Parses a number that a bigint holds; identities of greater ones are not served.
    fn identity_number(&mut self) -> Parsed<i64> {
        let line = self.line();
        let digits = match self.kind_ahead(usize::from(self.is_symbol("-") || self.is_symbol("+"))) {
            Some(TokenKind::Integer(digits)) => digits.len(),
            _ => 0,
        };
        self.signed().map_err(|error| match digits {
            19.. => {
                SqlError::unsupported("An IDENTITY seed or increment that bigint cannot hold").at_line(line)
            }
            _ => error,
        })
    }

    /// Parses an expression together with its text.
    pub(crate) fn source_text(&mut self) -> Parsed<SourceText> {
        let start = self.start();
        let expr = self.condition()?;
        Ok(SourceText { text: self.text_since(start), expr })
    }

    /// Parses a default. It is no comparison, so that `DEFAULT 0 NOT NULL` ends where it should.
    fn default_value(&mut self) -> Parsed<SourceText> {
        let start = self.start();
        let expr = self.expression()?;
        Ok(SourceText { text: self.text_since(start), expr })
    }

    fn constraint(&mut self) -> Parsed<ConstraintClause> {
        self.constraint_with(None)
    }

    fn constraint_with(&mut self, column: Option<&str>) -> Parsed<ConstraintClause> {
        let name = if self.accept_word(Keyword::Constraint) { Some(self.name()?) } else { None };
        let kind = if self.accept_words(&[Keyword::Primary, Keyword::Key]) {
            self.key(true, column)?
        } else if self.accept_word(Keyword::Unique) {
            self.key(false, column)?
        } else if self.accept_word(Keyword::Check) {
            self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]);
            self.expect_symbol("(")?;
            let check = self.source_text()?;
            self.expect_symbol(")")?;
            ConstraintKind::Check(check)
        } else if self.accept_words(&[Keyword::Foreign, Keyword::Key]) {
            let columns = if self.is_symbol("(") { self.names_in_parentheses()? } else { Vec::new() };
            self.expect_word(Keyword::References)?;
            self.references(columns)?
        } else if self.accept_word(Keyword::References) {
            self.references(Vec::new())?
        } else if name.is_some() && column.is_none() && self.accept_bare("CONNECTION") {
            self.refused_clause("connection", "An edge constraint")?;
            return Ok(ConstraintClause { name, kind: refused_constraint() });
        } else if self.accept_word(Keyword::Default) {
            let value = self.default_value()?;
            let column = match column {
                Some(column) => column.to_string(),
                None => {
                    self.expect_word(Keyword::For)?;
                    let column = self.name()?;
                    // The rows of a column that is there already keep their values.
                    self.accept_words(&[Keyword::With, Keyword::Values]);
                    column
                }
            };
            ConstraintKind::Default { value, column }
        } else {
            return Err(self.unexpected());
        };
        Ok(ConstraintClause { name, kind })
    }

    fn key(&mut self, primary: bool, column: Option<&str>) -> Parsed<ConstraintKind> {
        let clustered = if self.accept_word(Keyword::Clustered) {
            Some(true)
        } else if self.accept_word(Keyword::Nonclustered) {
            Some(false)
        } else {
            None
        };
        self.hash_index();
        let columns = match column {
            Some(_) if !self.is_symbol("(") => Vec::new(),
            _ => self.ordered_columns()?,
        };
        let (settings, place) = self.index_options(OptionPlace::Key)?;
        let (group, scheme) = Place::parted(place);
        if self.accept_bare("NOT ENFORCED") || self.accept_bare("ENFORCED") {
            self.refuse("NOT ENFORCED");
        }
        Ok(ConstraintKind::Key { primary, clustered, columns, settings, group, scheme })
    }

    fn references(&mut self, columns: Vec<String>) -> Parsed<ConstraintKind> {
        let table = self.local_name()?;
        let referenced = if self.is_symbol("(") { self.names_in_parentheses()? } else { Vec::new() };
        let (mut on_delete, mut on_update) = (None, None);
        while self.is_word(Keyword::On)
            && (self.is_word_ahead(1, Keyword::Delete) || self.is_word_ahead(1, Keyword::Update))
        {
            let delete = self.is_word_ahead(1, Keyword::Delete);
            let unexpected = self.unexpected();
            self.advance();
            self.advance();
            let action = if self.accept_words(&[Keyword::No, Keyword::Action]) {
                ReferentialAction::NoAction
            } else if self.accept_word(Keyword::Cascade) {
                ReferentialAction::Cascade
            } else if self.accept_words(&[Keyword::Set, Keyword::Null]) {
                ReferentialAction::SetNull
            } else if self.accept_words(&[Keyword::Set, Keyword::Default]) {
                ReferentialAction::SetDefault
            } else {
                return Err(self.unexpected());
            };
            if (if delete { &mut on_delete } else { &mut on_update }).replace(action).is_some() {
                return Err(unexpected);
            }
        }
        let (on_delete, on_update) = (on_delete.unwrap_or_default(), on_update.unwrap_or_default());
        self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]);
        Ok(ConstraintKind::ForeignKey { columns, table, referenced, on_delete, on_update })
    }

    pub(crate) fn alter(&mut self) -> Parsed<StatementKind> {
        let start = self.at;
        self.advance();
        if self.accept_word(Keyword::Database) {
            if self.accept_words(&[Keyword::Scoped, Keyword::Configuration]) {
                return self.scoped_configuration();
            }
            return self.alter_database();
        }
        if self.accept_word(Keyword::Index) {
            return self.alter_index();
        }
        if self.accept_word(Keyword::Partition) {
            return self.alter_partition();
        }
        if self.accept_word(Keyword::Schema) {
            return self.alter_schema();
        }
        if !self.accept_word(Keyword::Table) {
            return self.alter_module(start);
        }
        let table = self.local_name()?;
        self.table.clone_from(&table);
        let check = if self.accept_words(&[Keyword::With, Keyword::Check]) {
            Some(true)
        } else {
            self.accept_words(&[Keyword::With, Keyword::Nocheck]).then_some(false)
        };
        let action = if self.accept_word(Keyword::Add) {
            self.inline_indexes.clear();
            let (columns, constraints) = self.table_elements()?;
            if !std::mem::take(&mut self.inline_indexes).is_empty() {
                self.refuse("ALTER TABLE … ADD INDEX");
            }
            AlterAction::Add { columns, constraints }
        } else if self.accept_word(Keyword::Drop) {
            self.alter_drop()?
        } else if self.accept_words(&[Keyword::Alter, Keyword::Column]) {
            self.altered_column()?
        } else if (self.is_word(Keyword::Check) || self.is_word(Keyword::Nocheck))
            && self.is_word_ahead(1, Keyword::Constraint)
        {
            let enabled = self.is_word(Keyword::Check);
            self.advance();
            self.advance();
            let names = if self.accept_word(Keyword::All) { None } else { Some(self.name_list()?) };
            AlterAction::SwitchConstraints { names, enabled }
        } else if self.accept_word(Keyword::Rebuild) {
            AlterAction::Rebuild(self.rebuild(OptionPlace::RebuildTable)?)
        } else if self.accept_word(Keyword::Switch) {
            self.switch_rows()?
        } else if self.at_trigger_switch() {
            self.trigger_switch()?
        } else if self.is_word(Keyword::Set)
            && self.is_symbol_ahead(1, "(")
            && self.is_word_ahead(2, Keyword::LockEscalation)
        {
            self.advance();
            self.lock_escalation()?
        } else if self.refused_alteration()? {
            AlterAction::Several(Vec::new())
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterTable { table, check, action })
    }

    /// Parses an alteration that this server does not have, if one begins here.
    fn refused_alteration(&mut self) -> Parsed<bool> {
        let switch = self.is_word(Keyword::Enable) || self.is_word(Keyword::Disable);
        if switch && self.is_bare_ahead(1, "CHANGE_TRACKING") {
            self.refuse("CHANGE_TRACKING");
            self.at += 2;
            if self.accept_word(Keyword::With) {
                self.clause("tracked_columns")?;
            }
        } else if switch && self.is_bare_ahead(1, "FILETABLE_NAMESPACE") {
            self.refuse("FILETABLE_NAMESPACE");
            self.at += 2;
        } else if self.accept_words(&[Keyword::Alter, Keyword::Index]) {
            self.refuse("ALTER TABLE … ALTER INDEX");
            self.name()?;
            self.expect_word(Keyword::Rebuild)?;
            self.rebuild(OptionPlace::RebuildIndex)?;
        } else if self.is_word(Keyword::Split) || self.is_word(Keyword::Merge) {
            self.refuse("ALTER TABLE … SPLIT or MERGE RANGE");
            self.advance();
            self.expect_word(Keyword::Range)?;
            self.expect_symbol("(")?;
            self.expression()?;
            self.expect_symbol(")")?;
        } else if self.accept_word(Keyword::Set) {
            self.index_settings(OptionPlace::SetTable)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Parses the rest of ALTER COLUMN: a name with its type, collation and nullability.
    fn altered_column(&mut self) -> Parsed<AlterAction> {
        let switched = self.is_word_ahead(1, Keyword::Add) || self.is_word_ahead(1, Keyword::Drop);
        if switched {
            return self.switched_attribute();
        }
        let unexpected = self.unexpected();
        let column = self.column(1)?;
        let more = column.computed.is_some()
            || column.identity.is_some()
            || column.row_guid
            || column.default.is_some()
            || !column.constraints.is_empty();
        if more {
            return Err(unexpected);
        }
        // Columns are altered while nobody else uses their table, in either case.
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            self.advance();
            self.index_settings(OptionPlace::AlterColumn)?;
        }
        Ok(AlterAction::AlterColumn(Box::new(column)))
    }

    /// Parses `name ADD | DROP attribute` of ALTER COLUMN.
    fn switched_attribute(&mut self) -> Parsed<AlterAction> {
        let column = self.name()?;
        let on = self.is_word(Keyword::Add);
        self.advance();
        let attribute = if self.accept_word(Keyword::Rowguidcol) {
            ColumnAttribute::RowGuid
        } else if self.accept_word(Keyword::Sparse) {
            ColumnAttribute::Sparse
        } else {
            let what = ["PERSISTED", "NOT FOR REPLICATION", "HIDDEN", "MASKED"];
            let found = what.into_iter().find(|words| self.accept_bare(words));
            let Some(found) = found else { return Err(self.unexpected()) };
            self.refuse(&format!("ALTER COLUMN … ADD or DROP {found}"));
            if found == "MASKED" && on {
                self.expect_word(Keyword::With)?;
                self.clause("masked_column")?;
            }
            ColumnAttribute::Sparse
        };
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            self.advance();
            self.index_settings(OptionPlace::AlterColumn)?;
        }
        Ok(AlterAction::SwitchAttribute { column, attribute, on })
    }

    /// Parses `[CONSTRAINT] [IF EXISTS] name, … | COLUMN [IF EXISTS] name, …`, in any order. Constraints are dropped
    /// first: columns may have them.
    fn alter_drop(&mut self) -> Parsed<AlterAction> {
        let (mut constraints, mut columns) = (DroppedNames::default(), DroppedNames::default());
        let mut of_columns = false;
        loop {
            if self.accept_words(&[Keyword::Period, Keyword::For, Keyword::SystemTime]) {
                self.refuse("PERIOD FOR SYSTEM_TIME");
                if !self.accept_symbol(",") {
                    return Ok(AlterAction::Several(Vec::new()));
                }
                continue;
            }
            if self.accept_word(Keyword::Index) {
                self.refuse("ALTER TABLE … DROP INDEX");
            }
            let is_written = self.is_word(Keyword::Column) || self.is_word(Keyword::Constraint);
            if self.accept_word(Keyword::Column) {
                of_columns = true;
            } else if self.accept_word(Keyword::Constraint) {
                of_columns = false;
            }
            let dropped = if of_columns { &mut columns } else { &mut constraints };
            if is_written || dropped.names.is_empty() {
                dropped.if_exists |= self.accept_words(&[Keyword::If, Keyword::Exists]);
            }
            dropped.names.push(self.name()?);
            if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
                self.advance();
                self.index_settings(OptionPlace::Drop)?;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        let of_constraints =
            AlterAction::DropConstraints { names: constraints.names, if_exists: constraints.if_exists };
        let of_columns = AlterAction::DropColumns { names: columns.names, if_exists: columns.if_exists };
        Ok(match (&of_constraints, &of_columns) {
            (_, AlterAction::DropColumns { names, .. }) if names.is_empty() => of_constraints,
            (AlterAction::DropConstraints { names, .. }, _) if names.is_empty() => of_columns,
            _ => AlterAction::Several(vec![of_constraints, of_columns]),
        })
    }
}

/// Stands for a constraint of a statement that is refused.
fn refused_constraint() -> ConstraintKind {
    let expr = Expr::Literal(Literal::Null);
    ConstraintKind::Check(SourceText { text: String::new(), expr })
}

/// The options that may stand behind WITH without parentheses, and without a value but FILLFACTOR.
const OLD_OPTIONS: &[&str] = &[
    "DROP_EXISTING",
    "FILLFACTOR",
    "IGNORE_DUP_KEY",
    "PAD_INDEX",
    "SORT_IN_TEMPDB",
    "STATISTICS_NORECOMPUTE",
];

/// Makes error 8150.
fn several_nulls(column: &str, table: &str) -> SqlError {
    let text = format!("Multiple NULL constraints were specified for column '{column}', table '{table}'.");
    SqlError::new(8150, 16, 0, text)
}

/// Makes error 8148.
fn several_constraints(kind: &str, column: &str, table: &str) -> SqlError {
    let text =
        format!("More than one column {kind} constraint specified for column '{column}', table '{table}'.");
    SqlError::new(8148, 16, 0, text)
}

/// The file group or partition scheme of a table or an index.
pub(crate) enum Place {
    /// A file group.
    Group(WrittenGroup),
    /// The partitions of a scheme.
    Scheme(WrittenScheme),
}

impl Place {
    /// Separates the written group from the written scheme.
    pub(crate) fn parted(place: Option<Place>) -> (Option<WrittenGroup>, Option<WrittenScheme>) {
        match place {
            None => (None, None),
            Some(Place::Group(group)) => (Some(group), None),
            Some(Place::Scheme(scheme)) => (None, Some(scheme)),
        }
    }
}

fn named_group(name: String) -> WrittenGroup {
    Some(name).filter(|name| !name.eq_ignore_ascii_case(DEFAULT_GROUP))
}

/// The names of one kind in ALTER TABLE … DROP.
#[derive(Default)]
struct DroppedNames {
    names: Vec<String>,
    if_exists: bool,
}
