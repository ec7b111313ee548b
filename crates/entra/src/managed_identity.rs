//! The identity of a machine, container or service in Azure.

use std::env;
use std::time::Duration;

use url::{Url, form_urlencoded};

use crate::authority::Place;
use crate::error::EntraError;
use crate::http::{TokenRequest, send};
use crate::patience::Patience;
use crate::token_answer::{self, Token};

/// Variable with the address of a virtual machine's metadata service, as Azure's own libraries name it.
const HOST_VARIABLE: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
const METADATA_HOST: &str = "http://169.254.169.254";
const METADATA_PATH: &str = "/metadata/identity/oauth2/token";
/// The service answers 404 and 410 while it starts or is updated.
const METADATA_PASSING: [u16; 2] = [404, 410];
/// Time for which a chain waits for the metadata service of a machine that may not have one.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Gets a token of the managed identity; a chain first looks whether there is one.
pub(crate) fn get(
    place: &Place,
    client: Option<&str>,
    in_chain: bool,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let mut query = form_urlencoded::Serializer::new(String::new());
    let (url, headers, passing) = match (variable("IDENTITY_ENDPOINT"), variable("IDENTITY_HEADER")) {
        (Some(endpoint), Some(header)) => {
            if variable("IDENTITY_SERVER_THUMBPRINT").is_some() {
                return Err(EntraError::Setting(
                    "managed identities of Service Fabric are not supported; use a service principal"
                        .to_owned(),
                ));
            }
            query.append_pair("api-version", "2019-08-01");
            (endpoint, ("X-IDENTITY-HEADER", header), [].as_slice())
        }
        (Some(_), None) if variable("IMDS_ENDPOINT").is_some() => {
            return Err(EntraError::Setting(
                "managed identities of Azure Arc are not supported; use a service principal".to_owned(),
            ));
        }
        _ => {
            let host = variable(HOST_VARIABLE).unwrap_or_else(|| METADATA_HOST.to_owned());
            query.append_pair("api-version", "2018-02-01");
            let url = format!("{}{METADATA_PATH}", host.trim_end_matches('/'));
            (url, ("Metadata", "true".to_owned()), METADATA_PASSING.as_slice())
        }
    };
    if Url::parse(&url).is_err() {
        return Err(EntraError::Setting("IDENTITY_ENDPOINT is no URL".to_owned()));
    }
    if in_chain && !passing.is_empty() {
        look(&url, patience)?;
    }
    query.append_pair("resource", place.resource());
    if let Some(client) = client {
        query.append_pair("client_id", client);
    }
    let (name, value) = headers;
    let request = TokenRequest {
        url: &format!("{url}?{}", query.finish()),
        headers: &[(name, &value)],
        form: &[],
        passing,
        through_proxy: false,
    };
    let answer = send(&request, patience)?;
    // Every machine has the service, with an identity or without.
    let token = token_answer::token(&answer, &[&value]);
    match token {
        Err(EntraError::Refused { reason, .. }) if in_chain && answer.status == 400 => {
            Err(EntraError::Unavailable(reason))
        }
        token => token,
    }
}

/// Checks that something answers at the address.
fn look(url: &str, patience: &Patience<'_>) -> Result<(), EntraError> {
    let brief = patience.at_most(LOOK_TIME);
    let request = TokenRequest { url, headers: &[], form: &[], passing: &[], through_proxy: false };
    match send(&request, &brief) {
        Ok(_) => Ok(()),
        Err(EntraError::Interrupted) => Err(EntraError::Interrupted),
        Err(_) => Err(EntraError::Unavailable("this machine has no metadata service of Azure".to_owned())),
    }
}
