//! Floors of quality without labels: mean NMI of five seeds, rows shuffled by the seed. The full tables
//! are made by `make quality`.

use obcut::metrics::{Average, nmi};
use obcut::{GraphKind, OBCut, Params, Warning};

use obcut_bench::data::{LabelledData, named};
use obcut_bench::summary::mean_and_deviation;

/// Mean NMI in percent, or `None` (and a word about it) when the data set is not there.
fn mean_nmi(name: &str, graph: GraphKind, seeds: u64) -> Option<f64> {
    let Some(data) = named(name).expect("a file that can be read") else {
        eprintln!("skipped: {name} is not in the folder OBCUT_DATA");
        return None;
    };
    let runs = (0..seeds).map(|seed| {
        let data = data.shuffled(seed);
        let params = Params { graph, seed, ..Params::new(data.k) };
        let samples = data.matrix.samples().expect("a whole matrix");
        let found = OBCut::from(params.clone()).fit(&samples).expect("a fit");
        nmi(&found.labels(), &data.truth, Average::Max).expect("labels of equal length")
    });
    let (mean, deviation) = mean_and_deviation(runs);
    println!("{name} {graph}: NMI {:.1} ± {:.1}", 100.0 * mean, 100.0 * deviation);
    Some(100.0 * mean)
}

fn check(name: &str, graph: GraphKind, floor: f64) {
    check_seeds(name, graph, floor, 5);
}

fn check_seeds(name: &str, graph: GraphKind, floor: f64, seeds: u64) {
    if let Some(found) = mean_nmi(name, graph, seeds) {
        assert!(found >= floor, "{name}, {graph}: NMI {found:.2} is below {floor}");
    }
}

#[test]
fn shapes_that_k_means_cannot_find_are_found() {
    for graph in [GraphKind::Distance, GraphKind::Local] {
        check("moons", graph, 99.0);
        check("rings", graph, 99.0);
        check("blobs", graph, 99.0);
        check("subspaces", graph, 93.0);
    }
}

#[test]
fn the_shipped_digits_reach_their_floor() {
    check("digits", GraphKind::Distance, 82.0);
    check("digits", GraphKind::Local, 82.0);
}

#[test]
fn real_data_reach_their_floors_with_the_distance_graph() {
    check("LR", GraphKind::Distance, 43.0);
    check("PenDigits", GraphKind::Distance, 76.0);
    check("USPS", GraphKind::Distance, 60.0);
}

/// The default: nothing said but k.
#[test]
fn generated_and_shipped_data_reach_their_floors_with_the_automatic_graph() {
    check("moons", GraphKind::Auto, 99.0);
    check("rings", GraphKind::Auto, 99.0);
    check("blobs", GraphKind::Auto, 99.0);
    check("subspaces", GraphKind::Auto, 95.0);
    check("digits", GraphKind::Auto, 85.0);
}

/// Fewer seeds than `make quality`, which reports five, to keep the test short.
#[test]
fn real_data_reach_their_floors_with_the_automatic_graph() {
    check_seeds("Yale", GraphKind::Auto, 99.5, 3);
    check_seeds("PenDigits", GraphKind::Auto, 81.0, 3);
    check_seeds("LR", GraphKind::Auto, 46.5, 2);
    check_seeds("USPS", GraphKind::Auto, 65.5, 3);
    check_seeds("NG20rec_counts", GraphKind::Auto, 55.0, 1);
    check_seeds("NG20rec", GraphKind::Auto, 62.0, 1);
}

#[test]
fn clear_clusters_of_uneven_size_are_not_evened_out() {
    let sizes = [1500_usize, 300, 80];
    let blobs = obcut::synthetic::blobs(3 * 1500, 4, 3, 1.0, 5);
    let mut left = sizes;
    let keep: Vec<usize> = (0..blobs.labels.len())
        .filter(|&i| {
            let left = &mut left[blobs.labels[i] as usize];
            *left = left.saturating_sub(1);
            *left > 0
        })
        .collect();
    let all = LabelledData { matrix: blobs.matrix, truth: blobs.labels, k: 3 };
    let data = all.subset(&keep);
    let samples = data.matrix.samples().expect("a whole matrix");
    let found = OBCut::from(Params::new(3)).fit(&samples).expect("a fit");
    let score = nmi(&found.labels(), &data.truth, Average::Max).expect("labels of equal length");
    assert!(score > 0.99, "{score}: {:?}", found.trace().tried);
}

#[test]
fn the_number_of_clusters_is_found_where_it_is_clear() {
    for name in ["moons", "rings", "blobs", "subspaces"] {
        let data = named(name).expect("a file that can be read").expect("a generated set");
        let samples = data.matrix.samples().expect("a whole matrix");
        let found = OBCut::from(Params::auto()).fit(&samples).expect("a fit");
        let path = found.model().explanation().k_path.clone().expect("k was chosen");
        assert_eq!((path.chosen, path.clear), (data.k, true), "{name}: {path:?}");
        assert_eq!(found.model().n_clusters(), data.k);
    }
}

/// Gaussian groups of the given sizes on the corners of a square, and what k is chosen.
fn chosen(sizes: &[usize], apart: f64) -> obcut::KPath {
    let mut state = 1u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut values = Vec::new();
    for (group, &size) in sizes.iter().enumerate() {
        let centre = [apart * (group % 2) as f64, apart * (group / 2) as f64, 0.0];
        for _ in 0..size {
            for c in centre {
                let radius = (-2.0 * uniform().ln()).sqrt();
                values.push(c + radius * (std::f64::consts::TAU * uniform()).cos());
            }
        }
    }
    let n_rows: usize = sizes.iter().sum();
    let table = obcut::Matrix::Dense64 { values, n_rows, n_cols: 3 };
    let samples = table.samples().expect("a whole matrix");
    let found = OBCut::from(Params::auto()).fit(&samples).expect("a fit");
    let path = found.model().explanation().k_path.clone().expect("k was chosen");
    assert_eq!(found.model().n_clusters(), path.chosen);
    let told = found
        .warnings()
        .iter()
        .any(|w| matches!(w, Warning::NoClusters | Warning::NoCertainClusters));
    assert_eq!(told, path.chosen == 1, "{:?}", found.warnings());
    path
}

#[test]
fn a_table_without_clusters_is_one_group() {
    let path = chosen(&[800], 0.0);
    assert_eq!((path.chosen, path.clear), (1, true), "{path:?}");
    assert!(path.reference.is_some() && path.tried.iter().any(|t| t.reference.is_some()));
}

#[test]
fn small_clusters_that_stand_apart_are_counted() {
    for (sizes, apart) in [(&[980, 20][..], 10.0), (&[500, 300, 150, 50][..], 12.0)] {
        let path = chosen(sizes, apart);
        assert_eq!((path.chosen, path.clear), (sizes.len(), true), "{sizes:?}: {path:?}");
    }
}

#[test]
fn real_data_reach_their_floors_with_the_global_graph() {
    check("Yale", GraphKind::Global, 99.0);
    check("LR", GraphKind::Global, 45.0);
    check("PenDigits", GraphKind::Global, 77.0);
}
