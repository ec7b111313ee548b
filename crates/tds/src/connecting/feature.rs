//! Feature extensions: what a LOGIN7 asks for (MS-TDS 2.2.6.4) and what FEATUREEXTACK grants (2.2.7.11).

use crate::codec::{DecodeError, Reader, Writer};
use crate::fed_auth::FedAuthRequest;

/// Numbers of the features.
pub mod feature_id {
    /// Connection resiliency.
    pub const SESSION_RECOVERY: u8 = 0x01;
    /// Federated authentication.
    pub const FED_AUTH: u8 = 0x02;
    /// Always Encrypted.
    pub const COLUMN_ENCRYPTION: u8 = 0x04;
    /// Distributed transactions of Azure SQL.
    pub const GLOBAL_TRANSACTIONS: u8 = 0x05;
    /// Failover hints of Azure SQL.
    pub const AZURE_SQL_SUPPORT: u8 = 0x08;
    /// Sensitivity labels on results.
    pub const DATA_CLASSIFICATION: u8 = 0x09;
    /// UTF-8 collations.
    pub const UTF8_SUPPORT: u8 = 0x0A;
    /// Caching of addresses by the client.
    pub const AZURE_SQL_DNS_CACHING: u8 = 0x0B;
    /// The json type.
    pub const JSON_SUPPORT: u8 = 0x0D;
    /// The vector type.
    pub const VECTOR_SUPPORT: u8 = 0x0E;
    /// Routing with a database name.
    pub const ENHANCED_ROUTING: u8 = 0x0F;
    /// Description of the client.
    pub const USER_AGENT: u8 = 0x10;
    /// Ends the list.
    pub const TERMINATOR: u8 = 0xFF;
}

/// A feature that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureRequest {
    /// Connection resiliency: session state to restore; empty on the first login.
    SessionRecovery(Vec<u8>),
    /// Federated authentication.
    FedAuth(FedAuthRequest),
    /// Always Encrypted, with the version the client knows.
    ColumnEncryption(u8),
    /// Distributed transactions of Azure SQL.
    GlobalTransactions,
    /// Failover hints of Azure SQL: flags.
    AzureSqlSupport(u8),
    /// Sensitivity labels on results, with the version the client knows.
    DataClassification(u8),
    /// The client can take varchar in UTF-8.
    Utf8Support,
    /// Caching of addresses.
    AzureSqlDnsCaching,
    /// The json type, with the version the client knows.
    JsonSupport(u8),
    /// The vector type, with the version the client knows.
    VectorSupport(u8),
    /// Routing with a database name.
    EnhancedRouting,
    /// Description of the client, as sent.
    UserAgent(Vec<u8>),
    /// A feature that this crate does not know, or a known one with data of an unknown shape.
    Unknown {
        /// Number of the feature.
        id: u8,
        /// Data of the feature.
        data: Vec<u8>,
    },
}

impl FeatureRequest {
    /// Returns the number of the feature.
    pub fn id(&self) -> u8 {
        match self {
            Self::SessionRecovery(_) => feature_id::SESSION_RECOVERY,
            Self::FedAuth(_) => feature_id::FED_AUTH,
            Self::ColumnEncryption(_) => feature_id::COLUMN_ENCRYPTION,
            Self::GlobalTransactions => feature_id::GLOBAL_TRANSACTIONS,
            Self::AzureSqlSupport(_) => feature_id::AZURE_SQL_SUPPORT,
            Self::DataClassification(_) => feature_id::DATA_CLASSIFICATION,
            Self::Utf8Support => feature_id::UTF8_SUPPORT,
            Self::AzureSqlDnsCaching => feature_id::AZURE_SQL_DNS_CACHING,
            Self::JsonSupport(_) => feature_id::JSON_SUPPORT,
            Self::VectorSupport(_) => feature_id::VECTOR_SUPPORT,
            Self::EnhancedRouting => feature_id::ENHANCED_ROUTING,
            Self::UserAgent(_) => feature_id::USER_AGENT,
            Self::Unknown { id, .. } => *id,
        }
    }

    fn decode(id: u8, data: &[u8]) -> Result<Self, DecodeError> {
        Ok(match (id, data) {
            (feature_id::SESSION_RECOVERY, data) => Self::SessionRecovery(data.to_vec()),
            (feature_id::FED_AUTH, data) => {
                Self::FedAuth(FedAuthRequest::decode(&mut Reader::new_complete(data))?)
            }
            (feature_id::COLUMN_ENCRYPTION, &[version]) => Self::ColumnEncryption(version),
            (feature_id::GLOBAL_TRANSACTIONS, []) => Self::GlobalTransactions,
            (feature_id::AZURE_SQL_SUPPORT, &[flags]) => Self::AzureSqlSupport(flags),
            (feature_id::DATA_CLASSIFICATION, &[version]) => Self::DataClassification(version),
            // The JDBC driver sends no byte, all others 1.
            (feature_id::UTF8_SUPPORT, [] | [1]) => Self::Utf8Support,
            (feature_id::AZURE_SQL_DNS_CACHING, []) => Self::AzureSqlDnsCaching,
            (feature_id::JSON_SUPPORT, &[version]) => Self::JsonSupport(version),
            (feature_id::VECTOR_SUPPORT, &[version]) => Self::VectorSupport(version),
            (feature_id::ENHANCED_ROUTING, []) => Self::EnhancedRouting,
            (feature_id::USER_AGENT, data) => Self::UserAgent(data.to_vec()),
            (id, data) => Self::Unknown { id, data: data.to_vec() },
        })
    }

    fn encode_data(&self, w: &mut Writer) {
        match self {
            Self::SessionRecovery(data) | Self::UserAgent(data) | Self::Unknown { data, .. } => w.bytes(data),
            Self::FedAuth(request) => request.encode(w),
            Self::ColumnEncryption(byte)
            | Self::AzureSqlSupport(byte)
            | Self::DataClassification(byte)
            | Self::JsonSupport(byte)
            | Self::VectorSupport(byte) => w.u8(*byte),
            Self::Utf8Support => w.u8(1),
            Self::GlobalTransactions | Self::AzureSqlDnsCaching | Self::EnhancedRouting => {}
        }
    }
}

/// A feature that a server grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureAck {
    /// Number of the feature; see [`feature_id`].
    pub id: u8,
    /// Data of the grant, in the feature's own form.
    pub data: Vec<u8>,
}

/// Writes the FeatureExt block of LOGIN7.
pub(crate) fn encode_feature_requests(requests: &[FeatureRequest], w: &mut Writer) {
    for request in requests {
        w.u8(request.id());
        let mark = w.begin_u32();
        request.encode_data(w);
        w.end_u32(mark, "feature data length");
    }
    w.u8(feature_id::TERMINATOR);
}

/// Reads the FeatureExt block of LOGIN7; what follows the terminator is not looked at.
pub(crate) fn decode_feature_requests(r: &mut Reader<'_>) -> Result<Vec<FeatureRequest>, DecodeError> {
    let mut requests = Vec::new();
    while let Some((id, data)) = next_feature(r)? {
        requests.push(FeatureRequest::decode(id, data)?);
    }
    Ok(requests)
}

/// Writes the list of FEATUREEXTACK, behind the token byte.
pub(crate) fn encode_feature_acks(acks: &[FeatureAck], w: &mut Writer) {
    for ack in acks {
        w.u8(ack.id);
        w.l_varbyte(&ack.data, "feature acknowledgement length");
    }
    w.u8(feature_id::TERMINATOR);
}

/// Reads the list of FEATUREEXTACK, behind the token byte.
pub(crate) fn decode_feature_acks(r: &mut Reader<'_>) -> Result<Vec<FeatureAck>, DecodeError> {
    let mut acks = Vec::new();
    while let Some((id, data)) = next_feature(r)? {
        acks.push(FeatureAck { id, data: data.to_vec() });
    }
    Ok(acks)
}

/// Maximum length of the data of a feature, more than any has. It guards a reader that waits for the rest.
const FEATURE_DATA_MAX_BYTES: usize = 1 << 20;

fn next_feature<'a>(r: &mut Reader<'a>) -> Result<Option<(u8, &'a [u8])>, DecodeError> {
    let id = r.u8("feature id")?;
    if id == feature_id::TERMINATOR {
        return Ok(None);
    }
    let offset = r.position();
    let length = r.u32("feature data length")? as usize;
    if length > FEATURE_DATA_MAX_BYTES {
        return Err(DecodeError::too_long("feature data length", offset, length, FEATURE_DATA_MAX_BYTES));
    }
    Ok(Some((id, r.take(length, "feature data")?)))
}
