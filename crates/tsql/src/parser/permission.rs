//! GRANT, DENY, REVOKE, and statements that act for somebody else.

use super::{Parsed, Parser};
use crate::administration::{Administration, Permission, PermissionVerb, SecurableClass};
use crate::ast::StatementKind;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::sql_error::SqlError;

/// The permissions on objects, schemas and types.
const OF_OBJECTS: &[&str] = &[
    "ALTER",
    "CONTROL",
    "DELETE",
    "EXEC",
    "EXECUTE",
    "IMPERSONATE",
    "INSERT",
    "RECEIVE",
    "REFERENCES",
    "SELECT",
    "SEND",
    "TAKE OWNERSHIP",
    "UNMASK",
    "UPDATE",
    "VIEW CHANGE TRACKING",
    "VIEW DEFINITION",
];

/// Other permissions of databases and servers.
const OF_DATABASES: &[&str] = &[
    "ADMINISTER BULK OPERATIONS",
    "ADMINISTER DATABASE BULK OPERATIONS",
    "ALTER LEDGER",
    "ALTER LEDGER CONFIGURATION",
    "ALTER RESOURCES",
    "ALTER SERVER STATE",
    "ALTER SETTINGS",
    "ALTER TRACE",
    "AUTHENTICATE",
    "AUTHENTICATE SERVER",
    "BACKUP DATABASE",
    "BACKUP LOG",
    "CHECKPOINT",
    "CONNECT",
    "CONNECT ANY DATABASE",
    "CONNECT REPLICATION",
    "CONNECT SQL",
    "CONTROL SERVER",
    "ENABLE LEDGER",
    "EXECUTE ANY EXTERNAL ENDPOINT",
    "EXECUTE ANY EXTERNAL SCRIPT",
    "EXECUTE EXTERNAL SCRIPT",
    "EXTERNAL ACCESS ASSEMBLY",
    "IMPERSONATE ANY LOGIN",
    "KILL DATABASE CONNECTION",
    "SELECT ALL USER SECURABLES",
    "SHOWPLAN",
    "SHUTDOWN",
    "SUBSCRIBE QUERY NOTIFICATIONS",
    "UNSAFE ASSEMBLY",
    "VIEW ANY COLUMN ENCRYPTION KEY DEFINITION",
    "VIEW ANY COLUMN MASTER KEY DEFINITION",
    "VIEW ANY CRYPTOGRAPHICALLY SECURED DEFINITION",
    "VIEW ANY DATABASE",
    "VIEW ANY DEFINITION",
    "VIEW ANY ERROR LOG",
    "VIEW ANY PERFORMANCE DEFINITION",
    "VIEW ANY SECURITY DEFINITION",
    "VIEW ANY SENSITIVITY CLASSIFICATION",
    "VIEW CRYPTOGRAPHICALLY SECURED DEFINITION",
    "VIEW DATABASE PERFORMANCE STATE",
    "VIEW DATABASE SECURITY AUDIT",
    "VIEW DATABASE SECURITY STATE",
    "VIEW DATABASE STATE",
    "VIEW LEDGER CONTENT",
    "VIEW PERFORMANCE DEFINITION",
    "VIEW SECURITY DEFINITION",
    "VIEW SERVER PERFORMANCE STATE",
    "VIEW SERVER SECURITY AUDIT",
    "VIEW SERVER SECURITY STATE",
    "VIEW SERVER STATE",
];

/// The kinds of object in `ALTER ANY x`, `CREATE x` and the like.
const KINDS: &[&str] = &[
    "AGGREGATE",
    "APPLICATION ROLE",
    "ASSEMBLY",
    "ASYMMETRIC KEY",
    "AVAILABILITY GROUP",
    "CERTIFICATE",
    "COLUMN ENCRYPTION KEY",
    "COLUMN MASTER KEY",
    "CONNECTION",
    "CONTRACT",
    "CREDENTIAL",
    "DATABASE",
    "DATABASE AUDIT",
    "DATABASE DDL EVENT NOTIFICATION",
    "DATABASE DDL TRIGGER",
    "DATABASE EVENT NOTIFICATION",
    "DATABASE EVENT SESSION",
    "DATABASE SCOPED CONFIGURATION",
    "DATASPACE",
    "DDL EVENT NOTIFICATION",
    "DEFAULT",
    "ENDPOINT",
    "EVENT NOTIFICATION",
    "EVENT SESSION",
    "EXTERNAL DATA SOURCE",
    "EXTERNAL FILE FORMAT",
    "EXTERNAL LANGUAGE",
    "EXTERNAL LIBRARY",
    "EXTERNAL MODEL",
    "FULLTEXT CATALOG",
    "FUNCTION",
    "LINKED SERVER",
    "LOGIN",
    "MASK",
    "MESSAGE TYPE",
    "PROCEDURE",
    "QUEUE",
    "REMOTE SERVICE BINDING",
    "ROLE",
    "ROUTE",
    "RULE",
    "SCHEMA",
    "SECURITY POLICY",
    "SENSITIVITY CLASSIFICATION",
    "SEQUENCE",
    "SERVER AUDIT",
    "SERVER ROLE",
    "SERVICE",
    "SYMMETRIC KEY",
    "SYNONYM",
    "TABLE",
    "TRACE EVENT NOTIFICATION",
    "TYPE",
    "USER",
    "VIEW",
    "XML SCHEMA COLLECTION",
];

/// Words before `::`, and what a securable of the kind is called in messages.
const CLASSES: &[(&str, SecurableClass)] = &[
    ("OBJECT", SecurableClass::Object),
    ("SCHEMA", SecurableClass::Schema),
    ("DATABASE", SecurableClass::Database),
    ("TYPE", SecurableClass::Type),
    ("APPLICATION ROLE", SecurableClass::Other("application role")),
    ("ASSEMBLY", SecurableClass::Other("assembly")),
    ("ASYMMETRIC KEY", SecurableClass::Other("asymmetric key")),
    ("AVAILABILITY GROUP", SecurableClass::Other("availability group")),
    ("CERTIFICATE", SecurableClass::Other("certificate")),
    ("CONTRACT", SecurableClass::Other("contract")),
    ("DATABASE SCOPED CREDENTIAL", SecurableClass::Other("credential")),
    ("ENDPOINT", SecurableClass::Other("endpoint")),
    ("EXTERNAL LANGUAGE", SecurableClass::Other("external language")),
    ("EXTERNAL LIBRARY", SecurableClass::Other("external library")),
    ("EXTERNAL MODEL", SecurableClass::Other("external model")),
    ("FULLTEXT CATALOG", SecurableClass::Other("full-text catalog")),
    ("FULLTEXT STOPLIST", SecurableClass::Other("full-text stoplist")),
    ("LOGIN", SecurableClass::Other("login")),
    ("MESSAGE TYPE", SecurableClass::Other("message type")),
    ("REMOTE SERVICE BINDING", SecurableClass::Other("remote service binding")),
    ("ROLE", SecurableClass::Other("role")),
    ("ROUTE", SecurableClass::Other("route")),
    ("SEARCH PROPERTY LIST", SecurableClass::Other("search property list")),
    ("SERVER ROLE", SecurableClass::Other("server role")),
    ("SERVICE", SecurableClass::Other("service")),
    ("SYMMETRIC KEY", SecurableClass::Other("symmetric key")),
    ("USER", SecurableClass::Other("user")),
    ("XML SCHEMA COLLECTION", SecurableClass::Other("XML schema collection")),
];

/// Words of the longest permission.
const WORDS_MAX: usize = 6;

impl Parser<'_> {
    /// Parses `GRANT permission [(columns)], … [ON [class ::] securable [(columns)]] TO principal, …`; so DENY and
    /// REVOKE.
    pub(crate) fn permission(&mut self) -> Parsed<Permission> {
        let verb = match () {
            () if self.accept_word(Keyword::Deny) => PermissionVerb::Deny,
            () if self.accept_word(Keyword::Revoke) => PermissionVerb::Revoke,
            () => {
                self.expect_word(Keyword::Grant)?;
                PermissionVerb::Grant
            }
        };
        if verb == PermissionVerb::Revoke {
            self.accept_words(&[Keyword::Grant, Keyword::Option, Keyword::For]);
        }
        let mut columns = Vec::new();
        if self.accept_word(Keyword::All) {
            self.accept_bare("PRIVILEGES");
        } else {
            loop {
                self.permission_name()?;
                if self.is_symbol("(") {
                    columns.extend(self.names_in_parentheses()?);
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        let securable =
            if self.accept_word(Keyword::On) { Some(self.securable(&mut columns)?) } else { None };
        if !(verb == PermissionVerb::Revoke && self.accept_word(Keyword::From)) {
            self.expect_word(Keyword::To)?;
        }
        let mut principals = Vec::new();
        loop {
            // A reserved word, and the name of a role.
            principals.push(if self.accept_word(Keyword::Public) {
                "public".to_owned()
            } else {
                self.name()?
            });
            if !self.accept_symbol(",") {
                break;
            }
        }
        match verb {
            PermissionVerb::Grant => {
                self.accept_words(&[Keyword::With, Keyword::Grant, Keyword::Option]);
            }
            PermissionVerb::Deny | PermissionVerb::Revoke => {
                self.accept_word(Keyword::Cascade);
            }
        }
        if self.accept_word(Keyword::As) {
            self.name()?;
        }
        Ok(Permission { verb, securable, columns, principals })
    }

    fn permission_name(&mut self) -> Parsed<()> {
        let mut name = String::new();
        let mut words = 0;
        // The longest name that stands here.
        let mut known = 0;
        while let Some(TokenKind::Word(word)) = self.kind_ahead(words)
            && words < WORDS_MAX
        {
            words += 1;
            if words > 1 {
                name.push(' ');
            }
            name.push_str(&word.to_ascii_uppercase());
            if is_permission(&name) {
                known = words;
            }
        }
        self.at += known;
        if known == 0 { Err(self.unexpected()) } else { Ok(()) }
    }

    /// Parses `[class ::] name [(columns)]`.
    fn securable(&mut self, columns: &mut Vec<String>) -> Parsed<(SecurableClass, ObjectName)> {
        let class = CLASSES.iter().find(|(words, _)| {
            let count = words.split(' ').count();
            words.split(' ').enumerate().all(|(ahead, word)| self.is_bare_ahead(ahead, word))
                && self.is_symbol_ahead(count, "::")
        });
        if let Some((words, _)) = class {
            self.at += words.split(' ').count() + 1;
        }
        let name = self.local_name()?;
        let class = class.map_or(SecurableClass::Object, |(_, class)| *class);
        if class == SecurableClass::Object && self.is_symbol("(") {
            columns.extend(self.names_in_parentheses()?);
        }
        Ok((class, name))
    }

    /// Parses REVERT and SETUSER. Error when run: 40515.
    pub(crate) fn other_user(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        let reverts = self.is_word(Keyword::Revert);
        self.advance();
        let refused =
            |what: &str| StatementKind::Unsupported(Box::new(SqlError::unsupported(what).at_line(line)));
        if !reverts {
            if matches!(self.kind(), Some(TokenKind::Text { .. })) {
                self.advance();
                self.accept_words(&[Keyword::With, Keyword::Noreset]);
            }
            return Ok(refused("SETUSER"));
        }
        if self.accept_words(&[Keyword::With, Keyword::Cookie]) {
            self.expect_symbol("=")?;
            self.variable()?;
            return Ok(refused("REVERT WITH COOKIE"));
        }
        Self::administration(Administration::Revert)
    }

    /// Parses `EXECUTE AS …` from AS on. Error when run: 40515.
    pub(crate) fn execute_as(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        self.expect_word(Keyword::As)?;
        if self.accept_bare("CALLER") {
            return Self::administration(Administration::ExecuteAs { is_login: false, name: None });
        }
        let is_login = self.accept_bare("LOGIN");
        if !is_login {
            self.expect_word(Keyword::User)?;
        }
        self.expect_symbol("=")?;
        let name = Some(self.expression()?);
        if self.accept_words(&[Keyword::With, Keyword::Cookie, Keyword::Into]) {
            self.variable()?;
            let what = "EXECUTE AS … WITH COOKIE";
            return Ok(StatementKind::Unsupported(Box::new(SqlError::unsupported(what).at_line(line))));
        }
        self.accept_words(&[Keyword::With, Keyword::No, Keyword::Revert]);
        Self::administration(Administration::ExecuteAs { is_login, name })
    }

    /// Parses a variable's name with its `@`.
    pub(crate) fn variable(&mut self) -> Parsed<String> {
        let Some(TokenKind::Variable(name)) = self.kind().cloned() else { return Err(self.unexpected()) };
        self.advance();
        Ok(name)
    }
}

fn is_permission(name: &str) -> bool {
    if OF_OBJECTS.contains(&name) || OF_DATABASES.contains(&name) {
        return true;
    }
    let kind = ["CREATE ANY ", "ALTER ANY ", "DROP ANY ", "CREATE "]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    kind.is_some_and(|kind| KINDS.contains(&kind))
}
