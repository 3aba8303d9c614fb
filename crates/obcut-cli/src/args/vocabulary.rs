//! Parameters and warnings of the library in the words of the command.

use obcut::Warning;
use obcut::front_ends::{Vocabulary, parameter, spell};

/// Writes parameters as options: `--max-iter`, `--graph auto`.
pub struct Options;

impl Vocabulary for Options {
    fn parameter(&self, name: &str) -> String {
        match name {
            "n_clusters" => "-k".into(),
            "overwrite" => "--force".into(),
            _ => {
                let option = parameter(name).map_or(name, |known| known.option);
                format!("--{}", option.replace('_', "-"))
            }
        }
    }

    fn assignment(&self, name: &str, value: &str) -> String {
        match name {
            "overwrite" => self.parameter(name),
            _ => format!("{} {value}", self.parameter(name)),
        }
    }
}

/// The texts of warnings, with parameters written as options.
pub fn warnings(warnings: &[Warning], names: &[String]) -> Vec<String> {
    let named = warnings.iter().map(|warning| warning.clone().with_names(names).to_string());
    named.map(|text| spell(&text, &Options)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_options() {
        let found = warnings(&[Warning::NotConverged { n_iter: 30 }], &[]);
        assert!(found[0].ends_with("raise --max-iter to continue"), "{found:?}");
        let narrow =
            Warning::NarrowColumn { column: 1, name: None, more: 0, share: 0.01, adjusted: false };
        let found = warnings(&[narrow], &["a".into(), "b".into()]);
        assert!(
            found[0].starts_with("column 'b'") && found[0].ends_with("--scale robust"),
            "{found:?}"
        );
    }
}
