//! Makes a [`Config`] from a list of settings: replaces environment variables, reads values, and refuses contradictions.

use std::{collections::BTreeMap, time::Duration};

use super::{
    ApplicationIntent, Auth, COMMAND_TIMEOUT, CONNECT_RETRY_WAIT, CONNECT_TIMEOUT, Config, ConfigError,
    Encrypt, VectorSupport, authentication, keyword::Keyword, keyword_string::Setting,
};

pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Resolves the settings of either syntax.
pub(crate) fn resolve(settings: Vec<Setting>, environment: Environment<'_>) -> Result<Config, ConfigError> {
    let mut values = Values::collect(settings, environment)?;
    values.refuse_unsupported()?;
    let server = values.take(Keyword::Server).filter(|s| !s.trim().is_empty());
    let server = server.ok_or(ConfigError::Missing {
        what: "Server",
        hint: "give Server=host[,port] or mssql://host[:port]",
    })?;
    let mut target = Target::parse(&server)?;
    if let Some(port) = values.number::<u16>(Keyword::Port, "a port from 1 to 65535", |port| *port > 0)? {
        if target.port.is_some_and(|other| other != port) {
            return Err(ConfigError::Repeated { keyword: Keyword::Port.name() });
        }
        target.port = Some(port);
    }
    if let Some(instance) = values.take_filled(Keyword::Instance) {
        if target.instance.as_ref().is_some_and(|other| !other.eq_ignore_ascii_case(&instance)) {
            return Err(ConfigError::Repeated { keyword: Keyword::Instance.name() });
        }
        target.instance = Some(instance);
    }
    let encrypt = values.encrypt()?;
    let config = Config {
        host: target.host,
        port: target.port,
        instance: target.instance,
        database: values.take_filled(Keyword::Database),
        auth: authentication::auth(&mut values, environment)?,
        server_spn: values.take_filled(Keyword::ServerSpn),
        encrypt,
        trust_server_certificate: values.boolean(Keyword::TrustServerCertificate)?.unwrap_or(false),
        server_certificate: values.take_filled(Keyword::ServerCertificate).map(Into::into),
        host_name_in_certificate: values.take_filled(Keyword::HostNameInCertificate),
        application_name: values
            .take_filled(Keyword::ApplicationName)
            .unwrap_or_else(|| "bulkwire".to_owned()),
        workstation_id: values.take_filled(Keyword::WorkstationId),
        language: values.take_filled(Keyword::Language),
        application_intent: values.intent()?,
        multi_subnet_failover: values.boolean(Keyword::MultiSubnetFailover)?.unwrap_or(false),
        vectors: values.vectors()?,
        packet_size_bytes: values
            .number(Keyword::PacketSize, "512 to 32767 bytes", |n| (512..=32767).contains(n))?,
        connect_timeout: values.seconds(Keyword::ConnectTimeout)?.unwrap_or(Some(CONNECT_TIMEOUT)),
        connect_retries: values
            .number(Keyword::ConnectRetryCount, "0 to 255 tries", |n| (0..=255).contains(n))?
            .unwrap_or(0),
        connect_retry_wait: values
            .number(Keyword::ConnectRetryInterval, "1 to 60 seconds", |n| (1..=60).contains(n))?
            .map_or(CONNECT_RETRY_WAIT, Duration::from_secs),
        command_timeout: values.seconds(Keyword::CommandTimeout)?.unwrap_or(Some(COMMAND_TIMEOUT)),
        interruption: None,
        ignored: values.ignored,
    };
    refuse_conflicts(&config)?;
    let mut config = config;
    if config.trust_server_certificate && config.host_name_in_certificate.is_some() {
        // No name is compared where any certificate will do.
        config.ignored.push(Keyword::HostNameInCertificate.name().to_owned());
    }
    Ok(config)
}

/// Settings that nobody has looked at yet.
pub(super) struct Values {
    values: BTreeMap<Keyword, String>,
    ignored: Vec<String>,
}

impl Values {
    fn collect(settings: Vec<Setting>, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let mut this = Self { values: BTreeMap::new(), ignored: Vec::new() };
        for (keyword, value, _) in settings {
            if keyword == Keyword::Ignored {
                this.ignored.push(value);
                continue;
            }
            if keyword == Keyword::Driver {
                continue;
            }
            let value = expanded(&value, environment)?;
            match this.values.insert(keyword, value.clone()) {
                Some(before) if before != value => {
                    return Err(ConfigError::Repeated { keyword: keyword.name() });
                }
                _ => {}
            }
        }
        Ok(this)
    }

    pub(super) fn take(&mut self, keyword: Keyword) -> Option<String> {
        self.values.remove(&keyword)
    }

    pub(super) fn take_filled(&mut self, keyword: Keyword) -> Option<String> {
        self.take(keyword).filter(|value| !value.is_empty())
    }

    fn boolean(&mut self, keyword: Keyword) -> Result<Option<bool>, ConfigError> {
        let Some(value) = self.take_filled(keyword) else { return Ok(None) };
        match value.to_ascii_lowercase().as_str() {
            "yes" | "true" | "1" | "on" => Ok(Some(true)),
            "no" | "false" | "0" | "off" => Ok(Some(false)),
            _ => Err(ConfigError::InvalidValue { keyword: keyword.name(), value, expected: "yes or no" }),
        }
    }

    fn number<T: std::str::FromStr>(
        &mut self,
        keyword: Keyword,
        expected: &'static str,
        allowed: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.take_filled(keyword) else { return Ok(None) };
        match value.trim().parse::<T>().ok().filter(|number| allowed(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(ConfigError::InvalidValue { keyword: keyword.name(), value, expected }),
        }
    }

    /// Seconds; 0 is "for ever", as in ADO.NET.
    fn seconds(&mut self, keyword: Keyword) -> Result<Option<Option<Duration>>, ConfigError> {
        let seconds = self.number::<u32>(keyword, "a number of seconds, 0 to wait for ever", |_| true)?;
        Ok(seconds.map(|s| (s > 0).then(|| Duration::from_secs(s.into()))))
    }

    fn encrypt(&mut self) -> Result<Encrypt, ConfigError> {
        let keyword = Keyword::Encrypt;
        let Some(value) = self.take_filled(keyword) else { return Ok(Encrypt::Required) };
        match value.to_ascii_lowercase().as_str() {
            "mandatory" | "yes" | "true" | "1" | "on" | "required" => Ok(Encrypt::Required),
            "optional" | "no" | "false" | "0" | "login" => Ok(Encrypt::Login),
            "strict" => Ok(Encrypt::Strict),
            "off" | "disable" | "disabled" => Ok(Encrypt::Off),
            _ => Err(ConfigError::InvalidValue {
                keyword: keyword.name(),
                value,
                expected: "Mandatory (yes), Optional (no: only the login is encrypted), Strict, or Off (no TLS at all)",
            }),
        }
    }

    fn intent(&mut self) -> Result<ApplicationIntent, ConfigError> {
        let keyword = Keyword::ApplicationIntent;
        let Some(value) = self.take_filled(keyword) else { return Ok(ApplicationIntent::ReadWrite) };
        match value.to_ascii_lowercase().as_str() {
            "readwrite" => Ok(ApplicationIntent::ReadWrite),
            "readonly" => Ok(ApplicationIntent::ReadOnly),
            _ => Err(ConfigError::InvalidValue {
                keyword: keyword.name(),
                value,
                expected: "ReadWrite or ReadOnly",
            }),
        }
    }

    fn vectors(&mut self) -> Result<VectorSupport, ConfigError> {
        let keyword = Keyword::VectorTypeSupport;
        let Some(value) = self.take_filled(keyword) else { return Ok(VectorSupport::default()) };
        match value.to_ascii_lowercase().as_str() {
            "off" => Ok(VectorSupport::Off),
            "v1" => Ok(VectorSupport::Float32),
            "v2" => Ok(VectorSupport::All),
            _ => Err(ConfigError::InvalidValue { keyword: keyword.name(), value, expected: "off, v1 or v2" }),
        }
    }

    /// Refuses other transports than TCP, and unquoted identifiers; naming TCP changes nothing.
    fn refuse_other_transports(&mut self) -> Result<(), ConfigError> {
        let keyword = Keyword::NetworkLibrary;
        if let Some(library) = self.take_filled(keyword) {
            let is_tcp = ["dbmssocn", "tcp", "tcpip"].iter().any(|name| library.eq_ignore_ascii_case(name));
            match is_tcp {
                true => self.ignored.push(keyword.name().to_owned()),
                false => {
                    return Err(ConfigError::Unsupported {
                        keyword: keyword.name(),
                        reason: "connections are made by TCP (DBMSSOCN) alone",
                    });
                }
            }
        }
        let keyword = Keyword::QuotedId;
        match self.boolean(keyword)? {
            Some(true) => self.ignored.push(keyword.name().to_owned()),
            Some(false) => {
                return Err(ConfigError::Unsupported {
                    keyword: keyword.name(),
                    reason: "quoted identifiers are on; SET QUOTED_IDENTIFIER OFF turns them off in a batch",
                });
            }
            None => {}
        }
        Ok(())
    }

    fn refuse_unsupported(&mut self) -> Result<(), ConfigError> {
        let keyword = Keyword::ColumnEncryption;
        if self.take_filled(keyword).is_some_and(|value| !value.eq_ignore_ascii_case("disabled")) {
            return Err(ConfigError::Unsupported {
                keyword: keyword.name(),
                reason: "bulkwire has no column keys; without it encrypted columns are read as ciphertext",
            });
        }
        let keyword = Keyword::FailoverPartner;
        if self.take_filled(keyword).is_some() {
            return Err(ConfigError::Unsupported {
                keyword: keyword.name(),
                reason: "mirrored databases are not followed; name the listener of an availability group as the server",
            });
        }
        let keyword = Keyword::AuthenticationScheme;
        match self.take_filled(keyword) {
            Some(scheme) if scheme.eq_ignore_ascii_case("ntlm") => {
                return Err(ConfigError::Unsupported {
                    keyword: keyword.name(),
                    reason: "NTLM is not spoken; Integrated Security=yes signs in with a Kerberos ticket",
                });
            }
            // A ticket is what integrated security means here.
            Some(_) | None => {}
        }
        self.refuse_other_transports()?;
        if self.boolean(Keyword::Mars)?.unwrap_or(false) {
            return Err(ConfigError::Unsupported {
                keyword: Keyword::Mars.name(),
                reason: "a connection carries one request at a time; open another connection",
            });
        }
        Ok(())
    }
}

/// Settings that cannot both be honoured are refused: silently weaker security is no option.
fn refuse_conflicts(config: &Config) -> Result<(), ConfigError> {
    let conflict = |reason| Err(ConfigError::Conflict { reason });
    if config.encrypt == Encrypt::Strict && config.trust_server_certificate {
        return conflict(
            "TrustServerCertificate=yes is not possible with Encrypt=Strict, which always verifies; pin the certificate with \
             ServerCertificate=file, or name its host with HostNameInCertificate",
        );
    }
    if matches!(&config.auth, Auth::SqlLogin { user, .. } if user.contains('\\')) {
        return conflict(
            "a Windows account (DOMAIN\\name) has no password that SQL Server takes; Integrated Security=yes signs in with its \
             Kerberos ticket",
        );
    }
    if config.server_certificate.is_some() && config.trust_server_certificate {
        return conflict(
            "ServerCertificate accepts one certificate, TrustServerCertificate=yes accepts any: give one of them",
        );
    }
    if config.encrypt == Encrypt::Off
        && (config.server_certificate.is_some() || config.host_name_in_certificate.is_some())
    {
        return conflict(
            "with Encrypt=Off no certificate is ever seen; drop ServerCertificate and HostNameInCertificate",
        );
    }
    if config.server_spn.is_some() && !matches!(config.auth, Auth::Integrated { .. }) {
        return conflict(
            "ServerSPN is the service that a Kerberos ticket is for: it needs Integrated Security=true",
        );
    }
    if config.encrypt == Encrypt::Off && matches!(config.auth, Auth::AccessToken(_) | Auth::Entra(_)) {
        return conflict("an access token is never sent in the clear; drop Encrypt=Off");
    }
    Ok(())
}

/// Replaces every `${env:NAME}`.
fn expanded(value: &str, environment: Environment<'_>) -> Result<String, ConfigError> {
    const OPEN: &str = "${env:";
    let mut out = String::new();
    let mut rest = value;
    while let Some(start) = rest.find(OPEN) {
        let (before, after) = rest.split_at(start);
        let after = after.get(OPEN.len()..).unwrap_or_default();
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&environment(name).ok_or_else(|| ConfigError::Environment { name: name.to_owned() })?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// `[tcp:]host[\instance][,port]`
struct Target {
    host: String,
    instance: Option<String>,
    port: Option<u16>,
}

impl Target {
    fn parse(value: &str) -> Result<Self, ConfigError> {
        let invalid =
            |expected| ConfigError::InvalidValue { keyword: "Server", value: value.to_owned(), expected };
        let lower = value.trim().to_ascii_lowercase();
        if ["np:", "lpc:", "admin:", "\\\\", "(localdb)"].iter().any(|prefix| lower.starts_with(prefix)) {
            return Err(ConfigError::Unsupported {
                keyword: Keyword::Server.name(),
                reason: "only TCP is spoken (no named pipes, shared memory, LocalDB or admin connection): Server=host,port",
            });
        }
        let text = value.trim();
        let text = if lower.starts_with("tcp:") { text.get(4..).unwrap_or_default() } else { text };
        let (text, port) = match text.rsplit_once(',') {
            Some((host, port)) => {
                let port = port.trim().parse::<u16>().ok().filter(|port| *port > 0);
                (host, Some(port.ok_or_else(|| invalid("a port from 1 to 65535 after the comma"))?))
            }
            None => (text, None),
        };
        let (host, instance) = match text.split_once('\\') {
            Some((host, instance)) => (host, Some(instance.trim().to_owned()).filter(|i| !i.is_empty())),
            None => (text, None),
        };
        let host = host.trim();
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let host = match host {
            "." | "(local)" | "(LOCAL)" => "localhost",
            host => host,
        };
        if host.matches(':').count() == 1 {
            return Err(invalid("host,port (a comma, not a colon)"));
        }
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(invalid("host, host,port or host\\instance"));
        }
        // MSSQLSERVER is the name of the default instance, which always listens on the default port.
        let instance = instance.filter(|name| !name.eq_ignore_ascii_case("MSSQLSERVER"));
        Ok(Self { host: host.to_owned(), instance, port })
    }
}
