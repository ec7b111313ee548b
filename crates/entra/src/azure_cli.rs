//! The identity that `az login` has signed in.

use std::io;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sign_in::Secret;
use sign_in::command::{CommandError, printed};

use crate::authority::Place;
use crate::error::EntraError;
use crate::patience::Patience;
use crate::token_answer::{self, Token};

/// Azure CLI starts slowly.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Characters of its words that are shown.
const SHOWN_MAX: usize = 400;

/// Gets a token of Azure CLI.
pub(crate) fn get(place: &Place, patience: &Patience<'_>) -> Result<Token, EntraError> {
    let resource = place.resource();
    // The resource goes through a shell on Windows, so only harmless characters are allowed.
    if !resource.chars().all(|c| c.is_ascii_alphanumeric() || ":/.-_".contains(c)) {
        return Err(EntraError::Setting(format!("the resource {resource:?} is none that Azure CLI takes")));
    }
    let mut command = match cfg!(windows) {
        true => {
            let mut shell = Command::new("cmd");
            shell.args(["/C", "az"]);
            shell
        }
        false => Command::new("az"),
    };
    command.args(["account", "get-access-token", "--output", "json", "--resource", resource]);
    if let Some(tenant) = place.tenant() {
        command.args(["--tenant", tenant]);
    }
    let time = patience.at_most(TIME_MAX).for_request()?;
    let printed = printed(command, time, true).map_err(|error| match error {
        CommandError::Start(error) if error.kind() == io::ErrorKind::NotFound => {
            EntraError::Unavailable("Azure CLI (az) is not installed".to_owned())
        }
        error => EntraError::Unavailable(format!("Azure CLI (az) {error}")),
    })?;
    if !printed.status.success() {
        let said = String::from_utf8_lossy(&printed.errors);
        let said: String =
            said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_MAX).collect();
        return Err(EntraError::Unavailable(format!("Azure CLI (az) gave no token: {said}")));
    }
    let unreadable =
        || EntraError::Unavailable("Azure CLI (az) printed something else than a token".to_owned());
    let parsed: Value = serde_json::from_slice(&printed.output).map_err(|_| unreadable())?;
    let text = parsed.get("accessToken").and_then(Value::as_str);
    let text = text.filter(|text| token_answer::is_sendable(text)).ok_or_else(unreadable)?;
    // Older versions say when it ends in local time alone, so the token itself is asked.
    Ok(Token::new(Secret::new(text), token_answer::expiry(&parsed, text), None))
}
