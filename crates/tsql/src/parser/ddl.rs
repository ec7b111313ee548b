//! CREATE and ALTER.

use super::{Parsed, Parser};
use crate::ast::{
    AlterAction, ColumnClause, ConstraintClause, ConstraintKind, CreateTable, ReferentialAction, SourceText,
    StatementKind,
};
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
            let name = self.name()?;
            let collation = self.skip_options()?;
            return Ok(StatementKind::CreateDatabase { name, collation });
        }
        if self.accept_word(Keyword::Type) {
            return self.create_type();
        }
        if self.accept_word(Keyword::Partition) {
            return self.create_partition();
        }
        if self.accept_word(Keyword::Schema) {
            // A schema may be named after its owner alone.
            self.accept_word(Keyword::Authorization);
            let name = self.name()?;
            if self.accept_word(Keyword::Authorization) {
                self.name()?;
            }
            return Ok(StatementKind::CreateSchema(name));
        }
        let vector =
            matches!(self.kind(), Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case("vector"));
        if vector && self.is_word_ahead(1, Keyword::Index) {
            return Err(SqlError::unsupported("A vector index").at_line(self.line()));
        }
        let unique = self.accept_word(Keyword::Unique);
        let clustered = self.accept_word(Keyword::Clustered);
        if !clustered {
            self.accept_word(Keyword::Nonclustered);
        }
        let columnstore = self.accept_word(Keyword::Columnstore);
        if self.accept_word(Keyword::Index) {
            return self.create_index(unique, clustered, columnstore);
        }
        self.create_module(start)
    }

    /// `ON filegroup`, `WITH (…)`, `COLLATE x` and the like after a definition, up to the next statement.
    /// Skips what a server in one process has no use for; returns the name after COLLATE.
    fn skip_options(&mut self) -> Parsed<Option<String>> {
        let mut collation = None;
        while !self.at_end() && !self.is_symbol(";") {
            if self.at_statement() {
                return Ok(collation);
            }
            match self.accept_word(Keyword::Collate) {
                true => collation = Some(self.name()?),
                false => self.advance(),
            }
        }
        Ok(collation)
    }

    fn create_table(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        self.expect_symbol("(")?;
        let (columns, constraints) = self.table_elements()?;
        self.expect_symbol(")")?;
        let (mut file_groups, mut scheme) = (FileGroups::default(), None);
        let settings = self.placed_options("CREATE TABLE", |parser, clause| {
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
            compression,
            file_groups,
            scheme,
        }))
    }

    /// An index's settings, and its file group or partition scheme, if one is written.
    pub(crate) fn index_options(&mut self, statement: &str) -> Parsed<(IndexSettings, Option<Place>)> {
        let mut place = None;
        let settings = self.placed_options(statement, |parser, clause| {
            let read = parser.place()?;
            if clause == "ON" {
                place = Some(read);
            }
            Ok(())
        })?;
        Ok((settings, place))
    }

    /// `WITH (DATA_COMPRESSION = PAGE, …)`, `ON group`, `TEXTIMAGE_ON group`.
    fn placed_options(
        &mut self,
        statement: &str,
        mut placed: impl FnMut(&mut Self, &'static str) -> Parsed<()>,
    ) -> Parsed<IndexSettings> {
        let mut settings = IndexSettings::default();
        loop {
            let clause = [Keyword::On, Keyword::TextimageOn, Keyword::FilestreamOn]
                .into_iter()
                .find(|word| self.is_word(*word));
            if let Some(clause) = clause {
                self.advance();
                placed(self, clause.text())?;
            } else if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
                self.advance();
                settings = self.index_settings(statement)?;
            } else if self.is_word(Keyword::With) && self.is_word_ahead(1, Keyword::Fillfactor) {
                // The old form.
                self.advance();
                settings = self.index_setting(statement, settings)?;
            } else {
                return Ok(settings);
            }
        }
    }

    /// What follows ON: a file group, None for `"default"`, or a partition scheme with its column.
    fn place(&mut self) -> Parsed<Place> {
        let name = self.group_name()?;
        match self.is_symbol("(") {
            true => self.scheme_columns(name).map(Place::Scheme),
            false => Ok(Place::Group(named_group(name))),
        }
    }

    /// The group of a table; None for `"default"`.
    pub(crate) fn table_group(&mut self) -> Parsed<WrittenGroup> {
        self.group_name().map(named_group)
    }

    pub(crate) fn table_elements(&mut self) -> Parsed<(Vec<ColumnClause>, Vec<ConstraintClause>)> {
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        loop {
            if self.is_symbol(")") {
                return Ok((columns, constraints));
            }
            if self.at_table_constraint() {
                constraints.push(self.constraint()?);
            } else if self.is_word(Keyword::Period) && self.is_word_ahead(1, Keyword::For) {
                return Err(SqlError::unsupported("PERIOD FOR SYSTEM_TIME").at_line(self.line()));
            } else if self.accept_word(Keyword::Index) {
                return Err(SqlError::unsupported("An inline INDEX").at_line(self.line()));
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

    /// A column; `number` is its place in the list, from 1.
    fn column(&mut self, number: usize) -> Parsed<ColumnClause> {
        let name = self.name()?;
        let mut column = ColumnClause {
            name,
            sql_type: None,
            alias: None,
            computed: None,
            persisted: false,
            nullable: None,
            collation: None,
            identity: None,
            row_guid: false,
            default: None,
            with_values: false,
            constraints: Vec::new(),
        };
        if self.accept_word(Keyword::As) {
            column.computed = Some(self.source_text()?);
            column.persisted = self.accept_word(Keyword::Persisted);
        } else if column.name.eq_ignore_ascii_case("timestamp")
            && (self.is_symbol(",") || self.is_symbol(")"))
        {
            // A column called timestamp may leave its type out.
            column.sql_type = Some(tds::SqlType::RowVersion);
        } else {
            column.sql_type = Some(self.declared_type(number)?);
        }
        self.column_attributes(&mut column)?;
        Ok(column)
    }

    fn column_attributes(&mut self, column: &mut ColumnClause) -> Parsed<()> {
        loop {
            if self.accept_words(&[Keyword::Not, Keyword::Null]) {
                column.nullable = Some(false);
            } else if self.accept_word(Keyword::Null) {
                column.nullable = Some(true);
            } else if self.accept_word(Keyword::Collate) {
                column.collation = Some(self.collation()?);
            } else if self.accept_word(Keyword::Identity) {
                column.identity = Some(self.identity()?);
            } else if self.accept_word(Keyword::Rowguidcol) {
                column.row_guid = true;
            } else if self.is_word(Keyword::Encrypted) && self.is_word_ahead(1, Keyword::With) {
                return Err(SqlError::unsupported("ENCRYPTED WITH (Always Encrypted)").at_line(self.line()));
            } else if self.is_word(Keyword::Generated) && self.is_word_ahead(1, Keyword::Always) {
                return Err(SqlError::unsupported("GENERATED ALWAYS AS ROW").at_line(self.line()));
            } else if self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication])
                || self.accept_word(Keyword::Sparse)
                || self.accept_word(Keyword::Filestream)
                || self.accept_word(Keyword::Hidden)
            {
            } else if column.default.is_some() && self.accept_words(&[Keyword::With, Keyword::Values]) {
                column.with_values = true;
            } else if self.is_word(Keyword::Default) {
                self.advance();
                column.default = Some((None, self.default_value()?));
            } else if self.at_table_constraint() {
                let clause = self.constraint_with(Some(&column.name.clone()))?;
                match clause {
                    ConstraintClause { name, kind: ConstraintKind::Default { value, .. } } => {
                        column.default = Some((name, value));
                    }
                    other => column.constraints.push(other),
                }
            } else if self.accept_word(Keyword::References) {
                let kind = self.references(Vec::new())?;
                column.constraints.push(ConstraintClause { name: None, kind });
            } else {
                return Ok(());
            }
        }
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

    /// A number that a bigint holds; identities of greater ones are not served.
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

    /// An expression together with its text.
    pub(crate) fn source_text(&mut self) -> Parsed<SourceText> {
        let start = self.start();
        let expr = self.condition()?;
        Ok(SourceText { text: self.text_since(start), expr })
    }

    /// A default: no comparison, so that `DEFAULT 0 NOT NULL` ends where it should.
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
        } else if self.accept_word(Keyword::Default) {
            let value = self.default_value()?;
            let column = match column {
                Some(column) => column.to_string(),
                None => {
                    self.expect_word(Keyword::For)?;
                    self.name()?
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
        let columns = match column {
            Some(_) if !self.is_symbol("(") => Vec::new(),
            _ => self.ordered_columns()?,
        };
        let (settings, place) = self.index_options("CREATE TABLE")?;
        let (group, scheme) = Place::parted(place);
        Ok(ConstraintKind::Key { primary, clustered, columns, settings, group, scheme })
    }

    fn references(&mut self, columns: Vec<String>) -> Parsed<ConstraintKind> {
        let table = self.object_name()?;
        let referenced = if self.is_symbol("(") { self.names_in_parentheses()? } else { Vec::new() };
        let (mut on_delete, mut on_update) = (ReferentialAction::NoAction, ReferentialAction::NoAction);
        while self.is_word(Keyword::On)
            && (self.is_word_ahead(1, Keyword::Delete) || self.is_word_ahead(1, Keyword::Update))
        {
            let delete = self.is_word_ahead(1, Keyword::Delete);
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
            *(if delete { &mut on_delete } else { &mut on_update }) = action;
        }
        self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]);
        Ok(ConstraintKind::ForeignKey { columns, table, referenced, on_delete, on_update })
    }

    /// `SET MAXDOP = n` of ALTER DATABASE SCOPED CONFIGURATION; all other settings are read and without effect.
    fn scoped_configuration(&mut self) -> Parsed<StatementKind> {
        if self.accept_words(&[Keyword::Set, Keyword::Maxdop]) {
            self.expect_symbol("=")?;
            let limit = u16::try_from(self.unsigned()?).ok().filter(|limit| *limit <= 32_767);
            return limit.map(StatementKind::ScopedMaxDop).ok_or_else(|| self.unexpected());
        }
        while !self.at_end() && !self.is_symbol(";") {
            self.advance();
        }
        Ok(StatementKind::Nothing)
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
        if !self.accept_word(Keyword::Table) {
            return self.alter_module(start);
        }
        let table = self.object_name()?;
        let check = if self.accept_words(&[Keyword::With, Keyword::Check]) {
            Some(true)
        } else {
            self.accept_words(&[Keyword::With, Keyword::Nocheck]).then_some(false)
        };
        let action = if self.accept_word(Keyword::Add) {
            let (columns, constraints) = self.table_elements()?;
            AlterAction::Add { columns, constraints }
        } else if self.accept_word(Keyword::Drop) {
            self.alter_drop()?
        } else if self.accept_words(&[Keyword::Alter, Keyword::Column]) {
            AlterAction::AlterColumn(Box::new(self.column(1)?))
        } else if (self.is_word(Keyword::Check) || self.is_word(Keyword::Nocheck))
            && self.is_word_ahead(1, Keyword::Constraint)
        {
            let enabled = self.is_word(Keyword::Check);
            self.advance();
            self.advance();
            let names = if self.accept_word(Keyword::All) { None } else { Some(self.name_list()?) };
            AlterAction::SwitchConstraints { names, enabled }
        } else if self.accept_word(Keyword::Rebuild) {
            AlterAction::Rebuild(self.rebuild("ALTER TABLE")?)
        } else if self.accept_word(Keyword::Switch) {
            self.switch_rows()?
        } else if self.at_trigger_switch() {
            self.trigger_switch()?
        } else if self.is_word(Keyword::Set)
            && self.is_symbol_ahead(1, "(")
            && self.is_word_ahead(2, Keyword::SystemVersioning)
        {
            return Err(SqlError::unsupported("SYSTEM_VERSIONING").at_line(self.line()));
        } else if self.is_word(Keyword::Set)
            && self.is_symbol_ahead(1, "(")
            && self.is_word_ahead(2, Keyword::LockEscalation)
        {
            self.advance();
            self.lock_escalation()?
        } else if [Keyword::Enable, Keyword::Disable, Keyword::Set].iter().any(|word| self.is_word(*word)) {
            while !self.at_end() && !self.is_symbol(";") {
                self.advance();
            }
            AlterAction::Nothing
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterTable { table, check, action })
    }

    fn name_list(&mut self) -> Parsed<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.accept_symbol(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// `[CONSTRAINT] [IF EXISTS] name, … | COLUMN [IF EXISTS] name, …`, in any order. Constraints go first: columns may have them.
    fn alter_drop(&mut self) -> Parsed<AlterAction> {
        let (mut constraints, mut columns) = (DroppedNames::default(), DroppedNames::default());
        let mut of_columns = false;
        loop {
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

/// Where a table or an index goes.
pub(crate) enum Place {
    /// A file group.
    Group(WrittenGroup),
    /// The partitions of a scheme.
    Scheme(WrittenScheme),
}

impl Place {
    /// The group and the scheme that are written.
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

/// What ALTER TABLE … DROP lists of one kind.
#[derive(Default)]
struct DroppedNames {
    names: Vec<String>,
    if_exists: bool,
}
