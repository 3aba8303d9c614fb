//! Adjusted mutual information: what two partitions share beyond chance.
//!
//! The expected mutual information of random partitions with the same group sizes is summed over the
//! hypergeometric distribution of every cell (Vinh, Epps and Bailey 2010).

use super::contingency::CountCells;
use super::nmi::{entropy, mutual_information};

/// (MI - E) / (mean entropy - E): 1 for equal partitions, about 0 for random ones.
pub(super) fn of(cells: &CountCells) -> f64 {
    if cells.is_one_to_one() {
        return 1.0;
    }
    let n = cells.n_samples as f64;
    let (clusters, classes) = (entropy(&cells.row_sums, n), entropy(&cells.col_sums, n));
    if clusters <= 0.0 || classes <= 0.0 {
        return 0.0; // one side is a single group and knows nothing of the other
    }
    let expected = expected(cells);
    let room = 0.5 * (clusters + classes) - expected;
    // Groups of one sample each leave no room above chance.
    if room.abs() < 1e-12 { 0.0 } else { (mutual_information(cells) - expected) / room }
}

fn expected(cells: &CountCells) -> f64 {
    let n = cells.n_samples as usize;
    let mut log_factorial = vec![0.0f64; n + 1];
    for i in 1..=n {
        log_factorial[i] = log_factorial[i - 1] + (i as f64).ln();
    }
    let mut sum = 0.0;
    for &a in &cells.row_sums {
        for &b in &cells.col_sums {
            let (a, b) = (a as usize, b as usize);
            let ways =
                log_factorial[a] + log_factorial[b] + log_factorial[n - a] + log_factorial[n - b]
                    - log_factorial[n];
            for count in (a + b).saturating_sub(n).max(1)..=a.min(b) {
                let others = log_factorial[count]
                    + log_factorial[a - count]
                    + log_factorial[b - count]
                    + log_factorial[n + count - a - b];
                let share = count as f64 / n as f64;
                let gain = (count as f64 * n as f64 / (a as f64 * b as f64)).ln();
                sum += share * gain * (ways - others).exp();
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use crate::metrics::ami;

    /// Expected values from scikit-learn 1.9.1, `adjusted_mutual_info_score`.
    #[test]
    fn it_agrees_with_scikit_learn() {
        let a = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3];
        let b = [0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 3, 3];
        let close = |a: &[u32], b: &[u32], expected: f64| {
            let found = ami(a, b).unwrap();
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        };
        close(&a, &b, 0.399_952_654_412_238_7);
        close(&[0, 0, 1, 1], &[0, 1, 0, 1], -0.5);
        close(&[0; 4], &[0; 4], 1.0);
        close(&[0; 4], &[0, 1, 2, 3], 0.0);
        let sevens: Vec<u32> = (0..500).map(|i| i % 7).collect();
        let squares: Vec<u32> = (0..500).map(|i| (i * i) % 5).collect();
        close(&sevens, &squares, -0.008_032_717_829_742_188);
        let pairs: Vec<u32> = (0..500).map(|i| if i % 11 > 0 { (i % 7) / 2 } else { 5 }).collect();
        close(&sevens, &pairs, 0.701_338_368_288_936_1);
    }
}
