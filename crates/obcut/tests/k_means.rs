//! The k-means of `obcut-core` on generated tables.

use obcut::metrics::{Average, nmi};
use obcut::{Silent, synthetic};
use obcut_core::means::{KMeansParams, k_means};

#[test]
fn blobs_are_found_and_threads_do_not_matter() {
    let blobs = synthetic::blobs(3000, 5, 4, 0.03, 2);
    let samples = blobs.matrix.samples().unwrap();
    let of = |threads: usize| {
        let params = KMeansParams { threads, n_init: 3, ..KMeansParams::new(4) };
        k_means(&samples, &params, &Silent).unwrap()
    };
    let (one, three) = (of(1), of(3));
    assert_eq!((&one.labels, &one.centers), (&three.labels, &three.centers));
    assert!(nmi(&one.labels, &blobs.labels, Average::Max).unwrap() > 0.99);
    // A center is the mean of its rows.
    let mut sums = [0.0; 20];
    let mut counts = [0.0; 4];
    for (i, &l) in one.labels.iter().enumerate() {
        counts[l as usize] += 1.0;
        samples.each(i, |f, v| sums[l as usize * 5 + f] += v);
    }
    for (p, center) in one.centers.iter().enumerate() {
        assert!((center - sums[p] / counts[p / 5]).abs() < 1e-3);
    }
}

#[test]
fn what_cannot_be_clustered_is_refused() {
    let blobs = synthetic::blobs(20, 2, 2, 0.03, 2);
    let samples = blobs.matrix.samples().unwrap();
    for k in [0, 21] {
        assert!(k_means(&samples, &KMeansParams::new(k), &Silent).is_err());
    }
}
