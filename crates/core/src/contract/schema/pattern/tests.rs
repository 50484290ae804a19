use proptest::prelude::{any, prop, prop_assert_eq, proptest};

use super::{Pattern, PatternError, is_regular_expression};
use crate::contract::schema::SchemaLimits;

fn pattern(source: &str) -> Pattern {
    Pattern::compile(source, &SchemaLimits::DEFAULT).unwrap()
}

#[test]
fn patterns_mean_what_ecma_262_says() {
    for (source, matching, other) in [
        (r"^\d+$", "42", "\u{7c0}"),
        (r"^\w$", "_", "é"),
        (r"^\W$", "é", "a"),
        (r"^\s$", "\u{feff}", "\u{85}"),
        (r"^\S$", "\u{85}", "\u{2029}"),
        (r"^a$", "a", "a\n"),
        (r"^.$", "🎉", "\u{2028}"),
        (r"^\cJ\x41\u0042\u{43}\u{1F389}$", "\nABC🎉", "\nABC"),
        (r"^\ud83c\udf89$", "🎉", "x"),
        (r"^[\ud83c\udf89-\u{1F38A}]$", "🎉", "x"),
        (r"^a\/b\-c$", "a/b-c", "a\\/b"),
        (r"^[\w\-.]+@[a-z]{2,3}$", "a-b.c@de", "a@defg"),
        (r"^[^\d]$", "x", "1"),
        (r"^[\b]$", "\u{8}", "b"),
        (r"\bfoo\b", "a foo b", "afoo"),
        (r"^(?:a|b)*?c$", "abac", "abad"),
        (r"^(?<year>\d{4})-(\d\d)$", "2026-11", "2026-1"),
        (r"^\p{Lu}\p{Script=Greek}$", "Aα", "aα"),
        (r"^\P{L}$", "1", "a"),
        (r"^{.*}$", "{x}", "x"),
        (r"^[a-]$", "-", "b"),
        (r"^[\w-.]$", "-", "+"),
        (r"^[^]$", "\n", ""),
        (r"^a{2}b{1,}$", "aabb", "ab"),
        (r"^\0$", "\0", "0"),
        ("", "anything", "\u{0}\u{0}"),
    ] {
        let pattern = pattern(source);
        assert!(pattern.matches(matching), "{source} matches {matching:?}");
        assert!(source.is_empty() || !pattern.matches(other), "{source} does not match {other:?}");
    }
    assert!(!pattern("[]").matches("x"));
    assert!(!pattern(r"\ud800").matches("x"));
}

#[test]
fn what_needs_backtracking_is_refused_by_name() {
    for (source, what) in [
        (r"^(?=.*[0-9])(\w+\s?)+$", "look-ahead"),
        (r"a(?!b)", "look-ahead"),
        (r"(?<=a)b", "look-behind"),
        (r"(?<!a)b", "look-behind"),
        (r"(a)\1+", "a back-reference"),
        (r"(?<x>a)\k<x>", "a back-reference"),
    ] {
        let error = Pattern::compile(source, &SchemaLimits::DEFAULT).unwrap_err();
        assert!(
            matches!(error, PatternError::Unsupported { what: found, .. } if found == what),
            "{source}: {error}"
        );
        assert!(is_regular_expression(source, &SchemaLimits::DEFAULT), "{source} is a regular expression");
    }
}

#[test]
fn what_is_no_regular_expression_is_refused() {
    for source in [
        "(",
        ")",
        "[a",
        "a**",
        "*a",
        "a{2,1}",
        "^*",
        "(?:a",
        "(?<>a)",
        "[b-a]",
        r"\",
        r"\a",
        r"\u12",
        r"\c1",
        r"\x4",
        r"\pL",
        r"\p{Nonsense}",
        r"\u{110000}",
        "(?x:a)",
        "(?=a)*",
        "{1}",
        r"\01",
    ] {
        let error = Pattern::compile(source, &SchemaLimits::DEFAULT).unwrap_err();
        assert!(!matches!(error, PatternError::TooLarge { .. }), "{source}: {error}");
        assert!(!is_regular_expression(source, &SchemaLimits::DEFAULT), "{source}");
    }
}

#[test]
fn large_patterns_are_refused_before_they_cost_memory() {
    let limits = SchemaLimits::DEFAULT;
    let large =
        |source: &str| matches!(Pattern::compile(source, &limits), Err(PatternError::TooLarge { .. }));
    assert!(large("(a{1000}){1000}"));
    assert!(large("a{4294967295}"));
    assert!(large("((a{99999999999}){99999999999}){99999999999}"));
    assert!(large(r"[\p{L}\p{N}]{1000}"));
    assert!(large(&"a".repeat(limits.pattern_bytes + 1)));
    assert!(!large(&"a".repeat(limits.pattern_bytes)));
    let nested = |depth: usize| format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    assert!(!large(&nested(limits.pattern_depth)));
    assert!(large(&nested(limits.pattern_depth + 1)));
}

proptest! {
    #[test]
    fn a_run_without_engine_accepts_what_the_engine_accepts(
        steps in prop::collection::vec((0..6_usize, 0..4_u32, 0..4_u32), 0..5),
        whole in any::<bool>(),
        text in "[ab1-é読]{0,8}",
    ) {
        let sets = ["a", "[ab]", "[0-9]", "[^a]", "[é-鿿]", "-"];
        let run: String = steps.iter().map(|(set, least, more)| format!("{}{{{least},{}}}", sets[*set], least + more)).collect();
        let end = if whole { "$" } else { "" };
        let ours = pattern(&format!("^{run}{end}"));
        // An alternation is no run, so this one needs the engine.
        let engine = pattern(&format!("^(?:{run}{end}|\\u{{10FFFF}})"));
        prop_assert_eq!(ours.matches(&text), engine.matches(&text));
    }
}

#[test]
fn a_pattern_that_explodes_elsewhere_is_charged_by_the_byte() {
    let hostile = pattern("^(a+)+$");
    let text = format!("{}!", "a".repeat(100_000));
    assert!(!hostile.matches(&text));
    assert!(hostile.cost(text.len()) < SchemaLimits::DEFAULT.evaluate_work);
}
