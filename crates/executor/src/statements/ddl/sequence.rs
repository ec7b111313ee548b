//! Sequences: CREATE, ALTER and NEXT VALUE FOR.

use databases::catalogue::{ModuleKind, SequenceDefinition};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::SequenceOptions;

use crate::session::Session;
use crate::session::work::Place;
use crate::statements::ddl::module;

/// Runs CREATE SEQUENCE. Errors: 2714, 11702 for a type that is no whole number, 11703 and 11706 for limits that do not
/// fit.
pub(crate) fn create_sequence(
    session: &mut Session,
    name: &ObjectName,
    options: &SequenceOptions,
) -> Result<(), SqlError> {
    let sql_type = options.sql_type.clone().unwrap_or(SqlType::BigInt);
    let (lowest, highest) = limits(&sql_type, &name.name)?;
    let increment = options.increment.unwrap_or(1);
    if increment == 0 {
        return Err(SqlError::new(
            11700,
            16,
            1,
            format!("The increment for sequence object '{name}' cannot be zero."),
        ));
    }
    let minimum = options.minimum.unwrap_or(lowest).max(lowest);
    let maximum = options.maximum.unwrap_or(highest).min(highest);
    if minimum >= maximum {
        return Err(SqlError::new(
            11705,
            16,
            1,
            format!("The minimum value for sequence object '{name}' must be less than its maximum value."),
        ));
    }
    let start = options.start.unwrap_or(if increment > 0 { minimum } else { maximum });
    if start < minimum || start > maximum {
        return Err(start_outside(name));
    }
    let sequence = SequenceDefinition {
        type_text: sql_type.to_string(),
        start,
        increment,
        minimum,
        maximum,
        cycle: options.cycle.unwrap_or(false),
        next: Some(start),
    };
    let mut definition = module::new_module(session, name, ModuleKind::Sequence)?;
    definition.sequence = Some(sequence);
    module::keep_new_module(session, &definition, name)
}

/// Runs ALTER SEQUENCE.
pub(crate) fn alter_sequence(
    session: &mut Session,
    name: &ObjectName,
    options: &SequenceOptions,
) -> Result<(), SqlError> {
    let found = session.work.find_module(name, &session.database)?;
    let found = found.filter(|(_, module)| module.definition.kind == ModuleKind::Sequence);
    let Some((id, module)) = found else {
        return Err(SqlError::new(
            15151,
            16,
            1,
            format!(
                "Cannot alter the sequence '{name}', because it does not exist or you do not have permission."
            ),
        ));
    };
    let mut definition = module.definition.clone();
    let object_id = definition.object_id;
    let Some(sequence) = &mut definition.sequence else { return Ok(()) };
    let known = session.instance.sequences.lock().remove(&object_id);
    let next = known.map_or(sequence.next, |reserve| reserve.next);
    sequence.increment = options.increment.unwrap_or(sequence.increment);
    sequence.minimum = options.minimum.unwrap_or(sequence.minimum);
    sequence.maximum = options.maximum.unwrap_or(sequence.maximum);
    sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
    sequence.next = if options.restart {
        let start = options.start.unwrap_or(sequence.start);
        if start < sequence.minimum || start > sequence.maximum {
            return Err(start_outside(name));
        }
        Some(start)
    } else {
        next
    };
    module::keep_module(session, id, &definition, Place::Shared)
}

fn start_outside(name: &ObjectName) -> SqlError {
    SqlError::new(
        11703,
        16,
        1,
        format!(
            "The start value for sequence object '{name}' must be between the minimum and maximum value of the sequence object."
        ),
    )
}

/// Returns the smallest and the largest value of a type.
fn limits(sql_type: &SqlType, name: &str) -> Result<(i64, i64), SqlError> {
    Ok(match sql_type {
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::BigInt => (i64::MIN, i64::MAX),
        SqlType::Decimal { precision, scale: 0 } | SqlType::Numeric { precision, scale: 0 } => {
            let largest = 10_i64.checked_pow(u32::from(*precision)).map_or(i64::MAX, |power| power - 1);
            (-largest, largest)
        }
        _ => {
            return Err(SqlError::new(
                11702,
                16,
                2,
                format!(
                    "The sequence object '{name}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, or any user-defined data type that is based on one of the above integer data types."
                ),
            ));
        }
    })
}
