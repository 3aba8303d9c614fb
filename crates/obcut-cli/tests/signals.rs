//! Ctrl-C and SIGTERM.
#![cfg(unix)]

mod common;

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{Folder, Noise, npy};

/// Starts a fit that would take minutes.
fn start(folder: &Folder, more: &[&str]) -> Child {
    let mut noise = Noise::new(1);
    folder.write("x.npy", npy(60_000, 20, |_| noise.next()));
    let args = "cluster x.npy -k 50 -o out.npy --model m.safetensors -v --graph global \
        --anchors 400 --learn anchors-and-graph --tol 0 --stop-on-labels false \
        --max-iter 100000 --n-init 20";
    Command::new(common::binary())
        .args(args.split_whitespace())
        .args(more)
        .current_dir(folder.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Lets the fit run for a while, signals, and returns what it said.
fn interrupt(mut child: Child, name: &str) -> Output {
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "the fit is still running");
    signal(&child, name);
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_ends_the_fit_and_leaves_nothing() {
    for name in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let output = interrupt(start(&folder, &[]), name);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.ends_with("error: interrupted; nothing was written\n"), "{stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
        assert_eq!(folder.files(), ["x.npy"]);
    }
}

#[test]
fn an_interrupted_run_says_so_in_json() {
    let folder = Folder::new();
    let output = interrupt(start(&folder, &["--json"]), "-INT");
    assert_eq!(output.status.code(), Some(130));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["error"]["kind"], "interrupted");
    assert_eq!(json["error"]["exit_code"], 130);
}

#[test]
fn a_signal_ends_a_run_that_waits_for_input() {
    let folder = Folder::new();
    let mut child = Command::new(common::binary())
        .args(["cluster", "-", "-k", "3", "-o", "out.npy"])
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "-INT");
    // Standard input stays open, so that only the signal can end the run.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    assert!(folder.files().is_empty());
}
