//! The keywords of a connection string, with their other spellings.

use rows::edit_distance;

use super::ConfigError;

/// A setting of a connection string, independent of its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keyword {
    Server,
    Port,
    Instance,
    Database,
    User,
    Password,
    PasswordFile,
    PasswordCommand,
    PasswordKeyring,
    AccessToken,
    Authentication,
    TenantId,
    ClientId,
    ClientCertificate,
    FederatedTokenFile,
    Authority,
    Resource,
    Encrypt,
    TrustServerCertificate,
    ServerCertificate,
    HostNameInCertificate,
    ApplicationName,
    ApplicationIntent,
    WorkstationId,
    Language,
    MultiSubnetFailover,
    VectorTypeSupport,
    PacketSize,
    ConnectTimeout,
    CommandTimeout,
    ConnectRetryCount,
    ConnectRetryInterval,
    IntegratedSecurity,
    ServerSpn,
    Mars,
    ColumnEncryption,
    NetworkLibrary,
    QuotedId,
    AuthenticationScheme,
    FailoverPartner,
    /// The driver of ODBC. Everybody knows that another one reads the text.
    Driver,
    /// A keyword of other clients that has no meaning here (pools, providers).
    Ignored,
}

/// Keyword, the spelling used in messages, and its other spellings, in lower case without blanks and underscores.
type Entry = (Keyword, &'static str, &'static [&'static str]);

/// The table. ADO.NET, ODBC, OLE DB and JDBC spellings.
const TABLE: &[Entry] = &[
    (
        Keyword::Server,
        "Server",
        &["server", "datasource", "address", "addr", "networkaddress", "servername", "host"],
    ),
    (Keyword::Port, "Port", &["port", "portnumber"]),
    (Keyword::Instance, "Instance", &["instance", "instancename"]),
    (Keyword::Database, "Database", &["database", "initialcatalog", "databasename"]),
    (Keyword::User, "User ID", &["userid", "uid", "user", "username"]),
    (Keyword::Password, "Password", &["password", "pwd"]),
    (Keyword::PasswordFile, "Password File", &["passwordfile"]),
    (Keyword::PasswordCommand, "Password Command", &["passwordcommand"]),
    (Keyword::PasswordKeyring, "Password Keyring", &["passwordkeyring"]),
    (Keyword::AccessToken, "Access Token", &["accesstoken"]),
    (Keyword::Authentication, "Authentication", &["authentication", "fedauth"]),
    (Keyword::TenantId, "Tenant ID", &["tenantid", "tenant"]),
    (Keyword::ClientId, "Client ID", &["clientid", "applicationclientid", "msiclientid"]),
    (Keyword::ClientCertificate, "Client Certificate", &["clientcertificate", "clientcertpath"]),
    (Keyword::FederatedTokenFile, "Federated Token File", &["federatedtokenfile"]),
    (Keyword::Authority, "Authority", &["authority", "authorityhost"]),
    (Keyword::Resource, "Resource", &["resource"]),
    (Keyword::Encrypt, "Encrypt", &["encrypt", "encryption", "useencryptionfordata"]),
    (Keyword::TrustServerCertificate, "TrustServerCertificate", &["trustservercertificate"]),
    (Keyword::ServerCertificate, "ServerCertificate", &["servercertificate"]),
    (Keyword::HostNameInCertificate, "HostNameInCertificate", &["hostnameincertificate"]),
    (Keyword::ApplicationName, "Application Name", &["applicationname", "app", "appname"]),
    (Keyword::ApplicationIntent, "ApplicationIntent", &["applicationintent"]),
    (Keyword::WorkstationId, "Workstation ID", &["workstationid", "wsid"]),
    (Keyword::Language, "Language", &["language", "currentlanguage"]),
    (Keyword::MultiSubnetFailover, "MultiSubnetFailover", &["multisubnetfailover"]),
    (Keyword::VectorTypeSupport, "VectorTypeSupport", &["vectortypesupport"]),
    (Keyword::PacketSize, "Packet Size", &["packetsize"]),
    (
        Keyword::ConnectTimeout,
        "Connect Timeout",
        &["connecttimeout", "connectiontimeout", "timeout", "logintimeout"],
    ),
    (Keyword::CommandTimeout, "Command Timeout", &["commandtimeout", "querytimeout"]),
    (Keyword::ConnectRetryCount, "ConnectRetryCount", &["connectretrycount"]),
    (Keyword::ConnectRetryInterval, "ConnectRetryInterval", &["connectretryinterval"]),
    (Keyword::IntegratedSecurity, "Integrated Security", &["integratedsecurity", "trustedconnection"]),
    (Keyword::ServerSpn, "ServerSPN", &["serverspn"]),
    (Keyword::Mars, "MultipleActiveResultSets", &["multipleactiveresultsets", "marsconnection"]),
    (
        Keyword::ColumnEncryption,
        "Column Encryption Setting",
        &["columnencryptionsetting", "columnencryption"],
    ),
    (Keyword::NetworkLibrary, "Network Library", &["networklibrary", "network", "net"]),
    (Keyword::QuotedId, "QuotedId", &["quotedid"]),
    (Keyword::AuthenticationScheme, "authenticationScheme", &["authenticationscheme"]),
    (
        Keyword::FailoverPartner,
        "Failover Partner",
        &["failoverpartner", "failoverpartnerserverspn", "failoverpartnerspn"],
    ),
    (Keyword::Driver, "Driver", &["driver"]),
    (
        Keyword::Ignored,
        "Provider",
        &[
            "provider",
            "ipaddresspreference",
            "dsn",
            "pooling",
            "minpoolsize",
            "maxpoolsize",
            "poolblockingperiod",
            "connectionlifetime",
            "loadbalancetimeout",
            "connectionreset",
            "enlist",
            "persistsecurityinfo",
            "replication",
            "asynchronousprocessing",
            "typesystemversion",
            "tdsversion",
        ],
    ),
];

/// Keywords of other clients that mean something of the kind, and the keyword to look at, which messages name.
const ELSEWHERE: &[(&str, Keyword)] = &[
    ("tlsmin", Keyword::Encrypt),
    ("mintls", Keyword::Encrypt),
    ("tlsversion", Keyword::Encrypt),
    ("sslprotocol", Keyword::Encrypt),
    ("sslmode", Keyword::Encrypt),
    ("ssl", Keyword::Encrypt),
    ("tls", Keyword::Encrypt),
    ("usessl", Keyword::Encrypt),
    ("certificate", Keyword::ServerCertificate),
    ("truststore", Keyword::ServerCertificate),
    ("sslrootcert", Keyword::ServerCertificate),
    ("cafile", Keyword::ServerCertificate),
    ("protocol", Keyword::Server),
    ("hostname", Keyword::Server),
    ("endpoint", Keyword::Server),
    ("db", Keyword::Database),
    ("dbname", Keyword::Database),
    ("catalog", Keyword::Database),
    ("pass", Keyword::Password),
    ("passwd", Keyword::Password),
    ("secret", Keyword::Password),
    ("token", Keyword::AccessToken),
    ("dialtimeout", Keyword::ConnectTimeout),
    ("sockettimeout", Keyword::CommandTimeout),
    ("accesstokencallbackclass", Keyword::Authentication),
];

impl Keyword {
    /// Finds a keyword. Case, blanks and underscores do not count ("User ID", "user_id", "UserId").
    pub(crate) fn find(written: &str) -> Option<Self> {
        let plain = plain(written);
        TABLE
            .iter()
            .find(|(_, _, spellings)| spellings.contains(&plain.as_str()))
            .map(|(keyword, _, _)| *keyword)
    }

    /// Returns the spelling used in messages.
    pub(crate) fn name(self) -> &'static str {
        TABLE.iter().find(|(keyword, _, _)| *keyword == self).map_or("", |(_, name, _)| name)
    }

    /// Returns true if the value must never be printed.
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Password | Self::AccessToken)
    }

    /// Makes the error for an unknown keyword, naming the nearest known one.
    pub(crate) fn unknown(written: &str) -> ConfigError {
        let plain = plain(written);
        let wanted = plain.as_str();
        let nearest = TABLE
            .iter()
            .filter(|(keyword, _, _)| !matches!(keyword, Self::Ignored | Self::Driver))
            .flat_map(|(_, name, spellings)| {
                spellings.iter().map(move |s| (edit_distance(wanted, s), s.len(), *name))
            })
            .min_by_key(|(distance, ..)| *distance)
            // A third of a spelling may be wrong: what is further away is another word.
            .filter(|(distance, length, _)| *distance <= (length / 3).max(1))
            .map(|(.., name)| name);
        let elsewhere = ELSEWHERE.iter().find(|(spelling, _)| *spelling == wanted);
        let nearest = elsewhere.map(|(_, keyword)| keyword.name()).or(nearest);
        ConfigError::UnknownKeyword { keyword: written.to_owned(), nearest }
    }
}

fn plain(written: &str) -> String {
    written.chars().filter(|c| !c.is_whitespace() && *c != '_').flat_map(char::to_lowercase).collect()
}
