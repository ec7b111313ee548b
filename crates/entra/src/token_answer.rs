//! Answers of a token endpoint.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sign_in::Secret;

use crate::error::EntraError;
use crate::http::Answer;
use crate::jwt;

/// Characters of an endpoint's words that are shown.
const SHOWN_MAX: usize = 1200;
/// A token is got again this long before it ends.
const MARGIN: Duration = Duration::from_secs(300);

/// A token and how long it holds.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub text: Secret,
    pub expires: SystemTime,
    /// Time from which on another token is got, if that is possible.
    pub renew: SystemTime,
    /// Secret that gets the next token without a person.
    pub refresh: Option<Secret>,
}

impl Token {
    pub(crate) fn new(text: Secret, expires: SystemTime, refresh: Option<Secret>) -> Self {
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        let margin = MARGIN.min(left / 2);
        Self { text, expires, renew: expires - margin, refresh }
    }
}

/// Reads the token of an answer, or the reason why there is none. Texts of `secrets` are never repeated.
pub(crate) fn token(answer: &Answer, secrets: &[&str]) -> Result<Token, EntraError> {
    let parsed: Option<Value> = serde_json::from_str(&answer.body).ok();
    let text = parsed.as_ref().and_then(|parsed| parsed.get("access_token")?.as_str());
    match (answer.status, &parsed, text) {
        (200..=299, Some(parsed), Some(text)) if is_sendable(text) => {
            let refresh = parsed.get("refresh_token").and_then(Value::as_str).map(Secret::new);
            Ok(Token::new(Secret::new(text), expiry(parsed, text), refresh))
        }
        (200..=299, ..) => Err(refused(answer, "its answer has no access token".to_owned())),
        _ => Err(refused(answer, reason(answer, parsed.as_ref(), secrets))),
    }
}

/// Returns true for text of Base64 and dots, as tokens are.
pub(crate) fn is_sendable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the word that names an error, such as `authorization_pending`.
pub(crate) fn error_code(answer: &Answer) -> Option<String> {
    let parsed: Value = serde_json::from_str(&answer.body).ok()?;
    Some(parsed.get("error")?.as_str()?.to_owned())
}

fn refused(answer: &Answer, reason: String) -> EntraError {
    EntraError::Refused { host: answer.host.clone(), reason }
}

/// Returns the endpoint's words in one line, its correlation ID among them.
fn reason(answer: &Answer, parsed: Option<&Value>, secrets: &[&str]) -> String {
    let field =
        |name: &str| parsed.and_then(|parsed| parsed.get(name)?.as_str()).filter(|text| !text.is_empty());
    let mut said = match (field("error_description").or_else(|| field("message")), field("error")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(code)) => format!("{code} (status {})", answer.status),
        (None, None) => format!("status {}", answer.status),
    };
    if let Some(id) = field("correlation_id").filter(|id| !said.contains(id)) {
        said = format!("{said} Correlation ID: {id}");
    }
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        said = said.replace(secret, "***");
    }
    let line = said.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    line.collect::<Vec<_>>().join(" ").chars().take(SHOWN_MAX).collect()
}

/// Returns the end of a token: by this clock if the answer says how long it holds, else as the token says.
pub(crate) fn expiry(parsed: &Value, token: &str) -> SystemTime {
    let seconds = |name: &str| {
        let value = parsed.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    let at = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let now = SystemTime::now();
    seconds("expires_in")
        .and_then(|seconds| now.checked_add(Duration::from_secs(seconds)))
        .or_else(|| at(seconds("expires_on")?))
        .or_else(|| at(jwt::expiry(token)?))
        .unwrap_or(now)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { host: "sts.example".to_owned(), status, body: body.to_owned() }
    }

    #[test]
    fn a_token_ends_when_the_answer_says() {
        let cases = [
            (r#"{"access_token":"t","expires_in":3600}"#, 3600),
            (r#"{"access_token":"t","expires_in":"3600"}"#, 3600),
            (r#"{"access_token":"t","expires_on":"4102444800"}"#, 1_000_000_000),
            (r#"{"access_token":"t"}"#, 0),
            (r#"{"access_token":"t","expires_in":18446744073709551615}"#, 0),
        ];
        for (body, seconds) in cases {
            let token = token(&answer(200, body), &[]).unwrap();
            let left = token.expires.duration_since(SystemTime::now()).unwrap_or_default().as_secs();
            assert!(left <= seconds.max(3_000_000_000) && left + 10 >= seconds, "{body}: {left}");
            assert!(token.renew <= token.expires);
        }
    }

    #[test]
    fn a_refusal_has_the_text_and_the_correlation_id_and_no_secret() {
        let body = r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret 'hunter2' provided.\r\nTrace ID: 1","correlation_id":"c-1"}"#;
        let said = token(&answer(401, body), &["hunter2"]).unwrap_err().to_string();
        assert_eq!(
            said,
            "sts.example gave no token: AADSTS7000215: Invalid client secret '***' provided. Trace ID: 1 Correlation ID: c-1"
        );
        for (status, body, expected) in [
            (400, r#"{"error":"invalid_grant"}"#, "invalid_grant (status 400)"),
            (503, "<html>", "status 503"),
            (200, "{}", "no access token"),
            (200, r#"{"access_token":""}"#, "no access token"),
            (200, r#"{"access_token":"a\r\nb"}"#, "no access token"),
            (200, r#"{"access_token":7}"#, "no access token"),
            (200, "", "no access token"),
        ] {
            let said = token(&answer(status, body), &[]).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
