//! Rows per second of the row solvers: `cargo bench -p obcut --bench simplex`.
//!
//! Data like Letter Recognition: 16 features with whole values 0 to 15, 26 groups, scaled to [0, 1];
//! anchors are means of the rows nearest to randomly drawn rows. One core, plain clock, best of ten
//! passes. A word after `--` picks the lines that contain it.

use std::time::Instant;

use obcut::{DenseRef, Silent};
use obcut_core::means::{KMeansParams, k_means};
use obcut_core::simplex::{ActiveSet, Gradient, Gram, kkt_gap};

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

struct Data {
    d: usize,
    rows: Vec<Vec<f64>>,
    groups: Vec<usize>,
    anchors: Vec<Vec<f64>>,
}

fn letters(n: usize, d: usize, n_anchors: usize, noise: f64, numbers: &mut Numbers) -> Data {
    let centers: Vec<Vec<f64>> =
        (0..26).map(|_| (0..d).map(|_| 7.5 + 2.0 * numbers.normal()).collect()).collect();
    let groups: Vec<usize> = (0..n).map(|_| numbers.below(26)).collect();
    let mut rows: Vec<Vec<f64>> = groups
        .iter()
        .map(|&g| {
            let center = &centers[g];
            center.iter().map(|c| (c + noise * numbers.normal()).round().clamp(0.0, 15.0)).collect()
        })
        .collect();
    for j in 0..d {
        let low = rows.iter().fold(f64::INFINITY, |a, r| a.min(r[j]));
        let high = rows.iter().fold(f64::NEG_INFINITY, |a, r| a.max(r[j]));
        rows.iter_mut().for_each(|r| r[j] = (r[j] - low) / (high - low).max(1.0));
    }
    let seeds: Vec<usize> = (0..n_anchors).map(|_| numbers.below(n)).collect();
    let mut anchors = vec![vec![0.0; d]; n_anchors];
    let mut counts = vec![0.0_f64; n_anchors];
    for row in &rows {
        let far = |s: usize| -> f64 { rows[s].iter().zip(row).map(|(a, b)| (a - b).powi(2)).sum() };
        let nearest = (0..n_anchors)
            .min_by(|&a, &b| far(seeds[a]).total_cmp(&far(seeds[b])))
            .expect("there are anchors");
        counts[nearest] += 1.0;
        anchors[nearest].iter_mut().zip(row).for_each(|(a, x)| *a += x);
    }
    for (anchor, count) in anchors.iter_mut().zip(&counts) {
        anchor.iter_mut().for_each(|a| *a /= count.max(1.0));
    }
    Data { d, rows, groups, anchors }
}

/// Rows that mix `mixed` of the anchors evenly, with a little noise: large supports.
fn mixtures(n: usize, d: usize, n_anchors: usize, mixed: usize, numbers: &mut Numbers) -> Data {
    let anchors: Vec<Vec<f64>> =
        (0..n_anchors).map(|_| (0..d).map(|_| numbers.next()).collect()).collect();
    let rows = (0..n)
        .map(|_| {
            let first = numbers.below(n_anchors);
            (0..d)
                .map(|j| {
                    let sum: f64 = (0..mixed).map(|s| anchors[(first + s) % n_anchors][j]).sum();
                    sum / mixed as f64 + 0.01 * numbers.normal()
                })
                .collect()
        })
        .collect();
    Data { d, rows, groups: vec![0; n], anchors }
}

/// Letter Recognition itself, scaled to [0, 1], with anchors by k-means: the rows of its first graph.
fn letter_recognition(n_anchors: usize) -> Option<Data> {
    let path = std::path::Path::new(&std::env::var_os("OBCUT_DATA")?).join("LR.npz");
    let mut file = npyz::npz::NpzArchive::open(path).ok()?;
    let array = file.by_name("X").ok()??;
    let (n, d) = (array.shape()[0] as usize, array.shape()[1] as usize);
    let by_columns = array.order() == npyz::Order::Fortran;
    let x: Vec<f32> = array.into_vec().ok()?;
    let at = |i: usize, f: usize| f64::from(if by_columns { x[f * n + i] } else { x[i * d + f] });
    let mut values = vec![0.0; n * d];
    for f in 0..d {
        let low = (0..n).map(|i| at(i, f)).fold(f64::INFINITY, f64::min);
        let high = (0..n).map(|i| at(i, f)).fold(f64::NEG_INFINITY, f64::max);
        (0..n).for_each(|i| values[i * d + f] = (at(i, f) - low) / (high - low));
    }
    let samples = DenseRef::new(&values, n, d).ok()?.into();
    let params =
        KMeansParams { plus_plus: false, rows_per_center: None, ..KMeansParams::new(n_anchors) };
    let centers = k_means(&samples, &params, &Silent).ok()?.centers;
    let split = |v: &[f64]| -> Vec<Vec<f64>> { v.chunks_exact(d).map(<[f64]>::to_vec).collect() };
    Some(Data { d, rows: split(&values), groups: vec![0; n], anchors: split(&centers) })
}

impl Data {
    fn gram(&self) -> Gram {
        let m = self.anchors.len();
        let mut g = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..m {
                g[i * m + j] =
                    self.anchors[i].iter().zip(&self.anchors[j]).map(|(a, b)| a * b).sum();
            }
        }
        Gram::new(g, m, 0.0)
    }

    /// f = 2A'x + lambda q with a q that favors a few anchors per group.
    fn linear_terms(&self, lambda: f64) -> Vec<Vec<f64>> {
        let m = self.anchors.len();
        let mut numbers = Numbers(1);
        let q: Vec<Vec<f64>> = (0..26)
            .map(|_| {
                (0..m).map(|_| if numbers.next() < 0.1 { numbers.next() } else { 0.0 }).collect()
            })
            .collect();
        self.rows
            .iter()
            .zip(&self.groups)
            .map(|(x, &g)| {
                let inner = |a: &Vec<f64>| -> f64 { a.iter().zip(x).map(|(a, x)| a * x).sum() };
                self.anchors.iter().zip(&q[g]).map(|(a, q)| 2.0 * inner(a) + lambda * q).collect()
            })
            .collect()
    }
}

/// Best of ten, in rows per second: the least disturbed pass.
fn rate(n: usize, mut pass: impl FnMut()) -> f64 {
    let best = (0..10)
        .map(|_| {
            let start = Instant::now();
            pass();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    n as f64 / best
}

/// Whether the word given on the command line, if any, is part of the name.
fn wanted(name: &str) -> bool {
    std::env::args().skip(1).filter(|a| !a.starts_with('-')).all(|a| name.contains(&a))
}

fn compare(name: &str, data: &Data, lambda: f64, numbers: &mut Numbers) {
    if !wanted(name) {
        return;
    }
    let (n, m) = (data.rows.len(), data.anchors.len());
    let gram = data.gram();
    let terms = data.linear_terms(lambda);
    // The next outer iteration: anchors and linear terms have moved a little.
    let mut moved = Data {
        d: data.d,
        rows: data.rows.clone(),
        groups: data.groups.clone(),
        anchors: data.anchors.clone(),
    };
    moved.anchors.iter_mut().flatten().for_each(|a| *a += 0.003 * numbers.normal());
    let moved_gram = moved.gram();
    let moved_terms = moved.linear_terms(lambda);

    let mut solver = ActiveSet::new();
    let mut solved: Vec<(Vec<u32>, Vec<f64>)> = vec![Default::default(); n];
    let cold = rate(n, || {
        for (f, (support, weights)) in terms.iter().zip(&mut solved) {
            support.clear();
            weights.clear();
            solver.solve(&gram, f, support, weights);
        }
    });
    let support = solved.iter().map(|(s, _)| s.len()).sum::<usize>() as f64 / n as f64;
    let mut again = solved.clone();
    let same = rate(n, || {
        for (f, (support, weights)) in terms.iter().zip(&mut again) {
            solver.solve(&gram, f, support, weights);
        }
    });
    // Copying the start back costs about 1 % of this.
    let mut next = solved.clone();
    let warm = rate(n, || {
        for ((f, start), (support, weights)) in moved_terms.iter().zip(&solved).zip(&mut next) {
            support.clone_from(&start.0);
            weights.clone_from(&start.1);
            solver.solve(&moved_gram, f, support, weights);
        }
    });

    let few = n.min(200);
    let mut gradient = Gradient::new();
    let mut b = vec![0.0; m];
    let theirs = rate(few, || {
        for f in &terms[..few] {
            gradient.solve(&gram, f, &mut b);
        }
    });
    let (mut gap, mut gap_theirs) = (0.0_f64, 0.0);
    for (f, (support, weights)) in terms.iter().zip(&solved).take(few) {
        gradient.solve(&gram, f, &mut b);
        gap_theirs += kkt_gap(&gram, f, &b) / few as f64;
        b.fill(0.0);
        support.iter().zip(weights).for_each(|(&m, &w)| b[m as usize] = w);
        gap = gap.max(kkt_gap(&gram, f, &b));
    }
    println!(
        "{name:<28} {support:>7.1} {cold:>10.0} {warm:>10.0} {same:>10.0} {theirs:>9.0} {:>7.0} {gap:>9.0e} {gap_theirs:>9.0e}",
        cold / theirs
    );
}

fn main() {
    println!(
        "{:<28} {:>7} {:>10} {:>10} {:>10} {:>9} {:>7} {:>9} {:>9}",
        "rows/s, one core",
        "support",
        "cold",
        "warm",
        "unchanged",
        "authors",
        "ratio",
        "worst gap",
        "theirs"
    );
    let numbers = &mut Numbers(7);
    match letter_recognition(100) {
        Some(data) => compare("LR, M = 100, first graph", &data, 0.0, numbers),
        None => println!("LR: skipped, OBCUT_DATA does not name a folder with LR.npz"),
    }
    let data = letters(4000, 16, 100, 1.5, numbers);
    for lambda in [30.0, 3.0, 1.0, 0.3, 0.1, 0.0] {
        compare(&format!("16-d, M = 100, lambda {lambda}"), &data, lambda, numbers);
    }
    let data = letters(2000, 3, 100, 1.5, numbers);
    compare("3-d, M = 100, lambda 0", &data, 0.0, numbers);
    let data = letters(1500, 64, 100, 3.0, numbers);
    compare("64-d, M = 100, lambda 0", &data, 0.0, numbers);
    let data = letters(1500, 400, 100, 12.0, numbers);
    compare("400-d, M = 100, lambda 0", &data, 0.0, numbers);
    let data = letters(1500, 32, 300, 1.5, numbers);
    compare("32-d, M = 300, lambda 0", &data, 0.0, numbers);
    let data = letters(4000, 16, 1000, 1.5, numbers);
    compare("16-d, M = 1000, lambda 0", &data, 0.0, numbers);
    for mixed in [20, 45, 80, 100] {
        let data = mixtures(1500, 256, 100, mixed, numbers);
        compare(&format!("256-d, M = 100, {mixed} mixed"), &data, 0.0, numbers);
    }

    // The local row: the 5 nearest of the anchors.
    let mut solver = ActiveSet::new();
    let data = letters(4000, 16, 100, 1.5, numbers);
    let problems: Vec<Vec<f64>> = data
        .rows
        .iter()
        .map(|x| {
            let mut order: Vec<(f64, &Vec<f64>)> = data
                .anchors
                .iter()
                .map(|a| (a.iter().zip(x).map(|(a, x)| (a - x).powi(2)).sum(), a))
                .collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            let near = &order[..5];
            near.iter()
                .flat_map(|(_, a)| {
                    near.iter().map(|(_, b)| {
                        a.iter().zip(*b).zip(x).map(|((a, b), x)| (a - x) * (b - x)).sum::<f64>()
                    })
                })
                .collect()
        })
        .collect();
    let mut b = [0.0; 5];
    let local = rate(problems.len(), || {
        for k in &problems {
            b.fill(0.0);
            let ridge = 1e-3 * (0..5).map(|i| k[i * 6]).sum::<f64>() / 5.0;
            solver.solve_small(k, 5, &[0.0; 5], ridge, &mut b);
        }
    });
    println!("local rows, 5 nearest, 16-d, cold: {local:.0} rows/s");
}
