//! `obcut cluster` and `obcut predict`.

mod common;

use std::collections::BTreeSet;

use common::{Folder, Noise, blobs, npy, without_times};

/// Whether two labelings put the same rows together.
fn same_partition(a: &[u32], b: &[u32]) -> bool {
    let pairs: BTreeSet<(u32, u32)> = a.iter().copied().zip(b.iter().copied()).collect();
    let distinct = |labels: &[u32]| labels.iter().collect::<BTreeSet<_>>().len();
    a.len() == b.len() && pairs.len() == distinct(a) && pairs.len() == distinct(b)
}

fn groups(n: usize) -> Vec<u32> {
    (0..n).map(|i| (i % 3) as u32).collect()
}

#[test]
fn labels_go_to_standard_output_and_the_summary_to_standard_error() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let run = folder.run("cluster x.csv -k 3 --drop class --threads 2").ok();
    assert!(same_partition(&run.labels(), &groups(90)), "{run:?}");
    insta::assert_snapshot!(without_times(&run.stderr));
}

#[test]
fn with_an_output_file_standard_output_stays_empty() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let args = "cluster x.csv -k 3 --truth class -o l.csv --model m.safetensors --threads 1";
    let run = folder.run(args).ok();
    assert_eq!(run.stdout, "");
    insta::assert_snapshot!(without_times(&run.stderr));
    assert_eq!(folder.files(), ["l.csv", "m.safetensors", "x.csv"]);
    assert!(folder.text("l.csv").starts_with("row,label\n0,"));
}

#[test]
fn the_summary_fits_narrow_terminals() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let args = ["cluster", "x.csv", "-k", "3", "--truth", "class", "-o", "l.csv"];
    let output = folder.command().env("COLUMNS", "50").args(args).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
}

#[test]
fn json_is_one_document_with_all_facts() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let run = folder.run("cluster x.csv -k 3 --truth class --json --seed 5").ok();
    assert_eq!(run.stderr, "");
    let json = run.json();
    assert_eq!(json["command"], "cluster");
    assert_eq!(json["input"]["rows"], 90);
    assert_eq!(json["input"]["columns"], 3);
    assert_eq!(json["input"]["format"], "csv");
    assert_eq!(json["settings"]["seed"], 5);
    assert_eq!(json["settings"]["n_clusters"], 3);
    assert_eq!(json["clusters"]["sizes"], serde_json::json!([30, 30, 30]));
    assert_eq!(json["scores"]["nmi"], 1.0);
    assert_eq!(json["labels"].as_array().unwrap().len(), 90);
    assert!(json["seconds"]["total"].as_f64().unwrap() > 0.0);
    assert!(json["seconds"]["stages"]["read"].is_number());
    assert!(json["output"]["labels"].is_null());
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    insta::assert_snapshot!(format!("{keys:?}"));

    let json = folder.run("cluster x.csv -k 3 --truth class --json -o l.npy").ok().json();
    assert_eq!(json["output"]["labels"], "l.npy");
    assert!(json.get("labels").is_none());
}

#[test]
fn k_can_be_chosen_and_the_result_explained() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(240));
    let args = "cluster x.csv -k auto --truth class --explain --threads 2 -o l.csv --model m";
    let run = folder.run(args).ok();
    insta::assert_snapshot!(without_times(&run.stderr));
    let json = folder.run("cluster x.csv -k 2-8 --truth class --json -o j.csv").ok().json();
    let facts = &json["explanation"];
    assert_eq!(facts["k_path"]["chosen"], 3);
    assert_eq!(facts["k_path"]["clear"], true);
    assert_eq!(facts["k_path"]["tried"].as_array().unwrap().len(), 7);
    assert_eq!(facts["clusters"][0]["rows"], 80);
    assert!(facts["clusters"][0]["features"][0]["name"].is_string());
    let tried = facts["tried"].as_array().unwrap();
    assert_eq!(tried.iter().filter(|t| t["kept"] == true).count(), 1);
    assert_eq!(json["settings"]["n_clusters"], 3);
    // The model file remembers it all.
    let model = folder.run("info m --json").ok().json();
    assert_eq!(model["explanation"]["k_path"]["chosen"], 3);
    assert_eq!(model["explanation"]["tried"].as_array().unwrap().len(), tried.len());
    let wrong = folder.run("cluster missing.csv -k 9-3");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("found 9 to 3"), "{}", wrong.stderr);
    let wrong = folder.run("cluster missing.csv -k many");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("or a range like 5-30"), "{}", wrong.stderr);
}

#[test]
fn the_stability_of_clusters_is_told_when_asked_for() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let run = folder.run("cluster --stability x.csv -k 3 --drop class --explain -o l.csv").ok();
    assert!(run.stderr.contains("ARI 1.000 over 10 resamples"), "{}", run.stderr);
    assert_eq!(run.stderr.matches(", stability 1.00").count(), 3, "{}", run.stderr);
    let args = "cluster x.csv -k 3 --drop class --stability=2 --json -o j.csv --report r.html";
    let json = folder.run(args).ok().json();
    assert_eq!(json["settings"]["stability"], 2);
    assert_eq!(json["explanation"]["stability"], 1.0);
    assert_eq!(json["explanation"]["clusters"][2]["stability"], 1.0);
    let page = String::from_utf8(folder.read("r.html")).unwrap();
    assert!(page.contains("Stability is the agreement with clusterings of subsets"));
    let json = folder.run("cluster x.csv -k 3 --drop class --json -o k.csv").ok().json();
    assert!(json["explanation"]["stability"].is_null());
}

#[test]
fn quiet_says_nothing_and_verbose_says_more() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(90));
    let quiet = folder.run("cluster x.csv -k 3 --drop class -q").ok();
    assert_eq!(quiet.stderr, "");
    let verbose = folder.run("cluster x.csv -k 3 --drop class -v").ok();
    assert!(verbose.stderr.contains("reading x.csv"), "{verbose:?}");
    assert!(verbose.stderr.contains(" s] anchors"), "{verbose:?}");
    assert_eq!(quiet.stdout, verbose.stdout);
    assert_eq!(folder.run("cluster x.csv -k 3 -q -v").code, 2);
}

#[test]
fn the_labels_are_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    let mut noise = Noise::new(3);
    folder.write("x.npy", npy(3000, 6, |i| noise.next() + (i / 6 % 7) as f64 * 0.3));
    let run = |threads: usize| {
        let args = format!(
            "cluster x.npy -k 7 -q --seed 1 --threads {threads} --margins --model m{threads}.safetensors"
        );
        folder.run(&args).ok().stdout
    };
    let one = run(1);
    assert_eq!(one.lines().count(), 3000);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn predict_repeats_the_labels_of_the_fit() {
    let folder = Folder::new();
    let mut noise = Noise::new(4);
    folder.write("x.npy", npy(2000, 5, |i| noise.next() + (i / 5 % 4) as f64));
    for options in ["", "--graph local", "--graph global", "--preset paper"] {
        let args = format!("cluster x.npy -k 4 {options} --anchors 50 -q --model m --force");
        let fitted = folder.run(&args).ok().labels();
        let predicted = folder.run("predict m x.npy -q").ok().labels();
        assert_eq!(fitted, predicted, "{options}");
        assert_eq!(fitted.iter().collect::<BTreeSet<_>>().len(), 4);
    }
}

#[test]
fn predict_finds_the_columns_by_name() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    let fitted = folder.run("cluster x.csv -k 3 --drop class -q --model m").ok().labels();
    let shuffled: String = blobs(60)
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{}\n", cells[3], cells[2], cells[0], cells[1])
        })
        .collect();
    folder.write("new.csv", shuffled);
    assert_eq!(folder.run("predict m new.csv -q").ok().labels(), fitted);
    let json = folder.run("predict m new.csv --truth class --json").ok().json();
    assert_eq!(json["scores"]["acc"], 1.0);
    assert_eq!(json["labels"].as_array().unwrap().len(), 60);
}

#[test]
fn margins_stand_beside_the_labels() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    let args = "cluster x.csv -k 3 --drop class --margins -o l.csv --model m";
    folder.run(args).ok();
    assert!(folder.text("l.csv").starts_with("row,label,second,margin,confidence,outlier\n"));
    let run = folder.run("predict m x.csv --margins -q").ok();
    let first: Vec<&str> = run.stdout.lines().next().unwrap().split(',').collect();
    assert_eq!(first.len(), 5);
    assert_ne!(first[0], first[1]);
    let figures: Vec<f64> = first[2..].iter().map(|text| text.parse().unwrap()).collect();
    assert!(figures[0] > 0.0 && (0.5..=1.0).contains(&figures[1]), "{figures:?}");
    assert!((0.2..5.0).contains(&figures[2]), "{figures:?}");
    // The same in a document, and from the fit as from its model.
    let json = folder.run("predict m x.csv --margins --json").ok().json();
    for (name, figure) in ["margin", "confidence", "outlier"].iter().zip(&figures) {
        assert_eq!(json[name][0].as_f64().unwrap(), *figure, "{name}");
        assert_eq!(json[name].as_array().unwrap().len(), 60);
    }
    assert_eq!(folder.text("l.csv").lines().nth(1).unwrap(), format!("0,{}", first.join(",")));
}

#[test]
fn noise_is_written_as_minus_one_in_every_format_by_fit_and_predict() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    let args = "cluster x.csv -k 3 --drop class --noise 0.1 -o l.csv --model m";
    let run = folder.run(args).ok();
    assert!(run.stderr.contains("noise      6 rows, marked as -1\n"), "{run:?}");
    let labels = folder.text("l.csv");
    assert_eq!(labels.lines().filter(|line| line.ends_with(",-1")).count(), 6);
    folder.run("predict m x.csv -o p.csv").ok();
    assert_eq!(folder.text("p.csv"), labels);
    folder.run("predict m x.csv -o p.json").ok();
    assert_eq!(folder.text("p.json").matches("-1").count(), 6);
    let json = folder.run("predict m x.csv --truth class --json").ok().json();
    assert_eq!(json["clusters"]["noise"], 6);
    let marked = json["labels"].as_array().unwrap().iter().filter(|label| **label == -1);
    assert_eq!(marked.count(), 6);
    folder.run("predict m x.csv -o p.npy").ok();
    folder.run("predict m x.csv -o p.parquet").ok();
    folder.run("score p.npy p.parquet").ok();
    assert_eq!(folder.run("cluster x.csv -k 3 --drop class --noise 1.5").code, 2);
}

#[test]
fn weights_are_told() {
    let folder = Folder::new();
    let table: String = blobs(30)
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("{line},w\n"),
            1 => format!("{line},0\n"),
            _ => format!("{line},0.75\n"),
        })
        .collect();
    folder.write("x.csv", table);
    let run = folder.run("cluster x.csv -k 3 --drop class --weights w -o l.csv --model m").ok();
    assert!(run.stderr.contains("weights    sum 21.75, 1 row with weight 0\n"), "{run:?}");
    let run = folder.run("info m").ok();
    assert!(run.stdout.contains(" (weights)\n"), "{run:?}");
    let json = folder.run("cluster x.csv -k 3 --drop class --weights w --json").ok().json();
    assert_eq!(json["weights"], serde_json::json!({"sum": 21.75, "zero_rows": 1}));
}

#[test]
fn tables_come_from_standard_input_too() {
    let folder = Folder::new();
    let table: String = blobs(30).lines().skip(1).map(|line| line.to_string() + "\n").collect();
    let run = folder.run_with("cluster - -k 3 --drop 3 -o -", &table).ok();
    assert!(same_partition(&run.labels(), &groups(30)), "{run:?}");
}

#[test]
fn columns_delimiter_and_header_are_chosen() {
    let folder = Folder::new();
    let table: String = blobs(30)
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{i};{}\n", line.replace(',', ";")))
        .collect();
    folder.write("x.txt", table);
    let args = "cluster x.txt --format csv --delimiter ; --header yes --columns x,2-3 -k 3 -q";
    assert!(same_partition(&folder.run(args).ok().labels(), &groups(30)));
}

#[test]
fn a_start_can_be_given_as_a_file() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    folder.run("cluster x.csv -k 3 --drop class -o first.npy -q").ok();
    let args = "cluster x.csv -k 3 --drop class --init first.npy --json";
    let json = folder.run(args).ok().json();
    assert_eq!(json["settings"]["init"].as_object().map(|o| o.len()).unwrap_or(1), 1);
    assert_eq!(json["clusters"]["sizes"], serde_json::json!([20, 20, 20]));
}

#[test]
fn anchors_can_be_given_as_a_file() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(60));
    folder.write("a.csv", "0,0,5\n1,1,6\n9,1,0\n10,2,1\n1,8,9\n2,9,10\n");
    let args = "cluster x.csv -k 3 --drop class --given-anchors a.csv --neighbors 2 --json";
    let json = folder.run(args).ok().json();
    assert_eq!(json["settings"]["anchors_used"], 6);
    assert_eq!(json["clusters"]["sizes"], serde_json::json!([20, 20, 20]));
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let folder = Folder::new();
    folder.write("x.csv", "x,y,w\n0,0,2\n0,1,1\n9,9,1\n9,8,0\n");
    let json = folder.run("cluster x.csv -k 2 --weights w --json").ok().json();
    let mut weights: Vec<f64> =
        serde_json::from_value(json["clusters"]["weights"].clone()).unwrap();
    weights.sort_by(f64::total_cmp);
    assert_eq!(weights, [1.0, 3.0]);
    assert_eq!(json["labels"].as_array().unwrap().len(), 4);
}

#[test]
fn options_win_over_the_preset() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(120));
    let args = "cluster x.csv -k 3 --drop class --preset paper --anchors 20 --lambda 2 --json";
    let settings = folder.run(args).ok().json()["settings"].clone();
    assert_eq!(settings["graph"], "global");
    assert_eq!(settings["init"], "kmeans");
    assert_eq!(settings["lambda_scale"], "absolute");
    assert_eq!(settings["n_anchors"], 20);
    assert_eq!(settings["lambda"], 2.0);
}

#[test]
fn every_advanced_option_reaches_the_settings() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(120));
    let args = "cluster x.csv -k 3 --drop class --json --graph local --anchors 12 --anchor-sets 2 \
        --neighbors 4 --scale standard --init kmeans --anchor-weights none --lambda 0.5 \
        --lambda-scale absolute --learn graph-only --formulation two-step --anchor-update \
        least-squares --pull 0.1 --row-solver exact --ridge 0.01 --max-iter 7 --tol 0.001 \
        --stop-on-labels false --max-sweeps 3 --sweep-order rows --n-init 2 --rows-per-anchor all \
        --reduce never --seed 9 --threads 2";
    let settings = folder.run(args).ok().json()["settings"].clone();
    insta::assert_snapshot!(serde_json::to_string_pretty(&settings).unwrap());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    let mut noise = Noise::new(5);
    folder.write("x.npy", npy(30_000, 2, |_| noise.next()));
    let line = format!(
        "{} cluster x.npy -k 2 -q | head -1; echo ${{PIPESTATUS[0]}}",
        common::binary().display()
    );
    let output = assert_cmd::Command::new("bash")
        .args(["-c", &line])
        .current_dir(folder.path("."))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("\n0\n"), "{output:?}");
}
