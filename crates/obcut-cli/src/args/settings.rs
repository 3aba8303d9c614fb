//! The options of a fit, generated from the library's table of parameters.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use obcut::Params;
use obcut::front_ends::{Choice, Group, Kind, PARAMETERS, Parameter, spell};
use serde_json::Value;

use super::vocabulary::Options;
use super::{ADVANCED, LEARNING, METHOD};

/// Parameters whose options are defined elsewhere.
const ELSEWHERE: [&str; 2] = ["n_clusters", "threads"];
/// Number of resamples for `--stability` without a value.
const RESAMPLES: &str = "10";

/// The parameters on the command line, with their values. Files are read later.
#[derive(Clone, Debug, Default)]
pub struct SettingArgs(Vec<(&'static Parameter, Value)>);

impl SettingArgs {
    /// The parameters and their values.
    pub fn given(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> {
        self.0.iter().map(|(parameter, value)| (*parameter, value))
    }

    /// The value of a parameter, if it is on the command line.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.given().find(|(parameter, _)| parameter.name == name).map(|(_, value)| value)
    }
}

/// The parameters with options, in the order of the help.
fn listed() -> impl Iterator<Item = &'static Parameter> {
    let mut listed: Vec<&Parameter> = (PARAMETERS.iter())
        .filter(|parameter| parameter.group != Group::Hidden)
        .filter(|parameter| !ELSEWHERE.contains(&parameter.name))
        .collect();
    listed.sort_by_key(|parameter| parameter.group);
    listed.into_iter()
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        command.args(listed().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |parameter: &'static Parameter| {
            matches.get_one::<Value>(parameter.name).map(|value| (parameter, value.clone()))
        };
        Ok(Self(listed().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The option of a parameter.
fn option(parameter: &'static Parameter) -> Arg {
    let heading = match parameter.group {
        Group::Advanced => ADVANCED,
        Group::Learning => LEARNING,
        _ => METHOD,
    };
    let help = help(parameter);
    let details = spell(&parameter.details(), &Options);
    let mut option = Arg::new(parameter.name)
        .long(parameter.option)
        .value_name(parameter.value_name)
        .help_heading(heading)
        .value_parser(value_parser(parameter))
        .hide_short_help(parameter.group != Group::Method);
    if !details.is_empty() {
        option = option.long_help(format!("{help}\n\n{details}"));
    }
    option = option.help(help);
    match parameter.kind {
        Kind::Integer { .. } | Kind::Real { .. } => option = option.allow_negative_numbers(true),
        Kind::Anchors => option = option.conflicts_with("n_anchors"),
        _ => {}
    }
    if parameter.name == "stability" {
        option = option.num_args(0..=1).require_equals(true).default_missing_value(RESAMPLES);
    }
    option
}

/// The first line of the help: what the parameter does, the words it takes, and its default.
fn help(parameter: &Parameter) -> String {
    let summary = spell(parameter.summary(), &Options);
    let names: Vec<String> = parameter.names().map(|name| format!("'{name}'")).collect();
    let values = match parameter.kind {
        Kind::Choice(_) | Kind::Anchors => String::new(),
        Kind::Labels(_) => format!(": {}, or a file of labels", names.join(", ")),
        Kind::Boolean => ": true or false".into(),
        _ if names.is_empty() || summary.contains('\'') => String::new(),
        _ => format!(": a number, or {}", names.join(" or ")),
    };
    let default = match parameter.shown(&Params::new(1)) {
        Value::Null => String::new(),
        Value::String(word) => format!(" [default: {word}]"),
        Value::Number(number) => format!(" [default: {}]", short(number.as_f64())),
        value => format!(" [default: {value}]"),
    };
    format!("{summary}{values}{default}")
}

/// A number in its shortest form: 1, 0.25, 1e-5.
fn short(number: Option<f64>) -> String {
    match number {
        Some(number) if number != 0.0 && number.abs() < 1e-3 => format!("{number:e}"),
        Some(number) => number.to_string(),
        None => String::new(),
    }
}

fn value_parser(parameter: &'static Parameter) -> ValueParser {
    match parameter.kind {
        Kind::Choice(choices) => possible(choices).map(Value::from).into(),
        // A word, or the name of a file that is read later.
        Kind::Labels(_) | Kind::Anchors => {
            ValueParser::new(|text: &str| Ok::<_, String>(Value::from(text)))
        }
        _ => ValueParser::new(move |text: &str| match parameter.parse(text) {
            Ok(value) => Ok(value),
            // The value is out of range: the error of the library names the range.
            Err(_) if text.parse::<f64>().is_ok() => Ok(Value::from(text)),
            Err(_) => Err(format!("must be {}", parameter.range())),
        }),
    }
}

/// A parser of words that explains them in the help and suggests one on a typo.
pub fn possible(choices: &'static [Choice]) -> PossibleValuesParser {
    let value = |choice: &Choice| PossibleValue::new(choice.name).help(choice.help);
    PossibleValuesParser::new(choices.iter().map(value))
}
