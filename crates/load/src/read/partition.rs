//! A range as bytes that another process can read.

use tds::{
    Column, DecodeError, Direction, EncodeError, Reader, TypeInfo, Value, ValuePlace, Writer, decode_columns,
    decode_value, encode_columns, encode_value,
};

use super::{key::Parameter, split_plan::SplitPlan};
use crate::client::Client;

/// The first bytes of the encoding; the digit is its version.
const MAGIC: &[u8] = b"bulkwire partition 1\n";
const PARAMETERS_MAX: usize = 2100;

/// One range of a plan: a statement that any connection to the same database can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// The database in which the statement runs.
    pub database: String,
    /// The statement.
    pub sql: String,
    /// The parameters of the query.
    pub parameters: Vec<Parameter>,
    /// The columns that it returned when the plan was made.
    pub columns: Vec<Column>,
}

/// Bytes that are no partition.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The bytes do not begin as a partition does.
    #[error("the bytes are not a partition of this driver's version")]
    Foreign,
    /// The bytes are damaged.
    #[error("the partition is damaged: {0}")]
    Damaged(#[from] DecodeError),
}

impl Partition {
    /// Returns the ranges of a plan, each with these columns.
    pub fn of_plan(client: &Client, plan: &SplitPlan, columns: &[Column]) -> Vec<Self> {
        plan.ranges
            .iter()
            .map(|range| {
                let (sql, parameters) = plan.source.select(&range.condition(plan.key.as_ref()), &plan.order);
                let database = client.database().to_owned();
                Self { database, sql, parameters, columns: columns.to_vec() }
            })
            .collect()
    }

    /// Encodes the partition as bytes.
    ///
    /// # Errors
    /// A text that is too long for its field.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new();
        w.bytes(MAGIC);
        w.us_varchar(&self.database, "database");
        w.l_varbyte(self.sql.as_bytes(), "statement");
        let count = w.length_u16(self.parameters.len(), "parameters");
        w.u16(count);
        for (name, sql_type, value) in &self.parameters {
            w.us_varchar(name, "parameter name");
            let collation = sql_type.is_character().then_some(tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
            let info = TypeInfo::new(sql_type.clone(), true, collation);
            info.encode(&mut w, Direction::ClientToServer);
            match value {
                // Whatever code page the text has on its way to the server, here it is UTF-8.
                Value::String(text) => w.l_varbyte(text.as_bytes(), "parameter"),
                value => encode_value(value, &info, &mut w, ValuePlace::Parameter),
            }
        }
        encode_columns(Some(&self.columns), &mut w, Direction::ServerToClient);
        w.finish()
    }

    /// Reads the bytes of [`Partition::encode`].
    ///
    /// # Errors
    /// Other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PartitionError> {
        let Some(bytes) = bytes.strip_prefix(MAGIC) else { return Err(PartitionError::Foreign) };
        let mut r = Reader::new_complete(bytes);
        let database = r.us_varchar("database")?;
        let sql = String::from_utf8_lossy(r.l_varbyte("statement")?).into_owned();
        let count = usize::from(r.u16("parameters")?).min(PARAMETERS_MAX);
        let mut parameters = Vec::new();
        for _ in 0..count {
            let name = r.us_varchar("parameter name")?;
            let info = TypeInfo::decode(&mut r, Direction::ClientToServer)?;
            let value = match info.sql_type.is_character() {
                true => Value::String(String::from_utf8_lossy(r.l_varbyte("parameter")?).into_owned()),
                false => decode_value(&mut r, &info, ValuePlace::Parameter)?,
            };
            parameters.push((name, info.sql_type, value));
        }
        let columns = decode_columns(&mut r, Direction::ServerToClient)?.unwrap_or_default();
        r.finish("partition")?;
        Ok(Self { database, sql, parameters, columns })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use tds::{Column, ColumnFlags, Length, SqlType, TypeInfo, Value};

    use super::{MAGIC, Partition, PartitionError};

    fn partition() -> Partition {
        let column = |name: &str, sql_type: SqlType| Column {
            name: name.to_owned(),
            user_type: 0,
            flags: ColumnFlags(ColumnFlags::NULLABLE),
            type_info: TypeInfo::new(sql_type, true, None),
            table_name: Vec::new(),
        };
        Partition {
            database: "sales".to_owned(),
            sql: "SELECT * FROM [dbo].[größe] WHERE [k] >= @a".to_owned(),
            parameters: vec![
                (
                    "@a".to_owned(),
                    SqlType::NVarChar { length: Length::Units(20) },
                    Value::String("Å".to_owned()),
                ),
                ("@b".to_owned(), SqlType::UniqueIdentifier, Value::Guid([7; 16])),
                (
                    "@c".to_owned(),
                    SqlType::DateTime2 { scale: 7 },
                    Value::DateTime2 { days: 700_000, ticks: 1, scale: 7 },
                ),
                (
                    "@d".to_owned(),
                    SqlType::VarChar { length: Length::Units(9) },
                    Value::String("β".to_owned()),
                ),
            ],
            columns: vec![column("k", SqlType::Int), column("x", SqlType::VarBinary { length: Length::Max })],
        }
    }

    #[test]
    fn bytes_read_back() {
        let partition = partition();
        let read = Partition::decode(&partition.encode().unwrap()).unwrap();
        assert_eq!((&read.sql, &read.database), (&partition.sql, &partition.database));
        assert_eq!(read.parameters, partition.parameters);
        assert_eq!(read.columns, partition.columns);
    }

    proptest! {
        #[test]
        fn other_bytes_are_errors(cut in 0..400_usize, at in 0..400_usize, byte: u8) {
            let mut bytes = partition().encode().unwrap();
            bytes.truncate(bytes.len().saturating_sub(cut.max(1)));
            prop_assert!(Partition::decode(&bytes).is_err());
            let mut bytes = partition().encode().unwrap();
            let at = MAGIC.len() + at % (bytes.len() - MAGIC.len());
            bytes[at] = byte;
            // Whatever it makes of it, it does not panic.
            let _ = Partition::decode(&bytes);
            prop_assert!(matches!(Partition::decode(b"something else"), Err(PartitionError::Foreign)));
        }
    }
}
