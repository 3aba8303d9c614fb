//! Bad input: an exit code, one line that says what to do, and nothing left behind.

mod common;

use std::fs;

use common::{Folder, Run, blobs, npy};

/// Runs a command that must fail, both ways, and returns its message.
fn refused(folder: &Folder, args: &str, code: i32) -> String {
    let before = folder.files();
    let run = folder.run(args);
    check(&run, code);
    assert_eq!(run.stdout, "", "{args}");
    let line = run.stderr.strip_prefix("error: ").expect("an error line").trim_end();
    assert_eq!(line.lines().count(), 1, "{run:?}");

    let run = folder.run(&format!("{args} --json"));
    check(&run, code);
    assert_eq!(run.stderr, "", "{args}");
    let error = &run.json()["error"];
    assert_eq!(error["message"], line);
    assert_eq!(error["exit_code"], code);
    assert_eq!(folder.files(), before, "no file is left behind");
    line.to_string()
}

fn check(run: &Run, code: i32) {
    assert_eq!(run.code, code, "{run:?}");
    for text in ["panicked", "RUST_BACKTRACE"] {
        assert!(!run.stdout.contains(text) && !run.stderr.contains(text), "{run:?}");
    }
}

/// Snapshot of the message of one bad table.
fn bad_table(name: &str, content: impl AsRef<[u8]>) -> String {
    let folder = Folder::new();
    folder.write(name, content);
    refused(&folder, &format!("cluster {name} -k 2 -o out.npy --model m.safetensors"), 3)
}

/// Snapshot of the message of wrong options for a good table.
fn bad_options(options: &str) -> String {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    refused(&folder, &format!("cluster x.csv --drop class {options} -o out.npy"), 2)
}

#[test]
fn tables_that_cannot_be_clustered() {
    let counted = |special: &'static [usize], value: f64| {
        npy(4, 3, move |i| if special.contains(&i) { value } else { i as f64 })
    };
    let truncated = npy(50, 3, |i| i as f64);
    let png: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe";
    for (name, file, content) in [
        ("nan", "x.npy", &counted(&[5, 7], f64::NAN)[..]),
        ("nan-2", "x.csv", b"a,b\n1,2\n3,nan\n5,6\n"),
        ("nan-3", "x.csv", b"1,2\n3,nan\n5,6\n"),
        // Rows of two lines: then rows are counted.
        ("nan-4", "x.csv", b"a,b\n1,\"2\n\"\n3,nan\n5,6\n"),
        ("infinity", "x.npy", &counted(&[9], f64::INFINITY)),
        ("ragged_rows", "x.csv", b"a,b\n1,2\n3\n5,6\n"),
        ("text_in_a_number_column", "x.csv", b"a,b\n1,2\n3,four\n5,6\n"),
        ("an_empty_cell", "x.csv", b"a,b\n1,2\n3,\n5,6\n"),
        ("an_empty_file", "x.csv", b""),
        ("an_empty_file-2", "x.csv", b"a,b,c\n"),
        ("an_empty_file-3", "x.npy", b""),
        ("a_binary_file_named_csv", "x.csv", png),
        ("a_binary_file_named_csv-2", "x.csv", &npy(2, 2, |i| i as f64)),
        ("a_truncated_npy_file", "x.npy", &truncated[..truncated.len() - 100]),
        ("too_few_distinct_rows", "x.csv", b"a,b\n1,2\n1,2\n1,2\n"),
    ] {
        insta::assert_snapshot!(name, bad_table(file, content));
    }
}

#[test]
fn options_that_cannot_be_used() {
    for (name, options) in [
        ("no_clusters", "-k 0"),
        ("more_clusters_than_rows", "-k 31"),
        ("fewer_anchors_than_clusters", "-k 5 --anchors 4"),
        ("settings_out_of_range", "-k 3 --lambda -1"),
        ("settings_out_of_range-2", "-k 3 --lambda nan"),
        ("settings_out_of_range-3", "-k 3 --neighbors 0"),
        ("settings_out_of_range-4", "-k 3 --n-init 0"),
        ("an_unknown_start", "-k 3 --init spectrl"),
        ("an_unknown_column", "-k 3 --truth clas"),
    ] {
        insta::assert_snapshot!(name, bad_options(options));
    }
}

/// The file's own columns are named, whatever was left out.
#[test]
fn nan_among_chosen_columns() {
    let folder = Folder::new();
    folder.write("t.csv", "id,h1,h2,h3\n1,1,1,1\n2,1,2,1\n3,2,3,4\n4,3,1,3\n5,1,1,inf\n");
    let args = "cluster t.csv -k 2 --drop id -o out.npy";
    insta::assert_snapshot!(refused(&folder, args, 3));
    folder.write("x.npy", npy(4, 3, |i| if i == 5 { f64::NAN } else { i as f64 }));
    insta::assert_snapshot!(refused(&folder, "cluster x.npy -k 2 --drop 0 -o out.npy", 3));
}

#[test]
fn a_start_of_another_length() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("start.csv", "0\n1\n2\n");
    let args = "cluster x.csv --drop class -k 3 --init start.csv";
    insta::assert_snapshot!(refused(&folder, args, 2));
}

#[test]
fn given_anchors_of_another_width() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("anchors.csv", "1,2\n3,4\n5,6\n7,8\n");
    let args = "cluster x.csv --drop class -k 3 --given-anchors anchors.csv";
    insta::assert_snapshot!(refused(&folder, args, 2));
}

#[test]
fn negative_weights() {
    let folder = Folder::new();
    folder.write("x.csv", "a,b,w\n1,2,1\n3,4,-2\n5,6,1\n");
    let args = "cluster x.csv -k 2 --weights w -o out.csv";
    insta::assert_snapshot!(refused(&folder, args, 3));
}

#[test]
fn a_graph_with_negative_entries() {
    let folder = Folder::new();
    folder.write("g.csv", "1,0,2\n0,-3,1\n1,1,1\n");
    insta::assert_snapshot!(refused(&folder, "cut g.csv -k 2 -o rows.csv --columns-out c.csv", 3));
}

#[test]
fn a_graph_of_fewer_columns_than_clusters() {
    let folder = Folder::new();
    folder.write("g.csv", "1,0\n0,3\n1,1\n");
    insta::assert_snapshot!(refused(&folder, "cut g.csv -k 3", 2));
}

#[test]
fn wrong_feature_count_at_predict() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("new.csv", "1,2\n3,4\n");
    folder.run("cluster x.csv --drop class -k 3 -q --model m.safetensors").ok();
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors new.csv -o out.npy", 3));
}

#[test]
fn a_column_of_the_model_that_is_missing() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("miss.csv", "city,x,why,z\nRome,1,2,3\n");
    folder.run("cluster x.csv --drop class -k 3 -q --model m.safetensors").ok();
    let args = "predict m.safetensors miss.csv -o out.npy";
    insta::assert_snapshot!(refused(&folder, args, 2));
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors x.csv --drop y", 2));
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors x.csv --columns x,z", 2));
    let run = folder.run_with("predict m.safetensors -", &folder.text("miss.csv"));
    assert_eq!(run.code, 2, "{run:?}");
    folder.run("predict m.safetensors x.csv --columns z,y,x").ok();
}

#[test]
fn a_missing_file() {
    let folder = Folder::new();
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2", 2));
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors x.csv", 2));
    insta::assert_snapshot!(refused(&folder, "info x.csv", 2));
    insta::assert_snapshot!(refused(&folder, "score a.npy b.npy", 2));
}

#[test]
fn a_folder_given_as_a_file() {
    let folder = Folder::new();
    fs::create_dir(folder.path("sub")).unwrap();
    folder.write("x.csv", blobs(30));
    insta::assert_snapshot!(refused(&folder, "cluster sub -k 2", 2));
    insta::assert_snapshot!(refused(&folder, "predict sub x.csv", 2));
    fs::create_dir(folder.path("out.npy")).unwrap();
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 -o out.npy --force", 2));
}

#[test]
fn an_output_that_cannot_be_written() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 -o no/such/out.npy", 2));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 --model no/m.safetensors", 2));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 -o out.xlsx", 2));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 --model -", 2));
    insta::assert_snapshot!(refused(&folder, "demo --keep x.npy", 2));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 --margins -o out.npy", 2));
}

/// Not even root can make files there.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    for option in ["-o /proc/out.npy", "--model /proc/m.safetensors"] {
        let run = folder.run(&format!("cluster x.csv --drop class -k 2 {option}"));
        check(&run, 1);
        assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1));
        assert!(run.stderr.starts_with("error: cannot write /proc/"), "{run:?}");
        assert!(!run.stderr.contains(".part"), "{run:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("l.csv", "0\n1\n");
    for args in [
        "cluster x.csv --drop class -k 2 -q",
        "info x.csv",
        "score l.csv l.csv",
        "completions bash",
    ] {
        for json in ["", "--json"] {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = std::process::Command::new(common::binary())
                .args(args.split_whitespace().chain(json.split_whitespace()))
                .current_dir(folder.path("."))
                .env("NO_COLOR", "1")
                .stdout(full)
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{args} {json}: {stderr}");
            assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
    }
}

#[test]
fn an_output_that_exists() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30)).write("out.npy", "mine").write("m", "mine too");
    insta::assert_snapshot!(refused(&folder, "cluster x.csv --drop class -k 2 -o out.npy", 2));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv --drop class -k 2 --model m", 2));
    assert_eq!((folder.text("out.npy"), folder.text("m")), ("mine".into(), "mine too".into()));
    folder.run("cluster x.csv --drop class -k 2 -o out.npy --model m --force").ok();
    assert!(folder.read("out.npy").starts_with(b"\x93NUMPY"));
    folder.run("info m").ok();
}

#[test]
fn an_output_that_is_the_input_or_another_output() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    insta::assert_snapshot!(refused(&folder, "cluster x.csv -k 2 -o ./x.csv --force", 2));
    let args = "cluster x.csv -k 2 -o out.csv --model ./out.csv";
    insta::assert_snapshot!(refused(&folder, args, 2));
}

#[test]
fn a_damaged_model() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    folder.run("cluster x.csv --drop class -k 3 -q --model m.safetensors").ok();
    let bytes = folder.read("m.safetensors");
    folder.write("cut.safetensors", &bytes[..bytes.len() / 2]);
    folder.write("text.safetensors", "not a model at all");
    folder.write("empty.safetensors", "");
    for name in ["cut", "text", "empty"] {
        let message = refused(&folder, &format!("predict {name}.safetensors x.csv"), 3);
        assert!(message.starts_with(&format!("{name}.safetensors: ")), "{message}");
        insta::assert_snapshot!(format!("damaged_model_{name}"), message);
        refused(&folder, &format!("info {name}.safetensors"), 3);
    }
}

#[test]
fn a_foreign_model() {
    let folder = Folder::new();
    let header = br#"{"__metadata__":{"made":"elsewhere"}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header].concat();
    folder.write("m.safetensors", bytes).write("x.csv", blobs(30));
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors x.csv", 3));
}

#[test]
fn a_newer_model() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    folder.run("cluster x.csv --drop class -k 3 -q --model m.safetensors").ok();
    // Same length, so that the rest of the file stays in place.
    let bytes = folder.read("m.safetensors");
    let old = br#"\"format\":2,"#;
    let at = bytes.windows(old.len()).position(|w| w == old).expect("the header has a format");
    let mut newer = bytes.clone();
    newer[at + old.len() - 2] = b'9';
    folder.write("m.safetensors", newer);
    insta::assert_snapshot!(refused(&folder, "predict m.safetensors x.csv", 3));
}

#[test]
fn labels_and_truth_of_different_lengths() {
    let folder = Folder::new();
    folder.write("a.csv", "0\n1\n1\n").write("b.csv", "0\n1\n");
    insta::assert_snapshot!(refused(&folder, "score a.csv b.csv", 3));
}

#[test]
fn two_files_on_standard_input() {
    let folder = Folder::new();
    insta::assert_snapshot!(refused(&folder, "score - -", 2));
    insta::assert_snapshot!(refused(&folder, "predict - -", 2));
}

#[test]
fn names_cannot_command_the_terminal() {
    let folder = Folder::new();
    folder.write("x.csv", "a,\u{1b}[2Jb\n1,x\n2,y\n");
    let line = refused(&folder, "cluster x.csv -k 2 -o l.csv", 3);
    assert!(line.contains(r"\u{1b}[2Jb") && !line.contains('\u{1b}'), "{line}");
    // Names of columns and files in a summary, classes in a table.
    folder.write("y\u{7}.csv", "a\u{9b}2J,b,c\n1,2,p\u{1b}[7m\n3,4,q\n5,7,q\n");
    for run in ["info y\u{7}.csv", "cluster y\u{7}.csv -k 2 --truth c --explain -v"] {
        let run = folder.run(run).ok();
        for text in [run.stdout, run.stderr] {
            let obeyed = |c: char| c.is_control() && c != '\n';
            assert!(!text.contains(obeyed), "{text:?}");
        }
    }
    folder.write("l.csv", "label\n0\n1\n1\n");
    let run = folder.run("score l.csv y\u{7}.csv --truth c").ok();
    assert!(!run.stdout.contains('\u{1b}') && run.stdout.contains(r"\u{1b}[7m"), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_all_outputs_with_it() {
    let folder = Folder::new();
    folder.write("x.csv", blobs(30));
    std::os::unix::fs::symlink("/dev/full", folder.path("l.csv")).unwrap();
    let outputs = "--model m.safetensors --report r.html -o l.csv";
    let before = folder.files();
    let run = folder.run(&format!("cluster x.csv -k 3 --drop class {outputs}"));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("cannot write l.csv: No space left"), "{run:?}");
    assert_eq!(folder.files(), before);
    let run = folder.run(&format!("cluster x.csv -k 3 --drop class {outputs} --json"));
    assert_eq!(run.json()["error"]["kind"], "io");
    folder.write("g.csv", "1,0\n0,1\n1,0\n");
    let run = folder.run("cut g.csv -k 2 --columns-out c.npy -o l.csv");
    assert_eq!((run.code, folder.path("c.npy").exists()), (1, false), "{run:?}");
}

#[test]
fn a_file_extension_that_promises_another_format_is_refused() {
    let folder = Folder::new();
    let line = refused(&folder, "generate t.csv -n 10 -d 2 -k 2", 2);
    assert_eq!(line, "t.csv: the table is written as NPY; name the file .npy");
    let line = refused(&folder, "demo --report r.pdf", 2);
    assert_eq!(line, "--report r.pdf: a report is an HTML file; name it .html");
}
