//! Functions that know the server, the session and the catalogue.

use databases::catalogue;
use databases::catalogue::{FIXED_ROLES, same_name};
use query::Typed;
use query::datum::{Datum, TICKS_PER_DAY, TICKS_PER_SECOND};
use query::functions::function::{Call, Function, ValueKernel};
use query::functions::{name_type, wide_text};
use tds::{Length, SqlType};
use tsql::SqlError;
use tsql::errors;

use crate::facts::Facts;
use crate::functions::application_locks;
use crate::functions::collation_property;
use crate::functions::metadata::{lookup, of_session, pair};
use crate::system_views;

/// Functions of the server, the session and its user.
pub(super) const FUNCTIONS: &[Function<ValueKernel<Facts>>] = &[
    of_session("DB_NAME", &[], "nvarchar(128)", db_name).optional(&["database_id"]).light(),
    of_session("DB_ID", &[], "smallint", db_id).optional(&["database"]).light(),
    of_session("ORIGINAL_DB_NAME", &[], "nvarchar(128)", |call| text(&call.facts.database)),
    of_session("HAS_DBACCESS", &["database"], "int", has_dbaccess),
    of_session("DATABASEPROPERTYEX", &["database", "property"], "nvarchar(128)", databasepropertyex),
    of_session("SERVERPROPERTY", &["property"], "the property's type", serverproperty),
    of_session(
        "COLLATIONPROPERTY",
        &["collation", "property"],
        "int or varbinary(5)",
        collation_property::bind,
    ),
    of_session("CONNECTIONPROPERTY", &["property"], "nvarchar(128)", connectionproperty),
    of_session("SESSIONPROPERTY", &["option"], "int", sessionproperty),
    of_session("SESSION_CONTEXT", &["key"], "the value's type", session_context),
    of_session("CONTEXT_INFO", &[], "varbinary(128)", |call| {
        let value = call.facts.context_info.clone().map_or(Datum::Null, Datum::Binary);
        Typed::constant(value, SqlType::VarBinary { length: Length::Units(128) })
    }),
    of_session("CURSOR_STATUS", &["scope", "cursor"], "smallint", cursor_status),
    of_session("GETANSINULL", &[], "int", |_| number(1, SqlType::Int)).optional(&["database"]),
    of_session("APPLOCK_MODE", &["principal", "resource", "owner"], "nvarchar(32)", application_locks::mode),
    of_session(
        "APPLOCK_TEST",
        &["principal", "resource", "mode", "owner"],
        "smallint",
        application_locks::test,
    ),
    of_session("HOST_NAME", &[], "nvarchar(128)", |call| text(&call.facts.host)),
    of_session("HOST_ID", &[], "nvarchar(128)", |_| text("0")),
    of_session("APP_NAME", &[], "nvarchar(128)", |call| text(&call.facts.application)),
    of_session("PROGRAM_NAME", &[], "nvarchar(128)", |call| text(&call.facts.application)),
    of_session("ORIGINAL_LOGIN", &[], "nvarchar(128)", |call| text(&call.facts.login)),
    of_session("SYSTEM_USER", &[], "nvarchar(128)", |call| text(&call.facts.login))
        .written("SYSTEM_USER")
        .light(),
    of_session("SUSER_NAME", &[], "nvarchar(128)", |call| text(&call.facts.login))
        .optional(&["login_id"])
        .light(),
    of_session("SUSER_SNAME", &[], "nvarchar(128)", |call| text(&call.facts.login))
        .optional(&["login_sid"])
        .light(),
    of_session("SUSER_ID", &[], "int", |_| number(1, SqlType::Int)).optional(&["login"]),
    of_session("USER_NAME", &[], "nvarchar(128)", user_name).optional(&["user_id"]).light(),
    of_session("USER_ID", &[], "int", user_id).optional(&["user"]),
    of_session("DATABASE_PRINCIPAL_ID", &[], "int", user_id).optional(&["principal"]),
    of_session("USER", &[], "nvarchar(128)", |_| text("dbo")).written("USER"),
    of_session("CURRENT_USER", &[], "nvarchar(128)", |_| text("dbo")).written("CURRENT_USER"),
    of_session("SESSION_USER", &[], "nvarchar(128)", |_| text("dbo")).written("SESSION_USER"),
    of_session("IS_MEMBER", &["role"], "int", |call| is_member(call, false)),
    of_session("IS_ROLEMEMBER", &["role"], "int", |call| is_member(call, false)).optional(&["user"]),
    of_session("IS_SRVROLEMEMBER", &["role"], "int", |call| is_member(call, true)).optional(&["login"]),
    of_session("SCOPE_IDENTITY", &[], "numeric(38, 0)", scope_identity).light(),
    of_session("ROWCOUNT_BIG", &[], "bigint", |call| number(call.facts.row_count, SqlType::BigInt)),
    of_session("XACT_STATE", &[], "smallint", xact_state).light(),
    of_session("CURRENT_TRANSACTION_ID", &[], "bigint", |call| {
        number(call.facts.transaction_count, SqlType::BigInt)
    }),
    of_session("CURRENT_REQUEST_ID", &[], "smallint", |_| number(0, SqlType::SmallInt)),
    of_session("ERROR_NUMBER", &[], "int", |call| of_error(call, |error| i64::from(error.number))).light(),
    of_session("ERROR_SEVERITY", &[], "int", |call| of_error(call, |error| i64::from(error.class))),
    of_session("ERROR_STATE", &[], "int", |call| of_error(call, |error| i64::from(error.state))),
    of_session("ERROR_LINE", &[], "int", |call| of_error(call, |error| i64::from(error.line))),
    of_session("ERROR_MESSAGE", &[], "nvarchar(4000)", error_message).light(),
    of_session("ERROR_PROCEDURE", &[], "nvarchar(128)", error_procedure),
    of_session("UPDATE", &["column"], "a condition", update),
    of_session("COLUMNS_UPDATED", &[], "varbinary(128)", columns_updated),
    of_session("TRIGGER_NESTLEVEL", &[], "int", trigger_nestlevel).optional(&[
        "object_id",
        "type",
        "category",
    ]),
];

fn text(value: &str) -> Result<Typed, SqlError> {
    Typed::constant(Datum::Text(value.to_string()), name_type())
}

fn number(value: i64, sql_type: SqlType) -> Result<Typed, SqlError> {
    Typed::constant(Datum::Int(value), sql_type)
}

/// Binds a number of the error that a CATCH block handles; NULL outside of one.
fn of_error(call: &Call<'_, Facts>, number: fn(&SqlError) -> i64) -> Result<Typed, SqlError> {
    Typed::constant(
        call.facts.error.as_ref().map_or(Datum::Null, |error| Datum::Int(number(error))),
        SqlType::Int,
    )
}

fn db_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return text(&call.facts.database);
    }
    lookup(call, SqlType::Int, name_type(), |facts, value| {
        let database = facts
            .directory
            .databases
            .iter()
            .find(|database| Some(i64::from(database.id)) == value.as_int())?;
        Some(Datum::Text(database.name.clone()))
    })
}

fn db_id(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return {
            let id = call.facts.current().map_or(Datum::Null, |database| Datum::Int(i64::from(database.id)));
            Typed::constant(id, SqlType::SmallInt)
        };
    }
    lookup(call, name_type(), SqlType::SmallInt, |facts, value| {
        Some(Datum::Int(i64::from(facts.directory.database(value.as_text()?)?.id)))
    })
}

fn serverproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let [property] = call.take()?;
    match property.constant {
        Some(Datum::Text(property)) => server_property(&property, call.facts),
        _ => Err(SqlError::unsupported("SERVERPROPERTY of a computed call.name")),
    }
}

fn databasepropertyex(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    pair(call, (name_type(), name_type()), name_type(), |facts, database, property| {
        let database = facts.directory.database(database.as_text()?)?;
        let figures = facts.figures(&database.name);
        let value = match property.as_text()?.to_ascii_lowercase().as_str() {
            "collation" => database.collation(),
            "recovery" => figures.map_or("SIMPLE", |figures| system_views::recovery_model(figures).1),
            "edition" => system_views::service(figures?)?.0,
            "serviceobjective" => system_views::service(figures?)?.1,
            "status" => "ONLINE",
            "updateability" => "READ_WRITE",
            "useraccess" => "MULTI_USER",
            "version" => "957",
            "lcid" => "1033",
            "sqlsortorder" => "52",
            "comparisonstyle" => "196609",
            "isansinullsenabled"
            | "isansipaddingenabled"
            | "isansiwarningsenabled"
            | "isarithmeticabortenabled"
            | "isnullconcat"
            | "isquotedidentifiersenabled" => "1",
            "isautoclose"
            | "isautoshrink"
            | "isautocreatestatistics"
            | "isautoupdatestatistics"
            | "isansinulldefault"
            | "isclosecursorsoncommitenabled"
            | "isfulltextenabled"
            | "isinstandby"
            | "islocalcursorsdefault"
            | "ismergepublished"
            | "ispublished"
            | "isnumericroundabortenabled"
            | "isrecursivetriggersenabled"
            | "issubscribed"
            | "istornpagedetectionenabled"
            | "isxtpsupported"
            | "issyncwithbackup" => "0",
            _ => return None,
        };
        Some(Datum::Text(value.to_string()))
    })
}

fn has_dbaccess(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, name_type(), SqlType::Int, |facts, value| {
        facts.directory.database(value.as_text()?).map(|_| Datum::Int(1))
    })
}

fn is_member(call: &Call<'_, Facts>, server: bool) -> Result<Typed, SqlError> {
    let answer = move |role: &Datum| member_of(role.as_text()?, server).map(|is| Datum::Int(i64::from(is)));
    if call.arguments.len() < 2 {
        return lookup(call, name_type(), SqlType::Int, move |_, role| answer(role));
    }
    // Only the login, who is dbo, has roles.
    pair(call, (name_type(), name_type()), SqlType::Int, move |facts, role, principal| {
        let own = if server { facts.login.as_str() } else { "dbo" };
        answer(role).filter(|_| principal.as_text().is_some_and(|name| same_name(name, own)))
    })
}

fn session_context(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let [key] = call.take()?;
    let Some(Datum::Text(key)) = key.cast(&name_type())?.constant else {
        return Err(SqlError::unsupported("SESSION_CONTEXT of a computed key"));
    };
    let (value, sql_type) = call.facts.session_context.get(&key).unwrap_or((Datum::Null, wide_text()));
    Typed::constant(value, sql_type)
}

fn cursor_status(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let result = SqlType::SmallInt;
    pair(call, (name_type(), name_type()), result, |facts, scope, cursor| {
        let (scope, cursor) = (scope.as_text()?.to_lowercase(), cursor.as_text()?.to_lowercase());
        let found = facts.cursors.iter().find(|(own, name, _)| *own == scope && *name == cursor);
        // -3: there is no such cursor.
        Some(Datum::Int(found.map_or(-3, |(.., status)| *status)))
    })
}

/// The users of every database, by their numbers.
const USERS: [&str; 5] = ["public", "dbo", "guest", "INFORMATION_SCHEMA", "sys"];

/// The users and roles of every database with their ids.
fn users() -> impl Iterator<Item = (i64, &'static str)> {
    (0..).zip(USERS).chain(FIXED_ROLES.map(|(id, name)| (i64::from(id), name)))
}

fn user_name(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return text("dbo");
    }
    lookup(call, SqlType::Int, name_type(), |_, value| {
        let wanted = value.as_int()?;
        let (_, user) = users().find(|(id, _)| *id == wanted)?;
        Some(Datum::Text(user.to_string()))
    })
}

fn user_id(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    if call.arguments.is_empty() {
        return number(1, SqlType::Int);
    }
    lookup(call, name_type(), SqlType::Int, |_, value| {
        let name = value.as_text()?;
        users().find(|(_, user)| same_name(user, name)).map(|(id, _)| Datum::Int(id))
    })
}

fn update(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let [column] = call.take()?;
    let Some(updated) = &call.facts.updated else {
        let text = "Can only use IF UPDATE within a CREATE TRIGGER statement.";
        return Err(SqlError::new(157, 15, 1, text));
    };
    let wanted = column.constant.as_ref().and_then(Datum::as_text).unwrap_or_default();
    let found = updated.columns.iter().find(|(column, _)| same_name(column, wanted));
    let (_, is_updated) = found.ok_or_else(|| errors::INVALID_COLUMN.with([wanted]))?;
    Typed::constant(Datum::Int(i64::from(*is_updated)), SqlType::Int)
}

fn columns_updated(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let mask = call.facts.updated.as_ref().map_or(Datum::Null, |updated| Datum::Binary(updated.mask.clone()));
    Typed::constant(mask, SqlType::VarBinary { length: Length::Units(128) })
}

fn trigger_nestlevel(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let wanted = call.arguments.first().and_then(|argument| argument.constant.as_ref()?.as_int());
    let count = match wanted {
        Some(id) if id != 0 => call.facts.triggers.iter().filter(|own| i64::from(**own) == id).count(),
        _ if call.arguments.is_empty() || wanted == Some(0) => call.facts.triggers.len(),
        _ => return Err(SqlError::unsupported("TRIGGER_NESTLEVEL of a computed id")),
    };
    Typed::constant(Datum::Int(count as i64), SqlType::Int)
}

fn xact_state(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let state = if call.facts.is_uncommittable { -1 } else { i64::from(call.facts.transaction_count > 0) };
    Ok(Typed { nullable: true, ..Typed::constant(Datum::Int(state), SqlType::SmallInt)? })
}

fn scope_identity(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    Typed::constant(
        call.facts.scope_identity.map_or(Datum::Null, |value| Datum::Decimal(i128::from(value))),
        SqlType::Numeric { precision: 38, scale: 0 },
    )
}

fn error_message(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    Typed::constant(
        call.facts.error.as_ref().map_or(Datum::Null, |error| Datum::Text(error.message.clone())),
        SqlType::NVarChar { length: Length::Units(4000) },
    )
}

fn error_procedure(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let procedure = call.facts.error.as_ref().map(|error| error.procedure.clone());
    let procedure = procedure.filter(|procedure| !procedure.is_empty());
    Typed::constant(procedure.map_or(Datum::Null, Datum::Text), name_type())
}

fn sessionproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    lookup(call, name_type(), SqlType::Int, |facts, value| {
        Some(Datum::Int(match value.as_text()?.to_ascii_uppercase().as_str() {
            "ANSI_WARNINGS" => facts.options >> 3 & 1,
            "ANSI_PADDING" => facts.options >> 4 & 1,
            "ANSI_NULLS" => facts.options >> 5 & 1,
            "ARITHABORT" => facts.options >> 6 & 1,
            "QUOTED_IDENTIFIER" => facts.options >> 8 & 1,
            "CONCAT_NULL_YIELDS_NULL" => facts.options >> 12 & 1,
            "NUMERIC_ROUNDABORT" => 0,
            _ => return None,
        }))
    })
}

fn connectionproperty(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let [property] = call.take()?;
    let Some(Datum::Text(property)) = property.constant else {
        return Typed::constant(Datum::Null, name_type());
    };
    match property.to_ascii_lowercase().as_str() {
        "net_transport" | "physical_net_transport" => text("TCP"),
        "protocol_type" => text("TSQL"),
        "auth_scheme" => text("SQL"),
        "client_net_address" | "local_net_address" => text("127.0.0.1"),
        _ => Typed::constant(Datum::Null, name_type()),
    }
}

fn server_property(property: &str, facts: &Facts) -> Result<Typed, SqlError> {
    let text = |value: &str| Typed::constant(Datum::Text(value.to_string()), name_type());
    let number = |value: i64| Typed::constant(Datum::Int(value), SqlType::Int);
    match property.to_ascii_lowercase().as_str() {
        "productversion" | "resourceversion" => text(catalogue::PRODUCT_VERSION),
        "productlevel" => text("RTM"),
        "productmajorversion" => text("16"),
        "productminorversion" => text("0"),
        "edition" => text("bulkwire embedded server"),
        // 3: the features of a full engine, not those of Azure SQL.
        "engineedition" => number(3),
        "servername" | "machinename" | "computernamephysicalnetbios" => text(&facts.server),
        "collation" => text(databases::catalogue::DEFAULT_COLLATION),
        "productbuild" => text("1000"),
        "resourcelastupdatedatetime" => {
            // The day of the release whose catalogue this is.
            let (days, seconds) = (738_435, 6 * 3600 + 31 * 60);
            Typed::constant(
                Datum::Moment(days * TICKS_PER_DAY + seconds * TICKS_PER_SECOND),
                SqlType::DateTime,
            )
        }
        "editionid" => number(0),
        "licensetype" => text("DISABLED"),
        "comparisonstyle" => number(196_609),
        "sqlcharset" => number(1),
        "sqlsortorder" => number(52),
        "processid" => number(i64::from(std::process::id())),
        "isexternalauthenticationonly"
        | "istempdbmetadatamemoryoptimized"
        | "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "islocaldb"
        | "isserversuspendedforsnapshotbackup"
        | "filestreamconfiguredlevel"
        | "filestreameffectivelevel"
        | "isintegratedsecurityonly"
        | "isclustered"
        | "ishadrenabled"
        | "issingleuser"
        | "isfulltextinstalled"
        | "isxtpsupported"
        | "ispolybaseinstalled" => number(0),
        "lcid" => number(1033),
        "sqlcharsetname" => text("iso_1"),
        "sqlsortordername" => text("nocase_iso"),
        _ => Typed::constant(Datum::Null, name_type()),
    }
}

/// Returns true if the login, which may do everything, is in a role; None if there is no such role.
fn member_of(role: &str, server: bool) -> Option<bool> {
    let role = role.to_ascii_lowercase();
    let (every, fixed): (&[&str], &[&str]) = if server {
        (
            &["public", "sysadmin"],
            &[
                "serveradmin",
                "setupadmin",
                "securityadmin",
                "processadmin",
                "dbcreator",
                "diskadmin",
                "bulkadmin",
            ],
        )
    } else {
        (
            &["public", "db_owner"],
            &[
                "db_accessadmin",
                "db_securityadmin",
                "db_ddladmin",
                "db_backupoperator",
                "db_datareader",
                "db_datawriter",
                "db_denydatareader",
                "db_denydatawriter",
            ],
        )
    };
    if every.contains(&role.as_str()) {
        return Some(true);
    }
    // A sysadmin has the rights of the server's fixed roles; dbo is no member of the database's others.
    fixed.contains(&role.as_str()).then_some(server)
}
