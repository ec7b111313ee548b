//! Methods of hierarchyid, geometry and geography.

use tds::SqlType;

use super::super::Datum;
use super::super::clr::{ClrType, GEOGRAPHY_SRID, Hierarchy, Point, Shape, Spatial};
use super::super::typed::Typed;
use super::{long_text, strict, wide_text};
use tsql::SqlError;

/// Methods and properties of values, as they are spelt; names of the CLR tell cases apart.
const OF_VALUES: [&str; 14] = [
    "ToString",
    "GetLevel",
    "GetAncestor",
    "IsDescendantOf",
    "STAsText",
    "AsTextZM",
    "STGeometryType",
    "STIsEmpty",
    "STNumPoints",
    "STSrid",
    "STX",
    "STY",
    "Lat",
    "Long",
];

/// Returns true if the name is a method or property of a value.
pub fn is_value_method(name: &str) -> bool {
    OF_VALUES.contains(&name)
}

/// Calls `type::method(…)`. Errors: 6506 for a method that the type lacks.
pub fn static_method(type_name: &str, method: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
    let Some(clr) = ClrType::named(type_name) else {
        return Err(SqlError::new(243, 16, 1, format!("Type {type_name} is not a defined system type.")));
    };
    let result = sql_type(clr)?;
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().ok_or_else(|| wrong_count(clr, method));
    let typed = match (clr, method) {
        (ClrType::Hierarchy, "GetRoot") => Typed::constant(Datum::Binary(Hierarchy::root().bytes()), result)?,
        (_, "Parse") => next()?.cast(&long_text())?.cast(&result)?,
        (ClrType::Geometry | ClrType::Geography, "Point") => {
            let (first, second, srid) = (next()?, next()?, next()?);
            let cast = vec![(first, SqlType::Float), (second, SqlType::Float), (srid, SqlType::Int)];
            strict(&format!("{}_point", clr.name()), cast, result, move |values| {
                let [Datum::Float(first), Datum::Float(second), Datum::Int(srid)] = values else {
                    return Ok(Datum::Null);
                };
                let geography = clr == ClrType::Geography;
                let (x, y) = if geography { (*second, *first) } else { (*first, *second) };
                spatial(clr, &format!("POINT ({x} {y})"), *srid)
            })?
        }
        (
            ClrType::Geometry | ClrType::Geography,
            "STGeomFromText" | "STPointFromText" | "STLineFromText" | "STPolyFromText" | "STMPointFromText"
            | "STMLineFromText" | "STMPolyFromText" | "STGeomCollFromText",
        ) => {
            let cast = vec![(next()?, long_text()), (next()?, SqlType::Int)];
            strict(&format!("{}_from_text", clr.name()), cast, result, move |values| {
                let [Datum::Text(text), Datum::Int(srid)] = values else { return Ok(Datum::Null) };
                spatial(clr, text, *srid)
            })?
        }
        _ => return Err(unknown(clr, method)),
    };
    match arguments.next() {
        Some(_) => Err(wrong_count(clr, method)),
        None => Ok(typed),
    }
}

/// Calls `value.method(…)` and `value.Property`. Errors: 6506 for a member that the type lacks, 258 for values without
/// methods.
pub fn value_method(value: Typed, method: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
    let Some(clr) = ClrType::of(&value.sql_type) else {
        if value.sql_type == SqlType::Xml {
            return Err(SqlError::unsupported(&format!("The method {method}() of xml")));
        }
        let name = super::super::convert::type_name(&value.sql_type);
        return Err(SqlError::new(258, 15, 1, format!("Cannot call methods on {name}.")));
    };
    let name = format!("{}_{method}", clr.name());
    let own = value.sql_type.clone();
    if clr != ClrType::Hierarchy {
        return spatial_method(clr, &name, value, method);
    }
    let mut cast = vec![(value, own.clone())];
    let argument = arguments.into_iter().next().ok_or_else(|| wrong_count(clr, method));
    let node = move |values: &[Datum], at: usize| match values.get(at) {
        Some(Datum::Binary(bytes)) => {
            Hierarchy::read(bytes).ok_or_else(|| clr.failed("24001", "The bytes are no path"))
        }
        _ => Ok(Hierarchy::root()),
    };
    match method {
        "ToString" => {
            strict(&name, cast, wide_text(), move |values| Ok(Datum::Text(node(values, 0)?.to_string())))
        }
        "GetLevel" => strict(&name, cast, SqlType::SmallInt, move |values| {
            Ok(Datum::Int(i64::try_from(node(values, 0)?.level()).unwrap_or(i64::MAX)))
        }),
        "GetAncestor" => {
            cast.push((argument?, SqlType::Int));
            strict(&name, cast, own, move |values| {
                let steps = values.get(1).and_then(Datum::as_int).unwrap_or(0);
                let steps = usize::try_from(steps).map_err(|_| {
                    clr.failed("24011", "SqlHierarchyId.GetAncestor failed because 'n' was negative")
                })?;
                Ok(node(values, 0)?.ancestor(steps).map_or(Datum::Null, |above| Datum::Binary(above.bytes())))
            })
        }
        "IsDescendantOf" => {
            cast.push((argument?, own));
            strict(&name, cast, SqlType::Bit, move |values| {
                Ok(Datum::Bit(node(values, 0)?.is_descendant_of(&node(values, 1)?)))
            })
        }
        _ => Err(unknown(clr, method)),
    }
}

/// Computes a method's value.
type SpatialKernel = fn(&Spatial) -> Datum;

fn spatial_method(clr: ClrType, name: &str, value: Typed, method: &str) -> Result<Typed, SqlError> {
    let geography = clr == ClrType::Geography;
    let (result, kernel): (SqlType, SpatialKernel) = match method {
        "ToString" | "AsTextZM" => (long_text(), |value| Datum::Text(value.to_string())),
        // STAsText leaves elevation and measure out.
        "STAsText" => (long_text(), |value| {
            Datum::Text(Spatial { srid: value.srid, shape: value.shape.flat() }.to_string())
        }),
        "STGeometryType" => (wide_text(), |value| Datum::Text(value.shape.name().to_string())),
        "STIsEmpty" => (SqlType::Bit, |value| Datum::Bit(value.shape.points() == 0)),
        "STNumPoints" => {
            (SqlType::Int, |value| Datum::Int(i64::try_from(value.shape.points()).unwrap_or(i64::MAX)))
        }
        "STSrid" => (SqlType::Int, |value| Datum::Int(i64::from(value.srid))),
        "STX" if !geography => (SqlType::Float, |value| of_point(value, |point| point.x)),
        "Long" if geography => (SqlType::Float, |value| of_point(value, |point| point.x)),
        "STY" if !geography => (SqlType::Float, |value| of_point(value, |point| point.y)),
        "Lat" if geography => (SqlType::Float, |value| of_point(value, |point| point.y)),
        _ => return Err(unknown(clr, method)),
    };
    let own = value.sql_type.clone();
    strict(name, vec![(value, own)], result, move |values| {
        let Some(Datum::Binary(bytes)) = values.first() else { return Ok(Datum::Null) };
        let value = Spatial::read(bytes, geography)
            .ok_or_else(|| clr.failed("24210", "The serialized form of the value is not valid"))?;
        Ok(kernel(&value))
    })
}

/// Returns a coordinate of a point; NULL for other shapes.
fn of_point(value: &Spatial, coordinate: fn(&Point) -> f64) -> Datum {
    match &value.shape {
        Shape::Point(Some(point)) => Datum::Float(coordinate(point)),
        _ => Datum::Null,
    }
}

fn spatial(clr: ClrType, text: &str, srid: i64) -> Result<Datum, SqlError> {
    let geography = clr == ClrType::Geography;
    let srid = i32::try_from(srid).unwrap_or(if geography { GEOGRAPHY_SRID } else { 0 });
    match Spatial::parse(text, srid) {
        Some(value) => Ok(Datum::Binary(value.bytes(geography))),
        None => clr.parse(text).map(Datum::Binary),
    }
}

fn sql_type(clr: ClrType) -> Result<SqlType, SqlError> {
    clr.name().parse().map_err(|_| SqlError::internal("a CLR type that is none"))
}

fn class(clr: ClrType) -> &'static str {
    match clr {
        ClrType::Hierarchy => "SqlHierarchyId",
        ClrType::Geometry => "SqlGeometry",
        ClrType::Geography => "SqlGeography",
    }
}

fn unknown(clr: ClrType, method: &str) -> SqlError {
    let text = format!(
        "Could not find method '{method}' for type 'Microsoft.SqlServer.Types.{}' in assembly 'Microsoft.SqlServer.Types'",
        class(clr)
    );
    SqlError::new(6506, 16, 10, text)
}

fn wrong_count(clr: ClrType, method: &str) -> SqlError {
    SqlError::argument_count(&format!("{}::{method}", clr.name()), 1, 1)
}
