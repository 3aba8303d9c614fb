//! Tables that are clustered by a core: the same bits however they are cut up and read.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use obcut::front_ends::{self, Next, OutOfCoreFit, Partial, Piece, Task};
use obcut::metrics::{Average, nmi};
use obcut::{
    Csr, DataError, DenseRef, Error, Fit, GraphKind, Learn, Matrix, Model, OBCut, Observer, Params,
    RowScore, RowSource, Samples, Scale, Silent, Store, StoredFit, synthetic,
};

/// Rows in memory that are read as if they were not.
struct Held<'m>(&'m Matrix);

impl RowSource for Held<'_> {
    fn n_rows(&self) -> usize {
        self.0.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.0.n_cols()
    }
    fn is_single(&self) -> bool {
        matches!(self.0, Matrix::Dense32 { .. })
    }
    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        let (n_rows, n_cols) = (rows.len(), self.0.n_cols());
        let part = rows.start * n_cols..rows.end * n_cols;
        Ok(match self.0 {
            Matrix::Dense32 { values, .. } => {
                Matrix::Dense32 { values: values[part].to_vec(), n_rows, n_cols }
            }
            Matrix::Dense64 { values, .. } => {
                Matrix::Dense64 { values: values[part].to_vec(), n_rows, n_cols }
            }
            _ => unreachable!("dense in these tests"),
        })
    }
}

/// Keeps labels, and states when it is asked to.
#[derive(Default)]
struct Kept {
    labels: Mutex<Vec<u32>>,
    states: Mutex<Vec<(Vec<u8>, Vec<u32>)>>,
    saves: bool,
    /// The state to continue from.
    saved: Option<Vec<u8>>,
    /// Rows that the last state counts as labeled.
    done: Mutex<u64>,
}

impl Kept {
    fn continued(state: &[u8]) -> Self {
        Self { saved: Some(state.to_vec()), ..Self::default() }
    }
}

impl Store for Kept {
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        // A kill at this moment must leave the labels that the last state counts as done.
        assert!(first >= *self.done.lock().unwrap(), "rows from {first} on are overwritten");
        let mut labels = self.labels.lock().unwrap();
        let end = first as usize + rows.len();
        if labels.len() < end {
            labels.resize(end, u32::MAX);
        }
        labels[first as usize..end].iter_mut().zip(rows).for_each(|(l, r)| *l = r.label);
        Ok(())
    }
    fn is_due(&self) -> bool {
        self.saves
    }
    fn keeps(&self) -> bool {
        self.saves
    }
    fn save(&self, state: &[u8], n_labeled: u64) -> Result<(), Error> {
        let mut labels = self.labels.lock().unwrap().clone();
        // What a fit that continues needs of them; all others it gives again.
        labels[n_labeled as usize..].fill(u32::MAX);
        *self.done.lock().unwrap() = n_labeled;
        self.states.lock().unwrap().push((state.to_vec(), labels));
        Ok(())
    }
    fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }
}

/// Keeps nothing.
struct NoStore;

impl Store for NoStore {}

fn fit_into(
    source: &dyn RowSource,
    params: &Params,
    store: &dyn Store,
) -> Result<StoredFit, Error> {
    OBCut::from(params.clone()).fit_into(source, store)
}

fn params(k: usize) -> Params {
    let graph = GraphKind::Distance;
    Params { core_rows: Some(1500), threads: 2, graph, ..Params::new(k) }
}

/// Labels are many: a failure must not print them.
fn same(a: &[u32], b: &[u32]) {
    let differ = a.iter().zip(b).filter(|(a, b)| a != b).count();
    assert!(
        a.len() == b.len() && differ == 0,
        "{} and {} labels, {differ} differ",
        a.len(),
        b.len()
    );
}

fn single(matrix: &Matrix) -> Matrix {
    let Matrix::Dense64 { values, n_rows, n_cols } = matrix else { panic!("dense") };
    let values = values.iter().map(|&v| v as f32).collect();
    Matrix::Dense32 { values, n_rows: *n_rows, n_cols: *n_cols }
}

fn fitted(matrix: &Matrix, weights: Option<&[f64]>, params: &Params) -> Fit {
    let mut clusterer = OBCut::from(params.clone());
    if let Some(weights) = weights {
        clusterer = clusterer.weights(weights);
    }
    clusterer.fit(matrix).unwrap()
}

/// Runs the passes on pieces that end at the rows given, merged from the last to the first.
fn by_pieces(
    matrix: &Matrix,
    weights: Option<&[f64]>,
    params: &Params,
    ends: &[usize],
) -> (Vec<u32>, Model) {
    let samples = matrix.samples().unwrap();
    let mut large = OutOfCoreFit::new(params, &samples, matrix.n_rows()).unwrap();
    loop {
        match large.next() {
            Next::Pass(task) => {
                // Through bytes, as other machines get it.
                let task = Task::from_bytes(&task.to_bytes().unwrap()).unwrap();
                let ready = task.ready(&samples);
                let mut partial: Option<Partial> = None;
                for (p, &end) in ends.iter().enumerate().rev() {
                    let range = if p == 0 { 0..end } else { ends[p - 1]..end };
                    let piece = Piece { samples, weights, range, first: 0 };
                    let found = ready.run(&piece, None).to_bytes().unwrap();
                    let found = Partial::from_bytes(&found).unwrap();
                    match &mut partial {
                        Some(all) => all.merge(found).unwrap(),
                        None => partial = Some(found),
                    }
                }
                large.take(partial.unwrap()).unwrap();
            }
            Next::Core(rows) => {
                let core = Held(matrix).gather(&rows).unwrap();
                large.take_core(&core.samples().unwrap(), &Silent).unwrap();
            }
            Next::Done => break,
        }
    }
    let found = large.finish().unwrap();
    (found.model.on(&samples).unwrap().threads(2).labels().unwrap(), found.model)
}

#[test]
fn a_table_is_large_by_more_than_twice_a_core_unless_the_core_is_given() {
    let auto = Params::new(10);
    assert_eq!(front_ends::core_rows(&auto, 512), 131_072);
    assert!(
        !front_ends::is_large(&auto, 195_537, 512) && !front_ends::is_large(&auto, 262_144, 32)
    );
    assert!(front_ends::is_large(&auto, 262_145, 32));
    assert_eq!(front_ends::core_rows(&auto, 1 << 20), 32_768);
    assert_eq!(front_ends::core_rows(&Params::new(5000), 32), 500_000);
    let given = Params { core_rows: Some(1000), ..Params::new(10) };
    assert!(!front_ends::is_large(&given, 1000, 512) && front_ends::is_large(&given, 1001, 512));
    let all = Params { core_rows: Some(0), ..Params::new(10) };
    assert!(!front_ends::is_large(&all, usize::MAX, 512));
}

#[test]
fn memory_pieces_files_and_threads_give_the_same_bits() {
    let data = synthetic::subspaces(9000, 12, 5, 3, 0.05, 1);
    for matrix in [data.matrix.clone(), single(&data.matrix)] {
        for (scale, graph) in [
            (Scale::Auto, GraphKind::Auto),
            (Scale::Standard, GraphKind::Distance),
            (Scale::UnitRows, GraphKind::Distance),
        ] {
            let params = Params { scale, graph, ..params(5) };
            let one = fitted(&matrix, None, &params);
            let three = fitted(&matrix, None, &Params { threads: 3, ..params.clone() });
            same(&one.labels(), &three.labels());
            assert!(one.model() == three.model());
            let store = Kept::default();
            let read = fit_into(&Held(&matrix), &params, &store).unwrap();
            same(&store.labels.lock().unwrap(), &one.labels());
            assert!(read.model == *one.model());
            assert_eq!(read.warnings, one.warnings());
            let kept = OBCut::from(params.clone()).fit_source(&Held(&matrix)).unwrap();
            assert_eq!(kept.rows(), one.rows());
            let ends = [1, 700, 701, 5000, 8999, 9000];
            let (labels, model) = by_pieces(&matrix, None, &params, &ends);
            same(&labels, &one.labels());
            assert!(model == *one.model());
        }
    }
}

#[test]
fn the_model_repeats_the_labels_and_knows_its_clusters() {
    let data = synthetic::blobs(8000, 6, 4, 0.05, 2);
    let found = fitted(&data.matrix, None, &params(4));
    let samples = data.matrix.samples().unwrap();
    same(&found.labels(), &found.model().on(&samples).unwrap().threads(2).labels().unwrap());
    let store = Kept::default();
    front_ends::predict_rows(found.model(), &Held(&data.matrix), 2, &Silent, &store).unwrap();
    same(&store.labels.lock().unwrap(), &found.labels());
    same(&found.model().predict_source(&Held(&data.matrix)).unwrap(), &found.labels());
    let mut counts = [0; 4];
    let mut sums = [0.0; 4 * 6];
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("dense") };
    for (row, &l) in values.chunks_exact(6).zip(&found.labels()) {
        counts[l as usize] += 1;
        row.iter().enumerate().for_each(|(f, v)| sums[l as usize * 6 + f] += v);
    }
    for (j, cluster) in found.model().explanation().clusters.iter().enumerate() {
        assert_eq!((cluster.rows, cluster.weight), (counts[j], counts[j] as f64));
        for feature in &cluster.features {
            let mean = sums[j * 6 + feature.index] / counts[j] as f64;
            assert!((feature.mean - mean).abs() < 1e-6, "{} {mean}", feature.mean);
        }
    }
    let trace = found.trace().large.clone().unwrap();
    assert_eq!(trace.core_rows, 1500);
    assert!(trace.passes >= 2 && trace.moved.len() == trace.passes - 1);
}

#[test]
fn a_core_finds_what_all_rows_find() {
    let core = |k| Params { graph: GraphKind::Auto, ..params(k) };
    let all = |k| Params { core_rows: Some(0), ..core(k) };
    let sets = [
        (synthetic::moons(6000, 0.05, 1), 2, 0.99),
        (synthetic::rings(6000, 3, 0.03, 1), 3, 0.99),
        (synthetic::blobs(6000, 5, 7, 0.05, 3), 7, 0.99),
        (synthetic::subspaces(6000, 20, 6, 3, 0.05, 4), 6, 0.9),
    ];
    for (data, k, floor) in sets {
        let score = |found: &Fit| nmi(&found.labels(), &data.labels, Average::Max).unwrap();
        let (found, whole) = (
            score(&fitted(&data.matrix, None, &core(k))),
            score(&fitted(&data.matrix, None, &all(k))),
        );
        assert!(found > floor && found > whole - 0.02, "{k} clusters: {found} {whole}");
    }
}

#[test]
fn weights_are_copies_and_absent_rows_get_labels() {
    let data = synthetic::blobs(5000, 3, 3, 0.1, 5);
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("dense") };
    // Every third row twice, every seventh not at all.
    let weights: Vec<f64> = (0..5000)
        .map(|i| {
            if i % 7 == 0 {
                0.0
            } else if i % 3 == 0 {
                2.0
            } else {
                1.0
            }
        })
        .collect();
    let copies: Vec<f64> = (values.chunks_exact(3).zip(&weights))
        .flat_map(|(row, &w)| row.repeat(w as usize))
        .collect();
    let copies = Matrix::Dense64 { n_rows: copies.len() / 3, values: copies, n_cols: 3 };
    let weighted = fitted(&data.matrix, Some(&weights), &params(3));
    let copied = fitted(&copies, None, &params(3));
    let total: f64 = weights.iter().sum();
    assert!((weighted.model().info().cluster_sizes.iter().sum::<f64>() - total).abs() < 1e-6);
    let samples = data.matrix.samples().unwrap();
    // Sums are rounded to other grids, so a row on the border may differ.
    let other = copied.model().on(&samples).unwrap().threads(2).labels().unwrap();
    let differ = weighted.labels().iter().zip(&other).filter(|(a, b)| a != b).count();
    assert!(differ <= 2, "{differ}");
    let twice: Vec<f64> = weights.iter().map(|w| w * 1e6).collect();
    same(&fitted(&data.matrix, Some(&twice), &params(3)).labels(), &weighted.labels());
}

#[test]
fn weights_do_not_blur_the_spread_of_a_column_far_from_zero() {
    let data = synthetic::blobs(5000, 3, 3, 0.1, 5);
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("dense") };
    let far = values.iter().enumerate().map(|(p, v)| if p % 3 == 1 { v + 1.7e6 } else { *v });
    let far = Matrix::Dense64 { values: far.collect(), n_rows: 5000, n_cols: 3 };
    let weights: Vec<f64> = (0..5000).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
    let params = Params { scale: Scale::Standard, ..params(3) };
    let near = fitted(&data.matrix, Some(&weights), &params);
    let far = fitted(&far, Some(&weights), &params);
    let agree = nmi(&near.labels(), &far.labels(), Average::Max).unwrap();
    assert!(agree > 0.98, "{agree}");
}

#[test]
fn a_table_of_few_distinct_rows_is_looked_through() {
    let few = synthetic::blobs(300, 2, 3, 0.05, 6);
    let Matrix::Dense64 { values, .. } = &few.matrix else { panic!("dense") };
    let matrix = Matrix::Dense64 { values: values.repeat(30), n_rows: 9000, n_cols: 2 };
    let found = fitted(&matrix, None, &params(3));
    assert_eq!(found.trace().large.as_ref().unwrap().core_rows, 300);
    assert!(nmi(&found.labels(), &few.labels.repeat(30), Average::Max).unwrap() > 0.99);
}

#[test]
fn sparse_rows_are_clustered_as_dense_ones() {
    let data = synthetic::blobs(5000, 8, 4, 0.05, 7);
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("dense") };
    let mut csr = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: 8 };
    for row in values.chunks_exact(8) {
        csr.columns.extend(0..8);
        csr.values.extend(row);
        csr.offsets.push(csr.columns.len() as i64);
    }
    let sparse = fitted(&Matrix::Sparse64(csr), None, &params(4));
    let dense = fitted(&data.matrix, None, &params(4));
    assert!(nmi(&sparse.labels(), &dense.labels(), Average::Max).unwrap() > 0.99);
}

#[test]
fn learning_on_the_core_still_labels_every_row() {
    let data = synthetic::blobs(6000, 4, 3, 0.05, 8);
    let params = Params { learn: Learn::AnchorsAndGraph, ..params(3) };
    let found = fitted(&data.matrix, None, &params);
    assert!(nmi(&found.labels(), &data.labels, Average::Max).unwrap() > 0.99);
    let samples = data.matrix.samples().unwrap();
    same(&found.labels(), &found.model().on(&samples).unwrap().threads(1).labels().unwrap());
}

#[test]
fn a_state_is_saved_before_labels_are_overwritten() {
    // Groups that touch, so that the rows are labeled more than once. The store checks every write.
    let data = synthetic::moons(20_000, 0.3, 4);
    let params = Params { core_rows: Some(300), ..params(2) };
    let store = Kept { saves: true, ..Kept::default() };
    let fit = fit_into(&Held(&data.matrix), &params, &store).unwrap();
    assert!(fit.trace.large.unwrap().moved.len() > 1);
}

#[test]
fn every_saved_state_leads_to_the_same_bits() {
    let data = synthetic::blobs(90_000, 60, 3, 0.3, 9);
    let params = Params { core_rows: Some(1000), ..params(3) };
    let source = Held(&data.matrix);
    let whole = Kept { saves: true, ..Kept::default() };
    let expected = fit_into(&source, &params, &whole).unwrap();
    let states = whole.states.lock().unwrap();
    assert!(states.len() > 10, "{}", states.len());
    for (state, labels) in states.iter().step_by(3) {
        let rest = Kept { labels: Mutex::new(labels.clone()), ..Kept::continued(state) };
        let found = fit_into(&source, &params, &rest).unwrap();
        assert!(found.model == expected.model);
        same(&rest.labels.lock().unwrap(), &whole.labels.lock().unwrap());
    }
    let (state, _) = &states[0];
    let other = Params { seed: 1, ..params.clone() };
    let error = fit_into(&source, &other, &Kept::continued(state)).unwrap_err();
    assert!(error.to_string().contains("other parameters"), "{error}");
    let refused = |state: &[u8]| match fit_into(&source, &params, &Kept::continued(state)) {
        Err(Error::State(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for (state, _) in [&states[0], &states[states.len() / 2], &states[states.len() - 1]] {
        assert!(refused(&state[..state.len() / 2]).contains("damaged"));
        for step in 0..40 {
            let mut damaged = state.clone();
            damaged[(state.len() - 1) * step / 39] ^= 1 << (step % 8);
            assert!(refused(&damaged).contains("damaged"), "byte {step} of 40");
        }
    }
}

/// A source whose rows are replaced after some readings.
struct Replaced<'m> {
    rows: Held<'m>,
    readings: AtomicUsize,
    limit: usize,
}

impl RowSource for Replaced<'_> {
    fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.rows.n_cols()
    }
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }
    fn read(&self, rows: std::ops::Range<usize>) -> Result<Matrix, Error> {
        self.readings.fetch_add(1, Ordering::Relaxed);
        self.rows.read(rows)
    }
    fn check_unchanged(&self) -> Result<(), Error> {
        match self.readings.load(Ordering::Relaxed) {
            n if n < self.limit => Ok(()),
            _ => Err(Error::Changed { name: "x".into() }),
        }
    }
}

#[test]
fn rows_that_change_in_any_pass_end_the_run() {
    let data = synthetic::blobs(40_000, 60, 3, 0.3, 9);
    let params = Params { core_rows: Some(1000), ..params(3) };
    let source = |limit| Replaced { rows: Held(&data.matrix), readings: 0.into(), limit };
    let honest = source(usize::MAX);
    let found = fit_into(&honest, &params, &NoStore).unwrap();
    let readings = honest.readings.into_inner();
    assert!(readings > 5, "{readings}");
    for limit in [1, 2, readings / 2, readings - 1, readings] {
        let error = fit_into(&source(limit), &params, &NoStore).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{limit}: {error}");
    }
    let changes = source(2);
    let error = front_ends::predict_rows(&found.model, &changes, 1, &Silent, &NoStore).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    // A small table is read whole.
    let params = Params { core_rows: None, ..params };
    let error = fit_into(&source(1), &params, &NoStore).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
}

/// Asks to stop at the so-many-th question.
struct StopAt(AtomicUsize);

impl Observer for StopAt {
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn a_cancelled_fit_goes_on_from_what_it_saved() {
    let data = synthetic::blobs(60_000, 60, 3, 0.3, 9);
    let params = Params { core_rows: Some(1000), ..params(3) };
    let source = Held(&data.matrix);
    let expected = fit_into(&source, &params, &NoStore).unwrap();
    let mut store = Kept { saves: true, ..Kept::default() };
    let mut patience = 5;
    let found = loop {
        let stop = StopAt(AtomicUsize::new(patience));
        match OBCut::from(params.clone()).observer(&stop).fit_into(&source, &store) {
            Ok(found) => break found,
            Err(Error::Cancelled) => {
                let last = store.states.lock().unwrap().last().map(|s| s.0.clone());
                store.saved = last;
                patience = patience * 3 / 2;
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert!(patience > 5);
    assert!(found.model == expected.model);
}

#[test]
fn what_cannot_be_used_is_named_by_its_row() {
    let data = synthetic::blobs(5000, 3, 3, 0.1, 5);
    let Matrix::Dense64 { values, .. } = &data.matrix else { panic!("dense") };
    let with = |at: usize, value: f64| {
        let mut values = values.clone();
        values[at] = value;
        Matrix::Dense64 { values, n_rows: 5000, n_cols: 3 }
    };
    let run = |matrix: &Matrix, weights: Option<&[f64]>| {
        let mut clusterer = OBCut::from(params(3));
        if let Some(weights) = weights {
            clusterer = clusterer.weights(weights);
        }
        clusterer.fit_into(&Held(matrix), &NoStore).unwrap_err()
    };
    match run(&with(3 * 4321 + 2, f64::NAN), None) {
        Error::Data(DataError::NotFinite { row: 4321, col: 2, count: 1, .. }) => {}
        other => panic!("{other}"),
    }
    match run(&with(3 * 99, 1e200), None) {
        Error::Data(DataError::TooLarge { row: 99, col: 0, .. }) => {}
        other => panic!("{other}"),
    }
    let mut weights = vec![1.0; 5000];
    weights[17] = -1.0;
    match run(&data.matrix, Some(&weights)) {
        Error::Data(DataError::Weight { row: 17, .. }) => {}
        other => panic!("{other}"),
    }
    assert!(matches!(run(&data.matrix, Some(&[0.0; 5000])), Error::Data(DataError::NoWeight)));
    for (at, weight) in [(5, 1e305), (6, 1e-200), (7, 1e12)] {
        let mut weights = vec![1.0; 5000];
        weights[at] = weight;
        match run(&data.matrix, Some(&weights)) {
            Error::Data(DataError::WeightRange { row, .. }) => assert_eq!(row, at),
            other => panic!("{other}"),
        }
    }
    let few = Params { core_rows: Some(2), ..params(3) };
    let error = fit_into(&Held(&data.matrix), &few, &NoStore);
    assert!(error.unwrap_err().to_string().contains("`core_rows` is 2"));
    let equal = Matrix::Dense64 { values: vec![1.0; 15_000], n_rows: 5000, n_cols: 3 };
    match run(&equal, None) {
        Error::Data(DataError::TooFewDistinct { n_distinct: 1, n_clusters: 3 }) => {}
        other => panic!("{other}"),
    }
    let model = fitted(&data.matrix, None, &params(3)).into_model();
    let broken = with(3 * 4321 + 2, f64::NAN);
    match front_ends::predict_rows(&model, &Held(&broken), 2, &Silent, &NoStore).unwrap_err() {
        Error::Data(DataError::NotFinite { row: 4321, col: 2, .. }) => {}
        other => panic!("{other}"),
    }
}

/// A file that ends too early.
struct Broken<'m>(Held<'m>);

impl RowSource for Broken<'_> {
    fn n_rows(&self) -> usize {
        self.0.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.0.n_cols()
    }
    fn is_single(&self) -> bool {
        self.0.is_single()
    }
    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        if rows.end > 40_000 {
            return Err(Error::Read { rows, source: "the disk is gone".into() });
        }
        self.0.read(rows)
    }
}

#[test]
fn a_source_that_fails_ends_the_fit() {
    let data = synthetic::mixture(90_000, 3, 12, 9);
    let params = Params { core_rows: Some(1000), ..params(3) };
    let source = Broken(Held(&data.matrix));
    let error = fit_into(&source, &params, &NoStore).unwrap_err();
    let cause = std::error::Error::source(&error).expect("what the source said");
    assert!(cause.to_string().contains("the disk is gone"), "{cause}");
}

#[test]
fn a_small_table_is_read_whole() {
    let data = synthetic::blobs(1000, 3, 3, 0.1, 5);
    let store = Kept::default();
    let found = fit_into(&Held(&data.matrix), &params(3), &store).unwrap();
    let whole = fitted(&data.matrix, None, &params(3));
    same(&store.labels.lock().unwrap(), &whole.labels());
    assert!(found.model == *whole.model());
    assert!(found.trace.large.is_none());
    let empty: Samples<'_> = DenseRef::<f64>::new(&[], 0, 3).unwrap().into();
    assert!(OutOfCoreFit::new(&params(3), &empty, 0).is_err());
}
