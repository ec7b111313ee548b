//! The numbers of partitions that SWITCH and TRUNCATE TABLE name.

use query::Datum;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{AlterAction, StatementKind};
use tsql::expression::{Expr, Literal};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::evaluation::evaluate;

/// The partitions that a statement names, computed before it begins.
#[derive(Debug, Default)]
pub(super) struct PartitionNumbers {
    /// The partition whose rows SWITCH takes.
    pub from: Option<i64>,
    /// The partition that gets them.
    pub to: Option<i64>,
    /// The spans of TRUNCATE TABLE, each with its first and last number.
    pub spans: Vec<(i64, i64)>,
}

impl PartitionNumbers {
    /// Evaluates the partition numbers of a statement. Errors: 4957 for one that is no whole number.
    pub async fn of(
        session: &mut Session,
        statement: &StatementKind,
        frame: &Frame,
    ) -> Result<PartitionNumbers, SqlError> {
        let mut numbers = PartitionNumbers::default();
        match statement {
            StatementKind::AlterTable { table, action: AlterAction::SwitchRows(switch), .. } => {
                for (expr, number) in [(&switch.from, &mut numbers.from), (&switch.to, &mut numbers.to)] {
                    if let Some(expr) = expr {
                        *number = Some(evaluated(session, expr, "ALTER TABLE SWITCH", table, frame).await?);
                    }
                }
            }
            StatementKind::TruncateTable { table, partitions } => {
                for span in partitions {
                    let from = evaluated(session, &span.from, "TRUNCATE TABLE", table, frame).await?;
                    let to = match &span.to {
                        Some(to) => evaluated(session, to, "TRUNCATE TABLE", table, frame).await?,
                        None => from,
                    };
                    numbers.spans.push((from, to));
                }
            }
            _ => {}
        }
        Ok(numbers)
    }
}

async fn evaluated(
    session: &mut Session,
    expr: &Expr,
    statement: &str,
    table: &ObjectName,
    frame: &Frame,
) -> Result<i64, SqlError> {
    // A list may be long, and nearly always is of plain numbers.
    if let Expr::Literal(Literal::Integer(digits)) = expr
        && let Ok(number) = digits.parse()
    {
        return Ok(number);
    }
    match evaluate::value(session, expr, frame).await? {
        (Datum::Int(number), _) => Ok(number),
        _ => {
            let text = format!(
                "'{statement}' statement failed because the expression identifying partition number for the table '{table}' is not of integer type."
            );
            Err(SqlError::new(4957, 16, 3, text))
        }
    }
}
