//! What a statement would do, read from its text, for a good message at load.
//!
//! This is no barrier: the read-only transaction is. It walks the whole statement, so that a write in
//! a `with` or a locking subquery is named at its place. The prepare step calls it.

use std::ops::{ControlFlow, Range};

use callgate_core::port::Fault;
use sqlparser::ast::{
    Expr, ObjectName, ObjectNamePart, Query, Select, Spanned, Statement, TableFactor, Visitor,
};
use sqlparser::tokenizer::{Location, Span};

use super::session::Access;
use crate::sql::{Dialect, Offsets, Template};

/// A function that a statement calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Called {
    /// The schema, where it is written.
    pub(super) schema: Option<String>,
    /// The name as PostgreSQL stores it.
    pub(super) name: String,
    /// Where it is called.
    pub(super) at: Option<Range<usize>>,
}

/// Judges a statement as rendered for PostgreSQL, and lists the functions that it calls.
pub(super) fn classify(
    rendered: &str,
    offsets: &Offsets,
    template: &Template,
    access: Access,
) -> Result<Vec<Called>, Vec<Fault>> {
    let statements = match crate::sql::parse(rendered, Dialect::Postgres) {
        Some(statements) if statements.len() == 1 => statements,
        _ => {
            return Err(vec![Fault {
                code: "sql_unreadable",
                message: "the statement cannot be judged: its syntax is not known here".to_owned(),
                remedy: "correct it, write it more plainly, or put it into a view and select from that"
                    .to_owned(),
                at: None,
            }]);
        }
    };
    let mut walk = Walk { rendered, offsets, template, access, faults: Vec::new(), called: Vec::new() };
    for statement in &statements {
        crate::sql::visit(statement, &mut walk);
    }
    if walk.faults.is_empty() { Ok(walk.called) } else { Err(walk.faults) }
}

struct Walk<'t> {
    rendered: &'t str,
    offsets: &'t Offsets,
    template: &'t Template,
    access: Access,
    faults: Vec<Fault>,
    called: Vec<Called>,
}

impl Walk<'_> {
    fn refuse(&mut self, message: String, at: Option<Range<usize>>) {
        self.faults.push(Fault {
            code: "sql_writes",
            message,
            remedy: "a tool that reads is one `select`; what changes rows stands under `statements`"
                .to_owned(),
            at,
        });
    }

    fn call(&mut self, name: &ObjectName) {
        let parts: Vec<_> = name
            .0
            .iter()
            .filter_map(|part| match part {
                ObjectNamePart::Identifier(ident) => Some(ident),
                ObjectNamePart::Function(_) => None,
            })
            .collect();
        let stored = |ident: &sqlparser::ast::Ident| match ident.quote_style {
            Some(_) => ident.value.clone(),
            None => ident.value.to_lowercase(),
        };
        let Some((last, before)) = parts.split_last() else { return };
        self.called.push(Called {
            schema: before.last().map(|ident| stored(ident)),
            name: stored(last),
            at: self.range(last.span),
        });
    }

    fn range(&self, span: Span) -> Option<Range<usize>> {
        let start = self.offset(span.start)?;
        let end = self.offset(span.end)?;
        Some(self.offsets.original(start)..self.offsets.original(end))
    }

    /// The byte of a location, which counts lines and characters from 1; zero means unknown.
    fn offset(&self, location: Location) -> Option<usize> {
        let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(location.column).ok()?.checked_sub(1)?;
        let start: usize = self.rendered.split_inclusive('\n').take(line).map(str::len).sum();
        let rest = self.rendered.get(start..)?;
        Some(start + rest.chars().take(column).map(char::len_utf8).sum::<usize>())
    }
}

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let changes = self.access == Access::Write
            && matches!(statement, Statement::Insert(_) | Statement::Update { .. } | Statement::Delete(_));
        if !(changes || matches!(statement, Statement::Query(_))) {
            let text = statement.to_string();
            let verb = text.split_whitespace().next().unwrap_or_default().to_lowercase();
            let at = self.template.word(&verb);
            self.refuse(format!("the statement is no query: it would {verb}"), at);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(lock) = query.locks.first() {
            let at = self.template.word("for");
            self.refuse(format!("the statement locks rows with `{lock}`"), at);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.into.is_some() {
            let at = self.template.word("into");
            self.refuse("the statement makes a table with `select ... into`".to_owned(), at);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                self.call(name);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression {
            self.call(&function.name);
            // The span of the whole call, for names that have none of their own.
            let whole = self.range(function.span());
            if let Some(called) = self.called.last_mut() {
                called.at = called.at.take().or(whole);
            }
        }
        ControlFlow::Continue(())
    }
}
