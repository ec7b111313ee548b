//! Signs in with Microsoft Entra: gets the token that a server asks for.

use std::time::Instant;

use entra::{EntraError, Identity, Patience, Place};
use tds::FedAuthInfo;

use crate::config::{Config, Secret};

/// The result of a server's request for a token.
pub(crate) enum Wish {
    /// The token to send, with the place that it is for.
    Granted(Place, Secret),
    /// A person has to act first, for longer than a login may take.
    Postponed(Place),
}

/// Gets the token that the server asks for.
pub(crate) fn answer(
    config: &Config,
    identity: &Identity,
    info: &FedAuthInfo,
    end: Option<Instant>,
) -> Result<Wish, EntraError> {
    let place = Place::resolve(identity, info.sts_url.as_deref(), info.service_principal.as_deref())?;
    if identity.needs_person() && !entra::is_known(identity, &place) {
        return Ok(Wish::Postponed(place));
    }
    let interrupted = || is_interrupted(config);
    let token = entra::token(identity, &place, &Patience::until(end, &interrupted))?;
    Ok(Wish::Granted(place, token))
}

/// Waits for the person, without a connection that a server would close meanwhile.
pub(crate) fn wait_for_person(config: &Config, identity: &Identity, place: &Place) -> Result<(), EntraError> {
    let interrupted = || is_interrupted(config);
    entra::token(identity, place, &Patience::until(None, &interrupted)).map(drop)
}

fn is_interrupted(config: &Config) -> bool {
    config.interruption.as_ref().is_some_and(|interruption| interruption.is_asked())
}
