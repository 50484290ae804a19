//! The two macros that define wire types: objects with required and optional members, and open sets
//! of names.
//!
//! They are declarative so that a reader sees each member with its wire name in one place, and so that
//! nothing stands between a value and its text. `serde` cannot be used: its `flatten` buffers unknown
//! members through types that lose digits.

/// Defines a struct with a JSON form. In brackets stands a member with a constant value, which is
/// checked when read and written first. Members of `required` are the arguments of `new`.
macro_rules! wire_struct {
    (@default $name:ident []) => {
        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@default $name:ident [$($required:ident)+]) => {};
    (
        $(#[$doc:meta])*
        pub struct $name:ident $([$tag:literal = $constant:literal])? {
            $(required { $($(#[$required_doc:meta])* $required:ident: $required_type:ty = $required_name:literal,)* })?
            $(optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty = $optional_name:literal,)* })?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($($(#[$required_doc])* pub $required: $required_type,)*)?
            $($($(#[$optional_doc])* pub $optional: Option<$optional_type>,)*)?
            /// Members that this type does not name, in their order.
            pub other: $crate::wire::Entries<$crate::wire::RawJson>,
        }

        impl $name {
            /// With the required members, and nothing else.
            #[must_use]
            pub fn new($($($required: impl Into<$required_type>),*)?) -> Self {
                Self {
                    $($($required: $required.into(),)*)?
                    $($($optional: None,)*)?
                    other: $crate::wire::Entries::new(),
                }
            }
        }

        wire_struct!(@default $name [$($($required)*)?]);

        impl $crate::wire::Wire for $name {
            fn read(value: $crate::json::Value<'_>) -> Result<Self, $crate::wire::WireError> {
                if value.kind() != $crate::json::Kind::Object {
                    return Err($crate::wire::WireError::new("an object"));
                }
                $(if !value.get($tag).is_some_and(|tag| tag.is_str($constant)) {
                    return Err($crate::wire::WireError::new(concat!("\"", $constant, "\"")).within($tag));
                })?
                $($(let mut $required: Option<$required_type> = None;)*)?
                $($(let mut $optional: Option<$optional_type> = None;)*)?
                let mut other = $crate::wire::Entries::new();
                for (name, member) in value.members() {
                    let name = name.as_str().unwrap_or_default();
                    match &*name {
                        $($tag => {})?
                        $($($required_name => {
                            let read = <$required_type as $crate::wire::Wire>::read(member);
                            $required = Some(read.map_err(|error| error.within($required_name))?);
                        })*)?
                        $($($optional_name => {
                            $optional = $crate::wire::field::read_optional(member, $optional_name)?;
                        })*)?
                        _ => other.insert(name, member),
                    }
                }
                Ok(Self {
                    $($($required: $required.ok_or_else(|| $crate::wire::WireError::missing($required_name))?,)*)?
                    $($($optional,)*)?
                    other,
                })
            }

            fn write(&self, out: &mut String) {
                let mut object = $crate::wire::field::ObjectWriter::open(out);
                $(object.text($tag, $constant);)?
                $($(object.member($required_name, &self.$required);)*)?
                $($(object.optional($optional_name, self.$optional.as_ref());)*)?
                object.others(&self.other);
                object.close();
            }
        }

        impl std::fmt::Debug for $name {
            /// Shows the type only: what messages carry does not belong in logs.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

/// Defines an open set of names: those that the specification knows, and any other.
macro_rules! wire_names {
    (
        $(#[$doc:meta])*
        pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A name that this version does not know.
            Other(String),
        }

        impl $name {
            /// The name on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)*
                    _ => Self::Other(name.to_owned()),
                }
            }
        }

        impl $crate::wire::Wire for $name {
            fn read(value: $crate::json::Value<'_>) -> Result<Self, $crate::wire::WireError> {
                value.as_str().map(|name| Self::from(&*name)).ok_or($crate::wire::WireError::new("a string"))
            }

            fn write(&self, out: &mut String) {
                $crate::json::push_string(out, self.as_str());
            }
        }
    };
}

/// Defines a choice between objects by the value of one member; what has another value stays raw.
macro_rules! wire_choice {
    (
        $(#[$doc:meta])*
        pub enum $name:ident by $tag:literal { $($(#[$variant_doc:meta])* $variant:ident($type:ty) = $text:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant($type),)*
            /// A kind that this version does not know, as it was received.
            Other($crate::wire::RawJson),
        }

        impl $crate::wire::Wire for $name {
            fn read(value: $crate::json::Value<'_>) -> Result<Self, $crate::wire::WireError> {
                let tag = value.get($tag).and_then(|tag| tag.as_str());
                match tag.ok_or_else(|| $crate::wire::WireError::new("a string").within($tag))?.as_ref() {
                    $($text => <$type as $crate::wire::Wire>::read(value).map(Self::$variant),)*
                    _ => Ok(Self::Other(value.into())),
                }
            }

            fn write(&self, out: &mut String) {
                match self {
                    $(Self::$variant(value) => value.write(out),)*
                    Self::Other(value) => value.write(out),
                }
            }
        }

        $(impl From<$type> for $name {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*
    };
}
