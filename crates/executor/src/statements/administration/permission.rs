//! GRANT, DENY and REVOKE.

use introspection::system_views;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::administration::{Permission, PermissionVerb, SecurableClass};
use tsql::errors;

use crate::session::Session;
use crate::session::work::directory;
use crate::statements::evaluation::declared_type::find_type;

/// Whom permissions may be granted to: there are no others.
const PRINCIPALS: &[&str] = &["public", "guest"];

/// Checks whom and what a permission is about. GRANT and REVOKE are without effect beyond that, since the one login may do
/// everything. DENY would be a promise that nobody keeps.
///
/// Errors: 40515 for DENY, 15151 for a principal or a securable that there is not, 4624 for dbo.
pub(crate) fn run(session: &Session, permission: &Permission) -> Result<(), SqlError> {
    if permission.verb == PermissionVerb::Deny {
        return Err(SqlError::unsupported("DENY"));
    }
    permission.principals.iter().try_for_each(|name| check_principal(name))?;
    match &permission.securable {
        Some((class, name)) if !exists(session, *class, name)? => {
            let (kind, name) = match class {
                SecurableClass::Object => ("object", name.name.clone()),
                SecurableClass::Schema => ("schema", name.name.clone()),
                SecurableClass::Database => ("database", name.name.clone()),
                SecurableClass::Type => ("type", name.to_string()),
                SecurableClass::Other(kind) => (*kind, name.name.clone()),
            };
            let text = format!(
                "Cannot find the {kind} '{name}', because it does not exist or you do not have permission."
            );
            Err(SqlError::new(15151, 16, 1, text))
        }
        Some((SecurableClass::Object, name)) => check_columns(session, name, &permission.columns),
        _ => Ok(()),
    }
}

/// EXECUTE AS: only as who the session is already. Errors: 15406 and 15517 for a principal that there is not.
pub(crate) fn check_impersonated(session: &Session, is_login: bool, name: &str) -> Result<(), SqlError> {
    let (number, kind, own) = match is_login {
        true => (15406, "server", session.login.user.as_str()),
        false => (15517, "database", "dbo"),
    };
    if name.eq_ignore_ascii_case(own) {
        return Ok(());
    }
    let text = format!(
        "Cannot execute as the {kind} principal because the principal \"{name}\" does not exist, this type of principal cannot be impersonated, or you do not have permission."
    );
    Err(SqlError::new(number, 16, 1, text))
}

/// Checks that a table has the listed columns. Errors: 207.
fn check_columns(session: &Session, name: &ObjectName, columns: &[String]) -> Result<(), SqlError> {
    let Some(table) = session.work.find(name, &session.database)? else { return Ok(()) };
    let missing = columns.iter().find(|column| table.definition.position(column).is_none());
    missing.map_or(Ok(()), |column| Err(errors::INVALID_COLUMN.with([column])))
}

fn exists(session: &Session, class: SecurableClass, name: &ObjectName) -> Result<bool, SqlError> {
    match class {
        SecurableClass::Object => object_exists(session, name),
        SecurableClass::Schema => {
            let directory = directory::of(&session.work)?;
            let current = name.database.as_ref().unwrap_or(&session.database);
            let database = directory.database(current);
            Ok(database.is_some_and(|database| database.schema(&name.name).is_some()))
        }
        SecurableClass::Database => Ok(directory::of(&session.work)?.database(&name.name).is_some()),
        SecurableClass::Type => Ok(find_type(session, name, None)?.is_some()),
        SecurableClass::Other(kind) => {
            Ok(kind == "role" && PRINCIPALS.iter().any(|known| known.eq_ignore_ascii_case(&name.name)))
        }
    }
}

/// Returns true for a table, a module, or a view of the system.
fn object_exists(session: &Session, name: &ObjectName) -> Result<bool, SqlError> {
    if session.work.find(name, &session.database)?.is_some()
        || session.work.find_module(name, &session.database)?.is_some()
    {
        return Ok(true);
    }
    let schema = name.schema.as_deref().unwrap_or("dbo");
    Ok(system_views::view_id(&format!("[{schema}].[{}]", name.name.replace(']', "]]"))).is_some())
}

/// Refuses a name to which nothing can be granted. Errors: 4624, 15151.
fn check_principal(name: &str) -> Result<(), SqlError> {
    if PRINCIPALS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    if ["dbo", "sa", "sys", "information_schema"].iter().any(|own| own.eq_ignore_ascii_case(name)) {
        let text = "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.";
        return Err(SqlError::new(4624, 16, 1, text));
    }
    let text =
        format!("Cannot find the user '{name}', because it does not exist or you do not have permission.");
    Err(SqlError::new(15151, 16, 1, text))
}
