//! Generated tables: unequal Gaussian groups, customers, and tables without clusters.

use obcut::Matrix;

use crate::table::{Partition, Table};

/// Random numbers of a seed: SplitMix64, and normal numbers by Box and Muller.
pub struct Random(u64);

impl Random {
    /// The stream of a seed for one purpose.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ purpose);
        random.next();
        random
    }

    /// A seed for the `seed`-th table of a case, so that no two cases share their random numbers.
    pub fn seed_of(case: &str, seed: u64) -> u64 {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        case.bytes().chain(seed.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, mix)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A table of dense rows.
fn dense(values: Vec<f64>, n_cols: usize, classes: Vec<Option<u32>>) -> Table {
    let n_rows = classes.len();
    Table::new(Matrix::Dense64 { values, n_rows, n_cols }, vec![Partition::new(classes)])
}

/// Numbers of rows of groups with the given shares; the first group takes what rounding leaves.
pub fn sizes(n: usize, shares: &[f64]) -> Vec<usize> {
    let mut sizes: Vec<usize> = shares.iter().map(|s| (s * n as f64).round() as usize).collect();
    let rest: usize = sizes.iter().skip(1).sum();
    if let Some(first) = sizes.first_mut() {
        *first = n - rest;
    }
    sizes
}

/// Gaussian groups of unit variance in every direction, and the labels of the Bayes rule.
pub struct Groups {
    /// Rows and groups.
    pub table: Table,
    /// For every row the group with the largest share times density.
    pub bayes: Vec<u32>,
}

/// Gaussian groups whose two nearest centres are exactly `distance` standard deviations apart. The
/// centres are normal vectors, scaled; they are drawn again until the largest distance between two
/// is at most three times the smallest. In many dimensions this is nearly a regular simplex.
pub fn groups(n: usize, n_cols: usize, shares: &[f64], distance: f64, seed: u64) -> Groups {
    let mut random = Random::new(seed, 1);
    let centres = loop {
        let centre = |random: &mut Random| (0..n_cols).map(|_| random.normal()).collect();
        let drawn: Vec<Vec<f64>> = shares.iter().map(|_| centre(&mut random)).collect();
        let (least, most) = extent(&drawn);
        if least > 0.0 && most <= 3.0 * least {
            let scale = |row: &Vec<f64>| row.iter().map(|v| v * distance / least).collect();
            break drawn.iter().map(scale).collect::<Vec<Vec<f64>>>();
        }
    };
    let mut random = Random::new(seed, 2);
    let (mut values, mut classes) = (Vec::with_capacity(n * n_cols), Vec::with_capacity(n));
    for (group, &size) in sizes(n, shares).iter().enumerate() {
        for _ in 0..size {
            values.extend(centres[group].iter().map(|centre| centre + random.normal()));
            classes.push(Some(group as u32));
        }
    }
    let bayes = values.chunks_exact(n_cols).map(|row| bayes(row, &centres, shares)).collect();
    Groups { table: dense(values, n_cols, classes), bayes }
}

/// Round patches of equal density in the plane, of very different sizes, that nearly touch: the gap between a
/// patch and the one it lies beside is `gap` times the usual distance between two rows.
pub fn patches(n: usize, shares: &[f64], gap: f64, seed: u64) -> Table {
    let gap = gap / (n as f64).sqrt();
    let radii: Vec<f64> = shares.iter().map(|s| (s / std::f64::consts::PI).sqrt()).collect();
    let mut random = Random::new(seed, 3);
    let mut centres: Vec<[f64; 2]> = vec![[0.0; 2]];
    while centres.len() < shares.len() {
        let (at, beside) = (centres.len(), random.next() as usize % centres.len());
        let angle = std::f64::consts::TAU * random.uniform();
        let reach = radii[at] + radii[beside] + gap;
        let [x, y] = centres[beside];
        let centre = [x + reach * angle.cos(), y + reach * angle.sin()];
        let free = |(other, c): (usize, &[f64; 2])| {
            let distance = (c[0] - centre[0]).hypot(c[1] - centre[1]);
            distance >= (radii[at] + radii[other] + gap) * (1.0 - 1e-9)
        };
        if centres.iter().enumerate().all(free) {
            centres.push(centre);
        }
    }
    let (mut values, mut classes) = (Vec::with_capacity(2 * n), Vec::with_capacity(n));
    for (group, &size) in sizes(n, shares).iter().enumerate() {
        for _ in 0..size {
            let radius = radii[group] * random.uniform().sqrt();
            let angle = std::f64::consts::TAU * random.uniform();
            let [x, y] = centres[group];
            values.extend([x + radius * angle.cos(), y + radius * angle.sin()]);
            classes.push(Some(group as u32));
        }
    }
    dense(values, 2, classes)
}

/// Smallest and largest distance between two of some points.
fn extent(points: &[Vec<f64>]) -> (f64, f64) {
    let mut extent = (f64::INFINITY, 0.0_f64);
    for (i, a) in points.iter().enumerate() {
        for b in &points[..i] {
            let distance = squared_distance(a, b).sqrt();
            extent = (extent.0.min(distance), extent.1.max(distance));
        }
    }
    extent
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// The group with the largest share times density at a row.
fn bayes(row: &[f64], centres: &[Vec<f64>], shares: &[f64]) -> u32 {
    let score = |j: usize| shares[j].ln() - 0.5 * squared_distance(row, &centres[j]);
    (1..centres.len()).fold(0, |best, j| if score(j) > score(best) { j } else { best }) as u32
}

/// Customers: 3,000 rows of age, income, orders and spending, in four groups of 50, 30, 15 and 5 %.
/// Every column is log-normal within a group, (median, deviation of the logarithm), and rounded to
/// whole numbers. Five rows are outliers, which no score counts.
pub fn customers(seed: u64) -> Groups {
    const SHARES: [f64; 4] = [0.5, 0.3, 0.15, 0.05];
    const GROUPS: [[(f64, f64); 4]; 4] = [
        [(45.0, 0.15), (30_000.0, 0.3), (12.0, 0.35), (600.0, 0.45)],
        [(25.0, 0.15), (18_000.0, 0.3), (40.0, 0.35), (400.0, 0.45)],
        [(56.0, 0.15), (90_000.0, 0.3), (8.0, 0.35), (3_000.0, 0.45)],
        [(38.0, 0.15), (60_000.0, 0.3), (150.0, 0.3), (15_000.0, 0.45)],
    ];
    const OUTLIERS: [[f64; 4]; 5] = [
        [45.0, 5_000_000.0, 12.0, 600.0],
        [30.0, 20_000.0, 5_000.0, 400.0],
        [40.0, 30_000.0, 10.0, 1_000_000.0],
        [119.0, 30_000.0, 12.0, 500.0],
        [50.0, 4_000_000.0, 2_000.0, 500_000.0],
    ];
    let mut random = Random::new(seed, 3);
    let mut sizes = sizes(3000, &SHARES);
    sizes[0] -= OUTLIERS.len();
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for (group, &size) in sizes.iter().enumerate() {
        for _ in 0..size {
            let draw = |(median, deviation): (f64, f64)| {
                (median * (deviation * random.normal()).exp()).round()
            };
            values.extend(GROUPS[group].map(draw));
            classes.push(Some(group as u32));
        }
    }
    values.extend(OUTLIERS.iter().flatten());
    classes.extend([None; OUTLIERS.len()]);
    let rule = |row: &[f64]| {
        let density = |&(value, (median, deviation)): &(f64, (f64, f64))| {
            // A value of 0 stands for everything below one half.
            -0.5 * ((value.max(0.25) / median).ln() / deviation).powi(2) - deviation.ln()
        };
        let score = |j: usize| {
            let cells = row.iter().copied().zip(GROUPS[j]);
            SHARES[j].ln() + cells.map(|cell| density(&cell)).sum::<f64>()
        };
        (1..4).fold(0, |best, j| if score(j) > score(best) { j } else { best }) as u32
    };
    let bayes = values.chunks_exact(4).map(rule).collect();
    Groups { table: dense(values, 4, classes), bayes }
}

/// A shape without clusters.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Uniform in a cube.
    Box,
    /// One Gaussian of unit variance in every direction.
    Gaussian,
    /// One Gaussian whose first axis is ten times as long as the others.
    Elongated,
    /// Uniform between two circles, the inner with half the radius of the outer.
    Ring,
}

/// The shapes and dimensions of tables without clusters, each with every number of rows of [`SIZES`].
pub const SHAPES: [(Shape, usize); 10] = [
    (Shape::Box, 2),
    (Shape::Box, 5),
    (Shape::Box, 10),
    (Shape::Gaussian, 2),
    (Shape::Gaussian, 5),
    (Shape::Gaussian, 10),
    (Shape::Gaussian, 50),
    (Shape::Elongated, 2),
    (Shape::Elongated, 5),
    (Shape::Ring, 2),
];

/// Numbers of rows of tables without clusters.
pub const SIZES: [usize; 4] = [300, 1000, 2000, 5000];

impl Shape {
    /// The word in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Box => "uniform box",
            Self::Gaussian => "Gaussian",
            Self::Elongated => "Gaussian, axes 10:1",
            Self::Ring => "filled ring",
        }
    }

    /// Rows of this shape.
    pub fn table(self, n: usize, n_cols: usize, seed: u64) -> Table {
        let mut random = Random::new(seed, 4);
        let mut values = Vec::with_capacity(n * n_cols);
        for _ in 0..n {
            match self {
                Self::Box => values.extend((0..n_cols).map(|_| random.uniform())),
                Self::Gaussian => values.extend((0..n_cols).map(|_| random.normal())),
                Self::Elongated => values.extend((0..n_cols).map(|column| {
                    let axis = if column == 0 { 10.0 } else { 1.0 };
                    axis * random.normal()
                })),
                Self::Ring => {
                    let radius = (0.25 + 0.75 * random.uniform()).sqrt();
                    let angle = std::f64::consts::TAU * random.uniform();
                    values.extend([radius * angle.cos(), radius * angle.sin()]);
                }
            }
        }
        dense(values, n_cols, vec![Some(0); n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_have_their_sizes_and_keep_their_distance() {
        let shares = [0.5, 0.3, 0.2];
        let (n, gap) = (400, 1.5);
        let table = patches(n, &shares, gap, 7);
        let Matrix::Dense64 { values, .. } = &table.data.matrix else { panic!("dense rows") };
        let classes = &table.partition().classes;
        for (group, size) in sizes(n, &shares).into_iter().enumerate() {
            assert_eq!(classes.iter().filter(|c| **c == Some(group as u32)).count(), size);
        }
        let least = gap / (n as f64).sqrt();
        let rows: Vec<&[f64]> = values.chunks_exact(2).collect();
        let mut nearest = f64::INFINITY;
        for i in 0..n {
            for j in (0..i).filter(|&j| classes[i] != classes[j]) {
                nearest = nearest.min(squared_distance(rows[i], rows[j]).sqrt());
            }
        }
        assert!(nearest >= least * (1.0 - 1e-9) && nearest < 3.0 * least, "{nearest} {least}");
    }

    #[test]
    fn the_nearest_centres_are_as_far_apart_as_stated() {
        for seed in 0..5 {
            let Groups { table, bayes } = groups(20_000, 3, &[0.5, 0.3, 0.2], 8.0, seed);
            let Matrix::Dense64 { values, .. } = &table.data.matrix else { panic!("not dense") };
            let mut means = vec![vec![0.0; 3]; 3];
            for (row, class) in values.chunks_exact(3).zip(&table.partition().classes) {
                let class = class.unwrap() as usize;
                let size = 20_000.0 * [0.5, 0.3, 0.2][class];
                (0..3).for_each(|c| means[class][c] += row[c] / size);
            }
            let (least, most) = extent(&means);
            assert!((least - 8.0).abs() < 0.1 && most < 24.1, "{least} {most}");
            let rows: Vec<u32> = (0..20_000).collect();
            assert!(table.partition().score(&bayes, &rows).unwrap().acc > 0.999);
        }
    }

    #[test]
    fn the_bayes_rule_moves_the_border_towards_the_rarer_group() {
        // Equal densities times shares at x: ln(p/q) = d x - d^2 / 2, so x = d/2 + ln(p/q) / d.
        let (centres, shares) = ([vec![0.0], vec![4.0]], [0.98, 0.02]);
        let border = 2.0 + (0.98_f64 / 0.02).ln() / 4.0;
        assert_eq!(bayes(&[border - 1e-6], &centres, &shares), 0);
        assert_eq!(bayes(&[border + 1e-6], &centres, &shares), 1);
        assert_eq!(bayes(&[2.0 + 1e-6], &centres, &[0.5, 0.5]), 1);
    }

    #[test]
    fn cases_and_seeds_have_random_numbers_of_their_own() {
        let first = |case, seed| Random::new(Random::seed_of(case, seed), 1).next();
        assert_eq!(first("a", 0), first("a", 0));
        assert_ne!(first("a", 0), first("b", 0));
        assert_ne!(first("a", 0), first("a", 1));
    }

    #[test]
    fn groups_have_their_shares_of_the_rows() {
        assert_eq!(sizes(500, &[0.98, 0.02]), [490, 10]);
        assert_eq!(sizes(2000, &[0.9, 0.09, 0.01]), [1800, 180, 20]);
    }

    #[test]
    fn customers_are_told_apart_by_the_true_densities() {
        let Groups { table, bayes } = customers(1);
        let classes = &table.partition().classes;
        assert_eq!((classes.len(), table.k()), (3000, 4));
        assert_eq!(classes.iter().filter(|class| class.is_none()).count(), 5);
        let rows: Vec<u32> = (0..3000).collect();
        assert!(table.partition().score(&bayes, &rows).unwrap().ari > 0.97);
    }

    #[test]
    fn a_ring_has_a_hole() {
        let table = Shape::Ring.table(1000, 2, 1);
        let Matrix::Dense64 { values, .. } = &table.data.matrix else { panic!("not dense") };
        let radius = |row: &[f64]| row[0].hypot(row[1]);
        assert!(values.chunks_exact(2).all(|row| (0.5..=1.0).contains(&radius(row))));
    }
}
