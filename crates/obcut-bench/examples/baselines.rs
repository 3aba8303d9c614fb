//! Scores of the other methods beside those of their reference programs: `make baselines` writes
//! docs/baselines.md from `OBCUT_DATA`.
//!
//! Ours: mean and standard deviation of NMI over 5 seeds. The reference: figures measured with the public
//! program of the method (5 seeds), on the same rows and settings. Ours agrees when it lies within two
//! standard errors of the reference and 1.5 points. `baselines METHOD` prints one method only.

use std::fmt::Write as _;
use std::path::PathBuf;

use obcut::metrics::scores;
use obcut::{Matrix, Silent};
use obcut_baselines::Method;
use obcut_baselines::Run;
use obcut_data::{LoadOptions, Source};

const SEEDS: u64 = 5;

/// A reference figure: method, settings, data set, step between the rows taken, NMI and its deviation.
type Reference =
    (&'static str, &'static [(&'static str, &'static str)], &'static str, usize, f64, f64);

const REFERENCES: &[Reference] = &[
    ("kmeans", &[], "PenDigits", 16, 67.55, 0.81),
    ("kmeans", &[], "PenDigits", 1, 66.96, 0.75),
    ("kmeans", &[], "USPS", 16, 43.21, 1.15),
    ("kmeans", &[], "COIL20", 2, 77.80, 0.67),
    ("kmeans", &[], "LR", 10, 37.53, 0.51),
    ("ssc", &[("alpha", "20"), ("scale", "unit")], "PenDigits", 16, 72.98, 0.0),
    ("ssc", &[("alpha", "20"), ("scale", "unit")], "USPS", 16, 53.42, 1.41),
    ("ssc", &[("alpha", "20"), ("scale", "unit")], "COIL20", 2, 84.64, 1.38),
    ("ssc", &[("alpha", "20"), ("scale", "unit")], "Yale", 3, 100.0, 0.0),
    (
        "ssc",
        &[("alpha", "20"), ("scale", "unit"), ("variant", "outlier")],
        "PenDigits",
        16,
        70.31,
        0.0,
    ),
    ("ssc", &[("alpha", "20"), ("scale", "unit"), ("variant", "outlier")], "USPS", 16, 43.46, 0.86),
    ("ssc", &[("alpha", "800"), ("rho", "0.7"), ("variant", "affine")], "USPS", 16, 43.15, 1.54),
    ("ssc", &[("alpha", "800"), ("rho", "0.7"), ("variant", "affine")], "COIL20", 2, 49.30, 1.10),
    ("escg", &[], "PenDigits", 8, 71.88, 0.22),
    ("escg", &[("rounds", "10")], "PenDigits", 8, 72.04, 2.21),
    ("escg", &[], "USPS", 8, 47.45, 1.46),
    ("escg", &[], "COIL20", 1, 75.59, 0.81),
    ("escg", &[], "Yale", 1, 73.50, 13.55),
    ("escg", &[("neighbors", "200")], "Yale", 1, 97.63, 0.16),
    ("escg", &[], "LR", 10, 40.72, 1.10),
    ("ssc-omp", &[("sparsity", "5"), ("scale", "unit")], "PenDigits", 16, 9.98, 0.86),
    ("ssc-omp", &[("sparsity", "5"), ("scale", "unit")], "USPS", 16, 39.76, 2.26),
    ("ssc-omp", &[("sparsity", "5"), ("scale", "unit")], "COIL20", 2, 60.93, 3.19),
    ("ssc-omp", &[("sparsity", "5"), ("scale", "unit")], "Yale", 1, 99.62, 0.0),
    ("ssc-omp", &[("sparsity", "5"), ("scale", "unit")], "LR", 10, 11.44, 0.33),
    (
        "ssc-omp",
        &[("sparsity", "5"), ("scale", "unit"), ("form", "python")],
        "USPS",
        16,
        40.47,
        0.89,
    ),
    (
        "ssc-omp",
        &[("sparsity", "5"), ("scale", "unit"), ("form", "python")],
        "COIL20",
        2,
        52.57,
        0.36,
    ),
    ("lsc", &[("p", "100")], "PenDigits", 16, 72.89, 0.91),
    ("lsc", &[("p", "100")], "PenDigits", 8, 70.33, 2.02),
    ("lsc", &[("p", "100")], "USPS", 8, 50.94, 1.27),
    ("lsc", &[("p", "100")], "COIL20", 1, 75.52, 2.87),
    ("lsc", &[("p", "100")], "Yale", 1, 87.98, 13.32),
    ("lsc", &[("p", "100")], "LR", 10, 37.25, 0.35),
    ("lsc", &[("p", "100")], "LR", 1, 34.38, 0.61),
    ("lsc", &[("p", "1000")], "USPS", 1, 66.28, 1.17),
    ("fastesc", &[("form", "small")], "PenDigits", 16, 68.01, 1.69),
    ("fastesc", &[("form", "large")], "PenDigits", 16, 67.40, 1.35),
    ("fastesc", &[("form", "small")], "PenDigits", 1, 67.00, 1.52),
    ("fastesc", &[("form", "large")], "PenDigits", 1, 66.10, 1.09),
    ("fastesc", &[("form", "small")], "USPS", 16, 39.36, 2.74),
    ("fastesc", &[("form", "large")], "USPS", 16, 40.40, 1.32),
    ("fastesc", &[("form", "small")], "COIL20", 2, 76.00, 2.06),
    ("fastesc", &[("form", "large")], "COIL20", 2, 74.94, 1.36),
    ("fastesc", &[("form", "small")], "Yale", 3, 96.39, 0.71),
    ("eulersc", &[("alpha", "0.5")], "PenDigits", 16, 68.34, 1.64),
    ("eulersc", &[("alpha", "0.5"), ("refine", "false")], "PenDigits", 16, 67.50, 0.75),
    ("eulersc", &[("alpha", "0.5")], "PenDigits", 1, 69.04, 0.72),
    ("eulersc", &[("alpha", "1.9")], "PenDigits", 16, 53.02, 0.29),
    ("eulersc", &[("alpha", "0.5")], "USPS", 16, 46.77, 2.30),
    ("eulersc", &[("alpha", "0.5")], "COIL20", 2, 79.36, 2.10),
    ("eulersc", &[("alpha", "0.5")], "Yale", 3, 100.0, 0.0),
    ("eulersc", &[("alpha", "0.5")], "LR", 10, 39.61, 0.57),
    ("eulersc", &[("alpha", "0.5")], "Abalone", 1, 15.95, 0.15),
    ("u-spec", &[("p", "100")], "PenDigits", 8, 75.02, 2.20),
    ("u-spec", &[("p", "100")], "PenDigits", 1, 71.76, 2.14),
    ("u-spec", &[("p", "1000")], "PenDigits", 1, 79.68, 2.55),
    ("u-spec", &[("p", "100")], "USPS", 8, 51.24, 1.67),
    ("u-spec", &[("p", "1000")], "USPS", 1, 63.98, 0.96),
    ("u-spec", &[("p", "100")], "COIL20", 1, 77.90, 2.09),
    ("u-spec", &[("p", "100")], "Yale", 1, 66.05, 16.23),
    ("u-spec", &[("p", "100")], "LR", 10, 37.80, 0.76),
    ("u-spec", &[("p", "100")], "LR", 1, 34.16, 0.86),
    ("rksc", &[], "PenDigits", 16, 78.06, 0.0),
    ("rksc", &[], "PenDigits", 8, 78.52, 1.16),
    ("rksc", &[], "USPS", 16, 38.42, 1.32),
    ("rksc", &[], "USPS", 8, 46.96, 2.51),
    ("rksc", &[], "COIL20", 2, 85.44, 0.40),
    ("rksc", &[], "COIL20", 1, 89.15, 0.25),
    ("rksc", &[], "LR", 10, 41.66, 1.39),
    ("dcdp-asc", &[], "PenDigits", 16, 64.28, 0.0),
    ("dcdp-asc", &[("similarity", "global")], "PenDigits", 16, 65.51, 0.0),
    ("dcdp-asc", &[("cores", "ldp")], "PenDigits", 16, 66.81, 0.0),
    ("dcdp-asc", &[], "PenDigits", 1, 50.80, 0.0),
    ("dcdp-asc", &[], "USPS", 16, 10.69, 0.0),
    ("dcdp-asc", &[("cores", "ldp")], "USPS", 16, 12.25, 0.0),
    ("dcdp-asc", &[], "COIL20", 2, 73.57, 0.0),
    ("dcdp-asc", &[], "Yale", 1, 88.28, 0.0),
    ("dcdp-asc", &[], "LR", 10, 33.08, 0.0),
    ("dcdp-asc", &[], "Abalone", 1, 13.31, 0.0),
];

fn main() {
    let only = std::env::args().nth(1);
    let Some(folder) = std::env::var_os("OBCUT_DATA").map(PathBuf::from) else {
        eprintln!("OBCUT_DATA is not set: it names the folder of NAME.npz (arrays X, y)");
        std::process::exit(1);
    };
    let mut text = String::from(HEAD);
    let (mut agreed, mut tried) = (0, 0);
    for &(name, settings, data, step, expected, deviation) in REFERENCES {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let Ok(method) = name.parse::<Method>() else { continue };
        let row = match measure(method, settings, &folder, data, step) {
            Ok((mean, spread, seconds)) => {
                let limit = 2.0 * deviation / (SEEDS as f64).sqrt() + 1.5;
                let agrees = (mean - expected).abs() <= limit;
                tried += 1;
                agreed += usize::from(agrees);
                let verdict = if agrees { "yes" } else { "**no**" };
                format!(
                    "{mean:.2} ± {spread:.2} | {expected:.2} ± {deviation:.2} | {verdict} | {seconds:.1}"
                )
            }
            Err(error) => format!("{error} | {expected:.2} ± {deviation:.2} | | "),
        };
        let words: Vec<String> = settings.iter().map(|(n, v)| format!("{n} {v}")).collect();
        let rows = if step == 1 { data.to_string() } else { format!("{data}/{step}") };
        let line = format!("| {name} | {} | {rows} | {row} |\n", words.join(", "));
        print!("{line}");
        text += &line;
    }
    let _ = write!(text, "\n{agreed} of {tried} agree.\n");
    println!("{agreed} of {tried} agree");
    if only.is_none() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/baselines.md");
        match obcut_data::write_atomic(&path, true, |file| file.write_all(text.as_bytes())) {
            Ok(()) => println!("written to docs/baselines.md"),
            Err(error) => eprintln!("{error}"),
        }
    }
}

const HEAD: &str = "# The other methods compared with their references

Written by `make baselines` (`crates/obcut-bench/examples/baselines.rs`). NMI in percent over 5 seeds, mean ±
standard deviation; NAME/16 is every 16th row. The reference column was measured with the public programs of the methods (SSC, ESCG,
SSC-OMP, LSC, FastESC, U-SPEC) or with scikit-learn (k-means). For RKSC, EulerSC and DCDP-ASC no program runs or exists, so the
references are our own first versions in Python. A score agrees if it is within two standard errors of the
reference plus 1.5 points. EulerSC and DCDP-ASC are reconstructed: their source files name the uncertain choices.

| method | settings | data | ours | reference | agrees | s |
|---|---|---|---|---|---|---|
";

fn measure(
    method: Method,
    settings: &[(&str, &str)],
    folder: &std::path::Path,
    data: &str,
    step: usize,
) -> Result<(f64, f64, f64), Box<dyn std::error::Error>> {
    let (matrix, classes) = load(folder, data, step)?;
    let k = classes.iter().collect::<std::collections::BTreeSet<_>>().len();
    let mut built = method.build();
    for (name, value) in settings {
        built.set(name, value)?;
    }
    let start = std::time::Instant::now();
    let mut found = Vec::new();
    for seed in 1..=SEEDS {
        let run = Run { seed, ..Run::default() };
        let labels = built.cluster(&matrix.samples()?, k, &run, &Silent)?.labels;
        found.push(100.0 * scores(&labels, &classes)?.nmi);
    }
    let seconds = start.elapsed().as_secs_f64() / SEEDS as f64;
    let mean = found.iter().sum::<f64>() / SEEDS as f64;
    let variance = found.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / SEEDS as f64;
    Ok((mean, variance.sqrt(), seconds))
}

/// Every `step`-th row, in double precision.
fn load(
    folder: &std::path::Path,
    name: &str,
    step: usize,
) -> Result<(Matrix, Vec<u32>), Box<dyn std::error::Error>> {
    let source = Source::Path(folder.join(format!("{name}.npz")));
    let options = LoadOptions { truth: Some("y".into()), ..LoadOptions::default() };
    let data = obcut_data::load(&source, &options)?;
    let classes = data.truth.ok_or("no classes")?.codes;
    let (n, d) = (data.matrix.n_rows(), data.matrix.n_cols());
    let all: Vec<f64> = match data.matrix {
        Matrix::Dense64 { values, .. } => values,
        Matrix::Dense32 { values, .. } => values.into_iter().map(f64::from).collect(),
        _ => return Err("a dense table is needed".into()),
    };
    let rows = (0..n).step_by(step);
    let values = rows.clone().flat_map(|i| all[i * d..(i + 1) * d].iter().copied()).collect();
    let classes: Vec<u32> = rows.map(|i| classes[i]).collect();
    Ok((Matrix::Dense64 { values, n_rows: classes.len(), n_cols: d }, classes))
}
