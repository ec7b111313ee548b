//! Sequences: CREATE, ALTER and NEXT VALUE FOR.

use databases::catalogue::{ModuleKind, SequenceCache, SequenceDefinition};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Cache, SequenceOptions};

use crate::session::Session;
use crate::session::work::Place;
use crate::statements::ddl::module;

/// Values that a sequence can set aside at a time.
const MOST_CACHED: u32 = i32::MAX as u32;

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
    let minimum = options.minimum.unwrap_or(lowest).max(lowest);
    let maximum = options.maximum.unwrap_or(highest).min(highest);
    let start = options.start.unwrap_or(if increment > 0 { minimum } else { maximum });
    let sequence = SequenceDefinition {
        type_text: sql_type.to_string(),
        start,
        increment,
        minimum,
        maximum,
        cycle: options.cycle.unwrap_or(false),
        next: Some(start),
        last: None,
        cache: cache(options, name)?.unwrap_or_default(),
    };
    check(&sequence, name)?;
    if start < minimum || start > maximum {
        return Err(start_outside(name));
    }
    let mut definition = module::new_module(session, name, ModuleKind::Sequence)?;
    definition.sequence = Some(sequence);
    module::keep_new_module(session, &definition, name)
}

/// Errors: 11700 for an increment of zero, 11705 for limits without values between them.
fn check(sequence: &SequenceDefinition, name: &ObjectName) -> Result<(), SqlError> {
    if sequence.increment == 0 {
        let text = format!("The increment for sequence object '{name}' cannot be zero.");
        return Err(SqlError::new(11700, 16, 1, text));
    }
    if sequence.minimum >= sequence.maximum {
        let text =
            format!("The minimum value for sequence object '{name}' must be less than its maximum value.");
        return Err(SqlError::new(11705, 16, 1, text));
    }
    Ok(())
}

/// The CACHE clause. Errors: 11706 for no values.
fn cache(options: &SequenceOptions, name: &ObjectName) -> Result<Option<SequenceCache>, SqlError> {
    Ok(Some(match options.cache {
        None => return Ok(None),
        Some(Cache::Any) => SequenceCache::Any,
        Some(Cache::No) => SequenceCache::No,
        Some(Cache::Values(values)) => match u32::try_from(values) {
            Ok(values @ 1..=MOST_CACHED) => SequenceCache::Values(values),
            _ => {
                let text = format!("The cache size for sequence object '{name}' must be greater than 0.");
                return Err(SqlError::new(11706, 16, 1, text));
            }
        },
    }))
}

/// Runs ALTER SEQUENCE. Errors: 15151 for what is no sequence, 11700, 11703, 11705 and 11706 as for CREATE SEQUENCE.
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
    let known = session.instance.sequences.lock().get(&object_id).copied();
    let next = known.map_or(sequence.next, |reserve| reserve.next);
    sequence.last = known.and_then(|reserve| reserve.last).or(sequence.last);
    let sql_type = sequence.type_text.parse().map_err(|_| SqlError::internal("a sequence of no type"))?;
    let (lowest, highest) = limits(&sql_type, &name.name)?;
    sequence.increment = options.increment.unwrap_or(sequence.increment);
    sequence.minimum = options.minimum.unwrap_or(sequence.minimum).max(lowest);
    sequence.maximum = options.maximum.unwrap_or(sequence.maximum).min(highest);
    sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
    sequence.cache = cache(options, name)?.unwrap_or(sequence.cache);
    check(sequence, name)?;
    sequence.next = if options.restart {
        let start = options.start.unwrap_or(sequence.start);
        if start < sequence.minimum || start > sequence.maximum {
            return Err(start_outside(name));
        }
        (sequence.start, sequence.last) = (start, None);
        Some(start)
    } else {
        next
    };
    module::keep_module(session, id, &definition, Place::Shared)?;
    session.instance.sequences.lock().remove(&object_id);
    Ok(())
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
