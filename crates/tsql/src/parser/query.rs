//! Queries: WITH, set operators, SELECT, FROM, ORDER BY, OFFSET.

use super::grouping::name_windows;
use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::expression::{BinaryOperator, DEFAULT_ARGUMENT, Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::{TokenKind, name};
use crate::names::{ObjectName, same_name};
use crate::query::{
    CommonTable, JoinKind, JsonColumn, OrderItem, Query, QueryBody, Select, SelectItem, SetOperator,
    TableSource, Top,
};
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses a query with everything that may follow its body.
    pub(crate) fn query(&mut self) -> Parsed<Query> {
        self.nested(|parser| {
            let with = if parser.accept_word(Keyword::With) { parser.common_tables()? } else { Vec::new() };
            let body = parser.query_body()?;
            parser.query_tail(with, body)
        })
    }

    pub(crate) fn common_tables(&mut self) -> Parsed<Vec<CommonTable>> {
        let mut tables = Vec::new();
        for (word, rule) in [("XMLNAMESPACES", "xml_namespaces"), ("CHANGE_TRACKING_CONTEXT", "one")] {
            if self.is_bare_ahead(0, word) && self.is_symbol_ahead(1, "(") {
                self.refuse(&format!("WITH {word}"));
                self.advance();
                self.clause(rule)?;
                if !self.accept_symbol(",") {
                    return Ok(tables);
                }
            }
        }
        loop {
            let name = self.name()?;
            let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
            self.expect_word(Keyword::As)?;
            self.expect_symbol("(")?;
            let query = self.query()?;
            self.expect_symbol(")")?;
            tables.push(CommonTable { name, columns, query });
            if !self.accept_symbol(",") {
                return Ok(tables);
            }
        }
    }

    pub(crate) fn query_tail(&mut self, with: Vec<CommonTable>, body: QueryBody) -> Parsed<Query> {
        let mut query = Query { with, ..Query::of(body) };
        if self.accept_words(&[Keyword::Order, Keyword::By]) {
            query.order_by = self.order_items()?;
            name_aliases(&query.body, &mut query.order_by);
            if self.accept_word(Keyword::Offset) {
                query.offset = Some(self.expression()?);
                if !self.accept_word(Keyword::Rows) {
                    self.expect_word(Keyword::Row)?;
                }
                if self.accept_word(Keyword::Fetch) {
                    if !self.accept_word(Keyword::Next) {
                        self.expect_word(Keyword::First)?;
                    }
                    query.fetch = Some(self.expression()?);
                    if !self.accept_word(Keyword::Rows) {
                        self.expect_word(Keyword::Row)?;
                    }
                    self.expect_word(Keyword::Only)?;
                }
            }
        }
        while self.accept_word(Keyword::Compute) {
            self.refused_clause("compute", "COMPUTE")?;
        }
        query.for_clause = self.for_clause()?.map(Box::new);
        self.accept_words(&[Keyword::For, Keyword::Browse]);
        if self.is_word(Keyword::Option) {
            let hints = self.option_clause()?;
            (query.max_recursion, query.max_dop) = (hints.max_recursion, hints.max_dop);
            if query.for_clause.is_none() {
                query.for_clause = self.for_clause()?.map(Box::new);
            }
        }
        name_windows(&mut [], &mut query.order_by, &std::mem::take(&mut self.windows))
            .map_err(|error| error.at_line(self.line()))?;
        Ok(query)
    }

    fn query_body(&mut self) -> Parsed<QueryBody> {
        let mut left = self.intersection()?;
        let mut operators = 0;
        loop {
            let operator = if self.accept_word(Keyword::Union) {
                SetOperator::Union
            } else if self.accept_word(Keyword::Except) {
                SetOperator::Except
            } else {
                return Ok(left);
            };
            self.chained(&mut operators)?;
            let all = self.accept_word(Keyword::All);
            let right = Box::new(self.intersection()?);
            left = QueryBody::Set { operator, all, left: Box::new(left), right };
        }
    }

    /// Parses INTERSECT, which binds tighter than UNION and EXCEPT.
    fn intersection(&mut self) -> Parsed<QueryBody> {
        let mut left = self.query_term()?;
        let mut operators = 0;
        while self.accept_word(Keyword::Intersect) {
            self.chained(&mut operators)?;
            let right = Box::new(self.query_term()?);
            left =
                QueryBody::Set { operator: SetOperator::Intersect, all: false, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn query_term(&mut self) -> Parsed<QueryBody> {
        if self.accept_symbol("(") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(QueryBody::Nested(Box::new(query)));
        }
        Ok(QueryBody::Select(Box::new(self.select()?)))
    }

    fn select(&mut self) -> Parsed<Select> {
        self.expect_word(Keyword::Select)?;
        let mut select = Select { distinct: self.accept_word(Keyword::Distinct), ..Select::default() };
        if !select.distinct {
            self.accept_word(Keyword::All);
        }
        if self.accept_word(Keyword::Top) {
            select.top = Some(self.top()?);
        }
        select.items = self.select_items()?;
        if self.accept_word(Keyword::Into) {
            select.into = Some(self.local_name()?);
            if self.accept_word(Keyword::On) {
                select.into_group = Some(self.table_group()?);
            }
        }
        let is_identity = |item: &SelectItem| matches!(item, SelectItem::Value { expr: Expr::Function(call), .. } if call.name == "IDENTITY" && call.schema.is_none());
        if select.into.is_none() && select.items.iter().any(is_identity) {
            let text = "The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
            return Err(SqlError::new(177, 15, 1, text).at_line(self.line()));
        }
        if self.accept_word(Keyword::From) {
            select.from = self.table_sources()?;
        }
        if self.accept_word(Keyword::Where) {
            select.filter = Some(self.condition()?);
        }
        if self.accept_words(&[Keyword::Group, Keyword::By]) {
            if self.accept_word(Keyword::All) {
                self.refuse("GROUP BY ALL");
            }
            self.group_by(&mut select)?;
        }
        if self.accept_word(Keyword::Having) {
            select.having = Some(self.condition()?);
        }
        self.windows = Vec::new();
        if self.is_word(Keyword::Window) && self.is_word_ahead(2, Keyword::As) {
            self.advance();
            self.windows = self.window_clause()?;
        }
        name_windows(&mut select.items, &mut [], &self.windows)
            .map_err(|error| error.at_line(self.line()))?;
        Ok(select)
    }

    pub(crate) fn top(&mut self) -> Parsed<Top> {
        let count = if self.accept_symbol("(") {
            let count = if self.is_word(Keyword::Select) {
                Expr::Subquery(Box::new(self.query()?))
            } else {
                self.expression()?
            };
            self.expect_symbol(")")?;
            count
        } else {
            match self.kind().cloned() {
                Some(TokenKind::Integer(digits)) => {
                    self.advance();
                    Expr::Literal(crate::expression::Literal::Integer(digits))
                }
                Some(TokenKind::Decimal(digits)) => {
                    self.advance();
                    Expr::Literal(Literal::Decimal(digits))
                }
                Some(TokenKind::Float(digits)) => {
                    self.advance();
                    Expr::Literal(Literal::Float(digits))
                }
                Some(TokenKind::Variable(name)) => {
                    self.advance();
                    Expr::Variable(name)
                }
                _ => return Err(self.unexpected()),
            }
        };
        let top = Top {
            count,
            percent: self.accept_word(Keyword::Percent),
            with_ties: self.accept_words(&[Keyword::With, Keyword::Ties]),
        };
        if self.is_word(Keyword::With) && self.is_bare_ahead(1, "APPROXIMATE") {
            self.at += 2;
            self.refuse("TOP … WITH APPROXIMATE");
        }
        Ok(top)
    }

    pub(crate) fn select_items(&mut self) -> Parsed<Vec<SelectItem>> {
        let mut items = vec![self.select_item()?];
        while self.accept_symbol(",") {
            items.push(self.select_item()?);
        }
        SelectItem::check_count(items.len())?;
        Ok(items)
    }

    fn select_item(&mut self) -> Parsed<SelectItem> {
        if self.accept_symbol("*") {
            return Ok(SelectItem::Wildcard(Vec::new()));
        }
        if let Some(mut qualifier) = self.qualified_wildcard() {
            self.drop_server(&mut qualifier, 3)?;
            return Ok(SelectItem::Wildcard(qualifier));
        }
        if let Some(TokenKind::Variable(variable)) = self.kind().cloned()
            && let Some(TokenKind::Symbol(symbol)) = self.kind_ahead(1)
            && let Some(operator) = assignment_operator(symbol)
        {
            self.advance();
            self.advance();
            let value = self.expression()?;
            return Ok(SelectItem::Assign { expr: compound(&variable, operator, value), variable });
        }
        // `alias = expression`: a name, then an equals sign.
        let named =
            matches!(self.kind(), Some(TokenKind::Quoted(_) | TokenKind::Word(_) | TokenKind::Text { .. }));
        if named && self.is_symbol_ahead(1, "=") {
            let alias = self.alias_word()?;
            self.advance();
            return Ok(SelectItem::Value { expr: self.expression()?, alias: Some(alias) });
        }
        let expr = self.expression()?;
        let alias = if self.accept_word(Keyword::As) || matches!(self.kind(), Some(TokenKind::Text { .. })) {
            Some(self.alias_word()?)
        } else if self.at_label() {
            None
        } else {
            self.accept_name()
        };
        Ok(SelectItem::Value { expr, alias })
    }

    fn alias_word(&mut self) -> Parsed<String> {
        if let Some(TokenKind::Text { value, .. }) = self.kind().cloned() {
            let value = name(value).map_err(|error| error.at_line(self.line()))?;
            self.advance();
            return Ok(value);
        }
        self.name()
    }

    /// Parses `t.*`, `s.t.*`.
    fn qualified_wildcard(&mut self) -> Option<Vec<String>> {
        let mut parts = Vec::new();
        let mut ahead = 0;
        loop {
            match self.kind_ahead(ahead) {
                Some(TokenKind::Word(word)) => parts.push(word.clone()),
                Some(TokenKind::Quoted(name)) => parts.push(name.clone()),
                Some(TokenKind::Symbol("*")) if !parts.is_empty() => {
                    self.at += ahead + 1;
                    return Some(parts);
                }
                _ => return None,
            }
            if !self.is_symbol_ahead(ahead + 1, ".") {
                return None;
            }
            ahead += 2;
        }
    }

    pub(crate) fn table_sources(&mut self) -> Parsed<Vec<TableSource>> {
        let around = std::mem::take(&mut self.sources);
        let mut sources = vec![self.joined_source()?];
        while self.accept_symbol(",") {
            self.one_more_source()?;
            sources.push(self.joined_source()?);
        }
        self.sources = around;
        Ok(sources)
    }

    fn one_more_source(&mut self) -> Parsed<()> {
        self.sources += 1;
        if self.sources > super::SOURCES_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    pub(crate) fn joined_source(&mut self) -> Parsed<TableSource> {
        self.nested(|parser| {
            let mut left = parser.source()?;
            while let Some(kind) = parser.accept_join() {
                parser.one_more_source()?;
                let conditional =
                    matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full);
                // `a JOIN b JOIN c ON … ON …` nests to the right.
                let right = if conditional { parser.joined_until_on()? } else { parser.source()? };
                let on = if conditional {
                    parser.expect_word(Keyword::On)?;
                    Some(parser.condition()?)
                } else {
                    None
                };
                left = TableSource::Join { kind, left: Box::new(left), right: Box::new(right), on };
            }
            Ok(left)
        })
    }

    fn joined_until_on(&mut self) -> Parsed<TableSource> {
        let source = self.source()?;
        if self.is_word(Keyword::On) {
            return Ok(source);
        }
        let mut left = source;
        while !self.is_word(Keyword::On) {
            self.one_more_source()?;
            let Some(kind) = self.accept_join() else { return Err(self.unexpected()) };
            let conditional =
                matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full);
            let right = if conditional { self.nested(Self::joined_until_on)? } else { self.source()? };
            let on = if conditional {
                self.expect_word(Keyword::On)?;
                Some(self.condition()?)
            } else {
                None
            };
            left = TableSource::Join { kind, left: Box::new(left), right: Box::new(right), on };
        }
        Ok(left)
    }

    fn accept_join(&mut self) -> Option<JoinKind> {
        if self.accept_words(&[Keyword::Cross, Keyword::Join]) {
            return Some(JoinKind::Cross);
        }
        if self.accept_words(&[Keyword::Cross, Keyword::Apply]) {
            return Some(JoinKind::CrossApply);
        }
        if self.accept_words(&[Keyword::Outer, Keyword::Apply]) {
            return Some(JoinKind::OuterApply);
        }
        let kinds = [
            (Keyword::Inner, JoinKind::Inner),
            (Keyword::Left, JoinKind::Left),
            (Keyword::Right, JoinKind::Right),
            (Keyword::Full, JoinKind::Full),
        ];
        for (word, kind) in kinds {
            if !self.is_word(word) {
                continue;
            }
            let mut ahead = 1 + usize::from(self.is_word_ahead(1, Keyword::Outer));
            ahead += usize::from(
                [Keyword::Loop, Keyword::Hash, Keyword::Merge]
                    .iter()
                    .any(|hint| self.is_word_ahead(ahead, *hint))
                    || self.is_bare_ahead(ahead, "REMOTE") && self.is_word_ahead(ahead + 1, Keyword::Join),
            );
            if self.is_word_ahead(ahead, Keyword::Join) {
                self.at += ahead + 1;
                return Some(kind);
            }
        }
        self.accept_word(Keyword::Join).then_some(JoinKind::Inner)
    }

    /// Parses `(name type ['path'] [AS JSON], …)`.
    fn json_columns(&mut self) -> Parsed<Vec<JsonColumn>> {
        self.expect_symbol("(")?;
        let mut columns = Vec::new();
        loop {
            let name = self.name()?;
            let sql_type = self.sql_type(TypePlace::Declaration)?;
            if self.accept_word(Keyword::Collate) {
                self.refuse("COLLATE in OPENJSON … WITH");
                self.name()?;
            }
            let path = match self.kind().cloned() {
                Some(TokenKind::Text { value, .. }) => {
                    self.advance();
                    Some(value)
                }
                _ => None,
            };
            let as_json = self.accept_words(&[Keyword::As, Keyword::Json]);
            columns.push(JsonColumn { name, sql_type, path, as_json });
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(columns)
    }

    fn source(&mut self) -> Parsed<TableSource> {
        if self.is_symbol("(") {
            return self.parenthesised_source();
        }
        // The escape of ODBC around an outer join.
        if self.is_symbol("{") && self.is_bare_ahead(1, "OJ") {
            self.at += 2;
            let source = self.joined_source()?;
            self.expect_symbol("}")?;
            return Ok(source);
        }
        if self.is_word(Keyword::Openrowset) && self.is_symbol_ahead(1, "(") {
            return self.rowset_source();
        }
        if let Some(refused) = self.refused_source()? {
            return Ok(refused);
        }
        // The old spelling of the system's functions.
        self.accept_symbol("::");
        let name = self.table_name()?;
        if self.is_symbol(".") && self.is_word_ahead(1, Keyword::Nodes) {
            self.at += 2;
            return self.nodes();
        }
        if self.accept_words(&[Keyword::For, Keyword::SystemTime]) {
            self.refused_clause("system_time", "FOR SYSTEM_TIME")?;
        }
        if self.accept_words(&[Keyword::For, Keyword::Path]) {
            self.refuse("FOR PATH of a graph");
        }
        self.table_sample()?;
        let old = if self.at_old_hints() { Some(self.source_hints()?) } else { None };
        if self.is_symbol("(") {
            if name.schema.is_some() && name.name == "nodes" {
                return self.nodes();
            }
            self.advance();
            let arguments = if self.is_symbol(")") { Vec::new() } else { self.table_arguments()? };
            self.expect_symbol(")")?;
            let json = name.schema.is_none() && name.name.eq_ignore_ascii_case("OPENJSON");
            let shape =
                if json && self.accept_word(Keyword::With) { self.json_columns()? } else { Vec::new() };
            let alias = self.table_alias()?;
            let columns = if alias.is_some() && self.is_symbol("(") {
                Some(self.names_in_parentheses()?)
            } else {
                None
            };
            return self.turned(TableSource::Function { name, arguments, shape, alias, columns });
        }
        let alias = self.table_alias()?;
        self.table_sample()?;
        let hints = old.unwrap_or_default().with(self.source_hints()?);
        self.turned(TableSource::Table { name, alias, hints })
    }

    /// Parses TABLESAMPLE, if it stands here. The statement is refused when it runs.
    fn table_sample(&mut self) -> Parsed<()> {
        if self.accept_word(Keyword::Tablesample) {
            self.refused_clause("table_sample", "TABLESAMPLE")?;
        }
        Ok(())
    }

    /// Parses `(path) AS alias(column)` of the method nodes of xml. The statement is refused when it runs.
    fn nodes(&mut self) -> Parsed<TableSource> {
        self.refuse("The method nodes() of xml");
        self.expect_symbol("(")?;
        self.expression()?;
        self.expect_symbol(")")?;
        self.refused_alias()
    }

    /// Parses a source that this server does not have, if one begins here. The statement is refused when it runs.
    fn refused_source(&mut self) -> Parsed<Option<TableSource>> {
        let found = REFUSED_SOURCES.iter().find(|(word, _)| self.is_bare_ahead(0, word));
        let Some((word, rule)) = found.filter(|_| self.is_symbol_ahead(1, "(")) else { return Ok(None) };
        self.refuse(word);
        self.advance();
        self.clause(rule)?;
        if self.accept_word(Keyword::With) {
            let columns = if *word == "PREDICT" { "predict_columns" } else { "xml_columns" };
            self.clause(columns)?;
        }
        self.refused_alias().map(Some)
    }

    /// Parses the alias of a source that is refused, and returns a source in its place.
    fn refused_alias(&mut self) -> Parsed<TableSource> {
        if self.table_alias()?.is_some() && self.is_symbol("(") {
            self.names_in_parentheses()?;
        }
        let source =
            TableSource::Table { name: ObjectName::default(), alias: None, hints: Default::default() };
        self.turned(source)
    }

    /// Arguments of a table-valued function, among which DEFAULT may stand.
    fn table_arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        loop {
            list.push(match self.accept_word(Keyword::Default) {
                true => Expr::Variable(DEFAULT_ARGUMENT.to_string()),
                false => self.expression()?,
            });
            if !self.accept_symbol(",") {
                return Ok(list);
            }
        }
    }

    fn rowset_source(&mut self) -> Parsed<TableSource> {
        self.advance();
        self.expect_symbol("(")?;
        let is_file = self.is_word(Keyword::Bulk);
        let rowset = Box::new(self.bulk_rowset()?);
        if !is_file {
            return self.refused_alias();
        }
        let alias = self.table_alias()?.ok_or_else(|| {
            SqlError::new(
                491,
                16,
                1,
                "A correlation name must be specified for the bulk rowset in the from clause.",
            )
        })?;
        let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
        self.turned(TableSource::BulkRowset { rowset, alias, columns })
    }

    pub(crate) fn table_alias(&mut self) -> Parsed<Option<String>> {
        if self.accept_word(Keyword::As) {
            return self.name().map(Some);
        }
        if self.is_word(Keyword::Window) && self.is_word_ahead(2, Keyword::As) || self.at_label() {
            return Ok(None);
        }
        Ok(self.accept_name())
    }

    /// Returns true within the first of two parentheses whose inner one holds a derived table: a name, a join or a
    /// comma follows it, and not a set operator, ORDER BY or the end of the outer one.
    fn at_parenthesised_join(&self) -> bool {
        if !self.is_symbol("(") {
            return false;
        }
        let mut depth = 0_usize;
        let mut ahead = 0;
        loop {
            match self.kind_ahead(ahead) {
                None => return false,
                Some(TokenKind::Symbol("(")) => depth += 1,
                Some(TokenKind::Symbol(")")) => depth -= 1,
                Some(_) => {}
            }
            ahead += 1;
            if depth == 0 {
                break;
            }
        }
        match self.kind_ahead(ahead) {
            Some(TokenKind::Quoted(_)) => true,
            Some(TokenKind::Word(_)) => match self.keyword_ahead(ahead) {
                Some(Keyword::As | Keyword::Join | Keyword::Inner | Keyword::Left | Keyword::Right) => true,
                Some(Keyword::Full | Keyword::Cross | Keyword::Outer) => true,
                keyword => !keyword.is_some_and(Keyword::is_reserved),
            },
            _ => false,
        }
    }

    fn parenthesised_source(&mut self) -> Parsed<TableSource> {
        self.advance();
        if self.accept_word(Keyword::Values) {
            let mut rows = Vec::new();
            loop {
                self.expect_symbol("(")?;
                rows.push(self.expressions()?);
                self.expect_symbol(")")?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
            let alias = self.table_alias()?.ok_or_else(|| self.unexpected())?;
            let columns = self.names_in_parentheses()?;
            return self.turned(TableSource::Values { rows, alias, columns });
        }
        if self.at_query() && !self.at_parenthesised_join() {
            let query = Box::new(self.query()?);
            self.expect_symbol(")")?;
            let alias = self.table_alias()?.ok_or_else(|| self.unexpected())?;
            let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
            return self.turned(TableSource::Derived { query, alias, columns });
        }
        if self.at_change() {
            return self.changed_source();
        }
        let source = self.joined_source()?;
        self.expect_symbol(")")?;
        Ok(source)
    }

    pub(crate) fn order_items(&mut self) -> Parsed<Vec<OrderItem>> {
        let mut items = Vec::new();
        loop {
            let expr = self.expression()?;
            let descending = self.accept_word(Keyword::Desc);
            if !descending {
                self.accept_word(Keyword::Asc);
            }
            items.push(OrderItem { expr, descending });
            if !self.accept_symbol(",") {
                return Ok(items);
            }
        }
    }
}

/// Sources that this server does not have, and the rules for what follows their word.
const REFUSED_SOURCES: &[(&str, &str)] = &[
    ("AI_GENERATE_CHUNKS", "chunks"),
    ("CHANGETABLE", "changed_rows"),
    ("CONTAINSTABLE", "fulltext_table"),
    ("FREETEXTTABLE", "fulltext_table"),
    ("OPENDATASOURCE", "open_data_source"),
    ("OPENQUERY", "open_query"),
    ("OPENXML", "open_xml"),
    ("PREDICT", "predict"),
    ("SEMANTICKEYPHRASETABLE", "semantic_table"),
    ("SEMANTICSIMILARITYDETAILSTABLE", "semantic_table"),
    ("SEMANTICSIMILARITYTABLE", "semantic_table"),
    ("VECTOR_SEARCH", "vector_search"),
];

/// Takes a text in ORDER BY that is an alias of the select list for the alias.
fn name_aliases(body: &QueryBody, order_by: &mut [OrderItem]) {
    let mut body = body;
    let select = loop {
        body = match body {
            QueryBody::Set { left, .. } => left,
            QueryBody::Nested(query) => &query.body,
            QueryBody::Select(select) => break select,
        };
    };
    for item in order_by {
        let Expr::Literal(Literal::Text { value, .. }) = &item.expr else { continue };
        let named = select.items.iter().any(
            |item| matches!(item, SelectItem::Value { alias: Some(alias), .. } if same_name(alias, value)),
        );
        if named {
            item.expr = Expr::Column(vec![value.clone()]);
        }
    }
}

/// Returns the operator behind `=`, `+=` and the like; `None` for other symbols.
pub(crate) fn assignment_operator(symbol: &str) -> Option<Option<BinaryOperator>> {
    Some(match symbol {
        "=" => None,
        "+=" => Some(BinaryOperator::Add),
        "-=" => Some(BinaryOperator::Subtract),
        "*=" => Some(BinaryOperator::Multiply),
        "/=" => Some(BinaryOperator::Divide),
        "%=" => Some(BinaryOperator::Modulo),
        "&=" => Some(BinaryOperator::BitAnd),
        "|=" => Some(BinaryOperator::BitOr),
        "^=" => Some(BinaryOperator::BitXor),
        "||=" => Some(BinaryOperator::Concatenate),
        _ => return None,
    })
}

/// Spells `@v op= value` out as `@v op value`.
pub(crate) fn compound(variable: &str, operator: Option<BinaryOperator>, value: Expr) -> Expr {
    match operator {
        None => value,
        Some(operator) => {
            Expr::Binary(Box::new(Expr::Variable(variable.to_string())), operator, Box::new(value))
        }
    }
}
