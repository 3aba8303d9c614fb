//! Tables that are read in pieces: the same labels from every format, after every kill.

mod common;

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Folder, binary};

/// So little memory that the table does not fit, and so small a core that it does.
const LITTLE: &str = "--memory 80MiB --core-rows 2000 --graph distance";

/// A table of 150,000 rows in a folder, with its classes.
fn table(folder: &Folder) {
    folder.run("generate big.npy -n 150000 -d 40 -k 6 --truth classes.npy").ok();
}

/// The same rows in another format.
fn rows(folder: &Folder) -> (Vec<f32>, usize) {
    let bytes = folder.read("big.npy");
    let values = bytes[128..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    (values.collect(), 40)
}

fn write_csv(folder: &Folder, name: &str, values: &[f32], d: usize) {
    let mut text = String::new();
    for row in values.chunks_exact(d) {
        text += &row.iter().map(f32::to_string).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    folder.write(name, text);
}

#[test]
fn pieces_give_the_labels_of_the_whole() {
    let folder = Folder::new();
    table(&folder);
    let whole = "--core-rows 2000 --graph distance";
    folder.run(&format!("cluster big.npy -k 6 {whole} -o whole.npy --model whole.st")).ok();
    let outputs = "-o pieces.npy --model pieces.st --report pieces.html";
    let run = folder.run(&format!("cluster big.npy -k 6 {LITTLE} {outputs}"));
    let run = run.ok();
    let page = folder.text("pieces.html");
    // As many as the core has, a share of every cluster, whole rows: a few less than 2,000.
    for part in ["of 150,000 rows, spread evenly", "Margins of 1,99", "centre among 1,99"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(run.stderr.contains("read in pieces"), "{run:?}");
    assert!(folder.read("whole.npy") == folder.read("pieces.npy"));
    assert!(folder.read("whole.st") == folder.read("pieces.st"));
    let score = folder.run("score pieces.npy classes.npy --json").ok().json();
    assert!(score["nmi"].as_f64().unwrap() > 0.8, "{score}");

    // CSV in two files, by a pattern, in the precision of the array.
    let (values, d) = rows(&folder);
    let half = 70_001 * d;
    write_csv(&folder, "part-1.csv", &values[..half], d);
    write_csv(&folder, "part-2.csv", &values[half..], d);
    let csv = format!("cluster part-*.csv -k 6 --dtype float32 {LITTLE} -o csv.npy");
    let run = folder.run(&csv).ok();
    assert!(run.stderr.contains("scratch file"), "{run:?}");
    assert!(folder.read("whole.npy") == folder.read("csv.npy"));
    folder.run("cluster part-1.csv part-2.csv -k 6 --dtype float32 --core-rows 2000 --graph distance -o two.npy").ok();
    assert!(folder.read("whole.npy") == folder.read("two.npy"));

    // Labels of the model, with margins, as a stream.
    folder.run("predict whole.st big.npy -o a.csv --margins").ok();
    folder.run("predict whole.st big.npy -o b.csv --margins --memory 20MiB").ok();
    assert!(folder.read("a.csv") == folder.read("b.csv"));
    folder.run(&format!("cluster big.npy -k 6 {LITTLE} -o c.csv --margins")).ok();
    assert!(folder.read("a.csv") == folder.read("c.csv"));
    folder.run(&format!("cluster big.npy -k 6 {LITTLE} -o whole.json")).ok();
    let json: serde_json::Value = serde_json::from_str(&folder.text("whole.json")).unwrap();
    assert_eq!(json["labels"].as_array().unwrap().len(), 150_000);
    let printed = folder.run(&format!("cluster big.npy -k 6 {LITTLE}")).ok();
    assert_eq!(printed.stdout.lines().count(), 150_000);
    let json = folder.run(&format!("cluster big.npy -k 6 {LITTLE} --json -o j.npy")).ok().json();
    assert_eq!(json["passes"]["core_rows"], 2000);
    assert!(json["passes"]["bytes_read"].as_u64().unwrap() > 2 * 24_000_000);
    assert_eq!(json["clusters"]["count"], 6);
    folder.run(&format!("cluster big.npy -k 6 {LITTLE} -o r.npy --report r.html")).ok();
    assert!(folder.text("r.html").contains("</html>"));
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_read() {
    let folder = Folder::new();
    table(&folder);
    let run = folder.run("cluster big.npy -k 6 --memory 80MiB --core-rows all -o l.npy");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("150000 rows") && run.stderr.contains("--core-rows"), "{run:?}");
    let run = folder.run("cluster nowhere-*.npy -k 6");
    assert!(run.code == 2 && run.stderr.contains("nowhere-*.npy"), "{run:?}");
    let run = folder.run("cluster big.npy -k 6 --resume");
    assert!(run.code == 2 && run.stderr.contains("--checkpoint"), "{run:?}");
    let run = folder.run("generate big.npy -n 10");
    assert!(run.code == 2 && run.stderr.contains("exists"), "{run:?}");
    folder.run("generate small.npy -n 300 -d 3 -k 2").ok();
    let run = folder.run("cluster big.npy small.npy -k 2");
    assert!(run.code == 3 && run.stderr.contains("small.npy"), "{run:?}");
}

#[test]
fn a_value_that_is_not_a_number_is_named() {
    let folder = Folder::new();
    table(&folder);
    let mut bytes = folder.read("big.npy");
    let at = 128 + 4 * (40 * 123_456 + 7);
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    folder.write("broken.npy", &bytes);
    let run = folder.run(&format!("cluster broken.npy -k 6 {LITTLE}"));
    assert!(run.code == 3, "{run:?}");
    assert!(run.stderr.contains("row 123456, column 7"), "{run:?}");
}

fn started(folder: &Folder, line: &str) -> Child {
    Command::new(binary())
        .args(line.split_whitespace())
        .current_dir(folder.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_run_goes_on_to_the_same_labels() {
    let folder = Folder::new();
    table(&folder);
    let line = format!("cluster big.npy -k 6 {LITTLE} --checkpoint kept --checkpoint-seconds 0");
    folder.run(&format!("{line} -o whole.npy --threads 1")).ok();
    assert!(!folder.path("kept").exists());
    let mut kills = 0;
    let mut wait = 20;
    loop {
        // A kill may come when the labels are written and the process has not ended yet.
        let resume = if kills > 0 { "--resume --force" } else { "" };
        let mut run = started(&folder, &format!("{line} -o killed.npy --threads 1 {resume}"));
        thread::sleep(Duration::from_millis(wait));
        if let Some(status) = run.try_wait().unwrap() {
            let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
            assert!(status.success(), "after {kills} kills: {said}");
            break;
        }
        run.kill().unwrap();
        run.wait().unwrap();
        kills += 1;
        // Longer and longer, so that a slow machine comes to the end too.
        wait = 20 + 15 * kills + (wait * 7 + 31) % 60;
    }
    assert!(kills >= 2, "{kills} kills");
    assert!(folder.read("whole.npy") == folder.read("killed.npy"));
    // Nothing is left but what was asked for.
    assert_eq!(folder.files(), ["big.npy", "classes.npy", "killed.npy", "whole.npy"]);
}

#[cfg(unix)]
#[test]
fn a_signal_saves_the_state() {
    let folder = Folder::new();
    table(&folder);
    let line = format!("cluster big.npy -k 6 {LITTLE} --checkpoint kept --threads 1");
    folder.run(&format!("{line} -o whole.npy")).ok();
    let mut stopped = false;
    for wait in [50, 100, 150, 250, 400, 600, 1000, 2000] {
        let mut run = started(&folder, &format!("{line} -o stopped.npy --force"));
        thread::sleep(Duration::from_millis(wait));
        Command::new("kill").args(["-TERM", &run.id().to_string()]).status().unwrap();
        let status = run.wait().unwrap();
        if folder.path("kept/state").exists() {
            assert_eq!(status.code(), Some(130));
            stopped = true;
            break;
        }
    }
    assert!(stopped, "no signal came in time");
    let run = folder.run(&format!("{line} -o stopped.npy --force"));
    assert!(run.code == 2 && run.stderr.contains("--resume"), "{run:?}");
    let other = line.replace("-k 6", "-k 5");
    let run = folder.run(&format!("{other} -o stopped.npy --force --resume"));
    assert!(run.code == 2 && run.stderr.contains("other parameters"), "{run:?}");
    let run = folder.run(&format!("{line} -o stopped.npy --force --resume --drop 0"));
    assert!(run.code == 2 && run.stderr.contains("same files and options"), "{run:?}");
    // A state of another format is refused, not misread.
    let state = folder.read("kept/state");
    let head = b"{\"obcut_checkpoint\":3,";
    assert!(state.starts_with(head));
    let old = [&b"{\"obcut_checkpoint\":1,"[..], &state[head.len()..]].concat();
    folder.write("kept/state", old);
    let run = folder.run(&format!("{line} -o stopped.npy --force --resume"));
    assert!(run.code == 2 && run.stderr.contains("another version of obcut"), "{run:?}");
    folder.write("kept/state", state);
    folder.run(&format!("{line} -o stopped.npy --force --resume")).ok();
    assert!(folder.read("whole.npy") == folder.read("stopped.npy"));
}

/// A run that was stopped while its labels were half done: the folder of its checkpoint.
#[cfg(unix)]
fn stopped_between_labels(folder: &Folder, line: &str) -> bool {
    for wait in (0..400).map(|i| 100 + 5 * i) {
        let mut run = started(folder, &format!("{line} -o killed.npy --force"));
        thread::sleep(Duration::from_millis(wait));
        run.kill().unwrap();
        run.wait().unwrap();
        let state = folder.path("kept/state");
        let text = std::fs::read(&state).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains("\"labels\":[") && !text.contains("\"labels\":[0,") {
            return true;
        }
        let _ = std::fs::remove_dir_all(folder.path("kept"));
    }
    false
}

#[cfg(unix)]
#[test]
fn a_damaged_checkpoint_is_refused_or_harmless() {
    let folder = Folder::new();
    table(&folder);
    let line = format!(
        "cluster big.npy -k 6 {LITTLE} --checkpoint kept --checkpoint-seconds 0 --threads 1"
    );
    folder.run(&format!("{line} -o whole.npy")).ok();
    assert!(stopped_between_labels(&folder, &line), "no kill came in time");
    let (state, labels) = (folder.read("kept/state"), folder.read("kept/labels"));
    let mut refused = 0;
    for round in 0..12usize {
        let (name, bytes) = if round % 2 == 0 { ("labels", &labels) } else { ("state", &state) };
        let mut damaged = bytes.clone();
        match round {
            // The first rows, a row in the middle, and a file that ends early.
            0 => damaged[..4].copy_from_slice(&7i32.to_le_bytes()),
            2 => damaged.truncate(100),
            3 => damaged.truncate(bytes.len() / 2),
            _ => damaged[(bytes.len() - 1) * round / 11] ^= 1 << (round % 8),
        }
        folder.write("kept/state", &state);
        folder.write("kept/labels", &labels);
        folder.write(&format!("kept/{name}"), &damaged);
        let run = folder.run(&format!("{line} -o again.npy --force --resume"));
        if run.code == 0 {
            assert!(folder.read("again.npy") == folder.read("whole.npy"), "round {round}");
            std::fs::create_dir_all(folder.path("kept")).unwrap();
        } else {
            assert!(run.stderr.contains("kept") && run.stderr.lines().count() == 1, "{run:?}");
            assert!([2, 3].contains(&run.code), "{run:?}");
            refused += 1;
        }
    }
    assert!(refused >= 8, "{refused} damages were refused");
    folder.write("kept/state", &state);
    folder.write("kept/labels", &labels);
    folder.run(&format!("{line} -o again.npy --force --resume")).ok();
    assert!(folder.read("again.npy") == folder.read("whole.npy"));
}

#[test]
fn an_input_that_changes_during_a_run_is_refused() {
    let folder = Folder::new();
    table(&folder);
    let bytes = folder.read("big.npy");
    let line = format!("cluster big.npy -k 6 {LITTLE} --threads 1 -o l.npy --force");
    let mut refused = 0;
    for wait in (0..60).map(|i| 30 + 20 * i) {
        let run = Command::new(binary())
            .args(line.split_whitespace())
            .current_dir(folder.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(wait));
        // The same length, other values, in place.
        folder.write("big.npy", &bytes);
        let output = run.wait_with_output().unwrap();
        if output.status.code() == Some(3) {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("big.npy changed while it was read"), "{text}");
            refused += 1;
            if refused == 3 {
                return;
            }
        } else {
            assert!(output.status.success(), "{output:?}");
        }
    }
    panic!("{refused} changes came in time");
}
