//! Expressions and conditions of T-SQL, as written.

use tds::SqlType;

use super::names::ObjectName;
use super::query::{OrderItem, Query};

/// The variable name that stands for DEFAULT among arguments. It has no `@`, so no variable of T-SQL has this name.
pub const DEFAULT_ARGUMENT: &str = "DEFAULT";

/// An expression or a condition (T-SQL keeps them apart; the binder checks it).
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// `a`, `t.a`, `s.t.a`: the parts in order.
    Column(Vec<String>),
    /// `@v` or `@@name`, with its signs.
    Variable(String),
    /// `-e`, `+e`, `~e`.
    Unary(UnaryOperator, Box<Expr>),
    /// Arithmetic, concatenation, bits.
    Binary(Box<Expr>, BinaryOperator, Box<Expr>),
    /// A comparison.
    Compare(Box<Expr>, Comparison, Box<Expr>),
    /// AND.
    And(Box<Expr>, Box<Expr>),
    /// OR.
    Or(Box<Expr>, Box<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`.
    IsNull(Box<Expr>, bool),
    /// `[NOT] BETWEEN`.
    Between {
        /// Tested.
        value: Box<Expr>,
        /// From.
        low: Box<Expr>,
        /// To.
        high: Box<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `[NOT] IN (list)`.
    InList {
        /// Tested.
        value: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `[NOT] IN (query)`.
    InQuery {
        /// Tested.
        value: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// NOT.
        negated: bool,
    },
    /// `[NOT] LIKE`.
    Like {
        /// Tested.
        value: Box<Expr>,
        /// Pattern.
        pattern: Box<Expr>,
        /// ESCAPE.
        escape: Option<Box<Expr>>,
        /// NOT.
        negated: bool,
    },
    /// EXISTS (query).
    Exists(Box<Query>),
    /// (query) as a value.
    Subquery(Box<Query>),
    /// `e = ANY (query)`, `e > ALL (query)`.
    Quantified {
        /// Left side.
        value: Box<Expr>,
        /// Comparison.
        comparison: Comparison,
        /// ALL rather than ANY.
        all: bool,
        /// The query.
        query: Box<Query>,
    },
    /// CASE.
    Case {
        /// Operand of a simple CASE.
        operand: Option<Box<Expr>>,
        /// WHEN and THEN.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// CAST, TRY_CAST, CONVERT, TRY_CONVERT.
    Cast {
        /// The value.
        value: Box<Expr>,
        /// Target type.
        sql_type: SqlType,
        /// The type was written without its size, precision or scale.
        bare: bool,
        /// Style of CONVERT.
        style: Option<Box<Expr>>,
        /// TRY_: NULL instead of an error.
        lenient: bool,
    },
    /// A function call.
    Function(Box<FunctionCall>),
    /// e COLLATE name.
    Collate(Box<Expr>, String),
    /// NEXT VALUE FOR sequence.
    NextValue(ObjectName),
}

/// A call, with everything that aggregates and windows add.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// Name, upper case, without a schema.
    pub name: String,
    /// The database before the schema.
    pub database: Option<String>,
    /// The schema before the name, for a user-defined function; `$PARTITION` for a partition function.
    pub schema: Option<String>,
    /// Arguments; a bare datepart or type word is a one-part column name.
    pub arguments: Vec<Expr>,
    /// `(*)`.
    pub star: bool,
    /// DISTINCT.
    pub distinct: bool,
    /// OVER (…).
    pub over: Option<Window>,
    /// WITHIN GROUP (ORDER BY …).
    pub within_group: Vec<OrderItem>,
    /// IGNORE NULLS; RESPECT NULLS says what holds without it.
    pub ignores_nulls: bool,
}

/// OVER (…).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// The window of the WINDOW clause that it is or adds to, until the SELECT has been read.
    pub base: Option<String>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS or RANGE.
    pub frame: Option<Frame>,
}

/// The frame of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// ROWS rather than RANGE.
    pub rows: bool,
    /// Start.
    pub start: FrameBound,
    /// End.
    pub end: FrameBound,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// n PRECEDING.
    Preceding(u64),
    /// CURRENT ROW.
    CurrentRow,
    /// n FOLLOWING.
    Following(u64),
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL.
    Null,
    /// Digits.
    Integer(String),
    /// Digits with a point.
    Decimal(String),
    /// With an exponent.
    Float(String),
    /// After `$`.
    Money(String),
    /// A string, with or without N.
    Text {
        /// Characters.
        value: String,
        /// N prefix.
        unicode: bool,
    },
    /// 0x….
    Binary(Vec<u8>),
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`.
    Minus,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+`, of numbers and of strings.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `||`.
    Concatenate,
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`.
    Equal,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`, `!>=` has no spelling.
    Less,
    /// `<=`, `!>`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`, `!<`.
    GreaterOrEqual,
    /// `IS DISTINCT FROM`: true or false, and NULL is equal to NULL.
    Distinct,
    /// `IS NOT DISTINCT FROM`.
    NotDistinct,
}

impl Expr {
    /// Applies `change` to every part of the expression, inner parts first. Queries inside are left alone.
    pub fn rewrite(self, change: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let mut inner = |expr: Box<Expr>| Box::new(expr.rewrite(change));
        let rewritten = match self {
            Expr::Unary(operator, value) => Expr::Unary(operator, inner(value)),
            Expr::Binary(left, operator, right) => Expr::Binary(inner(left), operator, inner(right)),
            Expr::Compare(left, comparison, right) => Expr::Compare(inner(left), comparison, inner(right)),
            Expr::And(left, right) => Expr::And(inner(left), inner(right)),
            Expr::Or(left, right) => Expr::Or(inner(left), inner(right)),
            Expr::Not(value) => Expr::Not(inner(value)),
            Expr::IsNull(value, negated) => Expr::IsNull(inner(value), negated),
            Expr::Between { value, low, high, negated } => {
                Expr::Between { value: inner(value), low: inner(low), high: inner(high), negated }
            }
            Expr::InList { value, list, negated } => Expr::InList {
                value: inner(value),
                list: list.into_iter().map(|item| *inner(Box::new(item))).collect(),
                negated,
            },
            Expr::InQuery { value, query, negated } => Expr::InQuery { value: inner(value), query, negated },
            Expr::Like { value, pattern, escape, negated } => Expr::Like {
                value: inner(value),
                pattern: inner(pattern),
                escape: escape.map(inner),
                negated,
            },
            Expr::Quantified { value, comparison, all, query } => {
                Expr::Quantified { value: inner(value), comparison, all, query }
            }
            Expr::Case { operand, branches, otherwise } => Expr::Case {
                operand: operand.map(&mut inner),
                branches: branches
                    .into_iter()
                    .map(|(when, then)| (*inner(Box::new(when)), *inner(Box::new(then))))
                    .collect(),
                otherwise: otherwise.map(inner),
            },
            Expr::Cast { value, sql_type, bare, style, lenient } => {
                Expr::Cast { value: inner(value), sql_type, bare, style, lenient }
            }
            Expr::Function(mut call) => {
                call.arguments =
                    call.arguments.into_iter().map(|argument| *inner(Box::new(argument))).collect();
                Expr::Function(call)
            }
            Expr::Collate(value, name) => Expr::Collate(inner(value), name),
            leaf @ (Expr::Literal(_)
            | Expr::Column(_)
            | Expr::Variable(_)
            | Expr::Exists(_)
            | Expr::NextValue(_)
            | Expr::Subquery(_)) => leaf,
        };
        change(rewritten)
    }
}
