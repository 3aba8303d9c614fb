//! DCDP-ASC, approximate spectral clustering with dense cores and density peaks: D. Cheng, J.
//! Huang, S. Zhang, X. Zhang and X. Luo, IEEE Transactions on Systems, Man, and Cybernetics:
//! Systems, 2022.
//!
//! **Reconstructed**: neither the program nor the full text was at hand, only the abstract and
//! related programs of the same authors. Rows are reduced to cores; paths between cores go through
//! the rows that their neighborhoods share; a decision graph picks the first centers; the cores
//! are clustered by their spectrum and hand their labels down. There is no parameter and nothing
//! random.
//!
//! Certain are natural neighbors, the density and local cores. Uncertain are:
//!
//! - what makes a core dense (here every local core is one; `cores = ldp` takes density peaks
//!   instead);
//! - the formula of the distance from shared neighborhoods;
//! - what takes the place of a missing path (here the longest path there is);
//! - the similarity (`local`: scaled by the seventh shortest path of a core; `global`: by the mean
//!   path);
//! - and what is done with fewer cores than clusters (here every core is a cluster).

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Graph, Observer, Samples, Scale, Stage, Warning};
use obcut_core::linalg::eigen;
use obcut_core::linalg::simd::squared_distance;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

use crate::configure::settings;
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::embedding::unit_rows;
use crate::pieces::natural::Natural;
use crate::pieces::paths;
use obcut_core::knn::DistanceMeasure;

/// Which path, shortest first, scales the similarities of a core.
const SCALE_AT: usize = 7;
/// Keeps scales and degrees from zero.
const EPSILON: f64 = 2.2e-16;
/// Iterations of the last k-means at most.
const ITERATIONS: usize = 300;

obcut_core::choices! {
    /// What represents the rows.
    Cores as "cores" {
        /// Local cores.
        Local = "local",
        /// Local density peaks, which are cheaper.
        Ldp = "ldp",
    }
}

obcut_core::choices! {
    /// Similarity of cores.
    Similarity as "similarity" {
        /// Scaled by the paths of both cores.
        Local = "local",
        /// Scaled by the mean of all paths.
        Global = "global",
    }
}

settings! {
    /// Settings of DCDP-ASC.
    DcdpAsc {
        /// What represents the rows
        cores: Cores = Cores::Local, "local or ldp";
        /// Similarity of cores
        similarity: Similarity = Similarity::Local, "local or global";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for DcdpAsc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        // How popular a row gets is not known yet: at worst with all others.
        check_memory("dcdp-asc", Natural::bytes(n, d, n), n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: true, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| self.work(job, run))
    }
}

impl DcdpAsc {
    fn work(&self, job: &mut Job<'_>, run: &Run) -> Result<Vec<u32>, Error> {
        let k = job.k;
        let (natural, cores) = job.time(Stage::Anchors, |job| {
            let natural = Natural::find(job.table, job.context)?;
            let core_of = match self.cores {
                Cores::Local => natural.local_cores(job.table, job.context)?,
                Cores::Ldp => natural.peaks(),
            };
            Ok((natural, Partition::new(&core_of)))
        })?;
        let m = cores.rows.len();
        if m <= k {
            if m < k {
                let text = format!("there are only {m} cores; each is a cluster");
                job.warnings.push(Warning::Method(text));
            }
            return Ok(cores.number);
        }
        // Paths, similarities and the eigenvectors' work space.
        let needed = Natural::bytes(job.n, job.d, 1) + 40.0 * (m as f64) * m as f64;
        check_memory("dcdp-asc", needed, job.n, run)?;
        let geodesics = job.time(Stage::Graph, |job| geodesics(job, &natural, &cores))?;
        let starts = starts(&geodesics, &density_of(&natural, &cores), k);
        let embedding = job.time(Stage::Spectrum, |job| {
            let affinity = similarities(geodesics, m, self.similarity);
            embed(affinity, m, k, job.context)
        })?;
        let labels = job.time(Stage::KMeans, |job| lloyd(&embedding, k, &starts, job.context))?;
        Ok(cores.number.iter().map(|&c| labels[c as usize]).collect())
    }
}

/// Rows by the core that represents them.
struct Partition {
    /// The cores' rows, ascending.
    rows: Vec<u32>,
    /// Which core, by number, every row has.
    number: Vec<u32>,
}

impl Partition {
    fn new(core_of: &[u32]) -> Self {
        let mut rows = core_of.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let mut number_of = vec![0; core_of.len()];
        rows.iter().enumerate().for_each(|(c, &row)| number_of[row as usize] = c as u32);
        let number = core_of.iter().map(|&row| number_of[row as usize]).collect();
        Self { rows, number }
    }
}

fn density_of(natural: &Natural, cores: &Partition) -> Vec<f64> {
    cores.rows.iter().map(|&row| natural.density[row as usize]).collect()
}

/// Lengths of the shortest paths between cores; where there is none, the longest of them.
fn geodesics(job: &Job<'_>, natural: &Natural, cores: &Partition) -> Result<Vec<f64>, Error> {
    let edges = shared(job, natural, cores)?;
    let mut lengths = paths::between(&edges, job.context)?;
    let longest = lengths.iter().copied().filter(|l| l.is_finite()).fold(0.0, f64::max);
    lengths.iter_mut().filter(|l| !l.is_finite()).for_each(|l| *l = longest);
    Ok(lengths)
}

/// Edges between cores whose neighborhoods share rows: their distance over the number of those
/// rows and the sum of their densities. A neighborhood is the rows of a core and their nearest
/// neighbors.
fn shared(job: &Job<'_>, natural: &Natural, cores: &Partition) -> Result<Graph, Error> {
    let (holders, hoods) = neighborhoods(natural, cores);
    let m = cores.rows.len();
    let rows = job.context.map(m, |range| {
        let mut measure = DistanceMeasure::new(job.table);
        let mut sums = vec![(0u32, 0.0); m];
        let mut part = Vec::with_capacity(range.len());
        for a in range {
            let mut met: Vec<u32> = Vec::new();
            for &row in &hoods[a] {
                for &b in holders[row as usize].iter().filter(|&&b| b as usize != a) {
                    let sum = &mut sums[b as usize];
                    if sum.0 == 0 {
                        met.push(b);
                    }
                    *sum = (sum.0 + 1, sum.1 + natural.density[row as usize]);
                }
            }
            met.sort_unstable();
            let length = |&b: &u32| {
                let (count, density) = std::mem::take(&mut sums[b as usize]);
                let (x, y) = (cores.rows[a] as usize, cores.rows[b as usize] as usize);
                measure.squared(x, y).sqrt() / (f64::from(count) * density)
            };
            let lengths: Vec<f64> = met.iter().map(length).collect();
            part.push((met, lengths));
        }
        part
    })?;
    let mut graph = Graph::empty(m);
    rows.iter().flatten().for_each(|(columns, lengths)| graph.push(columns, lengths));
    Ok(graph)
}

/// The cores whose neighborhoods hold a row, and the rows of every neighborhood, ascending.
fn neighborhoods(natural: &Natural, cores: &Partition) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); cores.number.len()];
    for (i, &core) in cores.number.iter().enumerate() {
        let list = &natural.lists[i];
        for &x in [i as u32].iter().chain(&list[..natural.rounds.min(list.len())]) {
            holders[x as usize].push(core);
        }
    }
    let mut hoods = vec![Vec::new(); cores.rows.len()];
    for (row, holders) in holders.iter_mut().enumerate() {
        holders.sort_unstable();
        holders.dedup();
        holders.iter().for_each(|&core| hoods[core as usize].push(row as u32));
    }
    (holders, hoods)
}

/// The first centers: cores of the largest product of density and path to a denser core.
fn starts(geodesics: &[f64], density: &[f64], k: usize) -> Vec<usize> {
    let m = density.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| density[b].total_cmp(&density[a]));
    let mut score = vec![0.0; m];
    for (rank, &a) in order.iter().enumerate() {
        let row = &geodesics[a * m..(a + 1) * m];
        let delta = if rank == 0 {
            geodesics.iter().copied().fold(0.0, f64::max)
        } else {
            order[..rank].iter().map(|&b| row[b]).fold(f64::INFINITY, f64::min)
        };
        score[a] = density[a] * delta;
    }
    let mut best: Vec<usize> = (0..m).collect();
    best.sort_by(|&a, &b| score[b].total_cmp(&score[a]));
    best.truncate(k);
    best
}

/// Gaussians of paths, none of a core with itself.
fn similarities(mut geodesics: Vec<f64>, m: usize, kind: Similarity) -> Vec<f64> {
    let scale: Vec<f64> = match kind {
        Similarity::Local => geodesics.chunks_exact(m).map(local_scale).collect(),
        Similarity::Global => {
            // Without the paths of cores to themselves.
            let mean = geodesics.iter().sum::<f64>() / (m * (m - 1)) as f64;
            vec![mean * std::f64::consts::SQRT_2; m]
        }
    };
    for (a, row) in geodesics.chunks_exact_mut(m).enumerate() {
        for (b, g) in row.iter_mut().enumerate() {
            let width = (scale[a] * scale[b]).max(f64::MIN_POSITIVE);
            *g = if a == b { 0.0 } else { (-*g * *g / width).exp() };
        }
    }
    geodesics
}

/// The seventh shortest path of a core to others.
fn local_scale(row: &[f64]) -> f64 {
    let mut sorted = row.to_vec();
    let at = SCALE_AT.min(row.len() - 1);
    *sorted.select_nth_unstable_by(at, f64::total_cmp).1
}

/// The largest eigenvectors of the normalized affinity (m × m), rows of unit length.
fn embed(
    mut affinity: Vec<f64>,
    m: usize,
    k: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let root = |row: &[f64]| 1.0 / (row.iter().sum::<f64>() + EPSILON).sqrt();
    let roots: Vec<f64> = affinity.chunks_exact(m).map(root).collect();
    for (row, a) in affinity.chunks_exact_mut(m).zip(&roots) {
        row.iter_mut().zip(&roots).for_each(|(v, b)| *v *= a * b);
    }
    // The start of the iteration is always the same: the method has no randomness.
    let stream = Stream::new(0).named("spectrum");
    let (_, mut vectors) = eigen::largest(&affinity, m, k, stream, || context.check())?;
    unit_rows(&mut vectors, k);
    Ok(vectors)
}

/// k-means from given rows; a center that loses all its rows stays where it is.
fn lloyd(
    points: &[f64],
    k: usize,
    starts: &[usize],
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let point = |i: usize| &points[i * k..(i + 1) * k];
    let mut centers: Vec<f64> = starts.iter().flat_map(|&i| point(i).to_vec()).collect();
    let mut labels = Vec::new();
    for _ in 0..ITERATIONS {
        let last = labels;
        labels = context.each(points.len() / k, |i| nearest_center(point(i), &centers))?;
        if labels == last {
            break;
        }
        let mut sums = vec![(0.0, vec![0.0; k]); starts.len()];
        for (i, &label) in labels.iter().enumerate() {
            let (count, sum) = &mut sums[label as usize];
            *count += 1.0;
            sum.iter_mut().zip(point(i)).for_each(|(s, v)| *s += v);
        }
        for ((count, sum), center) in sums.iter().zip(centers.chunks_exact_mut(k)) {
            if *count > 0.0 {
                center.iter_mut().zip(sum).for_each(|(c, s)| *c = s / count);
            }
        }
    }
    Ok(labels)
}

/// The first of the nearest centers.
fn nearest_center(point: &[f64], centers: &[f64]) -> u32 {
    let mut best = (f64::INFINITY, 0);
    for (j, center) in centers.chunks_exact(point.len()).enumerate() {
        let squared = squared_distance(point, center);
        if squared < best.0 {
            best = (squared, j as u32);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, planes, subset, with_job};
    use obcut::{Matrix, Silent};

    fn labels(matrix: &Matrix, k: usize, method: &DcdpAsc, seed: u64, threads: usize) -> Vec<u32> {
        let run = Run { seed, threads, ..Run::default() };
        method.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap().labels
    }

    #[test]
    fn nothing_is_random() {
        let matrix = obcut::synthetic::blobs(700, 3, 4, 1.0, 1).matrix;
        for (cores, similarity) in
            [(Cores::Local, Similarity::Local), (Cores::Ldp, Similarity::Global)]
        {
            let method = DcdpAsc { cores, similarity, ..DcdpAsc::default() };
            let found = labels(&matrix, 4, &method, 0, 1);
            assert_eq!(found, labels(&matrix, 4, &method, 9, 2));
        }
    }

    #[test]
    fn the_scores_of_the_prototype_are_met() {
        let Some((matrix, classes)) = subset("PenDigits", 16) else { return };
        for (cores, similarity, nmi) in [
            (Cores::Local, Similarity::Local, 0.6428),
            (Cores::Local, Similarity::Global, 0.6551),
            (Cores::Ldp, Similarity::Local, 0.6681),
        ] {
            let method = DcdpAsc { cores, similarity, ..DcdpAsc::default() };
            let found = labels(&matrix, 10, &method, 0, 1);
            let scores = obcut::metrics::scores(&found, &classes).unwrap();
            assert!((scores.nmi - nmi).abs() < 1e-4, "{}", scores.nmi);
        }
    }

    #[test]
    fn shared_neighborhoods_equal_the_sets_that_they_are() {
        let values = Stream::new(3).values(400 * 2);
        let matrix = Matrix::Dense64 { values, n_rows: 400, n_cols: 2 };
        with_job(&matrix, 3, Scale::None, true, |job| {
            let natural = Natural::find(job.table, job.context)?;
            let cores = Partition::new(&natural.local_cores(job.table, job.context)?);
            let m = cores.rows.len();
            let holds = |a: usize, y: u32| {
                (0..400).any(|x| {
                    let near = &natural.lists[x][..natural.rounds];
                    cores.number[x] as usize == a && (x as u32 == y || near.contains(&y))
                })
            };
            let edges = shared(job, &natural, &cores)?;
            assert!(m > 3);
            for a in 0..m.min(6) {
                for b in (0..m).filter(|&b| b != a) {
                    let both: Vec<u32> = (0..400).filter(|&y| holds(a, y) && holds(b, y)).collect();
                    let found = edges.row(a).0.binary_search(&(b as u32));
                    assert_eq!(found.is_ok(), !both.is_empty());
                    if let Ok(at) = found {
                        let density: f64 = both.iter().map(|&y| natural.density[y as usize]).sum();
                        let (x, y) = (cores.rows[a] as usize, cores.rows[b] as usize);
                        let distance = DistanceMeasure::new(job.table).squared(x, y).sqrt();
                        let expected = distance / (both.len() as f64 * density);
                        assert!(near(edges.row(a).1[at], expected, 1e-12));
                    }
                }
            }
            Ok(())
        });
    }

    #[test]
    fn the_decision_graph_picks_dense_cores_far_from_denser_ones() {
        // Cores on a line at 0, 1, 10, 11.
        let at = [0.0f64, 1.0, 10.0, 11.0];
        let lengths: Vec<f64> = at.iter().flat_map(|a| at.map(|b| (a - b).abs())).collect();
        assert_eq!(starts(&lengths, &[4.0, 2.0, 1.0, 3.0], 2), [0, 3]);
        assert_eq!(starts(&lengths, &[1.0; 4], 4), [0, 2, 1, 3]);
    }

    #[test]
    fn similarities_are_scaled_by_the_seventh_path_to_others() {
        let lengths: Vec<f64> =
            (0..10).flat_map(|a| (0..10).map(move |b| f64::from(i32::abs(a - b)))).collect();
        let found = similarities(lengths.clone(), 10, Similarity::Local);
        // From the end of the line it is seven steps, from the middle four.
        assert!(near(found[5], (-25.0f64 / 28.0).exp(), 1e-12));
        assert_eq!((found[0], found[5]), (0.0, found[50]));
        let global = similarities(lengths, 10, Similarity::Global);
        let mean = 11.0f64 / 3.0;
        assert!(near(global[2], (-4.0 / (2.0 * mean * mean)).exp(), 1e-12));
    }

    #[test]
    fn degenerate_rows_are_clustered() {
        let twins = [[0.0, 5.0]; 30].concat();
        for (values, n, k) in [
            (vec![3.0; 40], 20, 3),
            (twins, 60, 2),
            (vec![1.0, 2.0, 3.0, 9.0], 4, 4),
            (vec![0.0, 1.0], 2, 2),
        ] {
            let d = values.len() / n;
            let matrix = Matrix::Dense64 { values, n_rows: n, n_cols: d };
            for cores in [Cores::Local, Cores::Ldp] {
                let method = DcdpAsc { cores, ..DcdpAsc::default() };
                assert_eq!(labels(&matrix, k, &method, 0, 1).len(), n);
            }
        }
        assert_eq!(labels(&planes(), 3, &DcdpAsc::default(), 0, 1).len(), 60);
    }
}
