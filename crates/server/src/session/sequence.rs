//! Sequences: CREATE, ALTER and NEXT VALUE FOR.

use std::sync::Arc;

use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::SequenceOptions;

use crate::catalogue::{ModuleDefinition, ModuleKind, SequenceDefinition};
use crate::session::Session;
use crate::session::instance::Instance;
use crate::session::module;
use crate::session::work::store_error;

/// Values that are set aside at once; a server that is killed skips what is left of them.
const RESERVED: i64 = 50;

/// Values that were set aside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reserve {
    next: Option<i64>,
    left: i64,
}

/// CREATE SEQUENCE. Errors: 2714, 11702 for a type that is no whole number, 11703 and 11706 for limits that do not fit.
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

/// ALTER SEQUENCE.
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
    module::keep_module(session, id, &definition, super::work::Place::Shared)
}

impl Instance {
    /// The next value of a sequence. Errors: 11728 if there is none left.
    pub(crate) fn next_of_sequence(
        self: &Arc<Self>,
        definition: &ModuleDefinition,
        key: &str,
    ) -> Result<i64, SqlError> {
        let Some(declared) = &definition.sequence else {
            return Err(SqlError::internal("a sequence without values"));
        };
        let mut sequences = self.sequences.lock();
        let reserve =
            sequences.entry(definition.object_id).or_insert(Reserve { next: declared.next, left: 0 });
        let Some(value) = reserve.next else {
            return Err(SqlError::new(
                11728,
                16,
                1,
                format!(
                    "The sequence object '{}' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.",
                    definition.name
                ),
            ));
        };
        reserve.next = after(declared, value);
        if reserve.left == 0 {
            reserve.left = RESERVED;
            let mut ahead = reserve.next;
            for _ in 1..RESERVED {
                ahead = ahead.and_then(|value| after(declared, value));
            }
            self.set_aside(definition, key, ahead)?;
        }
        reserve.left -= 1;
        Ok(value)
    }

    /// Writes down that values up to `next` are taken. A sequence that is not committed yet has nothing to write down.
    fn set_aside(&self, definition: &ModuleDefinition, key: &str, next: Option<i64>) -> Result<(), SqlError> {
        let mut transaction = self.store().begin();
        let Some(info) = transaction.table(key) else { return Ok(()) };
        let Some(known) = self.module(&info)? else { return Ok(()) };
        if known.definition.object_id != definition.object_id {
            return Ok(());
        }
        let mut definition = known.definition.clone();
        if let Some(sequence) = &mut definition.sequence {
            sequence.next = next;
        }
        let properties = definition.to_properties().map_err(SqlError::internal)?;
        transaction.set_properties(info.id, &properties).map_err(store_error)?;
        transaction.commit().map_err(store_error)?;
        Ok(())
    }
}

/// The value behind one; None behind the last.
fn after(sequence: &SequenceDefinition, value: i64) -> Option<i64> {
    let next = value
        .checked_add(sequence.increment)
        .filter(|next| (sequence.minimum..=sequence.maximum).contains(next));
    match next {
        None if sequence.cycle && sequence.increment > 0 => Some(sequence.minimum),
        None if sequence.cycle => Some(sequence.maximum),
        next => next,
    }
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

/// The smallest and the largest value of a type.
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
