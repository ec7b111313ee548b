//! Addresses of hosts, by the system's own look-up. A missing name is not the same as a look-up that failed.

use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Messages of systems for a name without a host: glibc, musl, macOS and Windows. The number of the error is
/// not kept by all of them.
const MISSING: [&str; 7] = [
    "Name or service not known",
    "No address associated with hostname",
    "Name does not resolve",
    "Name has no usable address",
    "nodename nor servname provided",
    "No such host is known",
    "no data of the requested type was found",
];

/// Reason why a host has no address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("no host has the name {host}")]
    Missing { host: String },
    #[error("the address of {host} could not be looked up: {reason}")]
    Failed { host: String, reason: String },
}

/// Returns true if a request failed because no host has the name.
pub(crate) fn is_missing(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(link) = next {
        if let Some(found) = link.downcast_ref::<LookupError>() {
            return matches!(found, LookupError::Missing { .. });
        }
        next = link.source();
    }
    false
}

/// Looks names up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names that had an address: one that is gone for a moment is passing trouble.
    found: Arc<Mutex<HashSet<String>>>,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, known) = (name.as_str().to_owned(), Arc::clone(&self.found));
        Box::pin(async move {
            let looked_up = tokio::net::lookup_host((host.as_str(), 0)).await;
            let addresses: Vec<SocketAddr> = settled(&known, &host, looked_up)?.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Notes a name that was found, and decides the error of one that was not.
fn settled<T>(
    known: &Mutex<HashSet<String>>,
    host: &str,
    looked_up: io::Result<T>,
) -> Result<T, LookupError> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    match looked_up {
        Ok(addresses) => {
            known.insert(host.to_owned());
            Ok(addresses)
        }
        Err(error) => {
            let (host, reason) = (host.to_owned(), error.to_string());
            let is_missing = MISSING.iter().any(|text| reason.contains(text)) && !known.contains(&host);
            Err(match is_missing {
                true => LookupError::Missing { host },
                false => LookupError::Failed { host, reason },
            })
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Finds no name, and says why in a system's words.
    #[derive(Debug)]
    pub(crate) struct Nowhere {
        pub(crate) says: &'static str,
        pub(crate) asked: Arc<AtomicUsize>,
    }

    impl Resolve for Nowhere {
        fn resolve(&self, name: Name) -> Resolving {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let looked_up: io::Result<Addrs> = Err(io::Error::other(self.says));
            let settled = settled(&Mutex::default(), name.as_str(), looked_up);
            Box::pin(async move { Ok(settled?) })
        }
    }

    #[test]
    fn a_missing_name_is_not_a_failed_look_up() {
        let known = Mutex::default();
        let said = |text: &'static str| {
            let looked_up: io::Result<()> = Err(io::Error::other(text));
            settled(&known, "store.example", looked_up).unwrap_err().to_string()
        };
        let missing = "failed to lookup address information: Name or service not known";
        assert_eq!(said(missing), "no host has the name store.example");
        assert_eq!(said("No such host is known. (os error 11001)"), "no host has the name store.example");
        let passing = "failed to lookup address information: Temporary failure in name resolution";
        assert!(said(passing).starts_with("the address of store.example could not be looked up: "));
        settled(&known, "store.example", Ok(())).unwrap();
        assert!(said(missing).starts_with("the address of store.example could not be looked up: "));
    }

    #[tokio::test]
    async fn the_system_s_words_for_a_missing_name_are_known() {
        let missing = Names::default().resolve("no-such-host.invalid".parse().unwrap()).await;
        // Without a name server every look-up fails, also this one.
        let error = missing.map(drop).unwrap_err().to_string();
        assert!(error.contains("no-such-host.invalid"), "{error}");
        assert!(
            !error.contains("looked up") || error.contains("emporary") || error.contains("ry again"),
            "{error}"
        );
        let found = Names::default().resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(found.map(|address| address.ip()).all(|address| address.is_loopback()));
    }
}
