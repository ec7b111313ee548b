//! Ways to sign in that the environment offers, in the order of Azure's own libraries.

use std::env;
use std::path::PathBuf;

use sign_in::{Password, Secret};

use crate::authority::Place;
use crate::error::EntraError;
use crate::identity::Proof;
use crate::patience::Patience;
use crate::token_answer::Token;
use crate::{azure_cli, grant, managed_identity, workload_identity};

/// Gets the first token that there is. A link that is there and is refused ends the chain: another identity
/// would be a surprise.
pub(crate) fn get(place: &Place, client: Option<&str>, patience: &Patience<'_>) -> Result<Token, EntraError> {
    let own = env::var("AZURE_CLIENT_ID").ok().filter(|value| !value.is_empty());
    let client = client.map(str::to_owned).or(own);
    let client = client.as_deref();
    type Link<'a> = (&'static str, &'a dyn Fn() -> Result<Token, EntraError>);
    let links: [Link<'_>; 4] = [
        ("environment", &|| of_variables(place, patience)),
        ("workload identity", &|| workload_identity::get(place, client, None, patience)),
        ("managed identity", &|| managed_identity::get(place, client, true, patience)),
        ("Azure CLI", &|| azure_cli::get(place, patience)),
    ];
    let mut reasons = Vec::new();
    for (name, link) in links {
        match link() {
            Err(EntraError::Unavailable(reason)) => reasons.push((name, reason)),
            Err(EntraError::Refused { host, reason }) => {
                return Err(EntraError::Refused { host, reason: format!("{reason} ({name})") });
            }
            got => return got,
        }
    }
    Err(EntraError::Nothing(reasons))
}

/// Gets a token for the service principal that variables describe.
fn of_variables(place: &Place, patience: &Patience<'_>) -> Result<Token, EntraError> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let missing = || {
        EntraError::Unavailable(
            "AZURE_TENANT_ID, AZURE_CLIENT_ID, and AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH are not all set"
                .to_owned(),
        )
    };
    let client = variable("AZURE_CLIENT_ID").ok_or_else(missing)?;
    variable("AZURE_TENANT_ID").ok_or_else(missing)?;
    let proof = match (variable("AZURE_CLIENT_SECRET"), variable("AZURE_CLIENT_CERTIFICATE_PATH")) {
        (Some(secret), _) => Proof::Secret(Password::Given(Secret::new(secret))),
        (None, Some(file)) => Proof::Certificate(PathBuf::from(file)),
        (None, None) => return Err(missing()),
    };
    grant::application(place, &client, &proof, patience)
}
