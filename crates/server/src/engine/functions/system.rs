//! Functions that know the server, the session and the catalogue.

use std::sync::Arc;

use tds::{Length, SqlType};

use super::super::datum::Datum;
use super::super::scalar::Scalar;
use super::super::typed::{Typed, call_with};
use super::super::{Facts, convert};
use super::{name_type, strict, take};
use crate::catalogue::{TableDefinition, same_name, views};
use crate::sql_error::SqlError;

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
        "OBJECT_ID" => {
            let first = arguments.first().cloned().ok_or_else(|| SqlError::argument_count("object_id", 1))?;
            // The second argument asks for a kind of object; there are only tables and views.
            let wants_table = arguments.get(1).is_none_or(|kind| {
                matches!(&kind.constant, Some(Datum::Text(kind)) if ["U", "V", "IT", "S"].iter().any(|k| kind.trim().eq_ignore_ascii_case(k)))
            });
            if !wants_table {
                return known(Datum::Null, int);
            }
            lookup(name, &[first], SqlType::NVarChar { length: Length::Max }, int, facts, |facts, value| {
                let text = value.as_text()?;
                let id = facts.find(text).map(|table| table.object_id).or_else(|| views::view_id(text))?;
                Some(Datum::Int(i64::from(id)))
            })
        }
        "OBJECT_NAME" => {
            let first =
                arguments.first().cloned().ok_or_else(|| SqlError::argument_count("object_name", 1))?;
            lookup(name, &[first], int, name_type(), facts, |facts, value| {
                Some(Datum::Text(facts.by_id(value.as_int()?)?.name.clone()))
            })
        }
        "OBJECT_SCHEMA_NAME" => {
            let first = arguments
                .first()
                .cloned()
                .ok_or_else(|| SqlError::argument_count("object_schema_name", 1))?;
            lookup(name, &[first], int, name_type(), facts, |facts, value| {
                Some(Datum::Text(facts.by_id(value.as_int()?)?.schema.clone()))
            })
        }
        "SCHEMA_NAME" if arguments.is_empty() => text("dbo"),
        "SCHEMA_NAME" => lookup(name, arguments, int, name_type(), facts, |facts, value| {
            let schema = facts
                .current()?
                .schemas
                .iter()
                .find(|schema| Some(i64::from(schema.id)) == value.as_int())?;
            Some(Datum::Text(schema.name.clone()))
        }),
        "SCHEMA_ID" if arguments.is_empty() => known(Datum::Int(1), int),
        "SCHEMA_ID" => lookup(name, arguments, name_type(), int, facts, |facts, value| {
            Some(Datum::Int(i64::from(facts.current()?.schema(value.as_text()?)?.id)))
        }),
        "TYPE_NAME" => lookup(name, arguments, int, name_type(), facts, |_, value| {
            views::type_name_of_id(value.as_int()?).map(|name| Datum::Text(name.to_string()))
        }),
        "TYPE_ID" => lookup(name, arguments, name_type(), int, facts, |_, value| {
            views::type_id_of_name(value.as_text()?).map(|id| Datum::Int(i64::from(id)))
        }),
        "COL_LENGTH" => pair(
            name,
            arguments,
            (name_type(), name_type()),
            SqlType::SmallInt,
            facts,
            |facts, table, column| {
                let table = facts.find(table.as_text()?)?;
                let column = column_of(&table, column.as_text()?)?;
                Some(Datum::Int(i64::from(views::max_length(&column.sql_type))))
            },
        ),
        "COL_NAME" => {
            pair(name, arguments, (int.clone(), int), name_type(), facts, |facts, table, column| {
                let table = facts.by_id(table.as_int()?)?;
                let column = table
                    .columns
                    .iter()
                    .find(|candidate| Some(i64::from(candidate.id)) == column.as_int())?;
                Some(Datum::Text(column.name.clone()))
            })
        }
        "COLUMNPROPERTY" => {
            let [table, column, property] = take(name, arguments)?;
            let facts = Arc::clone(facts);
            strict(
                name,
                vec![(table, SqlType::Int), (column, name_type()), (property, name_type())],
                SqlType::Int,
                move |values| {
                    let found = (|| {
                        let table = facts.by_id(values[0].as_int()?)?;
                        column_property(column_of(&table, values[1].as_text()?)?, values[2].as_text()?)
                    })();
                    Ok(found.map_or(Datum::Null, Datum::Int))
                },
            )
            .map(Some)
        }
        "OBJECTPROPERTY" | "OBJECTPROPERTYEX" => {
            pair(name, arguments, (int.clone(), name_type()), int, facts, |facts, table, property| {
                let table = facts.by_id(table.as_int()?)?;
                object_property(&table, property.as_text()?).map(Datum::Int)
            })
        }
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
                facts.directory.database(database.as_text()?)?;
                let value = match property.as_text()?.to_ascii_lowercase().as_str() {
                    "collation" => crate::catalogue::DEFAULT_COLLATION,
                    "recovery" => "SIMPLE",
                    "status" => "ONLINE",
                    "updateability" => "READ_WRITE",
                    "useraccess" => "MULTI_USER",
                    "version" => "957",
                    _ => return None,
                };
                Some(Datum::Text(value.to_string()))
            },
        ),
        "COLLATIONPROPERTY" => {
            let [collation, property] = take(name, arguments)?;
            collation_property(&collation, &property).map(Some)
        }
        "HAS_PERMS_BY_NAME" | "HAS_DBACCESS" | "IS_MEMBER" | "IS_SRVROLEMEMBER" | "IS_ROLEMEMBER" => {
            known(Datum::Int(1), int)
        }
        "SUSER_NAME" | "SUSER_SNAME" | "ORIGINAL_LOGIN" | "SYSTEM_USER" => text(&facts.login),
        "USER_NAME" | "USER" | "CURRENT_USER" | "SESSION_USER" => text("dbo"),
        "USER_ID" | "DATABASE_PRINCIPAL_ID" | "SUSER_ID" => known(Datum::Int(1), int),
        "HOST_NAME" => text(&facts.host),
        "APP_NAME" | "PROGRAM_NAME" => text(&facts.application),
        "HOST_ID" => text("0"),
        "XACT_STATE" => known(Datum::Int(i64::from(facts.transaction_count > 0)), SqlType::SmallInt),
        "ROWCOUNT_BIG" => known(Datum::Int(facts.row_count), SqlType::BigInt),
        "SCOPE_IDENTITY" => known(
            facts.scope_identity.map_or(Datum::Null, |value| Datum::Decimal(i128::from(value))),
            SqlType::Numeric { precision: 38, scale: 0 },
        ),
        "IDENT_CURRENT" | "IDENT_SEED" | "IDENT_INCR" => {
            let which = name.to_string();
            lookup(
                name,
                arguments,
                name_type(),
                SqlType::Numeric { precision: 38, scale: 0 },
                facts,
                move |facts, value| {
                    let table = facts.find(value.as_text()?)?;
                    let (_, identity) = table.identity()?;
                    let number = match which.as_str() {
                        "IDENT_SEED" => identity.seed,
                        "IDENT_INCR" => identity.increment,
                        _ => (facts.identities)(table.object_id).unwrap_or(identity.seed),
                    };
                    Some(Datum::Decimal(i128::from(number)))
                },
            )
        }
        "NEWID" | "NEWSEQUENTIALID" => {
            let function = Scalar::by_value(name, Vec::new(), SqlType::UniqueIdentifier, |_| {
                Ok(Datum::Guid(*uuid::Uuid::new_v4().as_bytes()))
            });
            Ok(Some(call_with(function.volatile(), Vec::new())))
        }
        "CHECKSUM" | "BINARY_CHECKSUM" => {
            let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
            let function = Scalar::by_value(name, types.clone(), SqlType::Int, move |values| {
                let mut sum = 0_u32;
                for (value, sql_type) in values.iter().zip(&types) {
                    for byte in convert::display(value, sql_type).to_lowercase().bytes() {
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
        "ERROR_PROCEDURE" => known(Datum::Null, name_type()),
        "SESSIONPROPERTY" => known(Datum::Int(1), int),
        "CONNECTIONPROPERTY" => {
            let [property] = take(name, arguments)?;
            match property.constant {
                Some(Datum::Text(property)) if property.eq_ignore_ascii_case("net_transport") => text("TCP"),
                Some(Datum::Text(property)) if property.eq_ignore_ascii_case("protocol_type") => text("TSQL"),
                Some(Datum::Text(property)) if property.eq_ignore_ascii_case("auth_scheme") => text("SQL"),
                _ => known(Datum::Null, name_type()),
            }
        }
        _ => Ok(None),
    }
}

type Lookup = Box<dyn Fn(&Facts, &Datum) -> Option<Datum> + Send + Sync>;

fn lookup(
    name: &str,
    arguments: &[Typed],
    argument: SqlType,
    result: SqlType,
    facts: &Arc<Facts>,
    find: impl Fn(&Facts, &Datum) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Option<Typed>, SqlError> {
    let [value] = take(name, arguments)?;
    let facts = Arc::clone(facts);
    let find: Lookup = Box::new(find);
    strict(name, vec![(value, argument)], result, move |values| {
        Ok(values.first().and_then(|value| find(&facts, value)).unwrap_or(Datum::Null))
    })
    .map(Some)
}

fn pair(
    name: &str,
    arguments: &[Typed],
    types: (SqlType, SqlType),
    result: SqlType,
    facts: &Arc<Facts>,
    find: impl Fn(&Facts, &Datum, &Datum) -> Option<Datum> + Send + Sync + 'static,
) -> Result<Option<Typed>, SqlError> {
    let [first, second] = take(name, arguments)?;
    let facts = Arc::clone(facts);
    strict(name, vec![(first, types.0), (second, types.1)], result, move |values| match values {
        [first, second] => Ok(find(&facts, first, second).unwrap_or(Datum::Null)),
        _ => Ok(Datum::Null),
    })
    .map(Some)
}

fn column_of<'t>(table: &'t TableDefinition, name: &str) -> Option<&'t crate::catalogue::ColumnDefinition> {
    table.columns.iter().find(|column| same_name(&column.name, name))
}

fn column_property(column: &crate::catalogue::ColumnDefinition, property: &str) -> Option<i64> {
    Some(match property.to_ascii_lowercase().as_str() {
        "isidentity" => i64::from(column.identity.is_some()),
        "iscomputed" => i64::from(column.computed.is_some()),
        "allowsnull" => i64::from(column.nullable),
        "columnid" => i64::from(column.id),
        "isrowguidcol" | "ishidden" | "issparse" | "iscolumnset" | "generatedalwaystype" => 0,
        "precision" => i64::from(views::precision(&column.sql_type)),
        "scale" => i64::from(views::scale(&column.sql_type)),
        "charmaxlen" => i64::from(views::max_length(&column.sql_type)),
        _ => return None,
    })
}

fn object_property(table: &TableDefinition, property: &str) -> Option<i64> {
    Some(match property.to_ascii_lowercase().as_str() {
        "isusertable" | "istable" => 1,
        "isview" | "isprocedure" | "istrigger" | "ismsshipped" | "isschemabound" => 0,
        "tablehasidentity" => i64::from(table.identity().is_some()),
        "tablehasprimarykey" => i64::from(table.keys.iter().any(|key| key.primary)),
        "tablehasclustindex" => i64::from(table.is_clustered()),
        "tablehasindex" => i64::from(!table.keys.is_empty() || !table.indexes.is_empty()),
        "tablehascheckcnst" => i64::from(!table.checks.is_empty()),
        "tablehasforeignkey" => i64::from(!table.foreign_keys.is_empty()),
        "tablehasinserttrigger" | "tablehasupdatetrigger" | "tablehasdeletetrigger" => 0,
        "schemaid" => 1,
        _ => return None,
    })
}

fn server_property(property: &str, facts: &Facts) -> Result<Typed, SqlError> {
    let text = |value: &str| Typed::constant(Datum::Text(value.to_string()), name_type());
    let number = |value: i64| Typed::constant(Datum::Int(value), SqlType::Int);
    match property.to_ascii_lowercase().as_str() {
        "productversion" | "resourceversion" => text(views::PRODUCT_VERSION),
        "productlevel" => text("RTM"),
        "productmajorversion" => text("16"),
        "productminorversion" => text("0"),
        "edition" => text("bulkwire embedded server"),
        // 3: the features of a full engine, not those of Azure SQL.
        "engineedition" => number(3),
        "servername" | "machinename" | "computernamephysicalnetbios" => text(&facts.server),
        "collation" => text(crate::catalogue::DEFAULT_COLLATION),
        "isintegratedsecurityonly"
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

fn collation_property(collation: &Typed, property: &Typed) -> Result<Typed, SqlError> {
    let (Some(Datum::Text(name)), Some(Datum::Text(property))) = (&collation.constant, &property.constant)
    else {
        return Err(SqlError::unsupported("COLLATIONPROPERTY of computed names"));
    };
    let Some(collation) = tds::Collation::from_name(name) else {
        return Typed::constant(Datum::Null, SqlType::Int);
    };
    let number = |value: u32| Typed::constant(Datum::Int(i64::from(value)), SqlType::Int);
    match property.to_ascii_lowercase().as_str() {
        "tdscollation" => Typed::constant(
            Datum::Binary(collation.to_bytes().to_vec()),
            SqlType::VarBinary { length: Length::Units(5) },
        ),
        "lcid" => number(collation.lcid()),
        "codepage" => number(u32::from(collation.code_page().number())),
        "version" => number(u32::from(collation.version())),
        "comparisonstyle" => number(0x30001),
        _ => Typed::constant(Datum::Null, SqlType::Int),
    }
}
