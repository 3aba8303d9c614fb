//! A counted number of executions of every target, and what the fuzzer says of a target that breaks.

use std::path::Path;
use std::process::{Command, Output};

fn run(words: &[&str], findings: &Path) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_obcut-fuzz"))
        .args(words)
        .arg("--findings")
        .arg(findings)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// The number before a word in a line.
fn count(text: &str, line: &str, word: &str) -> u64 {
    let line = text.lines().find(|l| l.starts_with(line)).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|w| *w == word).unwrap_or_else(|| panic!("{line}"));
    words[at - 1].parse().unwrap()
}

#[test]
fn a_thousand_damaged_files_of_every_kind_break_nothing() {
    let findings = tempfile::tempdir().unwrap();
    let (output, text) = run(&["--executions", "1000", "--patience", "0"], findings.path());
    assert!(output.status.success(), "{text}");
    assert_eq!((count(&text, "all", "executions"), count(&text, "all", "findings")), (13_000, 0));
    // Some damage is harmless: what is refused at once tries nothing.
    for target in
        "csv svmlight mtx npy npz mat parquet labels fit model state checkpoint suite".split(' ')
    {
        assert!(count(&text, target, "accepted") >= 5, "{text}");
    }
}

#[test]
fn a_target_that_breaks_is_found_out_and_its_files_are_kept() {
    let findings = tempfile::tempdir().unwrap();
    let words = ["--target", "broken", "--executions", "5", "--patience", "2"];
    let (output, text) = run(&words, findings.path());
    assert!(!output.status.success(), "{text}");
    assert_eq!((count(&text, "all", "executions"), count(&text, "all", "findings")), (5, 4));
    for (file, why) in [
        ("broken-0-1.txt", "broken on purpose"),
        ("broken-2-abort.txt", "memory allocation of 1073741824 bytes failed"),
        ("broken-0-3.txt", "wrong on purpose"),
        ("broken-4-endless.txt", "endless"),
    ] {
        assert!(text.lines().any(|line| line.contains(file) && line.contains(why)), "{text}");
        assert!(findings.path().join(file).is_file(), "{file}");
    }
    // A finding is run again as it is.
    let file = findings.path().join("broken-2-abort.txt");
    let (output, text) = run(&["--replay", file.to_str().unwrap()], findings.path());
    assert!(!output.status.success(), "{text}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("memory allocation of 1073741824 bytes failed"), "{stderr}");
}
