//! The bounds on rows and bytes, at the bound and one past it.

use callgate_core::port::{Class, Column, Form, SortKey};

use super::*;

fn statement(paged: bool) -> Statement {
    let column =
        |name: &str, null| Column { name: name.to_owned(), class: Class::Unknown, form: Form::Any, null };
    let columns = vec![column("a", NullForm::Null), column("b", NullForm::Omitted)];
    let key = SortKey { column: "a".to_owned(), descending: false };
    Statement { sql: String::new(), columns, key: if paged { vec![key] } else { Vec::new() } }
}

fn write(statement: &Statement, rows: &[i64], max_rows: usize, max_bytes: usize) -> Result<Rows, QueryError> {
    let mut writer = RowWriter::new(statement, max_rows, max_bytes);
    for row in rows {
        let cell = |index| Ok(if index == 0 { Cell::Integer(*row) } else { Cell::Null });
        if writer.row(cell, vec![KeyValue::Integer(*row)])? == Next::Enough {
            break;
        }
    }
    Ok(writer.finish())
}

#[test]
fn null_is_null_or_left_out_as_declared() {
    let rows = write(&statement(false), &[1, 2], 10, 1000).unwrap();
    assert_eq!(rows.json, r#"[{"a":1},{"a":2}]"#);
    assert_eq!((rows.count, rows.cut, rows.last), (2, Cut::Whole, None));
}

#[test]
fn exactly_the_bound_on_rows_is_no_cut() {
    assert_eq!(write(&statement(true), &[1, 2], 2, 1000).unwrap().cut, Cut::Whole);
    let rows = write(&statement(true), &[1, 2, 3], 2, 1000).unwrap();
    assert_eq!((rows.count, rows.cut, rows.last), (2, Cut::Rows, Some(vec![KeyValue::Integer(2)])));
}

#[test]
fn the_bound_on_bytes_keeps_whole_rows() {
    let exact = r#"[{"a":1},{"a":2}]"#.len();
    assert_eq!(write(&statement(true), &[1, 2], 10, exact).unwrap().cut, Cut::Whole);
    let rows = write(&statement(true), &[1, 2], 10, exact - 1).unwrap();
    assert_eq!((rows.json.as_str(), rows.cut), (r#"[{"a":1}]"#, Cut::Bytes));
    assert_eq!(rows.last, Some(vec![KeyValue::Integer(1)]));
    assert_eq!(write(&statement(true), &[1, 2], 10, 8).unwrap_err(), QueryError::RowTooLarge);
}

#[test]
fn a_cut_between_equal_keys_is_refused_when_paged() {
    assert_eq!(write(&statement(true), &[1, 1], 1, 1000).unwrap_err(), QueryError::KeyNotUnique);
    assert_eq!(write(&statement(false), &[1, 1], 1, 1000).unwrap().cut, Cut::Rows);
}
