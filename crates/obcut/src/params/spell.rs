//! Messages name parameters; every front end spells them in its own way.

use crate::params::parameter;

/// How a front end spells the parameters that help texts and messages name.
pub trait Vocabulary {
    /// A parameter: `--max-iter` on the command line, `max_iter` in Python.
    fn parameter(&self, name: &str) -> String;

    /// A parameter with a value: `--graph auto` on the command line, `graph="auto"` in Python.
    fn assignment(&self, name: &str, value: &str) -> String;
}

/// Parameters of other places that messages name: of reading and writing files, and of a run.
const OTHERS: &[&str] = &[
    "columns",
    "drop",
    "format",
    "memory",
    "method",
    "overwrite",
    "scratch",
    "truth",
    "variable",
    "weights",
];

/// Replaces every `` `name` `` and `` `name=value` `` that names a parameter by what the front end calls it.
///
/// The `Display` of errors and warnings keeps the backticks, which suits Rust. Other text between
/// backticks stays as it is.
///
/// ```
/// use obcut::front_ends::{Vocabulary, spell};
///
/// struct Command;
/// impl Vocabulary for Command {
///     fn parameter(&self, name: &str) -> String {
///         format!("--{}", name.replace('_', "-"))
///     }
///     fn assignment(&self, name: &str, value: &str) -> String {
///         format!("{} {value}", self.parameter(name))
///     }
/// }
/// assert_eq!(spell("raise `max_iter`", &Command), "raise --max-iter");
/// assert_eq!(spell("try `graph=auto`", &Command), "try --graph auto");
/// ```
pub fn spell(text: &str, words: &dyn Vocabulary) -> String {
    let known = |name: &str| parameter(name).is_some() || OTHERS.contains(&name);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        out += before;
        let spelled = after.split_once('`').and_then(|(inside, after)| {
            let spelled = match inside.split_once('=') {
                Some((name, value)) => known(name).then(|| words.assignment(name, value)),
                None => known(inside).then(|| words.parameter(inside)),
            };
            spelled.map(|spelled| (spelled, after))
        });
        match spelled {
            Some((spelled, after)) => {
                out += &spelled;
                rest = after;
            }
            None => {
                out.push('`');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Loud;

    impl Vocabulary for Loud {
        fn parameter(&self, name: &str) -> String {
            name.to_uppercase()
        }

        fn assignment(&self, name: &str, value: &str) -> String {
            format!("{}:{value}", self.parameter(name))
        }
    }

    #[test]
    fn only_parameters_between_backticks_are_replaced() {
        assert_eq!(spell("`tol` and tol", &Loud), "TOL and tol");
        assert_eq!(spell("`learn=nothing`, `x=1`, `fit`", &Loud), "LEARN:nothing, `x=1`, `fit`");
    }

    #[test]
    fn a_lone_backtick_in_a_name_changes_nothing() {
        assert_eq!(spell("column 'a`b': raise `max_iter`", &Loud), "column 'a`b': raise MAX_ITER");
        assert_eq!(spell("`", &Loud), "`");
    }
}
