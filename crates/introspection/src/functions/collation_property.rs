//! COLLATIONPROPERTY.

use query::convert;
use query::datum::Datum;
use query::functions::function::Call;
use query::functions::name_type;
use query::typed::Typed;
use tds::{CodePage, Collation, Length, SqlType};
use tsql::SqlError;

use crate::facts::Facts;
use crate::functions::metadata::pair;

/// Binds COLLATIONPROPERTY. The result is an integer, or bytes of the wire; only a property that is computed
/// makes it a variant.
pub(super) fn bind(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let result = match call.arguments.get(1).and_then(|property| property.constant.as_ref()) {
        Some(Datum::Text(property)) if is_wire_form(property) => wire_type(),
        Some(_) => SqlType::Int,
        None => SqlType::SqlVariant,
    };
    let variant = result == SqlType::SqlVariant;
    pair(call, (name_type(), name_type()), result, move |_, collation, property| {
        let property = property.as_text()?;
        let value = value(Collation::from_name(collation.as_text()?)?, property)?;
        if !variant {
            return Some(value);
        }
        let base = if is_wire_form(property) { wire_type() } else { SqlType::Int };
        convert::convert(value, &base, &SqlType::SqlVariant, 0).ok()
    })
}

fn is_wire_form(property: &str) -> bool {
    property.eq_ignore_ascii_case("tdscollation")
}

fn wire_type() -> SqlType {
    SqlType::VarBinary { length: Length::Units(5) }
}

fn value(collation: Collation, property: &str) -> Option<Datum> {
    let number = match property.to_ascii_lowercase().as_str() {
        "tdscollation" => return Some(Datum::Binary(collation.to_bytes().to_vec())),
        "lcid" => collation.lcid(),
        "codepage" => match collation.code_page() {
            // A locale for Unicode types alone has code page 0.
            CodePage::Utf8 if !collation.is_utf8() => 0,
            code_page => u32::from(code_page.number()),
        },
        "version" => u32::from(collation.version()),
        "sortid" => collation.to_bytes().last().copied().map(u32::from)?,
        "comparisonstyle" => comparison_style(collation),
        _ => return None,
    };
    Some(Datum::Int(i64::from(number)))
}

/// Returns the flags of Windows' CompareString: the differences that a comparison ignores.
fn comparison_style(collation: Collation) -> u32 {
    const IGNORE_CASE: u32 = 0x1;
    const IGNORE_ACCENTS: u32 = 0x2;
    const IGNORE_KANA: u32 = 0x1_0000;
    const IGNORE_WIDTH: u32 = 0x2_0000;
    if collation.is_binary() {
        return 0;
    }
    [
        (collation.case_sensitive(), IGNORE_CASE),
        (collation.accent_sensitive(), IGNORE_ACCENTS),
        (collation.kana_sensitive(), IGNORE_KANA),
        (collation.width_sensitive(), IGNORE_WIDTH),
    ]
    .into_iter()
    .filter_map(|(sensitive, flag)| (!sensitive).then_some(flag))
    .sum()
}
