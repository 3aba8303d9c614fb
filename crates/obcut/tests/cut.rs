//! The cut alone: co-clustering from the edges.

mod common;

use common::Numbers;
use obcut::metrics::{Average, bipartite_cut, nmi};
use obcut::{AnchorWeights, Csr, CutParams, Matrix, Silent, cut};

/// Documents × words: every document draws most words from its topic, and lengths differ.
fn documents(n: usize, m: usize, k: usize, seed: u64) -> (Matrix, Vec<u32>, Vec<u32>) {
    let mut numbers = Numbers(seed);
    let mut x = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: m };
    let topics: Vec<u32> = (0..n).map(|_| (numbers.next() % k as u64) as u32).collect();
    let words: Vec<u32> = (0..m).map(|w| (w % k) as u32).collect();
    for &topic in &topics {
        let length = 20 + numbers.next() % 200;
        let mut counts = vec![0.0; m];
        for _ in 0..length {
            let mut word = (numbers.next() % m as u64) as usize;
            if numbers.unit() < 0.7 {
                word = word / k * k + topic as usize;
            }
            if word < m {
                counts[word] += 1.0;
            }
        }
        for (w, &c) in counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            x.columns.push(w as i64);
            x.values.push(c);
        }
        x.offsets.push(x.columns.len() as i64);
    }
    (Matrix::Sparse64(x), topics, words)
}

#[test]
fn topics_are_found_for_documents_and_words() {
    let (matrix, topics, words) = documents(600, 150, 5, 1);
    let samples = matrix.samples().unwrap();
    for anchor_weights in [AnchorWeights::Degree, AnchorWeights::None] {
        let params = CutParams { anchor_weights, ..CutParams::new(5) };
        let found = cut(&samples, &params, &Silent).unwrap();
        assert!(nmi(&found.row_labels, &topics, Average::Max).unwrap() > 0.98);
        assert!(nmi(&found.column_labels, &words, Average::Max).unwrap() > 0.98);
        // The same names on both sides: a word goes with the documents that use it.
        let agree = (0..600)
            .filter(|&i| {
                let word = words.iter().position(|w| *w == topics[i]).unwrap();
                found.row_labels[i] == found.column_labels[word]
            })
            .count();
        assert!(agree > 580, "{agree}");
        assert!(found.trace.windows(2).all(|w| w[1] >= w[0] - 1e-9));
    }
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let (matrix, topics, _) = documents(300, 60, 3, 2);
    let order = common::order(300, 4);
    let shuffled = common::rows(&matrix, &order);
    let found = cut(&shuffled.samples().unwrap(), &CutParams::new(3), &Silent).unwrap();
    let truth: Vec<u32> = order.iter().map(|&i| topics[i]).collect();
    assert!(nmi(&found.row_labels, &truth, Average::Max).unwrap() > 0.98);
}

#[test]
fn a_graph_in_exactly_k_pieces_is_cut_along_them() {
    let mut values = vec![0.0; 90 * 30];
    let mut numbers = Numbers(3);
    for i in 0..90 {
        for m in 0..30 {
            if i / 30 == m / 10 {
                values[i * 30 + m] = numbers.unit();
            }
        }
    }
    let graph = common::matrix(values, 90, 30);
    let found = cut(&graph.samples().unwrap(), &CutParams::new(3), &Silent).unwrap();
    assert_eq!(common::partition(&found.row_labels), (0..90).map(|i| i / 30).collect::<Vec<_>>());
}

#[test]
fn columns_without_edges_take_no_memory_and_change_no_label() {
    let (matrix, _, _) = documents(200, 40, 4, 3);
    let Matrix::Sparse64(narrow) = &matrix else { panic!("sparse") };
    let params = CutParams::new(4);
    let found = cut(&matrix.samples().unwrap(), &params, &Silent).unwrap();
    for n_cols in [41, 1_000_000] {
        let wide = Matrix::Sparse64(Csr { n_cols, ..narrow.clone() });
        let again = cut(&wide.samples().unwrap(), &params, &Silent).unwrap();
        assert!(again.row_labels == found.row_labels, "{n_cols} columns");
        assert!(again.column_labels[..40] == found.column_labels[..], "{n_cols} columns");
        assert_eq!(again.column_labels.len(), n_cols);
    }
    // Every column would get a label: a number that the edges do not justify is refused.
    let wide = Matrix::Sparse64(Csr { n_cols: 1 << 31, ..narrow.clone() });
    let error = cut(&wide.samples().unwrap(), &params, &Silent).unwrap_err();
    assert!(error.to_string().contains("2147483648 columns are declared"), "{error}");
}

#[test]
fn every_cluster_has_a_row_where_few_rows_differ() {
    // Two kinds of rows for three clusters.
    let values: Vec<f64> =
        (0..8).flat_map(|i| if i < 4 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 1.0] }).collect();
    let matrix = common::matrix(values, 8, 3);
    for seed in 0..5 {
        let found = cut(&matrix, &CutParams { seed, ..CutParams::new(3) }, &Silent).unwrap();
        (0..3).for_each(|j| assert!(found.row_labels.contains(&j), "cluster {j} is empty"));
    }
}

/// A found cut has a lower criterion than the same labels with any one row or column moved elsewhere by
/// chance, on the graph that was cut: rows that sum to 1, columns of equal weight.
#[test]
fn the_criterion_prefers_what_the_cut_finds() {
    let (matrix, _, _) = documents(120, 30, 3, 5);
    let params = CutParams { anchor_weights: AnchorWeights::None, ..CutParams::new(3) };
    let found = cut(&matrix, &params, &Silent).unwrap();
    let Matrix::Sparse64(mut graph) = matrix else { panic!("documents are sparse") };
    for row in graph.offsets.windows(2) {
        let values = &mut graph.values[row[0] as usize..row[1] as usize];
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|v| *v /= sum);
    }
    let graph = Matrix::Sparse64(graph);
    let best = bipartite_cut(&graph, &found.row_labels, &found.column_labels).unwrap().total;
    let mut numbers = Numbers(9);
    for _ in 0..200 {
        let mut labels = found.row_labels.clone();
        (0..10).for_each(|_| labels[(numbers.next() % 120) as usize] = (numbers.next() % 3) as u32);
        let other = bipartite_cut(&graph, &labels, &found.column_labels).unwrap().total;
        assert!(best <= other, "{best} {other}");
    }
}

#[test]
fn the_criterion_refuses_what_is_no_graph_and_no_labels() {
    let graph = |values: [f64; 4]| common::matrix(values.to_vec(), 2, 2);
    let says = |values, rows: &[u32], columns: &[u32]| {
        bipartite_cut(&graph(values), rows, columns).unwrap_err().to_string()
    };
    let good = [1.0, 0.0, 0.0, 1.0];
    assert!(says([1.0, -2.0, 0.0, 1.0], &[0, 1], &[0, 1]).contains("-2"));
    assert!(says([1.0, 0.0, f64::NAN, f64::INFINITY], &[0, 1], &[0, 1]).contains("2 such value"));
    assert!(says(good, &[0], &[0, 1]).contains("row_labels"));
    assert!(says(good, &[0, 1], &[0, 1, 1]).contains("column_labels"));
    assert!(says(good, &[0, 4], &[0, 1]).contains("below 4"));
    assert!(bipartite_cut(&graph(good), &[0, 3], &[0, 1]).is_ok());
}
