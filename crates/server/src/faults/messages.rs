//! Severity, state and text of errors that rules name by number.

use tsql::SqlError;
use tsql::errors;

use crate::faults::rule::Failure;

/// Number, severity, text; `{database}` stands for the session's database.
const KNOWN: &[(i32, u8, &str)] = &[
    (615, 21, "Could not find database table ID 1, name '{database}'."),
    (701, 17, "There is insufficient system memory in resource pool 'default' to run this query."),
    (
        926,
        14,
        "Database '{database}' cannot be opened. It has been marked SUSPECT by recovery. See the SQL Server errorlog for more information.",
    ),
    (1222, 16, "Lock request time out period exceeded."),
    (4060, 11, "Cannot open database \"{database}\" requested by the login. The login failed."),
    (
        4221,
        16,
        "Login to read-secondary failed due to long wait on 'HADR_DATABASE_WAIT_FOR_TRANSITION_TO_VERSIONING'. The replica is not available for login because row versions are missing for transactions that were in-flight when the replica was recycled.",
    ),
    (
        8645,
        17,
        "A timeout occurred while waiting for memory resources to execute the query in resource pool 'default' (2). Rerun the query.",
    ),
    (
        8651,
        17,
        "Could not perform the operation because the requested memory grant was not available in resource pool 'default' (2). Rerun the query, reduce the query load, or check resource governor configuration setting.",
    ),
    (9002, 17, "The transaction log for database '{database}' is full due to 'ACTIVE_TRANSACTION'."),
    (
        10928,
        20,
        "Resource ID: 1. The request limit for the database is 30 and has been reached. See 'http://go.microsoft.com/fwlink/?LinkId=267637' for assistance.",
    ),
    (
        10929,
        20,
        "Resource ID: 1. The request minimum guarantee is 0, maximum limit is 30, and the current usage for the database is 30. However, the server is currently too busy to support requests greater than 30 for this database. See 'http://go.microsoft.com/fwlink/?LinkId=267637' for assistance. Otherwise, please try again later.",
    ),
    (40143, 17, "The service has encountered an error processing your request. Please try again."),
    (
        40197,
        17,
        "The service has encountered an error processing your request. Please try again. Error code 40166.",
    ),
    (
        40501,
        20,
        "The service is currently busy. Retry the request after 10 seconds. Incident ID: 00000000-0000-0000-0000-000000000000. Code: 0.",
    ),
    (40540, 17, "The service has encountered an error processing your request. Please try again."),
    (
        40544,
        17,
        "The database '{database}' has reached its size quota. Partition or delete data, drop indexes, or consult the documentation for possible resolutions.",
    ),
    (
        40549,
        16,
        "Session is terminated because you have a long-running transaction. Try shortening your transaction.",
    ),
    (
        40551,
        16,
        "The session has been terminated because of excessive TEMPDB usage. Try modifying your query to reduce the temporary table space usage.",
    ),
    (
        40552,
        16,
        "The session has been terminated because of excessive transaction log space usage. Try modifying fewer rows in a single transaction.",
    ),
    (
        40553,
        16,
        "The session has been terminated because of excessive memory usage. Try modifying your query to process fewer rows.",
    ),
    (
        40613,
        17,
        "Database '{database}' on server 'bulkwire' is not currently available. Please retry the connection later. If the problem persists, contact customer support, and provide them the session tracing ID of '00000000-0000-0000-0000-000000000000'.",
    ),
    (
        42108,
        16,
        "Can not connect to the SQL pool since it is paused. Please resume the SQL pool and try again.",
    ),
    (
        49918,
        16,
        "Cannot process request. Not enough resources to process request. The service is currently busy. Please retry the request later.",
    ),
    (
        49919,
        16,
        "Cannot process create or update request. Too many create or update operations in progress for subscription \"0\". The service is busy processing multiple create or update requests for your subscription or server. Requests are currently blocked for resource optimization. Query sys.dm_operation_status for pending operations. Wait till pending create or update requests are complete or delete one of your pending requests and retry your request later.",
    ),
    (
        49920,
        16,
        "Cannot process request. Too many operations in progress for subscription \"0\". The service is busy processing multiple requests for this subscription. Requests are currently blocked for resource optimization. Query sys.dm_operation_status for operation status. Wait until pending requests are complete or delete one of your pending requests and retry your request later.",
    ),
];

/// Severity of an error that the list does not have.
const CLASS: u8 = 16;

impl Failure {
    /// Makes the error as a session gets it.
    pub(crate) fn error(&self, spid: u16, database: &str) -> SqlError {
        let known = KNOWN.iter().find(|(number, ..)| *number == self.number);
        let mut error = match (self.number, known) {
            (1205, _) => errors::DEADLOCK.with([&spid.to_string()]),
            (number, Some((_, class, text))) => {
                SqlError::new(number, *class, 1, text.replace("{database}", database))
            }
            (number, None) => SqlError::new(number, CLASS, 1, format!("Injected error {number}.")),
        };
        if let Some(message) = &self.message {
            error.message.clone_from(message);
        }
        error.class = self.class.unwrap_or(error.class);
        error.state = self.state.unwrap_or(error.state);
        error
    }
}
