//! Single rows get the labels and figures of a batch, to the bit.

mod common;

use common::{Numbers, fit_ok, matrix, random_matrix, values};
use obcut::Named;
use obcut::{DataError, Error, GraphKind, Learn, Matrix, Model, Params, Scale, synthetic};

fn assert_as_in_a_batch(model: &Model, rows: &[f64], about: &str) {
    let d = model.n_features();
    let batch = obcut::DenseRef::new(rows, rows.len() / d, d).unwrap();
    let found = model.on(&batch).unwrap().threads(2).rows().unwrap();
    let labels = model.predict(&batch).unwrap();
    let predictor = model.predictor().unwrap();
    for ((row, expected), label) in rows.chunks_exact(d).zip(&found).zip(labels) {
        assert_eq!(predictor.label(row).unwrap(), label, "{about}");
        assert_eq!(predictor.row(row).unwrap(), *expected, "{about}");
    }
}

#[test]
fn every_kind_of_graph_and_scaling() {
    let data = random_matrix(400, 7, None, 3, false);
    let mut numbers = Numbers(5);
    let new: Vec<f64> = (0..7 * 300).map(|_| 2.0 * numbers.unit() - 0.5).collect();
    for graph in GraphKind::ALL.iter().copied() {
        for scale in [Scale::Auto, Scale::Standard, Scale::UnitRows, Scale::None] {
            let params = Params { graph, scale, n_anchors: Some(40), ..Params::new(4) };
            let model = fit_ok(&data, None, &params).into_model();
            assert_as_in_a_batch(&model, &values(&data), &format!("{graph} {scale}"));
            assert_as_in_a_batch(&model, &new, &format!("{graph} {scale}, new rows"));
        }
    }
}

#[test]
fn ties_equal_rows_and_few_anchors() {
    // Rows of a lattice are equally far from many anchors.
    let lattice = random_matrix(300, 3, Some(3), 1, false);
    for graph in [GraphKind::Distance, GraphKind::Local, GraphKind::Global] {
        for n_anchors in [3, 9, 27] {
            let params = Params { graph, n_anchors: Some(n_anchors), ..Params::new(3) };
            let model = fit_ok(&lattice, None, &params).into_model();
            assert_as_in_a_batch(
                &model,
                &values(&lattice),
                &format!("{graph}, {n_anchors} anchors"),
            );
        }
    }
}

#[test]
fn large_offsets_where_products_lose_their_digits() {
    let mut numbers = Numbers(9);
    let far: Vec<f64> = (0..5 * 200).map(|_| 1e6 + 1e-4 * numbers.unit()).collect();
    let data = matrix(far, 200, 5);
    for graph in [GraphKind::Distance, GraphKind::Local] {
        let params = Params { graph, scale: Scale::None, ..Params::new(3) };
        let model = fit_ok(&data, None, &params).into_model();
        assert_as_in_a_batch(&model, &values(&data), &graph.to_string());
    }
}

#[test]
fn models_that_remember_rows_and_models_without_a_cut() {
    let data = random_matrix(200, 3, None, 2, false);
    let learned = Params { learn: Learn::AnchorsAndGraph, ..Params::paper(4) };
    let model = fit_ok(&data, None, &Params { n_anchors: Some(20), ..learned }).into_model();
    assert_as_in_a_batch(&model, &values(&data), "learned");
    // So many clusters that no cut keeps all of them.
    let few = random_matrix(6, 2, None, 4, false);
    let model = fit_ok(&few, None, &Params::new(6)).into_model();
    assert_as_in_a_batch(&model, &values(&few), "as many clusters as rows");
}

#[test]
fn wrong_rows_are_refused() {
    let blobs = synthetic::blobs(60, 3, 2, 0.1, 1);
    let model = fit_ok(&blobs.matrix, None, &Params::new(2)).into_model();
    let predictor = model.predictor().unwrap();
    assert!(matches!(
        predictor.label(&[0.0, 1.0]),
        Err(Error::Data(DataError::Features { found: 2, expected: 3 }))
    ));
    let nan = predictor.label(&[0.0, f64::NAN, 0.0]).unwrap_err().to_string();
    assert!(nan.starts_with("row 0, column 1 is NaN"), "{nan}");
    let Matrix::Dense64 { values, .. } = &blobs.matrix else {
        panic!("blobs are of double precision")
    };
    assert_as_in_a_batch(&model, values, "blobs");
}
