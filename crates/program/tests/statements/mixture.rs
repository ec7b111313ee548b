//! Rules inside other rules, chosen by a seed.

use super::{Numbers, Statement};

/// What a value can stand in, and be a value.
const VALUES: &[(&str, &str)] = &[
    ("(", ")"),
    ("- ", ""),
    ("~", ""),
    ("1 + ", ""),
    ("", " - 1"),
    ("", " * 2"),
    ("7 % ", ""),
    ("1 | ", ""),
    ("(SELECT ", ")"),
    ("(SELECT MAX(a) FROM t WHERE b < ", ")"),
    ("(SELECT TOP 1 a FROM t WHERE id <> ", " ORDER BY b)"),
    ("ABS(", ")"),
    ("CAST(", " AS int)"),
    ("TRY_CONVERT(int, ", ")"),
    ("ISNULL(", ", 0)"),
    ("ISNULL(0, ", ")"),
    ("NULLIF(", ", 7)"),
    ("COALESCE(NULL, ", ", 1)"),
    ("IIF(1 = 1, ", ", 0)"),
    ("CHOOSE(1, ", ", 3)"),
    ("CASE WHEN 1 = 1 THEN ", " END"),
    ("CASE ", " WHEN 1 THEN 2 ELSE 3 END"),
    ("CASE WHEN 1 = 0 THEN 1 ELSE ", " END"),
    ("LEN('x' + CAST(", " AS varchar(30)))"),
    ("{fn ABS(", ")}"),
];

/// What a value makes a condition in.
const CONDITIONS: &[(&str, &str)] = &[
    ("", " = 1"),
    ("1 <> ", ""),
    ("", " IS NOT NULL"),
    ("", " IN (1, 2, 3)"),
    ("1 NOT IN (4, ", ")"),
    ("", " BETWEEN 0 AND 9"),
    ("5 BETWEEN 0 AND ", ""),
    ("EXISTS (SELECT 1 FROM t WHERE a = ", ")"),
    ("1 IN (SELECT a FROM t WHERE b > ", ")"),
    ("1 >= ALL (SELECT ", ")"),
    ("'x' LIKE CAST(", " AS varchar(30))"),
];

/// What a condition can stand in, and be a condition.
const LOGIC: &[(&str, &str)] =
    &[("NOT ", ""), ("(", ")"), ("1 = 1 AND ", ""), ("", " OR 1 = 0"), ("(", " AND 2 = 2)")];

/// What a query can stand in, and be a query.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT a FROM (", ") AS d (a)"),
    ("SELECT a FROM (SELECT 1 AS a UNION ALL ", ") AS d"),
    ("SELECT TOP 5 a FROM (", ") AS d (a) ORDER BY a"),
    ("SELECT DISTINCT a FROM (", ") AS d (a)"),
    ("SELECT COUNT(*) AS a FROM (", ") AS d (a)"),
    ("SELECT a FROM (", ") AS d (a) GROUP BY a"),
    ("SELECT ROW_NUMBER() OVER (ORDER BY a) AS a FROM (", ") AS d (a)"),
    ("SELECT t.a FROM t JOIN (", ") AS d (a) ON t.a = d.a"),
    ("SELECT t.a FROM t LEFT JOIN (", ") AS d (a) ON t.a < d.a"),
    ("SELECT t.a FROM t CROSS APPLY (", ") AS d (a)"),
    ("SELECT a FROM t WHERE a IN (", ")"),
    ("SELECT a FROM t WHERE EXISTS (", ")"),
    ("SELECT 1 AS a UNION ", ""),
    ("SELECT 1 AS a EXCEPT ", ""),
    ("SELECT 1 AS a INTERSECT ", ""),
];

/// Where a query can stand.
const STATEMENTS: &[(&str, &str)] = &[
    ("", ""),
    ("WITH c (a) AS (", ") SELECT a FROM c"),
    ("INSERT u (id) ", ""),
    ("UPDATE u SET a = (SELECT MAX(a) FROM (", ") AS q (a))"),
    ("DELETE u WHERE a IN (", ")"),
    ("MERGE u USING (", ") AS q (a) ON u.id = q.a WHEN MATCHED THEN DELETE;"),
    ("IF EXISTS (", ") PRINT 'yes' ELSE PRINT 'no'"),
    ("DECLARE @v int = (SELECT MAX(a) FROM (", ") AS q (a)) SELECT @v"),
    ("BEGIN TRY ", " END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"),
];

/// So many statements, each of up to `levels` rules.
pub fn mixtures(seed: u64, count: usize, levels: usize) -> Vec<Statement> {
    (0..count as u64).map(|index| mixture(seed.wrapping_add(index), levels)).collect()
}

fn mixture(seed: u64, levels: usize) -> Statement {
    let mut numbers = Numbers(seed);
    let mut left = 1 + numbers.below(levels);
    let mut text =
        (*numbers.pick(&["1", "NULL", "'x'", "2.5", "0xFF", "$1", "GETDATE()", "@@SPID"])).to_string();
    let inside = |text: String, choices: &[(&str, &str)], numbers: &mut Numbers| {
        let (before, after) = numbers.pick(choices);
        format!("{before}{text}{after}")
    };
    let values = numbers.below(left + 1);
    for _ in 0..values {
        text = inside(text, VALUES, &mut numbers);
    }
    left -= values.min(left);
    text = inside(text, CONDITIONS, &mut numbers);
    let conditions = numbers.below(left + 1);
    for _ in 0..conditions {
        text = inside(text, LOGIC, &mut numbers);
    }
    left -= conditions.min(left);
    text = format!("SELECT CASE WHEN {text} THEN 1 ELSE 0 END");
    for _ in 0..left.min(12) {
        text = inside(text, QUERIES, &mut numbers);
    }
    text = inside(text, STATEMENTS, &mut numbers);
    Statement { name: format!("mixture {seed}, up to {levels} levels"), text }
}
