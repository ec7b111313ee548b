//! Connection strings as data: text in, fields or error out, and no secret anywhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn environment(name: &str) -> Option<String> {
    match name {
        "DB_PASSWORD" => Some("from;the=environment\"}".to_owned()),
        "HOST" => Some("db.example".to_owned()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse_with(text, &environment)
}

/// One line per field that differs from the default, secrets shown: only tests do that.
fn show(config: &Config) -> String {
    let mut out = vec![config.host.clone()];
    let mut field =
        |name: &str, value: Option<String>| out.extend(value.map(|value| format!("{name}={value}")));
    field("port", config.port.map(|p| p.to_string()));
    field("instance", config.instance.clone());
    field("db", config.database.clone());
    match &config.auth {
        Auth::SqlLogin { user, password } => field("login", Some(format!("{user}/{}", shown(password)))),
        Auth::AccessToken(token) => field("token", Some(token.expose().to_owned())),
        Auth::Entra(Identity { way, authority, tenant, resource }) => {
            field("entra", Some(entra(way)));
            field("tenant", tenant.clone());
            field("authority", authority.clone());
            field("resource", resource.clone());
        }
        Auth::Integrated { principal } => {
            field("ticket", Some(principal.clone().unwrap_or_else(|| "default".to_owned())))
        }
    }
    field("spn", config.server_spn.clone());
    field("encrypt", (config.encrypt != Encrypt::Required).then(|| format!("{:?}", config.encrypt)));
    field("trust", config.trust_server_certificate.then(|| "yes".to_owned()));
    field("pin", config.server_certificate.as_ref().map(|p| p.display().to_string()));
    field("name", config.host_name_in_certificate.clone());
    field("app", (config.application_name != "bulkwire").then(|| config.application_name.clone()));
    field("wsid", config.workstation_id.clone());
    field("language", config.language.clone());
    field("intent", (config.application_intent == ApplicationIntent::ReadOnly).then(|| "ro".to_owned()));
    field("multi", config.multi_subnet_failover.then(|| "yes".to_owned()));
    let vectors = Some(config.vectors).filter(|vectors| *vectors != VectorSupport::All);
    field("vectors", vectors.map(|vectors| format!("{vectors:?}")));
    field("packet", config.packet_size_bytes.map(|n| n.to_string()));
    field(
        "connect",
        (config.connect_timeout != Some(Duration::from_secs(15)))
            .then(|| format!("{:?}", config.connect_timeout)),
    );
    let command = config.command_timeout.filter(|limit| *limit != super::COMMAND_TIMEOUT);
    field("command", command.map(|t| format!("{t:?}")));
    field("ignored", (!config.ignored.is_empty()).then(|| config.ignored.join("+")));
    out.join(" ")
}

fn shown(password: &Password) -> String {
    match password {
        Password::Given(secret) => secret.expose().to_owned(),
        Password::File(file) => format!("file:{}", file.display()),
        Password::Command(line) => format!("command:{line}"),
        Password::Keyring(service) => format!("keyring:{service}"),
    }
}

fn entra(way: &Way) -> String {
    let or_none = |client: &Option<String>| client.clone().unwrap_or_else(|| "-".to_owned());
    match way {
        Way::ServicePrincipal { client, proof: Proof::Secret(password) } => {
            format!("app/{client}/{}", shown(password))
        }
        Way::ServicePrincipal { client, proof: Proof::Certificate(file) } => {
            format!("app/{client}/certificate:{}", file.display())
        }
        Way::ManagedIdentity { client } => format!("managed/{}", or_none(client)),
        Way::WorkloadIdentity { client, file } => format!("workload/{}/{file:?}", or_none(client)),
        Way::AzureCli => "az".to_owned(),
        Way::DeviceCode { client } => format!("device/{}", or_none(client)),
        Way::Default { client } => format!("default/{}", or_none(client)),
    }
}

#[test]
fn keyword_strings() {
    let cases: &[(&str, &str)] = &[
        ("Server=h;Database=d;Uid=sa;Pwd=p", "h db=d login=sa/p"),
        ("Server=tcp:h,1444;Initial Catalog=d;User ID=sa;Password=p", "h port=1444 db=d login=sa/p"),
        ("data source = h\\SQLEXPRESS ; uid = sa ; pwd = p ", "h instance=SQLEXPRESS login=sa/p"),
        ("Server=h\\MSSQLSERVER;Uid=a;Pwd=p", "h login=a/p"),
        ("Server=h;Integrated Security=SSPI", "h ticket=default"),
        (
            "Server=h;Trusted_Connection=yes;Pwd=;ServerSPN=MSSQLSvc/h.x:1",
            "h ticket=default spn=MSSQLSvc/h.x:1",
        ),
        ("Server=h;Integrated Security=true;Uid=ann@X", "h ticket=ann@X"),
        ("Server=h\\i,5000;Uid=a;Pwd=p", "h port=5000 instance=i login=a/p"),
        ("Server=(local);Uid=a;Pwd=p", "localhost login=a/p"),
        ("Server=.;Uid=a;Pwd=p", "localhost login=a/p"),
        ("Server=::1,1433;Uid=a;Pwd=p", "::1 port=1433 login=a/p"),
        ("Server=[fe80::1],1433;Uid=a;Pwd=p", "fe80::1 port=1433 login=a/p"),
        ("Server=h;Port=1500;Uid=a;Pwd=p", "h port=1500 login=a/p"),
        ("Addr=h;user=a;pwd=", "h login=a/"),
        // Quotes: doubled inside, semicolons and equal signs kept, blanks kept.
        (r#"Server=h;Uid=a;Pwd="p;w=1 ""x"" ""#, r#"h login=a/p;w=1 "x" "#),
        ("Server=h;Uid=a;Pwd='it''s'", "h login=a/it's"),
        ("Server=h;Uid=a;Pwd={a}}b;c}", "h login=a/a}b;c"),
        (r#"Server=h;Uid=a;Pwd=p"q'r"#, r#"h login=a/p"q'r"#),
        ("Server=h;Uid=a;Pwd=a=b==c", "h login=a/a=b==c"),
        (";;Server=h;;Uid=a;Pwd=p;;", "h login=a/p"),
        ("Server=h;Uid=a;Pwd=${env:DB_PASSWORD}", "h login=a/from;the=environment\"}"),
        ("Server=${env:HOST};Uid=a;Pwd=x", "db.example login=a/x"),
        ("Server=h;Uid=a;Pwd=${env:", "h login=a/${env:"),
        ("Server=h;Uid=a;Pwd=p;Uid=a", "h login=a/p"),
        ("Server=h;AccessToken=eyJ0", "h token=eyJ0"),
        ("Server=h;Authentication=ActiveDirectoryAccessToken;Access Token=t", "h token=t"),
        ("Server=h;Uid=a;Password File=/run/pw", "h login=a/file:/run/pw"),
        ("Server=h;Uid=a;PasswordCommand={pass show db; true}", "h login=a/command:pass show db; true"),
        ("Server=h;Uid=a;password_keyring=db", "h login=a/keyring:db"),
        ("Server=h;Authentication=SqlPassword;Uid=a;Pwd=p", "h login=a/p"),
        ("Server=h;Authentication=ActiveDirectoryServicePrincipalAccessToken;Pwd=t", "h token=t"),
        ("Server=h;Authentication=Active Directory Service Principal;Uid=app;Pwd=s", "h entra=app/app/s"),
        (
            "Server=h;fedauth=ActiveDirectoryServicePrincipal;Uid=app@t-1;Pwd=s",
            "h entra=app/app/s tenant=t-1",
        ),
        (
            "Server=h;Authentication=ActiveDirectoryServicePrincipal;Client ID=app;Tenant ID=t;PasswordFile=/s;Authority=sts.x;Resource=api://y",
            "h entra=app/app/file:/s tenant=t authority=sts.x resource=api://y",
        ),
        (
            "Server=h;Authentication=ActiveDirectoryServicePrincipalCertificate;Uid=app;Client Certificate=/c.pem",
            "h entra=app/app/certificate:/c.pem",
        ),
        ("Server=h;Authentication=ActiveDirectoryMSI", "h entra=managed/-"),
        ("Server=h;Authentication=ActiveDirectoryManagedIdentity;Uid=c", "h entra=managed/c"),
        (
            "Server=h;Authentication=ActiveDirectoryWorkloadIdentity;Federated Token File=/t",
            "h entra=workload/-/Some(\"/t\")",
        ),
        ("Server=h;Authentication=ActiveDirectoryAzCli", "h entra=az"),
        ("Server=h;Authentication=Active Directory Device Code Flow;Client ID=c", "h entra=device/c"),
        ("Server=h;Authentication=ActiveDirectoryDefault", "h entra=default/-"),
        ("Server=h;Uid=a;Pwd=p;Encrypt=no", "h login=a/p encrypt=Login"),
        ("Server=h;Uid=a;Pwd=p;Encrypt=Optional", "h login=a/p encrypt=Login"),
        ("Server=h;Uid=a;Pwd=p;Encrypt=Mandatory;TrustServerCertificate=True", "h login=a/p trust=yes"),
        (
            "Server=h;Uid=a;Pwd=p;Encrypt=strict;ServerCertificate=/c.pem",
            "h login=a/p encrypt=Strict pin=/c.pem",
        ),
        ("Server=h;Uid=a;Pwd=p;Encrypt=off", "h login=a/p encrypt=Off"),
        ("Server=h;Uid=a;Pwd=p;Host Name In Certificate=x.y", "h login=a/p name=x.y"),
        (
            "Server=h;Uid=a;Pwd=p;App=loader;WSID=w;Language=Deutsch",
            "h login=a/p app=loader wsid=w language=Deutsch",
        ),
        (
            "Server=h;Uid=a;Pwd=p;ApplicationIntent=ReadOnly;MultiSubnetFailover=Yes",
            "h login=a/p intent=ro multi=yes",
        ),
        (
            "Server=h;Uid=a;Pwd=p;Packet Size=16380;Connect Timeout=3;Command Timeout=60",
            "h login=a/p packet=16380 connect=Some(3s) command=60s",
        ),
        ("Server=h;Uid=a;Pwd=p;vectorTypeSupport=v1", "h login=a/p vectors=Float32"),
        ("Server=h;Uid=a;Pwd=p;Vector Type Support=OFF", "h login=a/p vectors=Off"),
        ("Server=h;Uid=a;Pwd=p;VectorTypeSupport=v2", "h login=a/p"),
        ("Server=h;Uid=a;Pwd=p;ColumnEncryption=Disabled", "h login=a/p"),
        ("Server=h;Uid=a;Pwd=p;Connection Timeout=0", "h login=a/p connect=None"),
        (
            "Driver={ODBC Driver 18 for SQL Server};Server=h;Uid=a;Pwd=p;Pooling=false;Trusted_Connection=no",
            "h login=a/p ignored=Pooling",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).map(|c| show(&c)).as_deref(), Ok(*expected), "{text}");
    }
}

#[test]
fn urls() {
    let cases: &[(&str, &str)] = &[
        ("mssql://sa:p@h", "h login=sa/p"),
        ("mssql://sa:p@h:1444/d", "h port=1444 db=d login=sa/p"),
        ("MSSQL://sa:p@h/", "h login=sa/p"),
        ("sqlserver://sa:p@h?database=d&encrypt=strict", "h db=d login=sa/p encrypt=Strict"),
        ("mssql://a%40b:p%3B%2F%25%C3%A9+@h/my%20db", "h db=my db login=a@b/p;/%é+"),
        ("mssql://a:p@[::1]:1433/d?trust_server_certificate=1", "::1 port=1433 db=d login=a/p trust=yes"),
        ("mssql://a:${env:DB_PASSWORD}@h", "h login=a/from;the=environment\"}"),
        ("mssql://h/d?accessToken=abc%3D", "h db=d token=abc="),
        ("mssql://a:p@h?instance=i&packetSize=512", "h instance=i login=a/p packet=512"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).map(|c| show(&c)).as_deref(), Ok(*expected), "{text}");
    }
}

#[test]
fn refusals_name_what_is_wrong() {
    let cases: &[(&str, &str)] = &[
        ("Server=h;Uid=a;Pwd=p;Databse=d", "what follows the Password value (byte 21)"),
        ("Databse=d;Server=h;Uid=a;Pwd=p", "unknown keyword \"Databse\"; did you mean \"Database\"?"),
        ("TrustServerCertifcate=yes;Server=h;Uid=a;Pwd=p", "did you mean \"TrustServerCertificate\"?"),
        ("Frobnicate=1;Server=h;Uid=a;Pwd=p", "unknown keyword \"Frobnicate\""),
        ("mssql://a:p@h?encript=yes", "unknown keyword \"encript\"; did you mean \"Encrypt\"?"),
        ("Uid=a;Pwd=p", "Server is missing"),
        ("Server=h", "User ID is missing"),
        ("Server=h;Uid=a", "Password is missing"),
        ("Server=h;Uid=a;Pwd=${env:NOPE}", "environment variable NOPE is not set"),
        ("Server=h;Server=i;Uid=a;Pwd=p", "Server is given twice"),
        ("Server=h,1;Port=2;Uid=a;Pwd=p", "Port is given twice"),
        ("Server=h;Uid=a;Pwd=p;Encrypt=maybe", "Encrypt=maybe: expected Mandatory"),
        ("Server=h;Uid=a;Pwd=p;MultiSubnetFailover=perhaps", "expected yes or no"),
        ("Server=h;Uid=a;Pwd=p;Packet Size=70000", "512 to 32767"),
        ("Server=h,0;Uid=a;Pwd=p", "a port from 1 to 65535"),
        ("Server=h:1433;Uid=a;Pwd=p", "a comma, not a colon"),
        ("Server=np:\\\\h\\pipe;Uid=a;Pwd=p", "only TCP is spoken"),
        ("Server=h;Integrated Security=maybe", "SSPI (yes, true) or no"),
        ("Server=h;Integrated Security=SSPI;Uid=a;Pwd=p", "excludes Password"),
        ("Server=h;Trusted_Connection=yes;Access Token=t", "excludes Password, Access Token"),
        ("Server=h;Uid=a;Pwd=p;ServerSPN=MSSQLSvc/h", "needs Integrated Security=true"),
        ("Server=h;Authentication=Active Directory Interactive", "opens no browser"),
        ("Server=h;Authentication=ActiveDirectoryPassword;Uid=a;Pwd=p", "past every second factor"),
        ("Server=h;Authentication=ActiveDirectoryIntegrated", "ActiveDirectoryDefault"),
        ("Server=h;Authentication=Magic", "Authentication=Magic: expected SqlPassword"),
        ("Server=h;Authentication=ActiveDirectoryServicePrincipal;Pwd=s", "User ID is missing"),
        ("Server=h;Authentication=ActiveDirectoryServicePrincipal;Uid=app", "Password is missing"),
        (
            "Server=h;Authentication=ActiveDirectoryServicePrincipalCertificate;Uid=app;Pwd=s",
            "Client Certificate is missing",
        ),
        (
            "Server=h;Authentication=ActiveDirectoryServicePrincipal;Uid=a;Pwd=s;Client Certificate=c",
            "exclude each other",
        ),
        (
            "Server=h;Authentication=ActiveDirectoryServicePrincipal;Uid=a;Client ID=b;Pwd=s",
            "both name the application",
        ),
        ("Server=h;Authentication=ActiveDirectoryMSI;Pwd=s", "takes no password"),
        ("Server=h;Authentication=ActiveDirectoryMSI;Access Token=t", "Access Token is not supported"),
        (
            "Server=h;Authentication=ActiveDirectoryDeviceCodeFlow;Uid=ann",
            "asks for the person in the browser",
        ),
        ("Server=h;Authentication=ActiveDirectoryAzCli;Uid=ann", "az login"),
        (
            "Server=h;Authentication=ActiveDirectoryDefault;Federated Token File=t",
            "Federated Token File is not supported",
        ),
        ("Server=h;Authentication=ActiveDirectoryDefault;Encrypt=off", "never sent in the clear"),
        ("Server=h;Uid=a;Pwd=p;Tenant ID=t", "Tenant ID is not supported"),
        ("Server=h;Integrated Security=yes;Authority=x", "Authority is not supported"),
        ("Server=h;Uid=a;Pwd=p;Password File=f", "exclude one another"),
        ("Server=h;Uid=a;Password Command=c;Password Keyring=f", "exclude one another"),
        ("Server=h;Trusted_Connection=yes;Password File=f", "excludes Password"),
        ("Server=h;Uid=a;Pwd=p;Column Encryption Setting=Enabled", "read as ciphertext"),
        ("Server=h;Uid=a;Pwd=p;MARS_Connection=yes", "MultipleActiveResultSets is not supported"),
        (
            "Server=h;Uid=a;Pwd=p;Encrypt=Strict;TrustServerCertificate=yes",
            "not possible with Encrypt=Strict",
        ),
        ("Server=h;Uid=a;Pwd=p;ServerCertificate=c;TrustServerCertificate=yes", "give one of them"),
        ("Server=h;Uid=a;Pwd=p;Encrypt=Off;ServerCertificate=c", "no certificate is ever seen"),
        ("Server=h;Access Token=t;Encrypt=off", "never sent in the clear"),
        ("Server=h;Access Token=t;Uid=a;Pwd=p", "the token names the user"),
        ("Server=h;=x", "a value without a keyword"),
        ("Server=h;Uid", "expected keyword=value"),
        ("Server=h;Uid='a", "not closed"),
        ("Server=h;Uid='a'b;Pwd=p", "between a closing quote"),
        ("mysql://sa:S3cret@h/db", "mysql: is the scheme of another program's URL"),
        ("jdbc:sqlserver://h;user=a;password=S3cret;colour=red", "not a known keyword"),
        ("mssql+pyodbc://sa:S3cret@h/db?colour=red", "unknown keyword \"colour\""),
        ("mssql://sa@h\\INST/db", "HOST\\INSTANCE"),
        ("mssql://", "host is missing"),
        ("mssql://a:p@h:99999", "port is not a number"),
        ("mssql://a:p%@h", "two hex digits"),
        ("mssql://a:%FF@h", "not UTF-8"),
        ("mssql://a:p@h/d/e", "the database alone"),
        ("mssql://a:p@h/d#x", "%23"),
    ];
    for (text, expected) in cases {
        let error = parse(text).map(|c| show(&c)).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}\n  says {error:?}\n  not  {expected:?}");
        assert!(!error.contains("S3cret"), "{error}");
    }
}

#[test]
fn addresses_of_other_programs_mean_what_they_mean_there() {
    let cases = [
        (
            "jdbc:sqlserver://db.example:1444;databaseName=sales;user=sa;password=pw;trustServerCertificate=true;",
            ("db.example", Some(1444), None, Some("sales")),
        ),
        (
            "jdbc:sqlserver://db.example\\INST;database=sales;user=sa;password={p;w}",
            ("db.example", None, Some("INST"), Some("sales")),
        ),
        ("jdbc:sqlserver://;serverName=h;user=sa;password=pw", ("h", None, None, None)),
        ("jdbc:sqlserver://[::1]:1433;user=sa;password=pw", ("::1", Some(1433), None, None)),
        (
            "mssql+pyodbc://sa:p%40w@db.example:1444/sales?driver=ODBC+Driver+18+for+SQL+Server&TrustServerCertificate=yes",
            ("db.example", Some(1444), None, Some("sales")),
        ),
        ("mssql+pymssql://sa:pw@h/sales", ("h", None, None, Some("sales"))),
        (
            "mssql+pyodbc:///?odbc_connect=Driver%3D%7BODBC+Driver+18%7D%3BServer%3Dh%2C1444%3BDatabase%3Dmy+db%3BUid%3Dsa%3BPwd%3Dpw",
            ("h", Some(1444), None, Some("my db")),
        ),
    ];
    for (text, (host, port, instance, database)) in cases {
        let config = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(config.host, host, "{text}");
        assert_eq!((config.port, config.instance.as_deref()), (port, instance), "{text}");
        assert_eq!(config.database.as_deref(), database, "{text}");
        assert!(matches!(&config.auth, Auth::SqlLogin { user, .. } if user == "sa"), "{text}");
    }
}

#[test]
fn secrets_come_from_the_environment_when_they_are_not_written() {
    let environment = |name: &str| match name {
        PASSWORD_VARIABLE => Some("pw".to_owned()),
        ACCESS_TOKEN_VARIABLE => Some("tok".to_owned()),
        _ => None,
    };
    let show_with = |text| show(&Config::parse_with(text, &environment).unwrap());
    assert_eq!(show_with("Server=h;Uid=a"), "h login=a/pw");
    assert_eq!(show_with("mssql://a@h"), "h login=a/pw");
    assert_eq!(show_with("mssql://h"), "h token=tok");
    assert_eq!(show_with("Server=h;Uid=a;Pwd=given"), "h login=a/given");
}

#[test]
fn no_secret_is_ever_printed() {
    const SECRET: &str = "hunter2";
    let texts = [
        "Server=h;Uid=a;Pwd=hunter2",
        "Server=h;Uid=a;Pwd=x;hunter2",
        "Server=h;Uid=a;Pwd=x;hunter2=y",
        "Server=h;Uid=a;Pwd=x;y=hunter2",
        "Server=h;Uid=a;Pwd='x'hunter2",
        "Server=h;Uid=a;Pwd='hunter2",
        "Server=h;Uid=a;Pwd=hunter2;Pwd=other",
        "Server=h;Uid=a;Pwd=hunter2;Encrypt=banana",
        "Server=h;Access Token=hunter2",
        "Server=h;Authentication=ActiveDirectoryServicePrincipal;Uid=a;Pwd=hunter2",
        "Server=h;Authentication=ActiveDirectoryMSI;Uid=a;Pwd=hunter2",
        "Server=h;Authentication=Magic;Pwd=hunter2",
        "Server=h;Access Token=hunter2;Uid=a",
        "mssql://a:hunter2@h/d",
        "mssql://a:hunter2%@h/d",
        "mssql://a:x#hunter2@h/d",
        "mssql://a:x/hunter2@h/d",
        "mssql://a:hunter2@h:port/d",
        "mssql://a:hunter2@/d",
        "mssql://h?password=x&hunter2",
        "mssql://h?password=x&hunter2=1",
        "mssql://h?accesstoken=hunter2&user=a",
    ];
    for text in texts {
        let printed = match parse(text) {
            Ok(config) => format!("{config} {config:?} {:#?}", config.auth),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!printed.contains(SECRET), "{text} prints {printed}");
    }
}

#[test]
fn authentication_is_spelled_again_without_its_secrets() {
    for text in [
        "Password File=/run/pw;Uid=a",
        "Authentication=ActiveDirectoryServicePrincipal;Tenant ID=t;Authority=sts.x;Resource=api://y;Client Certificate=/c;Uid=app",
        "Authentication=ActiveDirectoryServicePrincipal;Password Keyring=k;Uid=app",
        "Authentication=ActiveDirectoryWorkloadIdentity;Client ID=c;Federated Token File=/t",
        "Authentication=ActiveDirectoryManagedIdentity;Client ID=c",
        "Authentication=ActiveDirectoryAzCli",
        "Authentication=ActiveDirectoryDeviceCodeFlow",
        "Authentication=ActiveDirectoryDefault",
    ] {
        let config = parse(&format!("Server=h;{text}")).unwrap();
        let again: Vec<String> = config
            .authentication_settings()
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let user = text.split(';').find(|setting| setting.starts_with("Uid")).unwrap_or_default();
        let same = parse(&format!("Server=h;{};{user}", again.join(";"))).unwrap();
        assert_eq!(same.auth, config.auth, "{text}");
    }
    let secret =
        parse("Server=h;Authentication=ActiveDirectoryServicePrincipal;Uid=app;Pwd=hunter2").unwrap();
    assert!(!format!("{:?}", secret.authentication_settings()).contains("hunter2"));
}

#[test]
fn a_config_prints_as_a_url_without_its_secret() {
    let config = parse("Server=h\\i,1500;Database=d;Uid=sa;Pwd=p").unwrap();
    assert_eq!(config.to_string(), "mssql://sa@h\\i:1500/d");
    assert_eq!(parse("mssql://sa:p@[::1]").unwrap().to_string(), "mssql://sa@[::1]");
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}") {
        let _ = parse(&text);
        let _ = parse(&format!("mssql://{text}"));
    }

    #[test]
    fn quoted_values_survive(password in "\\PC{0,40}") {
        proptest::prop_assume!(!password.contains("${env:"));
        let quoted = [
            format!("\"{}\"", password.replace('"', "\"\"")),
            format!("'{}'", password.replace('\'', "''")),
            format!("{{{}}}", password.replace('}', "}}")),
        ];
        for value in quoted {
            let config = parse(&format!("Pwd={value};Server=h;Uid=a")).unwrap();
            proptest::prop_assert_eq!(&config.auth, &Auth::SqlLogin { user: "a".to_owned(), password: Password::Given(Secret::new(password.clone())) });
        }
    }
}

#[test]
fn what_other_clients_know_is_refused_by_its_reason_or_named() {
    let parsed = |more: &str| Config::parse_with(&format!("Server=h;Uid=a;Pwd=p;{more}"), &|_| None);
    for (more, reason) in [
        ("Failover Partner=other", "availability group"),
        ("authenticationScheme=NTLM", "Kerberos ticket"),
        ("Network Library=dbnmpntw", "by TCP"),
        ("QuotedId=no", "QUOTED_IDENTIFIER"),
    ] {
        let refused = parsed(more).unwrap_err().to_string();
        assert!(refused.contains(reason), "{more}: {refused}");
    }
    for (more, ignored) in [
        ("Network Library=DBMSSOCN", "Network Library"),
        ("QuotedId=yes", "QuotedId"),
        ("IpAddressPreference=IPv4First", "IpAddressPreference"),
        ("TrustServerCertificate=yes;HostNameInCertificate=db", "HostNameInCertificate"),
    ] {
        assert_eq!(parsed(more).unwrap().ignored, [ignored], "{more}");
    }
    assert!(parsed("Driver={SQL Server};authenticationScheme=JavaKerberos").unwrap().ignored.is_empty());
    let refused = Config::parse_with("Server=h;Uid=CORP\\ann;Pwd=p", &|_| None).unwrap_err().to_string();
    assert!(refused.contains("Integrated Security=yes"), "{refused}");
    let refused = Config::parse_with("tlsmin=1.2;Server=h;Uid=a;Pwd=p", &|_| None).unwrap_err().to_string();
    assert_eq!(refused, "unknown keyword \"tlsmin\"; did you mean \"Encrypt\"?");
    for (written, meant) in
        [("sslmode=require", "Encrypt"), ("truststore=x", "ServerCertificate"), ("db=x", "Database")]
    {
        let refused = Config::parse_with(&format!("{written};Server=h;Uid=a;Pwd=p"), &|_| None).unwrap_err();
        assert!(refused.to_string().ends_with(&format!("did you mean \"{meant}\"?")), "{refused}");
    }
    assert_eq!(parsed("App Name=a").unwrap().application_name, "a");
}
