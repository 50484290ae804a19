//! Keyset pagination: the condition and the order that begin a page after a given row.
//!
//! Keys may differ in direction and may be NULL; each store keeps its own place for NULL, so that an
//! index in that order can be used. Values are parameters here as everywhere. Both sources call it.

use callgate_core::port::{KeyValue, SortKey};

/// Where a store sorts NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    all(not(test), not(feature = "postgres")),
    expect(dead_code, reason = "each store has one of the places")
)]
pub(crate) enum Nulls {
    /// Before everything, as SQLite does.
    Low,
    /// After everything, as PostgreSQL does.
    High,
}

/// A name as both stores quote it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `order by` for the keys.
pub(crate) fn order(keys: &[SortKey]) -> String {
    let part =
        |key: &SortKey| format!("{} {}", quoted(&key.column), if key.descending { "desc" } else { "asc" });
    keys.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The condition that a row comes after the one with these values. `parameter` writes the parameter of
/// the key with that number; it is called only for values that are not NULL.
pub(crate) fn after(
    keys: &[SortKey],
    values: &[KeyValue],
    nulls: Nulls,
    parameter: impl Fn(usize) -> String,
) -> String {
    let mut choices = Vec::with_capacity(keys.len());
    let mut equal = String::new();
    for (number, (key, value)) in keys.iter().zip(values).enumerate() {
        let column = quoted(&key.column);
        let nulls_first = (nulls == Nulls::Low) != key.descending;
        let (later, same) = if *value == KeyValue::Null {
            let later = if nulls_first { format!("{column} is not null") } else { "false".to_owned() };
            (later, format!("{column} is null"))
        } else {
            let bound = parameter(number);
            let compare = if key.descending { '<' } else { '>' };
            let beyond = format!("{column} {compare} {bound}");
            let later = if nulls_first { beyond } else { format!("({beyond} or {column} is null)") };
            (later, format!("{column} = {bound}"))
        };
        choices.push(format!("({equal}{later})"));
        equal.push_str(&same);
        equal.push_str(" and ");
    }
    choices.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(column: &str, descending: bool) -> SortKey {
        SortKey { column: column.to_owned(), descending }
    }

    #[test]
    fn mixed_directions_and_nulls_keep_their_order() {
        let keys = [key("a", true), key("b\"x", false)];
        let values = [KeyValue::Integer(1), KeyValue::Integer(2)];
        let write = |number| format!("${number}");
        assert_eq!(
            after(&keys, &values, Nulls::Low, write),
            r#"(("a" < $0 or "a" is null)) or ("a" = $0 and "b""x" > $1)"#
        );
        assert_eq!(
            after(&keys, &values, Nulls::High, write),
            r#"("a" < $0) or ("a" = $0 and ("b""x" > $1 or "b""x" is null))"#
        );
        let values = [KeyValue::Null, KeyValue::Integer(2)];
        assert_eq!(after(&keys, &values, Nulls::Low, write), r#"(false) or ("a" is null and "b""x" > $1)"#);
        assert_eq!(
            after(&keys, &values, Nulls::High, write),
            r#"("a" is not null) or ("a" is null and ("b""x" > $1 or "b""x" is null))"#
        );
        assert_eq!(order(&keys), r#""a" desc, "b""x" asc"#);
    }
}
