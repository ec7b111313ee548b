//! A person signs in with a browser on any device, by a code that is shown here (RFC 8628).

use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;
use sign_in::Secret;

use crate::authority::Place;
use crate::error::EntraError;
use crate::grant;
use crate::http::{TokenRequest, send};
use crate::patience::Patience;
use crate::token_answer::{self, Token};

/// The application of Azure's own developer tools, which every tenant knows.
const TOOLS_CLIENT: &str = "04b07795-8ddb-461a-bbee-02f9e1bf7b46";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Bounds of what the endpoint says about time.
const INTERVAL_MAX_SECONDS: u64 = 60;
const CODE_TIME_MAX_SECONDS: u64 = 1800;
/// Characters of the endpoint's words that are shown.
const SHOWN_MAX: usize = 500;

/// Gets a token for the person who enters the code.
pub(crate) fn get(place: &Place, client: Option<&str>, patience: &Patience<'_>) -> Result<Token, EntraError> {
    let client = client.unwrap_or(TOOLS_CLIENT);
    let scope = wanted(place);
    let url = place.endpoint("devicecode")?;
    let form = [("client_id", client), ("scope", scope.as_str())];
    let request = TokenRequest { url: &url, headers: &[], form: &form, passing: &[], through_proxy: true };
    let answer = send(&request, patience)?;
    let parsed: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let text = |name: &str| parsed.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |name: &str| {
        parsed.get(name).and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
    };
    let (Some(code), Some(user_code), Some(page)) =
        (text("device_code"), text("user_code"), text("verification_uri"))
    else {
        // A refusal says why; anything else is no answer.
        return Err(token_answer::token(&answer, &[]).err().unwrap_or_else(|| EntraError::Refused {
            host: answer.host.clone(),
            reason: "its answer has no code".to_owned(),
        }));
    };
    let message =
        format!("To sign in, open {} in a browser and enter the code {}", shown(page), shown(user_code));
    let _ = writeln!(io::stderr(), "{message}");
    let seconds = number("expires_in").unwrap_or(900).min(CODE_TIME_MAX_SECONDS);
    let patience = patience.at_most(Duration::from_secs(seconds));
    let mut interval = Duration::from_secs(number("interval").unwrap_or(5).clamp(1, INTERVAL_MAX_SECONDS));
    loop {
        patience.wait(interval).map_err(expired)?;
        let url = place.endpoint("token")?;
        let form = [("grant_type", GRANT), ("client_id", client), ("device_code", code)];
        let request =
            TokenRequest { url: &url, headers: &[], form: &form, passing: &[], through_proxy: true };
        let answer = send(&request, &patience).map_err(expired)?;
        match token_answer::error_code(&answer).as_deref() {
            Some("authorization_pending") => {}
            Some("slow_down") => interval += Duration::from_secs(5),
            _ => return token_answer::token(&answer, &[code]),
        }
    }
}

/// Gets a token without a person, by the refresh token that came with the last one.
pub(crate) fn renew(
    place: &Place,
    client: Option<&str>,
    refresh: &Secret,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    let scope = wanted(place);
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", client.unwrap_or(TOOLS_CLIENT)),
        ("scope", scope.as_str()),
        ("refresh_token", refresh.expose()),
    ];
    let mut token = grant::post(place, &form, &[refresh.expose()], patience)?;
    token.refresh.get_or_insert_with(|| refresh.clone());
    Ok(token)
}

fn wanted(place: &Place) -> String {
    format!("{} offline_access", place.scope())
}

fn expired(error: EntraError) -> EntraError {
    match error {
        EntraError::TimedOut(_) => EntraError::Setting("nobody entered the code in time".to_owned()),
        other => other,
    }
}

/// Returns a text that can be printed on a terminal.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect()
}
