//! INSERT, UPDATE, DELETE, and the clauses that they share with MERGE.

use super::change::check_change;
use super::expression::function;
use super::query::{assignment_operator, compound};
use super::{Parsed, Parser};
use crate::ast::{Assignment, Delete, Insert, InsertSource, Output, OutputInto, StatementKind, Update};
use crate::cursor::CursorName;
use crate::errors;
use crate::expression::Expr;
use crate::hints::TableHint;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::query::{CommonTable, Top};

/// Rows of VALUES in an INSERT; other table value constructors may have more.
const INSERTED_ROWS_MAX: usize = 1000;

impl Parser<'_> {
    /// Parses the name of a table, or a table variable.
    pub(crate) fn table_name(&mut self) -> Parsed<ObjectName> {
        match self.kind().cloned() {
            Some(TokenKind::Variable(name)) if !name.starts_with("@@") => {
                self.note_table_variable();
                self.advance();
                Ok(ObjectName::bare(name))
            }
            _ if self.refused_target()? => Ok(ObjectName::default()),
            _ => self.object_name(),
        }
    }

    /// Parses a table of another server in the place of a table's name, if one begins here. The statement is refused when it
    /// runs.
    fn refused_target(&mut self) -> Parsed<bool> {
        let targets = [
            ("OPENQUERY", "open_query"),
            ("OPENDATASOURCE", "open_data_source"),
            ("OPENROWSET", "open_rowset"),
        ];
        let found = targets.iter().find(|(word, _)| self.is_bare_ahead(0, word));
        let Some((word, rule)) = found.filter(|_| self.is_symbol_ahead(1, "(")) else { return Ok(false) };
        self.refuse(word);
        self.advance();
        self.clause(rule)?;
        Ok(true)
    }

    pub(crate) fn insert(&mut self, with: Vec<CommonTable>) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word(Keyword::Bulk) {
            return self.insert_bulk();
        }
        let top = self.row_limit()?;
        self.accept_word(Keyword::Into);
        let table = self.table_name()?;
        let (from_file, hints) = self.insert_hints()?;
        let table_lock = hints.has_any(&[TableHint::Table, TableHint::TableExclusive]);
        let columns =
            if self.is_symbol("(") && !self.at_query() { Some(self.insert_columns()?) } else { None };
        let output = self.output()?;
        let source = InsertSource::DefaultValues;
        let mut insert = Insert { with, top, table, from_file, table_lock, columns, source, output };
        insert.source = if self.accept_words(&[Keyword::Default, Keyword::Values]) {
            InsertSource::DefaultValues
        } else if self.accept_word(Keyword::Values) {
            InsertSource::Values(self.inserted_rows()?)
        } else if self.is_word(Keyword::Exec) || self.is_word(Keyword::Execute) {
            match self.execute()? {
                refused @ StatementKind::Unsupported(_) => return Ok(refused),
                call => InsertSource::Execute(Box::new(call)),
            }
        } else {
            let mut query = self.query()?;
            if query.with.is_empty() {
                query.with = std::mem::take(&mut insert.with);
            }
            match self.change.take() {
                None => InsertSource::Query(Box::new(query)),
                Some(statement) => {
                    check_change(&query, insert.top.is_some(), insert.output.is_some())
                        .map_err(|error| error.at_line(self.line()))?;
                    InsertSource::Changed { query: Box::new(query), statement }
                }
            }
        };
        match from_file.first() {
            Some(hint) if !insert.reads_file() => Err(errors::UNKNOWN_HINT.with([hint])),
            _ => Ok(StatementKind::Insert(Box::new(insert))),
        }
    }

    /// Parses `(a, t.b, s.t.c)`: the table before a column is that of the statement, whatever is written.
    fn insert_columns(&mut self) -> Parsed<Vec<String>> {
        self.expect_symbol("(")?;
        let mut names = Vec::new();
        loop {
            names.push(self.object_name()?.name);
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(names)
    }

    /// Parses TOP of a statement that changes rows.
    pub(crate) fn row_limit(&mut self) -> Parsed<Option<Top>> {
        if !self.accept_word(Keyword::Top) {
            return Ok(None);
        }
        self.top().map(Some)
    }

    /// Parses the rows of an INSERT. Errors: 10738 for more than there may be.
    fn inserted_rows(&mut self) -> Parsed<Vec<Vec<Option<Expr>>>> {
        let line = self.line();
        let rows = self.value_rows()?;
        match rows.len() > INSERTED_ROWS_MAX {
            true => Err(errors::TOO_MANY_ROWS.error().at_line(line)),
            false => Ok(rows),
        }
    }

    pub(crate) fn value_rows(&mut self) -> Parsed<Vec<Vec<Option<Expr>>>> {
        let mut rows = Vec::new();
        loop {
            rows.push(self.value_row()?);
            if !self.accept_symbol(",") {
                return Ok(rows);
            }
        }
    }

    /// Parses `(e, DEFAULT, …)`.
    pub(crate) fn value_row(&mut self) -> Parsed<Vec<Option<Expr>>> {
        self.expect_symbol("(")?;
        let mut row = Vec::new();
        loop {
            row.push(if self.accept_word(Keyword::Default) { None } else { Some(self.expression()?) });
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(row)
    }

    /// Parses `OUTPUT … INTO t`, `OUTPUT …`, or both in that order.
    pub(crate) fn output(&mut self) -> Parsed<Option<Output>> {
        if !self.is_word(Keyword::Output) {
            return Ok(None);
        }
        let mut output = Output::default();
        while output.shown.is_none() && self.accept_word(Keyword::Output) {
            let items = self.select_items()?;
            if output.into.is_none() && self.accept_word(Keyword::Into) {
                let table = self.table_name()?;
                let columns = if self.is_symbol("(") && !self.at_query() {
                    Some(self.names_in_parentheses()?)
                } else {
                    None
                };
                output.into = Some(OutputInto { items, table, columns });
            } else {
                output.shown = Some(items);
            }
        }
        Ok(Some(output))
    }

    pub(crate) fn update(&mut self, with: Vec<CommonTable>) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word(Keyword::Statistics) {
            return self.update_statistics();
        }
        let top = self.row_limit()?;
        let target = self.table_name()?;
        let hints = self.change_hints()?;
        self.expect_word(Keyword::Set)?;
        let assignments = self.assignments()?;
        let output = self.output()?;
        let from = if self.accept_word(Keyword::From) { self.table_sources()? } else { Vec::new() };
        let (filter, current_of) = self.where_clause()?;
        self.option_clause()?;
        let update = Update { with, top, target, assignments, from, filter, current_of, output, hints };
        Ok(StatementKind::Update(Box::new(update)))
    }

    /// Parses the items of SET.
    pub(crate) fn assignments(&mut self) -> Parsed<Vec<Assignment>> {
        let mut assignments = Vec::new();
        loop {
            assignments.push(self.assignment()?);
            if !self.accept_symbol(",") {
                return Ok(assignments);
            }
        }
    }

    fn assignment(&mut self) -> Parsed<Assignment> {
        let mut variable = None;
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            // `@v = column = value` gives both the new value of the column.
            let both = self.is_symbol("=")
                && matches!(self.kind_ahead(1), Some(TokenKind::Word(_) | TokenKind::Quoted(_)))
                && matches!(self.kind_ahead(2), Some(TokenKind::Symbol(symbol)) if assignment_operator(symbol).is_some());
            if !both {
                let operator = self.expect_assignment()?;
                let value = compound(&name, operator, self.expression()?);
                return Ok(Assignment {
                    variable: Some(name),
                    table: Vec::new(),
                    column: None,
                    compound: None,
                    value: Some(value),
                });
            }
            self.advance();
            variable = Some(name);
        }
        let (mut table, mut name) = (Vec::new(), self.name()?);
        while self.accept_symbol(".") {
            table.push(std::mem::replace(&mut name, self.name()?));
        }
        if name == "modify" && self.is_symbol("(") {
            let Some(column) = table.pop() else { return Err(self.unexpected()) };
            let path = table.iter().cloned().chain([column.clone()]).collect();
            let value = Some(self.modified(Expr::Column(path))?);
            return Ok(Assignment { variable, table, column: Some(column), compound: None, value });
        }
        if self.is_symbol("(") && !table.is_empty() {
            self.refuse(match name.eq_ignore_ascii_case("WRITE") {
                true => "UPDATE … SET column.WRITE",
                false => "A method of a column in SET",
            });
            self.clause("method_arguments")?;
            return Ok(Assignment { variable, table, column: Some(name), compound: None, value: None });
        }
        let operator = self.expect_assignment()?;
        let default = operator.is_none() && self.accept_word(Keyword::Default);
        let value = if default { None } else { Some(self.expression()?) };
        Ok(Assignment { variable, table, column: Some(name), compound: operator, value })
    }

    /// Reads the arguments of `.modify(path, value)` of json. The method of xml has one, and is refused when it runs.
    pub(crate) fn modified(&mut self, own: Expr) -> Parsed<Expr> {
        self.expect_symbol("(")?;
        let mut arguments = vec![own];
        arguments.extend(self.expressions()?);
        self.expect_symbol(")")?;
        if arguments.len() != 3 {
            self.refuse("The method modify() of xml");
        }
        Ok(function("JSON_MODIFY", arguments))
    }

    fn expect_assignment(&mut self) -> Parsed<Option<crate::expression::BinaryOperator>> {
        let operator = match self.kind() {
            Some(TokenKind::Symbol(symbol)) => assignment_operator(symbol),
            _ => None,
        };
        let Some(operator) = operator else { return Err(self.unexpected()) };
        self.advance();
        Ok(operator)
    }

    pub(crate) fn delete(&mut self, with: Vec<CommonTable>) -> Parsed<StatementKind> {
        self.advance();
        let top = self.row_limit()?;
        self.accept_word(Keyword::From);
        let target = self.table_name()?;
        let hints = self.change_hints()?;
        let output = self.output()?;
        let from = if self.accept_word(Keyword::From) { self.table_sources()? } else { Vec::new() };
        let (filter, current_of) = self.where_clause()?;
        self.option_clause()?;
        let delete = Delete { with, top, target, from, filter, current_of, output, hints };
        Ok(StatementKind::Delete(Box::new(delete)))
    }

    /// Parses WHERE: a condition, or CURRENT OF a cursor.
    fn where_clause(&mut self) -> Parsed<(Option<Expr>, Option<CursorName>)> {
        if !self.accept_word(Keyword::Where) {
            return Ok((None, None));
        }
        if self.accept_word(Keyword::Current) {
            self.expect_bare("OF")?;
            return Ok((None, Some(self.cursor_name()?)));
        }
        Ok((Some(self.condition()?), None))
    }
}
