//! Tokens for an application that proves itself with a secret or a signed assertion.

use sign_in::Secret;

use crate::authority::Place;
use crate::certificate::ClientCertificate;
use crate::error::EntraError;
use crate::http::{TokenRequest, send};
use crate::identity::Proof;
use crate::patience::Patience;
use crate::token_answer::{self, Token};

/// The kind of assertion that is a JWT (RFC 7523).
const JWT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Posts a form to the token endpoint. Of its fields, `secrets` are those that no message repeats.
pub(crate) fn post(
    place: &Place,
    form: &[(&str, &str)],
    secrets: &[&str],
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    let url = place.endpoint("token")?;
    let request = TokenRequest { url: &url, headers: &[], form, passing: &[], through_proxy: true };
    token_answer::token(&send(&request, patience)?, secrets)
}

/// Gets a token for an application.
pub(crate) fn application(
    place: &Place,
    client: &str,
    proof: &Proof,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    match proof {
        Proof::Secret(password) => {
            let secret = password.obtain(client)?;
            let scope = place.scope();
            let form = [
                ("grant_type", "client_credentials"),
                ("client_id", client),
                ("scope", scope.as_str()),
                ("client_secret", secret.expose()),
            ];
            post(place, &form, &[secret.expose()], patience)
        }
        Proof::Certificate(file) => {
            let audience = place.endpoint("token")?;
            let assertion = ClientCertificate::read(file)?.assertion(client, &audience)?;
            asserted(place, client, &assertion, patience)
        }
    }
}

/// Gets a token for an application that another issuer, or its own key, vouches for.
pub(crate) fn asserted(
    place: &Place,
    client: &str,
    assertion: &Secret,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    let scope = place.scope();
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", client),
        ("scope", scope.as_str()),
        ("client_assertion_type", JWT_ASSERTION),
        ("client_assertion", assertion.expose()),
    ];
    post(place, &form, &[assertion.expose()], patience)
}
