//! Benchmark suites: tables, budgets, and going on after a kill.

#[path = "../../obcut-cli/tests/common/mod.rs"]
mod common;

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Folder, Noise, binary};

const SUITE: &str = r#"
title = "Small | one"
about = "Shapes."
kind = "scores"
seeds = 4
seconds = 60
gib = 4
[[data]]
name = "moons"
make = { kind = "moons", rows = 300 }
[[data]]
name = "blobs"
make = { kind = "blobs", rows = 400, features = 5, clusters = 4 }
[[data]]
name = "nowhere"
[[method]]
label = "k-means"
method = "kmeans"
[[method]]
label = "LSC"
method = "lsc"
grid = { p = [30, 60] }
[[method]]
label = "OBCut"
method = "obcut"
"#;

/// A folder that contains a suite.
fn folder_with(name: &str, suite: &str) -> Folder {
    let folder = Folder::new();
    folder.write(name, suite);
    folder
}

#[test]
fn a_suite_gives_tables_and_records() {
    let folder = folder_with("small.toml", SUITE);
    let run = folder.run("small.toml --out out --report out/page.html").ok();
    assert!(run.stdout.starts_with("NMI %    moons  blobs\n"), "{run:?}");
    assert!(run.stdout.contains("OBCut    100.0  100.0"), "{run:?}");
    assert!(run.stderr.contains("left out: nowhere"), "{run:?}");
    let records = folder.text("out/runs.jsonl");
    assert_eq!(records.lines().count(), 2 * 4 * 4);
    for line in records.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["status"], "done");
        assert!(record["seconds"].as_f64().unwrap() > 0.0 && record["shuffled"] == true);
        assert!(record["peak_bytes"].as_u64().unwrap() > 1 << 20);
        assert!(record["machine"].as_str().is_some() && record["version"].as_str().is_some());
    }
    let tables = folder.text("out/tables.md");
    assert!(tables.contains("## Small \\| one") && tables.contains("### NMI"), "{tables}");
    assert!(tables.contains("4 seeds, rows shuffled by the seed"), "{tables}");
    assert!(tables.contains("| blobs | LSC | p "), "{tables}");
    assert_eq!(folder.text("out/tables.csv").lines().count(), 1 + 2 * 3 * 4 + 3 * 4 * 2);
    assert!(folder.text("out/tables.tex").contains("\\toprule"));

    // All is finished: nothing runs again, and the tables are the same.
    let again = folder.run("small.toml --out out").ok();
    assert_eq!(again.stdout, run.stdout);
    assert_eq!(folder.text("out/runs.jsonl"), records);
    assert_eq!(folder.text("out/tables.md"), tables);
    // The tables need no data, only the records.
    std::fs::remove_file(folder.path("out/tables.md")).unwrap();
    folder.run("small.toml --out out --tables-only --report out/page.html").ok();
    assert_eq!(folder.text("out/tables.md"), tables);
    let page = folder.text("out/page.html");
    assert!(page.contains("<h1>Small | one</h1>") && page.contains("Average rank"), "{page}");
    let none = folder.run("small.toml --out none --tables-only");
    assert_eq!(none.code, 2, "{none:?}");
    let json = folder.run("small.toml --out out --json").ok().json();
    assert_eq!((&json["runs"], &json["finished"]), (&32.into(), &32.into()));
    assert_eq!(json["scores"].as_array().unwrap().len(), 6);

    // Records of another build are kept, and told.
    assert!(!again.stderr.contains("another build"), "{again:?}");
    let first: serde_json::Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    let engine = first["engine"].as_str().unwrap();
    assert!(engine.len() == 8 && tables.contains(&format!("engine {engine}")), "{engine}");
    folder.write("out/runs.jsonl", records.replacen(engine, "0badc0de", 5));
    let mixed = folder.run("small.toml --out out --report out/page.html").ok();
    assert!(mixed.stderr.contains("some of the runs were made by another build"), "{mixed:?}");
    assert!(folder.text("out/page.html").contains("ome of the runs were made by another build"));
    assert_eq!(mixed.stdout, run.stdout);
}

#[test]
fn a_suite_killed_again_and_again_comes_to_the_same_tables() {
    let folder = folder_with("small.toml", SUITE);
    folder.run("small.toml --out whole").ok();
    let mut noise = Noise::new(7);
    let mut seen = Vec::new();
    for _ in 0..10 {
        let mut child = Command::new(binary())
            .args(["small.toml", "--out", "killed", "--jobs", "2"])
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(20 + (noise.next() * 200.0) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read(folder.path("killed/runs.jsonl")).unwrap_or_default();
        seen.push(text.iter().filter(|&&byte| byte == b'\n').count());
    }
    assert!(seen.iter().any(|&n| 0 < n && n < 32), "no kill hit the suite in its midst: {seen:?}");
    folder.run("small.toml --out killed --jobs 2").ok();
    assert_eq!(folder.text("killed/tables.tex"), folder.text("whole/tables.tex"));
    let scores = |name: &str| -> Vec<String> {
        let text = folder.text(name);
        text.lines().map(|l| l.split(',').take(6).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(scores("killed/tables.csv"), scores("whole/tables.csv"));
    assert_eq!(folder.text("killed/runs.jsonl").lines().count(), 32, "no run was done twice");
}

#[test]
fn a_run_ends_when_the_benchmark_is_gone() {
    let folder = folder_with("long.toml", LONG);
    let mut child = Command::new(binary())
        .args(["long.toml", "--out", "out"])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    // Processes are started by threads of the benchmark: all of them are asked for their children.
    let all = |parent: u32| -> Vec<u32> {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
            return Vec::new();
        };
        let ids = tasks.filter_map(|t| t.ok()?.file_name().into_string().ok());
        let children = ids.filter_map(|id| {
            std::fs::read_to_string(format!("/proc/{parent}/task/{id}/children")).ok()
        });
        let children: Vec<String> = children.collect();
        children.iter().flat_map(|c| c.split_whitespace()).filter_map(|c| c.parse().ok()).collect()
    };
    let mut found = Vec::new();
    while found.is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
        found = all(child.id());
    }
    assert!(!found.is_empty(), "no run was started");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_there = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        !status.is_empty() && !status.contains("State:\tZ")
    };
    while found.iter().any(is_there) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(!found.iter().any(is_there), "a run goes on without its benchmark");
}

const LONG: &str = r#"
title = "Long"
about = "Too much."
kind = "scores"
seeds = 2
seconds = 600
gib = 8
[[data]]
name = "mixture"
make = { kind = "mixture", rows = 4000, features = 100, clusters = 10 }
[[method]]
label = "SSC"
method = "ssc"
"#;

#[test]
fn what_is_over_budget_is_not_available_with_the_reason() {
    let folder = folder_with("long.toml", LONG);
    let run = folder.run("long.toml --out time --seconds 1").ok();
    assert!(run.stdout.contains("N/A"), "{run:?}");
    let tables = folder.text("time/tables.md");
    assert!(tables.contains("| mixture | SSC | all | more than 1 seconds |"), "{tables}");
    // The second seed was not tried.
    assert!(folder.text("time/runs.jsonl").contains("not tried: seed 0 was over budget"));
    // The same budget does not try again, a larger one does.
    let lines = |name: &str| folder.text(name).lines().count();
    folder.run("long.toml --out time --seconds 1").ok();
    assert_eq!(lines("time/runs.jsonl"), 2);
    folder.run("long.toml --out time --seconds 2").ok();
    assert_eq!(lines("time/runs.jsonl"), 4);

    folder.run("long.toml --out asked --memory 100MB").ok();
    let record = folder.text("asked/runs.jsonl");
    assert!(record.contains("over-memory") && record.contains("needs"), "{record}");

    let big = LONG.replace("4000", "60000").replace("\"ssc\"", "\"kmeans\"");
    folder.write("big.toml", big);
    folder.run("big.toml --out held --memory 15MB").ok();
    let record = folder.text("held/runs.jsonl");
    assert!(record.contains("over-memory") && record.contains("more than 14.3 MiB"), "{record}");
}

#[test]
fn a_page_takes_the_place_of_nothing_else() {
    let folder = folder_with("small.toml", SUITE);
    #[cfg(unix)]
    std::os::unix::fs::symlink("small.toml", folder.path("suite.html")).unwrap();
    let cases = [
        ("out/runs.jsonl", "name it .html"),
        ("out/tables.md", "name it .html"),
        #[cfg(unix)]
        ("suite.html", "another file"),
        ("-", "name a file"),
    ];
    for (path, message) in cases {
        let run = folder.run(&format!("small.toml --out out --report {path}"));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(message), "{run:?}");
    }
    assert_eq!(folder.text("small.toml"), SUITE);
    assert!(!folder.path("out/runs.jsonl").exists(), "nothing was run");
}

#[test]
fn the_command_in_the_tables_does_it_again() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("a b")).unwrap();
    let suite = SUITE.replace("name = \"nowhere\"", "name = \"here\"\nfile = \"mine.csv\"");
    folder.write("a b/small.toml", &suite);
    // The file is named as it is seen from the suite.
    folder.write("a b/mine.csv", "a,y\n1,0\n1.1,0\n9,1\n9.1,1\n");
    let words = ["a b/small.toml", "--data", "here", "--methods", "kmeans", "--no-shuffle"];
    let more = ["--seeds", "2", "--seconds", "2.5", "--memory", "500MB", "--out", "out"];
    let run = Command::new(binary()).args(words).args(more).current_dir(folder.path("")).output();
    assert!(run.unwrap().status.success());
    let tables = folder.text("out/tables.md");
    let command = "obcut-bench 'a b/small.toml' --data here --methods kmeans --seeds 2 --no-shuffle --seconds 2.5 --memory 500000000";
    assert!(tables.contains(&format!("Command: `{command}`. 2 seeds")), "{tables}");
    assert!(tables.contains("A run may take 2.5 s and 477 MiB."), "{tables}");
    let latex = folder.text("out/tables.tex");
    assert!(latex.contains("% rows in the order of the file for: k-means"), "{latex}");
}

#[test]
fn a_suite_of_which_nothing_can_be_done_fails() {
    let folder = folder_with("small.toml", SUITE);
    folder.write("gap.csv", "a,y\n1,0\nnan,0\n9,1\n9.1,1\n");
    let args = "small.toml --out out --data gap=gap.csv --methods kmeans --seeds 1";
    let run = folder.run(args);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("no score of k-means on gap: row 1, column 0 is NaN"), "{run:?}");
    assert!(run.stderr.contains("no run could be done"), "{run:?}");
}

#[test]
fn rows_that_are_not_shuffled_are_told() {
    let folder = folder_with("small.toml", SUITE);
    let args = "small.toml --out out --no-shuffle --seeds 1 --data moons --methods kmeans,obcut";
    let run = folder.run(args).ok();
    assert!(run.stderr.contains("rows were not shuffled for k-means; OBCut"), "{run:?}");
    assert!(folder.text("out/tables.md").contains("**rows in the order of the file**"));
    assert!(folder.text("out/runs.jsonl").contains("\"shuffled\":false"));
    assert_eq!(folder.text("out/runs.jsonl").lines().count(), 2);
}

#[test]
fn a_file_takes_the_place_of_a_data_set() {
    let folder = folder_with("small.toml", SUITE);
    let mut noise = Noise::new(1);
    let rows = (0..60)
        .map(|i| format!("{},{},{}\n", noise.next() + f64::from(9 * (i % 2)), noise.next(), i % 2));
    folder.write("mine.csv", "a,b,y\n".to_string() + &rows.collect::<String>());
    let run = folder.run("small.toml --out out --data nowhere=mine.csv --methods obcut --seeds 2");
    assert!(run.ok().stdout.contains("100.0"));
}

#[test]
fn help_is_readable_at_80_columns() {
    let help = Folder::new().run("-h").ok();
    assert_eq!(help.stderr, "");
    let is_example = |line: &str| line.trim_start().starts_with("obcut-bench ");
    let too_wide = |line: &&str| line.chars().count() > 80 && !is_example(line);
    assert_eq!(help.stdout.lines().find(too_wide), None);
    insta::assert_snapshot!("help", help.stdout);
}

#[test]
fn suites_are_listed_and_unknown_ones_refused() {
    let folder = Folder::new();
    let run = folder.run("").ok();
    for name in ["quick", "paper", "sensitivity", "ablation", "order", "convergence", "scaling"] {
        assert!(run.stdout.contains(name), "{run:?}");
    }
    for (args, code, text) in [
        ("papers", 2, "quick, paper"),
        ("nowhere.toml", 2, "nowhere.toml"),
        ("quick --data sun", 2, "no data set 'sun'"),
        ("quick --methods sun", 2, "no method 'sun'"),
        ("quick --seeds 0", 2, "0"),
        ("quick --fresh --tables-only", 2, "--tables-only"),
    ] {
        let run = folder.run(args);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stderr.contains(text), "{run:?}");
    }
    assert_eq!(folder.files(), Vec::<String>::new(), "nothing was written");
}

#[test]
fn the_quick_suite_has_a_score_in_every_cell() {
    let folder = Folder::new();
    let run = folder.run("quick --seeds 1 --jobs 2 --out out --json --report page.html").ok();
    let json = run.json();
    // Five data sets with twelve methods, SSC left out on one.
    assert_eq!(json["scores"].as_array().unwrap().len(), 5 * 12 - 1);
    assert_eq!((&json["not_available"], &json["gaps"]), (&0.into(), &serde_json::json!([])));
    let tables = folder.text("out/tables.md");
    assert!(tables.contains("| digits | SSC | all | left out by the suite |"), "{tables}");
    assert!(tables.contains("Not ranked: SSC."), "{tables}");
    assert!(folder.text("page.html").contains("Not ranked: SSC."));
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    let folder = Folder::new();
    let first = "[[method]]\nlabel = \"k-means\"\nmethod = \"kmeans\"\n[[method]]\n";
    folder.write("long.toml", LONG.replacen("[[method]]\n", first, 1));
    let mut child = Command::new(binary())
        .args(["long.toml", "--out", "out"])
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let lines = || {
        let text = std::fs::read(folder.path("out/runs.jsonl")).unwrap_or_default();
        text.iter().filter(|&&byte| byte == b'\n').count()
    };
    while lines() == 0 && Instant::now() < deadline && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("interrupted after 1 of 4 runs"), "{text}");
    assert!(text.contains("the same command goes on from there"), "{text}");
    assert!(folder.text("out/runs.jsonl").contains("\"method\":\"kmeans\""));
    assert_eq!(lines(), 1, "the run under way left no record");
}
