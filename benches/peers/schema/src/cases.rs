//! The schemas of ordinary tools, each with a right and a faulty instance, and the hostile ones.

/// An ordinary case.
pub struct Case {
    pub name: &'static str,
    pub schema: &'static str,
    pub valid: &'static str,
    pub faulty: &'static str,
}

/// Schemas as tools have them: flat arguments, a nested order, a page of rows, a choice of forms.
pub const CASES: &[Case] = &[
    Case {
        name: "echo",
        schema: r#"{"type":"object","properties":{"text":{"type":"string","maxLength":1000}},"required":["text"],"additionalProperties":false}"#,
        valid: r#"{"text":"hello 10000000"}"#,
        faulty: r#"{"text":7,"more":true}"#,
    },
    Case {
        name: "lookup",
        schema: r#"{"type":"object","properties":{"status":{"type":"string","enum":["open","overdue","paid"]},"limit":{"type":"integer","minimum":1,"maximum":100},"since":{"type":"string","format":"date"},"currency":{"type":"string","pattern":"^[A-Z]{3}$"}},"required":["status"],"additionalProperties":false}"#,
        valid: r#"{"status":"overdue","limit":50,"since":"2026-11-30","currency":"EUR"}"#,
        faulty: r#"{"status":"late","limit":500,"since":"yesterday","currency":"eur"}"#,
    },
    Case {
        name: "ticket",
        schema: r#"{"type":"object","properties":{"title":{"type":"string","minLength":3,"maxLength":120},"body":{"type":"string","maxLength":4000},"priority":{"type":"string","enum":["low","normal","high"]},"customer":{"type":"object","properties":{"reference":{"type":"string","pattern":"^CUS-[0-9]{6}$"},"email":{"type":"string","format":"email","maxLength":254}},"required":["reference"],"additionalProperties":false},"labels":{"type":"array","items":{"type":"string","maxLength":40},"maxItems":10,"uniqueItems":true}},"required":["title","body","customer"],"additionalProperties":false}"#,
        valid: r#"{"title":"Invoice is missing","body":"The invoice of May did not arrive, please send it again.","priority":"high","customer":{"reference":"CUS-004711","email":"dana@example.com"},"labels":["billing","email"]}"#,
        faulty: r#"{"title":"In","body":"The invoice","priority":"urgent","customer":{"email":"dana"},"labels":["a","a"]}"#,
    },
    Case {
        name: "page-of-rows",
        schema: r##"{"type":"object","$defs":{"row":{"type":"object","properties":{"reference":{"type":"string","maxLength":40},"currency":{"type":"string","pattern":"^[A-Z]{3}$"},"amount_minor":{"type":"integer"},"due_on":{"type":"string","format":"date"}},"required":["reference","currency","amount_minor"],"additionalProperties":false}},"properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"},"maxItems":50},"truncated":{"type":"boolean"}},"required":["rows","truncated"],"additionalProperties":false}"##,
        valid: r#"{"rows":[{"reference":"INV-000001","currency":"EUR","amount_minor":120000,"due_on":"2026-11-30"},{"reference":"INV-000002","currency":"USD","amount_minor":9007199254740993,"due_on":"2026-12-01"},{"reference":"INV-000003","currency":"JPY","amount_minor":5,"due_on":"2026-12-02"},{"reference":"INV-000004","currency":"EUR","amount_minor":77,"due_on":"2026-12-03"},{"reference":"INV-000005","currency":"EUR","amount_minor":78,"due_on":"2026-12-04"}],"truncated":false}"#,
        faulty: r#"{"rows":[{"reference":"INV-000001","currency":"EUR","amount_minor":120000},{"reference":"INV-000002","currency":"usd","amount_minor":1.5},{"reference":3,"currency":"JPY","amount_minor":5}],"truncated":"no"}"#,
    },
    Case {
        name: "choice",
        schema: r#"{"type":"object","properties":{"target":{"oneOf":[{"type":"object","properties":{"kind":{"const":"email"},"address":{"type":"string","maxLength":254}},"required":["kind","address"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"webhook"},"url":{"type":"string","format":"uri"}},"required":["kind","url"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"file"},"path":{"type":"string"}},"required":["kind","path"],"additionalProperties":false}]}},"required":["target"],"additionalProperties":false}"#,
        valid: r#"{"target":{"kind":"webhook","url":"https://example.com/hook"}}"#,
        faulty: r#"{"target":{"kind":"webhook","address":"dana@example.com"}}"#,
    },
];

/// A case that grows.
pub struct Hostile {
    pub name: &'static str,
    pub sizes: usize,
    pub schema: fn(usize) -> String,
    pub instance: fn(usize) -> String,
}

/// What a hostile author of schemas or arguments would send.
pub const HOSTILE: &[Hostile] = &[
    Hostile {
        name: "nested arrays against a recursive anyOf",
        sizes: 24,
        schema: recursive,
        instance: nested,
    },
    Hostile { name: "chained pairs of allOf", sizes: 24, schema: chained, instance: |_| "1".to_owned() },
];

fn recursive(_size: usize) -> String {
    r##"{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/a"}},{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":2}]}}}"##
        .to_owned()
}

fn nested(size: usize) -> String {
    format!("{}1{}", "[".repeat(size), "]".repeat(size))
}

fn chained(size: usize) -> String {
    let links: Vec<String> = (0..size)
        .map(|at| {
            format!(
                r##""d{at}":{{"allOf":[{{"$ref":"#/$defs/d{n}"}},{{"$ref":"#/$defs/d{n}"}}]}}"##,
                n = at + 1
            )
        })
        .collect();
    format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{size}":{{"type":"integer"}}}}}}"##, links.join(","))
}
