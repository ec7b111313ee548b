//! The definitions of defaults, checks and computed columns as SQL Server spells them in its catalogue: in
//! parentheses, names in brackets, numbers in parentheses of their own, no needless blanks.

use tsql::ObjectName;
use tsql::expression::{BinaryOperator, Comparison, Expr, Literal, UnaryOperator};
use tsql::parse_expression;

/// Shortens an expression as SQL Server stores it: `price > 0` becomes `([price]>(0))`. A text with something
/// that has no short form here (a query, say) is kept as it was written.
pub fn definition_text(text: &str) -> String {
    let written = || format!("({text})");
    let Ok(expr) = parse_expression(text) else { return written() };
    spelled(&expr).map_or_else(written, |spelled| format!("({spelled})"))
}

fn spelled(expr: &Expr) -> Option<String> {
    Some(match expr {
        Expr::Literal(literal) => self::literal(literal),
        Expr::Column(parts) => {
            parts.iter().map(|part| format!("[{}]", part.replace(']', "]]"))).collect::<Vec<_>>().join(".")
        }
        Expr::Variable(name) => name.clone(),
        Expr::Unary(operator, value) => match (operator, value.as_ref()) {
            (UnaryOperator::Minus, Expr::Literal(Literal::Integer(digits) | Literal::Decimal(digits))) => {
                format!("(-{digits})")
            }
            (UnaryOperator::Minus, value) => format!("-{}", spelled(value)?),
            (UnaryOperator::Plus, value) => spelled(value)?,
            (UnaryOperator::BitNot, value) => format!("~{}", spelled(value)?),
        },
        Expr::Binary(left, operator, right) => {
            let sign = match operator {
                BinaryOperator::Add => "+",
                BinaryOperator::Subtract => "-",
                BinaryOperator::Multiply => "*",
                BinaryOperator::Divide => "/",
                BinaryOperator::Modulo => "%",
                BinaryOperator::BitAnd => "&",
                BinaryOperator::BitOr => "|",
                BinaryOperator::BitXor => "^",
                BinaryOperator::Concatenate => "||",
            };
            format!("{}{sign}{}", operand(left, *operator, false)?, operand(right, *operator, true)?)
        }
        Expr::Compare(left, comparison, right) => {
            format!("{}{}{}", spelled(left)?, sign(*comparison), spelled(right)?)
        }
        Expr::And(left, right) => format!("{} AND {}", within(left)?, within(right)?),
        Expr::Or(left, right) => format!("{} OR {}", spelled(left)?, spelled(right)?),
        Expr::Not(inner) => format!("NOT {}", within(inner)?),
        Expr::IsNull(value, false) => format!("{} IS NULL", spelled(value)?),
        Expr::IsNull(value, true) => format!("{} IS NOT NULL", spelled(value)?),
        Expr::Between { value, low, high, negated: false } => {
            let value = spelled(value)?;
            format!("{value}>={} AND {value}<={}", spelled(low)?, spelled(high)?)
        }
        Expr::InList { value, list, negated: false } => {
            let value = spelled(value)?;
            // SQL Server lists the choices from the last to the first.
            let choices: Option<Vec<String>> =
                list.iter().rev().map(|item| Some(format!("{value}={}", spelled(item)?))).collect();
            choices?.join(" OR ")
        }
        Expr::Like { value, pattern, escape: None, negated } => {
            let not = if *negated { "NOT " } else { "" };
            format!("{not}{} like {}", spelled(value)?, spelled(pattern)?)
        }
        Expr::Cast { value, sql_type, bare, style, lenient: false } => {
            let text = sql_type.to_string();
            let sql_type = match text.split_once('(') {
                Some((name, _)) if *bare => format!("[{name}]"),
                Some((name, rest)) => format!("[{name}]({}", rest.replace(' ', "")),
                None => format!("[{text}]"),
            };
            let style = match style {
                Some(style) => format!(",{}", spelled(style)?),
                None => String::new(),
            };
            format!("CONVERT({sql_type},{}{style})", spelled(value)?)
        }
        Expr::Function(call) if call.over.is_none() && call.within_group.is_empty() && !call.star => {
            let arguments: Option<Vec<String>> = call.arguments.iter().map(spelled).collect();
            format!("{}({})", call.name.to_ascii_lowercase(), arguments?.join(","))
        }
        Expr::Case { operand, branches, otherwise } => {
            let mut text = String::from("case");
            if let Some(operand) = operand {
                text.push_str(&format!(" {}", spelled(operand)?));
            }
            for (when, then) in branches {
                text.push_str(&format!(" when {} then {}", spelled(when)?, spelled(then)?));
            }
            if let Some(otherwise) = otherwise {
                text.push_str(&format!(" else {}", spelled(otherwise)?));
            }
            text + " end"
        }
        Expr::NextValue(name) => format!("NEXT VALUE FOR {}", bracketed(name)),
        _ => return None,
    })
}

fn bracketed(name: &ObjectName) -> String {
    let parts = [name.database.as_deref(), name.schema.as_deref(), Some(name.name.as_str())];
    let parts = parts.into_iter().flatten().map(|part| format!("[{}]", part.replace(']', "]]")));
    parts.collect::<Vec<_>>().join(".")
}

fn within(expr: &Expr) -> Option<String> {
    let text = spelled(expr)?;
    Some(if matches!(expr, Expr::Or(..) | Expr::InList { .. }) { format!("({text})") } else { text })
}

fn rank(operator: BinaryOperator) -> u8 {
    match operator {
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => 2,
        _ => 1,
    }
}

fn operand(expr: &Expr, of: BinaryOperator, right: bool) -> Option<String> {
    let text = spelled(expr)?;
    Some(match expr {
        Expr::Binary(_, inner, _) if rank(*inner) < rank(of) || (right && rank(*inner) == rank(of)) => {
            format!("({text})")
        }
        _ => text,
    })
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Distinct => " IS DISTINCT FROM ",
        Comparison::NotDistinct => " IS NOT DISTINCT FROM ",
    }
}

fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_string(),
        Literal::Integer(digits) | Literal::Decimal(digits) | Literal::Float(digits) => format!("({digits})"),
        Literal::Money(digits) => format!("(${digits})"),
        Literal::Text { value, unicode } => {
            format!("{}'{}'", if *unicode { "N" } else { "" }, value.replace('\'', "''"))
        }
        Literal::Binary(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{digits}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_spelled_as_in_the_catalogue() {
        for (written, kept) in [
            ("1", "((1))"),
            ("(1.5)", "((1.5))"),
            ("-1", "((-1))"),
            ("'x'", "('x')"),
            ("N'it''s'", "(N'it''s')"),
            ("NULL", "(NULL)"),
            ("GETDATE()", "(getdate())"),
            ("(newid())", "(newid())"),
            ("price > 0", "([price]>(0))"),
            ("a + b * 2", "([a]+[b]*(2))"),
            ("(a + b) * 2", "(([a]+[b])*(2))"),
            ("a >= 1 AND (b < 2 OR c IS NULL)", "([a]>=(1) AND ([b]<(2) OR [c] IS NULL))"),
            ("a BETWEEN 1 AND 9", "([a]>=(1) AND [a]<=(9))"),
            ("s IN ('F', 'M')", "([s]='M' OR [s]='F')"),
            ("CAST(a AS decimal(10, 2))", "(CONVERT([decimal](10,2),[a]))"),
            ("(NEXT VALUE FOR dbo.numbers)", "(NEXT VALUE FOR [dbo].[numbers])"),
            ("code LIKE 'A%'", "([code] like 'A%')"),
        ] {
            assert_eq!(definition_text(written), kept, "{written}");
        }
    }
}
