//! sp_addmessage and sp_dropmessage, and sp_describe_parameter_encryption.

use databases::catalogue::UserMessage;
use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;
use tsql::parse_declarations;

use crate::session::Session;
use crate::statements::ddl::database;
use crate::statements::procedures::argument::{Argument, text_of};
use crate::statements::procedures::parameters::Signature;

const ADD: Signature = Signature {
    name: "sp_addmessage",
    parameters: &["@msgnum", "@severity", "@msgtext", "@lang", "@with_log", "@replace"],
    required: 3,
};

const DROP: Signature = Signature { name: "sp_dropmessage", parameters: &["@msgnum", "@lang"], required: 1 };

/// Characters of a message's text.
const TEXT_MAX: usize = 255;

/// Runs sp_addmessage or sp_dropmessage.
///
/// Errors: 15170 to 15043 for arguments that do not fit, 15179 for a message that does not exist.
pub(crate) fn change_messages(
    session: &mut Session,
    procedure: &str,
    arguments: &[Argument],
) -> Result<(), SqlError> {
    let wrong = |number: i32, text: String| SqlError::new(number, 16, 1, text);
    if procedure == "sp_dropmessage" {
        let number = DROP.bind(arguments)?.int(0).unwrap_or(0);
        return database::change_directory(session, |_, directory| {
            let before = directory.messages.len();
            directory.messages.retain(|message| i64::from(message.number) != number);
            match directory.messages.len() < before {
                true => Ok(()),
                false => Err(wrong(15179, format!("The message number {number} does not exist."))),
            }
        });
    }
    let parameters = ADD.bind(arguments)?;
    let number = parameters.int(0).and_then(|number| i32::try_from(number).ok()).filter(|n| *n > 50_000);
    let number = number.ok_or_else(|| {
        wrong(15040, "User-defined error messages must have an ID greater than 50000.".to_string())
    })?;
    let severity = parameters.int(1).and_then(|severity| u8::try_from(severity).ok());
    let severity = severity.filter(|severity| (1..=25).contains(severity)).ok_or_else(|| {
        wrong(15041, "User-defined error messages must have a severity level between 1 and 25.".to_string())
    })?;
    let text = parameters.text(2).filter(|text| text.chars().count() <= TEXT_MAX).ok_or_else(|| {
        SqlError::new(
            15600,
            15,
            1,
            "An invalid parameter or option was specified for procedure 'sp_addmessage'.",
        )
    })?;
    if let Some(language) = parameters.text(3)
        && !["us_english", "English", "1033"].iter().any(|known| known.eq_ignore_ascii_case(&language))
    {
        return Err(SqlError::unsupported(&format!("A message in {language}")));
    }
    let logged = parameters.text(4).is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1");
    let replaces = parameters.text(5).is_some_and(|value| value.eq_ignore_ascii_case("replace"));
    let message = UserMessage { number, severity, text, logged };
    database::change_directory(session, |_, directory| {
        match directory.messages.iter_mut().find(|own| own.number == number) {
            Some(own) if replaces => *own = message,
            Some(_) => {
                let text = "You must specify 'REPLACE' to overwrite an existing message.";
                return Err(wrong(15043, text.to_string()));
            }
            None => directory.messages.push(message),
        }
        Ok(())
    })
}

/// Runs sp_describe_parameter_encryption: no column is encrypted, so no parameter is to be.
pub(crate) fn parameter_encryption(arguments: &[Argument]) -> Result<[View; 2], SqlError> {
    let keys = View::new(&[
        ("column_encryption_key_ordinal", "int"),
        ("database_id", "int"),
        ("column_encryption_key_id", "int"),
        ("column_encryption_key_version", "int"),
        ("column_encryption_key_metadata_version", "binary(8)"),
        ("column_encryption_key_encrypted_value", "varbinary(4000)"),
        ("column_master_key_store_provider_name", "name"),
        ("column_master_key_path", "nvarchar(4000)"),
        ("column_encryption_key_encryption_algorithm_name", "name"),
    ]);
    let mut view = View::new(&[
        ("parameter_ordinal", "int"),
        ("parameter_name", "name"),
        ("column_encryption_algorithm", "tinyint"),
        ("column_encryption_type", "tinyint"),
        ("column_encryption_key_ordinal", "int"),
        ("column_encryption_normalization_rule_version", "tinyint"),
    ]);
    let declared = text_of(arguments, 1, "@params").unwrap_or_default();
    for (ordinal, declaration) in (1_i64..).zip(parse_declarations(&declared)?) {
        let numbers = [0, 0, 0, 0].map(Datum::Int);
        view.push([vec![Datum::Int(ordinal), Datum::Text(declaration.name)], numbers.to_vec()].concat());
    }
    Ok([keys, view])
}
