//! The shape of an input or of a row: properties in the file, or a JSON Schema in a file of its own.
//!
//! A table whose `type` is a string is a whole JSON Schema; every other table has one property a
//! member, and `required = true` inside a property says that it must be there. Whether the schema is
//! a good one is decided by the schema compiler, not here. Tools are the caller.

use std::borrow::Cow;
use std::path::Path;

use callgate_protocol::json::{self, Document, Kind, ParseErrorKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::finding::{Finding, Place, SourceFile};
use super::json::{Places, places_in, pointer, push_toml};
use super::keywords::check_keywords;
use super::limits::Limits;
use super::located::Located;
use super::reader::{Reading, Table, article, in_file_order};

/// Where the shape of an input or of a row is written.
#[derive(Clone, Debug)]
pub enum Shape {
    /// In a `.json` file, relative to the directory of `callgate.toml`.
    File(Located<String>),
    /// In `callgate.toml`.
    Inline(ObjectSchema),
}

/// A JSON Schema of an object, and where its parts were written.
#[derive(Clone, Debug)]
pub struct ObjectSchema {
    /// The schema.
    pub text: String,
    /// Where its parts were written, by JSON pointer into `text`.
    pub places: Places,
    /// Where the whole of it was written.
    pub place: Place,
    /// The members of `properties`.
    pub properties: Vec<Property>,
    /// Whether the file has a table of properties, from which `text` was made.
    pub(crate) from_table: bool,
}

/// A property of an [`ObjectSchema`].
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Where it was written.
    pub place: Place,
    /// Its schema.
    pub text: String,
    /// Whether it must be there.
    pub required: bool,
}

impl ObjectSchema {
    /// The schema of an object without properties.
    #[must_use]
    pub fn empty(place: Place) -> Self {
        let text = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}".to_owned();
        Self { text, places: Places::new(), place, properties: Vec::new(), from_table: true }
    }

    /// The same with another property, which is optional. It counts as written where the whole was.
    pub(crate) fn with_property(mut self, name: &str, schema: &str) -> Self {
        let place = self.place.clone();
        let (name, text) = (name.to_owned(), schema.to_owned());
        self.properties.push(Property { name, place, text, required: false });
        if self.from_table {
            self.text = text_of(&self.properties);
            return self;
        }
        let Ok(document) = Document::parse(self.text.as_str(), &json::Limits::default()) else { return self };
        let mut text = String::from("{");
        for (index, (key, value)) in document.root().members().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(key.raw());
            text.push(':');
            if key.is_str("properties") {
                push_properties(&mut text, &self.properties);
            } else {
                text.push_str(value.raw());
            }
        }
        text.push('}');
        self.text = text;
        self
    }

    /// Makes properties required, where the schema is made from a table of properties.
    pub(crate) fn require(&mut self, which: impl Fn(&Property) -> bool) {
        if self.from_table {
            for property in &mut self.properties {
                property.required |= which(property);
            }
            self.text = text_of(&self.properties);
        }
    }

    /// The property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }
}

impl Shape {
    pub(super) fn read(table: &mut Table<'_, '_>, key: &'static str) -> Option<Self> {
        let reading = table.reading();
        let value = table.value(key)?;
        let place = reading.place(value.span());
        match value.get_ref() {
            DeValue::String(path) if has_json_extension(path) => {
                Some(Self::File(Located::new(path.to_string(), place)))
            }
            DeValue::String(_) => {
                reading.report(
                    value.span(),
                    Finding::error(
                        "wrong_type",
                        format!("`{key}` of {} names a file that does not end in .json", table.name()),
                        "name a .json file with a JSON Schema, or write a table of properties",
                    ),
                );
                None
            }
            DeValue::Table(members) if members.get("type").is_some_and(|kind| kind.get_ref().is_str()) => {
                check_keywords(reading, members);
                let mut places = Places::new();
                let mut text = String::new();
                push_toml(reading, value, "", &mut places, &mut text);
                let document = Document::parse(text.clone(), &json::Limits::default()).ok()?;
                match object_schema(&document, places, place.clone()) {
                    Ok(schema) => Some(Self::Inline(schema)),
                    Err(finding) => {
                        let at = finding.place.as_ref().map_or(place.span(), Place::span);
                        reading.report(at, finding);
                        None
                    }
                }
            }
            DeValue::Table(_) => {
                let properties = table.table(key, format!("`{key}` of {}", table.name()))?;
                Some(Self::Inline(of_properties(reading, value, place, properties.name())))
            }
            other => {
                table.mismatch(key, value.span(), "a table of properties or the name of a .json file", other);
                None
            }
        }
    }
}

fn has_json_extension(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// The schema of a table that has one property a member.
fn of_properties(
    reading: &Reading,
    value: &toml::Spanned<DeValue<'_>>,
    place: Place,
    name: &str,
) -> ObjectSchema {
    let mut schema = ObjectSchema::empty(place);
    schema.places.insert(String::new(), schema.place.clone());
    let members = value.get_ref().as_table().map(in_file_order).unwrap_or_default();
    for (key, property) in members {
        let DeValue::Table(keywords) = property.get_ref() else {
            reading.report(
                property.span(),
                Finding::error(
                    "wrong_type",
                    format!(
                        "`{}` in {name} must be a table, not {}",
                        key.get_ref(),
                        article(property.get_ref())
                    ),
                    format!(
                        "describe the property, for example `{} = {{ type = \"string\" }}`",
                        key.get_ref()
                    ),
                ),
            );
            continue;
        };
        check_keywords(reading, keywords);
        let required = keywords.get("required").is_some_and(|flag| flag.get_ref().as_bool() == Some(true));
        let mut stripped = keywords.clone();
        if keywords.get("required").is_some_and(|flag| flag.get_ref().is_bool()) {
            stripped.remove("required");
        }
        let stripped = toml::Spanned::new(property.span(), DeValue::Table(stripped));
        let at = pointer("/properties", key.get_ref());
        let mut text = String::new();
        push_toml(reading, &stripped, &at, &mut schema.places, &mut text);
        schema.properties.push(Property {
            name: key.get_ref().to_string(),
            place: reading.place(key.span()),
            text,
            required,
        });
    }
    schema.text = text_of(&schema.properties);
    schema
}

pub(super) fn text_of(properties: &[Property]) -> String {
    let mut text = String::from("{\"type\":\"object\",\"properties\":");
    push_properties(&mut text, properties);
    let required: Vec<&Property> = properties.iter().filter(|property| property.required).collect();
    if !required.is_empty() {
        text.push_str(",\"required\":[");
        for (index, property) in required.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            json::push_string(&mut text, &property.name);
        }
        text.push(']');
    }
    text.push_str(",\"additionalProperties\":false}");
    text
}

fn push_properties(text: &mut String, properties: &[Property]) {
    text.push('{');
    for (index, property) in properties.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        json::push_string(text, &property.name);
        text.push(':');
        text.push_str(&property.text);
    }
    text.push('}');
}

/// A whole JSON Schema, which must be one of an object.
fn object_schema(document: &Document, places: Places, place: Place) -> Result<ObjectSchema, Finding> {
    let root = document.root();
    let at = |pointer: &str| places.get(pointer).cloned().unwrap_or_else(|| place.clone());
    if !root.get("type").is_some_and(|kind| kind.is_str("object")) {
        return Err(Finding::error(
            "bad_schema",
            "the schema must be one of an object",
            "give its root `\"type\": \"object\"` and `properties`",
        )
        .at(at(if root.get("type").is_some() { "/type" } else { "" })));
    }
    let Some(members) = root.get("properties").filter(|members| members.kind() == Kind::Object) else {
        return Err(Finding::error(
            "bad_schema",
            "the schema has no `properties` at its root",
            "list each parameter or column under `properties`; references and `allOf` cannot stand for them",
        )
        .at(at("")));
    };
    let required: Vec<Cow<'_, str>> = root
        .get("required")
        .into_iter()
        .flat_map(|names| names.items())
        .filter_map(|name| name.as_str())
        .collect();
    let mut properties = Vec::with_capacity(members.len());
    for (key, value) in members.members() {
        let name = key.as_str().unwrap_or_default().into_owned();
        properties.push(Property {
            place: at(&pointer("/properties", &name)),
            text: value.raw().to_owned(),
            required: required.iter().any(|other| *other == name),
            name,
        });
    }
    let text = document.text().to_owned();
    Ok(ObjectSchema { text, places, place, properties, from_table: false })
}

/// Reads the schema of a `.json` file.
///
/// # Errors
/// That the file cannot be read, at the place that names it; or what is wrong in it, at its line.
pub(crate) fn read_file(
    path: &Located<String>,
    directory: &Path,
    limits: &Limits,
) -> Result<ObjectSchema, Finding> {
    let full = directory.join(path.as_str());
    let unreadable = |why: super::text::Unreadable| {
        Finding::error(
            "unreadable_file",
            format!("the schema file {:?} cannot be read: {why}", path.as_str()),
            why.remedy(
                "check the name, which is relative to the directory of the configuration, and the permissions",
            ),
        )
        .at(path.place().clone())
    };
    let text = super::read_text(&full, limits.schema_file_bytes).map_err(unreadable)?;
    let file = SourceFile::new(path.as_str(), text);
    let document = Document::parse(file.text(), &json::Limits::default()).map_err(|error| {
        Finding::error("bad_json", format!("this is not JSON: {error}"), bad_json(error.kind))
            .at(file.place(error.offset..error.offset + 1))
    })?;
    let places = places_in(&file, &document);
    let start = document.root().offset();
    object_schema(&document, places, file.place(start..start + 1))
}

/// What the parser wants instead.
fn bad_json(kind: ParseErrorKind) -> &'static str {
    match kind {
        ParseErrorKind::UnexpectedEnd => {
            "close what is open: a string with `\"`, an array with `]`, an object with `}`"
        }
        ParseErrorKind::UnexpectedCharacter => {
            "write a value here (`{`, `[`, a string in double quotes, a number, `true`, `false` or `null`), or \
             the `,`, `:` or closing bracket that is missing; JSON has no comments and no comma before a \
             closing bracket"
        }
        ParseErrorKind::TrailingText => "end the file after its one value",
        ParseErrorKind::Number | ParseErrorKind::NumberRange => {
            "write the number in decimal, as `10`, `-0.5` or `1e6`, without leading zeros or a plus sign"
        }
        ParseErrorKind::String => {
            "escape control characters, `\"` and `\\` in the string, for example as `\\n`"
        }
        ParseErrorKind::Surrogate => "write the character itself, or both halves of the pair",
        ParseErrorKind::DuplicateMember => "name each member of an object once",
        _ => "make the schema smaller and flatter",
    }
}

impl JsonSchema for Shape {
    fn schema_name() -> Cow<'static, str> {
        "Shape".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Properties, a JSON Schema of an object, or the name of a `.json` file that holds one.",
            "anyOf": [
                { "type": "string", "pattern": "\\.json$" },
                {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "description": "A JSON Schema; `required = true` says that the property must be there.",
                        "properties": {
                            "type": true,
                            "description": { "type": "string" },
                            "enum": { "type": "array" },
                            "format": { "type": "string" },
                            "pattern": { "type": "string" },
                            "required": { "type": ["boolean", "array"] },
                            "mask": {
                                "description": "In an output: the field leaves as a mark; `keep_last` characters stay visible.",
                                "anyOf": [
                                    { "type": "boolean" },
                                    {
                                        "type": "object",
                                        "properties": { "keep_last": { "type": "integer", "minimum": 0, "maximum": 8 } },
                                        "required": ["keep_last"],
                                        "additionalProperties": false
                                    }
                                ]
                            }
                        }
                    }
                },
                {
                    "type": "object",
                    "properties": { "type": { "const": "object" }, "properties": { "type": "object" } },
                    "required": ["type"]
                }
            ]
        })
    }
}
