//! What is given damaged input, and what must hold of its answer.

mod models;
mod tables;

use std::path::Path;

use clap::ValueEnum;
use obcut_bench::Suite;
use obcut_bench::plan::RunPlan;

use crate::corpus::{self, Specimen};

/// A part of the program that reads bytes of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// CSV and TSV tables
    Csv,
    /// svmlight tables
    Svmlight,
    /// MatrixMarket tables
    Mtx,
    /// NPY arrays
    Npy,
    /// NPZ archives, dense and sparse
    Npz,
    /// MAT files
    Mat,
    /// Parquet tables
    Parquet,
    /// Files of labels
    Labels,
    /// Fits of small tables, from the bytes of a file to the labels
    Fit,
    /// Files of models: read, predict, write again
    Model,
    /// The state of a fit of a large table, without its checksum
    State,
    /// A checkpoint of a fit of a large table, with its checksum
    Checkpoint,
    /// TOML suites of obcut-bench
    Suite,
    /// Breaks in every way: for the test of this program
    #[value(hide = true)]
    Broken,
}

impl Target {
    pub const ALL: &[Self] = &[
        Self::Csv,
        Self::Svmlight,
        Self::Mtx,
        Self::Npy,
        Self::Npz,
        Self::Mat,
        Self::Parquet,
        Self::Labels,
        Self::Fit,
        Self::Model,
        Self::State,
        Self::Checkpoint,
        Self::Suite,
    ];

    /// The word that is typed.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }

    /// Whether its files may be packed as `.gz` or `.zst`.
    pub fn may_be_packed(self) -> bool {
        !matches!(self, Self::Model | Self::State | Self::Checkpoint | Self::Suite)
    }

    /// Files to start from.
    pub fn corpus(self) -> Vec<Specimen> {
        match self {
            Self::Csv => corpus::csv(),
            Self::Svmlight => corpus::svmlight(),
            Self::Mtx => corpus::matrix_market(),
            Self::Npy => corpus::npy(),
            Self::Npz => corpus::npz(),
            Self::Mat => corpus::mat(),
            Self::Parquet => corpus::parquet(),
            Self::Labels => corpus::labels(),
            Self::Fit => tables::to_fit(),
            Self::Model => models::models(),
            Self::State => models::states(),
            Self::Checkpoint => models::checkpoints(),
            Self::Suite => suites(),
            Self::Broken => corpus::texts("txt", &["fine", "panic", "memory", "wrong", "endless"]),
        }
    }

    /// Bytes of memory that an input may take: `packed` as a file, `unpacked` as its content.
    pub fn memory(self, packed: usize, unpacked: usize) -> usize {
        // Buffers that every reader has; the work of a fit of any size.
        let base = match self {
            Self::Fit | Self::Checkpoint => 128 << 20,
            // An entry justifies 1,000 rows, and a few more are always allowed.
            Self::Svmlight | Self::Mtx | Self::Npz | Self::Mat => 32 << 20,
            _ => 16 << 20,
        };
        let per_byte = match self {
            Self::Mtx | Self::Npz | Self::Mat => 8000,
            _ => 64,
        };
        base + per_byte * (packed + unpacked)
    }

    /// Gives the target a file, and says whether it was accepted. An error of the program is a good answer; the
    /// text of this error says what must not be. A panic is for the caller to see.
    pub fn execute(self, path: &Path, bytes: &[u8]) -> Result<bool, String> {
        match self {
            Self::Labels => tables::labels(path),
            Self::Fit => tables::fit(path, bytes),
            Self::Model => models::model(bytes),
            Self::State => models::state(bytes),
            Self::Checkpoint => models::checkpoint(bytes),
            Self::Suite => suite(bytes),
            Self::Broken => broken(bytes),
            _ => tables::table(path, bytes),
        }
    }
}

/// An error that a user sees is one line, and not a long one.
fn check_message(text: &str) -> Result<(), String> {
    match text.contains('\n') || text.len() > 1000 {
        true => Err(format!("a message of {} bytes: {}", text.len(), shown(text))),
        false => Ok(()),
    }
}

/// The beginning of a text, for a finding.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(300).collect::<String>())
}

fn suites() -> Vec<Specimen> {
    let mut all = corpus::texts(
        "toml",
        &[
            include_str!("../../obcut-bench/suites/quick.toml"),
            include_str!("../../obcut-bench/suites/sensitivity.toml"),
            include_str!("../../obcut-bench/suites/scaling.toml"),
        ],
    );
    all.extend(corpus::texts(
        "toml",
        &[
            "title = 't'\nabout = 'a'\nkind = 'scores'\nseeds = 9223372036854775807\nseconds = 1e308\ngib = nan\ndata = []\nmethod = []\n",
            "title = 't'\nabout = 'a'\nkind = 'scores'\nseeds = 1\nseconds = 1\ngib = 1\n[[data]]\nname = '../x'\ndigits = true\n[[method]]\nlabel = 'm'\nmethod = 'obcut'\n[method.grid]\nk = [1]\n",
            &format!("a = {}\n", "[".repeat(3000)),
        ],
    ));
    all
}

fn broken(bytes: &[u8]) -> Result<bool, String> {
    match bytes {
        b"panic" => panic!("broken on purpose"),
        b"memory" => Ok(std::hint::black_box(vec![1u8; 1 << 30]).len() > 1),
        b"wrong" => Err("wrong on purpose".into()),
        b"endless" => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        _ => Ok(true),
    }
}

/// Most runs of a suite that are laid out: a small file may ask for very many.
const MOST_RUNS: usize = 10_000;

fn suite(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    match Suite::parse("suite", text) {
        Err(error) => match error.to_string() {
            text if text.len() > 5000 => Err(format!("a message of {} bytes", text.len())),
            _ => Ok(false),
        },
        Ok(suite) => {
            let n_settings: usize = suite
                .method
                .iter()
                .map(|one| one.grid.values().map(Vec::len).fold(1, usize::saturating_mul))
                .fold(0, usize::saturating_add);
            let n_runs = n_settings.saturating_mul(suite.data.len() * suite.seeds as usize);
            if n_runs <= MOST_RUNS {
                let found = RunPlan::without_data(&suite).runs.len();
                if found > n_runs {
                    return Err(format!("{found} runs instead of {n_runs}"));
                }
            }
            Ok(true)
        }
    }
}
