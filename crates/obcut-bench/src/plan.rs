//! The runs of a suite, each with a key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Origin;
use crate::error::Error;
use crate::record::RunRecords;
use crate::suite::Suite;

/// What a run does; two runs with equal specifications give equal labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Name of the data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// Preset of obcut.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub preset: Option<String>,
    /// Settings that differ from the defaults.
    pub settings: BTreeMap<String, Value>,
    /// Seed of the shuffle and of the method.
    pub seed: u64,
    /// Whether rows were shuffled.
    pub shuffled: bool,
}

impl Spec {
    /// The key that identifies the run.
    pub fn key(&self) -> String {
        // Whole and fractional spellings of a number are the same setting.
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(name, value)| match value.as_f64() {
                Some(number) => format!("{name}={number}"),
                None => format!("{name}={value}"),
            })
            .collect();
        let preset = self.preset.as_deref().unwrap_or("");
        let order = if self.shuffled { "shuffled" } else { "as in the file" };
        format!(
            "{}|{}|{preset}|{}|{}|{order}",
            self.data,
            self.method,
            settings.join(","),
            self.seed
        )
    }

    /// The same for all seeds.
    pub fn cell(&self) -> String {
        Self { seed: 0, ..self.clone() }.key()
    }
}

/// The runs of a suite on the data that are there.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Seeds outermost, so that an unfinished suite has a little of everything.
    pub runs: Vec<Spec>,
    /// Data sets that are there, by name.
    pub origins: BTreeMap<String, Origin>,
    /// Data sets that are not.
    pub missing: Vec<String>,
}

impl RunPlan {
    /// Lays out the runs; `folder` is where files of data are looked for.
    ///
    /// # Errors
    /// When no data set is there, or a file that the suite names is not.
    pub fn new(suite: &Suite, folder: Option<&Path>) -> Result<Self, Error> {
        let mut origins = BTreeMap::new();
        let mut missing = Vec::new();
        for entry in &suite.data {
            if let Some(path) = entry.file.as_ref().filter(|path| !path.is_file()) {
                return Err(Error::NoFile { data: entry.name.clone(), path: path.clone() });
            }
            match entry.origin(folder) {
                Some(origin) => {
                    origins.insert(entry.name.clone(), origin);
                }
                None => missing.push(entry.name.clone()),
            }
        }
        if origins.is_empty() {
            return Err(Error::NoData { suite: suite.name.clone(), missing: missing.join(", ") });
        }
        let runs = runs(suite, |data| origins.contains_key(data));
        Ok(Self { runs, origins, missing })
    }

    /// All runs, to be looked up among records: nothing can be run by this.
    pub fn without_data(suite: &Suite) -> Self {
        Self { runs: runs(suite, |_| true), origins: BTreeMap::new(), missing: Vec::new() }
    }

    /// The runs on data sets that are there, or that have records: what can be finished.
    pub fn of_records(suite: &Suite, folder: Option<&Path>, records: &RunRecords) -> Self {
        let has_record = |name: &str| records.iter().any(|record| record.spec.data == name);
        let is_there = |name: &str| {
            let entry = suite.data.iter().find(|entry| entry.name == name);
            has_record(name) || entry.is_some_and(|entry| entry.origin(folder).is_some())
        };
        let names = suite.data.iter().map(|entry| entry.name.clone());
        let missing = names.filter(|name| !is_there(name)).collect();
        Self { runs: runs(suite, is_there), origins: BTreeMap::new(), missing }
    }
}

/// The runs on some data sets, each once.
fn runs(suite: &Suite, takes: impl Fn(&str) -> bool) -> Vec<Spec> {
    let mut runs = Vec::new();
    let mut seen = BTreeSet::new();
    for seed in 0..suite.seeds {
        for data in suite.data.iter().filter(|data| takes(&data.name)) {
            for entry in suite.method.iter().filter(|entry| entry.takes(&data.name)) {
                for settings in entry.settings() {
                    let spec = suite.spec(entry, &data.name, settings, seed);
                    if seen.insert(spec.key()) {
                        runs.push(spec);
                    }
                }
            }
        }
    }
    runs
}

impl Suite {
    /// The run of a method with some settings of its grid.
    pub fn spec(
        &self,
        entry: &crate::suite::MethodEntry,
        data: &str,
        settings: BTreeMap<String, Value>,
        seed: u64,
    ) -> Spec {
        Spec {
            data: data.into(),
            method: entry.method.clone(),
            preset: entry.preset.clone(),
            settings,
            seed,
            shuffled: entry.shuffle.unwrap_or(self.shuffle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::tests::small_suite;

    #[test]
    fn equal_runs_are_done_once() {
        let text = r#"
            data = [{ name = "moons", make = { kind = "moons", rows = 100 } }, { name = "not there" }]
            method = [
              { label = "one", method = "obcut", preset = "paper", set = { lambda = 1 } },
              { label = "grid", method = "obcut", preset = "paper", grid = { lambda = [0.1, 1.0] } },
            ]
        "#;
        let suite = small_suite(3, text);
        let plan = RunPlan::new(&suite, None).unwrap();
        assert_eq!(plan.runs.len(), 6);
        assert_eq!(plan.missing, ["not there"]);
        assert_eq!(plan.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert_eq!(plan.runs[0].cell(), plan.runs[2].cell());
        assert_ne!(plan.runs[0].key(), plan.runs[2].key());
    }
}
