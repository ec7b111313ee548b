//! The authentication in a connection string.

use std::path::PathBuf;

use super::settings::{Environment, Values};
use super::{
    ACCESS_TOKEN_VARIABLE, Auth, ConfigError, Identity, PASSWORD_VARIABLE, Password, Proof, Secret, Way,
    keyword::Keyword,
};

/// The value of `Authentication`, in the words of all drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Password,
    AccessToken,
    /// The password is the token, as go-mssqldb has it.
    TokenAsPassword,
    ServicePrincipal,
    ServicePrincipalCertificate,
    ManagedIdentity,
    WorkloadIdentity,
    AzureCli,
    DeviceCode,
    Default,
}

impl Method {
    /// Finds the method of a word. Case, blanks and underscores do not count.
    fn find(written: &str) -> Result<Self, ConfigError> {
        let plain: String = written.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
        let plain = plain.to_ascii_lowercase();
        let unsupported =
            |reason| Err(ConfigError::Unsupported { keyword: Keyword::Authentication.name(), reason });
        Ok(match plain.strip_prefix("activedirectory").unwrap_or(&plain) {
            "sqlpassword" | "notspecified" => Self::Password,
            "accesstoken" => Self::AccessToken,
            "serviceprincipalaccesstoken" => Self::TokenAsPassword,
            "serviceprincipal" | "application" => Self::ServicePrincipal,
            "serviceprincipalcertificate" => Self::ServicePrincipalCertificate,
            "managedidentity" | "msi" => Self::ManagedIdentity,
            "workloadidentity" => Self::WorkloadIdentity,
            "azcli" | "azurecli" => Self::AzureCli,
            "devicecodeflow" | "devicecode" => Self::DeviceCode,
            "default" => Self::Default,
            "password" if plain != "password" => {
                return unsupported(
                    "ActiveDirectoryPassword sends a person's password past every second factor, and Microsoft has deprecated it; \
                     use ActiveDirectoryServicePrincipal for programs and ActiveDirectoryDeviceCodeFlow for people",
                );
            }
            "interactive" => {
                return unsupported(
                    "bulkwire opens no browser; ActiveDirectoryDeviceCodeFlow signs a person in with a browser on any device",
                );
            }
            "integrated" => {
                return unsupported(
                    "it needs federation with Active Directory; use ActiveDirectoryDefault, or Integrated Security=true for a \
                     server of the domain",
                );
            }
            _ => {
                return Err(ConfigError::InvalidValue {
                    keyword: Keyword::Authentication.name(),
                    value: written.to_owned(),
                    expected: "SqlPassword, ActiveDirectoryServicePrincipal, ActiveDirectoryManagedIdentity, \
                               ActiveDirectoryWorkloadIdentity, ActiveDirectoryAzCli, ActiveDirectoryDeviceCodeFlow, \
                               ActiveDirectoryDefault or ActiveDirectoryAccessToken",
                });
            }
        })
    }
}

/// Keywords that say something to some methods, and mislead with others.
const OF_ENTRA: [Keyword; 6] = [
    Keyword::TenantId,
    Keyword::ClientId,
    Keyword::ClientCertificate,
    Keyword::FederatedTokenFile,
    Keyword::Authority,
    Keyword::Resource,
];

/// Reads who the client is.
pub(super) fn auth(values: &mut Values, environment: Environment<'_>) -> Result<Auth, ConfigError> {
    let password = password(values)?;
    if integrated(values)? {
        return ticket(values, password);
    }
    let method =
        values.take_filled(Keyword::Authentication).map(|method| Method::find(&method)).transpose()?;
    match method {
        None | Some(Method::Password | Method::AccessToken | Method::TokenAsPassword) => {
            refuse(
                values,
                &OF_ENTRA,
                "needs an Authentication of Microsoft Entra, such as ActiveDirectoryDefault",
            )?;
            login(values, method, password, environment)
        }
        Some(method) => {
            refuse(
                values,
                &[Keyword::AccessToken],
                "needs Authentication=ActiveDirectoryAccessToken, or none",
            )?;
            entra(values, method, password, environment)
        }
    }
}

/// Returns the password, or the one place that has it.
fn password(values: &mut Values) -> Result<Option<Password>, ConfigError> {
    let given = values.take(Keyword::Password).map(|text| Password::Given(Secret::new(text)));
    let file = values.take_filled(Keyword::PasswordFile).map(|file| Password::File(PathBuf::from(file)));
    let command = values.take_filled(Keyword::PasswordCommand).map(Password::Command);
    let keyring = values.take_filled(Keyword::PasswordKeyring).map(Password::Keyring);
    let mut all = [given, file, command, keyring].into_iter().flatten();
    let first = all.next();
    match all.next() {
        None => Ok(first),
        Some(_) => Err(ConfigError::Conflict {
            reason: "Password, Password File, Password Command and Password Keyring exclude one another: give one of them",
        }),
    }
}

/// Refuses settings that this way of signing in does not look at.
fn refuse(values: &mut Values, keywords: &[Keyword], reason: &'static str) -> Result<(), ConfigError> {
    for keyword in keywords {
        if values.take_filled(*keyword).is_some() {
            return Err(ConfigError::Unsupported { keyword: keyword.name(), reason });
        }
    }
    Ok(())
}

/// Makes a login with a password, or with a token from elsewhere.
fn login(
    values: &mut Values,
    method: Option<Method>,
    password: Option<Password>,
    environment: Environment<'_>,
) -> Result<Auth, ConfigError> {
    let user = values.take_filled(Keyword::User);
    let mut password = password;
    let mut token = values.take_filled(Keyword::AccessToken).map(Secret::new);
    if method == Some(Method::TokenAsPassword)
        && let Some(Password::Given(secret)) = password.take_if(|password| password.given().is_some())
    {
        token = token.or(Some(secret));
    }
    if token.is_some() && (user.is_some() || password.is_some()) {
        return Err(ConfigError::Conflict {
            reason: "Access Token excludes User ID and Password: the token names the user",
        });
    }
    let wants_token = matches!(method, Some(Method::AccessToken | Method::TokenAsPassword));
    if token.is_some() || wants_token || user.is_none() {
        let token = token.or_else(|| environment(ACCESS_TOKEN_VARIABLE).map(Secret::new));
        return token.filter(|token| !token.is_empty()).map(Auth::AccessToken).ok_or(ConfigError::Missing {
            what: if wants_token { "Access Token" } else { "User ID" },
            hint: "give User ID and Password, or an Access Token (also in BULKWIRE_ACCESS_TOKEN), or Integrated Security=true \
                   for a Kerberos ticket, or an Authentication of Microsoft Entra",
        });
    }
    let password = password.or_else(|| from_environment(environment));
    match (user, password) {
        (Some(user), Some(password)) => Ok(Auth::SqlLogin { user, password }),
        _ => Err(ConfigError::Missing {
            what: "Password",
            hint: "give Password, Password File, Password Command or Password Keyring, or set BULKWIRE_PASSWORD",
        }),
    }
}

fn from_environment(environment: Environment<'_>) -> Option<Password> {
    environment(PASSWORD_VARIABLE).map(|text| Password::Given(Secret::new(text)))
}

/// Makes an identity of Microsoft Entra. `User ID` is the application's ID, as other drivers have it.
fn entra(
    values: &mut Values,
    method: Method,
    password: Option<Password>,
    environment: Environment<'_>,
) -> Result<Auth, ConfigError> {
    let user = values.take_filled(Keyword::User);
    let client = values.take_filled(Keyword::ClientId);
    if let (Some(user), Some(client)) = (&user, &client)
        && user != client
    {
        return Err(ConfigError::Conflict {
            reason: "User ID and Client ID both name the application: give one of them",
        });
    }
    let is_application = matches!(method, Method::ServicePrincipal | Method::ServicePrincipalCertificate);
    if method != Method::WorkloadIdentity {
        refuse(
            values,
            &[Keyword::FederatedTokenFile],
            "needs Authentication=ActiveDirectoryWorkloadIdentity",
        )?;
    }
    if !is_application {
        refuse(
            values,
            &[Keyword::ClientCertificate],
            "needs Authentication=ActiveDirectoryServicePrincipal",
        )?;
        if password.is_some() {
            return Err(ConfigError::Conflict {
                reason: "this Authentication takes no password; ActiveDirectoryServicePrincipal takes a client secret",
            });
        }
    }
    if method == Method::DeviceCode && user.is_some() {
        return Err(ConfigError::Conflict {
            reason: "ActiveDirectoryDeviceCodeFlow asks for the person in the browser; Client ID names another application",
        });
    }
    if matches!(method, Method::AzureCli) && (user.is_some() || client.is_some()) {
        return Err(ConfigError::Conflict {
            reason: "ActiveDirectoryAzCli takes the identity that `az login` has signed in: leave User ID and Client ID out",
        });
    }
    let mut tenant = values.take_filled(Keyword::TenantId);
    let mut client = client.or(user);
    let way = match method {
        Method::ServicePrincipal | Method::ServicePrincipalCertificate => {
            let missing = |what, hint| ConfigError::Missing { what, hint };
            let id = client.take().ok_or_else(|| missing("User ID", "give the application's (client) ID"))?;
            // The tenant may stand behind an @.
            let (id, behind) = match id.split_once('@') {
                Some((id, tenant)) => (id.to_owned(), Some(tenant.to_owned())),
                None => (id, None),
            };
            tenant = tenant.or(behind);
            Way::ServicePrincipal { client: id, proof: proof(values, method, password, environment)? }
        }
        Method::ManagedIdentity => Way::ManagedIdentity { client },
        Method::WorkloadIdentity => {
            let file = values.take_filled(Keyword::FederatedTokenFile).map(PathBuf::from);
            Way::WorkloadIdentity { client, file }
        }
        Method::AzureCli => Way::AzureCli,
        Method::DeviceCode => Way::DeviceCode { client },
        Method::Default | Method::Password | Method::AccessToken | Method::TokenAsPassword => {
            Way::Default { client }
        }
    };
    Ok(Auth::Entra(Identity {
        way,
        authority: values.take_filled(Keyword::Authority),
        tenant,
        resource: values.take_filled(Keyword::Resource),
    }))
}

/// Returns the secret or certificate of an application.
fn proof(
    values: &mut Values,
    method: Method,
    password: Option<Password>,
    environment: Environment<'_>,
) -> Result<Proof, ConfigError> {
    match (values.take_filled(Keyword::ClientCertificate), password) {
        (Some(_), Some(_)) => Err(ConfigError::Conflict {
            reason: "Client Certificate and Password exclude each other: an application proves itself with one of them",
        }),
        (Some(file), None) => Ok(Proof::Certificate(PathBuf::from(file))),
        (None, _) if method == Method::ServicePrincipalCertificate => Err(ConfigError::Missing {
            what: "Client Certificate",
            hint: "give a PEM file with the private key and the certificate",
        }),
        (None, password) => {
            password.or_else(|| from_environment(environment)).map(Proof::Secret).ok_or(ConfigError::Missing {
                what: "Password",
                hint: "give the client secret as Password, Password File, Password Command or in BULKWIRE_PASSWORD, or a \
                       Client Certificate",
            })
        }
    }
}

fn integrated(values: &mut Values) -> Result<bool, ConfigError> {
    let keyword = Keyword::IntegratedSecurity;
    let Some(value) = values.take_filled(keyword) else { return Ok(false) };
    match value.to_ascii_lowercase().as_str() {
        "sspi" | "yes" | "true" | "1" | "on" => Ok(true),
        "no" | "false" | "0" | "off" => Ok(false),
        _ => Err(ConfigError::InvalidValue {
            keyword: keyword.name(),
            value,
            expected: "SSPI (yes, true) or no",
        }),
    }
}

/// Makes a sign-in by a Kerberos ticket, instead of a secret of the string.
fn ticket(values: &mut Values, password: Option<Password>) -> Result<Auth, ConfigError> {
    // Other clients write an empty password.
    let has_password =
        password.is_some_and(|password| password.given().is_none_or(|secret| !secret.is_empty()));
    let has_token = values.take_filled(Keyword::AccessToken).is_some();
    if has_password || has_token || values.take_filled(Keyword::Authentication).is_some() {
        return Err(ConfigError::Conflict {
            reason: "Integrated Security signs in with a Kerberos ticket; it excludes Password, Access Token and Authentication",
        });
    }
    refuse(values, &OF_ENTRA, "needs an Authentication of Microsoft Entra, not Integrated Security")?;
    Ok(Auth::Integrated { principal: values.take_filled(Keyword::User) })
}

/// Returns the settings that lead to this authentication again, without its user and its secrets.
pub(super) fn settings(auth: &Auth) -> Vec<(&'static str, String)> {
    let identity = match auth {
        Auth::SqlLogin { password, .. } => return place_of(password).into_iter().collect(),
        Auth::AccessToken(_) | Auth::Integrated { .. } => return Vec::new(),
        Auth::Entra(identity) => identity,
    };
    let shown = |file: &PathBuf| file.display().to_string();
    let (method, client, further) = match &identity.way {
        Way::ServicePrincipal { proof: Proof::Secret(password), .. } => {
            ("ServicePrincipal", None, place_of(password))
        }
        Way::ServicePrincipal { proof: Proof::Certificate(file), .. } => {
            ("ServicePrincipal", None, Some((Keyword::ClientCertificate.name(), shown(file))))
        }
        Way::ManagedIdentity { client } => ("ManagedIdentity", client.clone(), None),
        Way::WorkloadIdentity { client, file } => {
            let file = file.as_ref().map(|file| (Keyword::FederatedTokenFile.name(), shown(file)));
            ("WorkloadIdentity", client.clone(), file)
        }
        Way::AzureCli => ("AzCli", None, None),
        Way::DeviceCode { client } => ("DeviceCodeFlow", client.clone(), None),
        Way::Default { client } => ("Default", client.clone(), None),
    };
    let texts = [
        (Keyword::Authentication, Some(format!("ActiveDirectory{method}"))),
        (Keyword::ClientId, client),
        (Keyword::TenantId, identity.tenant.clone()),
        (Keyword::Authority, identity.authority.clone()),
        (Keyword::Resource, identity.resource.clone()),
    ];
    let texts = texts.into_iter().filter_map(|(keyword, text)| Some((keyword.name(), text?)));
    texts.chain(further).collect()
}

fn place_of(password: &Password) -> Option<(&'static str, String)> {
    match password {
        Password::Given(_) => None,
        Password::File(file) => Some((Keyword::PasswordFile.name(), file.display().to_string())),
        Password::Command(line) => Some((Keyword::PasswordCommand.name(), line.clone())),
        Password::Keyring(service) => Some((Keyword::PasswordKeyring.name(), service.clone())),
    }
}
