//! Expressions of SSIS as T-SQL, and as texts with variables in them.

use crate::dtsx::expression::{Cast, Expression};

/// Translates the names of an expression.
pub trait Names {
    /// Returns a column as T-SQL.
    fn column(&self, name: &str) -> Option<String>;
    /// Returns the present name of a package's variable.
    fn variable(&self, name: &str) -> Option<String>;
}

/// Units of dates, as SSIS and T-SQL spell them.
const DATE_PARTS: [(&str, &[&str]); 10] = [
    ("year", &["year", "yyyy", "yy"]),
    ("quarter", &["quarter", "qq", "q"]),
    ("month", &["month", "mm", "m"]),
    ("dayofyear", &["dayofyear", "dy", "y"]),
    ("day", &["day", "dd", "d"]),
    ("week", &["week", "wk", "ww"]),
    ("weekday", &["weekday", "dw", "w"]),
    ("hour", &["hour", "hh"]),
    ("minute", &["minute", "mi", "n"]),
    ("second", &["second", "ss", "s"]),
];
/// Functions with the same name, arguments and meaning.
const SAME: [&str; 26] = [
    "UPPER",
    "LOWER",
    "TRIM",
    "LTRIM",
    "RTRIM",
    "LEN",
    "SUBSTRING",
    "LEFT",
    "RIGHT",
    "REPLACE",
    "REPLICATE",
    "REVERSE",
    "ABS",
    "CEILING",
    "FLOOR",
    "ROUND",
    "SIGN",
    "SQUARE",
    "SQRT",
    "EXP",
    "POWER",
    "DAY",
    "MONTH",
    "YEAR",
    "GETDATE",
    "GETUTCDATE",
];

/// Translates an expression to a value of T-SQL.
///
/// # Errors
/// What has no translation.
pub fn value(expression: &Expression, names: &dyn Names) -> Result<String, String> {
    Ok(match expression {
        Expression::Number(number) => number.clone(),
        Expression::Text(text) => format!("N'{}'", text.replace('\'', "''")),
        Expression::Boolean(boolean) => format!("CAST({} AS bit)", i32::from(*boolean)),
        Expression::Null(cast) => format!("CAST(NULL AS {})", sql_type(cast)?),
        Expression::Column(name) => {
            names.column(name).ok_or_else(|| format!("the column {name} is not known"))?
        }
        Expression::Variable(name) => {
            let name =
                names.variable(name).ok_or_else(|| format!("the variable {name} has no counterpart"))?;
            format!("${{{name}:literal}}")
        }
        Expression::Cast(cast, inner) => {
            let sql_type = sql_type(cast)?;
            format!("CAST({} AS {sql_type})", value(inner, names)?)
        }
        Expression::Unary('!', _) => as_bit(&predicate(expression, names)?),
        // Two dashes would begin a comment, and a variable may be negative.
        Expression::Unary(operator, inner) => match **inner {
            Expression::Variable(_) | Expression::Unary(..) => {
                format!("{operator}({})", value(inner, names)?)
            }
            _ => format!("{operator}{}", operand(inner, names)?),
        },
        Expression::Binary("==" | "!=" | "<" | "<=" | ">" | ">=" | "&&" | "||", ..) => {
            as_bit(&predicate(expression, names)?)
        }
        Expression::Binary(operator, left, right) => {
            format!("{} {operator} {}", operand(left, names)?, operand(right, names)?)
        }
        Expression::Conditional(condition, yes, no) => format!(
            "CASE WHEN {} THEN {} ELSE {} END",
            predicate(condition, names)?,
            value(yes, names)?,
            value(no, names)?
        ),
        Expression::Call(name, arguments) => call(name, arguments, names)?,
    })
}

/// Translates an expression to a search condition of T-SQL.
///
/// # Errors
/// What has no translation.
pub fn predicate(expression: &Expression, names: &dyn Names) -> Result<String, String> {
    Ok(match expression {
        Expression::Boolean(boolean) => format!("1 = {}", i32::from(*boolean)),
        Expression::Unary('!', inner) => format!("NOT ({})", predicate(inner, names)?),
        Expression::Binary(operator @ ("&&" | "||"), left, right) => {
            let word = if *operator == "&&" { "AND" } else { "OR" };
            format!("({} {word} {})", predicate(left, names)?, predicate(right, names)?)
        }
        Expression::Binary(operator @ ("==" | "!=" | "<" | "<=" | ">" | ">="), left, right) => {
            let symbol = match *operator {
                "==" => "=",
                "!=" => "<>",
                other => other,
            };
            format!("{} {symbol} {}", operand(left, names)?, operand(right, names)?)
        }
        Expression::Call(name, arguments) if name == "ISNULL" => match arguments.as_slice() {
            [only] => format!("{} IS NULL", operand(only, names)?),
            _ => return Err("ISNULL takes one argument".to_owned()),
        },
        Expression::Conditional(condition, yes, no) => {
            let condition = predicate(condition, names)?;
            let (yes, no) = (predicate(yes, names)?, predicate(no, names)?);
            format!("CASE WHEN {condition} THEN {} ELSE {} END = 1", as_bit(&yes), as_bit(&no))
        }
        other => format!("{} = 1", operand(other, names)?),
    })
}

fn as_bit(predicate: &str) -> String {
    format!("CAST(CASE WHEN {predicate} THEN 1 ELSE 0 END AS bit)")
}

/// Translates a value that may stand beside an operator.
fn operand(expression: &Expression, names: &dyn Names) -> Result<String, String> {
    let text = value(expression, names)?;
    Ok(match expression {
        Expression::Binary("+" | "-" | "*" | "/" | "%" | "&" | "|" | "^", ..) => format!("({text})"),
        _ => text,
    })
}

fn call(name: &str, arguments: &[Expression], names: &dyn Names) -> Result<String, String> {
    let all = |arguments: &[Expression]| -> Result<String, String> {
        let values: Result<Vec<String>, String> =
            arguments.iter().map(|argument| value(argument, names)).collect();
        Ok(values?.join(", "))
    };
    let part = |argument: &Expression| match argument {
        Expression::Text(text) => DATE_PARTS
            .iter()
            .find(|(_, known)| known.contains(&text.to_ascii_lowercase().as_str()))
            .map(|(part, _)| *part)
            .ok_or_else(|| format!("{text:?} is no part of a date")),
        _ => Err("a part of a date is a text".to_owned()),
    };
    Ok(match (name, arguments) {
        ("ISNULL", _) => as_bit(&predicate(&Expression::Call(name.to_owned(), arguments.to_vec()), names)?),
        ("REPLACENULL", [_, _]) => format!("COALESCE({})", all(arguments)?),
        ("LN", [only]) => format!("LOG({})", value(only, names)?),
        ("LOG", [only]) => format!("LOG10({})", value(only, names)?),
        ("CODEPOINT", [only]) => format!("UNICODE({})", value(only, names)?),
        ("FINDSTRING", [text, sought, Expression::Number(occurrence)]) if occurrence == "1" => {
            format!("CHARINDEX({}, {})", value(sought, names)?, value(text, names)?)
        }
        ("DATEADD" | "DATEDIFF", [unit, first, second]) => {
            format!("{name}({}, {}, {})", part(unit)?, value(first, names)?, value(second, names)?)
        }
        ("DATEPART", [unit, of]) => format!("DATEPART({}, {})", part(unit)?, value(of, names)?),
        _ if SAME.contains(&name) => format!("{name}({})", all(arguments)?),
        _ => {
            return Err(format!("the function {name} with {} arguments has no counterpart", arguments.len()));
        }
    })
}

/// Translates a type of the data flow to one of T-SQL.
///
/// # Errors
/// There is none.
pub fn sql_type(cast: &Cast) -> Result<String, String> {
    let name = cast.name.strip_prefix("DT_").unwrap_or(&cast.name);
    let number = |index: usize| cast.numbers.get(index).copied();
    let sized = |name: &str, most: u32| match number(0) {
        Some(length) if (1..=most).contains(&length) => format!("{name}({length})"),
        _ => format!("{name}(max)"),
    };
    let scaled = |name: &str| format!("{name}({})", number(0).unwrap_or(7).min(7));
    Ok(match name {
        "UI1" => "tinyint".to_owned(),
        "I1" | "I2" => "smallint".to_owned(),
        "I4" | "UI2" => "int".to_owned(),
        "I8" | "UI4" => "bigint".to_owned(),
        "UI8" => "decimal(20, 0)".to_owned(),
        "R4" => "real".to_owned(),
        "R8" => "float".to_owned(),
        "CY" => "money".to_owned(),
        "BOOL" => "bit".to_owned(),
        "STR" => sized("varchar", 8000),
        "WSTR" => sized("nvarchar", 4000),
        "TEXT" => "varchar(max)".to_owned(),
        "NTEXT" => "nvarchar(max)".to_owned(),
        "BYTES" => sized("varbinary", 8000),
        "IMAGE" => "varbinary(max)".to_owned(),
        "NUMERIC" => {
            format!("decimal({}, {})", number(0).unwrap_or(18).clamp(1, 38), number(1).unwrap_or(0).min(38))
        }
        "DECIMAL" => format!("decimal(29, {})", number(0).unwrap_or(0).min(28)),
        "DBDATE" => "date".to_owned(),
        "DATE" | "DBTIMESTAMP" | "FILETIME" => "datetime".to_owned(),
        "DBTIME" => "time(0)".to_owned(),
        "DBTIME2" => scaled("time"),
        "DBTIMESTAMP2" => scaled("datetime2"),
        "DBTIMESTAMPOFFSET" => scaled("datetimeoffset"),
        "GUID" => "uniqueidentifier".to_owned(),
        other => return Err(format!("the type DT_{other} has no counterpart")),
    })
}

/// Translates a text made of texts and variables to a template; `None` if it is more than that.
pub fn template(expression: &Expression, names: &dyn Names) -> Option<String> {
    match expression {
        Expression::Text(text) => Some(text.replace("${", "$${")),
        Expression::Number(number) => Some(number.clone()),
        Expression::Variable(name) => Some(format!("${{{}}}", names.variable(name)?)),
        Expression::Cast(cast, inner) if matches!(cast.name.as_str(), "DT_WSTR" | "DT_STR") => {
            template(inner, names)
        }
        Expression::Binary("+", left, right) => Some(template(left, names)? + &template(right, names)?),
        _ => None,
    }
}

/// Translates a condition of a task; `None` if it is more than comparisons of variables.
pub fn condition(expression: &Expression, names: &dyn Names) -> Option<String> {
    let operand = |expression: &Expression| match expression {
        Expression::Variable(name) => Some(format!("${{{}}}", names.variable(name)?)),
        Expression::Number(number) => Some(number.clone()),
        Expression::Boolean(boolean) => Some(boolean.to_string()),
        Expression::Text(text) if !text.contains('\'') => Some(format!("'{text}'")),
        Expression::Unary('-', inner) => match &**inner {
            Expression::Number(number) => Some(format!("-{number}")),
            _ => None,
        },
        _ => None,
    };
    Some(match expression {
        Expression::Binary("&&", left, right) => {
            format!("({} and {})", condition(left, names)?, condition(right, names)?)
        }
        Expression::Binary("||", left, right) => {
            format!("({} or {})", condition(left, names)?, condition(right, names)?)
        }
        Expression::Unary('!', inner) => format!("not ({})", condition(inner, names)?),
        Expression::Binary(operator @ ("==" | "!=" | "<" | "<=" | ">" | ">="), left, right) => {
            let symbol = match *operator {
                "==" => "=",
                "!=" => "<>",
                other => other,
            };
            format!("{} {symbol} {}", operand(left)?, operand(right)?)
        }
        other => operand(other)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Names, condition, predicate, template, value};
    use crate::dtsx::expression::parse;

    struct All;

    impl Names for All {
        fn column(&self, name: &str) -> Option<String> {
            (name != "missing").then(|| format!("[{name}]"))
        }
        fn variable(&self, name: &str) -> Option<String> {
            Some(name.rsplit("::").next().unwrap_or(name).to_ascii_lowercase())
        }
    }

    #[test]
    fn values_become_t_sql() {
        for (text, expected) in [
            ("UPPER(TRIM([Name]))", "UPPER(TRIM([Name]))"),
            ("(DT_WSTR,10)Id + \"-\" + Code", "(CAST([Id] AS nvarchar(10)) + N'-') + [Code]"),
            ("ISNULL(a) ? 0 : a * 2 + 1", "CASE WHEN [a] IS NULL THEN 0 ELSE ([a] * 2) + 1 END"),
            ("REPLACENULL(a, \"it's\")", "COALESCE([a], N'it''s')"),
            ("(DT_NUMERIC, 9, 2) x", "CAST([x] AS decimal(9, 2))"),
            ("DATEADD(\"dd\", -1, GETDATE())", "DATEADD(day, -1, GETDATE())"),
            ("FINDSTRING(a, \"x\", 1)", "CHARINDEX(N'x', [a])"),
            ("NULL(DT_I4)", "CAST(NULL AS int)"),
            ("-@[User::Days] - -a", "-(${days:literal}) - -[a]"),
            ("a == 1 && !(b > 2)", "CAST(CASE WHEN ([a] = 1 AND NOT ([b] > 2)) THEN 1 ELSE 0 END AS bit)"),
            ("[Source].[Col umn]", "[Col umn]"),
            ("[YEAR]((DT_DBTIMESTAMP)#{a}) + [Code]", "YEAR(CAST([a] AS datetime)) + [Code]"),
            ("@[User::Day]", "${day:literal}"),
            ("1.5e3L", "1.5e3"),
            ("\"\\\"\\x00e9\\n\"", "N'\"\u{e9}\n'"),
        ] {
            assert_eq!(value(&parse(text).unwrap(), &All).unwrap(), expected, "{text}");
        }
        assert_eq!(predicate(&parse("a").unwrap(), &All).unwrap(), "[a] = 1");
        for text in ["TOKEN(a, \",\", 1)", "missing", "(DT_X)a", "DATEPART(\"moon\", a)"] {
            assert!(value(&parse(text).unwrap(), &All).is_err(), "{text}");
        }
        for text in ["", "a +", "(a", "\"a", "a b", "DT_I4)", "@[x"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["(".repeat(100_000), "-".repeat(100_000), "1+".repeat(100_000), "a?b:".repeat(100_000)] {
            assert!(parse(&text).is_err());
        }
    }

    #[test]
    fn texts_and_conditions_keep_their_variables() {
        let text = parse("@[User::Folder] + \"\\\\in_\" + (DT_WSTR, 8) @[User::Day] + \".csv\"").unwrap();
        assert_eq!(template(&text, &All).unwrap(), "${folder}\\in_${day}.csv");
        let text = parse("@[User::N] > 0 && @[User::S] == \"a\"").unwrap();
        assert_eq!(condition(&text, &All).unwrap(), "(${n} > 0 and ${s} = 'a')");
        assert_eq!(condition(&parse("LEN(@[User::S]) > 0").unwrap(), &All), None);
    }
}
