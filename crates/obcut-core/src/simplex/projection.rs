//! Euclidean projection onto the simplex, exact: the entries above a threshold, lowered by it.

/// Replaces `v` by the nearest point with non-negative entries that sum to 1.
///
/// `scratch` is reused between calls.
pub fn project(v: &mut [f64], scratch: &mut Vec<f64>) {
    scratch.clear();
    scratch.extend_from_slice(v);
    scratch.sort_unstable_by(|a, b| b.total_cmp(a));
    // Sums are taken relative to the largest entry: large common offsets would eat the digits.
    let Some(&top) = scratch.first() else { return };
    let mut sum = 0.0;
    let mut threshold = 0.0;
    for (count, &entry) in scratch.iter().enumerate() {
        sum += entry - top;
        let candidate = (sum - 1.0) / (count + 1) as f64;
        if entry - top <= candidate {
            break;
        }
        threshold = candidate;
    }
    for entry in v {
        *entry = (*entry - top - threshold).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by bisection on the threshold.
    fn slow(v: &[f64]) -> Vec<f64> {
        let top = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut low, mut high) = (top - 1.0, top);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            let sum: f64 = v.iter().map(|x| (x - middle).max(0.0)).sum();
            if sum > 1.0 { low = middle } else { high = middle }
        }
        v.iter().map(|x| (x - high).max(0.0)).collect()
    }

    #[test]
    fn a_point_of_the_simplex_stays_where_it_is() {
        let mut v = [0.25, 0.0, 0.75];
        project(&mut v, &mut Vec::new());
        assert_eq!(v, [0.25, 0.0, 0.75]);
    }

    #[test]
    fn ties_share_and_one_entry_takes_all() {
        let mut v = [5.0, 5.0, 1.0];
        project(&mut v, &mut Vec::new());
        assert_eq!(v, [0.5, 0.5, 0.0]);
        let mut one = [-3.0];
        project(&mut one, &mut Vec::new());
        assert_eq!(one, [1.0]);
        project(&mut [], &mut Vec::new());
    }

    proptest::proptest! {
        #[test]
        fn projection_equals_bisection(
            v in proptest::collection::vec(-3.0..3.0f64, 1..30),
            offset in proptest::sample::select(vec![0.0, 7.0, -1e6]),
        ) {
            let mut fast: Vec<f64> = v.iter().map(|x| x + offset).collect();
            let twin = slow(&fast);
            project(&mut fast, &mut Vec::new());
            for (a, b) in fast.iter().zip(&twin) {
                proptest::prop_assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
            proptest::prop_assert!((fast.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
