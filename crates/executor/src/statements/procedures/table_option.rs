//! sp_tableoption.

use tsql::SqlError;
use tsql::parse_object_name;

use crate::session::Session;
use crate::statements::ddl::redefine;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::parameters::Signature;

const TABLE_OPTION: Signature = Signature {
    name: "sp_tableoption",
    parameters: &["@TableNamePattern", "@OptionName", "@OptionValue"],
    required: 3,
};

/// Options that say where rows and long values lie. Here they are OFF.
const OF_STORAGE: [&str; 3] = ["text in row", "large value types out of row", "vardecimal storage format"];

/// Runs sp_tableoption. Errors: 15388 if there is no such table, 15600 for meaningless arguments, 40515 for options that
/// would change nothing here.
pub(crate) fn set_table_option(session: &mut Session, arguments: &[Argument]) -> Result<(), SqlError> {
    let parameters = TABLE_OPTION.bind(arguments)?;
    let invalid = || {
        let text = "An invalid parameter or option was specified for procedure 'sp_tableoption'.";
        SqlError::new(15600, 15, 1, text)
    };
    let option = parameters.text(1).unwrap_or_default().trim().to_lowercase();
    let value = parameters.text(2).unwrap_or_default().trim().to_lowercase();
    let is_on = match value.as_str() {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    };
    let written = parameters.text(0).unwrap_or_default();
    let name = parse_object_name(&written).ok();
    let table = name.map(|name| session.work.find(&name, &session.database)).transpose()?.flatten();
    let table = table.ok_or_else(|| {
        let text = format!(
            "There is no user table matching the input name '{written}' in the current database or you do not have permission to access the table."
        );
        SqlError::new(15388, 11, 1, text)
    })?;
    match (option.as_str(), is_on) {
        ("table lock on bulk load", Some(is_on)) => {
            let mut definition = table.definition.as_ref().clone();
            definition.lock_on_bulk_load = is_on;
            let mark = session.work.start_change()?;
            let result = redefine::redefine(session, &table, &definition);
            session.work.end_statement(&mark, result.is_ok())?;
            result
        }
        (option, Some(false)) if OF_STORAGE.contains(&option) => Ok(()),
        (option, _) if OF_STORAGE.contains(&option) => {
            Err(SqlError::unsupported(&format!("sp_tableoption '{option}' with another value than OFF")))
        }
        _ => Err(invalid()),
    }
}
