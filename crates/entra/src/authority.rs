//! Authorities that issue tokens, and the resources that tokens are for. The server names both; only places
//! that are known or allowed are asked.

use std::env;

use url::Url;

use crate::error::EntraError;
use crate::identity::{Identity, Way};

/// The environment variable that allows another authority.
pub const AUTHORITY_VARIABLE: &str = "AZURE_AUTHORITY_HOST";
const TENANT_VARIABLE: &str = "AZURE_TENANT_ID";

const PUBLIC_AUTHORITY: &str = "login.microsoftonline.com";
const PUBLIC_RESOURCE: &str = "https://database.windows.net";
/// Hosts that give tokens: the public cloud's, and those of the national clouds.
const AUTHORITIES: [&str; 8] = [
    PUBLIC_AUTHORITY,
    "login.windows.net",
    "login.microsoft.com",
    "sts.windows.net",
    "login.microsoftonline.us",
    "login.usgovcloudapi.net",
    "login.partner.microsoftonline.cn",
    "login.chinacloudapi.cn",
];
/// Resources that tokens of Azure SQL are for, in each cloud.
const RESOURCES: [&str; 3] =
    [PUBLIC_RESOURCE, "https://database.usgovcloudapi.net", "https://database.chinacloudapi.cn"];

/// Authority and tenant that issue a token, and the resource that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `https://host[:port]`.
    authority: String,
    /// The tenant's name or ID.
    tenant: String,
    /// Resource that the token is for, as the server spells it.
    resource: String,
}

impl Place {
    /// Joins the place that the server names with the settings. Refuses an authority that is neither known
    /// nor allowed.
    pub fn resolve(
        identity: &Identity,
        sts_url: Option<&str>,
        service: Option<&str>,
    ) -> Result<Self, EntraError> {
        let given = identity.authority.clone().or_else(|| variable(AUTHORITY_VARIABLE));
        let given = given.map(|text| base(&text)).transpose()?;
        let named = sts_url.filter(|text| !text.is_empty()).map(Sts::read).transpose()?;
        if let Some(Sts { base, named, .. }) = &named
            && !AUTHORITIES.iter().any(|known| base.strip_prefix("https://") == Some(known))
            && given.as_ref() != Some(base)
        {
            return Err(EntraError::Untrusted {
                what: "the place to sign in",
                named: named.clone(),
                option: "Authority=https://host in the connection string, or --authority",
            });
        }
        let tenant = identity.tenant.clone().or_else(|| of_variables(&identity.way));
        let tenant = tenant.or_else(|| named.as_ref().and_then(|named| named.tenant.clone()));
        let authority = given.or_else(|| named.map(|named| named.base));
        Ok(Self {
            authority: authority.unwrap_or_else(|| format!("https://{}", PUBLIC_AUTHORITY)),
            tenant: checked_tenant(tenant.unwrap_or_default())?,
            resource: resource(identity, service)?,
        })
    }

    /// Returns an address of the authority, for the tenant. Without one a setting is missing.
    pub(crate) fn endpoint(&self, path: &str) -> Result<String, EntraError> {
        match self.tenant.as_str() {
            "" => Err(EntraError::Setting(format!(
                "the server names no tenant to sign in to: give Tenant ID in the connection string, or {TENANT_VARIABLE}"
            ))),
            tenant => Ok(format!("{}/{tenant}/oauth2/v2.0/{path}", self.authority)),
        }
    }

    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns the tenant, if one is known.
    pub(crate) fn tenant(&self) -> Option<&str> {
        Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty())
    }

    /// Returns the resource as a scope.
    pub(crate) fn scope(&self) -> String {
        format!("{}/.default", self.resource)
    }
}

/// A place to sign in, as a server names it.
struct Sts {
    named: String,
    base: String,
    tenant: Option<String>,
}

impl Sts {
    fn read(text: &str) -> Result<Self, EntraError> {
        // Text of a hostile server is shown as one line.
        let named: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        let unusable = || {
            EntraError::Setting(format!(
                "the server names {named:?} as the place to sign in, which is no https URL"
            ))
        };
        let url = Url::parse(text).map_err(|_| unusable())?;
        let has_host = url.host_str().is_some_and(|host| !host.is_empty());
        if url.scheme() != "https" || !has_host || !url.username().is_empty() || url.password().is_some() {
            return Err(unusable());
        }
        let tenant =
            url.path_segments().and_then(|mut path| path.next()).filter(|segment| !segment.is_empty());
        Ok(Self { tenant: tenant.map(str::to_owned), base: origin(&url), named })
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the tenant of the identity that the environment describes; others have nothing to do with that
/// variable.
fn of_variables(way: &Way) -> Option<String> {
    matches!(way, Way::WorkloadIdentity { .. } | Way::Default { .. })
        .then(|| variable(TENANT_VARIABLE))
        .flatten()
}

fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("https://{host}:{port}"),
        None => format!("https://{host}"),
    }
}

/// Parses an authority as users write it: a URL or a host.
fn base(text: &str) -> Result<String, EntraError> {
    let text = text.trim();
    let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let refused =
        || EntraError::Setting(format!("the authority {text:?} is no host and no https URL of one"));
    let url = Url::parse(&full).map_err(|_| refused())?;
    let is_plain = url.scheme() == "https"
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && matches!(url.path(), "" | "/");
    if is_plain { Ok(origin(&url)) } else { Err(refused()) }
}

/// Checks a tenant, which goes into a path.
fn checked_tenant(tenant: String) -> Result<String, EntraError> {
    let is_sound = tenant.len() <= 255
        && tenant.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
        && !tenant.starts_with(['.', '-']);
    match is_sound {
        true => Ok(tenant),
        false => Err(EntraError::Setting("the tenant is no ID and no domain".to_owned())),
    }
}

fn resource(identity: &Identity, service: Option<&str>) -> Result<String, EntraError> {
    if let Some(resource) = &identity.resource {
        return Ok(resource.clone());
    }
    let Some(service) = service.filter(|service| !service.is_empty()) else {
        return Ok(format!("{}/", PUBLIC_RESOURCE));
    };
    match RESOURCES.contains(&service.strip_suffix('/').unwrap_or(service)) {
        true => Ok(service.to_owned()),
        // A token for something else would let the server act as this client there.
        false => Err(EntraError::Untrusted {
            what: "what the token is for",
            named: service.chars().filter(|c| !c.is_control()).take(200).collect(),
            option: "Resource=https://name in the connection string",
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn identity(authority: Option<&str>, tenant: Option<&str>, resource: Option<&str>) -> Identity {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Identity {
            authority: text(authority),
            tenant: text(tenant),
            resource: text(resource),
            ..Identity::new(Way::AzureCli)
        }
    }

    fn at(identity: &Identity, sts: &str, service: &str) -> Result<String, String> {
        let place = Place::resolve(identity, Some(sts), Some(service)).map_err(|error| error.to_string())?;
        Ok(format!("{} {}", place.endpoint("token").map_err(|error| error.to_string())?, place.scope()))
    }

    const SQL: &str = "https://database.windows.net/";

    #[test]
    fn the_server_names_tenant_and_cloud() {
        let free = identity(None, None, None);
        let public =
            "https://login.windows.net/common/oauth2/v2.0/token https://database.windows.net//.default";
        assert_eq!(at(&free, "https://login.windows.net/common", SQL).unwrap(), public);
        let china = at(&free, "https://login.chinacloudapi.cn/t-1/", "https://database.chinacloudapi.cn");
        assert_eq!(
            china.unwrap(),
            "https://login.chinacloudapi.cn/t-1/oauth2/v2.0/token https://database.chinacloudapi.cn/.default"
        );
        let own = identity(Some("https://sts.example:8443/"), Some("contoso.example"), Some("api://db"));
        assert_eq!(
            at(&own, "https://login.windows.net/other", "https://graph.microsoft.com").unwrap(),
            "https://sts.example:8443/contoso.example/oauth2/v2.0/token api://db/.default"
        );
        assert!(at(&free, "", SQL).unwrap_err().contains("names no tenant"));
    }

    #[test]
    fn nothing_is_sent_to_a_place_that_nobody_allowed() {
        let free = identity(None, None, None);
        for (sts, service, expected) in [
            ("https://evil.example/t", SQL, "nothing was sent there"),
            ("https://login.microsoftonline.com.evil.example/t", SQL, "nothing was sent there"),
            ("https://login.microsoftonline.com@evil.example/t", SQL, "no https URL"),
            ("http://login.microsoftonline.com/t", SQL, "no https URL"),
            ("https://login.microsoftonline.com:8443/t", SQL, "nothing was sent there"),
            ("https://login.microsoftonline.com/t", "https://graph.microsoft.com/", "what the token is for"),
            (
                "https://login.microsoftonline.com/t",
                "https://database.windows.net.evil.example/",
                "what the token is for",
            ),
            ("https://login.microsoftonline.com/t%2F..%2Fx", SQL, "no ID and no domain"),
            ("nonsense", SQL, "no https URL"),
        ] {
            let said = at(&free, sts, service).unwrap_err();
            assert!(said.contains(expected), "{sts} {service}: {said}");
        }
        let own = identity(Some("sts.example"), None, None);
        assert!(at(&own, "https://evil.example/t", SQL).unwrap_err().contains("nothing was sent there"));
        assert!(at(&own, "https://sts.example/t", SQL).unwrap().starts_with("https://sts.example/t/"));
        for authority in ["http://sts.example", "https://a@sts.example", "https://sts.example/path", ""] {
            assert!(at(&identity(Some(authority), None, None), "", SQL).is_err(), "{authority}");
        }
    }
}
