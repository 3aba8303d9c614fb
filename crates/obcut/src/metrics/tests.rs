//! Scores against scikit-learn, matchings against brute force and SciPy, and what must hold always.

use super::*;
use crate::{DataError, ParamError};
use proptest::prelude::*;

/// A small generator that the recording script repeats, so that labels need not be stored.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Labels of `k` clusters that follow `c` classes in `agree` of 100 cases; `stride` makes gaps.
fn labeling([seed, n, k, c, agree, stride]: [u64; 6]) -> (Vec<u32>, Vec<u32>) {
    let mut lcg = Lcg(seed);
    let one = |_| {
        let class = lcg.below(c);
        let mut label = lcg.below(k);
        if lcg.below(100) < agree {
            label = class % k;
        }
        ((label * stride + 7) as u32, u32::MAX - (class * stride) as u32)
    };
    (0..n).map(one).unzip()
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-12
}

#[test]
fn scores_equal_those_of_scikit_learn() {
    // NMI (max, arithmetic, geometric), accuracy, purity, ARI: scikit-learn 1.9.1, SciPy 1.17.1;
    // accuracy and purity from its contingency_matrix, the former by linear_sum_assignment.
    #[rustfmt::skip]
    let recorded = [
        ([1, 50, 3, 3, 80, 1], [0.5054739732736823, 0.5071600131246221, 0.507162834472935, 0.82, 0.82, 0.5217456284561351]),
        ([2, 200, 7, 4, 60, 13], [0.35797372998253174, 0.3993453096001912, 0.40203931169982576, 0.68, 0.745, 0.4294423088098702]),
        ([3, 200, 4, 9, 70, 1000003], [0.3186600952370877, 0.3902841844166535, 0.4005327470766961, 0.4, 0.4, 0.27577635321536953]),
        ([4, 1000, 25, 25, 50, 1], [0.4270227394568442, 0.4271208542208329, 0.42712086549507927, 0.532, 0.532, 0.25751247958188733]),
        ([5, 1000, 2, 60, 90, 97], [0.12464559472636727, 0.21299284129939794, 0.30193677130133373, 0.05, 0.05, 0.026048922570108015]),
        ([6, 3000, 120, 150, 75, 1], [0.758171463446971, 0.777488384667225, 0.7777408584956318, 0.6263333333333333, 0.6263333333333333, 0.4759447746662193]),
        ([7, 10, 10, 2, 0, 1], [0.19345124439714398, 0.26733692039994567, 0.2892663607447803, 0.4, 0.8, -0.024844720496894408]),
        ([8, 400, 5, 5, 0, 3], [0.012487657899810807, 0.012493759171606543, 0.012493760662827405, 0.2425, 0.25, -0.00039791570963342113]),
    ];
    for (settings, expected) in recorded {
        let (labels, truth) = labeling(settings);
        let found = [
            nmi(&labels, &truth, Average::Max).unwrap(),
            nmi(&labels, &truth, Average::Arithmetic).unwrap(),
            nmi(&labels, &truth, Average::Geometric).unwrap(),
            accuracy(&labels, &truth).unwrap(),
            purity(&labels, &truth).unwrap(),
            ari(&labels, &truth).unwrap(),
        ];
        for (f, e) in found.into_iter().zip(expected) {
            assert!(close(f, e), "{settings:?}: {found:?} is not {expected:?}");
        }
        let all = scores(&labels, &truth).unwrap();
        assert_eq!(
            [all.nmi, all.acc, all.purity, all.ari],
            [found[0], found[3], found[4], found[5]]
        );
    }
}

#[test]
fn trivial_labellings_score_as_in_scikit_learn() {
    let (one, two, own) = ([5; 4], [1, 1, 2, 2], [4, 3, 2, 1]);
    let perfect = Scores { nmi: 1.0, acc: 1.0, purity: 1.0, ari: 1.0 };
    assert_eq!(scores(&one, &[0; 4]).unwrap(), perfect);
    assert_eq!(scores(&own, &[0, 7, 8, 9]).unwrap(), perfect);
    assert_eq!(scores(&[3], &[9]).unwrap(), perfect);
    let lump = Scores { nmi: 0.0, acc: 0.5, purity: 0.5, ari: 0.0 };
    assert_eq!(scores(&one, &two).unwrap(), lump);
    let dust = scores(&own, &two).unwrap();
    assert!(close(dust.nmi, 0.5));
    assert_eq!([dust.acc, dust.purity, dust.ari], [0.5, 1.0, 0.0]);
    for average in [Average::Max, Average::Arithmetic, Average::Geometric] {
        assert_eq!(nmi(&one, &two, average).unwrap(), 0.0);
        assert_eq!(nmi(&two, &one, average).unwrap(), 0.0);
    }
    // Independent labels, scikit-learn 1.9.1: adjusted_rand_score = -0.5, NMI = 0.
    assert_eq!(ari(&[0, 0, 1, 1], &[0, 1, 0, 1]).unwrap(), -0.5);
    assert_eq!(nmi(&[0, 0, 1, 1], &[0, 1, 0, 1], Average::Max).unwrap(), 0.0);
}

#[test]
fn lengths_that_differ_and_empty_labels_are_errors() {
    let length = scores(&[0, 1], &[0]).unwrap_err();
    assert!(matches!(length, Error::Params(ParamError::Length { found: 1, expected: 2, .. })));
    let empty = scores(&[], &[]).unwrap_err();
    assert!(matches!(empty, Error::Data(DataError::Empty { n_rows: 0, .. })));
    assert!(matches!(Contingency::new(&[1], &[]), Err(Error::Params(_))));
}

#[test]
fn the_table_keeps_the_values_of_labels_with_gaps() {
    let table = Contingency::new(&[9, u32::MAX, 9, 0], &[70, 2, 70, 2]).unwrap();
    assert_eq!((table.n_rows, table.n_cols), (3, 2));
    assert_eq!(table.row_values, [0, 9, u32::MAX]);
    assert_eq!(table.col_values, [2, 70]);
    assert_eq!(table.counts, [1, 0, 0, 2, 1, 0]);
    assert_eq!(table.matching(), [Some(0), Some(1), None]);
}

#[test]
fn a_table_whose_shape_was_broken_by_hand_does_not_panic() {
    let mut table = Contingency::new(&[0, 1, 2], &[0, 1, 1]).unwrap();
    for shape in [(0, 0), (9, 0), (0, 9), (usize::MAX, usize::MAX), (2, 1)] {
        (table.n_rows, table.n_cols) = shape;
        table.matching();
    }
    table.counts.clear();
    assert_eq!(table.matching(), []);
}

#[test]
fn a_cluster_per_sample_is_scored_without_laying_out_the_table() {
    let labels: Vec<u32> = (0..200_000).collect();
    let truth: Vec<u32> = labels.iter().rev().copied().collect();
    assert_eq!(scores(&labels, &truth).unwrap().acc, 1.0);
    assert!(matches!(
        Contingency::new(&labels, &truth),
        Err(Error::Params(ParamError::Range { .. }))
    ));
    // Pairs in one long chain, and many clusters of few classes.
    let chain: Vec<u32> = labels.iter().map(|i| i.div_ceil(2)).collect();
    let pairs: Vec<u32> = labels.iter().map(|i| i / 2).collect();
    assert!(scores(&chain, &pairs).unwrap().acc >= 0.5);
    let classes: Vec<u32> = labels.iter().map(|i| i % 10).collect();
    assert_eq!(accuracy(&labels, &classes).unwrap(), 10.0 / 200_000.0);
}

fn table(n_rows: usize, n_cols: usize, counts: Vec<u64>) -> Contingency {
    Contingency {
        n_rows,
        n_cols,
        counts,
        row_values: (0..n_rows as u32).collect(),
        col_values: (0..n_cols as u32).collect(),
    }
}

/// Samples covered by the matching, which must use every column once at most.
fn covered(table: &Contingency) -> u64 {
    let mut used = vec![false; table.n_cols];
    let mut sum = 0;
    for (row, col) in table.matching().into_iter().enumerate() {
        let Some(col) = col else { continue };
        assert!(!std::mem::replace(&mut used[col], true), "column {col} is matched twice");
        sum += table.counts[row * table.n_cols + col];
    }
    sum
}

#[test]
fn matchings_cover_as_much_as_those_of_scipy() {
    // (seed, rows, columns, counts below, covered): SciPy 1.17.1, linear_sum_assignment(maximize).
    let recorded = [
        (11, 6, 6, 100, 504),
        (12, 5, 9, 20, 88),
        (13, 9, 5, 20, 81),
        (14, 40, 40, 1000, 38295),
        (15, 300, 200, 50000, 9955488),
        (16, 200, 300, 7, 1200),
    ];
    for (seed, n_rows, n_cols, below, expected) in recorded {
        let mut lcg = Lcg(seed);
        let counts = (0..n_rows * n_cols).map(|_| lcg.below(below)).collect();
        assert_eq!(covered(&table(n_rows, n_cols, counts)), expected);
    }
}

/// The best over all ways to give the rows from `row` on a free column or none.
fn brute_force(table: &Contingency, row: usize, used: &mut [bool]) -> u64 {
    if row == table.n_rows {
        return 0;
    }
    let mut best = brute_force(table, row + 1, used);
    for col in 0..table.n_cols {
        if !used[col] {
            used[col] = true;
            let here = table.counts[row * table.n_cols + col];
            best = best.max(here + brute_force(table, row + 1, used));
            used[col] = false;
        }
    }
    best
}

fn labels_pair() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    (1..60_usize, 1..12_u32, 1..12_u32)
        .prop_flat_map(|(n, k, c)| (prop::collection::vec(0..k, n), prop::collection::vec(0..c, n)))
}

/// Other names for the same groups, in another order and with gaps.
fn renamed(labels: &[u32], factor: u32) -> Vec<u32> {
    labels.iter().map(|&label| label.wrapping_mul(factor | 1).wrapping_sub(5)).collect()
}

proptest! {
    #[test]
    fn matchings_cover_as_much_as_brute_force(
        (n_rows, n_cols, counts) in (1..6_usize, 1..6_usize).prop_flat_map(|(r, c)| {
            (Just(r), Just(c), prop::collection::vec(prop_oneof![Just(0), 0..9_u64], r * c))
        })
    ) {
        let table = table(n_rows, n_cols, counts);
        prop_assert_eq!(covered(&table), brute_force(&table, 0, &mut vec![false; n_cols]));
    }

    #[test]
    fn names_of_clusters_and_classes_do_not_matter((labels, truth) in labels_pair(), factor: u32) {
        let plain = scores(&labels, &truth).unwrap();
        let other = scores(&renamed(&labels, factor), &renamed(&truth, !factor)).unwrap();
        prop_assert!(close(plain.nmi, other.nmi));
        prop_assert_eq!(plain.acc, other.acc);
        prop_assert_eq!(plain.purity, other.purity);
        prop_assert_eq!(plain.ari, other.ari);
    }

    #[test]
    fn all_but_purity_are_symmetric((labels, truth) in labels_pair()) {
        let there = scores(&labels, &truth).unwrap();
        let back = scores(&truth, &labels).unwrap();
        prop_assert!(close(there.nmi, back.nmi));
        prop_assert_eq!(there.acc, back.acc);
        prop_assert!(close(there.ari, back.ari));
        for average in [Average::Arithmetic, Average::Geometric] {
            let (a, b) = (nmi(&labels, &truth, average), nmi(&truth, &labels, average));
            prop_assert!(close(a.unwrap(), b.unwrap()));
        }
    }

    #[test]
    fn scores_keep_their_bounds((labels, truth) in labels_pair()) {
        let s = scores(&labels, &truth).unwrap();
        prop_assert!((0.0..=1.0).contains(&s.nmi));
        prop_assert!(0.0 < s.acc && s.acc <= s.purity && s.purity <= 1.0);
        prop_assert!((-0.5 - 1e-12..=1.0).contains(&s.ari));
        let mean = nmi(&labels, &truth, Average::Arithmetic).unwrap();
        prop_assert!(s.nmi <= mean + 1e-12);
    }

    #[test]
    fn identical_partitions_score_one((labels, _) in labels_pair(), factor: u32) {
        let s = scores(&labels, &renamed(&labels, factor)).unwrap();
        prop_assert_eq!([s.nmi, s.acc, s.purity, s.ari], [1.0; 4]);
    }
}
