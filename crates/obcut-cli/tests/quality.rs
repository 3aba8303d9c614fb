//! Floors of quality without labels: mean NMI of five seeds, rows shuffled by the seed. The full tables
//! are made by `make quality`.

use obcut::metrics::{Average, nmi};
use obcut::{GraphKind, Params, Silent, fit};

#[path = "../examples/quality/protocol.rs"]
#[allow(dead_code)]
mod protocol;

use protocol::{mean_and_deviation, named, shuffle};

/// Mean NMI in percent, or `None` (and a word about it) when the data set is not there.
fn mean_nmi(name: &str, graph: GraphKind) -> Option<f64> {
    let Some(data) = named(name) else {
        eprintln!("skipped: {name} is not in the folder OBCUT_DATA");
        return None;
    };
    let runs = (0..5).map(|seed| {
        let data = shuffle(&data, seed);
        let params = Params { graph, seed, ..Params::new(data.k) };
        let samples = data.matrix.samples().expect("a whole matrix");
        let found = fit(&samples, None, &params, &Silent).expect("a fit");
        nmi(&found.labels, &data.truth, Average::Max).expect("labels of equal length")
    });
    let (mean, deviation) = mean_and_deviation(runs);
    println!("{name} {graph}: NMI {:.1} ± {:.1}", 100.0 * mean, 100.0 * deviation);
    Some(100.0 * mean)
}

fn check(name: &str, graph: GraphKind, floor: f64) {
    if let Some(found) = mean_nmi(name, graph) {
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
fn real_data_reach_their_floors_with_the_default_graph() {
    check("LR", GraphKind::Distance, 43.0);
    check("PenDigits", GraphKind::Distance, 76.0);
    check("USPS", GraphKind::Distance, 60.0);
}

#[test]
fn real_data_reach_their_floors_with_the_global_graph() {
    check("Yale", GraphKind::Global, 99.0);
    check("LR", GraphKind::Global, 45.0);
    check("PenDigits", GraphKind::Global, 77.0);
}
