//! GROUP BY with ROLLUP, CUBE and GROUPING SETS, and the WINDOW clause.

use super::{Parsed, Parser};
use crate::expression::{Expr, Window};
use crate::keywords::Keyword;
use crate::query::{OrderItem, Select, SelectItem};
use crate::sql_error::SqlError;

/// Sets of a GROUP BY beyond which it is refused, as in SQL Server (error 10703 there for CUBE of too many).
const SETS_MAX: usize = 4096;

/// The words that make sets of columns.
#[derive(Clone, Copy)]
enum Spread {
    Rollup,
    Cube,
}

impl Spread {
    fn word(self) -> Keyword {
        match self {
            Spread::Rollup => Keyword::Rollup,
            Spread::Cube => Keyword::Cube,
        }
    }
}

/// The sets of one element of GROUP BY, as positions among its expressions.
type Sets = Vec<Vec<usize>>;

impl Parser<'_> {
    /// Parses the rest of GROUP BY: expressions and grouping sets in any mixture; the sets of several elements
    /// multiply.
    pub(crate) fn group_by(&mut self, select: &mut Select) -> Parsed<()> {
        let mut sets: Sets = vec![Vec::new()];
        let mut plain = true;
        loop {
            let element = self.group_element(&mut select.group_by, &mut plain)?;
            sets = self.product_of(&sets, &element)?;
            if !self.accept_symbol(",") {
                break;
            }
        }
        // The old spelling: GROUP BY a, b WITH ROLLUP.
        for spread in [Spread::Rollup, Spread::Cube] {
            if plain && self.accept_words(&[Keyword::With, spread.word()]) {
                let columns: Sets = (0..select.group_by.len()).map(|position| vec![position]).collect();
                sets = self.spread(&columns, spread)?;
                plain = false;
            }
        }
        select.grouping_sets = (!plain).then_some(sets);
        Ok(())
    }

    fn group_element(&mut self, exprs: &mut Vec<Expr>, plain: &mut bool) -> Parsed<Sets> {
        for spread in [Spread::Rollup, Spread::Cube] {
            if self.is_word(spread.word()) && self.is_symbol_ahead(1, "(") {
                self.advance();
                self.advance();
                *plain = false;
                let mut columns = Vec::new();
                loop {
                    columns.push(self.group_columns(exprs)?);
                    if !self.accept_symbol(",") {
                        break;
                    }
                }
                self.expect_symbol(")")?;
                return self.spread(&columns, spread);
            }
        }
        if self.accept_words(&[Keyword::Grouping, Keyword::Sets]) {
            *plain = false;
            self.expect_symbol("(")?;
            let mut sets = Vec::new();
            loop {
                sets.extend(self.nested(|parser| parser.grouping_set(exprs))?);
                if sets.len() > SETS_MAX {
                    return Err(self.too_many_sets());
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
            return Ok(sets);
        }
        if self.is_symbol("(") && self.is_symbol_ahead(1, ")") {
            *plain = false;
            return Ok(vec![self.group_columns(exprs)?]);
        }
        Ok(vec![vec![self.group_expression(exprs)?]])
    }

    fn grouping_set(&mut self, exprs: &mut Vec<Expr>) -> Parsed<Sets> {
        let nested =
            [Keyword::Rollup, Keyword::Cube, Keyword::Grouping].iter().any(|word| self.is_word(*word));
        if nested {
            return self.group_element(exprs, &mut false);
        }
        Ok(vec![self.group_columns(exprs)?])
    }

    /// Parses `a`, `(a, b)` or `()`.
    fn group_columns(&mut self, exprs: &mut Vec<Expr>) -> Parsed<Vec<usize>> {
        if !self.is_symbol("(") {
            return Ok(vec![self.group_expression(exprs)?]);
        }
        self.advance();
        let mut columns = Vec::new();
        if self.accept_symbol(")") {
            return Ok(columns);
        }
        loop {
            columns.push(self.group_expression(exprs)?);
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(columns)
    }

    fn group_expression(&mut self, exprs: &mut Vec<Expr>) -> Parsed<usize> {
        let expr = self.expression()?;
        Ok(match exprs.iter().position(|known| *known == expr) {
            Some(position) => position,
            None => {
                exprs.push(expr);
                exprs.len() - 1
            }
        })
    }

    fn spread(&self, columns: &[Vec<usize>], spread: Spread) -> Parsed<Sets> {
        match spread {
            Spread::Rollup => Ok(rollup(columns)),
            // CUBE of n columns has 2^n sets.
            Spread::Cube if columns.len() > SETS_MAX.ilog2() as usize => Err(self.too_many_sets()),
            Spread::Cube => Ok(cube(columns)),
        }
    }

    fn product_of(&self, left: &Sets, right: &Sets) -> Parsed<Sets> {
        if left.len().saturating_mul(right.len()) > SETS_MAX {
            return Err(self.too_many_sets());
        }
        let mut sets = Vec::with_capacity(left.len() * right.len());
        for one in left {
            for other in right {
                let mut set = one.clone();
                set.extend(other.iter().copied().filter(|position| !one.contains(position)));
                sets.push(set);
            }
        }
        Ok(sets)
    }

    fn too_many_sets(&self) -> SqlError {
        SqlError::new(10703, 15, 1, "Too many grouping sets. The maximum number is 4096.")
            .at_line(self.line())
    }

    /// Parses `WINDOW w AS (…), v AS (w ORDER BY …)`.
    pub(crate) fn window_clause(&mut self) -> Parsed<Vec<(String, Window)>> {
        let mut windows: Vec<(String, Window)> = Vec::new();
        loop {
            let name = self.name()?;
            self.expect_word(Keyword::As)?;
            windows.push((name, self.window()?));
            if !self.accept_symbol(",") {
                break;
            }
        }
        all_complete(windows).map_err(|error| error.at_line(self.line()))
    }
}

/// Makes the sets of ROLLUP: from all columns down to none, the last one first to go.
fn rollup(columns: &[Vec<usize>]) -> Sets {
    (0..=columns.len()).rev().map(|kept| columns.iter().take(kept).flatten().copied().collect()).collect()
}

/// Makes the sets of CUBE: every subset.
fn cube(columns: &[Vec<usize>]) -> Sets {
    let all = (1_usize << columns.len().min(usize::BITS as usize - 1)) - 1;
    (0..=all)
        .rev()
        .map(|mask| {
            let chosen = columns
                .iter()
                .enumerate()
                .filter(|(position, _)| mask & (1 << (columns.len() - 1 - position)) != 0);
            chosen.flat_map(|(_, set)| set.iter().copied()).collect()
        })
        .collect()
}

/// Completes the windows of a clause, those first that others refer to. Errors: 5364, and 5365 for windows that refer to each other.
fn all_complete(mut windows: Vec<(String, Window)>) -> Result<Vec<(String, Window)>, SqlError> {
    let is_open = |windows: &[(String, Window)], name: &str| {
        windows.iter().any(|(own, window)| own.eq_ignore_ascii_case(name) && window.base.is_some())
    };
    loop {
        let mut left = windows.iter().enumerate().filter(|(_, (_, window))| window.base.is_some()).peekable();
        if left.peek().is_none() {
            return Ok(windows);
        }
        let next =
            left.find(|(_, (_, window))| !window.base.as_ref().is_some_and(|base| is_open(&windows, base)));
        let Some((position, (_, window))) = next else {
            return Err(SqlError::new(5365, 15, 1, "Cyclic window references are not permitted."));
        };
        let window = complete(window.clone(), &windows)?;
        if let Some((_, slot)) = windows.get_mut(position) {
            *slot = window;
        }
    }
}

/// Completes a window by its base. Errors: 5364 for an unknown window.
fn complete(mut window: Window, known: &[(String, Window)]) -> Result<Window, SqlError> {
    let Some(base) = window.base.take() else { return Ok(window) };
    let Some((_, found)) = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(&base)) else {
        return Err(SqlError::new(5364, 15, 1, format!("Window '{base}' is undefined.")));
    };
    if window.partition_by.is_empty() {
        window.partition_by = found.partition_by.clone();
    }
    if window.order_by.is_empty() {
        window.order_by = found.order_by.clone();
    }
    if window.frame.is_none() {
        window.frame = found.frame.clone();
    }
    Ok(window)
}

/// Puts the windows of the WINDOW clause in the place of their names.
pub(crate) fn name_windows(
    items: &mut [SelectItem],
    order_by: &mut [OrderItem],
    known: &[(String, Window)],
) -> Result<(), SqlError> {
    let exprs = items.iter_mut().filter_map(|item| match item {
        SelectItem::Value { expr, .. } | SelectItem::Assign { expr, .. } => Some(expr),
        SelectItem::Wildcard(_) => None,
    });
    let mut failed = None;
    for expr in exprs.chain(order_by.iter_mut().map(|item| &mut item.expr)) {
        let taken = std::mem::replace(expr, Expr::Variable(String::new()));
        *expr = taken.rewrite(&mut |part| match part {
            Expr::Function(mut call) => {
                if let Some(window) = call.over.take_if(|window| window.base.is_some()) {
                    match complete(window, known) {
                        Ok(window) => call.over = Some(window),
                        Err(error) => failed = Some(error),
                    }
                }
                Expr::Function(call)
            }
            other => other,
        });
    }
    failed.map_or(Ok(()), Err)
}
