//! Bad settings and bad data: a clear error each, never a panic.

mod common;

use common::{matrix, random_matrix};
use obcut::{
    CutParams, DataError, DenseRef, Error, Init, Model, ModelError, OBCut, Observer, ParamError,
    Params, Silent, cut, synthetic,
};

fn error(matrix: &obcut::Matrix, weights: Option<&[f64]>, params: &Params) -> Error {
    common::fit(matrix, weights, params).expect_err("this cannot be clustered")
}

#[test]
fn settings_out_of_range_are_named() {
    let data = random_matrix(20, 2, None, 1, false);
    let base = Params::new(3);
    assert!(matches!(error(&data, None, &Params::new(0)), Error::Params(ParamError::NoClusters)));
    assert!(matches!(
        error(&data, None, &Params::new(21)),
        Error::Params(ParamError::TooManyClusters { n_clusters: 21, n_samples: 20 })
    ));
    assert!(matches!(
        error(&data, None, &Params { n_anchors: Some(2), ..base.clone() }),
        Error::Params(ParamError::TooFewAnchors { n_anchors: 2, n_clusters: 3 })
    ));
    for (params, name) in [
        (Params { lambda: -1.0, ..base.clone() }, "lambda"),
        (Params { lambda: f64::NAN, ..base.clone() }, "lambda"),
        (Params { lambda: 0.0, ..Params::paper(3) }, "lambda"),
        (Params { ridge: -0.1, ..base.clone() }, "ridge"),
        (Params { pull: f64::INFINITY, ..base.clone() }, "pull"),
        (Params { tol: -1.0, ..base.clone() }, "tol"),
        (Params { n_neighbors: 0, ..base.clone() }, "n_neighbors"),
        (Params { n_anchor_sets: Some(0), ..base.clone() }, "n_anchor_sets"),
        (Params { n_init: 0, ..base.clone() }, "n_init"),
        (Params { max_iter: 0, ..base.clone() }, "max_iter"),
        (Params { max_sweeps: 0, ..base.clone() }, "max_sweeps"),
        (Params { rows_per_anchor: Some(0), ..base.clone() }, "rows_per_anchor"),
        (Params { anchors: Some(vec![f64::NAN; 6]), ..base.clone() }, "anchors"),
    ] {
        let text = error(&data, None, &params).to_string();
        assert!(text.starts_with(&format!("`{name}` is ")) && text.contains("must be"), "{text}");
    }
    let text =
        error(&data, None, &Params { anchors: Some(vec![0.0; 5]), ..base.clone() }).to_string();
    assert!(text.contains("5 values of given anchors"), "{text}");
    for labels in [vec![0; 20], vec![7; 20], vec![0, 1, 2]] {
        let params = Params { init: Init::Given(labels), ..base.clone() };
        assert!(matches!(error(&data, None, &params), Error::Params(_)));
    }
}

#[test]
fn bad_values_rows_and_weights_are_named() {
    let mut values = vec![0.5; 30];
    values[7] = f64::NAN;
    values[20] = f64::NEG_INFINITY;
    let text = error(&matrix(values, 10, 3), None, &Params::new(2)).to_string();
    assert!(text.starts_with("row 2, column 1 is NaN; 2 such value(s)"), "{text}");
    let text = error(&matrix(vec![1e300, 0.0, 1.0, 2.0], 4, 1), None, &Params::new(2)).to_string();
    assert!(text.contains("row 0, column 0") && text.contains("overflow"), "{text}");
    let same = matrix(vec![1.0; 12], 6, 2);
    assert!(matches!(
        error(&same, None, &Params::new(2)),
        Error::Data(DataError::TooFewDistinct { n_distinct: 1, n_clusters: 2 })
    ));
    let data = random_matrix(4, 2, None, 1, false);
    for (weights, part) in [
        (vec![1.0, -1.0, 1.0, 1.0], "row 1 is -1"),
        (vec![1.0, 1.0, f64::NAN, 1.0], "row 2 is NaN"),
        (vec![0.0; 4], "all sample weights are 0"),
        (vec![1.0; 3], "3 sample weights were given; 4 are needed"),
        (vec![1.0, 0.0, 0.0, 0.0], "only 1"),
    ] {
        let text = error(&data, Some(&weights), &Params::new(2)).to_string();
        assert!(text.contains(part), "{text}");
    }
    let uneven = DenseRef::new(&[1.0, 2.0], 1, 3);
    assert!(matches!(uneven, Err(Error::Data(DataError::Shape { .. }))));
    let empty = matrix(vec![], 0, 3);
    assert!(matches!(error(&empty, None, &Params::new(1)), Error::Data(DataError::Empty { .. })));
}

#[test]
fn new_rows_must_fit_the_model() {
    let data = synthetic::blobs(60, 3, 2, 1.0, 1);
    let found = common::fit_ok(&data.matrix, None, &Params::new(2));
    let narrow = matrix(vec![0.0; 4], 2, 2);
    let text = found
        .model()
        .on(&narrow.samples().unwrap())
        .unwrap()
        .threads(1)
        .labels()
        .unwrap_err()
        .to_string();
    assert!(text.contains("2 features") && text.contains("3"), "{text}");
    let bad = matrix(vec![0.0, f64::NAN, 0.0], 1, 3);
    assert!(found.model().on(&bad.samples().unwrap()).unwrap().threads(1).graph().is_err());
    let none = matrix(vec![], 0, 3);
    assert!(
        found.model().on(&none.samples().unwrap()).unwrap().threads(1).labels().unwrap().is_empty()
    );
}

#[test]
fn a_graph_must_have_edges_that_are_not_negative() {
    let cut_of = |values: Vec<f64>, n, m, k| {
        let graph = matrix(values, n, m);
        cut(&graph.samples().unwrap(), &CutParams::new(k), &Silent)
    };
    let text = cut_of(vec![1.0, -2.0, 0.0, 1.0], 2, 2, 2).unwrap_err().to_string();
    assert!(text.contains("-2 at row 0, column 1"), "{text}");
    assert!(matches!(cut_of(vec![0.0; 4], 2, 2, 2), Err(Error::Data(DataError::NoEdges))));
    assert!(cut_of(vec![f64::NAN, 1.0, 1.0, 1.0], 2, 2, 2).is_err());
    assert!(cut_of(vec![1.0; 6], 3, 2, 3).is_err());
    // A row without edges is put somewhere, and said.
    let found = cut_of(vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 3, 2, 2).unwrap();
    assert_eq!(found.row_labels.len(), 3);
    assert_ne!(found.row_labels[0], found.row_labels[1]);
    assert!(found.warnings[0].to_string().contains("1 row(s)"), "{:?}", found.warnings);
}

#[test]
fn damaged_foreign_and_newer_models_are_told_apart() {
    let data = synthetic::blobs(60, 3, 2, 1.0, 1);
    let params = Params { graph: obcut::GraphKind::Local, ..Params::new(2) };
    let bytes = common::fit_ok(&data.matrix, None, &params).model().to_bytes().unwrap();
    let kind = |bytes: &[u8]| match Model::from_bytes(bytes) {
        Err(Error::Model(e)) => e,
        other => panic!("{other:?}"),
    };
    for length in (0..bytes.len()).step_by(7) {
        assert!(matches!(kind(&bytes[..length]), ModelError::Damaged(_)), "{length} bytes");
    }
    assert!(matches!(kind(b"row,label\n0,1\n"), ModelError::Damaged(_)));
    // Any flipped bit gives a model or an error, never a panic; and the model can be used.
    for at in (0..bytes.len()).step_by(3) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if let Ok(model) = Model::from_bytes(&flipped) {
            let _ = model.on(&data.matrix.samples().unwrap()).unwrap().threads(1).labels();
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains(r#"\"format\":2"#));
    let replaced = |from: &str, to: &str| -> Vec<u8> {
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        let mut out = bytes.clone();
        out[at..at + from.len()].copy_from_slice(to.as_bytes());
        out
    };
    assert!(matches!(
        kind(&replaced(r#"\"format\":2"#, r#"\"format\":9"#)),
        ModelError::Newer { found: 9, supported: 3 }
    ));
    assert!(matches!(kind(&replaced(r#""obcut":"#, r#""other":"#)), ModelError::Foreign(_)));
}

#[test]
fn an_observer_sees_progress_and_can_cancel() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    #[derive(Default)]
    struct Count {
        reports: AtomicUsize,
        limit: usize,
    }
    impl Observer for Count {
        fn progress(&self, _: &obcut::Progress) {
            self.reports.fetch_add(1, Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.reports.load(Ordering::Relaxed) >= self.limit
        }
    }
    let data = synthetic::mixture(800, 6, 4, 1);
    let samples = data.matrix.samples().unwrap();
    let all = Count { limit: usize::MAX, ..Count::default() };
    OBCut::from(Params::new(4)).observer(&all).fit(&samples).unwrap();
    let total = all.reports.into_inner();
    assert!(total > 8, "{total} reports");
    for limit in (1..=total).step_by(total / 25) {
        let some = Count { limit, ..Count::default() };
        assert!(matches!(
            OBCut::from(Params::new(4)).observer(&some).fit(&samples),
            Err(Error::Cancelled)
        ));
    }
}
