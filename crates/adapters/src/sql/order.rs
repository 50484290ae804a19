//! The order that a query gives its rows, read from its text.
//!
//! A page key without a direction takes that of the query, so that nobody writes it twice. Nothing
//! else is read here, and a query that cannot be parsed simply has no known order. The gateway calls it.

use sqlparser::ast::{Expr, OrderByKind, OrderBySort, Query, SelectItem, SetExpr, Statement};
#[cfg(feature = "postgres")]
use sqlparser::ast::{Visit, Visitor};
use sqlparser::dialect::{PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use super::{Dialect, Template};

/// How deep expressions and queries may nest.
pub(crate) const DEPTH: usize = 64;

/// The columns of the outermost `order by` and whether each is descending, under the names that the
/// query gives them.
#[must_use]
pub fn directions(sql: &str, dialect: Dialect) -> Vec<(String, bool)> {
    let Ok(template) = Template::parse(sql, dialect) else { return Vec::new() };
    let (text, _) = template.render(|number| match dialect {
        Dialect::Sqlite => format!("?{}", number + 1),
        Dialect::Postgres => format!("${}", number + 1),
    });
    let Some(Statement::Query(query)) = parse(&text, dialect).and_then(|mut statements| statements.pop())
    else {
        return Vec::new();
    };
    let mut directions = Vec::new();
    let order = query.order_by.as_ref().map(|order| &order.kind);
    if let Some(OrderByKind::Expressions(expressions)) = order {
        for expression in expressions {
            let descending = matches!(expression.options.sort, Some(OrderBySort::Desc));
            for name in names(&query, &expression.expr) {
                directions.push((name, descending));
            }
        }
    }
    directions
}

pub(crate) fn parse(sql: &str, dialect: Dialect) -> Option<Vec<Statement>> {
    let parser = match dialect {
        Dialect::Sqlite => Parser::new(&SQLiteDialect {}),
        Dialect::Postgres => Parser::new(&PostgreSqlDialect {}),
    };
    parser.with_recursion_limit(DEPTH).try_with_sql(sql).ok()?.parse_statements().ok()
}

/// The output columns that an expression of `order by` stands for.
fn names(query: &Query, expression: &Expr) -> Vec<String> {
    let mut names = Vec::new();
    match expression {
        Expr::Identifier(name) => names.push(name.value.clone()),
        Expr::CompoundIdentifier(parts) => names.extend(parts.last().map(|part| part.value.clone())),
        _ => {}
    }
    // `select reference as invoice_reference ... order by reference` orders by that column as well.
    if let SetExpr::Select(select) = &*query.body {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && same(expr, expression)
            {
                names.push(alias.value.clone());
            }
        }
    }
    names
}

fn same(column: &Expr, expression: &Expr) -> bool {
    fn last(expression: &Expr) -> Option<&str> {
        match expression {
            Expr::Identifier(name) => Some(&name.value),
            Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.as_str()),
            _ => None,
        }
    }
    column == expression || last(column).is_some_and(|name| last(expression) == Some(name))
}

/// Visits every statement, query, select, table and expression of a statement.
#[cfg(feature = "postgres")]
pub(crate) fn visit<V: Visitor<Break = ()>>(statement: &Statement, visitor: &mut V) {
    // The visitors of this crate never break.
    let _: std::ops::ControlFlow<()> = statement.visit(visitor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_query_is_found_under_its_column_names() {
        let sql = "select t.reference as invoice_reference, due_on, a + b as s from t where x = :x
                   order by due_on desc, reference, a + b desc";
        let found = directions(sql, Dialect::Sqlite);
        let has = |name: &str, descending| found.contains(&(name.to_owned(), descending));
        assert!(has("due_on", true) && has("invoice_reference", false) && has("s", true), "{found:?}");
        assert_eq!(directions(sql, Dialect::Postgres), found);
        assert!(directions("select 1", Dialect::Postgres).is_empty());
        assert!(directions("not sql :a", Dialect::Postgres).is_empty());
    }
}
