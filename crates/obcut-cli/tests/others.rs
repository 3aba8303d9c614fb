//! `obcut cut`, `score`, `info` and `demo`.

mod common;

use common::{Folder, blobs, without_times};

/// Two blocks of documents and words, and a little across.
const GRAPH: &str = "5,4,0,0\n4,6,1,0\n0,0,7,5\n0,1,4,6\n0,0,5,5\n";

#[test]
fn cut_labels_rows_and_columns() {
    let folder = Folder::new();
    folder.write("g.csv", GRAPH);
    let args = "cut g.csv -k 2 -o rows.csv --columns-out cols.json --threads 1";
    let run = folder.run(args).ok();
    assert_eq!(run.stdout, "");
    insta::assert_snapshot!(without_times(&run.stderr));
    let json = folder.run("cut g.csv -k 2 --json").ok().json();
    let labels = |key: &str| serde_json::from_value::<Vec<u32>>(json[key].clone()).unwrap();
    let (rows, columns) = (labels("labels"), labels("column_labels"));
    assert!(rows[0] == rows[1] && rows[2] == rows[3] && rows[3] == rows[4] && rows[0] != rows[2]);
    assert_eq!(columns, [rows[0], rows[0], rows[2], rows[2]]);
    assert_eq!(json["row_clusters"]["count"], 2);
    let printed = folder.run("cut g.csv -k 2 -q").ok();
    assert_eq!(printed.labels(), rows);
}

#[test]
fn score_prints_a_table() {
    let folder = Folder::new();
    folder.write("l.csv", "0\n0\n0\n1\n1\n1\n").write("t.csv", "class\na\na\nb\nb\nb\nb\n");
    let run = folder.run("score l.csv t.csv").ok();
    assert_eq!(run.stderr, "");
    insta::assert_snapshot!(run.stdout);
    let json = folder.run("score l.csv t.csv --json").ok().json();
    assert_eq!(json["rows"], 6);
    assert!((json["acc"].as_f64().unwrap() - 5.0 / 6.0).abs() < 1e-12);
    assert!((json["purity"].as_f64().unwrap() - 5.0 / 6.0).abs() < 1e-12);
    assert_eq!(json["contingency"]["counts"], serde_json::json!([[2, 1], [0, 3]]));
    assert_eq!(json["contingency"]["classes"], serde_json::json!(["a", "b"]));
}

#[test]
fn score_takes_the_truth_from_a_column() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    folder.run("cluster x.csv -k 3 --drop class -o l.npy -q").ok();
    let json = folder.run("score l.npy x.csv --truth class --json").ok().json();
    assert_eq!((&json["nmi"], &json["ari"]), (&1.0.into(), &1.0.into()));
}

#[test]
fn score_looks_at_no_other_column() {
    let folder = Folder::new();
    folder
        .write("l.csv", "0\n0\n1\n")
        .write("t.csv", "city,class,x\nRome,a,1\nBonn,a,\nOslo,b,3\n");
    let json = folder.run("score l.csv t.csv --truth class --json").ok().json();
    assert_eq!(json["acc"], 1.0);
    let run = folder.run("score l.csv t.csv --truth clas");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("did you mean 'class'?"), "{run:?}");
}

#[test]
fn info_tells_tables_from_models() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    insta::assert_snapshot!(folder.run("info x.csv").ok().stdout);
    let json = folder.run("info x.csv --json").ok().json();
    assert_eq!((&json["kind"], &json["rows"]), (&"table".into(), &60.into()));
    folder.run("cluster x.csv -k 3 --drop class -q --model m --seed 2").ok();
    insta::assert_snapshot!(folder.run("info m").ok().stdout);
    let json = folder.run("info m --json").ok().json();
    assert_eq!((&json["kind"], &json["clusters"]), (&"model".into(), &3.into()));
    assert_eq!(json["feature_names"], serde_json::json!(["x", "y", "z"]));
    assert_eq!(json["settings"]["seed"], 2);
}

#[test]
fn info_lists_arrays_that_it_cannot_choose_from() {
    let folder = Folder::new();
    let fixture = "/../obcut-data/tests/fixtures/truth_only.npz";
    let bytes = std::fs::read(env!("CARGO_MANIFEST_DIR").to_string() + fixture).unwrap();
    folder.write("t.npz", bytes);
    insta::assert_snapshot!(folder.run("info t.npz").ok().stdout);
    let json = folder.run("info t.npz --json").ok().json();
    assert!(json["rows"].is_null() && !json["arrays"].as_array().unwrap().is_empty(), "{json}");
}

#[test]
fn info_tells_columns_of_text() {
    let folder = Folder::new();
    folder.write("x.csv", "1,red,2\n3,blue,4\n");
    let run = folder.run("info x.csv").ok();
    assert!(run.stdout.contains("text       1 column: 1 (see --drop, --truth)\n"), "{run:?}");
    let json = folder.run("info x.csv --json").ok().json();
    assert_eq!(json["text_columns"], serde_json::json!(["1"]));
}

#[test]
fn demo_clusters_the_digits() {
    let folder = Folder::new();
    let run = folder.run("demo --keep digits.csv").ok();
    assert!(run.stdout.contains("1,797 rows x 64 features"), "{run:?}");
    assert!(run.stdout.contains("obcut cluster digits.csv -k 10 --truth digit"), "{run:?}");
    let json = folder.run("demo --json").ok().json();
    assert!(json["scores"]["nmi"].as_f64().unwrap() > 0.7, "{json}");
    // The lines that it prints do work, and give the same.
    let args = "cluster digits.csv -k 10 --truth digit -o labels.csv --model digits.safetensors";
    folder.run(args).ok();
    let score = folder.run("score labels.csv digits.csv --truth digit --json").ok().json();
    assert_eq!(score["nmi"], json["scores"]["nmi"]);
    folder.run("predict digits.safetensors digits.csv --margins").ok();
    let again = folder.run("demo --keep digits.csv");
    assert_eq!(again.code, 2);
}
