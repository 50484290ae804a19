//! The fields of a form by which a person is asked: a flat object of primitive values and choices.
//!
//! A field of a kind that is not known here must be kept as it is. Elicitation carries them.

use super::field::{Entries, Wire, WireError};
use super::raw::{Number, RawJson};
use crate::json::Value;

wire_struct! {
    /// The fields of a form: a flat object of primitive values.
    pub struct RequestedSchema ["type" = "object"] {
        required {
            /// The fields by name.
            properties: Entries<PrimitiveSchema> = "properties",
        }
        optional {
            /// The fields that must be filled.
            required: Vec<String> = "required",
            /// The dialect.
            schema: String = "$schema",
        }
    }
}

/// The schema of one field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// Text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of some values.
    SingleSelect(UntitledSingleSelectSchema),
    /// One of some values with titles.
    TitledSingleSelect(TitledSingleSelectSchema),
    /// Some of some values.
    MultiSelect(UntitledMultiSelectSchema),
    /// Some of some values with titles.
    TitledMultiSelect(TitledMultiSelectSchema),
    /// One of some values, with titles in `enumNames`; the older form.
    LegacyTitledEnum(LegacyTitledEnumSchema),
    /// A kind that this version does not know.
    Other(RawJson),
}

impl Wire for PrimitiveSchema {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        let kind = value.get("type").and_then(|kind| kind.as_str());
        let has = |name: &str| value.get(name).is_some();
        match kind.as_deref() {
            Some("boolean") => BooleanSchema::read(value).map(Self::Boolean),
            Some("number" | "integer") => NumberSchema::read(value).map(Self::Number),
            Some("string") if has("oneOf") => {
                TitledSingleSelectSchema::read(value).map(Self::TitledSingleSelect)
            }
            Some("string") if has("enumNames") => {
                LegacyTitledEnumSchema::read(value).map(Self::LegacyTitledEnum)
            }
            Some("string") if has("enum") => UntitledSingleSelectSchema::read(value).map(Self::SingleSelect),
            Some("string") => StringSchema::read(value).map(Self::String),
            Some("array") if value.path(["items", "anyOf"]).is_some() => {
                TitledMultiSelectSchema::read(value).map(Self::TitledMultiSelect)
            }
            Some("array") if value.path(["items", "enum"]).is_some() => {
                UntitledMultiSelectSchema::read(value).map(Self::MultiSelect)
            }
            _ => Ok(Self::Other(value.into())),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::String(schema) => schema.write(out),
            Self::Number(schema) => schema.write(out),
            Self::Boolean(schema) => schema.write(out),
            Self::SingleSelect(schema) => schema.write(out),
            Self::TitledSingleSelect(schema) => schema.write(out),
            Self::MultiSelect(schema) => schema.write(out),
            Self::TitledMultiSelect(schema) => schema.write(out),
            Self::LegacyTitledEnum(schema) => schema.write(out),
            Self::Other(schema) => schema.write(out),
        }
    }
}

wire_names! {
    /// The form that a text must have.
    pub enum StringFormat {
        /// A mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date.
        Date = "date",
        /// A date with time and zone.
        DateTime = "date-time",
    }
}

wire_names! {
    /// The kind of a number.
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
    }
}

wire_struct! {
    /// A field for text.
    pub struct StringSchema ["type" = "string"] {
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// The fewest characters.
            min_length: Number = "minLength",
            /// The most characters.
            max_length: Number = "maxLength",
            /// The form.
            format: StringFormat = "format",
            /// What is filled in; since 2025-11-25.
            default: String = "default",
        }
    }
}

wire_struct! {
    /// A field for a number.
    pub struct NumberSchema {
        required {
            /// Any number, or a whole one.
            kind: NumberKind = "type",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// The least value.
            minimum: Number = "minimum",
            /// The greatest value.
            maximum: Number = "maximum",
            /// What is filled in; since 2025-11-25.
            default: Number = "default",
        }
    }
}

wire_struct! {
    /// A field for yes or no.
    pub struct BooleanSchema ["type" = "boolean"] {
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// What is filled in.
            default: bool = "default",
        }
    }
}

wire_struct! {
    /// A field for one of some values.
    pub struct UntitledSingleSelectSchema ["type" = "string"] {
        required {
            /// The values.
            values: Vec<String> = "enum",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// What is chosen; since 2025-11-25.
            default: String = "default",
        }
    }
}

wire_struct! {
    /// A value with its title.
    pub struct TitledValue {
        required {
            /// The value.
            value: String = "const",
            /// The name for people.
            title: String = "title",
        }
    }
}

wire_struct! {
    /// A field for one of some values with titles; since 2025-11-25.
    pub struct TitledSingleSelectSchema ["type" = "string"] {
        required {
            /// The values.
            one_of: Vec<TitledValue> = "oneOf",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// What is chosen.
            default: String = "default",
        }
    }
}

wire_struct! {
    /// The values of a field for some of them.
    pub struct SelectItems ["type" = "string"] {
        required {
            /// The values.
            values: Vec<String> = "enum",
        }
    }
}

wire_struct! {
    /// The values with titles of a field for some of them.
    pub struct TitledSelectItems {
        required {
            /// The values.
            any_of: Vec<TitledValue> = "anyOf",
        }
    }
}

wire_struct! {
    /// A field for some of some values; since 2025-11-25.
    pub struct UntitledMultiSelectSchema ["type" = "array"] {
        required {
            /// The values.
            items: SelectItems = "items",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// The fewest values.
            min_items: Number = "minItems",
            /// The most values.
            max_items: Number = "maxItems",
            /// What is chosen.
            default: Vec<String> = "default",
        }
    }
}

wire_struct! {
    /// A field for some of some values with titles; since 2025-11-25.
    pub struct TitledMultiSelectSchema ["type" = "array"] {
        required {
            /// The values.
            items: TitledSelectItems = "items",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// The fewest values.
            min_items: Number = "minItems",
            /// The most values.
            max_items: Number = "maxItems",
            /// What is chosen.
            default: Vec<String> = "default",
        }
    }
}

wire_struct! {
    /// A field for one of some values, with titles in a second list; the older form.
    pub struct LegacyTitledEnumSchema ["type" = "string"] {
        required {
            /// The values.
            values: Vec<String> = "enum",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// The titles of the values, in the same order.
            names: Vec<String> = "enumNames",
            /// What is chosen.
            default: String = "default",
        }
    }
}
