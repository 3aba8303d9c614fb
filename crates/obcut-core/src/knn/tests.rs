use super::*;
use crate::matrix::{Csr, Matrix};
use crate::normalize::Scale;
use crate::normalize::Scaling;
use crate::observer::Silent;
use crate::random::Stream;

/// A table and a context to work with.
pub(super) struct Job<'j, 'a> {
    pub table: &'j Table<'a>,
    pub context: &'j Context<'j>,
}

/// Runs `work` on a matrix, scaled as asked and not centerd.
pub(super) fn with_job<R: Send>(
    matrix: &Matrix,
    scale: Scale,
    work: impl FnOnce(&Job<'_, '_>) -> Result<R, Error> + Send,
) -> R {
    let samples = matrix.samples().unwrap();
    Context::run(2, &Silent, |context| {
        let scaling = Scaling::unmoved(&samples, scale, &context)?;
        let table = Table::new(samples, &scaling);
        work(&Job { table: &table, context: &context })
    })
    .unwrap()
}

/// Whether two numbers agree to a part of their size.
fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.abs().max(1e-300)
}

/// Whole numbers, so that there are ties and duplicates, with many zeros.
fn values(n: usize, d: usize) -> Vec<f64> {
    Stream::new(4).values(n * d).iter().map(|v| (v * 2.0).round()).collect()
}

fn plain(values: &[f64], n: usize, d: usize, count: usize) -> Vec<Vec<Neighbor>> {
    let row = |i: usize| &values[i * d..(i + 1) * d];
    let distance = |i: usize, j: usize| -> f64 {
        row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum()
    };
    (0..n)
        .map(|i| {
            let mut all: Vec<Neighbor> =
                (0..n).filter(|&j| j != i).map(|j| (distance(i, j), j as u32)).collect();
            all.sort_by(order);
            all.truncate(count);
            all
        })
        .collect()
}

#[test]
fn the_search_equals_sorting_all_distances() {
    let (n, d) = (1300, 9);
    let values: Vec<f64> = Stream::new(4).values(n * d);
    let matrix = Matrix::Dense64 { values: values.clone(), n_rows: n, n_cols: d };
    for count in [1, 7, 200, n - 1, 5 * n] {
        let found = with_job(&matrix, Scale::None, |j| nearest(j.table, count, j.context));
        for (found, plain) in found.iter().zip(plain(&values, n, d, count)) {
            assert!(found.iter().map(|e| e.1).eq(plain.iter().map(|e| e.1)));
            assert!(found.iter().zip(&plain).all(|(a, b)| near(a.0, b.0, 1e-12)));
        }
    }
}

#[test]
fn groups_find_what_a_tournament_finds_and_some_rows_can_be_asked_for_more() {
    let (n, d) = (1500, 4);
    let matrix = Matrix::Dense64 { values: values(n, d), n_rows: n, n_cols: d };
    let all: Vec<u32> = (0..n as u32).collect();
    with_job(&matrix, Scale::None, |job| {
        let list = |_: usize, list: &[Neighbor]| list.to_vec();
        let whole = nearest(job.table, 40, job.context)?;
        assert!(whole == plain(&values(n, d), n, d, 40));
        assert!(whole == groups(job.table, &all, 40, job.context, &list)?);
        let twice = visit_twice(job.table, (9, 40), job.context, |i, list| {
            (i % 3 == 0 || list.len() > 9).then(|| list.to_vec())
        })?;
        for (i, (twice, whole)) in twice.iter().zip(&whole).enumerate() {
            let count = if i % 3 == 0 { 9 } else { 40 };
            assert_eq!(twice.as_deref(), Some(&whole[..count]));
        }
        Ok(())
    });
}

#[test]
fn dense_single_and_sparse_rows_with_duplicates_give_the_same_lists() {
    let (n, d, count) = (700, 4, 12);
    let values = values(n, d);
    let expected = plain(&values, n, d, count);
    let single = values.iter().map(|&v| v as f32).collect();
    let mut csr = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
    for row in values.chunks_exact(d) {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            csr.columns.push(c as i64);
            csr.values.push(*v);
        }
        csr.offsets.push(csr.columns.len() as i64);
    }
    let all = [
        Matrix::Dense64 { values, n_rows: n, n_cols: d },
        Matrix::Dense32 { values: single, n_rows: n, n_cols: d },
        Matrix::Sparse64(csr),
    ];
    for matrix in all {
        let found = with_job(&matrix, Scale::None, |j| nearest(j.table, count, j.context));
        assert!(found == expected);
    }
}

#[test]
fn a_union_holds_every_edge_both_ways_and_once() {
    let lists = vec![vec![(1.0, 1), (4.0, 2)], vec![(1.0, 0)], vec![(2.0, 1)], vec![]];
    let context = Context::new(1, &Silent).unwrap();
    let graph = union(lists, &context).unwrap();
    assert_eq!(graph.row(0), (&[1, 2][..], &[1.0, 4.0][..]));
    assert_eq!(graph.row(1), (&[0, 2][..], &[1.0, 2.0][..]));
    assert_eq!(graph.row(2), (&[0, 1][..], &[4.0, 2.0][..]));
    assert!(graph.row(3).0.is_empty());
}

#[test]
fn a_single_row_has_no_neighbors() {
    let matrix = Matrix::Dense64 { values: vec![1.0, 2.0], n_rows: 1, n_cols: 2 };
    let found = with_job(&matrix, Scale::None, |j| nearest(j.table, 5, j.context));
    assert_eq!(found, vec![Vec::new()]);
}

#[test]
fn a_search_through_cells_finds_nearly_all_neighbors() {
    let (n, d, count) = (6000, 8, 11);
    let values: Vec<f64> = Stream::new(9).values(n * d);
    let matrix = Matrix::Dense64 { values, n_rows: n, n_cols: d };
    let keys: Vec<u64> = (0..n as u64).map(crate::random::mix).collect();
    with_job(&matrix, Scale::None, |job| {
        let exact = nearest(job.table, count, job.context)?;
        let found = nearest_by_cells(job.table, &keys, count, job.context)?;
        let hits = (exact.iter().zip(found.lists.chunks_exact(count)))
            .map(|(exact, found)| exact.iter().filter(|e| found.contains(e)).count())
            .sum::<usize>();
        let recall = hits as f64 / (n * count) as f64;
        assert!(recall >= 0.99, "{recall}");
        assert!((recall - found.recall).abs() < 0.01, "{recall} {}", found.recall);
        assert!(found.compared < 0.9, "{}", found.compared);
        // Lists are sorted, and no row is its own neighbor.
        for (i, list) in found.lists.chunks_exact(count).enumerate() {
            assert!(list.is_sorted_by(|a, b| order(a, b).is_le()));
            assert!(list.iter().all(|e| e.1 as usize != i));
        }
        Ok(())
    });
}
