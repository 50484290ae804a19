//! The three evaluators behind one trait. Instances are parsed beforehand: parsing is not what is compared.

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};
use callgate_protocol::json::{Document, Limits};
use serde_json::Value;

/// An evaluator of compiled schemas.
pub trait Subject: Sized {
    /// The name in the report.
    const NAME: &'static str;
    /// A parsed instance.
    type Instance;

    /// Parses an instance.
    fn instance(text: &str) -> Self::Instance;
    /// Compiles a schema, or nothing if it is refused.
    fn try_compile(schema: &str) -> Option<Self>;
    /// The verdict.
    fn is_valid(&self, instance: &Self::Instance) -> bool;
    /// The number of errors, after all of them were rendered.
    fn errors(&self, instance: &Self::Instance) -> usize;

    /// Compiles a schema that is known to be right.
    fn compile(schema: &str) -> Self {
        Self::try_compile(schema).unwrap_or_else(|| panic!("{} refuses the schema", Self::NAME))
    }
}

/// Ours.
pub struct Callgate(Schema);

impl Subject for Callgate {
    const NAME: &'static str = "callgate";
    type Instance = Document;

    fn instance(text: &str) -> Document {
        Document::parse(text, &Limits::DEFAULT).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_compile(schema: &str) -> Option<Self> {
        Schema::compile(schema, &SchemaLimits::DEFAULT).ok().map(Self)
    }

    fn is_valid(&self, instance: &Document) -> bool {
        self.0.is_valid(instance.root()) == Ok(true)
    }

    fn errors(&self, instance: &Document) -> usize {
        match self.0.validate(instance.root()) {
            Verdict::Valid => 0,
            Verdict::Invalid(violations) => {
                violations.list.iter().map(|v| v.pointer.len().min(1) + v.expected.len().min(1)).sum()
            }
            Verdict::OverBudget => 1,
        }
    }
}

/// `jsonschema`, which most Rust code takes.
pub struct JsonSchema(jsonschema::Validator);

impl Subject for JsonSchema {
    const NAME: &'static str = "jsonschema";
    type Instance = Value;

    fn instance(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_compile(schema: &str) -> Option<Self> {
        let schema = serde_json::from_str(schema).ok()?;
        jsonschema::options().should_validate_formats(true).build(&schema).ok().map(Self)
    }

    fn is_valid(&self, instance: &Value) -> bool {
        self.0.is_valid(instance)
    }

    fn errors(&self, instance: &Value) -> usize {
        self.0.iter_errors(instance).map(|error| error.masked().to_string().len().min(1)).sum()
    }
}

/// `boon`.
pub struct Boon {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Subject for Boon {
    const NAME: &'static str = "boon";
    type Instance = Value;

    fn instance(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_compile(schema: &str) -> Option<Self> {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource("mem://bench/schema.json", serde_json::from_str(schema).ok()?).ok()?;
        let index = compiler.compile("mem://bench/schema.json", &mut schemas).ok()?;
        Some(Self { schemas, index })
    }

    fn is_valid(&self, instance: &Value) -> bool {
        self.schemas.validate(instance, self.index).is_ok()
    }

    fn errors(&self, instance: &Value) -> usize {
        match self.schemas.validate(instance, self.index) {
            Ok(()) => 0,
            Err(error) => error.to_string().len().min(1),
        }
    }
}
