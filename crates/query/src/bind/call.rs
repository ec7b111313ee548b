//! Calls: the function's entry in the table says how its arguments are bound.

use std::sync::Arc;

use datafusion::logical_expr::lit;
use tds::SqlType;

use super::super::functions::function::{Call, Signature};
use super::super::functions::{self, Kernel, Written};
use super::super::scalar::Scalar;
use super::super::size::check_repeated;
use super::super::typed::{Typed, call_with};
use super::super::{Datum, TableFunction};
use super::for_clause::is_json;
use super::scope::ScopeColumn;
use super::value::{choose, coalesce, never_computed, truth_of};
use super::{Binder, Scope};
use tsql::errors;
use tsql::expression::{Comparison, DEFAULT_ARGUMENT, Expr as Ast, FunctionCall, Literal};
use tsql::query::JsonColumn;
use tsql::{ObjectName, SqlError};

impl Binder<'_> {
    /// Binds a call. Errors: 195 for an unknown name, 174 and 189 for a wrong number of arguments.
    pub(super) fn function_call(&self, call: &FunctionCall, scope: &Scope<'_>) -> Result<Typed, SqlError> {
        if let Some(schema) = &call.schema {
            return user_function(self, schema, call, scope);
        }
        let Some(function) = functions::find(&call.name) else { return other_call(self, call, scope) };
        let signature = &function.signature;
        check_form(call, signature, &function.kernel)?;
        match function.kernel {
            Kernel::Window(_) if call.over.is_none() => {
                let text = format!("The function '{}' must have an OVER clause.", call.name);
                Err(SqlError::new(10753, 15, 1, text))
            }
            Kernel::Window(_) => self.window_call(call, scope),
            Kernel::Aggregate(_) if call.over.is_some() => self.window_call(call, scope),
            Kernel::Aggregate(_) => self.aggregate_call(call, scope),
            Kernel::Written(written) => written_call(self, written, call, scope),
            Kernel::Values(kernel) => {
                let values = match call.star {
                    true => all_columns(self, scope)?,
                    false => argument_values(self, &call.arguments, scope)?,
                };
                kernel(&Call { name: signature.name, arguments: &values, facts: self.facts()? })
            }
            Kernel::Table(_) => Err(errors::UNKNOWN_FUNCTION.with([&call.name.to_lowercase()])),
        }
    }

    /// Binds a function that gives rows. Errors: 208 for an unknown name, 174 and 189 for a wrong number of arguments.
    pub(super) fn rows_call(
        &self,
        name: &ObjectName,
        arguments: &[Typed],
        shape: &[JsonColumn],
    ) -> Result<TableFunction, SqlError> {
        if name.schema.is_none()
            && let Some(function) = functions::find(&name.name)
            && let Kernel::Table(kernel) = function.kernel
        {
            function.signature.check_count(arguments.len())?;
            return kernel(arguments, shape);
        }
        self.environment.table_function(name)
    }
}

/// Checks the syntax around the arguments, and their number.
fn check_form(call: &FunctionCall, signature: &Signature, kernel: &Kernel) -> Result<(), SqlError> {
    let aggregates = matches!(kernel, Kernel::Aggregate(_));
    if call.star && !signature.takes_star {
        return Err(errors::SYNTAX.with(["*"]));
    }
    if call.distinct && !aggregates && call.over.is_none() {
        return Err(errors::SYNTAX_KEYWORD.with(["DISTINCT"]));
    }
    if call.over.is_some() && !aggregates && !matches!(kernel, Kernel::Window(_)) {
        return Err(super::window::not_windowing(&call.name));
    }
    if !call.within_group.is_empty() && !signature.within_group {
        let text = format!("The function '{}' may not have a WITHIN GROUP clause.", call.name);
        return Err(SqlError::new(10757, 15, 1, text));
    }
    match kernel {
        _ if call.star => Ok(()),
        // The grammar of SQL Server has these two.
        Kernel::Written(Written::Coalesce | Written::NullIf)
            if signature.check_count(call.arguments.len()).is_err() =>
        {
            Err(errors::SYNTAX.with([")"]))
        }
        _ => signature.check_count(call.arguments.len()),
    }
}

/// Methods of CLR types, and functions of the session. Errors: 195.
fn other_call(binder: &Binder<'_>, call: &FunctionCall, scope: &Scope<'_>) -> Result<Typed, SqlError> {
    let unknown = || errors::UNKNOWN_FUNCTION.with([&call.name.to_lowercase()]);
    if call.over.is_some() {
        return Err(unknown());
    }
    if let Some(method) = call.name.strip_prefix('.') {
        let mut values = argument_values(binder, &call.arguments, scope)?.into_iter();
        let value = values.next().ok_or_else(|| SqlError::internal("a method of nothing"))?;
        return functions::value_method(value, method, values.collect());
    }
    if let Some(type_name) = call.name.strip_suffix("::") {
        let Some((Ast::Literal(Literal::Text { value: method, .. }), arguments)) =
            call.arguments.split_first()
        else {
            return Err(errors::SYNTAX.with(["::"]));
        };
        let values = argument_values(binder, arguments, scope)?;
        return functions::static_method(type_name, method, values);
    }
    if call.star {
        return Err(errors::SYNTAX.with(["*"]));
    }
    let values = argument_values(binder, &call.arguments, scope)?;
    Arc::clone(binder.facts()?).function(&call.name, &values)?.ok_or_else(unknown)
}

fn written_call(
    binder: &Binder<'_>,
    written: Written,
    call: &FunctionCall,
    scope: &Scope<'_>,
) -> Result<Typed, SqlError> {
    match written {
        Written::Grouping => binder.grouping_call(call, scope, SqlType::TinyInt),
        Written::GroupingId => binder.grouping_call(call, scope, SqlType::Int),
        Written::Coalesce => {
            let mut values: Vec<Typed> = Vec::with_capacity(call.arguments.len());
            for argument in &call.arguments {
                let decided =
                    values.iter().any(|value| value.constant.as_ref().is_some_and(|c| !c.is_null()));
                values.push(match decided {
                    true => never_computed(binder, argument, scope)?,
                    false => binder.value(argument, scope)?,
                });
            }
            coalesce(values)
        }
        Written::IsNull => {
            let [value, other] = call.arguments.as_slice() else { return Err(arguments_missing(call)) };
            let value = binder.value(value, scope)?;
            let is_known = value.constant.as_ref().is_some_and(|constant| !constant.is_null());
            let other =
                if is_known { never_computed(binder, other, scope)? } else { binder.value(other, scope)? };
            // The type is the first one's, unlike COALESCE.
            let sql_type = if value.untyped_null { other.sql_type.clone() } else { value.sql_type.clone() };
            let (value, other) = (value.cast(&sql_type)?, other.cast(&sql_type)?);
            check_repeated(&value.expr)?;
            let nullable = value.nullable && other.nullable;
            let condition = value.expr.clone().is_not_null();
            let mut typed = choose(vec![condition], vec![value, other])?;
            typed.nullable = nullable;
            Ok(typed)
        }
        Written::NullIf => {
            let [value, other] = call.arguments.as_slice() else { return Err(arguments_missing(call)) };
            let value = binder.value(value, scope)?;
            let is_null = value.constant.as_ref().is_some_and(Datum::is_null);
            let other =
                if is_null { never_computed(binder, other, scope)? } else { binder.value(other, scope)? };
            if value.untyped_null {
                let text = "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known.";
                return Err(SqlError::new(4151, 16, 1, text));
            }
            check_repeated(&value.expr)?;
            let equal = super::condition::compare(value.clone(), Comparison::Equal, other)?;
            let sql_type = value.sql_type.clone();
            choose(vec![equal], vec![Typed::null().cast(&sql_type)?, value])
        }
        Written::Iif => {
            let [condition, then, otherwise] = call.arguments.as_slice() else {
                return Err(arguments_missing(call));
            };
            let condition = binder.condition(condition, scope)?;
            let (then, otherwise) = match scope.grouping.and(truth_of(&condition)) {
                Some(true) => (binder.value(then, scope)?, never_computed(binder, otherwise, scope)?),
                Some(false) => (never_computed(binder, then, scope)?, binder.value(otherwise, scope)?),
                None => (binder.value(then, scope)?, binder.value(otherwise, scope)?),
            };
            choose(vec![condition], vec![then, otherwise])
        }
        Written::Choose => {
            let mut values = argument_values(binder, &call.arguments, scope)?.into_iter();
            let index = values.next().ok_or_else(|| arguments_missing(call))?.cast(&SqlType::Int)?;
            check_repeated(&index.expr)?;
            let mut conditions = Vec::new();
            let mut results: Vec<Typed> = values.collect();
            for position in 1..=results.len() {
                conditions.push(index.expr.clone().eq(lit(position as i32)));
            }
            results.push(Typed::null());
            choose(conditions, results)
        }
        Written::Date(function) => {
            let mut arguments = call.arguments.iter();
            let part = match arguments.next() {
                Some(Ast::Column(parts)) if parts.len() == 1 => parts.first().cloned().unwrap_or_default(),
                _ => {
                    return Err(SqlError::new(
                        1023,
                        15,
                        1,
                        format!("Invalid parameter 1 specified for {}.", call.name.to_lowercase()),
                    ));
                }
            };
            let values =
                arguments.map(|argument| binder.value(argument, scope)).collect::<Result<Vec<_>, _>>()?;
            functions::date_call(function, &call.name, &part, values, binder.facts()?.date_first())
        }
        // The kind of JSON is a bare word.
        Written::IsJson => {
            let [value, kind @ ..] = call.arguments.as_slice() else { return Err(arguments_missing(call)) };
            let kind = match kind.first() {
                Some(Ast::Column(parts)) if parts.len() == 1 => {
                    Typed::constant(Datum::Text(parts.concat()), functions::name_type())?
                }
                Some(kind) => binder.value(kind, scope)?,
                None => Typed::constant(Datum::Text("CONTAINER".into()), functions::name_type())?,
            };
            functions::is_json(binder.value(value, scope)?, kind)
        }
        Written::Json(function) => {
            let nested: Vec<bool> = call.arguments.iter().map(is_json).collect();
            functions::construct(function, argument_values(binder, &call.arguments, scope)?, &nested)
        }
    }
}

fn arguments_missing(call: &FunctionCall) -> SqlError {
    SqlError::internal(format!("{} with too few arguments", call.name))
}

/// Returns the value of `*` as an argument: every column in scope. Errors: 8120 if rows are grouped by others.
fn all_columns(binder: &Binder<'_>, scope: &Scope<'_>) -> Result<Vec<Typed>, SqlError> {
    let value = |column: &ScopeColumn| match scope.grouping {
        None => Ok(column.value.clone()),
        Some(_) => {
            let name = column.table.iter().chain([&column.output.name]).cloned().collect();
            binder.value(&Ast::Column(name), scope)
        }
    };
    let columns = scope.grouping.map_or(&scope.columns, |grouping| &grouping.below.columns);
    columns.iter().map(value).collect()
}

/// The beginning of the names of users' functions in plans.
pub(super) const USER_FUNCTION: &str = "function ";

/// Binds a call of a function of the user's own.
fn user_function(
    binder: &Binder<'_>,
    schema: &str,
    call_: &FunctionCall,
    scope: &Scope<'_>,
) -> Result<Typed, SqlError> {
    let database = call_.database.clone().or_else(|| binder.database.borrow().clone());
    let function = binder.environment.scalar_function(database.as_deref(), schema, &call_.name)?;
    super::from::check_count(&function.name, function.parameters.len(), call_.arguments.len())?;
    let mut arguments = Vec::with_capacity(call_.arguments.len());
    let null = Ast::Literal(Literal::Null);
    for (at, (argument, sql_type)) in call_.arguments.iter().zip(&function.parameters).enumerate() {
        let is_default = matches!(argument, Ast::Variable(name) if name == DEFAULT_ARGUMENT);
        // DEFAULT of a parameter without one is NULL.
        let default = || function.defaults.get(at).and_then(Option::as_ref).unwrap_or(&null);
        let argument = if is_default { default() } else { argument };
        arguments.push(binder.value(argument, scope)?.cast(sql_type)?);
    }
    let kernel = function.kernel;
    let scalar = Scalar::by_value(
        &format!("{USER_FUNCTION}{}", function.name),
        function.parameters,
        function.returns,
        move |arguments| kernel(arguments),
    );
    let mut typed = call_with(scalar, arguments);
    typed.nullable = true;
    Ok(typed)
}

fn argument_values(
    binder: &Binder<'_>,
    expressions: &[Ast],
    scope: &Scope<'_>,
) -> Result<Vec<Typed>, SqlError> {
    expressions.iter().map(|expr| binder.value(expr, scope)).collect()
}
