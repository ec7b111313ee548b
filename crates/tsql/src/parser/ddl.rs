//! CREATE and ALTER.

use super::index::OptionPlace;
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
        let vector =
            matches!(self.kind(), Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case("vector"));
        if vector && self.is_word_ahead(1, Keyword::Index) {
            return Err(SqlError::unsupported("A vector index").at_line(self.line()));
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
        let (columns, constraints) = self.table_body()?;
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
            if clause == Keyword::With
                && !(self.is_symbol_ahead(1, "(") || self.is_word_ahead(1, Keyword::Fillfactor))
            {
                return Ok(settings);
            }
            // Each stands once.
            if seen.contains(&clause) {
                return Err(self.unexpected());
            }
            seen.push(clause);
            self.advance();
            if clause != Keyword::With {
                placed(self, clause.text())?;
            } else if self.is_symbol("(") {
                settings = self.index_settings(of)?;
            } else {
                // The old form.
                self.index_setting(of, &mut settings)?;
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
            } else if self.is_word(Keyword::Period) && self.is_word_ahead(1, Keyword::For) {
                return Err(SqlError::unsupported("PERIOD FOR SYSTEM_TIME").at_line(self.line()));
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
            sparse: false,
            default: None,
            with_values: false,
            constraints: Vec::new(),
        };
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
            // Attributes that may stand once, and not at all on a computed column.
            let once = |written: bool| if written || computed { Err(unexpected.clone()) } else { Ok(()) };
            if self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]) {
                if column.identity.is_none() {
                    return Err(unexpected);
                }
            } else if self.accept_words(&[Keyword::Not, Keyword::Null]) || self.is_word(Keyword::Null) {
                if column.nullable.is_some() {
                    return Err(several_nulls(&column.name, &self.table.name).at_line(line));
                }
                column.nullable = Some(self.accept_word(Keyword::Null));
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
            } else if let Some(what) = self.refused_attribute() {
                return Err(SqlError::unsupported(what).at_line(line));
            } else if column.default.is_some()
                && !column.with_values
                && self.accept_words(&[Keyword::With, Keyword::Values])
            {
                column.with_values = true;
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

    /// Returns the name of a column attribute that SQL Server has and this server lacks, if one begins here.
    fn refused_attribute(&self) -> Option<&'static str> {
        let of = |word, next| self.is_word(word) && self.is_word_ahead(1, next);
        match () {
            () if of(Keyword::Encrypted, Keyword::With) => Some("ENCRYPTED WITH (Always Encrypted)"),
            () if of(Keyword::Generated, Keyword::Always) => Some("GENERATED ALWAYS AS ROW"),
            () if self.is_bare_ahead(0, "MASKED") && self.is_word_ahead(1, Keyword::With) => {
                Some("MASKED WITH (dynamic data masking)")
            }
            () if self.is_word(Keyword::Filestream) => Some("FILESTREAM"),
            () => None,
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
        let (settings, place) = self.index_options(OptionPlace::Key)?;
        let (group, scheme) = Place::parted(place);
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
                return Err(SqlError::unsupported("ALTER TABLE … ADD INDEX").at_line(self.line()));
            }
            AlterAction::Add { columns, constraints }
        } else if self.accept_word(Keyword::Drop) {
            self.alter_drop()?
        } else if self.accept_words(&[Keyword::Alter, Keyword::Column]) {
            AlterAction::AlterColumn(Box::new(self.altered_column()?))
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
            && self.is_word_ahead(2, Keyword::SystemVersioning)
        {
            return Err(SqlError::unsupported("SYSTEM_VERSIONING").at_line(self.line()));
        } else if self.is_word(Keyword::Set)
            && self.is_symbol_ahead(1, "(")
            && self.is_word_ahead(2, Keyword::LockEscalation)
        {
            self.advance();
            self.lock_escalation()?
        } else if let Some(what) = self.refused_alteration() {
            return Err(SqlError::unsupported(what).at_line(self.line()));
        } else {
            if self.accept_word(Keyword::Set) {
                self.expect_symbol("(")?;
            }
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterTable { table, check, action })
    }

    /// Returns the name of an alteration that SQL Server has and this server lacks, if one begins here.
    fn refused_alteration(&self) -> Option<&'static str> {
        let switch = self.is_word(Keyword::Enable) || self.is_word(Keyword::Disable);
        match () {
            () if switch && self.is_bare_ahead(1, "CHANGE_TRACKING") => Some("CHANGE_TRACKING"),
            () if switch && self.is_bare_ahead(1, "FILETABLE_NAMESPACE") => Some("FILETABLE_NAMESPACE"),
            () if self.is_word(Keyword::Set) && self.is_symbol_ahead(1, "(") => {
                ["FILESTREAM_ON", "DATA_DELETION", "REMOTE_DATA_ARCHIVE", "FILETABLE_DIRECTORY"]
                    .into_iter()
                    .find(|option| self.is_bare_ahead(2, option))
            }
            () => None,
        }
    }

    /// Parses the rest of ALTER COLUMN: a name with its type, collation and nullability.
    fn altered_column(&mut self) -> Parsed<ColumnClause> {
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
        Ok(column)
    }

    /// Parses `[CONSTRAINT] [IF EXISTS] name, … | COLUMN [IF EXISTS] name, …`, in any order. Constraints are dropped
    /// first: columns may have them.
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
