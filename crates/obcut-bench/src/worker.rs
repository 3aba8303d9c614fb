//! One run, in a process of its own: its memory is its own, and it can be stopped at any time.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::str::FromStr;
use std::time::Instant;

use obcut::metrics::scores;
use obcut::{DataError, Error, OBCut, ParamError, Params, Silent};
use obcut_baselines::Method;
use obcut_baselines::{Clustering, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{LabelledData, Origin};
use crate::machine;
use crate::plan::Spec;
use crate::record::{Outcome, Status};

/// What a process is asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunTask {
    /// The run.
    pub spec: Spec,
    /// Its data.
    pub origin: Origin,
    /// Threads.
    pub threads: usize,
    /// Bytes that the process may hold.
    pub memory: u64,
}

/// Does the task that the first line of `input` holds, and writes its outcome as one line. Where `input`
/// ends before that, whoever asked is gone, and so is this process.
///
/// # Errors
/// When the task cannot be read or the outcome not be written, in words.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<(), String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| error.to_string())?;
    let task: RunTask =
        serde_json::from_str(&line).map_err(|error| format!("not a task: {error}"))?;
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = input.read_to_end(&mut rest);
        std::process::exit(1);
    });
    let outcome = task.run();
    let text = serde_json::to_string(&outcome).map_err(|error| error.to_string())?;
    writeln!(output, "{text}").and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// An error, in words, unless a method takes the settings.
pub fn check(
    method: &str,
    preset: Option<&str>,
    settings: &BTreeMap<String, Value>,
) -> Result<(), String> {
    ReadyMethod::new(method, preset, settings).map(drop).map_err(|error| error.to_string())
}

/// A method with its settings.
enum ReadyMethod {
    Obcut(Box<Params>),
    Other(Box<dyn obcut_baselines::Configurable>),
}

impl ReadyMethod {
    fn new(
        method: &str,
        preset: Option<&str>,
        settings: &BTreeMap<String, Value>,
    ) -> Result<Self, Error> {
        match Method::from_str(method)? {
            Method::Obcut => {
                let mut params = match preset {
                    None => Params::new(1),
                    Some("paper") => Params::paper(1),
                    Some(other) => {
                        return Err(ParamError::Choice {
                            name: "preset",
                            value: other.into(),
                            choices: "paper".into(),
                        }
                        .into());
                    }
                };
                // The suite sees to these.
                if let Some(name) =
                    ["n_clusters", "seed", "threads"].iter().find(|n| settings.contains_key(**n))
                {
                    return Err(
                        ParamError::Conflict(format!("'{name}' is set by the suite")).into()
                    );
                }
                settings.iter().try_for_each(|(name, value)| params.set(name, value))?;
                Ok(Self::Obcut(Box::new(params)))
            }
            other => {
                if let Some(preset) = preset {
                    let text = format!("preset '{preset}' is of obcut, not of {method}");
                    return Err(ParamError::Conflict(text).into());
                }
                let mut built = other.build();
                for (name, value) in settings {
                    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
                    built.set(name, &text)?;
                }
                Ok(Self::Other(built))
            }
        }
    }
}

/// Labels and what is known of how they came about.
struct MethodResult {
    clustering: Clustering,
    objective: Vec<f64>,
    cut: Vec<f64>,
}

impl RunTask {
    /// Reads, shuffles, clusters, scores.
    pub fn run(&self) -> Outcome {
        let mut data = match self.origin.load() {
            Ok(data) => data,
            Err(reason) => return Outcome::without_labels(Status::Unreadable, reason),
        };
        if self.spec.shuffled {
            data.shuffle(self.spec.seed);
        }
        let size = Outcome {
            rows: data.n_rows(),
            features: data.matrix.n_cols(),
            clusters: data.k,
            ..Outcome::without_labels(Status::Done, "")
        };
        let held = machine::held_bytes().unwrap_or(0);
        let run = Run {
            seed: self.spec.seed,
            threads: self.threads,
            memory: self.memory.saturating_sub(held),
        };
        let start = Instant::now();
        let found = self.cluster(&data.matrix, data.k, &run);
        let seconds = start.elapsed().as_secs_f64();
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let error = self.as_in_file(error, &data);
                let status = match error {
                    Error::Params(ParamError::Memory { .. }) => Status::OverMemory,
                    _ => Status::Refused,
                };
                return Outcome { status, reason: Some(error.to_string()), ..size };
            }
        };
        let MethodResult { clustering, objective, cut } = found;
        // The classes are looked at here, and nowhere before.
        match scores(&clustering.labels, &data.truth) {
            Ok(scores) => Outcome {
                reason: None,
                scores: Some(scores),
                found: clustering.n_clusters,
                seconds,
                stages: clustering.seconds,
                peak_bytes: machine::peak_bytes(),
                objective,
                cut,
                warnings: clustering.warnings.iter().map(|w| w.to_string()).collect(),
                ..size
            },
            Err(error) => {
                Outcome { status: Status::Refused, reason: Some(error.to_string()), ..size }
            }
        }
    }

    /// An error that names the rows as they are in the file.
    fn as_in_file(&self, mut error: Error, data: &LabelledData) -> Error {
        if let Error::Data(DataError::NotFinite { row, .. } | DataError::TooLarge { row, .. }) =
            &mut error
            && self.spec.shuffled
        {
            *row = data.place_before(self.spec.seed, *row);
        }
        error
    }

    fn cluster(&self, matrix: &obcut::Matrix, k: usize, run: &Run) -> Result<MethodResult, Error> {
        let samples = matrix.samples()?;
        let Spec { method, preset, settings, .. } = &self.spec;
        match ReadyMethod::new(method, preset.as_deref(), settings)? {
            ReadyMethod::Other(method) => {
                let clustering = method.cluster(&samples, k, run, &Silent)?;
                Ok(MethodResult { clustering, objective: Vec::new(), cut: Vec::new() })
            }
            ReadyMethod::Obcut(params) => {
                let params =
                    Params { n_clusters: k, seed: run.seed, threads: run.threads, ..*params };
                let fit = OBCut::from(params.clone()).fit(&samples)?;
                let (objective, cut) = (fit.trace().objective.clone(), fit.trace().cut.clone());
                Ok(MethodResult { clustering: fit.into(), objective, cut })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Shape, ShapeKind};

    fn task(method: &str, preset: Option<&str>, settings: &[(&str, Value)]) -> RunTask {
        let shape = Shape { kind: ShapeKind::Blobs, rows: 200, features: 4, clusters: Some(3) };
        RunTask {
            spec: Spec {
                data: "blobs".into(),
                method: method.into(),
                preset: preset.map(String::from),
                settings: settings.iter().map(|(n, v)| ((*n).into(), v.clone())).collect(),
                seed: 1,
                shuffled: true,
            },
            origin: Origin::Made(shape),
            threads: 1,
            memory: 1 << 30,
        }
    }

    #[test]
    fn a_task_gives_scores_and_what_is_known_of_the_run() {
        let outcome = task("obcut", Some("paper"), &[("lambda", 10.into())]).run();
        assert_eq!(outcome.status, Status::Done);
        assert_eq!((outcome.rows, outcome.features, outcome.clusters), (200, 4, 3));
        assert_eq!(outcome.scores.unwrap().nmi, 1.0);
        assert!(outcome.objective.len() > 1 && !outcome.stages.is_empty());
        let other = task("u-spec", None, &[("p", 50.into())]).run();
        assert_eq!(other.scores.unwrap().nmi, 1.0, "{other:?}");
    }

    #[test]
    fn too_much_memory_is_told_from_other_refusals() {
        let mut big = task("ssc", None, &[]);
        big.memory = 0;
        let outcome = big.run();
        assert_eq!(outcome.status, Status::OverMemory, "{outcome:?}");
        let mut small = task("kmeans", None, &[]);
        small.origin =
            Origin::Made(Shape { kind: ShapeKind::Blobs, rows: 0, features: 4, clusters: Some(3) });
        assert_eq!(small.run().status, Status::Refused);
    }

    #[test]
    fn a_row_at_fault_is_named_as_it_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gap.csv");
        let lines: Vec<String> = (0..40)
            .map(|i| format!("{},{},{}", i, if i == 3 { "nan" } else { "1" }, i % 2))
            .collect();
        std::fs::write(&path, format!("a,b,y\n{}\n", lines.join("\n"))).unwrap();
        for (method, seed) in [("kmeans", 0), ("obcut", 1), ("lsc", 2)] {
            let mut task = task(method, None, &[]);
            task.spec.seed = seed;
            task.origin = Origin::File {
                path: path.clone(),
                variable: None,
                truth: "y".into(),
                sparse: false,
            };
            let outcome = task.run();
            let reason = outcome.reason.unwrap();
            assert!(reason.starts_with("row 3, column 1 is NaN"), "{method}: {reason}");
        }
    }

    #[test]
    fn settings_are_checked_by_name_and_value() {
        let none = BTreeMap::new();
        assert!(check("obcut", Some("paper"), &none).is_ok());
        assert!(check("obcut", Some("print"), &none).unwrap_err().contains("print"));
        assert!(check("lsc", Some("paper"), &none).is_err());
        let wrong = BTreeMap::from([("p".to_string(), Value::from("many"))]);
        assert!(check("lsc", None, &wrong).unwrap_err().contains("many"));
    }
}
