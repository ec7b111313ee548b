//! Ends made from what people paste: connection strings and endpoints.

use std::cell::RefCell;

use copy::{Endpoint, FileEndpoint};
use load::Config;
use load::config::{
    ACCESS_TOKEN_VARIABLE, ApplicationIntent, Auth, ConfigError, Encrypt, PASSWORD_VARIABLE, Password, Proof,
    Way,
};

use super::absolute;
use super::end::{DatabaseEnd, End, EndKind, ServerEnd};
use load::config::Secret;

impl End {
    /// Reads an endpoint as `bulkwire copy` spells it. What it does not name is as before.
    pub fn read(&mut self, text: &str) {
        match Endpoint::parse(text, std::env::var("BULKWIRE_URL").ok().as_deref()) {
            Ok(Endpoint::Files(FileEndpoint { path, sheet })) => {
                self.kind = EndKind::File;
                // The package and the command work from any folder.
                self.file.path = absolute(&path);
                self.file.sheet = sheet.unwrap_or_default();
            }
            Ok(Endpoint::SqlServer(server)) => {
                self.kind = EndKind::SqlServer;
                self.server.take(&server.config);
                self.table = server.table.map(|table| table.to_string()).unwrap_or_default();
            }
            Ok(Endpoint::Database(database)) => {
                self.kind = EndKind::Database;
                self.database.address = database.address;
                self.database.take_password_out();
                self.table = database.table.unwrap_or_default();
            }
            Ok(Endpoint::DatabaseFile(files)) => {
                // Its tables are listed, as those of a database are.
                self.kind = EndKind::Database;
                self.database.address =
                    files.files.iter().map(|path| absolute(path)).collect::<Vec<_>>().join(",");
                self.table = files.table.unwrap_or_default();
            }
            Err(_) => self.file.path = text.to_owned(),
        }
    }
}

impl ServerEnd {
    /// Reads a connection string or a URL.
    ///
    /// # Errors
    /// It cannot be read, or asks for what the client does not have.
    pub fn read(&mut self, text: &str) -> Result<(), ConfigError> {
        let named = RefCell::new(String::new());
        let config = Config::parse_with(text, &|name| {
            if !matches!(name, PASSWORD_VARIABLE | ACCESS_TOKEN_VARIABLE) {
                name.clone_into(&mut named.borrow_mut());
            }
            (name != ACCESS_TOKEN_VARIABLE).then(String::new)
        })?;
        self.take(&config);
        self.password_variable = named.into_inner();
        Ok(())
    }

    fn take(&mut self, config: &Config) {
        self.host = match (&config.instance, config.port) {
            (_, Some(port)) if config.host.contains(':') => format!("[{}]:{port}", config.host),
            (_, Some(port)) => format!("{}:{port}", config.host),
            (Some(instance), None) => format!("{}\\{instance}", config.host),
            (None, None) => config.host.clone(),
        };
        self.database = config.database.clone().unwrap_or_default();
        self.is_integrated = false;
        let authentication = config.authentication_settings();
        match &config.auth {
            Auth::SqlLogin { user, password } => {
                self.user.clone_from(user);
                let given = password.given().map(|password| password.expose().to_owned());
                self.password = Secret::new(given.unwrap_or_default());
            }
            Auth::Entra(identity) => {
                if let Way::ServicePrincipal { client, proof } = &identity.way {
                    self.user.clone_from(client);
                    if let Proof::Secret(Password::Given(password)) = proof {
                        self.password = Secret::new(password.expose().to_owned());
                    }
                }
            }
            Auth::Integrated { principal } => {
                self.user = principal.clone().unwrap_or_default();
                self.is_integrated = true;
            }
            // A token is too short-lived for a command; the environment can hold it.
            Auth::AccessToken(_) => {}
        }
        self.encrypt = match config.encrypt {
            Encrypt::Off => "off",
            Encrypt::Login => "optional",
            Encrypt::Required => "",
            Encrypt::Strict => "strict",
        }
        .to_owned();
        self.trusts_certificate = config.trust_server_certificate;
        let mut more: Vec<String> =
            authentication.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        if let Some(file) = &config.server_certificate {
            more.push(format!("ServerCertificate={}", file.display()));
        }
        if let Some(name) = &config.host_name_in_certificate {
            more.push(format!("HostNameInCertificate={name}"));
        }
        if let Some(name) = &config.server_spn {
            more.push(format!("ServerSPN={name}"));
        }
        if config.application_intent == ApplicationIntent::ReadOnly {
            more.push("ApplicationIntent=ReadOnly".to_owned());
        }
        if config.multi_subnet_failover {
            more.push("MultiSubnetFailover=true".to_owned());
        }
        self.more = more.join(";");
    }
}

impl DatabaseEnd {
    /// Takes a password out of the address, so that it is neither shown nor saved with it.
    pub fn take_password_out(&mut self) {
        let address = self.address.clone();
        if let Some((scheme, rest)) = address.split_once("://") {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, place) = rest.split_at(end);
            if let Some((login, host)) = authority.rsplit_once('@')
                && let Some((user, password)) = login.split_once(':')
            {
                let password = percent_encoding::percent_decode_str(password).decode_utf8_lossy();
                self.keep(&password);
                self.address = format!("{scheme}://{user}@{host}{place}");
            }
            return;
        }
        if !address.to_ascii_lowercase().starts_with("odbc:") {
            return;
        }
        let (scheme, keywords) = address.split_once(':').unwrap_or_default();
        let mut kept = Vec::new();
        for keyword in keywords_of(keywords) {
            match keyword.split_once('=') {
                Some((name, value))
                    if matches!(name.trim().to_ascii_lowercase().as_str(), "pwd" | "password") =>
                {
                    let value = value.trim();
                    let inner = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
                    self.keep(&inner.map_or_else(|| value.to_owned(), |inner| inner.replace("}}", "}")));
                }
                _ => kept.push(keyword),
            }
        }
        self.address = format!("{scheme}:{}", kept.join(";"));
    }

    /// Keeps a password, or the name of the variable that it is in.
    fn keep(&mut self, password: &str) {
        match password.strip_prefix("${env:").and_then(|rest| rest.strip_suffix('}')) {
            Some(variable) => variable.clone_into(&mut self.password_variable),
            None => self.password = Secret::new(password.to_owned()),
        }
    }
}

/// Splits a connection string into keywords; a value between braces may have semicolons.
fn keywords_of(text: &str) -> Vec<&str> {
    let (mut keywords, mut start, mut in_braces) = (Vec::new(), 0, false);
    let mut chars = text.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        match c {
            '{' => in_braces = true,
            // Two closing braces stand for one.
            '}' if in_braces && chars.peek().is_some_and(|(_, next)| *next == '}') => {
                chars.next();
            }
            '}' => in_braces = false,
            ';' if !in_braces => {
                keywords.push(text.get(start..place).unwrap_or_default());
                start = place.saturating_add(1);
            }
            _ => {}
        }
    }
    keywords.push(text.get(start..).unwrap_or_default());
    keywords.retain(|keyword| !keyword.trim().is_empty());
    keywords
}
