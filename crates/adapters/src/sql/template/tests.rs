//! Finding parameters: what is one, what only looks like one.

use super::*;

fn names(sql: &str, dialect: Dialect) -> Vec<String> {
    let template = Template::parse(sql, dialect).unwrap();
    template.parameters().iter().map(|(name, _)| name.clone()).collect()
}

#[test]
fn parameters_are_found_once_each_in_order() {
    let sql = "select :b, :a, :b from t where x=:a_1";
    assert_eq!(names(sql, Dialect::Postgres), ["b", "a", "a_1"]);
    assert_eq!(names(sql, Dialect::Sqlite), ["b", "a", "a_1"]);
}

#[test]
fn strings_comments_casts_and_quoted_names_hold_no_parameters() {
    let sql = "select ':a', \":b\", 'it''s :c', x::text /* :d */ -- :e\nfrom t where y = :real";
    assert_eq!(names(sql, Dialect::Postgres), ["real"]);
    assert_eq!(names("select `:a`, [:b], ':c' from t where y=:real", Dialect::Sqlite), ["real"]);
}

#[test]
fn dollar_quotes_escape_strings_and_nested_comments_are_those_of_postgres() {
    let sql = "select $$ :a $$, $tag$ :b $$ :c $tag$, E'\\' :d', e'\\\\', /* /* :e */ :f */ :real";
    assert_eq!(names(sql, Dialect::Postgres), ["real"]);
    // In SQLite the comment ends at its first `*/`, and a backslash is a character.
    assert_eq!(names("select '\\', :a /* /* :b */, :c", Dialect::Sqlite), ["a", "c"]);
}

#[test]
fn a_rendered_statement_differs_in_its_parameters_only() {
    let sql = "select ':x', é from t where a = :a and b::text = :b and c = :a ;  -- end\n";
    let template = Template::parse(sql, Dialect::Postgres).unwrap();
    let (text, offsets) = template.render(|number| format!("${}", number + 1));
    assert_eq!(text, "select ':x', é from t where a = $1 and b::text = $2 and c = $1 ");
    for (rendered, original) in
        [("c = $1", "c = :a"), ("b::text", "b::text"), ("$2", ":b"), ("select", "select")]
    {
        assert_eq!(offsets.original(text.find(rendered).unwrap()), sql.find(original).unwrap(), "{rendered}");
    }
}

#[test]
fn placeholders_of_other_styles_are_refused_at_their_place() {
    for (sql, dialect, at) in [
        ("select ?", Dialect::Sqlite, 7..8),
        ("select ?1", Dialect::Sqlite, 7..9),
        ("select @a", Dialect::Sqlite, 7..9),
        ("select $a", Dialect::Sqlite, 7..9),
        ("select $1", Dialect::Postgres, 7..9),
    ] {
        let fault = Template::parse(sql, dialect).unwrap_err();
        assert_eq!(fault.at, Some(at), "{sql}");
    }
    assert_eq!(names("select a ? 'k' from t", Dialect::Postgres), Vec::<String>::new());
}

#[test]
fn a_second_statement_is_refused_and_a_last_semicolon_is_not() {
    let fault = Template::parse("select 1; drop table t", Dialect::Sqlite).unwrap_err();
    assert_eq!(fault.code, "sql_statements");
    assert!(Template::parse("select ';' ; /* end */ ;", Dialect::Sqlite).is_ok());
    assert!(Template::parse(" -- nothing\n ;", Dialect::Sqlite).is_err());
}

#[test]
fn what_is_not_closed_is_refused() {
    for sql in ["select 'a", "select \"a", "select /* a", "select $$ a", "select E'\\'"] {
        assert!(Template::parse(sql, Dialect::Postgres).is_err(), "{sql}");
    }
}

#[test]
fn a_word_is_found_outside_of_strings_only() {
    let template = Template::parse("select 'delete', x from DELETED, Delete", Dialect::Postgres).unwrap();
    assert_eq!(template.word("delete"), Some(33..39));
}

#[test]
fn a_test_for_null_does_not_fix_the_type_of_a_parameter() {
    let sql =
        "select 1 where (:q is null or a = :q) and :r IS /* c */ NOT null and :q is null and :s is true";
    let (text, _, numbers) = Template::parse(sql, Dialect::Postgres).unwrap().render_numbered();
    assert_eq!(
        text,
        "select 1 where ($1::text is null or a = $2) and $3::text IS /* c */ NOT null and $1::text is null and $4 is true"
    );
    assert_eq!(numbers, [0, 0, 1, 2]);
}
