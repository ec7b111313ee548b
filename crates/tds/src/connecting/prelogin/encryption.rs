//! Encryption that the two PRELOGIN messages settle on (MS-TDS 2.2.6.5 and 3.2.5.1).

/// The ENCRYPTION option of PRELOGIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EncryptionOption {
    /// Encryption is available but off: only the login message is encrypted.
    Off = 0x00,
    /// Encryption is wanted for the whole session.
    On = 0x01,
    /// Encryption is not available.
    NotSupported = 0x02,
    /// Encryption is required for the whole session.
    Required = 0x03,
    /// The connection is inside TLS already (TDS 8.0). Some strict clients send `NotSupported` there instead; the
    /// value means nothing on such a connection.
    Strict = 0x04,
}

impl EncryptionOption {
    /// Set in the option's byte if the client offers a certificate.
    pub const CLIENT_CERTIFICATE_BIT: u8 = 0x80;

    /// Returns the option with this number, without the certificate bit.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0x00 => Self::Off,
            0x01 => Self::On,
            0x02 => Self::NotSupported,
            0x03 => Self::Required,
            0x04 => Self::Strict,
            _ => return None,
        })
    }
}

/// Extent of the encryption on a TDS 7.x connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncryptionOutcome {
    /// No encryption.
    None,
    /// The login message; both sides drop TLS right after it.
    LoginOnly,
    /// Everything after PRELOGIN.
    Full,
}

/// Encryption that a server offers or demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncryptionPolicy {
    /// No TLS at all: the server has no certificate.
    Unavailable,
    /// Encryption to the extent that the client asks for.
    Available,
    /// Encryption of the whole session, or no session.
    Required,
}

/// The two sides cannot agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// The client wants encryption and the server has none.
    #[error("encryption was requested but the server does not support it")]
    ServerCannotEncrypt,
    /// The server insists on encryption and the client has none.
    #[error("the server requires encryption, which is disabled on this connection")]
    ServerRequires,
    /// The question does not allow this answer.
    #[error("the server answered encryption option {answered:?} to {asked:?}")]
    Unexpected {
        /// Option that the client sent.
        asked: EncryptionOption,
        /// Option that the server sent.
        answered: EncryptionOption,
    },
}

/// Returns the encryption that a client which sent `asked` applies after the server's `answered`. Not for
/// strict connections, where TLS came first.
pub fn negotiate_client(
    asked: EncryptionOption,
    answered: EncryptionOption,
) -> Result<EncryptionOutcome, NegotiationError> {
    use EncryptionOption::{NotSupported, Off, On, Required, Strict};
    match (asked, answered) {
        (Off, Off) => Ok(EncryptionOutcome::LoginOnly),
        (Off | On | Required, On | Required) => Ok(EncryptionOutcome::Full),
        (Off | NotSupported, NotSupported) => Ok(EncryptionOutcome::None),
        (On | Required, Off | NotSupported) => Err(NegotiationError::ServerCannotEncrypt),
        (NotSupported, On | Required) => Err(NegotiationError::ServerRequires),
        (NotSupported, Off) | (Strict, _) | (_, Strict) => {
            Err(NegotiationError::Unexpected { asked, answered })
        }
    }
}

/// Returns the reply of a server with `policy` to a client that `asked`, and the encryption that follows. On
/// an error the reply still goes out (the client explains itself from it) before the server closes.
pub fn negotiate_server(
    policy: EncryptionPolicy,
    asked: EncryptionOption,
) -> Result<(EncryptionOption, EncryptionOutcome), NegotiationError> {
    use EncryptionOption::{NotSupported, Off, On, Required, Strict};
    match (policy, asked) {
        (_, Strict) => Err(NegotiationError::Unexpected { asked, answered: NotSupported }),
        (EncryptionPolicy::Unavailable, On | Required) => Err(NegotiationError::ServerCannotEncrypt),
        (EncryptionPolicy::Unavailable, Off | NotSupported) => Ok((NotSupported, EncryptionOutcome::None)),
        (EncryptionPolicy::Available, NotSupported) => Ok((NotSupported, EncryptionOutcome::None)),
        (EncryptionPolicy::Available, Off) => Ok((Off, EncryptionOutcome::LoginOnly)),
        (EncryptionPolicy::Required, Off) => Ok((Required, EncryptionOutcome::Full)),
        (EncryptionPolicy::Available | EncryptionPolicy::Required, On | Required) => {
            Ok((On, EncryptionOutcome::Full))
        }
        (EncryptionPolicy::Required, NotSupported) => Err(NegotiationError::ServerRequires),
    }
}

impl NegotiationError {
    /// Returns the option that a server that cannot agree replies with before it closes.
    pub fn server_reply(&self) -> EncryptionOption {
        match self {
            Self::ServerRequires => EncryptionOption::Required,
            Self::ServerCannotEncrypt | Self::Unexpected { .. } => EncryptionOption::NotSupported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EncryptionOption::{NotSupported, Off, On, Required, Strict};
    use super::*;

    #[test]
    fn both_sides_reach_the_same_outcome() {
        for policy in [EncryptionPolicy::Unavailable, EncryptionPolicy::Available, EncryptionPolicy::Required]
        {
            for asked in [Off, On, NotSupported, Required] {
                match negotiate_server(policy, asked) {
                    Ok((answer, outcome)) => assert_eq!(negotiate_client(asked, answer), Ok(outcome)),
                    Err(error) => {
                        assert_eq!(negotiate_client(asked, error.server_reply()), Err(error))
                    }
                }
            }
        }
    }

    /// The table of the protocol's published rules, client byte by server byte.
    #[test]
    fn outcomes_follow_the_published_table() {
        use EncryptionOutcome::{Full, LoginOnly, None};
        assert_eq!(negotiate_client(Off, Off), Ok(LoginOnly));
        assert_eq!(negotiate_client(Off, On), Ok(Full));
        assert_eq!(negotiate_client(Off, Required), Ok(Full));
        assert_eq!(negotiate_client(Off, NotSupported), Ok(None));
        assert_eq!(negotiate_client(On, On), Ok(Full));
        assert_eq!(negotiate_client(On, Required), Ok(Full));
        assert_eq!(negotiate_client(On, NotSupported), Err(NegotiationError::ServerCannotEncrypt));
        assert_eq!(negotiate_client(NotSupported, NotSupported), Ok(None));
        assert_eq!(negotiate_client(NotSupported, Required), Err(NegotiationError::ServerRequires));
        assert!(negotiate_client(Strict, NotSupported).is_err());
    }
}
