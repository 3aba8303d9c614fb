//! Natural neighbors, the density that goes with them, and the cores of the data.
//!
//! D. Cheng, S. Zhang and J. Huang, "Dense members of local cores-based density peaks clustering
//! algorithm", Knowledge-Based Systems 2020 (local cores); D. Cheng, Q. Zhu, J. Huang, Q. Wu and L.
//! Yang, "Clustering with local density peaks-based minimum spanning tree", IEEE TKDE 2021 (peaks).

use obcut::Error;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

use obcut_core::knn::{self, DistanceMeasure, Neighbor};

/// Neighbors that are looked up first.
const FIRST: usize = 64;
/// Part of the largest sum of distances that all sums reach at least.
const FLOOR: f64 = 1e-12;

/// Natural neighbors and densities of all rows.
pub(crate) struct Natural {
    /// Rounds until every row is a neighbor of another, or no more become one.
    pub rounds: usize,
    /// How often a row is among the neighbors of others.
    pub popularity: Vec<u32>,
    /// Neighbors of every row, nearest first: as many as its popularity, and at least `rounds`.
    pub lists: Vec<Vec<u32>>,
    pub density: Vec<f64>,
}

impl Natural {
    /// Bytes that are needed for rows whose most popular one is as popular as `most`.
    pub fn bytes(n: usize, d: usize, most: usize) -> f64 {
        16.0 * (n * 2 * FIRST) as f64 + 100.0 * n as f64 + knn::search_bytes(n, d, most)
    }

    /// Looks up as many neighbors as it takes.
    pub fn find(table: &Table<'_>, context: &Context<'_>) -> Result<Self, Error> {
        let all = table.n().saturating_sub(1);
        let mut count = FIRST.min(all);
        let (found, (rounds, popularity)) = loop {
            let found = knn::nearest(table, count, context)?;
            if let Some(told) = popularity(&found, count == all) {
                break (found, told);
            }
            count = (2 * count).min(all);
        };
        let most = popularity.iter().max().map_or(1, |&p| p as usize).max(1);
        let keep = |i: usize, list: &[Neighbor]| {
            let kept = (popularity[i] as usize).max(rounds).min(list.len());
            let rows: Vec<u32> = list[..kept].iter().map(|entry| entry.1).collect();
            (rows, list.iter().take(most).map(|entry| entry.0.sqrt()).sum::<f64>())
        };
        // The most popular row may need more neighbors than told the rounds.
        let kept = if most <= count {
            found.iter().enumerate().map(|(i, list)| keep(i, list)).collect()
        } else {
            drop(found);
            knn::visit(table, most, context, keep)?
        };
        let (lists, sums): (Vec<Vec<u32>>, Vec<f64>) = kept.into_iter().unzip();
        let largest = sums.iter().copied().fold(0.0, f64::max);
        let floor = if largest > 0.0 { FLOOR * largest } else { 1.0 };
        let density = sums.iter().map(|sum| most as f64 / sum.max(floor)).collect();
        Ok(Self { rounds, popularity, lists, density })
    }

    /// Rows by falling density, stable.
    fn by_density(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.density.len() as u32).collect();
        let density = |i: u32| self.density[i as usize];
        order.sort_by(|&a, &b| density(b).total_cmp(&density(a)));
        order
    }

    /// The densest of a row and its first `count` neighbors; the row itself, then the nearer, on
    /// ties.
    fn densest(&self, i: usize, count: usize) -> usize {
        let mut best = i;
        for &j in &self.lists[i][..count.min(self.lists[i].len())] {
            if self.density[j as usize] > self.density[best] {
                best = j as usize;
            }
        }
        best
    }

    /// The local core that represents every row.
    ///
    /// By falling density, the densest of a row and as many neighbors as it is popular becomes a
    /// core unless it has one, and its core represents those of them that have none, or one that is
    /// farther away. A core stays one: none is nearer to it than itself.
    pub fn local_cores(&self, table: &Table<'_>, context: &Context<'_>) -> Result<Vec<u32>, Error> {
        let mut core: Vec<Option<(u32, f64)>> = vec![None; self.density.len()];
        let mut measure = DistanceMeasure::new(table);
        for (step, p) in self.by_density().into_iter().enumerate() {
            if step % 256 == 0 {
                context.check()?;
            }
            let count = self.popularity[p as usize] as usize;
            let densest = self.densest(p as usize, count);
            let target = core[densest].get_or_insert((densest as u32, 0.0)).0;
            let neighbors = &self.lists[p as usize][..count.min(self.lists[p as usize].len())];
            for &x in [p].iter().chain(neighbors) {
                let current = core[x as usize];
                if current.is_some_and(|(c, _)| c == target || c == x) {
                    continue;
                }
                let squared = measure.squared(x as usize, target as usize);
                if current.is_none_or(|(_, distance)| squared < distance) {
                    core[x as usize] = Some((target, squared));
                }
            }
        }
        Ok(core.iter().enumerate().map(|(i, c)| c.map_or(i as u32, |c| c.0)).collect())
    }

    /// The density peak that every row leads to, by way of the densest of the neighbors.
    pub fn peaks(&self) -> Vec<u32> {
        let mut peak: Vec<u32> = (0..self.density.len() as u32).collect();
        for i in self.by_density() {
            // A denser row comes first and has its peak already.
            peak[i as usize] = peak[self.densest(i as usize, self.rounds)];
        }
        peak
    }
}

/// Rounds and popularity; `None` when the lists are too short to tell and not `whole`.
fn popularity(lists: &[Vec<Neighbor>], whole: bool) -> Option<(usize, Vec<u32>)> {
    let mut popularity = vec![0u32; lists.len()];
    let mut lonely = None;
    let longest = lists.first().map_or(0, Vec::len);
    for round in 0..longest {
        lists.iter().for_each(|list| popularity[list[round].1 as usize] += 1);
        let now = popularity.iter().filter(|&&p| p == 0).count();
        if now == 0 || lonely == Some(now) {
            return Some((round + 1, popularity));
        }
        lonely = Some(now);
    }
    whole.then_some((longest, popularity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, subset, with_job};
    use obcut::Scale;

    #[test]
    fn neighbors_densities_and_cores_agree_with_the_reference() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let natural = Natural::find(job.table, job.context)?;
            assert_eq!(natural.rounds, 9);
            assert_eq!(natural.popularity.iter().max(), Some(&25));
            assert_eq!(natural.popularity[..5], [13, 14, 6, 7, 5]);
            assert_eq!(natural.popularity.iter().sum::<u32>(), 6183);
            let sum: f64 = natural.density.iter().sum();
            assert!(near(sum, 13.0185935, 1e-7), "{sum}");
            assert_eq!(natural.by_density()[0], 175);
            assert!(near(natural.density[175], 0.03388601, 1e-6));
            let cores = natural.local_cores(job.table, job.context)?;
            let expected = [
                (38, 36),
                (40, 41),
                (43, 81),
                (61, 2),
                (109, 1),
                (164, 47),
                (175, 93),
                (213, 42),
                (221, 1),
                (257, 1),
                (277, 1),
                (278, 41),
                (285, 46),
                (289, 3),
                (326, 3),
                (335, 37),
                (344, 115),
                (416, 1),
                (423, 1),
                (450, 38),
                (560, 22),
                (584, 30),
                (629, 1),
                (634, 3),
            ];
            assert_eq!(sizes(&cores), expected);
            let expected = [
                38, 40, 43, 164, 175, 213, 278, 285, 287, 304, 335, 344, 368, 450, 533, 560, 584,
                658,
            ];
            let peaks: Vec<usize> = sizes(&natural.peaks()).iter().map(|s| s.0).collect();
            assert_eq!(peaks, expected);
            Ok(())
        });
    }

    /// Cores and their numbers of rows.
    fn sizes(cores: &[u32]) -> Vec<(usize, usize)> {
        let count = |c: usize| cores.iter().filter(|&&x| x as usize == c).count();
        (0..cores.len()).map(|c| (c, count(c))).filter(|s| s.1 > 0).collect()
    }

    #[test]
    fn few_cores_are_found_where_hubs_are() {
        let Some((matrix, _)) = subset("USPS", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let natural = Natural::find(job.table, job.context)?;
            assert_eq!(sizes(&natural.local_cores(job.table, job.context)?).len(), 4);
            assert_eq!(sizes(&natural.peaks()).len(), 3);
            Ok(())
        });
    }

    /// The published procedure, word by word, with all distances at hand.
    #[test]
    fn local_cores_equal_the_published_procedure() {
        let values = obcut_core::random::Stream::new(7).values(300 * 2);
        let matrix = obcut::Matrix::Dense64 { values, n_rows: 300, n_cols: 2 };
        with_job(&matrix, 3, Scale::None, true, |job| {
            let natural = Natural::find(job.table, job.context)?;
            let mut measure = DistanceMeasure::new(job.table);
            let mut core: Vec<Option<usize>> = vec![None; 300];
            for p in natural.by_density() {
                let count = natural.popularity[p as usize] as usize;
                let near = [p].into_iter().chain(natural.lists[p as usize].iter().copied());
                let near: Vec<usize> = near.take(count + 1).map(|x| x as usize).collect();
                let q = natural.densest(p as usize, count);
                core[q] = core[q].or(Some(q));
                for x in near {
                    let new = core[q].unwrap();
                    if core[x].is_none_or(|c| measure.squared(x, new) < measure.squared(x, c)) {
                        core[x] = Some(new);
                    }
                    let own = core[x];
                    core.iter_mut().filter(|c| **c == Some(x)).for_each(|c| *c = own);
                }
            }
            let expected: Vec<u32> = core.iter().map(|c| c.unwrap() as u32).collect();
            assert_eq!(natural.local_cores(job.table, job.context)?, expected);
            Ok(())
        });
    }
}
