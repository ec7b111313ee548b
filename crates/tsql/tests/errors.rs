//! What errors know of themselves.

#![allow(clippy::unwrap_used)]

use bulkwire_tsql::SqlError;

#[test]
fn an_internal_error_knows_where_it_was_raised() {
    let raised: Result<(), SqlError> = Err("broken").map_err(|error| SqlError::internal(error));
    for error in [raised.unwrap_err(), SqlError::internal("broken").at_line(3)] {
        assert!(error.origin.unwrap().file().ends_with("errors.rs"), "{error:?}");
        assert_eq!(
            error.to_string(),
            "Msg 596, Level 16, State 1: The server could not finish the statement: broken"
        );
    }
    assert_eq!(SqlError::new(208, 16, 1, "Invalid object name 't'.").origin, None);
}
