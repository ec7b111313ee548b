//! The messages that RAISERROR and FORMATMESSAGE find by number, beside those that users have added. Their places are those of
//! `printf`.

/// The smallest number that RAISERROR and FORMATMESSAGE look for.
pub const FIRST: i32 = 13_000;

/// A message of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemMessage {
    /// `sys.messages.message_id`.
    pub number: i32,
    /// Severity; 0 for a notice.
    pub severity: u8,
    /// The text.
    pub text: &'static str,
}

/// Finds the message of a number.
pub fn find(number: i64) -> Option<&'static SystemMessage> {
    MESSAGES.iter().find(|message| i64::from(message.number) == number)
}

const fn message(number: i32, severity: u8, text: &'static str) -> SystemMessage {
    SystemMessage { number, severity, text }
}

/// All of them, by number.
pub const MESSAGES: &[SystemMessage] = &[
    message(15_002, 16, "The procedure '%s' cannot be executed within a transaction."),
    message(15_003, 16, "Only members of the %s role can execute this stored procedure."),
    message(15_004, 16, "Name cannot be NULL."),
    message(15_006, 16, "'%s' is not a valid name because it contains invalid characters."),
    message(15_007, 16, "'%s' is not a valid login or you do not have permission."),
    message(15_008, 16, "User '%s' does not exist in the current database."),
    message(15_009, 16, "The object '%s' does not exist in database '%s' or is invalid for this operation."),
    message(
        15_010,
        16,
        "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases.",
    ),
    message(15_011, 16, "Database option '%s' does not exist."),
    message(15_014, 16, "The role '%s' does not exist in the current database."),
    message(15_015, 16, "The server '%s' does not exist. Use sp_helpserver to show available servers."),
    message(15_023, 16, "User, group, or role '%s' already exists in the current database."),
    message(15_025, 16, "The server principal '%s' already exists."),
    message(15_032, 16, "The database '%s' already exists. Specify a unique database name."),
    message(15_033, 16, "'%s' is not a valid official language name."),
    message(15_036, 16, "The data type '%s' does not exist or you do not have permission."),
    message(15_040, 16, "User-defined error messages must have an ID greater than 50000."),
    message(15_041, 16, "User-defined error messages must have a severity level between 1 and 25."),
    message(15_043, 16, "You must specify 'REPLACE' to overwrite an existing message."),
    message(15_123, 16, "The configuration option '%s' does not exist, or it may be an advanced option."),
    message(15_165, 16, "Could not find object '%ls' or you do not have permission."),
    message(15_179, 16, "The message number %d does not exist."),
    message(15_197, 16, "There is no text for object '%s'."),
    message(15_198, 16, "The name supplied (%s) is not a user, role, or aliased login."),
    message(
        15_225,
        11,
        "No item by the name of '%s' could be found in the current database '%s', given that @itemtype was input as '%s'.",
    ),
    message(15_233, 16, "Property cannot be added. Property '%ls' already exists for '%ls'."),
    message(15_247, 16, "User does not have permission to perform this action."),
    message(15_248, 11, "Either the parameter @objname is ambiguous or the claimed @objtype (%s) is wrong."),
    message(
        15_250,
        16,
        "The database name component of the object qualifier must be the name of the current database.",
    ),
    message(15_325, 16, "The current database does not contain a %s named '%ls'."),
    message(
        15_335,
        11,
        "Error: The new name '%s' is already in use as a %s name and would cause a duplicate that is not permitted.",
    ),
    message(15_409, 11, "'%s' is not a role."),
    message(15_410, 11, "User or role '%s' does not exist in this database."),
    message(
        15_457,
        0,
        "Configuration option '%ls' changed from %ld to %ld. Run the RECONFIGURE statement to install.",
    ),
    message(15_471, 0, "The text for object '%ls' is encrypted."),
    message(15_472, 0, "The object '%ls' does not have any indexes, or you do not have permissions."),
    message(
        15_477,
        0,
        "Caution: Changing any part of an object name could break scripts and stored procedures.",
    ),
    message(15_600, 15, "An invalid parameter or option was specified for procedure '%ls'."),
    message(20_009, 16, "The article '%s' could not be added to the publication '%s'."),
];
