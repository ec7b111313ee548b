//! sp_describe_undeclared_parameters: which types the parameters of a statement should have.
//!
//! A parameter takes the type of what it is compared, combined or assigned with ("sp_describe_undeclared_parameters",
//! Remarks); one without such a partner is nvarchar(4000).

use databases::catalogue::{TABLE_TYPE_ID, UserType, same_name};
use introspection::system_views::{View, max_length, precision, scale, type_id_of_name};
use query::Datum;
use query::system_types::system_type;
use tds::{Length, SqlType};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Execute, Insert, InsertSource, Merge, MergeAction, Statement, StatementKind};
use tsql::expression::Expr;
use tsql::query::{CommonTable, Query, QueryBody, Select, SelectItem, TableSource};
use tsql::{parse_batch_on, parse_declarations, parse_object_name};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::evaluation::declared_type::{describe_declarations, find_type};
use crate::statements::evaluation::evaluate;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::parameters::Signature;

const SIGNATURE: Signature =
    Signature { name: "sp_describe_undeclared_parameters", parameters: &["@tsql", "@params"], required: 1 };

const COLUMNS: &[(&str, &str)] = &[
    ("parameter_ordinal", "int!"),
    ("name", "name!"),
    ("suggested_system_type_id", "int!"),
    ("suggested_system_type_name", "nvarchar(256)"),
    ("suggested_max_length", "smallint!"),
    ("suggested_precision", "tinyint!"),
    ("suggested_scale", "tinyint!"),
    ("suggested_user_type_id", "int"),
    ("suggested_user_type_database", "name"),
    ("suggested_user_type_schema", "name"),
    ("suggested_user_type_name", "name"),
    ("suggested_assembly_qualified_type_name", "nvarchar(4000)"),
    ("suggested_xml_collection_id", "int"),
    ("suggested_xml_collection_database", "name"),
    ("suggested_xml_collection_schema", "name"),
    ("suggested_xml_collection_name", "name"),
    ("suggested_is_xml_document", "bit!"),
    ("suggested_is_case_sensitive", "bit!"),
    ("suggested_is_fixed_length_clr_type", "bit!"),
    ("suggested_is_input", "bit!"),
    ("suggested_is_output", "bit!"),
    ("formal_parameter_name", "name"),
    ("suggested_tds_type_id", "int!"),
    ("suggested_tds_length", "int!"),
];

/// Describes each undeclared parameter in a row, in the order in which they appear. Errors: 11503, 11508, and those of
/// parsing.
pub(crate) fn describe_parameters(session: &Session, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = SIGNATURE.bind(arguments)?;
    let text = parameters.text(0).unwrap_or_default();
    let declared = parse_declarations(&parameters.text(1).unwrap_or_default())?;
    let statements = parse_batch_on(session.instance.name(), &text, session.settings.quoted_identifier)?;
    let mut frame = Frame::new(true);
    describe_declarations(session, &declared, &mut frame)?;
    let mut known: Vec<String> = declared.into_iter().map(|declaration| declaration.name).collect();
    // First their names, so that expressions with them can be bound; then their types.
    let mut names =
        Deduction { session, frame: &frame, known: &mut known, found: Vec::new(), formal: Vec::new() };
    names.statements(&statements)?;
    let found: Vec<String> = names.found.into_iter().map(|(name, _)| name).collect();
    for name in &found {
        frame.declare(name, unknown_type(), Datum::Null);
    }
    let mut deduction =
        Deduction { session, frame: &frame, known: &mut known, found: Vec::new(), formal: Vec::new() };
    deduction.statements(&statements)?;
    let mut view = View::new(COLUMNS);
    for (ordinal, (name, sql_type)) in (1_i64..).zip(&deduction.found) {
        let formal = deduction.formal.iter().find(|formal| same_name(&formal.argument, name));
        let mut row =
            match formal.and_then(|formal| formal.user_type.as_ref()).filter(|own| own.base().is_none()) {
                Some(table) => described_table(ordinal, name, table),
                None => described(ordinal, name, &sql_type.clone().unwrap_or_else(unknown_type)),
            };
        if let Some(formal) = formal {
            if let Some(own) = &formal.user_type {
                let names = [&own.database, &own.schema, &own.name].map(|name| Datum::Text(name.clone()));
                let known = [Datum::Int(i64::from(own.id))].into_iter().chain(names);
                row.splice(USER_TYPE_ID..USER_TYPE_ID + 4, known);
            }
            let names = [Datum::Bit(formal.output), Datum::Text(formal.name.clone())];
            row.splice(IS_OUTPUT..IS_OUTPUT + 2, names);
        }
        view.push(row);
    }
    Ok(view)
}

/// Returns the type of a parameter whose use tells nothing.
fn unknown_type() -> SqlType {
    SqlType::NVarChar { length: Length::Units(4000) }
}

fn described(ordinal: i64, name: &str, sql_type: &SqlType) -> Vec<Datum> {
    let spelled = match sql_type {
        SqlType::RowVersion => "timestamp".to_string(),
        other => compact(other),
    };
    let base = spelled.split('(').next().unwrap_or_default();
    let column = tds::Column::new(name.to_string(), sql_type.clone(), true, None);
    let mut writer = tds::Writer::new();
    column.type_info.encode(&mut writer, tds::Direction::ServerToClient);
    let token = writer.finish().ok().and_then(|bytes| bytes.first().copied()).unwrap_or(0);
    let clr = matches!(sql_type, SqlType::Udt { .. }).then(|| system_type(sql_type));
    let system_id = clr.map(|clr| i64::from(clr.system_type_id));
    let mut row = vec![
        Datum::Int(ordinal),
        Datum::Text(name.to_string()),
        Datum::Int(system_id.or_else(|| type_id_of_name(base).map(i64::from)).unwrap_or(0)),
        Datum::Text(spelled.clone()),
        Datum::Int(i64::from(max_length(sql_type))),
        Datum::Int(i64::from(precision(sql_type))),
        Datum::Int(i64::from(scale(sql_type))),
    ];
    match clr {
        Some(clr) => {
            row.push(Datum::Int(i64::from(clr.user_type_id)));
            row.extend(["master", "sys", clr.name].map(|name| Datum::Text(name.to_owned())));
            row.extend(std::iter::repeat_n(Datum::Null, 5));
        }
        None => row.extend(std::iter::repeat_n(Datum::Null, 9)),
    }
    row.extend([false, false, false, true, false].map(Datum::Bit));
    row.push(Datum::Null);
    row.extend([Datum::Int(i64::from(token)), Datum::Int(i64::from(column.type_info.max_length))]);
    row
}

/// Columns of the answer.
const USER_TYPE_ID: usize = 7;
const IS_OUTPUT: usize = 20;

/// A parameter of a table type.
fn described_table(ordinal: i64, name: &str, table: &UserType) -> Vec<Datum> {
    let mut row = described(ordinal, name, &unknown_type());
    let table_type = Datum::Int(i64::from(TABLE_TYPE_ID));
    let own = [
        table_type.clone(),
        Datum::Text(table.qualified_name()),
        Datum::Int(-1),
        Datum::Int(0),
        Datum::Int(0),
    ];
    row.splice(2..USER_TYPE_ID, own);
    row.splice(row.len() - 2.., [table_type, Datum::Int(-1)]);
    row
}

/// The tables that an expression's columns come from.
#[derive(Clone, Copy)]
struct Place<'q> {
    with: &'q [CommonTable],
    from: &'q [TableSource],
}

const NOWHERE: Place<'static> = Place { with: &[], from: &[] };

struct Deduction<'s> {
    session: &'s Session,
    frame: &'s Frame,
    /// Variables that are no parameters.
    known: &'s mut Vec<String>,
    found: Vec<(String, Option<SqlType>)>,
    /// What parameters stand for in calls of procedures.
    formal: Vec<Formal>,
}

/// The parameter of a procedure that an undeclared parameter is handed to.
struct Formal {
    /// The undeclared parameter.
    argument: String,
    /// The procedure's own name of it.
    name: String,
    output: bool,
    user_type: Option<UserType>,
}

impl Deduction<'_> {
    fn statements(&mut self, statements: &[Statement]) -> Result<(), SqlError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), SqlError> {
        match &statement.kind {
            StatementKind::Query(query) => self.query(query, &[]),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => {
                let own =
                    [TableSource::Table { name: update.target.clone(), alias: None, hints: update.hints }];
                let from = if update.from.is_empty() { &own[..] } else { &update.from };
                let place = Place { with: &[], from };
                for assignment in &update.assignments {
                    let Some(value) = &assignment.value else { continue };
                    let expected = assignment.column.as_ref().and_then(|column| {
                        self.type_of(&Expr::Column(vec![column.clone()]), place).or_else(|| {
                            let path = vec![update.target.name.clone(), column.clone()];
                            self.type_of(&Expr::Column(path), place)
                        })
                    });
                    self.expr(value, place, expected.as_ref())?;
                }
                self.sources(from, &[])?;
                self.optional(update.filter.as_ref(), place)
            }
            StatementKind::Delete(delete) => {
                let own =
                    [TableSource::Table { name: delete.target.clone(), alias: None, hints: delete.hints }];
                let from = if delete.from.is_empty() { &own[..] } else { &delete.from };
                self.sources(from, &[])?;
                self.optional(delete.filter.as_ref(), Place { with: &[], from })
            }
            StatementKind::Merge(merge) => self.merge(merge),
            StatementKind::If { condition, then, otherwise } => {
                self.expr(condition, NOWHERE, None)?;
                self.statement(then)?;
                otherwise.as_ref().map_or(Ok(()), |otherwise| self.statement(otherwise))
            }
            StatementKind::While { condition, body } => {
                self.expr(condition, NOWHERE, None)?;
                self.statement(body)
            }
            StatementKind::Block(inner) => self.statements(inner),
            StatementKind::TryCatch { tried, caught } => {
                self.statements(tried)?;
                self.statements(caught)
            }
            StatementKind::Declare(declarations) => {
                for declaration in declarations {
                    self.known.push(declaration.name.clone());
                    if let Some(value) = &declaration.value {
                        self.expr(value, NOWHERE, Some(&declaration.sql_type))?;
                    }
                }
                Ok(())
            }
            StatementKind::SetVariable { value, .. } | StatementKind::Print(value) => {
                self.expr(value, NOWHERE, None)
            }
            StatementKind::Return(Some(value)) => self.expr(value, NOWHERE, Some(&SqlType::Int)),
            StatementKind::Execute(execute) => self.call(execute),
            _ => Ok(()),
        }
    }

    /// The arguments of a procedure are of its parameters' types.
    fn call(&mut self, execute: &Execute) -> Result<(), SqlError> {
        let module = self.session.work.find_module(&execute.procedure, &self.session.database)?;
        let declared = module.as_ref().map_or(&[][..], |(_, module)| &module.definition.parameters);
        for (position, argument) in execute.arguments.iter().enumerate() {
            let Some(value) = &argument.value else { continue };
            let own = match &argument.name {
                Some(name) => declared.iter().find(|own| same_name(&own.name, name)),
                None => declared.get(position),
            };
            let Some(own) = own else {
                self.expr(value, NOWHERE, None)?;
                continue;
            };
            let user_type = match own.type_text.parse::<SqlType>() {
                Ok(_) => None,
                Err(_) => {
                    let name = parse_object_name(&own.type_text)?;
                    find_type(self.session, &name, execute.procedure.database.as_deref())?
                }
            };
            let base = user_type.as_ref().and_then(UserType::base).map(|(base, _)| base);
            self.expr(value, NOWHERE, own.type_text.parse().ok().or(base).as_ref())?;
            if let Some(argument) = self.parameter(value) {
                let (argument, name) = (argument.to_owned(), own.name.clone());
                self.formal.push(Formal { argument, name, output: own.output, user_type });
            }
        }
        Ok(())
    }

    fn merge(&mut self, merge: &Merge) -> Result<(), SqlError> {
        let target = TableSource::Table {
            name: merge.target.clone(),
            alias: merge.alias.clone(),
            hints: Default::default(),
        };
        let both = [target.clone(), merge.source.clone()];
        let place = Place { with: &merge.with, from: &both };
        for common in &merge.with {
            self.query(&common.query, &[])?;
        }
        self.sources(std::slice::from_ref(&merge.source), &merge.with)?;
        self.expr(&merge.condition, place, None)?;
        let own = Place { with: &merge.with, from: &both[..1] };
        for clause in &merge.clauses {
            self.optional(clause.condition.as_ref(), place)?;
            match &clause.action {
                MergeAction::Delete => {}
                MergeAction::Update(assignments) => {
                    for assignment in assignments {
                        let Some(value) = &assignment.value else { continue };
                        let column = assignment.column.as_ref();
                        let expected =
                            column.and_then(|column| self.type_of(&Expr::Column(vec![column.clone()]), own));
                        self.expr(value, place, expected.as_ref())?;
                    }
                }
                MergeAction::Insert { columns, values } => {
                    let types = self.column_types(&merge.target, columns.as_deref())?;
                    for (index, value) in values.iter().enumerate() {
                        if let Some(value) = value {
                            self.expr(value, place, types.get(index))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, insert: &Insert) -> Result<(), SqlError> {
        let types = self.column_types(&insert.table, insert.columns.as_deref())?;
        match &insert.source {
            InsertSource::Values(rows) => {
                for row in rows {
                    for (index, value) in row.iter().enumerate() {
                        if let Some(value) = value {
                            self.expr(value, NOWHERE, types.get(index))?;
                        }
                    }
                }
                Ok(())
            }
            InsertSource::Query(query) => self.query(query, &types),
            _ => Ok(()),
        }
    }

    /// Types of the columns that an INSERT gives values to.
    fn column_types(&self, table: &ObjectName, columns: Option<&[String]>) -> Result<Vec<SqlType>, SqlError> {
        let Some(table) = self.session.work.find(table, &self.session.database)? else {
            return Ok(Vec::new());
        };
        let all = &table.definition.columns;
        Ok(match columns {
            Some(names) => names
                .iter()
                .map(|name| {
                    let column = all.iter().find(|column| same_name(&column.name, name));
                    column.map_or_else(unknown_type, |column| column.sql_type.clone())
                })
                .collect(),
            None => all
                .iter()
                .filter(|column| {
                    column.identity.is_none()
                        && column.computed.is_none()
                        && column.sql_type != SqlType::RowVersion
                })
                .map(|column| column.sql_type.clone())
                .collect(),
        })
    }

    /// Deduces parameters from a query whose columns are wanted as `types`.
    fn query(&mut self, query: &Query, types: &[SqlType]) -> Result<(), SqlError> {
        for common in &query.with {
            self.query(&common.query, &[])?;
        }
        self.body(&query.body, &query.with, types)?;
        let place = match &query.body {
            QueryBody::Select(select) => Place { with: &query.with, from: &select.from },
            _ => NOWHERE,
        };
        for item in &query.order_by {
            self.expr(&item.expr, place, None)?;
        }
        for count in [&query.offset, &query.fetch].into_iter().flatten() {
            self.expr(count, NOWHERE, Some(&SqlType::BigInt))?;
        }
        Ok(())
    }

    fn body(&mut self, body: &QueryBody, with: &[CommonTable], types: &[SqlType]) -> Result<(), SqlError> {
        match body {
            QueryBody::Nested(query) => self.query(query, types),
            QueryBody::Set { left, right, .. } => {
                self.body(left, with, types)?;
                self.body(right, with, types)
            }
            QueryBody::Select(select) => self.select(select, with, types),
        }
    }

    fn select(&mut self, select: &Select, with: &[CommonTable], types: &[SqlType]) -> Result<(), SqlError> {
        let place = Place { with, from: &select.from };
        if let Some(top) = &select.top {
            self.expr(&top.count, NOWHERE, Some(&SqlType::BigInt))?;
        }
        for (index, item) in select.items.iter().enumerate() {
            match item {
                SelectItem::Value { expr, .. } => self.expr(expr, place, types.get(index))?,
                SelectItem::Assign { expr, .. } => self.expr(expr, place, None)?,
                SelectItem::Wildcard(_) => {}
            }
        }
        self.sources(&select.from, with)?;
        self.optional(select.filter.as_ref(), place)?;
        select.group_by.iter().try_for_each(|expr| self.expr(expr, place, None))?;
        self.optional(select.having.as_ref(), place)
    }

    fn sources(&mut self, sources: &[TableSource], with: &[CommonTable]) -> Result<(), SqlError> {
        for source in sources {
            match source {
                TableSource::Derived { query, .. } => self.query(query, &[])?,
                TableSource::Join { left, right, on, .. } => {
                    self.sources(std::slice::from_ref(left), with)?;
                    self.sources(std::slice::from_ref(right), with)?;
                    self.optional(on.as_ref(), Place { with, from: sources })?;
                }
                TableSource::Values { rows, .. } => {
                    rows.iter().flatten().try_for_each(|value| self.expr(value, NOWHERE, None))?;
                }
                TableSource::Function { arguments, .. } => {
                    arguments.iter().try_for_each(|value| self.expr(value, NOWHERE, None))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn optional(&mut self, expr: Option<&Expr>, place: Place<'_>) -> Result<(), SqlError> {
        expr.map_or(Ok(()), |expr| self.expr(expr, place, None))
    }

    /// Visits an expression that is wanted as a type.
    fn expr(&mut self, expr: &Expr, place: Place<'_>, expected: Option<&SqlType>) -> Result<(), SqlError> {
        match expr {
            Expr::Variable(name) => self.note(name, expected),
            Expr::Compare(left, _, right) => self.pair(left, right, place, None),
            Expr::Binary(left, _, right) => self.pair(left, right, place, expected),
            Expr::And(left, right) | Expr::Or(left, right) => {
                self.expr(left, place, None)?;
                self.expr(right, place, None)
            }
            Expr::Not(inner) | Expr::IsNull(inner, _) => self.expr(inner, place, None),
            Expr::Unary(_, inner) | Expr::Collate(inner, _) => self.expr(inner, place, expected),
            Expr::Between { value, low, high, .. } => {
                let own = self.type_of(value, place);
                let other = self.type_of(low, place).or_else(|| self.type_of(high, place));
                self.expr(value, place, other.as_ref())?;
                self.expr(low, place, own.as_ref())?;
                self.expr(high, place, own.as_ref())
            }
            Expr::InList { value, list, .. } => {
                let own = self.type_of(value, place);
                let other = list.iter().find_map(|item| self.type_of(item, place));
                self.expr(value, place, other.as_ref())?;
                list.iter().try_for_each(|item| self.expr(item, place, own.as_ref()))
            }
            Expr::InQuery { value, query, .. } | Expr::Quantified { value, query, .. } => {
                let other = evaluate::bind(self.session, query, self.frame).ok();
                let other = other.and_then(|bound| Some(bound.columns.first()?.sql_type.clone()));
                self.expr(value, place, other.as_ref())?;
                self.query(query, &[])
            }
            Expr::Like { value, pattern, escape, .. } => {
                let text = |own: Option<SqlType>| match own {
                    Some(own) if own.is_character() && !own.is_unicode() => {
                        SqlType::VarChar { length: Length::Units(8000) }
                    }
                    _ => unknown_type(),
                };
                let (own, other) = (text(self.type_of(value, place)), text(self.type_of(pattern, place)));
                self.expr(value, place, Some(&other))?;
                self.expr(pattern, place, Some(&own))?;
                escape.as_ref().map_or(Ok(()), |escape| self.expr(escape, place, None))
            }
            Expr::Exists(query) => self.query(query, &[]),
            Expr::Subquery(query) => self.query(query, expected.map_or(&[], std::slice::from_ref)),
            Expr::Case { operand, branches, otherwise } => {
                let subject = operand.as_ref().and_then(|operand| self.type_of(operand, place));
                let result = branches
                    .iter()
                    .map(|(_, then)| then)
                    .chain(otherwise.as_deref())
                    .find_map(|then| self.type_of(then, place))
                    .or_else(|| expected.cloned());
                if let Some(operand) = operand {
                    let when = branches.iter().find_map(|(when, _)| self.type_of(when, place));
                    self.expr(operand, place, when.as_ref())?;
                }
                for (when, then) in branches {
                    self.expr(when, place, subject.as_ref())?;
                    self.expr(then, place, result.as_ref())?;
                }
                otherwise.as_ref().map_or(Ok(()), |otherwise| self.expr(otherwise, place, result.as_ref()))
            }
            Expr::Cast { value, sql_type, .. } => self.expr(value, place, Some(sql_type)),
            Expr::Function(call) => {
                let alike = matches!(call.name.as_str(), "ISNULL" | "COALESCE" | "NULLIF");
                let other = alike.then(|| call.arguments.iter().find_map(|a| self.type_of(a, place)));
                let other = other.flatten().or_else(|| expected.filter(|_| alike).cloned());
                for (index, argument) in call.arguments.iter().enumerate() {
                    let counts = counted(&call.name, index).then_some(SqlType::Int);
                    self.expr(argument, place, counts.as_ref().or(other.as_ref()))?;
                }
                Ok(())
            }
            Expr::Literal(_) | Expr::NextValue(_) | Expr::Column(_) => Ok(()),
        }
    }

    /// Deduces parameters from two operands, each of which tells the other's type.
    fn pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        place: Place<'_>,
        expected: Option<&SqlType>,
    ) -> Result<(), SqlError> {
        if let (Some(first), Some(second)) = (self.parameter(left), self.parameter(right))
            && expected.is_none()
        {
            return Err(SqlError::new(
                11503,
                16,
                1,
                format!(
                    "The parameter type cannot be deduced because a single expression contains two untyped parameters, '{first}' and '{second}'."
                ),
            ));
        }
        let for_left = self.type_of(right, place).or_else(|| expected.cloned());
        let for_right = self.type_of(left, place).or_else(|| expected.cloned());
        self.expr(left, place, for_left.as_ref())?;
        self.expr(right, place, for_right.as_ref())
    }

    /// Returns the name of an expression that is only an undeclared parameter.
    fn parameter<'e>(&self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Variable(name) if self.is_undeclared(name) => Some(name),
            _ => None,
        }
    }

    fn is_undeclared(&self, name: &str) -> bool {
        !name.starts_with("@@") && !self.known.iter().any(|known| same_name(known, name))
    }

    fn note(&mut self, name: &str, expected: Option<&SqlType>) -> Result<(), SqlError> {
        if !self.is_undeclared(name) {
            return Ok(());
        }
        if self.found.iter().any(|(found, _)| same_name(found, name)) {
            return Err(SqlError::new(
                11508,
                16,
                1,
                format!(
                    "The undeclared parameter '{name}' is used more than once in the batch being analyzed."
                ),
            ));
        }
        self.found.push((name.to_string(), expected.cloned()));
        Ok(())
    }

    /// Returns the type of an expression over some tables; `None` for a parameter and for an expression that cannot be
    /// bound alone.
    fn type_of(&self, expr: &Expr, place: Place<'_>) -> Option<SqlType> {
        if self.parameter(expr).is_some() {
            return None;
        }
        let item = SelectItem::Value { expr: expr.clone(), alias: None };
        let select = Select { items: vec![item], from: place.from.to_vec(), ..Select::default() };
        let query = Query { with: place.with.to_vec(), ..Query::select(select) };
        let bound = evaluate::bind(self.session, &query, self.frame).ok()?;
        Some(bound.columns.first()?.sql_type.clone())
    }
}

/// Returns true if an argument of a function is a count or a position.
fn counted(function: &str, index: usize) -> bool {
    match function {
        "LEFT" | "RIGHT" | "REPLICATE" | "DATEADD" | "ROUND" => index == 1,
        "SUBSTRING" | "STUFF" => index == 1 || index == 2,
        "CHARINDEX" => index == 2,
        "SPACE" | "CHAR" | "NCHAR" => index == 0,
        _ => false,
    }
}

/// Returns a type's name as `system_type_name` spells it: `decimal(10,2)`, without a blank.
pub(crate) fn compact(sql_type: &SqlType) -> String {
    sql_type.to_string().replace(", ", ",")
}
