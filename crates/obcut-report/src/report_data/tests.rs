use std::ops::Range;

use obcut::{CsrRef, DenseRef, GraphKind, Ints, Matrix, OBCut, Params, Silent, synthetic};

use super::*;

fn report_data(data: &synthetic::Labelled, k: usize, threads: usize) -> ReportData {
    let samples = data.matrix.samples().unwrap();
    let params = Params { graph: GraphKind::Distance, threads, ..Params::new(k) };
    let found = OBCut::from(params.clone()).fit(&samples).unwrap();
    ReportData::of_fit(&found, &samples, None, threads, &Silent).unwrap()
}

#[test]
fn the_data_of_a_report_is_the_same_for_any_number_of_threads() {
    let data = synthetic::blobs(8_000, 5, 4, 0.6, 3);
    let one = report_data(&data, 4, 1);
    assert_eq!(one, report_data(&data, 4, 3));
    assert!(one.map.rows.len() <= MAP_ROWS + 12);
    assert_eq!(one.typical.len(), 4);
    let margins = one.margins.unwrap();
    assert_eq!(margins.counts.iter().sum::<u64>(), 8_000);
    assert_eq!(margins.uncertain.len(), UNCERTAIN);
    assert!(margins.uncertain.is_sorted_by(|a, b| a.margin <= b.margin));
    assert!(margins.uncertain.iter().all(|u| u.label != u.second));
}

#[test]
fn blocks_of_clear_clusters_lie_on_the_diagonal() {
    let data = synthetic::blobs(900, 3, 3, 0.05, 1);
    let links = report_data(&data, 3, 1).links;
    assert!(links.row_clusters.is_sorted() && links.column_clusters.is_sorted());
    let inside = |c: &&(u32, u32, f64)| {
        links.row_clusters[c.0 as usize] == links.column_clusters[c.1 as usize]
    };
    assert!(!links.cells.is_empty());
    assert_eq!(links.cells.iter().filter(inside).count(), links.cells.len());
}

#[test]
fn one_cluster_and_one_feature_have_a_report() {
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let samples = DenseRef::new(&x, 60, 1).unwrap().into();
    for k in [1, 2] {
        let found = OBCut::from(Params::new(k)).fit(&samples).unwrap();
        let found_data = ReportData::of_fit(&found, &samples, None, 1, &Silent).unwrap();
        assert_eq!(found_data.margins.is_none(), k == 1);
        assert_eq!(found_data.map.rows.len(), 60);
    }
}

#[test]
fn sparse_rows_and_rows_by_a_model_give_the_same_report() {
    let x: Vec<f64> = (0..120).flat_map(|i| [f64::from(i % 4), f64::from(i / 60) * 50.0]).collect();
    let dense: Samples<'_> = DenseRef::new(&x, 120, 2).unwrap().into();
    let offsets: Vec<i64> = (0..=120).map(|i| 2 * i).collect();
    let columns: Vec<i64> = (0..240).map(|i| i % 2).collect();
    let sparse: Samples<'_> =
        CsrRef::new(Ints::I64(&offsets), Ints::I64(&columns), &x, 2).unwrap().into();
    let found = OBCut::from(Params::new(2)).fit(&sparse).unwrap();
    let a = ReportData::of_fit(&found, &sparse, None, 1, &Silent).unwrap();
    let b = ReportData::of_rows(found.model(), &dense, None, 1, &Silent).unwrap();
    assert_eq!((a.map.rows, a.map.labels, a.typical), (b.map.rows, b.map.labels, b.typical));
}

#[test]
fn cells_never_hold_two_clusters() {
    let clusters: Vec<u32> = (0..1000).map(|i| i % 7).collect();
    let (cell, of_cell) = cells(&clusters, 8);
    assert!(of_cell.len() <= CELLS && of_cell.is_sorted());
    assert!(clusters.iter().zip(&cell).all(|(c, &cell)| of_cell[cell as usize] == *c));
}

/// Rows in memory that are read as if they were not.
struct Apart<'a>(&'a [f64], usize);

impl RowSource for Apart<'_> {
    fn n_rows(&self) -> usize {
        self.0.len() / self.1
    }

    fn n_cols(&self) -> usize {
        self.1
    }

    fn is_single(&self) -> bool {
        false
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        let values = self.0[rows.start * self.1..rows.end * self.1].to_vec();
        Ok(Matrix::Dense64 { values, n_rows: rows.len(), n_cols: self.1 })
    }
}

#[test]
fn rows_in_pieces_keep_their_numbers() {
    let data = synthetic::blobs(9_000, 5, 4, 0.6, 3);
    let samples = data.matrix.samples().unwrap();
    let params = Params { graph: GraphKind::Distance, ..Params::new(4) };
    let found = OBCut::from(params.clone()).fit(&samples).unwrap();
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("double precision") };
    let source = Apart(values, 5);
    let of = |rows: &[u64]| {
        ReportData::of_source(found.model(), &source, rows, None, 2, &Silent).unwrap()
    };
    let all: Vec<u64> = (0..9_000).collect();
    assert_eq!(of(&all), ReportData::of_fit(&found, &samples, None, 1, &Silent).unwrap());

    let sizes: Vec<usize> =
        (0..4).map(|j| found.labels().iter().filter(|&&label| label == j).count()).collect();
    let mut choice = RowChoice::new(&sizes, 500);
    choice.take(&found.labels());
    let chosen = choice.rows();
    let some = of(&chosen);
    assert_eq!((some.n_rows, some.looked_at), (9_000, Some(chosen.len())));
    assert_eq!(some.map.rows, chosen);
    let is_of = |row: u64, label: u32| {
        chosen.binary_search(&row).is_ok() && found.labels()[row as usize] == label
    };
    assert!(some.map.rows.iter().zip(&some.map.labels).all(|(&row, &label)| is_of(row, label)));
    for (j, rows) in some.typical.iter().enumerate() {
        assert!(!rows.is_empty() && rows.iter().all(|&row| is_of(row, j as u32)));
    }
    let nothing = vec![0.0; 9_000];
    let zero = Some(nothing.as_slice());
    let alike = ReportData::of_source(found.model(), &source, &chosen, zero, 2, &Silent).unwrap();
    assert_eq!(alike, some);
    // Weights move the means, and with them what is typical: to the right, where the first feature is large.
    let heavy: Vec<f64> = values.chunks_exact(5).map(|row| (4.0 * row[0]).exp()).collect();
    let weights = Some(heavy.as_slice());
    let right =
        ReportData::of_source(found.model(), &source, &chosen, weights, 2, &Silent).unwrap();
    let first = |rows: &[u64]| rows.iter().map(|&row| values[row as usize * 5]).sum::<f64>();
    for (moved, plain) in right.typical.iter().zip(&some.typical) {
        assert!(first(moved) > first(plain));
    }
    for u in some.margins.unwrap().uncertain {
        assert!(is_of(u.row, u.label));
        assert!((found.rows()[u.row as usize].margin - u.margin).abs() < 1e-12);
    }
}
