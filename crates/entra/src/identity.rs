//! Identity that signs in, and its proof.

use std::path::PathBuf;

use sign_in::Password;

/// An identity, and what restricts where it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Proof of the identity.
    pub way: Way,
    /// The one place that is asked for tokens, if not that of the public cloud or a national one.
    pub authority: Option<String>,
    /// The tenant, if not the one that the server names.
    pub tenant: Option<String>,
    /// Resource that the token is for, if not Azure SQL.
    pub resource: Option<String>,
}

/// Way in which an identity is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// An application with a secret or a certificate.
    ServicePrincipal {
        /// The application's (client) ID.
        client: String,
        /// Secret or certificate of the application.
        proof: Proof,
    },
    /// The identity of the machine, container or service.
    ManagedIdentity {
        /// Client ID of a user-assigned identity.
        client: Option<String>,
    },
    /// A token of another issuer, such as Kubernetes, in a file.
    WorkloadIdentity {
        /// The application's (client) ID, or `AZURE_CLIENT_ID`.
        client: Option<String>,
        /// The file, or `AZURE_FEDERATED_TOKEN_FILE`.
        file: Option<PathBuf>,
    },
    /// The user or application that `az login` has signed in.
    AzureCli,
    /// A person with a browser, on any device.
    DeviceCode {
        /// The application's (client) ID, if not that of Azure's own tools.
        client: Option<String>,
    },
    /// First way that the environment offers: variables, workload identity, managed identity, Azure CLI.
    Default {
        /// Client ID of a user-assigned or workload identity.
        client: Option<String>,
    },
}

/// Secret or certificate with which an application proves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A client secret.
    Secret(Password),
    /// A PEM file with a private key and its certificate.
    Certificate(PathBuf),
}

impl Identity {
    /// Creates an identity without restrictions of its own.
    pub fn new(way: Way) -> Self {
        Self { way, authority: None, tenant: None, resource: None }
    }

    /// Returns true if a person has to act before there is a token.
    pub fn needs_person(&self) -> bool {
        matches!(self.way, Way::DeviceCode { .. })
    }
}
