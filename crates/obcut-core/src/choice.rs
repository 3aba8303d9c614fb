//! Parameters that take one of a few words.

/// One of the words that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// An enum whose variants have names: the choices of a parameter.
pub trait Named: Sized + Copy + 'static {
    /// Every choice.
    const ALL: &'static [Self];

    /// The words of all choices, with their help texts.
    const CHOICES: &'static [Choice];

    /// The word that names the choice in files, options and messages.
    fn name(self) -> &'static str;
}

/// The values that a parameter takes, beside its special words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The number of clusters: an integer, or a range to choose from.
    Clusters,
    /// Two integers, the second may be missing.
    Range,
    /// An integer of at least `min`.
    Integer {
        /// The smallest value.
        min: u64,
    },
    /// A finite number.
    Real {
        /// The smallest value.
        min: f64,
        /// The largest value; infinity where there is none.
        max: f64,
        /// Whether the bounds themselves are excluded.
        open: bool,
    },
    /// True or false.
    Boolean,
    /// One of a few words.
    Choice(&'static [Choice]),
    /// One of a few words, or a label for every row.
    Labels(&'static [Choice]),
    /// A table of anchors.
    Anchors,
}

/// A type whose values a setting of another method can have.
pub trait Valued {
    /// The values.
    const KIND: Kind;
}

impl Valued for usize {
    const KIND: Kind = Kind::Integer { min: 0 };
}

impl Valued for f64 {
    const KIND: Kind = Kind::Real { min: 0.0, max: f64::INFINITY, open: false };
}

impl Valued for bool {
    const KIND: Kind = Kind::Boolean;
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

        impl $crate::choice::Named for $type {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            const CHOICES: &'static [$crate::choice::Choice] = &[
                $($crate::choice::Choice { name: $name, help: concat!($($help),+).trim_ascii() },)+
            ];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl $crate::choice::Valued for $type {
            const KIND: $crate::choice::Kind = $crate::choice::Kind::Choice(<Self as $crate::choice::Named>::CHOICES);
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::choice::Named::name(*self))
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::ParamError;

            fn from_str(word: &str) -> Result<Self, $crate::ParamError> {
                use $crate::choice::Named;
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
