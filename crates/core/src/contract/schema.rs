//! JSON Schema 2020-12 and draft-07, compiled once and evaluated within a budget.
