//! The value in a `sql_variant`.

use tds::{Reader, SqlType, TypeInfo, Value, ValuePlace, decode_value};
use tsql::SqlError;

/// Returns a variant in its wire form.
pub fn variant_value(body: &[u8]) -> Result<Value, SqlError> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(body);
    let type_info = TypeInfo::new(SqlType::SqlVariant, true, None);
    decode_value(&mut Reader::new(&bytes), &type_info, ValuePlace::Row)
        .map_err(|error| SqlError::internal(error))
}
