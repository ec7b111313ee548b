//! The mode and the strategy of a command line.

use load::LoadWay;

use crate::args::LoadArgs;
use crate::failure::Failure;

/// Returns the way that a command line asks for.
///
/// # Errors
/// Options exclude each other.
pub fn of(arguments: &LoadArgs) -> Result<LoadWay, Failure> {
    let LoadArgs { modes, bulk, refusals, .. } = arguments;
    let others = [
        ("--server-side", arguments.server_side, "BULK INSERT puts rows into the table itself"),
        ("--create", arguments.create, "a table that is yet to be made has neither rows nor indexes"),
    ];
    Ok(copy::load_way(modes, bulk, refusals, &others)?)
}
