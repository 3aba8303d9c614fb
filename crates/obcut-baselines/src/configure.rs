//! Settings by name, with their defaults and ranges.

use std::fmt::Display;
use std::str::FromStr;

use obcut::ParamError;
use obcut_core::choice::Kind;

/// One setting of a method.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub range: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The values it takes.
    #[serde(skip)]
    pub kind: Kind,
}

/// Settings that are read and set by name.
pub trait Configure {
    /// All settings with their values.
    fn settings(&self) -> Vec<Setting>;

    /// Sets one.
    ///
    /// # Errors
    /// When there is no such setting, or the value cannot be used.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParamError>;
}

/// Reads a value; `range` says what it may be.
pub(crate) fn parse<T: FromStr>(
    name: &'static str,
    value: &str,
    range: &'static str,
) -> Result<T, ParamError> {
    value.parse().map_err(|_| ParamError::Setting { name, value: value.into(), expected: range })
}

/// An error unless a value is within its range.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    value: impl Display,
    expected: &'static str,
) -> Result<(), ParamError> {
    if holds {
        return Ok(());
    }
    Err(ParamError::Setting { name, value: value.to_string(), expected })
}

/// Declares the settings of a method: a struct with defaults, and access by name.
///
/// The help of a setting is its first line of documentation.
macro_rules! settings {
    ($(#[$doc:meta])* $type:ident {
        $(#[doc = $help:literal] $name:ident: $kind:ty = $default:expr, $range:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $type {
            $(#[doc = $help] pub $name: $kind,)+
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $crate::configure::Configure for $type {
            fn settings(&self) -> Vec<$crate::configure::Setting> {
                vec![$($crate::configure::Setting {
                    name: stringify!($name),
                    value: self.$name.to_string(),
                    range: $range,
                    help: $help.trim_ascii(),
                    kind: <$kind as obcut_core::choice::Valued>::KIND,
                },)+]
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), obcut::ParamError> {
                match name {
                    $(stringify!($name) => {
                        self.$name = $crate::configure::parse(stringify!($name), value, $range)?;
                    })+
                    _ => return Err(obcut::ParamError::Choice {
                        name: "setting",
                        value: name.into(),
                        choices: [$(stringify!($name)),+].join(", "),
                    }),
                }
                Ok(())
            }
        }
    };
}
pub(crate) use settings;
