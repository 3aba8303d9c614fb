use super::*;
use crate::testing::{near, planes, subset, with_job};
use obcut::{Csr, Matrix, Scale};
use obcut_core::linalg::factor::solve_definite;
use obcut_core::random::Stream;

fn found(matrix: &Matrix, scale: Scale, sparsity: usize, form: WeightForm) -> Graph {
    with_job(matrix, 3, scale, false, |job| {
        Pursuit { table: job.table, sparsity, threshold: 1e-6, form }.coefficients(job.context)
    })
}

/// Part of the sizes that lies between different classes, in percent.
fn across(graph: &Graph, classes: &[u32]) -> f64 {
    let (mut across, mut all) = (0.0, 0.0);
    for i in 0..graph.n_rows() {
        for (&j, c) in graph.row(i).0.iter().zip(graph.row(i).1) {
            all += c.abs();
            across += if classes[i] == classes[j as usize] { 0.0 } else { c.abs() };
        }
    }
    100.0 * across / all
}

#[test]
fn three_planes_give_the_figures_of_the_published_program() {
    let planes_of: Vec<u32> = (0..60).map(|i| i / 20).collect();
    for sparsity in [2, 5] {
        for form in [WeightForm::Matlab, WeightForm::Python] {
            let graph = found(&planes(), Scale::None, sparsity, form);
            assert_eq!(graph.columns.len(), 120, "every residual vanishes after two");
            let sum: f64 = graph.values.iter().map(|v| v.abs()).sum();
            assert!(near(sum, 62.32005218, 1e-8), "{sum}");
            assert!(across(&graph, &planes_of) == 0.0);
            let mut first: Vec<(u32, f64)> =
                graph.row(0).0.iter().copied().zip(graph.row(0).1.iter().copied()).collect();
            first.sort_by_key(|entry| entry.0);
            assert_eq!((first[0].0, first[1].0), (5, 10));
            assert!(near(first[0].1, 0.040204759, 1e-7), "{first:?}");
            assert!(near(first[1].1, -0.99422231, 1e-7), "{first:?}");
        }
    }
}

#[test]
fn digits_and_letters_give_the_figures_of_the_published_program() {
    for (name, step, per_row, part) in [("PenDigits", 16, 5.0, 29.8), ("LR", 10, 4.908, 39.97)] {
        let Some((matrix, classes)) = subset(name, step) else { return };
        let graph = found(&matrix, Scale::UnitRows, 5, WeightForm::Matlab);
        let count = graph.columns.len() as f64 / classes.len() as f64;
        assert!((count - per_row).abs() < 1e-3, "{name}: {count}");
        let across = across(&graph, &classes);
        assert!((across - part).abs() < 0.1, "{name}: {across}");
    }
}

/// The published steps, one row at a time, with the least squares solved anew.
fn twin(x: &[f64], n: usize, d: usize, sparsity: usize, form: WeightForm) -> Vec<Vec<(u32, f64)>> {
    let row = |i: usize| &x[i * d..(i + 1) * d];
    let length = |i: usize| dot(row(i), row(i)).sqrt();
    let unit = |i: usize| if form == WeightForm::Matlab { 1.0 / length(i) } else { 1.0 };
    let solve = |i: usize, support: &[u32]| {
        let s = support.len();
        let at = |a: usize| row(support[a] as usize);
        let gram: Vec<f64> = (0..s * s).map(|t| dot(at(t / s), at(t % s))).collect();
        let side: Vec<f64> = (0..s).map(|a| dot(at(a), row(i))).collect();
        solve_definite(&gram, &side, s, 1).unwrap()
    };
    let one = |i: usize| {
        let mut support: Vec<u32> = Vec::new();
        let mut residual: Vec<f64> = row(i).iter().map(|v| v * unit(i)).collect();
        let limit = if form == WeightForm::Matlab { 1e-6 } else { 1e-6 * length(i) };
        while support.len() < sparsity && (support.is_empty() || dot(&residual, &residual) >= limit)
        {
            let size = |j: usize| (dot(row(j), &residual) * unit(j)).abs();
            let others = (0..n).filter(|&j| j != i);
            let best = others.reduce(|a, b| if size(b) > size(a) { b } else { a }).unwrap();
            support.push(best as u32);
            residual = row(i).to_vec();
            for (c, &j) in solve(i, &support).iter().zip(&support) {
                axpy(-c, row(j as usize), &mut residual);
            }
            residual.iter_mut().for_each(|v| *v *= unit(i));
        }
        let c = solve(i, &support);
        support.into_iter().zip(c).collect()
    };
    (0..n).map(one).collect()
}

#[test]
fn the_groups_find_what_single_searches_find_in_every_kind_of_table() {
    let (n, d) = (300, 12);
    let mut values = Stream::new(3).values(n * d);
    values.iter_mut().filter(|v| v.abs() < 0.4).for_each(|v| *v = 0.0);
    let mut sparse = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
    for row in values.chunks_exact(d) {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            sparse.columns.push(c as i64);
            sparse.values.push(*v);
        }
        sparse.offsets.push(sparse.columns.len() as i64);
    }
    let dense = Matrix::Dense64 { values: values.clone(), n_rows: n, n_cols: d };
    for form in [WeightForm::Matlab, WeightForm::Python] {
        let plain = twin(&values, n, d, 4, form);
        for matrix in [&dense, &Matrix::Sparse64(sparse.clone())] {
            let graph = found(matrix, Scale::None, 4, form);
            for i in 0..n {
                let (columns, values) = graph.row(i);
                let expected: Vec<u32> = plain[i].iter().map(|e| e.0).collect();
                assert_eq!(columns, expected, "{form} row {i}");
                let off = values.iter().zip(&plain[i]).map(|(a, b)| (a - b.1).abs());
                assert!(off.fold(0.0, f64::max) < 1e-9, "{form} row {i}");
            }
        }
    }
}

#[test]
fn twins_zero_rows_and_orthogonal_rows_end_the_search() {
    let values =
        vec![1.0, 2.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0];
    let matrix = Matrix::Dense64 { values, n_rows: 4, n_cols: 4 };
    for form in [WeightForm::Matlab, WeightForm::Python] {
        let graph = found(&matrix, Scale::None, 3, form);
        assert_eq!(graph.offsets, [0, 1, 2, 2, 2]);
        assert_eq!(graph.columns, [1, 0]);
        assert!(near(graph.values[0], 0.5, 1e-14) && near(graph.values[1], 2.0, 1e-14));
    }
}

#[test]
fn groups_fit_their_share_of_memory() {
    assert_eq!(group_len(195_537, 512, 5), (2045, 4091));
    assert_eq!(group_len(100, 16, 5), (2048, 4096));
    assert_eq!(group_len(832, 30_000, 20).0, 23);
    assert!(group_len(50_000, 20_000, 5).0 * 20_000 * 8 <= GROUP);
    assert_eq!(
        groups(vec![vec![1, 2], vec![3], vec![4, 5, 6, 7], vec![8]], 3),
        [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8]]
    );
}

/// However few columns there are, and whatever the groups, the choices are the same.
#[test]
fn rows_that_find_no_column_are_late_and_not_lost() {
    let matrix = Matrix::Dense64 { values: Stream::new(8).values(90 * 6), n_rows: 90, n_cols: 6 };
    let whole = found(&matrix, Scale::None, 4, WeightForm::Matlab);
    with_job(&matrix, 3, Scale::None, false, |job| {
        let pursuit =
            Pursuit { table: job.table, sparsity: 4, threshold: 1e-6, form: WeightForm::Matlab };
        let lengths = pursuit.lengths(job.context)?;
        let rows: Vec<u32> = (0..90).step_by(9).collect();
        let mut found = vec![(Vec::new(), Vec::new()); 90];
        let late = pursuit.group(&rows, 24, &lengths, &mut found, job.context)?;
        assert!(!late.is_empty());
        pursuit.group(&late, usize::MAX, &lengths, &mut found, job.context)?;
        for &i in &rows {
            let (columns, values) = whole.row(i as usize);
            assert_eq!((columns, values), (&found[i as usize].0[..], &found[i as usize].1[..]));
        }
        Ok(())
    });
}
