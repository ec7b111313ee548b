//! Expressions, by precedence climbing in T-SQL's order: `~` and signs; `* / %`; `+ - & ^ | ||`. Conditions are above them.

use super::name::unknown_server;
use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::expression::{
    BinaryOperator, Comparison, DEFAULT_ARGUMENT, Expr, Frame, FrameBound, FunctionCall, Literal,
    UnaryOperator, Window,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Methods of the CLR types' values; names of the CLR tell cases apart.
const VALUE_METHODS: [&str; 9] = [
    "ToString",
    "GetLevel",
    "GetAncestor",
    "IsDescendantOf",
    "STAsText",
    "AsTextZM",
    "STGeometryType",
    "STIsEmpty",
    "STNumPoints",
];

fn is_value_method(name: &str) -> bool {
    VALUE_METHODS.contains(&name)
}

/// Makes error 40515 for a method of xml.
pub(crate) fn xml_method(name: &str) -> SqlError {
    SqlError::unsupported(&format!("The method {name}() of xml"))
}

impl Parser<'_> {
    pub(crate) fn expressions(&mut self) -> Parsed<Vec<Expr>> {
        let mut list = vec![self.expression()?];
        while self.accept_symbol(",") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// Parses an expression without comparisons.
    pub(crate) fn expression(&mut self) -> Parsed<Expr> {
        let around = std::mem::take(&mut self.height);
        let result = self.level(|parser| {
            let mut left = parser.beside(Self::product)?;
            loop {
                let shift = match parser.kind() {
                    Some(TokenKind::Symbol("<<")) => Some("LEFT_SHIFT"),
                    Some(TokenKind::Symbol(">>")) => Some("RIGHT_SHIFT"),
                    _ => None,
                };
                if let Some(name) = shift {
                    parser.advance();
                    let right = parser.beside(Self::product)?;
                    parser.higher()?;
                    left = function(name, vec![left, right]);
                    continue;
                }
                let operator = match parser.kind() {
                    Some(TokenKind::Symbol("+")) => BinaryOperator::Add,
                    Some(TokenKind::Symbol("-")) => BinaryOperator::Subtract,
                    Some(TokenKind::Symbol("&")) => BinaryOperator::BitAnd,
                    Some(TokenKind::Symbol("|")) => BinaryOperator::BitOr,
                    Some(TokenKind::Symbol("^")) => BinaryOperator::BitXor,
                    Some(TokenKind::Symbol("||")) => BinaryOperator::Concatenate,
                    _ => return Ok(left),
                };
                parser.advance();
                let right = parser.beside(Self::product)?;
                parser.higher()?;
                left = Expr::Binary(Box::new(left), operator, Box::new(right));
            }
        })?;
        self.higher()?;
        self.height = self.height.max(around);
        Ok(result)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.kind() {
                Some(TokenKind::Symbol("*")) => BinaryOperator::Multiply,
                Some(TokenKind::Symbol("/")) => BinaryOperator::Divide,
                Some(TokenKind::Symbol("%")) => BinaryOperator::Modulo,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.unary()?;
            self.higher()?;
            left = Expr::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let operator = match self.kind() {
            Some(TokenKind::Symbol("-")) => UnaryOperator::Minus,
            Some(TokenKind::Symbol("+")) => UnaryOperator::Plus,
            Some(TokenKind::Symbol("~")) => UnaryOperator::BitNot,
            _ => return self.collated(),
        };
        self.advance();
        self.level(|parser| {
            let value = parser.unary()?;
            parser.higher()?;
            Ok(Expr::Unary(operator, Box::new(value)))
        })
    }

    fn collated(&mut self) -> Parsed<Expr> {
        let mut value = self.primary()?;
        // Methods and properties of CLR types: `@g.STAsText()`, `geometry::Point(1, 2, 0).STX`.
        while self.is_symbol(".") && matches!(self.kind_ahead(1), Some(TokenKind::Word(_))) {
            self.higher()?;
            self.advance();
            value = self.method(value)?;
        }
        loop {
            if self.accept_word(Keyword::Collate) {
                value = Expr::Collate(Box::new(value), self.collation()?);
            } else if self.is_word(Keyword::At)
                && self.is_word_ahead(1, Keyword::Time)
                && self.is_word_ahead(2, Keyword::Zone)
            {
                self.at += 3;
                let zone = self.primary()?;
                value = Expr::Function(Box::new(FunctionCall {
                    name: "AT TIME ZONE".to_string(),
                    database: None,
                    schema: None,
                    arguments: vec![value, zone],
                    star: false,
                    distinct: false,
                    over: None,
                    within_group: Vec::new(),
                    ignores_nulls: false,
                }));
            } else {
                return Ok(value);
            }
            self.higher()?;
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let literal = match self.kind() {
            None => return Err(self.unexpected()),
            Some(TokenKind::Word(_)) if self.is_word(Keyword::Null) => Literal::Null,
            Some(TokenKind::Word(_)) => return self.word_primary(),
            Some(TokenKind::Quoted(_)) => return self.name_or_call(),
            Some(kind) => match kind.clone() {
                TokenKind::Integer(digits) => Literal::Integer(digits),
                TokenKind::Decimal(digits) => Literal::Decimal(digits),
                TokenKind::Float(digits) => Literal::Float(digits),
                TokenKind::Money(digits) => Literal::Money(digits),
                TokenKind::Binary(bytes) => Literal::Binary(bytes),
                TokenKind::Text { value, unicode } => Literal::Text { value, unicode },
                TokenKind::Variable(name) => {
                    self.advance();
                    return Ok(Expr::Variable(name));
                }
                TokenKind::Symbol("(") => return self.parenthesised(),
                TokenKind::Symbol("{") => return self.odbc_escape(),
                TokenKind::Symbol(".") => return self.name_or_call(),
                TokenKind::Symbol(_) => return Err(self.unexpected()),
                // They are names, which the first match has.
                TokenKind::Word(_) | TokenKind::Quoted(_) => return self.name_or_call(),
            },
        };
        self.advance();
        Ok(Expr::Literal(literal))
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        if self.at_query() && self.is_word_ahead(1, Keyword::Select) {
            self.advance();
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        self.advance();
        let inner = self.condition()?;
        self.expect_symbol(")")?;
        Ok(inner)
    }

    fn word_primary(&mut self) -> Parsed<Expr> {
        let call = self.is_symbol_ahead(1, "(");
        for name in ["PARSE", "TRY_PARSE"] {
            if call && self.is_bare_ahead(0, name) {
                return self.parse_as(name);
            }
        }
        if call && self.is_bare_ahead(0, "REGEXP_LIKE") {
            // A condition, and no value.
            let one = Expr::Literal(Literal::Integer("1".to_owned()));
            let asked = self.name_or_call()?;
            return Ok(Expr::Compare(Box::new(asked), Comparison::Equal, Box::new(one)));
        }
        if call && self.accept_bare("AI_GENERATE_EMBEDDINGS") {
            self.refused_clause("embeddings", "AI_GENERATE_EMBEDDINGS")?;
            return Ok(refused_value());
        }
        let Some(keyword) = self.keyword_ahead(0) else { return self.name_or_call() };
        match keyword {
            Keyword::Case => self.case(),
            Keyword::Update if call => {
                self.at += 2;
                let value = self.name()?;
                self.expect_symbol(")")?;
                let column = Expr::Literal(Literal::Text { value, unicode: true });
                let one = Expr::Literal(Literal::Integer("1".to_string()));
                let asked = function("UPDATE", vec![column]);
                Ok(Expr::Compare(Box::new(asked), Comparison::Equal, Box::new(one)))
            }
            Keyword::Trim if call => self.trim(),
            Keyword::JsonObject | Keyword::JsonArray if call => self.json_constructor(keyword.text()),
            Keyword::JsonObjectagg | Keyword::JsonArrayagg if call => self.json_aggregate(keyword),
            Keyword::Cast | Keyword::TryCast if call => self.cast(keyword == Keyword::TryCast),
            Keyword::Convert | Keyword::TryConvert if call => self.convert(keyword == Keyword::TryConvert),
            Keyword::Next if self.is_word_ahead(1, Keyword::Value) && self.is_word_ahead(2, Keyword::For) => {
                self.at += 3;
                let sequence = self.object_name()?;
                if self.accept_word(Keyword::Over) {
                    self.refuse("NEXT VALUE FOR … OVER");
                    self.window()?;
                }
                Ok(Expr::NextValue(sequence))
            }
            // Reserved words that are functions without parentheses.
            Keyword::CurrentTimestamp
            | Keyword::CurrentUser
            | Keyword::SessionUser
            | Keyword::SystemUser
            | Keyword::User
            | Keyword::CurrentDate => {
                self.advance();
                Ok(function(keyword.text(), Vec::new()))
            }
            // Reserved words that are functions with them.
            Keyword::Coalesce | Keyword::Nullif | Keyword::Left | Keyword::Right if call => {
                self.name_or_call()
            }
            Keyword::Identity if call => self.identity_function(),
            Keyword::Identitycol | Keyword::Rowguidcol => self.name_or_call(),
            _ if keyword.is_reserved() => Err(self.unexpected()),
            _ => self.name_or_call(),
        }
    }

    /// Parses `IDENTITY (type [, seed, increment])` of SELECT INTO: the type as that of a constant, and two numbers.
    fn identity_function(&mut self) -> Parsed<Expr> {
        self.advance();
        self.expect_symbol("(")?;
        let sql_type = self.sql_type(TypePlace::Declaration)?;
        let value = Box::new(Expr::Literal(Literal::Integer("0".to_owned())));
        let mut arguments = vec![Expr::Cast { value, sql_type, bare: false, style: None, lenient: false }];
        let one = || Expr::Literal(Literal::Integer("1".to_owned()));
        if self.accept_symbol(",") {
            for last in [false, true] {
                let start = self.start();
                self.signed()?;
                arguments.push(super::parse_expression(&self.text_since(start))?);
                if !last {
                    self.expect_symbol(",")?;
                }
            }
        } else {
            arguments.extend([one(), one()]);
        }
        self.expect_symbol(")")?;
        Ok(function("IDENTITY", arguments))
    }

    fn case(&mut self) -> Parsed<Expr> {
        self.advance();
        let operand = if self.is_word(Keyword::When) { None } else { Some(Box::new(self.expression()?)) };
        let mut branches = Vec::new();
        while self.accept_word(Keyword::When) {
            let when = self.condition()?;
            self.expect_word(Keyword::Then)?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise =
            if self.accept_word(Keyword::Else) { Some(Box::new(self.expression()?)) } else { None };
        self.expect_word(Keyword::End)?;
        Ok(Expr::Case { operand, branches, otherwise })
    }

    /// Parses TRIM ([[LEADING | TRAILING | BOTH] characters FROM] text).
    fn trim(&mut self) -> Parsed<Expr> {
        self.advance();
        self.expect_symbol("(")?;
        let mut name = "TRIM";
        for (word, side) in [
            (Keyword::Leading, "TRIM LEADING"),
            (Keyword::Trailing, "TRIM TRAILING"),
            (Keyword::Both, "TRIM BOTH"),
        ] {
            // A column may have such a name.
            let ends = self.is_symbol_ahead(1, ")") || self.is_symbol_ahead(1, ".");
            if self.is_word(word) && !ends {
                self.advance();
                name = side;
                break;
            }
        }
        let first = self.expression()?;
        let call = if self.accept_word(Keyword::From) {
            let name = if name == "TRIM" { "TRIM BOTH" } else { name };
            function(name, vec![self.expression()?, first])
        } else if name == "TRIM" {
            function(name, vec![first])
        } else {
            return Err(self.unexpected());
        };
        self.expect_symbol(")")?;
        Ok(call)
    }

    /// `PARSE(text AS type [USING culture])`: a call whose second argument is NULL of the type.
    fn parse_as(&mut self, name: &str) -> Parsed<Expr> {
        self.advance();
        self.advance();
        let text = self.expression()?;
        self.expect_word(Keyword::As)?;
        let sql_type = self.sql_type(TypePlace::Cast)?;
        let null = Box::new(Expr::Literal(Literal::Null));
        let mut arguments =
            vec![text, Expr::Cast { value: null, sql_type, bare: false, style: None, lenient: false }];
        if self.accept_word(Keyword::Using) {
            arguments.push(self.expression()?);
        }
        self.expect_symbol(")")?;
        Ok(function(&format!("{name} AS"), arguments))
    }

    fn cast(&mut self, lenient: bool) -> Parsed<Expr> {
        self.advance();
        self.advance();
        let value = Box::new(self.expression()?);
        self.expect_word(Keyword::As)?;
        let sql_type = self.sql_type(TypePlace::Cast)?;
        let bare = !self.is_behind(")");
        self.expect_symbol(")")?;
        Ok(Expr::Cast { value, sql_type, bare, style: None, lenient })
    }

    fn convert(&mut self, lenient: bool) -> Parsed<Expr> {
        self.advance();
        self.advance();
        let sql_type = self.sql_type(TypePlace::Cast)?;
        let bare = !self.is_behind(")");
        self.expect_symbol(",")?;
        let value = Box::new(self.expression()?);
        let style = if self.accept_symbol(",") { Some(Box::new(self.expression()?)) } else { None };
        self.expect_symbol(")")?;
        Ok(Expr::Cast { value, sql_type, bare, style, lenient })
    }

    /// Parses a method or property of a value, from its name on.
    fn method(&mut self, value: Expr) -> Parsed<Expr> {
        let name = self.name()?;
        let mut arguments = vec![value];
        arguments.extend(self.method_arguments()?);
        Ok(function(&format!(".{name}"), arguments))
    }

    /// Returns true if a name before parentheses is a method of xml, whose arguments are texts.
    fn at_xml_method(&self, name: &str) -> bool {
        matches!(name, "value" | "query" | "exist")
            && matches!(self.kind_ahead(1), Some(TokenKind::Text { .. }))
    }

    fn method_arguments(&mut self) -> Parsed<Vec<Expr>> {
        if !self.accept_symbol("(") {
            return Ok(Vec::new());
        }
        let arguments = if self.is_symbol(")") { Vec::new() } else { self.expressions()? };
        self.expect_symbol(")")?;
        Ok(arguments)
    }

    fn name_or_call(&mut self) -> Parsed<Expr> {
        let mut parts = Vec::new();
        while self.accept_symbol(".") {}
        loop {
            if parts.len() > 5 {
                return Err(self.unexpected());
            }
            let word = match self.kind() {
                // LEFT, RIGHT and the like are names of functions only.
                Some(TokenKind::Word(word)) if self.is_symbol_ahead(1, "(") => word.clone(),
                Some(TokenKind::Word(_)) if self.is_word(Keyword::Identitycol) => "$IDENTITY".to_owned(),
                Some(TokenKind::Word(_)) if self.is_word(Keyword::Rowguidcol) => "$ROWGUID".to_owned(),
                Some(TokenKind::Word(word)) if !self.is_reserved() || !parts.is_empty() => word.clone(),
                Some(TokenKind::Quoted(name)) => name.clone(),
                _ => return Err(self.unexpected()),
            };
            self.advance();
            parts.push(word);
            if !self.accept_symbol(".") {
                break;
            }
            // A schema may be left out behind a database, and nothing else.
            if self.is_symbol(".") {
                let schema_follows = parts.len() <= 2 && {
                    let name_behind = usize::from(!self.is_symbol_ahead(2, "(")) * 2;
                    name_behind == 0 || self.is_symbol_ahead(name_behind, ".")
                };
                if !schema_follows {
                    return Err(self.unexpected());
                }
                self.advance();
                parts.push("dbo".to_owned());
            }
        }
        if let [type_name] = parts.as_slice()
            && self.is_symbol("::")
        {
            let name = format!("{type_name}::");
            self.advance();
            let method = Expr::Literal(Literal::Text { value: self.name()?, unicode: true });
            let mut arguments = vec![method];
            arguments.extend(self.method_arguments()?);
            return Ok(function(&name, arguments));
        }
        if self.accept_symbol("::") {
            self.refuse("A type of the CLR");
            self.name()?;
            self.method_arguments()?;
            return Ok(refused_value());
        }
        if self.is_symbol("(") {
            // A column's method and not a function of a schema, unless the schema is the usual one.
            if let [column @ .., method] = parts.as_slice()
                && !column.is_empty()
                && !column.iter().any(|part| part.eq_ignore_ascii_case("dbo"))
                && (is_value_method(method) || self.at_xml_method(method))
            {
                let mut arguments = vec![Expr::Column(column.to_vec())];
                let name = format!(".{method}");
                arguments.extend(self.method_arguments()?);
                return Ok(function(&name, arguments));
            }
            self.drop_server(&mut parts, 3)?;
            let name = parts.pop().unwrap_or_default();
            // Only a function of the user's own has a schema before its name.
            let schema = parts.pop().filter(|schema| !schema.eq_ignore_ascii_case("sys"));
            let name = if schema.is_none() { name.to_ascii_uppercase() } else { name };
            let database = parts.pop().filter(|_| schema.is_some());
            return self.call(database, schema, name);
        }
        self.drop_server(&mut parts, 4)?;
        if parts.len() > 4 {
            return Err(self.unexpected());
        }
        Ok(Expr::Column(parts))
    }

    /// Takes the server off a name of more than `most` parts. Errors: 7202 for another server than this.
    pub(crate) fn drop_server(&self, parts: &mut Vec<String>, most: usize) -> Parsed<()> {
        if parts.len() == most + 1 {
            let server = parts.remove(0);
            if !self.is_own_server(&server) {
                return Err(unknown_server(&server).at_line(self.line()));
            }
        }
        Ok(())
    }

    fn call(&mut self, database: Option<String>, schema: Option<String>, name: String) -> Parsed<Expr> {
        self.expect_symbol("(")?;
        let mut call = FunctionCall {
            name,
            database,
            schema,
            arguments: Vec::new(),
            star: false,
            distinct: false,
            over: None,
            within_group: Vec::new(),
            ignores_nulls: false,
        };
        if self.accept_symbol("*") {
            call.star = true;
        } else if !self.is_symbol(")") {
            call.distinct = self.accept_word(Keyword::Distinct);
            if !call.distinct {
                self.accept_word(Keyword::All);
            }
            let is_own = call.schema.is_some();
            loop {
                // IIF takes a condition first; no other function does, and a condition is an expression there.
                call.arguments.push(match is_own && self.accept_word(Keyword::Default) {
                    true => Expr::Variable(DEFAULT_ARGUMENT.to_owned()),
                    false => self.condition()?,
                });
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        let mut returned = None;
        if call.name == "JSON_QUERY" && call.schema.is_none() && self.accept_word(Keyword::With) {
            self.refuse("JSON_QUERY … WITH ARRAY WRAPPER");
            self.expect_bare("ARRAY WRAPPER")?;
        }
        if call.name == "JSON_VALUE" && call.schema.is_none() && self.accept_word(Keyword::Returning) {
            returned = Some(self.sql_type(TypePlace::Cast)?);
        }
        self.expect_symbol(")")?;
        if self.accept_words(&[Keyword::Within, Keyword::Group]) {
            self.expect_symbol("(")?;
            if self.accept_bare("GRAPH PATH") {
                self.refuse("WITHIN GROUP (GRAPH PATH)");
            } else {
                self.expect_word(Keyword::Order)?;
                self.expect_word(Keyword::By)?;
                call.within_group = self.order_items()?;
            }
            self.expect_symbol(")")?;
        }
        let nulls = ["FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD"].contains(&call.name.as_str());
        if nulls && call.schema.is_none() && self.is_word_ahead(1, Keyword::Nulls) {
            call.ignores_nulls = self.accept_words(&[Keyword::Ignore, Keyword::Nulls]);
            if !call.ignores_nulls && !self.accept_words(&[Keyword::Respect, Keyword::Nulls]) {
                return Err(self.unexpected());
            }
        }
        if self.accept_word(Keyword::Over) {
            call.over = Some(self.window()?);
        }
        let call = Expr::Function(Box::new(call));
        Ok(match returned {
            Some(sql_type) => {
                Expr::Cast { value: Box::new(call), sql_type, bare: false, style: None, lenient: false }
            }
            None => call,
        })
    }

    pub(crate) fn window(&mut self) -> Parsed<Window> {
        let mut window = Window::default();
        if let Some(name) = self.accept_name() {
            window.base = Some(name);
            return Ok(window);
        }
        self.expect_symbol("(")?;
        let clause =
            [Keyword::Partition, Keyword::Rows, Keyword::Range].iter().any(|word| self.is_word(*word));
        if !clause {
            window.base = self.accept_name();
        }
        if self.accept_words(&[Keyword::Partition, Keyword::By]) {
            window.partition_by = self.expressions()?;
        }
        if self.accept_words(&[Keyword::Order, Keyword::By]) {
            window.order_by = self.order_items()?;
        }
        if self.is_word(Keyword::Rows) || self.is_word(Keyword::Range) {
            let rows = self.is_word(Keyword::Rows);
            self.advance();
            window.frame = Some(if self.accept_word(Keyword::Between) {
                let start = self.frame_bound()?;
                self.expect_word(Keyword::And)?;
                Frame { rows, start, end: self.frame_bound()? }
            } else {
                Frame { rows, start: self.frame_bound()?, end: FrameBound::CurrentRow }
            });
        }
        self.expect_symbol(")")?;
        Ok(window)
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.accept_words(&[Keyword::Unbounded, Keyword::Preceding]) {
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.accept_words(&[Keyword::Unbounded, Keyword::Following]) {
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.accept_words(&[Keyword::Current, Keyword::Row]) {
            return Ok(FrameBound::CurrentRow);
        }
        let rows = self.unsigned()?;
        if self.accept_word(Keyword::Preceding) {
            return Ok(FrameBound::Preceding(rows));
        }
        self.expect_word(Keyword::Following)?;
        Ok(FrameBound::Following(rows))
    }
}

/// Stands for an expression of a statement that is refused.
pub(super) fn refused_value() -> Expr {
    Expr::Literal(Literal::Null)
}

/// Makes a plain call, for functions that the grammar spells without parentheses.
pub(crate) fn function(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall {
        name: name.to_string(),
        database: None,
        schema: None,
        arguments,
        star: false,
        distinct: false,
        over: None,
        within_group: Vec::new(),
        ignores_nulls: false,
    }))
}
