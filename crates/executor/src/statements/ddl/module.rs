//! Views, procedures, functions and synonyms: CREATE, ALTER and DROP.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use databases::catalogue::{ColumnDefinition, ModuleDefinition, ModuleKind, ParameterDefinition, same_name};
use databases::storage::TableId;
use databases::store_error::name_taken;
use query::OutputColumn;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{CreateMode, CreateModule, Declaration, ModuleBody, ModuleWord, Statement, StatementKind};
use tsql::errors;
use tsql::keywords::Keyword;
use tsql::lexer::{TokenKind, tokenize};
use tsql::query::{Query, QueryBody, SelectItem};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::scopes;
use crate::session::work::{Place, place_of};
use crate::statements::ddl::declared_columns;
use crate::statements::ddl::new_table;
use crate::statements::ddl::trigger::{attach_trigger, detach_trigger, drop_triggers};
use crate::statements::ddl::user_type::check_parameters;
use crate::statements::dml::view::check_updatable;
use crate::statements::evaluation::declared_type::{Declared, declared_type, describe_declarations};
use crate::statements::evaluation::evaluate;

/// Runs CREATE, ALTER or CREATE OR ALTER. The objects that a view or inline function names must exist; a procedure is
/// checked when it runs.
///
/// Errors: 2714, 208, 2010; 443, 444 and 455 for what a function may not do; 4510 and those of a view's query.
pub(crate) fn create_module(
    session: &mut Session,
    create: &CreateModule,
    frame: &Frame,
) -> Result<(), SqlError> {
    let name = &create.name;
    if name.database.is_some() {
        return Err(SqlError::new(
            166,
            15,
            1,
            "'CREATE/ALTER' does not allow specifying the database name as a prefix to the object name.",
        ));
    }
    let known = session.work.find_module(name, &session.database)?;
    let table = session.work.find(name, &session.database)?.is_some();
    match (create.mode, &known) {
        (CreateMode::Create, Some(_)) => return Err(errors::OBJECT_EXISTS.with([&name.name])),
        (CreateMode::Create | CreateMode::CreateOrAlter, None) if table => {
            return Err(errors::OBJECT_EXISTS.with([&name.name]));
        }
        (CreateMode::Alter, None) => return Err(errors::INVALID_OBJECT.with([&name.to_string()])),
        _ => {}
    }
    let kind = kind_of(&create.body);
    if name.is_temporary() && kind != ModuleKind::Procedure {
        let text = format!("Temporary {}s are not allowed.", spelling(kind.word()));
        let number = if kind == ModuleKind::View { 4508 } else { 1074 };
        return Err(SqlError::new(number, 16, 1, text));
    }
    check_parameters_of(session, &create.body)?;
    check_temporary(session, create, kind)?;
    let mut definition = match &known {
        Some((_, module)) if module.definition.kind.word() == kind.word() => module.definition.clone(),
        Some(_) => {
            return Err(SqlError::new(
                2010,
                16,
                1,
                format!("Cannot perform alter on '{name}' because it is an incompatible object type."),
            ));
        }
        None => new_module(session, name, kind)?,
    };
    if matches!(create.body, ModuleBody::View { check: true, .. }) && !definition.triggers.is_empty() {
        return Err(SqlError::unsupported("WITH CHECK OPTION for a view with INSTEAD OF triggers"));
    }
    definition.kind = kind;
    definition.modified_us = now_us();
    definition.text.clone_from(&create.text);
    definition.quoted_identifier = session.settings.quoted_identifier;
    definition.parameters = parameters_of(&create.body);
    definition.columns = module_columns(session, create, frame)?;
    definition.renamed_columns = false;
    definition.prune_properties();
    if let ModuleBody::Trigger { table, instead, events, .. } = &create.body {
        attach_trigger(session, &mut definition, table, *instead, *events)?;
    }
    match known {
        Some((id, _)) => keep_module(session, id, &definition, place_of(name)),
        None => keep_new_module(session, &definition, name),
    }
}

/// Looks for temporary tables in what outlives them. Errors: 4508 for a view, 2772 for a function.
fn check_temporary(session: &Session, create: &CreateModule, kind: ModuleKind) -> Result<(), SqlError> {
    if !matches!(kind.word(), ModuleWord::View | ModuleWord::Function) {
        return Ok(());
    }
    let tokens = tokenize(&create.text, session.settings.quoted_identifier)?;
    let named = tokens.windows(2).filter(|pair| match pair {
        [before, _] => {
            let heads = [Keyword::From, Keyword::Join, Keyword::Into, Keyword::Update, Keyword::Apply];
            before.keyword.is_some_and(|word| heads.contains(&word))
                || matches!(before.kind, TokenKind::Symbol("," | "."))
        }
        _ => false,
    });
    for name in named.filter_map(|pair| pair.last()) {
        let (TokenKind::Word(name) | TokenKind::Quoted(name)) = &name.kind else { continue };
        let table = ObjectName::bare(name.clone());
        if table.is_temporary() && session.work.find(&table, &session.database)?.is_some() {
            return Err(match kind {
                ModuleKind::View => SqlError::new(
                    4508,
                    16,
                    1,
                    "Views or functions are not allowed on temporary tables. Table names that begin with '#' denote temporary tables.",
                ),
                _ => SqlError::new(2772, 16, 1, "Cannot access temporary tables from within a function."),
            });
        }
    }
    Ok(())
}

/// Gives a view or function the columns that its query has now (sp_refreshview, sp_refreshsqlmodule). Errors: 15009 without such a
/// module, 15165 for another one than a view where `views_only`, and those of the query.
pub(crate) fn refresh_module(
    session: &mut Session,
    name: &ObjectName,
    views_only: bool,
    frame: &Frame,
) -> Result<(), SqlError> {
    let Some((id, module)) = session.work.find_module(name, &session.database)? else {
        let text = format!(
            "The object '{name}' does not exist in database '{}' or is invalid for this operation.",
            session.database
        );
        return Err(SqlError::new(15009, 16, 1, text));
    };
    if views_only && module.definition.kind.word() != ModuleKind::View.word() {
        let text = format!("Could not find object '{name}' or you do not have permission.");
        return Err(SqlError::new(15165, 16, 1, text));
    }
    let mut definition = module.definition.clone();
    let columns = match module.body()? {
        Some(ModuleBody::View { columns, query, .. }) => {
            query_columns(session, name, columns.as_deref(), query, frame)?
        }
        Some(ModuleBody::InlineFunction { parameters, query }) => {
            let mut inner = frame.inner()?;
            describe_declarations(session, parameters, &mut inner)?;
            query_columns(session, name, None, query, &inner)?
        }
        _ => return Ok(()),
    };
    if definition.renamed_columns && columns.len() == definition.columns.len() {
        return Ok(());
    }
    definition.columns = columns;
    definition.renamed_columns = false;
    definition.modified_us = now_us();
    definition.prune_properties();
    let mark = session.work.start_change()?;
    let kept = keep_module(session, id, &definition, place_of(name));
    session.work.end_statement(&mark, kept.is_ok())?;
    kept
}

/// Looks up the types of parameters. Errors: those of [`check_parameters`], 40515 for a table that is passed to a function.
fn check_parameters_of(session: &Session, body: &ModuleBody) -> Result<(), SqlError> {
    let parameters = match body {
        ModuleBody::View { .. } | ModuleBody::Trigger { .. } => return Ok(()),
        ModuleBody::Procedure { parameters, .. } => return check_parameters(session, parameters),
        ModuleBody::ScalarFunction { parameters, .. }
        | ModuleBody::InlineFunction { parameters, .. }
        | ModuleBody::TableFunction { parameters, .. } => parameters,
    };
    for (number, parameter) in (1..).zip(parameters) {
        if let Declared::Table(_) = declared_type(session, &parameter.sql_type, number, None)? {
            return Err(SqlError::unsupported("A table-valued parameter of a function"));
        }
    }
    Ok(())
}

/// Runs CREATE SYNONYM.
pub(crate) fn create_synonym(
    session: &mut Session,
    name: &ObjectName,
    server: Option<&str>,
    target: &ObjectName,
) -> Result<(), SqlError> {
    let mut definition = new_module(session, name, ModuleKind::Synonym)?;
    let quoted =
        |part: Option<&str>| part.map(|part| format!("[{}]", part.replace(']', "]]"))).unwrap_or_default();
    let parts = [server, target.database.as_deref(), target.schema.as_deref(), Some(target.name.as_str())];
    // A part that is left out in the middle keeps its place.
    let written = parts.into_iter().skip_while(Option::is_none).map(quoted);
    definition.target = Some(written.collect::<Vec<_>>().join("."));
    keep_new_module(session, &definition, name)
}

/// Runs DROP VIEW, PROCEDURE, FUNCTION, SEQUENCE, SYNONYM. Errors: 3701, 3705 for an object of another kind.
pub(crate) fn drop_modules(
    session: &mut Session,
    word: ModuleWord,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<(), SqlError> {
    let spelled = spelling(word);
    for name in names {
        match session.work.find_module(name, &session.database)? {
            Some((id, module)) if module.definition.kind.word() == word => {
                session.instance.sequences.lock().remove(&module.definition.object_id);
                if word == ModuleWord::Trigger {
                    detach_trigger(session, &module.definition)?;
                }
                drop_triggers(
                    session,
                    &module.definition.schema,
                    &module.definition.database,
                    &module.definition.triggers,
                )?;
                session.work.write(place_of(name), |transaction| transaction.open(id)?.drop_table())?;
            }
            Some((_, module)) => {
                let other = spelling(module.definition.kind.word());
                return Err(SqlError::new(
                    3705,
                    16,
                    1,
                    format!(
                        "Cannot use DROP {} with '{name}' because '{name}' is a {other}. Use DROP {}.",
                        spelled.to_uppercase(),
                        other.to_uppercase()
                    ),
                ));
            }
            None if if_exists => {}
            None => return Err(errors::CANNOT_DROP.with([spelled, &name.to_string()])),
        }
    }
    Ok(())
}

/// Makes a module of a kind in the place where its name puts it. Errors: 911, 2760.
pub(crate) fn new_module(
    session: &Session,
    name: &ObjectName,
    kind: ModuleKind,
) -> Result<ModuleDefinition, SqlError> {
    let (database, schema) = new_table::home_of(session, name)?;
    Ok(ModuleDefinition {
        object_id: session.instance.new_object_id(),
        database,
        schema,
        name: name.name.clone(),
        created_us: now_us(),
        modified_us: now_us(),
        kind,
        text: String::new(),
        quoted_identifier: true,
        columns: Vec::new(),
        renamed_columns: false,
        parameters: Vec::new(),
        sequence: None,
        target: None,
        extended_properties: Vec::new(),
        parent_id: 0,
        triggers: Vec::new(),
    })
}

/// Puts a new module into the store. Errors: 2714.
pub(crate) fn keep_new_module(
    session: &mut Session,
    definition: &ModuleDefinition,
    name: &ObjectName,
) -> Result<(), SqlError> {
    let taken = session.work.find(name, &session.database)?.is_some()
        || session.work.find_module(name, &session.database)?.is_some();
    if taken {
        return Err(errors::OBJECT_EXISTS.with([&name.name]));
    }
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
    let key = session.work.key_of(name, &session.database);
    let place = place_of(name);
    let created =
        session.work.write(place, |transaction| transaction.create_table(&key, schema, &properties));
    let id = created.map_err(|error| name_taken(error, || errors::OBJECT_EXISTS.with([&name.name])))?;
    scopes::note_module(&mut session.work, place);
    if name.is_global() {
        scopes::note_global(&mut session.work, id);
    }
    Ok(())
}

/// Keeps a changed module.
pub(crate) fn keep_module(
    session: &mut Session,
    id: TableId,
    definition: &ModuleDefinition,
    place: Place,
) -> Result<(), SqlError> {
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    session.work.write(place, |transaction| transaction.open(id)?.set_properties(&properties))
}

/// Returns the columns of a view or table-valued function, found by binding it.
fn module_columns(
    session: &Session,
    create: &CreateModule,
    frame: &Frame,
) -> Result<Vec<ColumnDefinition>, SqlError> {
    match &create.body {
        ModuleBody::View { columns, query, check } => {
            let found = query_columns(session, &create.name, columns.as_deref(), query, frame)?;
            if *check {
                check_updatable(session, &create.name, columns.as_deref(), query)?;
            }
            Ok(found)
        }
        ModuleBody::InlineFunction { parameters, query } => {
            let mut inner = frame.inner()?;
            describe_declarations(session, parameters, &mut inner)?;
            query_columns(session, &create.name, None, query, &inner)
        }
        ModuleBody::TableFunction { result, statements, .. } => {
            check_function(statements)?;
            Ok(declared_columns::declared_columns(session, result, frame)?.columns)
        }
        ModuleBody::ScalarFunction { statements, .. } => {
            check_function(statements)?;
            if !ends_with_return(statements) {
                let text = "The last statement included within a function must be a return statement.";
                return Err(SqlError::new(455, 16, 2, text));
            }
            Ok(Vec::new())
        }
        ModuleBody::Procedure { .. } | ModuleBody::Trigger { .. } => Ok(Vec::new()),
    }
}

fn query_columns(
    session: &Session,
    name: &ObjectName,
    names: Option<&[String]>,
    query: &Query,
    frame: &Frame,
) -> Result<Vec<ColumnDefinition>, SqlError> {
    if let QueryBody::Select(select) = &query.body
        && select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }))
    {
        return Err(errors::SYNTAX_KEYWORD.with(["SELECT"]));
    }
    query::refuse_order(query)?;
    let schema = name.schema.clone().or_else(|| Some("dbo".to_owned()));
    let bound = evaluate::bind(session, &Query { schema, ..query.clone() }, frame)?;
    if let Some(names) = names
        && names.len() != bound.columns.len()
    {
        let (number, than) = if bound.columns.len() > names.len() { (8158, "more") } else { (8159, "fewer") };
        let text = format!("'{}' has {than} columns than were specified in the column list.", name.name);
        return Err(SqlError::new(number, 16, 1, text));
    }
    let mut columns: Vec<ColumnDefinition> = Vec::with_capacity(bound.columns.len());
    for (index, column) in bound.columns.iter().enumerate() {
        let own = names.and_then(|names| names.get(index)).unwrap_or(&column.name);
        if own.is_empty() {
            let text = format!(
                "Create View or Function failed because no column name was specified for column {}.",
                index + 1
            );
            return Err(SqlError::new(4511, 16, 1, text));
        }
        if columns.iter().any(|other| same_name(&other.name, own)) {
            let text = format!(
                "Column names in each view or function must be unique. Column name '{own}' in view or function '{}' is specified more than once.",
                name.name
            );
            return Err(SqlError::new(4506, 16, 1, text));
        }
        columns.push(column_definition(index, own, column));
    }
    Ok(columns)
}

fn column_definition(index: usize, name: &str, column: &OutputColumn) -> ColumnDefinition {
    ColumnDefinition {
        row_guid: false,
        id: index as i32 + 1,
        name: name.to_string(),
        sql_type: column.sql_type.clone(),
        nullable: column.nullable,
        collation: column.collation.and_then(|collation| collation.name()).map(|name| name.to_string()),
        identity: None,
        default: None,
        computed: None,
        persisted: false,
        ansi_padding_off: false,
        alias: None,
        sparse: false,
    }
}

fn kind_of(body: &ModuleBody) -> ModuleKind {
    match body {
        ModuleBody::View { .. } => ModuleKind::View,
        ModuleBody::Procedure { .. } => ModuleKind::Procedure,
        ModuleBody::ScalarFunction { .. } => ModuleKind::ScalarFunction,
        ModuleBody::InlineFunction { .. } => ModuleKind::InlineFunction,
        ModuleBody::TableFunction { .. } => ModuleKind::TableFunction,
        ModuleBody::Trigger { .. } => ModuleKind::Trigger,
    }
}

fn parameters_of(body: &ModuleBody) -> Vec<ParameterDefinition> {
    let (declared, returns): (&[Declaration], _) = match body {
        ModuleBody::View { .. } | ModuleBody::Trigger { .. } => (&[], None),
        ModuleBody::Procedure { parameters, .. }
        | ModuleBody::InlineFunction { parameters, .. }
        | ModuleBody::TableFunction { parameters, .. } => (parameters, None),
        ModuleBody::ScalarFunction { parameters, returns, .. } => (parameters, Some(returns)),
    };
    let value = returns.map(|sql_type| ParameterDefinition {
        name: String::new(),
        type_text: sql_type.to_string(),
        output: true,
        optional: false,
    });
    let parameters = declared.iter().map(|parameter| ParameterDefinition {
        name: parameter.name.clone(),
        type_text: parameter.sql_type.to_string(),
        output: parameter.output,
        optional: parameter.value.is_some(),
    });
    value.into_iter().chain(parameters).collect()
}

/// Refuses what a function may not do. Errors: 443 for a change outside of it, 444 for a result.
fn check_function(statements: &[Statement]) -> Result<(), SqlError> {
    let side_effect = |what: &str| {
        let text = format!("Invalid use of a side-effecting operator '{what}' within a function.");
        Err(SqlError::new(443, 16, 15, text))
    };
    for statement in statements {
        let result = match &statement.kind {
            StatementKind::Insert(insert) if !insert.table.is_variable() => side_effect("INSERT"),
            StatementKind::Update(update) if !update.target.is_variable() && update.from.is_empty() => {
                side_effect("UPDATE")
            }
            StatementKind::Delete(delete) if !delete.target.is_variable() && delete.from.is_empty() => {
                side_effect("DELETE")
            }
            StatementKind::Merge(merge) if !merge.target.is_variable() => side_effect("MERGE"),
            StatementKind::Print(_) => side_effect("PRINT"),
            StatementKind::RaisError { .. } => side_effect("RAISERROR"),
            StatementKind::Throw(_) => side_effect("THROW"),
            StatementKind::Execute(_) | StatementKind::ExecuteText(_) => side_effect("EXECUTE STRING"),
            StatementKind::BeginTransaction(_) => side_effect("BEGIN TRANSACTION"),
            StatementKind::Commit => side_effect("COMMIT TRANSACTION"),
            StatementKind::Rollback(_) => side_effect("ROLLBACK TRANSACTION"),
            StatementKind::Save(_) => side_effect("SAVE TRANSACTION"),
            StatementKind::WaitForDelay(_) => side_effect("WAITFOR"),
            StatementKind::TryCatch { .. } => side_effect("BEGIN TRY"),
            StatementKind::SetOption(_) => side_effect("SET OPTION ON"),
            StatementKind::CreateTable(_) => side_effect("CREATE TABLE"),
            StatementKind::DropTable { .. } => side_effect("DROP OBJECT"),
            StatementKind::TruncateTable { .. } => side_effect("TRUNCATE TABLE"),
            StatementKind::Query(query) => match &query.body {
                QueryBody::Select(select)
                    if select.items.iter().all(|item| matches!(item, SelectItem::Assign { .. })) =>
                {
                    Ok(())
                }
                _ => {
                    let text = "Select statements included within a function cannot return data to a client.";
                    Err(SqlError::new(444, 16, 2, text))
                }
            },
            StatementKind::Block(inner) => check_function(inner),
            StatementKind::If { then, otherwise, .. } => {
                check_function(std::slice::from_ref(then)).and_then(|()| match otherwise {
                    Some(otherwise) => check_function(std::slice::from_ref(otherwise)),
                    None => Ok(()),
                })
            }
            StatementKind::While { body, .. } => check_function(std::slice::from_ref(body)),
            _ => Ok(()),
        };
        result.map_err(|error| error.at_line(statement.line))?;
    }
    Ok(())
}

fn ends_with_return(statements: &[Statement]) -> bool {
    match statements.last().map(|statement| &statement.kind) {
        Some(StatementKind::Return(_)) => true,
        Some(StatementKind::Block(inner)) => ends_with_return(inner),
        _ => false,
    }
}

fn spelling(word: ModuleWord) -> &'static str {
    match word {
        ModuleWord::View => "view",
        ModuleWord::Procedure => "procedure",
        ModuleWord::Function => "function",
        ModuleWord::Sequence => "sequence object",
        ModuleWord::Synonym => "synonym",
        ModuleWord::Trigger => "trigger",
    }
}

fn now_us() -> i64 {
    use query::datum::{DAYS_TO_1970, TICKS_PER_DAY};
    (query::facts::now() - DAYS_TO_1970 * TICKS_PER_DAY) / 10
}
