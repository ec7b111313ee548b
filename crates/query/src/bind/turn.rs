//! PIVOT and UNPIVOT, as the queries that they abbreviate.

use super::super::convert::type_name;
use super::{Binder, BoundQuery, Scope};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{Comparison, Expr as Ast, FunctionCall, Literal};
use tsql::query::{JoinKind, Query, Select, SelectItem, TableSource};
use tsql::same_name;

/// The alias of UNPIVOT's names; no name of the user's has a blank in front.
const NAMES: &str = " names";

impl Binder<'_> {
    /// Binds PIVOT: one group for each combination of the columns that it does not name, one aggregate for each value.
    ///
    /// Errors: 8156 for a value that is listed twice or is a column's name, 207.
    pub(super) fn pivot(
        &self,
        source: &TableSource,
        aggregate: &FunctionCall,
        column: &str,
        values: &[String],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery, SqlError> {
        let [Ast::Column(path)] = aggregate.arguments.as_slice() else {
            return Err(errors::SYNTAX.with(["("]));
        };
        let Some(value) = path.last() else { return Err(errors::SYNTAX.with(["("])) };
        let names = column_names(self, source, parent)?;
        let known = |name: &str| names.iter().any(|own| same_name(own, name));
        for wanted in [column, value.as_str()] {
            if !known(wanted) {
                return Err(errors::INVALID_COLUMN.with([wanted]));
            }
        }
        let groups: Vec<&String> =
            names.iter().filter(|name| !same_name(name, column) && !same_name(name, value)).collect();
        for (index, name) in values.iter().enumerate() {
            let before = values.get(..index).unwrap_or_default();
            if before.iter().chain(groups.iter().copied()).any(|other| same_name(other, name)) {
                return Err(SqlError::new(
                    8156,
                    16,
                    1,
                    format!("The column '{name}' was specified multiple times for 'PIVOT'."),
                ));
            }
        }
        let mut items: Vec<SelectItem> = groups.iter().map(|name| item(named(name), None)).collect();
        for name in values {
            let text = Ast::Literal(Literal::Text { value: name.clone(), unicode: true });
            let fits = Ast::Compare(Box::new(named(column)), Comparison::Equal, Box::new(text));
            let argument = Ast::Case { operand: None, branches: vec![(fits, named(value))], otherwise: None };
            let call = FunctionCall { arguments: vec![argument], ..aggregate.clone() };
            items.push(item(Ast::Function(Box::new(call)), Some(name)));
        }
        let select = Select {
            items,
            from: vec![source.clone()],
            group_by: groups.into_iter().map(|name| named(name)).collect(),
            ..Select::default()
        };
        self.deeper(|| self.query(&Query::select(select), parent))
    }

    /// Binds UNPIVOT: a row for each listed column that is not NULL.
    ///
    /// Errors: 207, 8167 for columns of different types.
    pub(super) fn unpivot(
        &self,
        source: &TableSource,
        value: &str,
        name: &str,
        columns: &[String],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery, SqlError> {
        let inner = self.source(source, parent)?;
        let mut first: Option<tds::SqlType> = None;
        for column in columns {
            let found = inner.columns.iter().find(|known| same_name(&known.output.name, column));
            let Some(found) = found else { return Err(errors::INVALID_COLUMN.with([column])) };
            let sql_type = &found.output.sql_type;
            let expected = first.get_or_insert_with(|| sql_type.clone());
            if type_name(expected) != type_name(sql_type) || expected != sql_type {
                return Err(SqlError::new(
                    8167,
                    16,
                    1,
                    format!(
                        "The type of column \"{column}\" conflicts with the type of other columns specified in the UNPIVOT list."
                    ),
                ));
            }
        }
        let rest = inner
            .columns
            .iter()
            .map(|column| column.output.name.clone())
            .filter(|own| !columns.iter().any(|column| same_name(column, own)));
        let mut items: Vec<SelectItem> = rest.map(|own| item(named(&own), None)).collect();
        let own_name = Ast::Column(vec![NAMES.to_string(), NAMES.to_string()]);
        let branches = columns.iter().map(|column| (text(column), named(column))).collect();
        let turned = Ast::Case { operand: Some(Box::new(own_name.clone())), branches, otherwise: None };
        items.push(item(turned.clone(), Some(value)));
        items.push(item(own_name, Some(name)));
        let listed = TableSource::Values {
            rows: columns.iter().map(|column| vec![text(column)]).collect(),
            alias: NAMES.to_string(),
            columns: vec![NAMES.to_string()],
        };
        let from = TableSource::Join {
            kind: JoinKind::Cross,
            left: Box::new(source.clone()),
            right: Box::new(listed),
            on: None,
        };
        let filter = Some(Ast::IsNull(Box::new(turned), true));
        let select = Select { items, from: vec![from], filter, ..Select::default() };
        self.deeper(|| self.query(&Query::select(select), parent))
    }
}

fn column_names(
    binder: &Binder<'_>,
    source: &TableSource,
    parent: Option<&Scope<'_>>,
) -> Result<Vec<String>, SqlError> {
    let source = binder.source(source, parent)?;
    Ok(source.columns.into_iter().map(|column| column.output.name).collect())
}

fn named(name: &str) -> Ast {
    Ast::Column(vec![name.to_string()])
}

fn item(expr: Ast, alias: Option<&str>) -> SelectItem {
    SelectItem::Value { expr, alias: alias.map(str::to_string) }
}

/// Returns a column's name as a value of type sysname.
fn text(name: &str) -> Ast {
    Ast::Cast {
        value: Box::new(Ast::Literal(Literal::Text { value: name.to_string(), unicode: true })),
        sql_type: tds::SqlType::NVarChar { length: tds::Length::Units(128) },
        bare: false,
        style: None,
        lenient: false,
    }
}
