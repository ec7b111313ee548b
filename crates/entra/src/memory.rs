//! Tokens of this process, got again before they end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sign_in::Secret;
use tracing::{debug, warn};

use crate::authority::Place;
use crate::error::EntraError;
use crate::identity::{Identity, Way};
use crate::patience::Patience;
use crate::token_answer::Token;
use crate::{azure_cli, chain, device_code, grant, managed_identity, workload_identity};

/// A token's place. Held while a token is got, so that many connections ask once.
type Slot = Arc<Mutex<Option<Token>>>;

static KNOWN: Mutex<Vec<(Identity, Place, Slot)>> = Mutex::new(Vec::new());

/// Returns an access token for the identity. It comes from memory as long as it holds well.
pub fn token(identity: &Identity, place: &Place, patience: &Patience<'_>) -> Result<Secret, EntraError> {
    let slot = slot(identity, place);
    let mut known = lock(&slot);
    let now = SystemTime::now();
    if let Some(token) = known.as_ref().filter(|token| now < token.renew) {
        return Ok(token.text.clone());
    }
    debug!(?place, "getting an access token");
    match get(identity, place, known.as_ref(), patience) {
        Ok(token) => {
            let text = token.text.clone();
            *known = Some(token);
            Ok(text)
        }
        Err(error) => match known.as_ref().filter(|token| now < token.expires) {
            Some(token) => {
                warn!(%error, "the access token cannot be renewed yet");
                Ok(token.text.clone())
            }
            None => Err(error),
        },
    }
}

/// Returns true if a token is in memory, or can be had without a person.
pub fn is_known(identity: &Identity, place: &Place) -> bool {
    let slot = slot(identity, place);
    let known = lock(&slot);
    let now = SystemTime::now();
    known.as_ref().is_some_and(|token| now < token.expires || token.refresh.is_some())
}

/// Drops a token that a server has refused; what gets the next one without a person is kept.
pub fn forget(identity: &Identity, place: &Place) {
    let slot = slot(identity, place);
    let mut known = lock(&slot);
    match known.as_mut().filter(|token| token.refresh.is_some()) {
        Some(token) => (token.renew, token.expires) = (UNIX_EPOCH, UNIX_EPOCH),
        None => *known = None,
    }
}

fn slot(identity: &Identity, place: &Place) -> Slot {
    let mut known = lock(&KNOWN);
    if let Some((_, _, slot)) = known.iter().find(|(who, at, _)| who == identity && at == place) {
        return Arc::clone(slot);
    }
    let slot = Slot::default();
    known.push((identity.clone(), place.clone(), Arc::clone(&slot)));
    slot
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn get(
    identity: &Identity,
    place: &Place,
    last: Option<&Token>,
    patience: &Patience<'_>,
) -> Result<Token, EntraError> {
    match &identity.way {
        Way::ServicePrincipal { client, proof } => grant::application(place, client, proof, patience),
        Way::ManagedIdentity { client } => managed_identity::get(place, client.as_deref(), false, patience),
        Way::WorkloadIdentity { client, file } => {
            workload_identity::get(place, client.as_deref(), file.as_deref(), patience)
        }
        Way::AzureCli => azure_cli::get(place, patience),
        Way::DeviceCode { client } => {
            let refresh = last.and_then(|token| token.refresh.as_ref());
            match refresh.map(|refresh| device_code::renew(place, client.as_deref(), refresh, patience)) {
                Some(Ok(token)) => Ok(token),
                // The refresh token may have been revoked. Then a person must sign in again.
                Some(Err(EntraError::Refused { .. })) | None => {
                    device_code::get(place, client.as_deref(), patience)
                }
                Some(Err(error)) => Err(error),
            }
        }
        Way::Default { client } => chain::get(place, client.as_deref(), patience),
    }
}
