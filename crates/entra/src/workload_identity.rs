//! A token of another issuer, such as Kubernetes, that Entra takes for its own.

use std::env;
use std::path::{Path, PathBuf};

use sign_in::{Password, PasswordError, Secret};

use crate::authority::Place;
use crate::error::EntraError;
use crate::grant;
use crate::patience::Patience;
use crate::token_answer::Token;

const FILE_VARIABLE: &str = "AZURE_FEDERATED_TOKEN_FILE";
const CLIENT_VARIABLE: &str = "AZURE_CLIENT_ID";

/// Gets a token of the workload identity.
pub(crate) fn get(
    place: &Place,
    client: Option<&str>,
    file: Option<&Path>,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let missing = |what: &str, name: &str| {
        EntraError::Unavailable(format!("workload identity needs {what}: {name} is not set"))
    };
    let file = file.map(Path::to_owned).or_else(|| variable(FILE_VARIABLE).map(PathBuf::from));
    let file = file.ok_or_else(|| missing("the file of a token", FILE_VARIABLE))?;
    let client = client.map(str::to_owned).or_else(|| variable(CLIENT_VARIABLE));
    let client = client.ok_or_else(|| missing("a client ID", CLIENT_VARIABLE))?;
    grant::asserted(place, &client, &assertion(file)?, patience)
}

/// Reads the token in the file, which its issuer replaces before it ends.
fn assertion(file: PathBuf) -> Result<Secret, EntraError> {
    Password::File(file).obtain("").map_err(|error| {
        EntraError::Setting(match error {
            PasswordError::File { file, source } => {
                format!("the federated token file {}: {source}", file.display())
            }
            PasswordError::Content { file, reason } => {
                format!("the federated token file {} {reason}", file.display())
            }
            other => other.to_string(),
        })
    })
}
