//! Functions that know the server, the session and the catalogue.

use std::sync::Arc;

use query::convert;
use query::datum::{Datum, TICKS_PER_DAY, TICKS_PER_SECOND};
use query::functions::{name_type, take, wide_text};
use query::scalar::Scalar;
use query::typed::{Typed, call_with};
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::catalogue;
use crate::catalogue::same_name;
use crate::facts::Facts;
use crate::functions::collation_property;
use crate::functions::metadata::{lookup, pair};
use crate::system_views;

pub(super) fn bind(name: &str, arguments: &[Typed], facts: &Arc<Facts>) -> Result<Option<Typed>, SqlError> {
    let int = SqlType::Int;
    let known = |value: Datum, sql_type: SqlType| Typed::constant(value, sql_type).map(Some);
    let text = |value: &str| Typed::constant(Datum::Text(value.to_string()), name_type()).map(Some);
    match name {
        "DB_NAME" if arguments.is_empty() => text(&facts.database),
        "ORIGINAL_DB_NAME" => text(&facts.database),
        "DB_ID" if arguments.is_empty() => known(
            facts.current().map_or(Datum::Null, |database| Datum::Int(i64::from(database.id))),
            SqlType::SmallInt,
        ),
        "DB_NAME" => lookup(name, arguments, SqlType::Int, name_type(), facts, |facts, value| {
            let database = facts
                .directory
                .databases
                .iter()
                .find(|database| Some(i64::from(database.id)) == value.as_int())?;
            Some(Datum::Text(database.name.clone()))
        }),
        "DB_ID" => lookup(name, arguments, name_type(), SqlType::SmallInt, facts, |facts, value| {
            Some(Datum::Int(i64::from(facts.directory.database(value.as_text()?)?.id)))
        }),
        "SERVERPROPERTY" => {
            let [property] = take(name, arguments)?;
            match property.constant {
                Some(Datum::Text(property)) => server_property(&property, facts).map(Some),
                _ => Err(SqlError::unsupported("SERVERPROPERTY of a computed name")),
            }
        }
        "DATABASEPROPERTYEX" => pair(
            name,
            arguments,
            (name_type(), name_type()),
            name_type(),
            facts,
            |facts, database, property| {
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
            },
        ),
        "COLLATIONPROPERTY" => collation_property::bind(name, arguments, facts),
        "HAS_DBACCESS" => lookup(name, arguments, name_type(), int, facts, |facts, value| {
            facts.directory.database(value.as_text()?).map(|_| Datum::Int(1))
        }),
        "IS_MEMBER" | "IS_ROLEMEMBER" | "IS_SRVROLEMEMBER" => {
            let server = name == "IS_SRVROLEMEMBER";
            let role = arguments.get(..1).unwrap_or_default();
            lookup(name, role, name_type(), int, facts, move |_, value| {
                member_of(value.as_text()?, server).map(|is| Datum::Int(i64::from(is)))
            })
        }
        "SESSION_CONTEXT" => {
            let [key] = take(name, arguments)?;
            let Some(Datum::Text(key)) = key.cast(&name_type())?.constant else {
                return Err(SqlError::unsupported("SESSION_CONTEXT of a computed key"));
            };
            let (value, sql_type) = facts.session_context.get(&key).unwrap_or((Datum::Null, wide_text()));
            known(value, sql_type)
        }
        "CURSOR_STATUS" => {
            let result = SqlType::SmallInt;
            pair(name, arguments, (name_type(), name_type()), result, facts, |facts, scope, cursor| {
                let (scope, cursor) = (scope.as_text()?.to_lowercase(), cursor.as_text()?.to_lowercase());
                let found = facts.cursors.iter().find(|(own, name, _)| *own == scope && *name == cursor);
                // -3: there is no such cursor.
                Some(Datum::Int(found.map_or(-3, |(.., status)| *status)))
            })
        }
        "CONTEXT_INFO" => known(
            facts.context_info.clone().map_or(Datum::Null, Datum::Binary),
            SqlType::VarBinary { length: Length::Units(128) },
        ),
        "CURRENT_TRANSACTION_ID" => known(Datum::Int(facts.transaction_count), SqlType::BigInt),
        "CURRENT_REQUEST_ID" => known(Datum::Int(0), SqlType::SmallInt),
        "GETANSINULL" => known(Datum::Int(1), int),
        "SUSER_NAME" | "SUSER_SNAME" | "ORIGINAL_LOGIN" | "SYSTEM_USER" => text(&facts.login),
        "USER_NAME" if !arguments.is_empty() => {
            lookup(name, arguments, int, name_type(), facts, |_, value| {
                let users = ["public", "dbo", "guest", "INFORMATION_SCHEMA", "sys"];
                let user = users.get(usize::try_from(value.as_int()?).ok()?)?;
                Some(Datum::Text(user.to_string()))
            })
        }
        "USER_NAME" | "USER" | "CURRENT_USER" | "SESSION_USER" => text("dbo"),
        "USER_ID" | "DATABASE_PRINCIPAL_ID" | "SUSER_ID" => known(Datum::Int(1), int),
        "HOST_NAME" => text(&facts.host),
        "APP_NAME" | "PROGRAM_NAME" => text(&facts.application),
        "HOST_ID" => text("0"),
        "UPDATE" => {
            let [column] = take(name, arguments)?;
            let Some(updated) = &facts.updated else {
                let text = "Can only use IF UPDATE within a CREATE TRIGGER statement.";
                return Err(SqlError::new(157, 15, 1, text));
            };
            let wanted = column.constant.as_ref().and_then(Datum::as_text).unwrap_or_default();
            let found = updated.columns.iter().find(|(column, _)| same_name(column, wanted));
            let (_, is_updated) = found.ok_or_else(|| SqlError::invalid_column(wanted))?;
            known(Datum::Int(i64::from(*is_updated)), int)
        }
        "COLUMNS_UPDATED" => {
            let mask =
                facts.updated.as_ref().map_or(Datum::Null, |updated| Datum::Binary(updated.mask.clone()));
            known(mask, SqlType::VarBinary { length: Length::Units(128) })
        }
        "TRIGGER_NESTLEVEL" => {
            let wanted = arguments.first().and_then(|argument| argument.constant.as_ref()?.as_int());
            let count = match wanted {
                Some(id) if id != 0 => facts.triggers.iter().filter(|own| i64::from(**own) == id).count(),
                _ if arguments.is_empty() || wanted == Some(0) => facts.triggers.len(),
                _ => return Err(SqlError::unsupported("TRIGGER_NESTLEVEL of a computed id")),
            };
            known(Datum::Int(count as i64), int)
        }
        "XACT_STATE" => {
            let state = if facts.is_uncommittable { -1 } else { i64::from(facts.transaction_count > 0) };
            known(Datum::Int(state), SqlType::SmallInt)
        }
        "ROWCOUNT_BIG" => known(Datum::Int(facts.row_count), SqlType::BigInt),
        "SCOPE_IDENTITY" => known(
            facts.scope_identity.map_or(Datum::Null, |value| Datum::Decimal(i128::from(value))),
            SqlType::Numeric { precision: 38, scale: 0 },
        ),
        "NEWID" | "NEWSEQUENTIALID" => {
            let function = Scalar::by_value(name, Vec::new(), SqlType::UniqueIdentifier, |_| {
                Ok(Datum::Guid(*uuid::Uuid::new_v4().as_bytes()))
            });
            Ok(Some(call_with(function.volatile(), Vec::new())))
        }
        "CHECKSUM" | "BINARY_CHECKSUM" => {
            let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
            let ignores_case = name == "CHECKSUM";
            let function = Scalar::by_value(name, types.clone(), SqlType::Int, move |values| {
                let mut sum = 0_u32;
                for (value, sql_type) in values.iter().zip(&types) {
                    let text = convert::display(value, sql_type);
                    let text = if ignores_case { text.to_lowercase() } else { text };
                    for byte in text.bytes() {
                        sum = sum.rotate_left(4) ^ u32::from(byte);
                    }
                }
                Ok(Datum::Int(i64::from(sum as i32)))
            });
            let mut typed = call_with(function, arguments.to_vec());
            typed.nullable = false;
            Ok(Some(typed))
        }
        "ERROR_NUMBER" | "ERROR_SEVERITY" | "ERROR_STATE" | "ERROR_LINE" => known(
            facts.error.as_ref().map_or(Datum::Null, |error| {
                Datum::Int(match name {
                    "ERROR_NUMBER" => i64::from(error.number),
                    "ERROR_SEVERITY" => i64::from(error.class),
                    "ERROR_STATE" => i64::from(error.state),
                    _ => i64::from(error.line),
                })
            }),
            int,
        ),
        "ERROR_MESSAGE" => known(
            facts.error.as_ref().map_or(Datum::Null, |error| Datum::Text(error.message.clone())),
            SqlType::NVarChar { length: Length::Units(4000) },
        ),
        "ERROR_PROCEDURE" => {
            let procedure = facts.error.as_ref().map(|error| error.procedure.clone());
            let procedure = procedure.filter(|procedure| !procedure.is_empty());
            known(procedure.map_or(Datum::Null, Datum::Text), name_type())
        }
        "SESSIONPROPERTY" => lookup(name, arguments, name_type(), int, facts, |facts, value| {
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
        }),
        "CONNECTIONPROPERTY" => {
            let [property] = take(name, arguments)?;
            let Some(Datum::Text(property)) = property.constant else {
                return known(Datum::Null, name_type());
            };
            match property.to_ascii_lowercase().as_str() {
                "net_transport" | "physical_net_transport" => text("TCP"),
                "protocol_type" => text("TSQL"),
                "auth_scheme" => text("SQL"),
                "client_net_address" | "local_net_address" => text("127.0.0.1"),
                _ => known(Datum::Null, name_type()),
            }
        }
        _ => Ok(None),
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
        "collation" => text(crate::catalogue::DEFAULT_COLLATION),
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

/// Whether the login, which may do everything, is in a role; None if there is no such role.
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
