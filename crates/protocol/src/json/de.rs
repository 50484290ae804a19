//! A serde deserializer over a [`Value`], so that a typed tool reads its arguments without a second
//! parse and without a rounded digit.
//!
//! A number with a zero fraction (`5.0`, `1E2`) is an integer here, as JSON Schema defines it; a
//! fraction is never cut off. Typed tools call it after their input schema has been checked.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::value::{Items, Kind, Members, Value};

/// Reads a typed value.
///
/// # Errors
/// What the type expected and did not find, with the place in the text; never the value itself.
pub fn from_value<'de, T: Deserialize<'de>>(value: Value<'de>) -> Result<T, ArgumentError> {
    T::deserialize(Typed(value))
}

/// A value that does not fit the type it is read into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError(Box<str>);

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ArgumentError {}

/// Every text here is written without the value, which serde's own texts repeat: an argument must not reach
/// a log or another reader by way of its error.
impl serde::de::Error for ArgumentError {
    /// What a type says in its own words may hold the value, so it is not passed on.
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self("a value is not accepted by the type that reads it".into())
    }

    fn invalid_type(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!("expected {expected}").into())
    }

    fn invalid_value(_found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!("expected {expected}").into())
    }

    fn invalid_length(_length: usize, expected: &dyn Expected) -> Self {
        Self(format!("expected {expected}").into())
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("expected one of {}", expected.join(", ")).into())
    }

    fn unknown_field(_field: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("an unknown member, expected {}", expected.join(", ")).into())
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("the member {field} is missing").into())
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(format!("the member {field} is there twice").into())
    }
}

struct Typed<'de>(Value<'de>);

impl<'de> Typed<'de> {
    fn mismatch(&self, expected: &str) -> ArgumentError {
        let found = match self.0.kind() {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        };
        ArgumentError(format!("expected {expected}, found {found} at byte {}", self.0.offset()).into())
    }

    fn whole(&self) -> Result<i128, ArgumentError> {
        self.0
            .as_number()
            .and_then(|number| number.to_i128())
            .ok_or_else(|| self.mismatch("an integer in range"))
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
            let number = <$type>::try_from(self.whole()?)
                .map_err(|_| self.mismatch(concat!("an integer in the range of ", stringify!($type))))?;
            visitor.$visit(number)
        }
    )*};
}

impl<'de> Deserializer<'de> for Typed<'de> {
    type Error = ArgumentError;

    integers!(
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_i128 visit_i128 i128, deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
        deserialize_u128 visit_u128 u128,
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        match self.0.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Boolean => visitor.visit_bool(self.0.as_bool().unwrap_or_default()),
            Kind::Number => {
                if let Some(number) = self.0.as_i64() {
                    visitor.visit_i64(number)
                } else if let Some(number) = self.0.as_u64() {
                    visitor.visit_u64(number)
                } else {
                    self.deserialize_f64(visitor)
                }
            }
            Kind::String => match self.0.as_str() {
                Some(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
                Some(Cow::Owned(text)) => visitor.visit_string(text),
                None => Err(self.mismatch("a string")),
            },
            Kind::Array => visitor.visit_seq(Sequence(self.0.items())),
            Kind::Object => visitor.visit_map(Fields { members: self.0.members(), value: None }),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        let number = self.0.as_number().ok_or_else(|| self.mismatch("a number"))?.to_f64_lossy();
        if number.is_finite() {
            visitor.visit_f64(number)
        } else {
            Err(self.mismatch("a number in the range of f64"))
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        if self.0.is_null() { visitor.visit_unit() } else { Err(self.mismatch("null")) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        match self.0.kind() {
            Kind::String => visitor.visit_enum(Variant { name: self.0, content: None }),
            Kind::Object => {
                let mut members = self.0.members();
                match (members.next(), members.next()) {
                    (Some((name, content)), None) => {
                        visitor.visit_enum(Variant { name, content: Some(content) })
                    }
                    _ => Err(self.mismatch("an object with exactly one member")),
                }
            }
            _ => Err(self.mismatch("a string or an object with one member")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf seq tuple tuple_struct map struct identifier
    }
}

struct Sequence<'de>(Items<'de>);

impl<'de> SeqAccess<'de> for Sequence<'de> {
    type Error = ArgumentError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ArgumentError> {
        self.0.next().map(|item| seed.deserialize(Typed(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Fields<'de> {
    members: Members<'de>,
    value: Option<Value<'de>>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = ArgumentError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ArgumentError> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(MemberName(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ArgumentError> {
        match self.value.take() {
            Some(value) => seed.deserialize(Typed(value)),
            None => Err(serde::de::Error::custom("a value was read before its name")),
        }
    }
}

/// A member name: a string, from which maps keyed by integers read their number.
struct MemberName<'de>(Value<'de>);

macro_rules! integer_names {
    ($($method:ident $visit:ident $type:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
            let name = self.0.as_str().unwrap_or_default();
            match name.parse::<$type>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Typed(self.0).deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for MemberName<'de> {
    type Error = ArgumentError;

    integer_names!(
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        Typed(self.0).deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        Typed(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Variant<'de> {
    name: Value<'de>,
    content: Option<Value<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ArgumentError;
    type Variant = VariantContent<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), ArgumentError> {
        let name = match self.name.as_str() {
            Some(Cow::Borrowed(name)) => seed.deserialize(BorrowedStrDeserializer::new(name))?,
            _ => seed.deserialize(Typed(self.name))?,
        };
        Ok((name, VariantContent(self.content, self.name)))
    }
}

struct VariantContent<'de>(Option<Value<'de>>, Value<'de>);

impl<'de> VariantContent<'de> {
    fn content(&self) -> Result<Value<'de>, ArgumentError> {
        self.0.ok_or_else(|| Typed(self.1).mismatch("an object with one member that holds the variant"))
    }
}

impl<'de> VariantAccess<'de> for VariantContent<'de> {
    type Error = ArgumentError;

    fn unit_variant(self) -> Result<(), ArgumentError> {
        match self.0 {
            Some(content) => Deserialize::deserialize(Typed(content)),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ArgumentError> {
        seed.deserialize(Typed(self.content()?))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, ArgumentError> {
        Typed(self.content()?).deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        Typed(self.content()?).deserialize_any(visitor)
    }
}
