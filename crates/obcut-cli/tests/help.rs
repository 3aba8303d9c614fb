//! Help texts as they are shown at 80 columns.

mod common;

use common::Folder;

#[test]
fn help_is_readable_at_80_columns() {
    let folder = Folder::new();
    for (name, args) in [
        ("top", "--help"),
        ("top_short", "-h"),
        ("cluster_short", "cluster -h"),
        ("cluster", "cluster --help"),
        ("predict", "predict -h"),
        ("cut", "cut -h"),
        ("score", "score -h"),
        ("info", "info -h"),
        ("demo", "demo -h"),
        ("completions", "completions -h"),
        ("man", "man -h"),
    ] {
        let help = folder.run(args).ok();
        assert_eq!(help.stderr, "", "{name}");
        let is_example = |line: &str| line.trim_start().starts_with("obcut ");
        let too_wide = |line: &&str| line.chars().count() > 80 && !is_example(line);
        assert_eq!(help.stdout.lines().find(too_wide), None, "{name}");
        insta::assert_snapshot!(name, help.stdout);
    }
}

#[test]
fn nothing_typed_shows_the_commands() {
    let run = Folder::new().run("");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cluster"), "{run:?}");
}

#[test]
fn a_typo_is_met_with_a_suggestion() {
    let folder = Folder::new();
    for (args, tip) in [
        ("clustr x.csv -k 3", "'cluster'"),
        ("cluster x.csv -k 3 --neigbors 4", "'--neighbors'"),
        ("cluster x.csv -k 3 --graph distanc", "'distance'"),
    ] {
        let run = folder.run(args);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(tip), "{run:?}");
        let run = folder.run(&format!("{args} --json"));
        assert_eq!(run.code, 2);
        assert_eq!(run.stderr, "");
        let error = &run.json()["error"];
        assert_eq!(error["kind"], "usage");
        assert_eq!(error["exit_code"], 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(tip) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn the_evaluation_of_the_paper_is_no_part_of_the_command() {
    let folder = Folder::new();
    for args in ["bench", "bench-run"] {
        let run = folder.run(args);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("unrecognized subcommand"), "{run:?}");
    }
}

#[test]
fn the_version_is_one_line() {
    let run = Folder::new().run("--version").ok();
    assert_eq!(run.stdout, concat!("obcut ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn every_shell_has_completions() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = folder.run(&format!("completions {shell}")).ok();
        assert!(run.stdout.contains("rows-per-anchor"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = Folder::new();
    assert!(folder.run("man").ok().stdout.contains(".TH obcut 1"));
    let run = folder.run("man .").ok();
    assert!(run.stderr.ends_with(" pages written to .\n"), "{run:?}");
    let files = folder.files();
    for page in ["obcut.1", "obcut-cluster.1", "obcut-predict.1", "obcut-cut.1", "obcut-score.1"] {
        assert!(files.contains(&page.to_string()), "{files:?}");
    }
    assert!(folder.text("obcut-cluster.1").contains("anchor\\-sets"));
    folder.write("obcut-cluster.1", "mine");
    let run = folder.run("man .");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--force"), "{run:?}");
    assert_eq!(folder.text("obcut-cluster.1"), "mine");
    folder.run("man . --force").ok();
    assert_ne!(folder.text("obcut-cluster.1"), "mine");
    let run = folder.run("man nowhere");
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1));
}

#[test]
fn help_is_a_command_too() {
    let folder = Folder::new();
    let long = folder.run("help cluster").ok();
    assert_eq!(long.stdout, folder.run("cluster --help").ok().stdout);
    assert_eq!(folder.run("help").ok().stdout, folder.run("--help").ok().stdout);
    assert_eq!(folder.run("help nothing").code, 2);
}
