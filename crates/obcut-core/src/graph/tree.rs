//! Clusters from a minimum spanning tree of the rows.
//!
//! The tree is that of the graph of nearest rows; components of that graph are joined by the shortest
//! edges between them. Two ways lead from the tree to k clusters:
//!
//! - [`Tree::guarded`] merges along the shortest edges first, as single linkage does, but whenever the
//!   Gini index of the cluster sizes exceeds a threshold, the smallest cluster is merged first
//!   (the Genie algorithm of Gagolewski, Bartoszuk and Cena, 2016).
//! - [`Tree::split`] cuts the longest edges that leave at least a given weight on both sides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Graph;
use super::neighbors::{Neighbors, components};
use crate::block::{BLOCK, Scratch};
use crate::error::Error;
use crate::knn::DistanceMeasure;
use crate::parallel::Context;
use crate::table::Table;

/// Rows of all components that are compared with the others when components are joined, at most.
const BRIDGE_ROWS: usize = 4096;
/// Rows of one component, at least.
const BRIDGE_LEAST: usize = 16;
/// Rows that are compared at once.
const PANEL: usize = 512;

/// An edge between two rows, with its squared length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Its length.
    pub length: f64,
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
}

impl Edge {
    fn new(length: f64, a: u32, b: u32) -> Self {
        Self { length, a: a.min(b), b: a.max(b) }
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.length.total_cmp(&other.length).then((self.a, self.b).cmp(&(other.a, other.b)))
    }
}

/// A spanning tree: n - 1 edges, the shortest first.
#[derive(Clone, Debug)]
pub struct Tree {
    n: usize,
    /// The edges, in the order in which they were found.
    pub edges: Vec<Edge>,
}

/// Disjoint sets with path halving; the smaller number is the root.
pub struct Sets(Vec<u32>);

impl Sets {
    /// Every element in a set of its own.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The element that stands for the set.
    pub fn root(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            self.0[i as usize] = self.0[self.0[i as usize] as usize];
            i = self.0[i as usize];
        }
        i
    }

    /// Joins two sets; the root of both, or `None` when they are one already.
    pub fn join(&mut self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return None;
        }
        self.0[a.max(b) as usize] = a.min(b);
        Some(a.min(b))
    }
}

/// The shortest edges that join the components of the graph of nearest rows to one.
pub fn bridges(
    table: &Table<'_>,
    near: &Neighbors,
    context: &Context<'_>,
) -> Result<Vec<Edge>, Error> {
    let n = near.n();
    let mut sets = Sets::new(n);
    for i in 0..n {
        near.of(i).iter().for_each(|e| {
            sets.join(i as u32, e.1);
        });
    }
    let mut found = Vec::new();
    loop {
        let roots: Vec<u32> = (0..n as u32).map(|i| sets.root(i)).collect();
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        roots.iter().for_each(|&r| *sizes.entry(r).or_default() += 1);
        if sizes.len() < 2 {
            return Ok(found);
        }
        // Every component but the largest looks for its nearest row elsewhere.
        let largest = sizes.iter().max_by_key(|e| (e.1, Reverse(e.0))).map_or(0, |e| *e.0);
        let most = (BRIDGE_ROWS / sizes.len()).max(BRIDGE_LEAST);
        let mut taken: BTreeMap<u32, usize> = BTreeMap::new();
        let points: Vec<u32> = (0..n as u32)
            .filter(|&i| {
                let root = roots[i as usize];
                let size = sizes[&root];
                let count = taken.entry(root).or_default();
                *count += 1;
                // Every so-many-th row of a large component.
                root != largest
                    && (size <= most || (*count * most) / size > ((*count - 1) * most) / size)
            })
            .collect();
        let mut best: BTreeMap<u32, Edge> = BTreeMap::new();
        let mut measure = DistanceMeasure::new(table);
        for panel in points.chunks(PANEL) {
            for (&p, other) in panel.iter().zip(nearest_elsewhere(table, panel, &roots, context)?) {
                let edge = Edge::new(measure.squared(p as usize, other as usize), p, other);
                let root = roots[p as usize];
                let kept = best.entry(root).or_insert(edge);
                if edge.order(kept).is_lt() {
                    *kept = edge;
                }
            }
        }
        for edge in best.into_values() {
            if sets.join(edge.a, edge.b).is_some() {
                found.push(edge);
            }
        }
    }
}

/// For every one of some rows the nearest row of another component.
fn nearest_elsewhere(
    table: &Table<'_>,
    rows: &[u32],
    component: &[u32],
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let d = table.d();
    let mut values = vec![0.0; rows.len() * d];
    for (out, &i) in values.chunks_exact_mut(d).zip(rows) {
        table.row(i as usize, out);
    }
    let points = table.points(values);
    let mut best = vec![(f64::INFINITY, 0u32); rows.len()];
    context.fold(
        table.n(),
        |range| {
            let mut found = vec![(f64::INFINITY, 0u32); rows.len()];
            let (mut scratch, mut products) = (Scratch::default(), Vec::new());
            let mut norms = vec![0.0; range.len()];
            table.squared_norms(range.clone(), &mut norms);
            for start in range.clone().step_by(BLOCK) {
                let block_rows = start..(start + BLOCK).min(range.end);
                let block = table.block(block_rows.clone(), &points, &mut scratch);
                for (r, i) in block_rows.enumerate() {
                    block.products(r, 0..rows.len(), &mut products);
                    let norm = norms[i - range.start];
                    for ((found, &p), &product) in found.iter_mut().zip(rows).zip(&products) {
                        let value = norm - 2.0 * product;
                        if value < found.0 && component[p as usize] != component[i] {
                            *found = (value, i as u32);
                        }
                    }
                }
            }
            found
        },
        |found| {
            for (best, found) in best.iter_mut().zip(found) {
                if found.0 < best.0 {
                    *best = found;
                }
            }
        },
    )?;
    Ok(best.into_iter().map(|b| b.1).collect())
}

impl Tree {
    /// The minimum spanning tree of the graph of nearest rows and the bridges between its components.
    /// With `core` greater than 0 an edge is as long as the distance of its ends to their `core`-th
    /// neighbors at least (mutual reachability): sparse rows do not chain clusters together.
    pub fn new(near: &Neighbors, bridges: &[Edge], core: usize) -> Self {
        let n = near.n();
        let reach = |i: u32| match core.min(near.count) {
            0 => 0.0,
            c => near.of(i as usize)[c - 1].0,
        };
        let edge =
            |length: f64, a: u32, b: u32| Edge::new(length.max(reach(a)).max(reach(b)), a, b);
        let mut all: Vec<Edge> = Vec::with_capacity(near.lists.len() + bridges.len());
        for i in 0..n {
            for &(length, j) in near.of(i) {
                // An edge that both ends list is taken once.
                if (i as u32) < j || !near.of(j as usize).iter().any(|e| e.1 == i as u32) {
                    all.push(edge(length, i as u32, j));
                }
            }
        }
        all.extend(bridges.iter().map(|e| edge(e.length, e.a, e.b)));
        all.sort_unstable_by(Edge::order);
        let mut sets = Sets::new(n);
        all.retain(|e| sets.join(e.a, e.b).is_some());
        Self { n, edges: all }
    }

    /// k clusters by single linkage with a guard on tiny clusters: while the Gini index of the sizes is
    /// above `threshold`, the smallest cluster is merged first.
    pub fn guarded(&self, weights: &[f64], k: usize, threshold: f64) -> Vec<u32> {
        let n = self.n;
        let mut sets = Sets::new(n);
        let mut size: Vec<f64> = weights.to_vec();
        let mut sizes = Sizes::new(weights);
        // Edges that are left, as a chain.
        let mut next: Vec<usize> = (1..=self.edges.len() + 1).collect();
        let mut first = 0;
        let end = self.edges.len();
        let (mut last_least, mut resume) = (f64::NEG_INFINITY, usize::MAX);
        for _ in 0..n.saturating_sub(k.max(1)) {
            let (mut before, mut at) = (usize::MAX, first);
            if sizes.gini() > threshold {
                let least = sizes.least();
                // While the least size stays, no edge before the last one found qualifies.
                if least == last_least && resume != usize::MAX {
                    (before, at) = (resume, next[resume]);
                }
                while at < end {
                    let Edge { a, b, .. } = self.edges[at];
                    let (a, b) = (sets.root(a), sets.root(b));
                    if size[a as usize] == least || size[b as usize] == least {
                        break;
                    }
                    (before, at) = (at, next[at]);
                }
                (last_least, resume) = (least, before);
                if at >= end {
                    (before, at) = (usize::MAX, first);
                }
            } else {
                last_least = f64::NEG_INFINITY;
            }
            if at >= end {
                break;
            }
            let Edge { a, b, .. } = self.edges[at];
            let (a, b) = (sets.root(a), sets.root(b));
            if before == usize::MAX {
                first = next[at];
            } else {
                next[before] = next[at];
            }
            let (x, y) = (size[a as usize], size[b as usize]);
            sizes.merge(x, y);
            if let Some(root) = sets.join(a, b) {
                size[root as usize] = x + y;
            }
        }
        numbered(&mut sets, n)
    }

    /// k clusters by cutting the longest edges that leave at least `least` of weight on both sides; fewer
    /// when there are not enough such edges. Rows that fall off above a cut, too few to be a cluster,
    /// follow the shortest edge that leads to one.
    pub fn split(&self, weights: &[f64], k: usize, least: f64) -> Vec<u32> {
        let merges = Merges::new(self, weights);
        let is_cut = |at: usize| {
            merges.sides(at).is_some_and(|(a, b)| merges.weight[a].min(merges.weight[b]) >= least)
        };
        // Below a node, past sides that are too light: where it can be cut next, if anywhere.
        let next_cut = |mut at: usize| loop {
            if is_cut(at) {
                return Some(at);
            }
            let (a, b) = merges.sides(at)?;
            at = if merges.weight[a] >= merges.weight[b] { a } else { b };
        };
        // Nodes are numbered by the length of their edge, so the largest number is the longest edge.
        let mut open: BinaryHeap<usize> = merges.roots().filter_map(next_cut).collect();
        let mut clusters: Vec<usize> = merges.roots().collect();
        let mut parts: Vec<usize> = clusters.clone();
        while parts.len() < k {
            let Some(at) = open.pop() else { break };
            let Some((a, b)) = merges.sides(at) else { break };
            // What was above the cut belongs to neither side yet.
            parts.retain(|&part| !merges.holds(part, at));
            parts.extend([a, b]);
            open.extend([a, b].into_iter().filter_map(next_cut));
            clusters.clone_from(&parts);
        }
        let mut label = vec![u32::MAX; merges.weight.len()];
        clusters.iter().enumerate().for_each(|(c, &node)| label[node] = c as u32);
        // Nodes come after what they were merged from: labels go down from the last.
        for at in (self.n..label.len()).rev() {
            if let (Some((a, b)), true) = (merges.sides(at), label[at] != u32::MAX) {
                label[a] = label[at];
                label[b] = label[at];
            }
        }
        label.truncate(self.n);
        self.spread(&mut label);
        label
    }

    /// Gives rows without a label the one that the shortest edge leads to, as in Prim's algorithm.
    fn spread(&self, labels: &mut [u32]) {
        let mut at: Vec<Vec<u32>> = vec![Vec::new(); self.n];
        for (e, edge) in self.edges.iter().enumerate() {
            at[edge.a as usize].push(e as u32);
            at[edge.b as usize].push(e as u32);
        }
        let mut heap: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        for (i, label) in labels.iter().enumerate() {
            if *label != u32::MAX {
                heap.extend(at[i].iter().map(|&e| Reverse(e)));
            }
        }
        while let Some(Reverse(e)) = heap.pop() {
            let Edge { a, b, .. } = self.edges[e as usize];
            let (from, to) = match (labels[a as usize], labels[b as usize]) {
                (l, u32::MAX) if l != u32::MAX => (a, b),
                (u32::MAX, l) if l != u32::MAX => (b, a),
                _ => continue,
            };
            labels[to as usize] = labels[from as usize];
            heap.extend(at[to as usize].iter().map(|&e| Reverse(e)));
        }
    }
}

/// The merges of single linkage: nodes 0..n are the rows, the following ones two nodes merged by an edge,
/// the shortest edge first.
struct Merges {
    n: usize,
    children: Vec<(usize, usize)>,
    parent: Vec<usize>,
    weight: Vec<f64>,
}

impl Merges {
    fn new(tree: &Tree, weights: &[f64]) -> Self {
        let n = tree.n;
        let mut sets = Sets::new(n);
        let mut node: Vec<usize> = (0..n).collect();
        let mut merges =
            Self { n, children: Vec::new(), parent: vec![usize::MAX; n], weight: weights.to_vec() };
        for edge in &tree.edges {
            let (a, b) = (sets.root(edge.a), sets.root(edge.b));
            let sides = (node[a as usize], node[b as usize]);
            if let Some(root) = sets.join(a, b) {
                let merged = merges.weight.len();
                merges.weight.push(merges.weight[sides.0] + merges.weight[sides.1]);
                merges.parent.push(usize::MAX);
                merges.parent[sides.0] = merged;
                merges.parent[sides.1] = merged;
                merges.children.push(sides);
                node[root as usize] = merged;
            }
        }
        merges
    }

    fn sides(&self, at: usize) -> Option<(usize, usize)> {
        at.checked_sub(self.n).map(|m| self.children[m])
    }

    fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.parent.len()).filter(|&at| self.parent[at] == usize::MAX)
    }

    /// Whether a node is another one or above it.
    fn holds(&self, node: usize, mut at: usize) -> bool {
        loop {
            if at == node {
                return true;
            }
            if self.parent[at] == usize::MAX {
                return false;
            }
            at = self.parent[at];
        }
    }
}

/// The sets as labels, numbered by their first row.
fn numbered(sets: &mut Sets, n: usize) -> Vec<u32> {
    let mut number = vec![u32::MAX; n];
    let mut count = 0;
    (0..n as u32)
        .map(|i| {
            let root = sets.root(i) as usize;
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
            }
            number[root]
        })
        .collect()
}

/// The sizes of all clusters, and their Gini index.
struct Sizes {
    /// How many clusters have a size; sizes are positive, so their bits order as they do.
    counts: BTreeMap<u64, usize>,
    n: usize,
    total: f64,
    /// Sum of |s_i - s_j| over all pairs.
    spread: f64,
}

impl Sizes {
    fn new(weights: &[f64]) -> Self {
        let mut counts = BTreeMap::new();
        weights.iter().for_each(|w| *counts.entry(w.to_bits()).or_insert(0) += 1);
        // Sum over the sorted sizes of s_i (2 i - n + 1).
        let (mut spread, mut seen) = (0.0, 0usize);
        let n = weights.len();
        for (&bits, &count) in &counts {
            let first = 2.0 * seen as f64 - n as f64 + 1.0;
            spread += f64::from_bits(bits) * count as f64 * (first + count as f64 - 1.0);
            seen += count;
        }
        Self { counts, n, total: weights.iter().sum(), spread }
    }

    fn distances(&self, from: f64) -> f64 {
        self.counts.iter().map(|(&b, &c)| c as f64 * (f64::from_bits(b) - from).abs()).sum()
    }

    fn merge(&mut self, a: f64, b: f64) {
        for size in [a, b] {
            if let Some(count) = self.counts.get_mut(&size.to_bits()) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&size.to_bits());
                }
            }
            self.spread -= self.distances(size);
        }
        self.spread += self.distances(a + b);
        *self.counts.entry((a + b).to_bits()).or_insert(0) += 1;
        self.n -= 1;
    }

    /// 0 for equal sizes, near 1 when one cluster has nearly all.
    fn gini(&self) -> f64 {
        if self.n < 2 { 0.0 } else { self.spread / ((self.n - 1) as f64 * self.total) }
    }

    fn least(&self) -> f64 {
        self.counts.keys().next().map_or(0.0, |&b| f64::from_bits(b))
    }
}

/// Ties the fragments of the graph of nearest rows, components lighter than `least`, to the rest by
/// the shortest bridges: edges with the weight of the fragment.
pub fn ties(
    graph: &Graph,
    weights: &[f64],
    bridges: &[Edge],
    least: f64,
) -> (Vec<(u32, u32, f64)>, usize) {
    let (of_row, mass) = components(graph, weights);
    let n_fragments = mass.iter().filter(|&&m| m < least).count();
    if n_fragments == 0 || mass.len() < 2 {
        return (Vec::new(), 0);
    }
    let mut sets = Sets::new(mass.len());
    let mut joined = mass.clone();
    let mut ties = Vec::new();
    let mut sorted: Vec<&Edge> = bridges.iter().collect();
    sorted.sort_by(|a, b| a.order(b));
    // Shortest first, as long as one of the two is a fragment.
    loop {
        let mut changed = false;
        for edge in &sorted {
            let (a, b) = (sets.root(of_row[edge.a as usize]), sets.root(of_row[edge.b as usize]));
            let (x, y) = (joined[a as usize], joined[b as usize]);
            if a != b
                && x.min(y) < least
                && let Some(root) = sets.join(a, b)
            {
                ties.push((edge.a, edge.b, x.min(y)));
                joined[root as usize] = x + y;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    (ties, n_fragments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;
    use crate::random::Stream;

    fn with_tree<R>(x: &[f64], d: usize, count: usize, work: impl Fn(&Tree) -> R) -> R {
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(x, x.len() / d, d).unwrap().into(), &scaling);
        let context = Context::new(2, &Silent).unwrap();
        let near = Neighbors::exact(&table, count, &context).unwrap();
        let bridges = bridges(&table, &near, &context).unwrap();
        work(&Tree::new(&near, &bridges, 0))
    }

    /// Prim's algorithm on all distances.
    fn plain_length(x: &[f64], d: usize) -> f64 {
        let n = x.len() / d;
        let row = |i: usize| &x[i * d..(i + 1) * d];
        let mut near = vec![f64::INFINITY; n];
        let (mut inside, mut at, mut total) = (vec![false; n], 0, 0.0);
        for _ in 1..n {
            inside[at] = true;
            for j in 0..n {
                near[j] = near[j].min(crate::linalg::simd::squared_distance(row(at), row(j)));
            }
            at = (0..n)
                .filter(|&j| !inside[j])
                .min_by(|&a, &b| near[a].total_cmp(&near[b]))
                .unwrap();
            total += near[at];
        }
        total
    }

    #[test]
    fn the_tree_is_as_short_as_that_of_all_distances() {
        let x = Stream::new(1).values(400);
        // Few neighbors leave components that bridges join.
        for count in [2, 12] {
            let length = with_tree(&x, 2, count, |t| t.edges.iter().map(|e| e.length).sum::<f64>());
            let plain = plain_length(&x, 2);
            assert!(length >= plain - 1e-12, "{length} {plain}");
            assert!(
                length <= plain * if count == 12 { 1.0 + 1e-9 } else { 1.05 },
                "{length} {plain}"
            );
        }
    }

    /// 30, 12 and 3 rows in three groups on a line.
    fn groups() -> Vec<f64> {
        let jitter = Stream::new(5).values(45);
        (0..45)
            .map(|i| {
                jitter[i] * 0.5
                    + if i < 30 {
                        0.0
                    } else if i < 42 {
                        20.0
                    } else {
                        90.0
                    }
            })
            .collect()
    }

    #[test]
    fn a_split_leaves_groups_that_are_large_enough() {
        let weights = vec![1.0; 45];
        let labels = with_tree(&groups(), 1, 5, |t| t.split(&weights, 2, 10.0));
        assert!(labels[..30].iter().all(|l| *l == labels[0]));
        // The three rows far away go with the group that is next to them.
        assert!(labels[30..].iter().all(|l| *l == labels[30]) && labels[30] != labels[0]);
        let labels = with_tree(&groups(), 1, 5, |t| t.split(&weights, 3, 2.0));
        assert!(labels[42] != labels[30] && labels[30] != labels[0] && labels[42] != labels[0]);
        // No edge leaves 16 rows on both sides.
        let labels = with_tree(&groups(), 1, 5, |t| t.split(&weights, 3, 16.0));
        assert_eq!(labels.iter().max(), Some(&0));
    }

    #[test]
    fn the_guard_merges_small_clusters_first() {
        let weights = vec![1.0; 45];
        let count = |labels: &[u32]| {
            let mut sizes = [0usize; 45];
            labels.iter().for_each(|&l| sizes[l as usize] += 1);
            let mut sizes: Vec<usize> = sizes.into_iter().filter(|s| *s > 0).collect();
            sizes.sort_unstable();
            sizes
        };
        // Without a guard this is single linkage: the longest edges are cut.
        assert_eq!(
            count(&with_tree(&groups(), 1, 5, |t| t.guarded(&weights, 3, 1.0))),
            [3, 12, 30]
        );
        let guarded = count(&with_tree(&groups(), 1, 5, |t| t.guarded(&weights, 2, 0.2)));
        assert!(guarded[0] > 3, "{guarded:?}");
    }

    #[test]
    fn the_gini_index_follows_the_merges() {
        let plain = |sizes: &[f64]| {
            let n = sizes.len() as f64;
            let all: f64 =
                sizes.iter().flat_map(|a| sizes.iter().map(move |b| (a - b).abs())).sum();
            all / 2.0 / ((n - 1.0) * sizes.iter().sum::<f64>())
        };
        let mut sizes = vec![1.0, 1.0, 2.0, 3.5, 1.0, 7.0];
        let mut kept = Sizes::new(&sizes);
        assert!((kept.gini() - plain(&sizes)).abs() < 1e-12);
        for (a, b) in [(1.0, 2.0), (1.0, 3.0), (3.5, 1.0)] {
            for size in [a, b] {
                let at = sizes.iter().position(|s| *s == size).unwrap();
                sizes.remove(at);
            }
            sizes.push(a + b);
            kept.merge(a, b);
            assert!((kept.gini() - plain(&sizes)).abs() < 1e-12);
            assert_eq!(kept.least(), sizes.iter().copied().fold(f64::INFINITY, f64::min));
        }
    }
}
