//! Parameters that take one of a few words.

/// One of the words that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// Declares an enum of named choices with `name`, `help`, `ALL`, `CHOICES`, `FromStr` and `Display`.
///
/// The documentation of a variant is also its help text on the command line and in Python.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    ($(#[$doc:meta])* $type:ident as $label:literal {
        $($(#[doc = $help:literal])+ $variant:ident = $name:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[doc = $help])+ #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every choice.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The words of all choices, with their help texts.
            pub const CHOICES: &'static [$crate::params::Choice] = &[
                $($crate::params::Choice { name: $name, help: concat!($($help),+).trim_ascii() },)+
            ];

            /// The word that names the choice in files, options and messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl $crate::params::Valued for $type {
            const KIND: $crate::params::Kind = $crate::params::Kind::Choice(Self::CHOICES);
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::ParamError;

            fn from_str(word: &str) -> Result<Self, $crate::ParamError> {
                Self::ALL.iter().copied().find(|c| c.name() == word).ok_or_else(|| {
                    $crate::ParamError::Choice {
                        name: $label,
                        value: word.into(),
                        choices: Self::ALL.iter().map(|c| c.name()).collect::<Vec<_>>().join(", "),
                    }
                })
            }
        }
    };
}
