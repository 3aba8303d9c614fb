//! U-SPEC, ultra-scalable spectral clustering: D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh,
//! IEEE TKDE 2020.
//!
//! Representatives are k-means centers of a random part of the rows. A row finds its nearest ones by way of
//! clusters of representatives, which is approximate; then the bipartite graph is cut through the
//! representatives (transfer cut). With the cosine distance the weights are the cosines themselves. As in the published program the embedding is not scaled by the
//! eigenvalues.

use crate::{Clusterer, Clustering, Run};
use obcut::{DenseRef, Error, Graph, Metric, Observer, Samples, Scale, Stage};
use obcut_core::kmeans;
use obcut_core::linalg::eigen;
use obcut_core::linalg::simd::{squared_distance, vectorised};
use obcut_core::normalize::Scaling;
use obcut_core::parallel::Context;
use obcut_core::random::{choose, mix};
use obcut_core::table::Table;

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::embedding::unit_rows;
use crate::pieces::links::{column_gram, column_sums, times};
use crate::pieces::means::{Flavour, centers, cluster_points};

/// Rows that the representatives are made from, for each of them.
const CANDIDATES: usize = 10;
/// Neighbors of a representative that are looked at, for each neighbor wanted, beside itself.
const LIST: usize = 10;
/// Degrees and lengths below this are as good as zero.
const FLOOR: f64 = 1e-10;

settings! {
    /// Settings of U-SPEC.
    USpec {
        /// Representatives, at most as many as rows
        p: usize = 1000, "k or more";
        /// Nearest representatives that a row is linked to
        neighbors: usize = 5, "1 to p";
        /// Starts of the last k-means
        n_init: usize = 3, "1 or more";
        /// Distance between rows: cosine is meant for text, and takes the place of the scaling
        metric: Metric = Metric::Euclidean, "euclidean or cosine";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for USpec {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        let p = self.p.min(n);
        require(self.neighbors > 0, "neighbors", self.neighbors, "1 to p")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        require(p >= k || k > n, "p", p, "set it to the number of clusters or more")?;
        let sample = (CANDIDATES * p).min(n);
        let needed =
            8.0 * (n * (2 * self.neighbors + 2 * k) + 3 * p * p + 2 * (sample + p) * d) as f64;
        check_memory("u-spec", needed, n, run)?;
        // Angles are seen from the origin, so the rows stay where they are.
        let (scale, may_move) = match self.metric {
            Metric::Cosine => (Scale::UnitRows, false),
            _ => (self.scale, true),
        };
        let preparation = Preparation { scale, may_move, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| self.work(job, p))
    }
}

impl USpec {
    fn work(&self, job: &mut Job<'_>, p: usize) -> Result<Vec<u32>, Error> {
        let (k, n_init) = (job.k, self.n_init);
        let mut representatives = job.time(Stage::Anchors, |job| representatives(job, p))?;
        if self.metric == Metric::Cosine {
            unit_rows(&mut representatives, job.d);
        }
        let links = job.time(Stage::Graph, |job| {
            let index = Index::new(representatives, p, job.d, self.neighbors, job)?;
            let mut links = index.links(job.table, job.context)?;
            match self.metric {
                Metric::Cosine => cosines(&mut links),
                _ => gaussian(&mut links),
            }
            Ok(links)
        })?;
        let embedding = job.time(Stage::Spectrum, |job| transfer_cut(job, &links, k))?;
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::plus_plus(100, n_init);
            cluster_points(&embedding, k, k, flavour, job.stream, job.context)
        })
    }
}

/// p × d: centers of k-means on ten times as many random rows.
fn representatives(job: &Job<'_>, p: usize) -> Result<Vec<f64>, Error> {
    let keys: Vec<u64> = (0..job.n as u64).map(mix).collect();
    let mut chosen = choose(&keys, (CANDIDATES * p).min(job.n), job.stream.named("candidates"));
    chosen.sort_unstable();
    let sample = job.table.gather(&chosen, job.context)?;
    let stream = job.stream.named("representatives");
    centers(&sample.table()?, p, Flavour::lite(10, 1), stream, job.context, Stage::Anchors)
}

/// Representatives, ready for the approximate search.
pub(crate) struct Index {
    d: usize,
    /// Neighbors wanted.
    count: usize,
    /// p × d.
    points: Vec<f64>,
    /// Centers of clusters of representatives, and the members of each.
    centers: Vec<f64>,
    members: Vec<Vec<u32>>,
    /// Nearest representatives of every one, itself first.
    near: Vec<Vec<u32>>,
}

impl Index {
    pub fn new(
        points: Vec<f64>,
        p: usize,
        d: usize,
        count: usize,
        job: &Job<'_>,
    ) -> Result<Self, Error> {
        let count = count.min(p);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&points, p, d)?.into(), &scaling);
        let n_groups = p.isqrt().max(1);
        let stream = job.stream.named("groups");
        let flavour = Flavour::lite(20, 1);
        let centers = centers(&table, n_groups, flavour, stream, job.context, Stage::Graph)?;
        let groups = kmeans::assign(&table, &table.points(centers.clone()), job.context)?;
        let mut members = vec![Vec::new(); n_groups];
        groups.iter().enumerate().for_each(|(a, &g)| members[g as usize].push(a as u32));
        let list = (LIST * count + 1).min(p);
        let near = job
            .context
            .each(p, |a| nearest(&points, d, point(&points, a as u32, d), 0..p as u32, list))?;
        let near =
            near.into_iter().map(|list| list.into_iter().map(|entry| entry.1).collect()).collect();
        Ok(Self { d, count, points, centers, members, near })
    }

    /// The nearest representatives of every row with plain distances.
    pub fn links(&self, table: &Table<'_>, context: &Context<'_>) -> Result<Graph, Error> {
        let p = self.near.len();
        let parts = context.map(table.n(), |range| {
            let (mut graph, mut row) = (Graph::empty(p), vec![0.0; self.d]);
            for i in range {
                vectorised(
                    #[inline(always)]
                    || table.row(i, &mut row),
                );
                let found = self.search(&row);
                let columns: Vec<u32> = found.iter().map(|entry| entry.1).collect();
                let distances: Vec<f64> = found.iter().map(|entry| entry.0.sqrt()).collect();
                graph.push(&columns, &distances);
            }
            graph
        })?;
        Ok(Graph::stack(parts, p))
    }

    /// By the nearest group, the nearest representative in it, and that one's neighbors.
    pub fn search(&self, row: &[f64]) -> Vec<(f64, u32)> {
        let groups =
            (0..self.members.len() as u32).filter(|&g| !self.members[g as usize].is_empty());
        let group = nearest(&self.centers, self.d, row, groups, 1)[0].1;
        let members = self.members[group as usize].iter().copied();
        let first = nearest(&self.points, self.d, row, members, 1)[0].1;
        nearest(&self.points, self.d, row, self.near[first as usize].iter().copied(), self.count)
    }
}

fn point(points: &[f64], a: u32, d: usize) -> &[f64] {
    &points[a as usize * d..(a as usize + 1) * d]
}

/// The `count` nearest of some points with squared distances, nearest first; ties go to the lower index.
fn nearest(
    points: &[f64],
    d: usize,
    row: &[f64],
    among: impl Iterator<Item = u32>,
    count: usize,
) -> Vec<(f64, u32)> {
    let mut found: Vec<(f64, u32)> = vectorised(
        #[inline(always)]
        || among.map(|a| (squared_distance(row, point(points, a, d)), a)).collect(),
    );
    let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if count < found.len() {
        found.select_nth_unstable_by(count, order);
        found.truncate(count);
    }
    found.sort_unstable_by(order);
    found
}

/// Distances to weights: a Gaussian of their mean; an exact 0 becomes the smallest step above it.
fn gaussian(links: &mut Graph) {
    let sigma = links.values.iter().sum::<f64>() / links.values.len().max(1) as f64;
    let weight = |d: f64| if sigma > 0.0 { (-d * d / (2.0 * sigma * sigma)).exp() } else { 1.0 };
    links.values.iter_mut().for_each(|d| *d = weight(*d).max(f64::EPSILON));
}

/// Distances between points of length 1 to their cosines, which are the weights; none is below the smallest step
/// above 0.
fn cosines(links: &mut Graph) {
    links.values.iter_mut().for_each(|d| *d = (1.0 - 0.5 * *d * *d).max(f64::EPSILON));
}

/// The cut through the representatives: N × k, rows of unit length.
fn transfer_cut(job: &Job<'_>, links: &Graph, k: usize) -> Result<Vec<f64>, Error> {
    let (_, vectors) = spectrum(job, links, k)?;
    let mut embedding = times(links, &vectors, k, job.context)?;
    for (i, row) in embedding.chunks_exact_mut(k).enumerate() {
        let degree = degree(links, i);
        row.iter_mut().for_each(|v| *v /= degree);
    }
    unit_rows(&mut embedding, k);
    Ok(embedding)
}

fn degree(links: &Graph, i: usize) -> f64 {
    links.row(i).1.iter().sum::<f64>().max(FLOOR)
}

/// The largest eigenvalues of the representatives' normalized affinity B' D^-1 B, and the vectors (p × k)
/// over the roots of the representatives' degrees.
fn spectrum(job: &Job<'_>, links: &Graph, k: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let p = links.n_cols;
    let mut half = links.clone();
    for i in 0..links.n_rows() {
        let root = degree(links, i).sqrt();
        half.values[links.offsets[i]..links.offsets[i + 1]].iter_mut().for_each(|v| *v /= root);
    }
    let mut affinity = column_gram(&half, job.context)?;
    // Row sums of B' D^-1 B are the column sums of B.
    let scale: Vec<f64> =
        column_sums(links).iter().map(|&s| if s > 0.0 { 1.0 / s.sqrt() } else { 0.0 }).collect();
    for (row, a) in affinity.chunks_exact_mut(p).zip(&scale) {
        row.iter_mut().zip(&scale).for_each(|(v, b)| *v *= a * b);
    }
    let stream = job.stream.named("spectrum");
    let (values, mut vectors) = eigen::largest(&affinity, p, k, stream, || job.context.check())?;
    vectors
        .chunks_exact_mut(k)
        .zip(&scale)
        .for_each(|(row, s)| row.iter_mut().for_each(|v| *v *= s));
    Ok((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsc::tests::every_seventh;
    use crate::pieces::links::nearest_landmarks;
    use crate::testing::{near, subset, with_job};
    use obcut_core::random::Stream;

    #[test]
    fn the_pieces_agree_with_the_reference() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let points = job.table.points(every_seventh(job));
            let (mut links, _) = nearest_landmarks(job.table, &points, 5, job.context)?;
            links.values.iter_mut().for_each(|d| *d = d.sqrt());
            let sigma = links.values.iter().sum::<f64>() / links.values.len() as f64;
            assert!(near(sigma, 61.20424664, 1e-8), "{sigma}");
            gaussian(&mut links);
            let sum: f64 = links.values.iter().sum();
            assert!(near(sum, 2079.778023, 1e-8), "{sum}");
            let (values, _) = spectrum(job, &links, 12)?;
            let expected = [
                1.0, 0.98904445, 0.98640335, 0.96439515, 0.95963973, 0.94104413, 0.93736726,
                0.89348389, 0.85448742, 0.82649772, 0.77228263, 0.75571162,
            ];
            assert!(values.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-6)), "{values:?}");
            Ok(())
        });
    }

    #[test]
    fn cosine_links_are_the_largest_cosines() {
        let values: Vec<f64> = Stream::new(5).values(200 * 4).iter().map(|v| v + 0.5).collect();
        let rows: Vec<Vec<f64>> = values.chunks(4).map(<[f64]>::to_vec).collect();
        let matrix = obcut::Matrix::Dense64 { values, n_rows: 200, n_cols: 4 };
        let cosine = |a: &[f64], b: &[f64]| {
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            product(a, b) / (product(a, a) * product(b, b)).sqrt()
        };
        with_job(&matrix, 3, Scale::UnitRows, false, |job| {
            let mut points = representatives(job, 20)?;
            unit_rows(&mut points, 4);
            let mut links =
                Index::new(points.clone(), 20, 4, 5, job)?.links(job.table, job.context)?;
            cosines(&mut links);
            for (i, row) in rows.iter().enumerate() {
                let mut all: Vec<f64> = points.chunks(4).map(|point| cosine(row, point)).collect();
                let (columns, weights) = links.row(i);
                for (&column, &weight) in columns.iter().zip(weights) {
                    let expected = all[column as usize].max(f64::EPSILON);
                    assert!((weight - expected).abs() < 1e-9, "{weight} {expected}");
                }
                all.sort_by(|a, b| b.total_cmp(a));
                assert!((weights[0] - all[0].max(f64::EPSILON)).abs() < 1e-9, "row {i}");
            }
            Ok(())
        });
    }

    #[test]
    fn the_length_of_rows_does_not_matter_to_cosines() {
        let directions = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.1, 0.0, 1.0]];
        let noise = Stream::new(6).values(90 * 3);
        let row = |i: usize, length: f64| -> Vec<f64> {
            (0..3).map(|f| length * (directions[i % 3][f] + 0.1 * noise[i * 3 + f])).collect()
        };
        let labels = |lengths: &dyn Fn(usize) -> f64| {
            let values = (0..90).flat_map(|i| row(i, lengths(i))).collect();
            let matrix = obcut::Matrix::Dense64 { values, n_rows: 90, n_cols: 3 };
            let method = USpec { p: 30, metric: Metric::Cosine, ..USpec::default() };
            let samples = matrix.samples().unwrap();
            method.cluster(&samples, 3, &Run::default(), &obcut::Silent).unwrap().labels
        };
        // Powers of two, so that lengths divide out to the bit.
        let found = labels(&|i| 2f64.powi((i % 11) as i32));
        assert_eq!(found, labels(&|_| 1.0));
        assert!((0..90).all(|i| found[i] == found[i % 3]), "{found:?}");
    }

    /// A list that holds all representatives leaves nothing to chance.
    #[test]
    fn the_search_is_exact_with_few_representatives_and_good_with_many() {
        let values = Stream::new(3).values(2000 * 6);
        let matrix = obcut::Matrix::Dense64 { values, n_rows: 2000, n_cols: 6 };
        with_job(&matrix, 3, Scale::None, true, |job| {
            for (p, least) in [(51, 1.0), (400, 0.9)] {
                let points = representatives(job, p)?;
                let index = Index::new(points.clone(), p, job.d, 5, job)?;
                let found = index.links(job.table, job.context)?;
                let exact =
                    nearest_landmarks(job.table, &job.table.points(points), 5, job.context)?.0;
                let hits: usize = (0..job.n)
                    .map(|i| found.row(i).0.iter().filter(|c| exact.row(i).0.contains(c)).count())
                    .sum();
                assert!(hits as f64 >= least * 5.0 * job.n as f64, "{hits}");
            }
            Ok(())
        });
    }
}
