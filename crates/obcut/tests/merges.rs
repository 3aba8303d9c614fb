//! The order in which clusters merge.

mod common;

use common::{fit_ok, matrix, order, rows};
use obcut::{GraphKind, Matrix, Merge, Params};

/// Three groups on a line, of 60, 80 and 100 rows, the first two nearer to each other.
fn groups() -> Matrix {
    let mut values = Vec::new();
    for (center, count) in [(0.0, 60), (4.0, 80), (10.0, 100)] {
        for i in 0..count {
            let (along, across) = (f64::from(i % 10) / 10.0, f64::from(i / 10) / 10.0);
            values.extend([center + along, across]);
        }
    }
    matrix(values, 240, 2)
}

#[test]
fn groups_on_a_line_merge_in_the_order_of_their_distances() {
    let found = fit_ok(&groups(), None, &Params::new(3));
    let merges = &found.model().explanation().merges;
    // Clusters are numbered by their sizes, so the last group is cluster 0.
    assert_eq!((found.labels()[0], found.labels()[100], found.labels()[239]), (2, 1, 0));
    assert_eq!(merges.iter().map(|m| (m.a, m.b)).collect::<Vec<_>>(), [(1, 2), (0, 3)]);
    // The gaps are 3.1 and 5.1 wide, the first feature 10.9.
    for (Merge { distance, .. }, gap) in merges.iter().zip([3.1, 5.1]) {
        assert!((distance - gap / 10.9).abs() < 1e-9, "{distance}");
    }
}

#[test]
fn merges_do_not_depend_on_threads_or_the_order_of_rows() {
    let data = obcut::synthetic::blobs(900, 3, 5, 0.1, 1);
    let of = |matrix: &Matrix, threads: usize| {
        let found = fit_ok(matrix, None, &Params { threads, ..Params::new(5) });
        found.model().explanation().merges.clone()
    };
    let merges = of(&data.matrix, 1);
    assert_eq!(merges.len(), 4);
    assert!(merges.is_sorted_by(|a, b| a.distance <= b.distance));
    assert_eq!(merges, of(&data.matrix, 3));
    assert_eq!(merges, of(&rows(&data.matrix, &order(900, 2)), 3));
}

#[test]
fn a_named_graph_tells_no_merges() {
    let found = fit_ok(&groups(), None, &Params { graph: GraphKind::Distance, ..Params::new(3) });
    assert!(found.model().explanation().merges.is_empty());
}
