//! A suite as it is written in TOML, and the ones that are shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use obcut_baselines::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{Origin, Shape};
use crate::error::Error;
use crate::printed::Printed;
use crate::worker;

/// The suites that come with the program.
const SHIPPED: [(&str, &str); 7] = [
    ("quick", include_str!("../suites/quick.toml")),
    ("paper", include_str!("../suites/paper.toml")),
    ("sensitivity", include_str!("../suites/sensitivity.toml")),
    ("ablation", include_str!("../suites/ablation.toml")),
    ("order", include_str!("../suites/order.toml")),
    ("convergence", include_str!("../suites/convergence.toml")),
    ("scaling", include_str!("../suites/scaling.toml")),
];

/// Most seeds of a suite.
const MOST_SEEDS: u64 = 10_000;

/// What is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Suite {
    /// Name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// What is typed to run it; empty for `obcut-bench NAME`.
    #[serde(skip)]
    pub typed: String,
    /// Heading of its tables.
    pub title: String,
    /// What it shows, in a few sentences.
    pub about: String,
    /// How its runs are summed up.
    pub kind: SuiteKind,
    /// Runs of every method on every data set, with seeds from 0.
    pub seeds: u64,
    /// Seconds that a run may take.
    pub seconds: f64,
    /// GiB that a run may hold, its data included.
    pub gib: f64,
    /// Whether rows are shuffled by the seed first.
    #[serde(default = "yes")]
    pub shuffle: bool,
    /// The data sets.
    pub data: Vec<DataEntry>,
    /// The methods.
    pub method: Vec<MethodEntry>,
}

/// How runs are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteKind {
    /// Tables of scores with ranks.
    Scores,
    /// Scores over a grid of two settings.
    Sensitivity,
    /// Objective by iteration.
    Convergence,
    /// Seconds and memory against the number of rows.
    Scaling,
}

/// A data set of a suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataEntry {
    /// Its name; `NAME.npz` or the like in the folder of data, unless it is made or given.
    pub name: String,
    /// Whether it is the shipped digits.
    #[serde(default)]
    pub digits: bool,
    /// How it is made.
    pub make: Option<Shape>,
    /// Its file.
    pub file: Option<PathBuf>,
    /// Array of features (NPZ, MAT).
    pub variable: Option<String>,
    /// Column or array of classes.
    #[serde(default = "usual_truth")]
    pub truth: String,
    /// Whether it is stored dense although it is mostly zero.
    #[serde(default)]
    pub sparse: bool,
    /// Row of the paper's tables that it is to be held against.
    pub printed: Option<String>,
    /// What differs from the paper's data set; nothing when it is the same.
    pub differs: Option<String>,
}

/// A method of a suite with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MethodEntry {
    /// Name in tables.
    pub label: String,
    /// The method.
    pub method: String,
    /// A preset of obcut.
    pub preset: Option<String>,
    /// Settings that differ from the defaults.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Settings that are varied; tables show the values with the best mean NMI, chosen with the labels.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<Value>>,
    /// Data sets that it runs on; all by default.
    pub only: Option<Vec<String>>,
    /// Whether rows are shuffled; by default as the suite says.
    pub shuffle: Option<bool>,
    /// Column of the paper's tables that it is to be held against.
    pub printed: Option<String>,
    /// Whether it takes part in ranks.
    #[serde(default = "yes")]
    pub ranked: bool,
}

fn yes() -> bool {
    true
}

fn usual_truth() -> String {
    "y".into()
}

impl Suite {
    /// Names of the shipped suites.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A shipped suite by its name, or one from a file.
    ///
    /// # Errors
    /// When there is no such suite, or it cannot be used.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        if path.extension().is_none_or(|suffix| suffix != "toml") {
            let shipped = Self::shipped().collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuite { name: name.into(), shipped });
        }
        let text = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
        let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
        let mut suite = Self::parse(&stem, &text)?;
        // Files are where the suite says, seen from where the suite is.
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in suite.data.iter_mut().filter_map(|data| data.file.as_mut()) {
            *file = folder.join(&*file);
        }
        Ok(suite)
    }

    /// The command that runs it.
    pub fn command(&self) -> String {
        match self.typed.as_str() {
            "" => format!("obcut-bench {}", self.name),
            typed => typed.into(),
        }
    }

    /// A suite from its text.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let parsed: Result<Self, _> = toml::from_str(text);
        let mut suite = parsed.map_err(|error| Error::suite(name, told(text, &error)))?;
        suite.name = name.into();
        suite.check()?;
        Ok(suite)
    }

    /// Checks names, methods and settings, as far as that goes without data.
    ///
    /// # Errors
    /// When something cannot be used.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Error::suite(&self.name, what);
        if self.seeds == 0 || self.seeds > MOST_SEEDS {
            return Err(wrong(format!("seeds must be from 1 to {MOST_SEEDS}")));
        }
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if !positive(self.seconds) || !positive(self.gib) {
            return Err(wrong("seconds and gib must be above 0".into()));
        }
        unique(self.data.iter().map(|d| &d.name))
            .map_err(|n| wrong(format!("two data sets are called '{n}'")))?;
        unique(self.method.iter().map(|m| &m.label))
            .map_err(|n| wrong(format!("two methods are called '{n}'")))?;
        for entry in &self.data {
            let at = |what: String| wrong(format!("data set '{}': {what}", entry.name));
            if let Some(shape) = &entry.make {
                shape.check().map_err(at)?;
            }
            let known = || Printed::tables().data();
            if let Some(name) = entry.printed.as_ref().filter(|name| !known().any(|n| n == *name)) {
                let names: Vec<&str> = known().map(String::as_str).collect();
                return Err(at(format!(
                    "the paper prints no '{name}'; it has {}",
                    names.join(", ")
                )));
            }
        }
        for entry in &self.method {
            let at = |what: String| wrong(format!("method '{}': {what}", entry.label));
            Method::from_str(&entry.method).map_err(|error| at(error.to_string()))?;
            if let Some((name, _)) = entry.grid.iter().find(|(_, values)| values.is_empty()) {
                return Err(at(format!("the grid of '{name}' is empty")));
            }
            if self.kind == SuiteKind::Sensitivity && entry.grid.len() != 2 {
                return Err(at(format!(
                    "sensitivity is shown over two settings, and its grid has {}",
                    entry.grid.len()
                )));
            }
            let known = &Printed::tables().methods;
            if let Some(name) = entry.printed.as_ref().filter(|name| !known.contains(name)) {
                return Err(at(format!(
                    "the paper prints no '{name}'; it has {}",
                    known.join(", ")
                )));
            }
            for settings in entry.settings() {
                worker::check(&entry.method, entry.preset.as_deref(), &settings).map_err(at)?;
            }
            if let Some(name) =
                entry.only.iter().flatten().find(|n| self.data.iter().all(|d| d.name != **n))
            {
                return Err(at(format!("there is no data set '{name}'")));
            }
        }
        Ok(())
    }
}

/// What is wrong with a text, and in which line.
fn told(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.into(),
    }
}

/// The first name that comes twice is an error.
fn unique<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(name.clone());
        }
    }
    Ok(())
}

impl MethodEntry {
    /// Every combination of the grid, put over the fixed settings.
    pub fn settings(&self) -> Vec<BTreeMap<String, Value>> {
        let mut all = vec![self.set.clone()];
        for (name, values) in &self.grid {
            all = all
                .iter()
                .flat_map(|settings| {
                    values.iter().map(move |value| {
                        let mut settings = settings.clone();
                        settings.insert(name.clone(), value.clone());
                        settings
                    })
                })
                .collect();
        }
        all
    }

    /// Whether it runs on a data set.
    pub fn takes(&self, data: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == data))
    }
}

impl DataEntry {
    /// A data set from a file, with classes in the column or array `y`.
    pub fn from_file(name: &str, file: PathBuf) -> Self {
        Self {
            name: name.into(),
            digits: false,
            make: None,
            file: Some(file),
            variable: None,
            truth: usual_truth(),
            sparse: false,
            printed: None,
            differs: None,
        }
    }

    /// Where its rows come from, if they are there: made, given, or in the folder.
    pub fn origin(&self, folder: Option<&Path>) -> Option<Origin> {
        if self.digits {
            return Some(Origin::Digits);
        }
        if let Some(shape) = &self.make {
            return Some(Origin::Made(shape.clone()));
        }
        let path = match &self.file {
            Some(path) => path.clone(),
            None => Origin::in_folder(folder?, &self.name)?,
        };
        let variable = self.variable.clone();
        Some(Origin::File { path, variable, truth: self.truth.clone(), sparse: self.sparse })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A suite of scores with these data sets and methods.
    pub fn small_suite(seeds: u32, data_and_methods: &str) -> Suite {
        let head = "title = 't'\nabout = 'a'\nkind = 'scores'\nseconds = 1\ngib = 1\n";
        Suite::parse("t", &format!("{head}seeds = {seeds}\n{data_and_methods}")).unwrap()
    }

    const SMALL: &str = r#"
        title = "Small"
        about = "Two methods."
        kind = "scores"
        seeds = 2
        seconds = 10
        gib = 1
        [[data]]
        name = "moons"
        make = { kind = "moons", rows = 200 }
        [[method]]
        label = "k-means"
        method = "kmeans"
        [[method]]
        label = "OBCut"
        method = "obcut"
        preset = "paper"
        grid = { lambda = [0.1, 1], n_anchors = [10, 20, 30] }
    "#;

    #[test]
    fn every_shipped_suite_can_be_used() {
        for name in Suite::shipped() {
            let suite = Suite::named(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!suite.data.is_empty() && !suite.method.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_grid_is_every_combination() {
        let suite = Suite::parse("small", SMALL).unwrap();
        assert_eq!(suite.method[0].settings().len(), 1);
        assert_eq!(suite.method[1].settings().len(), 6);
    }

    #[test]
    fn mistakes_are_told_with_the_method_at_fault() {
        for (from, to, expected) in [
            ("\"kmeans\"", "\"kmean\"", "method 'k-means'"),
            ("lambda = [0.1, 1]", "lamda = [0.1]", "lamda"),
            ("seeds = 2", "seeds = 0", "from 1 to"),
            ("seconds = 10", "seconds = nan", "above 0"),
            ("lambda = [0.1, 1]", "lambda = []", "the grid of 'lambda' is empty"),
            ("lambda = [0.1, 1]", "lambda = [\"ten\"]", "lambda"),
            ("lambda = [0.1, 1]", "seed = [1, 2]", "'seed' is set by the suite"),
            ("label = \"OBCut\"", "label = \"k-means\"", "two methods"),
            ("preset = \"paper\"", "preset = \"papre\"", "papre"),
            ("title", "titel", "line 2: unknown field `titel`"),
            ("kind = \"scores\"", "kind = \"score\"", "line 4: unknown variant `score`"),
            ("kind = \"scores\"", "kind = \"sensitivity\"", "its grid has 0"),
            ("name = \"moons\"", "name = \"moons\"\nprinted = \"Yal\"", "prints no 'Yal'; it has"),
            ("rows = 200", "rows = 200, clusters = 5", "moons are 2 clusters"),
            ("rows = 200", "rows = 0", "must be at least 1"),
        ] {
            let error = Suite::parse("small", &SMALL.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(Suite::named("papers").unwrap_err().to_string().contains("quick, paper"));
    }
}
