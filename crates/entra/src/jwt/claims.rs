//! Claims of a token.

use serde::Deserialize;

use super::decoded;

/// The claims that decide.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub iss: Option<String>,
    pub aud: Option<Audience>,
    pub exp: Option<f64>,
    pub nbf: Option<f64>,
    #[serde(flatten)]
    pub names: Names,
}

/// The audience of a token: a single one or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(super) fn has(&self, wanted: &str) -> bool {
        match self {
            Self::One(audience) => audience == wanted,
            Self::Several(audiences) => audiences.iter().any(|audience| audience == wanted),
        }
    }
}

/// The claims that name a user or an application.
#[derive(Debug, Deserialize)]
pub(super) struct Names {
    upn: Option<String>,
    preferred_username: Option<String>,
    unique_name: Option<String>,
    appid: Option<String>,
    azp: Option<String>,
}

impl Names {
    /// Returns the name of the user, or else that of the application. A user's name comes before that of the
    /// application that the user works with.
    pub(super) fn principal(self) -> Option<String> {
        let names = [self.upn, self.preferred_username, self.unique_name, self.appid, self.azp];
        names.into_iter().flatten().find(|name| !name.is_empty())
    }
}

/// Returns the name of a token's user or application, as the token gives it: nothing is checked.
pub fn name_in(token: &str) -> Option<String> {
    serde_json::from_slice::<Names>(&decoded(token.split('.').nth(1)?)?).ok()?.principal()
}

/// Returns the end that a token gives itself, in seconds since 1970: nothing is checked.
pub(crate) fn expiry(token: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct End {
        exp: u64,
    }
    serde_json::from_slice::<End>(&decoded(token.split('.').nth(1)?)?).ok().map(|end| end.exp)
}
