//! Routing (ENVCHANGE types 20 and 21): a gateway sends the client to another server.

use crate::codec::{DecodeError, Reader, Writer};

/// Address at which a client shall log in instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// TCP port of the server to connect to.
    pub port: u16,
    /// Host name, or `host\instance`.
    pub server: String,
    /// Database to ask for there; only for clients that asked for enhanced routing.
    pub database: Option<String>,
}

/// The only transport that a client can be routed to.
const PROTOCOL_TCP: u8 = 0;

impl Routing {
    pub(crate) fn decode(r: &mut Reader<'_>, enhanced: bool) -> Result<Self, DecodeError> {
        let length = usize::from(r.u16("routing length")?);
        let mut data = r.sub(length, "routing data")?;
        let offset = data.position();
        let protocol = data.u8("routing protocol")?;
        if protocol != PROTOCOL_TCP {
            return Err(DecodeError::invalid("routing protocol", offset, format!("{protocol} is not TCP")));
        }
        let port = data.u16("routing port")?;
        let server = data.us_varchar("routing server")?;
        let database = enhanced.then(|| data.us_varchar("routing database")).transpose()?;
        data.finish("routing data")?;
        let offset = r.position();
        if !r.us_varbyte("routing old value")?.is_empty() {
            return Err(DecodeError::invalid("routing old value", offset, "the old value is not empty"));
        }
        Ok(Self { port, server, database })
    }

    pub(crate) fn encode(&self, w: &mut Writer) {
        let mark = w.begin_u16();
        w.u8(PROTOCOL_TCP);
        w.u16(self.port);
        w.us_varchar(&self.server, "routing server");
        if let Some(database) = &self.database {
            w.us_varchar(database, "routing database");
        }
        w.end_u16(mark, "routing data");
        w.u16(0);
    }
}
