//! The library as another crate uses it: its errors behind `?`, its kinds of rows, cancelling, and sources that
//! break their promise.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use obcut::{
    CsrRef, DataError, DenseRef, Error, Matrix, Model, ModelError, OBCut, ParamError, Params,
    RowSource, synthetic,
};

/// The error of a caller, with one variant for all of the library.
#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error("clustering: {0}")]
    Cluster(#[from] obcut::Error),
    /// Parameters that are read from JSON are read by serde, so the error is serde's own.
    #[error("settings: {0}")]
    Settings(#[from] serde_json::Error),
}

#[test]
fn one_variant_of_the_callers_error_takes_every_failure() {
    fn dense() -> Result<(), AppError> {
        DenseRef::new(&[1.0, 2.0, 3.0], 2, 2)?;
        Ok(())
    }
    fn sparse() -> Result<(), AppError> {
        CsrRef::new(&[0, 1], &[7], &[1.0], 3)?;
        Ok(())
    }
    fn settings(json: &str) -> Result<Params, AppError> {
        Ok(serde_json::from_str(json)?)
    }
    fn clusters(k: usize) -> Result<Vec<u32>, AppError> {
        Ok(OBCut::new(k).fit(&DenseRef::new(&[0.0, 1.0, 2.0], 3, 1)?)?.labels())
    }
    fn load() -> Result<Model, AppError> {
        Ok(Model::from_bytes(b"not a model")?)
    }

    let cluster = |error: AppError| match error {
        AppError::Cluster(error) => error,
        AppError::Settings(error) => panic!("{error}"),
    };
    let error = cluster(dense().unwrap_err());
    assert!(matches!(error, Error::Data(DataError::Shape { n_values: 3, .. })), "{error}");
    let error = cluster(sparse().unwrap_err());
    assert!(matches!(error, Error::Data(DataError::Csr(_))), "{error}");
    let error = cluster(clusters(4).unwrap_err());
    assert!(
        matches!(error, Error::Params(ParamError::TooManyClusters { n_clusters: 4, n_samples: 3 })),
        "{error}"
    );
    let error = cluster(load().unwrap_err());
    assert!(matches!(error, Error::Model(ModelError::Damaged(_))), "{error}");

    assert_eq!(settings(r#"{"n_clusters": 5}"#).unwrap(), Params::new(5));
    for (json, told) in [
        (r#"{"n_cluster": 5}"#, "did you mean 'n_clusters'?"),
        (r#"{"n_neighbors": 0}"#, "`n_neighbors`"),
        (r#"{"graph": "round"}"#, "`graph`"),
    ] {
        let error = settings(json).unwrap_err();
        assert!(
            matches!(error, AppError::Settings(_)) && error.to_string().contains(told),
            "{error}"
        );
    }
}

#[test]
fn sparse_rows_have_the_same_labels_with_indices_of_any_width() {
    let blobs = synthetic::blobs(200, 6, 3, 0.5, 1);
    let Matrix::Dense64 { values, n_rows, n_cols } = &blobs.matrix else {
        panic!("blobs are of double precision");
    };
    let offsets: Vec<usize> = (0..=*n_rows).map(|row| row * n_cols).collect();
    let columns: Vec<usize> = (0..values.len()).map(|at| at % n_cols).collect();
    let narrow = |wide: &[usize]| wide.iter().map(|&v| v as i32).collect::<Vec<_>>();
    let signed = |wide: &[usize]| wide.iter().map(|&v| v as i64).collect::<Vec<_>>();
    let (offsets32, columns32) = (narrow(&offsets), narrow(&columns));
    let (offsets64, columns64) = (signed(&offsets), signed(&columns));

    let rows = [
        CsrRef::new(&offsets, &columns, values, *n_cols).unwrap(),
        CsrRef::new(&offsets32, &columns32, values, *n_cols).unwrap(),
        CsrRef::new(&offsets64, &columns64, values, *n_cols).unwrap(),
        CsrRef::new(&offsets64, &columns32[..], values, *n_cols).unwrap(),
    ];
    let fits: Vec<_> = rows.iter().map(|rows| OBCut::new(3).fit(rows).unwrap()).collect();
    for (fit, rows) in fits.iter().zip(&rows) {
        assert_eq!(fit.rows(), fits[0].rows());
        assert_eq!(fits[0].model().predict(rows).unwrap(), fit.labels());
    }
}

#[test]
fn a_flag_cancels_a_fit_and_a_prediction() {
    let blobs = synthetic::blobs(300, 4, 3, 0.5, 1);
    let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
    let model = OBCut::new(3).observer(&go).fit(&blobs.matrix).unwrap().into_model();
    let error = OBCut::new(3).observer(&stop).fit(&blobs.matrix).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");

    let prediction = model.on(&blobs.matrix).unwrap();
    assert_eq!(prediction.observer(&go).labels().unwrap().len(), 300);
    let stopped = prediction.observer(&stop);
    assert!(matches!(stopped.labels(), Err(Error::Cancelled)));
    assert!(matches!(stopped.rows(), Err(Error::Cancelled)));
    assert!(matches!(stopped.probabilities(), Err(Error::Cancelled)));
    assert!(matches!(stopped.graph(), Err(Error::Cancelled)));

    let source = Source { n_rows: 300, short: false };
    let found = OBCut::new(3).observer(&stop).fit_source(&source);
    assert!(matches!(found, Err(Error::Cancelled)));
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_and_views_are_rows() {
    use ndarray::{Array2, s};

    let blobs = synthetic::blobs(120, 3, 2, 0.5, 1);
    let Matrix::Dense64 { values, n_rows, n_cols } = &blobs.matrix else {
        panic!("blobs are of double precision");
    };
    let array = Array2::from_shape_vec((*n_rows, *n_cols), values.clone()).unwrap();
    let fit = OBCut::new(2).fit(&array).unwrap();
    assert_eq!(fit.labels(), OBCut::new(2).fit(&blobs.matrix).unwrap().labels());
    let first = fit.model().predict(&array.slice(s![..10, ..])).unwrap();
    assert_eq!(first, fit.labels()[..10]);

    let single = array.mapv(|value| value as f32);
    assert_eq!(OBCut::new(2).fit(&single.view()).unwrap().labels().len(), 120);
    for strided in [array.slice(s![..;2, ..]), array.slice(s![.., ..2])] {
        let error = OBCut::new(2).fit(&strided).unwrap_err();
        assert!(matches!(error, Error::Data(DataError::NotContiguous)), "{error}");
        assert!(OBCut::new(2).fit(&strided.as_standard_layout()).is_ok());
    }
}

/// Rows of two columns in three groups. A source that is short leaves the last row out of every reading.
struct Source {
    n_rows: usize,
    short: bool,
}

impl RowSource for Source {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        2
    }

    fn is_single(&self) -> bool {
        false
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        let n_rows = rows.len() - usize::from(self.short);
        let row =
            |row: usize| [(row % 3 * 50) as f64 + (row as f64).sin(), (row as f64 * 1.7).cos()];
        let values = rows.take(n_rows).flat_map(row).collect();
        Ok(Matrix::Dense64 { values, n_rows, n_cols: 2 })
    }
}

fn model_of_source() -> Model {
    let whole = Source { n_rows: 300, short: false };
    OBCut::new(3).fit_source(&whole).unwrap().into_model()
}

#[test]
fn a_source_that_returns_too_few_rows_is_an_error_for_any_size() {
    let model = model_of_source();
    for (n_rows, core_rows) in [(300, None), (3_000, Some(500)), (3_000, None)] {
        let params = Params { core_rows, ..Params::new(3) };
        let run = |short| {
            let source = Source { n_rows, short };
            let fitted = OBCut::from(params.clone()).fit_source(&source);
            (fitted.map(|fit| fit.labels().len()), model.predict_source(&source))
        };
        let (fitted, predicted) = run(false);
        assert_eq!((fitted.unwrap(), predicted.unwrap().len()), (n_rows, n_rows));
        let (fitted, predicted) = run(true);
        for error in [fitted.unwrap_err(), predicted.unwrap_err()] {
            let Error::Read { source, .. } = &error else { panic!("{error}") };
            assert!(source.to_string().contains("rows x 2 columns instead of"), "{source}");
        }
    }
}

#[test]
fn errors_of_parameters_are_those_of_a_caller() {
    fn apply() -> Result<Params, AppError> {
        let mut params = Params::new(3);
        params.set("n_neighbors", &7.into())?;
        params.set("n_neighbours", &8.into())?;
        Ok(params)
    }
    match apply() {
        Err(AppError::Cluster(Error::Params(error))) => {
            assert!(error.to_string().contains("n_neighbors"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
