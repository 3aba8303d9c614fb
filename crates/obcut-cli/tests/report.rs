//! `--report`: the page of a clustering.

mod common;

use common::{Folder, blobs};

#[test]
fn a_report_is_written_and_told() {
    let folder = Folder::new();
    folder.write("my table.csv", blobs(90));
    let args = [
        "cluster",
        "my table.csv",
        "-k",
        "3",
        "--truth",
        "class",
        "-o",
        "l.csv",
        "--report",
        "r.html",
    ];
    let output = folder.command().args(args).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("report     r.html"), "{told}");
    let page = folder.text("r.html");
    assert!(page.starts_with("<!doctype html>"));
    for part in [
        "Clusters of my table.csv",
        "obcut cluster &#39;my table.csv&#39; -k 3 --truth class -o l.csv --report r.html",
        "Map of the rows",
        "NMI",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(folder.files(), ["l.csv", "my table.csv", "r.html"]);
}

#[test]
fn the_report_counts_the_rows_marked_as_noise() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    folder.run("cluster x.csv -k 3 --drop class --noise 0.1 -o l.csv --report r.html").ok();
    let page = folder.text("r.html");
    assert!(page.contains("6 rows are marked as noise (label -1)."));
    assert!(!page.contains("Cluster 3</h3>"));
}

#[test]
fn json_names_the_report() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    let json = folder.run("cluster x.csv -k 3 --drop class --report r.html --json").ok().json();
    assert_eq!(json["output"]["report"], "r.html");
    assert!(json["seconds"]["stages"]["report"].is_number());
    let json = folder.run("cluster x.csv -k 3 --drop class --json").ok().json();
    assert!(json["output"]["report"].is_null());
}

#[test]
fn what_cannot_be_written_is_refused_before_any_work() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60)).write("x.html", blobs(60)).write("r.html", "mine");
    let says = |args: &str, words: &str| {
        let run = folder.run(args);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    };
    says("cluster x.csv -k 3 --report r.html", "r.html exists");
    says("cluster x.csv -k 3 --report -", "a report cannot be printed");
    says("cluster x.csv -k 3 --report no/r.html", "no/r.html");
    says("cluster x.csv -k 3 --model m.html --report m.html", "target of two outputs");
    says("cluster x.csv -k 3 --report x.csv --force", "a report is an HTML file");
    says("cluster x.html --format csv -k 3 --report ./x.html --force", "is an input");
    says("cluster x.csv -k 3 --report r.pdf", "r.pdf: a report is an HTML file; name it .html");
    says("cluster x.csv -k 3 --method kmeans --report p.html", "--report: only for --method obcut");
    says("demo --report r.html", "r.html exists");
    assert_eq!(folder.text("r.html"), "mine");
    folder.run("cluster x.csv -k 3 --drop class -q --report r.html --force").ok();
    assert!(folder.text("r.html").starts_with("<!doctype html>"));
}

#[test]
fn the_demo_has_a_report() {
    let folder = Folder::new();
    let run = folder.run("demo --report digits.html").ok();
    assert!(run.stdout.contains("report     digits.html"), "{run:?}");
    let page = folder.text("digits.html");
    assert!(
        page.contains("Handwritten digits") && page.contains("obcut demo --report digits.html")
    );
}
