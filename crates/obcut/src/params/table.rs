//! The table of parameters: the one place that knows their names, kinds, ranges and help texts.
//!
//! The options of the command, the signature and the documentation of the Python class, the checks
//! before a fit and the table in `docs/settings.md` are all made from [`PARAMETERS`](super::PARAMETERS).

use serde_json::Value;

use obcut_core::choice::Kind;
use obcut_core::error::ParamError;

use crate::params::Params;

/// Where a parameter is listed. Groups are listed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// Parameters that most people look at.
    Method,
    /// Parameters for special cases and experiments.
    Advanced,
    /// Parameters of the paper's learning loop, which is off by default.
    Learning,
    /// Parameters that another one stands for; they are not listed.
    Hidden,
}

/// A word that a parameter takes instead of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// How the word is kept in [`Params`].
    pub stored: Stored,
}

/// How a [`Word`] is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stored {
    /// As `None`.
    Nothing,
    /// As the number 0.
    Zero,
    /// As the word itself.
    Itself,
}

impl Word {
    pub(super) const fn nothing(name: &'static str) -> Self {
        Self { name, stored: Stored::Nothing }
    }

    pub(super) const fn zero(name: &'static str) -> Self {
        Self { name, stored: Stored::Zero }
    }

    pub(super) const fn itself(name: &'static str) -> Self {
        Self { name, stored: Stored::Itself }
    }

    fn value(self) -> Value {
        match self.stored {
            Stored::Nothing => Value::Null,
            Stored::Zero => Value::from(0),
            Stored::Itself => Value::from(self.name),
        }
    }
}

/// One parameter of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name: the field of [`Params`], and the key of its serialized form.
    pub name: &'static str,
    /// Its option on the command line, without dashes.
    pub option: &'static str,
    /// The placeholder of its value in the help of the command.
    pub value_name: &'static str,
    /// Where it is listed.
    pub group: Group,
    /// The values it takes.
    pub kind: Kind,
    /// Words it takes instead of a number.
    pub words: &'static [Word],
    /// The help text: a first line that stands alone, and maybe more. Names of parameters stand
    /// between backticks, see `spell.rs`.
    pub help: &'static str,
}

impl Parameter {
    /// The first line of the help text.
    pub fn summary(&self) -> &'static str {
        self.help.trim_ascii().lines().next().unwrap_or_default().trim_ascii()
    }

    /// The help text after its first line, as paragraphs without line breaks.
    pub fn details(&self) -> String {
        let rest: Vec<&str> = self.help.trim_ascii().lines().skip(1).map(str::trim_ascii).collect();
        rest.join("\n")
            .trim_ascii()
            .replace("\n\n", "\u{0}")
            .replace('\n', " ")
            .replace('\u{0}', "\n\n")
    }

    /// The names of the words and choices that it takes.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let choices = match self.kind {
            Kind::Choice(choices) | Kind::Labels(choices) => choices,
            _ => &[],
        };
        choices.iter().map(|choice| choice.name).chain(self.words.iter().map(|word| word.name))
    }

    /// What it may be, in words.
    pub fn range(&self) -> String {
        let values = match self.kind {
            Kind::Clusters => Some("an integer of 1 or more, or a range".to_string()),
            Kind::Range => Some("two integers".to_string()),
            Kind::Integer { min } => Some(format!("an integer of {min} or more")),
            Kind::Real { min, max, open } if max.is_finite() => {
                let bounds = if open { ", both excluded" } else { "" };
                Some(format!("a number between {min} and {max}{bounds}"))
            }
            Kind::Real { min, .. } => Some(format!("a number of {min} or more")),
            Kind::Boolean => Some("true or false".to_string()),
            Kind::Choice(_) => None,
            Kind::Labels(_) => Some("a label for every row".to_string()),
            Kind::Anchors => Some("a table of finite numbers, a row for every anchor".to_string()),
        };
        let names = self.names().map(|name| format!("'{name}'"));
        names.chain(values).collect::<Vec<_>>().join(", ")
    }

    /// The value of the parameter, with special words instead of what they are kept as.
    pub fn shown(&self, params: &Params) -> Value {
        let value = params.to_json().remove(self.name).unwrap_or(Value::Null);
        let word = self.words.iter().find(|word| word.value() == value);
        word.map_or(value, |word| Value::from(word.name))
    }

    /// Reads a value as it is typed, and checks it.
    ///
    /// # Errors
    /// When the text is no value of the parameter.
    pub fn parse(&self, text: &str) -> Result<Value, ParamError> {
        let number = || text.parse::<u64>().map(Value::from).ok();
        let value = match self.kind {
            _ if self.names().any(|name| name == text) => Some(Value::from(text)),
            Kind::Clusters | Kind::Integer { .. } => number(),
            Kind::Real { .. } => text.parse::<f64>().ok().map(Value::from),
            Kind::Boolean => text.parse::<bool>().ok().map(Value::from),
            Kind::Choice(_) | Kind::Labels(_) | Kind::Anchors | Kind::Range => None,
        };
        let value = value.ok_or_else(|| self.out_of_range(text))?;
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is within the range of the parameter.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self, value: &Value) -> Result<(), ParamError> {
        let is_word = match value {
            Value::String(text) => self.names().any(|name| name == text),
            _ => self.words.iter().any(|word| word.value() == *value),
        };
        let fits = is_word
            || match self.kind {
                // The range of k is a parameter apart, checked against the rows.
                Kind::Clusters | Kind::Range => {
                    value.is_u64() || value.is_array() || value.is_null()
                }
                Kind::Integer { min } => value.as_u64().is_some_and(|n| n >= min),
                Kind::Real { min, max, open } => value.as_f64().is_some_and(|x| {
                    x.is_finite() && if open { x > min && x < max } else { x >= min && x <= max }
                }),
                Kind::Boolean => value.is_boolean(),
                Kind::Choice(_) => false,
                Kind::Labels(_) => value.is_array(),
                Kind::Anchors => value.is_array() || value.is_null(),
            };
        match (fits, self.kind) {
            (true, _) => Ok(()),
            // JSON has no other numbers.
            (false, Kind::Real { .. }) if value.is_null() => Err(self.out_of_range("not finite")),
            (false, _) => Err(self.out_of_range(&text_of(value))),
        }
    }

    /// The value as it is kept: special words become what they stand for.
    pub(super) fn stored(&self, value: &Value) -> Value {
        let word = value.as_str().and_then(|text| self.words.iter().find(|word| word.name == text));
        match (word, self.kind) {
            (Some(word), _) => word.value(),
            // Python spells the choice of nothing as None.
            (None, Kind::Choice(choices)) if value.is_null() => {
                let none = choices.iter().find(|choice| choice.name == "none");
                none.map_or(Value::Null, |choice| Value::from(choice.name))
            }
            (None, _) => value.clone(),
        }
    }

    pub(crate) fn out_of_range(&self, value: &str) -> ParamError {
        ParamError::Range { name: self.name, value: value.into(), expected: self.range() }
    }
}

/// A value as messages write it.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.len() > 4 => format!("an array of {} values", values.len()),
        value => value.to_string(),
    }
}
