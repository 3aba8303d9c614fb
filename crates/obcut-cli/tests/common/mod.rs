//! A scratch folder in which the command runs.
#![allow(dead_code)] // every test file uses its own part

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;

/// What a run gave.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The one JSON document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The labels printed one per line.
    pub fn labels(&self) -> Vec<u32> {
        self.stdout.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Asserts success.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// A folder that goes away with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Names of all files, hidden ones too.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command, in this folder, without colour, at 80 columns.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path()).env("NO_COLOR", "1").env("COLUMNS", "80");
        command.timeout(Duration::from_secs(120));
        command
    }

    /// Runs the command with arguments that are separated by blanks.
    pub fn run(&self, args: &str) -> Run {
        self.run_with(args, "")
    }

    /// The same, with standard input.
    pub fn run_with(&self, args: &str, stdin: &str) -> Run {
        let args = args.split_whitespace();
        let output = self.command().args(args).write_stdin(stdin).output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The program under test: cargo names those of the package that the tests belong to.
pub fn binary() -> &'static Path {
    let programs = [option_env!("CARGO_BIN_EXE_obcut"), option_env!("CARGO_BIN_EXE_obcut-bench")];
    Path::new(programs.into_iter().flatten().next().expect("tests of a package with a program"))
}

/// Numbers that look random, the same ones always.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2_654_435_761) + 1)
    }

    /// In 0..1.
    pub fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `n` rows in three clear groups, as CSV with the header `x,y,z,class`.
pub fn blobs(n: usize) -> String {
    let mut noise = Noise::new(7);
    let mut text = String::from("x,y,z,class\n");
    for i in 0..n {
        let group = i % 3;
        let centre = [[0.0, 0.0, 5.0], [9.0, 1.0, 0.0], [1.0, 8.0, 9.0]][group];
        let [x, y, z] = centre.map(|c| c + noise.next());
        text += &format!("{x:.4},{y:.4},{z:.4},{}\n", ["red", "green", "blue"][group]);
    }
    text
}

/// A two-dimensional NPY file of doubles.
pub fn npy(rows: usize, columns: usize, value: impl FnMut(usize) -> f64) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..rows * columns).map(value).flat_map(f64::to_le_bytes));
    bytes
}

/// A summary with its times left out, for snapshots.
pub fn without_times(text: &str) -> String {
    let keep = |line: &str| match line.trim_start().strip_prefix("seconds") {
        Some(_) => "  seconds    (...)".to_string(),
        None => line.to_string(),
    };
    text.lines().map(|line| keep(line) + "\n").collect()
}
