//! The order of the rows is no hint: shuffled rows give the same partition, whatever the table.

use obcut::{GraphKind, Matrix, Named, OBCut, Params, Scale};
use obcut_core::random::{Stream, shuffled};

/// Tables that are hard to tell apart by their content: few values, many ties, equal rows, tiny and huge columns.
fn table(seed: u64) -> (Vec<f64>, usize, usize) {
    let stream = Stream::new(seed).named("table");
    let pick = |what: u64, from: &[usize]| from[(stream.rank(what) % from.len() as u64) as usize];
    let n = pick(1, &[3, 5, 8, 13, 21, 40, 60]);
    let d = pick(2, &[1, 2, 3, 5, 9]);
    let values = stream.nth(3).values(n * d);
    let kind = pick(4, &[0, 1, 2, 3, 4, 5]);
    let value = |(i, &v): (usize, &f64)| {
        let (row, f) = (i / d, i % d);
        match kind {
            0 => v,
            // A grid: all distances tie.
            1 => (2.0 * v).round(),
            // Far from the origin, with few digits left.
            2 => 1e9 + (8.0 * v).round() / 8.0,
            // Columns of very different sizes.
            3 => v * 10f64.powi(6 * f as i32 - 9),
            // Rows on a line, and equal ones.
            4 => (row % 7) as f64 * (f + 1) as f64,
            // One value far away.
            _ => {
                if i == 0 {
                    1e6
                } else {
                    (4.0 * v).trunc()
                }
            }
        }
    };
    (values.iter().enumerate().map(value).collect(), n, d)
}

/// Clusters numbered by their first row.
fn partition(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|label| labels.iter().position(|other| other == label).unwrap()).collect()
}

#[test]
fn shuffled_rows_give_the_same_partition() {
    let kinds = GraphKind::ALL;
    let scales = [Scale::Auto, Scale::MinMax, Scale::Standard, Scale::Robust, Scale::None];
    // A multiple of this many for a longer search.
    let rounds: u64 = std::env::var("OBCUT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut failed = Vec::new();
    let mut fitted = 0;
    for seed in 0..1500 * rounds {
        let (values, n, d) = table(seed);
        let graph = kinds[seed as usize % kinds.len()];
        let scale = scales[seed as usize / kinds.len() % scales.len()];
        let k = 2 + (seed as usize / 40) % 3;
        let weights: Option<Vec<f64>> = (seed % 3 == 0)
            .then(|| Stream::new(seed).values(n).iter().map(|v| 0.1 + v.abs()).collect());
        let fit = |order: &[u32]| {
            let rows = order.iter().flat_map(|&i| &values[i as usize * d..][..d]).copied();
            let matrix = Matrix::Dense64 { values: rows.collect(), n_rows: n, n_cols: d };
            let weights: Option<Vec<f64>> =
                weights.as_ref().map(|w| order.iter().map(|&i| w[i as usize]).collect());
            let params = Params { graph, scale, threads: 1, seed, ..Params::new(k) };
            let mut model = OBCut::from(params);
            if let Some(weights) = &weights {
                model = model.weights(weights);
            }
            let labels = model.fit(&matrix).ok()?.labels();
            let mut back = vec![0; n];
            order.iter().zip(labels).for_each(|(&i, label)| back[i as usize] = label);
            Some(partition(&back))
        };
        let in_order: Vec<u32> = (0..n as u32).collect();
        let keys: Vec<u64> = (0..n as u64).collect();
        let expected = fit(&in_order);
        fitted += usize::from(expected.is_some());
        for turn in 0..2 {
            let order = shuffled(&keys, Stream::new(seed).nth(turn));
            if fit(&order) != expected {
                failed.push((seed, n, d, k, graph, scale));
                break;
            }
        }
    }
    assert!(fitted > 1000, "{fitted} tables could be clustered");
    assert!(failed.is_empty(), "{} of {fitted}: {failed:?}", failed.len());
}
