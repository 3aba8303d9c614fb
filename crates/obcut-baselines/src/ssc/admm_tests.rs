use super::*;
use crate::pieces::rows::filled;
use crate::testing::{near, planes, subset, with_job};
use obcut::Named;
use obcut::{Matrix, Scale, Silent};
use obcut_core::linalg::factor::symmetric_eigen;
use obcut_core::random::Stream;

type Rows = Vec<Vec<(u32, f64)>>;

fn solved(
    matrix: &Matrix,
    scale: Scale,
    variant: Variant,
    alpha: f64,
) -> (AdmmProblem, Solution, Rows) {
    with_job(matrix, 3, scale, false, |job| {
        let x = filled(job.table, job.context)?;
        let problem = AdmmProblem::new(x, job.n, job.d, variant, alpha, job.context)?;
        let max_iter = if variant == Variant::Outlier { 149 } else { 199 };
        let solution = problem.solve(2e-4, max_iter, job.context)?;
        let rows = solution.coefficients(job.context)?;
        Ok((problem, solution, rows))
    })
}

fn count(rows: &Rows) -> usize {
    rows.iter().map(Vec::len).sum()
}

fn total(rows: &Rows) -> f64 {
    rows.iter().flatten().map(|entry| entry.1.abs()).sum()
}

fn across(rows: &Rows) -> f64 {
    let entries = rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |e| (i, e)));
    entries.filter(|(i, e)| i / 20 != e.0 as usize / 20).map(|(_, e)| e.1.abs()).sum()
}

fn first(rows: &Rows) -> f64 {
    rows[0].iter().find(|entry| entry.0 == 1).map_or(0.0, |entry| entry.1)
}

#[test]
fn three_planes_give_the_figures_of_the_published_program() {
    let matrix = planes();
    for (variant, alpha, updates, nnz, sum, mass, entry) in [
        (Variant::Plain, 20.0, 115, 315, 54.95538873, 0.0, 0.12141407),
        (Variant::Plain, 800.0, 76, 863, 68.96501139, 0.0, 0.12194158),
        (Variant::Affine, 20.0, 192, 1469, 60.90266623, 0.255, 0.57858485),
        (Variant::Affine, 800.0, 95, 873, 75.10190652, 0.198, 0.21649230),
    ] {
        let (problem, solution, rows) = solved(&matrix, Scale::None, variant, alpha);
        let word = format!("{variant} {alpha}: {} updates", solution.updates);
        // The largest entry is between 1/2 and 1, so the rows were divided by 1/2.
        assert!(near(problem.c / 4.0, 0.9903613212, 1e-9), "{word}: {}", problem.c);
        assert!(solution.updates.abs_diff(updates) <= 1, "{word}");
        assert_eq!(count(&rows), nnz, "{word}");
        assert!((total(&rows) - sum).abs() < 1e-4, "{word}: {}", total(&rows));
        assert!((across(&rows) - mass).abs() < 1e-3, "{word}: {}", across(&rows));
        assert!((first(&rows) - entry).abs() < 1e-5, "{word}: {}", first(&rows));
        let most = rows.iter().flatten().map(|e| e.1.abs()).fold(0.0, f64::max);
        match (variant, alpha as usize) {
            (Variant::Plain, 20) => assert!(near(most, 0.86555264, 1e-6), "{most}"),
            (Variant::Plain, _) => assert!(near(most, 0.35285521, 1e-6), "{most}"),
            _ => {}
        }
    }
}

#[test]
fn three_planes_with_gross_errors_give_the_figures_of_the_published_program() {
    let (problem, solution, rows) = solved(&planes(), Scale::None, Variant::Outlier, 20.0);
    // The rows were divided by 1/2 here too.
    assert!(near(problem.error * 20.0 / 2.0, 2.82506679, 1e-8), "{}", problem.error * 20.0);
    assert_eq!((solution.updates, count(&rows), solution.n_errors()), (149, 307, 0));
    assert!((total(&rows) - 61.21652882).abs() < 1e-4, "{}", total(&rows));
    assert!((solution.gap - 0.0010).abs() < 5e-5, "{}", solution.gap);
    assert!((solution.violation - 0.0012).abs() < 5e-5, "{}", solution.violation);
}

#[test]
fn digits_with_gross_errors_give_the_figures_of_the_published_program() {
    let Some((matrix, _)) = subset("PenDigits", 16) else { return };
    let (_, solution, rows) = solved(&matrix, Scale::UnitRows, Variant::Outlier, 20.0);
    assert_eq!((solution.updates, solution.n_errors()), (149, 177));
    assert!((count(&rows) as f64 / 687.0 - 15.92).abs() < 0.005, "{}", count(&rows));
    assert!((total(&rows) - 892.2).abs() < 0.05, "{}", total(&rows));
}

/// The published iteration word by word, with the inverse of the whole matrix: C, samples in
/// columns.
fn twin(y: &[f64], n: usize, d: usize, variant: Variant, alpha: f64, updates: usize) -> Vec<f64> {
    let outlier = variant == Variant::Outlier;
    let most = y.chunks_exact(d).map(|r| r.iter().map(|v| v.abs()).sum()).fold(0.0, f64::max);
    let gamma = alpha / most;
    let size = if outlier { n + d } else { n };
    // Columns of P as rows.
    let mut p = y.to_vec();
    for f in 0..size - n {
        p.extend((0..d).map(|g| if f == g { 1.0 / gamma } else { 0.0 }));
    }
    let product = |a: usize, b: usize| dot(&p[a * d..(a + 1) * d], &p[b * d..(b + 1) * d]);
    let mu = (0..n)
        .map(|j| (0..size).filter(|&i| i != j).map(|i| product(i, j).abs()).fold(0.0, f64::max))
        .fold(f64::INFINITY, f64::min);
    let (mu1, mu2) = (alpha / mu, alpha);
    let ones = if variant == Variant::Affine { mu2 } else { 0.0 };
    let at = |i: usize, j: usize| mu1 * product(i, j) + ones + if i == j { mu2 } else { 0.0 };
    let whole: Vec<f64> = (0..size * size).map(|t| at(t / size, t % size)).collect();
    let inverse = inverse(&whole, size);
    let (mut c, mut l2) = (vec![0.0; size * n], vec![0.0; size * n]);
    let (mut l1, mut l3) = (vec![0.0; n * d], vec![0.0; n]);
    for _ in 0..updates {
        for j in 0..n {
            let target: Vec<f64> = (0..d).map(|f| y[j * d + f] + l1[j * d + f] / mu1).collect();
            let side: Vec<f64> = (0..size)
                .map(|i| {
                    mu1 * dot(&p[i * d..(i + 1) * d], &target) + mu2 * c[i * n + j] - l2[i * n + j]
                        + ones * (1.0 - l3[j] / mu2)
                })
                .collect();
            let mut z: Vec<f64> =
                (0..size).map(|i| dot(&inverse[i * size..(i + 1) * size], &side)).collect();
            z[j] = 0.0;
            for i in 0..size {
                let u = z[i] + l2[i * n + j] / mu2;
                c[i * n + j] = u.signum() * (u.abs() - 1.0 / mu2).max(0.0);
            }
            c[j * n + j] = 0.0;
            for i in 0..size {
                l2[i * n + j] += mu2 * (z[i] - c[i * n + j]);
            }
            l3[j] += mu2 * (z.iter().sum::<f64>() - 1.0);
            for f in 0..d {
                let explained: f64 = (0..size).map(|i| p[i * d + f] * z[i]).sum();
                l1[j * d + f] += if outlier { mu1 * (y[j * d + f] - explained) } else { 0.0 };
            }
        }
    }
    c.truncate(n * n);
    c
}

fn inverse(a: &[f64], n: usize) -> Vec<f64> {
    let (values, vectors) = symmetric_eigen(a, n).unwrap();
    let entry = |i: usize, j: usize| {
        (0..n).map(|l| vectors[i * n + l] * vectors[j * n + l] / values[l]).sum::<f64>()
    };
    (0..n * n).map(|t| entry(t / n, t % n)).collect()
}

/// Fewer features than rows and more; numbers of any size.
#[test]
fn the_updates_equal_the_published_ones_word_by_word() {
    let context = Context::new(2, &Silent).unwrap();
    for (n, d, unit) in [(70, 5, 1.0), (9, 14, 300.0)] {
        let y: Vec<f64> = Stream::new(8).values(n * d).iter().map(|v| v * unit).collect();
        for &variant in Variant::ALL {
            let problem = AdmmProblem::new(y.clone(), n, d, variant, 30.0, &context).unwrap();
            let solution = problem.solve(0.0, 7, &context).unwrap();
            assert_eq!(solution.updates, 7);
            let mut found = vec![0.0; n * n];
            for (j, row) in solution.coefficients(&context).unwrap().iter().enumerate() {
                row.iter().for_each(|&(i, v)| found[i as usize * n + j] = v);
            }
            let plain = twin(&y, n, d, variant, 30.0, 7);
            let off = found.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10 && found.iter().any(|v| *v != 0.0), "{variant} {n} {d}: {off}");
        }
    }
}
