//! Parts of a suite, by name.

use std::path::{Path, PathBuf};

use obcut_cli::failure::CliError;

use crate::Suite;
use crate::suite::{DataEntry, MethodEntry};

/// Words of a list that is separated by commas; what is known as a whole may hold some.
fn words(given: &[String], is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let split = |text: &String| match is_known(text) {
        true => vec![text.clone()],
        false => text.split(',').map(String::from).collect(),
    };
    given.iter().flat_map(split).collect()
}

/// Keeps the data sets that are named; `NAME=FILE` says where one is, of the suite or a new one.
pub fn data(suite: &mut Suite, chosen: &[String]) -> Result<(), CliError> {
    if chosen.is_empty() {
        return Ok(());
    }
    let is_file =
        |text: &str| text.split_once('=').is_some_and(|(_, file)| Path::new(file).exists());
    let mut kept = Vec::new();
    for word in &words(chosen, is_file) {
        let (name, file) = match word.split_once('=') {
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (word.as_str(), None),
        };
        let entry = suite.data.iter().find(|data| data.name.eq_ignore_ascii_case(name)).cloned();
        let entry = match (entry, file) {
            (Some(entry), None) => entry,
            (Some(entry), file) => DataEntry { file, make: None, digits: false, ..entry },
            (None, Some(file)) => DataEntry::from_file(name, file),
            (None, None) => {
                let names: Vec<&str> = suite.data.iter().map(|data| data.name.as_str()).collect();
                return Err(CliError::Usage(format!(
                    "suite {} has no data set '{name}'; it has {}; NAME=FILE adds one",
                    suite.name,
                    names.join(", ")
                )));
            }
        };
        kept.push(entry);
    }
    for method in &mut suite.method {
        if let Some(only) = &mut method.only {
            only.retain(|name| kept.iter().any(|data| data.name == *name));
        }
    }
    suite.data = kept;
    Ok(())
}

/// Keeps the methods that are named.
pub fn methods(suite: &mut Suite, chosen: &[String]) -> Result<(), CliError> {
    if chosen.is_empty() {
        return Ok(());
    }
    let is_named = |method: &MethodEntry, word: &str| {
        method.label.eq_ignore_ascii_case(word) || method.method.eq_ignore_ascii_case(word)
    };
    let is_label = |text: &str| suite.method.iter().any(|m| is_named(m, text));
    let chosen = words(chosen, is_label);
    if let Some(word) = chosen.iter().find(|word| !suite.method.iter().any(|m| is_named(m, word))) {
        let names: Vec<&str> = suite.method.iter().map(|method| method.label.as_str()).collect();
        return Err(CliError::Usage(format!(
            "suite {} has no method '{word}'; it has '{}'",
            suite.name,
            names.join("', '")
        )));
    }
    suite.method.retain(|method| chosen.iter().any(|word| is_named(method, word)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_methods_are_chosen_by_name() {
        let mut suite = Suite::named("quick").unwrap();
        data(&mut suite, &["Moons".into(), "new=x.npz".into()]).unwrap();
        methods(&mut suite, &["u-spec,lsc".into(), "OBCut (default)".into()]).unwrap();
        assert_eq!(suite.data.len(), 2);
        assert_eq!(suite.method.len(), 3);
        let mut paper = Suite::named("paper").unwrap();
        methods(&mut paper, &["OBCut (as printed, λ = 1)".into()]).unwrap();
        assert_eq!(paper.method.len(), 1);
        assert!(data(&mut suite, &["sun".into()]).is_err());
        assert!(methods(&mut suite, &["means".into()]).is_err());
    }
}
